"""The formulas that fit a table of sums by unit: intervals of groups, differences of pairs.

Proportions of independent rows: Wilson, Newcombe, score or Fisher test. Several rows per unit: the same
intervals on effective sizes, and a score test between units. Means: t and Welch between units, Mann–Whitney on
unit means. Groups that share units: one joint formula.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Kind, Scale
from evenhand.stats import contrasts, ranks
from evenhand.stats.checks import Booleans, Floats, Integers, divide, floats, summed
from evenhand.stats.distributions import f_above
from evenhand.stats.intervals import (
    IntervalArrays,
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
class GroupPairs:
    """Differences of pairs of groups: arrays with one entry for each pair."""

    difference: Floats
    interval: IntervalArrays
    narrow: IntervalArrays  # at 1 − 2α, for equivalence
    p_value: Floats
    test: Names
    interval_name: Names
    detectable: Floats
    effects: dict[str, Floats] = field(default_factory=dict)
    shared_rows: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    shared_units: Integers = field(default_factory=lambda: np.zeros(0, dtype=np.int64))


class _Levels(NamedTuple):
    confidence: float
    alpha: float

    @property
    def narrow(self) -> float:
        """The confidence of the interval that shows equivalence."""
        return 1 - 2 * self.alpha


def joined(parts: Sequence[GroupPairs]) -> GroupPairs:
    """The pairs of all parts, one after the other; the effects of all parts have the same names."""
    if len(parts) == 1:
        return parts[0]

    def together(columns: Sequence[Any]) -> Any:
        if isinstance(columns[0], dict):
            return {name: np.concatenate([column[name] for column in columns]) for name in columns[0]}
        if isinstance(columns[0], IntervalArrays):
            return IntervalArrays(*(np.concatenate(ends) for ends in zip(*columns, strict=True)))
        return np.concatenate(columns)

    return GroupPairs(*(together([getattr(part, entry.name) for part in parts]) for entry in fields(GroupPairs)))


def names(text: str | Names, count: int | None = None) -> Names:
    """One name for each pair, with space for longer ones."""
    return np.array(text if count is None else [text] * count, dtype="<U40")


def table_limits(table: UnitTable, confidence: float) -> tuple[IntervalArrays, Names]:
    """The interval that fits a table of sums by unit, and its name, for every group."""
    means = table.means
    few = means.clusters < FEW_UNITS
    if table.kind is not Kind.PROPORTION:
        form = _form(table.scale)
        plain = mean_interval(means, confidence=confidence, scale=table.scale)
        if table.independent:
            return plain, np.full(table.groups, f"t{form}")
        wider = jackknife_interval(table.jackknife, confidence=confidence, scale=table.scale)
        return _either(few, wider, plain), np.where(few, f"cluster_t_jackknife{form}", f"cluster_t{form}")
    if table.independent:
        return wilson(table.totals, means.rows, confidence=confidence), np.full(table.groups, "wilson")
    plain = proportion_interval(means, confidence=confidence)
    wider = proportion_interval(means, confidence=confidence, small_sample=True)
    return _either(few, wider, plain), np.where(few, "wilson_effective_t", "wilson_effective")


def _form(scale: Scale) -> str:
    """What the name of an interval says of the scale it was made on."""
    ends = np.isfinite(scale)
    return "_logit" if all(ends) else "_log" if any(ends) else ""


def _either(few: Booleans, wider: IntervalArrays, plain: IntervalArrays) -> IntervalArrays:
    return IntervalArrays(np.where(few, wider.low, plain.low), np.where(few, wider.high, plain.high))


def table_pairs(table: UnitTable, first: Integers, second: Integers, confidence: float, alpha: float) -> GroupPairs:
    """Differences of groups by the formula that fits the table; groups that share units get the joint one."""
    shared = table.units_in_both(first, second)
    levels = _Levels(confidence, alpha)
    make = _mean_pairs if table.kind is not Kind.PROPORTION else _proportion_pairs
    compared = make(table, first, second, np.flatnonzero(shared == 0), levels)
    compared = replace(compared, shared_rows=np.zeros(len(first), dtype=np.int64), shared_units=shared)
    joint = np.flatnonzero(shared > 0)
    if len(joint):
        _put_joint(compared, joint, table, first[joint], second[joint], levels)
    return compared


def table_tests(table: UnitTable, first: Integers, second: Integers) -> Floats:
    """The p-values of `table_pairs` alone: of a large family all pairs are tested, and few are listed."""
    shared = table.units_in_both(first, second)
    p = np.empty(len(first))
    apart, joint = np.flatnonzero(shared == 0), np.flatnonzero(shared > 0)
    if len(joint):
        i, j = first[joint], second[joint]
        units = _joint_units(table, i, j, shared[joint])
        error = contrasts.joint_error(table.joint_squares(i, j), units)
        p[joint] = contrasts.joint_test(_apart(table.means.value, i, j), error, units)
    if len(apart):
        i, j = first[apart], second[apart]
        if table.kind is not Kind.PROPORTION:
            sums = ranks.paired_ranks(divide(table.top, table.bottom), table.group, table.groups, i, j)
            p[apart] = ranks.mann_whitney(sums.u, sums.counts[i], sums.counts[j], sums.ties).p_value
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
    if rank == 0:
        return OmnibusTest(float("nan"), groups - 1, float("nan"), "wald")
    statistic = float(apart @ np.linalg.pinv(spread, hermitian=True) @ apart)
    free = units - rank
    p = f_above(statistic * free / (rank * (units - 1)), rank, free)
    return OmnibusTest(statistic, rank, p, "wald")


def _apart(values: Floats, first: Integers, second: Integers) -> Floats:
    return floats(values[first] - values[second])


def _counts(table: UnitTable) -> tuple[Floats, Floats]:
    """Events and rows of each group; effective ones, where several rows are of one unit."""
    if table.independent:
        return table.totals, table.means.rows
    size = effective_size(table.means)
    n = np.where(np.isnan(size.rows), 0.0, size.rows)
    return np.clip(np.where(n > 0, table.means.value * n, 0.0), 0, n), n


def _proportion_tests(table: UnitTable, first: Integers, second: Integers) -> tuple[Floats, Names]:
    """p-values of tests that two proportions are equal, with the names of the tests."""
    if table.independent:
        k, n = _counts(table)
        found = contrasts.proportion_test(k[first], n[first], k[second], n[second])
        return found.p_value, names(found.method)
    sums = contrasts.cluster_sums(table.top, table.bottom, table.group, table.groups)
    sides = [contrasts.ClusterSums(*(column[side] for column in sums)) for side in (first, second)]
    return contrasts.cluster_score_test(*sides), names("cluster_score", len(first))


def _proportion_pairs(
    table: UnitTable, first: Integers, second: Integers, apart: Integers, levels: _Levels
) -> GroupPairs:
    k, n = _counts(table)
    p = table.means.value
    limits = [_from_limits(table, first, second, level) for level in (levels.confidence, levels.narrow)]
    test, tests = np.full(len(first), np.nan), names("", len(first))
    test[apart], tests[apart] = _proportion_tests(table, first[apart], second[apart])
    ratio = contrasts.log_ratio(k[first], n[first], k[second], n[second], confidence=levels.confidence)
    pooled = divide(k[first] + k[second], n[first] + n[second])
    return GroupPairs(
        p[first] - p[second],
        limits[0],
        limits[1],
        test,
        tests,
        names("newcombe" if table.independent else "newcombe_effective", len(first)),
        contrasts.detectable_difference(pooled, n[first], n[second], alpha=levels.alpha),
        dict(zip(("ratio", "ratio_low", "ratio_high"), ratio, strict=True))
        | {"cohens_h": contrasts.cohens_h(np.clip(p[first], 0, 1), np.clip(p[second], 0, 1))},
    )


def _from_limits(table: UnitTable, first: Integers, second: Integers, confidence: float) -> IntervalArrays:
    """The interval of differences from the limits of both groups, Newcombe's way."""
    own, _ = table_limits(table, confidence)
    value = table.means.value
    sides = [IntervalArrays(own.low[side], own.high[side]) for side in (first, second)]
    found = contrasts.difference_of_limits(value[first], sides[0], value[second], sides[1])
    return IntervalArrays(found.low, found.high)


