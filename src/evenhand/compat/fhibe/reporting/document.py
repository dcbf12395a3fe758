"""The bias report as sections of text, tables and figures; `reporting` typesets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import msgspec

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.disparity import plain_cell
from evenhand.compat.fhibe.reporting.figures import group_name
from evenhand.compat.fhibe.reporting.statistics import UNBIASED, ReportStatistics, judged_by
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import Group
from evenhand.core.results import Contrast, Verdict
from evenhand.files.packaged import packaged_table
from evenhand.reporting.rounding import cell as cell_text

MOST_PAIRS = 25
_LONGEST_FIGURE = 30  # groups
_WORST_FIRST = {Verdict.LARGE: 0, Verdict.DIFFERENT: 1, Verdict.UNDECIDED: 2, Verdict.EQUIVALENT: 3}


class _Descriptions(msgspec.Struct, forbid_unknown_fields=True):
    tasks: dict[str, str]
    data: dict[str, str]
    metrics: dict[str, tuple[str, str]]  # title and meaning
    attributes: dict[str, str]
    notes: dict[str, str]


_TEXTS: _Descriptions = packaged_table(__package__, "descriptions.toml", _Descriptions)
_NOTES = _TEXTS.notes


@dataclass(frozen=True)
class MetricPages:
    """What the report shows of one metric."""

    metric: str
    thresholds: tuple[float, ...]
    keypoints: tuple[str, ...]
    curve: Figure | None
    figures: Mapping[str, Figure]  # attribute → its groups
    marks: bool  # whether the figures have brackets
    table: list[list[str]] | None  # the published disparity table
    parts: tuple[str, ...] = ()


@dataclass(frozen=True)
class ReportContent:
    """All that the report shows."""

    task: str
    facts: Mapping[str, str]
    attributes: tuple[str, ...]
    regions: bool
    pages: Sequence[MetricPages]
    statistics: ReportStatistics
    notes: Sequence[str] = field(default_factory=tuple)  # what is stale or could not be judged


def sections(content: ReportContent) -> list[Section]:
    """The report from its first section to its last."""
    facts: list[tuple[Cell, ...]] = list(content.facts.items())
    first: list[Block] = [Table("", ("Report", ""), tuple(facts))]
    first += [Text(note, "caution") for note in content.notes]
    shown = [
        Section("Summary", [*first, *_summary(content)]),
        Section("Task and data", _task(content)),
    ]
    return [*shown, *(_metric(number, page, content) for number, page in enumerate(content.pages, start=1))]


def pairs_of(statistics: ReportStatistics, metric: str) -> list[Contrast]:
    """The compared pairs of a metric's first output: by verdict, then by the size of the difference."""
    judged = [pair for pair in statistics.contrasts if pair.metric == metric and pair.verdict is not None]
    return sorted(
        judged, key=lambda pair: (_WORST_FIRST[pair.verdict or Verdict.UNDECIDED], -abs(pair.difference or 0.0))
    )


def pair_table(statistics: ReportStatistics, metric: str) -> Table | None:
    """A line per pair of groups, those that stand out first."""
    pairs = pairs_of(statistics, metric)
    if not pairs:
        return None
    has_delta = any("cliffs_delta" in pair.effects for pair in pairs)
    rows: list[tuple[Cell, ...]] = []
    for pair in pairs[:MOST_PAIRS]:
        delta, low, high = (pair.effects.get(f"cliffs_delta{end}") for end in ("", "_low", "_high"))
        effect = [Interval(delta, low, high)] if has_delta else []
        p = "–" if pair.adjusted is None else "< 0.001" if pair.adjusted < 0.001 else f"{pair.adjusted:.3f}"
        by, groups, difference, verdict = _compared(pair)
        rows.append((by, groups, difference, *effect, p, verdict))
    effect_name = ["Cliff's delta"] if has_delta else []
    columns = ("Attribute", "Groups", "Difference, 95 % interval", *effect_name, "Adjusted p", "Verdict")
    more = (
        "" if len(pairs) <= MOST_PAIRS else f" The first {MOST_PAIRS} of {len(pairs)}; `evenhand evaluate` lists all."
    )
    caption = f"Difference of {metric}, first minus second group; {len(pairs)} pairs were tested together.{more}"
    return Table(f"Pairs of groups by {metric}, with subjects as units", columns, tuple(rows), caption)


def _summary(content: ReportContent, most: int = 4) -> Iterator[Block]:
    statistics = content.statistics
    for page in content.pages:
        metric = judged_by(page.metric)
        everyone = statistics.everyone(metric)
        if everyone is None or everyone.number is None:
            continue
        value = cell_text(Interval(everyone.number, everyone.low, everyone.high))
        yield Text(f"{metric}: {value} over {everyone.rows} rows of {everyone.units} subjects.")
        judged = pairs_of(statistics, metric)
        clear = [pair for pair in judged if pair.verdict in (Verdict.LARGE, Verdict.DIFFERENT)]
        for pair in clear[:most]:
            by, groups, difference, verdict = _compared(pair)
            worse = "" if pair.worse is None else f"; worse for {_group(pair.worse)}"
            yield Text(f"{by}, {groups}: difference {cell_text(difference)}, {verdict}{worse}.")
        undecided = sum(pair.verdict is Verdict.UNDECIDED for pair in judged)
        rest = f" {len(clear) - most} more are in the table of pairs." if len(clear) > most else ""
        if judged and not clear:
            rest = " No two groups differ clearly, which is no evidence that none do."
        yield Text(f"{len(judged)} pairs of groups were compared, {undecided} are undecided.{rest}", "small")
    if any(statistics.outputs(judged_by(page.metric)) for page in content.pages):
        yield Text(_NOTES["verdicts"].format(margin=statistics.margin), "small")


