"""Golden cases of the watchlist challenge.

The kind of a case is told by the keys of its `expected.json` and the files beside it. Commands and
public functions are called, and what they give is compared; nothing is computed here.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from harness import Case, Checks, read_expected

import evenhand
from evenhand.benchmarks.uccs.data import (
    NO_EXCLUSION,
    Exclusion,
    WatchlistFaces,
    read_exclusion,
    read_faces,
    read_subjects,
)
from evenhand.benchmarks.uccs.detections import WatchlistDetections, from_corners, read_detections, write_detections
from evenhand.benchmarks.uccs.record import match
from evenhand.benchmarks.uccs.scoring import score_stores
from evenhand.benchmarks.uccs.stores import load_arrays
from evenhand.compat.uccs.command import command, understand
from evenhand.compat.uccs.config import UsageError, nested
from evenhand.compat.uccs.outcomes import CurveReport, curve_figure, outcome_of
from evenhand.core.page import Figure, Lines
from evenhand.geometry.boxes import corners, overlap
from evenhand.instruments.faces import align, blue_green_red, similarity
from evenhand.reporting.drawing import svg

DOCUMENTATION = {"reference", "note", "comment", "task", "published", "quirk"}


def cases(folder: Path) -> Iterator[Case]:
    """Every folder below that has an `expected.json`."""
    for path in sorted(folder.rglob("expected.json")):
        here = path.parent
        expected = read_expected(path)
        check = _kind(here, expected)
        files = frozenset(file for file in here.rglob("*") if file.is_file())
        yield Case(str(here.relative_to(folder)), files, check)


def _kind(here: Path, expected: Any) -> Callable[[Checks], None]:
    """The check that belongs to the keys and files of a case."""
    if isinstance(expected, list):
        if any("configuration" in entry for entry in expected):
            return lambda checks: _configuration(checks, here, expected)
        if any("faces" in entry for entry in expected):
            return lambda checks: _assignment_problems(checks, expected)
    elif "plots" in expected:
        return lambda checks: _plots(checks, here, expected)
    elif "cases" in expected and "output_size" in expected:
        return lambda checks: _alignment(checks, here, expected)
    elif "detection" in expected and "recognition" in expected:
        return lambda checks: _pipeline(checks, here, expected)
    elif (here / "detections.json").exists():
        return lambda checks: _detection_file(checks, here, expected)
    elif "subjects_in_header" in expected or any(path.is_dir() for path in here.rglob("*_embeddings")):
        return lambda checks: _scoring(checks, here, expected)
    elif _OF_CURVES & set(expected):
        return lambda checks: _curves(checks, here, expected, _score_file(here))
    return lambda checks: checks.true("kind", False, f"no kind of case has these keys: {list(expected)}")


_OF_CURVES = {
    "ranks", "curve", "by_iou", "refused", "counts", "operating_points", "assignments", "sum", "oroc_documented",
}  # fmt: skip


def _is_of_recognition(expected: Mapping[str, Any]) -> bool:
    """Whether a case asks for the identification curve: by its keys, or by the task it names."""
    keys = {*expected, *expected.get("counts", ())}
    return bool(keys & {"ranks", "oroc_documented", "known_faces_total"}) or expected.get("task") == "recognition"


def _unknown(checks: Checks, name: str, expected: Mapping[str, Any], known: set[str]) -> None:
    for key in set(expected) - known - DOCUMENTATION:
        if not key.endswith("_DO_NOT_USE"):
            checks.true(f"{name}.{key}", False, "nothing of ours answers to this key")


def _table(here: Path) -> Path:
    """The table of faces of a case: whatever lies in `data` beside the gallery."""
    tables = [path for path in sorted((here / "data").glob("*.csv")) if path.name != "gallery.csv"]
    assert len(tables) == 1, f"{here}: one table of faces was expected, found {[path.name for path in tables]}"
    return tables[0]


def _exclusion(here: Path) -> Path | None:
    return next((path for path in (here / "data").iterdir() if path.name.startswith("exclude")), None)


def _truth(here: Path) -> WatchlistFaces:
    """The annotated faces of a case."""
    excluded = _exclusion(here)
    return read_faces(_table(here), read_exclusion(excluded) if excluded else NO_EXCLUSION)[0]


def _score_file(here: Path) -> Path:
    found = [path for path in here.iterdir() if path.is_file() and path.suffix in (".txt", ".csv", ".npy")]
    assert len(found) == 1, f"{here}: one score file was expected, found {[path.name for path in found]}"
    return found[0]


def _run(here: Path, file: Path, task: str, **options: Any) -> Any:
    """The run that `evenhand evaluate` makes of a case."""
    excluded = _exclusion(here)
    options |= {"which_set": _table(here).stem, "exclude": str(excluded) if excluded else "none"}
    return evenhand.evaluate(f"uccs/{task}", file, data=here / "data", options=options, draws=0, rows="all")


def _drop_in(here: Path, file: Path, task: str, folder: Path, **options: Any) -> tuple[int, dict[str, Any]]:
    """The exit code of the challenge's own command, and what it writes about the one system."""
    excluded = _exclusion(here)
    line = ["evaluation", "-t", task, "--data_directory", str(here / "data"), "--result_directory", str(folder)]
    line += ["--which_set", _table(here).stem, f"--eval.{task}.files", str(file), "--draws", "0", "--no-figure"]
    line += ["--eval.exclude_gallery", str(excluded) if excluded else "null"]
    line += ["--eval.iou", str(options.get("iou", 0.5))]
    for name in ("targets", "ranks"):
        if options.get(name):
            line += [f"--{name}", *map(str, options[name])]
    code = command.main(line)
    written = [path for path in folder.iterdir() if path.suffix == ".json"] if folder.exists() else []
    systems = json.loads(written[0].read_text(encoding="utf-8"))["systems"] if written else {"": {}}
    return code, next(iter(systems.values()))


