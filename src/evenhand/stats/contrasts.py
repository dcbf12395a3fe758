"""How two groups differ: differences and ratios with intervals, tests, sizes of effects.

All functions take arrays, one entry for each pair of groups. Proportions of independent
rows use the counts; clustered ones the effective counts of `intervals.effective_size`.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.stats.checks import Booleans, Floats, Integers, checked_counts, divide, floats, summed
from evenhand.stats.distributions import (
    chi_square_above,
    log_choose,
    normal_point,
    normal_quantile,
    normal_two_sided,
    t_quantile,
    t_two_sided,
)
from evenhand.stats.intervals import IntervalArrays
from evenhand.stats.ranks import OmnibusTest

FEWEST_EXPECTED = 5.0
"""The smallest expected count for which the normal approximation of a 2×K table is used."""


PRIOR_CLUSTERS = 30.0
"""How many clusters of its own a group needs before its own spread counts half."""


class ContrastInterval(NamedTuple):
    """First minus second group, or first over second, with its limits."""

    value: Floats
    low: Floats
    high: Floats


class MeanContrast(NamedTuple):
    """A difference of means with its standard error, degrees of freedom, limits and t test."""

    value: Floats
    low: Floats
    high: Floats
    standard_error: Floats
    degrees: Floats
    p_value: Floats


class ProportionTest(NamedTuple):
    """p-values of tests that two proportions are equal; `exact` where Fisher's test was due."""

    p_value: Floats
    exact: Booleans

    @property
    def method(self) -> NDArray[np.str_]:
        """The name of the test of each pair."""
        return np.where(self.exact, "fisher", "score_z")


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
    *,
    confidence: float = 0.95,
) -> MeanContrast:
    """Differences of two means, Welch's way: variances *of the means*, degrees of freedom from clusters.

    Rows that are independent are clusters of one. Without any spread on both sides the interval is
    the difference itself, and p is 1 when it is zero and 0 when it is not. With a single cluster
    on one side nothing is known of the spread: NaN.

    >>> w = welch(0.7, 0.01, 15, 0.6, 0.01, 15)
    >>> round(float(w.degrees), 1), round(float(w.p_value), 3)
    (28.0, 0.485)
    """
    a, v, g, b, w, h = np.broadcast_arrays(
        floats(mean1), floats(variance1), floats(clusters1), floats(mean2), floats(variance2), floats(clusters2)
    )
    d, error = a - b, welch_error(a, v, g, b, w, h)
    still = error == 0
    degrees = divide((v + w) ** 2, divide(np.where(np.isnan(error), np.nan, v) ** 2, g - 1) + divide(w**2, h - 1))
    half = np.where(still, 0.0, t_quantile(confidence, degrees) * error)
    p = np.where(still, np.where(np.abs(d) <= 1e-15 * np.abs(a), 1.0, 0.0), t_two_sided(divide(d, error), degrees))
    return MeanContrast(d, d - half, d + half, error, degrees, p)


def welch_error(a: Floats, v: Floats, g: Floats, b: Floats, w: Floats, h: Floats) -> Floats:
    """The standard error of differences of means; NaN with a single cluster on one side.

    `a`, `v` and `g` are mean, variance and clusters of the first, `b`, `w` and `h` those of the second. What rounding
    alone can leave is no spread.
    """
    together = v + w
    enough = (g >= 2) & (h >= 2)
    still = enough & (together <= (1e-15 * np.maximum(np.abs(a), np.abs(b))) ** 2)
    return np.where(still, 0.0, np.sqrt(np.where(enough, together, np.nan)))


def joint_contrast(
    difference: ArrayLike, squares: ArrayLike, clusters: ArrayLike, *, confidence: float = 0.95
) -> MeanContrast:
    """Differences of two groups that share clusters, from each cluster's pull on the difference.

    `squares` is the sum over clusters of ((s₁ − m₁n₁)/N₁ − (s₂ − m₂n₂)/N₂)². A subject with rows in both
    groups moves both values together; the variance G/(G−1) · squares keeps that in, where adding two
    separate variances would not. t with G − 1 degrees of freedom.

    >>> round(float(joint_contrast(0.1, 0.0016, 25).p_value), 4)
    0.022
    """
    d, g = floats(difference), floats(clusters)
    error = joint_error(squares, g)
    half = t_quantile(confidence, g - 1) * error
    return MeanContrast(d, d - half, d + half, error, g - 1, joint_test(d, error, g))


def joint_error(squares: ArrayLike, clusters: ArrayLike) -> Floats:
    """The standard error of a difference of groups that share clusters."""
    g = floats(clusters)
    return np.sqrt(divide(g, (g - 1).clip(0)) * floats(squares))


def joint_test(difference: ArrayLike, error: ArrayLike, clusters: ArrayLike) -> Floats:
    """p-values of `joint_contrast` alone."""
    d, e, g = floats(difference), floats(error), floats(clusters)
    p = np.where(e > 0, t_two_sided(divide(d, e), g - 1), np.where(d == 0, 1.0, 0.0))
    return floats(np.where(g >= 2, p, np.nan))


def at_confidence(contrast: MeanContrast, confidence: float) -> IntervalArrays:
    """The limits of a difference of means at another confidence.

    >>> at_confidence(welch(0.7, 0.01, 15, 0.6, 0.01, 15), 0.9).low.round(4)
    np.float64(-0.1406)
    """
    error = contrast.standard_error
    half = np.where(error == 0, 0.0, t_quantile(confidence, contrast.degrees) * error)
    return IntervalArrays(floats(contrast.value - half), floats(contrast.value + half))


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
    return ProportionTest(np.where(some, p, np.nan), np.asarray(exact))


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
    ends = np.cumsum(sizes)
    x = np.arange(int(sizes.sum())) - np.repeat(ends - sizes, sizes) + np.repeat(lowest, sizes)

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
