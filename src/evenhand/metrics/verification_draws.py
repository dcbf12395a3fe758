"""Rates of comparisons when people are drawn again, without weighing every comparison in every draw.

A comparison counts as often as both its people were drawn. Thresholds lie among the highest impostors: at a
false match rate of α, a little more than the share α of them decides, and the others count only in totals, which
follow from how often any two people were compared. Equal errors lie in that tail too.

The area under the ROC looks at everything, so it is drawn to first order: how much its value moves with the
weight of each comparison, while the ranks of all others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Sampled
from evenhand.core.records import Array

_BIN = 512  # comparisons whose weights are summed before anybody looks closer
_SPARE = 1.1  # so much more than the share of the highest rate is looked at first
_MOST_UNITS = 4096  # a table of every two of them fits
_MOST_TABLES = 16
_FEW_ERRORS = 0.03  # the equal error rate up to which nothing has to be looked at twice
_EXACT_SINGLE = float(2**24)

Floats = NDArray[np.float64]
SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class SortedScores(Protocol):
    """Ascending scores, each with the cell that it is in."""

    @property
    def score(self) -> Array: ...

    @property
    def codes(self) -> Array: ...


@dataclass(frozen=True)
class Comparers:
    """Who is compared in each cell; the second of a comparison of one person is nobody, who always counts once."""

    first: NDArray[np.int32]  # (cells,)
    second: NDArray[np.int32]  # (cells,), `units` for nobody
    units: int

    @classmethod
    def of(cls, cells: Sampled) -> Comparers:
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


class Group(NamedTuple):
    """The comparisons of a group, positions among all sorted scores; None when it has all of them."""

    genuine: Array | None
    impostor: Array | None


def groups_of(genuine: SortedScores, impostor: SortedScores, cells: Sampled) -> list[Group]:
    """The comparisons of every group."""
    kinds = np.asarray(cells.pattern)
    kept = np.asarray(cells.kept, dtype=np.bool_)
    used = np.unique(kinds)
    sides = [kinds[side.codes] for side in (genuine, impostor)]
    found = []
    for keeps in kept:
        if keeps[used].all():
            found.append(Group(None, None))
        else:
            found.append(Group(*(np.flatnonzero(keeps[side]) for side in sides)))
    return found


class Weighted(NamedTuple):
    """One draw of a few ascending scores: what lies from each place on, and all of it."""

    scores: Array
    tail: Floats  # (n + 1,)

    @property
    def total(self) -> float:
        return float(self.tail[0])

    def above(self, values: Array) -> Floats:
        """The weight of scores above each value."""
        return self.tail[np.searchsorted(self.scores, values, side="right")]


class Few:
    """The genuine comparisons of a group: few enough to be weighted one by one."""

    def __init__(self, scores: SortedScores, inside: Array | None, people: Comparers) -> None:
        self.scores = scores.score if inside is None else scores.score[inside]
        codes = scores.codes if inside is None else scores.codes[inside]
        self.first, self.second = people.first[codes], people.second[codes]

    def weights(self, weight: NDArray[np.float32]) -> NDArray[np.float32]:
        """(n,): how often each counts."""
        return weight[self.first] * weight[self.second]

    def drawn(self, weight: NDArray[np.float32]) -> Weighted:
        """The scores of one draw."""
        tail = np.zeros(len(self.scores) + 1)
        np.cumsum(self.weights(weight)[::-1], dtype=np.float64, out=tail[1:])
        return Weighted(self.scores, tail[::-1])


class Tail:
    """The highest impostors of a group, from the top; as many as the draws turn out to need."""

    def __init__(self, scores: SortedScores, inside: Array | None, people: Comparers, share: float) -> None:
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

    def drawn(self, weight: NDArray[np.float32], total: float) -> DrawnTail:
        """The weights of one draw; they are overwritten by the next."""
        values = self._values
        np.take(weight, self.first, out=values, mode="clip")  # unlike `raise`, `clip` writes where it shall
        np.take(weight, self.second, out=self._others, mode="clip")
        values *= self._others
        values[self.length :] = 0.0
        bins = values.reshape(-1, _BIN).sum(axis=1, dtype=np.float32)
        return DrawnTail(self, values, np.concatenate([[0.0], np.cumsum(bins, dtype=np.float64)]), total)


@dataclass(frozen=True)
class DrawnTail:
    """One draw of the highest impostors."""

    tail: Tail
    values: NDArray[np.float32]  # (length, padded), from the top
    bins: Floats  # (bins + 1,): weight before each bin
    total: float  # of the whole group

    def refused_at(self, rate: float) -> float | None:
        """The highest score that must be refused so that at most `rate` is accepted; None: it lies further down.

        −∞ when all may be accepted. As `Side.refused_at`, to the last bit.
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
        place = self.tail.length - int(np.searchsorted(self.tail.rising, self._like(value), side="right"))
        if place == self.tail.length and not self.tail.is_whole:
            return None
        bin_ = place // _BIN
        return float(self.bins[bin_]) + float(self.values[bin_ * _BIN : place].sum(dtype=np.float64))

    def before(self, cuts: Array) -> Floats:
        """The weight of the first so many scores, for ascending distinct numbers of them that begin with 0."""
        inner = cuts[cuts < self.tail.length]
        sums = np.add.reduceat(self.values[: self.tail.length], inner, dtype=np.float64) if len(inner) else np.zeros(0)
        return np.concatenate([[0.0], np.cumsum(sums)])[: len(cuts)]

    def _like(self, value: float) -> Array:
        return np.asarray(value, dtype=self.tail.rising.dtype)


