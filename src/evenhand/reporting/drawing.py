"""Figures as SVG, drawn here and nowhere else: for pages, PDF and files.

Every mark carries the colours of light paper as attributes, so a figure is right where styles are not applied (mail,
strict content security policies), and classes by which a page gives it the colours of dark paper. A mark says in
its `title` what it shows. Colours can be distinguished with red–green colour blindness; lines beyond the
eighth differ by dashes as well.
"""

from __future__ import annotations

import importlib.util
import io
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from xml.sax.saxutils import escape as _xml_escape

from evenhand.core.errors import MissingExtraError, OptionError
from evenhand.core.page import Cell, Figure, Forest, Interval, Lines, Matrix, Table
from evenhand.reporting.rounding import cell as cell_text
from evenhand.reporting.rounding import number

WIDE, NARROW = 880, 340  # pixels
LINE_COLOURS = ("#308fc4", "#803403", "#24905f", "#451249", "#2717d5", "#9f8125", "#230a12", "#24768f")
DARK_LINE_COLOURS = ("#2a9df9", "#e29366", "#49d4b6", "#d829a3", "#8156e1", "#eaeba0", "#f43944", "#29efe3")
DASHES = ("", "6 3", "2 2", "8 3 2 3")
_LANE = 18.0  # pixels of a lane of brackets
MOST_LABELLED = 60  # rows beyond which a forest plot has no labels
FILE_FORMATS = (".pdf", ".svg", ".png", ".eps", ".jpg", ".jpeg")
FONT = "ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Liberation Sans', 'DejaVu Sans', Arial, sans-serif"

_INK, _SOFT, _RULE = "#1d2429", "#55616a", "#dfe4e8"
_TONES = {"worse": "#b5480a", "better": "#0a7a5c", "": "#0b5fa5", "muted": "#6b7780"}


def svg(figure: Figure, width: int = WIDE, *, alone: bool = False) -> str:
    """The figure as SVG of a width in pixels; `alone`: as a file, on white paper, with its legend."""
    chart, table = figure.chart, figure.data
    if isinstance(chart, Forest):
        canvas = _forest(chart, table, width)
    elif isinstance(chart, Lines):
        canvas = _lines(chart, table, width, alone=alone, heading=figure.title)
    else:
        canvas = _matrix(chart, table, width)
    return canvas.text(figure.title, alone=alone)


def write_figure(figure: Figure, path: Path, width: int = WIDE) -> None:
    """Write the figure in the format that the name of the file tells; PNG, JPEG and PDF need typst."""
    from evenhand.files.writing import write_file

    check_format(path)
    form = path.suffix.lower().removeprefix(".")
    write_file(path, picture(svg(figure, width, alone=True), form))


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
        return _jpeg(picture(drawn, "png"))
    try:
        import typst
    except ImportError:
        raise MissingExtraError(f"A figure as {form.upper()} needs typst", "pdf") from None
    literal = drawn.replace("\\", "\\\\").replace('"', '\\"')
    source = f'#set page(width: auto, height: auto, margin: 0pt)\n#image(bytes("{literal}"), format: "svg")'
    data = source.encode("utf-8")
    made = typst.compile(data, format="png", ppi=192.0) if form == "png" else typst.compile(data)
    return bytes(made)


def _jpeg(png: bytes) -> bytes:
    from PIL import Image

    buffer = io.BytesIO()
    Image.open(io.BytesIO(png)).convert("RGB").save(buffer, "jpeg", quality=95)
    return buffer.getvalue()


# Charts


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
        return _wide(self.name) * (1.12 if self.tone == "worse" else 1.0) + self.count_width

    @property
    def count_width(self) -> float:
        """About how wide its n is, with the space before it."""
        return _wide(f"  {self.count}") if self.count else 0.0

    @property
    def css(self) -> str:
        if self.series is not None:
            return f"line{self.series % len(LINE_COLOURS)}"
        return "muted" if self.muted else self.tone or "estimate"

    @property
    def colour(self) -> str:
        if self.series is not None:
            return LINE_COLOURS[self.series % len(LINE_COLOURS)]
        return _TONES["muted" if self.muted else self.tone]


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


