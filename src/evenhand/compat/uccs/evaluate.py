"""The evaluation command: score files in; curves, counts, operating points and figures out."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks.uccs.data import (
    NO_EXCLUSION,
    Exclusion,
    Faces,
    exclusion_warnings,
    read_exclusion,
    read_faces,
    read_subjects,
)
from evenhand.benchmarks.uccs.detections import read_detections
from evenhand.benchmarks.uccs.evaluation import (
    Outcome,
    as_plain,
    check_ranks,
    evaluate_detection,
    evaluate_identification,
)
from evenhand.benchmarks.uccs.files import write_report
from evenhand.benchmarks.uccs.scores import read_scores
from evenhand.compat.uccs.command import labels_of
from evenhand.compat.uccs.config import Configuration
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import Metric, Undefined
from evenhand.metrics.curves import FreeResponse, OpenSet

Say = Callable[[str], None]


def evaluation(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Evaluate detection, recognition or both, and write everything beside the figures."""
    iou = config["eval.iou"]
    if not 0 < iou <= 1:
        raise OptionError(f"eval.iou is {iou:g}; an overlap limit lies above 0 and at most at 1, usually 0.5.")
    ranks = list(dict.fromkeys(own.ranks or [config["eval.recognition.rank"]]))
    check_ranks(ranks)
    table = Path(config["data_directory"]) / f"{config['which_set']}.csv"
    faces, _ = read_faces(table, exclusion_of(config))
    for name in own.by:
        if name.lower() not in faces.extra:
            raise UnknownNameError("column to split by", name, faces.extra, f"It must be a further column of {table}.")
    for warning in exclusion_warnings(faces):
        say(f"note: {warning}")
    if "detection" in own.tasks:
        _detection(config, own, faces, iou, say)
    if "recognition" in own.tasks:
        _recognition(config, own, faces, iou, ranks, say)


def exclusion_of(config: Configuration) -> Exclusion:
    """The configured exclusion list, or the `.pickle` of the first release beside it; none when the setting is null."""
    path = config["eval.exclude_gallery"]
    if path is None or str(path).casefold() in ("", "null", "none"):
        return NO_EXCLUSION
    first_release = Path(path).with_suffix(".pickle")
    return read_exclusion(first_release if not Path(path).exists() and first_release.exists() else Path(path))


def _detection(config: Configuration, own: argparse.Namespace, faces: Faces, iou: float, say: Say) -> None:
    from evenhand.benchmarks.uccs.figures import froc_figure

    outcomes: dict[str, Outcome] = {}
    for label, path in labels_of(config, "detection").items():
        found = read_scores(path, faces, iou=iou) if path.suffix == ".npy" else read_detections(path, faces)
        outcome = evaluate_detection(faces, found, iou=iou)
        outcomes[label] = outcome
        counts = outcome.counts
        say(
            f"{label}: {counts['faces_evaluated']} faces evaluated, {counts['true_detections']} detected, "
            f"{counts['false_detections']} false detections"
        )
        _warn(label, outcome, say)
    curves = {label: outcome.curves[0].curve for label, outcome in outcomes.items()}
    plan = froc_figure(
        curves,
        faces=max(len(faces) - len(faces.exclusion), 0),
        linear=config["eval.linear"],
        numbers=config["eval.detection.plot_numbers"],
    )
    path = Path(config["eval.detection.froc"])
    extra = _further(outcomes, FreeResponse("froc"), faces, own, say)
    write_report(path, {label: as_plain(outcome) for label, outcome in outcomes.items()}, extra)
    _draw(plan, path, own, say)


