"""From the cells of a tally to everything that may be said about groups.

Every output of every metric gets, in every group, the interval that fits what it is and how its rows were
sampled. Groups that are large enough are compared, pair by pair and all together; p-values are adjusted in
families; every gap comes with what chance alone would show.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import isfinite
from typing import Any

import numpy as np

from evenhand.core.measure import AnyMetric, Tally, estimates
from evenhand.core.metric import Direction, Kind, Resampling, Undefined
from evenhand.core.records import EVERYONE, Group, groups_of
from evenhand.core.results import Contrast, Estimate, Method, Omnibus, Reference, Status, Summary, Verdict
from evenhand.core.streams import stream
from evenhand.stats import summaries
from evenhand.stats.checks import Booleans, Floats, Integers, StatisticsError
from evenhand.stats.contrasts import detectable_difference
from evenhand.stats.evidence import DrawnEvidence, Evidence, RatioEvidence
from evenhand.stats.intervals import Interval, bias_corrected, effective_size
from evenhand.stats.pairing import Pairs
from evenhand.stats.permutation import gap_reference
from evenhand.stats.redraw import draws_of, left_out, redraw, redraw_dyadic
from evenhand.stats.resample import Weights, table_draws, weight_blocks
from evenhand.stats.sets import set_evidence
from evenhand.stats.settings import Settings, margin_of
from evenhand.stats.tables import Layout, by_order, layout
from evenhand.stats.verdicts import verdicts

_MOST_KEPT = 8_000_000  # weights of units in draws, four bytes each
FEW_EVENTS = 30
FEW_ROWS = 50
MANY_GROUPS = 20
MOST_PAIRS = 20_000
"""Of a larger family all pairs are tested and adjusted, and so many with the smallest p-values are listed."""


@dataclass(frozen=True)
class Analysis:
    """Everything that was found, for `Results`."""

    estimates: tuple[Estimate, ...]
    contrasts: tuple[Contrast, ...]
    omnibus: tuple[Omnibus, ...]
    summaries: tuple[Summary, ...]
    method: Method


@dataclass(frozen=True)
class Finding:
    """One output of one metric: its direction, its estimates in the order of groups, its evidence."""

    metric: str
    output: str
    direction: Direction
    estimates: tuple[Estimate, ...]
    evidence: Evidence | None


def cells_asked(tally: Tally, by: Sequence[str], depth: int) -> int:
    """How many groups a depth of intersections means; to be said before a deep one is paid for."""
    return len(groups_of(tally.cells, by, depth)) - 1


def analyse(
    tally: Tally,
    by: Sequence[str] = (),
    depth: int = 1,
    settings: Settings | None = None,
    *,
    groups: Sequence[Group] | None = None,
) -> Analysis:
    """Estimates with intervals, contrasts, omnibus tests and summaries of all metrics of a tally.

    `groups` overrides `by` and `depth`. The same tally, settings and seed give the same numbers.
    """
    chosen = settings or Settings()
    listed = tuple(groups_of(tally.cells, by, depth) if groups is None else groups)
    if EVERYONE not in listed:
        listed = (EVERYONE, *listed)
    if not len(tally.cells):
        return Analysis(estimates(tally, listed), (), (), (), chosen.method(("there are no rows",)))
    places = layout(tally.cells, listed)
    findings = [finding for found in _findings(tally, places, chosen) for finding in found]
    compared = [f for f in findings if f.evidence is not None and (chosen.detailed or ":" not in f.output)]
    contrasts = tuple(contrast for f in compared for contrast in _contrasts(f, places, chosen))
    return Analysis(
        tuple(estimate for f in findings for estimate in f.estimates),
        contrasts,
        tuple(test for f in compared for test in _omnibus(f, places, chosen)),
        tuple(summary for f in compared for summary in _summaries(f, places, chosen)),
        chosen.method((*_notes(contrasts, places), *_draw_notes(tally, places, chosen))),
    )


def eligible(finding: Finding) -> Booleans:
    """(groups,): which groups may be compared: large enough, annotated, and with a value."""
    evidence = finding.evidence
    assert evidence is not None
    values = evidence.values
    return np.array(
        [
            estimate.status is Status.OK and not estimate.group.is_missing and bool(np.isfinite(values[position]))
            for position, estimate in enumerate(finding.estimates)
        ],
        dtype=np.bool_,
    )


def _findings(tally: Tally, places: Layout, settings: Settings) -> Iterator[list[Finding]]:
    """The findings of each metric, output by output."""
    plain = estimates(tally, places.groups)
    size = len(places.groups)
    drawn_units = _DrawnUnits(places, settings)
    at = 0
    for metric, state in zip(tally.metrics, tally.states, strict=True):
        mine: dict[str, tuple[Estimate, ...]] = {}
        for output in metric.outputs:
            mine[output] = plain[at : at + size]
            at += size
        evidence = _evidence(metric, state, places, mine, drawn_units, settings)
        yield [
            Finding(
                metric.name,
                output,
                direction,
                _judged(mine[output], evidence.get(output), settings),
                evidence.get(output),
            )
            for output, direction in metric.outputs.items()
        ]


def _evidence(
    metric: AnyMetric,
    state: Any,
    places: Layout,
    mine: Mapping[str, Sequence[Estimate]],
    drawn_units: "_DrawnUnits",
    settings: Settings,
) -> dict[str, Evidence]:
    """What is known about each numeric output of a metric."""
    numeric = [name for name, found in mine.items() if any(estimate.number is not None for estimate in found)]
    ratios = metric.ratios(state)
    found: dict[str, Evidence] = {}
    units = np.array([estimate.units for estimate in next(iter(mine.values()))], dtype=np.int64)

    def weights(draws: int = settings.draws) -> Iterator[Weights]:
        return drawn_units.of(draws)

    for name in numeric:
        if name in ratios and places.unit_b is None:
            seed = (*settings.seed, metric.name, name)
            found[name] = RatioEvidence(places, ratios[name], weights, seed, settings.exact)
    left = [name for name in numeric if name not in found]
    if not left or metric.resampling is Resampling.NONE or settings.draws == 0:
        return found
    if metric.resampling is Resampling.SUBSAMPLE:
        return {**found, **set_evidence(metric, state, places, left, mine, units, settings)}
    name_of = "dyadic_bootstrap" if places.unit_b is not None else "cluster_bootstrap"
    drawn: dict[str, Floats] = {}
    paired = [name for name in left if name in ratios]
    for name in paired:
        drawn[name] = redraw_dyadic(ratios[name], places, weights())
    others = frozenset(name for name in left if name not in ratios)
    if others:
        count = draws_of(state, places, settings)

        def of_kinds(sizes: Integers) -> Iterator[Weights]:
            yield table_draws(sizes, count, stream("kinds", *settings.seed, metric.name)).astype(np.float32)

        together = None if settings.stratified else of_kinds
        drawn.update(redraw(metric, state, places, weights(count), others, of_kinds=together).values)
    without = left_out(metric, state, places, others).values if settings.bias_corrected and others else {}
    for name, values in drawn.items():
        centre = np.array([np.nan if e.number is None else e.number for e in mine[name]])
        corrected: Interval | None = None
        if name in without:
            corrected = bias_corrected(values, centre, without[name], confidence=settings.confidence).interval
        drawn_by = f"{name_of}_linearised" if name in metric.linearised else name_of
        found[name] = DrawnEvidence(centre, values, units, places.shared_rows, drawn_by, corrected)
    return found


class _DrawnUnits:
    """How often each unit comes in every draw: the same for all metrics, kept where that is little."""

    def __init__(self, places: Layout, settings: Settings) -> None:
        self._places, self._settings = places, settings
        self._kept: dict[int, list[Weights]] = {}

    def of(self, draws: int) -> Iterator[Weights]:
        """The weights of so many draws, in blocks."""
        if draws in self._kept:
            return iter(self._kept[draws])
        places, settings = self._places, self._settings
        rng = stream("bootstrap", *settings.seed, places.units)
        found = weight_blocks(places.units, draws, rng, strata=_strata(places) if settings.stratified else None)
        if draws * places.units > _MOST_KEPT:
            return found
        self._kept[draws] = list(found)
        return iter(self._kept[draws])


def _strata(places: Layout) -> Integers:
    """The membership pattern of each unit; one whose rows differ goes by its first."""
    first = np.full(places.units, -1, dtype=np.int64)
    first[places.unit[::-1]] = places.pattern[::-1]
    return first


def _judged(found: Sequence[Estimate], evidence: Evidence | None, settings: Settings) -> tuple[Estimate, ...]:
    """Estimates with interval, status, events and what has to be said beside them."""
    if evidence is None:
        return tuple(replace(estimate, status=_status(estimate, None, settings)) for estimate in found)
    limits = evidence.limits(settings.confidence)
    rows, events = evidence.rows, evidence.events
    judged = []
    for position, estimate in enumerate(found):
        low, high = float(limits.interval.low[position]), float(limits.interval.high[position])
        there = estimate.number is not None and np.isfinite(low) and np.isfinite(high)
        size = None if rows is None or events is None else float(rows[position])
        status = _status(estimate, size, settings)
        count = None if events is None else round(float(events[position]))
        beside = _beside(estimate, count, size, there, found[0], settings)
        judged.append(
            replace(
                estimate,
                low=low if there else None,
                high=high if there else None,
                method=limits.method[position] if there else "",
                status=status,
                events=count,
                notes=(
                    *estimate.notes,
                    *limits.notes[position],
                    *beside,
                ),
            )
        )
    return tuple(judged)


def _status(estimate: Estimate, size: float | None, settings: Settings) -> Status:
    """Empty without rows; small under either limit; a proportion by the rows that it counts."""
    if estimate.status is Status.EMPTY or estimate.rows + estimate.missing == 0:
        return Status.EMPTY
    rows = estimate.rows if size is None else min(estimate.rows, size)
    return Status.SMALL if rows < settings.min_rows or estimate.units < settings.min_units else Status.OK


def _beside(
    estimate: Estimate, events: int | None, size: float | None, there: bool, everyone: Estimate, settings: Settings
) -> Iterator[str]:
    """Notes that keep a number from being read for more than it is."""
    if estimate.number is None:
        return
    if events is not None and events < FEW_EVENTS:
        yield f"rests on {events} events, fewer than {FEW_EVENTS}"
    if not there and estimate.units == 1:
        yield "one unit: no interval"
    if there and estimate.units < settings.min_units:
        yield f"an interval from {estimate.units} units may cover less than it says"
    if size is not None and 0 < size < FEW_ROWS and estimate.group != EVERYONE and everyone.number is not None:
        rest = max(everyone.rows - size, 1.0)
        rate = min(max(everyone.number, 0.0), 1.0)
        shows = float(detectable_difference(rate, size, rest, alpha=settings.alpha))
        yield f"could show a difference of {shows:.2g} or more from the rest"


def _contrasts(finding: Finding, places: Layout, settings: Settings) -> list[Contrast]:
    """Every pair of eligible groups of the same attributes, adjusted over one order of intersections."""
    evidence = finding.evidence
    assert evidence is not None
    usable = eligible(finding)
    orders: dict[int, list[tuple[int, int]]] = {}
    for names, positions in by_order(places.groups).items():
        large = [position for position in positions if usable[position]]
        orders.setdefault(len(names), []).extend(combinations(large, 2))
    found: list[Contrast] = []
    for order, pairs in orders.items():
        if not pairs:
            continue
        first, second = np.array(pairs, dtype=np.int64).T
        compared = evidence.pairs(first, second, confidence=settings.confidence, alpha=settings.alpha)
        found.extend(_told(finding, places, compared, first, second, order, settings))
    return found


def _told(
    finding: Finding,
    places: Layout,
    compared: Pairs,
    first: Integers,
    second: Integers,
    order: int,
    settings: Settings,
) -> Iterator[Contrast]:
    """Pairs of one family as results, with adjusted p-values and verdicts."""
    adjusted = settings.correction(compared.p_value)
    assert finding.evidence is not None
    margin = margin_of(settings, finding.metric, finding.output, finding.evidence.values)
    low, high = compared.interval.low, compared.interval.high
    judged = verdicts(
        low,
        high,
        compared.narrow.low,
        compared.narrow.high,
        adjusted,
        margin=np.inf if margin is None else margin,
        alpha=settings.alpha,
    )
    if margin is None:
        judged[judged == Verdict.EQUIVALENT] = Verdict.UNDECIDED
    family = f"{finding.metric}.{finding.output}, " + (
        "single attributes" if order == 1 else f"intersections of {order}"
    )
    tested = int(np.count_nonzero(~np.isnan(compared.p_value)))
    listed = _listed(compared.p_value)
    difference, below, above, p, corrected, detectable = (
        _numbers_or_none(values[listed])
        for values in (compared.difference, low, high, compared.p_value, adjusted, compared.detectable)
    )
    effects = {name: _numbers_or_none(values[listed]) for name, values in compared.effects.items()}
    shared, tests, intervals = (
        values[listed].tolist() for values in (compared.shared_rows, compared.test, compared.interval_name)
    )
    for place, at in enumerate(listed):
        one, other = places.groups[first[at]], places.groups[second[at]]
        yield Contrast(
            metric=finding.metric,
            output=finding.output,
            first=one,
            second=other,
            difference=difference[place],
            low=below[place],
            high=above[place],
            p=p[place],
            adjusted=corrected[place],
            verdict=judged[at],
            worse=_worse(finding.direction, difference[place], one, other),
            test=tests[place],
            interval=intervals[place],
            family=family,
            family_size=tested,
            correction=settings.correction.value,
            effects={name: value for name, values in effects.items() if (value := values[place]) is not None},
            detectable=detectable[place],
            margin=margin,
            shared_rows=shared[place],
            notes=tuple(_pair_notes(compared, at, margin)),
        )


def _listed(p_values: Floats) -> list[int]:
    """Which pairs of a family are listed, in their order: all of them, or those with the smallest p-values."""
    if len(p_values) <= MOST_PAIRS:
        return list(range(len(p_values)))
    smallest: list[int] = np.sort(np.argsort(p_values, kind="stable")[:MOST_PAIRS]).tolist()
    return smallest


def _pair_notes(compared: Pairs, at: int, margin: float | None) -> Iterator[str]:
    if compared.shared_rows[at]:
        yield f"{compared.shared_rows[at]} rows belong to both groups"
    if compared.shared_units[at]:
        yield f"{compared.shared_units[at]} units have rows in both groups; their joint effect is in the interval"
    if margin is None:
        yield "no margin is set for this scale: the difference can't be called large or equivalent"


def _worse(direction: Direction, difference: float | None, first: Group, second: Group) -> Group | None:
    if direction is Direction.NEITHER or not difference:
        return None
    return first if (difference < 0) == (direction is Direction.HIGHER) else second


def _omnibus(finding: Finding, places: Layout, settings: Settings) -> Iterator[Omnibus]:
    """One test per attribute or intersection: do its groups differ at all?"""
    evidence = finding.evidence
    assert evidence is not None
    usable = eligible(finding)
    for names, positions in by_order(places.groups).items():
        large = [position for position in positions if usable[position]]
        if len(large) < 2:
            yield Omnibus(
                finding.metric, finding.output, names, "", None, None, None, len(large), summaries.TOO_FEW.reason
            )
            continue
        test = evidence.omnibus(large, settings.permutations)
        undefined = np.isnan(test.p_value)
        yield Omnibus(
            finding.metric,
            finding.output,
            names,
            test.method,
            _or_none(test.statistic),
            float(test.degrees),
            _or_none(test.p_value),
            len(large),
            "no row differs from any other: there is nothing to test" if undefined else "",
        )


def _summaries(finding: Finding, places: Layout, settings: Settings) -> Iterator[Summary]:
    """Summary numbers of every attribute and intersection, each gap with its reference."""
    evidence = finding.evidence
    assert evidence is not None
    usable = eligible(finding)
    everyone = finding.estimates[places.groups.index(EVERYONE)].number
    for names, positions in by_order(places.groups).items():
        large = [position for position in positions if usable[position]]
        values = evidence.values[large]
        ends = summaries.extremes(values, finding.direction)
        notes: list[str] = []
        reference = None
        if len(large) >= 2 and settings.permutations > 0:
            reference = _reference(evidence, values, large, settings, notes)
        if places.overlap(large):
            notes.append("rows may belong to several groups: group sizes add up to more than all")
        yield Summary(
            finding.metric,
            finding.output,
            names,
            summaries.summarise(values, everyone),
            None if isinstance(ends, Undefined) else places.groups[large[ends.worst]],
            None if isinstance(ends, Undefined) else places.groups[large[ends.best]],
            tuple(places.groups[position] for position in large),
            tuple(places.groups[position] for position in positions if not usable[position]),
            reference,
            _shrunken(evidence, places, large, settings),
            tuple(notes),
        )


def _reference(
    evidence: Evidence, values: Floats, large: list[int], settings: Settings, notes: list[str]
) -> Reference | None:
    null = evidence.null_gaps(large, settings.permutations)
    gap = float(values.max() - values.min())
    try:
        found = gap_reference(gap, null.gaps, null.method)
    except StatisticsError as error:
        notes.append(str(error))
        return None
    notes.append(f"reference of the gap: {null.method}")
    return Reference(found.permutations, found.mean, found.quantile95, found.p_value, found.excess)


def _shrunken(evidence: Evidence, places: Layout, large: list[int], settings: Settings) -> dict[Group, float]:
    """Partially pooled proportions, when asked for or when there are too many groups to rank raw."""
    if not (settings.shrink or len(large) > MANY_GROUPS) or not isinstance(evidence, RatioEvidence) or len(large) < 2:
        return {}
    if evidence.ratio.kind is not Kind.PROPORTION:
        return {}
    rows = evidence.rows[large]
    if not evidence.table.independent:
        size = effective_size(evidence.table.means).rows[large]
        rows = np.where(np.isnan(size), rows, size)
    pooled = summaries.shrink(evidence.values[large] * rows, rows)
    return {places.groups[position]: float(value) for position, value in zip(large, pooled, strict=True)}


def _notes(contrasts: Sequence[Contrast], places: Layout) -> tuple[str, ...]:
    families = list(dict.fromkeys(contrast.family for contrast in contrasts))
    notes = []
    for family in families:
        sizes = [contrast.family_size for contrast in contrasts if contrast.family == family]
        if len(sizes) == MOST_PAIRS < sizes[0]:
            notes.append(f"{family}: {sizes[0]} pairs tested, the {MOST_PAIRS} with the smallest p-values listed")
    if families:
        notes.append(f"{len(families)} families of tests, {len(contrasts)} pairs; each family has its own correction")
    if places.unit_b is not None:
        notes.append("rows are about two units: a row is drawn as often as both")
    elif bool(np.all(places.rows_per_unit <= 1)):
        notes.append("every unit has one row: rows are independent")
    else:
        notes.append(f"{int(places.rows.sum())} rows of {places.units} units: rows of one unit are not independent")
    return tuple(notes)


def _draw_notes(tally: Tally, places: Layout, settings: Settings) -> Iterator[str]:
    """Which metrics were drawn less often than asked, because every draw of them is costly."""
    for metric, state in zip(tally.metrics, tally.states, strict=True):
        count = draws_of(state, places, settings)
        if metric.resampling is Resampling.BOOTSTRAP and count < settings.draws:
            yield f"{metric.name}: {count} draws where values are drawn again, since each is costly"
        if metric.linearised and settings.draws:
            names = ", ".join(sorted(metric.linearised))
            yield f"{metric.name}: {names} is drawn again to first order, the ranks of scores held fixed"


def _numbers_or_none(values: Floats) -> list[float | None]:
    return [value if isfinite(value) else None for value in values.tolist()]


def _or_none(value: Any) -> float | None:
    number = float(value)
    return number if np.isfinite(number) else None
