"""Tables and sections as Markdown, and tables for papers as LaTeX that any document class compiles.

The best value of a table is bold where the table says which way is better. In LaTeX a table has a caption and a label;
the rules are those of booktabs where the document loads it, else plain lines.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from evenhand.core.page import Figure, Interval, Section, Table, Text
from evenhand.core.printing import printable
from evenhand.reporting.phrases import WORDING
from evenhand.reporting.rounding import best_cells, cell

PREAMBLE = """% \\usepackage{booktabs} in the preamble gives better rules; without it these are plain lines.
\\providecommand{\\toprule}{\\hline}
\\providecommand{\\midrule}{\\hline}
\\providecommand{\\bottomrule}{\\hline}"""


def latex_tables(tables: Sequence[Table], *, intervals: bool = True) -> str:
    """The tables as a LaTeX file, each with a label of its own."""
    parts, labels = [PREAMBLE], set[str]()
    if unset := sorted(filter(_is_not_set, {text for table in tables for text in _texts(table)})):
        named = "; ".join(f"{printable(text, keep='', instead=' ')} as {_bare(text)}" for text in unset)
        parts.append(f"% Letters that pdfLaTeX has no glyph for are written as a question mark: {named}.")
    for table in tables:
        label = first = label_of(table.title)
        number = 1
        while label in labels:
            number += 1
            label = f"{first}-{number}"
        labels.add(label)
        parts.append(latex_table(table, intervals=intervals, label=label))
    return "\n\n".join(parts) + "\n"


def _texts(table: Table) -> Iterator[str]:
    yield from (table.title, *table.columns)
    yield from (value for row in table.rows for value in row if isinstance(value, str))


def _is_not_set(text: str) -> bool:
    """Whether letters of a text are lost in LaTeX."""
    return _bare(text).count("?") > text.count("?")


def _bare(text: str) -> str:
    return "".join(char if char.isascii() or WORDING["latex"].get(char) else _letter(char) for char in text)


def latex_table(table: Table, *, intervals: bool = True, label: str = "") -> str:
    """The table as a floating `table`, without its intervals where they would make it too wide."""
    sides = [
        "r" if any(isinstance(row[at], int | float | Interval) for row in table.rows) else "l"
        for at in range(len(table.columns))
    ]
    bare = [[replace(v, low=None, high=None) if isinstance(v, Interval) else v for v in row] for row in table.rows]
    shown = table if intervals else replace(table, rows=tuple(map(tuple, bare)))
    caption = latex_text(f"{table.title}. {table.caption}".strip())
    parts = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{{label or label_of(table.title)}}}",
        r"\footnotesize" if len(table.columns) > 5 else r"\small",
        r"\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{{''.join(sides)}}}",
        r"\toprule",
        rf"{' & '.join(map(latex_text, table.columns))} \\",
        r"\midrule",
        *(rf"{' & '.join(texts)} \\" for texts in _rows(shown, latex_text, r"\textbf{%s}")),
        r"\bottomrule",
        r"\end{tabular}",
        r"\end{table}",
    ]
    return "\n".join(parts)


def label_of(title: str) -> str:
    """A label from a title.

    >>> label_of("Accuracy by group on FairFace: race")
    'tab:accuracy-by-group-on-fairface-race'
    """
    return "tab:" + re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60]


def latex_text(text: str) -> str:
    """Text that LaTeX shows as it is, in any document class and with any engine.

    >>> latex_text("[30, 40) & 50 %"), latex_text("Café")
    ('{[}30, 40) \\\\& 50 \\\\%', 'Café')
    """
    return "".join(WORDING["latex"].get(char) or _letter(char) for char in text)


def _letter(char: str) -> str:
    """A character; letters that pdflatex has no glyph for by their nearest plain ones, or as a question mark."""
    if " " <= char <= "~" or "\u00c0" <= char <= "\u017f":
        return char
    if not char.isprintable():
        return " "
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return "".join(WORDING["latex"].get(one, one) for one in plain) or "?"


def markdown_section(section: Section, level: int) -> str:
    """A section and those below it as Markdown; figures as the tables behind them."""
    lines = [f"{'#' * level} {markdown_text(section.title)}\n"]
    for block in section.blocks:
        if isinstance(block, Text):
            lines.append(markdown_text(block.text) + "\n")
            continue
        table = block.data if isinstance(block, Figure) else block
        caption = f"\n{markdown_text(table.caption)}\n" if table.caption else ""
        lines += [f"**{markdown_text(table.title)}**\n", markdown_table(table), caption]
    lines += [markdown_section(inner, level + 1) for inner in section.sections]
    return "\n".join(lines)


def markdown_table(table: Table) -> str:
    """A table as Markdown; the best of each column is bold where the table says which way is better."""
    rows = [map(markdown_text, table.columns), *_rows(table, markdown_text, "**%s**")]
    head, *lines = [f"| {' | '.join(texts)} |" for texts in rows]
    return "\n".join([head, "|" + " --- |" * len(table.columns), *lines])


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is: no link, image, markup or HTML becomes of it.

    >>> markdown_text("![x](http://a) <b> ~y~ a_b")
    '\\\\!\\\\[x\\\\](http\\\\://a) &lt;b&gt; \\\\~y\\\\~ a\\\\_b'
    """
    text = printable(text, keep="", instead=" ")
    for char in "\\`*_[]|#~!":
        text = text.replace(char, "\\" + char)
    return text.replace("://", "\\://").replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _rows(table: Table, written: Callable[[str], str], bold: str) -> list[list[str]]:
    """The cells of a table as text, the best in bold."""
    best = best_cells(table)
    texts = [[written(cell(value)) for value in row] for row in table.rows]
    return [[bold % t if (line, at) in best else t for at, t in enumerate(row)] for line, row in enumerate(texts)]
