"""Statistics by their definition, for data of a few rows: what the package computes another way, or for a metric."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import binom

from evenhand.stats.checks import divide
from evenhand.stats.contrasts import ContrastInterval, difference_of_limits
from evenhand.stats.intervals import wilson
from evenhand.stats.permutation import gap_of


class GapReference(NamedTuple):
    """A gap beside the gaps of all permutations."""

    gap: float
    mean: float
    p_value: float
    permutations: int


def mcnemar_mid(only_a: int, only_b: int) -> float:
    """McNemar's mid-p value: half the chance of what was seen counts.

    >>> round(mcnemar_mid(51, 27), 6)
    0.006553
    """
    least, total = min(only_a, only_b), only_a + only_b
    return 1.0 if only_a == only_b else float(2 * (binom.cdf(least, total, 0.5) - 0.5 * binom.pmf(least, total, 0.5)))


def ratio_to_overall(values: Sequence[float], overall: float) -> float:
    """The most uneven ratio of a group and the overall value, folded to at most 1."""
    return min(min(value / overall, overall / value if value else 0.0) for value in values)


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
    return GapReference(observed, float(null.mean()), share, len(null))


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


def rejected(adjusted: ArrayLike, alpha: float = 0.05) -> np.ndarray:
    """Which adjusted p-values reach the level; one exactly on it does, whatever the last bit says."""
    return np.asarray(adjusted) <= alpha * (1 + 1e-12)
