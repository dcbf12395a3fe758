"""The house's statistics in the words and tables of the report: groups, pairs, and what stands out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.compat.fhibe.plots import Limits
from evenhand.compat.fhibe.statistics import Statistics
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Estimate, Status, Verdict

MOST_PAIRS = 50
GROUP_HEADER = ("Group", "Value, 95 % interval", "Rows", "Subjects", "Size")
PAIR_HEADER = ("Attribute", "Groups", "Difference, 95 % interval", "Cliff's δ", "Adjusted p", "Verdict")
READING = (
    "Verdicts compare the difference of two groups with a margin of {margin:g}: «large» is surely larger than the "
    "margin, «different» surely not zero, «equivalent» surely within the margin, «undecided» none of these: the groups "
    "are too small to tell. Surely is 95 %, p values are adjusted for all pairs of the report (Holm). Cliff's δ says "
    "how much more often a subject of the first group has the higher mean than one of the second; unlike the published "
    "effect size it does not grow with the number of rows, and it has an interval where the groups share no subject."
)
_WORST_FIRST = {Verdict.LARGE: 0, Verdict.DIFFERENT: 1, Verdict.UNDECIDED: 2, Verdict.EQUIVALENT: 3}


def everyone(found: Statistics, metric: str) -> Estimate | None:
    """Everyone's value of a metric's first output."""
    return next((one for one in found.first(metric) if one.group == EVERYONE), None)


def limits(found: Statistics, metric: str, attribute: str, output: str | None = None) -> Limits:
    """Group → interval, for the groups that have one; of the metric's first output, unless another is named."""
    return {
        one.group.terms[0][1]: (one.low, one.high)
        for one in found.of(metric, attribute, output)
        if one.low is not None and one.high is not None
    }


def domain(
    found: Statistics, metric: str, asked: Sequence[str], heights: Sequence[float]
) -> tuple[float, float] | None:
    """The span of all groups' values and of the intervals of those that are large enough, with some room."""
    values = list(heights)
    for attribute in asked:
        for one in found.of(metric, attribute):
            if one.status is Status.OK:
                values += [value for value in (one.low, one.high) if value is not None]
    if not values or min(values) == max(values):
        return None
    room = 0.04 * (max(values) - min(values))
    return min(values) - room, max(values) + room


def group_rows(found: Statistics, metric: str, attribute: str) -> list[list[str]]:
    """A line per group that has rows."""
    rows = []
    for one in found.of(metric, attribute):
        if one.rows:
            level = names.display_value(attribute, one.group.terms[0][1])
            rows.append([level, _value(one), str(one.rows), str(one.units), one.status.value])
    return rows


def pairs_of(found: Statistics, metric: str) -> list[Contrast]:
    """The judged pairs of a metric: by verdict, then by the size of the difference."""
    judged = [one for one in found.contrasts if one.metric == metric and one.verdict is not None]
    return sorted(judged, key=lambda one: (_WORST_FIRST[one.verdict or Verdict.UNDECIDED], -abs(one.difference or 0.0)))


def pair_rows(found: Statistics, metric: str) -> list[list[str]]:
    """A line per pair of groups, those that stand out first."""
    rows = []
    for one in pairs_of(found, metric)[:MOST_PAIRS]:
        p = "" if one.adjusted is None else "< 0.001" if one.adjusted < 0.001 else f"{one.adjusted:.3f}"
        by = ", ".join(names.display_name(name) for name in one.first.by)
        between = f"{_shown(one.first)} − {_shown(one.second)}"
        rows.append(
            [by, between, _difference(one), _cliffs_delta(one), p, "" if one.verdict is None else one.verdict.value]
        )
    return rows


def _cliffs_delta(one: Contrast) -> str:
    value, low, high = (one.effects.get(f"cliffs_delta{end}") for end in ("", "_low", "_high"))
    if value is None:
        return "–"
    return f"{value:.2f}" if low is None or high is None else f"{value:.2f} ({low:.2f} to {high:.2f})"


def in_short(found: Statistics, metrics: Sequence[str], most: int = 4) -> Iterator[str]:
    """What the first page says of every metric: everyone's value, and the pairs that stand out."""
    for metric in metrics:
        whole = everyone(found, metric)
        if whole is None or whole.number is None:
            continue
        yield f"{metric}: {_value(whole)} over {whole.rows} rows of {whole.units} subjects."
        judged = pairs_of(found, metric)
        clear = [one for one in judged if one.verdict in (Verdict.LARGE, Verdict.DIFFERENT)]
        for one in clear[:most]:
            by = ", ".join(names.display_name(name) for name in one.first.by)
            worse = "" if one.worse is None else f"; {_shown(one.worse)} is served worse"
            verdict = "" if one.verdict is None else one.verdict.value
            yield f"{by}: {_shown(one.first)} − {_shown(one.second)} is {_difference(one)}, {verdict}{worse}."
        if len(clear) > most:
            yield f"and {len(clear) - most} more, in the table of pairs."
        undecided = sum(one.verdict is Verdict.UNDECIDED for one in judged)
        if judged and not clear:
            yield "No two groups surely differ, which is no evidence that none do."
        if undecided:
            yield f"{undecided} of {len(judged)} pairs are undecided."


def _value(one: Estimate) -> str:
    if one.number is None:
        return "undefined"
    return f"{one.number:.3f}" + ("" if one.low is None else f" ({one.low:.3f} to {one.high:.3f})")


def _difference(one: Contrast) -> str:
    return f"{one.difference or 0.0:.3f}" + ("" if one.low is None else f" ({one.low:.3f} to {one.high:.3f})")


def _shown(group: Group) -> str:
    return ", ".join(names.display_value(name, level) for name, level in group.terms)
