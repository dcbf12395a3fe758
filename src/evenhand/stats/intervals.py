"""How sure a single number is: intervals for one proportion, mean or statistic.

Arrays in, arrays out: one call serves all groups of a table. A proportion of
independent rows gets Wilson's interval. Where several rows come from one subject,
the spread between subjects is measured and the mean gets a t interval with one
degree of freedom less than there are subjects; a proportion gets Wilson's
interval on the effective number of rows. Anything else takes its interval from
redrawn data: plain percentiles, percentiles widened for few subjects, or
bias-corrected and accelerated ones.

A limit that does not exist is NaN: no rows, one subject, too many skipped draws.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.metric import UNBOUNDED, Scale
from evenhand.stats.checks import (
    Booleans,
    Floats,
    Integers,
    checked_confidence,
    checked_counts,
    deviation_of,
    divide,
    floats,
    mean_of,
    summed,
)
from evenhand.stats.distributions import (
    beta_quantile,
    logistic,
    logit,
    normal_above,
    normal_point,
    normal_quantile,
    t_quantile,
)

_LARGEST_EXPONENT = 700.0
MOST_SKIPPED = 0.05
"""The share of draws that may lack a group before its interval is withheld."""


class IntervalArrays(NamedTuple):
    """Lower and upper limits, one pair for each group; NaN where there is no interval."""

    low: Floats
    high: Floats

    def within(self, span: float) -> "IntervalArrays":
        """Limits of differences that can't be larger than the span of their scale."""
        return IntervalArrays(np.maximum(self.low, -span), np.minimum(self.high, span))


class ClusteredMean(NamedTuple):
    """Means of groups whose rows come in clusters, with what the clusters tell of their spread."""

    value: Floats  # NaN without rows
    variance: Floats  # of the mean, between clusters; NaN with fewer than two clusters
    rows: Floats  # or the sum of weights
    clusters: Integers
    degrees: Floats  # of freedom

    @property
    def standard_error(self) -> Floats:
        return np.sqrt(self.variance)


class EffectiveSize(NamedTuple):
    """How many independent rows the clustered rows of a proportion are worth."""

    design_effect: Floats
    rows: Floats


class DrawInterval(NamedTuple):
    """Limits taken from redrawn values, and how many draws lacked the group."""

    low: Floats
    high: Floats
    skipped: Integers


def wilson(
    events: ArrayLike, rows: ArrayLike, *, confidence: float = 0.95, quantile: ArrayLike | None = None
) -> IntervalArrays:
    """Wilson's score interval of proportions; the lower limit is 0 without events, the upper 1 without their absence.

    `quantile` replaces the normal quantile, for instance by that of a t distribution.

    >>> low, high = wilson([0, 19], [20, 20])
    >>> low.round(4), high.round(4)
    (array([0.    , 0.7639]), array([0.1611, 0.9911]))
    """
    k, n = checked_counts(events, rows)
    z = floats(normal_quantile(confidence) if quantile is None else quantile)
    some = n > 0
    safe = np.where(some, n, 1.0)
    square = z * z
    centre = (k + square / 2) / (safe + square)
    half = z / (safe + square) * np.sqrt(k * (safe - k).clip(0) / safe + square / 4)
    low = np.where(k == 0, 0.0, np.maximum(centre - half, 0.0))
    high = np.where(k == n, 1.0, np.minimum(centre + half, 1.0))
    defined = some & np.isfinite(z)
    return IntervalArrays(np.where(defined, low, np.nan), np.where(defined, high, np.nan))


def clopper_pearson(events: ArrayLike, rows: ArrayLike, *, confidence: float = 0.95) -> IntervalArrays:
    """The exact (conservative) interval of proportions from beta quantiles.

    >>> low, high = clopper_pearson(0, 20)
    >>> float(low), round(float(high), 4)
    (0.0, 0.1684)
    """
    tail = (1 - checked_confidence(confidence)) / 2
    k, n = checked_counts(events, rows)
    inside_low, inside_high = k > 0, k < n
    low = np.where(inside_low, beta_quantile(np.where(inside_low, k, 1.0), n - k + 1, tail, 1 - tail), 0.0)
    high = np.where(inside_high, beta_quantile(k + 1, np.where(inside_high, n - k, 1.0), 1 - tail, tail), 1.0)
    return IntervalArrays(np.where(n > 0, low, np.nan), np.where(n > 0, high, np.nan))


