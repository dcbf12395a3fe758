"""The Fréchet distance of two sets of feature vectors, each seen as a normal distribution.

    d² = |μ₁ − μ₂|² + tr C₁ + tr C₂ − 2 tr √(C₁C₂)

The published way takes the matrix square root of the product, which costs half a minute at 2,048 dimensions, hours
at 12,288, and turns complex when there are fewer rows than dimensions. With centred and scaled rows A and B, such
that AᵀA and BᵀB are the covariances, the non-zero eigenvalues of their product are those of (ABᵀ)(ABᵀ)ᵀ, so

    tr √(C₁C₂) = the sum of the singular values of ABᵀ

- fewer rows than dimensions on one side: exactly that, an n₁ × n₂ matrix; a group is a submatrix;
- otherwise: from the covariances (`roots.py`); where that would lose digits (dead channels), the singular values of
  R₁R₂ᵀ from QR factors of the rows.

No epsilon on the diagonal, no complex number, no failure on singular input. What rounding leaves below zero is zero.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.metric import POSITIVE, Column, Direction, Linear, Metric, Numbers, Resampling, Scale
from evenhand.core.optional import linalg
from evenhand.core.records import Array, Records, blocks
from evenhand.metrics.distances.frames import (
    SIDE,
    Floats,
    FrameMetric,
    Frames,
    Sides,
    cell_by_cell,
    collect,
    columns_of,
    sides,
    too_few,
)
from evenhand.metrics.distances.roots import sum_of_singular_values, trace_of_root, upper_covariance

_WHAT = "a Fréchet distance"
_GRAM_BYTES = 1 << 30  # the largest cross-Gram matrix that is shared between cells
_BLOCK = 2048  # dimensions that are brought to double precision at once


@dataclass(frozen=True, eq=False)
class Moments:
    """Count, mean and covariance of a set."""

    count: float
    mean: Floats  # (dimensions,)
    covariance: Floats  # (dimensions, dimensions), divided by count − 1


def frechet_distance(first: Array, second: Array) -> float:
    """The squared Fréchet distance of two sets of vectors (rows, dimensions), in double precision.

    Symmetric, never negative, below 1e-9 of the trace for equal sets. Refuses fewer than two rows on a side (a
    single row has no covariance) and vectors of unequal length.

    >>> here, there = np.array([[0.0], [2.0]]), np.array([[3.0], [5.0]])
    >>> frechet_distance(here, there)
    9.0
    """
    first, second = np.atleast_2d(np.asarray(first)), np.atleast_2d(np.asarray(second))
    if first.shape[1] != second.shape[1]:
        raise DataError(
            f"vectors of {first.shape[1]} and of {second.shape[1]} values have no distance. "
            "Read both sets with the same network."
        )
    counts = len(first), len(second)
    if min(counts) < 2:
        raise DataError(f"{_WHAT} needs at least two rows on each side; there are {counts[0]} and {counts[1]}.")
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise DataError("a feature vector holds a value that is not finite. Leave such frames out, and count them.")
    # One side leads by what it holds, so that both orders of arguments do the same arithmetic.
    if (counts[0], float(first.sum())) > (counts[1], float(second.sum())):
        first, second = second, first
    return _of_rows(first, second, np.ones(len(first)), np.ones(len(second)))


def frechet_of_moments(first: Moments, second: Moments) -> float:
    """The squared Fréchet distance from means and covariances.

    Eigenvalues within rounding of zero count as zero: a covariance in double precision can't distinguish them.

    >>> unit = Moments(10.0, np.zeros(2), np.eye(2))
    >>> round(frechet_of_moments(unit, Moments(10.0, np.array([3.0, 4.0]), 4 * np.eye(2))), 12)
    27.0
    """
    if np.trace(first.covariance) > np.trace(second.covariance):
        first, second = second, first  # both orders of arguments do the same arithmetic
    traces = float(np.trace(first.covariance) + np.trace(second.covariance))

    def from_factors() -> float:
        return sum_of_singular_values(_symmetric_root(first).T @ _symmetric_root(second))

    upper_1, upper_2 = (np.asfortranarray(np.triu(side.covariance)) for side in (first, second))
    return _assemble(first.mean - second.mean, traces, trace_of_root(upper_1, upper_2, from_factors))


@dataclass(frozen=True)
class Frechet(FrameMetric):
    """The squared Fréchet distance between the features of synthesised and of real frames; lower is closer.

    Keeps the features: exact at every size, and the right form whenever there are fewer frames than dimensions. The
    distance is biased upwards for small sets, so compare groups at equal size. With `among`, only rows of which that
    column is true are on either side. `nothing` is the value of a cell without any frame, where a publication
    defines one; it is undefined otherwise.
    """

    name: str
    feature: str
    side: str = SIDE
    among: str | None = None
    nothing: float | None = None
    output_scale: ClassVar[Scale] = POSITIVE

    def result(self, part: Frames, whole: Frames) -> Mapping[str, Column]:
        cells = list(sides(part))
        columns = cell_by_cell(cells, self.outputs, _WHAT, 2, _distances(part, cells))
        if self.nothing is not None:
            columns["distance"].values[[both.counts == (0, 0) for both in cells]] = self.nothing
        return columns


@dataclass(frozen=True, eq=False)
class TwoMoments(Linear):
    """Counts, sums and sums of products of the features on both sides; side 0 is real, 1 is synthesised."""

    count: Array  # (cells, 2)
    sums: Array  # (cells, 2, dimensions)
    products: Array  # (cells, 2, dimensions, dimensions)
    lost: Array  # (cells,)


@dataclass(frozen=True)
class FrechetOfMoments(Metric[TwoMoments]):
    """The squared Fréchet distance between synthesised and real frames, from sums that add; lower is closer.

    Keeps 2 · dimensions² numbers per cell and no frame: the form for sets much larger than the dimension. `origin`
    is subtracted from every value first; features that lie far from zero lose digits without it.
    """

    name: str
    feature: str
    side: str = SIDE
    origin: float = 0.0
    resampling: ClassVar[Resampling] = Resampling.SUBSAMPLE
    output_scale: ClassVar[Scale] = POSITIVE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"distance": Direction.LOWER}

    @property
    def columns(self) -> tuple[str, ...]:
        return columns_of(self.feature, self.side)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> TwoMoments:
        kept = collect(rows, self.feature, self.side, cells, size)
        dimensions = kept.features.shape[1]
        state = TwoMoments(
            np.zeros((size, 2), dtype=np.int64),
            np.zeros((size, 2, dimensions)),
            np.zeros((size, 2, dimensions, dimensions)),
            kept.per_cell(~kept.usable),
        )
        for cell in np.unique(kept.codes):
            for side in (0, 1):
                inside = (kept.codes == cell) & (kept.synthesised == bool(side)) & kept.usable
                for span in blocks(int(inside.sum()), 4096):
                    x = kept.features[np.flatnonzero(inside)[span]].astype(np.float64) - self.origin
                    state.count[cell, side] += len(x)
                    state.sums[cell, side] += x.sum(axis=0)
                    state.products[cell, side] += x.T @ x
        return state

    def result(self, part: TwoMoments, whole: TwoMoments) -> Mapping[str, Column]:
        values, reasons = np.full(part.size, np.nan), [""] * part.size
        for cell in range(part.size):
            counts = round(float(part.count[cell, 1])), round(float(part.count[cell, 0]))
            if min(counts) < 2:
                reasons[cell] = too_few(_WHAT, counts, 2)
                continue
            moments = []
            for side in (1, 0):
                count = float(part.count[cell, side])
                mean = part.sums[cell, side] / count
                covariance = (part.products[cell, side] - count * np.outer(mean, mean)) / (count - 1)
                moments.append(Moments(count, mean, covariance))
            values[cell] = frechet_of_moments(*moments)
        return {"distance": Numbers(values, reasons)}

    def missing(self, state: TwoMoments) -> Array:
        return np.asarray(state.lost)


def _distances(state: Frames, cells: list[Sides]) -> Callable[[Sides], float]:
    """How the cells of a state are computed: from one cross-Gram matrix that all share, or each from its rows."""
    dimensions = state.features.shape[1]
    made, real = (np.flatnonzero(state.usable & (state.synthesised == side)) for side in (True, False))
    small = [
        both for both in cells if min(both.counts) >= 2 and min(len(both.synthesised), len(both.real)) <= dimensions
    ]
    if len(small) < 2 or len(made) * len(real) * 8 > _GRAM_BYTES:
        return lambda side: _of_sides(state.features, side)
    return _SharedGram(state.features, made, real)


def _of_sides(rows: Array, side: Sides) -> float:
    return _of_rows(rows[side.synthesised], rows[side.real], side.synthesised_weights, side.real_weights)


class _SharedGram:
    """Distances of many subsets of the same rows: every one is a submatrix of one cross-Gram matrix."""

    def __init__(self, features: Array, made: Array, real: Array) -> None:
        # A common shift changes no distance, and keeps the centring of subsets from cancelling digits.
        used = np.concatenate([made, real])
        self._origin = features[used].mean(axis=0, dtype=np.float64)
        self._rows = features
        self._position = np.zeros(len(features), dtype=np.intp)
        self._position[made], self._position[real] = np.arange(len(made)), np.arange(len(real))
        self._cross = np.zeros((len(made), len(real)))
        self._norms = np.zeros(len(features))
        for span in blocks(features.shape[1], _BLOCK):
            x, y = (features[side, span].astype(np.float64) - self._origin[span] for side in (made, real))
            self._cross += x @ y.T
            self._norms[made] += np.einsum("ij,ij->i", x, x)
            self._norms[real] += np.einsum("ij,ij->i", y, y)

    def __call__(self, side: Sides) -> float:
        if min(len(side.synthesised), len(side.real)) > self._rows.shape[1]:
            return _of_sides(self._rows, side)
        u, v = side.synthesised_weights, side.real_weights
        n, m = u.sum(), v.sum()
        cross = self._cross[np.ix_(self._position[side.synthesised], self._position[side.real])]
        by_real_mean, by_made_mean = cross @ (v / m), (u / n) @ cross  # each row times the other side's mean
        centred = cross - by_real_mean[:, np.newaxis] - by_made_mean + float((u / n) @ by_real_mean)
        centred *= np.sqrt(u / (n - 1))[:, np.newaxis]
        centred *= np.sqrt(v / (m - 1))
        mean_made = (u / n) @ self._rows[side.synthesised].astype(np.float64) - self._origin
        mean_real = (v / m) @ self._rows[side.real].astype(np.float64) - self._origin
        traces = (float(u @ self._norms[side.synthesised]) - n * float(mean_made @ mean_made)) / (n - 1)
        traces += (float(v @ self._norms[side.real]) - m * float(mean_real @ mean_real)) / (m - 1)
        root = sum_of_singular_values(centred, traces=traces, empty=1)
        return _assemble(mean_made - mean_real, traces, root)


def _of_rows(first: Array, second: Array, first_weights: Floats, second_weights: Floats) -> float:
    """The distance of weighted rows; a row of weight 2 counts as two equal rows."""
    dimensions = first.shape[1]
    if min(len(first), len(second)) > dimensions:
        return _of_many_rows(first, second, first_weights, second_weights)
    mean_1, mean_2 = (
        (weights / weights.sum()) @ side.astype(np.float64, copy=False)
        for side, weights in ((first, first_weights), (second, second_weights))
    )
    scales = [np.sqrt(weights / (weights.sum() - 1))[:, np.newaxis] for weights in (first_weights, second_weights)]
    cross, traces = np.zeros((len(first), len(second))), 0.0
    for span in blocks(dimensions, _BLOCK):
        a = (first[:, span].astype(np.float64) - mean_1[span]) * scales[0]
        b = (second[:, span].astype(np.float64) - mean_2[span]) * scales[1]
        cross += a @ b.T
        traces += float(np.vdot(a, a)) + float(np.vdot(b, b))
    return _assemble(mean_1 - mean_2, traces, sum_of_singular_values(cross, traces=traces, empty=1))


def _of_many_rows(first: Array, second: Array, first_weights: Floats, second_weights: Floats) -> float:
    """The same for more rows than dimensions on both sides: the sets are centred once and met as covariances."""
    (a, mean_1), (b, mean_2) = _centred(first, first_weights), _centred(second, second_weights)
    counts = float(first_weights.sum()), float(second_weights.sum())
    covariances = upper_covariance(a, counts[0]), upper_covariance(b, counts[1])
    traces = float(np.trace(covariances[0]) + np.trace(covariances[1]))

    def from_triangles() -> float:
        r_1, r_2 = (linalg.qr(side, mode="r", overwrite_a=True, check_finite=False)[0] for side in (a, b))
        product = r_1[: a.shape[1]] @ r_2[: a.shape[1]].T
        return sum_of_singular_values(product) / float(np.sqrt((counts[0] - 1) * (counts[1] - 1)))

    return _assemble(mean_1 - mean_2, traces, trace_of_root(*covariances, from_triangles))


def _centred(rows: Array, weights: Floats) -> tuple[Floats, Floats]:
    """The rows in double precision without their mean, each times the root of its weight; and the mean."""
    centred = rows.astype(np.float64)
    mean = np.asarray((weights / weights.sum()) @ centred)
    centred -= mean
    if (weights != 1.0).any():
        centred *= np.sqrt(weights)[:, np.newaxis]
    return centred, mean


def _symmetric_root(side: Moments) -> Floats:
    """L with LLᵀ = covariance, without the directions that rounding alone has made.

    The covariance is a difference of products, so it is rounded at their size, not at its own.
    """
    eigenvalues, vectors = np.linalg.eigh(side.covariance)
    size = max(float(eigenvalues[-1]), 0.0) + 2.0 * float(side.mean @ side.mean)
    kept = eigenvalues > 32 * len(eigenvalues) * np.finfo(np.float64).eps * size
    return np.asarray(vectors[:, kept] * np.sqrt(eigenvalues[kept]), dtype=np.float64)


def _assemble(difference: Floats, traces: float, root: float) -> float:
    return max(0.0, float(difference @ difference) + traces - 2.0 * root)
