"""Figures as SVG, drawn here and nowhere else: for pages, PDF and files."""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand.core.errors import MissingExtraError, OptionError
from evenhand.core.page import Cell, Figure, Forest, Interval, Lines, Matrix, Table
from evenhand.files.writing import write_file
from evenhand.reporting.canvas import (
    INK,
    SOFT,
    TONES,
    Axis,
    Canvas,
    dash_of,
    escape,
    line_class,
    line_colour,
    padded_domain,
    padded_span,
    path_of,
    short,
    shortened,
    text_width,
)
from evenhand.reporting.rounding import cell as cell_text
from evenhand.reporting.rounding import number

WIDE, NARROW = 880, 340  # pixels
_LANE = 18.0  # pixels of a lane of brackets
MOST_LABELLED = 60  # rows beyond which a forest plot has no labels
FILE_FORMATS = (".pdf", ".svg", ".png", ".eps", ".jpg", ".jpeg")


def svg(figure: Figure, width: int = WIDE, *, alone: bool = False) -> str:
    """The figure as SVG of a width in pixels; `alone`: as a file, on white paper, with its legend."""
    chart, table = figure.chart, figure.data
    if isinstance(chart, Forest):
        canvas = _draw_forest(chart, table, width)
    elif isinstance(chart, Lines):
        canvas = _draw_lines(chart, table, width, alone=alone, heading=figure.title)
    else:
        canvas = _draw_matrix(chart, table, width)
    return canvas.text(figure.title, alone=alone)


def write_figure(figure: Figure, path: Path, width: int = WIDE) -> None:
    """Write the figure in the format that the name of the file tells; PNG, JPEG and PDF need typst."""
    check_format(path)
    write_file(path, picture(svg(figure, width, alone=True), path.suffix.lower().removeprefix(".")))


def check_format(path: Path) -> None:
    """Raise when the name of a figure tells no format, or one that can't be written here."""
    kind = path.suffix.lower()
    if kind not in FILE_FORMATS:
        raise OptionError(f"A figure can be written as {', '.join(FILE_FORMATS)}; {path} is none of them.")
    if kind not in (".svg", ".eps") and importlib.util.find_spec("typst") is None:
        raise MissingExtraError(f"A figure as {kind.removeprefix('.').upper()} needs typst", "pdf")


def picture(drawn: str, form: str) -> bytes:
    """An SVG of ours as the bytes of an SVG, EPS, PNG, JPEG or PDF file."""
    if form == "svg":
        return drawn.encode("utf-8")
    if form == "eps":
        from evenhand.reporting.postscript import eps

        return eps(drawn)
    if form in ("jpg", "jpeg"):
        from PIL import Image

        buffer = io.BytesIO()
        Image.open(io.BytesIO(picture(drawn, "png"))).convert("RGB").save(buffer, "jpeg", quality=95)
        return buffer.getvalue()
    import typst

    literal = drawn.replace("\\", "\\\\").replace('"', '\\"')
    source = f'#set page(width: auto, height: auto, margin: 0pt)\n#image(bytes("{literal}"), format: "svg")'
    data = source.encode("utf-8")
    return bytes(typst.compile(data, format="png", ppi=192.0) if form == "png" else typst.compile(data))


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


