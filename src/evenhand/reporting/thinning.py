"""Curves reduced to what a screen can show.

A screen has so many columns of pixels. In each, a line is seen from its lowest to its highest point,
and it enters and leaves at its first and last: these four points are kept, all others fall on the
pixels between them. Where the axis is logarithmic, a linear one is served too, at a quarter, since a reader may switch.
"""

from __future__ import annotations

import numpy as np

from evenhand.core.metric import Curve
from evenhand.core.records import Array

COLUMNS = 600  # of pixels


def visible(curve: Curve, columns: int = COLUMNS) -> Array:
    """The places of the points that can be told apart on a screen, in order; the first and the last always.

    >>> x = np.arange(10_000) / 10_000
    >>> len(visible(Curve(x, x**2, "x", "y"), columns=100)) <= 4 * 2 * 101
    True
    """
    size = len(curve.x)
    if size <= 2 * columns:
        return np.arange(size)
    x, y = np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64)
    kept = np.zeros(size, dtype=np.bool_)
    kept[[0, -1]] = True
    positive = x > 0
    _mark(kept, x, y, columns // 4 if curve.log_x else columns)
    if curve.log_x and positive.any():
        smallest = max(float(x[positive].min()), float(x.max()) * 1e-8)
        _mark(kept, np.log(np.maximum(x, smallest)), y, columns)
    return np.flatnonzero(kept)


def _mark(kept: Array, x: Array, y: Array, columns: int) -> None:
    """Mark the first, last, lowest and highest point of every run of points in one column of pixels."""
    span = float(x.max() - x.min())
    if not np.isfinite(span) or span == 0:
        return
    column = ((x - x.min()) * (columns / span)).astype(np.int32)
    starts = np.flatnonzero(np.diff(column)) + 1
    starts = np.concatenate([[0], starts])
    ends = np.concatenate([starts[1:], [len(x)]]) - 1
    kept[starts] = kept[ends] = True
    steps = np.diff(y)
    if (steps >= 0).all() or (steps <= 0).all():
        return  # the lowest and the highest are the first and the last
    for extreme in (np.minimum, np.maximum):
        best = extreme.reduceat(y, starts)
        run = np.repeat(np.arange(len(starts)), ends - starts + 1)
        hits = np.flatnonzero(y == best[run])
        _, first = np.unique(run[hits], return_index=True)
        kept[hits[first]] = True