def _curves(checks: Checks, here: Path, expected: Mapping[str, Any], file: Path, name: str = "") -> None:
    """A score file against its truth: refused, at several limits, or at one."""
    if "by_iou" in expected:
        _unknown(checks, "expected", expected, {"by_iou"})
        for limit, part in expected["by_iou"].items():
            _curves(checks, here, {"iou": float(limit), **part}, file, f"iou {limit} ")
    elif "refused" in expected:
        _refused(checks, here, expected, file)
    elif _is_of_recognition(expected):
        _recognition(checks, here, expected, file, name)
    else:
        _detection(checks, here, expected, file, name)


def _refused(checks: Checks, here: Path, expected: Mapping[str, Any], file: Path) -> None:
    """An error that names what it should, and nothing written."""
    _unknown(checks, "expected", expected, {"refused", "iou", "rank"})
    options: dict[str, Any] = {"iou": expected.get("iou", 0.5)}
    is_recognition = expected.get("task") == "recognition"
    if is_recognition:
        options["ranks"] = (expected.get("rank", 1),)
    task = "identification" if is_recognition else "detection"
    checks.refused("refused", lambda: _run(here, file, task, **options), str(expected["refused"]))
    with tempfile.TemporaryDirectory() as folder:
        code, _ = _drop_in(here, file, expected.get("task", "detection"), Path(folder), **options)
        checks.equal("exit code", code, 2)
        checks.equal("files written", list(Path(folder).iterdir()), [])


def _detection(checks: Checks, here: Path, expected: Mapping[str, Any], file: Path, name: str = "") -> None:
    """Through `evenhand evaluate` and through the challenge's command."""
    _unknown(checks, name, expected, {"iou", "counts", "curve", "operating_points", "assignments", "sum"})
    targets = [point["target"] for point in expected.get("operating_points", ())]
    options: dict[str, Any] = {"iou": expected.get("iou", 0.5)} | ({"targets": tuple(targets)} if targets else {})
    keys = ("counts", "curve", "operating_points", "sum")
    with tempfile.TemporaryDirectory() as folder:
        code, written = _drop_in(here, file, "detection", Path(folder), **options)
    checks.equal(f"{name}exit code", code, 0)
    _compare(checks, name, written, expected, keys)
    run = _run(here, file, "detection", **options)
    _results(checks, f"{name}evaluate: ", run, "froc", expected.get("curve", {}), expected)
    _assignments(checks, name, here, file, options["iou"], expected)


