"""Sections of a report on a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from evenhand.cli.console import escape
from evenhand.core.page import Figure, Interval, Section, Table, Text
from evenhand.reporting.rounding import cell

NOTE = "note"
WIDE = 3  # signs between two columns
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

    A table that is wider than the screen gets closer columns; its notes then go below it.
    """
    notes: list[str] = []
    if table.columns and table.columns[-1] == NOTE and _width(table) > console.width:
        notes = [f"{cell(row[0])}: {cell(row[-1])}" for row in table.rows[:most_rows] if cell(row[-1])]
        table = replace(table, columns=table.columns[:-1], rows=tuple(row[:-1] for row in table.rows))
    close = _width(table) > console.width
    drawn = RichTable(
        title=escape(table.title),
        title_justify="left",
        caption=escape(table.caption) or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 0) if close else (0, 1),
    )
    fits = _width(table, gap=1 if close else WIDE, wrapped=True) <= console.width
    for index, name in enumerate(table.columns):
        right = _is_numeric(table, index)
        short = index == 0 and fits
        drawn.add_column(
            escape(name, ""), justify="right" if right else "left", overflow="fold", no_wrap=right or short
        )
    for index, row in enumerate(table.rows[:most_rows]):
        drawn.add_row(*(escape(cell(value), "") for value in row), style="dim" if index in table.muted else None)
    console.print(drawn)
    for note in notes:
        console.print(escape(note, ""), style="dim")
    if len(table.rows) > most_rows:
        console.print(f"… {len(table.rows) - most_rows} more rows", style="dim")


def _width(table: Table, gap: int = WIDE, *, wrapped: bool = False) -> int:
    """How wide a table is; `wrapped`: with texts beside the first column broken to a word's width."""
    needed = 1
    for index, name in enumerate(table.columns):
        longest = max((len(cell(row[index])) for row in table.rows), default=0)
        if wrapped and index and not _is_numeric(table, index):
            longest = min(longest, 14)
            name = max(name.split() or [""], key=len)
        needed += gap + max(longest, len(name))
    return needed


def _is_numeric(table: Table, index: int) -> bool:
    return any(isinstance(row[index], int | float | Interval) for row in table.rows[:20])
