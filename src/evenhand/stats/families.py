"""Families of pairs: groups of the same attributes compared, p-values adjusted together.

One family is one output and one order of intersections, all attributes together. All its pairs are tested and
adjusted; of a very large family those with the smallest p-values are listed, and their number is reported.
"""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evenhand.core.contrasts import Family
from evenhand.core.metric import Direction
from evenhand.stats.checks import Floats, Integers
from evenhand.stats.evidence import Evidence
from evenhand.stats.findings import OutputFinding
from evenhand.stats.multiplicity import Correction
from evenhand.stats.pairing import GroupPairs
from evenhand.stats.settings import Settings, margin_of
from evenhand.stats.tables import TallyLayout
from evenhand.stats.verdicts import verdicts

PAIRS_AT_ONCE = 250_000  # tested together, so that memory does not grow with the family
MOST_PAIRS = 20_000
"""Of a larger family all pairs are tested and adjusted, and so many with the smallest p-values are listed."""


def families_of(finding: OutputFinding, places: TallyLayout, settings: Settings) -> Iterator[Family]:
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
            first = np.repeat(rows, sizes)
            second = np.arange(len(first)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first + 1
            yield positions[first], positions[second]
            start = stop


def _smallest(evidence: Evidence, sets: list[Integers], settings: Settings) -> "_Smallest":
    """The pairs of a very large family with the smallest p-values, adjusted within all of it, block by block."""
    levels = {"confidence": settings.confidence, "alpha": settings.alpha}
    kept = _Smallest(np.zeros(0), np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0, np.int64), 0)
    every: list[Floats] = []
    seen = 0
    for first, second in _pair_blocks(sets):
        p = evidence.p_values(first, second)
        p = evidence.pairs(first, second, **levels).p_value if p is None else p
        if settings.correction is Correction.BENJAMINI_HOCHBERG:  # steps up from the largest: all are needed
            every.append(p)
        place = np.arange(seen, seen + len(p))
        seen += len(p)
        joined = [np.concatenate(pair) for pair in zip(kept[:4], (p, first, second, place), strict=True)]
        at = _listed(joined[0])
        kept = _Smallest(
            joined[0][at], joined[1][at], joined[2][at], joined[3][at], kept.tested + int(np.isfinite(p).sum())
        )
    if every:
        adjusted = settings.correction(np.concatenate(every))[kept.place]
    else:
        adjusted = settings.correction.of_smallest(kept.p, kept.tested)
    return kept._replace(p=adjusted)


class _Smallest(NamedTuple):
    """GroupPairs with the smallest p-values: these, both groups, their place in the family, how many were tested."""

    p: Floats
    first: Integers
    second: Integers
    place: Integers
    tested: int


def _family(
    finding: OutputFinding, places: TallyLayout, sets: list[Integers], order: int, settings: Settings
) -> Family:
    """The pairs of one family, with adjusted p-values and verdicts."""
    evidence = finding.evidence
    assert evidence is not None
    levels = {"confidence": settings.confidence, "alpha": settings.alpha}
    if sum(len(positions) * (len(positions) - 1) // 2 for positions in sets) > MOST_PAIRS:
        adjusted, first, second, _, tested = _smallest(evidence, sets, settings)
        compared = evidence.pairs(first, second, **levels)
    else:
        first, second = (np.concatenate(side) for side in zip(*_pair_blocks(sets), strict=True))
        compared = evidence.pairs(first, second, **levels)
        adjusted = settings.correction(compared.p_value)
        tested = int(np.count_nonzero(~np.isnan(compared.p_value)))
    margin = margin_of(settings, finding.metric, finding.output, evidence.values)
    judged = verdicts(*compared.interval, *compared.narrow, adjusted, margin=margin, alpha=settings.alpha)
    attributes = "single attributes" if order == 1 else f"intersections of {order}"
    return Family(
        metric=finding.metric,
        output=finding.output,
        name=f"{finding.metric}.{finding.output}, {attributes}",
        size=tested,
        correction=settings.correction.value,
        margin=margin,
        groups=places.groups,
        first=first,
        second=second,
        difference=compared.difference,
        low=compared.interval.low,
        high=compared.interval.high,
        p=compared.p_value,
        adjusted=adjusted,
        detectable=compared.detectable,
        verdict=judged.tolist(),
        worse=_worse(finding.direction, compared.difference, first, second),
        test=compared.test.tolist(),
        interval=compared.interval_name.tolist(),
        shared_rows=compared.shared_rows,
        notes=_notes(compared, margin),
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


def _notes(compared: GroupPairs, margin: float | None) -> list[tuple[str, ...]]:
    """The notes of each pair; pairs that share as much get the same text."""
    known: dict[tuple[int, int], tuple[str, ...]] = {}
    found = []
    for shared in zip(compared.shared_rows.tolist(), compared.shared_units.tolist(), strict=True):
        if shared not in known:
            known[shared] = tuple(_pair_notes(*shared, margin))
        found.append(known[shared])
    return found


def _pair_notes(rows: int, units: int, margin: float | None) -> Iterator[str]:
    if rows:
        yield f"{rows} rows belong to both groups"
    if units:
        yield f"{units} units have rows in both groups; their joint effect is in the interval"
    if margin is None:
        yield "no margin is set for this scale: the difference can't be called large or equivalent"
