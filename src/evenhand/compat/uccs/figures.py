"""The challenge's two figures, as data and as files.

A `CurveFigure` says what is drawn: scales, limits, labels, lines. `vega` turns it into a Vega-Lite
document, which a report shows interactively and `draw` writes as PDF, SVG or PNG. Limits of the
horizontal axis run from the smallest last value over all curves (0 when linear) to the largest
first one; a curve without points is left out, and said.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import OptionError
from evenhand.core.metric import Undefined
from evenhand.core.optional import vl_convert
from evenhand.core.page import Figure, Lines, Table
from evenhand.core.records import Array
from evenhand.files.writing import write_file
from evenhand.metrics.free_response import FreeResponseCurve

# The ten colours that figures of the challenge have been drawn in, in their order.
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f", "#bcbd22", "#17becf")
FORMATS = (".pdf", ".svg", ".png")
_INCH = 72.0
_MOST_POINTS = 1500  # more than pixels across; a line of more looks the same


class Line(NamedTuple):
    """One system's curve."""

    label: str
    x: Array
    y: Array
    colour: str
    width: float = 1.5


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
    legend_location: str  # "upper left" or "lower right"
    size_inches: tuple[float, float] = (7.0, 4.5)
    legend_font_size: float = 14.0
    grid_colour: tuple[float, float, float] = (0.6, 0.6, 0.6)
    left_out: tuple[str, ...] = ()  # labels of curves without points


def froc_figure(
    curves: Mapping[str, FreeResponseCurve], *, faces: int, linear: bool = False, numbers: bool = False
) -> CurveFigure:
    """Detection rate against false detections per image, one line per system."""
    y_label = "Number of Detections" if numbers else "Detection Rate"
    return _figure(curves, "", "False Detection Per Image", y_label, faces, linear, numbers)


def oroc_figure(
    curves: Mapping[str, FreeResponseCurve], *, rank: int, known: int, linear: bool = False, numbers: bool = False
) -> CurveFigure:
    """Correct identifications against false ones per image, one line per system."""
    y_label = "TPI" if numbers else "TPIR Per Face"
    return _figure(curves, f"Rank {rank} O-ROC curve", "FPI Per Image", y_label, known, linear, numbers)


def vega(figure: CurveFigure) -> dict[str, Any]:
    """The figure as a Vega-Lite document."""
    width, height = (inches * _INCH for inches in figure.size_inches)
    grid = "#" + "".join(f"{round(255 * part):02x}" for part in figure.grid_colour)
    axis = {"gridColor": grid, "labelFontSize": 11, "titleFontSize": 12, "titleFontWeight": "normal"}
    names = [line.label for line in figure.lines]
    rows = []
    for line in figure.lines:
        keep = _visible(line.x, figure.x_scale == "log")
        rows += [
            {"system": line.label, "x": float(x), "y": float(y)}
            for x, y in zip(line.x[keep], line.y[keep], strict=True)
        ]
    corner = {"upper left": "top-left", "lower right": "bottom-right"}[figure.legend_location]
    legend = {"title": None, "orient": corner, "labelFontSize": figure.legend_font_size, "symbolStrokeWidth": 2}
    legend |= {"fillColor": "white", "padding": 5, "strokeColor": "#cccccc"}
    log = figure.x_scale == "log"
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "title": figure.title or None,
        "width": width,
        "height": height,
        "autosize": {"type": "fit", "contains": "padding"},
        "data": {"values": rows},
        "mark": {"type": "line", "strokeWidth": figure.lines[0].width if figure.lines else 1.5, "clip": True},
        "encoding": {
            "x": {
                "field": "x",
                "type": "quantitative",
                "title": figure.x_label,
                "scale": {"type": figure.x_scale, "domain": list(figure.x_limits), "nice": False},
                "axis": axis | (_log_labels(figure.x_limits) if log else {}),
            },
            "y": {
                "field": "y",
                "type": "quantitative",
                "title": figure.y_label,
                "scale": {"domain": list(figure.y_limits), "nice": False},
                "axis": axis,
            },
            "order": {"field": "x", "type": "quantitative"},
            "color": {
                "field": "system",
                "type": "nominal",
                "scale": {"domain": names, "range": [line.colour for line in figure.lines]},
                "legend": legend,
            },
            "tooltip": [
                {"field": "system"},
                {"field": "x", "type": "quantitative", "title": figure.x_label, "format": ".4g"},
                {"field": "y", "type": "quantitative", "title": figure.y_label, "format": ".4g"},
            ],
        },
    }


