"""Sections of a report on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console
from rich.table import Table as RichTable

from evenhand.cli.console import escape
from evenhand.core.page import Figure, Interval, Section, Table, Text
from evenhand.reporting.rounding import cell

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
    """Print one table; muted rows are dimmed, and long tables cut with a line that says so."""
    drawn = RichTable(
        title=escape(table.title),
        title_justify="left",
        caption=escape(table.caption) or None,
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for index, name in enumerate(table.columns):
        right = any(isinstance(row[index], int | float | Interval) for row in table.rows[:20])
        short = index == 0 and _fits(table, console.width)
        drawn.add_column(escape(name), justify="right" if right else "left", overflow="fold", no_wrap=right or short)
    for index, row in enumerate(table.rows[:most_rows]):
        drawn.add_row(*(escape(cell(value)) for value in row), style="dim" if index in table.muted else None)
    console.print(drawn)
    if len(table.rows) > most_rows:
        console.print(f"… {len(table.rows) - most_rows} more rows", style="dim")


def _fits(table: Table, width: int) -> bool:
    """Whether the first column can stay unbroken while every other one keeps its numbers, or a word's width."""
    needed = 0
    for index, name in enumerate(table.columns):
        longest = max((len(cell(row[index])) for row in table.rows), default=0)
        numeric = any(isinstance(row[index], int | float | Interval) for row in table.rows)
        needed += 3 + (max(longest, len(name)) if index == 0 or numeric else min(longest, 14))
    return needed <= width
