"""Numbers as people read them: rounded by their uncertainty."""

from __future__ import annotations

import math

from evenhand.core.page import Cell, Interval


def decimals(low: float | None, high: float | None) -> int:
    """How many decimals an interval supports: two digits of its width, between 2 and 6.

    >>> decimals(0.861, 0.884), decimals(0.2, 0.6), decimals(None, None)
    (3, 2, 3)
    """
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return 3
    return min(max(math.ceil(-math.log10(high - low)) + 1, 2), 6)


def number(value: float | None, places: int = 3) -> str:
    """A number with so many decimals; a dash for none, whole numbers above a thousand with separators.

    >>> number(0.12345), number(None), number(float("inf")), number(12345.678)
    ('0.123', '–', '∞', '12,346')
    """
    if value is None or math.isnan(value):
        return "–"
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    if value != 0 and abs(value) < 0.5 * 10**-places:
        return f"{value:.1e}".replace("-", "−", 1) if value < 0 else f"{value:.1e}"
    return _fixed(value, places)


def p_value(value: float | None) -> str:
    """A p-value, never 0.

    >>> p_value(0.00001), p_value(0.0421), p_value(None)
    ('<0.0001', '0.0421', '–')
    """
    if value is None:
        return "–"
    return "<0.0001" if value < 1e-4 else f"{value:.4f}"


def interval(cell: Interval) -> str:
    """A value with its interval, as many decimals as the interval supports.

    >>> interval(Interval(0.8731, 0.861, 0.884))
    '0.873 [0.861, 0.884]'
    >>> interval(Interval(None, reason="no faces"))
    '–'
    """
    if cell.value is None:
        return "–"
    places = decimals(cell.low, cell.high)
    if cell.low is None or cell.high is None:
        return number(cell.value, places)
    value, low, high = (_fixed(part, places) for part in (cell.value, cell.low, cell.high))
    return f"{value} [{low}, {high}]"


def _fixed(value: float, places: int) -> str:
    if not math.isfinite(value) or abs(value) >= 1000:
        return number(value)
    text = f"{value:.{places}f}"
    return text.lstrip("-") if float(text) == 0 else text.replace("-", "−")


def cell(value: Cell) -> str:
    """Any cell of a table as text."""
    if isinstance(value, Interval):
        return interval(value)
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return number(value)
    return value
