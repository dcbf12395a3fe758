"""How two groups or two models differ: differences and ratios with intervals, tests, sizes of effects.

Functions of groups take arrays, one entry for each pair of groups. Proportions of independent
rows use the counts; clustered ones the effective counts of `intervals.effective_size`.

Two models answered the same questions, so rows are compared one by one. Independent rows that are right or wrong get
McNemar's test and Bonett and Price's interval. Where rows share subjects, or values are real, the differences are
averaged by subject: a t interval, and a test that flips the sign of whole subjects. Anything else, gaps between groups
included, is redrawn jointly: the same weights for both models.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.core.sparse import ranges
from evenhand.stats.checks import Floats, Integers, checked_counts, divide, floats, summed
from evenhand.stats.distributions import (
    chi_square_above,
    fair_coin,
    log_choose,
    normal_point,
    normal_quantile,
    normal_two_sided,
    t_quantile,
    t_two_sided,
)
from evenhand.stats.intervals import IntervalArrays, percentile
from evenhand.stats.permutation import gap_of
from evenhand.stats.ranks import OmnibusTest

FEWEST_EXPECTED = 5.0
"""The smallest expected count for which the normal approximation of a 2×K table is used."""


_MOST_EXACT = 12  # clusters of which all sign patterns are tried
PRIOR_CLUSTERS = 30.0
"""How many clusters of its own a group needs before its own spread counts half."""


class ContrastInterval(NamedTuple):
    """First minus second group, or first over second, with its limits."""

    value: Floats
    low: Floats
    high: Floats


class MeanContrast(NamedTuple):
    """Differences of means with their standard errors and degrees of freedom."""

    value: Floats
    standard_error: Floats
    degrees: Floats

    def limits(self, confidence: float = 0.95) -> IntervalArrays:
        """The t interval; the difference itself where nothing has any spread."""
        error = self.standard_error
        half = np.where(error == 0, 0.0, t_quantile(confidence, self.degrees) * error)
        return IntervalArrays(floats(self.value - half), floats(self.value + half))

    @property
    def p_value(self) -> Floats:
        """The t test; without any spread 1 when the difference is zero, and 0 when it is not."""
        error = self.standard_error
        p = np.where(error > 0, t_two_sided(divide(self.value, error), self.degrees), self.value == 0)
        return np.where((self.degrees <= 0) | np.isnan(error + self.value), np.nan, p)


class ProportionTest(NamedTuple):
    """p-values of tests that two proportions are equal, and the name of the test of each pair."""

    p_value: Floats
    method: NDArray[np.str_]


def difference_of_limits(
    first: ArrayLike, limits1: IntervalArrays, second: ArrayLike, limits2: IntervalArrays
) -> ContrastInterval:
    """Differences of two independent values from the limits of each (Newcombe's square-and-add)."""
    p, q = floats(first), floats(second)
    d = p - q
    low = d - np.hypot(p - limits1.low, limits2.high - q)
    high = d + np.hypot(limits1.high - p, q - limits2.low)
    return ContrastInterval(d, low, high)


def log_ratio(
    k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike, *, confidence: float = 0.95
) -> ContrastInterval:
    """Ratios of two independent proportions on the log scale, with ½ added to counts and rows.

    >>> r = log_ratio(10, 20, 15, 20)
    >>> round(float(r.value), 4), round(float(r.low), 4), round(float(r.high), 4)
    (0.6774, 0.4155, 1.1044)
    """
    (a, m), (b, n) = checked_counts(k1, n1), checked_counts(k2, n2)
    a, m, b, n = a + 0.5, m + 0.5, b + 0.5, n + 0.5
    centre = np.log(a / m) - np.log(b / n)
    half = normal_quantile(confidence) * np.sqrt((1 / a - 1 / m + 1 / b - 1 / n).clip(0))
    some = (m > 0.5) & (n > 0.5)
    return ContrastInterval(*(np.where(some, np.exp(centre + step), np.nan) for step in (0.0, -half, half)))


def welch(
    mean1: ArrayLike,
    variance1: ArrayLike,
    clusters1: ArrayLike,
    mean2: ArrayLike,
    variance2: ArrayLike,
    clusters2: ArrayLike,
) -> MeanContrast:
    """Differences of two means, Welch's way: variances *of the means*, degrees of freedom from clusters.

    Rows that are independent are clusters of one. What rounding alone can leave is no spread. With a single cluster
    on one side nothing is known of the spread: NaN.

    >>> w = welch(0.7, 0.01, 15, 0.6, 0.01, 15)
    >>> round(float(w.degrees), 1), round(float(w.p_value), 3), w.limits(0.9).low.round(4)
    (28.0, 0.485, np.float64(-0.1406))
    """
    a, v, g, b, w, h = map(floats, (mean1, variance1, clusters1, mean2, variance2, clusters2))
    enough = (g >= 2) & (h >= 2)
    least = rounding_of(a, b)
    still = enough & (v + w <= least**2)
    error = np.where(still, 0.0, np.sqrt(np.where(enough, v + w, np.nan)))
    degrees = divide((v + w) ** 2, divide(v**2, g - 1) + divide(w**2, h - 1))
    return MeanContrast(np.where(still & (np.abs(a - b) <= least), 0.0, a - b), error, np.where(enough, degrees, 0.0))


def rounding_of(first: ArrayLike, second: ArrayLike) -> Floats:
    """How far apart rounding alone can leave two means of equal values."""
    return floats(1e-15 * np.maximum(np.abs(first), np.abs(second)))


def joint_contrast(
    difference: ArrayLike, squares: ArrayLike, clusters: ArrayLike, rounding: ArrayLike = 0.0
) -> MeanContrast:
    """Differences of two groups that share clusters, from each cluster's pull on the difference.

    `squares` is the sum over clusters of ((s₁ − m₁n₁)/N₁ − (s₂ − m₂n₂)/N₂)². A subject with rows in both
    groups moves both values together; the variance G/(G−1) · squares keeps that in, where adding two
    separate variances would not. t with G − 1 degrees of freedom. What is below `rounding` is neither difference nor
    spread.

    >>> round(float(joint_contrast(0.1, 0.0016, 25).p_value), 4)
    0.022
    """
    g, least = floats(clusters), floats(rounding)
    error = np.sqrt(divide(g, (g - 1).clip(0)) * np.where(floats(squares) <= least**2, 0.0, squares))
    return MeanContrast(np.where((error == 0) & (np.abs(difference) <= least), 0.0, difference), error, g - 1)


def proportion_test(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> ProportionTest:
    """Tests that two independent proportions are equal: pooled score z, or Fisher's when a cell expects fewer than 5.

    Effective counts are welcome; for Fisher's test they are rounded.

    >>> test = proportion_test([10, 1], [20, 300], [15, 9], [20, 310])
    >>> test.p_value.round(4), test.method.tolist()
    (array([0.1025, 0.0206]), ['score_z', 'fisher'])
    """
    (a, m), (b, n) = checked_counts(k1, n1), checked_counts(k2, n2)
    a, m, b, n = np.broadcast_arrays(a, m, b, n)
    pooled = divide(a + b, m + n)
    smallest = np.minimum(m, n) * np.minimum(pooled, 1 - pooled)
    some = (m > 0) & (n > 0)
    exact = some & ~(smallest >= FEWEST_EXPECTED)
    spread = np.sqrt((pooled * (1 - pooled) * (divide(1.0, m) + divide(1.0, n))).clip(0))
    z = divide(a, m) - divide(b, n)
    p = normal_two_sided(divide(z, spread))
    if np.any(exact):
        p[exact] = fisher(*(np.rint(side[exact]) for side in (a, m, b, n)))
    return ProportionTest(np.where(some, p, np.nan), np.where(exact, "fisher", "score_z"))


class ClusterSums(NamedTuple):
    """Sums over the clusters of each group: Σs, Σn, Σs², Σsn, Σn², and how many clusters there are."""

    top: Floats
    bottom: Floats
    squares: Floats
    products: Floats
    sizes: Floats
    clusters: Floats


def cluster_sums(sums: ArrayLike, counts: ArrayLike, groups: Integers, size: int) -> ClusterSums:
    """What `cluster_score_test` needs of each group, from the sums and counts of its clusters."""
    s, n = floats(sums), floats(counts)
    columns = (s, n, s * s, s * n, n * n, (n > 0).astype(np.float64))
    return ClusterSums(*(summed(groups, column, size) for column in columns))


def cluster_score_test(first: ClusterSums, second: ClusterSums) -> Floats:
    """p-values of tests that two proportions of clustered rows are equal.

    A score test: the spread between clusters is measured around the common proportion. The fewer clusters a group
    has, the more it is taken to be at least as wide as that of both groups together: a small group that by chance
    saw no error would otherwise seem far surer than it is. t with Welch and Satterthwaite's degrees of freedom; 1 when
    no row differs; NaN with fewer than two clusters in a group.

    >>> a, b = (cluster_sums(sums, [4, 4, 4], np.zeros(3, int), 1) for sums in ([4, 1, 3], [0, 1, 2]))
    >>> cluster_score_test(a, b).round(3)
    array([0.306])
    """
    common = divide(first.top + second.top, first.bottom + second.bottom)
    around = [(side.squares - 2 * common * side.products + common**2 * side.sizes).clip(0) for side in (first, second)]
    alike = divide(around[0] + around[1], first.sizes + second.sizes)
    variances = []
    for side, own in zip((first, second), around, strict=True):
        known = side.clusters / (side.clusters + PRIOR_CLUSTERS)
        spread = known * own + (1 - known) * np.maximum(own, alike * side.sizes)
        variances.append(divide(side.clusters * spread, (side.clusters - 1).clip(0) * side.bottom**2))
    together = variances[0] + variances[1]
    parts = [divide(v**2, (side.clusters - 1).clip(0)) for v, side in zip(variances, (first, second), strict=True)]
    degrees = divide(together**2, parts[0] + parts[1])
    difference = divide(first.top, first.bottom) - divide(second.top, second.bottom)
    still = together <= 1e-30
    p = t_two_sided(divide(difference, np.sqrt(together)), degrees)
    return floats(np.where(still, 1.0, p))


def fisher(k1: ArrayLike, n1: ArrayLike, k2: ArrayLike, n2: ArrayLike) -> Floats:
    """Two-sided p-values of Fisher's exact test: all tables no likelier than the one seen.

    >>> fisher([0, 1], [30, 300], [0, 9], [30, 310]).round(4)
    array([1.    , 0.0206])
    """
    a, m, b, n = (np.atleast_1d(floats(side)) for side in (k1, n1, k2, n2))
    a, m, b, n = (side.ravel() for side in np.broadcast_arrays(a, m, b, n))
    k, total = a + b, m + n
    lowest, highest = np.maximum(0, k - n), np.minimum(k, m)
    sizes = (highest - lowest + 1).astype(np.int64)
    pair = np.repeat(np.arange(len(a)), sizes)
    x = ranges(lowest, sizes)

    def log_mass(x_: Floats, which: NDArray[np.int64]) -> Floats:
        base = log_choose(total, k)
        return log_choose(m[which], x_) + log_choose(n[which], k[which] - x_) - base[which]

    mass = log_mass(x, pair)
    seen = log_mass(a, np.arange(len(a)))
    unlikely = mass <= seen[pair] + 1e-7
    p = np.bincount(pair, np.where(unlikely, np.exp(mass), 0.0), minlength=len(a))
    return np.minimum(1.0, p)


def chi_square(events: ArrayLike, rows: ArrayLike) -> OmnibusTest:
    """The χ² test that all groups have the same proportion; NaN when no row or every row is an event.

    `method` is `chi_square`, or `chi_square_small` when a cell expects fewer than five: then
    judge the statistic by `permutation.permuted_test`.

    >>> test = chi_square([90, 80, 35], [100, 100, 50])
    >>> round(test.statistic, 4), test.degrees, round(test.p_value, 4)
    (9.4851, 2, 0.0087)
    """
    k, n = checked_counts(events, rows)
    k, n = k[n > 0], n[n > 0]
    groups = len(n)
    pooled = float(k.sum() / n.sum()) if groups else 0.0
    if groups < 2 or pooled <= 0 or pooled >= 1:
        return OmnibusTest(float("nan"), max(groups - 1, 0), float("nan"), "chi_square")
    statistic = float(chi_square_statistic(k, n))
    small = float(n.min()) * min(pooled, 1 - pooled) < FEWEST_EXPECTED
    method = "chi_square_small" if small else "chi_square"
    return OmnibusTest(statistic, groups - 1, chi_square_above(statistic, groups - 1), method)


def chi_square_statistic(events: ArrayLike, rows: ArrayLike) -> Floats:
    """Pearson's χ² of proportions along the last axis; zero when nothing varies."""
    k, n = floats(events), floats(rows)
    total = n.sum(axis=-1, keepdims=True)
    pooled = divide(k.sum(axis=-1, keepdims=True), total)
    spread = pooled * (1 - pooled)
    terms = divide((k - n * pooled) ** 2, n * spread)
    return floats(np.where(np.isnan(terms), 0.0, terms).sum(axis=-1))


def cohens_h(p1: ArrayLike, p2: ArrayLike) -> Floats:
    """Cohen's h, the difference of two proportions on the arcsine scale.

    >>> float(cohens_h(0.0, 1.0).round(4))
    -3.1416
    """
    return floats(2 * np.arcsin(np.sqrt(floats(p1))) - 2 * np.arcsin(np.sqrt(floats(p2))))


def hedges_g(
    mean1: ArrayLike, deviation1: ArrayLike, n1: ArrayLike, mean2: ArrayLike, deviation2: ArrayLike, n2: ArrayLike
) -> Floats:
    """Hedges' g: the difference of means in pooled standard deviations, corrected for small samples.

    NaN when neither side varies.

    >>> float(hedges_g(0.8, 0.1, 20, 0.7, 0.1, 20).round(4))
    0.9801
    """
    a, s, m, b, r, n = (floats(x) for x in (mean1, deviation1, n1, mean2, deviation2, n2))
    degrees = m + n - 2
    pooled = np.sqrt(divide((m - 1) * s**2 + (n - 1) * r**2, degrees))
    return divide(a - b, pooled) * (1 - divide(3.0, 4 * degrees - 1))


def detectable_difference(
    rate: ArrayLike, n1: ArrayLike, n2: ArrayLike, *, power: float = 0.8, alpha: float = 0.05
) -> Floats:
    """The smallest difference of two proportions that would be found with the given power.

    Use effective numbers of rows. (z + z_power)·√(p̄(1−p̄)(1/n₁ + 1/n₂)).

    >>> detectable_difference(0.7, [20, 100], 1e9).round(2)
    array([0.29, 0.13])
    """
    p = floats(rate)
    return detectable_by_error(np.sqrt(p * (1 - p) * (divide(1.0, n1) + divide(1.0, n2))), power=power, alpha=alpha)


def detectable_by_error(standard_error: ArrayLike, *, power: float = 0.8, alpha: float = 0.05) -> Floats:
    """The smallest difference that would be found with the given power, from its standard error."""
    return floats((normal_quantile(1 - alpha) + normal_point(power)) * floats(standard_error))


class PairedTable(NamedTuple):
    """How two models answered the same rows; an unanswered row is a wrong answer."""

    both: int
    only_a: int
    only_b: int
    neither: int

    @property
    def rows(self) -> int:
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
