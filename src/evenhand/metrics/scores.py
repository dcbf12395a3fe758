"""Scores against a binary truth: both error rates of every group at thresholds that are set once, on everyone.

A score that is not finite is missing. Rows may have weights.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.core.metric import (
    UNIT_SCALE,
    Collected,
    Column,
    Direction,
    Kind,
    Metric,
    OperatingPoint,
    Ratio,
    Scale,
    ratio,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.operating_points import SortedScores
from evenhand.metrics.verification import Separation, separation_of


@dataclass(frozen=True, eq=False)
class ScoresOfRows(Collected):
    """Scores, what is true of them, and how much they count."""

    score: Array  # (rows,)
    true: Array  # (rows,)
    weight: Array  # (rows,)

    def side(self, cell: int) -> tuple[SortedScores, SortedScores]:
        """The weighted scores of a cell that are true, and the others."""
        weight = self.weights_of(cell) * self.weight
        true, false = (SortedScores.weighted(self.score[rows], weight[rows]) for rows in self._ordered)
        return true, false

    @cached_property
    def _ordered(self) -> tuple[Array, Array]:
        order = np.argsort(self.score, kind="stable")
        order = order[np.isfinite(self.score[order])]
        return order[self.true[order]], order[~self.true[order]]


class _OfScores(Metric[ScoresOfRows]):
    """What the metrics of scores share: the columns they read, and a state that keeps the rows."""

    score: str
    truth: str
    weight: str | None
    collects: ClassVar[bool] = True
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.score, self.truth, self.weight) if name is not None)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> ScoresOfRows:
        score, true = np.asarray(rows[self.score], dtype=np.float64), np.asarray(rows[self.truth], dtype=np.bool_)
        weight = np.ones(len(rows)) if self.weight is None else np.asarray(rows[self.weight], dtype=np.float64)
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        return ScoresOfRows(codes, size, None, score, true, weight)

    def missing(self, state: ScoresOfRows) -> Array:
        return state.per_cell(~np.isfinite(state.score)).astype(np.int64)


@dataclass(frozen=True)
class ScoreRates(_OfScores):
    """True and false positive rates of every group at thresholds set on everyone; accepted is a score at or above.

    A threshold is named by what everyone together reaches there: `FPR=0.1` is the lowest threshold at which at most
    10 % of all negatives are accepted, `TPR=0.9` the highest at which at least 90 % of all positives are. The
    threshold is held fixed in intervals. Rows without a score are left out and counted.
    """

    name: str
    fpr: tuple[float, ...] = (0.01, 0.1)
    tpr: tuple[float, ...] = (0.9,)
    thresholds: tuple[float, ...] = ()
    score: str = "score"
    truth: str = "same"
    weight: str | None = None

    @property
    def outputs(self) -> Mapping[str, Direction]:
        outputs: dict[str, Direction] = {}
        for point in self._points:
            outputs |= {f"TPR@{point}": Direction.HIGHER, f"FPR@{point}": Direction.LOWER}
        return outputs

    @property
    def _points(self) -> tuple[str, ...]:
        named = [f"FPR={rate:g}" for rate in self.fpr] + [f"TPR={rate:g}" for rate in self.tpr]
        return (*named, *(f"score={threshold:g}" for threshold in self.thresholds))

    def result(self, part: ScoresOfRows, whole: ScoresOfRows) -> Mapping[str, Column]:
        columns: dict[str, Column] = {}
        for output, sums in self._sums(part, self._thresholds(whole)).items():
            side = "positives" if output.startswith("TPR") else "negatives"
            columns[output] = ratio(sums.top, sums.bottom, f"the group has no {side} with a score")
        return columns

    def ratios(self, state: ScoresOfRows) -> Mapping[str, Ratio]:
        return self._sums(state, self._thresholds(state)) if state.mixture is None else {}

    def points(self, part: ScoresOfRows, whole: ScoresOfRows) -> Mapping[str, Sequence[OperatingPoint | None]]:
        points: dict[str, list[OperatingPoint | None]] = {}
        asked = (*self.fpr, *self.tpr, *self.thresholds)
        for point, threshold, rate in zip(self._points, self._thresholds(whole), asked, strict=True):
            kind = point.partition("=")[0]
            true = whole.true if kind == "TPR" else ~whole.true
            known = true & np.isfinite(whole.score)
            weight = whole.weight[known].sum()
            realised = float(whole.weight[known & (whole.score >= threshold)].sum() / weight) if weight else None
            at = OperatingPoint(f"threshold set on everyone, {point}", rate, realised, float(threshold))
            points |= {f"TPR@{point}": [at] * part.size, f"FPR@{point}": [at] * part.size}
        return points

    def _sums(self, state: ScoresOfRows, thresholds: Sequence[float]) -> dict[str, Ratio]:
        known = np.isfinite(state.score)
        of = [state.per_cell(np.where(known & side, state.weight, 0.0)) for side in (state.true, ~state.true)]
        ratios = {}
        for point, threshold in zip(self._points, thresholds, strict=True):
            accepted = known & (state.score >= threshold)
            for rate, side, bottom in (("TPR", state.true, of[0]), ("FPR", ~state.true, of[1])):
                top = state.per_cell(np.where(accepted & side, state.weight, 0.0))
                ratios[f"{rate}@{point}"] = Ratio(top, bottom, Kind.PROPORTION)
        return ratios

    def _thresholds(self, whole: ScoresOfRows) -> list[float]:
        """The threshold of each point, from all rows; infinite where there is nobody to set it on."""
        thresholds = []
        scores, share = _accepted_share(whole, ~whole.true)
        for rate in self.fpr:  # just above the first score that would accept too many
            many = int(np.searchsorted(share, rate + 1e-12, side="right"))
            first = scores[many] if many < len(scores) else -np.inf
            thresholds.append(float(np.nextafter(first, np.inf)) if len(scores) else np.inf)
        scores, share = _accepted_share(whole, whole.true)
        for rate in self.tpr:
            at = int(np.searchsorted(share, rate - 1e-12))
            thresholds.append(float(scores[at]) if at < len(scores) else np.inf)
        return [*thresholds, *self.thresholds]


@dataclass(frozen=True)
class WeightedSeparation(_OfScores):
    """How well weighted scores tell positives from negatives over all thresholds: AUC, EER, ROC, DET.

    Rows without a score are left out and counted.
    """

    name: str
    weight: str
    score: str = "score"
    truth: str = "same"

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return Separation(self.name).outputs

    def result(self, part: ScoresOfRows, whole: ScoresOfRows) -> Mapping[str, Column]:
        return separation_of(part.size, part.side)


def _accepted_share(state: ScoresOfRows, side: Array) -> tuple[Array, Array]:
    """The different scores of some rows from high to low, and the share of their weight that is at or above each."""
    rows = np.flatnonzero(side & np.isfinite(state.score))
    rows = rows[np.argsort(-state.score[rows], kind="stable")]
    scores, weight = state.score[rows], np.cumsum(state.weight[rows])
    last = np.append(scores[1:] != scores[:-1], True)[: len(scores)]  # of equal scores all are accepted
    return scores[last], weight[last] / max(float(weight[-1]) if len(weight) else 0.0, np.finfo(float).tiny)
