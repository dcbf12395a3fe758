"""What a reader in a hurry sees first: who is disadvantaged, by how much, how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.contrasts import contrasts_of, verdict_counts
from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Figure, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Estimate, Results, Status, Summary, Verdict
from evenhand.reporting.display import ShownResults, task_title
from evenhand.reporting.groups import output_figures
from evenhand.reporting.phrases import (
    as_cell,
    by_words,
    certainly_worse,
    direction_of,
    distance_words,
    headline,
    in_sentence,
    in_words,
    levels,
    listed,
    standings,
    value_name,
)

_MAIN = 4  # numbers beside the finding

BADGES = {
    Verdict.LARGE: "performs worse for",
    Verdict.DIFFERENT: "differs, perhaps little: worse for",
    Verdict.UNDECIDED: "inconclusive",
    Verdict.EQUIVALENT: "no meaningful difference",
}


def overview(results: ShownResults, question: str = "") -> Section:
    """One sentence, a verdict per attribute, and the figure of the attribute with the widest gap beyond chance."""
    first = headline(results)
    if first is None:
        return Section("Summary", [Text("No metric has a value for these samples.", "lead")], name="summary")
    overall = results.get(*first)
    if isinstance(overall.value, Undefined):
        lead = f"{value_name(*first)} is undefined: {overall.value.reason}."
        return Section("Summary", [Text(lead, "lead")], name="summary")
    summary = widest(results, first)
    blocks: list[Block] = [Text(finding(results, first), "lead")]
    badges = verdict_badges(results, first)
    blocks += [badges] if badges.rows else []
    if summary is not None:
        blocks += output_figures(results, *first, by=summary.by[:1])
    blocks += [Text(overall_sentence(results, first, question)), main_numbers(results, first)]
    return Section("Summary", blocks, name="summary")


def terminal_summary(results: ShownResults) -> Section:
    """The finding, a verdict per attribute and the two or three numbers that the task is known by."""
    blocks = [block for block in overview(results).blocks if not isinstance(block, Figure)]
    return Section(f"{task_title(results.task, results.names)}: {results.model}", blocks, name="summary")


def main_numbers(results: ShownResults, first: tuple[str, str]) -> Table:
    """The few numbers that the task is known by, for all groups together."""
    pairs = [first]
    for estimate in results.estimates:
        pair = (estimate.metric, estimate.output)
        useful = estimate.group == EVERYONE and estimate.number is not None and pair not in pairs
        if useful and direction_of(results, *pair) != "neither":
            pairs.append(pair)
    rows = tuple((value_name(*pair), as_cell(results.get(*pair), results.unit(*pair))) for pair in pairs[:_MAIN])
    return Table("Main numbers, all groups together", ("value", "estimate"), rows)


def finding(results: ShownResults, first: tuple[str, str]) -> str:
    """Who performs worse, by how much, and whether chance explains it: the first sentence of a report."""
    summary, unit = widest(results, first), results.unit(*first)
    pairs = tuple(contrasts_of(results.contrasts, *first, order=1))
    name = value_name(*first)
    if not pairs:
        grouped = any(estimate.group != EVERYONE for estimate in results.estimates)
        reason = "No two groups were large enough to be compared." if grouped else "It is not grouped by anything."
        return f"{name}: {in_words(results.get(*first), unit)}. {reason}"
    margin = f"{distance_words(pairs[0].margin, unit)}" if pairs[0].margin is not None else "the threshold"
    worst = worst_group(results, first, summary, pairs)
    if worst is not None:
        sentence = group_sentence(results, first, results.get(*first, worst)) + "; chance does not explain this."
        return sentence + intersection_sentence(results, first)
    counts = verdict_counts(pairs)
    if not counts[Verdict.UNDECIDED]:
        alike = "both groups perform" if len(pairs) == 1 else "all groups perform"
        return f"{name}: {alike} alike, within {margin} of each other."
    if len(pairs) == 1:
        return f"{name}: no group is shown to perform worse, but the data are too few to rule it out."
    return (
        f"{name}: no group is shown to perform worse, but {counts[Verdict.UNDECIDED]} of {len(pairs)} comparisons "
        "are inconclusive."
    )


def intersection_sentence(results: ShownResults, first: tuple[str, str]) -> str:
    """Names the intersection that performs worst, where it does so clearly beyond the groups it is part of."""
    lower = direction_of(results, *first) == "lower"
    sign = -1.0 if lower else 1.0

    def limits(estimate: Estimate) -> tuple[float, float] | None:
        if estimate.low is None or estimate.high is None or estimate.status is not Status.OK:
            return None
        worst, best = sorted((sign * estimate.low, sign * estimate.high))
        return worst, best

    single = {e.group: limits(e) for e in results.of(*first) if len(e.group.terms) == 1}
    beyond: list[tuple[float, Estimate]] = []
    for estimate in results.of(*first):
        own = limits(estimate) if len(estimate.group.terms) == 2 else None
        parents = [single.get(Group((term,))) for term in estimate.group.terms] if own else []
        if own and all(parent is not None and own[1] < parent[0] for parent in parents):
            beyond.append((sign * (estimate.number or 0.0), estimate))
    if not beyond:
        return ""
    estimate = min(beyond, key=lambda pair: pair[0])[1]
    value = in_words(estimate, results.unit(*first), results.method.confidence)
    return f" Of the intersections, {levels(estimate.group)} performs worst: {value}."


def group_sentence(results: ShownResults, first: tuple[str, str], estimate: Estimate) -> str:
    """One group's value and how far it is from the average, without a full stop."""
    unit = results.unit(*first)
    overall = results.get(*first).number
    value = in_words(estimate, unit, results.method.confidence)
    group = levels(estimate.group)
    if results.names.sentence and unit:
        share, _, limits = value.partition(" (")
        text = results.names.sentence.format(group=group[:1].upper() + group[1:], value=share)
        text += f" ({limits}" if limits else ""
    else:
        text = f"For {by_words(estimate.group.by)} “{group}”, {in_sentence(value_name(*first))} is {value}"
    if overall is None or estimate.number is None or overall == estimate.number:
        return text
    way = "below" if estimate.number < overall else "above"
    return f"{text}, {distance_words(estimate.number - overall, unit)} {way} average"


