"""FHIBE's golden cases: which kind a folder is, by its files and keys, and what is compared in it."""

from __future__ import annotations

import csv
import io
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case, Checks, read_expected
from PIL import Image

from evenhand.benchmarks.fhibe import attributes, codec, data, disparity, grouping, scores, table, verification
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.compat.fhibe import BaseModelWrapper, evaluate_task
from evenhand.compat.fhibe.evaluate import files
from evenhand.compat.fhibe.evaluate.arguments import (
    EvaluationArguments,
    check_attributes,
    check_metrics,
    check_task,
    check_task_arguments,
    dataset_folder,
    results_folder,
)
from evenhand.compat.fhibe.evaluate.evaluate import options_for
from evenhand.compat.fhibe.reporting import utils
from evenhand.core.engine import Serial
from evenhand.geometry import boxes, keypoints, masks
from evenhand.run import evaluate

DOCUMENTATION = ("reference", "note", "comment")
MODEL = "golden"
STATISTICS = {"rel": 1e-7, "abs": 1e-12}
Handlers = Mapping[str, Callable[[Any], None]]


def cases(folder: Path) -> Iterator[Case]:
    """Every folder with an expected.json; all files below it belong to it."""
    for expected in sorted(folder.rglob("expected.json")):
        place = expected.parent
        files_ = frozenset(path for path in place.rglob("*") if path.is_file())
        yield Case(str(place.relative_to(folder)), files_, partial(_check, place))


def _check(folder: Path, checks: Checks) -> None:
    expected = read_expected(folder / "expected.json")
    there = {path.name for path in folder.iterdir()}
    if isinstance(expected, list) and "groups.json" in there:
        _pairs(folder, expected, checks)
        return
    kinds: list[tuple[bool, Callable[[Path, Any, Checks], None]]] = [
        ("calls" in expected, _arguments),
        ("inputs.npz" in there, _kernels),
        ("rows.json" in there, _part_disparity),
        ("scores.csv" in there and bool({"disparity", "bars", "table", "group_means"} & set(expected)), _disparity),
        ("scores.csv" in there, _intersections),
        ("masks.npz" in there, _face_parsing),
        ("embeddings.npz" in there, _verification),
        ("images.npz" in there, _pictures),
        ("model_outputs.json" in there, _task),
        ("annotations.csv" in there and "config.json" not in there, _utilities),
    ]
    for fits, check in kinds:
        if fits:
            check(folder, expected, checks)
            return
    checks.true("kind", False, f"no kind of case has the files {sorted(there)} and the keys {sorted(expected)}")


def _each(expected: Mapping[str, Any], handlers: Handlers, checks: Checks) -> None:
    for key, value in expected.items():
        if key in DOCUMENTATION or key.endswith("_DO_NOT_USE"):
            continue
        if key in handlers:
            handlers[key](value)
        else:
            checks.true(key, False, "a key that this kind of case does not know")


# Tasks from stored outputs


def _task(folder: Path, expected: Any, checks: Checks) -> None:
    config = _json(folder / "config.json")
    with _Run(folder, config) as run:
        if (folder / "files").is_dir():
            stored = _json(folder / "model_outputs.json")
            answers = {str(run.root / key): value for key, value in stored.items()}
            codec.write_outputs(config["task"], answers, run.results / "model_outputs.json")
        else:
            (run.results / "model_outputs.json").write_bytes((folder / "model_outputs.json").read_bytes())
        run.evaluate(None)
        _each(expected, _task_handlers(run, checks), checks)
        for path in sorted((folder / "files").glob("*")):
            _same_file(path, run, checks)


