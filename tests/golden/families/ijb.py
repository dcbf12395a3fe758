"""The IJB cases: their kind is told by the files beside `expected.json`.

| files | kind |
|---|---|
| `scores.csv` (LABEL, SCORE) | verification from labelled scores |
| `probes.csv`, `gallery_*.csv`, `scores_*.csv` | open-set search from matrices |
| `cluster_file.csv`, `ground_truth.csv` | clustering |
| `detection_cluster_file.csv`, `ground_truth.csv` | detection and clustering |
| `detections.csv`, `face_detection.csv` | detection |
| `protocol/` or `protocols/` | all tests end to end |
| other CSVs named by the keys | reading rules |
| `recipes_full_scale/*.json` | inputs rebuilt from a seed |
"""

from __future__ import annotations

import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case, Checks, read_expected

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.cluster_reports import report_association, report_clusters
from evenhand.benchmarks.ijb.clusters import checked_clusters
from evenhand.benchmarks.ijb.convert import to_lists, to_official
from evenhand.benchmarks.ijb.covariates import ALL_COLUMNS, OCCLUSIONS
from evenhand.benchmarks.ijb.detection import read_annotated
from evenhand.benchmarks.ijb.files import read_pairs, read_table, scores_of
from evenhand.benchmarks.ijb.metrics import DetectionRates, tpr_name
from evenhand.benchmarks.ijb.sections import differential
from evenhand.benchmarks.ijb.templates import TemplateSet, faces_of, join_faces, read_faces
from evenhand.core.records import EVERYONE, Group, Records
from evenhand.metrics.clustering import BCubed, bcubed
from evenhand.metrics.operating_points import Convention, CurveStretch, SortedScores, allowed_accepts, rates_at
from evenhand.metrics.search import Cmc, OpenSetSearch, rank_name, tpir_name
from evenhand.metrics.search_rates import ANY_RANK, GallerySearch, Searches
from evenhand.metrics.verification import fmr_name, fnmr_name, tar_name
from evenhand.run import evaluate
from evenhand.search.enrol import Templates
from evenhand.search.one_to_many import search

WORDS = ("note", "comment", "reference")
POOLED = 1e-6  # values that depend on pooled embeddings
RECIPES = "recipes_full_scale"
CONVENTIONS = ",".join(convention.value for convention in Convention)

Check = Callable[[Checks, str, Any], None]


def cases(folder: Path) -> Iterator[Case]:
    """Every folder with an `expected.json`, and every recipe."""
    for expected in sorted(folder.rglob("expected.json")):
        here = expected.parent
        nested = {path.parent for path in here.rglob("expected.json")} - {here}
        files = frozenset(
            path
            for path in here.rglob("*")
            if path.is_file() and not any(other in path.parents for other in nested) and RECIPES not in path.parts
        )
        yield Case(str(here.relative_to(folder)), files, _checker(here, read_expected(expected)))
    for path in sorted(folder.rglob(f"{RECIPES}/*.json")):
        yield Case(str(path.relative_to(folder)), frozenset([path]), _recipe(read_expected(path)))


def _checker(here: Path, expected: Mapping[str, Any]) -> Callable[[Checks], None]:
    names = {path.name for path in here.iterdir()}
    if "refused" in expected:
        return lambda checks: _refused(checks, here, expected, names)
    if names & {"protocol", "protocols"}:
        return lambda checks: _whole_set(checks, here, expected)
    if "probes.csv" in names:
        return lambda checks: _identification(checks, here, expected)
    if "detection_cluster_file.csv" in names:
        return lambda checks: _association(
            checks, "", expected, here / "detection_cluster_file.csv", here / "ground_truth.csv", here
        )
    if "cluster_file.csv" in names:
        return lambda checks: _clustering(checks, here, expected)
    if "detections.csv" in names:
        return lambda checks: _detection_case(checks, here, expected)
    if "scores.csv" in names:
        return lambda checks: _labelled(checks, here, expected)
    return lambda checks: _formats(checks, here, expected)


def _refused(checks: Checks, here: Path, expected: Mapping[str, Any], names: set[str]) -> None:
    """The input ends in an error that names what it says."""
    calls: dict[str, Callable[[], Any]] = {
        "probes.csv": lambda: _run("ijb/test4", here, here),
        "detection_cluster_file.csv": lambda: report_association(
            here / "detection_cluster_file.csv", here / "ground_truth.csv"
        ),
        "cluster_file.csv": lambda: report_clusters(here / "cluster_file.csv", here / "ground_truth.csv"),
        "detections.csv": lambda: _run("ijb/test6", here / "detections.csv", here),
        "scores.csv": lambda: _run("ijb/test1", here / "scores.csv", here),
    }
    (call,) = [call for name, call in calls.items() if name in names][:1]
    wanted = expected["refused"]
    mentions = wanted if isinstance(wanted, list) else [wanted] if isinstance(wanted, str) else []
    checks.refused("refused", call, *mentions)
    _walk(checks, "", expected, {"refused": lambda value: None})


def _walk(checks: Checks, where: str, block: Mapping[str, Any], known: Mapping[str, Callable[[Any], None]]) -> None:
    """Check every key by its function; an unknown key fails by name."""
    for key, value in block.items():
        if key in known:
            known[key](value)
        elif key not in WORDS and not key.endswith("_DO_NOT_USE") and not _is_quirk(value):
            checks.true(f"{where}.{key}", False, "a key that the harness does not know")


def _is_quirk(value: Any) -> bool:
    return isinstance(value, Mapping) and value.get("quirk") is True


def _run(task: str, predictions: Path, data: Path, by: Sequence[str] = (), **options: Any) -> Any:
    return evaluate(
        benchmark.find(task),
        predictions,
        data,
        options=options,
        by=by,
        depth=1,
        draws=0,
        permutations=0,
        runs=None,
        rows="all",
    )


def _listed(keys: Any) -> str:
    return ",".join(str(key) for key in keys)


# Verification


