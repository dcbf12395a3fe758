"""From the cells of a tally to everything that may be said about groups.

Every output of every metric gets, in every group, the interval that fits what it is and how its rows were
sampled. Groups that are large enough are compared, pair by pair and all together; p-values are adjusted in
families; every gap comes with what chance alone would show.

One family is one output and one order of intersections, all attributes together. All its pairs are tested and
adjusted; of a very large family those with the smallest p-values are listed, and their number is reported.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np

from evenhand.core.contrasts import Contrasts, Family
from evenhand.core.measure import Tally, estimates
from evenhand.core.membership import groups_of
from evenhand.core.metric import Direction, Kind, Resampling
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Estimate, Method, Omnibus, Summary
from evenhand.core.sparse import ranges
from evenhand.stats import summaries
from evenhand.stats.checks import Floats, Integers, number_or_none
from evenhand.stats.evidence import Evidence, RatioEvidence
from evenhand.stats.findings import OutputFinding, findings_of
from evenhand.stats.intervals import effective_size
from evenhand.stats.multiplicity import Correction, family_name, verdicts
from evenhand.stats.permutation import gap_reference
from evenhand.stats.redraw import draws_of
from evenhand.stats.sets import SetEvidence
from evenhand.stats.settings import Settings, margin_of
from evenhand.stats.tables import TallyLayout, layout

PAIRS_AT_ONCE = 250_000  # tested together, so that memory does not grow with the family
MOST_PAIRS = 20_000
"""Of a larger family all pairs are tested and adjusted, and so many with the smallest p-values are listed."""
MANY_GROUPS = 20
MANY_AT_ONCE = 2000  # groups, beyond which one output is judged at a time
_SECONDS_A_PAIR, _SECONDS_A_DRAW = 8e-7, 5e-7  # measured on one core; good to a factor of three
_THREADS = min(2, os.cpu_count() or 1)  # outputs judged at once: what takes long leaves Python's lock alone


@dataclass(frozen=True)
class Analysis:
    """Everything that was found, for `Results`."""

    estimates: tuple[Estimate, ...]
    contrasts: Sequence[Contrast]
    omnibus: tuple[Omnibus, ...]
    summaries: tuple[Summary, ...]
    method: Method


def work_asked(tally: Tally, by: Sequence[str], depth: int, settings: Settings) -> str:
    """What a depth of intersections means, in words: groups, pairs, and how long; said before it is paid for."""
    groups = groups_of(tally.cells, by, depth)
    sizes = Counter(group.by for group in groups if group.terms and not group.is_missing)
    pairs = sum(count * (count - 1) // 2 for count in sizes.values())
    outputs = sum(len([o for o in metric.outputs if settings.detailed or ":" not in o]) for metric in tally.metrics)
    resampled = len(groups) * (settings.draws + settings.permutations)
    seconds = outputs * (pairs * _SECONDS_A_PAIR + resampled * _SECONDS_A_DRAW)
    took = f"{seconds:,.0f} s" if seconds < 120 else f"{seconds / 60:,.0f} min"
    return (
        f"depth {depth} means {len(groups) - 1:,} groups and at most {pairs:,} pairs of them to be tested for each of "
        f"{outputs} values: about {took}"
    )


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
    findings = list(findings_of(tally, places, chosen))
    compared = [f for f in findings if f.evidence is not None and (chosen.detailed or ":" not in f.output)]
    # Two at once would take twice the memory.
    large = len(listed) > MANY_AT_ONCE or any(isinstance(f.evidence, SetEvidence) for f in compared)
    with ThreadPoolExecutor(1 if large else _THREADS) as threads:
        comparisons = list(threads.map(lambda finding: _compared(finding, places, chosen), compared))
    families, omnibus, found = (tuple(chain(*(one[part] for one in comparisons))) for part in range(3))
    contrasts = Contrasts(families)
    return Analysis(
        tuple(estimate for f in findings for estimate in f.estimates),
        contrasts,
        omnibus,
        found,
        chosen.method((*_notes(contrasts, places), *_draw_notes(tally, places, chosen))),
    )


def _compared(finding: OutputFinding, places: TallyLayout, settings: Settings) -> tuple[list[Any], ...]:
    """Families, omnibus tests and summaries of one output."""
    asked = finding, places, settings
    compared = tuple(list(part(*asked)) for part in (_families, _omnibus, _summaries))
    if isinstance(finding.evidence, RatioEvidence):
        finding.evidence.forget()
    return compared


def _families(finding: OutputFinding, places: TallyLayout, settings: Settings) -> Iterator[Family]:
    """Every pair of eligible groups of the same attributes, adjusted over one order of intersections."""
    orders: dict[int, list[Integers]] = {}
    for names, positions in places.by_attributes.items():
        orders.setdefault(len(names), []).append(positions[finding.usable[positions]])
    for order, sets in orders.items():
        if any(len(positions) > 1 for positions in sets):
            yield _family(finding, places, sets, order, settings)


def _pair_blocks(sets: list[Integers]) -> Iterator[tuple[Integers, Integers]]:
    """All pairs of groups of the same attributes, some at a time, in order."""
    for positions in sets:
        many, start = len(positions), 0
        while start < many - 1:
            stop, count = start + 1, many - 1 - start
            while stop < many - 1 and count + many - 1 - stop <= PAIRS_AT_ONCE:
                count += many - 1 - stop
                stop += 1
            rows = np.arange(start, stop)
            sizes = many - 1 - rows
            yield positions[np.repeat(rows, sizes)], positions[ranges(rows + 1, sizes)]
            start = stop


def _smallest(evidence: Evidence, sets: list[Integers], settings: Settings) -> tuple[Floats, Integers, Integers, int]:
    """The pairs of a very large family with the smallest p-values, adjusted within all of it, and how many are tested.

    Block by block: adjusted p-values, first and second groups.
    """
    kept: list[Any] = [np.zeros(0), *(np.zeros(0, np.int64) for _ in range(3))]
    every: list[Floats] = []
    seen = tested = 0
    for first, second in _pair_blocks(sets):
        p = evidence.p_values(first, second, settings)
        if settings.correction is Correction.BENJAMINI_HOCHBERG:  # steps up from the largest: all are needed
            every.append(p)
        place = np.arange(seen, seen + len(p))
        seen, tested = seen + len(p), tested + int(np.isfinite(p).sum())
        together = [np.concatenate(pair) for pair in zip(kept, (p, first, second, place), strict=True)]
        at = _listed(together[0])
        kept = [column[at] for column in together]
    p, first, second, place = kept
    if every:
        return settings.correction(np.concatenate(every))[place], first, second, tested
    return settings.correction.of_smallest(p, tested), first, second, tested


def _family(
    finding: OutputFinding, places: TallyLayout, sets: list[Integers], order: int, settings: Settings
) -> Family:
    """The pairs of one family, with adjusted p-values and verdicts."""
    evidence = finding.evidence
    assert evidence is not None
    if sum(len(positions) * (len(positions) - 1) // 2 for positions in sets) > MOST_PAIRS:
        adjusted, first, second, tested = _smallest(evidence, sets, settings)
        compared = evidence.pairs(first, second, settings)
    else:
        first, second = (np.concatenate(side) for side in zip(*_pair_blocks(sets), strict=True))
        compared = evidence.pairs(first, second, settings)
        adjusted = settings.correction(compared.p_value)
        tested = int(np.count_nonzero(~np.isnan(compared.p_value)))
    margin = margin_of(settings, finding.metric, finding.output, evidence.values)
    judged = verdicts(*compared[1:5], adjusted, margin=margin, alpha=settings.alpha)
    shared = list(zip(compared.shared_rows.tolist(), compared.shared_units.tolist(), strict=True))
    notes = {both: tuple(_pair_notes(*both, margin)) for both in set(shared)}
    return Family(
        metric=finding.metric,
        output=finding.output,
        name=family_name(finding.metric, finding.output, order),
        size=tested,
        correction=settings.correction.value,
        margin=margin,
        groups=places.groups,
        first=first,
        second=second,
        difference=compared.difference,
        low=compared.low,
        high=compared.high,
        p=compared.p_value,
        adjusted=adjusted,
        detectable=compared.detectable,
        verdict=judged.tolist(),
        worse=_worse(finding.direction, compared.difference, first, second),
        test=compared.test.tolist(),
        interval=compared.interval_name.tolist(),
        shared_rows=compared.shared_rows,
        notes=[notes[both] for both in shared],
        effects=compared.effects,
    )


def _listed(p_values: Floats) -> Integers:
    """Which pairs of a family are listed, in their order: all of them, or those with the smallest p-values."""
    if len(p_values) <= MOST_PAIRS:
        return np.arange(len(p_values))
    last = np.partition(p_values, MOST_PAIRS - 1)[MOST_PAIRS - 1]
    before = p_values < last if np.isfinite(last) else np.isfinite(p_values)
    tied = p_values == last if np.isfinite(last) else np.isnan(p_values)
    tied &= np.cumsum(tied) <= MOST_PAIRS - np.count_nonzero(before)  # of equal ones the first
    return np.flatnonzero(before | tied)


def _worse(direction: Direction, difference: Floats, first: Integers, second: Integers) -> Integers:
    """The position of the disadvantaged group; −1 when neither way is better, or both are equal."""
    decided = np.isfinite(difference) & (difference != 0) & (direction is not Direction.NEITHER)
    lower_is_worse = direction is Direction.HIGHER
    return np.where(decided, np.where((difference < 0) == lower_is_worse, first, second), -1)


def _pair_notes(rows: int, units: int, margin: float | None) -> Iterator[str]:
    """What is said beside a pair that shares so many rows and units."""
    if rows:
        yield f"{rows} rows belong to both groups"
    if units:
        yield f"{units} units have rows in both groups; their joint effect is in the interval"
    if margin is None:
        yield "no margin is set for this scale: the difference can't be called large or equivalent"


def _omnibus(finding: OutputFinding, places: TallyLayout, settings: Settings) -> Iterator[Omnibus]:
    """One test per attribute or intersection: do its groups differ at all?"""
    evidence = finding.evidence
    assert evidence is not None
    for names, positions in places.by_attributes.items():
        large = positions[finding.usable[positions]].tolist()
        if len(large) < 2:
            found: tuple[str, float | None, float | None, float | None] = "", None, None, None
            reason = summaries.TOO_FEW.reason
        else:
            test = evidence.omnibus(large, settings.permutations)
            p = number_or_none(test.p_value)
            found = test.method, number_or_none(test.statistic), float(test.degrees), p
            reason = "no row differs from any other: there is nothing to test" if p is None else ""
        yield Omnibus(finding.metric, finding.output, names, *found, len(large), reason)


def _summaries(finding: OutputFinding, places: TallyLayout, settings: Settings) -> Iterator[Summary]:
    """Summary numbers of every attribute and intersection, each gap with its reference."""
    evidence = finding.evidence
    assert evidence is not None
    everyone = finding.estimates[places.groups.index(EVERYONE)].number
    for names, positions in places.by_attributes.items():
        usable = finding.usable[positions]
        large = positions[usable].tolist()
        values = evidence.values[large]
        ends = summaries.extremes(values, finding.direction)
        notes: list[str] = []
        reference = None
        if len(large) >= 2 and settings.permutations > 0:
            null, source = evidence.null_gaps(large, settings.permutations)
            reference = gap_reference(float(values.max() - values.min()), null)
            nothing = "no permutation had two groups with values: the gap has no reference."
            notes.append(nothing if reference is None else f"reference of the gap: {source}")
        if places.overlap(large):
            notes.append("rows may belong to several groups: group sizes add up to more than all")
        yield Summary(
            finding.metric,
            finding.output,
            names,
            summaries.summarise(values, everyone),
            None if ends is None else places.groups[large[ends[0]]],
            None if ends is None else places.groups[large[ends[1]]],
            tuple(places.groups[position] for position in large),
            tuple(places.groups[position] for position in positions[~usable].tolist()),
            reference,
            _shrunken(evidence, places, large, settings),
            tuple(notes),
        )


def _shrunken(evidence: Evidence, places: TallyLayout, large: list[int], settings: Settings) -> dict[Group, float]:
    """Partially pooled proportions, when asked for or when there are too many groups to rank raw."""
    if not (settings.shrink or len(large) > MANY_GROUPS) or len(large) < 2:
        return {}
    if not isinstance(evidence, RatioEvidence) or evidence.ratio.kind is not Kind.PROPORTION:
        return {}
    rows = evidence.rows[large]
    if not evidence.table.independent:
        size = effective_size(evidence.table.means).rows[large]
        rows = np.where(np.isnan(size), rows, size)
    pooled = summaries.shrink(evidence.values[large] * rows, rows)
    return {places.groups[position]: float(value) for position, value in zip(large, pooled, strict=True)}


def _notes(contrasts: Contrasts, places: TallyLayout) -> tuple[str, ...]:
    notes = [
        f"{family.name}: {family.size} pairs tested, the {len(family)} with the smallest p-values listed"
        for family in contrasts.families
        if len(family) < family.size
    ]
    if contrasts.families:
        tested = f"{len(contrasts.families)} families of tests, {len(contrasts)} pairs"
        notes.append(f"{tested}; each family has its own correction")
    if places.unit_b is not None:
        notes.append("rows are about two units: a row is drawn as often as both")
    elif bool(np.all(places.rows_per_unit <= 1)):
        notes.append("every unit has one row: rows are independent")
    else:
        notes.append(f"{int(places.rows.sum())} rows of {places.units} units: rows of one unit are not independent")
    return tuple(notes)


def _draw_notes(tally: Tally, places: TallyLayout, settings: Settings) -> Iterator[str]:
    """Which metrics were resampled less often than requested, because each resample is costly."""
    for metric, state in zip(tally.metrics, tally.states, strict=True):
        count = draws_of(state, places, settings)
        if metric.resampling is Resampling.BOOTSTRAP and count < settings.draws:
            yield f"{metric.name}: {count} bootstrap resamples, since each is costly"
        if metric.linearised and settings.draws:
            names = ", ".join(sorted(metric.linearised))
            yield f"{metric.name}: {names} is resampled to first order, the ranks of scores held fixed"