def _mean_pairs(table: UnitTable, first: Integers, second: Integers, apart: Integers, levels: _Levels) -> GroupPairs:
    """Differences of means; interval and test only of the pairs that are `apart`, sharing no unit."""
    means = table.means
    m, v, g = means.value, means.variance, floats(means.clusters)
    i, j = first[apart], second[apart]
    sides = m[i], v[i], g[i], m[j], v[j], g[j]
    error = contrasts.welch_error(*sides)
    if np.isfinite(table.scale.span):  # so that it can't be wider than the scale
        name = "newcombe_means"
        limits = _from_limits(table, i, j, levels.confidence), _from_limits(table, i, j, levels.narrow)
    else:
        name = "welch" if table.independent else "welch_clusters"
        wide = contrasts.welch(*sides, confidence=levels.confidence)
        limits = IntervalArrays(wide.low, wide.high), contrasts.at_confidence(wide, levels.narrow)
    unit_means = divide(table.top, table.bottom)
    sums = ranks.paired_ranks(unit_means, table.group, table.groups, first, second)
    u, n = sums.u, sums.counts
    test = ranks.mann_whitney(u[apart], n[i], n[j], sums.ties[apart])
    centre = divide(summed(table.group, unit_means, table.groups), n)
    squares = summed(table.group, (unit_means - np.nan_to_num(centre)[table.group]) ** 2, table.groups)
    deviation = np.sqrt(divide(squares, (n - 1.0).clip(0)))

    def of_all(values: Floats) -> Floats:
        every = np.full(len(first), np.nan)
        every[apart] = values
        return every

    delta = ranks.cliffs_delta(u, n[first], n[second])
    ranked = ranks.cliffs_delta_interval(delta[apart], n[i], n[j], confidence=levels.confidence)
    return GroupPairs(
        _apart(m, first, second),
        IntervalArrays(of_all(limits[0].low), of_all(limits[0].high)),
        IntervalArrays(of_all(limits[1].low), of_all(limits[1].high)),
        of_all(test.p_value),
        names("mann_whitney", len(first)),
        names(name, len(first)),
        of_all(contrasts.detectable_by_error(error, alpha=levels.alpha)),
        {
            "ratio": divide(m[first], m[second]),
            "cliffs_delta": delta,
            "cliffs_delta_low": of_all(ranked.low),
            "cliffs_delta_high": of_all(ranked.high),
            "hedges_g": contrasts.hedges_g(
                centre[first], deviation[first], n[first], centre[second], deviation[second], n[second]
            ),
        },
    )


