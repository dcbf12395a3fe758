"""One draw of people: how often the highest impostors and the genuine comparisons count in it.

A comparison counts as often as both its people were drawn. Of the impostors only the highest are weighed, as many as
turn out to be needed; the others count only in totals, which follow from how often any two people were compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Sampled
from evenhand.core.records import Array
from evenhand.metrics.operating_points import SortedScores

_BIN = 512  # comparisons whose weights are summed before anybody looks closer
_SPARE = 1.1  # so much more than the share of the highest rate is looked at first
_MOST_UNITS = 4096  # a table of every two of them fits
_MOST_TABLES = 16
_EXACT_SINGLE = float(2**24)

Floats = NDArray[np.float64]


class ScoredCells(Protocol):
    """Ascending scores, each with the cell that it is in."""

    @property
    def score(self) -> Array: ...

    @property
    def codes(self) -> Array: ...


@dataclass(frozen=True)
class ComparedUnits:
    """Who is compared in each cell; the second of a comparison of one person is nobody, who always counts once."""

    first: NDArray[np.int32]  # (cells,)
    second: NDArray[np.int32]  # (cells,), `units` for nobody
    units: int

    @classmethod
    def of(cls, cells: Sampled) -> ComparedUnits:
        """The people of cells."""
        first = np.asarray(cells.unit, dtype=np.int32)
        nobody = np.int32(cells.units)
        if cells.unit_b is None:
            return cls(first, np.full(len(first), nobody), cells.units)
        second = np.asarray(cells.unit_b, dtype=np.int32)
        return cls(first, np.where(first == second, nobody, second), cells.units)

    def with_nobody(self, weights: Array) -> NDArray[np.float32]:
        """(draws, units + 1)."""
        made = np.ones((len(weights), self.units + 1), dtype=np.float32)
        made[:, : self.units] = weights
        return made

    def sums(self, values: Floats, tables: Array, count: int, weights: NDArray[np.float32]) -> Floats:
        """(draws, tables): Σ of a value per cell times the weights of both people, for each table of cells.

        `tables` (cells,) says which table each cell is in. Whole values give exact sums.
        """
        if self.units <= _MOST_UNITS and count <= _MOST_TABLES and len(values) * len(weights) > self.units**2:
            return np.column_stack([self._table_sums(values, tables == table, weights) for table in range(count)])
        found = np.empty((len(weights), count))
        for draw, weight in enumerate(weights):
            weighted = values * weight[self.first] * weight[self.second]
            found[draw] = np.bincount(tables, weighted, minlength=count)
        return found

    def _table_sums(self, values: Floats, inside: Array, weights: NDArray[np.float32]) -> Floats:
        width = self.units + 1
        place = self.first[inside].astype(np.int64) * width + self.second[inside]
        table = np.bincount(place, values[inside], minlength=self.units * width).reshape(self.units, width)
        largest = float(table.sum(axis=1).max(initial=0.0)) * float(weights.max(initial=0.0))
        whole = largest < _EXACT_SINGLE and bool((table == np.rint(table)).all())
        kind = np.float32 if whole else np.float64
        inner = weights.astype(kind, copy=False) @ table.T.astype(kind)
        return np.asarray(np.einsum("du,du->d", weights[:, : self.units], inner, dtype=np.float64))


class GenuineScores:
    """The genuine comparisons of a group: few enough to be weighted one by one."""

    def __init__(self, scores: ScoredCells, inside: Array | None, people: ComparedUnits) -> None:
        self.scores = scores.score if inside is None else scores.score[inside]
        codes = scores.codes if inside is None else scores.codes[inside]
        self.first, self.second = people.first[codes], people.second[codes]

    def weights(self, weight: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n,): how often each counts."""
        return weight[self.first] * weight[self.second]

    def drawn(self, weight: NDArray[np.float32]) -> SortedScores:
        """The scores of one draw; those that do not count in it stay, with no weight."""
        tail = np.zeros(len(self.scores) + 1)
        np.cumsum(self.weights(weight)[::-1], dtype=np.float64, out=tail[1:])
        return SortedScores(self.scores, tail[::-1], float(tail[-1]))


