"""IJB-A: ten splits, reported as mean and standard deviation over them.

Every split is an experiment of its own, with its own templates and thresholds. The deviation between splits (with
n − 1) says how much a result depends on the choice of people; it is no confidence interval, since the splits share
people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.core.metric import Metric, Numbers
from evenhand.core.page import Section, Table, Text
from evenhand.core.records import Records
from evenhand.core.results import Results

FACT = "over_splits"


def over_splits(
    rows: Records, metrics: Sequence[Metric[Any]], splits: Sequence[str], column: str
) -> list[dict[str, Any]]:
    """The numbers of every metric in every split, with their mean and standard deviation.

    `column` holds the position of each row's split. A split without a value is left out, and named.
    """
    inside = np.asarray(rows[column])
    kept = rows.take((inside >= 0) & (inside < len(splits)))
    cells = np.asarray(kept[column]).astype(np.int64)
    found = []
    for metric in metrics:
        state = metric.measure(kept, cells, len(splits))
        for output, values in metric.result(state, state).items():
            if isinstance(values, Numbers):
                found.append(_summary(f"{metric.name}: {output}", values.values, splits))
    return found


def splits_section(results: Results) -> Section | None:
    """Mean, standard deviation and range over the splits; nothing for data without splits."""
    listed: Sequence[Mapping[str, Any]] = results.facts.get(FACT, ())
    if not listed:
        return None
    rows = tuple(
        (
            entry["quantity"],
            entry["mean"],
            entry["standard_deviation"],
            entry["lowest"],
            entry["highest"],
            len(entry["values"]),
        )
        for entry in listed
    )
    table = Table(
        "Mean and standard deviation over the splits",
        ("quantity", "mean", "standard deviation", "lowest", "highest", "splits"),
        rows,
        "The deviation is that of single splits (n − 1), not of their mean; splits share people.",
    )
    note = Text("Published IJB-A results are means over ten splits with this deviation.", "small")
    return Section("Splits", [table, note], name="splits")


def _summary(quantity: str, values: np.ndarray[Any, Any], splits: Sequence[str]) -> dict[str, Any]:
    there = ~np.isnan(values)
    known = values[there]
    return {
        "quantity": quantity,
        "mean": float(known.mean()) if len(known) else None,
        "standard_deviation": float(known.std(ddof=1)) if len(known) > 1 else None,
        "lowest": float(known.min()) if len(known) else None,
        "highest": float(known.max()) if len(known) else None,
        "values": {split: float(value) for split, value in zip(splits, values, strict=True) if not np.isnan(value)},
        "without_value": [split for split, value in zip(splits, values, strict=True) if np.isnan(value)],
    }