def _task_handlers(run: _Run, checks: Checks) -> Handlers:
    def recall_file(prefix: str) -> Any:
        kind = "oks" if run.config["task"] == "keypoint_estimation" else "iou"
        return run.read(f"{prefix}_{kind}_threshold.json")

    def row_scores(value: Any) -> None:
        name = "mask" if run.config["task"] == "person_parsing" else "bbox"
        checks.close("row_scores", run.read(f"gt_{name}_iou_scores.json"), value)

    def accept(value: Any) -> None:
        found = recall_file("results")
        checks.equal("accept keys", list(found), list(value))
        checks.equal("accept", {key: list(rows.values()) for key, rows in found.items()}, value)

    def summary(value: Any) -> None:
        if run.config["task"] == "body_parts_detection":
            found = {
                metric: _summaries(run.read(f"detailed_results_body_parts_{metric}_threshold.json")) for metric in value
            }
        else:
            found = _summaries(recall_file("detailed_results"))
        checks.equal("summary", found, value)

    def rows(value: Any) -> None:
        details = next(iter(recall_file("detailed_results").values()))["individual_results"]
        checks.equal("rows", [[row["idx"], row["image_id"], row["subject_id"]] for row in details], value)

    def pck(value: Any) -> None:
        found = run.read("pck_scores_threshold.json")["results"]
        got = [row["pcks@thresholds"] for row in found.values()]
        checks.close("pck", [None if shares[0] is None else shares for shares in got], _undefined_rows(value))

    def pck_mean(value: Any) -> None:
        found = run.read("pck_scores_threshold.json")["results"].values()
        checks.close("pck_mean", [row["mean_percentage_correct_keypoints"] for row in found], value)

    def pck_thresholds(value: Any) -> None:
        checks.equal("pck_thresholds", run.read("pck_scores_threshold.json")["thresholds"], value)

    def areas(value: Any) -> None:
        truth = run.dataset.truth
        checks.equal("gt_areas", scores.mask_areas(truth.segments, truth.sizes, Serial()), value)

    def rle(value: Any) -> None:
        truth = run.dataset.truth
        rows = zip(truth.segments, truth.sizes.tolist(), strict=True)
        checks.equal("gt_masks_rle", [scores.row_runs(row, *size).plain for row, size in rows], value)

    return {
        "row_scores": row_scores,
        "accept": accept,
        "summary": summary,
        "rows": rows,
        "pck": pck,
        "pck_mean": pck_mean,
        "pck_thresholds": pck_thresholds,
        "oks": lambda value: checks.close("oks", run.read("oks_scores.json"), value),
        "oks_summary": lambda value: checks.equal("oks_summary", _summaries(recall_file("detailed_results")), value),
        "gt_keypoints": lambda value: checks.close("gt_keypoints", run.dataset.truth.poses, value),
        "gt_areas": areas,
        "gt_masks_rle": rle,
        "visible_body_parts": lambda value: checks.equal("visible_body_parts", run.dataset.truth.visible, value),
        "intersectional": lambda value: _intersectional(run, value, checks),
    }


def _intersectional(run: _Run, expected: Mapping[str, Any], checks: Checks, tolerance: float = 1e-9) -> None:
    for metric, content in expected.items():
        found = run.read(f"intersectional_results_{metric}.json")
        found.pop("custom_keypoints", None) if "custom_keypoints" not in content else None
        checks.equal(f"{metric}: combinations in order", list(found), list(content))
        for by, groups in content.items():
            if not isinstance(groups, dict):
                checks.equal(f"{metric} {by}", found.get(by), groups)
                continue
            checks.equal(f"{metric} {by}: groups in order", list(found.get(by, {})), list(groups))
            for group, entry in groups.items():
                checks.close(f"{metric} {by} {group}", found.get(by, {}).get(group), entry, abs=tolerance)
    _through_evaluate(run, expected, checks, tolerance)


def _through_evaluate(run: _Run, expected: Mapping[str, Any], checks: Checks, tolerance: float) -> None:
    """The same numbers from `evenhand evaluate` over the same outputs."""
    estimates = run.estimates()
    checks.true("evaluate: every value and limit on its scale", not run.off_scale, "; ".join(run.off_scale[:3]))
    for metric, content in expected.items():
        for by, groups in content.items():
            names = attributes.parse_key(by) if isinstance(groups, dict) else []
            for group, entry in groups.items() if names else ():
                terms = frozenset(zip(names, attributes.parse_key(group), strict=True))
                if metric == "VAL":
                    got = [estimates.get((metric, output, terms)) for output in ("VAL", "VAL_Error")]
                    rounded = [None if value is None else float(np.round(value, 2)) for value in got]
                    checks.close(f"evaluate {by} {group}", rounded, [entry["VAL"], entry["VAL_Error"]], abs=0.0)
                    continue
                outputs_ = {f"mean:{part}": part_entry for part, part_entry in entry.items()}
                if "Class_Size" in entry:
                    outputs_ = {"recall" if metric.startswith("AR_") else "mean": entry}
                got = [estimates.get((metric, output, terms)) for output in outputs_]
                wanted = [part_entry[metric] for part_entry in outputs_.values()]
                checks.close(f"evaluate {metric} {by} {group}", got, wanted, abs=tolerance)