def _forest(chart: Forest, table: Table, width: int) -> _Canvas:
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
    right = 14.0 if many or narrow or series else 1.08 * max((_wide(row.text) for row in rows), default=0.0) + 18
    lanes = [] if many else _bracket_lanes(chart.brackets)
    right += max((lane + 1 for lane in lanes), default=0) * _LANE
    top, bottom = 6.0, 6.0 + count * step
    axis = _Axis(*(chart.domain or _forest_span(chart, rows)), left, width - right, percent=chart.percent)
    canvas = _Canvas(width, bottom + (40.0 if chart.axis else 26.0))
    _bottom_axis(canvas, axis, top, bottom, chart.axis)
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
                canvas.add("rect", "swatch", "", **place, fill=row.swatch, stroke=_SOFT)
            _row_label(canvas, row, left - 10, middle + 4, left - 12 - space)
        _interval_mark(canvas, axis, row, y, series, many=many)
        if right > 20 and row.point.value is not None:
            fill = _SOFT if row.muted else _INK
            canvas.words(width - right + 8, y + 4, row.text, "value", anchor="start", fill=fill)
    for (first, second, mark), lane in zip(chart.brackets, lanes, strict=False):
        _bracket(canvas, width - (max(lanes) - lane + 1) * _LANE, step, top, (first, second), mark)
    return _with_legend(canvas, series, (), left) if series else canvas


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


def _bracket(canvas: _Canvas, x: float, step: float, top: float, rows: tuple[int, int], mark: str) -> None:
    """A line that joins two rows at the right, with its mark along it."""
    low, high = (top + (row + 0.5) * step for row in sorted(rows))
    path = f"M{_short(x)} {_short(low)}h4V{_short(high)}h-4"
    canvas.add("path", "bracket", mark, d=path, fill="none", stroke=_SOFT, stroke_width=1.2)
    middle = (low + high) / 2
    turned = f"rotate(90 {_short(x + 7)} {_short(middle)})"
    canvas.words(x + 7, middle, mark, "mark", anchor="middle", fill=_INK, transform=turned)


def _forest_span(chart: Forest, rows: Sequence[_ForestRow]) -> tuple[float, float]:
    ends = [end for row in rows for end in (row.point.value, row.point.low, row.point.high) if end is not None]
    if chart.reference is not None:
        ends += [chart.reference - (chart.margin or 0.0), chart.reference + (chart.margin or 0.0)]
    return _span(ends)


def _reference(canvas: _Canvas, chart: Forest, axis: _Axis, top: float, bottom: float) -> None:
    """The dashed line and its band."""
    if chart.reference is None:
        return
    if chart.margin:
        x0, x1 = axis.place(chart.reference - chart.margin), axis.place(chart.reference + chart.margin)
        band: dict[str, object] = {"x": x0, "y": top, "width": x1 - x0, "height": bottom - top}
        canvas.add("rect", "band", "", **band, fill=_SOFT, fill_opacity=0.13)
    x = axis.place(chart.reference)
    ends: dict[str, object] = {"x1": x, "x2": x, "y1": top, "y2": bottom}
    canvas.add("line", "reference", chart.reference_name, **ends, stroke=_SOFT, stroke_dasharray="4 3")


def _interval_mark(
    canvas: _Canvas, axis: _Axis, row: _ForestRow, y: float, series: Sequence[str], *, many: bool
) -> None:
    point = row.point
    if point.value is None:
        return
    name = row.name if row.series is None else f"{row.name}, {series[row.series]}"
    about = f"{name} {row.count}: {row.text}" if row.count else f"{name}: {row.text}"
    if point.low is not None and point.high is not None:
        ends: dict[str, object] = {"x1": axis.clamped(point.low), "x2": axis.clamped(point.high), "y1": y, "y2": y}
        canvas.add("line", row.css, about, **ends, stroke=row.colour, stroke_width=1.0 if many else 2.5)
    _point(canvas, row, axis.clamped(point.value), y, 2.0 if many else 5.0, about)


