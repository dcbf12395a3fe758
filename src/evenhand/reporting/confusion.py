"""Confusion matrices as figures: which class is mistaken for which."""

from __future__ import annotations

from evenhand.core.metric import Grid
from evenhand.core.page import Block, Cell, Figure, Interval, Matrix, Section, Table
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results
from evenhand.reporting.display import shown
from evenhand.reporting.phrases import value_name


def confusion_section(results: Results) -> Section:
    """The matrix of everyone for each output that is one."""
    results = shown(results)
    blocks: list[Block] = [
        matrix_figure(estimate.value, estimate.metric, estimate.output)
        for estimate in results.estimates
        if isinstance(estimate.value, Grid) and estimate.group == EVERYONE
    ]
    return Section("Confusion: what is taken for what", blocks, name="confusion")


def matrix_figure(grid: Grid, metric: str, output: str) -> Figure:
    """One matrix: colour and number are the share of the row, the count is in the table behind it."""
    rows: list[tuple[Cell, ...]] = []
    for name, counts in zip(grid.rows, grid.values, strict=True):
        total = float(counts.sum())
        for column, count in zip(grid.columns, counts, strict=True):
            whole = int(count) if float(count).is_integer() else float(count)
            rows.append((name, column, Interval(float(count) / total if total else None, unit="%"), whole))
    columns = (grid.row_name or "row", grid.column_name or "column", "share of the row", "count")
    title = value_name(metric, output)
    table = Table(title, columns, tuple(rows))
    caption = f"Each row is one {grid.row_name or 'row'} and adds up to 100 %; the diagonal is what was right."
    return Figure(title, Matrix(), table, caption, name=f"{metric}-{output}")