def _draw_forest(chart: Forest, table: Table, width: int) -> Canvas:
    """Rows with points and intervals, their values written at the right where there is space."""
    at, narrow = chart.series, width < 500
    series = list(dict.fromkeys(cell_text(row[at]) for row in table.rows)) if at is not None else []
    rows = _forest_rows(replace(chart, count=None) if narrow else chart, table, series)
    count = max((row.line for row in rows), default=-1) + 1
    many = count > MOST_LABELLED
    step = max(460 / max(count, 1), 2.0) if many else 26.0
    space = 20.0 if any(chart.swatches) else 0.0
    longest = max((row.wide for row in rows), default=0.0)
    left = 8.0 if many else min(longest + space + 14, width * (0.46 if narrow else 0.44))
    right = 14.0 if many or narrow or series else 1.08 * max((text_width(row.text) for row in rows), default=0.0) + 18
    lanes = [] if many else _bracket_lanes(chart.brackets)
    right += max((lane + 1 for lane in lanes), default=0) * _LANE
    top, bottom = 6.0, 6.0 + count * step
    is_difference = any(row.point.unit == "points" for row in rows)
    ends = [end for row in rows for end in (row.point.value, row.point.low, row.point.high) if end is not None]
    if chart.reference is not None:
        ends += [chart.reference - (chart.margin or 0.0), chart.reference + (chart.margin or 0.0)]
    span = chart.domain or padded_span(ends)
    axis = Axis(*span, left, width - right, percent=chart.percent, suffix="" if is_difference else " %")
    canvas = Canvas(width, bottom + (40.0 if chart.axis else 26.0))
    canvas.bottom_axis(axis, top, bottom, f"{chart.axis} (points)" if is_difference and chart.axis else chart.axis)
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
                canvas.add("rect", "swatch", x=2.0, y=y - 7, width=14, height=14, rx=3, fill=row.swatch, stroke=SOFT)
            _row_label(canvas, row, left - 10, middle + 4, left - 12 - space)
        _interval_mark(canvas, axis, row, y, series, many=many)
        if right > 20 and row.point.value is not None:
            fill = SOFT if row.muted else INK
            canvas.words(width - right + 8, y + 4, row.text, "value", anchor="start", fill=fill)
    for (first, second, mark), lane in zip(chart.brackets, lanes, strict=False):
        _bracket(canvas, width - (max(lanes) - lane + 1) * _LANE, step, top, (first, second), mark)
    return canvas.legend(series, (), left) if series else canvas


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
    canvas.words(x + 7, (low + high) / 2, mark, "mark", anchor="middle", fill=INK, turn=90)


def _reference(canvas: Canvas, chart: Forest, axis: Axis, top: float, bottom: float) -> None:
    """The dashed line and its band."""
    if chart.reference is None:
        return
    if chart.margin:
        x0, x1 = axis.place(chart.reference - chart.margin), axis.place(chart.reference + chart.margin)
        canvas.add("rect", "band", x=x0, y=top, width=x1 - x0, height=bottom - top, fill=SOFT, fill_opacity=0.13)
    ends = dict.fromkeys(("x1", "x2"), axis.place(chart.reference)) | {"y1": top, "y2": bottom}
    canvas.add("line", "reference", chart.reference_name, **ends, stroke=SOFT, stroke_dasharray="4 3")


def _interval_mark(canvas: Canvas, axis: Axis, row: _ForestRow, y: float, series: Sequence[str], *, many: bool) -> None:
    point = row.point
    if point.value is None:
        return
    name = row.name if row.series is None else f"{row.name}, {series[row.series]}"
    about = f"{name} {row.count}: {row.text}" if row.count else f"{name}: {row.text}"
    if point.low is not None and point.high is not None:
        pen: dict[str, Any] = {"stroke": row.colour, "stroke_width": 1.0 if many else 2.5}
        x1, x2 = axis.clamped(point.low), axis.clamped(point.high)
        canvas.add("line", row.css, about, x1=x1, x2=x2, y1=y, y2=y, **pen)
        for x, is_beyond, step in ((x1, point.low < axis.low, 6), (x2, point.high > axis.high, -6)):
            if is_beyond:  # an arrow: the interval goes on
                head, css = path_of([(x + step, y - 4), (x, y), (x + step, y + 4)]), f"{row.css} beyond"
                canvas.add("path", css, "the interval goes on beyond the axis", d=head, fill="none", **pen)
    _point(canvas, row, axis.clamped(point.value), y, 2.0 if many else 5.0, about)


