"""From a table to rows: roles of columns, joins by key, and what is wrong with them.

The truth and the groups are in the table that `load` reads; predictions are in the same one, or in another that is
joined by the key. What can't be used is counted, with a reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from evenhand.benchmarks.table.frame import Coded, UserTable, read_table
from evenhand.benchmarks.table.options import (
    FunctionOptions,
    LabelOptions,
    NumberOptions,
    ScoreOptions,
    TableOptions,
    TablePairOptions,
    ValueOptions,
)
from evenhand.core.errors import DataError, InputError, OptionError, PredictionError, UnknownNameError
from evenhand.core.records import Array, Attribute, Records, unique_codes
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, Sample, Submitted, Tools

O = TypeVar("O", bound=TableOptions)  # noqa: E741  # the letter of the word
MOST_EXAMPLES = 5
MANY_NUMBERS = 20  # groups that are numbers, beyond which steps are proposed
_NO_TRUTH = "the truth is missing"


class RowSamples(Sequence[Sample]):
    """The rows of a table as samples, made when they are looked at."""

    def __init__(self, items: Array) -> None:
        self._items = items

    def __len__(self) -> int:
        return len(self._items)

    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [Sample(str(item)) for item in self._items[at]]
        return Sample(str(self._items[at]))


@dataclass(frozen=True)
class Truth:
    """The table that the truth is in, with the rows' names, units, weights and groups."""

    table: UserTable
    item: Array
    unit: Array | None
    unit_b: Array | None
    weight: Array | None
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True)
class TablePredictions(Submitted[UserTable]):
    """The table that predictions are in, and where the row of each row of the truth stands in it; −1: nowhere."""

    place: Array | None = None  # None: it is the table of the truth, row by row

    @property
    def table(self) -> UserTable:
        return self.content

    def aligned(self, values: Array, missing: Any) -> Array:
        """A column of predictions in the order of the truth."""
        if self.place is None:
            return values
        aligned = np.full(len(self.place), missing, dtype=np.result_type(values.dtype, type(missing)))
        there = self.place >= 0
        aligned[there] = values[self.place[there]]
        return aligned


def load(data: Path, options: TableOptions) -> Dataset[Truth]:
    """The table with the truth."""
    table = read_table(data)
    return dataset_of(table, options)


def dataset_of(table: UserTable, options: TableOptions) -> Dataset[Truth]:
    """What the truth's table says of every row, checked."""
    warnings: list[str] = []
    pairs = isinstance(options, TablePairOptions)
    item = _items(table, options)
    unit = unit_b = None
    if options.unit:
        unit, missing = table.identifiers(options.unit, "unit")
        if missing.any():
            warnings.append(
                f"{int(missing.sum()):,} of {table.rows:,} rows have no {options.unit!r}: each is taken as a "
                "unit of its own"
            )
    if isinstance(options, TablePairOptions):
        if not options.unit or not options.unit_b:
            raise OptionError("Pairs need two units: name the columns of both people, unit=… and unit_b=….")
        unit_b, missing = table.identifiers(options.unit_b, "unit_b")
        if missing.any() or unit is None:
            raise DataError(f"{table.where}: {int(missing.sum()):,} pairs have no {options.unit_b!r}.")
        if unit.dtype.kind != unit_b.dtype.kind:
            unit, unit_b = unit.astype(str), unit_b.astype(str)
    if unused := [name for name in options.limits if name not in options.by]:
        raise OptionError(f"bins names {unused[0]!r}, which is no column to group by (by={', '.join(options.by)}).")
    attributes: dict[str, Attribute] = {}
    for name in dict.fromkeys(options.by):
        attributes |= (_pair_attributes if pairs else _attributes)(table, name, options)
        if len(values := attributes[name].levels) > MANY_NUMBERS and _are_numbers(values):
            warnings.append(
                f"{name!r} has {len(values)} different numbers, and each is a group: bins={name}:30:60 would make three"
            )
        if unit is not None and not pairs:
            warnings.extend(_crossing(name, attributes[name], unit, options.unit))
    weight = _weights(table, options.weight) if options.weight else None
    truth = Truth(table, item, unit, unit_b, weight, attributes)
    levels = {name: attributes[name].levels for name in options.by}
    inputs = (table.fact,) if table.fact is not None else ()
    return Dataset(
        "table",
        RowSamples(item),
        truth,
        levels,
        inputs,
        tuple(warnings),
        {"rows of the table": table.rows},
        media=False,
    )


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
    inputs = (table.fact,) if table.fact is not None else ()
    return TablePredictions(table, Coverage(table.rows, table.rows), inputs)


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
    _refuse_repeated(keys, table.where, options.key, PredictionError)
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
    inputs = (table.fact,) if table.fact is not None else ()
    return TablePredictions(table, coverage, inputs, tuple(warnings), place=place)