def _lines(chart: Lines, table: Table, width: int, *, alone: bool, heading: str = "") -> _Canvas:
    """Curves with their axes; points that a logarithmic axis has no place for are left out."""
    wide, tall = chart.size or (float(width), 360.0 if width > 500 else 300.0)
    left, right, top, bottom = 56.0, 14.0, 34.0 if chart.framed and heading else 10.0, 44.0
    lines = points_of(chart, table)
    x_low, x_high, y_low, y_high = domains(chart, table)
    x_axis = _Axis(x_low, x_high, left, wide - right, log=chart.log_x)
    y_axis = _Axis(y_low, y_high, tall - bottom, top, log=chart.log_y)
    canvas = _Canvas(wide, tall)
    _bottom_axis(canvas, x_axis, top, tall - bottom, table.columns[chart.x], decades_only=chart.framed)
    _left_axis(canvas, y_axis, left, wide - right, table.columns[chart.y])
    if chart.framed:
        canvas.words((left + wide - right) / 2, 18, heading, "label", anchor="middle", fill=_INK, font_size=14)
        box: dict[str, object] = {"x": left, "y": top, "width": wide - right - left, "height": tall - bottom - top}
        canvas.add("rect", "frame", "", **box, fill="none", stroke=_SOFT)
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
            path = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in steps)
            css, dash = f"line{place % len(LINE_COLOURS)}", _dash(place)
            pen = {"fill": "none", **_pen(chart, place), "stroke_dasharray": dash}
            canvas.add("path", css, name, d=path, stroke_linejoin="round", data_line=place, **pen)
    canvas.close("svg")
    for name, x, y in chart.points:
        if name in lines and (x > 0 or not chart.log_x) and (y > 0 or not chart.log_y):
            place = list(lines).index(name)
            middle: dict[str, object] = {"cx": x_axis.place(x), "cy": y_axis.place(y), "r": 4.0}
            css, about = f"line{place % len(LINE_COLOURS)} hollow", f"{name}: {number(y)} at {number(x)}"
            canvas.add("circle", css, about, **middle, fill="#ffffff", **_pen(chart, place))
    if len(lines) > 1 and chart.legend in ("upper left", "lower right"):
        _legend_inside(canvas, chart, list(lines), (left, top, wide - right, tall - bottom))
        return canvas
    return _with_legend(canvas, list(lines), chart.colours, left) if len(lines) > 1 or alone else canvas


def _pen(chart: Lines, place: int) -> dict[str, object]:
    return {"stroke": _line_colour(chart, place), "stroke_width": 2}


