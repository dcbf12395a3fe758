"""The sections of a synthesis case that belong to the family: numbers, distances, protocol files, report text.

`SECTIONS` maps the keys of `expected.json` that are checked here to their checks; `synthesis.py` joins them with the
sections of the instruments. A check calls public functions with the files of the case and compares what comes back.
"""

from __future__ import annotations

import json
import pickle
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from harness import Checks

from evenhand.benchmarks.synthesis.features import FeatureTable
from evenhand.benchmarks.synthesis.imitation import run_model
from evenhand.benchmarks.synthesis.measuring import FrameInstruments, FrameSource, NetworkBuilder
from evenhand.benchmarks.synthesis.models import MotionImitationModel, NovelViewModel
from evenhand.benchmarks.synthesis.numbers import cosine_rows
from evenhand.benchmarks.synthesis.options import SynthesisOptions
from evenhand.benchmarks.synthesis.pairs import FramePair, pair_lists
from evenhand.benchmarks.synthesis.protocol import FLAVOURS, Flavour, Protocol, Rules
from evenhand.benchmarks.synthesis.protocol_file import ProtocolQuestion
from evenhand.benchmarks.synthesis.record import MeasurementPlan
from evenhand.compat.his_evaluators.evaluators.base import CROSS, SELF, results_text, run_paired, run_unpaired
from evenhand.core.measure import measure
from evenhand.core.records import Records
from evenhand.metrics.distances import frechet_distance, inception_score
from evenhand.metrics.means import Mean

DOCUMENTATION = ("note", "comment", "reference")


def known(checks: Checks, name: str, entry: Mapping[str, Any], *keys: str) -> None:
    """Every key of an entry is one that is compared, or documentation."""
    strange = [k for k in entry if k not in keys and k not in DOCUMENTATION and not k.endswith("_DO_NOT_USE")]
    checks.true(name, not strange, f"keys that nobody compares: {strange}")


def close_where_told(
    checks: Checks, name: str, found: Mapping[str, Any], told: Mapping[str, Any], **tolerance: float
) -> None:
    """Compare what a case tells; a case need not tell everything."""
    for key, value in found.items():
        if key in told:
            checks.close(f"{name}.{key}", value, told[key], **tolerance)


def evaluated(
    metric: str, made: Mapping[str, np.ndarray], real: Mapping[str, np.ndarray], batch: int, *, paired: bool = True
) -> float:
    """What an evaluator gives for a metric of features that were computed before."""
    ids = tuple(str(number) for number in range(len(next(iter(made.values())))))
    pairs = [FramePair(name, name, name, Path(name), Path(name)) for name in ids]
    sides = (
        FrameSource("synthesised", FeatureTable(Path(), ids, made), has_pictures=False),
        FrameSource("real", FeatureTable(Path(), ids, real), has_pictures=False),
    )
    run = run_paired if paired else run_unpaired
    asked = MeasurementPlan((), SynthesisOptions(batch=batch))
    return run(pairs, [metric], FrameInstruments(*sides), asked).values[metric]


def evaluated_by_batch(
    metric: str, made: Mapping[str, np.ndarray], real: Mapping[str, np.ndarray], batch: int
) -> list[float]:
    """What the paired evaluator gives for each batch alone."""
    starts = range(0, len(next(iter(made.values()))), batch)
    cut = [[{name: rows[at : at + batch] for name, rows in side.items()} for side in (made, real)] for at in starts]
    return [evaluated(metric, *sides, batch) for sides in cut]


def cosine(checks: Checks, folder: Path, expected: list[dict[str, Any]]) -> None:
    arrays = np.load(folder / "features.npz")
    for case in expected:
        name = f"cosine.{case['name']}"
        keys = ("name", "all_rows_one_call", "without_normalising", "per_row", "batch", "mean_of_batch_means")
        known(checks, name, case, *keys, "batch_means")
        pred, ref = arrays[f"cos_{case['name']}_pred"], arrays[f"cos_{case['name']}_ref"]
        sides = {"osnet": pred}, {"osnet": ref}
        found: dict[str, Any] = {
            "all_rows_one_call": evaluated("OS-CS-reid", *sides, len(pred)),
            "per_row": cosine_rows(pred, ref),
        }
        if "batch" in case:
            found["batch_means"] = evaluated_by_batch("OS-CS-reid", *sides, case["batch"])
            found["mean_of_batch_means"] = evaluated("OS-CS-reid", *sides, case["batch"])
        close_where_told(checks, name, found, case, abs=1e-6)
        products = Records({"product": cosine_rows(pred, ref, normalise=False)}, {})
        plain = {"without_normalising": measure(products, [Mean("products", "product")])[0].value}
        close_where_told(checks, name, plain, case, rel=1e-6, abs=1e-6)