def _joint_units(table: UnitTable, first: Integers, second: Integers, shared: Integers) -> Floats:
    """How many units the two groups of each pair have together."""
    return floats(table.means.clusters[first] + table.means.clusters[second] - shared)


def _put_joint(
    found: GroupPairs, at: Integers, table: UnitTable, first: Integers, second: Integers, levels: _Levels
) -> None:
    """Write the joint formula over the pairs at the given places: what a unit does to both groups counts once."""
    units = _joint_units(table, first, second, found.shared_units[at])
    squares = table.joint_squares(first, second)
    wide = contrasts.joint_contrast(found.difference[at], squares, units, confidence=levels.confidence)
    slim = contrasts.at_confidence(wide, levels.narrow)
    span = table.scale.span
    found.interval.low[at], found.interval.high[at] = np.maximum(wide.low, -span), np.minimum(wide.high, span)
    found.narrow.low[at], found.narrow.high[at] = np.maximum(slim.low, -span), np.minimum(slim.high, span)
    found.p_value[at] = wide.p_value
    found.detectable[at] = contrasts.detectable_by_error(wide.standard_error, alpha=levels.alpha)
    found.test[at] = "cluster_t"
    found.interval_name[at] = "cluster_t"


def put(found: GroupPairs, at: Integers, some: GroupPairs) -> None:
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
