"""The evaluation command: score files in; curves, counts, operating points and figures out.

Every file is evaluated by the task that `evenhand evaluate` runs; what the challenge draws and what stands beside its
figures is written from the rows and results of those runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand import api
from evenhand.benchmarks.uccs.tasks import detection, identification
from evenhand.compat.uccs.config import Configuration, labels_of
from evenhand.compat.uccs.figures import CurveFigure, System, draw, figure_path, froc_figure, oroc_figure
from evenhand.compat.uccs.outcomes import (
    SystemOutcome,
    band,
    curves_csv,
    detection_outcome,
    groups,
    identification_outcome,
    intervals,
    report_json,
)
from evenhand.core.metric import Undefined
from evenhand.files.writing import write_file

Say = Callable[[str], None]


def evaluation(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Evaluate detection, recognition or both, and write everything beside the figures."""
    options = {
        "which_set": config["which_set"],
        "exclude": "none" if config["eval.exclude_gallery"] in (None, "") else str(config["eval.exclude_gallery"]),
        "iou": config["eval.iou"],
        "targets": tuple(own.targets),
    }
    if "detection" in own.tasks:
        _detection(config, own, options, say)
    if "recognition" in own.tasks:
        _recognition(config, own, options | {"ranks": ranks_of(config, own)}, say)


def ranks_of(config: Configuration, own: argparse.Namespace) -> tuple[int, ...]:
    """The ranks that are evaluated."""
    return tuple(dict.fromkeys(own.ranks or [config["eval.recognition.rank"]]))


def outputs_of(config: Configuration, own: argparse.Namespace) -> list[tuple[Path, str]]:
    """Every file that an evaluation writes, with what it is."""
    outputs: list[tuple[Path, str]] = []
    for task, key in (("detection", "froc"), ("recognition", "oroc")):
        if task not in own.tasks:
            continue
        figure = Path(config[f"eval.{task}.{key}"])
        ranks = ranks_of(config, own) if task == "recognition" else (0,)
        if not own.no_figure:
            outputs += [(figure_path(path), f"eval.{task}.{key}") for path in map(_figure_path(figure, ranks), ranks)]
        outputs += [(_beside(figure, suffix), f"the {suffix} of eval.{task}.{key}") for suffix in (".json", ".csv")]
    return outputs


def _detection(config: Configuration, own: argparse.Namespace, options: Mapping[str, Any], say: Say) -> None:
    outcomes = _evaluate(detection, config, own, options, detection_outcome)
    _say_warnings(outcomes, say)
    for label, outcome in outcomes.items():
        counts = outcome.counts
        say(
            f"{label}: {counts['faces_evaluated']} faces evaluated, {counts['true_detections']} detected, "
            f"{counts['false_detections']} false detections"
        )
    extra = _further(outcomes, 0, "froc", own, say)
    path = Path(config["eval.detection.froc"])
    figure = froc_figure(
        _systems(outcomes, 0, "froc", own),
        faces=max(next(iter(outcomes.values())).counts["faces_evaluated"], 0),
        linear=config["eval.linear"],
        numbers=config["eval.detection.plot_numbers"],
    )
    _write(path, outcomes, extra, say)
    _draw(figure, path, own, say)


def _recognition(config: Configuration, own: argparse.Namespace, options: Mapping[str, Any], say: Say) -> None:
    outcomes = _evaluate(identification, config, own, options, identification_outcome)
    _say_warnings(outcomes, say)
    for label, outcome in outcomes.items():
        counts = outcome.counts
        say(
            f"{label}: {counts['known_faces_evaluated']} known faces evaluated, {counts['matched_known']} detected, "
            f"{counts['matched_unknown']} unknown faces detected, {counts['misdetections']} false detections"
        )
    path, ranks = Path(config["eval.recognition.oroc"]), options["ranks"]
    extra: dict[str, Any] = {}
    for rank in ranks:
        further = _further(outcomes, rank, f"oroc_rank{rank}", own, say)
        extra |= {f"{name}_rank{rank}" if len(ranks) > 1 else name: value for name, value in further.items()}
    _write(path, outcomes, extra, say)
    for rank in ranks:
        figure = oroc_figure(
            _systems(outcomes, rank, f"oroc_rank{rank}", own),
            rank=rank,
            known=max(next(iter(outcomes.values())).counts["known_faces_evaluated"], 0),
            linear=config["eval.linear"],
            numbers=config["eval.recognition.plot_numbers"],
        )
        _draw(figure, _figure_path(path, ranks)(rank), own, say)


def _systems(
    outcomes: Mapping[str, SystemOutcome], rank: int, metric: str, own: argparse.Namespace
) -> dict[str, System]:
    """What is drawn of each system: its curve, operating points, and intervals unless they are switched off."""
    return {
        label: System(
            outcome.curves[rank].curve,
            outcome.curves[rank].readings,
            band(outcome, rank, metric, own.draws) if own.draws and not own.no_figure else None,
        )
        for label, outcome in outcomes.items()
    }


