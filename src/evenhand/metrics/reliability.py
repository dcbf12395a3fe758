"""How far stated confidences can be believed: reliability by bins, and the expected calibration error."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.metric import (
    UNIT_SCALE,
    Column,
    Direction,
    Grid,
    Kind,
    Linear,
    Metric,
    Ratio,
    Scale,
    Undefined,
    ratio,
    tally,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import LazyCurves

NOTHING = "no answer states a confidence"


@dataclass(frozen=True, eq=False)
class Stated(Linear):
    """Answers in every bin of confidence: how many, how confident together, how many right."""

    count: Array  # (cells, bins)
    confidence: Array  # (cells, bins)
    right: Array  # (cells, bins)
    absent: Array  # (cells,) answers without a confidence


@dataclass(frozen=True)
class Reliability(Metric[Stated]):
    """Stated confidence against the share of right answers, in equally wide bins.

    The expected calibration error is the mean distance between the two, weighted by answers.
    Answers without a confidence (not finite) are left out and counted. `weight` names a column of weights.
    """

    name: str
    column: str = "confidence"
    right: str = "right"
    bins: int = 10
    weight: str | None = None
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {
            "expected_calibration_error": Direction.LOWER,
            "mean_confidence": Direction.NEITHER,
            "reliability": Direction.NEITHER,
        }

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.right, self.weight) if name is not None)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Stated:
        stated = np.asarray(rows[self.column], dtype=np.float64)
        absent = ~np.isfinite(stated)
        known = np.where(absent, 0.0, stated)
        right = np.asarray(rows[self.right], dtype=np.bool_) & ~absent
        at = np.minimum((known * self.bins).astype(np.intp), self.bins - 1)
        place = at if cells is None else np.asarray(cells, dtype=np.intp) * self.bins + at
        wide = size * self.bins

        weight = None if self.weight is None else np.asarray(rows[self.weight], dtype=np.float64)

        def binned(values: Array) -> Array:
            return tally(values if weight is None else values * weight, place, wide).reshape(size, self.bins)

        return Stated(binned(~absent), binned(known), binned(right), tally(absent, cells, size))

    def result(self, part: Stated, whole: Stated) -> Mapping[str, Column]:
        answers = part.count.sum(axis=1)
        apart = np.abs(part.confidence - part.right).sum(axis=1)  # counts × distance of means, bin by bin
        return {
            "expected_calibration_error": ratio(apart, answers, NOTHING),
            "mean_confidence": ratio(part.confidence.sum(axis=1), answers, NOTHING),
            "reliability": LazyCurves(len(part.count), lambda cell: self._table(part, cell)),
        }

    def _table(self, state: Stated, cell: int) -> Grid | Undefined:
        count = np.asarray(state.count[cell], dtype=np.float64)
        if not count.any():
            return Undefined(NOTHING)
        filled, bins = count > 0, self.bins
        names = tuple(f"{low / bins:g}–{(low + 1) / bins:g}" for low in range(bins) if filled[low])
        means = np.stack([state.confidence[cell], state.right[cell]]) / np.where(filled, count, 1.0)
        values = np.column_stack([count, means[0], means[1]])[filled]
        return Grid(names, ("answers", "stated", "right"), values, "confidence", "")

    def ratios(self, state: Stated) -> Mapping[str, Ratio]:
        top, bottom = state.confidence.sum(axis=1), state.count.sum(axis=1).astype(np.float64)
        return {"mean_confidence": Ratio(top.astype(np.float64), bottom, Kind.MEAN)}

    def missing(self, state: Stated) -> Array:
        return state.absent

    def tallied(self, state: Stated) -> Array | None:
        return np.asarray(state.count.sum(axis=1) + state.absent) if self.weight is None else None
