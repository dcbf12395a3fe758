"""A report as data: sections of text, tables and figures. `report/` draws them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


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


@dataclass(frozen=True)
class Figure:
    """A Vega-Lite document, with the table that says the same."""

    title: str
    spec: Mapping[str, Any]
    data: Table
    caption: str = ""
    name: str = ""  # file name stem for downloads


Block = Text | Table | Figure


@dataclass(frozen=True)
class Section:
    """A titled run of blocks, with sections below it."""

    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = field(default_factory=tuple)
    name: str = ""  # anchor