def record(
    dataset: Dataset[Truth], predictions: TablePredictions, options: TableOptions, tools: Tools
) -> Iterator[Records]:
    """One row per row of the table that has a truth; the others are counted."""
    reader = next(reader for kind, reader in READERS.items() if isinstance(options, kind))
    columns = reader(dataset.truth, predictions, options, tools)
    truth = dataset.truth
    columns = {
        "item": truth.item,
        **_present(unit=truth.unit, unit_b=truth.unit_b, sample_weight=truth.weight),
        **columns,
    }
    keep = columns.pop("_keep", None)
    rows = Records(columns, truth.attributes)
    if keep is not None and not keep.all():
        tools.warn(f"{int((~keep).sum()):,} of {len(keep):,} rows are left out: {_NO_TRUTH}")
        rows = rows.take(keep)
    if not len(rows):
        raise DataError(f"{truth.table.where}: {_NO_TRUTH} in every row, so there is nothing to measure.")
    yield rows


def user_columns(dataset: Dataset[Truth], predictions: TablePredictions, names: Sequence[str]) -> dict[str, Array]:
    """Further columns that a user's own metric reads, as numbers."""
    columns = {}
    for name in names:
        if name in dataset.truth.table.columns:
            columns[name] = dataset.truth.table.numbers(name, "a column of a metric")
        else:
            columns[name] = predictions.aligned(predictions.table.numbers(name, "a column of a metric"), np.nan)
    return columns


def resolve(dataset: Dataset[Truth], predictions: TablePredictions, options: O) -> O:
    """The options with what only the data tell: classes, the positive one, whether scores are probabilities."""
    table = dataset.truth.table
    if isinstance(options, LabelOptions):
        labels = options.labels or table.labels(options.truth, "truth").levels
        if not labels:
            raise DataError(f"{table.where}: the truth {options.truth!r} is empty in every row.")
        if len(labels) < 2:
            raise DataError(
                f"{table.where}: the truth {options.truth!r} has one class only ({labels[0]}). "
                "Name the classes with labels=…, or another column."
            )
        if len(labels) > options.most_levels:
            raise DataError(
                f"{table.where}: the truth {options.truth!r} has {len(labels):,} different values. If they are "
                "numbers, "
                "evaluate them as table/numbers; else allow so many classes with most_levels."
            )
        positive = options.positive or (labels[1] if len(labels) == 2 else "")
        if positive and positive not in labels:
            raise UnknownNameError("class", positive, labels, "positive=… names it.")
        return replace(options, labels=tuple(labels), positive=positive)
    if isinstance(options, ScoreOptions):
        levels = table.labels(options.truth, "truth").levels
        if len(levels) != 2 and not (options.positive and options.positive in levels):
            raise DataError(
                f"{table.where}: the truth {options.truth!r} of scores must have two classes, and has "
                f"{len(levels)} ({', '.join(levels[:5])}). Name the one that scores are for, positive=…."
            )
        probabilities = options.probabilities
        if probabilities is None:
            probabilities = _between_0_and_1(predictions.table.numbers(options.score, "score"))
        return replace(options, positive=options.positive or levels[1], probabilities=probabilities)
    if isinstance(options, ValueOptions) and not options.scale:
        columns = [predictions.table.numbers(name, "value") for name in options.value]
        return replace(options, scale=(0.0, 1.0)) if all(map(_between_0_and_1, columns)) else options
    return options


def _between_0_and_1(values: Array) -> bool:
    there = values[~np.isnan(values)]
    return bool(len(there)) and bool(there.min() >= 0) and bool(there.max() <= 1)


def _label_columns(truth: Truth, predictions: TablePredictions, options: LabelOptions, tools: Tools) -> dict[str, Any]:
    true = truth.table.labels(options.truth, "truth")
    predicted = predictions.table.labels(options.prediction, "prediction")
    if not predicted.levels:
        raise PredictionError(
            f"{predictions.table.where}: the prediction {options.prediction!r} is empty in every row."
        )
    _refuse_scores(predictions.table, options, predicted)
    classes = {label: code for code, label in enumerate(options.labels)}
    known = [level for level in predicted.levels if level in classes]
    if not known:
        raise PredictionError(
            f"{predictions.table.where}: no prediction in {options.prediction!r} "
            f"({', '.join(predicted.levels[:4])}) is "
            f"one of the classes of {options.truth!r} ({', '.join(options.labels[:4])}). Are they of different types?"
        )
    codes = predictions.aligned(predicted.codes, -1)
    answer = _recoded(Coded(codes, predicted.levels), classes, len(classes))
    outside = int(((answer == len(classes)) & (codes >= 0)).sum())
    if outside:
        other = [level for level in predicted.levels if level not in classes]
        tools.warn(
            f"{outside:,} predictions are none of the classes ({', '.join(other[:4])}): they count as wrong, "
            "as `unknown`"
        )
    if int((codes < 0).sum()):
        tools.warn(f"{int((codes < 0).sum()):,} rows have no prediction: they count as wrong, as `unknown`")
    code = _recoded(true, classes, -1)
    return {"truth": code.clip(min=0), "answer": answer, "right": answer == code, "_keep": code >= 0}


