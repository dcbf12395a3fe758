"""The verbs in Python; the commands are these, with words around them.

```python
import evenhand

run = evenhand.evaluate("fairface/gender", "answers.jsonl", data="FairFace", by=["race"])
run.results.get("gender", "accuracy")
evenhand.compare(run, evenhand.load("runs/fairface/gender/other/a1b2c3d4"))
```
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evenhand import registry
from evenhand.core.engine import Engine
from evenhand.core.errors import OptionError
from evenhand.core.options import as_plain
from evenhand.core.printing import printable_lines
from evenhand.core.results import Results
from evenhand.core.task import Demo, Model, Question, Task, ignore, no_progress
from evenhand.store.runs import Run, check_output

if TYPE_CHECKING:
    from evenhand.benchmarks.table.entry import MetricLike
    from evenhand.core.measure import AnyMetric
    from evenhand.stats.comparison import Comparison, LeftOutValue
    from evenhand.stats.gate import GateOutcome
    from evenhand.stats.settings import Settings

PathLike = str | Path


def evaluate(
    task: str | Task[Any, Any],
    predictions: PathLike | None = None,
    *,
    data: PathLike | None = None,
    model: str = "",
    options: Mapping[str, Any] | None = None,
    by: str | Sequence[str] | None = None,
    depth: int = 2,
    settings: Settings | Mapping[str, Any] | PathLike | None = None,
    engine: str | Engine = "serial",
    runs: PathLike | None = None,
    rows: Literal["auto", "none", "all"] = "auto",
    force: bool = False,
    hash_media: bool = False,
    device: str = "cpu",
    progress: Callable[[int, int | None, str], None] = no_progress,
    warn: Callable[[str], None] = ignore,
    **changes: Any,
) -> Run:
    """Evaluate saved answers: files in, a run with results out.

    Without `runs` nothing is written. `by` defaults to the task's own attributes, `()` groups by nothing.
    `settings` are `Settings`, a mapping or a TOML file; any of them can also be given by name: `draws=500`.
    """
    from evenhand import run

    if not isinstance(task, str | Task):
        raise OptionError(
            f"evaluate() takes the name of a task and a file of predictions, and got {type(task).__name__}. A table "
            "is evaluated by evaluate_table(table, truth=…, prediction=…, by=[…])."
        )
    if predictions is None:
        raise OptionError(f"Name the file of predictions: evaluate({str(task)!r}, FILE).")
    for what, given in (("predictions", predictions), ("data", data)):
        if given is not None and not (isinstance(given, str) or hasattr(given, "__fspath__")):
            raise OptionError(
                f"evaluate() takes the name of a file as its {what}, and got {type(given).__name__}. A table in memory "
                "is evaluated by evaluate_table(table, truth=…, prediction=…, by=[…])."
            )
    _check_depth(depth)
    chosen_task = registry.task(task) if isinstance(task, str) else task
    return run.evaluate(
        chosen_task,
        Path(predictions),
        None if data is None else Path(data),
        model=model,
        options=dict(options or {}),
        by=None if by is None else _names(by),
        depth=depth,
        settings=settings_of(settings, **changes),
        engine=engine_of(engine),
        runs=None if runs is None else Path(runs),
        rows=rows,
        force=force,
        hash_media=hash_media,
        device=device,
        progress=progress,
        warn=warn,
    )


def evaluate_table(
    frame: Any,
    *,
    truth: str | None = None,
    prediction: str | None = None,
    score: str | None = None,
    value: str | Sequence[str] | None = None,
    by: str | Sequence[str] = (),
    bins: Mapping[str, Sequence[float]] | None = None,
    unit: str | tuple[str, str] | None = None,
    weight: str | None = None,
    key: str | None = None,
    kind: Literal["labels", "scores", "numbers", "pairs", "values", "functions"] | None = None,
    metrics: Sequence[MetricLike] | None = None,
    model: str = "model",
    depth: int = 2,
    settings: Settings | Mapping[str, Any] | PathLike | None = None,
    options: Mapping[str, Any] | None = None,
    runs: PathLike | None = None,
    rows: Literal["auto", "none", "all"] = "auto",
    force: bool = False,
    progress: Callable[[int, int | None, str], None] = no_progress,
    warn: Callable[[str], None] | None = None,
    **changes: Any,
) -> Run:
    """Evaluate a table of predictions: a pandas, Polars or Arrow frame, or a mapping of names to arrays.

    The columns that are named decide the question, unless `kind` says it: `truth` and `prediction` are classes or
    numbers, `truth` and `score` scores, two `unit`s beside them verification pairs, `value` columns to be averaged.
    `by` names columns to group by, `bins` the limits at which numbers among them are cut into groups:
    `bins={"age": [18, 30, 50]}`; `unit` is the column of what was sampled independently, such as the subject: rows of
    one subject are not independent evidence. `metrics` keeps some of the usual ones by name, or adds `Metric` objects
    and functions `f(truth, prediction)`. `options` are those of `evenhand describe table/labels`, settings can be
    given by name. Without `runs` nothing is stored.

    >>> table = {"y": [1, 0, 1, 0] * 20, "p": [1, 0, 0, 0] * 20, "tone": ["light", "dark"] * 40}
    >>> run = evaluate_table(table, truth="y", prediction="p", by="tone")
    >>> run.results.get("accuracy").value
    0.75
    """
    import warnings

    from evenhand import run
    from evenhand.benchmarks.table.entry import cost_of_functions, prepare
    from evenhand.benchmarks.table.options import bins_of

    _check_depth(depth)
    names = _names(by)
    averaged = None if value is None else _names(value, "value")
    columns = {
        "truth": truth, "prediction": prediction, "score": score, "unit": unit, "weight": weight, "key": key,
    }  # fmt: skip
    columns = {role: _column(column, role) for role, column in columns.items()} | {"value": averaged}
    chosen = settings_of(settings, **changes)
    chosen_options = {**dict(options or {}), **({"bins": bins_of(bins)} if bins else {})}
    prepared = prepare(frame, columns, names, kind, metrics, chosen_options)
    say = warn or (lambda message: warnings.warn(printable_lines(message), stacklevel=3))
    counts = [len(levels) for levels in prepared.dataset.levels.values()]
    if cost := cost_of_functions(prepared, number_of_groups(counts, depth), min(chosen.draws, chosen.costly_draws)):
        say(cost)
    return run.evaluate(
        prepared.task,
        Path("table"),
        Path("table"),
        model=model,
        options=as_plain(prepared.options),
        by=names,
        depth=depth,
        settings=chosen,
        runs=None if runs is None else Path(runs),
        rows=rows,
        force=force,
        loaded=(prepared.dataset, prepared.predictions),
        progress=progress,
        warn=warn or ignore,
    )


def _names(given: Any, role: str = "by") -> tuple[str, ...]:
    """The names of columns or attributes, of which one may be given alone."""
    if given is None:
        return ()
    alone = isinstance(given, str) or not isinstance(given, Iterable)
    return tuple(_column(name, role) for name in ([given] if alone else given))


def _column(given: Any, role: str) -> Any:
    """The name of a column, or of the two of pairs; a table whose columns are numbered may be asked for a number."""
    if isinstance(given, tuple | list) and role == "unit":
        return tuple(_column(name, role) for name in given)
    if given is None or isinstance(given, str):
        return given
    if _is_whole(given):
        return str(given)
    raise OptionError(
        f"{role}=… takes the name of a column, and got {type(given).__name__}. Put the values into the table as a "
        "column and give its name."
    )


def _check_depth(depth: Any) -> None:
    if not _is_whole(depth):
        raise OptionError(
            f"depth={depth!r}: a whole number was expected: 1 for single attributes, 2 with pairs of them."
        )


def _is_whole(value: Any) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


def predict(
    task: str | Question[Any, Any],
    model: str | Model[Any] | Callable[[], Model[Any]],
    *,
    data: PathLike,
    runs: PathLike,
    options: Mapping[str, Any] | None = None,
    resume: bool = False,
    ask_unanswered: bool = False,
    engine: str | Engine = "serial",
    workers: int = 0,
    gpus_per_worker: float = 0.0,
    device: str = "cpu",
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[int, int | None, str], None] = no_progress,
    warn: Callable[[str], None] = ignore,
) -> Any:
    """Put a task's samples to a model and write the official file.

    `model` is an object with `predict`, a function that makes one, `FILE.py:NAME`, or
    `PROVIDER:NAME` with the provider's `settings`.
    """
    from evenhand import run

    question = registry.question(task) if isinstance(task, str) else task
    chosen_model = run.find_model(model, device=device, **dict(settings or {})) if isinstance(model, str) else model
    return run.predict(
        question,
        chosen_model,
        Path(data),
        options=dict(options or {}),
        runs=Path(runs),
        resume=resume,
        ask_unanswered=ask_unanswered,
        engine=engine_of(engine),
        workers=workers,
        gpus_per_worker=gpus_per_worker,
        progress=progress,
        warn=warn,
    )


def load(folder: PathLike, *, latest: bool = False) -> Run:
    """A stored run, or the latest one below the folder of a model; `latest` takes any folder of runs."""
    from evenhand.run.reopened import find_run

    return find_run(Path(folder), latest=latest)


def gate(
    run: Run | PathLike, requirements: PathLike | Mapping[str, Any] | Sequence[Mapping[str, Any]]
) -> tuple[GateOutcome, ...]:
    """Whether a run meets requirements: a TOML file, or what stands in one (`{"require": [{"metric": …}]}`).

    `all(outcome.met for outcome in gate(run, "release.toml"))` is what a pipeline asks.
    """
    from evenhand.files import inputs
    from evenhand.stats.gate import judge, parse_requirements, read_requirements

    opened = run if isinstance(run, Run) else load(run)
    folder = Path()
    if isinstance(requirements, (str, Path)):
        folder = Path(requirements).parent
        text = inputs.read(Path(requirements), OptionError).text(OptionError)
        parsed = read_requirements(text, str(requirements))
    else:
        document = requirements if isinstance(requirements, Mapping) else {"require": list(requirements)}
        parsed = parse_requirements(document)

    def compare_with(name: str, depth: int) -> Comparison:
        beside = folder / name
        return compare(load(beside if beside.exists() else name), opened, depth=depth)[0]

    return judge(opened.results, parsed, compare_with)


def engine_of(engine: str | Engine) -> Engine:
    """An engine by its name: `serial`, `threads:N`, `processes:N`, or one that a plug-in brings."""
    if not isinstance(engine, str):
        return engine
    from evenhand import engines

    kind = engine.partition(":")[0]
    if kind in registry.names(registry.ENGINES):
        chosen: Engine = registry.load(registry.ENGINES, kind)(engine)
        return chosen
    return engines.parse(engine)


def demo(family: str, folder: PathLike) -> Sequence[Demo]:
    """Small data of a family with a planted truth, written below a folder; what was written, and the truth."""
    make = registry.benchmark(family).demo
    if make is None:
        raise OptionError(f"The family {family!r} brings no demonstration.")
    return make(Path(folder))


def number_of_groups(levels: Iterable[int], depth: int) -> int:
    """How many groups attributes of so many levels make, with intersections of up to `depth` and everyone.

    >>> number_of_groups([2, 7], 2)
    24
    """
    from itertools import combinations
    from math import prod

    counts = list(levels)
    return 1 + sum(prod(some) for order in range(1, depth + 1) for some in combinations(counts, order))


def settings_of(given: Settings | Mapping[str, Any] | PathLike | None = None, **changes: Any) -> Settings:
    """Settings from an object, a mapping or a TOML file, with some of them changed by name."""
    from evenhand.stats.settings import Settings

    if not isinstance(given, (str, Path)):
        return Settings.make(given, **changes)
    from evenhand.files import inputs

    document = inputs.parse_toml(inputs.read(Path(given), OptionError).text(OptionError), given, OptionError)
    return Settings.make(document.get("settings", document), **changes)


def compare(
    *runs: Run | PathLike,
    depth: int = 1,
    settings: Settings | Mapping[str, Any] | PathLike | None = None,
    **changes: Any,
) -> tuple[Comparison, ...]:
    """Two or more runs of one task on the same units: each compared with the first, pair by pair."""
    from evenhand.run.reopened import metrics_of, task_of
    from evenhand.stats.comparison import compare as compare_rows
    from evenhand.store.differences import check_same_data

    opened = [run if isinstance(run, Run) else load(run) for run in runs]
    if len(opened) < 2:
        raise OptionError(f"{len(opened)} run given: name two or more runs of the same task.")
    tasks = {run.results.task for run in opened}
    if len(tasks) > 1:
        raise OptionError(f"The runs are of different tasks: {', '.join(sorted(tasks))}. Compare runs of one task.")
    first = opened[0].results
    for run in opened[1:]:
        baseline, facts = _comparable(first), _comparable(run.results)
        if baseline != facts:
            unlike = [name for name in {**baseline, **facts} if baseline.get(name) != facts.get(name)]
            shown = "; ".join(f"{name} is {baseline.get(name)!r} and {facts.get(name)!r}" for name in unlike)
            raise OptionError(
                f"The runs of {first.model} and {run.results.model} have different options: {shown}. "
                "Evaluate both with the same."
            )
    task = task_of(first)
    own = [{metric.name: metric for metric in metrics_of(run.results)} for run in opened]
    metrics = [metric for metric in own[0].values() if all(metric.name in names for names in own)]
    by = [name for name in first.by if all(name in run.results.by for run in opened)]
    if "draws" in changes:
        changes.setdefault("permutations", changes["draws"])
    chosen = settings_of(settings, **changes).for_task(
        first.task, first.method.margin if task is None else task.margin, first.method.unit, "compare"
    )
    lacking = _lacking([run.results.model for run in opened], own)
    rows = opened[0].records()
    comparisons = []
    for run in opened[1:]:
        names, others = (first.model, run.results.model), run.records()
        if names[0] == names[1]:
            names = f"{names[0]} (first)", f"{names[1]} (second)"
        agreed = check_same_data(rows, others, by, names, first)
        comparison = compare_rows(rows, others, metrics, by, depth, chosen, names=names)
        comparison = replace(
            comparison,
            left_out=(*_with_reasons(comparison.left_out, names, (first, run.results)), *lacking),
            unverified={**first.unverified, **run.results.unverified},
            rows_only_first=agreed.only_first,
            rows_only_second=agreed.only_second,
        )
        comparisons.append(comparison)
    return tuple(comparisons)


def report(*runs: Run | PathLike, path: PathLike, form: str = "html", intervals: bool = True) -> Path:
    """Write a report of one or several runs: html, pdf, csv, json, markdown, latex or card.

    `intervals=False` leaves intervals out of the tables in LaTeX.

    A stored run that is damaged or incomplete is reported as far as it can be read, and the page says what is missing.
    Of the folder of a model, its latest run is taken.
    """
    from evenhand.reporting.forms import write_report
    from evenhand.run.reopened import run_folder

    if not runs:
        raise OptionError("No run given: name one or several runs to report on.")
    named = [run if isinstance(run, Run) else run_folder(Path(run)) for run in runs]
    check_output(Path(path), "the report", named)
    return write_report(named, Path(path), form, intervals=intervals)


def _comparable(results: Results) -> dict[str, Any]:
    """The options that two runs must share: not by which columns a table was grouped, and where the groups are from.

    Whether the groups themselves are the same is looked at row by row.
    """
    return {name: value for name, value in results.options.items() if name not in ("by", "metrics", "groups")}


def _with_reasons(
    left_out: Iterable[LeftOutValue], names: Sequence[str], results: Sequence[Results]
) -> Iterator[LeftOutValue]:
    """The values that are not compared; of what was not available to a run, why."""
    for value in left_out:
        for name, one in zip(names, results, strict=True):
            if reason := one.not_available.get(value.metric):
                value = replace(value, reason=f"{name} has no value: {reason.rstrip('.')}")
                break
        yield value


def _lacking(models: Sequence[str], metrics: Sequence[Mapping[str, AnyMetric]]) -> list[LeftOutValue]:
    """The values that only some of the runs have."""
    from evenhand.stats.comparison import LeftOutValue

    values: list[LeftOutValue] = []
    for metric in {name: metric for own in metrics for name, metric in own.items()}.values():
        having = [model for model, own in zip(models, metrics, strict=True) if metric.name in own]
        if len(having) < len(models):
            reason = f"only {', '.join(having)} has it"
            values.extend(LeftOutValue(metric.name, output, reason) for output in metric.outputs)
    return values
