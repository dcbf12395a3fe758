"""What a person who is no specialist reads first: what was asked, how well, for whom worse, how sure."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.core.contrasts import contrasts_of, verdict_counts
from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Interval, Section, Table, Text
from evenhand.core.results import Contrast, Results, Summary, Verdict
from evenhand.reporting.phrases import (
    as_cell,
    certainly_worse,
    coverage_sentence,
    direction_of,
    gap_sentence,
    headline,
    levels,
    listed,
    said,
    short_name,
    words,
)
from evenhand.reporting.rounding import number, p_value


def overview(results: Results, question: str = "") -> Section:
    """The summary: one sentence, a few large facts, and what stands behind each."""
    blocks: list[Block] = [Text(question)] if question else []
    first = headline(results)
    name = results.model or "The model"
    if first is None:
        return Section("Summary", [*blocks, Text("No metric has a value for these rows.", "lead")], name="summary")
    metric, output = first
    whole = results.get(metric, output)
    if isinstance(whole.value, Undefined):
        blocks.append(Text(f"{name}: {words(output)} of {results.task} is undefined: {whole.value.reason}.", "lead"))
        return Section("Summary", blocks, name="summary")
    pairs = contrasts_of(results.contrasts, metric, output)
    single = contrasts_of(pairs, metric, output, order=1)
    better = {"higher": " (higher is better)", "lower": " (lower is better)"}.get(direction_of(results, *first), "")
    how_well = f"{name} reaches {said(whole)} {short_name(*first)}{better} on {whole.rows:,} rows"
    how_well += f" of {whole.units:,} units. " if whole.units != whole.rows else ". "
    blocks.insert(0, Text(how_well + how_even(tuple(single or pairs)), "lead"))
    meaning = next((fact.definition for fact in results.metrics if fact.name == metric), "")
    if meaning and "column" not in meaning:  # a general metric, whose words say nothing of this task
        blocks.append(Text(f"{metric}: {meaning}"))
    blocks.append(_facts(results, first))
    summaries = [s for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    blocks.extend(Text(gap_sentence(summary)) for summary in summaries)
    blocks.append(Text(how_sure(results, pairs)))
    blocks.append(Text(coverage_sentence(results)))
    return Section("Summary", blocks, name="summary")


def how_even(pairs: Sequence[Contrast]) -> str:
    """Whether the groups are served alike, in one sentence."""
    if not pairs:
        return "No two groups were large enough to be compared."
    worse = certainly_worse(pairs)
    large, different = ([levels(group) for group in worse[v]] for v in (Verdict.LARGE, Verdict.DIFFERENT))
    margin = f"the margin of {pairs[0].margin:g}" if pairs[0].margin is not None else "the margin"
    if large:
        return f"It is uneven: beyond {margin} and beyond chance, it does worse for {listed(large)}."
    if different:
        return f"It differs beyond chance, though not for certain by more than {margin}: worse for {listed(different)}."
    undecided = verdict_counts(pairs)[Verdict.UNDECIDED]
    if undecided:
        if len(pairs) == 1:
            return "No group is shown to be served worse, but the data cannot tell."
        return f"No group is shown to be served worse, but {undecided} of {len(pairs)} pairs remain undecided."
    alike = "both groups are" if len(pairs) == 1 else f"all {len(pairs)} pairs are"
    return f"The groups are even: {alike} alike within {margin}."


def how_sure(results: Results, pairs: Sequence[Contrast]) -> str:
    """What the intervals and verdicts rest on, in one sentence."""
    text = f"Intervals cover {results.method.confidence:.0%}"
    if not pairs:
        return text + "."
    undecided = verdict_counts(pairs)[Verdict.UNDECIDED]
    if len(pairs) == 1:
        return text + "; one pair of groups was compared" + ("; the data cannot tell." if undecided else ".")
    text += f"; {len(pairs):,} pairs of groups were compared, with p-values adjusted for their number"
    if undecided:
        return text + f". For {undecided:,} of them the data cannot tell: that is not evidence of no difference."
    return text + "."


def widest(results: Results, first: tuple[str, str]) -> Summary | None:
    """Of the single attributes, the one whose gap is the least like chance; the widest where chance is not known."""
    found = [
        s
        for s in results.summaries
        if (s.metric, s.output) == first and len(s.by) == 1 and isinstance(s.values.get("max_gap"), float)
    ]
    if not found:
        return None
    return min(found, key=lambda s: (s.reference.p if s.reference else 1.0, -_gap(s)))


def _facts(results: Results, first: tuple[str, str]) -> Table:
    whole = results.get(*first)
    rows: list[tuple[Cell, ...]] = [(f"everyone, {words(first[1])}", as_cell(whole), f"{whole.rows:,} rows")]
    summary = widest(results, first)
    if summary is not None and summary.worst is not None:
        worst = results.get(*first, summary.worst)
        by = " × ".join(summary.by)
        rows.append((f"worst {by}: {levels(summary.worst)}", as_cell(worst), f"{worst.rows:,} rows"))
        even = "no reference"
        if summary.reference is not None:
            chance = p_value(summary.reference.p)
            even = f"an even model: about {number(summary.reference.mean)} (p {chance})"
        rows.append((f"gap by {by}", Interval(_gap(summary)), even))
    found = results.coverage
    if found.asked:
        rows.append(("answered", f"{found.answered / found.asked:.1%}", f"{found.answered:,} of {found.asked:,}"))
    return Table("At a glance", ("what", "value", "rests on"), tuple(rows), form="facts")


def _gap(summary: Summary) -> float:
    gap = summary.values["max_gap"]
    return gap if isinstance(gap, float) else 0.0
