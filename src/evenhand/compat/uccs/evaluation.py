"""The evaluation command: score files in; curves, counts, operating points and figures out.

Every file is evaluated by the task that `evenhand evaluate` runs; what the challenge draws and what stands beside its
figures is written from the rows and results of those runs.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, cast

from evenhand import api
from evenhand.benchmarks.uccs.tasks import detection, identification
from evenhand.compat.uccs.config import Configuration, labels_of
from evenhand.compat.uccs.outcomes import (
    SystemOutcome,
    band,
    curve_figure,
    curves_csv,
    groups,
    intervals,
    outcome_of,
    report_json,
)
from evenhand.compat.uccs.preflight import figure_path
from evenhand.core.metric import Undefined
from evenhand.core.task import Task
from evenhand.files.writing import write_file
from evenhand.reporting import drawing

Say = Callable[[str], None]


class _TaskOutput(NamedTuple):
    """How a task of the challenge is evaluated, and what is said and drawn of it."""

    task: Task[Any, Any]
    figure: str  # the option that names it
    counts: str  # what is said of a system
    faces: str  # the count that the figure is drawn to


_TASKS = {
    "detection": _TaskOutput(
        detection,
        "froc",
        "{faces_evaluated} faces evaluated, {true_detections} detected, {false_detections} false detections",
        "faces_evaluated",
    ),
    "recognition": _TaskOutput(
        identification,
        "oroc",
        "{known_faces_evaluated} known faces evaluated, {matched_known} detected, "
        "{matched_unknown} unknown faces detected, {misdetections} false detections",
        "known_faces_evaluated",
    ),
}


def evaluation(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Evaluate detection, recognition or both, and write everything beside the figures."""
    for name, how in _TASKS.items():
        if name in own.tasks:
            _evaluate_task(name, how, config, own, say)


def ranks_of(name: str, config: Configuration, own: argparse.Namespace) -> tuple[int, ...]:
    """The ranks that are evaluated; detection has the one "rank" 0."""
    return tuple(dict.fromkeys(own.ranks or [config["eval.recognition.rank"]])) if name == "recognition" else (0,)


def outputs_of(config: Configuration, own: argparse.Namespace) -> Iterator[tuple[Path, str]]:
    """Every file that an evaluation writes, with what it is."""
    for name in [task for task in _TASKS if task in own.tasks]:
        option = f"eval.{name}.{_TASKS[name].figure}"
        figure, ranks = Path(config[option]), ranks_of(name, config, own)
        if not own.no_figure:
            yield from ((_figure_path(figure, rank, ranks), option) for rank in ranks)
        yield from ((figure.with_suffix(suffix), f"the {suffix} of {option}") for suffix in (".json", ".csv"))


def _evaluate_task(name: str, how: _TaskOutput, config: Configuration, own: argparse.Namespace, say: Say) -> None:
    ranks = ranks_of(name, config, own)
    metrics = {rank: f"oroc_rank{rank}" if rank else "froc" for rank in ranks}
    outcomes = _outcomes(name, how, config, own, metrics)
    _say_warnings(outcomes, say)
    for label, outcome in outcomes.items():
        say(f"{label}: {how.counts.format(**outcome.counts)}")
    extra: dict[str, Any] = {}
    for rank, metric in metrics.items():
        further = _further(outcomes, rank, metric, own, say)
        extra |= {f"{key}_rank{rank}" if len(ranks) > 1 else key: value for key, value in further.items()}
    path = Path(config[f"eval.{name}.{how.figure}"])
    for suffix, content in ((".json", report_json(outcomes, extra)), (".csv", curves_csv(outcomes))):
        write_file(path.with_suffix(suffix), content)
        say(f"wrote {path.with_suffix(suffix)}")
    faces = max(next(iter(outcomes.values())).counts[how.faces], 0)
    numbers = config[f"eval.{name}.plot_numbers"]
    for rank, metric in metrics.items():
        systems = {label: outcome.curves[rank] for label, outcome in outcomes.items()}
        for label, report in systems.items():
            if not len(report.heights(numbers=numbers)):
                say(f"note: the curve of {label} has no points and is not drawn.")
        if own.no_figure:
            continue
        if own.draws:
            limits = {label: band(outcome, rank, metric, own.draws) for label, outcome in outcomes.items()}
            systems = {label: replace(report, band=limits[label]) for label, report in systems.items()}
        figure = curve_figure(systems, rank=rank, faces=faces, linear=config["eval.linear"], numbers=numbers)
        target = _figure_path(path, rank, ranks)
        if figure.data.rows:
            drawing.write_figure(figure, target)
        say(f"wrote {target}" if figure.data.rows else f"note: no curve has points, so {target} is not drawn.")


def _outcomes(
    name: str, how: _TaskOutput, config: Configuration, own: argparse.Namespace, metrics: Mapping[int, str]
) -> dict[str, SystemOutcome]:
    excluded = config["eval.exclude_gallery"]
    options = {
        "which_set": config["which_set"],
        "exclude": "none" if excluded in (None, "") else str(excluded),
        "iou": config["eval.iou"],
        "targets": tuple(own.targets),
    }
    if name == "recognition":
        options["ranks"] = tuple(metrics)
    every, record, shown = how.task.metrics, how.task.record, set(metrics.values())
    if not own.draws:  # then nothing asks for a row by its name, and names are half of the rows' memory
        record = partial(cast(Any, record), items=False)
    task = replace(how.task, metrics=lambda chosen: tuple(m for m in every(chosen) if m.name in shown), record=record)
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
    shared = set.intersection(*(set(outcome.warnings) for outcome in outcomes.values()))
    every = [(label, warning) for label, outcome in outcomes.items() for warning in outcome.warnings]
    of_all = dict.fromkeys(warning for _, warning in every if warning in shared)
    of_one = [f"{label}: {warning}" for label, warning in every if warning not in shared]
    for text in (*of_all, *of_one):
        say(f"note: {text}")


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


def _figure_path(figure: Path, rank: int, ranks: tuple[int, ...]) -> Path:
    """Where the figure of a rank goes: the named file, or one with the rank in its name when there are several."""
    return figure_path(figure if len(ranks) == 1 else figure.with_name(f"{figure.stem}-rank{rank}{figure.suffix}"))
