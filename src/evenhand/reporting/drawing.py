"""Figures as SVG, drawn here and nowhere else: for pages, PDF and files."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

from evenhand.core.errors import MissingExtraError, OptionError
from evenhand.core.page import Figure, Forest, Interval, Lines, Matrix, Table
from evenhand.reporting.canvas import INK, SOFT, Canvas, shortened, text_width
from evenhand.reporting.forest_plot import draw_forest
from evenhand.reporting.line_chart import draw_lines
from evenhand.reporting.rounding import cell as cell_text

WIDE, NARROW = 880, 340  # pixels

FILE_FORMATS = (".pdf", ".svg", ".png", ".eps", ".jpg", ".jpeg")


def svg(figure: Figure, width: int = WIDE, *, alone: bool = False) -> str:
    """The figure as SVG of a width in pixels; `alone`: as a file, on white paper, with its legend."""
    chart, table = figure.chart, figure.data
    if isinstance(chart, Forest):
        canvas = draw_forest(chart, table, width)
    elif isinstance(chart, Lines):
        canvas = draw_lines(chart, table, width, alone=alone, heading=figure.title)
    else:
        canvas = _draw_matrix(chart, table, width)
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
        from PIL import Image

        buffer = io.BytesIO()
        Image.open(io.BytesIO(picture(drawn, "png"))).convert("RGB").save(buffer, "jpeg", quality=95)
        return buffer.getvalue()
    try:
        import typst
    except ImportError:
        raise MissingExtraError(f"A figure as {form.upper()} needs typst", "pdf") from None
    literal = drawn.replace("\\", "\\\\").replace('"', '\\"')
    source = f'#set page(width: auto, height: auto, margin: 0pt)\n#image(bytes("{literal}"), format: "svg")'
    data = source.encode("utf-8")
    return bytes(typst.compile(data, format="png", ppi=192.0) if form == "png" else typst.compile(data))


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
        box: dict[str, object] = {"x": x + 1, "y": y + 1, "width": size - 2, "height": step - 2, "rx": 3}
        canvas.add("rect", "matrix-paper", "", **box, fill="#eef4fa")
        box |= {"fill_opacity": round(weight, 3), "data_row": rows[line], "data_column": columns[column]}
        canvas.add("rect", "matrix-cell", about, **box, fill="#0b4f8a")
        if value is not None and (value > 0 or len(columns) <= 8):
            text = _percent(value) if not narrow else _percent(value).replace(" %", "")
            css, fill = ("on-far", "#ffffff") if weight > 0.5 else ("on-near", INK)
            canvas.words(x + size / 2, y + step / 2 + 4, text, css, anchor="middle", fill=fill, pointer_events="none")
    return canvas


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.0f} %"
