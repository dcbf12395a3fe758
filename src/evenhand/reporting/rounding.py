"""Numbers and cells of tables as people read them: rounded by their uncertainty, the best of a table in bold."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from evenhand.core.page import Cell, Interval, Table

_NOTHING = 1e-12  # a difference of shares that is smaller comes from rounding in double precision


def decimals(value: float | None, low: float | None = None, high: float | None = None) -> int:
    """How many decimals a value is written with: three, fewer from 10 on, more where its interval is very narrow.

    The same for all values of about the same size, so that a column of them has one number of decimals.

    >>> decimals(0.873, 0.861, 0.884), decimals(0.4, 0.2, 0.6), decimals(27.31), decimals(0.5, 0.49999, 0.50001)
    (3, 3, 2, 6)
    """
    if value is None or not math.isfinite(value):
        return 3
    places = 3 if abs(value) < 10 else 2 if abs(value) < 100 else 1
    if low is None or high is None or not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        return places
    return min(max(math.ceil(-math.log10(high - low)) + 1, places), 6)


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
    """A value with its interval; a share in per cent, a difference of shares in points.

    >>> interval(Interval(0.8731, 0.861, 0.884)), interval(Interval(None, reason="no faces"))
    ('0.873 [0.861, 0.884]', '–')
    >>> interval(Interval(0.8731, 0.861, 0.884, unit="%")), interval(Interval(-0.0482, unit="points"))
    ('87.3 % [86.1, 88.4]', '−4.8 points')
    >>> interval(Interval(0.3 - 0.1 - 0.2, unit="points"))
    '0.0 points'
    """
    if cell.value is None:
        return "–"
    times, unit = (100.0, f" {cell.unit}") if cell.unit else (1.0, "")
    value = 0.0 if cell.unit and abs(cell.value) < _NOTHING else times * cell.value
    low, high = (None if part is None else times * part for part in (cell.low, cell.high))
    places = share_places(value, low, high) if unit else decimals(value, low, high)
    if cell.places is not None:
        places = cell.places
    if low is None or high is None:
        return number(value, places) + unit
    return f"{_fixed(value, places)}{unit} [{_fixed(low, places)}, {_fixed(high, places)}]"


def share_places(value: float, low: float | None, high: float | None) -> int:
    """Decimals of a share in per cent: one; two digits of what is smaller than one per mille."""
    size = max(abs(part) for part in (value, low or 0.0, high or 0.0))
    return 1 if size >= 0.1 or size == 0 else min(1 - math.floor(math.log10(size)), 6)


def percent(value: float | None, least_places: int = 0) -> str:
    """A share in a sentence, with so many decimals or more where it would else be nothing or all.

    >>> percent(0.6543), percent(0.0001), percent(None), percent(1.0), percent(0.9996), percent(0.985, 1)
    ('65\xa0%', '0.01\xa0%', '–', '100\xa0%', '99.96\xa0%', '98.5\xa0%')
    """
    if value is None:
        return "–"
    share = 100 * value
    for places in range(least_places, 4):
        text = f"{share:.{places}f}"
        rest = min(abs(share), abs(100 - share))
        if rest == 0 or float(text) not in (0.0, 100.0):
            return f"{text}\N{NO-BREAK SPACE}%".replace("-", "−")
    return f"{share:.2g}\N{NO-BREAK SPACE}%"


def share_range(low: float | None, high: float | None) -> str:
    """The limits of a share in a sentence.

    >>> share_range(0.532, 0.671)
    '53–67\xa0%'
    """
    if low is None or high is None:
        return ""
    places = range_places(low, high)
    return f"{100 * low:.{places}f}–{100 * high:.{places}f}\N{NO-BREAK SPACE}%"


def range_places(low: float, high: float) -> int:
    """Decimals of per cent that tell the limits of a share, and the share between them, apart."""
    return 0 if high - low >= 0.02 else 1


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


def number_of(value: Cell) -> float | None:
    """The number in a cell; None where it holds none."""
    value = value.value if isinstance(value, Interval) else value
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def is_number(value: Cell) -> bool:
    """Whether a cell is one of a column of numbers, even where this one is not known."""
    return value is None or (isinstance(value, int | float | Interval) and not isinstance(value, bool))


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


@dataclass(frozen=True)
class PartOfTable(Table):
    """Some columns of a table that is too wide; which values are the best was decided over all of its columns."""

    best: frozenset[tuple[int, int]] = frozenset()


def parts_of(table: Table, kept: int, most: int) -> list[Table]:
    """The table; one with more columns than that in parts, which all begin with the first `kept` columns.

    >>> table = Table("t", ("group", "a", "b"), (("x", 1, 2),), form="paper by row", better=("", "higher", "higher"))
    >>> [(part.title, part.columns, best_cells(part)) for part in parts_of(table, kept=1, most=1)]
    [('t (1)', ('group', 'a'), set()), ('t (2)', ('group', 'b'), {(0, 1)})]
    """
    if len(table.columns) - kept <= most:
        return [table]
    best, parts = best_cells(table), list[Table]()
    for start in range(kept, len(table.columns), most):
        chosen = [*range(kept), *range(start, min(start + most, len(table.columns)))]
        parts.append(
            PartOfTable(
                f"{table.title} ({len(parts) + 1})",
                tuple(table.columns[at] for at in chosen),
                tuple(tuple(row[at] for at in chosen) for row in table.rows),
                table.caption,
                table.muted,
                table.form,
                tuple(table.better[at] for at in chosen),
                frozenset((line, place) for place, at in enumerate(chosen) for line, best_at in best if best_at == at),
            )
        )
    return parts


def best_cells(table: Table) -> set[tuple[int, int]]:
    """The places of the best values: of each column, or of each row where models stand side by side.

    Values that differ by rounding alone are equally good; where all are, none is marked.
    """
    if isinstance(table, PartOfTable):
        return set(table.best)
    by_row = table.form in ("paper by row", "paper by metric")
    by_metric = table.form == "paper by metric"  # each row has a direction of its own
    compared: dict[int, dict[tuple[int, int], float]] = {}  # by row or column: how good each value is
    for line, row in enumerate(table.rows if table.better else ()):
        for at, value in enumerate(row):
            sign = {"higher": 1, "lower": -1}.get(table.better[line if by_metric else at])
            if sign is not None and (known := number_of(value)) is not None:
                compared.setdefault(line if by_row else at, {})[line, at] = sign * known
    best = [
        (values, top - _NOTHING * max(1.0, abs(top)))
        for values in compared.values()
        for top in [max(values.values())]
        if math.isfinite(top)
    ]
    return {
        place
        for values, least in best
        if min(values.values()) < least
        for place, value in values.items()
        if value >= least
    }
