"""The bias report as sections of text, tables and figures; `reporting` typesets them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.disparity import plain_cell
from evenhand.compat.fhibe.reporting import descriptions
from evenhand.compat.fhibe.reporting.figures import group_name
from evenhand.compat.fhibe.reporting.statistics import UNBIASED, ReportStatistics, judged_by
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import Group
from evenhand.core.results import Contrast, Estimate, Verdict
from evenhand.reporting.rounding import cell as cell_text

MOST_PAIRS = 25
_LONGEST_FIGURE = 30  # groups
_WORST_FIRST = {Verdict.LARGE: 0, Verdict.DIFFERENT: 1, Verdict.UNDECIDED: 2, Verdict.EQUIVALENT: 3}
PART_METRICS = ("AR_DET", "ACC_DET")
_VERDICTS = (
    'Verdicts compare the difference of two groups with a margin of {margin:g}. "large": larger than the margin; '
    '"different": not zero; "equivalent": within the margin; each with 95 % confidence, p-values adjusted for all '
    'pairs of the metric (Holm). "undecided": none of these, the groups are too small to tell. Cliff\'s delta says how '
    "much more often a subject of the first group has the higher mean than one of the second; unlike the published "
    "effect size it does not grow with the number of rows."
)
_DISPARITY = (
    "Disparity is 1 − average of the worst group / average of the best group, by means and by medians. Only pairs with "
    "p < 0.05 / m are listed, where p is of the rank test and m the number of pairs of the attribute; groups of fewer "
    "than 20 rows are left out. By this procedure images of one subject count as independent, each attribute is "
    'corrected for its own pairs only, "worst" follows medians (and list order where these are equal), and the effect '
    'size is a z value that grows with the number of scores. Where lower is better (LPIPS), "worst" is inverted.'
)
_STARS = (
    "Brackets join groups that differ by the published test: * p < 0.05/m, ** p < 0.01/m, *** p < 0.001/m, where m is "
    "the number of significant pairs."
)
_BY_SUBJECTS = "the 95 % interval by subjects"
_BY_ROWS = "a 68 % interval that counts rows, as published"
_FIGURES = (
    f"A point is a group's mean, the line through it {_BY_SUBJECTS}, the dashed line the mean of all; n is the number "
    "of rows. All attributes have the same scale."
)
_FOLDS = (
    "A point is a group's VAL, the line through it VAL ± its spread over ten folds. That is no confidence interval: "
    "folds share people and pairs. n is the number of rows."
)
_PARTS = (
    f"A point is a group's mean for one part, the line through it {_BY_SUBJECTS}. Pairs of groups are compared by the "
    "plain mean over the parts."
)
_UNBIASED = (
    f"{UNBIASED} is the share of all genuine pairs accepted at a false accept rate of 0.001 that was set on everyone's "
    "impostor pairs. Unlike VAL it does not shrink with the number of pairs, so groups are compared by it."
)


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
        Section("Task and data", [*_task(content), *_attributes(content)]),
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
    rows: list[tuple[Cell, ...]] = []
    for pair in pairs[:MOST_PAIRS]:
        delta, low, high = (pair.effects.get(f"cliffs_delta{end}") for end in ("", "_low", "_high"))
        p = "–" if pair.adjusted is None else "< 0.001" if pair.adjusted < 0.001 else f"{pair.adjusted:.3f}"
        verdict = "" if pair.verdict is None else pair.verdict.value
        difference = Interval(pair.difference, pair.low, pair.high)
        by = ", ".join(names.display_name(name) for name in pair.first.by)
        rows.append((by, _pair(pair), difference, Interval(delta, low, high), p, verdict))
    columns: tuple[str, ...] = (
        "Attribute",
        "Groups",
        "Difference, 95 % interval",
        "Cliff's delta",
        "Adjusted p",
        "Verdict",
    )
    if not any("cliffs_delta" in pair.effects for pair in pairs):
        columns, rows = (*columns[:3], *columns[4:]), [(*row[:3], *row[4:]) for row in rows]
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
        yield Text(f"{metric}: {cell_text(_value(everyone))} over {everyone.rows} rows of {everyone.units} subjects.")
        judged = pairs_of(statistics, metric)
        clear = [pair for pair in judged if pair.verdict in (Verdict.LARGE, Verdict.DIFFERENT)]
        for pair in clear[:most]:
            by = ", ".join(names.display_name(name) for name in pair.first.by)
            worse = "" if pair.worse is None else f"; worse for {_group(pair.worse)}"
            verdict = "" if pair.verdict is None else pair.verdict.value
            difference = cell_text(Interval(pair.difference, pair.low, pair.high))
            yield Text(f"{by}, {_pair(pair)}: difference {difference}, {verdict}{worse}.")
        undecided = sum(pair.verdict is Verdict.UNDECIDED for pair in judged)
        rest = f" {len(clear) - most} more are in the table of pairs." if len(clear) > most else ""
        if judged and not clear:
            rest = " No two groups differ clearly, which is no evidence that none do."
        yield Text(f"{len(judged)} pairs of groups were compared, {undecided} are undecided.{rest}", "small")
    if any(statistics.outputs(judged_by(page.metric)) for page in content.pages):
        yield Text(_VERDICTS.format(margin=statistics.margin), "small")


def _task(content: ReportContent) -> list[Block]:
    blocks: list[Block] = [
        Text(descriptions.TASKS[content.task]),
        Text(descriptions.DATA[content.task in vocabulary.FACE_TASKS]),
    ]
    parts = next((page.parts for page in content.pages if page.parts), ())
    if parts:
        blocks.append(Text("Evaluated parts: " + ", ".join(parts) + "."))
    return [*blocks, Text(descriptions.CAUTION, "small")]


def _metric(number: int, page: MetricPages, content: ReportContent) -> Section:
    title, meaning = descriptions.METRICS[page.metric]
    blocks: list[Block] = [Text(meaning)]
    if page.keypoints:
        blocks.append(Text("Keypoints: " + ", ".join(page.keypoints) + "."))
    if page.thresholds:
        blocks.append(Text("Thresholds: " + ", ".join(f"{level:.4g}" for level in page.thresholds) + "."))
    if page.curve is not None:
        blocks.append(page.curve)
    explained = _FOLDS if page.metric == "VAL" else _PARTS if page.metric in PART_METRICS else _FIGURES
    if not content.statistics.outputs(page.metric):
        explained = explained.replace(_BY_SUBJECTS, _BY_ROWS)
    blocks.append(Text(explained + (f" {_STARS}" if page.marks else "")))
    if page.metric == "VAL" and content.statistics.outputs(UNBIASED):
        blocks.append(Text(_UNBIASED))
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
        return [Text("No pair of groups was significant by the published procedure."), Text(_DISPARITY, "small")]
    cells = ([plain_cell(cell) for cell in row] for row in page.table[2:])
    # Body parts have the plain names of attributes there.
    rows = [tuple(names.display_name(text) if text in vocabulary.ATTRIBUTES else text for text in row) for row in cells]
    return [Table(page.table[0][0], tuple(page.table[1]), tuple(rows)), Text(_DISPARITY, "small")]


def _attributes(content: ReportContent) -> list[Block]:
    rows: list[tuple[Cell, ...]] = []
    for name in content.attributes:
        grouped = content.regions and name in vocabulary.REGIONS
        more = "; grouped by continent or region here" if grouped else ""
        rows.append((names.display_name(name), descriptions.attribute_meaning(name) + more))
    return [Table("", ("Attribute", "What it is"), tuple(rows))]


def _value(estimate: Estimate) -> Interval:
    return Interval(estimate.number, estimate.low, estimate.high)


def _pair(contrast: Contrast) -> str:
    return f"{_group(contrast.first)} vs. {_group(contrast.second)}"


def _group(group: Group) -> str:
    return ", ".join(group_name(name, level) for name, level in group.terms)