def _score_columns(truth: Truth, predictions: TablePredictions, options: ScoreOptions, tools: Tools) -> dict[str, Any]:
    true = truth.table.labels(options.truth, "truth")
    score = predictions.aligned(predictions.table.numbers(options.score, "score"), np.nan)
    same = np.asarray(true.codes == true.levels.index(options.positive))
    _say_missing(score, options.score, tools)
    squared_error = np.square(score - same)  # not a number where the score is missing
    return {"score": _or_lowest(score), "same": same, "squared_error": squared_error, "_keep": true.codes >= 0}


def _number_columns(
    truth: Truth, predictions: TablePredictions, options: NumberOptions, tools: Tools
) -> dict[str, Any]:
    true = truth.table.numbers(options.truth, "truth")
    predicted = predictions.aligned(predictions.table.numbers(options.prediction, "prediction"), np.nan)
    _say_missing(predicted, options.prediction, tools)
    error = predicted - true
    within = {f"within_{limit:g}": np.asarray(np.abs(error) <= limit) & ~np.isnan(error) for limit in options.tolerance}
    return {"truth": true, "prediction": predicted, "error": error, **within, "_keep": ~np.isnan(true)}


def _pair_columns(
    truth: Truth, predictions: TablePredictions, options: TablePairOptions, tools: Tools
) -> dict[str, Any]:
    same = truth.table.truths(options.truth, "truth")
    score = predictions.aligned(predictions.table.numbers(options.score, "score"), np.nan)
    one, other = truth.unit, truth.unit_b
    assert one is not None
    assert other is not None
    for wrong, what in ((same == 1) & (one != other), "two people"), ((same == 0) & (one == other), "one person"):
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"{truth.table.where}, row {row + 1}: {options.truth!r} says {bool(same[row])}, but the pair "
                f"is of {what} ({one[row]} and {other[row]}; {int(wrong.sum()):,} rows)."
            )
    _say_missing(score, options.score, tools, "a failure to enrol, never accepted")
    return {"score": _or_lowest(score), "same": same == 1, "_keep": same >= 0}


def _or_lowest(score: Array) -> Array:
    """Scores with −∞, which is never accepted, where there is none."""
    return np.where(np.isnan(score), -np.inf, score)


def _value_columns(truth: Truth, predictions: TablePredictions, options: ValueOptions, tools: Tools) -> dict[str, Any]:
    columns = {}
    for name in options.value:
        values = predictions.aligned(predictions.table.numbers(name, "value"), np.nan)
        _say_missing(values, name, tools)
        if len(options.scale) == 2:
            outside = (values < options.scale[0]) | (values > options.scale[1])
            if outside.any():
                row = int(outside.argmax())
                raise DataError(
                    f"{predictions.table.where}, row {row + 1}: {name!r} is {values[row]:g}, outside of the scale "
                    f"{options.scale[0]:g} to {options.scale[1]:g} ({int(outside.sum()):,} rows)."
                )
        columns[f"value:{name}"] = values
    return columns


READERS: Mapping[type[TableOptions], Any] = {
    LabelOptions: _label_columns,
    ScoreOptions: _score_columns,
    NumberOptions: _number_columns,
    TablePairOptions: _pair_columns,
    ValueOptions: _value_columns,
    FunctionOptions: lambda truth, predictions, options, tools: {},
}


def _present(**columns: Array | None) -> dict[str, Array]:
    return {name: column for name, column in columns.items() if column is not None}


def _items(table: UserTable, options: TableOptions) -> Array:
    """What names the rows: the key, or their numbers from 1."""
    if not options.key:
        return np.arange(1, table.rows + 1)
    keys, missing = table.identifiers(options.key, "key")
    if missing.any():
        raise DataError(f"{table.where}, row {int(missing.argmax()) + 1}: {options.key!r} is empty.")
    _refuse_repeated(keys, table.where, options.key, DataError)
    return keys


def _refuse_repeated(keys: Array, where: str, name: str, problem: type[InputError]) -> None:
    values, counts = np.unique(keys, return_counts=True)
    if len(values) < len(keys):
        often = values[counts > 1]
        raise problem(
            f"{where}: {len(often):,} values of the key {name!r} occur more than once (first {str(often[0])!r}, "
            f"{int(counts[counts > 1][0])} times). A key must name one row."
        )


