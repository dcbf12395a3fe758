"""Whether two runs are about the same data, before their rows are paired."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.core.errors import RunError
from evenhand.core.printing import printable
from evenhand.core.records import Records
from evenhand.core.results import Results
from evenhand.store.differences import Agreement, DataChange, agreement


def check_same_data(
    first: Records, second: Records, by: Sequence[str], names: tuple[str, str], results: Results
) -> Agreement:
    """Raise RunError when truth, units, weights or groups differ for rows that both runs have."""
    agreed = agreement(first, second, by)
    if agreed.changes:
        labels = results.class_labels()
        shown = "; ".join(_described(change, labels.get(change.name)) for change in agreed.changes)
        raise RunError(
            f"The runs of {names[0]} and {names[1]} do not agree on the data, so they can't be compared: {shown}. "
            "Evaluate both models on the same data. Rows are matched by their item: in a table that is its row number, "
            "or the column that key=… names."
        )
    return agreed


def _described(change: DataChange, labels: Sequence[str] | None) -> str:
    """How many rows differ, and the first of them: item, value in the first run, value in the second."""

    def shown(value: Any) -> str:
        is_class = labels and isinstance(value, int) and 0 <= value < len(labels)
        return printable(str(labels[value] if is_class and labels else value), keep="")

    rows = ", ".join(f"{shown(str(row.name))}: {shown(row.first)} and {shown(row.second)}" for row in change.examples)
    more = ", …" if change.rows > len(change.examples) else ""
    return f"{change.name!r} differs in {change.rows:,} of {change.of:,} rows ({rows}{more})"
