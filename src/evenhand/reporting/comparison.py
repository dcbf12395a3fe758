"""Two or more models, or two runs, side by side: as sections for a terminal, and as pages.

Every difference is new minus baseline: the second model minus the first. What got worse comes first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import replace

from evenhand.core.metric import Curve, Grid, Undefined
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.printing import printable
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results, Status, Verdict
from evenhand.reporting.curves import curves_together
from evenhand.reporting.display import Output, ShownResults, shown, shown_comparison, task_title
from evenhand.reporting.html import Article, Link, Page
from evenhand.reporting.phrases import (
    SURE,
    WORDING,
    by_words,
    distance_words,
    group_words,
    in_sentence,
    levels,
    listed,
    value_name,
)
from evenhand.reporting.rounding import decimals, number, p_value, percent
from evenhand.stats.comparison import Comparison, ModelContrast
from evenhand.store.differences import Change, DataChange, Difference, RowChanges

_MOST_PLACES = 6  # decimals of a changed value
_LONG = 8  # characters of a number in a row


def comparison_sections(
    comparison: Comparison, results: Results, *, everything: bool = False, figures: bool = False
) -> tuple[Section, ...]:
    """The finding and one table or figure of the first value; with `everything` the other values and the gaps too."""
    stored = _marked(results, [comparison])
    results, comparison = shown(stored), shown_comparison(comparison, stored)
    sections = [_finding(comparison, results)]
    for pair in _outputs(comparison, results.first)[: None if everything else 1]:
        block = _figure(comparison, results, pair) if figures else _table(comparison, results, pair)
        sections.append(Section("By group", [block], name=f"by-group-{'-'.join(pair)}"))
    if everything:
        sections.append(_gaps(comparison, results))
    return tuple(section for section in sections if section.blocks)


def comparison_page(comparisons: Sequence[Comparison], results: Sequence[Results], links: Sequence[Link] = ()) -> Page:
    """Runs of one task on the same units: each against the first, then the curves of all together."""
    names = [comparisons[0].first, *(one.second for one in comparisons)]
    results = [_marked(one, comparisons) for one in results]
    shown_results = [shown(one) for one in results]
    title = task_title(results[0].task)
    articles = []
    for stored in comparisons:
        comparison = shown_comparison(stored, results[0])
        figures = [_figure(comparison, shown_results[0], pair) for pair in _outputs(comparison, shown_results[0].first)]
        short = _finding(comparison, shown_results[0])
        sections = [
            Section(short.title, [*short.blocks, *figures[:1]], name=short.name),
            Section("Other values", figures[1:], name="other-values", folded=True),
            _gaps(comparison, shown_results[0]),
            _method(comparison),
        ]
        shown_sections = tuple(section for section in sections if section.blocks)
        articles.append(Article(f"{comparison.second} compared with {comparison.first}", shown_sections, kicker=title))
    together = curves_together(shown_results, names)
    if together.blocks:
        articles.append(Article("All models", [together], kicker=title))
    heading = f"{names[1]} compared with {names[0]}" if len(names) == 2 else f"{len(names)} models compared"
    facts = (f"Baseline: {names[0]}", f"New: {listed(names[1:])}", f"{comparisons[0].units:,} units that both have")
    return Page(heading, articles, f"evenhand compare · {title}", facts, links)


def _marked(results: Results, comparisons: Sequence[Comparison]) -> Results:
    """The results with the marks of all that are compared: a value with unverified weights on one side is marked."""
    unverified = {metric: column for one in comparisons for metric, column in one.unverified.items()}
    return replace(results, facts={**results.facts, "unverified": unverified})


def _outputs(comparison: Comparison, first: Output) -> list[Output]:
    """The values that were compared, the task's first one first."""
    pairs = list(dict.fromkeys((c.metric, c.output) for c in comparison.contrasts))
    return sorted(pairs, key=lambda pair: pair != first)