def cluster_means(sums: ArrayLike, counts: ArrayLike, groups: ArrayLike | None = None, size: int = 1) -> ClusteredMean:
    """Means of groups from the sums and counts of their clusters, with the variance between clusters.

    Each entry is one cluster within one group; `groups` says which group. A cluster that has
    rows in several groups has an entry in each. Entries without rows are no clusters.
    Counts may be sums of weights. (V = G/(G−1) · Σ(s − m·n)² / N².)

    >>> cluster_means([3, 1, 2], [4, 2, 2]).value
    array([0.75])
    """
    s, n = floats(sums), floats(counts)
    g = np.zeros(len(s), dtype=np.int64) if groups is None else np.asarray(groups)
    clusters = np.bincount(g[n > 0], minlength=size).astype(np.int64)
    rows = floats(np.bincount(g, n, minlength=size))
    value = divide(np.bincount(g, s, minlength=size), rows)
    residual = s - np.where(np.isnan(value), 0.0, value)[g] * n
    squares = np.bincount(g, residual * residual, minlength=size)
    variance = divide(clusters * squares, (clusters - 1.0).clip(0) * rows * rows)
    return ClusteredMean(value, variance, rows, clusters, floats(clusters - 1))


def mean_interval(means: ClusteredMean, *, confidence: float = 0.95, scale: Scale = UNBOUNDED) -> IntervalArrays:
    """The t interval of clustered means; none with fewer than two clusters.

    Means of numbers that can't leave a scale get it where the scale has no end: on the logit of their place
    between both ends, or on the logarithm of their distance from the one end.
    """
    quantile = t_quantile(confidence, np.nan_to_num(means.degrees))
    return _around(means.value, quantile, means.standard_error, means.clusters, scale)


def jackknife_means(
    sums: ArrayLike, counts: ArrayLike, plain: ClusteredMean, groups: ArrayLike | None = None
) -> ClusteredMean:
    """As `cluster_means`, whose numbers are `plain`, for few clusters of unequal size.

    A large cluster pulls the mean towards itself and hides its own deviation; leaving it out shows it:
    V = (G−1)/G · Σ((s − m·n)/(1 − n/N))² / N². Unequal clusters are worth fewer: (Σn)²/Σn² − 1 degrees of freedom.
    With clusters of equal size both are what they are in `cluster_means`.

    >>> plain = cluster_means([3, 1, 9], [4, 2, 9])
    >>> wide = jackknife_means([3, 1, 9], [4, 2, 9], plain)
    >>> bool(wide.variance[0] > plain.variance[0]), wide.degrees.round(2)
    (True, array([1.23]))
    """
    s, n, size = floats(sums), floats(counts), len(plain.value)
    g = np.zeros(len(s), dtype=np.int64) if groups is None else np.asarray(groups)
    rest = plain.rows[g] - n
    apart = divide((s - np.where(np.isnan(plain.value), 0.0, plain.value)[g] * n) * plain.rows[g], rest)
    squares = summed(g, np.where(n > 0, apart, 0.0) ** 2, size)
    variance = divide((plain.clusters - 1.0) * squares, plain.clusters * plain.rows**2)
    degrees = divide(plain.rows**2, summed(g, n * n, size)) - 1
    several = plain.clusters >= 2
    return plain._replace(variance=np.where(several, variance, np.nan), degrees=np.where(several, degrees, np.nan))


def either(few: Booleans, wider: IntervalArrays | DrawInterval, plain: IntervalArrays | DrawInterval) -> IntervalArrays:
    """The wider limits where there are few units, the plain ones elsewhere."""
    return IntervalArrays(np.where(few, wider.low, plain.low), np.where(few, wider.high, plain.high))


def _around(value: Floats, quantile: Floats, error: Floats, clusters: Integers, scale: Scale) -> IntervalArrays:
    """The interval value ± quantile · error, made where the scale has no end.

    A mean at an end of the scale has no spread to go by: as for a proportion, every cluster counts once (Wilson).
    """
    if np.isinf(scale.low) and np.isinf(scale.high):
        return IntervalArrays(value - quantile * error, value + quantile * error)
    if np.isinf(scale.high):
        distance = value - scale.low
        factor = np.exp(np.minimum(divide(quantile * error, distance), _LARGEST_EXPONENT))
        low, high = (np.where(distance > 0, distance * f, 0.0 * quantile * error) for f in (1 / factor, factor))
        return IntervalArrays(scale.low + low, scale.low + high)
    if np.isinf(scale.low):
        mirrored = _around(-value, quantile, error, clusters, Scale(-scale.high, np.inf))
        return IntervalArrays(-mirrored.high, -mirrored.low)
    share = np.clip((value - scale.low) / scale.span, 0.0, 1.0)
    inside = (share > 0) & (share < 1)
    within = np.where(inside, share, 0.5)
    middle, half = logit(within), quantile * error / scale.span / (within * (1 - within))
    square = quantile * quantile + 0.0 * error  # not a number where there is no interval
    edge = divide(square, clusters + square)
    low = np.where(inside, logistic(middle - half), np.where(share > 0, 1 - edge, 0.0 * edge))
    high = np.where(inside, logistic(middle + half), np.where(share > 0, 1 + 0.0 * edge, edge))
    return IntervalArrays(scale.low + scale.span * low, scale.low + scale.span * high)