def _evaluate(
    task: Any,
    config: Configuration,
    own: argparse.Namespace,
    options: Mapping[str, Any],
    outcome_of: Callable[[Any], SystemOutcome],
) -> dict[str, SystemOutcome]:
    name = "detection" if task is detection else "recognition"
    shown = {"froc", *(f"oroc_rank{rank}" for rank in options.get("ranks", ()))}
    every = task.metrics
    task = replace(task, metrics=lambda own_options: [one for one in every(own_options) if one.name in shown])
    if not own.draws:  # then nothing asks for a row by its name, and names are half of the rows' memory
        task = replace(task, record=partial(task.record, items=False))
    return {
        label: outcome_of(
            api.evaluate(
                task,
                path,
                data=config["data_directory"],
                model=label,
                options=options,
                by=[column.lower() for column in own.by],
                depth=1,
                draws=own.draws,
                permutations=0,
                rows="all",
            )
        )
        for label, path in labels_of(config, name).items()
    }


def _say_warnings(outcomes: Mapping[str, SystemOutcome], say: Say) -> None:
    """What holds for all systems once, the rest with the label of its system."""
    shared = set.intersection(*(set(outcome.warnings) for outcome in outcomes.values())) if outcomes else set()
    for warning in next(iter(outcomes.values())).warnings:
        if warning in shared:
            say(f"note: {warning}")
    for label, outcome in outcomes.items():
        for warning in outcome.warnings:
            if warning not in shared:
                say(f"note: {label}: {warning}")


def _further(
    outcomes: Mapping[str, SystemOutcome], rank: int, metric: str, own: argparse.Namespace, say: Say
) -> dict[str, Any]:
    """Intervals, paired differences and groups; also says the table of operating points."""
    _say_points(outcomes, rank, metric, say)
    extra = intervals(outcomes, metric, own.draws)
    for label, outputs in extra.get("intervals", {}).items():
        low, high = outputs["sum"]["low"], outputs["sum"]["high"]
        if low is not None and high is not None:
            say(f"{label}: 95 % interval of the sum [{low:.4f}, {high:.4f}] (bootstrap over images)")
    for pair in extra.get("paired", ()):
        if pair["output"] == "sum" and pair["value"] is not None:
            limits = "" if pair["low"] is None else f" [{pair['low']:+.4f}, {pair['high']:+.4f}]"
            say(f"{pair['first']} − {pair['second']}: {pair['value']:+.4f}{limits} in the sum, on the same images")
    if own.by:
        extra["groups"] = {label: groups(outcome, metric) for label, outcome in outcomes.items()}
    return extra


def _say_points(outcomes: Mapping[str, SystemOutcome], rank: int, name: str, say: Say) -> None:
    """The competition's table: one line per system, the rate at each target, and the sum."""
    width = max(16, *(len(label) + 2 for label in outcomes))
    for number, (label, outcome) in enumerate(outcomes.items()):
        report = outcome.curves[rank]
        if not number:
            targets = "".join(f"{f'{reading.target:g}':>10}" for reading in report.readings)
            say(f"{name:<{width}}{targets}{'sum':>10}")
        cells = ["-" if reading.rate is None else f"{reading.rate:.4f}" for reading in report.readings]
        cells.append("-" if isinstance(report.sum, Undefined) else f"{report.sum:.4f}")
        say(f"{label:<{width}}" + "".join(f"{cell:>10}" for cell in cells))


def _write(figure: Path, outcomes: Mapping[str, SystemOutcome], extra: Mapping[str, Any], say: Say) -> None:
    """Write `NAME.json` (everything) and `NAME.csv` (curves as a long table) beside a figure's path."""
    for suffix, content in ((".json", report_json(outcomes, extra)), (".csv", curves_csv(outcomes))):
        write_file(_beside(figure, suffix), content)
        say(f"wrote {_beside(figure, suffix)}")


def _draw(figure: CurveFigure, path: Path, own: argparse.Namespace, say: Say) -> None:
    for label in figure.left_out:
        say(f"note: the curve of {label} has no points and is not drawn.")
    if own.no_figure:
        return
    if not figure.lines:
        say(f"note: no curve has points, so {path} is not drawn.")
        return
    draw(figure, path)
    say(f"wrote {figure_path(path)}")


def _beside(figure: Path, suffix: str) -> Path:
    return figure.with_suffix(suffix)


def _figure_path(figure: Path, ranks: tuple[int, ...]) -> Callable[[int], Path]:
    """Where the figure of each rank goes: the named file, or one with the rank in its name when there are several."""
    if len(ranks) == 1:
        return lambda _: figure
    return lambda rank: figure.with_name(f"{figure.stem}-rank{rank}{figure.suffix}")
