"""Means and rates of rows, and the counts that must stand beside rates.

A row that could not be measured holds NaN (a mean) or is not in the rate's column. The
metric decides what happens to it: left out and counted, or put in as a value. Rows may have weights.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum
from typing import ClassVar

import numpy as np

from evenhand.core.metric import (
    POSITIVE,
    UNBOUNDED,
    UNIT_SCALE,
    Column,
    Direction,
    Kind,
    Linear,
    Metric,
    Numbers,
    Ratio,
    Resampling,
    Scale,
    count_rows,
    ratio,
    tally,
)
from evenhand.core.records import Array, Records

_MANY_CELLS = 1 << 20  # cells: of so many, none has billions of rows


class Missing(Enum):
    """What becomes of a row that could not be measured."""

    SKIP = "skip"  # left out of the mean, and counted
    FAIL = "fail"  # the mean is undefined


@dataclass(frozen=True, eq=False)
class Sums(Linear):
    """Sum and number (or weight) of the values that there are; number of those that are missing."""

    top: Array  # (cells,) or (cells, values of a row)
    count: Array  # (cells,)
    absent: Array  # (cells,)


class RatioMetric(Metric[Sums]):
    """A metric whose outputs are sums over rows divided by one sum over rows.

    A subclass says what a row's value is (`values`, NaN where it has none) and how much it counts (`counts`); one
    whose rows have several values also says which output is made of which sums (`numerators`).
    """

    kind: ClassVar[Kind] = Kind.MEAN
    direction: Direction
    output: str
    nothing: str
    scale: Scale

    @abstractmethod
    def values(self, rows: Records) -> Array:
        """(rows,) or (rows, values of a row): the value of each row; true or false for rates."""

    def counts(self, rows: Records) -> Array | None:
        """(rows,): how much each row counts, true or false or a weight; None: once."""
        return None

    def numerators(self, state: Sums) -> Mapping[str, Array]:
        """(cells,): the sum of each output that is a ratio."""
        return {self.output: state.top}

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {self.output: self.direction}

    @property
    def scales(self) -> Mapping[str, Scale]:
        return {self.output: self.scale} if self.output_scale is None else super().scales

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Sums:
        values, counts = self.values(rows), self.counts(rows)
        if counts is not None:
            absent = _has_none(values) if values.dtype.kind == "f" else np.zeros(len(rows), dtype=np.bool_)
            counted = np.where(absent, 0, counts) if absent.any() else counts
            plain = np.where(_beside(absent, values), 0.0, values) if absent.any() else values
            factor = _beside(counted, values)
            both = plain & factor if plain.dtype == counted.dtype == np.bool_ else plain * factor
            return Sums(tally(both, cells, size), tally(counted, cells, size), tally(absent, cells, size))
        top = tally(values, cells, size)
        if not np.isnan(top).any():  # then no value is NaN, and that took no pass of its own
            counted = count_rows(rows, cells, size)
            return Sums(top, counted, np.zeros_like(counted))
        absent = _has_none(values)
        top = tally(np.where(_beside(absent, values), 0.0, values), cells, size)
        return Sums(top, tally(~absent, cells, size), tally(absent, cells, size))

    def result(self, part: Sums, whole: Sums) -> Mapping[str, Column]:
        return {name: ratio(top, part.count, self.nothing) for name, top in self.numerators(part).items()}

    def ratios(self, state: Sums) -> Mapping[str, Ratio]:
        count = state.count.astype(np.float64)
        return {name: Ratio(top.astype(np.float64), count, self.kind) for name, top in self.numerators(state).items()}

    def missing(self, state: Sums) -> Array | None:
        return state.absent

    def row_scores(self, rows: Records) -> Array | None:
        values, counts = self.values(rows).astype(np.float64), self.counts(rows)
        return values if counts is None else np.where(counts > 0, values, np.nan)


def defined_mean(values: Array, axis: int | tuple[int, ...] = 0, *, least: int = 1) -> Array:
    """The mean over axes of what is not NaN; NaN where fewer than `least` are.

    >>> defined_mean(np.array([[1.0, np.nan], [3.0, np.nan]])).tolist()
    [2.0, nan]
    """
    is_there = ~np.isnan(values)
    count = is_there.sum(axis=axis)
    return ratio(np.where(is_there, values, 0.0).sum(axis=axis), np.where(count >= least, count, 0), "").values


def _has_none(values: Array) -> Array:
    """(rows,): whether a value of the row is missing."""
    absent = np.isnan(values)
    return absent if values.ndim == 1 else np.asarray(absent.any(axis=1))


def _beside(of_rows: Array, values: Array) -> Array:
    """What is known of each row, in a shape that fits its values."""
    return of_rows if values.ndim == 1 else of_rows[:, np.newaxis]


@dataclass(frozen=True)
class Mean(RatioMetric):
    """The mean of a column; rows without a value are left out and counted, unless the policy says otherwise.

    `missing_policy` is a policy, or the number to put in the place of a missing value. `weight` names a column of
    weights; `absolute` takes the values without their sign.
    """

    name: str
    column: str
    direction: Direction = Direction.HIGHER
    missing_policy: Missing | float = Missing.SKIP
    output: str = "mean"
    nothing: str = "no row has a value"
    scale: Scale = UNBOUNDED  # that the values can't leave
    weight: str | None = None
    absolute: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,) if self.weight is None else (self.column, self.weight)

    def values(self, rows: Records) -> Array:
        values = np.asarray(rows[self.column], dtype=np.float64)
        if not isinstance(self.missing_policy, Missing):  # counted as measured
            values = np.where(np.isnan(values), self.missing_policy, values)
        return np.abs(values) if self.absolute else values

    def counts(self, rows: Records) -> Array | None:
        return None if self.weight is None else np.asarray(rows[self.weight], dtype=np.float64)

    def result(self, part: Sums, whole: Sums) -> Mapping[str, Column]:
        if self.missing_policy is not Missing.FAIL:
            return super().result(part, whole)
        count = np.where(part.absent > 0, 0, part.count)
        reasons = [f"{int(absent)} rows could not be measured" if absent else self.nothing for absent in part.absent]
        return {self.output: ratio(part.top, count, reasons)}

    def ratios(self, state: Sums) -> Mapping[str, Ratio]:
        return {} if self.missing_policy is Missing.FAIL else super().ratios(state)

    def tallied(self, state: Sums) -> Array | None:
        return state.count + state.absent if self.weight is None else None


@dataclass(frozen=True)
class Rate(RatioMetric):
    """The share of rows of which a column is true, or equal to a value.

    With `among`, only rows of which that column is true are counted at all. `weight` names a column of weights.
    """

    kind: ClassVar[Kind] = Kind.PROPORTION
    name: str
    column: str
    equals: int | bool = True
    direction: Direction = Direction.HIGHER
    among: str | None = None
    output: str = "rate"
    nothing: str = "no row counts"
    weight: str | None = None
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(name for name in (self.column, self.among, self.weight) if name is not None)

    def values(self, rows: Records) -> Array:
        return np.asarray(rows[self.column] == self.equals)

    def counts(self, rows: Records) -> Array | None:
        among = None if self.among is None else np.asarray(rows[self.among], dtype=np.bool_)
        if self.weight is None:
            return among
        weight = np.asarray(rows[self.weight], dtype=np.float64)
        return weight if among is None else np.where(among, weight, 0.0)

    def ratios(self, state: Sums) -> Mapping[str, Ratio]:
        own_rows = self.among is not None and self.weight is None
        return {name: replace(one, own_rows=own_rows) for name, one in super().ratios(state).items()}

    def missing(self, state: Sums) -> Array | None:
        return None

    def tallied(self, state: Sums) -> Array | None:
        return state.count if self.among is None and self.weight is None else None


@dataclass(frozen=True)
class RootMeanSquareError(Mean):
    """The square root of the mean of the squares of a column, such as the root mean squared error."""

    output: str = "rms"
    direction: Direction = Direction.LOWER
    scale: Scale = POSITIVE

    def values(self, rows: Records) -> Array:
        return np.square(super().values(rows))

    def result(self, part: Sums, whole: Sums) -> Mapping[str, Column]:
        mean = ratio(part.top, part.count, self.nothing)
        return {self.output: Numbers(np.sqrt(mean.values), self.nothing)}

    def ratios(self, state: Sums) -> Mapping[str, Ratio]:
        return {}


@dataclass(frozen=True, eq=False)
class Events(Linear):
    """The number of rows of each sort."""

    events: Array  # (cells, sorts)


@dataclass(frozen=True)
class Counts(Metric[Events]):
    """How many rows there are of each sort, named by a column and the value it must have.

    `sorts` are (output, column, value); rows of which the column `unless` is true are not counted.
    """

    name: str
    sorts: tuple[tuple[str, str, int | bool], ...]
    unless: str | None = None
    resampling: ClassVar[Resampling] = Resampling.NONE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {output: Direction.NEITHER for output, _, _ in self.sorts}

    @property
    def columns(self) -> tuple[str, ...]:
        named = [column for _, column, _ in self.sorts] + ([] if self.unless is None else [self.unless])
        return tuple(dict.fromkeys(named))

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Events:
        counted = None if self.unless is None else ~np.asarray(rows[self.unless], dtype=np.bool_)
        events = np.empty((size, len(self.sorts)), dtype=np.int32 if size > _MANY_CELLS else np.int64)
        for place, (_, column, value) in enumerate(self.sorts):
            inside = np.asarray(rows[column] == value)
            inside = inside if counted is None else inside & counted
            events[:, place] = np.count_nonzero(inside) if size == 1 else tally(inside, cells, size)
        return Events(events)

    def result(self, part: Events, whole: Events) -> Mapping[str, Column]:
        return {
            output: Numbers(part.events[:, position].astype(np.float64))
            for position, (output, _, _) in enumerate(self.sorts)
        }
