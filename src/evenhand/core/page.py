"""A report as data: sections of text, tables and figures. `reporting/` draws them.

A figure takes its numbers from the table behind it: a Vega-Lite document whose data are
`FROM_TABLE` reads the columns of that table by place, `c0`, `c1`, …; a column of intervals
has `c1_low` and `c1_high` too, and `muted` says whether the row is greyed. So every figure
has a table that says the same, a name in the data can't be taken for an expression, and
nothing is written twice. A document with data of its own is drawn as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

FROM_TABLE: Mapping[str, Any] = {"name": "table"}


@dataclass(frozen=True)
class Text:
    """A paragraph. Plain text: whoever draws it escapes it."""

    text: str
    tone: str = "plain"  # plain, lead, caution, small


@dataclass(frozen=True)
class Interval:
    """A number with its uncertainty, so that it can be rounded by it."""

    value: float | None
    low: float | None = None
    high: float | None = None
    reason: str = ""  # why there is no value


Cell = str | int | float | bool | Interval | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns. `muted` rows (small groups) are drawn greyed."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    muted: frozenset[int] = frozenset()
    form: str = "table"  # table; facts: a few named values, drawn large; lookup: rows to filter rather than read


@dataclass(frozen=True)
class Figure:
    """A Vega-Lite document, with the table that says the same."""

    title: str
    spec: Mapping[str, Any]
    data: Table
    caption: str = ""
    name: str = ""  # file name stem for downloads
    kind: str = "chart"  # chart, or curves: lines (name, x, y, threshold) to switch on and off, zoom and read
    beside: bool = False  # the table is shown with the figure, not folded away


Block = Text | Table | Figure


@dataclass(frozen=True)
class Section:
    """A titled run of blocks, with sections below it."""

    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = field(default_factory=tuple)
    name: str = ""  # anchor
