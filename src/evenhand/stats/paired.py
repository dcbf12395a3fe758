"""Two models on the same rows: what changed, and is it more than chance?

Both answered the same questions, so rows are compared one by one. Independent rows that are
right or wrong get McNemar's test and Bonett and Price's interval. Where rows share subjects, or
values are real, the differences are averaged by subject: a t interval, and a test that flips
the sign of whole subjects. Anything else, gaps between groups included, is redrawn jointly: the same
weights for both models.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.stats.checks import Floats, divide, floats
from evenhand.stats.contrasts import ContrastInterval
from evenhand.stats.distributions import fair_coin, normal_quantile
from evenhand.stats.intervals import percentile
from evenhand.stats.permutation import gap_of

_MOST_EXACT = 12  # clusters of which all sign patterns are tried


class PairedTable(NamedTuple):
    """How two models answered the same rows; an unanswered row is a wrong answer."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def rows(self) -> int:
        """All rows."""
        return self.both + self.only_a + self.only_b + self.neither

    @property
    def difference(self) -> float:
        """First model minus second, as a proportion of the rows."""
        return (self.only_a - self.only_b) / self.rows


def paired_table(right_a: ArrayLike, right_b: ArrayLike) -> PairedTable:
    """Rows by who was right.

    >>> paired_table([1, 1, 0, 0], [1, 0, 1, 1])
    PairedTable(both=1, only_a=1, only_b=2, neither=0)
    """
    a, b = np.asarray(right_a, dtype=np.bool_), np.asarray(right_b, dtype=np.bool_)
    return PairedTable(int((a & b).sum()), int((a & ~b).sum()), int((~a & b).sum()), int((~a & ~b).sum()))


def mcnemar(only_a: ArrayLike, only_b: ArrayLike) -> Floats:
    """The p-value of McNemar's exact test; 1 without any discordant row.

    >>> round(float(mcnemar(51, 27)), 6)
    0.008772
    """
    a, b = np.broadcast_arrays(floats(only_a), floats(only_b))
    return floats(np.where(a + b == 0, 1.0, np.minimum(1.0, 2 * fair_coin(np.minimum(a, b), a + b))))


def bonett_price(
    only_a: ArrayLike, only_b: ArrayLike, rows: ArrayLike, *, confidence: float = 0.95
) -> ContrastInterval:
    """The difference of two paired proportions with Bonett and Price's interval.

    >>> d = bonett_price(51, 27, 300)
    >>> round(float(d.value), 3), round(float(d.low), 4), round(float(d.high), 4)
    (0.08, 0.0221, 0.1368)
    """
    a, b, n = np.broadcast_arrays(floats(only_a), floats(only_b), floats(rows))
    p, q = (a + 1) / (n + 2), (b + 1) / (n + 2)
    centre = p - q
    half = normal_quantile(confidence) * np.sqrt((p + q - centre**2) / (n + 2))
    some = n > 0
    limits = (np.where(some, np.clip(limit, -1, 1), np.nan) for limit in (centre - half, centre + half))
    return ContrastInterval(divide(a - b, n), *limits)


def sign_flip(cluster_sums: ArrayLike, *, flips: int = 2000, rng: np.random.Generator) -> float:
    """The p-value of the test that a summed difference is zero, flipping the sign of whole clusters.

    With at most twelve clusters all sign patterns are tried.

    >>> sign_flip([1.0, 1.0, 1.0], rng=np.random.default_rng(0))
    0.25
    """
    s = floats(cluster_sums)
    s = s[s != 0]
    observed = abs(float(s.sum()))
    slack = 1e-12 * float(np.abs(s).sum())
    if not len(s):
        return 1.0
    if len(s) <= _MOST_EXACT:
        patterns = (np.arange(2 ** len(s))[:, None] >> np.arange(len(s))) & 1
        totals = np.abs((2.0 * patterns - 1.0) @ s)
        return float(np.mean(totals >= observed - slack))
    reached, done = 0, 0
    block = max(1, 4_000_000 // len(s))
    while done < flips:
        count = min(block, flips - done)
        signs = rng.integers(0, 2, size=(count, len(s)), dtype=np.int8)
        totals = np.abs((2.0 * signs - 1.0) @ s)
        reached += int(np.count_nonzero(totals >= observed - slack))
        done += count
    return (1 + reached) / (flips + 1)


class JointDifference(NamedTuple):
    """A difference of two models from joint draws."""

    value: Floats
    low: Floats
    high: Floats
    p_value: Floats  # two-sided, from how far zero lies out in the draws


def joint_difference(
    value_a: ArrayLike, value_b: ArrayLike, draws_a: ArrayLike, draws_b: ArrayLike, *, confidence: float = 0.95
) -> JointDifference:
    """Differences of any metric (draws × groups) under the same weights for both models.

    >>> found = joint_difference([0.9], [0.8], [[0.9], [0.91], [0.89]], [[0.8], [0.8], [0.8]])
    >>> found.value.round(2), found.low.round(4)
    (array([0.1]), array([0.0905]))
    """
    apart = floats(draws_a) - floats(draws_b)
    limits = percentile(apart, confidence=confidence)
    there = (~np.isnan(apart)).sum(axis=0)
    below = (np.where(np.isnan(apart), np.inf, apart) <= 0).sum(axis=0)
    above = (np.where(np.isnan(apart), -np.inf, apart) >= 0).sum(axis=0)
    p = np.minimum(1.0, 2 * (1 + np.minimum(below, above)) / (there + 1.0))
    return JointDifference(floats(value_a) - floats(value_b), limits.low, limits.high, p)


def gap_difference(
    values_a: ArrayLike, values_b: ArrayLike, draws_a: ArrayLike, draws_b: ArrayLike, *, confidence: float = 0.95
) -> JointDifference:
    """By how much the gap between best and worst group differs between two models, from joint draws (draws × groups).

    Each model's gap needs its own permutation reference beside it: two gaps that are both noise differ too.
    """
    gaps_a, gaps_b = gap_of(draws_a)[:, None], gap_of(draws_b)[:, None]
    return joint_difference(
        np.atleast_1d(gap_of(values_a)), np.atleast_1d(gap_of(values_b)), gaps_a, gaps_b, confidence=confidence
    )