def cosine_empty(checks: Checks, folder: Path, expected: float) -> None:
    nothing = {"osnet": np.zeros((0, 4))}
    checks.close("cosine_empty", evaluated("OS-CS-reid", nothing, nothing, 1), expected)


def face_aggregation(checks: Checks, folder: Path, expected: dict[str, Any]) -> None:
    arrays = np.load(folder / "features.npz")
    pred, ref, found = (arrays[f"face_{part}"] for part in ("pred", "ref", "ref_detected"))
    keys = ("batch", "paired_face_CS", "paired_batch_values", "unpaired_face_CS", "unpaired_face_FD")
    known(checks, "face_aggregation", expected, *keys)
    sides, batch = ({"face": pred}, {"face": ref, "face_found": found}), expected["batch"]
    means = {
        "paired_face_CS": evaluated("face-CS", *sides, batch),
        "paired_batch_values": evaluated_by_batch("face-CS", *sides, batch),
        "unpaired_face_CS": evaluated("face-CS", *sides, batch, paired=False),
    }
    close_where_told(checks, "face_aggregation", means, expected, abs=1e-6)
    if "unpaired_face_FD" in expected:
        distance = evaluated("face-FD", *sides, batch, paired=False)
        checks.close("face_aggregation.unpaired_face_FD", distance, expected["unpaired_face_FD"], rel=1e-5)


def frechet(checks: Checks, folder: Path, expected: list[dict[str, Any]]) -> None:
    arrays = np.load(folder / "features.npz")
    for case in expected:
        name = f"frechet.{case['name']}"
        known(checks, name, case, "name", "n_pred", "n_ref", "dim", "published", "published_error", "closed_form")
        pred, ref = arrays[f"fd_{case['name']}_pred"], arrays[f"fd_{case['name']}_ref"]
        shape = {"n_pred": len(pred), "n_ref": len(ref), "dim": pred.shape[1]}
        checks.equal(f"{name}.shape", {key: shape[key] for key in shape if key in case}, _part(case, shape))
        if case.get("closed_form", 0.0) is None:  # the published number is meaningless
            checks.refused(name, lambda pred=pred, ref=ref: frechet_distance(pred, ref), "two rows")
            continue
        value = frechet_distance(pred, ref)
        close_where_told(checks, name, {"closed_form": value}, case, rel=1e-9, abs=1e-9)
        checks.equal(f"{name}.symmetric", frechet_distance(ref, pred), value)
        if case.get("published") is not None:
            checks.close(f"{name}.published", value, case["published"], rel=2e-5, abs=1e-3)


def _part(told: Mapping[str, Any], of: Mapping[str, Any]) -> dict[str, Any]:
    return {key: told[key] for key in of if key in told}


def frechet_empty(checks: Checks, folder: Path, expected: float) -> None:
    nothing = {"inception": np.zeros((0, 4))}
    checks.close("frechet_empty", evaluated("fid", nothing, nothing, 1, paired=False), expected)


def inception(checks: Checks, folder: Path, expected: list[dict[str, Any]]) -> None:
    arrays = np.load(folder / "features.npz")
    for case in expected:
        name = f"inception_score.{case['name']}"
        logits = arrays[f"is_{case['name']}_logits"]
        chunks = {key.removeprefix("chunks_of_").partition("_")[0] for key in case if key.startswith("chunks_of_")}
        keys = [f"chunks_of_{rows}_{what}" for rows in chunks for what in ("mean", "std")]
        known(checks, name, case, "name", "single_split", "softmax_dtype", *keys)
        if case.get("single_split") == "nan":  # published underflow; 0 log 0 is 0 here, and a number comes back
            checks.true(name, bool(np.isfinite(inception_score(logits).mean)), "not finite")
            continue
        close_where_told(checks, name, {"single_split": inception_score(logits).mean}, case, rel=1e-5)
        for rows in chunks:
            value = inception_score(logits, rows_per_split=int(rows))
            found = {f"chunks_of_{rows}_mean": value.mean, f"chunks_of_{rows}_std": value.deviation}
            close_where_told(checks, name, found, case, rel=1e-5, abs=1e-6)


