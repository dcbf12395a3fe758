"""From the cells of a tally to everything that may be said about groups.

Every output of every metric gets, in every group, the interval that fits what it is and how its rows were
sampled. Groups that are large enough are compared, pair by pair and all together; p-values are adjusted in
families; every gap comes with what chance alone would show.
"""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.contrasts import Contrasts, Family
from evenhand.core.measure import Tally, estimates
from evenhand.core.metric import Kind, Resampling, Undefined
from evenhand.core.records import EVERYONE, Group, groups_of
from evenhand.core.results import Contrast, Estimate, Method, Omnibus, Reference, Summary
from evenhand.stats import summaries
from evenhand.stats.checks import Floats, number_or_none
from evenhand.stats.evidence import Evidence, RatioEvidence
from evenhand.stats.families import families_of
from evenhand.stats.findings import OutputFinding, findings_of
from evenhand.stats.intervals import effective_size
from evenhand.stats.permutation import gap_reference
from evenhand.stats.redraw import draws_of
from evenhand.stats.sets import SetEvidence
from evenhand.stats.settings import Settings
from evenhand.stats.tables import TallyLayout, layout

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
    findings = [finding for found in findings_of(tally, places, chosen) for finding in found]
    compared = [f for f in findings if f.evidence is not None and (chosen.detailed or ":" not in f.output)]
    # Two at once would take twice the memory.
    large = len(listed) > MANY_AT_ONCE or any(isinstance(f.evidence, SetEvidence) for f in compared)
    with ThreadPoolExecutor(1 if large else _THREADS) as threads:
        comparisons = list(threads.map(lambda finding: _compared(finding, places, chosen), compared))
    contrasts = Contrasts(tuple(family for one in comparisons for family in one.families))
    return Analysis(
        tuple(estimate for f in findings for estimate in f.estimates),
        contrasts,
        tuple(test for one in comparisons for test in one.omnibus),
        tuple(summary for one in comparisons for summary in one.summaries),
        chosen.method((*_notes(contrasts, places), *_draw_notes(tally, places, chosen))),
    )


class _OutputComparison(NamedTuple):
    """What the comparison of groups on one output says."""

    families: tuple[Family, ...]
    omnibus: tuple[Omnibus, ...]
    summaries: tuple[Summary, ...]


def _compared(finding: OutputFinding, places: TallyLayout, settings: Settings) -> _OutputComparison:
    found = _OutputComparison(
        tuple(families_of(finding, places, settings)),
        tuple(_omnibus(finding, places, settings)),
        tuple(_summaries(finding, places, settings)),
    )
    assert finding.evidence is not None
    finding.evidence.forget()
    return found


def _omnibus(finding: OutputFinding, places: TallyLayout, settings: Settings) -> Iterator[Omnibus]:
    """One test per attribute or intersection: do its groups differ at all?"""
    evidence = finding.evidence
    assert evidence is not None
    for names, positions in places.by_attributes.items():
        large = positions[finding.usable[positions]].tolist()
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
            number_or_none(test.statistic),
            float(test.degrees),
            number_or_none(test.p_value),
            len(large),
            "no row differs from any other: there is nothing to test" if undefined else "",
        )


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
            tuple(places.groups[position] for position in positions[~usable].tolist()),
            reference,
            _shrunken(evidence, places, large, settings),
            tuple(notes),
        )


def _reference(
    evidence: Evidence, values: Floats, large: list[int], settings: Settings, notes: list[str]
) -> Reference | None:
    null = evidence.null_gaps(large, settings.permutations)
    reference = gap_reference(float(values.max() - values.min()), null.gaps)
    notes.append(
        "no permutation had two groups with values: the gap has no reference."
        if reference is None
        else f"reference of the gap: {null.method}"
    )
    return reference


def _shrunken(evidence: Evidence, places: TallyLayout, large: list[int], settings: Settings) -> dict[Group, float]:
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
