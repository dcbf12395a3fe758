"""Two models, or two runs, side by side: as sections."""

from __future__ import annotations

import re
from collections import Counter

from evenhand.core.page import Block, Cell, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Status, Verdict
from evenhand.reporting.rounding import number, p_value
from evenhand.reporting.sections import words
from evenhand.stats.comparison import Comparison, ModelContrast
from evenhand.store.differences import Difference, RowChanges


def comparison_sections(found: Comparison) -> tuple[Section, ...]:
    """What changed for everyone, for whom it got better or worse, and whether the gaps changed."""
    return tuple(section for section in (_everyone(found), _by_group(found), _gaps(found)) if section.blocks)


def _everyone(found: Comparison) -> Section:
    rows = tuple(
        (words(c.output) if c.metric == c.output else f"{c.metric}: {words(c.output)}", *_numbers(c))
        for c in found.contrasts
        if c.group == EVERYONE
    )
    left_out = found.units_only_first + found.units_only_second
    lead = f"{found.first} against {found.second}, on the {found.units:,} units that both have."
    blocks: list[Block] = [Text(lead, "lead")]
    if left_out:
        blocks.append(Text(f"{left_out:,} units are in one run only and were left out.", "caution"))
    columns = ("value", found.first, found.second, "difference", "p adjusted", "verdict")
    blocks.append(Table("Everyone", columns, rows, "paired on the same units; difference = first − second"))
    return Section("Comparison", blocks, name="comparison")


def _by_group(found: Comparison) -> Section:
    blocks: list[Block] = []
    grouped: dict[tuple[str, str], list[ModelContrast]] = {}
    for contrast in found.contrasts:
        if contrast.group != EVERYONE:
            grouped.setdefault((contrast.metric, contrast.output), []).append(contrast)
    for (metric, output), contrasts in grouped.items():
        sure = [c for c in contrasts if c.verdict in (Verdict.LARGE, Verdict.DIFFERENT) and c.better]
        for model, count in Counter(c.better for c in sure).items():
            names = ", ".join(str(c.group) for c in sure if c.better == model)
            blocks.append(Text(f"{words(output)}: {model} does better for {count} group(s): {names}."))
        muted = frozenset(i for i, c in enumerate(contrasts) if c.status is not Status.OK)
        columns = ("group", found.first, found.second, "difference", "p adjusted", "verdict")
        rows = tuple((str(c.group), *_numbers(c)) for c in contrasts)
        caption = f"adjusted within {contrasts[0].family} ({contrasts[0].family_size} comparisons)"
        blocks.append(Table(f"{metric}: {words(output)} by group", columns, rows, caption, muted))
    return Section("By group", blocks, name="by-group")


def _gaps(found: Comparison) -> Section:
    rows = tuple(
        (f"{gap.metric}: {words(gap.output)}", " × ".join(gap.by), gap.gap_first, gap.gap_second,
         Interval(gap.difference, gap.low, gap.high), p_value(gap.p))
        for gap in found.gaps
    )  # fmt: skip
    columns = ("value", "by", found.first, found.second, "difference", "p")
    title = "Gaps between best and worst group"
    return Section("Gaps", [Table(title, columns, rows, "drawn jointly")] if rows else [], name="gaps")


def _numbers(c: ModelContrast) -> tuple[Cell, ...]:
    return (
        number(c.value_first),
        number(c.value_second),
        Interval(c.difference, c.low, c.high),
        p_value(c.adjusted),
        c.verdict.value if c.verdict else "–",
    )


def difference_sections(found: Difference, most: int = 20) -> tuple[Section, ...]:
    """Why two runs differ: what they were made of, then the rows that changed, worst first."""
    blocks: list[Block] = [Text(f"first:  {found.first}"), Text(f"second: {found.second}")]
    causes = (("inputs", found.inputs), ("options", found.options), ("settings", found.settings))
    for title, changes in (("facts", found.facts), *causes, ("versions", found.versions)):
        if changes:
            rows = tuple((change.name, _text(change.first), _text(change.second)) for change in changes)
            blocks.append(Table(f"Different {title}", (title, "first", "second"), rows))
    if len(blocks) == 2:
        blocks.append(Text("Same inputs, options, settings and versions."))
    sections = [Section("What they were made of", blocks, name="causes")]
    if found.values:
        values = tuple((change.name, _text(change.first), _text(change.second)) for change in found.values[:most])
        title = f"Different values ({len(found.values)}), largest difference first"
        sections.append(Section("Values", [Table(title, ("value", "first", "second"), values)], name="values"))
    sections.append(_changed_rows(found.rows, most))
    return tuple(sections)


def _changed_rows(rows: RowChanges, most: int) -> Section:
    if rows.reason:
        return Section("Rows", [Text(f"The rows could not be compared: {rows.reason}")], name="rows")
    counts = f"{rows.same:,} rows are the same, {rows.changed:,} changed"
    alone = f"{rows.only_first:,} are only in the first, {rows.only_second:,} only in the second"
    blocks: list[Block] = [Text(f"{counts}; {alone}.")]
    lines = tuple(
        (change.item, change.kind or "", cell.name, _text(cell.first), _text(cell.second))
        for change in rows.worst[:most]
        for cell in change.columns
    )
    if lines:
        blocks.append(Table("Rows that changed, worst first", ("item", "kind", "column", "first", "second"), lines))
    return Section("Rows", blocks, name="rows")


def _text(value: object) -> str:
    text = "–" if value is None else str(value)
    if re.fullmatch("[0-9a-f]{64}", text):  # a hash: its beginning tells it apart
        return text[:12]
    return text if len(text) <= 80 else text[:77] + "…"
