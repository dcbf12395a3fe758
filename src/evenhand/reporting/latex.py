"""Tables for papers, as LaTeX that any document class compiles.

A table has a caption and a label; the best value is bold where the table says which way is better. The rules are
those of booktabs where the document loads it, else plain lines.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import replace

from evenhand.core.page import Interval, Table
from evenhand.reporting.methods import best_cells
from evenhand.reporting.rounding import cell

PREAMBLE = """% \\usepackage{booktabs} in the preamble gives better rules; without it these are plain lines.
\\providecommand{\\toprule}{\\hline}
\\providecommand{\\midrule}{\\hline}
\\providecommand{\\bottomrule}{\\hline}"""

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "×": r"$\times$",
    "÷": r"$\div$",
    "−": "$-$",
    "±": r"$\pm$",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "∞": r"$\infty$",
    "δ": r"$\delta$",
    "≤": r"$\le$",
    "≥": r"$\ge$",
    "→": r"$\to$",
    "↑": r"$\uparrow$",
    "↓": r"$\downarrow$",
    "“": "``",
    "”": "''",
    '"': "''",
    "‘": "`",
    "’": "'",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    "[": "{[}",  # after a line break a bracket would be taken for its length
    "]": "{]}",
    "*": "{*}",
    "\u00a0": "~",
} | {char: "\\" + char for char in "&%$#_{}"}


def latex_table(table: Table, *, intervals: bool = True) -> str:
    """The table as a floating `table`, without its intervals where they would make it too wide."""
    best = best_cells(table)
    numeric = [
        any(isinstance(row[at], int | float | Interval) for row in table.rows) for at in range(len(table.columns))
    ]
    lines = []
    for line, row in enumerate(table.rows):
        shown = row if intervals else [replace(v, low=None, high=None) if isinstance(v, Interval) else v for v in row]
        texts = [latex_text(cell(value)) for value in shown]
        lines.append(" & ".join(rf"\textbf{{{text}}}" if (line, at) in best else text for at, text in enumerate(texts)))
    size = r"\footnotesize" if len(table.columns) > 5 else r"\small"
    head = " & ".join(map(latex_text, table.columns))
    caption = latex_text(f"{table.title}. {table.caption}".strip() if table.caption else f"{table.title}.")
    parts = [
        r"\begin{table}[t]",
        r"\centering",
        rf"\caption{{{caption}}}",
        rf"\label{{{label_of(table.title)}}}",
        size,
        r"\setlength{\tabcolsep}{4pt}",
        rf"\begin{{tabular}}{{{''.join('r' if number else 'l' for number in numeric)}}}",
        r"\toprule",
        rf"{head} \\",
        r"\midrule",
        *(rf"{line} \\" for line in lines),
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
    return "".join(_SPECIAL.get(char) or _letter(char) for char in text)


def _letter(char: str) -> str:
    """A character; letters that pdflatex has no glyph for by their nearest plain ones, or as a question mark."""
    if " " <= char <= "~" or "\u00c0" <= char <= "\u017f":
        return char
    if not char.isprintable():
        return " "
    plain = unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode()
    return "".join(_SPECIAL.get(one, one) for one in plain) or "?"
