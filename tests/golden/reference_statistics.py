"""Statistics by their definition, for data of a few rows: what the package computes another way, or for a metric."""

from __future__ import annotations

from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.stats.checks import divide
from evenhand.stats.contrasts import ContrastInterval, difference_of_limits
from evenhand.stats.intervals import wilson
from evenhand.stats.permutation import GapReference, gap_of


def newcombe(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> ContrastInterval:
    """Differences of two independent proportions, from the Wilson limits of both.

    >>> d = newcombe(10, 20, 15, 20)
    >>> float(d.value), round(float(d.low), 4), round(float(d.high), 4)
    (-0.25, -0.4936, 0.0468)
    """
    k1, n1, k2, n2 = (np.asarray(count, dtype=np.float64) for count in (k1, n1, k2, n2))
    return difference_of_limits(k1 / n1, wilson(k1, n1), k2 / n2, wilson(k2, n2))


def redrawn_means(weights: np.ndarray, sums: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """(draws, groups): ratios of the sums over units; NaN where nothing of a group was drawn."""
    return divide(weights.astype(np.float64) @ sums, weights.astype(np.float64) @ counts)


def redrawn_medians(
    values: np.ndarray, groups: np.ndarray, units: np.ndarray, size: int, weights: np.ndarray
) -> np.ndarray:
    """(draws, groups): the median of the rows, each repeated as often as its unit was drawn."""

    def median(group: int, times: np.ndarray) -> float:
        repeated = np.repeat(values[groups == group], times[units[groups == group]].astype(np.int64))
        return float(np.median(repeated)) if len(repeated) else np.nan

    return np.array([[median(group, times) for group in range(size)] for times in weights])


def exact_gap_reference(values: np.ndarray, labels: np.ndarray, size: int) -> GapReference:
    """The gap beside all distinct ways to deal out the labels; p is the share whose gap is at least as wide.

    >>> test = exact_gap_reference(np.array([1, 1, 1, 1, 1, 0, 0, 0, 0]), np.repeat([0, 1, 2], 3), 3)
    >>> test.permutations, round(test.p_value, 6), test.mean
    (1680, 0.142857, 0.5)
    """
    dealt = np.array(_arrangements(np.bincount(labels, minlength=size).tolist()))
    members = dealt[:, :, None] == np.arange(size)
    null = gap_of(divide((members * values[:, None]).sum(axis=1), members.sum(axis=1)))
    observed = float(gap_of(divide(np.bincount(labels, values, minlength=size), np.bincount(labels, minlength=size))))
    share = float(np.mean(null >= observed - 1e-12))
    return GapReference(observed, float(null.mean()), float(np.quantile(null, 0.95)), share, len(null), "exact")


def _arrangements(counts: list[int]) -> list[tuple[int, ...]]:
    """All distinct arrangements of labels that occur the given numbers of times."""
    if sum(counts) <= 1:
        return list(permutations([code for code, count in enumerate(counts) if count]))
    return [
        (code, *rest)
        for code, count in enumerate(counts)
        if count
        for rest in _arrangements([*counts[:code], count - 1, *counts[code + 1 :]])
    ]
