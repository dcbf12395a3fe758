"""The figures of the bias report: threshold curves, and the groups of an attribute with their intervals.

The published functions return Matplotlib figures. Ours are drawn without Matplotlib, and answer what scripts ask of
such a figure: `figure.axes[0].patches[0].get_height()`, `.lines[0].get_xdata()`, `.texts[0].get_text()`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.disparity import Bars, bars
from evenhand.benchmarks.fhibe.names import NAMES, SKIN_WORDS
from evenhand.compat.fhibe.evaluate.arguments import THRESHOLDED
from evenhand.compat.fhibe.reporting.results_folder import StoredScores
from evenhand.compat.fhibe.reporting.statistics import ReportStatistics, judged_by
from evenhand.core.metric import Undefined
from evenhand.core.page import Cell, Figure, Forest, Interval, Lines, Table
from evenhand.core.records import Array
from evenhand.core.results import Estimate, Status
from evenhand.core.streams import stream
from evenhand.reporting import drawing

Limits = Mapping[str, tuple[float, float]]  # group → interval
MOST_BRACKETS = 12
_BAR_WIDTH = 0.8
_RESAMPLES = 1000
_WIDTH, _HEIGHT = 640, 240
_AGES = {"[18, 30)": "18–29", "[30, 40)": "30–39", "[40, 50)": "40–49", "[50, 60)": "50–59", "[60, +]": "60 and older"}


@dataclass(frozen=True)
class FigureLine:
    """A line: a curve, an error bar or a bracket."""

    x: Sequence[float]
    y: Sequence[float]

    def get_xdata(self) -> Array:
        """The x of its points."""
        return np.array(self.x, dtype=np.float64)

    def get_ydata(self) -> Array:
        """The y of its points."""
        return np.array(self.y, dtype=np.float64)


@dataclass(frozen=True)
class FigureBar:
    """A bar from 0 to its height; the keys of a legend are bars of height 0."""

    centre: float
    height: float
    width: float

    def get_height(self) -> float:
        """Its height: the mean of the group."""
        return self.height

    def get_width(self) -> float:
        """Its width."""
        return self.width

    def get_x(self) -> float:
        """Its left edge."""
        return self.centre - self.width / 2


@dataclass(frozen=True)
class FigureText:
    """A text in the figure: the asterisks over a bracket, the name of a group with its size."""

    text: str

    def get_text(self) -> str:
        """The text."""
        return self.text


@dataclass(frozen=True)
class FigureAxes:
    """The bars, lines and texts of one figure, in the order in which the published tool draws them."""

    lines: list[FigureLine] = field(default_factory=list)
    patches: list[FigureBar] = field(default_factory=list)
    texts: list[FigureText] = field(default_factory=list)
    tick_labels: list[FigureText] = field(default_factory=list)

    def get_lines(self) -> list[FigureLine]:
        """The lines."""
        return self.lines

    def get_xticklabels(self) -> list[FigureText]:
        """The names of the groups, with their sizes."""
        return self.tick_labels


@dataclass(frozen=True)
class PublishedFigure:
    """A figure that can be saved and read off, as the published tool's can; `axes` has one entry."""

    figure: Figure
    axes: list[FigureAxes] = field(default_factory=list)
    check: Callable[[Path], None] | None = None  # raises when a file would be overwritten that the report reads

    def savefig(self, fname: str | Path, **kwargs: Any) -> None:
        """Write it as PNG, SVG or PDF, by the name of the file; further arguments of Matplotlib's have no effect."""
        if self.check is not None:
            self.check(Path(fname))
        drawing.write_figure(self.figure, Path(fname), _WIDTH)

    def _repr_svg_(self) -> str:
        return drawing.svg(self.figure, _WIDTH, alone=True)


def group_name(attribute: str, value: str) -> str:
    """A group as the report's own tables name it.

    >>> group_name("apparent_skin_color", "0. [102, 78, 65]"), group_name("age", "[18, 30)")
    ('type VI (darkest)', '18–29')
    """
    shown = names.display_value(attribute, value)
    if attribute in vocabulary.SKIN_COLOURS and value in SKIN_WORDS:
        return f"type {shown} ({SKIN_WORDS[value]})"
    return _AGES.get(value, shown) if attribute == "age" else shown


def curve_figure(metric: str, curve: tuple[Sequence[float], Sequence[float]]) -> Figure:
    """Accepted share against threshold, over all rows."""
    kind, title = THRESHOLDED[metric].kind, THRESHOLDED[metric].curve
    rows: list[tuple[Cell, ...]] = [("all images", x, y) for x, y in zip(*curve, strict=True)]
    table = Table(title, ("Line", "Threshold", title), tuple(rows))
    chart = Lines(x_domain=None, y_domain=(-0.05, 1.05), size=(_WIDTH, _HEIGHT))
    return Figure(f"{kind.upper()} by threshold, over all images", chart, table)