def _finding(comparison: Comparison, results: ShownResults) -> Section:
    """Whether the model got better, and for which groups it got worse."""
    chosen = [c for c in comparison.contrasts if (c.metric, c.output) == results.first]
    overall = next((c for c in chosen if c.group == EVERYONE), None)
    if overall is None or overall.difference is None:
        text = "The two can't be compared on the first value of the task."
        return Section("Summary", [Text(text, "lead"), *_left_out(comparison)], name="summary")
    unit = results.unit(overall.metric, overall.output)
    groups = [c for c in chosen if c.group != EVERYONE and c.status is Status.OK]
    worse = [levels(c.group) for c in ranked(groups, comparison) if "worse" in change(c, comparison)]
    better = [levels(c.group) for c in ranked(groups, comparison) if "better" in change(c, comparison)]
    name = in_sentence(value_name(overall.metric, overall.output))
    values = [percent(v) if unit else number(v) for v in (overall.value_first, overall.value_second)]
    apart = distance_words(overall.difference, unit)
    way = "the same" if not overall.difference else f"{apart} {'higher' if overall.difference > 0 else 'lower'}"
    judged = "too few rows or units to judge" if overall.verdict is None else "chance could explain it"
    if overall.verdict in SURE:
        judged = f"{change(overall, comparison)}; chance does not explain this"
    text = f"{comparison.second} compared with {comparison.first}: {name} goes from {values[0]} to {values[1]}, {way}"
    text += f" ({judged})."
    text += f" Worse for {listed(worse)}." if worse else " No group is shown to get worse."
    text += f" Better for {listed(better)}." if better else " No group is shown to get better."
    left_out = comparison.units_only_first + comparison.units_only_second
    paired = f"Paired on the {comparison.units:,} units that both have"
    paired += f"; {left_out:,} units are in one run only and were left out." if left_out else "."
    unequal = comparison.rows_only_first + comparison.rows_only_second
    if unequal:
        paired += (
            f" {comparison.rows_only_first:,} rows of these units are only in the run of {comparison.first}, "
            f"{comparison.rows_only_second:,} only in that of {comparison.second}: a model that answered other rows "
            "may look better or worse for that alone."
        )
    blocks = [Text(text, "lead"), Text(paired, "caution" if left_out or unequal else "small")]
    return Section("Summary", [*blocks, *_left_out(comparison)], name="summary")


def _left_out(comparison: Comparison) -> list[Text]:
    """The values that were not compared, those with the same reason together."""
    by_reason: dict[str, list[str]] = {}
    for value in comparison.left_out:
        by_reason.setdefault(value.reason, []).append(value_name(value.metric, value.output))
    return [Text(f"Not compared: {', '.join(names)}: {reason}.", "caution") for reason, names in by_reason.items()]


def change(contrast: ModelContrast, comparison: Comparison) -> str:
    """What happened to a group, in words: worse, better, the same, or undecided.

    Clearly: the difference is larger than the threshold for a meaningful one.
    """
    if contrast.verdict in SURE and contrast.better is not None:
        way = "better" if contrast.better == comparison.second else "worse"
        return f"clearly {way}" if contrast.verdict is Verdict.LARGE else way
    if contrast.verdict is Verdict.EQUIVALENT:
        return "no change"
    return "inconclusive" if contrast.verdict is not None else "not compared"


def ranked(contrasts: Sequence[ModelContrast], comparison: Comparison) -> list[ModelContrast]:
    """Everyone first, then what got worse, by size, then what got better, then the rest."""

    def key(contrast: ModelContrast) -> tuple[bool, int, float]:
        words = change(contrast, comparison)
        order = 0 if "worse" in words else 1 if "better" in words else 2
        return contrast.group != EVERYONE, order, -abs(contrast.difference or 0.0)

    return sorted(contrasts, key=key)


def _table(comparison: Comparison, results: ShownResults, pair: Output) -> Table:
    """A row per group: baseline, new, and new minus baseline."""
    contrasts = ranked([c for c in comparison.contrasts if (c.metric, c.output) == pair], comparison)
    unit, points = results.unit(*pair), results.points(*pair)
    rows: list[tuple[Cell, ...]] = []
    for c in contrasts:
        difference = Interval(c.difference, c.low, c.high, unit=points)
        values = (Interval(c.value_first, unit=unit), Interval(c.value_second, unit=unit))
        name = "all groups" if c.group == EVERYONE else group_words(c.group)
        rows.append((name, c.rows, *values, difference, p_value(c.adjusted), change(c, comparison)))
    muted = frozenset(i for i, c in enumerate(contrasts) if c.status is not Status.OK)
    columns = ("group", "n", comparison.first, comparison.second, "new − baseline", "p", "change")
    size = max(c.family_size for c in contrasts)
    caption = f"{comparison.second} − {comparison.first}; p-values are adjusted within {size} comparisons."
    return Table(f"{value_name(*pair)}: new minus baseline", columns, tuple(rows), caption, muted)


def _figure(comparison: Comparison, results: ShownResults, pair: Output) -> Figure:
    table = _table(comparison, results, pair)
    words = [str(row[-1]) for row in table.rows]
    tones = tuple("worse" if "worse" in w else "better" if "better" in w else "" for w in words)
    axis = f"{value_name(*pair)}: {comparison.second} − {comparison.first}"
    chart = Forest(4, 0, 1, axis, 0.0, "no change", tones=tones, percent=bool(results.unit(*pair)))
    caption = "▼ got worse, ▲ got better, round: no change shown. Right of the line: the new model's value is higher."
    return Figure(table.title, chart, table, caption, name=f"difference-{'-'.join(pair)}")


def _gaps(comparison: Comparison, results: ShownResults) -> Section:
    rows = []
    for gap in comparison.gaps:
        unit = results.points(gap.metric, gap.output)
        values = (Interval(gap.gap_first, unit=unit), Interval(gap.gap_second, unit=unit))
        difference = Interval(gap.difference, gap.low, gap.high, unit=unit)
        rows.append((value_name(gap.metric, gap.output), by_words(gap.by), *values, difference, p_value(gap.p)))
    columns = ("value", "by", comparison.first, comparison.second, "new − baseline", "p")
    caption = "Negative: the gap became smaller. Both gaps are resampled together."
    table = Table("Gap between best and worst group", columns, tuple(rows), caption)
    return Section("Did the gaps change?", [table] if rows else [], name="gaps")


