"""Bootstrap resamples: how often each sampled unit is in a draw.

A draw (one resample) is a row of whole-number weights on units (subjects, images, videos), never a
copy of the data: multiplied with per-unit sums, one matrix product redraws every
metric in every group. Units are drawn over the whole data set, or inside strata.

A comparison of two people is weighted by the product of their weights, a comparison
of a person with itself by that person's weight. Counting
comparisons by pairs of subjects first makes a draw two products of small matrices,
however many million comparisons there were.

Metrics that duplicated rows would distort are drawn without replacement instead.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.core.records import blocks
from evenhand.core.sparse import SparseMatrix
from evenhand.stats.checks import Floats, Integers, StatisticsError, floats

EXACT_SINGLE = float(2**24)
"""Below it, sums of whole numbers in single precision are exact."""
_BLOCK_CELLS = 8_000_000

Weights = NDArray[np.float32]


def weight_blocks(
    units: int, draws: int, rng: np.random.Generator, *, strata: ArrayLike | None = None
) -> Iterator[Weights]:
    """How often each unit is drawn, with replacement, in each draw (draws × units), in blocks of bounded memory.

    With `strata`, a code per unit, every stratum keeps its number of units. The same generator
    gives the same weights, whatever the size of the blocks.

    >>> next(weight_blocks(3, 2, np.random.default_rng(0))).sum(axis=1)
    array([3., 3.], dtype=float32)
    """
    if units <= 0:
        raise StatisticsError("there are no units to draw from: give at least one row with a unit.")
    members = None if strata is None else [np.flatnonzero(strata == code) for code in np.unique(strata)]
    for block in blocks(draws, max(1, _BLOCK_CELLS // units)):
        weights = np.zeros((block.stop - block.start, units), dtype=np.float32)
        if members is None:
            for row, drawn in enumerate(rng.integers(0, units, size=(len(weights), units), dtype=np.int32)):
                weights[row] = np.bincount(drawn, minlength=units)  # row by row, as a row stays in the cache
        else:
            for row in weights:  # one draw after the other, so that blocks do not matter
                for inside in members:
                    drawn = rng.integers(0, len(inside), size=len(inside), dtype=np.int32)
                    row[inside] = np.bincount(drawn, minlength=len(inside))
        yield weights


def unit_weights(units: int, draws: int, rng: np.random.Generator, *, strata: ArrayLike | None = None) -> Weights:
    """All rows of `weight_blocks` at once."""
    return np.concatenate([np.zeros((0, units), np.float32), *weight_blocks(units, draws, rng, strata=strata)])


def subsample_weights(units: int, taken: int, draws: int, rng: np.random.Generator) -> Weights:
    """Which `taken` of the units are in each draw, without replacement (draws × units, 0 or 1).

    >>> subsample_weights(4, 2, 3, np.random.default_rng(0)).sum(axis=1)
    array([2., 2., 2.], dtype=float32)
    """
    if not 0 < taken < units:
        raise StatisticsError(f"{taken} of {units} units: a subsample takes at least one unit and leaves at least one.")
    weights = np.zeros((draws, units), dtype=np.float32)
    for row in range(draws):
        weights[row, rng.choice(units, size=taken, replace=False, shuffle=False)] = 1.0
    return weights


def table_draws(counts: ArrayLike, draws: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Redrawn counts of a table of independent rows (draws × the table's shape).

    Drawing n rows with replacement and counting them by cell is one multinomial draw of the cells.

    >>> table_draws([[5, 5], [0, 10]], 2, np.random.default_rng(0)).sum(axis=(1, 2))
    array([20, 20])
    """
    table = np.asarray(counts)
    total = int(table.sum())
    if total == 0:
        raise StatisticsError("there are no rows to draw from: the table of counts is all zero.")
    drawn = rng.multinomial(total, table.ravel() / total, size=draws)
    return drawn.reshape(draws, *table.shape)


class PairCounts(NamedTuple):
    """Comparisons counted by the two people compared.

    `genuine` counts a person's comparisons with themselves, `impostor` those of two people;
    both for all comparisons and for those that are errors, one table per threshold.
    """

    genuine: Floats  # (units,)
    genuine_errors: Floats  # (thresholds, units)
    impostor: SparseMatrix  # (units, units), each comparison once, at the smaller unit's row
    impostor_errors: tuple[SparseMatrix, ...]  # per threshold


def pair_counts(
    unit_a: ArrayLike, unit_b: ArrayLike, scores: ArrayLike, thresholds: ArrayLike, units: int
) -> PairCounts:
    """Comparisons and errors at fixed thresholds by pair of subjects.

    A comparison is accepted when its score reaches the threshold. The same subject on both sides
    makes it genuine, and its error a false non-match; otherwise an accepted one is a false match.
    A score that is not a number is never accepted.
    """
    a, b, s = np.asarray(unit_a, dtype=np.int64), np.asarray(unit_b, dtype=np.int64), floats(scores)
    s = np.where(np.isnan(s), -np.inf, s)
    genuine = a == b
    own = a[genuine]
    own_scores = s[genuine]
    limits = floats(thresholds).ravel()
    misses = [np.bincount(own[own_scores < limit], minlength=units) for limit in limits]
    other = ~genuine
    first, second, others = np.minimum(a, b)[other], np.maximum(a, b)[other], s[other]
    place = first * np.int64(units) + second
    return PairCounts(
        np.bincount(own, minlength=units).astype(np.float64),
        floats(misses).reshape(len(limits), units),
        _counted(place, units),
        tuple(_counted(place[others >= limit], units) for limit in limits),
    )


def dyadic_totals(weights: Weights, counts: SparseMatrix, inside: NDArray[np.bool_] | None = None) -> Floats:
    """Σ wᵢwⱼ·counts[i, j] in every draw, over all pairs or over those with both units in a group.

    Whole counts and whole weights are added exactly.

    >>> table = SparseMatrix.of_entries([0], [1], (2, 2), [2.0])
    >>> dyadic_totals(np.array([[1, 1], [2, 3]], dtype=np.float32), table)
    array([ 2., 12.])
    """
    if inside is not None and not inside.all():
        chosen = np.flatnonzero(inside)
        weights, counts = weights[:, chosen], counts.take(chosen).take_columns(chosen)
    size = counts.shape[0] * counts.shape[1]
    entries = len(counts.columns)
    if not entries:
        return np.zeros(len(weights))
    if entries > 0.02 * size:
        table = counts.dense()
        largest = float(np.abs(table).sum(axis=1).max()) * float(weights.max(initial=0.0))
        kind = np.float32 if largest < EXACT_SINGLE else np.float64
        inner = weights.astype(kind) @ table.T.astype(kind)
    else:
        inner = (counts @ weights.T.astype(np.float64)).T
    return floats(np.einsum("di,di->d", weights, inner, dtype=np.float64))


def _counted(place: Integers, units: int) -> SparseMatrix:
    """A sparse table of how often each flattened pair occurs."""
    if units * units <= max(4 * len(place), 1_000_000):
        table = np.bincount(place, minlength=units * units)
        pairs = np.flatnonzero(table)
        counts = table[pairs]
    else:
        pairs, counts = np.unique(place, return_counts=True)
    return SparseMatrix.of_entries(pairs // units, pairs % units, (units, units), counts.astype(np.float64))
