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
    """The places of the points that can be distinguished on a screen, in order; the first and the last always.

    >>> x = np.arange(10_000) / 10_000
    >>> len(visible(Curve(x, x**2, "x", "y"), columns=100)) <= 4 * 2 * 101
    True
    """
    size = len(curve.x)
    if size <= 2 * columns:
        return np.arange(size)
    x, y = np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64)
    low, high = float(x.min()), float(x.max())
    kept = np.zeros(size, dtype=np.bool_)
    kept[[0, -1]] = True
    if not (np.isfinite(high - low) and high > low):
        return np.flatnonzero(kept)
    edges = [np.linspace(low, high, (columns // 4 if curve.log_x else columns) + 1)]
    if curve.log_x and high > 0:
        smallest = max(float(x[x > 0].min()), high * 1e-8)
        edges.append(np.geomspace(smallest, high, columns + 1))
    ordered = _is_sorted(y)
    for lines in edges:
        starts = _runs(x, lines[1:-1])
        ends = np.concatenate([starts[1:], [size]]) - 1
        kept[starts] = kept[ends] = True
        if not ordered:  # else the lowest and the highest are the first and the last
            _mark_extremes(kept, y, starts, ends)
    return np.flatnonzero(kept)


def _runs(x: Array, edges: Array) -> Array:
    """Where each run of points in one column of pixels begins; by bisection when the points are in order."""
    if _is_sorted(x):
        starts = np.searchsorted(x, edges) if x[0] <= x[-1] else len(x) - np.searchsorted(x[::-1], edges)
        return np.unique(np.concatenate([[0], starts[starts < len(x)]]))
    column = np.searchsorted(edges, x, side="right")
    return np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1])


def _mark_extremes(kept: Array, y: Array, starts: Array, ends: Array) -> None:
    """Mark the lowest and the highest point of every run."""
    run = np.repeat(np.arange(len(starts)), ends - starts + 1)
    for extreme in (np.minimum, np.maximum):
        hits = np.flatnonzero(y == extreme.reduceat(y, starts)[run])
        _, first = np.unique(run[hits], return_index=True)
        kept[hits[first]] = True


def _is_sorted(values: Array) -> bool:
    return bool((values[1:] >= values[:-1]).all() or (values[1:] <= values[:-1]).all())
