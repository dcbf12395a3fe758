"""A report as data: sections of text, tables and figures. `reporting/` draws them.

A figure is a table and a `Chart` that says how its columns are drawn, so every figure has a table that
says the same. Charts name columns by place. They are drawn as SVG by `reporting.drawing`, for pages, PDF and files.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field


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
    unit: str = ""  # "%": a share, written in per cent; "points": a difference of shares
    places: int | None = None  # decimals, where a table decides for a whole row


Cell = str | int | float | bool | Interval | None


@dataclass(frozen=True)
class Table:
    """Rows of cells under named columns. `muted` rows (small groups) are drawn greyed."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    muted: frozenset[int] = frozenset()
    # table; facts: a few named values, drawn large; badges: a verdict per row; lookup: rows to filter rather than
    # read; paper: for LaTeX and Markdown too, one row per model where several runs are reported together
    form: str = "table"
    better: tuple[str, ...] = ()  # per column "higher", "lower" or "": in a paper table the best is bold


@dataclass(frozen=True)
class Forest:
    """A line per row of the table: its name, a point and an interval."""

    value: int  # the column of the point, an Interval or a number
    label: int = 0
    count: int | None = None  # the column of n, written beside the name
    axis: str = ""  # title of the axis
    reference: float | None = None  # a dashed line: the value of all, or 0
    reference_name: str = ""
    margin: float | None = None  # a band around the reference
    tones: tuple[str, ...] = ()  # per row "worse", "better" or ""
    swatches: tuple[str, ...] = ()  # per row a colour that the group is about, such as a skin tone
    brackets: tuple[tuple[int, int, str], ...] = ()  # pairs of rows that a mark joins, such as "***"
    series: int | None = None  # the column that tells several points on one line apart
    domain: tuple[float, float] | None = None
    percent: bool = False


@dataclass(frozen=True)
class Lines:
    """Curves over common axes; rows of one name are one line, in their order."""

    line: int = 0
    x: int = 1
    y: int = 2
    threshold: int | None = None  # a column that is read out beside x and y
    low: int | None = None  # the columns of a band around each line; its rows may have no y
    high: int | None = None
    points: tuple[tuple[str, float, float], ...] = ()  # (line, x, y) that are marked
    framed: bool = False  # a frame around the axes, and the title above it: for papers
    log_x: bool = False
    log_y: bool = False
    x_domain: tuple[float, float] | None = None
    y_domain: tuple[float, float] | None = None
    steps: bool = False  # constant from each point to the next
    colours: tuple[str, ...] = ()
    size: tuple[float, float] | None = None  # in pixels, for files


@dataclass(frozen=True)
class Matrix:
    """A cell for each row of the table: row, column, share and count."""

    row: int = 0
    column: int = 1
    share: int = 2
    count: int = 3


Chart = Forest | Lines | Matrix


@dataclass(frozen=True)
class Figure:
    """A chart, with the table that says the same."""

    title: str
    chart: Chart
    data: Table
    caption: str = ""
    name: str = ""  # file name stem for downloads
    beside: bool = False  # the table is shown with the figure, not folded away


Block = Text | Table | Figure


@dataclass(frozen=True)
class Section:
    """A titled run of blocks, with sections below it."""

    title: str
    blocks: Sequence[Block] = ()
    sections: Sequence[Section] = field(default_factory=tuple)
    name: str = ""  # anchor
    folded: bool = False  # shown when it is asked for