def _labelled(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    policies = {"fte_penalise": "penalise", "fte_exclude": "exclude"}

    def policy(name: str) -> Callable[[Any], None]:
        def check(block: Any) -> None:
            run = _run(
                "ijb/test1",
                here / "scores.csv",
                here,
                fte=policies[name],
                far=_listed(block.get("tar_at_far", {})),
                conventions=CONVENTIONS,
            )
            _verification(checks, name, block, run, 1e-9)
            if "roc" in block:
                table = read_table(here / "scores.csv")
                score, same = scores_of(table), table.whole("LABEL") == 1
                kept = score > -np.inf if policies[name] == "exclude" else np.ones(len(score), bool)
                _complete_roc(
                    checks,
                    name,
                    block["roc"],
                    SortedScores.of(score[same & kept]),
                    SortedScores.of(score[~same & kept]),
                )

        return check

    _walk(checks, "", expected, {name: policy(name) for name in policies})


def _complete_roc(
    checks: Checks, where: str, block: Mapping[str, Any], genuine: SortedScores, impostor: SortedScores
) -> None:
    false, true, threshold = CurveStretch.of(genuine, impostor, 0, impostor.length)[:3]
    known = {"fmr": false / impostor.total, "tar": true / genuine.total, "threshold": threshold}
    for key, value in block.items():
        if key not in known:
            checks.true(f"{where}.roc.{key}", False, "a key that the harness does not know")
            continue
        checks.close(f"{where}.roc.{key}", known[key], value)


def _verification(
    checks: Checks, where: str, block: Mapping[str, Any], run: Any, tolerance: float, group: Group = EVERYONE
) -> None:
    get = run.results.get

    def count(output: str) -> Callable[[Any], None]:
        return lambda value: checks.equal(
            f"{where}.{output}", int(get("comparisons", output, group).number or 0), value
        )

    def separation(output: str) -> Callable[[Any], None]:
        return lambda value: checks.close(f"{where}.{output}", get("separation", output, group).value, value)

    def operating(points: Any) -> None:
        for text, wanted in points.items():
            if not isinstance(wanted, Mapping):  # only the exact rate
                checks.close(f"{where}@{text}", get("verification", tar_name(float(text)), group).value, wanted)
                continue
            _operating_point(checks, f"{where}@{text}", wanted, run, float(text), group, tolerance)

    def shared(points: Any) -> None:
        for text, wanted in points.items():
            names = {"fmr": fmr_name(float(text)), "fnmr": fnmr_name(float(text))}
            for key, value in wanted.items():
                if key not in names:
                    checks.true(f"{where}.at_global_threshold.{key}", False, "a key that the harness does not know")
                    continue
                checks.close(f"{where}.global@{text}.{key}", get("verification", names[key], group).value, value)

    _walk(
        checks,
        where,
        block,
        {
            "n_genuine": count("genuine"),
            "n_impostor": count("impostor"),
            "n_fte_comparisons": count("failures to enrol"),
            "auc": separation("AUC"),
            "eer": separation("EER"),
            "tar_at_far": operating,
            "at_global_threshold": shared,
            "roc": lambda value: None,  # checked where the scores are
        },
    )


def _operating_point(
    checks: Checks, where: str, wanted: Mapping[str, Any], run: Any, far: float, group: Group, tolerance: float
) -> None:
    def reading(convention: Convention) -> Any:
        return run.results.get("verification", tar_name(far, convention), group)

    def point(convention: Convention, field: str) -> Any:
        at = reading(convention).at
        return None if at is None else getattr(at, field)

    values = {convention.value: reading(convention).value for convention in Convention}
    realised = {
        "exact_fmr": point(Convention.EXACT, "realised"),
        "nearest_fmr": point(Convention.NEAREST, "realised"),
        "at_impostor_fmr": point(Convention.AT_IMPOSTOR, "realised"),
        "nearest_full_curve_fmr": point(Convention.NEAREST_FULL_CURVE, "realised"),
    }
    for key, value in wanted.items():
        if key in values:
            checks.close(f"{where}.{key}", values[key], value)
        elif key in realised:
            checks.close(f"{where}.{key}", realised[key], value)
        elif key == "exact_threshold":
            checks.close(f"{where}.{key}", point(Convention.EXACT, "threshold"), value, abs=tolerance)
        elif key not in WORDS:
            checks.true(f"{where}.{key}", False, "a key that the harness does not know")


# Search


def _identification(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    blocks = expected.get("galleries", {})
    _walk(
        checks,
        "",
        expected,
        {
            "galleries": lambda value: None,
            "mean": lambda value: None,
            "merged_gallery_legacy": lambda value: None,
        },
    )
    _searches(checks, "ijb/test4", here, here, blocks, expected, 1e-9)


def _searches(
    checks: Checks,
    task: str,
    predictions: Path,
    data: Path,
    blocks: Mapping[str, Any],
    expected: Mapping[str, Any],
    tolerance: float,
) -> None:
    """All galleries of a search task, their mean and the readings of public scripts."""
    mean = expected.get("mean", {})
    rates = dict.fromkeys(
        [*_keys(blocks, "tpir_at_fpir"), *_keys(blocks, "list_style_reference"), *_rates_of_mean(mean)]
    )
    ranks = dict.fromkeys([*_keys(blocks, "cmc"), *mean.get("cmc", {}), *mean.get("cmc_pooled", {})])
    lengths = {block["L"] for block in blocks.values() if "L" in block} or {20}
    depth = max((len(block.get("cmc_curve_pessimistic", ())) for block in blocks.values()), default=0)
    legacy = "merged_gallery_legacy" in expected or any("list_style_reference" in block for block in blocks.values())

    @cache
    def run(length: int, ties: str = "pessimistic", combine: str = "mean") -> Any:
        options = {"fpir": _listed(rates), "ranks": _listed(ranks), "list_length": length, "ties": ties}
        options |= {"combine": combine, "cmc_depth": depth or length, "legacy": legacy}
        return _run(task, predictions, data, ("gallery",), **options)

    for name, block in blocks.items():
        length = block.get("L", 20)
        _gallery(checks, name, block, lambda *given, length=length: run(length, *given), tolerance)
    if mean:
        for length in lengths:
            _mean(checks, mean, lambda *given, length=length: run(length, *given))
    if "merged_gallery_legacy" in expected:
        _merged(checks, expected["merged_gallery_legacy"], run(max(lengths)))


def _keys(blocks: Mapping[str, Any], name: str) -> list[str]:
    return [key for block in blocks.values() for key in block.get(name, {})]


def _rates_of_mean(mean: Mapping[str, Any]) -> list[str]:
    return [key for name in mean if name.startswith("tpir") for key in mean[name]]


def _gallery(checks: Checks, name: str, block: Mapping[str, Any], run: Callable[..., Any], tolerance: float) -> None:
    group = Group.of(gallery=name)
    length = int(block.get("L", 20))

    def count(output: str) -> int:
        return int(run().results.get("searches", output, group).number or 0)

    def cmc(wanted: Any) -> None:
        for rank, rules in wanted.items():
            for ties, value in rules.items():
                got = run(ties).results.get("CMC", rank_name(int(rank)), group).value
                checks.close(f"{name}.cmc.{rank}.{ties}", got, value)

    def tpir(wanted: Any) -> None:
        limits = {"tpir_rank1": 1, "tpir_topL": length, "tpir_anyrank": ANY_RANK}
        for text, values in wanted.items():
            for key, value in values.items():
                where = f"{name}@{text}.{key}"
                found = run().results.get("search", tpir_name(float(text), limits.get(key, 1)), group)
                if key in limits:
                    checks.close(where, found.value, value)
                elif key == "threshold":
                    checks.close(where, None if found.at is None else found.at.threshold, value, abs=tolerance)
                elif key == "fpir":
                    checks.close(where, None if found.at is None else found.at.realised, value)
                else:
                    checks.true(where, False, "a key that the harness does not know")

    def trade_off(wanted: Any) -> None:
        rows = run().records().select(group)
        rows = rows.take(~rows["merged"])
        limits = {"fnir_rank1": 1, "fnir_topL": length, "fnir_anyrank": ANY_RANK}
        mated = np.asarray(rows["mated"], dtype=np.bool_)
        scores = np.concatenate([rows["mate"][mated], rows["top"][~mated]])
        thresholds = np.unique(scores[scores > -np.inf])[::-1]
        state = Searches.measured(rows, None, 1, "pessimistic")
        search = GallerySearch.of(state, (*state.galleries, 0)[0])
        below, once = np.nextafter(-thresholds, np.inf), np.ones((len(thresholds), 1))
        for key, value in wanted.items():
            where = f"{name}.iet.{key}"
            if mated.all() or not mated.any():  # undefined: no curve, however that is written
                checks.true(where, value is None or value == [], f"expected {value}")
            elif key in limits:
                checks.close(where, 1.0 - search.mates.above(once, below, limits[key]) / mated.sum(), value)
            elif key == "threshold":
                checks.close(where, thresholds, value, abs=tolerance)
            elif key == "fpir":
                checks.close(where, search.strangers.above(once, below) / (~mated).sum(), value)
            else:
                checks.true(where, False, "a key that the harness does not know")

    def list_style(wanted: Any) -> None:
        for text, values in wanted.items():
            found = run().results.get("legacy: insightface open-set script", f"TPIR@{float(text):.12g}", group)
            for key, value in values.items():
                where = f"{name}.list_style_reference@{text}.{key}"
                if key == "tpir":
                    checks.close(where, found.value, value)
                elif key == "threshold":
                    checks.close(where, None if found.at is None else found.at.threshold, value, abs=tolerance)
                else:
                    checks.true(where, False, "a key that the harness does not know")

    facts = run().results.facts
    _walk(
        checks,
        name,
        block,
        {
            "n_probe": lambda value: checks.equal(f"{name}.n_probe", facts["probes"][name], value),
            "n_gallery": lambda value: checks.equal(f"{name}.n_gallery", facts["galleries"][name], value),
            "n_mated": lambda value: checks.equal(f"{name}.n_mated", count("mated"), value),
            "n_nonmated": lambda value: checks.equal(f"{name}.n_nonmated", count("non-mated"), value),
            "L": lambda value: None,
            "cmc": cmc,
            "cmc_curve_pessimistic": lambda value: checks.close(
                f"{name}.cmc_curve", _curve(run().results.get("CMC", "curve", group).value, len(value)), value
            ),
            "tpir_at_fpir": tpir,
            "iet": trade_off,
            "list_style_reference": list_style,
        },
    )


def _curve(value: Any, length: int) -> Any:
    return value.y[:length] if hasattr(value, "y") else value


def _mean(checks: Checks, block: Mapping[str, Any], run: Callable[..., Any]) -> None:
    def cmc(combine: str) -> Callable[[Any], None]:
        def check(wanted: Any) -> None:
            for rank, value in wanted.items():
                got = run("pessimistic", combine).results.get("CMC", rank_name(int(rank))).value
                checks.close(f"{combine}.cmc.{rank}", got, value)

        return check

    def rank_one(wanted: Any) -> None:
        for text, value in wanted.items():
            got = run().results.get("search", tpir_name(float(text), 1)).value
            checks.close(f"mean.tpir_rank1@{text}", got, value)

    def rates(wanted: Any) -> None:
        results = run().results
        limits = {"tpir_rank1": 1, "tpir_topL": results.options["list_length"], "tpir_anyrank": ANY_RANK}
        for text, values in wanted.items():
            for key, value in values.items():
                if key not in limits:
                    checks.true(f"mean@{text}.{key}", False, "a key that the harness does not know")
                    continue
                got = results.get("search", tpir_name(float(text), limits[key])).value
                checks.close(f"mean@{text}.{key}", got, value)

    known = {"cmc": cmc("mean"), "cmc_pooled": cmc("pooled"), "tpir_rank1": rank_one, "tpir_at_fpir": rates}
    _walk(checks, "mean", block, known)


def _merged(checks: Checks, block: Mapping[str, Any], run: Any) -> None:
    metric = "legacy: merged gallery"
    for key, value in block.items():
        where = f"merged_gallery_legacy.{key}"
        kind, _, rate = key.partition("@")
        if kind == "th":
            at = run.results.get(metric, f"tpir@{float(rate):.12g}").at
            checks.close(where, None if at is None else at.threshold, value, abs=POOLED)
        elif kind == "tpir":
            checks.close(where, run.results.get(metric, f"tpir@{float(rate):.12g}").value, value, abs=POOLED)
        elif key.startswith("top"):
            checks.close(where, run.results.get(metric, key).value, value)
        elif key not in WORDS:
            checks.true(where, False, "a key that the harness does not know")


# Clustering


def _clustering(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    _cluster_block(checks, "", expected, here / "cluster_file.csv", here / "ground_truth.csv")
    run = _run("ijb/test7", here, here)
    _agrees(checks, run, expected, {"with_fte": "BCubed", "no_fte": "BCubed without FTE"})


def _cluster_block(checks: Checks, where: str, block: Mapping[str, Any], clusters: Path, truth: Path) -> None:
    def reading(no_fte: bool) -> Callable[[Any], None]:
        name = f"{where}.{'no_fte' if no_fte else 'with_fte'}"
        return lambda wanted: _fields(checks, name, report_clusters(clusters, truth, no_fte=no_fte), wanted)

    _walk(checks, where, block, {"with_fte": reading(False), "no_fte": reading(True), "hint": lambda value: None})


def _fields(checks: Checks, where: str, report: Any, wanted: Mapping[str, Any]) -> None:
    for key, value in wanted.items():
        if hasattr(report, key):
            checks.close(f"{where}.{key}", getattr(report, key), value)
        elif key not in WORDS:
            checks.true(f"{where}.{key}", False, "a key that the harness does not know")


def _agrees(checks: Checks, run: Any, block: Mapping[str, Any], metrics: Mapping[str, str]) -> None:
    """The task gives what the files alone give."""
    outputs = {"precision": "precision", "recall": "recall", "f": "F"}
    for key, metric in metrics.items():
        for name, output in outputs.items():
            if name in block.get(key, {}):
                got = run.results.get(metric, output).value
                checks.close(f"{run.results.task}.{key}.{name}", got, block[key][name])


def _association(
    checks: Checks, where: str, block: Mapping[str, Any], detections: Path, truth: Path, data: Path
) -> None:
    iou = float(block.get("association_iou", 0.5))

    def reading(**switches: Any) -> Callable[[Any], None]:
        given = {"iou": iou, **switches}
        report = report_association(detections, truth, **given)
        return lambda wanted: _fields(checks, f"{where}{switches}", report, wanted)

    def pairs(wanted: Any) -> None:
        found = report_association(detections, truth, iou=iou).association
        got = [{"ground_truth_row": face, "detection_row": detection} for face, detection in found]
        checks.equal(f"{where}.association", got, wanted)

    known: dict[str, Callable[[Any], None]] = {
        "association_iou": lambda value: None,
        "with_fte": reading(),
        "no_fte": reading(no_fte=True),
        "no_fte_assigned_only": reading(no_fte=True, assigned_only=True),
        "association": pairs,
    }
    for key in block:
        if key.startswith("iou_"):
            known[key] = reading(iou=float(key.removeprefix("iou_").replace("_", ".", 1)))
    _walk(checks, where, block, known)
    run = _run("ijb/test8", detections, data, iou=iou)
    readings = {
        "with_fte": "BCubed",
        "no_fte": "BCubed without FTE",
        "no_fte_assigned_only": "BCubed without assigned FTE",
    }
    _agrees(checks, run, block, readings)


# Detection


def _detection_case(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    iou = float(expected.get("iou", 0.5))

    def results(blocks: Any) -> None:
        for name, block in blocks.items():
            _detection(checks, name, block, here / "detections.csv", here, iou)

    _walk(checks, "", expected, {"iou": lambda value: None, "results": results})


def _detection(checks: Checks, name: str, block: Mapping[str, Any], detections: Path, data: Path, iou: float) -> None:
    ignore, _, match = name.removeprefix("ignore_").partition("__match_")
    rates = block.get("tpr_at_fppi", {})
    run = _run("ijb/test6", detections, data, ignore=ignore, match=match, iou=iou, fppi=_listed(rates) or "1")
    get = run.results.get

    def count(output: str) -> Callable[[Any], None]:
        return lambda value: checks.equal(f"{name}.{output}", int(get("events", output).number or 0), value)

    def rate(output: str) -> Callable[[Any], None]:
        return lambda value: checks.close(f"{name}.{output}", get("detection", output).value, value)

    def operating(wanted: Any) -> None:
        for text, value in wanted.items():
            checks.close(f"{name}@{text}", get("detection", tpr_name(float(text))).value, value)

    def curve(wanted: Any) -> None:
        metric = DetectionRates("detection")
        found = metric.counts(metric.measure(run.records()))[0]
        known = {"threshold": found.threshold, "tp": found.true, "fp": found.false}
        for key, value in wanted.items():
            if key in known:
                checks.close(f"{name}.curve.{key}", known[key], value)
            else:
                checks.true(f"{name}.curve.{key}", False, "a key that the harness does not know")

    _walk(
        checks,
        name,
        block,
        {
            "n_images": count("images"),
            "n_faces": count("faces"),
            "n_detections": count("detections"),
            "tp": count("found"),
            "fp": count("false alarms"),
            "recall_all": rate("recall"),
            "ap": rate("AP"),
            "ap101": rate("AP101"),
            "tpr_at_fppi": operating,
            "curve": curve,
        },
    )


# A whole data set


def _whole_set(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    searches = {"test3": "ijb/test3", "test4": "ijb/test4", "test5": "ijb/test5"}
    known: dict[str, Callable[[Any], None]] = {}
    for key in expected:
        test = key.partition("_")[0]
        if test == "test1":
            known[key] = lambda block: _whole_verification(checks, here, block)
        elif test == "test2":
            known[key] = lambda block: _covariates(checks, here, block)
        elif test in searches:
            known[key] = lambda block, task=searches[test]: _whole_search(checks, task, here, block)
        elif test == "test6":
            known[key] = lambda block: [
                _detection(checks, name, wanted, here / "detections.csv", here, 0.5) for name, wanted in block.items()
            ]
        elif test == "test7":
            known[key] = lambda block: _whole_clustering(checks, here, block)
        elif test == "test8":
            known[key] = lambda block: _association(
                checks,
                "test8",
                block,
                here / "detection_clusters.csv",
                _one(here, "*_detection_clustering_ground_truth.csv"),
                here,
            )
        elif key == "counts":
            known[key] = lambda block: _counts(checks, here, block)
    _walk(checks, "", expected, known)
    if (here / "meta").is_dir():
        _lists(checks, here, expected)


def _one(folder: Path, pattern: str) -> Path:
    (found,) = list(folder.rglob(pattern))
    return found


def _pooling(name: str) -> dict[str, str]:
    """The switches that a name such as `norm_keep__det_on__flip_sum__flat` stands for."""
    words = {"det": "detector", "detector": "detector", "norm": "norm", "flip": "flip"}
    media = {"flat": "flat", "media_unit": "mean_unit", "media_mean_unit": "mean_unit", "media_mean": "mean"}
    media |= {"media_flat": "flat"}
    options = {"media": "mean"}
    for part in name.split("__"):
        if part in media:
            options["media"] = media[part]
        else:
            switch, _, value = part.partition("_")
            options[words[switch]] = value
    return options


def _whole_verification(checks: Checks, here: Path, block: Mapping[str, Any]) -> None:
    def results(blocks: Any) -> None:
        for name, wanted in blocks.items():
            options = _pooling(name)
            run = _run(
                "ijb/test1", here, here, far=_listed(wanted.get("tar_at_far", {})), conventions=CONVENTIONS, **options
            )
            _verification(checks, name, wanted, run, POOLED)

    def default(name: Any) -> None:
        run = _run("ijb/test1", here, here)
        for switch, value in _pooling(name).items():
            checks.equal(f"default {switch}", run.results.options[switch], value)
        _first_scores(checks, here, run)

    _walk(checks, "test1", block, {"default_pooling": default, "results": results})


def _first_scores(checks: Checks, here: Path, run: Any) -> None:
    path = here / "expected_scores_11.csv"
    if not path.exists():
        return
    table = read_table(path)
    rows = run.records()
    first = np.arange(table.rows)
    checks.close("first scores", rows["score"][first].astype(np.float64), table.numbers("SCORE"), abs=POOLED)
    checks.equal("first labels", rows["same"][first].astype(int), table.whole("LABEL"))


def _covariates(checks: Checks, here: Path, block: Mapping[str, Any]) -> None:
    named = {covariate.column: covariate for covariate in ALL_COLUMNS}
    chosen = [named[column] for column in block.get("covariates", {}) if column in named]
    by = [name for covariate in chosen for name in (covariate.name, f"{covariate.name}_match")]
    rates = _listed(block.get("overall", {}).get("tar_at_far", {}) or block.get("global_thresholds", {}))
    options = {"far": rates, "conventions": CONVENTIONS}
    if "edges" in block.get("abs_yaw_difference", {}):
        options["yaw_edges"] = _listed(block["abs_yaw_difference"]["edges"])
    run = _run("ijb/test2", here, here, [*by, "yaw_difference"], **options)
    results = run.results

    def thresholds(wanted: Any) -> None:
        for text, value in wanted.items():
            at = results.get("verification", fmr_name(float(text))).at
            checks.close(f"global threshold @{text}", at.threshold, value, abs=POOLED)

    def covariates(blocks: Any) -> None:
        for column, wanted in blocks.items():
            if column not in named:
                checks.true(f"covariates.{column}", False, "no such covariate")
                continue
            _covariate(checks, column, named[column], wanted, run)

    def yaw(wanted: Any) -> None:
        _differences(checks, "yaw_difference", wanted, run)

    _walk(
        checks,
        "test2",
        block,
        {
            "overall": lambda wanted: _verification(checks, "test2 overall", wanted, run, POOLED),
            "global_thresholds": thresholds,
            "covariates": covariates,
            "abs_yaw_difference": yaw,
        },
    )


def _covariate(checks: Checks, column: str, covariate: Any, block: Mapping[str, Any], run: Any) -> None:
    levels = run.results.levels[covariate.name]

    def both(wanted: Any) -> None:
        for number, inside in wanted.items():
            level = f"both {covariate.words[int(number)]}"
            group = Group(((covariate.name, level),))
            _verification(checks, f"{column} both={number}", inside, run, POOLED, group)

    def agreement(level: str) -> Callable[[Any], None]:
        group = Group(((f"{covariate.name}_match", level),))
        return lambda wanted: _verification(checks, f"{column} {level}", wanted, run, POOLED, group)

    def pairs(wanted: Any) -> None:
        for text, inside in wanted.items():
            one, other = (covariate.words[int(number)] for number in text.split("|"))
            level = f"both {one}" if one == other else f"{one} | {other}"
            checks.true(f"{column} {text}", level in levels, f"{level} is no level of {levels}")
            _verification(checks, f"{column} {text}", inside, run, POOLED, Group(((covariate.name, level),)))

    def spread(far: float) -> Callable[[Any], None]:
        def check(wanted: Any) -> None:
            for key, inside in wanted.items():
                output = {"fmr": fmr_name(far), "fnmr": fnmr_name(far)}[key]
                found = differential(run.results, covariate.name, output)
                known = {"max_over_min": found.max_over_min, "max_over_geomean": found.max_over_geometric_mean}
                for name, value in inside.items():
                    checks.true(f"{column}.{name}", name in known, "a key that the harness does not know")
                    checks.close(f"{column} {key} {name}", known.get(name), value)

        return check

    missing = run.results.facts["comparisons_without_annotation"]
    known: dict[str, Callable[[Any], None]] = {
        "n_pairs_missing": lambda value: checks.equal(f"{column} missing", missing[covariate.name], value),
        "same": agreement("same"),
        "different": agreement("different"),
        "both": both,
        "unordered_pairs": pairs,
    }
    prefix = "differentials_at_global_"
    known |= {key: spread(float(key.removeprefix(prefix))) for key in block if key.startswith(prefix)}
    _walk(checks, column, block, known)


def _differences(checks: Checks, attribute: str, block: Mapping[str, Any], run: Any) -> None:
    """Bins named by their edges: `[0,15)`."""
    missing = run.results.facts["comparisons_without_annotation"]

    def bins(blocks: Any) -> None:
        for key, wanted in blocks.items():
            low, high = (float(part) for part in key.strip("[)").split(","))
            level = f"{low:g}–{high:g}°"
            known = level in run.results.levels[attribute]
            checks.true(f"{attribute} {key}", known, f"no bin {level} in {run.results.levels[attribute]}")
            if known:
                _verification(checks, f"{attribute} {key}", wanted, run, POOLED, Group(((attribute, level),)))

    _walk(
        checks,
        attribute,
        block,
        {
            "edges": lambda value: checks.equal(f"{attribute} edges", run.results.options["yaw_edges"], value),
            "n_pairs_missing": lambda value: checks.equal(f"{attribute} missing", missing[attribute], value),
            "bins": bins,
        },
    )


def _whole_search(checks: Checks, task: str, here: Path, block: Mapping[str, Any]) -> None:
    apart = ("mean", "merged_gallery_legacy", *WORDS)
    galleries = {name: inside for name, inside in block.items() if name not in apart}
    _searches(checks, task, here, here, galleries, block, POOLED)


def _whole_clustering(checks: Checks, here: Path, block: Mapping[str, Any]) -> None:
    for subjects, wanted in block.items():
        if subjects in WORDS:
            continue
        run = _run("ijb/test7", here, here, subjects=subjects)
        clusters, truth = here / f"clusters_{subjects}.csv", _one(here, "*[!n]_clustering_ground_truth.csv")
        _cluster_block(checks, f"test7.{subjects}", wanted, clusters, truth)
        _agrees(checks, run, wanted, {"with_fte": "BCubed", "no_fte": "BCubed without FTE"})
        if "hint" in wanted:
            checks.equal(f"test7.{subjects}.hint", run.results.facts["hint"], wanted["hint"])


def _counts(checks: Checks, here: Path, block: Mapping[str, Any]) -> None:
    pairs = _run("ijb/test1", here, here, far="0.1").results.facts
    covariates = _run("ijb/test2", here, here, far="0.1").results.facts
    detection = _run("ijb/test6", here / "detections.csv", here).results.facts
    found = {kind: _run(f"ijb/search_{kind}", here, here).results.facts for kind in ("image", "mixed", "video")}
    names = {"img": "image", "image": "image", "mixed": "mixed", "video": "video"}
    clustering = _run("ijb/test8", here / "detection_clusters.csv", here).results.facts

    def probes(wanted: Any) -> None:
        for name, value in wanted.items():
            for count in found[names[name]]["probes"].values():
                checks.equal(f"counts.probe.{name}", count, value)

    _walk(
        checks,
        "counts",
        block,
        {
            "n_subjects": lambda value: checks.equal("n_subjects", pairs["subjects"], value),
            "n_faces": lambda value: checks.equal("n_faces", clustering["faces"], value),
            "n_nonface_images": lambda value: checks.equal(
                "n_nonface_images", detection["images_without_faces"], value
            ),
            "n_face_images": lambda value: checks.equal(
                "n_face_images", detection["images"] - detection["images_without_faces"], value
            ),
            "gallery": lambda value: checks.equal("gallery", found["mixed"]["galleries"], value),
            "probe": probes,
            "n_pairs": lambda value: checks.equal("n_pairs", pairs["comparisons"], value),
            "n_genuine": lambda value: checks.equal("n_genuine", pairs["genuine"], value),
            "n_covariate_templates": lambda value: checks.equal("covariates", covariates["templates"], value),
            "n_covariate_pairs": lambda value: checks.equal("covariate pairs", covariates["comparisons"], value),
        },
    )


def _lists(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    """List files give the same numbers as the official ones, and the converter writes the same lists."""
    (test1,) = [block for key, block in expected.items() if key.startswith("test1")] or [None]
    name = (test1 or {}).get("default_pooling")
    wanted = (test1 or {}).get("results", {}).get(name)
    if name is not None and wanted is not None:
        options = {"far": _listed(wanted.get("tar_at_far", {})), "conventions": CONVENTIONS, **_pooling(name)}
        with tempfile.TemporaryDirectory() as folder:
            rows = list((here / "meta").glob("*.csv"))
            lines = [f'embeddings = "{here}/embeddings.npy"', f'flip = "{here}/embeddings_flip.npy"']
            lines += [f'rows = "{path}"' for path in rows]
            toml = Path(folder) / "submission.toml"
            toml.write_text("\n".join(lines))
            run = _run("ijb/test1", toml, here / "meta", **options)
            _verification(checks, "list files", wanted, run, POOLED)
    with tempfile.TemporaryDirectory() as folder:
        written = to_lists(here, Path(folder), faces=here / "faces.csv")
        for path in written:
            original = here / "meta" / path.name
            if path.name.endswith("5pts_score.txt"):  # the official files have no corners of the mouth
                got = [(line.split()[:7], line.split()[-1]) for line in path.read_text().splitlines()]
                expected_ = [(line.split()[:7], line.split()[-1]) for line in original.read_text().splitlines()]
                checks.equal(path.name, got, expected_)
            elif path.suffix == ".csv":
                for column in ("ROW_NAME", "FACE_INDEX"):
                    checks.equal(column, read_table(path).text(column), read_table(original).text(column))
            else:
                checks.equal(path.name, path.read_text(), original.read_text())
        official = to_official(Path(folder), Path(folder) / "back")
        checks.equal("matches", official[1].read_text(), _one(here, "*_11_[!c]*matches.csv").read_text())


# RatePoint rules


def _formats(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    for name, block in expected.items():
        if name in WORDS:
            continue
        path = here / f"{name}.csv"
        checks.true(name, path.exists(), "there is no such file")
        if not path.exists():
            continue
        if "n_pairs" in block:
            _format_matches(checks, name, path, here, block)
        elif {"n_images", "n_faces", "n_nonface_images", "n_flagged_media"} & set(block):
            _format_detection(checks, name, path, block)
        elif "n_clusters" in block or "n_fte" in block:
            _format_clusters(checks, name, path, block)
        else:
            _format_templates(checks, name, path, block)


def _format_matches(checks: Checks, name: str, path: Path, here: Path, block: Mapping[str, Any]) -> None:
    first, second, _ = read_pairs(path)
    files = [other for other in here.glob("*.csv") if other != path]
    faces = [faces_of(table) for table in map(read_table, files) if "TEMPLATE_ID" in table and "SUBJECT_ID" in table]
    whole = [part for part in faces if set(part.template.tolist()) & {*first.tolist(), *second.tolist()}]

    def labels(value: Any) -> None:
        templates = TemplateSet.of(join_faces(whole), here)
        one, other = templates.positions(first, path), templates.positions(second, path)
        checks.equal(f"{name}.labels", (templates.subject[one] == templates.subject[other]).astype(int), value)

    known = {
        "n_pairs": lambda value: checks.equal(f"{name}.n_pairs", len(first), value),
        "has_header": lambda value: checks.equal(f"{name}.has_header", False, value),
        "labels": labels,
    }
    _walk(checks, name, block, known)


def _format_detection(checks: Checks, name: str, path: Path, block: Mapping[str, Any]) -> None:
    truth, _ = read_annotated(path)
    known = {
        "n_images": lambda value: checks.equal(f"{name}.n_images", len(truth.images), value),
        "n_faces": lambda value: checks.equal(f"{name}.n_faces", len(truth.boxes_xywh), value),
        "n_nonface_images": lambda value: checks.equal(f"{name}.n_nonface_images", truth.without_faces, value),
        "n_flagged_media": lambda value: checks.equal(f"{name}.flagged", int(truth.flagged_images.sum()), value),
    }
    _walk(checks, name, block, known)


def _format_clusters(checks: Checks, name: str, path: Path, block: Mapping[str, Any]) -> None:
    table = read_table(path)
    cluster, files = checked_clusters(table), table.text("FILENAME")
    places = {"first": 0, "second": 1, "third": 2, "fourth": 3}
    known: dict[str, Callable[[Any], None]] = {
        "n_rows": lambda value: checks.equal(f"{name}.n_rows", table.rows, value),
        "n_fte": lambda value: checks.equal(f"{name}.n_fte", int((cluster == -1).sum()), value),
        "n_clusters": lambda value: checks.equal(f"{name}.n_clusters", len(set(cluster[cluster >= 0].tolist())), value),
    }
    known |= {
        f"{word}_filename": lambda value, place=place: checks.equal(f"{name}.filename {place}", files[place], value)
        for word, place in places.items()
    }
    _walk(checks, name, block, known)


def _format_templates(checks: Checks, name: str, path: Path, block: Mapping[str, Any]) -> None:
    faces, _ = read_faces(path)
    templates = TemplateSet.of(faces, path)
    columns = {covariate.column: covariate for covariate in ALL_COLUMNS}

    def each(wanted: Any) -> None:
        for number, inside in wanted.items():
            place = int(templates.positions(np.array([int(number)]), path)[0])
            rows = np.flatnonzero(templates.of_face == place)
            media = [rows[faces.medium[rows] == one].tolist() for one in dict.fromkeys(faces.medium[rows].tolist())]
            found = {
                "subject": templates.subject[place],
                "n_faces": len(rows),
                "n_media": len(media),
                "media": media,
            }
            for key, value in inside.items():
                checks.true(f"{name}.{number}.{key}", key in found, "a key that the harness does not know")
                checks.equal(f"{name}.{number}.{key}", found.get(key), value)

    def covariates(row: int) -> Callable[[Any], None]:
        def check(wanted: Any) -> None:
            for column, value in wanted.items():
                if column in faces.angles:
                    checks.equal(f"{name}.{column}", faces.angles[column][row], value)
                else:
                    code = int(faces.codes[column][row])
                    checks.equal(f"{name}.{column}", list(columns[column].words)[code], value)

        return check

    def missing(row: int) -> Callable[[Any], None]:
        named = [column for column, codes in faces.codes.items() if codes[row] < 0]
        named += [column for column, values in faces.angles.items() if np.isnan(values[row])]
        return lambda value: checks.equal(f"{name}.missing", sorted(named), sorted(value))

    def occluded(row: int) -> Callable[[Any], None]:
        cells = [
            number
            for number, covariate in enumerate(OCCLUSIONS, start=1)
            if covariate.column in faces.codes and faces.codes[covariate.column][row] == 1
        ]
        return lambda value: checks.equal(f"{name}.occluded", cells, value)

    shown = {(file, int(subject)) for file, subject in zip(faces.filename, faces.subject, strict=True)}
    shared_files = sorted(file for file, people in Counter(file for file, _ in shown).items() if people > 1)
    known: dict[str, Callable[[Any], None]] = {
        "n_rows": lambda value: checks.equal(f"{name}.n_rows", len(faces), value),
        "n_templates": lambda value: checks.equal(f"{name}.n_templates", len(templates), value),
        "templates": each,
        "first_box": lambda value: checks.equal(f"{name}.first_box", faces.places.box[0], value),
        "second_row_landmarks_missing": lambda value: checks.equal(
            f"{name}.landmarks", bool(np.isnan(faces.places.landmarks[1]).all()), value
        ),
        "landmarks_missing": lambda value: checks.equal(
            f"{name}.landmarks", bool(np.isnan(faces.places.landmarks).all()), value
        ),
        "faces_sharing_a_file": lambda value: checks.equal(f"{name}.shared", shared_files, value),
        "video": lambda value: checks.equal(f"{name}.video", faces.video[0], value),
        "first_frame": lambda value: checks.equal(f"{name}.first_frame", faces.places.frame[0], value),
    }
    for row in range(len(faces)):
        known |= {
            f"covariates_row{row}": covariates(row),
            f"missing_row{row}": missing(row),
            f"occluded_cells_row{row}": occluded(row),
        }
    _walk(checks, name, block, known)


# Recipes at full scale


def _recipe(recipe: Mapping[str, Any]) -> Callable[[Checks], None]:
    if "n_genuine" in recipe:
        return lambda checks: _verification_recipe(checks, recipe)
    if "n_gallery" in recipe:
        return lambda checks: _search_recipe(checks, recipe)
    return lambda checks: _cluster_recipe(checks, recipe)


def _checksums(checks: Checks, recipe: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for key, value in recipe.get("checksum", {}).items():
        checks.true(f"checksum.{key}", key in known, "a key that the harness does not know")
        checks.close(f"checksum.{key}", known.get(key), value, rel=1e-12)


def _verification_recipe(checks: Checks, recipe: Mapping[str, Any]) -> None:
    rng = np.random.default_rng(recipe["seed"])
    genuine = (rng.random((recipe["n_genuine"], 4)).mean(axis=1) * 0.5 + 0.35).astype(np.float32)
    impostor = (rng.random((recipe["n_impostor"], 4)).mean(axis=1) * 0.9 - 0.25).astype(np.float32)
    first = {name: len(recipe.get("checksum", {}).get(name, ())) for name in ("genuine_first", "impostor_first")}
    _checksums(
        checks,
        recipe,
        {
            "genuine_first": genuine[: first["genuine_first"]],
            "impostor_first": impostor[: first["impostor_first"]],
            "genuine_sum_float64": genuine.sum(dtype=np.float64),
            "impostor_sum_float64": impostor.sum(dtype=np.float64),
        },
    )
    sides = SortedScores.of(genuine), SortedScores.of(impostor)
    rates = [float(text) for text in recipe.get("tar_at_far", {})]
    asked = {key.removesuffix("_fmr") for wanted in recipe.get("tar_at_far", {}).values() for key in wanted}
    read = {
        convention.value: dict(zip(rates, rates_at(*sides, rates, convention), strict=True))
        for convention in Convention
        if convention.value in asked
    }
    for text, wanted in recipe.get("tar_at_far", {}).items():
        far = float(text)
        for key, value in wanted.items():
            convention, _, field = key.partition("_fmr")
            if key == "k":
                checks.equal(f"@{text}.k", allowed_accepts(recipe["n_impostor"], far), value)
            elif convention in read:
                found = read[convention][far]
                checks.close(f"@{text}.{key}", found.fmr if key.endswith("_fmr") else found.tar, value)
            else:
                checks.true(f"@{text}.{key}{field}", False, "a key that the harness does not know")
    _known_keys(checks, recipe, ("seed", "n_genuine", "n_impostor", "checksum", "tar_at_far"))


def _search_recipe(checks: Checks, recipe: Mapping[str, Any]) -> None:
    rng = np.random.default_rng(recipe["seed"])
    probes, size, dim = recipe["n_probe"], recipe["n_gallery"], recipe["dim"]
    gallery = rng.integers(-8, 9, (size, dim))
    subject = rng.integers(0, 2 * size, probes)
    centre = rng.integers(-8, 9, (probes, dim))
    mated = subject < size
    centre[mated] = gallery[subject[mated]]
    probe = centre + rng.integers(-11, 12, (probes, dim))
    _checksums(
        checks,
        recipe,
        {
            "gallery_sum": gallery.sum(),
            "probe_sum": probe.sum(),
            "score_sum": (probe.sum(axis=0) * gallery.sum(axis=0)).sum(),
            "subject_first": subject[: len(recipe.get("checksum", {}).get("subject_first", ()))],
        },
    )
    found = search(_plain_templates(probe), subject, _plain_templates(gallery), np.arange(size))
    columns = {name: getattr(found, name) for name in ("mated", "mate", "above", "tied", "top")}
    rows = Records({**columns, "gallery": np.zeros(probes, np.int64)}, {})
    for key, rows_ in (("n_mated", found.mated), ("n_nonmated", ~found.mated)):
        if key in recipe:
            checks.equal(key, int(rows_.sum()), recipe[key])
    for rank, rules in recipe.get("cmc", {}).items():
        for ties, value in rules.items():
            metric = Cmc("CMC", (int(rank),), ties, depth=1)
            state = metric.measure(rows)
            checks.close(f"cmc.{rank}.{ties}", metric.result(state, state)[rank_name(int(rank))][0], value)
    for text, wanted in recipe.get("tpir_at_fpir", {}).items():
        limits = {"rank1": 1, "any_rank": ANY_RANK}
        limits |= {key: int(key.removeprefix("top")) for key in wanted if key.startswith("top")}
        metric_ = OpenSetSearch("1:N", (float(text),), tuple(limits.values()))
        state = metric_.measure(rows)
        values = metric_.result(state, state)
        for key, value in wanted.items():
            checks.true(f"@{text}.{key}", key in limits, "a key that the harness does not know")
            checks.close(f"@{text}.{key}", values[tpir_name(float(text), limits[key])][0], value)
    known = ("seed", "n_probe", "n_gallery", "dim", "n_mated", "n_nonmated", "checksum", "cmc", "tpir_at_fpir")
    _known_keys(checks, recipe, known)


def _plain_templates(vectors: Any) -> Templates:
    """Templates as they are, without normalisation."""
    return Templates(vectors.astype(np.float32), np.ones(len(vectors), np.bool_), 0)


def _cluster_recipe(checks: Checks, recipe: Mapping[str, Any]) -> None:
    rng = np.random.default_rng(recipe["seed"])
    n, people = recipe["n"], recipe["n_subjects"]
    truth = np.minimum((rng.random(n) ** 1.7 * people).astype(np.int64), people - 1)
    u, v, w = rng.random(n), rng.random(n), rng.random(n)
    cluster = np.where(u < 0.85, 3 * truth + (v * 2).astype(np.int64), ((w * 3) * people).astype(np.int64))
    cluster = np.where(u < recipe["fte_rate"], -1, cluster)
    first = {name: len(recipe.get("checksum", {}).get(name, ())) for name in ("truth_first", "cluster_first")}
    _checksums(
        checks,
        recipe,
        {
            "truth_first": truth[: first["truth_first"]],
            "cluster_first": cluster[: first["cluster_first"]],
            "truth_sum": truth.sum(),
            "cluster_sum": cluster.sum(),
        },
    )
    enrolled = cluster != -1
    for key, kept in (("with_fte", np.ones(n, np.bool_)), ("no_fte", enrolled)):
        scores = bcubed(truth[kept], cluster[kept])
        rows = Records({"precision": scores.precision, "recall": scores.recall}, {})
        metric = BCubed("BCubed")
        state = metric.measure(rows)
        values = metric.result(state, state)
        found = {"precision": values["precision"][0], "recall": values["recall"][0], "f": values["F"][0]}
        found |= {"n_events": len(rows), "n_fte": int((kept & ~enrolled).sum())}
        for name, value in recipe.get(key, {}).items():
            checks.true(f"{key}.{name}", name in found, "a key that the harness does not know")
            checks.close(f"{key}.{name}", found.get(name), value)
    _known_keys(checks, recipe, ("seed", "n", "n_subjects", "fte_rate", "checksum", "with_fte", "no_fte"))


def _known_keys(checks: Checks, recipe: Mapping[str, Any], known: Sequence[str]) -> None:
    for key in recipe:
        checks.true(key, key in known or key in WORDS, "a key that the harness does not know")
