"""Every group with its rows, units, value and interval: as a figure with the table beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Estimate, Results, Status
from evenhand.reporting.phrases import as_cell, headline, levels, listed, status_word, value_name, words

VALUE = 3  # the place of the value among the columns
_EXPLAINED = (
    "A point is the group's value, the line its interval; the dashed line is everyone. Hollow grey points are "
    "small or not annotated: shown, but left out of best, worst, gaps and tests."
)


def group_figures(results: Results, outputs: Sequence[tuple[str, str]] | None = None) -> Section:
    """Per attribute, then per intersection: points with intervals and the table that says the same."""
    chosen = outputs if outputs is not None else [found for found in [headline(results)] if found is not None]
    blocks: list[Block] = []
    deeper: list[Block] = []
    for metric, output in chosen:
        whole = next((e for e in results.of(metric, output) if e.group == EVERYONE), None)
        unknown = _unknown_shares(results, metric)
        for names, found in by_attributes(results, metric, output).items():
            pooled = _pooled(results, metric, output, names)
            figure = group_figure(metric, output, names, found, whole=whole, unknown=unknown, pooled=pooled)
            (blocks if len(names) == 1 else deeper).append(figure)
    if blocks or deeper:
        blocks.insert(0, Text(_EXPLAINED, "small"))
    if any("several groups" in note for summary in results.summaries for note in summary.notes):
        blocks.insert(1, Text("A row may belong to several groups, so sizes add up to more than all rows.", "small"))
    inner = [Section("Intersections", deeper, name="intersections")] if deeper else []
    return Section("Groups", blocks, inner, name="groups")


def group_tables(results: Results) -> Section:
    """The tables of single attributes, for a terminal; intersections are in the report."""
    first = headline(results)
    if first is None:
        return Section("Groups", [], name="groups")
    whole = next((e for e in results.of(*first) if e.group == EVERYONE), None)
    unknown = _unknown_shares(results, first[0])
    tables = [
        group_table(*first, names, found, whole=whole, unknown=unknown, pooled=_pooled(results, *first, names))
        for names, found in by_attributes(results, *first).items()
        if len(names) == 1
    ]
    return Section("Groups", list(tables), name="groups")


def by_attributes(results: Results, metric: str, output: str) -> Mapping[tuple[str, ...], list[Estimate]]:
    """The estimates of groups by the attributes that name them, in declared order."""
    found: dict[tuple[str, ...], list[Estimate]] = {}
    for estimate in results.of(metric, output):
        if estimate.group != EVERYONE:
            found.setdefault(estimate.group.by, []).append(estimate)
    return found


def group_figure(
    metric: str,
    output: str,
    by: Sequence[str],
    found: Sequence[Estimate],
    *,
    whole: Estimate | None = None,
    unknown: Mapping[Group, Cell] | None = None,
    pooled: Mapping[Group, float] | None = None,
) -> Figure:
    """The groups of one attribute or intersection as a figure."""
    table = group_table(metric, output, by, found, whole=whole, unknown=unknown, pooled=pooled)
    reference = whole.number if whole is not None else None
    chart = Forest(VALUE, count=1, axis=words(output), reference=reference, reference_name="everyone")
    name = f"{metric}-{output}-by-{'-'.join(by)}"
    return Figure(table.title, chart, table, name=name, beside=len(by) == 1)


def group_table(
    metric: str,
    output: str,
    by: Sequence[str],
    found: Sequence[Estimate],
    *,
    whole: Estimate | None = None,
    unknown: Mapping[Group, Cell] | None = None,
    pooled: Mapping[Group, float] | None = None,
) -> Table:
    """The groups of one attribute or intersection; those left out of comparisons are greyed and listed.

    `unknown` is the share of answers that could not be used, `pooled` the value drawn towards the others where
    many small groups are ranked; each gets a column where there is any.
    """
    muted = frozenset(i for i, e in enumerate(found) if e.status is not Status.OK or e.group.is_missing)
    columns = ["group", "rows", "units", "value"]
    lost = any(e.missing for e in found)
    columns += ["not measured"] if lost else []
    columns += ["unknown share"] if unknown else []
    columns += ["pooled"] if pooled else []
    rows: list[tuple[Cell, ...]] = []
    for estimate in found:
        row: list[Cell] = [levels(estimate.group), estimate.rows, estimate.units, as_cell(estimate)]
        row += [estimate.missing] if lost else []
        row += [unknown.get(estimate.group)] if unknown else []
        row += [pooled.get(estimate.group)] if pooled else []
        row += [status_word(estimate, whole)]
        rows.append(tuple(row))
    if not any(row[-1] for row in rows):
        rows = [row[:-1] for row in rows]
    else:
        columns.append("note")
    left_out = [levels(found[place].group) for place in sorted(muted)]
    caption = f"Left out of comparisons ({len(left_out)}): {listed(left_out)}." if left_out else ""
    title = f"{value_name(metric, output)} by {' × '.join(by)}"
    return Table(title, tuple(columns), tuple(rows), caption, muted)


def _pooled(results: Results, metric: str, output: str, by: tuple[str, ...]) -> Mapping[Group, float]:
    """By group, the value after partial pooling, where it was asked for."""
    found = (s.shrunken for s in results.summaries if (s.metric, s.output, s.by) == (metric, output, by))
    return next(found, {})


def _unknown_shares(results: Results, metric: str) -> Mapping[Group, Cell]:
    """By group, the share of answers that could not be used, where the family measures it."""
    found = {e.group: e.number for e in results.of(metric, "unknown_rate")}
    if not found:
        found = {e.group: e.number for e in results.of("refusals", "rate")}
    return {group: Interval(share) if share is not None else None for group, share in found.items()}
