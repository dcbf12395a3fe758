"""Estimates and contrasts for a published results folder, by the statistics of `evenhand evaluate`.

Stored outputs are evaluated again with the exact thresholds of the run; pictures are not compared a second time,
their stored scores are taken. Numbers that belong to other outputs or data than those that lie there now are found out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.options import threshold_keys
from evenhand.benchmarks.fhibe.output_file import match_keys, read_stored
from evenhand.benchmarks.fhibe.record import person_rows
from evenhand.benchmarks.fhibe.table import BODY_TABLE, FACE_TABLE, MINI_ROWS, table_path
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.compat.fhibe.evaluate.arguments import THRESHOLDED
from evenhand.compat.fhibe.evaluate.provenance import Provenance, outputs_digest, read_provenance
from evenhand.compat.fhibe.reporting.results_folder import (
    StoredScores,
    custom_keypoints,
    scored_rows,
    stored_thresholds,
)
from evenhand.core.errors import EvenhandError, RunError
from evenhand.core.measure import tally
from evenhand.core.options import parse as parse_options
from evenhand.core.results import Contrast, Estimate
from evenhand.files import inputs

Judged = tuple[Sequence[Estimate], Sequence[Contrast]]
PICTURE_TASKS = ("face_encoding", "face_super_resolution")
UNBIASED = "TAR_AT_FAR"
_TOLERANCE = {"VAL": 0.0051}  # VAL is stored rounded to two decimals


def judged_by(metric: str) -> str:
    """The metric that groups are compared by: VAL has no score per row."""
    return UNBIASED if metric == "VAL" else metric


@dataclass(frozen=True)
class ReportStatistics:
    """Estimates and contrasts of every metric that could be judged, and why the others could not."""

    estimates: tuple[Estimate, ...] = ()
    contrasts: Sequence[Contrast] = ()
    margin: float = 0.05
    problems: Mapping[str, str] = field(default_factory=dict)  # metric → why it could not be judged

    def outputs(self, metric: str, output: str | None = None) -> list[Estimate]:
        """One output of a metric in all groups, the first unless it is named."""
        of_metric = [estimate for estimate in self.estimates if estimate.metric == metric]
        wanted = output if output is not None else of_metric[0].output if of_metric else ""
        return [estimate for estimate in of_metric if estimate.output == wanted]

    def of(self, metric: str, attribute: str, output: str | None = None) -> list[Estimate]:
        """The groups of one attribute."""
        return [estimate for estimate in self.outputs(metric, output) if estimate.group.by == (attribute,)]

    def everyone(self, metric: str) -> Estimate | None:
        """The value over all groups."""
        return next((estimate for estimate in self.outputs(metric) if not estimate.group.terms), None)


@dataclass(frozen=True)
class ReportSource:
    """Where a report's numbers come from."""

    task: str
    folder: Path
    data: Path
    mini: bool  # the results of a mini data set

    def provenance(self, metric: str) -> Provenance | None:
        """What a metric's files were computed from, where that is known."""
        return read_provenance(self.folder).get(metric)

    def stale(self, metrics: Sequence[str]) -> dict[str, str]:
        """Metric → why its numbers do not belong to the outputs and data that are there now."""
        known, messages = read_provenance(self.folder), {}
        path = table_path(self.data, FACE_TABLE if self.task in vocabulary.FACE_TASKS else BODY_TABLE)
        outputs, table = outputs_digest(self.folder, self.task), inputs.hash_of(path).hash if path.is_file() else ""
        for metric in metrics:
            entry = known.get(metric)
            if entry is None or not entry.is_comparable:
                continue
            if outputs and entry.outputs != outputs:
                messages[metric] = (
                    f"it was evaluated on {entry.date}, from other model outputs than those in the folder"
                )
            elif table and entry.table != table:
                messages[metric] = (
                    f"it was evaluated on {entry.date}, with another table than the one in the data folder"
                )
        return messages

    def statistics(self, asked: Sequence[str], metrics: Sequence[str], *, regions: bool = True) -> ReportStatistics:
        """The statistics of some metrics; those with the same keypoints and rows in one evaluation."""
        together: dict[tuple[Any, ...], list[str]] = {}
        for metric in metrics:
            together.setdefault(self._subset(metric), []).append(metric)
        estimates: list[Estimate] = []
        contrasts: list[Contrast] = []
        problems: dict[str, str] = {}
        task = task_named(self.task)
        for (keypoints, mini), chosen in together.items():
            options: dict[str, Any] = {"largest_regions": regions}
            options |= {} if mini is None else {"mini": mini}
            options |= {} if keypoints is None else {"custom_keypoints": keypoints}
            judge = self._from_picture_scores if self.task in PICTURE_TASKS else self._from_outputs
            try:
                judged = judge(asked, chosen, options)
            except EvenhandError as error:
                problems |= dict.fromkeys(chosen, str(error))
                continue
            wanted = {*chosen, *([UNBIASED] if "VAL" in chosen else [])}
            estimates += [estimate for estimate in judged[0] if estimate.metric in wanted]
            contrasts += [contrast for contrast in judged[1] if contrast.metric in wanted]
        return ReportStatistics(tuple(estimates), tuple(contrasts), task.margin, problems)

    def thresholds(self, metric: str) -> tuple[float, ...]:
        """The exact thresholds of a metric's run; a published grid where a folder's two-decimal keys are its keys."""
        entry = self.provenance(metric)
        if entry is not None:
            return entry.thresholds
        keys = stored_thresholds(self.folder, metric)
        exact = tuple(float(key) for key in keys)
        grids = (of.grid for of in THRESHOLDED.values())
        return next((grid for grid in grids if list(threshold_keys(grid)) == keys), exact) if keys else ()

    def _from_outputs(self, asked: Sequence[str], metrics: Sequence[str], options: dict[str, Any]) -> Judged:
        from evenhand.run import evaluate

        for metric in metrics:
            if metric in THRESHOLDED and (thresholds := self.thresholds(metric)):
                options[THRESHOLDED[metric].option] = thresholds
        results = evaluate(task_named(self.task), self.folder, self.data, options=options, by=list(asked), depth=1)
        coverage = results.results.coverage
        if self.mini and self.task == "face_verification" and coverage.missing:
            raise RunError(f"the size of this mini data set is not known; it is not {options.get('mini')}")
        return results.results.estimates, results.results.contrasts

    def _from_picture_scores(self, asked: Sequence[str], metrics: Sequence[str], options: dict[str, Any]) -> Judged:
        from evenhand.stats.analysis import analyse
        from evenhand.stats.settings import Settings

        task = task_named(self.task)
        chosen = parse_options(task.options, {**options, "metrics": tuple(metrics)})
        people = task.load(self.data, chosen).truth.people
        columns = {}
        for metric in metrics:
            stored = read_stored(self.folder / f"{metric.lower()}_scores.json")
            scores, _ = match_keys(stored, people.images)
            values = [scores.get(image) for image in people.images]
            columns[metric.lower()] = np.array(
                [np.nan if value is None else value for value in values], dtype=np.float64
            )
        rows = person_rows(people, columns)
        settings = Settings().for_task(task.name, task.margin, task.about.unit)
        analysis = analyse(tally(rows, task.metrics(chosen), tuple(asked)), tuple(asked), 1, settings)
        return analysis.estimates, analysis.contrasts

    def _subset(self, metric: str) -> tuple[tuple[str, ...] | None, int | None]:
        """Which keypoints and how many rows a metric was evaluated with."""
        entry = self.provenance(metric)
        if entry is not None:
            return entry.custom_keypoints, entry.mini
        keypoints = custom_keypoints(self.folder) if self.task == "keypoint_estimation" else ()
        # Verification keeps no scores to count: the usual size is tried, and given up when the outputs are of another.
        return keypoints or None, (scored_rows(self.folder) or MINI_ROWS) if self.mini else None


def disagreement(stored: StoredScores, statistics: ReportStatistics, asked: Sequence[str]) -> str:
    """Why stored numbers do not belong to the outputs that were evaluated now; empty where they agree.

    For folders that another tool wrote, which do not say what their numbers were computed from.
    """
    if stored.metric in statistics.problems or not statistics.outputs(stored.metric):
        return ""
    for attribute in asked:
        for part in stored.parts or (None,):
            output = None if part is None else f"mean:{part}"
            now = {
                estimate.group.terms[0][1]: estimate.number
                for estimate in statistics.of(stored.metric, attribute, output)
            }
            for group, entry in stored.by_group(attribute).items():
                before = (entry if part is None else entry[part])[stored.metric]
                value = now.get(group)
                if before is None or value is None or np.isnan(before):
                    continue
                if abs(before - value) > _TOLERANCE.get(stored.metric, 1e-6):
                    shown = names.display_value(attribute, group)
                    return (
                        f"its numbers are not those of the model outputs in the folder ({shown}: {before:.3f} stored, "
                        f"{value:.3f} from the outputs)"
                    )
    return ""
