"""The report as PDF: the same sections, typeset by typst, figures as SVG.

The same run gives the same bytes: no date is in the document, and figures are SVG, since a PDF that is drawn
elsewhere is not the same twice. Long tables are cut, with a line that says where the rest is.
"""

from __future__ import annotations

from pathlib import Path

from evenhand.core.errors import MissingExtraError
from evenhand.core.page import Figure, Section, Table, Text
from evenhand.core.printing import printable
from evenhand.files.writing import write_file
from evenhand.reporting import drawing
from evenhand.reporting.html import Page, asset
from evenhand.reporting.rounding import best_cells, cell, is_number

MOST_ROWS = 60
_SHORT = 15  # rows of a table that stays on the page of its figure
MOST_FIGURES = 40  # per document; the rest keep their tables

_SOFT = 'fill: rgb("#55616a")'
_TONES = {
    "lead": '#text(size: 11.5pt, weight: "medium")[{}]',
    "small": f"#text(size: 8.5pt, {_SOFT})[{{}}]",
    "caution": '#block(stroke: (left: 1.5pt + rgb("#7a4a00")), inset: (left: 6pt, y: 2pt))[{}]',
}


def write_pdf(page: Page, path: Path, *, paper: str = "a4") -> None:
    write_file(path, pdf(page, paper=paper))


def pdf(page: Page, *, paper: str = "a4") -> bytes:
    """A page as PDF; the same page gives the same bytes."""
    try:
        import typst
    except ImportError:
        raise MissingExtraError("The PDF report needs typst", "pdf") from None
    return bytes(typst.compile(source(page, paper=paper).encode("utf-8")))


def source(page: Page, *, paper: str = "a4") -> str:
    """The page as typst source; every text is a string in it, in which nothing is interpreted."""
    pieces = [asset("page.typ").format(title=quoted(page.title), paper=paper)]
    pieces.append(f"#text(size: 9pt, {_SOFT})[{escape(page.kicker or 'evenhand')}]\n")
    pieces.append(f'#text(size: 21pt, weight: "bold")[{escape(page.title)}]\n')
    left = MOST_FIGURES
    for place, article in enumerate(page.articles):
        many = len(page.articles) > 1
        if many:
            pieces.append("#pagebreak(weak: true)\n" if place else "")
            pieces.append(f"= {escape(article.title)} #h(1fr) #text(size: 9pt, {_SOFT})[{escape(article.kicker)}]\n")
        for section in article.sections:
            left = _section(section, 2 if many else 1, pieces, left)
    return "\n".join(pieces)


def _section(section: Section, level: int, pieces: list[str], left: int) -> int:
    pieces.append(f"\n{'=' * level} {escape(section.title)}\n")
    for block in section.blocks:
        if isinstance(block, Text):
            pieces.append(f"{_TONES.get(block.tone, '{}').format(escape(block.text))}\n\n")
        elif isinstance(block, Table):
            pieces.append(_table(block))
        elif left > 0:
            left -= 1
            pieces.append(_figure(block))
        else:
            pieces.append(_table(block.data))
    for inner in section.sections:
        left = _section(inner, level + 1, pieces, left)
    return left


def _figure(figure: Figure) -> str:
    drawn = (
        f'#image(bytes({quoted(drawing.svg(figure, 640, alone=True), keep_lines=True)}), format: "svg", width: 100%)'
    )
    caption = f"#text(size: 8.5pt, {_SOFT})[{escape(figure.caption)}]\n" if figure.caption else ""
    title = f'#text(weight: "bold")[{escape(figure.title)}]'
    table = _table(figure.data, titled=False) if figure.beside else ""
    together = table if len(figure.data.rows) <= _SHORT else ""
    block = f"#block(breakable: false)[{title}\n\n{drawn}\n{caption}{together}]\n"
    return block + ("" if together else table)


def _table(table: Table, *, titled: bool = True) -> str:
    shown = table.rows[:MOST_ROWS]
    count = max(len(table.columns), 1)
    heads = ", ".join(f"[{escape(name)}]" for name in table.columns)
    best = best_cells(table)
    cells: list[str] = []
    for place, row in enumerate(shown):
        style = f'text(style: "italic", {_SOFT})' if place in table.muted else ""
        cells.extend(
            f"{'strong' if (place, at) in best else style}[{escape(cell(value))}]" for at, value in enumerate(row)
        )
    right = [bool(shown) and all(is_number(row[at]) for row in shown) for at in range(len(table.columns))]
    aligned = ", ".join("right" if number else "left" for number in right) + ","
    title = f'#block(sticky: true, text(weight: "bold", size: 9pt)[{escape(table.title)}])\n' if titled else ""
    rules = 'stroke: (x, y) => (bottom: if y == 0 { 0.6pt + rgb("#55616a") } else { 0.3pt + rgb("#dfe4e8") })'
    widths = ", ".join("auto" if number else "1fr" if count <= 2 and at else "auto" for at, number in enumerate(right))
    grid = f"#text(size: 7.6pt)[#table(columns: ({widths},), align: ({aligned}), {rules}, table.header({heads}), "
    grid += ", ".join(cells) + ")]\n"
    more = len(table.rows) - len(shown)
    notes = [f"{more:,} more rows are in the CSV and JSON."] if more else []
    notes += [table.caption] if table.caption else []
    below = "".join(f"#text(size: 8pt, {_SOFT})[{escape(line)}]\n\n" for line in notes)
    return f"{title}{grid}{below}"


def escape(text: str) -> str:
    """A text as a typst string, in which nothing is interpreted.

    >>> escape("a_b *x* [18, 30)")
    '#"a_b *x* [18, 30)"'
    """
    return "#" + quoted(text)


def quoted(text: str, *, keep_lines: bool = False) -> str:
    """A typst string literal; what can't be printed is left out."""
    safe = printable(text, keep="\n" if keep_lines else "", instead="")
    return '"' + safe.replace("\\", "\\\\").replace('"', '\\"') + '"'
