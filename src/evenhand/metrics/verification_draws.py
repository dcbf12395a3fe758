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
from evenhand.core.records import Array, blocks
from evenhand.metrics.operating_points import Convention, SortedScores, crossing, tar_at_far
from evenhand.metrics.verification_scores import AT_ONCE, Comparisons, Scores, taken
from evenhand.metrics.verification_tails import (
    ComparedUnits,
    Floats,
    GenuineScores,
    ImpostorTail,
    ScoredCells,
    WeightedTail,
)

_BLOCKS_KEPT = 8  # of draws, whose totals serve the next metric
_FEW_ERRORS = 0.03  # the equal error rate up to which nothing has to be looked at twice

SIDES: tuple[Literal["left"], Literal["right"]] = ("left", "right")


class GroupRows(NamedTuple):
    """The comparisons of a group, positions among all sorted scores; None when it has all of them."""

    genuine: Array | None
    impostor: Array | None


class ComparedGroups:
    """The comparisons of every group, and what all impostors of each weigh in a draw: the same for every metric.

    The last group is everyone, whether that was asked for or not.
    """

    def __init__(self, genuine: Scores, impostor: Scores, cells: Sampled) -> None:
        self.genuine, self.impostor, self.cells = genuine, impostor, cells
        self.people = ComparedUnits.of(cells)
        kept = np.asarray(cells.kept, dtype=np.bool_)
        self.asked = len(kept)
        kinds = np.asarray(cells.pattern).astype(np.int8 if kept.shape[1] <= 2**7 else np.int32)
        used = np.flatnonzero(np.bincount(kinds, minlength=kept.shape[1]))
        self._kept = np.vstack([kept, np.ones(kept.shape[1], dtype=np.bool_)])
        sides = [taken(kinds, side.codes) for side in (genuine, impostor)]
        self.rows = [
            GroupRows(None, None)
            if keeps[used].all()
            else GroupRows(*(np.flatnonzero(taken(keeps, side)).astype(np.int32) for side in sides))
            for keeps in self._kept
        ]
        self._totals: list[tuple[NDArray[np.float32], Floats]] = []

    @classmethod
    def of(cls, state: Comparisons, cells: Sampled) -> ComparedGroups:
        """Those of a state, which are kept for the next metric that is resampled from it."""
        known: ComparedGroups | None = state.__dict__.get("_groups")
        if known is None or known.cells is not cells:
            known = state.__dict__["_groups"] = cls(state.genuine.ordered(), state.impostor.ordered(), cells)
        return known

    def resamples(self, weights: Iterable[Array]) -> Iterator[tuple[NDArray[np.float32], Floats]]:
        """Weights of units and nobody, with (draws, groups) the weight of all impostors of each group."""
        for many in weights:
            with_nobody = self.people.with_nobody(many)
            known = next((totals for same, totals in self._totals if np.array_equal(same, with_nobody)), None)
            if known is None:
                known = self._weigh(with_nobody)
                if len(self._totals) < _BLOCKS_KEPT:
                    self._totals.append((with_nobody, known))
            yield with_nobody, known

    def _weigh(self, weights: NDArray[np.float32]) -> Floats:
        counts = self.impostor.per_basis()
        by_pattern = self.people.sums(counts, np.asarray(self.cells.pattern), self._kept.shape[1], weights)
        return by_pattern @ self._kept.T.astype(np.float64)


class ResampledRates(NamedTuple):
    """Rates (draws, groups, rates); not a number where a group has no such comparisons."""

    tar: Mapping[Convention, Floats]  # at each group's own threshold
    fmr: Floats  # at the threshold set on everyone by the convention `exact`
    fnmr: Floats


def resampled_rates(
    groups: ComparedGroups,
    weights: Iterable[Array],
    rates: Sequence[float],
    conventions: Sequence[Convention] = (Convention.EXACT,),
) -> ResampledRates:
    """TAR under each convention, FMR and FNMR, in every draw and group."""
    others = [convention for convention in conventions if convention is not Convention.EXACT]
    top = max(rates, default=0.0)
    everyone = next(place for place, rows in enumerate(groups.rows) if rows.impostor is None)
    used = range(max(groups.asked, everyone + 1))
    genuine = [GenuineScores(groups.genuine, groups.rows[place].genuine, groups.people) for place in used]
    tails = [ImpostorTail(groups.impostor, groups.rows[place].impostor, groups.people, top) for place in used]
    parts = [np.zeros((3 + len(others), 0, len(used), len(rates)))]
    for many, totals in groups.resamples(weights):
        found = np.full((3 + len(others), len(many), len(used), len(rates)), np.nan)
        bins = [tail.cumulated(many) for tail in tails]
        for draw, weight in enumerate(many):
            drawn = [
                _Resample(
                    own.drawn(weight), WeightedTail(tail, weight, float(total), before[draw]) if total > 0 else None
                )
                for own, tail, before, total in zip(genuine, tails, bins, totals[draw], strict=False)
            ]
            shared = drawn[everyone].refused(rates)
            for place, resample in enumerate(drawn):
                found[:, draw, place] = resample.rates(rates, shared, others)
        parts.append(found)
    made = np.concatenate(parts, axis=1)[:, :, : groups.asked]
    return ResampledRates(dict(zip((Convention.EXACT, *others), (made[0], *made[3:]), strict=True)), made[1], made[2])