def _same_file(path: Path, run: _Run, checks: Checks) -> None:
    expected = path.read_text(encoding="utf-8").replace("<DATA_ROOT>", str(run.root))
    got = (run.results / path.name).read_text(encoding="utf-8") if (run.results / path.name).exists() else ""
    checks.true(f"files/{path.name}", got == expected, "the bytes differ" if got else "was not written")


# Tasks from arrays, through the wrapper contract


class _Replay(BaseModelWrapper):
    """A wrapped model that answers with given arrays, image by image."""

    map_ears_to_skin = False

    def __init__(self, answers: Sequence[Any]) -> None:
        super().__init__(None)
        self._answers = answers

    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> list[dict[str, Any]]:
        return [{"number": number, "path": path} for number, path in enumerate(img_filepaths)]

    def align_faces(self, img_filepaths: list[str], **kwargs: Any) -> list[bool]:
        return [True] * len(img_filepaths)

    def save_encoding(self, encoding: Any, path: str) -> None:
        Image.fromarray(encoding).save(path)

    def __call__(self, batch: dict[str, Any]) -> Any:
        return [self._answers[batch["number"]]]


def _face_parsing(folder: Path, expected: Any, checks: Checks) -> None:
    config, arrays = _json(folder / "config.json"), np.load(folder / "masks.npz")
    variants = {"map_ears_true": True, "map_ears_false": False}

    def variant(name: str, content: Any) -> None:
        with _Run(folder, config) as run:
            for path, labels in zip(run.dataset.truth.maps, arrays["gt"], strict=True):
                path.parent.mkdir(parents=True, exist_ok=True)
                Image.fromarray(labels).save(path)
            model = _Replay([{"detections": labels} for labels in arrays["pred"]])
            model.map_ears_to_skin = variants[name]
            run.evaluate(model)
            stored = run.read("model_outputs.json")
            handlers: Handlers = {
                "f1_per_label": lambda value: checks.close(
                    f"{name} f1", list(run.read("F1_scores.json").values()), value
                ),
                "model_outputs_first_two": lambda value: checks.equal(
                    f"{name} outputs", {key: stored.get(str(run.root / key)) for key in value}, value
                ),
                "intersectional": lambda value: _intersectional(run, value, checks),
            }
            _each(content, handlers, checks)

    _each(expected, {name: partial(variant, name) for name in variants}, checks)


def _pictures(folder: Path, expected: Any, checks: Checks) -> None:
    config, arrays = _json(folder / "config.json"), np.load(folder / "images.npz")
    with _Run(folder, config) as run:
        images = run.dataset.truth.people.images
        for number, image in enumerate(images):
            (run.root / image).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(arrays[f"ref_{number:03d}"]).save(run.root / image)
        run.evaluate(_Replay([{"encoding": arrays[f"enc_{number:03d}"]} for number in range(len(images))]))

        def per_picture(metric: str, value: Any) -> None:
            found = run.read(f"{metric}_scores.json")
            checks.close(metric, [found[str(run.root / image)] for image in images], value, abs=1e-4)

        handlers: dict[str, Callable[[Any], None]] = {
            name: partial(per_picture, name) for name in ("psnr", "lpips", "curricular_face")
        }
        handlers["intersectional"] = lambda value: _intersectional(run, value, checks, 1e-4)
        _each(expected, handlers, checks)