def _point(canvas: Canvas, row: _ForestRow, x: float, y: float, size: float, about: str) -> None:
    """A circle; a triangle that points down for worse and up for better; hollow where the group is not compared."""
    fill, css = ("#ffffff", f"{row.css} hollow") if row.muted else (row.colour, row.css)
    pen: dict[str, Any] = {"fill": fill, "stroke": row.colour, "stroke_width": 2.0 if row.muted else 1.0}
    if row.tone not in ("worse", "better"):
        canvas.add("circle", css, about, cx=x, cy=y, r=size, **pen)
        return
    sign = 1 if row.tone == "worse" else -1
    corners = ((x - 1.15 * size, y - sign * size), (x + 1.15 * size, y - sign * size), (x, y + sign * 1.1 * size))
    canvas.add("path", css, about, d=path_of(corners) + "Z", **pen)


def _row_label(canvas: Canvas, row: _ForestRow, x: float, y: float, space: float) -> None:
    shown = row.name if row.wide <= space + 2 else shortened(row.name, space - row.count_width)
    look: dict[str, Any] = {"class": "label muted" if row.muted else "label", "fill": SOFT if row.muted else INK}
    canvas.open("text", x=x, y=y, text_anchor="end", font_weight="600" if row.tone == "worse" else None, **look)
    canvas.parts.append(escape(shown))
    if row.count:
        canvas.open("tspan", **{"class": "count"}, dx=7, fill=SOFT, font_weight="400")
        canvas.parts.append(f"{escape(row.count)}</tspan>")
    if shown != row.name:
        canvas.parts.append(f"<title>{escape(row.name)}</title>")
    canvas.close("text")


def _interval(cell: Cell) -> Interval:
    """A cell as a point with its ends, where they are finite."""
    if not isinstance(cell, Interval):
        cell = Interval(float(cell)) if isinstance(cell, int | float) else Interval(None)
    numbers = (cell.value, cell.low, cell.high)
    value, low, high = (end if end is not None and math.isfinite(end) else None for end in numbers)
    return replace(cell, value=value, low=low, high=high)


def _draw_lines(chart: Lines, table: Table, width: int, *, alone: bool, heading: str) -> Canvas:
    """Curves with their axes; points that a logarithmic axis has no place for are left out."""
    wide, tall = chart.size or (float(width), 360.0 if width > 500 else 300.0)
    left, right, top, bottom = 56.0, 14.0, 34.0 if chart.framed and heading else 10.0, 44.0
    lines = points_of(chart, table)
    x_low, x_high, y_low, y_high = domains(chart, table)
    x_axis = Axis(x_low, x_high, left, wide - right, log=chart.log_x)
    y_axis = Axis(y_low, y_high, tall - bottom, top, log=chart.log_y)
    canvas = Canvas(wide, tall)
    canvas.bottom_axis(x_axis, top, tall - bottom, table.columns[chart.x], decades_only=chart.framed)
    canvas.left_axis(y_axis, left, wide - right, table.columns[chart.y])
    box: dict[str, Any] = {"x": left, "y": top, "width": wide - right - left, "height": tall - bottom - top}
    if chart.framed:
        canvas.words((left + wide - right) / 2, 18, heading, "label", anchor="middle", fill=INK, font_size=14)
        canvas.add("rect", "frame", **box, fill="none", stroke=SOFT)
    canvas.open("svg", **box, overflow="hidden")
    _bands(canvas, chart, table, list(lines), x_axis, y_axis)
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
            pen = {"fill": "none", **_pen(chart, place), "stroke_dasharray": dash_of(place)}
            path, css = path_of(steps), line_class(place)
            canvas.add("path", css, name, d=path, stroke_linejoin="round", data_line=place, **pen)
    canvas.close("svg")
    for name, x, y in chart.points:
        if name in lines and (x > 0 or not chart.log_x) and (y > 0 or not chart.log_y):
            place = list(lines).index(name)
            css, about = f"{line_class(place)} hollow", f"{name}: {number(y)} at {number(x)}"
            pen = {"r": 4.0, "fill": "#ffffff", **_pen(chart, place)}
            canvas.add("circle", css, about, cx=x_axis.place(x), cy=y_axis.place(y), **pen)
    return canvas.legend(list(lines), chart.colours, left) if len(lines) > 1 or alone else canvas


