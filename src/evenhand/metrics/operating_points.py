"""What share of genuine comparisons is accepted when few impostors may be.

Scores of each class are sorted once; everything else is a binary search. A comparison is
accepted when its score reaches the threshold. A failure to enrol scores −∞ and is never
accepted, but stays in the denominator.

Four readings of "TAR at FAR α" are in use, and they give different numbers for the same
scores, so each has a name (`Convention`). `exact` keeps what the words promise: the best
TAR while the false match rate is at most α.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Self

import numpy as np

from evenhand.core.metric import Curve
from evenhand.core.records import Array


class Convention(Enum):
    """How a true accept rate is read at a false accept rate."""

    EXACT = "exact"  # the best TAR while FMR ≤ α
    AT_IMPOSTOR = "at_impostor"  # the threshold is an impostor's score (bob.measure)
    NEAREST = "nearest"  # the point of scikit-learn's reduced ROC whose FPR is nearest to α
    NEAREST_FULL_CURVE = "nearest_full_curve"  # the same without removal of points
    LINEAR = "linear"  # interpolated between the points of the ROC


NEAREST = (Convention.NEAREST, Convention.NEAREST_FULL_CURVE)


@dataclass(frozen=True)
class SortedScores:
    """The scores of one class in ascending order, and how often each counts.

    `scores` may be the upper part of a longer list; `total` is then more than its weights.
    """

    scores: Array  # (n,), ascending
    tail: Array | None  # (n + 1,): weight of the scores from i on; None: each counts once
    total: float  # weight of the whole class
    complete: bool = True

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
    def weighted(
        cls, scores: Array, weights: Array, total: float | None = None, *, complete: bool = True
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
        return cls(kept, tail, float(tail[0]) if total is None else float(total), complete)

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

    def upper(self, count: int) -> SortedScores:
        """At least so many of the highest scores, ties taken whole."""
        first = max(len(self.scores) - count, 0)
        if first:
            first = int(np.searchsorted(self.scores, self.scores[first], side="left"))
        return self._from_place(first)

    def down_to(self, value: float) -> SortedScores:
        """The scores that reach a value."""
        return self._from_place(int(np.searchsorted(self.scores, self._like(value), side="left")))

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

    def _from_place(self, first: int) -> SortedScores:
        if not first:
            return self
        return SortedScores(self.scores[first:], None if self.tail is None else self.tail[first:], self.total, False)

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
    genuine: SortedScores, impostor: SortedScores, far: float, convention: Convention = Convention.EXACT
) -> RatePoint:
    """The true accept rate at a false accept rate, by one of the conventions.

    Undefined (NaN) without genuine or without impostor comparisons.

    >>> genuine, impostor = SortedScores.of(np.array([0.9, 0.4])), SortedScores.of(np.array([0.5, 0.1, 0.0]))
    >>> tar_at_far(genuine, impostor, 0.34).tar, tar_at_far(genuine, impostor, 0.1).tar
    (1.0, 0.5)
    """
    return rates_at(genuine, impostor, [far], convention)[0]


def rates_at(
    genuine: SortedScores, impostor: SortedScores, fars: Sequence[float], convention: Convention = Convention.EXACT
) -> list[RatePoint]:
    """`tar_at_far` for several rates; curves that a convention needs are made once."""
    if not genuine.total or not impostor.total:
        return [NOTHING for _ in fars]
    if convention is Convention.EXACT:
        return [_exact(genuine, impostor, far) for far in fars]
    if convention is Convention.AT_IMPOSTOR:
        return [_at_impostor(genuine, impostor, far) for far in fars]
    if convention is Convention.LINEAR:
        corners = corner_points(genuine, impostor)
        return [_linear(corners, impostor.total, far) for far in fars]
    return nearest_rates(genuine, impostor, fars, (convention,))[convention]


def rates_by_convention(
    genuine: SortedScores, impostor: SortedScores, fars: Sequence[float]
) -> dict[Convention, list[RatePoint]]:
    """`readings` under every convention; the curve that two of them need is made once."""
    found = {
        convention: rates_at(genuine, impostor, fars, convention)
        for convention in Convention
        if convention not in NEAREST or not (genuine.total and impostor.total)
    }
    if len(found) < len(Convention):
        found |= nearest_rates(genuine, impostor, fars, NEAREST)
    return {convention: found[convention] for convention in Convention}


def nearest_rates(
    genuine: SortedScores, impostor: SortedScores, fars: Sequence[float], conventions: Sequence[Convention]
) -> dict[Convention, list[RatePoint]]:
    """TAR at the point of the ROC whose rate is nearest, with all points or with those that scikit-learn keeps.

    Only the upper end of the curve is made, and more of it until nothing further down can be nearer.
    """
    taken = int(1.25 * max(fars, default=0.0) * len(impostor.scores)) + 4096
    while True:
        top = impostor.upper(taken)
        is_whole = top is impostor
        full = full_curve(genuine if is_whole else genuine.down_to(float(top.scores[0])), top)
        last = float(full[0][-1]) / impostor.total
        found = {}
        for convention in conventions:
            curve = reduced_curve(*full) if convention is Convention.NEAREST else full
            if not is_whole:  # whether the last point stays is not known
                curve = curve[0][:-1], curve[1][:-1], curve[2][:-1]
            found[convention] = _nearest_points(curve, genuine.total, impostor.total, fars)
        read = [(abs(one.fmr - far), far) for each in found.values() for one, far in zip(each, fars, strict=True)]
        if is_whole or all(off < last - far for off, far in read):
            return found
        taken *= 4


Range = tuple[float, float]  # of scores, without its ends; infinite: and everything beyond


def nearest_between(
    genuine: SortedScores,
    impostor: SortedScores,
    far: float,
    ranges: Sequence[Range],
    seen: Range,
    best: RatePoint | None = None,
) -> tuple[RatePoint | None, bool]:
    """The rate by the convention `nearest` when only some ranges of impostor scores are known one by one.

    Elsewhere impostors may be summed up; which points a curve keeps is known inside the ranges. `best` is the nearest
    point of those that were `seen` before. Comes back with whether no point outside of what was seen can be nearer.
    """
    false, true, threshold = full_curve(genuine, impostor)
    kept = kept_points(false, true) & np.any([_inside(threshold, each) for each in ranges], axis=0)
    if kept.any():
        curve = false[kept], true[kept], threshold[kept]
        here = _nearest_points(curve, genuine.total, impostor.total, [far])[0]
        # Among equally near points the largest rate, then the last point.
        best = min(
            (each for each in (best, here) if each is not None),
            key=lambda each: (abs(each.fmr - far), -each.false_accepts, each.threshold),
        )
    if best is None:
        return None, False
    rivals = ~_inside(threshold, seen) & (np.abs(false / impostor.total - far) <= abs(best.fmr - far))
    return best, not rivals.any()


def _inside(threshold: Array, limits: Range) -> Array:
    low, high = limits
    return np.asarray(((threshold > low) | (low == -np.inf)) & ((threshold < high) | (high == np.inf)))


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
    threshold = np.column_stack([_next_observed(genuine, impostor, values), values]).reshape(-1)
    lowest = min(float(side.scores[0]) for side in (genuine, impostor) if len(side.scores))
    x = np.concatenate([[0.0], x, [1.0]])
    y = np.concatenate([[0.0], y, [1.0]])
    threshold = np.concatenate([[np.inf], threshold.astype(np.float64), [lowest]])
    new = np.concatenate([[True], (np.diff(x) != 0) | (np.diff(y) != 0)])
    return x[new], y[new], threshold[new]


def full_curve(genuine: SortedScores, impostor: SortedScores, *, reduced: bool = False) -> tuple[Array, Array, Array]:
    """False and true accepts at every distinct score from the top, after a first point (0, 0) at +∞.

    With `reduced`, points are removed as scikit-learn's `roc_curve` does by default: those at
    which neither count changes its step.
    """
    values, false = impostor.steps()  # descending
    mine, reached = genuine.steps()
    place = np.searchsorted(-values, -mine, side="left")  # where each genuine score stands among the impostors
    tied = (place < len(values)) & (np.append(values, values[:1])[np.minimum(place, max(len(values) - 1, 0))] == mine)
    before = np.concatenate([np.zeros(1), false])[place]  # impostors above each genuine score
    values, false = np.insert(values, place[~tied], mine[~tied]), np.insert(false, place[~tied], before[~tied])
    true = np.zeros(len(values))
    true[place + np.cumsum(~tied) - ~tied] = np.diff(reached, prepend=0.0)
    np.cumsum(true, out=true)
    start = np.zeros(1)
    curve = np.concatenate([start, false]), np.concatenate([start, true]), np.concatenate([[np.inf], values])
    return reduced_curve(*curve) if reduced else curve


def reduced_curve(false: Array, true: Array, threshold: Array) -> tuple[Array, Array, Array]:
    """A full curve without the points that scikit-learn's `roc_curve` removes by default."""
    kept = kept_points(false, true)
    return false[kept], true[kept], threshold[kept]


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
    return where_errors_meet(corner_points(genuine, impostor))