def _verification(folder: Path, expected: Any, checks: Checks) -> None:
    config, arrays = _json(folder / "config.json"), np.load(folder / "embeddings.npz")
    with _Run(folder, config) as run:
        people = run.dataset.truth.people
        run.evaluate(_Replay(list(arrays["embeddings"][people.numbers])))
        every = np.arange(len(people))
        asked = config["attributes"]

        def unrounded(value: Any) -> None:
            groups = files.validations(people, every, arrays["embeddings"][people.numbers], asked)
            found = [_unrounded(entry) for entries in groups.values() for entry in entries.values()]
            checks.close("unrounded", sorted(found, key=_by_size), sorted(value, key=_by_size))

        def pairs(value: Any) -> None:
            drawn = list(_drawn_pairs_of_groups(people, every, asked))
            largest = [one for one in drawn if one.images == max(other.images for other in drawn)]
            fits = [_drawn(one, value) for one in largest]
            checks.true("largest_group_pairs", value in fits, "no largest group has these pairs")

        handlers = {
            "eligible_images": lambda value: checks.equal("eligible_images", len(people), value),
            "example_key": lambda value: checks.true(
                "example_key", str(run.root / value) in run.read("model_outputs.json"), "no such key"
            ),
            "intersectional": lambda value: _intersectional(run, value, checks, 0.0),
            "unrounded": unrounded,
            "largest_group_pairs": pairs,
        }
        _each(expected, handlers, checks)


def _unrounded(found: verification.GroupValidation) -> dict[str, Any]:
    rates = found.validation
    return {
        "n_images": found.images,
        "n_same": found.same,
        "n_diff": found.different,
        "folds": rates.folds,
        "val": rates.val,
        "val_std": rates.val_std,
        "far": rates.far,
        "accuracy_mean": float(np.mean(rates.accuracy)),
    }


