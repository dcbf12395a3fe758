"""The challenge's two figures.

A `CurveFigure` says what is drawn, in the words of the published figures: scales, limits, labels, lines. `page_figure`
turns it into a figure of the report, and `draw` writes it as PDF, SVG, EPS, PNG or JPEG through `reporting.drawing`.
Limits of the horizontal axis run from the smallest last value over all curves (0 when linear) to the largest first one;
a curve without points is left out, and said. The operating points of the challenge are marked on every curve,
intervals are bands, and the legend is below the axes, so that it covers no curve.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.core.metric import Curve, Undefined
from evenhand.core.page import Cell, Figure, Lines, Table
from evenhand.core.records import Array
from evenhand.metrics.free_response import FreeResponseCurve, FrocPoint, sum_of
from evenhand.reporting import drawing
from evenhand.reporting.thinning import visible

# The colours that figures of the challenge have been drawn in; beyond the eighth system lines are dashed.
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
PIXELS_PER_INCH = 96.0
UNNAMED = ".png"  # the format of a figure whose name has no extension


class Band(NamedTuple):
    """Limits of a curve's height at some places of the horizontal axis."""

    x: Array
    low: Array
    high: Array


class Line(NamedTuple):
    """One system's curve."""

    label: str
    x: Array
    y: Array
    colour: str
    width: float = 1.5
    points: tuple[tuple[float, float], ...] = ()  # operating points
    band: Band | None = None


@dataclass(frozen=True)
class CurveFigure:
    """What a figure shows, in the words of its axes."""

    title: str
    x_label: str
    y_label: str
    x_scale: str  # "log" or "linear"
    x_limits: tuple[float, float]
    y_limits: tuple[float, float]
    lines: tuple[Line, ...]
    legend_location: str  # of the published figure: "upper left" or "lower right"
    size_inches: tuple[float, float] = (7.0, 4.5)
    legend_font_size: float = 14.0
    grid_colour: tuple[float, float, float] = (0.6, 0.6, 0.6)
    left_out: tuple[str, ...] = ()  # labels of curves without points


@dataclass(frozen=True)
class CurveReport:
    """One curve with its operating points, and its limits where they are drawn."""

    curve: FreeResponseCurve
    readings: tuple[FrocPoint, ...] = ()
    band: Band | None = None  # of the rate

    @property
    def sum(self) -> float | Undefined:
        """The competition's ranking: the rates at the targets, added."""
        return sum_of(self.readings)


def froc_figure(
    systems: Mapping[str, CurveReport], *, faces: int, linear: bool = False, numbers: bool = False
) -> CurveFigure:
    """Detection rate against false detections per image, one line per system."""
    y_label = "Number of Detections" if numbers else "Detection Rate"
    return _figure(systems, "", "False Detection Per Image", y_label, faces, linear, numbers)


def oroc_figure(
    systems: Mapping[str, CurveReport], *, rank: int, known: int, linear: bool = False, numbers: bool = False
) -> CurveFigure:
    """Correct identifications against false ones per image, one line per system."""
    y_label = "TPI" if numbers else "TPIR Per Face"
    return _figure(systems, f"Rank {rank} O-ROC curve", "FPI Per Image", y_label, known, linear, numbers)


def page_figure(figure: CurveFigure, name: str = "") -> Figure:
    """The figure as the report draws it, with a table that says the same."""
    log = figure.x_scale == "log"
    rows: list[tuple[Cell, ...]] = []
    for line in figure.lines:
        places = visible(Curve(line.x, line.y, figure.x_label, figure.y_label, log_x=log))
        rows += [(line.label, float(line.x[place]), float(line.y[place]), None, None) for place in places]
        if line.band is not None:
            limits = zip(*(side.tolist() for side in line.band), strict=True)
            rows += [(line.label, x, None, low, high) for x, low, high in limits]
    low, high = figure.x_limits
    chart = Lines(
        log_x=log,
        low=3,
        high=4,
        points=tuple((line.label, x, y) for line in figure.lines for x, y in line.points),
        framed=True,
        colours=COLOURS,
        x_domain=(low, high) if high > low else (low / 2 if log else low - 0.5, 2 * high if log else high + 0.5),
        y_domain=figure.y_limits,
        size=(figure.size_inches[0] * PIXELS_PER_INCH, figure.size_inches[1] * PIXELS_PER_INCH),
    )
    columns = ("system", figure.x_label, figure.y_label, "low", "high")
    return Figure(figure.title, chart, Table(figure.title or figure.y_label, columns, tuple(rows)), name=name)


def figure_path(path: Path) -> Path:
    """Where a figure is written: a name without extension gets `.png`."""
    return path if path.suffix else path.with_name(path.name + UNNAMED)


def draw(figure: CurveFigure, path: Path) -> None:
    """Write the figure; the format follows from the file name."""
    drawing.write_figure(page_figure(figure), figure_path(path))


def _figure(
    systems: Mapping[str, CurveReport],
    title: str,
    x_label: str,
    y_label: str,
    count: int,
    linear: bool,
    numbers: bool,
) -> CurveFigure:
    lines, left_out = [], []
    for place, (label, system) in enumerate(systems.items()):
        curve = system.curve
        y = curve.positives.astype(np.float64) if numbers else curve.rate
        if isinstance(y, Undefined) or not len(curve.thresholds):
            left_out.append(label)
            continue
        factor = curve.faces if numbers else 1.0
        points = tuple(
            (reading.actual, reading.rate * factor)
            for reading in system.readings
            if reading.rate is not None and reading.actual is not None
        )
        band = system.band and Band(system.band.x, system.band.low * factor, system.band.high * factor)
        colour = COLOURS[place % len(COLOURS)]
        lines.append(Line(label, curve.per_image, y, colour, points=points, band=band))
    low = 0.0 if linear else min((float(line.x[-1]) for line in lines), default=1e-3)
    high = max((float(line.x[0]) for line in lines), default=1.0)
    return CurveFigure(
        title,
        x_label,
        y_label,
        "linear" if linear else "log",
        (low, high),
        (0.0, float(count) if numbers else 1.0),
        tuple(lines),
        "lower right" if linear else "upper left",
        left_out=tuple(left_out),
    )