def attribute_figure(
    stored: StoredScores,
    attribute: str,
    statistics: ReportStatistics,
    *,
    regions: bool,
    marks: bool,
    medians: bool = False,
    domain: tuple[float, float] | None = None,
) -> Figure:
    """The mean of each group of an attribute: with intervals by subject where there are statistics, else as published.

    With `marks` brackets join pairs that differ by the published test; VAL and body parts have none, as published.
    """
    metric, title = stored.metric, names.display_name(attribute)
    shown = {
        part: (group_bars(stored, attribute, regions, part), _limits(stored, attribute, statistics, part))
        for part in stored.parts or (None,)
    }
    if stored.parts is not None:
        rows = [
            (group_name(attribute, group), str(part), _mean(bars, limits, place), bars.sizes[place])
            for place, group in enumerate(next(iter(shown.values()))[0].groups)
            for part, (bars, limits) in shown.items()
        ]
        table = Table(f"{metric} by {title}", ("Group", "Part", metric, "Rows"), tuple(rows))
        return Figure(title, Forest(value=2, label=0, series=1, axis=metric, domain=(0.0, 1.0)), table)
    bars, limits = shown[None]
    further = group_columns(statistics, metric, attribute, bars.groups)
    if medians and metric != "VAL":
        scores = stored.groups((attribute,), None)
        of_group = [scores[names.group_key([group])] for group in bars.groups]
        further["Median"] = [float(np.median(values)) if len(values) else None for values in of_group]
    everyone = statistics.everyone(metric)
    chart = Forest(
        value=1,
        count=2,
        axis=metric,
        reference=None if everyone is None else everyone.number,
        reference_name="all",
        swatches=tuple(NAMES.swatches.get(attribute, {}).get(group, "") for group in bars.groups),
        brackets=brackets(bars) if marks else (),
        domain=domain,
    )
    cells: list[tuple[Cell, ...]] = [
        (
            group_name(attribute, group),
            _mean(bars, limits, place),
            bars.sizes[place],
            *(column[place] for column in further.values()),
        )
        for place, group in enumerate(bars.groups)
    ]
    table = Table(f"{metric} by {title}", ("Group", metric, "Rows", *further), tuple(cells))
    return Figure(title, chart, table, beside=bool(further))


def published_axes(stored: StoredScores, attribute: str, *, regions: bool, marks: bool) -> FigureAxes:
    """The bars and lines of the published figure: a bar and an error bar per group, a bracket per significant pair.

    An error bar of verification is two lines of one point, its ends. Body parts stand side by side, part by part; then
    comes a bar without height per part, its legend's key.
    """
    parts = [
        (group_bars(stored, attribute, regions, part), published_limits(stored, attribute, part))
        for part in stored.parts or (None,)
    ]
    caps_only = stored.metric == "VAL"
    sizes = [dict(zip(shown.groups, shown.sizes, strict=True)) for shown, _ in parts]
    groups = [group for group in sizes[0] if caps_only or any(of_part.get(group) for of_part in sizes)]
    width = _BAR_WIDTH / len(parts)
    axes = FigureAxes()
    for number, (shown, limits) in enumerate(parts):
        offset = (number + 0.5) * width - _BAR_WIDTH / 2
        for place, group in enumerate(groups):
            if caps_only or sizes[number].get(group):
                x = place + offset
                axes.patches.append(FigureBar(x, shown.heights[shown.groups.index(group)], width))
                ends = limits.get(group, (float("nan"), float("nan")))
                pieces = [([x], [end]) for end in ends] if caps_only else [([x, x], ends)]
                axes.lines.extend(FigureLine(*piece) for piece in pieces)
    if stored.parts is not None:
        axes.patches.extend(FigureBar(0.0, 0.0, 0.0) for _ in parts)
        return axes
    shown = parts[0][0]
    labels = dict(zip(shown.groups, shown.labels, strict=False))  # verification has none
    axes.tick_labels.extend(FigureText(labels[group]) for group in groups if group in labels)
    top = 1.05 * max((bar.height for bar in axes.patches), default=1.0)
    for number, (pair, star) in enumerate(zip(shown.pairs, shown.stars, strict=True)):
        if marks and star:
            first, second = (groups.index(names.parse_key(group)[0]) for group in (pair.worst, pair.best))
            foot = top * (1 + 0.075 * number)
            head = foot + 0.05 * top
            axes.lines.append(FigureLine([first, first, second, second], [foot, head, head, foot]))
            axes.texts.append(FigureText(star))
    return axes


