"""Rank tests for many groups at once: Mann and Whitney for every pair, Kruskal and Wallis for all.

The values are sorted once. Counting, at every distinct value, how many of each
group lie there and how many lie below gives all U statistics as one matrix product,
and all tie corrections as three more; thousands of pairs cost what one does.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.sparse import ranges
from evenhand.stats.checks import Floats, Integers, divide, floats
from evenhand.stats.distributions import chi_square_above, normal_quantile, normal_two_sided
from evenhand.stats.intervals import IntervalArrays

_BLOCK = 8192
_HALVINGS = 40


class RankSums(NamedTuple):
    """What the rank tests of pairs of groups need: of all (groups, groups), or of some (pairs,)."""

    u: Floats  # how often a value of the row's (first) group exceeds one of the column's (second), ties count half
    ties: Floats  # Σ(t³ − t) over the tied values of the two groups together
    counts: Integers  # (groups,)


class OmnibusTest(NamedTuple):
    """A test of all groups together; NaN when nothing can be tested."""

    statistic: float
    degrees: int
    p_value: float
    method: str


def rank_sums(values: ArrayLike, codes: ArrayLike, size: int) -> RankSums:
    """U statistics and tie sums of every pair of groups.

    A value may appear several times with different codes (membership in several groups); pairs
    that share rows must have them removed before.

    >>> rank_sums([1.0, 2.0, 2.0, 3.0], [0, 0, 1, 1], 2).u
    array([[2. , 0.5],
           [3.5, 2. ]])
    """
    x, c = floats(values), np.asarray(codes)
    order = np.argsort(x, kind="stable")
    x, c = x[order], c[order]
    place = np.cumsum(np.concatenate(([0], np.diff(x) > 0))) if len(x) else np.zeros(0, dtype=np.int64)
    u, squares, cubes = np.zeros((size, size)), np.zeros((size, size)), np.zeros(size)
    below = np.zeros(size)
    distinct = int(place[-1]) + 1 if len(x) else 0
    for start in range(0, distinct, _BLOCK):
        stop = min(start + _BLOCK, distinct)
        first, last = np.searchsorted(place, [start, stop])
        here = np.bincount((place[first:last] - start) * size + c[first:last], minlength=(stop - start) * size)
        table = here.reshape(stop - start, size).astype(np.float64)
        through = below + np.cumsum(table, axis=0)
        u += table.T @ (through - table / 2)
        square = table * table
        squares += square.T @ table
        cubes += (square * table).sum(axis=0)
        below = through[-1]
    counts = np.bincount(c, minlength=size)
    together = cubes[:, None] + cubes[None, :] + 3 * (squares + squares.T)
    ties = together - (counts[:, None] + counts[None, :])
    return RankSums(u, ties, counts.astype(np.int64))


def paired_ranks(values: ArrayLike, codes: ArrayLike, size: int, first: Integers, second: Integers) -> RankSums:
    """U statistics and tie sums of some pairs of groups.

    Where there are more pairs than groups all are computed together, else each pair is sorted by itself.

    >>> paired_ranks([1.0, 2.0, 2.0, 3.0], [0, 0, 1, 1], 2, np.array([0]), np.array([1])).u
    array([0.5])
    """
    if len(first) > size:
        together = rank_sums(values, codes, size)
        return RankSums(together.u[first, second], together.ties[first, second], together.counts)
    x, c = floats(values), np.asarray(codes)
    distinct = np.sort(x)
    distinct = distinct[np.append(True, distinct[1:] > distinct[:-1])[: len(distinct)]]
    place = np.searchsorted(distinct, x)
    order = np.argsort(c, kind="stable")
    counts = np.bincount(c, minlength=size)
    start = np.cumsum(counts) - counts
    n = counts[first] + counts[second]
    # A value of a pair is the number (pair, value, side): sorted as such, ties stand side by side.
    keys = []
    for side, groups in enumerate((first, second)):
        many = counts[groups]
        pair = np.repeat(np.arange(len(groups)), many)
        at = order[ranges(start[groups], many)]
        keys.append(((pair * len(distinct) + place[at]) << 1) | side)
    key = np.concatenate(keys)
    key.sort()
    tie = key >> 1
    ends = np.flatnonzero(np.append(tie[1:] != tie[:-1], True)) if len(key) else np.zeros(0, dtype=np.int64)
    length = np.diff(ends, prepend=-1)
    pair_of_tie = tie[ends] // max(len(distinct), 1)
    from_first = np.diff(np.cumsum((key & 1) == 0)[ends], prepend=0)
    rank = ends + 1 - (length - 1) / 2 - (np.cumsum(n) - n)[pair_of_tie]
    sums = np.bincount(pair_of_tie, rank * from_first, minlength=len(first))
    ties = np.bincount(pair_of_tie, length.astype(np.float64) ** 3 - length, minlength=len(first))
    many = counts[first].astype(np.float64)
    return RankSums(floats(sums - many * (many + 1) / 2), floats(ties), counts.astype(np.int64))


def mann_whitney(u: ArrayLike, n1: ArrayLike, n2: ArrayLike, ties: ArrayLike = 0.0) -> Floats:
    """p-values of two-sided asymptotic Mann–Whitney tests, corrected for ties and continuity.

    When all values are equal p is 1; without values on one side it is NaN.

    >>> float(mann_whitney(3662.5, 120, 45, 0).round(6))
    0.000432
    """
    u1, a, b, t = np.broadcast_arrays(floats(u), floats(n1), floats(n2), floats(ties))
    n = a + b
    middle = a * b / 2
    variance = a * b / 12 * (n + 1 - divide(t, n * (n - 1)))
    spread = np.sqrt(np.where(np.isnan(variance), 0.0, variance).clip(0))
    above = np.maximum(u1, a * b - u1) - middle - 0.5
    z = np.where(spread > 0, divide(above, spread), 0.0)
    p = np.where(spread > 0, normal_two_sided(np.maximum(z, 0.0)), 1.0)
    return np.where((a > 0) & (b > 0), p, np.nan)


def exact_mann_whitney(u: float, n1: int, n2: int) -> float:
    """The two-sided p-value of one Mann–Whitney test without ties, from all orders of the values; one group is small.

    How many orders have each U are the coefficients of ∏ (1 − q^(n2 + i))/(1 − q^i), i = 1 … n1.

    >>> round(exact_mann_whitney(1, 3, 4), 6)
    0.114286
    """
    few, many = min(n1, n2), max(n1, n2)
    orders = np.zeros(few * many + 1, dtype=object)  # whole numbers of any size
    orders[0] = 1
    for i in range(1, few + 1):
        orders[many + i :] -= orders[: max(len(orders) - many - i, 0)].copy()
        for first in range(i):
            orders[first::i] = np.cumsum(orders[first::i])
    beyond = orders[int(max(u, n1 * n2 - u)) :].sum()
    return min(1.0, float(2 * beyond / math.comb(n1 + n2, few)))


def cliffs_delta(u: ArrayLike, n1: ArrayLike, n2: ArrayLike) -> Floats:
    """How much more often a value of the first group exceeds one of the second than the reverse: 2U/(n₁n₂) − 1.

    >>> cliffs_delta([25.0, 12.5], 5, 5)
    array([1., 0.])
    """
    product = floats(n1) * floats(n2)
    return divide(2 * floats(u), product) - 1


def cliffs_delta_interval(
    delta: ArrayLike, n1: ArrayLike, n2: ArrayLike, *, confidence: float = 0.95
) -> IntervalArrays:
    """Limits of Cliff's delta from independent values: Newcombe's fifth method, which stays inside −1 … 1.

    A limit is the value from which the estimate lies z standard errors away, with the error that Hanley and McNeil give
    for that value; so a group that always wins has an interval of some width too.

    >>> low, high = cliffs_delta_interval([0.0, 1.0], 20, 20)
    >>> low.round(3), high.round(3)
    (array([-0.337,  0.797]), array([0.337, 1.   ]))
    """
    d, a, b = np.broadcast_arrays(floats(delta), floats(n1), floats(n2))
    share, square = (d + 1) / 2, normal_quantile(confidence) ** 2
    weight, pairs = (a + b) / 2 - 1, np.where(a * b == 0, np.nan, a * b)

    def limit(end: float) -> Floats:
        far, near = np.full(share.shape, end), share.copy()
        for _ in range(_HALVINGS):
            middle = (far + near) / 2
            more = (1 - middle) / (2 - middle) + middle / (1 + middle)
            error = middle * (1 - middle) * (1 + weight * more) / pairs
            outside = (share - middle) ** 2 > square * error
            np.copyto(far, middle, where=outside)
            np.copyto(near, middle, where=~outside)
        return np.where(np.isnan(share), np.nan, far + near - 1)

    return IntervalArrays(limit(0.0), limit(1.0))


def kruskal_wallis(values: ArrayLike, codes: ArrayLike, size: int) -> OmnibusTest:
    """Kruskal and Wallis' test over the groups that have values, corrected for ties.

    Undefined (NaN) when all values are equal or fewer than two groups have values.

    >>> kruskal_wallis([1, 2, 3, 4, 5, 6], [0, 0, 0, 1, 1, 1], 2).p_value.__round__(4)
    0.0495
    """
    x, c = floats(values), np.asarray(codes)
    count = np.bincount(c, minlength=size)
    groups = int((count > 0).sum())
    _, place, multiplicity = np.unique(x, return_inverse=True, return_counts=True)
    n = float(len(x))
    if groups < 2 or len(multiplicity) < 2:
        return OmnibusTest(float("nan"), max(groups - 1, 0), float("nan"), "kruskal_wallis")
    rank = np.cumsum(multiplicity) - (multiplicity - 1) / 2
    totals = np.bincount(c, rank[place], minlength=size)
    between = divide(totals**2, count)
    h = 12 / (n * (n + 1)) * float(np.nansum(between)) - 3 * (n + 1)
    tied = multiplicity.astype(np.float64)
    h /= 1 - float((tied**3 - tied).sum()) / (n**3 - n)
    return OmnibusTest(h, groups - 1, chi_square_above(h, groups - 1), "kruskal_wallis")
