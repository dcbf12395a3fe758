"""TAR at FAR at the nearest point of the ROC, of more scores than fit into memory.

The convention `nearest` keeps the points at which the curve bends, and takes the one whose rate is nearest. To know
the bends around a rank every distinct score there must be known, until one is found on either side. Mostly that is
inside the bin of scores that the rank lies in; else the stream is passed once more, over a wider range of bins.
A stream with few impostors is simply sorted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.metrics.operating_points import NEAREST, Convention, Reading, Side, nearest_between, readings
from evenhand.metrics.score_stream import FirstPass, Plan, Stream, first_pass, from_keys, second_pass, streamed_sides

SORTED_WHOLE = 1 << 24
"""Up to so many impostors are sorted all together: 64 MB."""
MOST_BINS = 256
"""So many bins are counted score by score at most: 128 MB."""


def streamed_readings(stream: Stream, rates: Sequence[float], convention: Convention) -> list[Reading]:
    """TAR at FAR of a stream under any convention, as from all scores at once.

    Raises ValueError when the curve is straight over more than `MOST_BINS` bins around a rate, and the convention
    is `nearest`.

    >>> from evenhand.metrics.score_stream import Block
    >>> scores, same = np.array([0.9, 0.4, 0.5, 0.1], dtype=np.float32), np.array([True, True, False, False])
    >>> streamed_readings(lambda: [Block(scores, same)], [0.4], Convention.NEAREST)[0].fmr
    0.5
    """
    if convention is not NEAREST[0]:
        return readings(*streamed_sides(stream, rates), rates, convention)
    first = first_pass(stream())
    genuine = Side.of(first.genuine)
    if first.total <= SORTED_WHOLE:
        return readings(genuine, Side.of(_impostors(stream)), rates, convention)
    return [_nearest(stream, first, genuine, rate) for rate in rates]


def _nearest(stream: Stream, first: FirstPass, genuine: Side, rate: float) -> Reading:
    occupied = np.flatnonzero(first.impostors)
    around = 0
    while True:
        plan = _plan(first, occupied, rate, around)
        if len(plan.bins) > MOST_BINS:
            raise ValueError(
                f"at the rate {rate:g} the curve has no bend within {MOST_BINS} bins of scores: `nearest` can't be "
                "read in bounded memory"
            )
        second = second_pass(stream(), plan)
        everything = len(plan.bins) == len(occupied)
        ranges = None if everything else _exact_ranges(plan.bins, occupied, second.inside)
        found = nearest_between(genuine, second.impostor(), [rate], ranges)
        if found is not None:
            return found[0]
        around = 4 * around + 1


def _impostors(stream: Stream) -> NDArray[np.float32]:
    parts = [np.asarray(block.score, dtype=np.float32)[~np.asarray(block.same, dtype=np.bool_)] for block in stream()]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.float32)


def _plan(first: FirstPass, occupied: NDArray[np.int64], rate: float, around: int) -> Plan:
    """The bin of the rank and so many occupied ones on both sides."""
    plan = first.plan([rate])
    if not len(plan.bins) and len(occupied):  # everything may be accepted: the end of the curve
        plan = first.plan([np.nextafter(1.0, 0.0)])
    if not around or not len(plan.bins):
        return plan
    place = np.searchsorted(occupied, plan.bins)[:, None] + np.arange(-around, around + 1)
    bins = occupied[np.unique(np.clip(place, 0, len(occupied) - 1))]
    bounds = np.concatenate([bins, np.minimum(bins + 1, (1 << 16) - 1)]).astype(np.uint32)
    edges = from_keys(np.left_shift(bounds, np.uint32(16), dtype=np.uint32))
    return Plan(bins, np.unique(np.concatenate([plan.cuts, edges[np.isfinite(edges)]])))


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
