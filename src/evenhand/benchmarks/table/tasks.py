"""Your own table: labels, scores, numbers, verification pairs, or a value per row."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from evenhand.benchmarks.table import demo, detection, record
from evenhand.benchmarks.table.codec import TableCodec, TablePredictions
from evenhand.benchmarks.table.data import Truth, load
from evenhand.benchmarks.table.options import (
    DetectionTableOptions,
    FunctionOptions,
    LabelOptions,
    NumberOptions,
    ScoreOptions,
    TableOptions,
    TablePairOptions,
    ValueOptions,
)
from evenhand.benchmarks.table.sections import TEXTS, fairness_differences, verification_extras, verification_section
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import POSITIVE, UNIT_SCALE, Direction, Metric, Scale
from evenhand.core.names import DisplayNames
from evenhand.core.task import About, Benchmark, Task
from evenhand.metrics.custom import Selected
from evenhand.metrics.labels import ClassRates, Confusion
from evenhand.metrics.means import Mean, Rate, RootMeanSquareError
from evenhand.metrics.reliability import Reliability
from evenhand.metrics.scores import ScoreRates, WeightedSeparation
from evenhand.metrics.verification import VERIFICATION_VALUES, Separation, Verification, misplacement

Metrics = tuple[Metric[Any], ...]
_NAMES = TEXTS["names"]


def _label_metrics(options: LabelOptions, weight: str | None) -> Metrics:
    return (
        Confusion("labels", options.labels, weight=weight),
        ClassRates("rates", options.labels, weight=weight, positive=options.positive or None),
    )


def _score_metrics(options: ScoreOptions, weight: str | None) -> Metrics:
    metrics: Metrics = (
        WeightedSeparation("ranking", weight) if weight else Separation("ranking", "exclude"),
        ScoreRates("rates", options.fpr, options.tpr, options.thresholds, weight=weight),
    )
    if options.probabilities:
        brier = Mean("brier", "squared_error", Direction.LOWER, output="score", scale=UNIT_SCALE, weight=weight)
        metrics += (brier, Reliability("calibration", column="score", right="same", weight=weight))
    return metrics


def _number_metrics(options: NumberOptions, weight: str | None) -> Metrics:
    within = [
        Rate(f"within_{limit:g}", f"within_{limit:g}", weight=weight, nothing="no row has both numbers")
        for limit in options.tolerance
    ]
    return (
        Mean("mae", "error", Direction.LOWER, output="error", scale=POSITIVE, weight=weight, absolute=True),
        RootMeanSquareError("rmse", "error", output="error", weight=weight),
        Mean("bias", "error", Direction.NEITHER, output="error", weight=weight),
        *within,
    )


def _pair_metrics(options: TablePairOptions, weight: str | None) -> Metrics:
    if weight:
        raise OptionError("Pairs have no sample weights: a pair counts as often as both its people.")
    return Verification("verification", options.far), Separation("ranking")


def _value_metrics(options: ValueOptions, weight: str | None) -> Metrics:
    scale, way = Scale(*options.scale), Direction(options.direction)
    return tuple(Mean(name, f"value:{name}", way, scale=scale, weight=weight) for name in options.value)


def _chosen(all_metrics: Callable[[Any, str | None], Metrics], options: TableOptions) -> Metrics:
    """The metrics that were asked for, by the name of a metric or of an output; all when none was."""
    metrics = all_metrics(options, "sample_weight" if options.weight else None)
    if not options.metrics or not metrics:
        return metrics
    known = [name for metric in metrics for name in (metric.name, *metric.outputs)]
    for name in options.metrics:
        if name not in known:
            raise UnknownNameError("metric", name, dict.fromkeys(known))
    chosen: list[Metric[Any]] = []
    for metric in metrics:
        only = tuple(output for output in metric.outputs if output in options.metrics)
        if metric.name in options.metrics:
            chosen.append(metric)
        elif only:
            chosen.append(Selected(metric.name, metric, only))
    return tuple(chosen)


def _task(
    name: str,
    summary: str,
    options: type[TableOptions],
    columns: record.ColumnReader,
    metrics: Callable[[Any, str | None], Metrics],
    rows: str = "a row of the table",
    **more: Any,
) -> Task[Truth, TablePredictions]:
    return Task(
        name=f"table/{name}",
        summary=summary,
        load=load,
        codec=TableCodec(),
        options=options,
        record=partial(record.record, columns),
        metrics=partial(_chosen, metrics),
        attributes_option="by",
        data_optional=True,
        about=About(**TEXTS["about"], rows=rows),
        **more,
    )


labels = _task(
    "labels", "Classes: a true and a predicted label per row.", LabelOptions, record.label_columns, _label_metrics,
    headline=("labels", "accuracy"), sections=(fairness_differences,), resolve=record.resolve_labels,
)  # fmt: skip
scores = _task(
    "scores", "Scores: a number per row, and a truth that is yes or no.", ScoreOptions, record.score_columns,
    _score_metrics, headline=("ranking", "AUC"), resolve=record.resolve_scores,
)  # fmt: skip
numbers = _task(
    "numbers", "Numbers: a true and a predicted one per row.", NumberOptions, record.number_columns, _number_metrics,
    headline=("mae", "error"),
)  # fmt: skip
pairs = _task(
    "pairs", "Verification: pairs of people with a score.", TablePairOptions, record.pair_columns, _pair_metrics,
    "a pair of people", extras=verification_extras, sections=(verification_section,), badness=misplacement,
)  # fmt: skip
values = _task(
    "values", "Any column with a number per row, such as an overlap: its mean.", ValueOptions, record.value_columns,
    _value_metrics, resolve=record.resolve_values,
)  # fmt: skip
detections = Task(
    name="table/detection",
    summary="Detections in COCO's format, with groups from a table.",
    load=detection.load,
    codec=detection.CocoResults(),
    options=DetectionTableOptions,
    record=detection.record,
    metrics=detection.metrics,
    attributes_option="by",
    headline=("detection", "AP"),
    about=About(**TEXTS["detection"]),
)

benchmark = Benchmark(
    "table",
    "Your own table of predictions.",
    (labels, scores, numbers, pairs, values, detections),
    demo=demo.write,
    names=DisplayNames(**{**_NAMES, "values": (*_NAMES["values"], *VERIFICATION_VALUES)}),
)
functions = _task(
    "functions", "Functions of the user, f(truth, prediction).", FunctionOptions,
    lambda truth, predictions, options, tools: record.TableColumns({}), lambda options, weight: (),
)  # fmt: skip
TASKS: Mapping[str, Task[Truth, TablePredictions]] = {
    # Functions are not in files, and detections not in frames.
    task.name.partition("/")[2]: task
    for task in (labels, scores, numbers, pairs, values, functions)
}
