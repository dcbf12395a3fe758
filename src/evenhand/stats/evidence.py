"""What the data say about one output: its values, how sure they are, how groups differ.

There are two kinds. A ratio of sums (a proportion, a mean) has formulas: from the sums of each unit
follow intervals, tests and permutations. Anything else is resampled. Both answer the same questions,
so the layer above asks without knowing which it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from evenhand.core.metric import UNBOUNDED, UNIT_SCALE, Kind, Ratio, Scale
from evenhand.core.records import EVERYONE, blocks
from evenhand.core.sparse import SparseMatrix
from evenhand.core.streams import stream
from evenhand.stats import contrasts, ranks
from evenhand.stats.checks import Floats, Integers, deviation_of, divide
from evenhand.stats.distributions import t_two_sided
from evenhand.stats.intervals import (
    MOST_SKIPPED,
    DrawInterval,
    IntervalArrays,
    are_rates,
    clopper_pearson,
    either,
    percentile,
    percentiles,
    scaled_percentile,
)
from evenhand.stats.pairing import GroupPairs, Names, joined, names, put, table_limits, table_pairs, table_tests, wald
from evenhand.stats.permutation import (
    MANY_CLUSTERS,
    Permuted,
    gap_of,
    membership_patterns,
    permute_events,
    permute_labels,
    permuted_test,
)
from evenhand.stats.ranks import OmnibusTest
from evenhand.stats.resample import Weights
from evenhand.stats.settings import Settings
from evenhand.stats.tables import PatternTable, TallyLayout, UnitTable, unit_table

RESAMPLED = "units resampled, groups moved to a common value"
FEW_DRAWN_UNITS = 200
"""Below so many units, bootstrap limits are widened by the t quantile."""
_ENTRIES_AT_ONCE = 2_000_000  # of pairs that share rows
_MOST_MEMBERSHIPS = 50_000_000  # of units in groups that are written out as a table
_DRAWN_AT_ONCE = 4_000_000  # draws of differences


@dataclass(frozen=True)
class Limits:
    """Intervals of all groups, with the name of the method and what to note beside each."""

    interval: IntervalArrays
    method: tuple[str, ...]
    notes: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class RatioEvidence:
    """Evidence of a proportion or mean, from sums and counts by unit."""

    places: TallyLayout
    ratio: Ratio
    weights: Callable[[], Iterator[Weights | Floats]]  # drawn anew from their stream, for what has no formula
    seed: tuple[str, ...] = ()  # permutations come from the stream of these names
    exact: bool = False  # Clopper and Pearson in place of Wilson
    counted: PatternTable | None = None  # of independent rows that are right or wrong; `ratio` is not looked at then

    @cached_property
    def table(self) -> UnitTable:
        """Sums and counts by unit and group."""
        return unit_table(self.places, self.ratio) if self.counted is None else self.counted

    @property
    def values(self) -> Floats:
        """(groups,): NaN where there is none."""
        return self.table.means.value

    @property
    def rows(self) -> Floats:
        """(groups,): rows that the value is based on."""
        return self.table.means.rows

    @property
    def events(self) -> Floats | None:
        """(groups,): events, for proportions."""
        return self.table.totals if self.table.kind is Kind.PROPORTION else None

    def limits(self, confidence: float) -> Limits:
        """The interval of every group."""
        interval, methods = table_limits(self.table, confidence)
        if self.exact and self.table.independent and self.table.kind is Kind.PROPORTION:
            interval = clopper_pearson(self.table.totals, self.rows, confidence=confidence)
            methods = np.full(len(methods), "clopper_pearson")
        return Limits(interval, tuple(methods.tolist()), ((),) * len(methods))

    def pairs(self, first: Integers, second: Integers, settings: Settings) -> GroupPairs:
        """Differences of groups, first minus second."""
        parts = []
        for one, other in self._parts(first, second):
            shared_rows = self.places.shared_pairs(one, other)
            pairs = table_pairs(*self._table_of(one, other), settings)
            for at, apart, sides in self._without_shared(one, other, shared_rows):
                put(pairs, at, table_pairs(apart, sides, sides + 1, settings))
            parts.append(pairs._replace(shared_rows=shared_rows))
        return joined(parts)

    def p_values(self, first: Integers, second: Integers, settings: Settings) -> Floats:
        """The p-values of `pairs` alone."""
        parts = []
        for one, other in self._parts(first, second):
            p = table_tests(*self._table_of(one, other))
            for at, apart, sides in self._without_shared(one, other, self.places.shared_pairs(one, other)):
                p[at] = table_tests(apart, sides, sides + 1)
            parts.append(p)
        return np.concatenate(parts)

    def _parts(self, first: Integers, second: Integers) -> Iterator[tuple[Integers, Integers]]:
        """Runs of pairs of the same attributes, each of which needs the table of its own groups only."""
        ends = np.flatnonzero(np.diff(self.places.attribute_sets[first])) + 1
        return zip(np.split(first, ends), np.split(second, ends), strict=True)

    def _table_of(self, first: Integers, second: Integers) -> tuple[UnitTable, Integers, Integers]:
        """The table of the groups that are compared, and where the sides of the pairs stand in it."""
        used, one, other = self.places.among(first, second)
        return self.table.of(used), one, other

    def _without_shared(
        self, first: Integers, second: Integers, shared_rows: Integers
    ) -> Iterator[tuple[Integers, UnitTable, Integers]]:
        """The pairs that share rows, block by block: which they are, their table without these rows, first sides."""
        overlapping = np.flatnonzero(shared_rows > 0)
        sizes = self.places.keeps.sizes
        many = int(sizes[first[overlapping]].sum() + sizes[second[overlapping]].sum())
        for block in blocks(len(overlapping), max(1, _ENTRIES_AT_ONCE * len(overlapping) // max(many, 1))):
            at = overlapping[block]
            table = unit_table(self.places, self.ratio, self.places.apart(first[at], second[at]))
            yield at, table, np.arange(0, table.groups, 2)

    def omnibus(self, chosen: list[int], permutations: int) -> OmnibusTest:
        """Whether the chosen groups differ at all."""
        table = self.table.of(np.array(chosen))
        alike = self.places.constant_within_units(chosen) and (permutations > 0 or table.kind is not Kind.PROPORTION)
        if table.shares_units or not (table.independent or alike):
            units = len(np.unique(table.unit))
            return wald(table.means.value, table.covariance * units / max(units - 1, 1), units)
        if table.kind is not Kind.PROPORTION:
            return ranks.kruskal_wallis(divide(table.top, table.bottom), table.group, len(chosen))
        plain = contrasts.chi_square(table.totals, table.means.rows)
        if np.isnan(plain.statistic) or (table.independent and plain.method == "chi_square") or not permutations:
            return plain
        parts = self._dealt(permutations, chosen)
        null = np.concatenate([contrasts.chi_square_statistic(part.sums, part.counts) for part in parts])
        return permuted_test(plain, null)

    def null_gaps(self, chosen: list[int], permutations: int) -> tuple[Floats, str]:
        """The gaps between the chosen groups expected by chance alone, and where they come from."""
        if self.places.constant_within_units(chosen):
            many = " (large-sample distribution)" if self.places.units >= MANY_CLUSTERS else ""
            gaps = np.concatenate([gap_of(part.means) for part in self._dealt(permutations, chosen)])
            return gaps, f"labels permuted over units{many}"
        drawn = self.draws[:, chosen] if self.table.is_exact else self.table.of(np.array(chosen)).drawn(self.weights())
        return gap_of(drawn - self.values[chosen]), RESAMPLED

    @cached_property
    def draws(self) -> Floats:
        """(draws, groups): the values of all groups in every draw."""
        return self.table.drawn(self.weights())

    def forget(self) -> None:
        """Let go of what was only kept to be asked for again."""
        for name in ("_kept_permutations", "draws"):
            self.__dict__.pop(name, None)

    def _dealt(self, permutations: int, picked: list[int]) -> Iterator[Permuted]:
        """Sums and counts of some groups with the memberships of units dealt out anew, once for all attributes.

        Some permutations at a time, where groups are many.
        """
        kept = self.__dict__.setdefault("_kept_permutations", {})
        if permutations not in kept:
            kept[permutations] = self._permuted(permutations)
        patterns, dealt = kept[permutations]
        to_groups = patterns.take_columns(np.array(picked))
        for part in blocks(permutations, max(1, _DRAWN_AT_ONCE // max(len(picked), 1))):
            yield Permuted(dealt.sums[part] @ to_groups, dealt.counts[part] @ to_groups)

    def _permuted(self, permutations: int) -> tuple[SparseMatrix, Permuted]:
        """The patterns of groups that units have (patterns, groups), and their sums and counts when dealt out anew."""
        everyone = self.table.group == self.places.groups.index(EVERYONE)
        top, bottom = self.table.top[everyone], self.table.bottom[everyone]
        groups_of_unit = self.table.presence.T.take(self.table.unit[everyone])
        many = self.places.units * self.table.groups > _MOST_MEMBERSHIPS
        first, codes = membership_patterns(groups_of_unit, by_sums=many)
        rng = stream("permutation", *self.seed)
        if self.counted is None:
            dealt = permute_labels(top, bottom, codes, len(first), permutations, rng)
        else:
            sizes = np.rint(np.bincount(codes, bottom, minlength=len(first))).astype(np.int64)
            dealt = permute_events(sizes, round(float(top.sum())), permutations, rng)
        return groups_of_unit.take(first), dealt


@dataclass(frozen=True)
class DrawnEvidence:
    """Evidence of any other number, from resampled values under the same weights for all groups."""

    values: Floats  # (groups,)
    draws: Floats  # (draws, groups)
    units: Integers  # (groups,)
    places: TallyLayout
    name: str
    corrected: DrawInterval | None = None  # BCa limits, when asked for
    scale: Scale = UNBOUNDED
    rows: ClassVar[Floats | None] = None
    events: ClassVar[Floats | None] = None

    def limits(self, confidence: float) -> Limits:
        plain = percentile(self.draws, confidence=confidence)
        if not len(self.draws):
            nothing = ("nothing was resampled",)
            return Limits(IntervalArrays(*plain[:2]), ("",) * len(self.units), (nothing,) * len(self.units))
        low, high = _widened(self.draws, self.values, self.units, confidence, plain, self._scale)
        methods = self._methods(self.units)
        if self.corrected is not None:
            low, high = self.corrected.low, self.corrected.high
            methods = np.full(len(methods), f"{self.name}_bca")
        still = plain.high - plain.low <= 0
        notes = []
        for group, skipped in enumerate(plain.skipped.tolist()):
            reasons = []
            if still[group]:
                reasons.append("the draws show no spread: no interval")
            if skipped:
                withheld = "; no interval" if skipped > MOST_SKIPPED * len(self.draws) else ""
                reasons.append(f"{skipped} of {len(self.draws)} draws had no value{withheld}")
            notes.append(tuple(reasons))
        low, high = np.where(still, np.nan, low), np.where(still, np.nan, high)
        return Limits(IntervalArrays(low, high), tuple(methods.tolist()), tuple(notes))

    def _methods(self, units: Floats | Integers) -> Names:
        return np.where(units < FEW_DRAWN_UNITS, f"{self.name}_percentile_t", f"{self.name}_percentile")

    def pairs(self, first: Integers, second: Integers, settings: Settings) -> GroupPairs:
        size = max(1, _DRAWN_AT_ONCE // max(len(self.draws), 1))
        parts = [self._pairs(first[part], second[part], settings) for part in blocks(len(first), size)]
        return joined(parts) if parts else self._pairs(first, second, settings)

    def _pairs(self, first: Integers, second: Integers, settings: Settings) -> GroupPairs:
        difference = self.values[first] - self.values[second]
        apart = self.draws[:, first] - self.draws[:, second]
        units = np.minimum(self.units[first], self.units[second]).astype(np.float64)
        error = deviation_of(apart) * np.sqrt(divide(units, units - 1))
        wide, narrow = (
            _widened(apart, difference, units, level, plain).within(self._scale.span)
            for level, plain in zip(settings.levels, percentiles(apart, settings.levels), strict=True)
        )
        return GroupPairs(
            difference,
            *wide,
            *narrow,
            t_two_sided(divide(difference, error), units - 1),
            names(f"{self.name}_t", len(first)),
            names(self._methods(units), len(first)),
            contrasts.detectable_by_error(error, alpha=settings.alpha),
            self.places.shared_pairs(first, second),
            np.zeros(len(first), dtype=np.int64),
            {"ratio": divide(self.values[first], self.values[second])},
        )

    def p_values(self, first: Integers, second: Integers, settings: Settings) -> Floats:
        return self.pairs(first, second, settings).p_value

    @cached_property
    def _scale(self) -> Scale:
        """What the metric says, or from 0 to 1 where all values and draws are."""
        if self.scale == UNBOUNDED and are_rates(self.draws, self.values):
            return UNIT_SCALE
        return self.scale

    def omnibus(self, chosen: list[int], permutations: int) -> OmnibusTest:
        drawn = self.draws[:, chosen]
        drawn = drawn[~np.isnan(drawn).any(axis=1)]
        if len(drawn) < 2:
            return OmnibusTest(float("nan"), len(chosen) - 1, float("nan"), "wald")
        return wald(self.values[chosen], np.cov(drawn, rowvar=False), int(self.units[chosen].sum()))

    def null_gaps(self, chosen: list[int], permutations: int) -> tuple[Floats, str]:
        return gap_of(self.draws[:, chosen] - self.values[chosen]), RESAMPLED


def _widened(
    draws: Floats, values: Floats, units: Floats | Integers, level: float, plain: DrawInterval, scale: Scale = UNBOUNDED
) -> IntervalArrays:
    wider = scaled_percentile(draws, values, units, confidence=level, scale=scale, plain=plain)
    return either(units < FEW_DRAWN_UNITS, wider, plain)


Evidence = RatioEvidence | DrawnEvidence
