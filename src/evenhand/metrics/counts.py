"""How many events of each sort a group has: the counts that must stand beside rates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.metric import Column, Direction, Linear, Metric, Numbers, Resampling, tally
from evenhand.core.records import Array, Records

_MANY_CELLS = 1 << 20  # cells: of so many, none has billions of rows


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
