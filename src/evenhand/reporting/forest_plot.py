"""Forest plots: a row per group with its point, its interval and its value."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evenhand.core.page import Cell, Forest, Interval, Table
from evenhand.reporting.axes import Axis, bottom_axis, padded_span
from evenhand.reporting.canvas import (
    INK,
    SOFT,
    TONES,
    Canvas,
    add_legend,
    escape,
    line_class,
    line_colour,
    short,
    shortened,
    text_width,
)
from evenhand.reporting.rounding import cell as cell_text

_LANE = 18.0  # pixels of a lane of brackets
MOST_LABELLED = 60  # rows beyond which a forest plot has no labels


@dataclass(frozen=True)
class _ForestRow:
    """One point of a forest plot: where it is, what it says, how it looks."""

    name: str
    count: str
    text: str
    point: Interval
    line: int
    series: int | None
    tone: str
    muted: bool
    swatch: str

    @property
    def wide(self) -> float:
        """About how wide its label is; that of a disadvantaged group is bold."""
        return text_width(self.name) * (1.12 if self.tone == "worse" else 1.0) + self.count_width

    @property
    def count_width(self) -> float:
        """About how wide its n is, with the space before it."""
        return text_width(f"  {self.count}") if self.count else 0.0

    @property
    def css(self) -> str:
        if self.series is not None:
            return line_class(self.series)
        return "muted" if self.muted else self.tone or "estimate"

    @property
    def colour(self) -> str:
        if self.series is not None:
            return line_colour(self.series)
        return TONES["muted" if self.muted else self.tone]


def draw_forest(chart: Forest, table: Table, width: int) -> Canvas:
    """Rows with points and intervals, their values written at the right where there is space."""
    at = chart.series
    series = list(dict.fromkeys(cell_text(row[at]) for row in table.rows)) if at is not None else []
    rows = _forest_rows(replace(chart, count=None) if width < 500 else chart, table, series)
    count = max((row.line for row in rows), default=-1) + 1
    many, narrow = count > MOST_LABELLED, width < 500
    step = max(460 / max(count, 1), 2.0) if many else 26.0
    space = 20.0 if any(chart.swatches) else 0.0
    longest = max((row.wide for row in rows), default=0.0)
    left = 8.0 if many else min(longest + space + 14, width * (0.46 if narrow else 0.44))
    right = 14.0 if many or narrow or series else 1.08 * max((text_width(row.text) for row in rows), default=0.0) + 18
    lanes = [] if many else _bracket_lanes(chart.brackets)
    right += max((lane + 1 for lane in lanes), default=0) * _LANE
    top, bottom = 6.0, 6.0 + count * step
    is_difference = any(row.point.unit == "points" for row in rows)
    span = chart.domain or _forest_span(chart, rows)
    axis = Axis(*span, left, width - right, percent=chart.percent, suffix="" if is_difference else " %")
    canvas = Canvas(width, bottom + (40.0 if chart.axis else 26.0))
    bottom_axis(canvas, axis, top, bottom, f"{chart.axis} (points)" if is_difference and chart.axis else chart.axis)
    _reference(canvas, chart, axis, top, bottom)
    labelled: set[int] = set()
    for row in rows:
        middle = top + (row.line + 0.5) * step
        y = middle
        if row.series is not None:
            y += (row.series - (len(series) - 1) / 2) * step / (len(series) + 1)
        if not many and row.line not in labelled:
            labelled.add(row.line)
            if row.swatch:
                place: dict[str, object] = {"x": 2.0, "y": y - 7, "width": 14, "height": 14, "rx": 3}
                canvas.add("rect", "swatch", "", **place, fill=row.swatch, stroke=SOFT)
            _row_label(canvas, row, left - 10, middle + 4, left - 12 - space)
        _interval_mark(canvas, axis, row, y, series, many=many)
        if right > 20 and row.point.value is not None:
            fill = SOFT if row.muted else INK
            canvas.words(width - right + 8, y + 4, row.text, "value", anchor="start", fill=fill)
    for (first, second, mark), lane in zip(chart.brackets, lanes, strict=False):
        _bracket(canvas, width - (max(lanes) - lane + 1) * _LANE, step, top, (first, second), mark)
    return add_legend(canvas, series, (), left) if series else canvas


def _forest_rows(chart: Forest, table: Table, series: list[str]) -> list[_ForestRow]:
    lines: dict[str, int] = {}
    rows = []
    for place, row in enumerate(table.rows):
        name = cell_text(row[chart.label])
        line = lines.setdefault(name, len(lines)) if series else place
        point = _interval(row[chart.value])
        text = cell_text(replace(point, unit=point.unit or ("%" if chart.percent else "")))
        count = "" if chart.count is None else f"n = {cell_text(row[chart.count])}"
        of = series.index(cell_text(row[chart.series])) if chart.series is not None else None
        tone = chart.tones[place] if place < len(chart.tones) else ""
        swatch = chart.swatches[place] if place < len(chart.swatches) else ""
        rows.append(_ForestRow(name, count, text, point, line, of, tone, place in table.muted, swatch))
    return rows


def _bracket_lanes(brackets: Sequence[tuple[int, int, str]]) -> list[int]:
    """The lane of each bracket, so that those that share rows lie side by side."""
    taken: list[list[tuple[int, int]]] = []
    lanes = []
    for first, second, _ in brackets:
        low, high = sorted((first, second))
        lane = next((at for at, spans in enumerate(taken) if all(high < a or low > b for a, b in spans)), len(taken))
        if lane == len(taken):
            taken.append([])
        taken[lane].append((low, high))
        lanes.append(lane)
    return lanes


def _bracket(canvas: Canvas, x: float, step: float, top: float, rows: tuple[int, int], mark: str) -> None:
    """A line that joins two rows at the right, with its mark along it."""
    low, high = (top + (row + 0.5) * step for row in sorted(rows))
    path = f"M{short(x)} {short(low)}h4V{short(high)}h-4"
    canvas.add("path", "bracket", mark, d=path, fill="none", stroke=SOFT, stroke_width=1.2)
    middle = (low + high) / 2
    canvas.words(x + 7, middle, mark, "mark", anchor="middle", fill=INK, turn=90)


def _forest_span(chart: Forest, rows: Sequence[_ForestRow]) -> tuple[float, float]:
    ends = [end for row in rows for end in (row.point.value, row.point.low, row.point.high) if end is not None]
    if chart.reference is not None:
        ends += [chart.reference - (chart.margin or 0.0), chart.reference + (chart.margin or 0.0)]
    return padded_span(ends)


def _reference(canvas: Canvas, chart: Forest, axis: Axis, top: float, bottom: float) -> None:
    """The dashed line and its band."""
    if chart.reference is None:
        return
    if chart.margin:
        x0, x1 = axis.place(chart.reference - chart.margin), axis.place(chart.reference + chart.margin)
        band: dict[str, object] = {"x": x0, "y": top, "width": x1 - x0, "height": bottom - top}
        canvas.add("rect", "band", "", **band, fill=SOFT, fill_opacity=0.13)
    x = axis.place(chart.reference)
    ends: dict[str, object] = {"x1": x, "x2": x, "y1": top, "y2": bottom}
    canvas.add("line", "reference", chart.reference_name, **ends, stroke=SOFT, stroke_dasharray="4 3")


def _interval_mark(canvas: Canvas, axis: Axis, row: _ForestRow, y: float, series: Sequence[str], *, many: bool) -> None:
    point = row.point
    if point.value is None:
        return
    name = row.name if row.series is None else f"{row.name}, {series[row.series]}"
    about = f"{name} {row.count}: {row.text}" if row.count else f"{name}: {row.text}"
    if point.low is not None and point.high is not None:
        pen: dict[str, object] = {"stroke": row.colour, "stroke_width": 1.0 if many else 2.5}
        x1, x2 = axis.clamped(point.low), axis.clamped(point.high)
        canvas.add("line", row.css, about, x1=x1, x2=x2, y1=y, y2=y, **pen)
        for x, is_beyond, step in ((x1, point.low < axis.low, 6), (x2, point.high > axis.high, -6)):
            if is_beyond:  # an arrow: the interval goes on
                head = f"M{short(x + step)} {short(y - 4)}L{short(x)} {short(y)}L{short(x + step)} {short(y + 4)}"
                canvas.add(
                    "path", f"{row.css} beyond", "the interval goes on beyond the axis", d=head, fill="none", **pen
                )
    _point(canvas, row, axis.clamped(point.value), y, 2.0 if many else 5.0, about)


def _point(canvas: Canvas, row: _ForestRow, x: float, y: float, size: float, about: str) -> None:
    """A circle; a triangle that points down for worse and up for better; hollow where the group is not compared."""
    fill, css = ("#ffffff", f"{row.css} hollow") if row.muted else (row.colour, row.css)
    pen: dict[str, object] = {"fill": fill, "stroke": row.colour, "stroke_width": 2.0 if row.muted else 1.0}
    if row.tone not in ("worse", "better"):
        canvas.add("circle", css, about, cx=x, cy=y, r=size, **pen)
        return
    sign = 1 if row.tone == "worse" else -1
    corners = ((x - 1.15 * size, y - sign * size), (x + 1.15 * size, y - sign * size), (x, y + sign * 1.1 * size))
    canvas.add("path", css, about, d="M" + "L".join(f"{short(a)} {short(b)}" for a, b in corners) + "Z", **pen)


def _row_label(canvas: Canvas, row: _ForestRow, x: float, y: float, space: float) -> None:
    shown = row.name if row.wide <= space + 2 else shortened(row.name, space - row.count_width)
    look: dict[str, object] = {"class": "label muted" if row.muted else "label", "fill": SOFT if row.muted else INK}
    canvas.open("text", x=x, y=y, text_anchor="end", font_weight="600" if row.tone == "worse" else None, **look)
    canvas.parts.append(escape(shown))
    if row.count:
        canvas.open("tspan", **{"class": "count"}, dx=7, fill=SOFT, font_weight="400")
        canvas.parts.append(f"{escape(row.count)}</tspan>")
    if shown != row.name:
        canvas.parts.append(f"<title>{escape(row.name)}</title>")
    canvas.close("text")


def _interval(value: Cell) -> Interval:
    if not isinstance(value, Interval):
        value = Interval(float(value)) if isinstance(value, int | float) else Interval(None)
    return replace(value, value=_finite(value.value), low=_finite(value.low), high=_finite(value.high))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
