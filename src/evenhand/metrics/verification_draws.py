"""Rates of comparisons when people are resampled, without weighing every comparison in every draw.

Thresholds lie among the highest impostors: at a false match rate of α, a little more than the share α of them
decides (`verification_tails`). Equal errors lie in that tail too.

The area under the ROC looks at everything, so it is resampled to first order: how much its value moves with the
weight of each comparison, while the ranks of all others stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Sampled
from evenhand.core.records import Array
from evenhand.metrics.operating_points import Convention, SortedScores, crossing, tar_at_far
from evenhand.metrics.verification_tails import (
    ComparedUnits,
    Floats,
    GenuineScores,
    ImpostorTail,
    ScoredCells,
    WeightedTail,
)

_FEW_ERRORS = 0.03  # the equal error rate up to which nothing has to be looked at twice

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class GroupRows(NamedTuple):
    """The comparisons of a group, positions among all sorted scores; None when it has all of them."""

    genuine: Array | None
    impostor: Array | None


def groups_of(genuine: ScoredCells, impostor: ScoredCells, cells: Sampled) -> list[GroupRows]:
    """The comparisons of every group."""
    kinds = np.asarray(cells.pattern)
    kept = np.asarray(cells.kept, dtype=np.bool_)
    used = np.unique(kinds)
    sides = [kinds[side.codes] for side in (genuine, impostor)]
    found = []
    for keeps in kept:
        if keeps[used].all():
            found.append(GroupRows(None, None))
        else:
            found.append(GroupRows(*(np.flatnonzero(keeps[side]) for side in sides)))
    return found


class ResampledRates(NamedTuple):
    """Rates (draws, groups, rates); not a number where a group has no such comparisons."""

    tar: Mapping[Convention, Floats]  # at each group's own threshold
    fmr: Floats  # at the threshold set on everyone by the convention `exact`
    fnmr: Floats


def resampled_rates(
    genuine: ScoredCells,
    impostor: ScoredCells,
    cells: Sampled,
    weights: Iterable[Array],
    rates: Sequence[float],
    conventions: Sequence[Convention] = (Convention.EXACT,),
) -> ResampledRates:
    """TAR under each convention, FMR and FNMR, in every draw and group."""
    others = [convention for convention in conventions if convention is not Convention.EXACT]
    people = ComparedUnits.of(cells)
    groups = groups_of(genuine, impostor, cells)
    everyone = next((place for place, group in enumerate(groups) if group.impostor is None), len(groups))
    if everyone == len(groups):
        groups = [*groups, GroupRows(None, None)]
    top = max(rates, default=0.0)
    few = [GenuineScores(genuine, group.genuine, people) for group in groups]
    tails = [ImpostorTail(impostor, group.impostor, people, top) for group in groups]
    parts = []
    for many, totals in _blocks(impostor, cells, people, weights):
        found = np.full((3 + len(others), len(many), len(groups), len(rates)), np.nan)
        for draw, weight in enumerate(many):
            drawn = [
                _Resample(own, tail, weight, total) for own, tail, total in zip(few, tails, totals[draw], strict=True)
            ]
            shared = drawn[everyone].refused(rates)
            for place, one in enumerate(drawn):
                found[:, draw, place] = one.rates(rates, shared, others)
        parts.append(found)
    none = np.zeros((3 + len(others), 0, len(groups), len(rates)))
    made = (np.concatenate(parts, axis=1) if parts else none)[:, :, : len(cells.kept)]
    return ResampledRates(dict(zip((Convention.EXACT, *others), (made[0], *made[3:]), strict=True)), made[1], made[2])


class _Resample:
    """One draw of one group: its genuine comparisons, and as many impostors as are asked for."""

    def __init__(self, few: GenuineScores, tail: ImpostorTail, weight: NDArray[np.float32], total: float) -> None:
        self.genuine = few.drawn(weight)
        self.impostor = WeightedTail(tail, weight, float(total)) if total > 0 else None

    def refused(self, rates: Sequence[float]) -> Floats:
        """The highest score that must be refused at each rate; not a number without impostors."""
        return np.array([np.nan if self.impostor is None else self.impostor.refused_at(rate) for rate in rates])

    def rates(self, rates: Sequence[float], shared: Floats, conventions: Sequence[Convention] = ()) -> Floats:
        """(3 + conventions, rates): TAR, FMR, FNMR; TAR under other conventions."""
        found = np.full((3 + len(conventions), len(rates)), np.nan)
        genuine, impostor = self.genuine, self.impostor
        known = ~np.isnan(shared)
        if impostor is not None:
            if genuine.total > 0:
                found[0] = genuine.above(self.refused(rates)) / genuine.total
            for place, convention in enumerate(conventions, start=3):
                found[place] = [tar_at_far(genuine, impostor, rate, convention).tar for rate in rates]
            found[1, known] = [impostor.above(value) / impostor.total for value in shared[known]]
        if genuine.total > 0:
            found[2, known] = (genuine.total - genuine.above(shared[known])) / genuine.total
        return found


def resampled_separation(
    genuine: ScoredCells, impostor: ScoredCells, cells: Sampled, weights: Iterable[Array]
) -> Mapping[str, Floats]:
    """(draws, groups): AUC to first order, EER exactly."""
    people = ComparedUnits.of(cells)
    groups = groups_of(genuine, impostor, cells)
    few = [GenuineScores(genuine, group.genuine, people) for group in groups]
    tails = [ImpostorTail(impostor, group.impostor, people, _FEW_ERRORS) for group in groups]
    sides = [_exceeded(own, impostor, group) for own, group in zip(few, groups, strict=True)]
    meetings = [_EqualErrors(own, tail) for own, tail in zip(few, tails, strict=True)]
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


def _exceeded(own: GenuineScores, impostor: ScoredCells, group: GroupRows) -> Floats:
    """(genuine,): the share of the group's impostors that each genuine score exceeds, ties counted half."""
    scores = impostor.score if group.impostor is None else impostor.score[group.impostor]
    low, high = (np.searchsorted(scores, own.scores, side=side) for side in SIDES)
    return np.asarray((low + high) / (2.0 * max(len(scores), 1)))


