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
from evenhand.core.records import Array, blocks
from evenhand.metrics.operating_points import SortedScores

_BIN = 512  # comparisons whose weights are summed before anybody looks closer
_AT_ONCE = 4 * _BIN  # comparisons that are weighed in all draws at once
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

    def sums(self, values: Floats, tables: Array | None, count: int, weights: NDArray[np.float32]) -> Floats:
        """(draws, tables): Σ of a value per cell times the weights of both people, for each table of cells.

        `tables` (cells,) says which table each cell is in; None when there is one. Whole values give exact sums.
        """
        if self.units <= _MOST_UNITS and count <= _MOST_TABLES and len(values) * len(weights) > self.units**2:
            inside = [None] if tables is None else [np.flatnonzero(tables == table) for table in range(count)]
            return np.column_stack([self._table_sums(values, cells, weights) for cells in inside])
        tables = np.zeros(len(values), dtype=np.int64) if tables is None else tables
        sums = np.empty((len(weights), count))
        for draw, weight in enumerate(weights):
            weighted = values * weight[self.first] * weight[self.second]
            sums[draw] = np.bincount(tables, weighted, minlength=count)
        return sums

    def _table_sums(self, values: Floats, inside: Array | None, weights: NDArray[np.float32]) -> Floats:
        """As a product of matrices, of the people that these cells compare."""
        first, second = (ends if inside is None else ends[inside] for ends in (self.first, self.second))
        values = values if inside is None else values[inside]
        (rows, first), (columns, second) = (_renumbered(ends, self.units + 1) for ends in (first, second))
        place = first.astype(np.intp)
        place *= len(columns)
        place += second
        table = np.bincount(place, values, minlength=len(rows) * len(columns)).reshape(len(rows), len(columns))
        largest = float(table.sum(axis=1).max(initial=0.0)) * float(weights.max(initial=0.0))
        is_whole = largest < _EXACT_SINGLE and bool((table == np.rint(table)).all())
        kind = np.float32 if is_whole else np.float64
        inner = weights[:, columns].astype(kind, copy=False) @ table.T.astype(kind, copy=False)
        return np.asarray(np.einsum("du,du->d", weights[:, rows], inner, dtype=np.float64))