def where_errors_meet(corners: Corners) -> float:
    """The equal error rate on a ROC that is given by its corners."""
    x, y, _ = corners
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


def det(genuine: SortedScores, impostor: SortedScores) -> Curve:
    """FNMR over FMR at the corner points."""
    return det_of(corner_points(genuine, impostor))


def det_of(corners: Corners) -> Curve:
    """FNMR over FMR."""
    x, y, threshold = corners
    return Curve(x, 1.0 - y, "false match rate", "false non-match rate", threshold, log_x=True)


def _exact(genuine: SortedScores, impostor: SortedScores, far: float) -> RatePoint:
    refused = impostor.refused_at(far)
    accepted = float(impostor.above(refused))
    threshold = min(genuine.next_above(refused), impostor.next_above(refused))
    return RatePoint(float(genuine.above(refused)) / genuine.total, threshold, accepted / impostor.total, accepted)


def _at_impostor(genuine: SortedScores, impostor: SortedScores, far: float) -> RatePoint:
    refused = impostor.refused_at(far)
    value = impostor.next_above(refused)
    if value == np.inf:  # no impostor's score will do: above the highest
        tar = float(genuine.above(refused)) / genuine.total
        return RatePoint(tar, genuine.next_above(refused), 0.0, 0.0)
    accepted = float(impostor.reaching(value))
    return RatePoint(float(genuine.reaching(value)) / genuine.total, value, accepted / impostor.total, accepted)


