"""Curves with their axes, bands and legend; lines beyond the eighth differ by dashes as well as by colour."""

from __future__ import annotations

import math
from collections.abc import Sequence

from evenhand.core.page import Lines, Table
from evenhand.reporting.axes import Axis, bottom_axis, left_axis, padded_domain
from evenhand.reporting.canvas import (
    INK,
    SOFT,
    Canvas,
    add_legend,
    dash_of,
    line_class,
    line_colour,
    line_sample,
    short,
    text_width,
)
from evenhand.reporting.rounding import cell as cell_text
from evenhand.reporting.rounding import number


def draw_lines(chart: Lines, table: Table, width: int, *, alone: bool, heading: str = "") -> Canvas:
    """Curves with their axes; points that a logarithmic axis has no place for are left out."""
    wide, tall = chart.size or (float(width), 360.0 if width > 500 else 300.0)
    left, right, top, bottom = 56.0, 14.0, 34.0 if chart.framed and heading else 10.0, 44.0
    lines = points_of(chart, table)
    x_low, x_high, y_low, y_high = domains(chart, table)
    x_axis = Axis(x_low, x_high, left, wide - right, log=chart.log_x)
    y_axis = Axis(y_low, y_high, tall - bottom, top, log=chart.log_y)
    canvas = Canvas(wide, tall)
    bottom_axis(canvas, x_axis, top, tall - bottom, table.columns[chart.x], decades_only=chart.framed)
    left_axis(canvas, y_axis, left, wide - right, table.columns[chart.y])
    if chart.framed:
        canvas.words((left + wide - right) / 2, 18, heading, "label", anchor="middle", fill=INK, font_size=14)
        box: dict[str, object] = {"x": left, "y": top, "width": wide - right - left, "height": tall - bottom - top}
        canvas.add("rect", "frame", "", **box, fill="none", stroke=SOFT)
    canvas.open("svg", x=left, y=top, width=wide - left - right, height=tall - top - bottom, overflow="hidden")
    _bands(canvas, chart, table, list(lines), x_axis, y_axis, (left, top))
    for place, (name, line) in enumerate(lines.items()):
        steps: list[tuple[float, float]] = []
        for x, y in line:
            if (chart.log_x and x <= 0) or (chart.log_y and y <= 0):
                continue
            at = (round(x_axis.place(x) - left, 1), round(y_axis.place(y) - top, 1))
            if steps and abs(at[0] - steps[-1][0]) + abs(at[1] - steps[-1][1]) < 0.7:
                continue  # not distinguishable on a screen
            if chart.steps and steps:
                steps.append((at[0], steps[-1][1]))
            steps.append(at)
        if steps:
            path = "M" + "L".join(f"{short(x)} {short(y)}" for x, y in steps)
            css, dash = line_class(place), dash_of(place)
            pen = {"fill": "none", **_pen(chart, place), "stroke_dasharray": dash}
            canvas.add("path", css, name, d=path, stroke_linejoin="round", data_line=place, **pen)
    canvas.close("svg")
    for name, x, y in chart.points:
        if name in lines and (x > 0 or not chart.log_x) and (y > 0 or not chart.log_y):
            place = list(lines).index(name)
            middle: dict[str, object] = {"cx": x_axis.place(x), "cy": y_axis.place(y), "r": 4.0}
            css, about = f"{line_class(place)} hollow", f"{name}: {number(y)} at {number(x)}"
            canvas.add("circle", css, about, **middle, fill="#ffffff", **_pen(chart, place))
    if len(lines) > 1 and chart.legend in ("upper left", "lower right"):
        _legend_inside(canvas, chart, list(lines), (left, top, wide - right, tall - bottom))
        return canvas
    return add_legend(canvas, list(lines), chart.colours, left) if len(lines) > 1 or alone else canvas


def _pen(chart: Lines, place: int) -> dict[str, object]:
    return {"stroke": line_colour(place, chart.colours), "stroke_width": 2}


def _bands(
    canvas: Canvas,
    chart: Lines,
    table: Table,
    names: Sequence[str],
    x_axis: Axis,
    y_axis: Axis,
    corner: tuple[float, float],
) -> None:
    """The intervals of each line as an area behind it."""
    if chart.low is None or chart.high is None:
        return
    for place, name in enumerate(names):
        ends = [
            (float(x), float(low), float(high))
            for row in table.rows
            if cell_text(row[chart.line]) == name
            and isinstance(x := row[chart.x], int | float)
            and isinstance(low := row[chart.low], int | float)
            and isinstance(high := row[chart.high], int | float)
            and (x > 0 or not chart.log_x)
        ]
        if len(ends) < 2:
            continue
        ends.sort()
        outline = [(x, high) for x, _, high in ends] + [(x, low) for x, low, _ in reversed(ends)]
        at = [(x_axis.place(x) - corner[0], y_axis.clamped(y) - corner[1]) for x, y in outline]
        path = "M" + "L".join(f"{short(x)} {short(y)}" for x, y in at) + "Z"
        css, colour = f"{line_class(place)} area", line_colour(place, chart.colours)
        canvas.add("path", css, f"{name}: interval", d=path, fill=colour, fill_opacity=0.15)


def points_of(chart: Lines, table: Table) -> dict[str, list[tuple[float, float]]]:
    """The finite points of every line."""
    lines: dict[str, list[tuple[float, float]]] = {}
    for row in table.rows:
        x, y = row[chart.x], row[chart.y]
        if isinstance(x, int | float) and isinstance(y, int | float) and math.isfinite(x) and math.isfinite(y):
            lines.setdefault(cell_text(row[chart.line]), []).append((float(x), float(y)))
    return lines


def domains(chart: Lines, table: Table) -> tuple[float, float, float, float]:
    """The limits of both axes: those of the chart, else those of the points."""
    points = [point for line in points_of(chart, table).values() for point in line]
    x = chart.x_domain or padded_domain([x for x, _ in points], chart.log_x)
    return (*x, *(chart.y_domain or padded_domain([y for _, y in points], chart.log_y)))


def _legend_inside(canvas: Canvas, chart: Lines, names: Sequence[str], box: tuple[float, float, float, float]) -> None:
    wide, tall = max(map(text_width, names)) + 48, 18.0 * len(names) + 8
    x = box[0] + 8 if chart.legend == "upper left" else box[2] - wide - 8
    y = box[1] + 8 if chart.legend == "upper left" else box[3] - tall - 8
    canvas.add("rect", "paper", x=x, y=y, width=wide, height=tall, fill="#ffffff", fill_opacity=0.85, stroke="#cccccc")
    for place, name in enumerate(names):
        at = y + 18 * place + 17
        line_sample(canvas, place, (x + 8, x + 30, at - 4), line_colour(place, chart.colours), 2.5)
        canvas.words(x + 38, at, name, "label", anchor="start", fill=INK)
