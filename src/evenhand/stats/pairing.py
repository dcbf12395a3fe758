"""The formulas that fit a table of sums by unit: intervals of groups, differences of pairs.

Proportions of independent rows: Wilson, Newcombe, score or Fisher test. Several rows per unit: the same
intervals on effective sizes, and a score test between units. Means: t and Welch between units, Mann–Whitney on
unit means. Groups that share units: one joint formula.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy import special

from evenhand.core.metric import Kind
from evenhand.stats import contrasts, ranks
from evenhand.stats.checks import Booleans, Floats, Integers, divide, summed
from evenhand.stats.intervals import (
    Interval,
    effective_size,
    jackknife_interval,
    mean_interval,
    proportion_interval,
    wilson,
)
from evenhand.stats.ranks import OmnibusTest
from evenhand.stats.tables import UnitTable

FEW_UNITS = 100
"""Below so many units intervals take the forms for few units: t quantiles, jackknife."""

Names = NDArray[np.str_]


@dataclass(frozen=True)
class Pairs:
    """Differences of pairs of groups: arrays with one entry for each pair."""

    difference: Floats
    interval: Interval
    narrow: Interval  # at 1 − 2α, for equivalence
    p_value: Floats
    test: Names
    interval_name: Names
    detectable: Floats
    effects: dict[str, Floats] = field(default_factory=dict)
    shared_rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    shared_units: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


def names(text: str | Names, count: int | None = None) -> Names:
    """One name for each pair, with room for longer ones."""
    return np.array(text if count is None else [text] * count, dtype="<U40")


def table_limits(table: UnitTable, confidence: float) -> tuple[Interval, Names]:
    """The interval that fits a table of sums by unit, and its name, for every group."""
    means = table.means
    few = means.clusters < FEW_UNITS
    if table.kind is not Kind.PROPORTION:
        shares = table.kind is Kind.SHARE
        plain = mean_interval(means, confidence=confidence, shares=shares)
        if table.independent:
            return plain, np.full(table.groups, "t")
        wider = jackknife_interval(table.jackknife, confidence=confidence, shares=shares)
        return _either(few, wider, plain), np.where(few, "cluster_t_jackknife", "cluster_t")
    if table.independent:
        return wilson(table.totals, means.rows, confidence=confidence), np.full(table.groups, "wilson")
    plain = proportion_interval(means, confidence=confidence)
    wider = proportion_interval(means, confidence=confidence, small_sample=True)
    return _either(few, wider, plain), np.where(few, "wilson_effective_t", "wilson_effective")


def _either(few: Booleans, wider: Interval, plain: Interval) -> Interval:
    return Interval(np.where(few, wider.low, plain.low), np.where(few, wider.high, plain.high))


def table_pairs(table: UnitTable, first: Integers, second: Integers, confidence: float, alpha: float) -> Pairs:
    """Differences of groups by the formula that fits the table; groups that share units get the joint one."""
    shared = np.rint(table.shared_units[first, second]).astype(np.int64)
    narrow = 1 - 2 * alpha
    if table.kind is not Kind.PROPORTION:
        found = _mean_pairs(table, first, second, confidence, narrow, alpha)
    else:
        found = _proportion_pairs(table, first, second, confidence, narrow, alpha)
    found = Pairs(
        found.difference, found.interval, found.narrow, found.p_value, found.test, found.interval_name,
        found.detectable, found.effects, np.zeros(len(first), dtype=np.int64), shared,
    )  # fmt: skip
    joint = np.flatnonzero(shared > 0)
    if len(joint):
        _put_joint(found, joint, table, first, second, confidence, narrow, alpha)
    return found


def wald(values: Floats, covariance: Floats, units: int) -> OmnibusTest:
    """The test that all values are equal, given their joint covariance from `units` units (Hotelling's F)."""
    groups = len(values)
    if groups < 2 or np.any(np.isnan(values)) or np.any(np.isnan(covariance)) or units <= groups:
        return OmnibusTest(float("nan"), max(groups - 1, 0), float("nan"), "wald")
    apart = values[1:] - values[0]
    change = np.hstack([-np.ones((groups - 1, 1)), np.eye(groups - 1)])
    spread = change @ covariance @ change.T
    rank = int(np.linalg.matrix_rank(spread, hermitian=True))
    if rank == 0:
        return OmnibusTest(float("nan"), groups - 1, float("nan"), "wald")
    statistic = float(apart @ np.linalg.pinv(spread, hermitian=True) @ apart)
    free = units - rank
    p = float(special.fdtrc(rank, free, statistic * free / (rank * (units - 1))))
    return OmnibusTest(statistic, rank, p, "wald")


def _proportion_pairs(
    table: UnitTable, first: Integers, second: Integers, confidence: float, narrow: float, alpha: float
) -> Pairs:
    means = table.means
    if table.independent:
        k, n, name = table.totals, means.rows, "newcombe"
    else:
        size = effective_size(means)
        n = np.where(np.isnan(size.rows), 0.0, size.rows)
        k = np.clip(np.where(n > 0, means.value * n, 0.0), 0, n)
        name = "newcombe_effective"
    wide, _ = table_limits(table, confidence)
    slim, _ = table_limits(table, narrow)
    p = means.value
    limits = []
    for one in (wide, slim):
        d = contrasts.difference_of_limits(
            p[first], Interval(one.low[first], one.high[first]), p[second], Interval(one.low[second], one.high[second])
        )
        limits.append(Interval(d.low, d.high))
    if table.independent:
        found = contrasts.proportion_test(k[first], n[first], k[second], n[second])
        test, tests = found.p_value, names(found.method)
    else:
        sums = contrasts.cluster_sums(table.top, table.bottom, table.group, table.groups)
        sides = [contrasts.ClusterSums(*(column[side] for column in sums)) for side in (first, second)]
        test, tests = contrasts.cluster_score_test(*sides), names("cluster_score", len(first))
    ratio = contrasts.log_ratio(k[first], n[first], k[second], n[second], confidence=confidence)
    pooled = divide(k[first] + k[second], n[first] + n[second])
    return Pairs(
        p[first] - p[second],
        limits[0],
        limits[1],
        test,
        tests,
        names(name, len(first)),
        contrasts.detectable_difference(pooled, n[first], n[second], alpha=alpha),
        {
            "ratio": ratio.value,
            "ratio_low": ratio.low,
            "ratio_high": ratio.high,
            "cohens_h": contrasts.cohens_h(np.clip(p[first], 0, 1), np.clip(p[second], 0, 1)),
        },
    )


def _mean_pairs(
    table: UnitTable, first: Integers, second: Integers, confidence: float, narrow: float, alpha: float
) -> Pairs:
    means = table.means
    m, v, g = means.value, means.variance, means.clusters
    wide = contrasts.welch(m[first], v[first], g[first], m[second], v[second], g[second], confidence=confidence)
    slim = contrasts.welch(m[first], v[first], g[first], m[second], v[second], g[second], confidence=narrow)
    unit_means = divide(table.top, table.bottom)
    sums = ranks.rank_sums(unit_means, table.group, table.groups)
    u, n = sums.u[first, second], sums.counts
    test = ranks.mann_whitney(u, n[first], n[second], sums.ties[first, second])
    centre = divide(summed(table.group, unit_means, table.groups), n)
    squares = summed(table.group, (unit_means - np.nan_to_num(centre)[table.group]) ** 2, table.groups)
    deviation = np.sqrt(divide(squares, (n - 1.0).clip(0)))
    return Pairs(
        wide.value,
        Interval(wide.low, wide.high),
        Interval(slim.low, slim.high),
        test.p_value,
        names("mann_whitney", len(first)),
        names("welch" if table.independent else "welch_clusters", len(first)),
        contrasts.detectable_by_error(wide.standard_error, alpha=alpha),
        {
            "ratio": divide(m[first], m[second]),
            "cliffs_delta": ranks.cliffs_delta(u, n[first], n[second]),
            "hedges_g": contrasts.hedges_g(
                centre[first], deviation[first], n[first], centre[second], deviation[second], n[second]
            ),
        },
    )


def _put_joint(
    found: Pairs,
    at: Integers,
    table: UnitTable,
    first: Integers,
    second: Integers,
    confidence: float,
    narrow: float,
    alpha: float,
) -> None:
    """Replace pairs that share units by the joint formula: what a unit does to both groups counts once."""
    i, j = first[at], second[at]
    units = table.means.clusters[i] + table.means.clusters[j] - table.shared_units[i, j]
    s = table.covariance
    squares = (s[i, i] + s[j, j] - 2 * s[i, j]).clip(0)
    wide = contrasts.joint_contrast(found.difference[at], squares, units, confidence=confidence)
    slim = contrasts.joint_contrast(found.difference[at], squares, units, confidence=narrow)
    found.interval.low[at], found.interval.high[at] = wide.low, wide.high
    found.narrow.low[at], found.narrow.high[at] = slim.low, slim.high
    found.p_value[at] = wide.p_value
    found.detectable[at] = contrasts.detectable_by_error(wide.standard_error, alpha=alpha)
    found.test[at] = "cluster_t"
    found.interval_name[at] = "cluster_t"


def put(found: Pairs, at: Integers, some: Pairs) -> None:
    """Write some pairs over those at the given places."""
    found.difference[at] = some.difference
    for mine, theirs in ((found.interval, some.interval), (found.narrow, some.narrow)):
        mine.low[at], mine.high[at] = theirs.low, theirs.high
    found.p_value[at], found.detectable[at] = some.p_value, some.detectable
    found.shared_units[at] = some.shared_units
    found.test[at], found.interval_name[at] = some.test, some.interval_name
    for name, values in found.effects.items():
        values[at] = some.effects[name]


def cluster_covariance(table: UnitTable, picked: list[int]) -> Floats:
    units = joint_units(table, picked)
    return table.covariance[np.ix_(picked, picked)] * units / max(units - 1, 1)


def joint_units(table: UnitTable, picked: list[int]) -> int:
    inside = np.isin(table.group, picked)
    return len(np.unique(table.unit[inside]))