def _recognition(
    checks: Checks, here: Path, expected: Mapping[str, Any], file: Path, name: str = "", tolerance: float = 0.0
) -> None:
    """Through `evenhand evaluate` and through the challenge's command."""
    ranks, documented = expected.get("ranks", {}), expected.get("oroc_documented", {})
    _unknown(checks, name, expected, {"iou", "counts", "ranks", "assignments", "oroc_documented"})
    listed = [part.get("operating_points", ()) for part in (*ranks.values(), *documented.values())]
    targets = tuple(dict.fromkeys(point["target"] for points in listed for point in points))
    options: dict[str, Any] = {
        "iou": expected.get("iou", 0.5),
        "ranks": tuple(int(rank) for rank in dict.fromkeys((*ranks, *documented))) or (1,),
    }
    options |= {"targets": targets} if targets else {}
    with tempfile.TemporaryDirectory() as folder:
        code, written = _drop_in(here, file, "recognition", Path(folder), **options)
    checks.equal(f"{name}exit code", code, 0)
    _compare(checks, name, written, expected, ("counts",))
    run = _run(here, file, "identification", **options)
    for convention, metric in (("ranks", "oroc_rank"), ("oroc_documented", "oroc_documented_rank")):
        for rank, part in expected.get(convention, {}).items():
            label = f"{name}{convention} {rank} "
            _compare(checks, label, written.get(convention, {}).get(rank, {}), part, tuple(part), tolerance)
            _results(checks, f"{label}evaluate: ", run, f"{metric}{rank}", part, part, tolerance)
    _assignments(checks, name, here, file, options["iou"], expected)


def _results(
    checks: Checks,
    name: str,
    run: Any,
    metric: str,
    curve: Mapping[str, Any],
    expected: Mapping[str, Any],
    tolerance: float = 0.0,
) -> None:
    """The estimates of a run of `evenhand evaluate` against the same numbers."""
    estimates = {one.output: one for one in run.results.estimates if one.metric == metric and not one.group.terms}
    drawn = estimates["curve"].value
    if hasattr(drawn, "reason"):  # no face to be counted, or no false alarm: the curve is undefined or empty
        rates = curve.get("tpir", curve.get("detection_rate", []))
        checks.true(f"{name}curve", not rates or None in rates, f"undefined: {drawn.reason}")
        curve = {}
    for keys, column in (
        (("detection_rate", "tpir"), "y"),
        (("false_detections_per_image", "fpipi"), "x"),
        (("thresholds",), "threshold"),
    ):
        for key in keys:
            if key in curve:
                mine = np.asarray(getattr(drawn, column, None)).tolist()
                if column == "threshold":
                    checks.close(f"{name}{key}", mine, curve[key], rel=2.3e-16, abs=tolerance)
                else:
                    checks.equal(f"{name}{key}", mine, curve[key])
    for point in expected.get("operating_points", ()):
        rates = [one.number for output, one in estimates.items() if output.endswith(f"@{point['target']:g}")]
        checks.equal(f"{name}rate at {point['target']:g}", rates, [point["rate"]])
    if "sum" in expected:
        checks.equal(f"{name}sum", estimates["sum"].number, expected["sum"])


