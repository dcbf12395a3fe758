"""Two models on the same units: paired differences, by group, and differences of gaps.

Only units that both models were asked about are compared. Independent rows that are right or wrong get McNemar and
Bonett and Price; other ratios a t interval between units with a sign-flip test; anything else joint resamples.
A difference of gaps is never the comparison of two verdicts: it is resampled jointly, and each gap has its
own permutation reference.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from evenhand.core.errors import RunError
from evenhand.core.measure import AnyMetric, estimates, tally
from evenhand.core.membership import groups_of
from evenhand.core.metric import UNBOUNDED, Direction, Kind, Ratio, Resampling, Undefined
from evenhand.core.records import Array, Group, Records
from evenhand.core.results import Estimate, Method, Reference, Status, Verdict
from evenhand.core.streams import stream
from evenhand.stats.checks import Floats, divide, number_or_none, numbers_or_nan
from evenhand.stats.contrasts import (
    bonett_price,
    gap_difference,
    joint_contrast,
    joint_difference,
    mcnemar,
    paired_table,
    sign_flip,
)
from evenhand.stats.distributions import normal_quantile, t_quantile, t_two_sided
from evenhand.stats.evidence import DrawnEvidence, Evidence, RatioEvidence
from evenhand.stats.intervals import subsampled
from evenhand.stats.multiplicity import family_name, verdicts
from evenhand.stats.permutation import gap_reference
from evenhand.stats.redraw import draws_of, redraw, redraw_dyadic
from evenhand.stats.resample import Weights, weight_blocks
from evenhand.stats.sets import halves
from evenhand.stats.settings import Settings, margin_of
from evenhand.stats.tables import TallyLayout, UnitTable, layout


@dataclass(frozen=True)
class ModelContrast:
    """Two models compared in one group: second minus first, so the new model minus the baseline."""

    metric: str
    output: str
    group: Group
    value_first: float | None
    value_second: float | None
    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    adjusted: float | None
    verdict: Verdict | None
    better: str | None  # the model that does better; None when equal or when neither way is better
    test: str
    interval: str
    rows: int
    units: int
    status: Status
    family: str
    family_size: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class GapContrast:
    """The gap between best and worst group of two models, and by how much it differs, second minus first."""

    metric: str
    output: str
    by: tuple[str, ...]
    gap_first: float
    gap_second: float
    difference: float
    low: float | None
    high: float | None
    p: float | None
    reference_first: Reference | None
    reference_second: Reference | None


@dataclass(frozen=True)
class LeftOutValue:
    """A value that was not compared, and why."""

    metric: str
    output: str
    reason: str


@dataclass(frozen=True)
class Comparison:
    """Two models on the same units: the first is the baseline, the second the new one."""

    first: str
    second: str
    contrasts: tuple[ModelContrast, ...]
    gaps: tuple[GapContrast, ...]
    units: int
    units_only_first: int
    units_only_second: int
    method: Method
    rows_only_first: int = 0  # rows about units that both have
    rows_only_second: int = 0
    left_out: tuple[LeftOutValue, ...] = ()
    unverified: Mapping[str, str] = field(default_factory=dict)  # as in the results of either model


def compare(
    first: Records,
    second: Records,
    metrics: Sequence[AnyMetric],
    by: Sequence[str] = (),
    depth: int = 1,
    settings: Settings | None = None,
    *,
    names: tuple[str, str] = ("first", "second"),
) -> Comparison:
    """Paired differences of two models on the units that both have, for everyone and by group."""
    chosen = settings or Settings()
    rows, only = _common(first, second)
    tallies = [tally(part, metrics, by) for part in rows]
    groups = groups_of(tallies[0].cells, by, depth)
    places = [layout(part.cells, groups) for part in tallies]
    if places[0].units != places[1].units:
        raise RunError(
            f"The runs compare {places[0].units} and {places[1].units} people among the units that both have: "
            "their comparisons are not the same. Compare runs of the same task and data."
        )
    contrasts: list[ModelContrast] = []
    gaps: list[GapContrast] = []
    left_out: list[LeftOutValue] = []
    plain = [iter(estimates(part, groups)) for part in tallies]
    for metric, *states in zip(metrics, *(part.states for part in tallies), strict=True):
        sides = []
        for output, direction in metric.outputs.items():
            both = [list(islice(values, len(groups))) for values in plain]
            side = _Side(metric, output, direction, states, places, both, chosen, names)
            if not chosen.detailed and ":" in output:
                continue
            if side.numeric:
                sides.append(side)
            elif reason := side.why_not_numeric:
                left_out.append(LeftOutValue(metric.name, output, reason))
        drawn = _draws_of(sides)
        for side in sides:
            with_draws = replace(side, drawn=drawn)
            contrasts += with_draws.contrasts()
            gaps += with_draws.gaps()
    units, method = places[0].units, chosen.method()
    return Comparison(*names, tuple(contrasts), tuple(gaps), units, *only, method, left_out=tuple(left_out))


def _turned(number: float) -> float | None:
    """What is computed as first minus second is reported as second minus first; None where it is not finite."""
    return number_or_none(-number + 0.0)


def _draws_of(sides: Sequence[_Side]) -> list[dict[str, Floats]]:
    """The outputs of one metric that have no formula, resampled for both models with the same weights."""
    outputs = frozenset(side.output for side in sides if side.ratios is None)
    if not outputs or sides[0].settings.draws == 0:
        return [{}, {}]
    metric, places, states = sides[0].metric, sides[0].places, sides[0].states
    count = draws_of(states[0], places[0], sides[0].settings)
    both = []
    for place, state in zip(places, states, strict=True):
        ratios = metric.ratios(state) if place.unit_b is not None else {}
        drawn = {name: redraw_dyadic(ratios[name], place, sides[0].weights()) for name in outputs & ratios.keys()}
        if others := outputs - ratios.keys():
            weights = halves(place.units, sides[0].settings) if sides[0].of_sets else sides[0].weights(count)
            drawn.update(redraw(metric, state, place, weights, others))
        both.append(drawn)
    return both


@dataclass(frozen=True)
class _Side:
    """One output of one metric for both models."""

    metric: AnyMetric
    output: str
    direction: Direction
    states: Sequence[Any]  # of each model, as all that follows
    places: Sequence[TallyLayout]
    both: Sequence[Sequence[Estimate]]  # by group
    settings: Settings
    names: tuple[str, str]
    drawn: Sequence[Mapping[str, Floats]] = ({}, {})  # of each model, by output, for those without formulas

    @property
    def numeric(self) -> bool:
        """Whether both models have a number in some group, and it may be resampled."""
        there = [a.number is not None and b.number is not None for a, b in zip(*self.both, strict=True)]
        return any(there) and self.metric.resampling is not Resampling.NONE

    @property
    def why_not_numeric(self) -> str:
        """Why a number is not compared; empty for what is no number at all, such as a curve."""
        for name, values in zip(self.names, self.both, strict=True):
            reasons = [estimate.value.reason for estimate in values if isinstance(estimate.value, Undefined)]
            if len(reasons) == len(values):
                return f"{name} has no value: {reasons[0]}"
        is_number = any(estimate.number is not None for values in self.both for estimate in values)
        return "it has no interval, so nothing tells whether a difference is chance" if is_number else ""

    @cached_property
    def ratios(self) -> tuple[Ratio, Ratio] | None:
        """Both models' sums, when the output is a ratio of sums over single units."""
        if self.places[0].unit_b is not None:
            return None
        first, second = (self.metric.ratios(state).get(self.output) for state in self.states)
        return None if first is None or second is None else (first, second)

    def weights(self, draws: int | None = None) -> Iterator[Weights]:
        """The weights of units, the same for both models."""
        units = self.places[0].units
        count = self.settings.draws if draws is None else draws
        return weight_blocks(units, count, stream("bootstrap", *self.settings.stream_names, units))

    @property
    def of_sets(self) -> bool:
        """Whether the metric is a distance between sets, which duplicated rows would distort."""
        return self.metric.resampling is Resampling.SUBSAMPLE

    @cached_property
    def evidence(self) -> tuple[Evidence, ...]:
        """What is known about the output for each model."""
        if self.ratios is not None:
            seed = (*self.settings.stream_names, self.metric.name, self.output)
            both = zip(self.places, self.ratios, strict=True)
            return tuple(RatioEvidence(places, ratio, self.weights, seed) for places, ratio in both)
        evidence = []
        for places, values, draws in zip(self.places, self.both, self.drawn, strict=True):
            numbers = numbers_or_nan(estimate.number for estimate in values)
            units = np.array([estimate.units for estimate in values], dtype=np.int64)
            evidence.append(DrawnEvidence(numbers, draws[self.output], units, places, "joint_bootstrap"))
        return tuple(evidence)

    def contrasts(self) -> list[ModelContrast]:
        """Every group, with p-values adjusted over the groups of one order."""
        if self.ratios is None and self.output not in self.drawn[0]:
            return []  # nothing was resampled
        raw = list(self._formulas() if self.ratios is not None else self._drawn())
        orders: dict[int, list[int]] = {}
        for i, contrast in enumerate(raw):
            if contrast.status is Status.OK and not contrast.group.is_missing and contrast.p is not None:
                orders.setdefault(len(contrast.group.terms), []).append(i)
        for usable in orders.values():
            adjusted = self.settings.correction(numbers_or_nan(raw[i].p for i in usable))
            for i, value in zip(usable, adjusted.tolist(), strict=True):
                raw[i] = replace(raw[i], adjusted=number_or_none(value), family_size=len(usable))
        return [self._judged(contrast) for contrast in raw]

    def gaps(self) -> Iterator[GapContrast]:
        """The gap of every attribute for both models, with its own reference each, and their joint difference."""
        if self.settings.draws == 0:
            return
        for by, positions in self.places[0].by_attributes.items():
            there = np.isfinite(self.evidence[0].values[positions] + self.evidence[1].values[positions])
            large = [place for place in positions[there].tolist() if self._status(place) is Status.OK]
            if len(large) < 2:
                continue
            values = [side.values[large] for side in self.evidence]
            draws = [side.draws[:, large] for side in self.evidence]
            apart = gap_difference(*values, *draws, confidence=self.settings.confidence)
            gaps = [float(np.ptp(side)) for side in values]
            references: list[Reference | None] = [None, None]
            if many := self.settings.permutations:
                both = zip(gaps, self.evidence, strict=True)
                references = [gap_reference(gap, side.null_gaps(large, many)[0]) for gap, side in both]
            yield GapContrast(
                self.metric.name,
                self.output,
                by,
                gaps[0],
                gaps[1],
                gaps[1] - gaps[0],
                _turned(apart.high[0]),
                _turned(apart.low[0]),
                number_or_none(apart.p_value[0]),
                *references,
            )

    def _status(self, position: int) -> Status:
        rows, units = (min(getattr(side[position], name) for side in self.both) for name in ("rows", "units"))
        if rows == 0:
            return Status.EMPTY
        small = rows < self.settings.min_rows or units < self.settings.min_units
        return Status.SMALL if small else Status.OK

    def _formulas(self) -> Iterator[ModelContrast]:
        """Ratios of sums: McNemar where rows are independent and 0 or 1, else t and sign flips between units."""
        tables = [side.table for side in self.evidence if isinstance(side, RatioEvidence)]
        tops, bottoms = zip(*(table.wide() for table in tables), strict=True)
        aligned = np.array_equal(bottoms[0], bottoms[1])
        binary = aligned and all(t.independent and t.kind is Kind.PROPORTION for t in tables)
        for position in range(len(self.places[0].groups)):
            counted = (bottoms[0][:, position] > 0) | (bottoms[1][:, position] > 0)
            if not counted.any():
                continue
            if binary:
                yield self._mcnemar(position, tops[0][counted, position], tops[1][counted, position])
            else:
                yield self._by_unit(position, tables, tops, bottoms, counted, aligned)

    def _mcnemar(self, position: int, a: Floats, b: Floats) -> ModelContrast:
        counts = paired_table(a, b)
        only = counts.only_a, counts.only_b
        _, low, high = map(float, bonett_price(*only, counts.rows, confidence=self.settings.confidence))
        p = float(mcnemar(*only))
        note = f"{only[0]} rows only {self.names[0]} has right, {only[1]} only {self.names[1]}"
        return self._contrast(position, counts.difference, low, high, p, "mcnemar_exact", "bonett_price", (note,))

    def _by_unit(
        self,
        position: int,
        tables: Sequence[UnitTable],
        tops: Sequence[Floats],
        bottoms: Sequence[Floats],
        counted: Array,
        aligned: bool,
    ) -> ModelContrast:
        values = [float(table.means.value[position]) for table in tables]
        sums = [(top[counted, position], bottom[counted, position]) for top, bottom in zip(tops, bottoms, strict=True)]
        pulls = [divide(top - value * n, n.sum()) for (top, n), value in zip(sums, values, strict=True)]
        difference, squares = values[0] - values[1], float(((pulls[0] - pulls[1]) ** 2).sum())
        joint = joint_contrast(difference, squares, int(counted.sum()))
        low, high = joint.limits(self.settings.confidence)
        p, test = float(joint.p_value), "cluster_t"
        if aligned:
            group = str(self.places[0].groups[position])
            rng = stream("sign flip", *self.settings.stream_names, self.metric.name, self.output, group)
            flips = max(self.settings.permutations, 1)
            p, test = sign_flip(sums[0][0] - sums[1][0], flips=flips, rng=rng), "sign_flip"
        return self._contrast(position, difference, float(low), float(high), p, test, "cluster_t")

    def _drawn(self) -> Iterator[ModelContrast]:
        """Anything else: joint draws."""
        values, draws = zip(*((side.values, side.draws) for side in self.evidence), strict=True)
        found = joint_difference(*values, *draws, confidence=self.settings.confidence)
        name, limits = "joint_bootstrap", "joint_bootstrap_percentile"
        if self.of_sets:
            units, level = self.places[0].units, self.settings.confidence
            spread = subsampled(draws[0] - draws[1], found.value, units // 2, units, confidence=level)
            half = (spread.high - spread.low) / 2
            t = divide(found.value * t_quantile(level, units - 1), half)
            p = np.where(found.value == 0, 1.0, t_two_sided(t, units - 1))
            found = found._replace(low=spread.low, high=spread.high, p_value=p)
            name, limits = "joint_subsample_t", "joint_subsample"
        for position, (difference, low, high, p) in enumerate(np.transpose(found).tolist()):
            if np.isfinite(difference):
                yield self._contrast(position, difference, low, high, p, name, limits)

    def _contrast(
        self,
        position: int,
        difference: float,
        low: float,
        high: float,
        p: float,
        test: str,
        interval: str,
        notes: tuple[str, ...] = (),
    ) -> ModelContrast:
        a, b = self.both[0][position], self.both[1][position]
        span = self.metric.scales.get(self.output, UNBOUNDED).span
        low, high = max(low, -span), min(high, span)
        group = self.places[0].groups[position]
        better = None
        if difference and self.direction is not Direction.NEITHER:
            better = self.names[0] if (difference > 0) == (self.direction is Direction.HIGHER) else self.names[1]
        return ModelContrast(
            metric=self.metric.name,
            output=self.output,
            group=group,
            value_first=a.number,
            value_second=b.number,
            difference=_turned(difference),
            low=_turned(high),
            high=_turned(low),
            p=number_or_none(p) if np.isfinite(difference) else None,  # nothing was tested where one has no value
            adjusted=None,
            verdict=None,
            better=better,
            test=test,
            interval=interval,
            rows=min(a.rows, b.rows),
            units=min(a.units, b.units),
            status=self._status(position),
            family=family_name(self.metric.name, self.output, len(group.terms)),
            family_size=0,
            notes=notes,
        )

    def _judged(self, contrast: ModelContrast) -> ModelContrast:
        """With the verdict that the margin allows; the 90 % interval is taken from the 95 % one's shape."""
        if contrast.low is None or contrast.high is None or contrast.difference is None or contrast.adjusted is None:
            return contrast
        shrink = normal_quantile(1 - 2 * self.settings.alpha) / normal_quantile(self.settings.confidence)
        centre, limits = contrast.difference, (contrast.low, contrast.high)
        low, high = (centre + (limit - centre) * shrink for limit in limits)
        numbers = numbers_or_nan(estimate.number for side in self.both for estimate in side)
        margin = margin_of(self.settings, self.metric.name, self.output, numbers)
        judged = verdicts(*limits, low, high, contrast.adjusted, margin=margin, alpha=self.settings.alpha)
        return replace(contrast, verdict=judged.item())


def _own_units(rows: Records) -> Records:
    """Rows that name no unit, each its own, known by its item: the other model's row of that item is the same unit."""
    if "unit" in rows or "item" not in rows:
        raise RunError(
            "The rows of one of the runs name neither `unit` nor `item`, so nothing says which rows belong together. "
            "Record a `unit` or an `item`."
        )
    if len(np.unique(rows["item"])) < len(rows):
        raise RunError("The rows name no `unit`, and an `item` has several rows: nothing says which belong together.")
    return Records({**rows.columns, "unit": rows["item"]}, rows.attributes)


def _common(first: Records, second: Records) -> tuple[list[Records], tuple[int, int]]:
    """Both models' rows on the units that both have, and how many units only one has."""
    if "unit" not in first or "unit" not in second:
        first, second = _own_units(first), _own_units(second)
    sides = [
        np.unique(np.concatenate([rows[name] for name in ("unit", "unit_b") if name in rows]))
        for rows in (first, second)
    ]
    common = np.intersect1d(sides[0], sides[1])
    if not len(common):
        raise RunError(
            "The two runs have no unit in common: they are of different data. Compare runs of the same task and data."
        )
    kept = []
    for rows in (first, second):
        inside = np.all([np.isin(rows[name], common) for name in ("unit", "unit_b") if name in rows], axis=0)
        kept.append(rows if inside.all() else rows.take(inside))
    return kept, (len(sides[0]) - len(common), len(sides[1]) - len(common))
