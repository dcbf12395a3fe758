"""The formulas that fit a table of sums by unit: intervals of groups, differences of pairs.

Proportions of independent rows: Wilson, Newcombe, score or Fisher test. Several rows per unit: the same
intervals on effective sizes, and a score test between units. Means: t and Welch between units, Mann–Whitney on
unit means. Groups that share units: one joint formula.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Kind, Scale
from evenhand.stats import contrasts, ranks
from evenhand.stats.checks import Floats, Integers, divide, summed
from evenhand.stats.distributions import f_above
from evenhand.stats.intervals import (
    IntervalArrays,
    effective_size,
    either,
    mean_interval,
    proportion_interval,
    wilson,
)
from evenhand.stats.ranks import OmnibusTest
from evenhand.stats.settings import Settings
from evenhand.stats.tables import UnitTable

FEW_UNITS = 100
"""Below so many units intervals take the forms for few units: t quantiles, jackknife."""

Names = NDArray[np.str_]


class GroupPairs(NamedTuple):
    """Differences of pairs of groups: arrays with one entry for each pair."""

    difference: Floats
    low: Floats
    high: Floats
    narrow_low: Floats  # at 1 − 2α, for equivalence
    narrow_high: Floats
    p_value: Floats
    test: Names
    interval_name: Names
    detectable: Floats
    shared_rows: Integers
    shared_units: Integers
    effects: dict[str, Floats]


def joined(parts: Sequence[GroupPairs]) -> GroupPairs:
    """The pairs of all parts, one after the other; the effects of all parts have the same names."""
    if len(parts) == 1:
        return parts[0]
    effects = {name: np.concatenate([part.effects[name] for part in parts]) for name in parts[0].effects}
    columns: Any = zip(*(part[:-1] for part in parts), strict=True)
    return GroupPairs._make([*map(np.concatenate, columns), effects])


def put(pairs: GroupPairs, at: Integers, some: GroupPairs) -> None:
    """Write some pairs over those at the given places."""
    columns: Any = zip((*pairs[:-1], *pairs.effects.values()), (*some[:-1], *some.effects.values()), strict=True)
    for column, values in columns:
        column[at] = values


def names(text: str | Names, count: int) -> Names:
    """A name for each pair, with space for longer ones."""
    return np.full(count, text, dtype="<U40")


def table_limits(table: UnitTable, confidence: float) -> tuple[IntervalArrays, Names]:
    """The interval that fits a table of sums by unit, and its name, for every group."""
    means = table.means
    few = means.clusters < FEW_UNITS
    if table.kind is not Kind.PROPORTION:
        form = _form(table.scale)
        plain = mean_interval(means, confidence=confidence, scale=table.scale)
        if table.independent:
            return plain, np.full(table.groups, f"t{form}")
        wider = mean_interval(table.jackknife, confidence=confidence, scale=table.scale)
        return either(few, wider, plain), np.where(few, f"cluster_t_jackknife{form}", f"cluster_t{form}")
    if table.independent:
        return wilson(table.totals, means.rows, confidence=confidence), np.full(table.groups, "wilson")
    plain = proportion_interval(means, confidence=confidence)
    wider = proportion_interval(means, confidence=confidence, small_sample=True)
    return either(few, wider, plain), np.where(few, "wilson_effective_t", "wilson_effective")


def _form(scale: Scale) -> str:
    """What the name of an interval says of the scale it was made on."""
    ends = np.isfinite(scale)
    return "_logit" if all(ends) else "_log" if any(ends) else ""


def table_pairs(table: UnitTable, first: Integers, second: Integers, settings: Settings) -> GroupPairs:
    """Differences of groups by the formula that fits the table; groups that share units get the joint one."""
    shared = table.units_in_both(first, second)
    make = _mean_pairs if table.kind is not Kind.PROPORTION else _proportion_pairs
    pairs = make(table, first, second, shared, settings)
    at = np.flatnonzero(shared > 0)
    if len(at):  # what a unit does to both groups counts once
        joint, span = _joint(table, first[at], second[at], shared[at]), table.scale.span
        wide, narrow = (joint.limits(level).within(span) for level in settings.levels)
        pairs.low[at], pairs.high[at] = wide
        pairs.narrow_low[at], pairs.narrow_high[at] = narrow
        pairs.p_value[at] = joint.p_value
        pairs.detectable[at] = contrasts.detectable_by_error(joint.standard_error, alpha=settings.alpha)
        pairs.test[at] = pairs.interval_name[at] = "cluster_t"
    return pairs


def table_tests(table: UnitTable, first: Integers, second: Integers) -> Floats:
    """The p-values of `table_pairs` alone: of a large family all pairs are tested, and few are listed."""
    shared = table.units_in_both(first, second)
    p = np.empty(len(first))
    apart, joint = np.flatnonzero(shared == 0), np.flatnonzero(shared > 0)
    if len(joint):
        p[joint] = _joint(table, first[joint], second[joint], shared[joint]).p_value
    if len(apart):
        i, j = first[apart], second[apart]
        if table.kind is not Kind.PROPORTION:
            sums = ranks.paired_ranks(divide(table.top, table.bottom), table.group, table.groups, i, j)
            p[apart] = ranks.mann_whitney(sums.u, sums.counts[i], sums.counts[j], sums.ties)
        else:
            p[apart] = _proportion_tests(table, i, j)[0]
    return p


def wald(values: Floats, covariance: Floats, units: int) -> OmnibusTest:
    """The test that all values are equal, given their joint covariance from `units` units (Hotelling's F)."""
    groups = len(values)
    if groups < 2 or np.any(np.isnan(values)) or np.any(np.isnan(covariance)) or units <= groups:
        return OmnibusTest(float("nan"), max(groups - 1, 0), float("nan"), "wald")
    apart = values[1:] - values[0]
    change = np.hstack([-np.ones((groups - 1, 1)), np.eye(groups - 1)])
    spread = change @ covariance @ change.T
    rank = int(np.linalg.matrix_rank(spread, hermitian=True))
    if rank == 0 or np.abs(spread).max() <= contrasts.rounding_of(values.min(), values.max()) ** 2:
        return OmnibusTest(float("nan"), groups - 1, float("nan"), "wald")
    statistic = float(apart @ np.linalg.pinv(spread, hermitian=True) @ apart)
    free = units - rank
    p = f_above(statistic * free / (rank * (units - 1)), rank, free)
    return OmnibusTest(statistic, rank, p, "wald")


def _counts(table: UnitTable) -> tuple[Floats, Floats]:
    """Events and rows of each group; effective ones, where several rows are of one unit."""
    if table.independent:
        return table.totals, table.means.rows
    size = effective_size(table.means)
    n = np.where(np.isnan(size.rows), 0.0, size.rows)
    return np.clip(np.where(n > 0, table.means.value * n, 0.0), 0, n), n


def _proportion_tests(table: UnitTable, first: Integers, second: Integers) -> tuple[Floats, Names | str]:
    """p-values of tests that two proportions are equal, with the names of the tests."""
    if table.independent:
        k, n = _counts(table)
        return contrasts.proportion_test(k[first], n[first], k[second], n[second])
    sums = contrasts.cluster_sums(table.top, table.bottom, table.group, table.groups)
    sides = [contrasts.ClusterSums(*(column[side] for column in sums)) for side in (first, second)]
    return contrasts.cluster_score_test(*sides), "cluster_score"


def _proportion_pairs(
    table: UnitTable, first: Integers, second: Integers, shared: Integers, settings: Settings
) -> GroupPairs:
    k, n = _counts(table)
    p = table.means.value
    wide, narrow = (_from_limits(table, first, second, level) for level in settings.levels)
    test, tests = np.full(len(first), np.nan), names("", len(first))
    apart = np.flatnonzero(shared == 0)
    test[apart], tests[apart] = _proportion_tests(table, first[apart], second[apart])
    ratio = contrasts.log_ratio(k[first], n[first], k[second], n[second], confidence=settings.confidence)
    pooled = divide(k[first] + k[second], n[first] + n[second])
    return GroupPairs(
        p[first] - p[second],
        *wide,
        *narrow,
        test,
        tests,
        names("newcombe" if table.independent else "newcombe_effective", len(first)),
        contrasts.detectable_difference(pooled, n[first], n[second], alpha=settings.alpha),
        np.zeros_like(shared),
        shared,
        dict(zip(("ratio", "ratio_low", "ratio_high"), ratio, strict=True))
        | {"cohens_h": contrasts.cohens_h(np.clip(p[first], 0, 1), np.clip(p[second], 0, 1))},
    )


def _from_limits(table: UnitTable, first: Integers, second: Integers, confidence: float) -> IntervalArrays:
    """The interval of differences from the limits of both groups, Newcombe's way."""
    own, _ = table_limits(table, confidence)
    value = table.means.value
    sides = [IntervalArrays(own.low[side], own.high[side]) for side in (first, second)]
    return IntervalArrays(*contrasts.difference_of_limits(value[first], sides[0], value[second], sides[1])[1:])


def _mean_pairs(
    table: UnitTable, first: Integers, second: Integers, shared: Integers, settings: Settings
) -> GroupPairs:
    """Differences of means; interval and test only of the pairs that share no unit."""
    means, apart = table.means, np.flatnonzero(shared == 0)
    m, v, g = means.value, means.variance, means.clusters
    i, j = first[apart], second[apart]
    welch = contrasts.welch(m[i], v[i], g[i], m[j], v[j], g[j])
    if np.isfinite(table.scale.span):  # so that it can't be wider than the scale
        name = "newcombe_means"
        wide, narrow = (_from_limits(table, i, j, level) for level in settings.levels)
    else:
        name = "welch" if table.independent else "welch_clusters"
        wide, narrow = map(welch.limits, settings.levels)
    unit_means = divide(table.top, table.bottom)
    sums = ranks.paired_ranks(unit_means, table.group, table.groups, first, second)
    u, n = sums.u, sums.counts
    centre = divide(summed(table.group, unit_means, table.groups), n)
    squares = summed(table.group, (unit_means - np.nan_to_num(centre)[table.group]) ** 2, table.groups)
    deviation = np.sqrt(divide(squares, (n - 1.0).clip(0)))
    delta = ranks.cliffs_delta(u, n[first], n[second])

    def of_all(values: Floats) -> Floats:
        every = np.full(len(first), np.nan)
        every[apart] = values
        return every

    ranked = ranks.cliffs_delta_interval(delta[apart], n[i], n[j], confidence=settings.confidence)
    wide, narrow, ranked = (IntervalArrays(*map(of_all, limits)) for limits in (wide, narrow, ranked))
    return GroupPairs(
        m[first] - m[second],
        *wide,
        *narrow,
        of_all(ranks.mann_whitney(u[apart], n[i], n[j], sums.ties[apart])),
        names("mann_whitney", len(first)),
        names(name, len(first)),
        of_all(contrasts.detectable_by_error(welch.standard_error, alpha=settings.alpha)),
        np.zeros_like(shared),
        shared,
        {
            "ratio": divide(m[first], m[second]),
            "cliffs_delta": delta,
            "cliffs_delta_low": ranked.low,
            "cliffs_delta_high": ranked.high,
            "hedges_g": contrasts.hedges_g(
                centre[first], deviation[first], n[first], centre[second], deviation[second], n[second]
            ),
        },
    )


def _joint(table: UnitTable, first: Integers, second: Integers, shared: Integers) -> contrasts.MeanContrast:
    """Differences of groups that share units."""
    value, units = table.means.value, table.means.clusters
    squares, least = table.joint_squares(first, second), contrasts.rounding_of(value[first], value[second])
    return contrasts.joint_contrast(value[first] - value[second], squares, units[first] + units[second] - shared, least)