def _compare(
    checks: Checks,
    name: str,
    got: Mapping[str, Any],
    expected: Mapping[str, Any],
    keys: tuple[str, ...],
    tolerance: float = 0.0,
) -> None:
    """The keys that are expected: counts and rates exactly, thresholds to one unit in the last place."""
    for key in keys:
        if key not in expected:
            continue
        wanted, mine = expected[key], got.get(key)
        if isinstance(wanted, dict):
            for part, value in wanted.items():
                if part not in (mine or {}):
                    checks.true(f"{name}{key}.{part}", False, "nothing of ours answers to this key")
                elif part == "thresholds":
                    checks.close(f"{name}{key}.{part}", mine[part], value, rel=2.3e-16, abs=tolerance)
                else:
                    checks.equal(f"{name}{key}.{part}", mine[part], value)
        elif key == "thresholds":
            checks.close(f"{name}{key}", mine, wanted, rel=2.3e-16, abs=tolerance)
        elif key == "operating_points":
            by_target = {point["target"]: point for point in mine or ()}
            for theirs in wanted:
                ours, label = by_target.get(theirs["target"], {}), f"{name}{key} {theirs['target']:g}"
                checks.equal(f"{label} keys", sorted(set(theirs) - set(ours)), [])
                for part in theirs:
                    if part == "threshold":
                        checks.close(f"{label} threshold", ours[part], theirs[part], rel=2.3e-16, abs=tolerance)
                    else:
                        checks.equal(f"{label} {part}", ours.get(part), theirs[part])
        else:
            checks.equal(f"{name}{key}", mine, wanted)


def _assignments(checks: Checks, name: str, here: Path, file: Path, iou: float, expected: Mapping[str, Any]) -> None:
    if "assignments" not in expected:
        return
    faces = _truth(here)
    assigned = _assigned(faces, read_detections(file, faces), iou)
    for image, wanted in expected["assignments"].items():
        mine = assigned.get(image, {})
        checks.equal(f"{name}assignment of {image}", {key: mine.get(key) for key in wanted}, wanted)


def _assigned(faces: WatchlistFaces, detections: WatchlistDetections, iou: float) -> dict[str, dict[str, list[Any]]]:
    """The matches of all images in the form of the expectations: numbers of detections within their image."""
    matches = match(faces, detections, iou)
    within = np.arange(len(detections)) - detections.offsets[detections.image]
    found: dict[str, dict[str, list[Any]]] = {
        faces.images[image]: {"matched": [], "false": [], "ignored": []} for image in np.unique(detections.image)
    }
    for face, detection in zip(*(side.tolist() for side in matches.pairs), strict=True):
        pair = [int(within[detection]), int(faces.subject[face])]
        found[faces.images[faces.image[face]]]["matched"].append(pair)
    for name, rows in (("false", matches.false), ("ignored", matches.ignored)):
        for detection in rows.tolist():
            found[faces.images[detections.image[detection]]][name].append(int(within[detection]))
    return found


def _assignment_problems(checks: Checks, expected: list[dict[str, Any]]) -> None:
    known = {"name", "faces", "detections", "subject_ids", "face_ids", "exclude", "iou", "expected"}
    for entry in expected:
        name = entry["name"]
        _unknown(checks, name, entry, known)
        if entry.get("quirk"):
            continue
        boxes = np.array(entry["faces"], dtype=np.float64).reshape(-1, 4)
        found = np.array(entry["detections"], dtype=np.float64).reshape(-1, 4)
        faces = WatchlistFaces(
            ("image.jpg",),
            np.zeros(len(boxes), np.intp),
            boxes,
            np.array(entry["subject_ids"], dtype=np.int64),
            np.array(entry["face_ids"], dtype=np.int64),
            Exclusion(np.array(entry["exclude"], dtype=np.int64)),
        )
        detections = WatchlistDetections(
            faces, np.zeros(len(found), np.intp), np.zeros(len(found)), found, np.arange(1, len(found) + 1)
        )
        wanted = entry["expected"]
        _unknown(checks, name, wanted, {"matched", "false", "ignored", "overlap_float32", "reference_error"})
        if "reference_error" in wanted:
            checks.refused(name, lambda d=detections, f=faces, e=entry: _assigned(f, d, e["iou"]), "overlap limit")
            continue
        got = _assigned(faces, detections, entry["iou"]).get("image.jpg", {"matched": [], "false": [], "ignored": []})
        for key in ("matched", "false", "ignored"):
            if key in wanted:
                checks.equal(f"{name}.{key}", got[key], wanted[key])
        if "overlap_float32" in wanted:
            single = overlap(corners(boxes.astype(np.float32))[:, np.newaxis], corners(found.astype(np.float32)))
            checks.equal(f"{name}.overlap_float32", single.astype(np.float64), wanted["overlap_float32"])


