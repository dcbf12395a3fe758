"""The figures of the bias report: threshold curves, and the groups of an attribute with their intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.disparity import Bars
from evenhand.compat.fhibe.reporting.axes import FigureAxes, Limits
from evenhand.core.page import Cell, Figure, Forest, Interval, Lines, Table
from evenhand.core.streams import stream
from evenhand.reporting import drawing

MOST_BRACKETS = 12
_RESAMPLES = 1000
_WIDTH, _HEIGHT = 640, 240
_CURVES = {"iou": "Share with IoU ≥ threshold", "oks": "Share with OKS ≥ threshold", "pck": "Mean PCK"}
_SKIN_WORDS = {"I": "lightest", "II": "light", "III": "medium light", "IV": "medium dark", "V": "dark", "VI": "darkest"}
_AGES = {"[18, 30)": "18–29", "[30, 40)": "30–39", "[40, 50)": "40–49", "[50, 60)": "50–59", "[60, +]": "60 and older"}


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
    if attribute in vocabulary.SKIN_COLOURS and shown in _SKIN_WORDS:
        return f"type {shown} ({_SKIN_WORDS[shown]})"
    return _AGES.get(value, shown) if attribute == "age" else shown


def curve_figure(kind: str, curve: tuple[Sequence[float], Sequence[float]]) -> Figure:
    """Accepted share against threshold, over all rows."""
    rows: list[tuple[Cell, ...]] = [("all images", x, y) for x, y in zip(*curve, strict=True)]
    table = Table(_CURVES[kind], ("Line", "Threshold", _CURVES[kind]), tuple(rows))
    chart = Lines(x_domain=None, y_domain=(-0.05, 1.05), size=(_WIDTH, _HEIGHT))
    return Figure(f"{kind.upper()} by threshold, over all images", chart, table)


def group_figure(
    bars: Bars,
    metric: str,
    attribute: str,
    limits: Limits,
    *,
    more: Mapping[str, Sequence[Cell]] | None = None,
    everyone: float | None = None,
    domain: tuple[float, float] | None = None,
    marks: bool = True,
) -> Figure:
    """The mean of each group of an attribute with its interval, and brackets at significant pairs.

    `more` are further columns of the figure's table.
    """
    further = more or {}
    rows: list[tuple[Cell, ...]] = []
    for place, (group, height, size) in enumerate(zip(bars.groups, bars.heights, bars.sizes, strict=True)):
        low, high = limits.get(group, (None, None))
        value = Interval(float(height) if np.isfinite(height) else None, low, high)
        rows.append((group_name(attribute, group), value, size, *(column[place] for column in further.values())))
    chart = Forest(
        value=1,
        count=2,
        axis=metric,
        reference=everyone,
        reference_name="all",
        swatches=tuple(_swatch(attribute, group) for group in bars.groups),
        brackets=brackets(bars) if marks else (),
        domain=domain,
    )
    title = names.display_name(attribute)
    table = Table(f"{metric} by {title}", ("Group", metric, "Rows", *further), tuple(rows))
    return Figure(title, chart, table, beside=bool(further))


def part_figure(parts: Mapping[str, tuple[Bars, Limits]], metric: str, attribute: str) -> Figure:
    """The mean of each group and body part."""
    rows: list[tuple[Cell, ...]] = []
    for place in range(len(next(iter(parts.values()))[0].groups)):
        for part, (bars, limits) in parts.items():
            group, height = bars.groups[place], bars.heights[place]
            value = Interval(float(height) if np.isfinite(height) else None, *limits.get(group, (None, None)))
            rows.append((group_name(attribute, group), part, value, bars.sizes[place]))
    title = names.display_name(attribute)
    table = Table(f"{metric} by {title}", ("Group", "Part", metric, "Rows"), tuple(rows))
    return Figure(title, Forest(value=2, label=0, series=1, axis=metric, domain=(0.0, 1.0)), table)


def brackets(bars: Bars) -> tuple[tuple[int, int, str], ...]:
    """Pairs of rows with their asterisks: the widest disparities, as many as fit."""
    place = {group: number for number, group in enumerate(bars.groups)}
    pairs = sorted(zip(bars.pairs, bars.stars, strict=True), key=lambda entry: -(entry[0].disparity or 0.0))
    ends = [(names.parse_key(pair.worst)[0], names.parse_key(pair.best)[0], star) for pair, star in pairs if star]
    return tuple((place[worst], place[best], star) for worst, best, star in ends[:MOST_BRACKETS])


def resampled_limits(groups: Mapping[str, np.ndarray[Any, Any]], metric: str, attribute: str) -> Limits:
    """68 % limits of each group's mean by drawing its scores again, as the published figure has them, but seeded."""
    limits = {}
    for group, scores in groups.items():
        if len(scores):
            rng = stream("fhibe", "published figure", metric, attribute, group)
            means = [rng.choice(scores, len(scores)).mean() for _ in range(_RESAMPLES)]
            low, high = np.percentile(means, [16, 84])
            limits[group] = (float(low), float(high))
    return limits


def _swatch(attribute: str, group: str) -> str:
    if attribute not in vocabulary.SKIN_COLOURS or group not in vocabulary.SKIN_TYPES:
        return ""
    red, green, blue = (int(part) for part in group.partition(". ")[2].strip("[]").split(","))
    return f"#{red:02x}{green:02x}{blue:02x}"
