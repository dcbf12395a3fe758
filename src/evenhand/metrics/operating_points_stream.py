"""TAR at FAR at the nearest point of the ROC, of more scores than fit into memory.

The convention `nearest` keeps the points at which the curve bends, and takes the one whose rate is nearest. To know
the bends around a rank every distinct score there must be known, until one is found on either side. Mostly that is
inside the bin of scores that the rank lies in; else the stream is passed once more, over a wider range of bins, and
where that would take too much memory, over the next bins on both sides, until a bend is met.
A stream with few impostors is simply sorted.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.metrics.operating_points import (
    NOTHING,
    Convention,
    RatePoint,
    SortedScores,
    nearest_between,
    rates_at,
)
from evenhand.metrics.score_stream import (
    FirstPass,
    PassPlan,
    Stream,
    first_pass,
    from_keys,
    second_pass,
    streamed_scores,
)

SORTED_WHOLE = 1 << 24
"""Up to so many impostors are sorted all together: 64 MB."""
MOST_BINS = 256
"""So many bins are counted score by score at a time: 128 MB."""


def streamed_rates(stream: Stream, rates: Sequence[float], convention: Convention) -> list[RatePoint]:
    """TAR at FAR of a stream under any convention, as from all scores at once.

    Where the curve is straight over many bins around a rate, the convention `nearest` reads the stream many times.

    >>> from evenhand.metrics.score_stream import ScoreBlock
    >>> scores, same = np.array([0.9, 0.4, 0.5, 0.1], dtype=np.float32), np.array([True, True, False, False])
    >>> streamed_rates(lambda: [ScoreBlock(scores, same)], [0.4], Convention.NEAREST)[0].fmr
    0.5
    """
    if convention is not Convention.NEAREST:
        return rates_at(*streamed_scores(stream, rates), rates, convention)
    first = first_pass(stream())
    genuine = SortedScores.of(first.genuine)
    if first.total <= SORTED_WHOLE:
        return rates_at(genuine, SortedScores.of(_impostors(stream)), rates, convention)
    return [_nearest(stream, first, genuine, rate) for rate in rates]


def _nearest(stream: Stream, first: FirstPass, genuine: SortedScores, rate: float) -> RatePoint:
    if not genuine.total:
        return NOTHING
    occupied = np.flatnonzero(first.impostors)
    walk = _Walk.begun(int(np.searchsorted(occupied, _bin_of(first, rate))), len(occupied) - 1)
    best: RatePoint | None = None
    while True:
        bins = occupied[walk.looked_at()]
        second = second_pass(stream(), _plan(first, bins))
        ranges = _exact_ranges(bins, occupied, second.inside)
        seen = -np.inf if walk.low == 0 else ranges[0][0], np.inf if walk.high == walk.last else ranges[-1][1]
        best, is_settled = nearest_between(genuine, second.impostor(), rate, ranges, seen, best)
        if is_settled:
            assert best is not None
            return best
        walk = walk.further()


class _Walk(NamedTuple):
    """Which of the occupied bins are looked at score by score: those around the rank, then further and further."""

    centre: int
    last: int
    low: int  # what was seen, with what is looked at now: from here
    high: int  # to here
    runs: tuple[tuple[int, int], ...]  # what is looked at now

    @classmethod
    def begun(cls, centre: int, last: int) -> _Walk:
        return cls(centre, last, centre, centre, ((centre, centre),))

    def looked_at(self) -> NDArray[np.int64]:
        return np.unique(np.concatenate([np.arange(low, high + 1) for low, high in self.runs]))

    def further(self) -> _Walk:
        """A wider range while it fits; then the next bins on both sides.

        Whether the curve bends at a score is known when its neighbours are, so two bins are looked at again.
        """
        around = 4 * max(self.centre - self.low, self.high - self.centre) + 1
        if 2 * around + 1 <= MOST_BINS:
            low, high = max(self.centre - around, 0), min(self.centre + around, self.last)
            return self._replace(low=low, high=high, runs=((low, high),))
        step = max(MOST_BINS // 2 - 2, 1)
        low, high = max(self.low - step, 0), min(self.high + step, self.last)
        down = ((low, min(self.low + 1, self.last)),) if self.low > 0 else ()
        up = ((max(self.high - 1, 0), high),) if self.high < self.last else ()
        return self._replace(low=low, high=high, runs=(*down, *up))


def _bin_of(first: FirstPass, rate: float) -> int:
    """The bin that the rank lies in; the lowest when everything may be accepted."""
    found = first.plan([rate]).bins
    return int(found[0] if len(found) else first.plan([np.nextafter(1.0, 0.0)]).bins[0])


def _impostors(stream: Stream) -> NDArray[np.float32]:
    parts = [np.asarray(block.score, dtype=np.float32)[~np.asarray(block.same, dtype=np.bool_)] for block in stream()]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


def _plan(first: FirstPass, bins: NDArray[np.int64]) -> PassPlan:
    """Look into these bins, and cut at their edges as well as at all genuine scores."""
    bounds = np.concatenate([bins, np.minimum(bins + 1, (1 << 16) - 1)]).astype(np.uint32)
    edges = from_keys(np.left_shift(bounds, np.uint32(16), dtype=np.uint32))
    return PassPlan(bins, np.unique(np.concatenate([first.plan([]).cuts, edges[np.isfinite(edges)]])))


def _exact_ranges(
    bins: NDArray[np.int64], occupied: NDArray[np.int64], inside: NDArray[np.int64]
) -> list[tuple[float, float]]:
    """Lowest and highest impostor of every run of neighbouring bins; infinite where there is none beyond."""
    place = np.searchsorted(occupied, bins)
    ends = np.flatnonzero(np.diff(place, append=-2) != 1)
    starts = np.concatenate([[0], ends[:-1] + 1])
    found = []
    for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
        low = -np.inf if place[start] == 0 else _score(bins[start], int(np.flatnonzero(inside[start])[0]))
        high = np.inf if place[end] == len(occupied) - 1 else _score(bins[end], int(np.flatnonzero(inside[end])[-1]))
        found.append((low, high))
    return found


def _score(upper: int, lower: int) -> float:
    return float(from_keys(np.array([(int(upper) << 16) | lower], dtype=np.uint32))[0])