def effective_size(means: ClusteredMean) -> EffectiveSize:
    """Design effect and effective number of rows of clustered proportions.

    Never more than the rows there are. When all rows agree, nothing tells how alike the rows of
    a cluster are, and every cluster counts once.
    """
    p, rows, clusters = means.value, means.rows, means.clusters
    inflation = np.maximum(1.0, divide(means.variance * rows, p * (1 - p)))
    agree = (p <= 0) | (p >= 1)
    effect = np.where(agree, divide(rows, clusters), inflation)
    return EffectiveSize(effect, divide(rows, effect))


def proportion_interval(
    means: ClusteredMean, *, confidence: float = 0.95, small_sample: bool = False
) -> IntervalArrays:
    """Wilson's interval of clustered proportions on their effective number of rows.

    With `small_sample` the normal quantile gives way to that of t with G − 1 degrees of freedom,
    which pays for having estimated the design effect from few clusters.
    None with fewer than two clusters.
    """
    n = effective_size(means).rows
    several = means.clusters >= 2
    n = np.where(several, n, 0.0)
    k = np.where(several, means.value * n, 0.0)
    quantile = np.where(several, t_quantile(confidence, means.clusters - 1), np.nan) if small_sample else None
    return wilson(np.clip(k, 0, n), n, confidence=confidence, quantile=quantile)


def percentile(draws: ArrayLike, *, confidence: float = 0.95) -> DrawInterval:
    """Percentile limits of redrawn values (draws × groups), by linear interpolation.

    A draw in which a group has no value is NaN there: it is skipped and counted. When more than
    5 % are skipped there is no interval.

    >>> percentile([[1.0], [2.0], [3.0]], confidence=0.5)
    DrawInterval(low=array([1.5]), high=array([2.5]), skipped=array([0]))
    """
    return percentiles(draws, [confidence])[0]


def percentiles(draws: ArrayLike, confidences: Sequence[float]) -> list[DrawInterval]:
    """The limits of `percentile` at several confidences, from draws that are sorted once."""
    tails = [(1 - checked_confidence(confidence)) / 2 for confidence in confidences]
    values, skipped, kept = _kept(draws)
    levels = np.array([[level] for tail in tails for level in (tail, 1 - tail)])
    found = np.full((len(levels), values.shape[1]), np.nan)
    found[:, kept] = _quantiles(values[:, kept], levels * np.ones(int(kept.sum())))
    return [DrawInterval(low, high, skipped) for low, high in zip(found[::2], found[1::2], strict=True)]


def scaled_percentile(
    draws: ArrayLike,
    value: ArrayLike,
    clusters: ArrayLike,
    *,
    confidence: float = 0.95,
    scale: Scale = UNBOUNDED,
    plain: DrawInterval | None = None,
) -> DrawInterval:
    """Percentile limits widened around the value, for few clusters.

    A bootstrap of G clusters underestimates the spread by √((G−1)/G) and assumes a normal
    distribution where t with G − 1 degrees of freedom is due: one factor corrects both.
    Limits of numbers that can't leave a `scale` never do: between two ends they are moved apart on the angle asin √p,
    where the spread of a proportion does not depend on its size, beside one end on the square root of the distance.
    `plain`, the percentile limits at this confidence, saves sorting the draws again.

    >>> wide = scaled_percentile([[0.9], [0.95], [0.99]], [0.95], [4], scale=Scale(0, 1))
    >>> bool(wide.low[0] < 0.9), bool(0.99 < wide.high[0] <= 1.0)
    (True, True)
    """
    plain = percentile(draws, confidence=confidence) if plain is None else plain
    centre, g = floats(value), floats(clusters)
    factor = t_quantile(confidence, g - 1) / normal_quantile(confidence) * np.sqrt(divide(g, g - 1))
    turn, back = _stable(scale)
    middle = turn(centre)
    low, high = (back(middle + (turn(limit) - middle) * factor) for limit in (plain.low, plain.high))
    return DrawInterval(low, high, plain.skipped)


