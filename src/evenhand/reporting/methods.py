"""Methods × metrics as papers print them: a row per metric, a column per method, the best in bold.

A family adds the section "paper" for one method; the console, the report, Markdown and LaTeX show those of several
methods side by side, each row with one number of decimals.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from evenhand.core.page import Cell, Interval, Section, Table
from evenhand.reporting.rounding import decimals

PAPER = "paper"


def methods_table(added: Sequence[Sequence[Section]], names: Sequence[str], title: str = "Metrics") -> Table | None:
    """The paper tables of several methods side by side; None when their family has none."""
    methods: list[dict[Cell, tuple[Cell, str]]] = []
    captions: dict[str, list[str]] = {}
    for name, sections in zip(names, added, strict=True):
        blocks = [block for section in sections if section.name == PAPER for block in section.blocks]
        tables = [block for block in blocks if isinstance(block, Table)]
        rows = [pair for table in tables for pair in zip(table.rows, table.better, strict=True)]
        methods.append({metric: (value, way) for (metric, value), way in rows})
        for table in tables:
            captions.setdefault(table.caption, []).append(name)
    metrics = dict.fromkeys(metric for method in methods for metric in method)
    if not metrics:
        return None
    lines = tuple((metric, *(method.get(metric, (None, ""))[0] for method in methods)) for metric in metrics)
    better = tuple(next(method[metric][1] for method in methods if metric in method) for metric in metrics)
    notes = [f"{', '.join(of)}: {text}" if len(captions) > 1 else text for text, of in captions.items() if text]
    table = Table(title, ("Metric", *names), lines, " ".join(notes), form="paper by metric", better=better)
    return with_even_digits(table)


def with_even_digits(table: Table) -> Table:
    """The table with one number of decimals in each row: at least three digits of its largest value."""
    return replace(table, rows=tuple((row[0], *_even(row[1:])) for row in table.rows))


def _even(values: Sequence[Cell]) -> list[Cell]:
    """Values of one metric with the same decimals.

    >>> [value.places for value in _even([0.00123, 0.00042])], [value.places for value in _even([130.7, 47.25])]
    ([5, 5], [2, 2])
    """
    known = [number for number in map(number_of, values) if number is not None and math.isfinite(number)]
    largest = max(map(abs, known), default=0.0)
    fine = 2 - math.floor(math.log10(largest)) if largest > 0 else 0
    places = min(max([fine, *map(decimals, known)], default=3), 6)
    return [Interval(number_of(value), places=places) for value in values]


def best_cells(table: Table) -> set[tuple[int, int]]:
    """The places of the best values: of each column, or of each row where models stand side by side."""
    if not table.better:
        return set()
    by_row = table.form in ("paper by row", "paper by metric")
    by_metric = table.form == "paper by metric"  # each row has a direction of its own
    best: set[tuple[int, int]] = set()
    values = {
        (line, at): number
        for line, row in enumerate(table.rows)
        for at, value in enumerate(row)
        if table.better[line if by_metric else at] in ("higher", "lower") and (number := number_of(value)) is not None
    }
    for key in {place[0] if by_row else place[1] for place in values}:
        same = {place: value for place, value in values.items() if (place[0] if by_row else place[1]) == key}
        if len(set(same.values())) > 1:
            first = next(iter(same))
            highest = table.better[first[0] if by_metric else first[1]] == "higher"
            top = max(same.values()) if highest else min(same.values())
            best |= {place for place, value in same.items() if value == top}
    return best


def number_of(value: Cell) -> float | None:
    """The number in a cell; None where it holds none."""
    value = value.value if isinstance(value, Interval) else value
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None
