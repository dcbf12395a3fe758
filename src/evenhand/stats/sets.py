"""Distances between sets: no mean of rows, no rank test, and biased upwards for small sets.

Duplicated rows would distort them, so units are drawn *without* replacement and only the spread of the draws is
used, around the full-sample value. Groups are compared at equal size: the larger is subsampled, by
units, to the size of the smaller, several times. A difference is tested by permuting units between the two
groups, at that size.
"""

from collections.abc import Mapping, Sequence
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
from evenhand.stats.evidence import Evidence, Limits, NullGaps
from evenhand.stats.intervals import IntervalArrays, subsampled
from evenhand.stats.pairing import GroupPairs, names
from evenhand.stats.permutation import gap_of
from evenhand.stats.ranks import OmnibusTest
from evenhand.stats.redraw import redraw
from evenhand.stats.resample import subsample_weights
from evenhand.stats.settings import Settings
from evenhand.stats.tables import TallyLayout

METHOD = "subsample"
EQUAL_SIZE_REPEATS = 5


@dataclass(frozen=True)
class SetEvidence(Evidence):
    """Evidence of a distance between sets."""

    metric: AnyMetric
    state: Any
    places: TallyLayout
    output: str
    centre: Floats  # (groups,)
    draws: Floats  # (draws, groups), each of half of all units
    taken: int
    units: Integers  # (groups,)
    settings: Settings

    @property
    def values(self) -> Floats:
        return self.centre

    def limits(self, confidence: float) -> Limits:
        found = subsampled(self.draws, self.centre, self._taken, self.units, confidence=confidence)
        note = ("from subsamples of half of the units, without replacement",)
        scale = self.metric.scales.get(self.output, UNBOUNDED)
        inside = IntervalArrays(np.maximum(found.low, scale.low), np.minimum(found.high, scale.high))
        return Limits(inside, (METHOD,) * len(self.centre), (note,) * len(self.centre))

    def pairs(self, first: Integers, second: Integers, *, confidence: float, alpha: float) -> GroupPairs:
        apart = self.draws[:, first] - self.draws[:, second]
        scale = np.sqrt(divide(self.taken, self.places.units - self.taken))
        error = deviation_of(apart) * scale
        degrees = np.minimum(self.units[first], self.units[second]) - 1.0
        difference, p = np.empty(len(first)), t_two_sided(np.zeros(len(first)), degrees)
        tests = names("subsample_t", len(first))
        for at, (i, j) in enumerate(zip(first.tolist(), second.tolist(), strict=True)):
            difference[at] = self._equal_size(i, j)
            if self.settings.set_permutations:
                p[at], tests[at] = self._permuted(i, j, abs(difference[at])), "unit_permutation"
            else:
                p[at] = t_two_sided(divide(difference[at], error[at]), degrees[at])
        limits = []
        for level in (confidence, 1 - 2 * alpha):
            half = t_quantile(level, degrees) * error
            limits.append(IntervalArrays(difference - half, difference + half))
        return GroupPairs(
            difference,
            limits[0],
            limits[1],
            p,
            tests,
            names("subsample_at_equal_size", len(first)),
            detectable_by_error(error, alpha=alpha),
            {},
            self.places.shared_pairs(first, second),
            np.zeros(len(first), dtype=np.int64),
        )

    def omnibus(self, chosen: Sequence[int], permutations: int) -> OmnibusTest:
        return OmnibusTest(float("nan"), len(chosen) - 1, float("nan"), "none")

    def null_gaps(self, chosen: Sequence[int], permutations: int) -> NullGaps:
        picked = list(chosen)
        scale = np.sqrt(self.taken / max(self.places.units - self.taken, 1))
        drawn = self.draws[:, picked]
        moved = (drawn - mean_of(drawn)) * scale
        return NullGaps(gap_of(moved), "units drawn again without replacement, groups moved to a common value")

    @property
    def _taken(self) -> Floats:
        return floats(self.units * (self.taken / self.places.units))

    def _unit_mask(self, group: int) -> Booleans:
        inside = np.zeros(self.places.units, dtype=np.bool_)
        inside[self.places.unit[self.places.members[group][self.places.pattern]]] = True
        return inside

    def _value(self, group_units: Booleans, kept: Booleans) -> Floats:
        """The output for sets of units (sets × units), over the cells whose pattern is kept in any of the groups."""
        weights = (group_units[:, self.places.unit] & kept[self.places.pattern]).astype(np.float64)
        everyone = self.state.place(np.zeros(self.places.cells, dtype=np.intp), 1)
        found = numbers(self.metric.result(self.state.weigh(weights), everyone)[self.output])
        assert found is not None
        return floats(found)

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
    draws = min(settings.draws, settings.set_draws)
    if taken < 1 or draws < 2:
        return {}
    weights = subsample_weights(places.units, taken, draws, stream("subsample", *settings.stream_names, places.units))
    drawn = redraw(metric, state, places, iter([weights]), frozenset(outputs))
    found: dict[str, Evidence] = {}
    for name in outputs:
        centre = numbers_or_nan(e.number for e in mine[name])
        found[name] = SetEvidence(metric, state, places, name, centre, drawn[name], taken, units, settings)
    return found