def _configuration(checks: Checks, here: Path, expected: list[dict[str, Any]]) -> None:
    for entry in expected:
        name = entry["name"]
        _unknown(checks, name, entry, {"name", "configuration", "arguments", "resolved", "refused", "message"})
        files = [entry["configuration"]] if isinstance(entry["configuration"], str) else entry["configuration"] or []
        line = [*(str(here / file) for file in files), *entry["arguments"]]
        if "refused" in entry:
            checks.refused(name, lambda line=line: understand("evaluation", line))
            if entry["refused"] == "usage error":
                try:
                    understand("evaluation", line)
                except UsageError:
                    checks.true(f"{name}: usage error", True)
                except Exception as error:
                    checks.true(f"{name}: usage error", False, f"raised {type(error).__name__}: {error}")
            checks.equal(f"{name}: exit code", command.main(["evaluation", *line]), 2)
        else:
            call = understand("evaluation", line)
            checks.equal(name, nested(call.config.values) | {"tasks": call.own.tasks}, entry["resolved"])


def _plots(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    _unknown(checks, "expected", expected, {"plots"})
    for number, plot in enumerate(expected["plots"]):
        name = f"{plot['curve']} {number}"
        known = {"curve", "cases", "linear", "plot_numbers", "face_count", "known_count", "rank", "axes"}
        _unknown(checks, name, plot, known)
        how = {"linear": plot.get("linear", False), "numbers": plot.get("plot_numbers", False)}
        curves = {}
        for case in plot["cases"]:
            sibling = here.parent / case
            if plot["curve"] == "FROC":
                run = _run(sibling, _score_file(sibling), "detection")
            else:
                run = _run(sibling, _score_file(sibling), "identification", ranks=(plot["rank"],))
            curves[case] = CurveReport(outcome_of(run).curves[plot.get("rank", 0)].curve)
        faces = plot["face_count"] if plot["curve"] == "FROC" else plot["known_count"]
        got = _axes(curve_figure(curves, rank=plot.get("rank", 0), faces=faces, **how))
        for key, value in plot["axes"].items():
            if key not in _NOT_FOLLOWED:
                checks.true(f"{name}.{key} is known", key in got, "nothing of ours answers to this key")
                checks.equal(f"{name}.{key}", got.get(key), value)


# The legend is below the axes, and lines and grid are those of all our figures (DEVIATIONS.md).
_NOT_FOLLOWED = {"legend_location_code", "legend_font_size", "grid_color"}


def _axes(figure: Figure) -> dict[str, Any]:
    """What our figure draws, in the words of the drawing library that the expectations were read from."""
    chart, (_, x_label, y_label, *_) = figure.chart, figure.data.columns
    assert isinstance(chart, Lines)
    assert chart.size is not None

    def parts(colour: str) -> str:
        return str(tuple(int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)))

    points = Counter(row[0] for row in figure.data.rows if row[2] is not None)
    drawn = [
        dict(re.findall(r'([\w-]+)="([^"]*)"', path))
        for path in re.findall(r"<path[^>]* data-line=[^>]*>", svg(figure))
    ]
    return {
        "figure_size_inches": [side / 96 for side in chart.size],
        "x_scale": "log" if chart.log_x else "linear",
        "y_scale": "log" if chart.log_y else "linear",
        "x_limits": chart.x_domain,
        "y_limits": chart.y_domain,
        "x_label": x_label,
        "y_label": y_label,
        "title": figure.title,
        "legend_labels": list(points),
        "lines": [
            {
                "points": count,
                "marker": path.get("marker-mid", "None"),
                "style": path.get("stroke-dasharray", "-"),
                "width": float(path["stroke-width"]) * 72 / 96,  # of pixels, in points
                "color": parts(path["stroke"]),
            }
            for count, path in zip(points.values(), drawn, strict=True)
        ],
    }