class ImpostorTail:
    """The highest impostors of a group, from the top; as many as the draws turn out to need."""

    def __init__(self, scores: ScoredCells, inside: Array | None, people: ComparedUnits, share: float) -> None:
        self._source, self._inside, self._people = scores, inside, people
        self.count = len(scores.score) if inside is None else len(inside)
        self._take(int(_SPARE * min(share, 1.0) * self.count) + 2 * _BIN)

    def _take(self, length: int) -> None:
        self.length = min(length, self.count)
        first = self.count - self.length
        rows = slice(first, None) if self._inside is None else self._inside[first:]
        codes = self._source.codes[rows][::-1]
        self.rising = np.ascontiguousarray(self._source.score[rows])
        nobody = np.full(-self.length % _BIN, self._people.units, dtype=np.int32)
        self.first, self.second = (
            np.concatenate([ends[codes], nobody]).astype(np.intp) for ends in (self._people.first, self._people.second)
        )
        self._values, self._others = np.empty((2, len(self.first)), dtype=np.float32)

    @property
    def is_whole(self) -> bool:
        """Whether there are no others."""
        return self.length == self.count

    def lengthen(self) -> None:
        """Look at more of them."""
        self._take(2 * self.length)

    def weigh(self, weight: NDArray[np.float32]) -> tuple[NDArray[np.float32], Floats]:
        """Weights in one draw, from the top, and what lies before each bin of them; overwritten by the next draw."""
        values = self._values
        np.take(weight, self.first, out=values, mode="clip")  # unlike `raise`, `clip` writes where it shall
        np.take(weight, self.second, out=self._others, mode="clip")
        values *= self._others
        values[self.length :] = 0.0
        bins = values.reshape(-1, _BIN).sum(axis=1, dtype=np.float32)
        return values, np.concatenate([[0.0], np.cumsum(bins, dtype=np.float64)])


class WeightedTail:
    """One draw of the highest impostors (`RankedImpostors`); more of them are weighed when a rate asks for it."""

    def __init__(self, tail: ImpostorTail, weight: NDArray[np.float32], total: float) -> None:
        self.tail, self.total, self._weight = tail, total, weight
        self.values, self.bins = tail.weigh(weight)

    @property
    def length(self) -> int:
        return self.tail.length

    @property
    def is_whole(self) -> bool:
        return self.tail.is_whole

    def lengthen(self) -> None:
        """Weigh more of them."""
        self.tail.lengthen()
        self.values, self.bins = self.tail.weigh(self._weight)

    def refused_at(self, rate: float) -> float:
        """The highest score that must be refused so that at most `rate` is accepted; −∞ when all may be.

        As `SortedScores.refused_at`, to the last bit.
        """
        while (place := int(np.searchsorted(self.bins / self.total, rate, side="right"))) == len(self.bins):
            if self.is_whole:
                return -np.inf
            self.lengthen()
        start = (place - 1) * _BIN
        reached = self.bins[place - 1] + np.cumsum(self.values[start : start + _BIN], dtype=np.float64)
        inside = int(np.searchsorted(reached / self.total, rate, side="right"))
        return float(self.tail.rising[self.length - 1 - (start + inside)])

    def above(self, value: float) -> float:
        """The weight of scores above a value."""
        return self.first(self.places_above(value))

    def reaching(self, value: float) -> float:
        """The weight of scores ≥ a value."""
        return self.first(self._places(value, "left"))

    def next_above(self, value: float) -> float:
        """The smallest score above a value that counts; +∞ when there is none."""
        place = self.places_above(value)
        while place:
            start = max(place - _BIN, 0)
            counted = np.flatnonzero(self.values[start:place])
            if len(counted):
                return float(self.tail.rising[self.length - 1 - (start + int(counted[-1]))])
            place = start
        return np.inf

    def between(self, first: int, last: int) -> tuple[Array, Array, float]:
        """Descending scores that count from one place to another, their weights, and the weight before them."""
        counted = first + np.flatnonzero(self.values[first:last])
        return self.tail.rising[self.length - 1 - counted], self.values[counted], self.first(first)

    def first(self, place: int) -> float:
        """The weight of the first so many scores."""
        bin_ = place // _BIN
        return float(self.bins[bin_]) + float(self.values[bin_ * _BIN : place].sum(dtype=np.float64))

    def places_above(self, value: float) -> int:
        """How many scores lie above a value, whether they count in this draw or not."""
        return self._places(value, "right")

    def before(self, cuts: Array) -> Floats:
        """The weight of the first so many scores, for ascending distinct numbers of them that begin with 0."""
        inner = cuts[cuts < self.length]
        sums = np.add.reduceat(self.values[: self.length], inner, dtype=np.float64) if len(inner) else np.zeros(0)
        return np.concatenate([[0.0], np.cumsum(sums)])[: len(cuts)]

    def _places(self, value: float, side: Literal["left", "right"]) -> int:
        while True:  # a search in another precision than that of the scores would convert them all
            rising = self.tail.rising
            place = self.length - int(np.searchsorted(rising, np.asarray(value, dtype=rising.dtype), side=side))
            if place < self.length or self.is_whole:
                return place
            self.lengthen()
