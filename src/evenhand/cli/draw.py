"""Sections of a report on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from evenhand.cli.console import escape
from evenhand.core.page import Figure, Interval, Section, Table, Text
from evenhand.reporting.rounding import best_cells, cell

NOTE = "note"
WIDE = 3  # signs between two columns
LONG_WORD, LONG_KEY = 14, 30  # signs of a text that is not broken; in the first column, which names the row
_TONES = {"plain": "", "lead": "bold", "caution": "yellow", "small": "dim"}


def draw(console: Console, sections: Sequence[Section], most_rows: int = 60) -> None:
    """Print sections: text as paragraphs, tables as tables, figures as the tables behind them."""
    for section in sections:
        console.print()
        console.print(f"[bold underline]{escape(section.title)}[/]")
        for block in section.blocks:
            if isinstance(block, Text):
                console.print(escape(block.text), style=_TONES.get(block.tone, "") or None)
            else:
                draw_table(console, block.data if isinstance(block, Figure) else block, most_rows)
        draw(console, section.sections, most_rows)


def draw_table(console: Console, table: Table, most_rows: int = 60) -> None:
    """Print one table; muted rows are dimmed, and long tables cut with a line that says so.

    A table that is wider than the screen gets closer columns; its notes then go below it, and the unit of a column goes
    into its heading.
    """
    texts = [[cell(value) for value in row] for row in table.rows]
    columns, notes = list(table.columns), []
    if columns and columns[-1] == NOTE and _width(columns, texts) > console.width:
        notes = [f"{row[0]}: {row[-1]}" for row in texts[:most_rows] if row[-1]]
        columns, texts = columns[:-1], [row[:-1] for row in texts]
    if _width(columns, texts) > console.width:
        columns, texts = _units_in_headings(columns, texts)
    close = _width(columns, texts) > console.width
    drawn = RichTable(
        title=escape(table.title),
        title_justify="left",
        caption=escape(table.caption) or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0) if close else (0, 1),
    )
    places = range(len(columns))
    numeric = [any(isinstance(row[at], int | float | Interval) for row in table.rows[:20]) for at in places]
    unbroken = _unbroken([columns, *texts], numeric, console.width - (1 if close else WIDE) * len(columns) - 2)
    for name, right, no_wrap in zip(columns, numeric, unbroken, strict=True):
        drawn.add_column(escape(name), justify="right" if right else "left", overflow="fold", no_wrap=no_wrap)
    best = best_cells(table)
    for index, row in enumerate(texts[:most_rows]):
        escaped = (escape(text) for text in row)
        marked = (f"[bold]{text}[/]" if (index, at) in best else text for at, text in enumerate(escaped))
        drawn.add_row(*marked, style="dim" if index in table.muted else None)
    console.print(drawn)
    for note in notes:
        console.print(escape(note), style="dim")
    if len(texts) > most_rows:
        console.print(f"… {len(texts) - most_rows} more rows", style="dim")


def _width(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> int:
    """How wide a table is when nothing in it is broken."""
    longest = [max((len(row[index]) for row in texts), default=0) for index in range(len(columns))]
    return 1 + sum(WIDE + max(width, len(name)) for width, name in zip(longest, columns, strict=True))


def _unbroken(texts: Sequence[Sequence[str]], numeric: Sequence[bool], space: int) -> list[bool]:
    """Which columns of a heading and rows are not broken: numbers, and where all fits short texts and names of rows.

    >>> row = ["a_key_of_a_row", "1.5", "clearly worse", "a long text that may be broken"]
    >>> _unbroken([row], [False, True, False, False], 60)
    [True, True, True, False]
    >>> _unbroken([row], [False, True, False, False], 40)
    [False, True, False, False]
    """
    columns = [[row[at] for row in texts] for at in range(len(numeric))]
    full = [max(map(len, column), default=0) for column in columns]
    for most_first, most in ((LONG_KEY, LONG_WORD), (LONG_WORD, LONG_WORD)):
        unbroken = [is_number or full[at] <= (most if at else most_first) for at, is_number in enumerate(numeric)]
        if sum(width if kept else LONG_WORD for width, kept in zip(full, unbroken, strict=True)) <= space:
            return unbroken
    return list(numeric)


def _units_in_headings(columns: Sequence[str], texts: Sequence[Sequence[str]]) -> tuple[list[str], list[list[str]]]:
    """The table with "points" in the heading of a column in which every value has it.

    >>> _units_in_headings(["group", "gap"], [["a", "3.1 points [1, 5]"], ["b", "–"]])
    (['group', 'gap, points'], [['a', '3.1 [1, 5]'], ['b', '–']])
    """
    headings, rows = list(columns), [list(row) for row in texts]
    for index, name in enumerate(columns):
        values = [row[index] for row in rows if row[index] not in ("", "–")]
        if values and all(" points" in value for value in values):
            headings[index] = f"{name}, points"
            for row in rows:
                row[index] = row[index].replace(" points", "", 1)
    return headings, rows