def _linear(corners: Corners, impostors: float, far: float) -> RatePoint:
    x, y, threshold = corners
    at = int(np.searchsorted(x, far, side="right")) - 1  # the upper end of a vertical step
    tar = float(y[at])
    if at + 1 < len(x):
        tar += float((far - x[at]) / (x[at + 1] - x[at]) * (y[at + 1] - y[at]))
    return RatePoint(tar, float(threshold[at]), min(far, 1.0), min(far, 1.0) * impostors)


def _nearest_points(
    curve: tuple[Array, Array, Array], genuine: float, impostors: float, fars: Sequence[float]
) -> list[RatePoint]:
    false, true, threshold = curve
    found = []
    for far in fars:
        at = nearest_place(false, impostors, far)
        found.append(
            RatePoint(float(true[at] / genuine), float(threshold[at]), float(false[at] / impostors), float(false[at]))
        )
    return found


def nearest_place(false: Array, impostors: float, far: float) -> int:
    """The point whose rate is nearest; among equally near ones the largest rate, then the last point."""
    guess = int(np.searchsorted(false, far * impostors, side="left"))
    around = range(max(guess - 2, 0), min(guess + 3, len(false)))  # rounding can't move it further
    best = min(around, key=lambda at: (abs(float(false[at]) / impostors - far), -float(false[at])))
    return int(np.searchsorted(false, false[best], side="right")) - 1


def _next_observed(genuine: SortedScores, impostor: SortedScores, values: Array) -> Array:
    """The smallest score of either class above each value; +∞ where there is none."""
    found = np.full(len(values), np.inf)
    for side in (genuine, impostor):
        place = np.searchsorted(side.scores, values, side="right")
        there = place < len(side.scores)
        found[there] = np.minimum(found[there], side.scores[place[there]])
    return found
