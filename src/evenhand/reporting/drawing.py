"""Figures as SVG, drawn here and nowhere else: for pages, PDF and files."""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path

from evenhand.core.errors import MissingExtraError, OptionError
from evenhand.core.page import Figure, Forest, Lines
from evenhand.reporting.forest_plot import draw_forest
from evenhand.reporting.line_chart import draw_lines
from evenhand.reporting.matrix_chart import draw_matrix

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
        canvas = draw_matrix(chart, table, width)
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
