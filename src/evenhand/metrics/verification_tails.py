"""One draw of people: how often the highest impostors and the genuine comparisons count in it.

A comparison counts as often as both its people were drawn. Of the impostors only the highest are weighed, as many as
turn out to be needed; the others count only in totals, which follow from how often any two people were compared.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Sampled
from evenhand.core.records import Array

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


class WeightedScores(NamedTuple):
    """One draw of a few ascending scores: what lies from each place on, and all of it."""

    scores: Array
    tail: Floats  # (n + 1,)

    @property
    def total(self) -> float:
        return float(self.tail[0])

    def above(self, values: Array | float) -> Floats:
        """The weight of scores above each value."""
        return self.tail[np.searchsorted(self.scores, values, side="right")]

    def reaching(self, values: Array | float) -> Floats:
        """The weight of scores ≥ each value."""
        return self.tail[np.searchsorted(self.scores, values, side="left")]


class GenuineScores:
    """The genuine comparisons of a group: few enough to be weighted one by one."""

    def __init__(self, scores: ScoredCells, inside: Array | None, people: ComparedUnits) -> None:
        self.scores = scores.score if inside is None else scores.score[inside]
        codes = scores.codes if inside is None else scores.codes[inside]
        self.first, self.second = people.first[codes], people.second[codes]

    def weights(self, weight: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n,): how often each counts."""
        return weight[self.first] * weight[self.second]

    def drawn(self, weight: NDArray[np.float32]) -> WeightedScores:
        """The scores of one draw."""
        tail = np.zeros(len(self.scores) + 1)
        np.cumsum(self.weights(weight)[::-1], dtype=np.float64, out=tail[1:])
        return WeightedScores(self.scores, tail[::-1])


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

    def drawn(self, weight: NDArray[np.float32], total: float) -> WeightedTail:
        """The weights of one draw; they are overwritten by the next."""
        values = self._values
        np.take(weight, self.first, out=values, mode="clip")  # unlike `raise`, `clip` writes where it shall
        np.take(weight, self.second, out=self._others, mode="clip")
        values *= self._others
        values[self.length :] = 0.0
        bins = values.reshape(-1, _BIN).sum(axis=1, dtype=np.float32)
        return WeightedTail(self, values, np.concatenate([[0.0], np.cumsum(bins, dtype=np.float64)]), total)


@dataclass(frozen=True)
class WeightedTail:
    """One draw of the highest impostors."""

    tail: ImpostorTail
    values: NDArray[np.float32]  # (length, padded), from the top
    bins: Floats  # (bins + 1,): weight before each bin
    total: float  # of the whole group

    def refused_at(self, rate: float) -> float | None:
        """The highest score that must be refused so that at most `rate` is accepted; None: it lies further down.

        −∞ when all may be accepted. As `SortedScores.refused_at`, to the last bit.
        """
        place = int(np.searchsorted(self.bins / self.total, rate, side="right"))
        if place == len(self.bins):
            return -np.inf if self.tail.is_whole else None
        start = (place - 1) * _BIN
        reached = self.bins[place - 1] + np.cumsum(self.values[start : start + _BIN], dtype=np.float64)
        inside = int(np.searchsorted(reached / self.total, rate, side="right"))
        return float(self.tail.rising[self.tail.length - 1 - (start + inside)])

    def above(self, value: float) -> float | None:
        """The weight of scores above a value; None when more than the tail has to be seen."""
        place = self.places_above(value)
        return None if place == self.tail.length and not self.tail.is_whole else self.first(place)

    def first(self, place: int) -> float:
        """The weight of the first so many scores."""
        bin_ = place // _BIN
        return float(self.bins[bin_]) + float(self.values[bin_ * _BIN : place].sum(dtype=np.float64))

    def places_above(self, value: float) -> int:
        """How many scores of the tail lie above a value, whether they count in this draw or not."""
        return self.tail.length - int(np.searchsorted(self.tail.rising, self.like(value), side="right"))

    def before(self, cuts: Array) -> Floats:
        """The weight of the first so many scores, for ascending distinct numbers of them that begin with 0."""
        inner = cuts[cuts < self.tail.length]
        sums = np.add.reduceat(self.values[: self.tail.length], inner, dtype=np.float64) if len(inner) else np.zeros(0)
        return np.concatenate([[0.0], np.cumsum(sums)])[: len(cuts)]

    def like(self, value: float) -> Array:
        """A value in the precision of the scores: a search with another would convert them all."""
        return np.asarray(value, dtype=self.tail.rising.dtype)