def _higher_genuine(own: GenuineScores, impostor: ScoredCells, group: GroupRows, cells: int) -> Floats:
    """(cells,): over the impostors of each cell, how many genuine scores are higher, ties counted half."""
    scores = impostor.score if group.impostor is None else impostor.score[group.impostor]
    codes = impostor.codes if group.impostor is None else impostor.codes[group.impostor]
    cuts = np.sort(np.concatenate([np.searchsorted(scores, own.scores, side=side) for side in SIDES]))
    lengths = np.diff(cuts, prepend=0, append=len(scores))
    higher = np.repeat(len(own.scores) - 0.5 * np.arange(len(lengths)), lengths)
    return np.asarray(np.bincount(codes, higher, minlength=cells), dtype=np.float64)


class _EqualErrors:
    """Where false match rate and false non-match rate of a group meet, draw by draw."""

    def __init__(self, few: GenuineScores, tail: ImpostorTail) -> None:
        values, starts = np.unique(few.scores, return_index=True)
        self._values, self._starts, self._tail = values[::-1], starts[::-1], tail
        self._look()

    def of(self, genuine: SortedScores, weight: NDArray[np.float32], total: float) -> float:
        """The equal error rate on the piecewise-linear ROC of one draw."""
        assert genuine.tail is not None
        reached = genuine.tail[self._starts] / genuine.total
        y = np.column_stack([np.concatenate([[0.0], reached[:-1]]), reached]).reshape(-1)
        while True:
            x = (WeightedTail(self._tail, weight, total).before(self._cuts) / total)[self._at]
            own = np.concatenate([[0.0], y[: len(self._at) - 1]])
            if self._tail.is_whole:
                x, own = np.append(x, 1.0), np.append(own, 1.0)
            if x[-1] + own[-1] >= 1.0:
                return crossing(x, own)
            self._tail.lengthen()
            self._look()

    def _look(self) -> None:
        """How many impostors lie above, and how many at or above, each genuine score that the tail reaches."""
        tail = self._tail
        counts = [tail.length - np.searchsorted(tail.rising, self._values, side=side) for side in reversed(SIDES)]
        places = np.column_stack(counts).reshape(-1)
        known = len(places) if tail.is_whole else int(np.searchsorted(places, tail.length, side="left"))
        self._cuts, self._at = np.unique(np.concatenate([[0], places[:known]]), return_inverse=True)


def _blocks(
    impostor: ScoredCells, cells: Sampled, people: ComparedUnits, weights: Iterable[Array]
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