def body_error(checks: Checks, folder: Path, expected: float) -> None:
    arrays = np.load(folder / "features.npz")
    made, real = {"body": arrays["sspe_pred"]}, {"body": arrays["sspe_ref"]}
    checks.close("sspe", evaluated("SSPE", made, real, len(made["body"])), expected, rel=1e-5)


def report_text(checks: Checks, folder: Path, expected: dict[str, Any]) -> None:
    titles = {"self": SELF, "cross": CROSS}
    for name, case in expected.items():
        known(checks, f"report_text.{name}", case, "text", *titles)
        blocks = {
            title: [(metric, value) for metric, value in case[key]] for key, title in titles.items() if key in case
        }
        checks.equal(f"report_text.{name}", results_text(blocks), case["text"])


def protocol_selection(checks: Checks, folder: Path, expected: dict[str, Any]) -> None:
    described = json.loads((folder / "protocols.json").read_text(encoding="utf-8"))["datasets"]
    for name, case in expected.items():
        flavour = max((known for known in FLAVOURS if name.startswith(known)), key=len, default=None)
        checks.true(f"protocol_selection.{name}", flavour is not None, "the name of no known data set")
        if flavour is None:
            continue
        data = described[max((known for known in described if flavour.startswith(known)), key=len)]
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch).resolve()
            _lay_out(root, FLAVOURS[flavour], data["files"])
            (root / "protocol.json").write_text(json.dumps(data["protocol"]), encoding="utf-8")
            _selection(checks, f"protocol_selection.{name}", root, FLAVOURS[flavour], case)


SECTIONS: Mapping[str, Callable[[Checks, Path, Any], None]] = {
    "cosine": cosine,
    "cosine_empty": cosine_empty,
    "face_aggregation": face_aggregation,
    "frechet": frechet,
    "frechet_empty": frechet_empty,
    "inception_score": inception,
    "sspe": body_error,
    "report_text": report_text,
    "protocol_selection": protocol_selection,
}


def _lay_out(root: Path, flavour: Flavour, files: Mapping[str, list[str]]) -> None:
    """The folders that a case describes, with parameters that reveal which rows were picked."""
    for video, names in files.items():
        images = root / flavour.images.format(video=video)
        images.mkdir(parents=True)
        for name in names:
            (images / name).touch()
        beside = root / flavour.parameters.format(video=video)
        beside.mkdir(parents=True, exist_ok=True)
        count = len(names)
        camera, points = np.zeros((count, 3)), np.zeros((count, 19, 2))
        camera[:, 0] = points[:, 0, 0] = np.arange(count)
        shape = np.zeros(10) if flavour.shape_once else np.zeros((count, 10))
        body = {"cams": camera, "pose": np.zeros((count, 72)), "shape": shape}
        keyed = {"kps": points} if flavour.name.startswith("iPER") else points
        (beside / "pose_shape.pkl").write_bytes(pickle.dumps(body, protocol=2))
        (beside / "kps.pkl").write_bytes(pickle.dumps(keyed, protocol=2))


class _Stub:
    """Writes an empty file per reference frame, and keeps what it was called with."""

    output_dir: str

    def __init__(self, output_dir: str) -> None:
        super().__init__(output_dir)
        self.calls: list[str] = []

    def build_model(self) -> None:
        self.calls.append("build_model")

    def terminate(self) -> None:
        """Nothing to release."""

    def personalization(self, src_infos: dict[str, Any]) -> dict[str, Any]:
        names = ",".join(Path(path).name for path in src_infos["images"])
        self.calls.append(f"personalization {src_infos['formated_name']} {names}")
        return src_infos

    def write(self, folder: str, first: int, count: int) -> list[str]:
        made = [Path(folder) / f"pred_{first + number:08d}.jpg" for number in range(count)]
        for path in made:
            path.touch()
        return [str(path) for path in made]