def redrawn_rates(
    genuine: SortedScores, impostor: SortedScores, cells: Sampled, weights: Iterable[Array], rates: Sequence[float]
) -> tuple[Floats, Floats, Floats]:
    """(draws, groups, rates): TAR at each group's own threshold; FMR and FNMR at the threshold set on everyone.

    By the convention `exact`, in every draw and group. Not a number where a group has no such comparisons.
    """
    people = Comparers.of(cells)
    groups = groups_of(genuine, impostor, cells)
    everyone = next((place for place, group in enumerate(groups) if group.impostor is None), len(groups))
    if everyone == len(groups):
        groups = [*groups, Group(None, None)]
    top = max(rates, default=0.0)
    few = [Few(genuine, group.genuine, people) for group in groups]
    tails = [Tail(impostor, group.impostor, people, top) for group in groups]
    parts = []
    for many, totals in _blocks(impostor, cells, people, weights):
        found = np.full((3, len(many), len(groups), len(rates)), np.nan)
        for draw, weight in enumerate(many):
            drawn = [
                _Drawn(own, tail, weight, total) for own, tail, total in zip(few, tails, totals[draw], strict=True)
            ]
            shared = drawn[everyone].refused(rates)
            for place, one in enumerate(drawn):
                found[:, draw, place] = one.rates(rates, shared)
        parts.append(found)
    listed = len(cells.kept)
    made = np.concatenate(parts, axis=1) if parts else np.zeros((3, 0, len(groups), len(rates)))
    return made[0, :, :listed], made[1, :, :listed], made[2, :, :listed]


class _Drawn:
    """One draw of one group: its genuine comparisons, and as many impostors as are asked for."""

    def __init__(self, few: Few, tail: Tail, weight: NDArray[np.float32], total: float) -> None:
        self.genuine = few.drawn(weight)
        self._tail, self._weight, self.total = tail, weight, float(total)
        self._drawn = tail.drawn(weight, self.total) if total > 0 else None

    def refused(self, rates: Sequence[float]) -> Floats:
        """The highest score that must be refused at each rate; not a number without impostors."""
        return np.array([self._refused(rate) for rate in rates])

    def rates(self, rates: Sequence[float], shared: Floats) -> Floats:
        """(3, rates): TAR, FMR, FNMR."""
        found = np.full((3, len(rates)), np.nan)
        people = self.genuine.total > 0
        own = self.refused(rates)
        if people and self.total > 0:
            found[0] = self.genuine.above(own) / self.genuine.total
        known = ~np.isnan(shared)
        if self.total > 0:
            found[1, known] = [self._above(value) / self.total for value in shared[known]]
        if people:
            missed = self.genuine.total - self.genuine.above(shared[known])
            found[2, known] = missed / self.genuine.total
        return found

    def _refused(self, rate: float) -> float:
        while self._drawn is not None:
            found = self._drawn.refused_at(rate)
            if found is not None:
                return found
            self._lengthen()
        return np.nan

    def _above(self, value: float) -> float:
        assert self._drawn is not None
        while (found := self._drawn.above(value)) is None:
            self._lengthen()
        return found

    def _lengthen(self) -> None:
        self._tail.lengthen()
        self._drawn = self._tail.drawn(self._weight, self.total)