def _task(content: ReportContent) -> list[Block]:
    blocks: list[Block] = [
        Text(_TEXTS.tasks[content.task]),
        Text(_TEXTS.data["face" if content.task in vocabulary.FACE_TASKS else "body"]),
    ]
    parts = next((page.parts for page in content.pages if page.parts), ())
    if parts:
        blocks.append(Text("Evaluated parts: " + ", ".join(parts) + "."))
    rows: list[tuple[Cell, ...]] = []
    for name in content.attributes:
        meaning = _TEXTS.attributes.get(name, name.replace("_", " ") + ", as annotated in the data set")
        grouped = content.regions and name in vocabulary.REGIONS
        rows.append((names.display_name(name), meaning + ("; grouped by continent or region here" if grouped else "")))
    return [*blocks, Text(_NOTES["caution"], "small"), Table("", ("Attribute", "What it is"), tuple(rows))]


def _metric(number: int, page: MetricPages, content: ReportContent) -> Section:
    title, meaning = _TEXTS.metrics[page.metric]
    blocks: list[Block] = [Text(meaning)]
    if page.keypoints:
        blocks.append(Text("Keypoints: " + ", ".join(page.keypoints) + "."))
    if page.thresholds:
        blocks.append(Text("Thresholds: " + ", ".join(f"{level:.4g}" for level in page.thresholds) + "."))
    if page.curve is not None:
        blocks.append(page.curve)
    figure = "folds" if page.metric == "VAL" else "parts" if page.parts else "figures"
    interval = _NOTES["by_subjects" if content.statistics.outputs(page.metric) else "by_rows"]
    explained = _NOTES[figure].format(interval=interval)
    blocks.append(Text(f"{explained} {_NOTES['stars']}" if page.marks else explained))
    if page.metric == "VAL" and content.statistics.outputs(UNBIASED):
        blocks.append(Text(_NOTES["unbiased"]))
    blocks += [piece for figure in page.figures.values() for piece in _pieces(figure)]
    inner = [Section("Published disparity table", _disparities(page))]
    table = pair_table(content.statistics, judged_by(page.metric))
    if table is not None:
        inner.append(Section("Pairs of groups", [Text(table.caption, "small"), replace(table, caption="")]))
    return Section(f"Metric {number}. {page.metric}: {title}", blocks, inner)


def _pieces(figure: Figure) -> list[Figure]:
    """A figure with many groups in pieces whose names can be read; brackets stay where both their groups are."""
    chart, rows = figure.chart, figure.data.rows
    if not isinstance(chart, Forest) or chart.series is not None or len(rows) <= _LONGEST_FIGURE:
        return [figure]
    pieces = []
    for start in range(0, len(rows), _LONGEST_FIGURE):
        end = start + _LONGEST_FIGURE
        inside = tuple(
            (a - start, b - start, mark) for a, b, mark in chart.brackets if start <= min(a, b) <= max(a, b) < end
        )
        part = replace(chart, swatches=chart.swatches[start:end], brackets=inside)
        table = replace(figure.data, rows=rows[start:end])
        pieces.append(
            replace(figure, title=f"{figure.title}, {start + 1} to {min(end, len(rows))}", chart=part, data=table)
        )
    return pieces


def _disparities(page: MetricPages) -> list[Block]:
    if page.metric == "VAL":
        return [Text("The published report does not test verification results.")]
    if page.table is None:
        return [
            Text("No pair of groups was significant by the published procedure."),
            Text(_NOTES["disparity"], "small"),
        ]
    cells = ([plain_cell(cell) for cell in row] for row in page.table[2:])
    # Body parts have the plain names of attributes there.
    rows = [tuple(names.display_name(text) if text in vocabulary.ATTRIBUTES else text for text in row) for row in cells]
    return [Table(page.table[0][0], tuple(page.table[1]), tuple(rows)), Text(_NOTES["disparity"], "small")]


def _compared(pair: Contrast) -> tuple[str, str, Interval, str]:
    """The attribute, the two groups, their difference and the verdict about it."""
    by = ", ".join(names.display_name(name) for name in pair.first.by)
    groups = f"{_group(pair.first)} vs. {_group(pair.second)}"
    verdict = "" if pair.verdict is None else pair.verdict.value
    return by, groups, Interval(pair.difference, pair.low, pair.high), verdict


def _group(group: Group) -> str:
    return ", ".join(group_name(name, level) for name, level in group.terms)
