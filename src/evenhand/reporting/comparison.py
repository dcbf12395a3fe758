"""Two or more models, or two runs, side by side: as sections for a terminal, and as pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results, Status, Verdict
from evenhand.reporting.contrasts import minus
from evenhand.reporting.curves import curves_together
from evenhand.reporting.html import Article, Link, Page
from evenhand.reporting.phrases import headline, levels, listed, value_name, words
from evenhand.reporting.rounding import number, p_value
from evenhand.reporting.sections import CAUTIONS
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
        columns = ("value", "first", "second")
        sections.append(Section("Values", [Table(title, columns, values, form=_form(values))], name="values"))
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
        columns = ("item", "kind", "column", "first", "second")
        blocks.append(Table("Rows that changed, worst first", columns, lines, form=_form(lines)))
    return Section("Rows", blocks, name="rows")


def _form(rows: Sequence[object]) -> str:
    """How a list is drawn: one that nobody reads to its end is one to look things up in."""
    return "lookup" if len(rows) > 50 else "table"


def _text(value: object) -> str:
    text = "–" if value is None else str(value)
    if re.fullmatch("[0-9a-f]{64}", text):  # a hash: its beginning tells it apart
        return text[:12]
    return text if len(text) <= 80 else text[:77] + "…"


def comparison_page(found: Sequence[Comparison], results: Sequence[Results], links: Sequence[Link] = ()) -> Page:
    """Runs of one task on the same units: each against the first, then the curves of all together."""
    names = [found[0].first, *(one.second for one in found)]
    articles = []
    for one in found:
        first = headline(results[0])
        sections = (_in_short(one, first), _drawn(one, first), _gaps(one), _how(one))
        told = tuple(section for section in sections if section.blocks)
        articles.append(Article(f"{one.second} against {one.first}", told, kicker=results[0].task))
    together = curves_together(results, names)
    if together.blocks:
        articles.append(Article("All systems", [together], kicker=results[0].task))
    title = " and ".join(names) if len(names) == 2 else f"{len(names)} systems"
    return Page(f"{title}: compared", articles, kicker=f"evenhand compare · {results[0].task}", links=links)


def difference_page(found: Difference, links: Sequence[Link] = ()) -> Page:
    """Why two runs differ, as a page: what they were made of, then every value and row that changed, worst first."""
    sections = difference_sections(found, most=100_000)
    title = "Two runs that are the same" if found.is_empty else "Why two runs differ"
    return Page(title, [Article(title, sections)], kicker="evenhand diff", links=links)


def _in_short(found: Comparison, first: tuple[str, str] | None) -> Section:
    """What a person who is no specialist reads first: did it get better, for whom did it get worse."""
    chosen = [c for c in found.contrasts if first is None or (c.metric, c.output) == first]
    whole = next((c for c in chosen if c.group == EVERYONE), None)
    blocks: list[Block] = []
    if whole is None or whole.difference is None:
        blocks.append(Text("The two can't be compared on the value that the task puts first.", "lead"))
        return Section("In short", blocks, name="short")
    groups = [c for c in chosen if c.group != EVERYONE and c.status is Status.OK]
    sure = [c for c in groups if c.verdict in (Verdict.LARGE, Verdict.DIFFERENT) and c.better is not None]
    improved = [levels(c.group) for c in sure if c.better == found.second]
    worsened = [levels(c.group) for c in sure if c.better == found.first]
    name = value_name(whole.metric, whole.output)
    way = f"{whole.better} does better" if whole.better else "the two are equal"
    certain = "beyond chance" if whole.verdict in (Verdict.LARGE, Verdict.DIFFERENT) else "but chance could explain it"
    lead = f"On {name}, {way} for everyone ({number(whole.value_first)} and {number(whole.value_second)}), {certain}."
    got = f" From {found.first} to {found.second}, "
    got += f"it got better for {listed(improved)}" if improved else "it got better for no group for certain"
    got += f", and worse for {listed(worsened)}." if worsened else ", and worse for none."
    blocks.append(Text(lead + got, "lead"))
    told: list[tuple[Cell, ...]] = [
        (f"{found.first}, everyone", number(whole.value_first), f"{whole.rows:,} rows"),
        (f"{found.second}, everyone", number(whole.value_second), f"{found.units:,} units that both have"),
        ("groups that got better", len(improved), f"of {len(groups)} compared"),
        ("groups that got worse", len(worsened), f"of {len(groups)} compared"),
    ]
    blocks.append(Table("At a glance", ("what", "value", "rests on"), tuple(told), form="facts"))
    left_out = found.units_only_first + found.units_only_second
    if left_out:
        blocks.append(Text(f"{left_out:,} units are in one run only and were left out.", "caution"))
    return Section("In short", blocks, name="short")


def _drawn(found: Comparison, first: tuple[str, str] | None) -> Section:
    """Per value, the headline first, the paired differences of every group as a figure with its table."""
    grouped: dict[tuple[str, str], list[ModelContrast]] = {} if first is None else {first: []}
    for contrast in found.contrasts:
        grouped.setdefault((contrast.metric, contrast.output), []).append(contrast)
    blocks = [_difference_figure(found, contrasts) for contrasts in grouped.values() if contrasts]
    return Section("By group", blocks, name="by-group")


def _difference_figure(found: Comparison, contrasts: Sequence[ModelContrast]) -> Figure:
    rows: list[tuple[Cell, ...]] = []
    tones: list[str] = []
    for c in contrasts:
        sure = c.verdict in (Verdict.LARGE, Verdict.DIFFERENT) and c.better is not None
        tone = "" if not sure else "better" if c.better == found.second else "worse"
        turned = Interval(minus(c.difference), minus(c.high), minus(c.low))
        name = str(c.group) if c.group == EVERYONE else levels(c.group)
        values = (number(c.value_first), number(c.value_second), turned, p_value(c.adjusted))
        rows.append((name, c.rows, *values, c.verdict.value if c.verdict else "–"))
        tones.append(tone)
    muted = frozenset(i for i, c in enumerate(contrasts) if c.status is not Status.OK)
    name = value_name(contrasts[0].metric, contrasts[0].output)
    columns = ("group", "rows", found.first, found.second, "difference", "p adjusted", "verdict")
    size = contrasts[0].family_size
    caption = f"Paired on the same units; difference = {found.second} − {found.first}; "
    caption += f"adjusted within {contrasts[0].family} ({size} comparisons)."
    table = Table(name, columns, tuple(rows), caption, muted)
    label = f"difference of {words(contrasts[0].output)}"
    chart = Forest(4, axis=label, reference=0.0, tones=tuple(tones))
    shown = "▲ got better, ▼ got worse, hollow: chance could explain it. Left of the line: lower, right of it: higher."
    return Figure(name, chart, table, shown, name=f"difference-{contrasts[0].metric}-{contrasts[0].output}")


def _how(found: Comparison) -> Section:
    how = found.method
    rows: tuple[tuple[Cell, ...], ...] = (
        ("units that both have", found.units),
        ("only in the first", found.units_only_first),
        ("only in the second", found.units_only_second),
        ("confidence", f"{how.confidence:.0%}"),
        ("draws", how.draws),
        ("seed", f"{how.seed} ({how.generator})"),
        ("correction", how.correction),
    )
    blocks: list[Block] = [Table("How it was computed", ("what", "value"), rows)]
    blocks += [Text(text) for text in CAUTIONS]
    return Section("Method", blocks, name="method")
