"""From a table to rows: which columns are read for each task. What can't be used is counted, with a reason."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from evenhand.benchmarks.table.codec import TablePredictions
from evenhand.benchmarks.table.data import Truth, recoded
from evenhand.benchmarks.table.frame import LabelColumn, UserTable
from evenhand.benchmarks.table.options import (
    LabelOptions,
    NumberOptions,
    ScoreOptions,
    TableOptions,
    TablePairOptions,
    ValueOptions,
)
from evenhand.core.errors import DataError, PredictionError, UnknownNameError
from evenhand.core.levels import alike_levels
from evenhand.core.records import Array, Records
from evenhand.core.task import Dataset, Tools
from evenhand.search.sanity import chance_of_higher

_MOSTLY_LOWER = 0.4  # AUC; what is nearer to one half is a weak score, whichever way round
_NO_TRUTH = "the truth is missing"
_LOOKED_AT = 100_000  # rows, to see which way round scores rank
_FEW = 5  # rows of a class, by which nothing is seen


class TableColumns(NamedTuple):
    """The columns that a task measures, and which rows can be measured."""

    columns: dict[str, Array]
    has_truth: Array | None = None  # None: all rows have
    other_class: int = 0  # rows without a truth because it is none of the classes


ColumnReader = Callable[[Truth, TablePredictions, Any, Tools], TableColumns]


def record(
    read_columns: ColumnReader,
    dataset: Dataset[Truth],
    predictions: TablePredictions,
    options: TableOptions,
    tools: Tools,
) -> Iterator[Records]:
    """One row per row of the table that has a truth; the others are counted."""
    truth = dataset.truth
    given = {"item": truth.item, "unit": truth.unit, "unit_b": truth.unit_b, "sample_weight": truth.weight}
    columns = {name: column for name, column in given.items() if column is not None}
    measured, keep, other = read_columns(truth, predictions, options, tools)
    rows = Records({**columns, **measured}, truth.attributes)
    if keep is not None and not keep.all():
        if without := len(keep) - int(keep.sum()) - other:
            tools.warn(f"{without:,} of {len(keep):,} rows are left out: {_NO_TRUTH}")
        if other:
            tools.warn(f"{other:,} of {len(keep):,} rows are left out: the truth is none of the classes")
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
            columns[name] = predictions.aligned(predictions.content.numbers(name, "a column of a metric"), np.nan)
    return columns


def resolve_labels(dataset: Dataset[Truth], predictions: TablePredictions, options: LabelOptions) -> LabelOptions:
    """The options with what only the data tell: the classes, and the positive one of two."""
    where, truth = dataset.truth.table.where, options.truth
    labels = options.labels or dataset.truth.table.labels(truth, "truth").levels
    if not labels:
        raise DataError(f"{where}: the truth {truth!r} is empty in every row.")
    if len(labels) < 2:
        raise DataError(
            f"{where}: the truth {truth!r} has one class only ({labels[0]}). "
            "Name the classes with labels=…, or another column."
        )
    if len(labels) > options.most_levels:
        raise DataError(
            f"{where}: the truth {truth!r} has {len(labels):,} different values. If they are numbers, "
            "evaluate them as table/numbers; else allow so many classes with most_levels."
        )
    positive = _positive(options.positive, labels) or (labels[1] if len(labels) == 2 else "")
    if positive and positive not in labels:
        raise UnknownNameError("class", positive, labels, "positive=… names it.")
    return replace(options, labels=tuple(labels), positive=positive)


def resolve_scores(dataset: Dataset[Truth], predictions: TablePredictions, options: ScoreOptions) -> ScoreOptions:
    """The options with what only the data tell: the positive class, and whether scores are probabilities."""
    table = dataset.truth.table
    levels = table.labels(options.truth, "truth").levels
    if options.positive:
        options = replace(options, positive=_positive(options.positive, levels))
        if len(levels) == 2 and options.positive not in levels:
            raise UnknownNameError("class", options.positive, levels, "positive=… names it.")
    if len(levels) != 2 and not (options.positive and options.positive in levels):
        raise DataError(
            f"{table.where}: the truth {options.truth!r} of scores must have two classes, and has "
            f"{len(levels)} ({', '.join(levels[:5])}). Name the one that scores are for, positive=…."
        )
    probabilities = options.probabilities
    if probabilities is None:
        probabilities = _between_0_and_1(predictions.content.numbers(options.score, "score"))
    return replace(options, positive=options.positive or levels[1], probabilities=probabilities)


def _positive(name: str, levels: Sequence[str]) -> str:
    """The class that was named; yes and no, in columns of such values, are 1 and 0."""
    plain = {"true": "1", "false": "0"}.get(name.casefold(), name)
    return plain if name not in levels and plain in levels else name


def resolve_values(dataset: Dataset[Truth], predictions: TablePredictions, options: ValueOptions) -> ValueOptions:
    """The options with the scale from 0 to 1, where none was given and no value leaves it."""
    if options.scale:
        return options
    columns = [predictions.content.numbers(name, "value") for name in options.value]
    return replace(options, scale=(0.0, 1.0)) if all(map(_between_0_and_1, columns)) else options


def _between_0_and_1(values: Array) -> bool:
    there = values[~np.isnan(values)]
    return bool(len(there)) and bool(there.min() >= 0) and bool(there.max() <= 1)


def label_columns(truth: Truth, predictions: TablePredictions, options: LabelOptions, tools: Tools) -> TableColumns:
    true = truth.table.labels(options.truth, "truth")
    predicted = predictions.content.labels(options.prediction, "prediction")
    if not predicted.levels:
        raise PredictionError(
            f"{predictions.content.where}: the prediction {options.prediction!r} is empty in every row."
        )
    _refuse_scores(predictions.content, options, predicted)
    classes = {label: code for code, label in enumerate(options.labels)}
    known = [level for level in predicted.levels if level in classes]
    if not known:
        raise PredictionError(
            f"{predictions.content.where}: no prediction in {options.prediction!r} ({', '.join(predicted.levels[:4])}) "
            f"is one of the classes of {options.truth!r} ({', '.join(options.labels[:4])}). "
            "Are they of different types?"
        )
    codes = predictions.aligned(predicted.codes, -1)
    answer = recoded(LabelColumn(codes, predicted.levels), classes, len(classes))
    compared = options.truth, options.labels
    outside = int(((answer == len(classes)) & (codes >= 0)).sum())
    if outside:
        strange = [level for level in predicted.levels if level not in classes]
        shown = ", ".join(strange[:4])
        tools.warn(f"{outside:,} predictions are none of the classes ({shown}): they count as wrong, as `unknown`")
        compared = f"{options.truth} and {options.prediction}", (*options.labels, *strange)
    for message in alike_levels(*compared):
        tools.warn(message)
    if missing := int((codes < 0).sum()):
        tools.warn(f"{missing:,} rows have no prediction: they count as wrong, as `unknown`")
    code = recoded(true, classes, -1)
    other = int(((code < 0) & (true.codes >= 0)).sum())
    columns = {"truth": code.clip(min=0), "answer": answer, "right": answer == code}
    return TableColumns(columns, code >= 0, other)


def score_columns(truth: Truth, predictions: TablePredictions, options: ScoreOptions, tools: Tools) -> TableColumns:
    true = truth.table.labels(options.truth, "truth")
    score = predictions.aligned(predictions.content.numbers(options.score, "score"), np.nan)
    levels = true.levels
    same = np.asarray(true.codes == levels.index(options.positive))
    _say_missing(score, options.score, tools)
    others = [level for level in levels if level != options.positive]
    other_class = f"for the other class (positive={others[0]}), or " if len(others) == 1 else ""
    advice = f"are they {other_class}distances? Then give their negatives"
    _say_reversed(score, same, true.codes >= 0, f"for {options.positive!r}", advice, tools)
    squared_error = np.square(score - same)  # not a number where the score is missing
    return TableColumns({"score": _or_lowest(score), "same": same, "squared_error": squared_error}, true.codes >= 0)


def number_columns(truth: Truth, predictions: TablePredictions, options: NumberOptions, tools: Tools) -> TableColumns:
    true = truth.table.numbers(options.truth, "truth")
    predicted = predictions.aligned(predictions.content.numbers(options.prediction, "prediction"), np.nan)
    _say_missing(predicted, options.prediction, tools)
    error = predicted - true
    within = {f"within_{limit:g}": np.asarray(np.abs(error) <= limit) & ~np.isnan(error) for limit in options.tolerance}
    return TableColumns({"truth": true, "prediction": predicted, "error": error, **within}, ~np.isnan(true))


def pair_columns(truth: Truth, predictions: TablePredictions, options: TablePairOptions, tools: Tools) -> TableColumns:
    same = truth.table.truths(options.truth, "truth")
    score = predictions.aligned(predictions.content.numbers(options.score, "score"), np.nan)
    first, second = truth.unit, truth.unit_b
    assert first is not None
    assert second is not None
    for wrong, what in ((same == 1) & (first != second), "two people"), ((same == 0) & (first == second), "one person"):
        if wrong.any():
            row = int(wrong.argmax())
            raise DataError(
                f"{truth.table.where}, row {row + 1}: {options.truth!r} says {bool(same[row])}, but the pair "
                f"is of {what} ({first[row]} and {second[row]}; {int(wrong.sum()):,} rows)."
            )
    _say_missing(score, options.score, tools, "a failure to enrol, never accepted")
    _say_reversed(
        score, same == 1, same >= 0, "for the same person", "are they distances? Then give their negatives", tools
    )
    return TableColumns({"score": _or_lowest(score), "same": same == 1}, same >= 0)


def _or_lowest(score: Array) -> Array:
    """Scores with −∞, which is never accepted, where there is none."""
    return np.where(np.isnan(score), -np.inf, score)


def value_columns(truth: Truth, predictions: TablePredictions, options: ValueOptions, tools: Tools) -> TableColumns:
    columns = {}
    for name in options.value:
        values = predictions.aligned(predictions.content.numbers(name, "value"), np.nan)
        _say_missing(values, name, tools)
        if len(options.scale) == 2:
            outside = (values < options.scale[0]) | (values > options.scale[1])
            if outside.any():
                row = int(outside.argmax())
                raise DataError(
                    f"{predictions.content.where}, row {row + 1}: {name!r} is {values[row]:g}, outside of the scale "
                    f"{options.scale[0]:g} to {options.scale[1]:g} ({int(outside.sum()):,} rows)."
                )
        columns[f"value:{name}"] = values
    return TableColumns(columns)


def _refuse_scores(table: UserTable, options: LabelOptions, predicted: LabelColumn) -> None:
    """A prediction that holds many fractions is a score, not a label."""
    series = table.series(options.prediction, "prediction")
    if series.dtype.is_float() and len(predicted.levels) > max(20, 2 * len(options.labels)):
        raise PredictionError(
            f"{table.where}: {options.prediction!r} was given as predicted label, but holds {len(predicted.levels):,} "
            f"different numbers ({', '.join(predicted.levels[:3])}, …). Scores are evaluated as table/scores, with "
            f"score={options.prediction}."
        )


def _say_missing(values: Array, name: str, tools: Tools, what: str = "they are counted as missing") -> None:
    missing = int(np.isnan(values).sum())
    if missing == len(values):
        raise PredictionError(f"{name!r} is empty in every row.")
    if missing:
        tools.warn(f"{missing:,} of {len(values):,} rows have no {name!r}: {what}")


def _say_reversed(score: Array, same: Array, has_truth: Array, of: str, advice: str, tools: Tools) -> None:
    """Says when scores mostly rank the wrong way round, by more than chance would; of large tables a part is looked at.

    Chance is that of independent rows; where they are not, only what is far from one half is said.
    """
    step = max(1, len(score) // _LOOKED_AT)
    score, same = (values[::step][(has_truth & ~np.isnan(score))[::step]] for values in (score, same))
    positives, negatives = int(same.sum()), int((~same).sum())
    if min(positives, negatives) < _FEW:
        return
    area = chance_of_higher(score[same], score[~same])
    deviation = np.sqrt((positives + negatives + 1) / (12 * positives * negatives))
    if area < min(0.5 - 4 * deviation, _MOSTLY_LOWER):
        tools.warn(f"the scores seem to be the wrong way round: {of} they are mostly lower (AUC {area:.2f}); {advice}")
