"""What share of genuine comparisons is accepted when few impostors may be.

Scores of each class are sorted once; everything else is a binary search. A comparison is
accepted when its score reaches the threshold. A failure to enrol scores −∞ and is never
accepted, but stays in the denominator.

Five definitions of "TAR at FAR α" are in use, and they give different numbers for the same
scores, so each has a name (`Convention`). `exact` keeps what the words promise: the best
TAR while the false match rate is at most α. Each is one function below; what it asks of the
impostors (`RankedImpostors`) is answered by all scores, sorted, by the highest of a resample, or by a stream.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol, Self

import numpy as np

from evenhand.core.metric import Curve
from evenhand.core.records import Array, blocks


class Convention(Enum):
    """How a true accept rate is read at a false accept rate."""

    EXACT = "exact"  # the best TAR while FMR ≤ α
    AT_IMPOSTOR = "at_impostor"  # the threshold is an impostor's score (bob.measure)
    NEAREST = "nearest"  # the point of scikit-learn's reduced ROC whose FPR is nearest to α
    NEAREST_FULL_CURVE = "nearest_full_curve"  # the same without removal of points
    LINEAR = "linear"  # interpolated between the points of the ROC


_MANY = 1 << 20  # scores of which it is worth to sort only the highest
_SAMPLED = 1 << 16  # scores that tell where the highest begin
_SPARE = 1.25
_AT_ONCE = 1 << 17  # scores that stay in a core's cache
_REACH = 256  # impostors on either side of a threshold that are looked at first


class RankedImpostors(Protocol):
    """What a rate at an operating point asks of impostors; places count from the highest score."""

    @property
    def total(self) -> float:
        """The weight of all of them."""

    @property
    def length(self) -> int:
        """How many of the highest are known one by one."""

    @property
    def is_whole(self) -> bool:
        """Whether these are all."""

    def refused_at(self, rate: float) -> float:
        """The highest score that must be refused so that at most `rate` is accepted; −∞ when all may be."""

    def above(self, value: float) -> Array | float:
        """The weight of scores > value."""

    def reaching(self, value: float) -> Array | float:
        """The weight of scores ≥ value."""

    def next_above(self, value: float) -> float:
        """The smallest score > value that counts; +∞ when there is none."""

    def places_above(self, value: float) -> int:
        """How many scores lie above a value, whether they count or not."""

    def between(self, first: int, last: int) -> tuple[Array, Array, float]:
        """Descending scores that count from one place to another, their weights, and the weight before them."""

    def lengthen(self) -> None:
        """Look at more of them; only asked of those that are not all."""


class UnknownScoresError(ValueError):
    """A rate asks for scores below those that are known one by one."""


@dataclass(frozen=True)
class SortedScores:
    """The scores of one class in ascending order, and how often each counts.

    `scores` may be the upper part of a longer list; `total` is then more than its weights.
    """

    scores: Array  # (n,), ascending
    tail: Array | None  # (n + 1,): weight of the scores from i on; None: each counts once
    total: float  # weight of the whole class
    is_whole: bool = True

    @classmethod
    def of(cls, scores: Array) -> Self:
        """All scores of a class, in any order, each counting once."""
        return cls.of_own(np.array(scores))

    @classmethod
    def of_own(cls, scores: Array) -> Self:
        """As `of`, of an array that nobody else uses: it is sorted in place, which spares a copy."""
        scores.sort()
        return cls(scores, None, len(scores))

    @classmethod
    def highest(cls, scores: Array, inside: Array, share: float) -> Self:
        """More than the share `share` of the highest of those scores that are `inside`, each counting once.

        All of them where that is most, or where they are few. The others are never sorted, nor copied.
        """
        total = int(np.count_nonzero(inside))
        step = max(len(scores) // _SAMPLED, 1)
        sample = np.sort(scores[::step][inside[::step]])
        is_worth = _SPARE * share < 0.5 and total >= _MANY and len(sample)
        cut = sample[int((1 - _SPARE * share) * len(sample))] if is_worth else -np.inf
        parts = [scores[block][inside[block] & (scores[block] >= cut)] for block in blocks(len(scores), _AT_ONCE)]
        top = np.concatenate([np.zeros(0, scores.dtype), *parts])
        if len(top) < total and len(top) <= share * total:
            return cls.of_own(scores[inside])
        top.sort()
        return cls(top, None, total, len(top) == total)

    @classmethod
    def weighted(
        cls, scores: Array, weights: Array, total: float | None = None, *, is_whole: bool = True
    ) -> SortedScores:
        """Ascending scores with weights; those that do not count are left out."""
        counted = np.flatnonzero(weights)
        if len(counted) == len(weights):
            kept, weights = scores, np.asarray(weights)
        else:
            kept, weights = scores[counted], weights[counted]
        tail = np.zeros(len(kept) + 1)
        np.cumsum(weights[::-1], dtype=np.float64, out=tail[1:])
        tail = tail[::-1]
        return cls(kept, tail, float(tail[0]) if total is None else float(total), is_whole)

    def reaching(self, value: Array | float) -> Array:
        """Weight of the scores ≥ value."""
        return self._from(np.searchsorted(self.scores, self._like(value), side="left"))

    def above(self, value: Array | float) -> Array:
        """Weight of the scores > value."""
        return self._from(np.searchsorted(self.scores, self._like(value), side="right"))

    def refused_at(self, rate: float) -> float:
        """The highest score that must be refused so that at most `rate` is accepted; −∞ when all may be.

        `k` is the largest weight from the top with k / total ≤ rate, divided in double precision.
        """
        n = len(self.scores)
        if self.tail is None:
            first = n - min(allowed_accepts(int(self.total), rate), n)
        else:
            rising = self.tail[::-1]
            k = int(np.searchsorted(rising, rate * self.total, side="right"))
            while k <= n and rising[k] / self.total <= rate:
                k += 1
            while k > 0 and rising[k - 1] / self.total > rate:
                k -= 1
            first = n - (k - 1)
        return float(self.scores[first - 1]) if first > 0 else -np.inf

    def next_above(self, value: float) -> float:
        """The smallest score > value; +∞ when there is none."""
        place = int(np.searchsorted(self.scores, self._like(value), side="right"))
        return float(self.scores[place]) if place < len(self.scores) else np.inf

    @property
    def length(self) -> int:
        """How many scores there are."""
        return len(self.scores)

    def places_above(self, value: float) -> int:
        """How many scores lie above a value."""
        return self.length - int(np.searchsorted(self.scores, self._like(value), side="right"))

    def between(self, first: int, last: int) -> tuple[Array, Array, float]:
        """Descending scores from one place to another, their weights, and the weight before them."""
        low, high = self.length - last, self.length - first
        weights = np.ones(last - first) if self.tail is None else np.diff(self.tail[low : high + 1][::-1])
        return self.scores[low:high][::-1], weights, float(self._from(np.asarray(high)))

    def lengthen(self) -> None:
        raise UnknownScoresError("the scores below these are not known")

    def steps(self) -> tuple[Array, Array]:
        """Distinct scores in descending order, and the weight that reaches each."""
        if not len(self.scores):
            return self.scores, np.zeros(0)
        first = np.flatnonzero(np.concatenate([[True], self.scores[1:] != self.scores[:-1]]))[::-1]
        return self.scores[first], self._from(first)

    def _like(self, value: Array | float) -> Array:
        # A value of the scores' own precision spares the search a converted copy of all scores.
        same = np.asarray(value, dtype=self.scores.dtype)
        return same if np.array_equal(same, value) else np.asarray(value)

    def _from(self, place: Array) -> Array:
        return len(self.scores) - place if self.tail is None else self.tail[place]


def allowed_accepts(total: int, rate: float) -> int:
    """The largest k with k / total ≤ rate, divided in double precision; `floor(rate · total)` may lose one.

    >>> allowed_accepts(8_000_000, 1e-5), allowed_accepts(3, 0.5)
    (80, 1)
    """
    k = min(int(rate * total), total)
    while k < total and (k + 1) / total <= rate:
        k += 1
    while k > 0 and k / total > rate:
        k -= 1
    return k


class RatePoint(NamedTuple):
    """A true accept rate, and where it was read. NaN where it is undefined."""

    tar: float
    threshold: float
    fmr: float  # realised
    false_accepts: float  # impostors that the operating point is based on


Corners = tuple[Array, Array, Array]  # false match rate, true accept rate, threshold
NOTHING = RatePoint(np.nan, np.nan, np.nan, 0.0)


def tar_at_far(
    genuine: SortedScores, impostor: RankedImpostors, far: float, convention: Convention = Convention.EXACT
) -> RatePoint:
    """The true accept rate at a false accept rate, by one of the conventions.

    Undefined (NaN) without genuine or without impostor comparisons.

    >>> genuine, impostor = SortedScores.of(np.array([0.9, 0.4])), SortedScores.of(np.array([0.5, 0.1, 0.0]))
    >>> tar_at_far(genuine, impostor, 0.34).tar, tar_at_far(genuine, impostor, 0.1).tar
    (1.0, 0.5)
    """
    if not genuine.total or not impostor.total:
        return NOTHING
    if convention is Convention.EXACT:
        return _exact(genuine, impostor, far)
    if convention is Convention.AT_IMPOSTOR:
        return _at_impostor(genuine, impostor, far)
    if convention is Convention.LINEAR:
        return _linear(genuine, impostor, far)
    return _nearest(genuine, impostor, far, is_thinned=convention is Convention.NEAREST)


def rates_at(
    genuine: SortedScores, impostor: SortedScores, fars: Sequence[float], convention: Convention = Convention.EXACT
) -> list[RatePoint]:
    """`tar_at_far` for several rates."""
    return [tar_at_far(genuine, impostor, far, convention) for far in fars]


def rates_by_convention(
    genuine: SortedScores, impostor: SortedScores, fars: Sequence[float]
) -> dict[Convention, list[RatePoint]]:
    """`rates_at` under every convention."""
    return {convention: rates_at(genuine, impostor, fars, convention) for convention in Convention}


def exact_threshold(genuine: SortedScores, impostor: SortedScores, far: float) -> float:
    """The smallest observed score at which the false match rate is at most `far`; +∞ when there is none.

    Needs impostors only; NaN without any.
    """
    if not impostor.total:
        return np.nan
    refused = impostor.refused_at(far)
    return min(genuine.next_above(refused), impostor.next_above(refused))


def corner_points(genuine: SortedScores, impostor: SortedScores) -> Corners:
    """False match rate, true accept rate and threshold at the corners of the ROC, from (0, 0) to (1, 1).

    At most two points for each distinct genuine score: between them the curve runs straight.
    A failure to enrol counts as the lowest score of all.
    """
    values, reached = genuine.steps()
    before = np.concatenate([[0.0], reached[:-1]])
    x = np.column_stack([impostor.above(values), impostor.reaching(values)]).reshape(-1) / impostor.total
    y = np.column_stack([before, reached]).reshape(-1) / genuine.total
    threshold = np.column_stack([next_observed(genuine, impostor, values), values]).reshape(-1)
    lowest = min(float(side.scores[0]) for side in (genuine, impostor) if len(side.scores))
    x = np.concatenate([[0.0], x, [1.0]])
    y = np.concatenate([[0.0], y, [1.0]])
    threshold = np.concatenate([[np.inf], threshold.astype(np.float64), [lowest]])
    new = np.concatenate([[True], (np.diff(x) != 0) | (np.diff(y) != 0)])
    return x[new], y[new], threshold[new]


def kept_points(false: Array, true: Array, *, is_top: bool = True, is_bottom: bool = True) -> Array:
    """Which points of a stretch of the curve scikit-learn keeps: those at which a count changes its step.

    The first two and the last of the whole curve stay. Of the ends of a stretch that begins below the top or ends
    above the bottom it is not known, and they are left out.

    >>> kept_points(np.array([0, 0, 1, 2, 3]), np.array([0, 1, 1, 1, 1])).tolist()
    [True, True, False, False, True]
    """
    kept = np.ones(len(false), dtype=np.bool_)
    if len(false) > 2:
        kept[1:-1] = (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0)
    kept[: 2 if is_top else 1] = is_top
    if len(false) > 1 or not is_top:
        kept[-1:] = is_bottom
    return kept


def area_under_roc(genuine: SortedScores, impostor: SortedScores) -> float:
    """The chance that a genuine comparison scores higher than an impostor one, ties counted half.

    >>> area_under_roc(SortedScores.of(np.array([0.9, 0.4])), SortedScores.of(np.array([0.5, 0.4])))
    0.625
    """
    if not genuine.total or not impostor.total:
        return np.nan
    values, reached = genuine.steps()
    weight = np.diff(reached, prepend=0.0)
    higher = (impostor.above(values) + impostor.reaching(values)) / 2.0
    return float(1.0 - np.dot(weight, higher) / (genuine.total * impostor.total))


def equal_error_rate(genuine: SortedScores, impostor: SortedScores) -> float:
    """Where false match rate and false non-match rate meet on the piecewise-linear ROC.

    >>> equal_error_rate(SortedScores.of(np.array([0.9, 0.4])), SortedScores.of(np.array([0.5, 0.1])))
    0.5
    """
    if not genuine.total or not impostor.total:
        return np.nan
    return crossing(*corner_points(genuine, impostor)[:2])


def crossing(x: Array, y: Array) -> float:
    """The equal error rate on a ROC that is given by its corners (false match rate, true accept rate)."""
    gap = x + y - 1.0  # FMR − FNMR, from −1 to 1, never falling
    after = int(np.searchsorted(gap, 0.0, side="left"))
    if gap[after] == 0.0:
        return float(x[after])
    share = -gap[after - 1] / (gap[after] - gap[after - 1])
    return float(x[after - 1] + share * (x[after] - x[after - 1]))


def roc(genuine: SortedScores, impostor: SortedScores) -> Curve:
    """TAR over FMR at the corner points."""
    return roc_of(corner_points(genuine, impostor))


def roc_of(corners: Corners) -> Curve:
    """TAR over FMR."""
    x, y, threshold = corners
    return Curve(x, y, "false match rate", "true accept rate", threshold, log_x=True)


def det_of(corners: Corners) -> Curve:
    """FNMR over FMR."""
    x, y, threshold = corners
    return Curve(x, 1.0 - y, "false match rate", "false non-match rate", threshold, log_x=True)


def _exact(genuine: SortedScores, impostor: RankedImpostors, far: float) -> RatePoint:
    refused = impostor.refused_at(far)
    accepted = float(impostor.above(refused))
    threshold = min(genuine.next_above(refused), impostor.next_above(refused))
    return RatePoint(float(genuine.above(refused)) / genuine.total, threshold, accepted / impostor.total, accepted)


def _at_impostor(genuine: SortedScores, impostor: RankedImpostors, far: float) -> RatePoint:
    refused = impostor.refused_at(far)
    value = impostor.next_above(refused)
    if value == np.inf:  # no impostor's score will do: above the highest
        tar = float(genuine.above(refused)) / genuine.total
        return RatePoint(tar, genuine.next_above(refused), 0.0, 0.0)
    accepted = float(impostor.reaching(value))
    return RatePoint(float(genuine.reaching(value)) / genuine.total, value, accepted / impostor.total, accepted)


def _linear(genuine: SortedScores, impostor: RankedImpostors, far: float) -> RatePoint:
    """On the curve between its corners: it rises only where a genuine score is met, and slants where that is tied."""
    if far >= 1.0:
        lowest = *genuine.scores[:1], *impostor.between(max(impostor.length - 1, 0), impostor.length)[0]
        return RatePoint(1.0, float(min(lowest)), 1.0, impostor.total)
    refused = impostor.refused_at(far)
    low, high = float(genuine.above(refused)) / genuine.total, float(genuine.reaching(refused)) / genuine.total
    tar, threshold = low, genuine.next_above(refused)
    if high > low:
        above = float(impostor.above(refused))
        left, right = above / impostor.total, float(impostor.reaching(refused)) / impostor.total
        tar += (far - left) / (right - left) * (high - low)
        if above > float(impostor.reaching(threshold)):
            threshold = min(threshold, impostor.next_above(refused))
    return RatePoint(tar, threshold, far, far * impostor.total)


def _nearest(genuine: SortedScores, impostor: RankedImpostors, far: float, *, is_thinned: bool) -> RatePoint:
    """At the point of the curve whose rate is nearest; of equally near ones the largest rate, then the last point.

    The curve is made around the threshold, and more of it until no point outside can be nearer.
    """
    place, reach = impostor.places_above(impostor.refused_at(far)), _REACH
    while True:
        first, last = max(place - reach, 0), min(place + reach, impostor.length)
        stretch = CurveStretch.of(genuine, impostor, first, last)
        at = None if stretch is None else stretch.nearest(impostor.total, far, is_thinned=is_thinned)
        if stretch is not None and at is not None:
            false, true, threshold = (float(column[at]) for column in stretch[:3])
            return RatePoint(true / genuine.total, threshold, false / impostor.total, false)
        if last == impostor.length and not impostor.is_whole:
            impostor.lengthen()
        reach *= 4


class CurveStretch(NamedTuple):
    """Points of the curve from one score down to another, with nothing left out between them."""

    false: Array
    true: Array
    threshold: Array
    is_top: bool  # begins with the point at which nobody is accepted
    is_bottom: bool  # ends with the point at which everybody is

    @classmethod
    def of(cls, genuine: SortedScores, impostor: RankedImpostors, first: int, last: int) -> CurveStretch | None:
        """The points at the scores of the impostors from the first to the last place; None when there are none."""
        is_top, is_bottom = first == 0, last == impostor.length and impostor.is_whole
        scores, weights, before = impostor.between(first, last)
        ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)[: len(scores)])
        if not is_bottom:
            ends = ends[:-1]  # ties may go on
        if not len(ends) and not (is_top and is_bottom):
            return None
        scores, reached = scores[ends], before + np.cumsum(weights, dtype=np.float64)[ends]
        begin = 0 if is_bottom else int(np.searchsorted(genuine.scores, scores[-1], side="left"))
        end = genuine.length if is_top else int(np.searchsorted(genuine.scores, scores[0], side="right"))
        own = genuine.scores[begin:end]
        if genuine.tail is not None:
            own = own[np.diff(genuine.tail[begin : end + 1]) != 0]
        threshold = np.union1d(own, scores)[::-1]
        false = np.concatenate([[before], reached])[np.searchsorted(-scores, -threshold, side="right")]
        true = genuine.reaching(threshold)
        if is_top:
            false, true, threshold = (
                np.concatenate([[start], column]) for start, column in ((0.0, false), (0.0, true), (np.inf, threshold))
            )
        return cls(false, true, threshold, is_top, is_bottom)

    def nearest(self, total: float, far: float, *, is_thinned: bool) -> int | None:
        """The nearest point; None when a point outside might be nearer."""
        kept = np.arange(len(self.false))
        if is_thinned:
            kept = np.flatnonzero(kept_points(self.false, self.true, is_top=self.is_top, is_bottom=self.is_bottom))
        if not len(kept):
            return None
        nearest = int(kept[_nearest_place(self.false[kept], total, far)])
        best = abs(float(self.false[nearest]) / total - far)
        above_all = self.is_top or far - self.false[0] / total > best
        below_all = self.is_bottom or self.false[-1] / total - far > best
        return nearest if above_all and below_all else None


def _nearest_place(false: Array, impostors: float, far: float) -> int:
    """The point whose rate is nearest; among equally near ones the largest rate, then the last point."""
    guess = int(np.searchsorted(false, far * impostors, side="left"))
    around = range(max(guess - 2, 0), min(guess + 3, len(false)))  # rounding can't move it further
    best = min(around, key=lambda at: (abs(float(false[at]) / impostors - far), -float(false[at])))
    return int(np.searchsorted(false, false[best], side="right")) - 1


def next_observed(genuine: SortedScores, impostor: SortedScores, values: Array) -> Array:
    """The smallest score of either class above each value; +∞ where there is none."""
    found = np.full(len(values), np.inf)
    for side in (genuine, impostor):
        place = np.searchsorted(side.scores, values, side="right")
        there = place < len(side.scores)
        found[there] = np.minimum(found[there], side.scores[place[there]])
    return found
