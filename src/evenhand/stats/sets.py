"""Distances between sets: no mean of rows, no rank test, and biased upwards for small sets.

Duplicated rows would distort them, so units are drawn *without* replacement and only the spread of the draws is
used, around the full-sample value. Groups are compared at equal size: the larger is subsampled, by
units, to the size of the smaller, several times. A difference is tested by permuting units between the two
groups, at that size.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.measure import AnyMetric, numbers
from evenhand.core.metric import UNBOUNDED
from evenhand.core.results import Estimate
from evenhand.core.streams import stream
from evenhand.stats.checks import Booleans, Floats, Integers, deviation_of, divide, floats, mean_of, numbers_or_nan
from evenhand.stats.contrasts import detectable_by_error
from evenhand.stats.distributions import t_quantile, t_two_sided
from evenhand.stats.evidence import DrawnEvidence, Evidence, Limits
from evenhand.stats.intervals import IntervalArrays, subsampled
from evenhand.stats.pairing import GroupPairs, names
from evenhand.stats.permutation import gap_of
from evenhand.stats.ranks import OmnibusTest
from evenhand.stats.redraw import redraw
from evenhand.stats.resample import Weights, subsample_weights
from evenhand.stats.settings import Settings
from evenhand.stats.tables import TallyLayout

EQUAL_SIZE_REPEATS = 5


@dataclass(frozen=True, kw_only=True)
class SetEvidence(DrawnEvidence):
    """Evidence of a distance between sets; each of its draws is of half of all units."""

    metric: AnyMetric
    state: Any
    output: str
    taken: int
    settings: Settings

    def limits(self, confidence: float) -> Limits:
        taken = floats(self.units * (self.taken / self.places.units))
        around = subsampled(self.draws, self.values, taken, self.units, confidence=confidence)
        inside = IntervalArrays(np.maximum(around.low, self.scale.low), np.minimum(around.high, self.scale.high))
        note = ("from subsamples of half of the units, without replacement",)
        return Limits(inside, (self.name,) * len(self.values), (note,) * len(self.values))

    def pairs(self, first: Integers, second: Integers, settings: Settings) -> GroupPairs:
        apart = self.draws[:, first] - self.draws[:, second]
        error = deviation_of(apart) * np.sqrt(divide(self.taken, self.places.units - self.taken))
        degrees = np.minimum(self.units[first], self.units[second]) - 1.0
        difference, p = np.empty(len(first)), t_two_sided(np.zeros(len(first)), degrees)
        tests = names("subsample_t", len(first))
        for at, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            difference[at] = self._equal_size(i, j)
            if self.settings.set_permutations:
                p[at], tests[at] = self._permuted(i, j, abs(difference[at])), "unit_permutation"
            else:
                p[at] = t_two_sided(divide(difference[at], error[at]), degrees[at])
        halves = (t_quantile(level, degrees) * error for level in settings.levels)
        wide, narrow = (IntervalArrays(difference - half, difference + half) for half in halves)
        return GroupPairs(
            difference,
            *wide,
            *narrow,
            p,
            tests,
            names("subsample_at_equal_size", len(first)),
            detectable_by_error(error, alpha=settings.alpha),
            self.places.shared_pairs(first, second),
            np.zeros(len(first), dtype=np.int64),
            {},
        )

    def omnibus(self, chosen: list[int], permutations: int) -> OmnibusTest:
        return OmnibusTest(float("nan"), len(chosen) - 1, float("nan"), "none")

    def null_gaps(self, chosen: list[int], permutations: int) -> tuple[Floats, str]:
        drawn = self.draws[:, chosen]
        moved = (drawn - mean_of(drawn)) * np.sqrt(self.taken / max(self.places.units - self.taken, 1))
        return gap_of(moved), "units drawn again without replacement, groups moved to a common value"

    def _unit_mask(self, group: int) -> Booleans:
        members = self.places.has.take(np.array([group])).dense()[0]
        inside = np.zeros(self.places.units, dtype=np.bool_)
        inside[self.places.unit[members[self.places.pattern]]] = True
        return inside

    def _value(self, group_units: Booleans, kept: Booleans) -> Floats:
        """The output for sets of units (sets × units), over the cells whose pattern is kept in any of the groups."""
        weights = (group_units[:, self.places.unit] & kept[self.places.pattern]).astype(np.float64)
        everyone = self.state.place(np.zeros(self.places.cells, dtype=np.intp), 1)
        return numbers(self.metric.result(self.state.weigh(weights), everyone)[self.output])

    def _equal_size(self, i: int, j: int) -> float:
        """The difference of two groups with the larger subsampled to the size of the smaller."""
        rng = stream("equal size", *self.settings.stream_names, self.metric.name, self.output, i, j)
        sides = []
        size = int(min(self.units[i], self.units[j]))
        for group in (i, j):
            inside = np.flatnonzero(self._unit_mask(group))
            repeats = EQUAL_SIZE_REPEATS if len(inside) > size else 1
            sets = np.zeros((repeats, self.places.units), dtype=np.bool_)
            for row in range(repeats):
                sets[row, rng.choice(inside, size=min(size, len(inside)), replace=False)] = True
            sides.append(float(np.nanmean(self._value(sets, self.places.kept[group]))))
        return sides[0] - sides[1]

    def _permuted(self, i: int, j: int, seen: float) -> float:
        """How often units dealt out anew to two groups of the smaller's size are at least as far apart."""
        rng = stream("set permutation", *self.settings.stream_names, self.metric.name, self.output, i, j)
        pool = np.flatnonzero(self._unit_mask(i) | self._unit_mask(j))
        size = min(int(min(self.units[i], self.units[j])), len(pool) // 2)
        kept = self.places.kept[i] | self.places.kept[j]
        reached = 0
        for _ in range(self.settings.set_permutations):
            dealt = rng.permutation(pool)
            sets = np.zeros((2, self.places.units), dtype=np.bool_)
            sets[0, dealt[:size]] = True
            sets[1, dealt[size : 2 * size]] = True
            one, other = self._value(sets, kept)
            reached += bool(abs(one - other) >= seen)
        return (1 + reached) / (self.settings.set_permutations + 1)


def halves(units: int, settings: Settings) -> Iterator[Weights]:
    """Half of the units at a time, without replacement: the same for all metrics and models."""
    draws = min(settings.draws, settings.set_draws)
    yield subsample_weights(units, units // 2, draws, stream("subsample", *settings.stream_names, units))


def set_evidence(
    metric: AnyMetric,
    state: Any,
    places: TallyLayout,
    outputs: Sequence[str],
    mine: Mapping[str, Sequence[Estimate]],
    units: Integers,
    settings: Settings,
) -> dict[str, Evidence]:
    """The evidence of every output of a metric that is drawn without replacement."""
    taken = places.units // 2
    if taken < 1 or min(settings.draws, settings.set_draws) < 2:
        return {}
    drawn = redraw(metric, state, places, halves(places.units, settings), frozenset(outputs))
    return {
        name: SetEvidence(
            numbers_or_nan(estimate.number for estimate in mine[name]),
            drawn[name],
            units,
            places,
            "subsample",
            scale=metric.scales.get(name, UNBOUNDED),
            metric=metric,
            state=state,
            output=name,
            taken=taken,
            settings=settings,
        )
        for name in outputs
    }
