"""Predictions in the table of the truth, or in another that is joined by the key."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.table.data import Truth, refuse_repeated
from evenhand.benchmarks.table.frame import UserTable, read_table
from evenhand.benchmarks.table.options import TableOptions
from evenhand.core.errors import OptionError, PredictionError
from evenhand.core.records import Array
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, Submitted

MOST_EXAMPLES = 5


@dataclass(frozen=True)
class TablePredictions(Submitted[UserTable]):
    """The table that predictions are in, and where the row of each row of the truth stands in it; −1: nowhere."""

    place: Array | None = None  # None: it is the table of the truth, row by row

    def aligned(self, values: Array, missing: Any) -> Array:
        """A column of predictions in the order of the truth."""
        if self.place is None:
            return values
        aligned = np.full(len(self.place), missing, dtype=np.result_type(values.dtype, type(missing)))
        there = self.place >= 0
        aligned[there] = values[self.place[there]]
        return aligned


class TableCodec(Codec[None]):
    """Predictions in the table of the truth, or in a second one joined by the key."""

    filename = "predictions.csv"
    example = "key,prediction\n17,cat"

    def read(self, path: Path, dataset: Dataset[Truth], options: TableOptions) -> TablePredictions:
        truth = dataset.truth
        if str(path) == truth.table.where:
            return same_table(truth.table)
        return joined(read_table(path, PredictionError), truth, options)

    def write(self, path: Path, answers: Any, dataset: Any, options: Any) -> None:
        raise OptionError("A table is evaluated as it is: no model is asked for it. Write the predictions as a column.")


def same_table(table: UserTable) -> TablePredictions:
    """Predictions that stand beside the truth."""
    return TablePredictions(table, Coverage(table.rows, table.rows), table.facts)


def joined(table: UserTable, truth: Truth, options: TableOptions) -> TablePredictions:
    """Predictions in a table of their own, put into the order of the truth by the key."""
    if not options.key:
        raise OptionError(
            f"The truth is in {truth.table.where}, the predictions are in {table.where}: name the column that joins "
            "them, key=…, or write both into one table."
        )
    keys, missing = table.identifiers(options.key, "key")
    if missing.any():
        raise PredictionError(f"{table.where}, row {int(missing.argmax()) + 1}: {options.key!r} is empty.")
    asked = truth.item
    if keys.dtype.kind != asked.dtype.kind:
        keys, asked = keys.astype(str), asked.astype(str)
    refuse_repeated(keys, table.where, options.key, PredictionError)
    order = np.argsort(keys, kind="stable")
    at = np.searchsorted(keys[order], asked).clip(max=len(keys) - 1)
    place = np.where(keys[order][at] == asked, order[at], -1)
    answered = int((place >= 0).sum())
    if not answered:
        raise PredictionError(
            f"{table.where}: no {options.key!r} of {truth.table.where} occurs ({keys[0]} was found, "
            f"{asked[0]} expected)."
        )
    lacking = [str(item) for item in truth.item[place < 0][:MOST_EXAMPLES]]
    extra = len(keys) - answered
    coverage = Coverage(
        len(asked), answered, missing=len(asked) - answered, extra=extra,
        examples={"missing": tuple(lacking)} if lacking else {},
    )  # fmt: skip
    warnings = []
    if lacking:
        warnings.append(
            f"{len(asked) - answered:,} of {len(asked):,} rows have no prediction ({', '.join(lacking)}, …): "
            "they count as wrong, or as missing where a number can't be wrong"
        )
    return TablePredictions(table, coverage, table.facts, tuple(warnings), place=place)
