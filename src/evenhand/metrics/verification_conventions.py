"""TAR at FAR in one draw of people, under the conventions other than `exact`.

All of them look at the comparisons around the threshold of `exact`, so what `operating_points` reads from whole
curves is read here from a few of the highest impostors. The values are the same, to the last bit.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from evenhand.core.records import Array
from evenhand.metrics.operating_points import Convention, kept_points, nearest_place
from evenhand.metrics.verification_tails import Floats, WeightedScores, WeightedTail

_REACH = 256  # impostors on either side of the threshold that are looked at first


def drawn_tar(
    convention: Convention, genuine: WeightedScores, impostor: WeightedTail, rate: float, refused: float
) -> float | None:
    """The true accept rate at a false accept rate; None when more of the impostors has to be seen.

    `refused` is the highest score that must be refused so that at most `rate` is accepted. Both classes count.
    """
    if convention is Convention.EXACT:
        return float(genuine.above(refused)) / genuine.total
    if convention is Convention.AT_IMPOSTOR:
        return _at_impostor(genuine, impostor, refused)
    if convention is Convention.LINEAR:
        return _linear(genuine, impostor, rate, refused)
    return _nearest(convention, genuine, impostor, rate, refused)


def _at_impostor(genuine: WeightedScores, impostor: WeightedTail, refused: float) -> float:
    """At the lowest impostor that is accepted; just above the highest impostor when none is."""
    place = impostor.places_above(refused)
    while place:
        start = max(place - _REACH, 0)
        counted = np.flatnonzero(impostor.values[start:place])
        if len(counted):
            value = impostor.tail.rising[impostor.tail.length - 1 - (start + int(counted[-1]))]
            return float(genuine.reaching(value)) / genuine.total
        place = start
    return float(genuine.above(refused)) / genuine.total


def _linear(genuine: WeightedScores, impostor: WeightedTail, rate: float, refused: float) -> float | None:
    """On the curve between its corners: it rises only where a genuine score is met, and slants where that is tied."""
    if rate >= 1.0:
        return 1.0
    low, high = float(genuine.above(refused)) / genuine.total, float(genuine.reaching(refused)) / genuine.total
    if low == high:
        return low
    above = impostor.above(refused)
    if above is None:
        return None
    stop = impostor.tail.length - int(np.searchsorted(impostor.tail.rising, impostor.like(refused), side="left"))
    if stop == impostor.tail.length and not impostor.tail.is_whole:
        return None  # ties may go on
    left, right = above / impostor.total, impostor.first(stop) / impostor.total
    return low + float((rate - left) / (right - left) * (high - low))


class _Stretch(NamedTuple):
    """Points of the curve from one score down to another, with nothing left out between them."""

    false: Floats
    true: Floats
    is_top: bool  # begins with the point at which nobody is accepted
    is_bottom: bool  # ends with the point at which everybody is

    def kept(self, convention: Convention) -> Array:
        """Which points a convention looks at."""
        if convention is Convention.NEAREST:
            return kept_points(self.false, self.true, is_top=self.is_top, is_bottom=self.is_bottom)
        return np.ones(len(self.false), dtype=np.bool_)


def _nearest(
    convention: Convention, genuine: WeightedScores, impostor: WeightedTail, rate: float, refused: float
) -> float | None:
    """At the point whose rate is nearest; of equally near ones the largest rate, then the last point."""
    place, reach = impostor.places_above(refused), _REACH
    while True:
        first, last = max(place - reach, 0), min(place + reach, impostor.tail.length)
        stretch = _stretch(genuine, impostor, first, last)
        found = None if stretch is None else _nearest_in(stretch, convention, impostor.total, rate)
        if found is not None:
            return found / genuine.total
        if first == 0 and last == impostor.tail.length:
            return None
        reach *= 4


def _stretch(genuine: WeightedScores, impostor: WeightedTail, first: int, last: int) -> _Stretch | None:
    """The points at the scores of the impostors from the first to the last place; None when there are none."""
    is_top, is_bottom = first == 0, last == impostor.tail.length and impostor.tail.is_whole
    counted = np.flatnonzero(impostor.values[first:last])
    scores = impostor.tail.rising[impostor.tail.length - 1 - (first + counted)]
    before = impostor.first(first)
    reached = before + np.cumsum(impostor.values[first:last][counted], dtype=np.float64)
    ends = np.flatnonzero(np.append(scores[1:] != scores[:-1], True)) if len(scores) else counted
    if not is_bottom:
        ends = ends[:-1]  # ties may go on
        if not len(ends):
            return None
    scores, reached = scores[ends], reached[ends]
    begin = 0 if is_bottom else int(np.searchsorted(genuine.scores, scores[-1], side="left"))
    end = len(genuine.scores)
    if not is_top:
        if not len(scores):
            return None
        end = int(np.searchsorted(genuine.scores, scores[0], side="right"))
    own = genuine.scores[begin:end][np.diff(genuine.tail[begin : end + 1]) != 0]
    thresholds = np.union1d(own, scores)[::-1]
    false = np.concatenate([[before], reached])[np.searchsorted(-scores, -thresholds, side="right")]
    true = genuine.reaching(thresholds)
    if is_top:
        false, true = np.concatenate([[0.0], false]), np.concatenate([[0.0], true])
    return _Stretch(false, true, is_top, is_bottom)


def _nearest_in(stretch: _Stretch, convention: Convention, total: float, rate: float) -> float | None:
    """The weight of genuine comparisons accepted at the nearest point; None when a point outside might be nearer."""
    kept = np.flatnonzero(stretch.kept(convention))
    if not len(kept):
        return None
    nearest = int(kept[nearest_place(stretch.false[kept], total, rate)])
    best = float(np.abs(stretch.false[nearest] / total - rate))
    above_all = stretch.is_top or rate - stretch.false[0] / total > best
    below_all = stretch.is_bottom or stretch.false[-1] / total - rate > best
    if not (above_all and below_all):
        return None
    return float(stretch.true[nearest])
