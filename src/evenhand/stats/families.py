"""Families of pairs: groups of the same attributes compared, p-values adjusted together.

One family is one output and one order of intersections, all attributes together. All its pairs are tested and
adjusted; of a very large family those with the smallest p-values are listed, and their number is said.
"""

from collections.abc import Iterator

import numpy as np

from evenhand.core.contrasts import Family
from evenhand.core.metric import Direction
from evenhand.core.results import Verdict
from evenhand.stats.checks import Floats, Integers
from evenhand.stats.findings import Finding
from evenhand.stats.pairing import Pairs
from evenhand.stats.settings import Settings, margin_of
from evenhand.stats.tables import Layout
from evenhand.stats.verdicts import verdicts

MOST_PAIRS = 20_000
"""Of a larger family all pairs are tested and adjusted, and so many with the smallest p-values are listed."""


def families_of(finding: Finding, places: Layout, settings: Settings) -> Iterator[Family]:
    """Every pair of eligible groups of the same attributes, adjusted over one order of intersections."""
    orders: dict[int, list[tuple[Integers, Integers]]] = {}
    for names, positions in places.by_attributes.items():
        large = positions[finding.usable[positions]]
        first, second = np.triu_indices(len(large), 1)
        orders.setdefault(len(names), []).append((large[first], large[second]))
    for order, pairs in orders.items():
        first, second = (np.concatenate(side) for side in zip(*pairs, strict=True))
        if len(first):
            yield _family(finding, places, first, second, order, settings)


def _family(
    finding: Finding, places: Layout, first: Integers, second: Integers, order: int, settings: Settings
) -> Family:
    """The pairs of one family, with adjusted p-values and verdicts."""
    evidence = finding.evidence
    assert evidence is not None
    levels = {"confidence": settings.confidence, "alpha": settings.alpha}
    p_values = evidence.p_values(first, second) if len(first) > MOST_PAIRS else None
    if p_values is None:
        compared = evidence.pairs(first, second, **levels)
        p_values = compared.p_value
        listed = _listed(p_values)
        compared = compared.take(listed)
    else:
        listed = _listed(p_values)
        compared = evidence.pairs(first[listed], second[listed], **levels)
    adjusted = settings.correction(p_values)[listed]
    margin = margin_of(settings, finding.metric, finding.output, evidence.values)
    judged = verdicts(
        compared.interval.low,
        compared.interval.high,
        compared.narrow.low,
        compared.narrow.high,
        adjusted,
        margin=np.inf if margin is None else margin,
        alpha=settings.alpha,
    )
    if margin is None:
        judged[judged == Verdict.EQUIVALENT] = Verdict.UNDECIDED
    attributes = "single attributes" if order == 1 else f"intersections of {order}"
    return Family(
        metric=finding.metric,
        output=finding.output,
        name=f"{finding.metric}.{finding.output}, {attributes}",
        size=int(np.count_nonzero(~np.isnan(p_values))),
        correction=settings.correction.value,
        margin=margin,
        groups=places.groups,
        first=first[listed],
        second=second[listed],
        difference=compared.difference,
        low=compared.interval.low,
        high=compared.interval.high,
        p=compared.p_value,
        adjusted=adjusted,
        detectable=compared.detectable,
        verdict=judged.tolist(),
        worse=_worse(finding.direction, compared.difference, first[listed], second[listed]),
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
    """The position of the group that is worse off; −1 when neither way is better, or both are equal."""
    told = np.isfinite(difference) & (difference != 0) & (direction is not Direction.NEITHER)
    lower_is_worse = direction is Direction.HIGHER
    return np.where(told, np.where((difference < 0) == lower_is_worse, first, second), -1)


def _notes(compared: Pairs, margin: float | None) -> list[tuple[str, ...]]:
    """What is said beside each pair; pairs that share as much get the same text."""
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
