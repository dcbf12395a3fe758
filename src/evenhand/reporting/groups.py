"""Every group with its n, value and interval: as a figure with the table behind it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from evenhand.core.contrasts import contrasts_of
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Estimate, Results, Status
from evenhand.reporting.display import ShownResults, shown, shown_output
from evenhand.reporting.phrases import as_cell, by_words, headline, levels, listed, standings, status_word, value_name

VALUE = 3  # the place of the value among the columns
_EXPLAINED = (
    "Point: the group's value. Line: its confidence interval. Dashed line: all groups together. ▼: performs worse than "
    "other groups beyond chance. Hollow: too small or not annotated, and left out of all comparisons."
)


@dataclass(frozen=True)
class _Context:
    """What the tables of all attributes of one output share."""

    unit: str = ""
    whole: Estimate | None = None
    unknown: Mapping[Group, Cell] = field(default_factory=dict)  # share of unusable answers
    pooled: Mapping[tuple[str, ...], Mapping[Group, float]] = field(default_factory=dict)  # value after pooling
    disadvantaged: frozenset[Group] = frozenset()
    swatches: Mapping[tuple[str, str], str] = field(default_factory=dict)


def _context(results: ShownResults, metric: str, output: str) -> _Context:
    overall = next((e for e in results.of(metric, output) if e.group == EVERYONE), None)
    own = [s for s in results.summaries if (s.metric, s.output) == (metric, output)]
    ranks = standings(tuple(contrasts_of(results.contrasts, metric, output, order=1)))
    worse = frozenset(group for group, standing in ranks.items() if standing.is_disadvantaged)
    pooled = {s.by: s.shrunken for s in own}
    return _Context(results.unit(metric, output), overall, _unknown_shares(results), pooled, worse, results.swatches)


def output_figures(results: Results, metric: str, output: str, by: Collection[str] | None = None) -> tuple[Figure, ...]:
    """A figure of one output for each attribute, or for the attributes in `by` (as shown) together."""
    pair = shown_output(results, metric, output)
    return _figures(shown(results), pair, lambda names: len(names) == 1 if by is None else sorted(names) == sorted(by))


def group_figures(results: ShownResults, skip: Sequence[str] = ()) -> Section:
    """A figure for each attribute, but those that are shown elsewhere."""
    first = headline(results)
    blocks: list[Block] = []
    if first is not None:
        blocks += _figures(results, first, lambda names: len(names) == 1 and names[0] not in skip)
    if blocks:
        blocks.insert(0, Text(_EXPLAINED, "small"))
    if first is not None and any("several groups" in note for summary in results.summaries for note in summary.notes):
        blocks.insert(1, Text("A sample may belong to several groups, so their n add up to more than all.", "small"))
    return Section("Groups" if not skip else "Other groups", blocks, name="groups")


def intersections(results: ShownResults) -> Section:
    """A figure for each intersection of attributes."""
    first = headline(results)
    figures = _figures(results, first, lambda names: len(names) > 1) if first is not None else ()
    return Section("Intersections of attributes", figures, name="intersections", folded=True)


def _figures(
    results: ShownResults, pair: tuple[str, str], is_wanted: Callable[[tuple[str, ...]], bool]
) -> tuple[Figure, ...]:
    context = _context(results, *pair)
    return tuple(
        group_figure(*pair, names, estimates, context)
        for names, estimates in by_attributes(results, *pair).items()
        if is_wanted(names)
    )


def group_tables(results: ShownResults) -> tuple[Table, ...]:
    """The tables of single attributes, for a terminal; intersections are in the report."""
    first = headline(results)
    if first is None:
        return ()
    context = _context(results, *first)
    single = {names: some for names, some in by_attributes(results, *first).items() if len(names) == 1}
    return tuple(group_table(*first, names, estimates, context) for names, estimates in single.items())


def by_attributes(results: Results, metric: str, output: str) -> Mapping[tuple[str, ...], list[Estimate]]:
    """The estimates of groups by the attributes that name them, in declared order."""
    estimates: dict[tuple[str, ...], list[Estimate]] = {}
    for estimate in results.of(metric, output):
        if estimate.group != EVERYONE:
            estimates.setdefault(estimate.group.by, []).append(estimate)
    return estimates


def group_figure(
    metric: str, output: str, by: Sequence[str], estimates: Sequence[Estimate], context: _Context | None = None
) -> Figure:
    """The groups of one attribute or intersection as a figure."""
    context = context or _Context()
    empty = [levels(e.group) for e in estimates if e.status is Status.EMPTY]
    estimates = [e for e in estimates if e.status is not Status.EMPTY]
    table = group_table(metric, output, by, estimates, context)
    caption = f"No samples ({len(empty)}): {listed(empty, 12)}." if empty else ""
    overall = context.whole.number if context.whole is not None else None
    known = context.swatches
    colours = [next((known[term] for term in e.group.terms if term in known), "") for e in estimates]
    chart = Forest(
        VALUE,
        count=1,
        axis=value_name(metric, output),
        reference=overall,
        reference_name="all groups",
        tones=tuple("worse" if e.group in context.disadvantaged else "" for e in estimates),
        swatches=tuple(colours) if any(colours) else (),
        percent=bool(context.unit),
    )
    return Figure(table.title, chart, table, caption, name=f"{metric}-{output}-by-{'-'.join(by)}")


def group_table(
    metric: str, output: str, by: Sequence[str], estimates: Sequence[Estimate], context: _Context | None = None
) -> Table:
    """The groups of one attribute or intersection; those left out of comparisons are greyed and listed."""
    context = context or _Context()
    muted = frozenset(i for i, e in enumerate(estimates) if e.status is not Status.OK or e.group.is_missing)
    pooled = context.pooled.get(tuple(by), {})
    columns: dict[str, list[Cell]] = {
        by_words(by): [levels(e.group) for e in estimates],
        "n": [e.rows for e in estimates],
        "units": [e.units for e in estimates],
        value_name(metric, output): [as_cell(e, context.unit) for e in estimates],
        "not measured": [e.missing for e in estimates] if any(e.missing for e in estimates) else [],
        "unusable answers": [context.unknown.get(e.group) for e in estimates] if context.unknown else [],
        "after pooling": [Interval(pooled.get(e.group), unit=context.unit) for e in estimates] if pooled else [],
        "note": [status_word(e, context.whole, context.unit) for e in estimates],
    }
    kept = {name: cells for name, cells in columns.items() if any(cell != "" for cell in cells)}
    left_out = [levels(estimates[place].group) for place in sorted(muted)]
    caption = f"Left out of comparisons ({len(left_out)}): {listed(left_out)}." if left_out else ""
    title = f"{value_name(metric, output)} by {by_words(by)}"
    return Table(title, tuple(kept), tuple(zip(*kept.values(), strict=True)), caption, muted)


def _unknown_shares(results: ShownResults) -> Mapping[Group, Cell]:
    """By group, the share of answers that could not be used, where the family measures it."""
    for name in ("Unusable answers", "Refusals", "refusals"):
        shares = {e.group: Interval(e.number, unit="%") for e in results.of(name, name)}
        if any(share.value for share in shares.values()):
            return dict(shares)
    return {}
