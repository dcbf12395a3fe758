"""Means and rates of rows.

A row that could not be measured holds NaN (a mean) or is not in the rate's column. What
becomes of it is said by the metric: left out and counted, or put in as a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

import numpy as np

from evenhand.core.metric import (
    UNBOUNDED,
    UNIT_SCALE,
    Column,
    Direction,
    Kind,
    Linear,
    Metric,
    Ratio,
    Scale,
    count_rows,
    ratio,
    tally,
)
from evenhand.core.records import Array, Records


class Missing(Enum):
    """What becomes of a row that could not be measured."""

    SKIP = "skip"  # left out of the mean, and counted
    FAIL = "fail"  # the mean is undefined


@dataclass(frozen=True, eq=False)
class Sums(Linear):
    """Sum and number of the values that there are; number of those that are missing."""

    top: Array  # (cells,)
    count: Array  # (cells,)
    absent: Array  # (cells,)


@dataclass(frozen=True)
class Mean(Metric[Sums]):
    """The mean of a column; rows without a value are left out and counted, unless the policy says otherwise.

    `missing` is a policy, or the number to put in the place of a missing value.
    """

    name: str
    column: str
    direction: Direction = Direction.HIGHER
    missing_policy: Missing | float = Missing.SKIP
    output: str = "mean"
    nothing: str = "no row has a value"
    scale: Scale = UNBOUNDED  # that the values can't leave

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {self.output: self.direction}

    @property
    def scales(self) -> Mapping[str, Scale]:
        return {self.output: self.scale}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Sums:
        values = np.asarray(rows[self.column], dtype=np.float64)
        top = tally(values, cells, size)
        if not np.isnan(top).any():  # then no value is NaN, and that took no pass of its own
            counted = count_rows(rows, cells, size)
            return Sums(top, counted, np.zeros_like(counted))
        absent = np.isnan(values)
        if isinstance(self.missing_policy, Missing):
            filled, count = np.where(absent, 0.0, values), tally(~absent, cells, size)
        else:
            filled, count = np.where(absent, self.missing_policy, values), count_rows(rows, cells, size)
        return Sums(tally(filled, cells, size), count, tally(absent, cells, size))

    def result(self, part: Sums, whole: Sums) -> Mapping[str, Column]:
        if self.missing_policy is not Missing.FAIL:
            return {self.output: ratio(part.top, part.count, self.nothing)}
        count = np.where(part.absent > 0, 0, part.count)
        reasons = [f"{int(absent)} rows could not be measured" if absent else self.nothing for absent in part.absent]
        return {self.output: ratio(part.top, count, reasons)}

    def ratios(self, state: Sums) -> Mapping[str, Ratio]:
        if self.missing_policy is Missing.FAIL:
            return {}
        return {self.output: Ratio(state.top.astype(np.float64), state.count.astype(np.float64), Kind.MEAN)}

    def missing(self, state: Sums) -> Array | None:
        # A value put in the place of a missing one is counted as measured.
        return state.absent if isinstance(self.missing_policy, Missing) else None

    def tallied(self, state: Sums) -> Array:
        return state.count + state.absent if isinstance(self.missing_policy, Missing) else state.count

    def row_scores(self, rows: Records) -> Array:
        values = np.asarray(rows[self.column], dtype=np.float64)
        return (
            values
            if isinstance(self.missing_policy, Missing)
            else np.where(np.isnan(values), self.missing_policy, values)
        )


@dataclass(frozen=True, eq=False)
class Share(Linear):
    """How many rows, and how many of them did."""

    count: Array  # (cells,)
    of: Array  # (cells,)


@dataclass(frozen=True)
class Rate(Metric[Share]):
    """The share of rows of which a column is true, or equal to a value.

    With `among`, only rows of which that column is true are counted at all.
    """

    name: str
    column: str
    equals: int | bool = True
    direction: Direction = Direction.HIGHER
    among: str | None = None
    output: str = "rate"
    nothing: str = "no row counts"

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {self.output: self.direction}

    @property
    def scales(self) -> Mapping[str, Scale]:
        return dict.fromkeys(self.outputs, UNIT_SCALE)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,) if self.among is None else (self.column, self.among)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Share:
        hits = np.asarray(rows[self.column] == self.equals)
        if self.among is None:
            return Share(tally(hits, cells, size), count_rows(rows, cells, size))
        counted = np.asarray(rows[self.among], dtype=np.bool_)
        return Share(tally(hits & counted, cells, size), tally(counted, cells, size))

    def result(self, part: Share, whole: Share) -> Mapping[str, Column]:
        return {self.output: ratio(part.count, part.of, self.nothing)}

    def ratios(self, state: Share) -> Mapping[str, Ratio]:
        top, bottom = state.count.astype(np.float64), state.of.astype(np.float64)
        return {self.output: Ratio(top, bottom, Kind.PROPORTION)}

    def tallied(self, state: Share) -> Array | None:
        return state.of if self.among is None else None

    def row_scores(self, rows: Records) -> Array:
        hits = np.asarray(rows[self.column] == self.equals, dtype=np.float64)
        return hits if self.among is None else np.where(np.asarray(rows[self.among], dtype=np.bool_), hits, np.nan)
