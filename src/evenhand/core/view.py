"""What a page shows of one row: pictures, what is drawn on them, and truth and answer in words."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

Point = tuple[float, float]


@dataclass(frozen=True)
class Mark:
    """A closed outline on a picture, or single points, in pixels of the picture."""

    points: tuple[Point, ...]
    is_answer: bool = False  # else it is the truth
    is_outline: bool = True
    label: str = ""
    picture: int = 0  # which of the pictures


@dataclass(frozen=True)
class SampleView:
    """One row as people see it; without pictures, those of its sample are shown."""

    pictures: tuple[Path, ...] = ()
    marks: tuple[Mark, ...] = ()
    truth: str = ""
    answer: str = ""
    is_wrong: bool = False
    focus: tuple[float, float, float, float] | None = None  # x0, y0, x1, y1: what the row is about, in a large picture


def box_mark(corners: Sequence[float], *, is_answer: bool = False, label: str = "", picture: int = 0) -> Mark:
    """A box from its corners x0, y0, x1, y1.

    >>> box_mark((1, 2, 3, 4)).points
    ((1.0, 2.0), (3.0, 2.0), (3.0, 4.0), (1.0, 4.0))
    """
    x0, y0, x1, y1 = map(float, corners)
    return Mark(((x0, y0), (x1, y0), (x1, y1), (x0, y1)), is_answer, True, label, picture)


def point_mark(points: Iterable[Sequence[float]], *, is_answer: bool = False, label: str = "") -> Mark:
    """Single points."""
    return Mark(tuple((float(x), float(y)) for x, y in points), is_answer, False, label)