def _alignment(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    from PIL import Image

    from evenhand.instruments.faces import TEMPLATE_112

    _unknown(checks, "expected", expected, {"output_size", "cases"})
    picture = np.asarray(Image.open(next(here.glob("*.png"))).convert("RGB"))
    crops = load_arrays(here / "expected_crops.npz")[0]["crops"]
    for number, case in enumerate(expected["cases"]):
        _unknown(checks, f"case {number}", case, {"landmarks", "matrix"})
        landmarks = np.array(case["landmarks"], dtype=np.float64)
        size = expected["output_size"][0]
        matrix = similarity(landmarks, TEMPLATE_112 * (size / 112))
        checks.close(f"case {number} matrix", matrix, case["matrix"], rel=1e-6, abs=1e-6)
        crop = blue_green_red(align(picture, landmarks, size=size))
        far = np.abs(crop.astype(int) - crops[number].astype(int)) > 2
        checks.true(
            f"case {number} crop", float(far.mean()) <= 0.005, f"{far.mean():.2%} of pixels differ by more than 2"
        )


def _detection_file(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    _unknown(checks, "expected", expected, {"lines", "images_written"})
    given = json.loads((here / "detections.json").read_text(encoding="utf-8"))
    answers = [
        (
            name,
            from_corners(
                np.array([one["score"] for one in found], dtype=np.float32),
                np.array([one["corners"] for one in found], dtype=np.float32).reshape(-1, 4),
                np.array([one["landmarks"] for one in found], dtype=np.float32).reshape(-1, 5, 2),
            ),
        )
        for name, found in given.items()
    ]
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "written.txt"
        rows = write_detections(out, answers)
        text = out.read_text(encoding="utf-8")
    wanted = (here / "expected.txt").read_text(encoding="utf-8")
    checks.equal("text", text, wanted)
    facts = {
        "lines": rows + 1,  # with the header
        "images_written": len({line.split(",")[0] for line in text.splitlines()[1:]}),
    }
    for key in facts.keys() & expected.keys():
        checks.equal(key, facts[key], expected[key])


def _scoring(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    gallery, probes = _stores(here)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scores.txt"
        line = ["scoring", "--data_directory", str(here / "data"), "--scoring.gallery", str(gallery)]
        line += ["--scoring.probe", str(probes), "--scoring.results", str(out)]
        if "refused" in expected:
            _unknown(checks, "expected", expected, {"refused"})
            subjects, _ = read_subjects(here / "data" / "gallery.csv")
            checks.refused("refused", lambda: score_stores(gallery, probes, subjects), expected["refused"])
            checks.equal("exit code", command.main(line), 2)
            checks.true("no output file", not out.exists(), "a score file was written")
            return
        known = {"subjects_in_header", "template_shape", "template_dtype", "rows", "score_columns_per_row"}
        _unknown(checks, "expected", expected, known | {"tolerance_absolute", "row_order", "first_row"})
        checks.equal("exit code", command.main(line), 0)
        _score_text(checks, out, here, expected)
        if (here / "embeddings.npz").exists():
            both = out.with_name("from_npz.txt")
            single = str(here / "embeddings.npz")
            other = ["scoring", "--data_directory", str(here / "data"), "--scoring.gallery", single]
            checks.equal("npz", command.main([*other, "--scoring.probe", single, "--scoring.results", str(both)]), 0)
            checks.equal("the same from .npz", both.read_bytes(), out.read_bytes())
    subjects, _ = read_subjects(here / "data" / "gallery.csv")
    enrolment, _, _ = score_stores(gallery, probes, subjects)
    facts = {"template_shape": enrolment.templates.shape, "template_dtype": str(enrolment.templates.dtype)}
    for key in facts.keys() & expected.keys():
        checks.equal(key, facts[key], expected[key])
    path = here / "expected_templates.npz"
    stored = load_arrays(path)[0] if path.exists() else {}
    tolerance = expected.get("tolerance_absolute", 1e-6)
    for name, template in stored.items():
        if name == "subject_ids":
            checks.equal(
                "subjects", [f"{subject:04d}" for subject in enrolment.subjects], [f"{int(i):04d}" for i in template]
            )
        elif template.ndim == 2:
            checks.close(f"templates {name}", enrolment.templates, template, abs=tolerance, rel=1e-6)
        elif template.ndim == 1 and name.lstrip("S_").isdigit():
            mine = enrolment.templates[enrolment.subjects.index(int(name.lstrip("S_")))]
            checks.close(f"template {name}", mine, template, abs=tolerance, rel=1e-6)
        else:
            checks.true(f"templates {name}", False, f"an array {template.shape} that nothing of ours answers to")


def _stores(here: Path) -> tuple[Path, Path]:
    folders = [path for path in here.rglob("*_embeddings") if path.is_dir()]
    gallery = [path for path in folders if path.name.startswith("gallery")]
    probes = [path for path in folders if not path.name.startswith("gallery")]
    assert len(gallery) == len(probes) == 1, f"{here}: one gallery and one probe store expected, found {folders}"
    return gallery[0], probes[0]


def _score_text(checks: Checks, out: Path, here: Path, expected: Mapping[str, Any]) -> None:
    got = [line.split(",") for line in out.read_text(encoding="utf-8").splitlines()]
    wanted = [line.split(",") for line in (here / "expected_scores.txt").read_text(encoding="utf-8").splitlines()]
    tolerance = expected.get("tolerance_absolute", 1e-6)
    checks.equal("header", got[0], wanted[0])
    checks.equal("number of rows", len(got), len(wanted))
    for mine, theirs in zip(got[1:], wanted[1:], strict=False):
        checks.equal(f"{theirs[0]} leading columns", mine[:6], theirs[:6])
        similar = [float(value) for value in mine[6:]]
        checks.close(f"{theirs[0]} similarities", similar, [float(value) for value in theirs[6:]], abs=tolerance)
    facts: dict[str, Any] = {
        "subjects_in_header": got[0][6:],
        "rows": len(got) - 1,
        "score_columns_per_row": sorted({len(row) - 6 for row in got[1:]}),
    }
    for key in facts.keys() & expected.keys():
        checks.equal(key, facts[key], expected[key])
    if "first_row" in expected:
        first, wanted_first = got[1], expected["first_row"]
        checks.equal("first_row leading columns", first[:6], wanted_first[:6])
        numbers = [float(value) for value in first[6 : len(wanted_first)]]
        checks.close("first_row", numbers, [float(value) for value in wanted_first[6:]], abs=tolerance)


def _pipeline(checks: Checks, here: Path, expected: Mapping[str, Any]) -> None:
    _unknown(checks, "expected", expected, {"detection", "recognition", "smallest_gap_between_leading_similarities"})
    gallery, probes = _stores(here)
    detections = [path for path in (here / "results").iterdir() if path.is_file()]
    checks.equal("one detection file", len(detections), 1)
    tolerance = 1e-6
    gap = expected.get("smallest_gap_between_leading_similarities")
    if gap is not None:
        checks.true("similarities lie apart", gap > 2 * tolerance, "rounding could change a rate")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "scores.txt"
        line = ["scoring", "--data_directory", str(here / "data"), "--scoring.gallery", str(gallery)]
        line += ["--scoring.probe", str(probes), "--scoring.results", str(out)]
        checks.equal("scoring", command.main(line), 0)
        _score_text(checks, out, here, {})
        _detection(checks, here, expected["detection"], detections[0], "detection ")
        _recognition(checks, here, expected["recognition"], out, "recognition ", tolerance)
        # A recognition file serves for detection too; its scores are those of the detection file.
        both = {key: expected["detection"][key] for key in ("iou", "counts", "curve") if key in expected["detection"]}
        _detection(checks, here, both, out, "detection from the recognition file ")