class _Resample(NamedTuple):
    """One draw of one group: its genuine comparisons, and as many impostors as are asked for; None when it has none."""

    genuine: SortedScores
    impostor: WeightedTail | None

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


def resampled_separation(groups: ComparedGroups, weights: Iterable[Array]) -> Mapping[str, Floats]:
    """(draws, groups): AUC to first order, EER exactly."""
    people, rows = groups.people, groups.rows[: groups.asked]
    genuine = [GenuineScores(groups.genuine, group.genuine, people) for group in rows]
    tails = [ImpostorTail(groups.impostor, group.impostor, people, _FEW_ERRORS) for group in rows]
    parts: dict[str, list[Floats]] = {"AUC": [np.zeros((0, len(rows)))], "EER": [np.zeros((0, len(rows)))]}
    for many, totals in groups.resamples(weights):
        auc, eer = np.full((2, len(many), len(rows)), np.nan)
        for place, (own, group, tail) in enumerate(zip(genuine, rows, tails, strict=True)):
            if not len(own.scores) or not tail.count:
                continue
            exceeded = _exceeded(own, groups.impostor, group)
            higher = _higher_genuine(own, groups.impostor, group, len(people.first))
            moved = people.sums(higher, None, 1, many)[:, 0] / len(own.scores)
            errors, bins = _EqualErrors(own, tail), tail.cumulated(many)
            for draw, weight in enumerate(many):
                total, drawn = float(totals[draw, place]), own.drawn(weight)
                if not total or not drawn.total:
                    continue
                held = float(np.dot(own.weights(weight).astype(np.float64), exceeded)) / drawn.total
                auc[draw, place] = held + moved[draw] / total - float(exceeded.mean())
                eer[draw, place] = errors.of(drawn, WeightedTail(tail, weight, total, bins[draw]))
        parts["AUC"].append(np.clip(auc, 0.0, 1.0))
        parts["EER"].append(eer)
    return {name: np.concatenate(found) for name, found in parts.items()}


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
    sums = np.zeros(cells)
    for block in blocks(len(scores), AT_ONCE):  # that stays in a core's cache, but for the sums
        first, last = np.searchsorted(cuts, [block.start, block.stop], side="right")
        lengths = np.diff(cuts[first:last], prepend=block.start, append=block.stop)
        higher = np.repeat(len(own.scores) - 0.5 * np.arange(first, last + 1), lengths)
        np.add.at(sums, codes[block].astype(np.intp), higher)
    return sums


class _EqualErrors:
    """Where false match rate and false non-match rate of a group meet, draw by draw.

    The corners of the ROC lie at the genuine scores from the top: before each and after it. Both errors move one way
    along them, so the two corners between which they meet are found by halving.
    """

    def __init__(self, genuine: GenuineScores, tail: ImpostorTail) -> None:
        values, starts = np.unique(genuine.scores, return_index=True)
        self._values, self._starts, self._tail = values[::-1], starts[::-1], tail
        self._look()

    def of(self, genuine: SortedScores, impostor: WeightedTail) -> float:
        """The equal error rate on the piecewise-linear ROC of one draw."""
        while True:
            low, high = 0, len(self._places)  # errors meet after the first corner, and before the second
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if sum(self._corner(genuine, impostor, middle)) < 1.0 else (low, middle)
            if high < len(self._places):
                return _crossing_between(self._corner(genuine, impostor, low), self._corner(genuine, impostor, high))
            if impostor.is_whole:
                return _crossing_between(self._corner(genuine, impostor, low), (1.0, 1.0))
            impostor.lengthen()
            self._look()

    def _corner(self, genuine: SortedScores, impostor: WeightedTail, place: int) -> tuple[float, float]:
        """False match rate and true accept rate."""
        assert genuine.tail is not None
        while self._places[place] > impostor.length:  # another draw needed more
            impostor.lengthen()
        reached = genuine.tail[self._starts[place // 2 - 1]] / genuine.total if place > 1 else 0.0
        return impostor.first(int(self._places[place])) / impostor.total, float(reached)

    def _look(self) -> None:
        """How many impostors lie above, and how many at or above, each genuine score that the tail reaches."""
        tail = self._tail
        counts = [tail.length - np.searchsorted(tail.rising, self._values, side=side) for side in reversed(SIDES)]
        places = np.column_stack(counts).reshape(-1)
        known = len(places) if tail.length == tail.count else int(np.searchsorted(places, tail.length, side="left"))
        self._places = np.concatenate([[0], places[:known]])


def _crossing_between(before: tuple[float, float], after: tuple[float, float]) -> float:
    x, y = np.array([before, after]).T
    return crossing(x, y)