def _bands(
    canvas: _Canvas,
    chart: Lines,
    table: Table,
    names: Sequence[str],
    x_axis: _Axis,
    y_axis: _Axis,
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
        path = "M" + "L".join(f"{_short(x)} {_short(y)}" for x, y in at) + "Z"
        css, colour = f"line{place % len(LINE_COLOURS)} area", _line_colour(chart, place)
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
    x = chart.x_domain or _domain([x for x, _ in points], chart.log_x)
    return (*x, *(chart.y_domain or _domain([y for _, y in points], chart.log_y)))


def _matrix(chart: Matrix, table: Table, width: int) -> _Canvas:
    """Cells coloured by the share of their row; the share in the cell, the count in its title."""
    rows = list(dict.fromkeys(cell_text(row[chart.row]) for row in table.rows))
    columns = list(dict.fromkeys(cell_text(row[chart.column]) for row in table.rows))
    narrow = width < 500
    left = min(max(map(_wide, rows), default=0.0) + 34, width * 0.4)
    size = min((width - left - 8) / max(len(columns), 1), 96.0)
    step = 40.0 if len(rows) <= 8 else 30.0
    turned = max(map(_wide, columns), default=0.0) > size - 6
    top = (min(max(map(_wide, columns), default=0.0) * 0.75, 110.0) + 34.0) if turned else 46.0
    canvas = _Canvas(width, top + step * len(rows) + 8)
    canvas.words(left + size * len(columns) / 2, 14, table.columns[chart.column], "axis", anchor="middle", fill=_SOFT)
    middle = top + step * len(rows) / 2
    canvas.words(
        12,
        middle,
        table.columns[chart.row],
        "axis",
        anchor="middle",
        fill=_SOFT,
        transform=f"rotate(-90 12 {_short(middle)})",
    )
    for at, name in enumerate(columns):
        x = left + (at + 0.5) * size
        if turned:
            canvas.words(
                x,
                top - 8,
                _cut(name, 140),
                "label",
                anchor="start",
                fill=_INK,
                transform=f"rotate(-45 {_short(x)} {_short(top - 8)})",
            )
        else:
            canvas.words(x, top - 8, _cut(name, size), "label", anchor="middle", fill=_INK)
    for at, name in enumerate(rows):
        canvas.words(left - 8, top + (at + 0.5) * step + 4, _cut(name, left - 30), "label", anchor="end", fill=_INK)
    for row in table.rows:
        line, column = rows.index(cell_text(row[chart.row])), columns.index(cell_text(row[chart.column]))
        share = row[chart.share]
        value = share.value if isinstance(share, Interval) else share if isinstance(share, float) else None
        x, y = left + column * size, top + line * step
        about = f"{rows[line]} → {columns[column]}: {cell_text(row[chart.count])} ({_percent(value)} of the row)"
        weight = 0.0 if value is None else value
        canvas.add("rect", "matrix-paper", x=x + 1, y=y + 1, width=size - 2, height=step - 2, rx=3, fill="#eef4fa")
        extra = {"data_row": rows[line], "data_column": columns[column]}
        canvas.add(
            "rect",
            "matrix-cell",
            about,
            x=x + 1,
            y=y + 1,
            width=size - 2,
            height=step - 2,
            rx=3,
            fill="#0b4f8a",
            fill_opacity=round(weight, 3),
            **extra,
        )
        if value is not None and (value > 0 or len(columns) <= 8):
            text = _percent(value) if not narrow else _percent(value).replace(" %", "")
            css, fill = ("on-far", "#ffffff") if weight > 0.5 else ("on-near", _INK)
            canvas.words(x + size / 2, y + step / 2 + 4, text, css, anchor="middle", fill=fill, pointer_events="none")
    return canvas


# Axes


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    start: float  # pixels
    end: float
    log: bool = False
    percent: bool = False

    def place(self, value: float) -> float:
        low, high, at = (math.log10(part) if self.log else part for part in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def clamped(self, value: float) -> float:
        """The place of a value, at the end of the axis where it lies beyond it."""
        return self.place(min(max(value, self.low), self.high))

    def ticks(self) -> list[tuple[float, str]]:
        most = max(int(abs(self.end - self.start) / 70), 2)
        values = log_ticks(self.low, self.high) if self.log else linear_ticks(self.low, self.high, most)
        if self.percent:
            return [(value, f"{number(100 * value, 10).rstrip('0').rstrip('.')} %") for value in values]
        return [(value, tick_text(value)) for value in values]


def linear_ticks(low: float, high: float, most: int = 8) -> list[float]:
    """Round numbers between two limits.

    >>> linear_ticks(0.0, 1.0, 5)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    rough = (high - low) / max(most, 1)
    if not rough > 0:
        return [low]
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * part for part in (1, 2, 5, 10) if power * part >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [round(place * step, 12) for place in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Powers of ten between two limits; where there are fewer than two, 1, 2 and 5 times them.

    >>> log_ticks(1e-3, 1.0)
    [0.001, 0.01, 0.1, 1.0]
    """
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    tens = [10.0**power for power in powers if low * 0.999 <= 10.0**power <= high * 1.001]
    if len(tens) >= 3:
        return tens[:: max(len(tens) // 7, 1)]
    return [
        value for power in powers for part in (1, 2, 5) if low * 0.999 <= (value := part * 10.0**power) <= high * 1.001
    ]


def tick_text(value: float) -> str:
    """A number at an axis.

    >>> tick_text(0.2), tick_text(1e-5), tick_text(1000000.0), tick_text(-0.5)
    ('0.2', '1e-5', '1e6', '−0.5')
    """
    if value and not 1e-4 <= abs(value) < 1e5:
        digits, _, power = f"{value:.3g}".partition("e")
        text = f"{digits}e{int(power)}" if power else f"{value:.3g}"
        if not power:
            digits, _, power = f"{value:e}".partition("e")
            text = f"{float(digits):g}e{int(power)}"
        return text.replace("-", "−", 1) if value < 0 else text
    return f"{value:.6g}".replace("-", "−")


def _bottom_axis(
    canvas: _Canvas, axis: _Axis, top: float, bottom: float, title: str, *, decades_only: bool = False
) -> None:
    for value, text in axis.ticks():
        x = axis.place(value)
        if not (decades_only and axis.log) or math.isclose(math.log10(value) % 1, 0, abs_tol=1e-9):
            canvas.add("line", "grid", x1=x, x2=x, y1=top, y2=bottom, stroke=_RULE)
        anchor = "end" if x > axis.end - 12 else "middle"
        canvas.words(x, bottom + 17, text, "tick", anchor=anchor, fill=_SOFT)
    if title:
        canvas.words((axis.start + axis.end) / 2, bottom + 36, title, "axis", anchor="middle", fill=_INK)


def _left_axis(canvas: _Canvas, axis: _Axis, left: float, right: float, title: str) -> None:
    for value, text in axis.ticks():
        y = axis.place(value)
        canvas.add("line", "grid", x1=left, x2=right, y1=y, y2=y, stroke=_RULE)
        canvas.words(left - 7, y + 4, text, "tick", anchor="end", fill=_SOFT)
    middle = (axis.start + axis.end) / 2
    canvas.words(13, middle, title, "axis", anchor="middle", fill=_INK, transform=f"rotate(-90 13 {_short(middle)})")


# Marks


class _Canvas:
    """SVG elements, one after the other; everything that is text in it is escaped."""

    def __init__(self, width: float, height: float) -> None:
        self.width, self.height = width, height
        self.parts: list[str] = []

    def add(self, tag: str, css: str = "", title: str = "", **attributes: object) -> None:
        """One element; with a title it says what it shows."""
        text = f"<{tag}{_attributes({'class': css or None, **attributes})}"
        self.parts.append(f"{text}><title>{escape(title)}</title></{tag}>" if title else f"{text}/>")

    def words(self, x: float, y: float, text: str, css: str, *, anchor: str, **attributes: object) -> None:
        """A line of text."""
        known = {"class": css, "x": x, "y": y, "text_anchor": None if anchor == "start" else anchor, **attributes}
        self.parts.append(f"<text{_attributes(known)}>{escape(text)}</text>")

    def open(self, tag: str, **attributes: object) -> None:
        """The beginning of an element around others."""
        self.parts.append(f"<{tag}{_attributes(attributes)}>")

    def close(self, tag: str) -> None:
        """Its end."""
        self.parts.append(f"</{tag}>")

    def text(self, title: str, *, alone: bool) -> str:
        """The whole drawing."""
        size = {
            "width": self.width,
            "height": self.height,
            "viewBox": f"0 0 {_short(self.width)} {_short(self.height)}",
        }
        if alone:
            paper = f'<rect width="{_short(self.width)}" height="{_short(self.height)}" fill="#ffffff"/>'
            named = f"<title>{escape(title)}</title>" if title else ""
            head = {"xmlns": "http://www.w3.org/2000/svg", **size, "font_family": FONT, "font_size": 12}
            return f"<svg{_attributes(head)}>{named}{paper}{''.join(self.parts)}</svg>\n"
        head = {"class": "plot", **size, "font_family": FONT, "font_size": 12, "aria_hidden": "true"}
        return f"<svg{_attributes(head)}>{''.join(self.parts)}</svg>"


def escape(text: str) -> str:
    """Text that is only text in SVG; control characters are replaced.

    >>> escape('a<b>&"' + chr(27))
    'a&lt;b&gt;&amp;&quot;�'
    """
    safe = "".join(char if char.isprintable() or char in "\n\N{NO-BREAK SPACE}" else "�" for char in text)
    return _xml_escape(safe, {'"': "&quot;"})


def _attributes(given: dict[str, object]) -> str:
    parts = []
    for name, value in given.items():
        if value is None:
            continue
        text = _short(value) if isinstance(value, float) else str(value)
        parts.append(f' {name if name == "viewBox" else name.replace("_", "-")}="{escape(text)}"')
    return "".join(parts)


def _point(canvas: _Canvas, row: _ForestRow, x: float, y: float, size: float, about: str) -> None:
    """A circle; a triangle that points down for worse and up for better; hollow where the group is not compared."""
    fill, css = ("#ffffff", f"{row.css} hollow") if row.muted else (row.colour, row.css)
    pen: dict[str, object] = {"fill": fill, "stroke": row.colour, "stroke_width": 2.0 if row.muted else 1.0}
    if row.tone not in ("worse", "better"):
        canvas.add("circle", css, about, cx=x, cy=y, r=size, **pen)
        return
    sign = 1 if row.tone == "worse" else -1
    corners = ((x - 1.15 * size, y - sign * size), (x + 1.15 * size, y - sign * size), (x, y + sign * 1.1 * size))
    canvas.add("path", css, about, d="M" + "L".join(f"{_short(a)} {_short(b)}" for a, b in corners) + "Z", **pen)


def _row_label(canvas: _Canvas, row: _ForestRow, x: float, y: float, space: float) -> None:
    shown = row.name if row.wide <= space + 2 else _cut(row.name, space - row.count_width)
    look: dict[str, object] = {"class": "label muted" if row.muted else "label", "fill": _SOFT if row.muted else _INK}
    canvas.open("text", x=x, y=y, text_anchor="end", font_weight="600" if row.tone == "worse" else None, **look)
    canvas.parts.append(escape(shown))
    if row.count:
        canvas.open("tspan", **{"class": "count"}, dx=7, fill=_SOFT, font_weight="400")
        canvas.parts.append(f"{escape(row.count)}</tspan>")
    if shown != row.name:
        canvas.parts.append(f"<title>{escape(row.name)}</title>")
    canvas.close("text")


def _with_legend(canvas: _Canvas, names: Sequence[str], colours: Sequence[str], left: float) -> _Canvas:
    x, y = left, canvas.height + 14
    for place, name in enumerate(names):
        shown = _cut(name, canvas.width - left - 40)
        if x > left and x + 30 + _wide(shown) > canvas.width:
            x, y = left, y + 20
        colour = colours[place % len(colours)] if colours else LINE_COLOURS[place % len(LINE_COLOURS)]
        dash = _dash(place)
        canvas.add(
            "line",
            f"line{place % len(LINE_COLOURS)} legend",
            x1=x,
            x2=x + 20,
            y1=y - 4,
            y2=y - 4,
            stroke=colour,
            stroke_width=3,
            stroke_dasharray=dash,
        )
        canvas.words(x + 26, y, shown, "label legend", anchor="start", fill=_INK)
        x += 42 + _wide(shown)
    canvas.height = y + 8
    return canvas


def _legend_inside(canvas: _Canvas, chart: Lines, names: Sequence[str], box: tuple[float, float, float, float]) -> None:
    wide, tall = max(map(_wide, names)) + 48, 18.0 * len(names) + 8
    x = box[0] + 8 if chart.legend == "upper left" else box[2] - wide - 8
    y = box[1] + 8 if chart.legend == "upper left" else box[3] - tall - 8
    canvas.add("rect", "paper", x=x, y=y, width=wide, height=tall, fill="#ffffff", fill_opacity=0.85, stroke="#cccccc")
    for place, name in enumerate(names):
        at = y + 18 * place + 17
        dash = _dash(place)
        canvas.add(
            "line",
            f"line{place % len(LINE_COLOURS)}",
            x1=x + 8,
            x2=x + 30,
            y1=at - 4,
            y2=at - 4,
            stroke=_line_colour(chart, place),
            stroke_width=2.5,
            stroke_dasharray=dash,
        )
        canvas.words(x + 38, at, name, "label", anchor="start", fill=_INK)


def _dash(place: int) -> str | None:
    return DASHES[place // len(LINE_COLOURS) % len(DASHES)] or None


def _line_colour(chart: Lines, place: int) -> str:
    return chart.colours[place % len(chart.colours)] if chart.colours else LINE_COLOURS[place % len(LINE_COLOURS)]


# Numbers and texts


def _interval(value: Cell) -> Interval:
    if not isinstance(value, Interval):
        value = Interval(float(value)) if isinstance(value, int | float) else Interval(None)
    return replace(value, value=_finite(value.value), low=_finite(value.low), high=_finite(value.high))


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _span(ends: Sequence[float]) -> tuple[float, float]:
    """Limits around all ends, a little wider; never beyond 0 and 1 where all ends lie between them."""
    low, high = (min(ends), max(ends)) if ends else (0.0, 1.0)
    pad = (high - low) * 0.04 or max(abs(high), 1.0) * 0.05
    if low >= 0 and high <= 1:
        return max(low - pad, 0.0), min(high + pad, 1.0)
    return low - pad, high + pad


def _domain(values: Sequence[float], log: bool) -> tuple[float, float]:
    usable = [value for value in values if value > 0 or not log]
    low, high = (min(usable), max(usable)) if usable else ((0.001, 1.0) if log else (0.0, 1.0))
    if log:
        low = max(low, high * 1e-8)
        return (low / 10, high) if low >= high else (low, high)
    return (low, high) if high > low else (low - 0.5, low + 0.5)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"


def _short(value: object) -> str:
    return f"{value:.1f}".removesuffix(".0") if isinstance(value, int | float) else str(value)


def _char(char: str) -> float:
    if char in "ijlt.,:;|'()[]fI ":
        return 4.2
    return 11.0 if char in "mwMW%@" else 8.8 if char.isupper() else 7.4


def _wide(text: str) -> float:
    """About how wide a text is, in pixels."""
    return sum(map(_char, text))


def _cut(text: str, space: float) -> str:
    """A text that fits; its end is cut where it does not."""
    if _wide(text) <= space:
        return text
    while text and _wide(text) > space - 8:
        text = text[:-1]
    return text.rstrip() + "…"