class _Imitator(_Stub, MotionImitationModel):
    def imitate(self, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> list[str]:
        own, count = ref_infos["self_imitation"], len(ref_infos["images"])
        self.calls.append(f"imitate {src_infos['formated_name']} {ref_infos['formated_name']} {count} self={own}")
        if own:
            return self.write(self.si_out_dir, self.num_preds_si, count)
        return self.write(self.ci_out_dir, self.num_preds_ci, count)


class _Viewer(_Stub, NovelViewModel):
    def imitate(self, src_infos: dict[str, Any], ref_infos: dict[str, Any]) -> list[str]:
        return self.write(self.output_dir, self.num_preds, len(ref_infos["images"]))


def _selection(checks: Checks, name: str, root: Path, flavour: Flavour, case: Mapping[str, Any]) -> None:
    keys = ("num_sources", "length", "items", "model_calls", "self_pairs", "cross_pairs", "output_subfolders")
    known(checks, name, case, *keys, "total_frames_property")
    novel = "num_sources" not in case
    protocol = Protocol(
        root / "protocol.json",
        root,
        flavour,
        question=ProtocolQuestion.NOVEL_VIEW if novel else ProtocolQuestion.IMITATION,
        sources=case.get("num_sources", 1),
    )
    checks.equal(f"{name}.length", len(protocol), case.get("length", len(protocol)))
    for number, (item, wanted) in enumerate(zip(protocol, case["items"], strict=True) if "items" in case else ()):
        where = f"{name}.items[{number}]"
        for key, frames in (("source", item.source), ("self_imitation", item.own)):
            if key in wanted:
                _frames(checks, f"{where}.{key}", root, frames.as_dictionary(), wanted[key])
        known(checks, where, wanted, "source", "self_imitation", "cross_imitation", "flag")
        if "cross_imitation" in wanted:
            assert item.cross is not None
            _frames(checks, f"{where}.cross", root, item.cross.as_dictionary(), wanted["cross_imitation"])
        if "flag" in wanted:
            checks.equal(f"{where}.flag", [_below(root, path) for path in item.flag], wanted["flag"])
    if "total_frames_property" in case:
        checks.equal(f"{name}.total", protocol.published_total, case["total_frames_property"])
    output = root / "output"
    model = _Viewer(str(output)) if novel else _Imitator(str(output))
    lists = pair_lists(run_model(model, protocol, start="here"), rules=Rules.COMPAT, warn=lambda message: None)
    checks.equal(f"{name}.unfinished", [item for item, _ in lists.unfinished], [])
    for key, pairs in (("self_pairs", lists.own), ("cross_pairs", lists.cross)):
        if key in case:
            got = [[_below(output, pair.prediction), _below(root, pair.reference)] for pair in pairs]
            checks.equal(f"{name}.{key}", got, case[key])
    if "model_calls" in case:
        checks.equal(f"{name}.model_calls", model.calls, case["model_calls"])
    if "output_subfolders" in case:
        found = sorted(path.name for path in output.iterdir() if path.is_dir())
        checks.equal(f"{name}.output_subfolders", found, sorted(case["output_subfolders"]))


def _frames(checks: Checks, name: str, root: Path, given: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """A dictionary as the model gets it, against the expected one; parameters by the rows that were picked."""
    got: dict[str, Any] = {
        key: given[key] for key in ("name", "formated_name", "s_n", "self_imitation") if key in given
    }
    for key in ("images", "masks"):
        if key in given:
            got[key] = [_below(root, path) for path in given[key]]
    if "vid_path" in given:
        got["vid_path"] = _below(root, given["vid_path"])
    got["smpl_rows"], got["smpls_shape"] = [int(row[0]) for row in given["smpls"]], list(given["smpls"].shape)
    got["kps_rows"], got["kps_shape"] = [int(row[0, 0]) for row in given["kps"]], list(given["kps"].shape)
    if "views" in given:
        got["views_shape"] = list(given["views"].shape)
    known(checks, name, wanted, *got)
    checks.equal(name, {key: got.get(key) for key in wanted}, dict(wanted))


def _below(root: Path, path: Any) -> str:
    return Path(path).relative_to(root).as_posix()


def filled_runs(checks: Checks, folder: Path, runs: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Whole runs with given networks: what each runner returns, and which names come along."""
    known_keys = ("image_size", "batch_size", "ids", "paired", "unpaired", "per_pair_cosine_raw")
    paths = {pair["id"]: pair for pair in json.loads((folder / "pairs.json").read_text(encoding="utf-8"))}
    size, batch = runs["image_size"], runs["batch_size"]
    networks = NetworkBuilder(SynthesisOptions(image_size=size), given=given)
    side = FrameSource("synthesised", FeatureTable(folder)), FrameSource("real", FeatureTable(folder))
    looks = FrameInstruments(*side, networks)

    def pairs_of(ids: list[str]) -> tuple[FramePair, ...]:
        return tuple(FramePair(i, i, i, folder / paths[i]["pred"], folder / paths[i]["ref"]) for i in ids)

    def compare(name: str, ids: list[str], wanted: dict[str, float], asked: list[str], *, paired: bool) -> None:
        how = MeasurementPlan((), SynthesisOptions(image_size=size, batch=batch))
        run = run_paired if paired else run_unpaired
        got = run(pairs_of(ids), asked, looks, how).values
        checks.equal(f"{name}.names", list(got), list(wanted))
        for metric, value in wanted.items():
            tolerance = 1e-4 if metric in ("fid", "OS-freid", "PCB-freid", "face-FD") else 2e-5
            checks.close(f"{name}.{metric}", got.get(metric), value, rel=tolerance)

    no_face: list[str] = []
    for key in sorted(runs, key=lambda key: key.startswith("paired_")):
        value = runs[key]
        if key in ("image_size", "batch_size", "ids", "per_pair_cosine_raw"):
            continue
        if key in ("paired", "unpaired"):
            compare(key, runs["ids"], value, list(value), paired=key == "paired")
        elif key.startswith("unpaired_requesting_only_"):
            compare(key, runs["ids"], value, [key.removeprefix("unpaired_requesting_only_")], paired=False)
        elif key == "unpaired_face_no_reference_face":
            no_face = value["ids"]
            compare(key, no_face, value["expected"], ["face-CS", "face-FD"], paired=False)
        elif key == "paired_face_no_reference_face":
            compare(key, no_face, value, list(value), paired=True)
        else:
            checks.true(f"runs.{key}", False, f"a key that nobody compares; known: {known_keys}")


def trained_runs(checks: Checks, folder: Path, runs: dict[str, Any], given: Mapping[str, Any]) -> None:
    """Paired and unpaired face metrics with the trained networks."""
    paths = {pair["id"]: pair for pair in json.loads((folder / "pairs.json").read_text(encoding="utf-8"))}
    known(
        checks,
        "face_trained_weights",
        runs,
        "batch_size",
        "image_size",
        "ids",
        "paired",
        "unpaired",
        "per_pair_cosine_raw",
    )
    side = FrameSource("synthesised", FeatureTable(folder)), FrameSource("real", FeatureTable(folder))
    looks = FrameInstruments(*side, NetworkBuilder(SynthesisOptions(image_size=runs["image_size"]), given=given))
    pairs = tuple(FramePair(i, i, i, folder / paths[i]["pred"], folder / paths[i]["ref"]) for i in runs["ids"])
    how = MeasurementPlan((), SynthesisOptions(image_size=runs["image_size"], batch=runs["batch_size"]))
    for name, run in (("paired", run_paired), ("unpaired", run_unpaired)):
        got = run(pairs, list(runs[name]), looks, how).values
        checks.equal(f"face_trained_weights.{name}.names", list(got), list(runs[name]))
        for metric, value in runs[name].items():
            if metric == "face-FD":
                checks.close(f"face_trained_weights.{name}.{metric}", got.get(metric), value, rel=2e-4)
            else:
                checks.close(f"face_trained_weights.{name}.{metric}", got.get(metric), value, abs=1e-4)
    made, real = (
        looks.see("face", list(paths_), looks.real).values
        for paths_ in zip(*((q.prediction, q.reference) for q in pairs), strict=True)
    )
    rows = cosine_rows(made, real)
    for pair, row in zip(pairs, rows.tolist(), strict=True):
        checks.close(f"face_trained_weights.{pair.id}", row, runs["per_pair_cosine_raw"][pair.id], abs=1e-4)


def paired_values(
    folder: Path, ids: list[str], metrics: list[str], options: SynthesisOptions, given: Mapping[str, Any] | None = None
) -> dict[str, float]:
    """What the paired evaluator gives for pairs of a case."""
    paths = {pair["id"]: pair for pair in json.loads((folder / "pairs.json").read_text(encoding="utf-8"))}
    side = FrameSource("synthesised", FeatureTable(folder)), FrameSource("real", FeatureTable(folder))
    looks = FrameInstruments(*side, NetworkBuilder(options, given=given or {}))
    pairs = [FramePair(i, i, i, folder / paths[i]["pred"], folder / paths[i]["ref"]) for i in ids]
    return run_paired(pairs, metrics, looks, MeasurementPlan((), options)).values


def pixel_aggregates(checks: Checks, folder: Path, expected: list[dict[str, Any]]) -> None:
    """Means over batches of ssim and psnr, in list order."""
    for number, case in enumerate(expected):
        known(checks, f"aggregates[{number}]", case, "ids", "batch", "size", "expected")
        options = SynthesisOptions(image_size=case["size"], batch=case["batch"])
        got = paired_values(folder, case["ids"], list(case["expected"]), options)
        for metric, value in case["expected"].items():
            checks.close(f"aggregates[{number}].{metric}", got.get(metric), value, abs=1e-6)