def _recognition(
    config: Configuration, own: argparse.Namespace, faces: Faces, iou: float, ranks: Sequence[int], say: Say
) -> None:
    from evenhand.benchmarks.uccs.figures import oroc_figure

    gallery_table = Path(config["data_directory"]) / "gallery.csv"
    gallery = read_subjects(gallery_table)[0] if gallery_table.exists() else None
    outcomes: dict[str, Outcome] = {}
    for label, path in labels_of(config, "recognition").items():
        scores = read_scores(path, faces, iou=iou, gallery=gallery)
        outcome = evaluate_identification(faces, scores, ranks=ranks, iou=iou)
        outcomes[label] = outcome
        counts = outcome.counts
        say(
            f"{label}: {counts['known_faces_evaluated']} known faces evaluated, {counts['matched_known']} detected, "
            f"{counts['matched_unknown']} unknown faces detected, {counts['misdetections']} false detections"
        )
        _warn(label, outcome, say)
    path = Path(config["eval.recognition.oroc"])
    extra: dict[str, Any] = {}
    for rank in ranks:
        further = _further(outcomes, OpenSet(f"oroc_rank{rank}", rank), faces, own, say, rank)
        extra |= {f"{name}_rank{rank}" if len(ranks) > 1 else name: value for name, value in further.items()}
    write_report(path, {label: as_plain(outcome) for label, outcome in outcomes.items()}, extra)
    for rank in ranks:
        plan = oroc_figure(
            {label: outcome.curves[rank].curve for label, outcome in outcomes.items()},
            rank=rank,
            known=max(int(faces.is_known.sum()) - len(faces.exclusion), 0),
            linear=config["eval.linear"],
            numbers=config["eval.recognition.plot_numbers"],
        )
        _draw(plan, path if len(ranks) == 1 else path.with_name(f"{path.stem}-rank{rank}{path.suffix}"), own, say)


def _warn(label: str, outcome: Outcome, say: Say) -> None:
    for warning in outcome.warnings:
        say(f"note: {label}: {warning}")


def _further(
    outcomes: Mapping[str, Outcome], metric: Metric[Any], faces: Faces, own: argparse.Namespace, say: Say, rank: int = 0
) -> dict[str, Any]:
    """Intervals, paired differences and groups; also says the table of operating points."""
    rows = {label: outcome.rows for label, outcome in outcomes.items()}
    _say_points(outcomes, rank, metric.name, say)
    extra: dict[str, Any] = {"draws": own.draws}
    if own.draws > 0:
        from evenhand.benchmarks.uccs.uncertainty import spreads

        found, differences = spreads(rows, metric, images=len(faces.images), draws=own.draws)
        extra["intervals"] = {
            label: {output: spread._asdict() for output, spread in by_output.items()}
            for label, by_output in found.items()
        }
        extra["paired"] = [
            {"output": pair.output, "first": pair.first, "second": pair.second, **pair.difference._asdict()}
            for pair in differences
        ]
        for label, by_output in found.items():
            total = by_output["sum"]
            if total.low is not None and total.high is not None:
                say(f"{label}: the sum lies in [{total.low:.4f}, {total.high:.4f}] (95 %, images redrawn)")
        for pair in differences:
            value, low, high = pair.difference
            if pair.output == "sum" and value is not None:
                within = "" if low is None or high is None else f" [{low:+.4f}, {high:+.4f}]"
                say(f"{pair.first} − {pair.second}: {value:+.4f}{within} in the sum, on the same images")
    if own.by:
        extra["groups"] = {label: _groups(table, metric, own.by) for label, table in rows.items()}
    return extra


def _say_points(outcomes: Mapping[str, Outcome], rank: int, name: str, say: Say) -> None:
    """The competition's table: one line per system, the rate at each target, and the sum."""
    for number, (label, outcome) in enumerate(outcomes.items()):
        report = outcome.curves[rank]
        if not number:
            targets = "".join(f"{f'{reading.target:g}':>10}" for reading in report.readings)
            say(f"{name:<16}{targets}{'sum':>10}")
        cells = ["-" if reading.rate is None else f"{reading.rate:.4f}" for reading in report.readings]
        total = report.sum
        cells.append("-" if isinstance(total, Undefined) else f"{total:.4f}")
        say(f"{label:<16}" + "".join(f"{cell:>10}" for cell in cells))


def _groups(rows: Any, metric: Metric[Any], by: Sequence[str]) -> list[dict[str, Any]]:
    from evenhand.core.measure import measure

    found = measure(rows, [metric], [name.lower() for name in by])
    return [
        {
            "group": str(estimate.group),
            "output": estimate.output,
            "value": estimate.number,
            "rows": estimate.rows,
            "images": estimate.units,
        }
        for estimate in found
        if estimate.output != "curve"
    ]


def _draw(plan: Any, path: Path, own: argparse.Namespace, say: Say) -> None:
    from evenhand.benchmarks.uccs.figures import draw

    for label in plan.left_out:
        say(f"note: the curve of {label} has no points and is not drawn.")
    if own.no_figure:
        return
    if not plan.lines:
        say(f"note: no curve has points, so {path} is not drawn.")
        return
    draw(plan, path)
    say(f"wrote {path}")
