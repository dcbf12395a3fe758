"""A small document for typst: headings, paragraphs, tables, figures. Every text is escaped."""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from pathlib import Path

from evenhand.core.errors import MissingExtraError
from evenhand.reporting.pdf import escape, quoted

_HEAD = """#set document(title: {quoted}, date: none)
#set page(paper: "us-letter", margin: 2cm, numbering: "1")
#set text(size: 10pt)
#set par(justify: false, leading: 0.6em)
#set table(stroke: 0.4pt + gray, inset: 4pt)
#show heading: it => block(above: 1.2em, below: 0.7em, it)
#align(center, text(size: 18pt, weight: "bold")[{title}])
"""


class Document:
    """Typst source, built from top to bottom."""

    def __init__(self, title: str) -> None:
        self._pieces = [_HEAD.format(title=escape(title), quoted=quoted(title))]

    @property
    def text(self) -> str:
        """The source."""
        return "\n".join(self._pieces)

    def heading(self, text: str, level: int = 1) -> None:
        """A heading."""
        self._pieces.append(f"\n{'=' * level} {escape(text)}\n")

    def subheading(self, text: str) -> None:
        """A heading below the others."""
        self.heading(text, level=3)

    def line(self, text: str) -> None:
        """A paragraph."""
        self._pieces.append(escape(text) + "\n")

    def bullet(self, text: str) -> None:
        """One entry of a list."""
        self._pieces.append(f"- {escape(text)}")

    def image(self, name: str) -> None:
        """A figure that lies beside the source."""
        self._pieces.append(f'#align(center, image("{name}", width: 75%))\n')

    def together(self) -> None:
        """What follows stays on one page, until `apart`."""
        self._pieces.append("#block(breakable: false, width: 100%)[")

    def apart(self) -> None:
        """The end of what stays together."""
        self._pieces.append("]\n")

    def facts(self, entries: Mapping[str, str]) -> None:
        """Names and values in two columns, without lines."""
        cells = ", ".join(f"[*{escape(name)}*], [{escape(value)}]" for name, value in entries.items())
        self._pieces.append(f"#table(columns: (auto, 1fr), stroke: none, inset: 3pt, {cells})\n")

    def page(self) -> None:
        """A new page."""
        self._pieces.append("#pagebreak(weak: true)\n")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Rows under a grey header, which is repeated on every page."""
        cells = [f"[#text(size: 8pt)[{escape(cell)}]]" for row in rows for cell in row]
        heads = ", ".join(f"table.cell(fill: luma(225))[#text(size: 8pt)[*{escape(cell)}*]]" for cell in header)
        self._pieces.append(f"#table(columns: {len(header)}, table.header({heads}), {', '.join(cells)})\n")


def plain(cell: str) -> str:
    """A cell of the published table without its markup.

    >>> plain("&#8226; Apparent Skin Color")
    'Apparent Skin Color'
    """
    return html.unescape(cell.replace("<br/>", ", ")).replace("• ", "")


def compile_pdf(source: str, folder: Path, target: Path) -> None:
    """Write the PDF of a source whose figures lie in `folder`."""
    try:
        import typst
    except ImportError:
        raise MissingExtraError("The bias report needs typst", "pdf") from None
    main = folder / "report.typ"
    main.write_text(source, encoding="utf-8")
    content = typst.compile(str(main), root=str(folder))
    target.write_bytes(content)