def page_figure(figure: CurveFigure, name: str) -> Figure:
    """The figure for a report, with a table that says the same."""
    rows = tuple((line.label, float(x), float(y)) for line in figure.lines for x, y in _corners(line))
    table = Table(figure.title or figure.y_label, ("system", figure.x_label, figure.y_label), rows)
    title = figure.title or f"{figure.y_label} against {figure.x_label}"
    return Figure(title, page_lines(figure), table, name=name)


def page_lines(figure: CurveFigure) -> Lines:
    """The lines of the figure as a chart of the report."""
    colours = tuple(line.colour for line in figure.lines)
    log = figure.x_scale == "log"
    return Lines(
        log_x=log,
        colours=colours,
        legend=figure.legend_location,
        x_domain=figure.x_limits,
        y_domain=figure.y_limits,
    )


def check_format(path: Path) -> None:
    """Raise when the name of a figure tells no format that can be written."""
    if path.suffix.lower() not in FORMATS:
        raise OptionError(f"A figure can be written as {', '.join(FORMATS)}; {path} is none of them.")


def draw(figure: CurveFigure, path: Path) -> None:
    """Write the figure; the format is told by the name."""
    check_format(path)
    spec = vega(figure)
    if path.suffix.lower() == ".svg":
        write_file(path, vl_convert.vegalite_to_svg(spec))
    elif path.suffix.lower() == ".png":
        write_file(path, vl_convert.vegalite_to_png(spec, scale=2.0))
    else:
        write_file(path, vl_convert.vegalite_to_pdf(spec))


def _log_labels(limits: tuple[float, float]) -> dict[str, Any]:
    """Labels at powers of ten; where there are fewer than two of them, at 1, 2 and 5."""
    low, high = limits
    digits = "1" if low > 0 and high / low >= 100 else "125"
    shown = f"test(/^[{digits}]/, format(datum.value, '.0e')) ? format(datum.value, '~g') : ''"
    return {"labelExpr": shown, "labelOverlap": False}


def _figure(
    curves: Mapping[str, FreeResponseCurve],
    title: str,
    x_label: str,
    y_label: str,
    count: int,
    linear: bool,
    numbers: bool,
) -> CurveFigure:
    lines, left_out = [], []
    for place, (label, curve) in enumerate(curves.items()):
        y = curve.positives.astype(np.float64) if numbers else curve.rate
        if isinstance(y, Undefined) or not len(curve.thresholds):
            left_out.append(label)
            continue
        lines.append(Line(label, curve.per_image, y, COLOURS[place % len(COLOURS)]))
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


def _visible(x: Array, log: bool) -> Array:
    """The points that can be told apart on a page; the first and the last always."""
    if len(x) <= _MOST_POINTS:
        return np.arange(len(x))
    where = np.log(np.maximum(x, 1e-12)) if log else x
    span = float(where[0] - where[-1]) or 1.0
    pixel = np.floor((where - where[-1]) / span * _MOST_POINTS)
    keep = np.ones(len(x), dtype=np.bool_)
    keep[1:] = pixel[1:] != pixel[:-1]
    keep[-1] = True
    return np.flatnonzero(keep)


def _corners(line: Line, most: int = 60) -> Sequence[tuple[float, float]]:
    """So many points of a line, evenly spread, for a table."""
    places = np.unique(np.linspace(0, len(line.x) - 1, min(most, len(line.x))).round().astype(int))
    return [(float(line.x[place]), float(line.y[place])) for place in places]
