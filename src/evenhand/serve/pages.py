"""How pages are drawn: templates in which everything is escaped."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from urllib.parse import urlencode

from jinja2 import Environment
from markupsafe import Markup

from evenhand.core.page import Interval
from evenhand.core.printing import duration
from evenhand.core.results import Estimate, Status
from evenhand.core.view import Mark
from evenhand.reporting.canvas import Axis, Canvas
from evenhand.reporting.display import task_title
from evenhand.reporting.html import environment as report_environment
from evenhand.reporting.phrases import as_cell, group_words, levels, method_words, status_word, words
from evenhand.reporting.rounding import cell, number, p_value, percent
from evenhand.serve.pictures import Box, part_of
from evenhand.serve.selection import GroupEstimates, group_name, terms

_WIDTH = 200.0  # of a drawn interval


def environment() -> Environment:
    templates = report_environment("evenhand.serve")
    templates.tests["a_small_group"] = lambda estimate: estimate.status is not Status.OK
    named: tuple[Callable[..., Any], ...] = (
        *(number, percent, p_value, as_cell, levels, group_words, status_word, words, method_words),
        *(when, item_name, group_name, task_title, duration, terms, drawn),
    )
    templates.filters.update({function.__name__: function for function in named})
    templates.filters["by_name"] = lambda by, names: " × ".join(map(names.attribute, by))
    templates.filters["amount"] = lambda value, unit: cell(Interval(value, unit=unit))
    templates.globals["address"] = address
    return templates


def address(path: str, *queries: Mapping[str, Any], **query: Any) -> str:
    """A path with its query; empty values are left out, lists are repeated.

    >>> address("/run/ab", g=["age=70+"], page=2, q="")
    '/run/ab?g=age%3D70%2B&page=2'
    """
    pairs = [
        (name, str(one))
        for name, value in [pair for part in (*queries, query) for pair in part.items()]
        for one in (value if isinstance(value, list | tuple) else [value])
        if one not in ("", None)
    ]
    return f"{path}?{urlencode(pairs)}" if pairs else path


def drawn(estimate: Estimate, spread: GroupEstimates) -> Mapping[str, float] | None:
    """Where an estimate and its interval lie on a line of 200 units; None when it has no number."""
    if estimate.number is None or spread.high <= spread.low:
        return None
    axis = Axis(spread.low, spread.high, 0.0, _WIDTH)
    ends = {"at": estimate.number, "low": estimate.low, "high": estimate.high}
    return {name: round(axis.clamped(estimate.number if end is None else end), 1) for name, end in ends.items()}


def overlay(marks: Sequence[Mark], picture: int, size: tuple[int, int] | None, focus: Box | None = None) -> Markup:
    """An SVG that lies over a picture: outlines and points of truth and answer; nothing when its size is not known."""
    if size is None:
        return Markup()
    left, top, right, bottom = part_of(size, focus)
    canvas = Canvas(right - left, bottom - top)
    radius = 0.012 * max(right - left, bottom - top)
    for mark in marks:
        css = "answer" if mark.is_answer else "truth"
        if mark.picture != picture:
            continue
        if mark.is_outline:
            canvas.add("polygon", css, mark.label, points=" ".join(f"{x:.1f},{y:.1f}" for x, y in mark.points))
            continue
        for x, y in mark.points:
            canvas.add("circle", css, mark.label, cx=x, cy=y, r=radius)
    box = f"{left:.1f} {top:.1f} {right - left:.1f} {bottom - top:.1f}"
    return Markup('<svg class="marks" viewBox="%s" aria-hidden="true">%s</svg>') % (box, Markup("".join(canvas.parts)))


def item_name(item: str, number: int) -> str:
    """What a row is about, without the folders of a long path.

    >>> item_name("data/raw/images/of/one/subject/main.png:face 3", 7), item_name("12", 7), item_name("", 7)
    ('main.png: face 3', 'sample 12', 'sample 7')
    """
    if not item or item.isdigit():
        return f"sample {item or number}"
    path, _, part = item.partition(":")
    name = path.rpartition("/")[2] if len(path) > 24 else path
    return f"{name}: {part}" if part else name


def when(moment: str) -> str:
    """A date and time as people write them, in UTC; the text itself when it is none.

    >>> when("2026-03-01T12:30:59.123456+00:00"), when("long ago")
    ('2026-03-01 12:30', 'long ago')
    """
    try:
        return datetime.fromisoformat(moment).astimezone(UTC).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return moment