def shared_domain(
    stored: StoredScores, asked: Sequence[str], statistics: ReportStatistics, *, regions: bool
) -> tuple[float, float] | None:
    """One scale for all attributes: the values of all groups, and the intervals of those that are large enough."""
    if stored.parts is not None:
        return None
    ends: list[float | None] = []
    for attribute in asked:
        bars = group_bars(stored, attribute, regions)
        ends += [height for height in bars.heights if height == height]
        if stored.metric == "VAL":
            limits = _limits(stored, attribute, statistics)
            ends += [end for group in bars.groups for end in limits.get(group, ())]
        for estimate in statistics.of(stored.metric, attribute):
            if estimate.status is Status.OK:
                ends += [estimate.low, estimate.high]
    values = [end for end in ends if end is not None]
    if not values or min(values) == max(values):
        return None
    margin = 0.04 * (max(values) - min(values))
    return min(values) - margin, max(values) + margin


def group_bars(stored: StoredScores, attribute: str, regions: bool, part: str | None = None) -> Bars:
    """The groups of an attribute with their means, as published; of verification with their VAL."""
    if stored.metric != "VAL":
        return bars(stored, attribute, largest_regions=regions, part=part)
    groups = stored.by_group(attribute, regions=regions)
    heights = [float("nan") if entry["VAL"] is None else float(entry["VAL"]) for entry in groups.values()]
    sizes = tuple(int(entry["Class_Size"]) for entry in groups.values())
    return Bars((), tuple(heights), sizes, tuple(groups), (), ())


def published_limits(stored: StoredScores, attribute: str, part: str | None = None) -> Limits:
    """The error bars of the published figure.

    68 % limits of each group's mean by drawing its scores again, but seeded; for verification VAL ± VAL_Error.
    """
    if stored.metric == "VAL":
        return {
            group: (entry["VAL"] - entry["VAL_Error"], entry["VAL"] + entry["VAL_Error"])
            for group, entry in stored.by_group(attribute).items()
            if entry["VAL"] is not None and entry["VAL_Error"] is not None
        }
    limits = {}
    for key, scores in stored.groups((attribute,), part).items():
        group = names.parse_key(key)[0]
        if len(scores):
            rng = stream("fhibe", "published figure", stored.metric, attribute, group)
            means = [rng.choice(scores, len(scores)).mean() for _ in range(_RESAMPLES)]
            low, high = np.percentile(means, [16, 84])
            limits[group] = (float(low), float(high))
    return limits


def group_columns(
    statistics: ReportStatistics, metric: str, attribute: str, groups: Sequence[str]
) -> dict[str, list[Cell]]:
    """Columns for the table beside a figure: subjects, and why a group is not compared."""
    by = judged_by(metric)
    known = {estimate.group.terms[0][1]: estimate for estimate in statistics.of(by, attribute)}
    if not known:
        return {}
    estimates = [known.get(group) for group in groups]
    columns: dict[str, list[Cell]] = {"Subjects": [estimate.units if estimate else None for estimate in estimates]}
    if by != metric:
        columns[by] = [Interval(one.number, one.low, one.high) if one else None for one in estimates]
    reasons: list[Cell] = [_why_not_compared(estimate) for estimate in estimates]
    if any(reasons):
        columns["Not compared because"] = reasons
    return columns


def _why_not_compared(estimate: Estimate | None) -> str:
    if estimate is None:
        return "no rows in the evaluated data"
    if isinstance(estimate.value, Undefined):
        return estimate.value.reason
    return "fewer than 20 rows or 10 subjects" if estimate.status is Status.SMALL else ""


def _limits(stored: StoredScores, attribute: str, statistics: ReportStatistics, part: str | None = None) -> Limits:
    """The intervals that the report's figure shows."""
    if stored.metric == "VAL":
        limits = published_limits(stored, attribute)
        return {group: (max(low, 0.0), min(high, 1.0)) for group, (low, high) in limits.items()}
    if not statistics.outputs(stored.metric):
        return published_limits(stored, attribute, part)
    return {
        estimate.group.terms[0][1]: (estimate.low, estimate.high)
        for estimate in statistics.of(stored.metric, attribute, None if part is None else f"mean:{part}")
        if estimate.low is not None and estimate.high is not None
    }


def _mean(bars: Bars, limits: Limits, place: int) -> Interval:
    height = bars.heights[place]
    low, high = limits.get(bars.groups[place], (None, None))
    return Interval(float(height) if np.isfinite(height) else None, low, high)


def brackets(bars: Bars) -> tuple[tuple[int, int, str], ...]:
    """Pairs of rows with their asterisks: the widest disparities, as many as fit."""
    place = {group: number for number, group in enumerate(bars.groups)}
    pairs = sorted(zip(bars.pairs, bars.stars, strict=True), key=lambda entry: -(entry[0].disparity or 0.0))
    ends = [(names.parse_key(pair.worst)[0], names.parse_key(pair.best)[0], star) for pair, star in pairs if star]
    return tuple((place[worst], place[best], star) for worst, best, star in ends[:MOST_BRACKETS])