def _pen(chart: Lines, place: int) -> dict[str, Any]:
    return {"stroke": line_colour(place, chart.colours), "stroke_width": 2}


def _bands(canvas: Canvas, chart: Lines, table: Table, names: Sequence[str], x_axis: Axis, y_axis: Axis) -> None:
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
        at = [(x_axis.place(x) - x_axis.start, y_axis.clamped(y) - y_axis.end) for x, y in outline]
        css, colour = f"{line_class(place)} area", line_colour(place, chart.colours)
        canvas.add("path", css, f"{name}: interval", d=path_of(at) + "Z", fill=colour, fill_opacity=0.15)


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


def _draw_matrix(chart: Matrix, table: Table, width: int) -> Canvas:
    """Cells coloured by the share of their row; the share in the cell, the count in its title."""
    rows = list(dict.fromkeys(cell_text(row[chart.row]) for row in table.rows))
    columns = list(dict.fromkeys(cell_text(row[chart.column]) for row in table.rows))
    narrow = width < 500
    left = min(max(map(text_width, rows), default=0.0) + 34, width * 0.4)
    size = min((width - left - 8) / max(len(columns), 1), 96.0)
    step = 40.0 if len(rows) <= 8 else 30.0
    turned = max(map(text_width, columns), default=0.0) > size - 6
    top = (min(max(map(text_width, columns), default=0.0) * 0.75, 110.0) + 34.0) if turned else 46.0
    canvas = Canvas(width, top + step * len(rows) + 8)
    canvas.words(left + size * len(columns) / 2, 14, table.columns[chart.column], "axis", anchor="middle", fill=SOFT)
    middle = top + step * len(rows) / 2
    canvas.words(12, middle, table.columns[chart.row], "axis", anchor="middle", fill=SOFT, turn=-90)
    for at, name in enumerate(columns):
        x = left + (at + 0.5) * size
        if turned:
            canvas.words(x, top - 8, shortened(name, 140), "label", anchor="start", fill=INK, turn=-45)
        else:
            canvas.words(x, top - 8, shortened(name, size), "label", anchor="middle", fill=INK)
    for at, name in enumerate(rows):
        canvas.words(left - 8, top + (at + 0.5) * step + 4, shortened(name, left - 30), "label", anchor="end", fill=INK)
    for row in table.rows:
        line, column = rows.index(cell_text(row[chart.row])), columns.index(cell_text(row[chart.column]))
        share = row[chart.share]
        value = share.value if isinstance(share, Interval) else share if isinstance(share, float) else None
        x, y = left + column * size, top + line * step
        about = f"{rows[line]} → {columns[column]}: {cell_text(row[chart.count])} ({_percent(value)} of the row)"
        weight = 0.0 if value is None else value
        box: dict[str, Any] = {"x": x + 1, "y": y + 1, "width": size - 2, "height": step - 2, "rx": 3}
        canvas.add("rect", "matrix-paper", **box, fill="#eef4fa")
        box |= {"fill_opacity": round(weight, 3), "data_row": rows[line], "data_column": columns[column]}
        canvas.add("rect", "matrix-cell", about, **box, fill="#0b4f8a")
        if value is not None and (value > 0 or len(columns) <= 8):
            text = _percent(value) if not narrow else _percent(value).replace(" %", "")
            css, fill = ("on-far", "#ffffff") if weight > 0.5 else ("on-near", INK)
            canvas.words(x + size / 2, y + step / 2 + 4, text, css, anchor="middle", fill=fill, pointer_events="none")
    return canvas


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"