def redrawn_separation(
    genuine: SortedScores, impostor: SortedScores, cells: Sampled, weights: Iterable[Array]
) -> Mapping[str, Floats]:
    """(draws, groups): AUC to first order, EER exactly."""
    people = Comparers.of(cells)
    groups = groups_of(genuine, impostor, cells)
    few = [Few(genuine, group.genuine, people) for group in groups]
    tails = [Tail(impostor, group.impostor, people, _FEW_ERRORS) for group in groups]
    sides = [_exceeded(own, impostor, group) for own, group in zip(few, groups, strict=True)]
    meetings = [_Meeting(own, tail) for own, tail in zip(few, tails, strict=True)]
    parts: dict[str, list[Floats]] = {"AUC": [], "EER": []}
    for many, totals in _blocks(impostor, cells, people, weights):
        auc, eer = np.full((2, len(many), len(groups)), np.nan)
        for place, (own, group) in enumerate(zip(few, groups, strict=True)):
            if not len(own.scores) or not tails[place].count:
                continue
            higher = _higher_genuine(own, impostor, group, len(people.first))
            moved = people.sums(higher, np.zeros(len(higher), dtype=np.int64), 1, many)[:, 0] / len(own.scores)
            for draw, weight in enumerate(many):
                total, drawn = float(totals[draw, place]), own.drawn(weight)
                if not total or not drawn.total:
                    continue
                held = float(np.dot(own.weights(weight).astype(np.float64), sides[place])) / drawn.total
                auc[draw, place] = held + moved[draw] / total - float(sides[place].mean())
                eer[draw, place] = meetings[place].of(drawn, weight, total)
        parts["AUC"].append(np.clip(auc, 0.0, 1.0))
        parts["EER"].append(eer)
    empty = np.zeros((0, len(groups)))
    return {name: np.concatenate(found) if found else empty for name, found in parts.items()}


def _exceeded(own: Few, impostor: SortedScores, group: Group) -> Floats:
    """(genuine,): the share of the group's impostors that each genuine score exceeds, ties counted half."""
    scores = impostor.score if group.impostor is None else impostor.score[group.impostor]
    low, high = (np.searchsorted(scores, own.scores, side=side) for side in SIDES)
    return np.asarray((low + high) / (2.0 * max(len(scores), 1)))


def _higher_genuine(own: Few, impostor: SortedScores, group: Group, cells: int) -> Floats:
    """(cells,): over the impostors of each cell, how many genuine scores are higher, ties counted half."""
    scores = impostor.score if group.impostor is None else impostor.score[group.impostor]
    codes = impostor.codes if group.impostor is None else impostor.codes[group.impostor]
    cuts = np.sort(np.concatenate([np.searchsorted(scores, own.scores, side=side) for side in SIDES]))
    lengths = np.diff(cuts, prepend=0, append=len(scores))
    higher = np.repeat(len(own.scores) - 0.5 * np.arange(len(lengths)), lengths)
    return np.asarray(np.bincount(codes, higher, minlength=cells), dtype=np.float64)


class _Meeting:
    """Where false match rate and false non-match rate of a group meet, draw by draw."""

    def __init__(self, few: Few, tail: Tail) -> None:
        values, starts = np.unique(few.scores, return_index=True)
        self._values, self._starts, self._tail = values[::-1], starts[::-1], tail
        self._look()

    def of(self, genuine: Weighted, weight: NDArray[np.float32], total: float) -> float:
        """The equal error rate on the piecewise-linear ROC of one draw."""
        reached = genuine.tail[self._starts] / genuine.total
        y = np.column_stack([np.concatenate([[0.0], reached[:-1]]), reached]).reshape(-1)
        while True:
            x = (self._tail.drawn(weight, total).before(self._cuts) / total)[self._at]
            own = np.concatenate([[0.0], y[: len(self._at) - 1]])
            if self._tail.is_whole:
                x, own = np.append(x, 1.0), np.append(own, 1.0)
            gap = x + own - 1.0  # FMR − FNMR, never falling
            after = int(np.searchsorted(gap, 0.0, side="left"))
            if after < len(gap):
                break
            self._tail.lengthen()
            self._look()
        if gap[after] == 0.0:
            return float(x[after])
        share = -gap[after - 1] / (gap[after] - gap[after - 1])
        return float(x[after - 1] + share * (x[after] - x[after - 1]))

    def _look(self) -> None:
        """How many impostors lie above, and how many at or above, each genuine score that the tail reaches."""
        tail = self._tail
        counts = [tail.length - np.searchsorted(tail.rising, self._values, side=side) for side in reversed(SIDES)]
        places = np.column_stack(counts).reshape(-1)
        known = len(places) if tail.is_whole else int(np.searchsorted(places, tail.length, side="left"))
        self._cuts, self._at = np.unique(np.concatenate([[0], places[:known]]), return_inverse=True)


def _blocks(
    impostor: SortedScores, cells: Sampled, people: Comparers, weights: Iterable[Array]
) -> Iterator[tuple[NDArray[np.float32], Floats]]:
    """Weights of units and nobody, with (draws, groups) the weight of all impostors of each group, and of everyone."""
    counts = np.bincount(impostor.codes, minlength=len(people.first)).astype(np.float64)
    kept = np.asarray(cells.kept, dtype=np.float64)
    if not any(np.asarray(keeps, dtype=np.bool_)[np.unique(cells.pattern)].all() for keeps in cells.kept):
        kept = np.vstack([kept, np.ones(kept.shape[1])])
    for many in weights:
        with_nobody = people.with_nobody(many)
        by_pattern = people.sums(counts, np.asarray(cells.pattern), kept.shape[1], with_nobody)
        yield with_nobody, by_pattern @ kept.T
