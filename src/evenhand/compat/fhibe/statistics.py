"""The house's statistics for a published results folder: subjects as units, 95 % intervals, verdicts.

Outputs are evaluated again from `model_outputs.json`; pictures are not compared a second time, their
stored scores are taken.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe.options import ACCURACY_GRID, PCK_GRID, RECALL_GRID, threshold_keys
from evenhand.benchmarks.fhibe.output_file import match_keys, parse
from evenhand.benchmarks.fhibe.record import person_rows
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.compat.fhibe.results_folder import custom_keypoints, threshold_curve
from evenhand.core.errors import RunError
from evenhand.core.measure import tally
from evenhand.core.options import parse as parse_options
from evenhand.core.results import Contrast, Estimate

_GRIDS = (RECALL_GRID, PCK_GRID, ACCURACY_GRID)
_OPTIONS = {"AR_IOU": "thresholds", "AR_MASK": "thresholds", "AR_OKS": "oks_thresholds", "PCK": "pck_thresholds"}


@dataclass(frozen=True)
class Statistics:
    """Estimates and contrasts of the first output of every metric."""

    estimates: tuple[Estimate, ...]
    contrasts: Sequence[Contrast]

    margin: float = 0.05

    def first(self, metric: str) -> list[Estimate]:
        """The first output of a metric, in all groups."""
        found = [estimate for estimate in self.estimates if estimate.metric == metric]
        return [estimate for estimate in found if estimate.output == found[0].output]

    def of(self, metric: str, attribute: str, output: str | None = None) -> list[Estimate]:
        """The groups of one attribute, by an output of the metric, the first unless it is named."""
        found = (
            self.first(metric)
            if output is None
            else [one for one in self.estimates if (one.metric, one.output) == (metric, output)]
        )
        return [estimate for estimate in found if estimate.group.by == (attribute,)]


def from_outputs(
    task: str, folder: Path, data: Path, asked: Sequence[str], metrics: Sequence[str], *, mini: int | None = None
) -> Statistics:
    """The stored outputs, evaluated with the thresholds that the folder shows; `mini` rows of the data, or all."""
    from evenhand.run import evaluate

    options: dict[str, Any] = {} if mini is None else {"mini": mini}
    for metric in metrics:
        if metric in _OPTIONS and (levels := threshold_curve(folder, metric)[0]):
            options[_OPTIONS[metric]] = _grid(levels)
    if task == "keypoint_estimation" and (names := custom_keypoints(folder)):
        options["custom_keypoints"] = names
    entry = task_named(task)
    results = evaluate(entry, folder, data, options=options, by=list(asked), depth=1).results
    if mini is not None and (results.coverage.missing or results.coverage.extra):
        raise RunError(f"{folder} holds the outputs of another mini data set than one of {mini} rows.")
    return Statistics(results.estimates, results.contrasts, entry.margin)


def from_picture_scores(
    task: str, folder: Path, data: Path, asked: Sequence[str], metrics: Sequence[str], *, mini: int | None = None
) -> Statistics:
    """The stored score of every picture, with the subjects and attributes of the table."""
    from evenhand import stats

    entry = task_named(task)
    given: dict[str, Any] = {"metrics": tuple(metrics)} | ({} if mini is None else {"mini": mini})
    options = parse_options(entry.options, given)
    people = entry.load(data, options).truth.people
    columns = {}
    for metric in metrics:
        stored = parse((folder / f"{metric.lower()}_scores.json").read_bytes())
        scores, _ = match_keys(stored, people.images)
        values = [scores.get(image) for image in people.images]
        columns[metric.lower()] = np.array([np.nan if value is None else value for value in values], dtype=np.float64)
    rows = person_rows(people, columns)
    found = stats.analyse(tally(rows, entry.metrics(options), tuple(asked)), by=tuple(asked), depth=1)
    return Statistics(found.estimates, found.contrasts, entry.margin)


def _grid(levels: Sequence[float]) -> tuple[float, ...]:
    """The exact thresholds behind two-decimal keys: a published grid where the keys are its keys."""
    keys = [f"{level:.2f}" for level in levels]
    return next((grid for grid in _GRIDS if list(threshold_keys(grid)) == keys), tuple(levels))
