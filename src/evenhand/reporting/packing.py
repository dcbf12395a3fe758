"""Tables as packed columns, for the page to draw: numbers to the last bit, texts once for the whole page.

A column of numbers is its doubles in base 64, a column of texts the places of its texts in a pool
that all tables share. A table of a hundred thousand rows then costs less than half of what
its digits would, and the page needs no row of markup for what nobody scrolls to.
"""

from __future__ import annotations

import base64
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core.page import Interval, Table
from evenhand.core.records import Array
from evenhand.reporting.rounding import cell


@dataclass
class Pool:
    """Texts and packed columns, each kept once, known by their place."""

    places: dict[str, int] = field(default_factory=dict)
    blobs: dict[str, int] = field(default_factory=dict)

    def place(self, text: str) -> int:
        """Where a text is; it is added when it was not there."""
        return self.places.setdefault(text, len(self.places))

    def blob(self, array: Array) -> int:
        """Where the bytes of an array are; systems that saw the same groups share their columns."""
        text = base64.b64encode(array.tobytes()).decode("ascii")
        return self.blobs.setdefault(text, len(self.blobs))


def packed(table: Table, pool: Pool) -> dict[str, Any]:
    """The table as plain values: columns with a kind each, and the place of their bytes in the pool.

    Kinds: `t` texts (places of texts), `w` whole numbers, `n` numbers, `i` intervals, with reasons where
    there is no value. Places and whole numbers are unsigned, four bytes each; numbers are doubles.
    """
    columns = list(zip(*table.rows, strict=True)) if table.rows else [() for _ in table.columns]
    return {
        "title": table.title,
        "names": list(table.columns),
        "rows": len(table.rows),
        "muted": sorted(table.muted),
        "columns": [_column(values, pool) for values in columns],
    }


def _column(values: Sequence[Any], pool: Pool) -> dict[str, Any]:
    kinds = set(map(type, values))
    if kinds == {int} and min(values) >= 0 and max(values) < 2**32:
        return {"kind": "w", "v": _places(values, pool)}
    kinds.discard(type(None))
    if kinds and kinds <= {int, float}:
        return {"kind": "n", "v": _doubles(values, pool)}
    units = {value.unit for value in values if isinstance(value, Interval)}
    if kinds and kinds <= {Interval, int, float} and len(units) == 1:
        parts = [value if isinstance(value, Interval) else Interval(value) for value in values]
        column: dict[str, Any] = {"kind": "i", "v": _doubles([p.value for p in parts], pool)}
        if units != {""}:
            column["u"] = units.pop()
        for name, limits in (("l", [p.low for p in parts]), ("h", [p.high for p in parts])):
            if any(limit is not None for limit in limits):
                column[name] = _doubles(limits, pool)
        if any(p.reason for p in parts):
            column["r"] = _places([pool.place(p.reason) for p in parts], pool)
        return column
    return {"kind": "t", "v": _places([pool.place(cell(value)) for value in values], pool)}


def _doubles(values: Sequence[Any], pool: Pool) -> int:
    return pool.blob(np.array([math.nan if value is None else value for value in values], dtype="<f8"))


def _places(values: Sequence[int], pool: Pool) -> int:
    return pool.blob(np.array(values, dtype="<u4"))