def difference_sections(difference: Difference, most: int = 20) -> tuple[Section, ...]:
    """Why two runs differ: what they were made of, then the rows that changed, worst first."""
    blocks: list[Block] = [Text(f"first:  {difference.first}"), Text(f"second: {difference.second}")]
    for title in ("facts", "inputs", "options", "settings", "versions"):
        changes: Sequence[Change] = getattr(difference, title)
        if changes:
            rows = tuple((change.name, _text(change.first), _text(change.second)) for change in changes)
            blocks.append(Table(f"Different {title}", (title, "first", "second"), rows))
    if len(blocks) == 2:
        blocks.append(Text("Same inputs, options, settings and versions."))
    sections = [Section("What they were made of", blocks, name="causes")]
    if changed := difference.values[:most]:
        values = tuple((change.name, *_change(change.first, change.second), change.rows) for change in changed)
        title = f"Different values ({len(difference.values):,}), those of most rows first"
        columns = ("value", "first", "second", "change", "n")
        sections.append(Section("Values", [Table(title, columns, values, form=_form(values))], name="values"))
    sections.append(_changed_rows(difference.rows, difference.data, most))
    return tuple(sections)


def _changed_rows(rows: RowChanges, data: Sequence[DataChange], most: int) -> Section:
    if rows.reason:
        return Section("Rows", [Text(f"The rows could not be compared: {rows.reason}")], name="rows")
    counts = f"{rows.same:,} rows are the same, {rows.changed:,} changed"
    alone = f"{rows.only_first:,} are only in the first, {rows.only_second:,} only in the second"
    blocks: list[Block] = [Text(f"{counts}; {alone}.")]
    for change in data:
        first = ", ".join(
            printable(f"{row.name}: {_text(row.first)} and {_text(row.second)}", keep="") for row in change.examples
        )
        text = f"The data differ: {change.name!r} is not the same in {change.rows:,} of {change.of:,} rows ({first}"
        blocks.append(Text(f"{text}{', …' if change.rows > len(change.examples) else ''}).", "caution"))
    lines = tuple(
        (change.item, change.kind or "", cell.name, *_cells(cell.first, cell.second))
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


def _value(value: object) -> Cell:
    if isinstance(value, float):
        return value
    kinds = {Grid: "a matrix", Curve: "a curve", Undefined: "no value"}
    return kinds.get(type(value)) or _text(value)


def _change(first: object, second: object) -> tuple[Cell, Cell, Cell]:
    """Two values and the second minus the first, with as many decimals as tell them apart."""
    if not (isinstance(first, float) and isinstance(second, float)):
        return _value(first), _value(second), "–"
    size = abs(second - first)
    fine = 1 - math.floor(math.log10(size)) if 0 < size < math.inf else 0
    places = min(max(decimals(max(first, second, key=abs)), fine), _MOST_PLACES)
    return Interval(first, places=places), Interval(second, places=places), Interval(second - first, places=places)


def _cells(first: object, second: object) -> tuple[str, str]:
    """What a row holds in both runs; long numbers with six digits where these tell them apart.

    >>> _cells(2 / 3, 0.0), _cells(0.1, 0.1 + 1e-9)
    (('0.666667', '0.0'), ('0.1', '0.100000001'))
    """
    short = _short(first), _short(second)
    return short if short[0] != short[1] else (_text(first), _text(second))


def _short(value: object) -> str:
    text = _text(value)
    return f"{value:.6g}" if isinstance(value, float) and len(text) > _LONG else text


def _text(value: object) -> str:
    text = "–" if value is None else str(value)
    if re.fullmatch("[0-9a-f]{64}", text):  # a hash: its beginning identifies it
        return text[:12]
    return text if len(text) <= 80 else text[:77] + "…"


def difference_page(difference: Difference, links: Sequence[Link] = ()) -> Page:
    """Why two runs differ, as a page: what they were made of, then every value and row that changed, worst first."""
    sections = difference_sections(difference, most=100_000)
    title = "Two runs that are the same" if difference.is_empty else "Why two runs differ"
    return Page(title, [Article(title, sections)], kicker="evenhand diff", links=links)


def _method(comparison: Comparison) -> Section:
    how = comparison.method
    rows: tuple[tuple[Cell, ...], ...] = (
        ("units that both have", comparison.units),
        ("only in the first", comparison.units_only_first),
        ("only in the second", comparison.units_only_second),
        ("confidence level", percent(how.confidence)),
        ("bootstrap resamples", how.draws),
        ("seed", f"{how.seed} ({how.generator})"),
        ("correction for many comparisons", how.correction.capitalize()),
    )
    table = Table("How it was computed", ("what", "value"), rows)
    return Section("Method", [table, *map(Text, WORDING["cautions"].values())], name="method", folded=True)