def _by_size(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    numbers = (entry[name] for name in ("val", "val_std", "far", "accuracy_mean"))
    return entry["n_images"], entry["n_same"], entry["n_diff"], *(round(number or 0.0, 7) for number in numbers)


@dataclass(frozen=True)
class _DrawnPairs:
    """The pairs that VAL of one group rests on: table rows in drawing order, and labels after shuffling."""

    images: int
    same: tuple[tuple[int, int], ...]
    different: tuple[tuple[int, int], ...]
    is_same: tuple[int, ...]


def _drawn_pairs_of_groups(people: Any, rows: Any, asked: Sequence[str]) -> Iterator[_DrawnPairs]:
    """The drawn pairs of every group, for whoever wants to check them."""
    identity = np.unique(people.units, return_inverse=True)[1].reshape(-1)
    for _, groups in files.groups_by_path(people, rows, asked):
        for members in groups:
            kept = members[verification.paired(identity[members])]
            if len(np.unique(identity[kept])) < 2:
                continue
            same, different = verification.drawn_pairs(identity[kept])
            numbers = people.numbers[kept]
            labels = [1] * len(same.first) + [0] * len(different.first)
            yield _DrawnPairs(
                len(kept),
                tuple(zip(numbers[same.first].tolist(), numbers[same.second].tolist(), strict=True)),
                tuple(zip(numbers[different.first].tolist(), numbers[different.second].tolist(), strict=True)),
                tuple(labels[place] for place in verification.shuffled(len(labels))),
            )


def _drawn(found: _DrawnPairs, like: Mapping[str, Any]) -> dict[str, Any]:
    lists = {
        "same": [list(pair) for pair in found.same],
        "diff": [list(pair) for pair in found.different],
        "issame_after_shuffle": list(found.is_same),
    }
    return {name: lists[name][: len(like[name])] if name in lists else None for name in like}


# Arguments, attributes, kernels


def _arguments(folder: Path, expected: Any, checks: Checks) -> None:
    base = expected["base_arguments"]
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        _place_table(folder, root, "fhibe_downsampled")
        images = list(dict.fromkeys(row["filepath"] for row in _rows(folder / "annotations.csv")))
        stored = {
            "person_localization": {"detections": None, "scores": None},
            "keypoint_estimation": {"detections": [[[1, 1]] * 17] * 2, "scores": [[1.0] * 17] * 2},
        }
        for task, answer in stored.items():
            place = root / "results" / task / "fhibe_downsampled" / base["model_name"]
            place.mkdir(parents=True)
            codec.write_outputs(task, dict.fromkeys(images, answer), place / "model_outputs.json")
        for call in expected["calls"]:
            arguments = {**base, **call["changed_arguments"]}
            raised = _classes(
                lambda arguments=arguments: evaluate_task(
                    data_rootdir=root, results_rootdir=root / "results", **arguments
                )
            )
            checks.true(
                json.dumps(call["changed_arguments"]),
                (call["raises"] is None and raised == []) or call["raises"] in raised,
                f"raised {raised[:1] or 'nothing'}, expected {call['raises'] or 'nothing'}",
            )
        _each({key: expected[key] for key in expected if key not in ("base_arguments", "calls")}, {}, checks)


def _classes(call: Callable[[], Any]) -> list[str]:
    try:
        call()
    except Exception as error:
        return [kind.__name__ for kind in type(error).__mro__]
    return []


def _utilities(folder: Path, expected: Any, checks: Checks) -> None:
    rows = _rows(folder / "annotations.csv")

    def attribute_of(name: str) -> Any:
        return data.published_attribute(name, data.prepared_cells(name, [row[name] or None for row in rows]))

    def labels_of(name: str) -> list[tuple[str, ...]]:
        cells = data.prepared_cells(name, [row[name] or None for row in rows])
        values = attributes.found_values(name, cells)
        return [attributes.labels(name, cell, values) for cell in cells]

    def group_labels(value: Any) -> None:
        for key, groups in value.items():
            by = attributes.parse_key(key)
            columns = {name: labels_of(name) for name in by}
            found = [
                [list(group) for group in product(*(columns[name][row] for name in by))] for row in range(len(rows))
            ]
            checks.equal(f"group_labels {key}", found, groups)

    def sorted_groups(value: Any) -> None:
        for key, groups in value.items():
            by = attributes.parse_key(key)
            labels = [grouping.labels_of(name, attribute_of(name)) for name in by]
            checks.equal(f"sorted_groups {key}", grouping.subset(labels, len(rows)).keys(), groups)

    def overlap_labels(value: Any) -> None:
        values = attributes.found_values("nationality", value)
        for cell, groups in value.items():
            found = [[label] for label in attributes.labels("nationality", cell, values)]
            checks.equal(f"overlap_labels {cell}", found, groups)

    def mini(value: Any) -> None:
        for sizes, chosen in value.items():
            population, size = (int(number) for number in sizes.split(","))
            checks.equal(f"mini_dataset_rows {sizes}", table.mini_rows(population, size), chosen)

    def each(name: str, function: Callable[[str], Any], value: Any) -> None:
        for raw, cleaned in value.items():
            checks.equal(f"{name} {raw!r}", function(raw), cleaned)

    def format_value(value: Any) -> None:
        for attribute, key, shown in value:
            found = attributes.display_value(attribute, attributes.parse_key(key)[0])
            checks.equal(f"format_value {key}", found, shown)

    def format_list(value: Any) -> None:
        for by, values, shown in value:
            checks.equal(f"format_list {values}", attributes.display_group(by, values), shown)

    handlers = {
        "country": partial(each, "country", attributes.clean_country),
        "age": partial(each, "age", lambda age: attributes.age_bucket(float(age))),
        "group_labels": group_labels,
        "sorted_groups": sorted_groups,
        "overlap_labels": overlap_labels,
        "format_value": format_value,
        "format_name": partial(each, "format_name", attributes.display_name),
        "format_list": format_list,
        "mini_dataset_rows": mini,
    }
    _each(expected, handlers, checks)


def _kernels(folder: Path, expected: Any, checks: Checks) -> None:
    given = np.load(folder / "inputs.npz")

    def pck(value: Any) -> None:
        found = [
            keypoints.share_correct(
                keypoints.distances(pose, predicted),
                pose[:, 2] == keypoints.VISIBLE,
                keypoints.diagonal(box),
                given["pck_thresholds"],
            )
            for pose, predicted, box in zip(given["kp_gt"], given["kp_pred"], given["face_box"], strict=True)
        ]
        checks.close("pck", found, value)

    def oks_table() -> list[list[float | None]]:
        return [
            [keypoints.similarity(pose, predicted, float(area), given["sigmas"]) for predicted in given["kp_pred"]]
            for pose, area in zip(given["kp_gt"], given["area"], strict=True)
        ]

    def best_oks(value: Any) -> None:
        found = [
            scores.best_similarity(pose, given["kp_pred"], float(area), given["sigmas"])
            for pose, area in zip(given["kp_gt"], given["area"], strict=True)
        ]
        checks.close("best_oks", found, value)

    def mask_table(function: Callable[[Any, Any], Any]) -> list[list[Any]]:
        found = given["masks"].astype(bool)
        return [[function(first, second) for second in found] for first in found]

    def mask_iou(value: Any) -> None:
        runs = [masks.encode(mask) for mask in given["masks"].astype(bool)]
        checks.close("mask_iou", masks.overlap_matrix(runs, runs), value)

    def verified(value: Any) -> None:
        for entry in value:
            number = entry["case"]
            rates = verification.validation(given[f"dist_{number}"], given[f"issame_{number}"])
            found = {
                "case": number,
                "folds": rates.folds,
                "val": rates.val,
                "val_std": rates.val_std,
                "far": rates.far,
                "accuracy": rates.accuracy,
            }
            checks.close(f"verification {number}", found, entry)

    handlers = {
        "box_iou": lambda value: checks.close(
            "box_iou", boxes.overlap(given["boxes_pred"][:, np.newaxis], given["boxes_gt"]), value
        ),
        "pck": pck,
        "oks": lambda value: checks.close("oks", oks_table(), value),
        "best_oks": best_oks,
        "mask_iou": mask_iou,
        "mask_f1": lambda value: checks.close("mask_f1", mask_table(masks.mask_f1), value),
        "verification": verified,
    }
    _each(expected, handlers, checks)


# Groups and statistics


def _scored(folder: Path, config: Mapping[str, Any]) -> disparity.ScoredRows:
    rows = _rows(folder / "scores.csv")
    people = {
        name: data.published_attribute(name, data.prepared_cells(name, [row[name] or None for row in rows]))
        for name in config["attributes"]
    }
    values = np.array([float(row["score"]) if row["score"] else np.nan for row in rows])
    return disparity.ScoredRows(config["metric"], people, values)


def _intersections(folder: Path, expected: Any, checks: Checks) -> None:
    config = _json(folder / "config.json")
    scored = _scored(folder, config)
    if "attributes_in_output_order" in config:
        order = list(attributes.canonical(config["attributes"]))
        checks.equal("attributes_in_output_order", order, config["attributes_in_output_order"])
    _group_means(scored, config["attributes"], expected, checks)


def _group_means(
    scored: disparity.ScoredRows, asked: Sequence[str], expected: Mapping[str, Any], checks: Checks
) -> None:
    largest = max((len(attributes.parse_key(key)) for key in expected), default=0)
    rows = np.flatnonzero(~np.isnan(scored.scores))
    found = {
        subset.key: {
            key: [float(mean), int(size)]
            for key, mean, size in zip(subset.keys(), subset.means(scored.scores), subset.sizes, strict=True)
        }
        for subset in grouping.subsets(scored.people, asked, rows, largest=largest)
    }
    checks.equal("combinations in order", list(found), list(expected))
    for by, groups in expected.items():
        got = found.get(by, {})
        checks.equal(f"{by}: groups in order", list(got), list(groups))
        checks.close(by, got, groups)


def _disparity(folder: Path, expected: Any, checks: Checks) -> None:
    config = _json(folder / "config.json")
    scored, asked = _scored(folder, config), config["attributes"]

    def disparities(value: Any) -> None:
        for parameters, rows in value.items():
            found = [pair.row for pair in disparity.disparities(scored, asked, **_parameters(parameters))]
            checks.close(f"disparity {parameters}", found, rows or [], **STATISTICS)

    def bars(value: Any) -> None:
        for name, content in value.items():
            attribute, _, parameters = name.partition(",")
            regions = _parameters(parameters).get("largest_regions", True)
            found = disparity.bars(scored, attribute, largest_regions=regions)
            handlers: Handlers = {
                "labels": lambda labels, found=found, name=name: checks.equal(f"bars {name}", found.labels, labels),
                "heights": lambda rows, found=found, name=name: checks.close(f"heights {name}", found.heights, rows),
                "stars": lambda stars, found=found, name=name: checks.equal(f"stars {name}", found.stars, stars),
            }
            _each(content, handlers, checks)

    handlers = {
        "group_means": lambda value: _group_means(scored, asked, value, checks),
        "disparity": disparities,
        "table": lambda value: checks.equal("table", disparity.disparity_table(scored, asked), value),
        "bars": bars,
    }
    _each(expected, handlers, checks)


def _parameters(text: str) -> dict[str, Any]:
    names = {"k": "size", "min_group_size": "min_group", "group_largest_regions": "largest_regions"}
    found: dict[str, Any] = {}
    for part in filter(None, text.split(",")):
        name, _, value = part.partition("=")
        found[names[name]] = {"None": None, "True": True, "False": False}.get(value, value)
        if isinstance(found[names[name]], str):
            found[names[name]] = int(value)
    return found


def _part_disparity(folder: Path, expected: Any, checks: Checks) -> None:
    config, rows = _json(folder / "config.json"), _json(folder / "rows.json")
    people = {
        name: data.published_attribute(name, data.prepared_cells(name, [row[name] for row in rows]))
        for name in config["attributes"]
    }
    parts = list(rows[0]["probabilities"])
    found = scores.part_table(
        parts, [[row["probabilities"][part] for part in parts] for row in rows], [row["visible"] for row in rows]
    )
    scored = {
        metric: disparity.ScoredRows(
            metric, people, found.recall(grid) if metric == "AR_DET" else found.accuracy(grid), found.parts
        )
        for metric, grid in config["thresholds"].items()
    }

    def summary(value: Any) -> None:
        for metric, content in value.items():
            checks.equal(
                f"summary {metric}",
                files.part_summaries(found.parts, found.probability, config["thresholds"][metric]),
                content,
            )

    def means(value: Any) -> None:
        for metric, content in value.items():
            got = files.nested_parts(scored[metric], config["attributes"])
            checks.equal(f"{metric}: combinations", list(got), list(content))
            for by, groups in content.items():
                checks.equal(f"{metric} {by}: groups in order", list(got.get(by, {})), list(groups))
                shown = {
                    group: {part: [entry[metric], entry["Class_Size"]] for part, entry in entries.items()}
                    for group, entries in got.get(by, {}).items()
                }
                checks.close(f"{metric} {by}", shown, groups)

    def disparities(value: Any) -> None:
        for metric, content in value.items():
            for parameters, rows_ in content.items():
                pairs = disparity.disparities(scored[metric], config["attributes"], **_parameters(parameters))
                checks.close(
                    f"disparity {metric} {parameters}", [pair.row for pair in pairs], rows_ or [], **STATISTICS
                )

    def tables(value: Any) -> None:
        for metric, cells in value.items():
            got = disparity.disparity_table(scored[metric], config["attributes"])
            checks.equal(f"table {metric}", got, cells)

    handlers = {"summary": summary, "group_means": means, "disparity": disparities, "table": tables}
    _each(expected, handlers, checks)


def _pairs(folder: Path, expected: Sequence[Any], checks: Checks) -> None:
    tests = {"U": disparity.rank_tests, "t": utils.mean_tests}
    for number, (groups, content) in enumerate(zip(_json(folder / "groups.json"), expected, strict=True)):
        for statistic, value in content.items():
            if statistic not in tests:
                checks.true(statistic, False, "a statistic that nobody knows")
                continue
            found = tests[statistic](groups)
            where = f"{number} {statistic}"
            rows = [pair.row[1:] for pair in found]
            significant = [pair.row[1:] for pair in found if pair.significant]
            handlers: Handlers = {
                "all_pairs": lambda value, rows=rows, where=where: checks.close(where, rows, value, **STATISTICS),
                "significant": lambda value, rows=significant, where=where: checks.close(
                    f"{where} significant", rows or None, value, **STATISTICS
                ),
            }
            _each(value, handlers, checks)


# Folders


class _Run:
    """A data root and a results folder made from a case, for one evaluation."""

    def __init__(self, folder: Path, config: Mapping[str, Any]) -> None:
        self.folder, self.config = folder, config
        self._temporary = tempfile.TemporaryDirectory()
        self.root = Path(self._temporary.name) / "data root"
        _place_table(folder, self.root, dataset_folder(config["dataset"], downsampled=True))
        self.arguments: dict[str, Any] = {
            "data_rootdir": self.root,
            "dataset_name": config["dataset"],
            "model_name": MODEL,
            "task_name": config["task"],
            "metrics": config.get("metrics"),
            "use_mini_dataset": config.get("use_mini_dataset", False),
            "mini_dataset_size": config.get("mini_dataset_size", 50),
            "results_rootdir": Path(self._temporary.name) / "results",
        }
        self.more = {name: config[name] for name in ("custom_keypoints",) if config.get(name) is not None}
        try:
            name, mini = config["task"], self.arguments["use_mini_dataset"]
            check_task(name, config["dataset"], config["dataset"])
            place = dataset_folder(config["dataset"], downsampled=True)
            self.asked = EvaluationArguments(
                root=self.root,
                task=name,
                attributes=check_attributes(config["attributes"], name),
                thresholds=check_metrics(config.get("metrics"), name),
                mini=(self.arguments["mini_dataset_size"] or table.MINI_ROWS) if mini else None,
                custom_keypoints=check_task_arguments(self.more, name),
                results=results_folder(self.arguments["results_rootdir"], name, place, MODEL, mini=mini),
                named=bool(config.get("metrics")),
            )
            self.results, task = self.asked.results, task_named(name)
            self.results.mkdir(parents=True)
            self.dataset: Any = task.load(self.root, options_for(task, self.asked))
        except Exception:
            self._temporary.cleanup()
            raise

    def __enter__(self) -> _Run:
        return self

    def __exit__(self, *problem: object) -> None:
        self._temporary.cleanup()

    def evaluate(self, model: Any) -> None:
        evaluate_task(
            **self.arguments,
            model=model,
            attributes=self.config["attributes"],
            reuse_model_outputs=model is None,
            **self.more,
        )

    def estimates(self) -> dict[tuple[str, str, frozenset[tuple[str, str]]], float | None]:
        """Metric, output and group → value, by `evenhand evaluate` over the outputs that the drop-in read."""
        asked, task = self.asked, task_named(self.config["task"])
        given = options_for(task, asked)
        options = {name: getattr(given, name) for name in given.__dataclass_fields__}
        run = evaluate(
            task, self.results, self.root, options=options, by=asked.attributes, depth=max(len(asked.attributes), 1),
            draws=100,
        )  # fmt: skip
        scales = {
            (metric.name, output): scale for metric in task.metrics(given) for output, scale in metric.scales.items()
        }
        self.off_scale = [
            f"{one.metric}.{one.output} {one.group}: {end}"
            for one in run.results.estimates
            if (scale := scales.get((one.metric, one.output)))
            for end in (one.number, one.low, one.high)
            if end is not None and not scale.low - 1e-12 <= end <= scale.high + 1e-12
        ]
        return {(one.metric, one.output, frozenset(one.group.terms)): one.number for one in run.results.estimates}

    def read(self, name: str) -> Any:
        return _json(self.results / name)


def _place_table(folder: Path, root: Path, name: str) -> None:
    place = table.table_path(root, name)
    place.parent.mkdir(parents=True)
    place.write_bytes((folder / "annotations.csv").read_bytes())


def _summaries(detailed: Mapping[str, Any]) -> dict[str, Any]:
    return {key: entry["summary"] for key, entry in detailed.items()}


def _undefined_rows(rows: Sequence[Any]) -> list[Any]:
    return [None if row is None or row[0] is None else row for row in rows]


def _rows(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(1 << 30)
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8"))))


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