def _attributes(table: UserTable, name: str, options: TableOptions) -> dict[str, Attribute]:
    coded = _grouped(table, name, options, options.limits.get(name))
    if not coded.levels:
        raise DataError(f"{table.where}: {name!r}, a column to group by, is empty in every row.")
    return {name: _of_codes(coded.codes, coded.levels)}


def _grouped(table: UserTable, column: str, options: TableOptions, limits: Sequence[float] | None) -> Coded:
    """A column to group by, cut at limits where there are some."""
    if limits is not None:
        return table.binned(column, limits)
    return table.labels(column, "a column to group by", options.most_levels)


def _are_numbers(levels: Sequence[str]) -> bool:
    return all(level.lstrip("-").replace(".", "", 1).isdigit() for level in levels)


def _pair_attributes(table: UserTable, name: str, options: TableOptions) -> dict[str, Attribute]:
    """An attribute of pairs: the column of that name, or the group that both people are in, where they are in one.

    A pair of people of two groups belongs to neither; it counts for everyone. The group of each person stands beside.
    """
    sides = next((both for both in _sides(name) if all(side in table.columns for side in both)), None)
    if name in table.columns or sides is None:
        return _attributes(table, name, options)
    first, second = (_grouped(table, side, options, options.limits.get(name)) for side in sides)
    levels = tuple(dict.fromkeys((*first.levels, *second.levels)))
    codes = {level: code for code, level in enumerate(levels)}
    one, other = _recoded(first, codes, -1), _recoded(second, codes, -1)
    return {
        name: _of_codes(np.where(one == other, one, -1), levels),
        f"{name} (first)": _of_codes(one, levels),
        f"{name} (second)": _of_codes(other, levels),
    }


def _of_codes(codes: Array, levels: tuple[str, ...]) -> Attribute:
    return Attribute.coded(np.where(codes < 0, len(levels), codes), levels)


def _sides(name: str) -> tuple[tuple[str, str], ...]:
    return tuple((f"{name}{a}", f"{name}{b}") for a, b in (("_a", "_b"), ("_1", "_2"), ("1", "2")))


def _weights(table: UserTable, name: str) -> Array:
    weight = table.numbers(name, "weight")
    for wrong, what in ((np.isnan(weight), "empty"), (weight < 0, "negative")):
        if wrong.any():
            raise DataError(
                f"{table.where}, row {int(wrong.argmax()) + 1}: the weight {name!r} is {what} "
                f"({int(wrong.sum()):,} rows). "
                "Weights are 0 or more."
            )
    if not weight.any():
        raise DataError(f"{table.where}: every weight in {name!r} is 0.")
    return weight


def _crossing(name: str, attribute: Attribute, unit: Array, unit_name: str) -> Iterator[str]:
    """Says when units are in several groups: right for lighting, wrong for a person's birthplace."""
    _, codes = unique_codes(unit)
    known = attribute.codes < len(attribute.levels)
    first = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[codes[known][::-1]] = attribute.codes[known][::-1]
    other = known & (first[codes] != attribute.codes)
    if other.any():
        row = int(other.argmax())
        levels = attribute.levels[first[codes[row]]], attribute.levels[attribute.codes[row]]
        yield (
            f"{len(np.unique(codes[other])):,} of {len(first):,} units ({unit_name!r}) are in several groups "
            f"of {name!r}, such as "
            f"{unit[row]!s} in {levels[0]!r} and {levels[1]!r}: groups share units. If {name!r} describes the unit, "
            "mend the table"
        )


def _recoded(column: Coded, codes: Mapping[str, int], other: int) -> Array:
    table = np.array([*(codes.get(level, other) for level in column.levels), other], dtype=np.int64)
    return np.asarray(table[column.codes])


def _refuse_scores(table: UserTable, options: LabelOptions, predicted: Coded) -> None:
    """A prediction that holds many fractions is a score, not a label."""
    series = table.series(options.prediction, "prediction")
    if series.dtype.is_float() and len(predicted.levels) > max(20, 2 * len(options.labels)):
        raise PredictionError(
            f"{table.where}: {options.prediction!r} was given as predicted label, but holds "
            f"{len(predicted.levels):,} different "
            f"numbers ({', '.join(predicted.levels[:3])}, …). Scores are evaluated as table/scores, with "
            f"score={options.prediction}."
        )


def _say_missing(values: Array, name: str, tools: Tools, what: str = "they are counted as missing") -> None:
    missing = int(np.isnan(values).sum())
    if missing == len(values):
        raise PredictionError(f"{name!r} is empty in every row.")
    if missing:
        tools.warn(f"{missing:,} of {len(values):,} rows have no {name!r}: {what}")