def worst_group(
    results: ShownResults, first: tuple[str, str], summary: Summary | None, pairs: Sequence[Contrast]
) -> Group | None:
    """The group that the first sentence is about: worse beyond chance, of the attribute with the widest gap."""
    sure = [group for groups in certainly_worse(pairs).values() for group in groups]
    if summary is not None and summary.worst in sure:
        return summary.worst
    lower = direction_of(results, *first) == "lower"
    values = {group: results.get(*first, group).number for group in sure}
    ranked = sorted(sure, key=lambda group: (values[group] or 0.0) * (-1 if lower else 1))
    return ranked[0] if ranked else None


def overall_sentence(results: ShownResults, first: tuple[str, str], question: str = "") -> str:
    """The value of everyone, and what else is to be known about the groups."""
    unit = results.unit(*first)
    better = {"higher": "higher is better", "lower": "lower is better"}.get(direction_of(results, *first), "")
    text = f"{value_name(*first)} over all groups: {in_words(results.get(*first), unit, results.method.confidence)}"
    text += f"; {better}." if better else "."
    pairs = tuple(contrasts_of(results.contrasts, *first, order=1))
    worse = [levels(group) for groups in certainly_worse(pairs).values() for group in groups]
    if len(worse) > 1:
        text += f" Groups that perform worse than some other beyond chance: {listed(worse)}."
    if pairs and pairs[0].margin is not None:
        text += f" A difference counts as meaningful from {distance_words(pairs[0].margin, unit)}."
    asked = question.partition(":")[0].rstrip(".")
    return f"{text} Task: {asked}." if asked else text


def verdict_badges(results: ShownResults, first: tuple[str, str]) -> Table:
    """One verdict per attribute, the strongest that its pairs of groups support."""
    rows: list[tuple[Cell, ...]] = []
    pairs = tuple(contrasts_of(results.contrasts, *first, order=1))
    for summary in ordered(results, first):
        own = [pair for pair in pairs if pair.first.by == summary.by]
        verdict, text = badge(own)
        rows.append((by_words(summary.by), verdict, text))
    return Table("Verdict by attribute", ("attribute", "verdict", "finding"), tuple(rows), form="badges")


def badge(pairs: Sequence[Contrast]) -> tuple[str, str]:
    """The verdict about one attribute, as a word and in short."""
    if not pairs:
        return "undecided", "not compared: groups too small"
    worse = certainly_worse(pairs)
    for verdict in (Verdict.LARGE, Verdict.DIFFERENT):
        if worse[verdict]:
            below = {group for group, standing in standings(pairs).items() if standing.is_disadvantaged}
            names = [levels(group) for group in worse[verdict] if group in below] or list(map(levels, worse[verdict]))
            return verdict.value, f"{BADGES[verdict]} {listed(names, 3)}"
    undecided = verdict_counts(pairs)[Verdict.UNDECIDED]
    verdict = Verdict.UNDECIDED if undecided else Verdict.EQUIVALENT
    return verdict.value, BADGES[verdict]


def ordered(results: Results, first: tuple[str, str]) -> list[Summary]:
    """The single attributes: the one whose gap is least like chance first, then by the size of the gap."""
    single = [s for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    return sorted(single, key=lambda s: (s.reference.p if s.reference else 1.0, -gap_of(s)))


def widest(results: Results, first: tuple[str, str]) -> Summary | None:
    """Of the single attributes, the one whose gap is the least like chance; the widest where chance is not known."""
    return next((s for s in ordered(results, first) if isinstance(s.values.get("max_gap"), float)), None)


def gap_of(summary: Summary) -> float:
    """The gap as a number; 0 where there is none."""
    gap = summary.values.get("max_gap")
    return gap if isinstance(gap, float) else 0.0