def _renumbered(people: NDArray[np.int32], count: int) -> tuple[Array, NDArray[np.int32]]:
    """The people that occur, and where each stands among them."""
    present = np.zeros(count, dtype=np.bool_)
    present[people] = True
    if present[:-1].all():
        return np.arange(count), people
    return np.flatnonzero(present), (np.cumsum(present, dtype=np.int32) - 1)[people]


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
        self.length = min(-(-length // _BIN) * _BIN, self.count)  # bins stay what they are when there are more
        first = self.count - self.length
        rows = slice(first, None) if self._inside is None else self._inside[first:]
        codes = self._source.codes[rows][::-1]
        self.rising = np.ascontiguousarray(self._source.score[rows])
        nobody = np.full(-self.length % _BIN, self._people.units, dtype=np.int32)
        self.first, self.second = (
            np.concatenate([ends[codes], nobody]).astype(np.intp) for ends in (self._people.first, self._people.second)
        )

    def lengthen(self) -> None:
        """Look at more of them."""
        self._take(2 * self.length)

    def cumulated(self, weights: NDArray[np.float32]) -> Floats:
        """(draws, bins + 1): the weight before each bin of comparisons, and of all, from the top.

        All draws are weighed together: the weights of a unit in every draw lie side by side. Small whole weights are
        multiplied in bytes.
        """
        is_small = float(weights.max(initial=0.0)) ** 2 < 256 and bool((weights == np.rint(weights)).all())
        table = np.ascontiguousarray(weights.T, dtype=np.uint8 if is_small else np.float32)
        sums = np.zeros((len(self.first) // _BIN + 1, len(weights)))
        left, right = (np.empty((_AT_ONCE, len(weights)), dtype=table.dtype) for _ in range(2))
        for part in blocks(len(self.first), _AT_ONCE):
            count = part.stop - part.start
            np.take(table, self.first[part], axis=0, out=left[:count], mode="clip")  # `raise` would copy once more
            np.take(table, self.second[part], axis=0, out=right[:count], mode="clip")
            left[:count] *= right[:count]
            bins = left[:count].reshape(-1, _BIN, len(weights))
            place = 1 + part.start // _BIN
            sums[place : place + len(bins)] = bins.sum(axis=1, dtype=np.uint32 if is_small else np.float64)
        sums[-1] -= len(self.first) - self.length  # nobody with nobody
        return np.ascontiguousarray(np.cumsum(sums, axis=0).T)


class WeightedTail:
    """One draw of the highest impostors (`RankedImpostors`); more of them are weighed when a rate asks for it.

    `bins` is the draw's row of `ImpostorTail.cumulated`; inside a bin, comparisons are weighed as they are asked for.
    """

    def __init__(
        self, tail: ImpostorTail, weight: NDArray[np.float32], total: float, bins: Floats | None = None
    ) -> None:
        self.tail, self.total, self._weight = tail, total, weight
        self._weigh(tail.cumulated(weight[None])[0] if bins is None else bins)

    def _weigh(self, bins: Floats) -> None:
        self.bins, self._shares = bins, bins / self.total if self.total else bins
        self.length = min((len(bins) - 1) * _BIN, self.tail.count)

    @property
    def is_whole(self) -> bool:
        """Whether there are no others."""
        return self.length == self.tail.count

    def lengthen(self) -> None:
        """Weigh more of them."""
        if self.length == self.tail.length:
            self.tail.lengthen()
        self._weigh(self.tail.cumulated(self._weight[None])[0])

    def values(self, first: int, last: int) -> NDArray[np.float32]:
        """How often the comparisons from one place to another count."""
        return self._weight[self.tail.first[first:last]] * self._weight[self.tail.second[first:last]]

    def refused_at(self, rate: float) -> float:
        """The highest score that must be refused so that at most `rate` is accepted; −∞ when all may be.

        As `SortedScores.refused_at`, to the last bit.
        """
        while (place := int(np.searchsorted(self._shares, rate, side="right"))) == len(self.bins):
            if self.is_whole:
                return -np.inf
            self.lengthen()
        start = (place - 1) * _BIN
        own = self.values(start, min(start + _BIN, self.length))
        reached = self.bins[place - 1] + np.cumsum(own, dtype=np.float64)
        inside = int(np.searchsorted(reached / self.total, rate, side="right"))
        return self._score(start + inside)

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
            counted = np.flatnonzero(self.values(start, place))
            if len(counted):
                return self._score(start + int(counted[-1]))
            place = start
        return np.inf

    def between(self, first: int, last: int) -> tuple[Array, Array, float]:
        """Descending scores that count from one place to another, their weights, and the weight before them."""
        values = self.values(first, last)
        counted = np.flatnonzero(values)
        return self.tail.rising[self.tail.length - 1 - (first + counted)], values[counted], self.first(first)

    def first(self, place: int) -> float:
        """The weight of the first so many scores."""
        bin_ = place // _BIN
        return float(self.bins[bin_]) + float(self.values(bin_ * _BIN, place).sum(dtype=np.float64))

    def places_above(self, value: float) -> int:
        """How many scores lie above a value, whether they count in this draw or not."""
        return self._places(value, "right")

    def _score(self, place: int) -> float:
        return float(self.tail.rising[self.tail.length - 1 - place])

    def _places(self, value: float, side: Literal["left", "right"]) -> int:
        while True:  # a search in another precision than that of the scores would convert them all
            rising = self.tail.rising
            place = len(rising) - int(np.searchsorted(rising, np.asarray(value, dtype=rising.dtype), side=side))
            if place < self.length or self.is_whole:
                return place
            self.lengthen()