def are_rates(draws: ArrayLike, value: ArrayLike) -> bool:
    """Whether all redrawn values, and the values themselves, are numbers from 0 to 1.

    >>> are_rates([[0.2, np.nan], [1.0, 0.5]], [0.4, np.nan]), are_rates([[28.1]], [28.0])
    (True, False)
    """
    every = np.concatenate([floats(draws).ravel(), floats(value).ravel()])
    there = every[~np.isnan(every)]
    return bool(len(there)) and bool(there.min() >= 0) and bool(there.max() <= 1)


def _stable(scale: Scale) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """To where the spread hardly depends on the value and an end of the scale is an end, and back from there."""
    low, high, span = scale.low, scale.high, scale.span
    if np.isinf(low) and np.isinf(high):
        return floats, floats
    if np.isinf(high):
        return lambda v: np.sqrt(np.maximum(v - low, 0.0)), lambda r: low + np.maximum(r, 0.0) ** 2
    if np.isinf(low):
        return lambda v: -np.sqrt(np.maximum(high - v, 0.0)), lambda r: high - np.minimum(r, 0.0) ** 2
    return (
        lambda v: np.arcsin(np.sqrt(np.clip((v - low) / span, 0.0, 1.0))),
        lambda angle: low + span * np.sin(np.clip(angle, 0.0, np.pi / 2)) ** 2,
    )


def bias_corrected(
    draws: ArrayLike, value: ArrayLike, left_out: ArrayLike, *, confidence: float = 0.95
) -> DrawInterval:
    """Bias-corrected and accelerated limits (BCa).

    `left_out` (clusters × groups) has the values without one cluster at a time; a cluster that
    is not in a group leaves its value unchanged there, and is not counted when NaN.
    Where all draws equal the value, both limits are the value.
    """
    z = normal_quantile(confidence)
    values, skipped, kept = _kept(draws)
    centre = np.atleast_1d(floats(value))
    valid = ~np.isnan(values)
    total = valid.sum(axis=0)
    below = (values < centre).sum(axis=0) + 0.5 * (values == centre).sum(axis=0)
    share = np.clip(divide(below, total), divide(0.5, total), 1 - divide(0.5, total))
    bias = floats([normal_point(mass) for mass in share.tolist()])
    jack = floats(left_out)
    deviation = np.where(np.isnan(jack), 0.0, mean_of(jack) - jack)
    acceleration = divide((deviation**3).sum(axis=0), 6 * (deviation**2).sum(axis=0) ** 1.5)
    acceleration = np.where(np.isnan(acceleration), 0.0, acceleration)
    shifted = bias + np.array([[-z], [z]])
    levels = normal_above(-(bias + shifted / (1 - acceleration * shifted)))
    low, high = np.full(centre.shape, np.nan), np.full(centre.shape, np.nan)
    low[kept], high[kept] = _quantiles(values[:, kept], levels[:, kept])
    return DrawInterval(low, high, skipped)


def subsampled(
    draws: ArrayLike, value: ArrayLike, taken: ArrayLike, of: ArrayLike, *, confidence: float = 0.95
) -> DrawInterval:
    """An interval around full-sample values from draws of `taken` of `of` units without replacement.

    Only the spread of the draws is used: their standard deviation times √(m/(n−m)), with the t
    quantile of n − 1 degrees of freedom. Duplicates never occur, so distances between sets are not distorted.
    """
    values, skipped, kept = _kept(draws)
    centre, m, n = floats(value), floats(taken), floats(of)
    spread = np.full(centre.shape, np.nan)
    if values.shape[0] > 1:
        spread[kept] = deviation_of(values[:, kept])
    half = t_quantile(confidence, n - 1) * spread * np.sqrt(divide(m, n - m))
    return DrawInterval(centre - half, centre + half, skipped)


def _kept(draws: ArrayLike) -> tuple[Floats, Integers, Booleans]:
    """Draws as a table, the number of draws without a value per group, and the groups that keep an interval."""
    values = floats(draws)
    if values.ndim == 1:
        values = values[:, None]
    skipped = np.isnan(values).sum(axis=0).astype(np.int64)
    return values, skipped, skipped <= MOST_SKIPPED * len(values)


def _quantiles(values: Floats, levels: Floats) -> Floats:
    """Quantiles per column, by linear interpolation between the values that are there; levels (limits × columns)."""
    ordered = np.sort(values, axis=0)  # NaN last
    last = (~np.isnan(values)).sum(axis=0) - 1.0
    place = levels * last
    under = np.floor(place).astype(np.int64)
    over = np.ceil(place).astype(np.int64)
    columns = np.arange(values.shape[1])
    low, high = ordered[under, columns], ordered[over, columns]
    return floats(low + (high - low) * (place - under))
