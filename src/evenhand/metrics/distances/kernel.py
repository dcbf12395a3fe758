"""The kernel distance (KID): the squared maximum mean discrepancy with a polynomial kernel.

    k(x, y) = (x·y / dimensions + 1)³

As a U-statistic over all pairs of different frames it is unbiased at every size: unlike the Fréchet distance it does
not grow when a set gets smaller, so groups of unequal size can be compared as they are. It can come out below zero
when the sets are alike; cutting it off there would bring the bias back.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.metric import POSITIVE, Column, Numbers, Scale
from evenhand.core.records import Array, blocks
from evenhand.metrics.distances.frames import SIDE, Floats, FrameMetric, Frames, Sides, cell_by_cell, sides, too_few

_WHAT = "an unbiased kernel distance"
_TILE = 2048  # rows and columns of the kernel matrix that are in memory at once
_STRIP = 64  # rows of it that are cubed at once
_MANY = 1 << 22  # pairs of rows from which on products are taken in single precision


def kernel_distance(first: Array, second: Array) -> float:
    """The unbiased squared kernel distance of two sets of vectors (rows, dimensions).

    >>> same = np.array([[0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
    >>> kernel_distance(same, same + 10) > 100
    True
    """
    first, second = np.atleast_2d(np.asarray(first)), np.atleast_2d(np.asarray(second))
    if min(len(first), len(second)) < 2:
        raise DataError(f"{_WHAT} needs at least two rows on each side; there are {len(first)} and {len(second)}.")
    if first.shape[1] != second.shape[1]:
        raise DataError(f"vectors of {first.shape[1]} and of {second.shape[1]} values have no distance.")
    return float(_unbiased(first, second, np.ones((1, len(first))), np.ones((1, len(second))))[0])


@dataclass(frozen=True)
class KernelDistance(FrameMetric):
    """The unbiased squared kernel distance (KID) between features of synthesised and real frames; lower is closer.

    Cubic polynomial kernel over all pairs. Comparable between sets of unequal size; may be slightly negative.
    """

    name: str
    feature: str
    side: str = SIDE

    def result(self, part: Frames, whole: Frames) -> Mapping[str, Column]:
        weights = part.basis_weights(np.arange(part.size))[:, part.codes].astype(np.float64)
        made, real = (np.flatnonzero(part.usable & (part.synthesised == side)) for side in (True, False))
        u, v = weights[:, made], weights[:, real]
        counts = [(round(float(a)), round(float(b))) for a, b in zip(u.sum(axis=1), v.sum(axis=1), strict=True)]
        enough = np.array([min(pair) >= 2 for pair in counts])
        values = np.full(part.size, np.nan)
        if enough.any():
            values[enough] = _unbiased(part.features[made], part.features[real], u[enough], v[enough])
        return {"distance": Numbers(values, [too_few(_WHAT, pair, 2) for pair in counts])}


def _unbiased(first: Array, second: Array, u: Floats, v: Floats) -> Floats:
    """The distance in every cell: u (cells, first rows) and v (cells, second rows) say how often a row counts."""
    n, m = u.sum(axis=1), v.sum(axis=1)
    # Products of large sets are taken in single precision: each is rounded to some 1e-7 in either direction, and the
    # mean of millions of them is far more exact than one. The sums of tiles are added up in double precision.
    kind = np.float32 if len(first) * len(second) >= _MANY and first.dtype == np.float32 else np.float64
    x, y = (np.divide(side, np.sqrt(side.shape[1]), dtype=kind, casting="same_kind") for side in (first, second))
    within_first = (_sums(x, x, u, u) - u @ _diagonal(first)) / (n * (n - 1))
    within_second = (_sums(y, y, v, v) - v @ _diagonal(second)) / (m * (m - 1))
    return np.asarray(within_first + within_second - 2 * _sums(x, y, u, v) / (n * m), dtype=np.float64)


def _sums(first: Array, second: Array, u: Floats, v: Floats) -> Floats:
    """Σᵢⱼ uᵢ k(xᵢ, yⱼ) vⱼ per cell, one tile of the kernel matrix at a time; of a set with itself each pair once.

    k(x, y) = (x·y + 1)³ of rows that come divided by √dimensions. Products are cubed in strips that stay in the cache.
    """
    total = np.zeros(len(u))
    columns_of_v = np.ascontiguousarray(v.T, dtype=first.dtype)
    for rows in blocks(len(first), _TILE):
        for columns in blocks(len(second), _TILE):
            if first is second and columns.start < rows.start:
                continue  # the mirror image of a tile that counts twice
            products = first[rows] @ second[columns].T
            times = 2 if first is second and columns.start > rows.start else 1
            for strip in blocks(len(products), _STRIP):
                plus_one = products[strip]
                plus_one += 1.0
                cubes = plus_one * plus_one
                cubes *= plus_one
                total += times * np.einsum("ci,ic->c", u[:, rows][:, strip], cubes @ columns_of_v[columns])
    return total


def _diagonal(rows: Array) -> Floats:
    x = rows.astype(np.float64, copy=False)
    values = np.asarray(np.einsum("ij,ij->i", x, x) / rows.shape[1] + 1.0, dtype=np.float64)
    return values * values * values


@dataclass(frozen=True)
class GaussianDistance(FrameMetric):
    """The squared Gaussian kernel distance (CMMD) of unit features of synthesised and real frames; lower is closer.

    Features are made unit length; k(x, y) = exp(−|x − y|² / 2σ²) with σ = 10, every pair counts, a frame with itself
    too, times 1,000 (Jayasumana and others, 2024).
    """

    name: str
    feature: str
    side: str = SIDE
    sigma: float = 10.0
    times: float = 1000.0
    output_scale: ClassVar[Scale] = POSITIVE

    def result(self, part: Frames, whole: Frames) -> Mapping[str, Column]:
        def distance(both: Sides) -> float:
            x, y = (_unit(part.features[rows]) for rows in (both.synthesised, both.real))
            u, v = both.synthesised_weights / both.counts[0], both.real_weights / both.counts[1]
            parts = [a @ self._kernel(p, q) @ b for p, q, a, b in ((x, x, u, u), (y, y, v, v), (x, y, u, v))]
            return self.times * max(0.0, float(parts[0] + parts[1] - 2 * parts[2]))

        return cell_by_cell(sides(part), self.outputs, "a Gaussian kernel distance", 1, distance)

    def _kernel(self, first: Floats, second: Floats) -> Floats:
        return np.asarray(np.exp((first @ second.T - 1.0) / self.sigma**2), dtype=np.float64)  # |x − y|² = 2 − 2 x·y


def _unit(rows: Array) -> Floats:
    values = rows.astype(np.float64)
    return np.asarray(values / np.maximum(np.linalg.norm(values, axis=1, keepdims=True), 1e-12))
