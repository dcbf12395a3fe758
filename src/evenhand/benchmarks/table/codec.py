"""Predictions in the table of the truth, or in another that is joined by the key."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.table.data import Truth, refuse_repeated
from evenhand.benchmarks.table.frame import UserTable, read_table
from evenhand.benchmarks.table.options import TableOptions, TablePairOptions
from evenhand.core.errors import OptionError, PredictionError
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, Submitted

MOST_EXAMPLES = 5
FEW_ROWS = 20  # different ones, below which repetitions say little
MANY_REPEATS = 0.05  # share of the pairs


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
            return same_table(truth.table, options)
        return joined(read_table(path, PredictionError), truth, options)

    def write(self, path: Path, answers: Any, dataset: Any, options: Any) -> None:
        raise OptionError("A table is evaluated as it is: no model is asked for it. Write the predictions as a column.")


def same_table(table: UserTable, options: TableOptions) -> TablePredictions:
    """Predictions that stand beside the truth; refuses a column that was named as both."""
    predicted = getattr(options, "prediction", "") or getattr(options, "score", "")
    if predicted and predicted == getattr(options, "truth", ""):
        raise OptionError(
            f"{predicted!r} was named as the truth and as what is compared with it, so everything would be right. "
            "Name two columns."
        )
    warnings = []
    if predicted in options.by:
        warnings.append(
            f"{predicted!r} is the prediction, and to group by: groups should not depend on what is evaluated"
        )
    warnings.extend(_repeats(table, options, predicted))
    return TablePredictions(table, Coverage(table.rows, table.rows), table.facts, tuple(warnings))


def _repeats(table: UserTable, options: TableOptions, predicted: str) -> Iterator[str]:
    """Says when a table seems to be there several times, or pairs of one score are."""
    if options.key:
        return
    roles = ("truth", "unit", "unit_b", "weight")
    named = [getattr(options, role, "") for role in roles] + [predicted, *getattr(options, "value", ()), *options.by]
    names = [name for name in dict.fromkeys(named) if name and name in table.columns]
    columns = {name: table.series(name, "column") for name in names}
    if isinstance(options, TablePairOptions):
        first, second = (table.identifiers(name, "unit")[0].astype(str) for name in (options.unit, options.unit_b))
        in_order = first <= second
        columns[options.unit] = pl.Series(np.where(in_order, first, second).tolist())
        columns[options.unit_b] = pl.Series(np.where(in_order, second, first).tolist())
    counts = pl.DataFrame(columns).hash_rows().value_counts()["count"].to_numpy()
    is_pairs = isinstance(options, TablePairOptions)
    scores_differ = is_pairs and table.series(predicted, "score").n_unique() > len(counts) / 2
    if len(counts) >= FEW_ROWS and counts.min() == counts.max() > 1 and (scores_differ or _repeat_wholly(table)):
        yield (
            f"every row is there {counts[0]} times ({len(counts):,} different ones in {table.rows:,}): was the table "
            "written, or joined, several times? Repeated rows make results look surer than they are"
        )
    elif scores_differ and (repeated := table.rows - len(counts)) > MANY_REPEATS * table.rows:
        yield (
            f"{repeated:,} of {table.rows:,} pairs repeat one of the same people and score, perhaps in the other "
            "order: each counts again. Keep one of them"
        )


def _repeat_wholly(table: UserTable) -> bool:
    """Whether rows repeat in the columns that nobody named, too: two pictures of a subject differ in their names."""
    columns = {name: table.comparable(name) for name in table.columns}
    return bool((pl.DataFrame(columns).hash_rows().value_counts()["count"] > 1).all())


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
    _refuse_shifted(keys, asked, table.where, truth.table.where, options.key)
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
    if extra:
        strange = [str(key) for key in keys[~np.isin(keys, asked)][:MOST_EXAMPLES]]
        warnings.append(f"{extra:,} predictions are of no row of the truth ({', '.join(strange)}), and are not used")
    return TablePredictions(table, coverage, table.facts, tuple(warnings), place=place)


def _refuse_shifted(keys: Array, asked: Array, where: str, truth: str, name: str) -> None:
    """Refuses keys that count the rows from the number beside the truth's, as 0 and 1.

    Rows 500 to 1499 for a truth of 1000 to 1999 are another part of one list.
    """
    if keys.dtype.kind not in "iu" or len(keys) != len(asked) or len(keys) < 2:
        return
    begin, other = int(keys.min()), int(asked.min())
    counting = np.arange(len(keys))
    if abs(begin - other) == 1 and all(np.array_equal(np.sort(side) - side.min(), counting) for side in (keys, asked)):
        raise PredictionError(
            f"{where}: {name!r} counts from {begin}, but in {truth} it counts from {other}, and both have "
            f"{len(keys):,} rows: joined so, predictions would stand beside other rows. Count from the same number."
        )
