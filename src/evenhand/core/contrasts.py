"""Pairs of groups by the thousand: kept as columns, made into objects when they are looked at.

All intersections of four attributes give hundreds of thousands of pairs. What is computed for all pairs at once
stays in arrays; a reader who asks for a pair gets a `Contrast`, and one who asks for all gets them one by one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from typing import Protocol, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from evenhand.core.records import Group
from evenhand.core.results import Contrast, Verdict

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Family:
    """The listed pairs of one family of tests, a column for each fact; "not a number" is a fact that is not there."""

    metric: str
    output: str
    name: str
    size: int  # how many pairs were tested and adjusted together, listed or not
    correction: str
    margin: float | None
    groups: Sequence[Group]
    first: Integers  # positions in `groups`
    second: Integers
    difference: Floats
    low: Floats
    high: Floats
    p: Floats
    adjusted: Floats
    detectable: Floats
    verdict: Sequence[Verdict | None]
    worse: Integers  # positions in `groups`; −1: none
    test: Sequence[str]
    interval: Sequence[str]
    shared_rows: Integers
    notes: Sequence[tuple[str, ...]]
    effects: Mapping[str, Floats] = field(default_factory=dict)

    @property
    def order(self) -> int:
        """How many attributes the groups of the family have."""
        return len(self.groups[int(self.first[0])].terms) if len(self) else 0

    def __len__(self) -> int:
        return len(self.first)

    def __iter__(self) -> Iterator[Contrast]:
        return self.between(0, len(self))

    def between(self, start: int, stop: int) -> Iterator[Contrast]:
        """Some of the pairs, as objects."""
        part = slice(start, stop)
        numbers = [
            _numbers(column[part])
            for column in (self.difference, self.low, self.high, self.p, self.adjusted, self.detectable)
        ]
        effects = {name: _numbers(column[part]) for name, column in self.effects.items()}
        places = [column[part].tolist() for column in (self.first, self.second, self.worse, self.shared_rows)]
        for at, (first, second, worse, shared) in enumerate(zip(*places, strict=True)):
            difference, low, high, p, adjusted, detectable = (column[at] for column in numbers)
            yield Contrast(
                self.metric,
                self.output,
                self.groups[first],
                self.groups[second],
                difference,
                low,
                high,
                p,
                adjusted,
                self.verdict[start + at],
                None if worse < 0 else self.groups[worse],
                self.test[start + at],
                self.interval[start + at],
                self.name,
                self.size,
                self.correction,
                {name: value for name, column in effects.items() if (value := column[at]) is not None},
                detectable,
                self.margin,
                shared,
                self.notes[start + at],
            )


@dataclass(frozen=True, eq=False, repr=False)
class Contrasts(Sequence[Contrast]):
    """The pairs of all families, one after the other; reads like a tuple of `Contrast`."""

    families: tuple[Family, ...] = ()

    def __len__(self) -> int:
        return sum(len(family) for family in self.families)

    def __iter__(self) -> Iterator[Contrast]:
        for family in self.families:
            yield from family

    @overload
    def __getitem__(self, at: int) -> Contrast: ...

    @overload
    def __getitem__(self, at: slice) -> tuple[Contrast, ...]: ...

    def __getitem__(self, at: int | slice) -> Contrast | tuple[Contrast, ...]:
        if isinstance(at, slice):
            return tuple(self[place] for place in range(*at.indices(len(self))))
        place = at + len(self) if at < 0 else at
        for family in self.families:
            if 0 <= place < len(family):
                return next(family.between(place, place + 1))
            place -= len(family)
        raise IndexError(f"pair {at} of {len(self)}")

    def of_output(self, metric: str, output: str, order: int | None = None) -> Contrasts:
        """The families of one output, of all orders of intersections or of one."""
        families = (family for family in self.families if (family.metric, family.output) == (metric, output))
        return Contrasts(tuple(family for family in families if order in (None, family.order)))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Contrasts | tuple | list):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash((len(self), *(family.name for family in self.families)))

    def __repr__(self) -> str:
        return f"<{len(self)} pairs of groups in {len(self.families)} families>"


@runtime_checkable
class SelectableContrasts(Protocol):
    """Pairs of which those of one output can be had without looking at the others."""

    def of_output(self, metric: str, output: str, order: int | None = None) -> Sequence[Contrast]: ...


def contrasts_of(
    contrasts: Sequence[Contrast], metric: str, output: str, order: int | None = None
) -> Sequence[Contrast]:
    """The pairs of one output, of all orders of intersections or of one."""
    if isinstance(contrasts, SelectableContrasts):
        return contrasts.of_output(metric, output, order)
    return tuple(
        one
        for one in contrasts
        if (one.metric, one.output) == (metric, output) and order in (None, len(one.first.terms))
    )


def verdict_counts(contrasts: Sequence[Contrast]) -> Counter[Verdict | None]:
    """How many of the pairs have each verdict."""
    if isinstance(contrasts, Contrasts):
        return Counter(verdict for family in contrasts.families for verdict in family.verdict)
    return Counter(one.verdict for one in contrasts)


def _numbers(column: Floats) -> list[float | None]:
    return [value if isfinite(value) else None for value in column.tolist()]
