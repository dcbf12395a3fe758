"""Your own table: labels, scores, numbers, verification pairs, or a value per row."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.benchmarks.table import demo, detection
from evenhand.benchmarks.table.data import TableCodec, TablePredictions, Truth, load, record, resolve
from evenhand.benchmarks.table.names import NAMES
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
from evenhand.benchmarks.table.sections import fairness_differences, verification_extras, verification_section
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import POSITIVE, UNIT_SCALE, Direction, Metric, Scale
from evenhand.core.task import About, Benchmark, Task
from evenhand.metrics.custom import Selected
from evenhand.metrics.labels import ClassRates, Confusion
from evenhand.metrics.means import Mean, Rate, RootMeanSquareError
from evenhand.metrics.reliability import Reliability
from evenhand.metrics.scores import ScoreRates, WeightedSeparation
from evenhand.metrics.verification import Separation, Verification, misplacement

Metrics = tuple[Metric[Any], ...]
_FILE = (
    "One table (CSV, TSV, also .gz; JSON lines; Parquet; Arrow) with truth, predictions and groups, one row "
    "per sample. "
    "Or two, joined by key=…: the truth with --data, the predictions as FILE."
)


def _label_metrics(options: LabelOptions) -> Metrics:
    weight = "sample_weight" if options.weight else None
    return _chosen(
        (
            Confusion("labels", options.labels, weight=weight),
            ClassRates("rates", options.labels, weight=weight, positive=options.positive or None),
        ),
        options,
    )


def _score_metrics(options: ScoreOptions) -> Metrics:
    weight = "sample_weight" if options.weight else None
    metrics: list[Metric[Any]] = [
        WeightedSeparation("ranking", weight) if weight else Separation("ranking", "exclude"),
        ScoreRates("rates", options.fpr, options.tpr, options.thresholds, weight=weight),
    ]
    if options.probabilities:
        metrics.append(Mean("brier", "squared_error", Direction.LOWER, output="score", scale=UNIT_SCALE, weight=weight))
        metrics.append(Reliability("calibration", column="score", right="same", weight=weight))
    return _chosen(tuple(metrics), options)


def _number_metrics(options: NumberOptions) -> Metrics:
    weight = "sample_weight" if options.weight else None
    within = [
        Rate(f"within_{limit:g}", f"within_{limit:g}", weight=weight, nothing="no row has both numbers")
        for limit in options.tolerance
    ]
    lower = Direction.LOWER
    return _chosen(
        (
            Mean("mae", "error", lower, output="error", scale=POSITIVE, weight=weight, absolute=True),
            RootMeanSquareError("rmse", "error", output="error", weight=weight),
            Mean("bias", "error", Direction.NEITHER, output="error", weight=weight),
            *within,
        ),
        options,
    )


def _pair_metrics(options: TablePairOptions) -> Metrics:
    if options.weight:
        raise OptionError("Pairs have no sample weights: a pair counts as often as both its people.")
    return _chosen((Verification("verification", options.far), Separation("ranking")), options)


def _value_metrics(options: ValueOptions) -> Metrics:
    scale = Scale(*options.scale) if options.scale else Scale()
    way, weight = Direction(options.direction), "sample_weight" if options.weight else None
    return _chosen(
        tuple(Mean(name, f"value:{name}", way, scale=scale, weight=weight) for name in options.value), options
    )


def _chosen(metrics: Metrics, options: TableOptions) -> Metrics:
    """The metrics that were asked for, by the name of a metric or of an output; all when none was."""
    if not options.metrics:
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
    name: str, summary: str, options: type[TableOptions], metrics: Any, rows: str, **more: Any
) -> Task[Truth, TablePredictions]:
    return Task(
        name=f"table/{name}",
        summary=summary,
        load=load,
        codec=TableCodec(),
        options=options,
        record=record,
        resolve=resolve,
        metrics=metrics,
        attributes_option="by",
        data_optional=True,
        about=About(data=_FILE, predictions=_FILE, rows=rows, unit="unit of the table", conventions=_CONVENTIONS),
        **more,
    )


_CONVENTIONS = (
    "Empty cells and NaN are missing: a missing prediction is wrong, a missing number is left out; both are counted.",
    "Numbers that are whole are shown without a fraction: labels 1, 1.0 and '1' are the same class.",
    "A row whose unit is empty, and every row where no unit is named, is a unit of its own.",
)

labels = _task(
    "labels", "Classes: a true and a predicted label per row.", LabelOptions, _label_metrics, "a row of the table",
    headline=("labels", "accuracy"), sections=(fairness_differences,),
)  # fmt: skip
scores = _task(
    "scores", "Scores: a number per row, and a truth that is yes or no.", ScoreOptions, _score_metrics,
    "a row of the table", headline=("ranking", "AUC"),
)  # fmt: skip
numbers = _task(
    "numbers", "Numbers: a true and a predicted one per row.", NumberOptions, _number_metrics, "a row of the table",
    headline=("mae", "error"),
)  # fmt: skip
pairs = _task(
    "pairs", "Verification: pairs of people with a score.", TablePairOptions, _pair_metrics, "a pair of people",
    extras=verification_extras, sections=(verification_section,), badness=misplacement,
)  # fmt: skip
values = _task(
    "values", "Any column with a number per row, such as an overlap: its mean.", ValueOptions, _value_metrics,
    "a row of the table",
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
    about=About(
        data="COCO ground truth JSON: images, annotations, categories; groups=FILE.csv with annotation_id or image_id",
        predictions="COCO results JSON: image_id, category_id, bbox, score",
        rows="an annotated object, or a detection that is a false alarm at some overlap",
        unit="image",
        conventions=(
            "AP, AP50, AP75, AR are as in COCO: by category and overlap, at most 100 detections of each per image.",
            "Where groups are of annotations, a detection has the group of the object that it overlaps; a false alarm "
            "elsewhere has none and counts for every group.",
        ),
    ),
)

benchmark = Benchmark(
    "table",
    "Your own table of predictions.",
    (labels, scores, numbers, pairs, values, detections),
    demo=demo.write,
    names=NAMES,
)
functions = _task(
    "functions",
    "Functions of the user, f(truth, prediction).",
    FunctionOptions,
    lambda options: (),
    "a row of the table",
)
TASKS: Mapping[str, Task[Truth, TablePredictions]] = {
    # Functions are not in files, and detections not in frames.
    task.name.partition("/")[2]: task
    for task in (labels, scores, numbers, pairs, values, functions)
}
