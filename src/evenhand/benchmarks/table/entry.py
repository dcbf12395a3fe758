"""A table in memory, made ready for evaluation: which question it asks, its data, its predictions, its metrics."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np

from evenhand.benchmarks.table.codec import TablePredictions, same_table
from evenhand.benchmarks.table.data import Truth, dataset_of
from evenhand.benchmarks.table.frame import UserTable, content_fact, from_frame
from evenhand.benchmarks.table.options import TableOptions
from evenhand.benchmarks.table.record import user_columns
from evenhand.benchmarks.table.tasks import TASKS
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import Metric
from evenhand.core.options import parse
from evenhand.core.records import Array, Records
from evenhand.core.task import Dataset, Task, Tools
from evenhand.metrics.custom import FunctionMetric

MetricLike = str | Metric[Any] | Callable[[Array, Array], float]
MOST_CLASSES = 20  # whole numbers with more different values are numbers, not classes
_TRUTH, _PREDICTION = "true_value", "predicted_value"  # what a function gets
_ROLES = ("truth", "prediction", "score", "unit", "key", "weight", "unit_b")


@dataclass(frozen=True)
class PreparedTable:
    """A table with its task, its options as texts or values, and both of its sides."""

    task: Task[Truth, TablePredictions]
    dataset: Dataset[Truth]
    predictions: TablePredictions
    options: TableOptions
    functions: tuple[FunctionMetric, ...]


def prepare(
    frame: Any,
    columns: Mapping[str, Any],
    by: Sequence[str],
    kind: str | None,
    metrics: Sequence[MetricLike] | None,
    options: Mapping[str, Any],
) -> PreparedTable:
    """The table with what the named columns ask of it; `columns` are the roles that were given."""
    table = from_frame(frame)
    given = {role: column for role, column in columns.items() if column}
    unit = given.get("unit")
    if unit is not None and not isinstance(unit, str):
        if len(unit) != 2:
            raise OptionError(f"unit={unit!r}: name one column, or two for pairs.")
        given |= {"unit": unit[0], "unit_b": unit[1]}
    asked = kind or kind_of(table, given)
    if asked not in TASKS:
        raise UnknownNameError("kind of table", asked, TASKS)
    task = TASKS[asked]
    names: list[str] = []
    own: list[Metric[Any]] = []
    wrapped: list[Metric[Any]] = []  # functions
    for metric in metrics or ():
        if isinstance(metric, str):
            names.append(metric)
        elif isinstance(metric, Metric):
            own.append(metric)
        elif callable(metric):
            name = getattr(metric, "__name__", type(metric).__name__)
            wrapped.append(FunctionMetric(name, metric, _TRUTH, _PREDICTION))
        else:
            raise OptionError(f"{metric!r} is no metric: expected a name, a Metric or a function f(truth, prediction).")
    chosen = parse(
        cast(type[TableOptions], task.options), {**given, **options, "by": tuple(by), "metrics": tuple(names)}
    )
    for role in _ROLES:  # every column that was named is there, before anything is paid for
        if column := getattr(chosen, role, ""):
            table.series(column, role)
    further = sorted({column for metric in own for column in metric.columns} & set(table.columns))
    dataset = replace(dataset_of(table, chosen), inputs=(content_fact(_used(table, chosen, further)),))
    added = (*own, *wrapped)
    functions = tuple(metric for metric in added if isinstance(metric, FunctionMetric))
    if added:
        task = replace(
            task,
            record=partial(_record_more, task.record, further, bool(functions)),
            metrics=partial(_metrics, task.metrics, added, bool(names)),
            headline=task.headline if names else (added[0].name, next(iter(added[0].outputs))),
        )
    predictions = same_table(table, chosen)
    if task.resolve:
        chosen = task.resolve(dataset, predictions, chosen)
    return PreparedTable(task, dataset, predictions, chosen, functions)


def kind_of(table: UserTable, given: Mapping[str, Any]) -> str:
    """Which question the named columns ask."""
    for argument, *others in (("value", "truth", "prediction", "score"), ("score", "prediction")):
        both = [name for name in others if name in given] if argument in given else []
        if both:
            raise OptionError(
                f"{argument}=… and {both[0]}=… ask different questions: leave one of them out, and evaluate the table "
                "twice."
            )
    if "value" in given:
        return "values"
    if "score" in given:
        if "truth" not in given:
            raise OptionError("A score needs a truth=…; a column that only is to be averaged is a value=….")
        return "pairs" if "unit_b" in given else "scores"
    if "truth" not in given or "prediction" not in given:
        raise OptionError(
            "Name the columns: truth=… and prediction=… (labels or numbers), truth=… and score=…, or value=…. "
            f"The table has {', '.join(table.columns)}."
        )
    true, predicted = (table.series(given[role], role) for role in ("truth", "prediction"))
    numeric = true.dtype.is_numeric() and predicted.dtype.is_numeric()
    many = len(table.labels(given["truth"], "truth").levels) > MOST_CLASSES if numeric else False
    fractions = numeric and true.dtype.is_float() and bool((true.drop_nans() % 1 != 0).any())
    return "numbers" if many or fractions else "labels"


def cost_of_functions(prepared: PreparedTable, groups: int, draws: int) -> str:
    """How long the functions of a user will take, measured by one call of each; empty where that is soon."""
    if not prepared.functions:
        return ""
    rows = next(iter(prepared.task.record(prepared.dataset, prepared.predictions, prepared.options, Tools())))
    begin = time.perf_counter()
    for metric in prepared.functions:
        metric.result(metric.measure(rows), metric.measure(rows))
    seconds = (time.perf_counter() - begin) * (draws + 1) * 2  # everyone, and groups that together are everyone again
    calls = len(prepared.functions) * groups * (draws + 1)
    if seconds < 20:
        return ""
    names = ", ".join(metric.name for metric in prepared.functions)
    return (
        f"{names}: a function is called again for every group and resample, {calls:,} times, about {seconds:,.0f} s. "
        "Fewer resamples (costly_draws=50) or groups take less."
    )


def _metrics(task_metrics: Any, added: tuple[Metric[Any], ...], named: bool, options: TableOptions) -> Any:
    return (*(task_metrics(options) if named else ()), *added)


def _record_more(
    record: Callable[..., Iterator[Records]],
    columns: Sequence[str],
    functions: bool,
    dataset: Dataset[Truth],
    predictions: TablePredictions,
    options: TableOptions,
    tools: Tools,
) -> Iterator[Records]:
    """The rows of the task with further columns beside, for metrics of the user."""
    more = user_columns(dataset, predictions, columns)
    if functions:
        for name, role in ((_TRUTH, "truth"), (_PREDICTION, "prediction")):
            column = getattr(options, role, None) or getattr(options, "score", None)
            if not column:
                raise OptionError("A function f(truth, prediction) needs a truth and a prediction or score.")
            more[name] = _plain_values(predictions.content, column, role)
    for rows in record(dataset, predictions, options, tools):
        positions = np.arange(dataset.truth.table.rows)
        if len(rows) < len(positions):
            positions = np.flatnonzero(np.isin(dataset.truth.item, rows["item"]))
        yield Records({**{name: values[positions] for name, values in more.items()}, **rows.columns}, rows.attributes)


def _plain_values(table: UserTable, name: str, role: str) -> Array:
    """A column as the array that a function expects: numbers as numbers, everything else as text."""
    series = table.series(name, role)
    if series.dtype.is_numeric() and series.null_count() == 0:
        return series.to_numpy()
    if series.dtype.is_numeric():
        return table.numbers(name, role)
    coded = table.labels(name, role)
    return np.array([*coded.levels, ""])[coded.codes]


def _used(table: UserTable, options: TableOptions, further: Sequence[str]) -> dict[str, Any]:
    """The columns that the results are based on, as arrays that are the same whatever frame they came in."""
    names = [getattr(options, role, "") for role in _ROLES]
    names += [*options.by, *getattr(options, "value", ()), *further]
    for name in options.by:
        names += [side for side in (f"{name}_a", f"{name}_b", f"{name}_1", f"{name}_2") if side in table.columns]
    arrays: dict[str, Any] = {}
    for name in dict.fromkeys(name for name in names if name and name in table.columns):
        series = table.series(name, "column")
        if series.dtype.is_numeric():
            arrays[name] = table.numbers(name, "column")
        else:
            coded = table.labels(name, "column")
            arrays[name] = coded.codes
            arrays[f"{name} levels"] = np.array(coded.levels or ("",))
    return arrays
