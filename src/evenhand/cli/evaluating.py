"""`predict`, `evaluate`, `rows` and `explain`: answers, numbers, the rows behind them, and what defines them."""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Literal, cast

import typer
from rich.console import Console

from evenhand import api, registry
from evenhand.cli.console import err, escape, out, print_json, progress, say, warn
from evenhand.cli.draw import draw, draw_table
from evenhand.cli.gating import judge_run
from evenhand.cli.options import (
    Data,
    DataOrTable,
    EngineName,
    Json,
    Runs,
    Set,
    TaskName,
    assignments,
    group,
    names,
    system,
    task_names,
    with_options,
    with_settings,
)
from evenhand.core.errors import OptionError, PredictionError, UnknownNameError
from evenhand.core.options import facts, parse
from evenhand.core.page import Figure, Section, Table, Text
from evenhand.core.printing import duration
from evenhand.core.records import Records
from evenhand.core.results import UNVERIFIED_WEIGHTS, Results
from evenhand.core.task import Target, Task
from evenhand.reporting.display import labels_of, names_of_family, row_facts, shown, task_title
from evenhand.reporting.groups import gaps, group_tables
from evenhand.reporting.sections import methods_table, overview
from evenhand.run.reopened import metrics_of, task_of
from evenhand.stats.settings import Settings
from evenhand.store.plain import loads
from evenhand.store.runs import Run, check_output, results_json

MOST_COLUMNS = 8


def predict(
    tasks: Annotated[
        str, typer.Argument(help="family/task, several separated by commas, or a family", autocompletion=task_names)
    ],
    model: Annotated[str, typer.Option("--model", help="FILE.py:NAME or PROVIDER:NAME")],
    data: Data = Path(),
    options: Set = None,
    model_options: Annotated[
        list[str] | None, typer.Option("--model-set", help="a setting of the provider, key=value")
    ] = None,
    base_url: Annotated[str | None, typer.Option("--base-url", help="address of a chat endpoint")] = None,
    resume: Annotated[bool, typer.Option("--resume", help="ask only for what is not on disk yet")] = False,
    follow_links: Annotated[
        bool, typer.Option("--follow-links", help="let a chat endpoint have pictures outside the data folder")
    ] = False,
    ask_unanswered: Annotated[
        bool, typer.Option("--ask-unanswered", help="with --resume: ask again what could not be answered")
    ] = False,
    engine: EngineName = "serial",
    workers: Annotated[int, typer.Option(help="copies of the model that work at once; 0: as the engine has")] = 0,
    gpus_per_worker: Annotated[float, typer.Option(help="GPUs that a worker of a cluster holds (--engine ray)")] = 0.0,
    device: Annotated[str, typer.Option(help="cpu or cuda:N; a cluster's worker has its GPU as cuda:0")] = "cpu",
    runs: Runs = Path("runs"),
    as_json: Json = False,
) -> None:
    """Run a model over a task's samples."""
    provider = assignments(model_options or [])
    if base_url is not None:
        provider["base_url"] = base_url
    if follow_links:
        provider["follow_links"] = "yes"
    outcomes = []
    for task in tasks.split(","):
        with progress(f"{task.strip()} by {model}", quiet=as_json) as hook:
            outcome = api.predict(
                task.strip(),
                model,
                data=data,
                runs=runs,
                options=assignments(options or []),
                resume=resume,
                ask_unanswered=ask_unanswered,
                workers=workers,
                gpus_per_worker=gpus_per_worker,
                engine=engine,
                device=device,
                settings=provider,
                progress=hook,
                warn=warn,
            )
        outcomes.append(outcome)
        if not as_json:
            silent = "".join(f", {count:,} {reason}" for reason, count in outcome.without_text.items())
            say(f"{task}: {outcome.answered:,} answered{silent}, {len(outcome.unanswered):,} not")
            if outcome.utilisation is not None:
                waited = 1 - outcome.utilisation
                say(f"the model worked {outcome.utilisation:.1%} of the time and waited {waited:.1%}")
            for sample, reason in list(outcome.unanswered.items())[:5]:
                say(f"  {sample}: {reason}", "dim")
            if outcome.usage:
                used = ", ".join(f"{value:,.6g} {name.replace('_', ' ')}" for name, value in outcome.usage.items())
                say(f"used: {used}")
            say(f"predictions: {outcome.file}")
            if not outcome.answered:
                continue
            takes, *others = _evaluated_by(task.strip())
            command = shlex.join(["evenhand", "evaluate", takes, str(outcome.file), "--data", str(data)])
            likewise = f" (likewise {', '.join(others)})" if others else ""
            say(f"next: {command}{likewise}", "dim")
    if as_json:
        print_json({"predictions": outcomes})
    if not all(outcome.answered for outcome in outcomes):
        warn("No question was answered, so there is nothing to evaluate.")
        raise typer.Exit(1)


def _evaluated_by(name: str) -> list[str]:
    """The tasks that take the answers to a question."""
    question = registry.question(name)
    if question.serves or isinstance(question, Task):
        return [question.serves or name]
    return [task.name for task in registry.benchmark(name.partition("/")[0]).tasks]


@with_settings
def evaluate(
    task: TaskName,
    systems: Annotated[list[str], typer.Argument(metavar="[NAME=]FILE…", help="predictions of one or several systems")],
    settings: Settings,
    data: DataOrTable = None,
    by: Annotated[str | None, typer.Option(help="attributes to group by, separated by commas")] = None,
    depth: Annotated[int, typer.Option(help="how many attributes an intersection may have")] = 2,
    options: Set = None,
    engine: EngineName = "serial",
    kept_rows: Annotated[str, typer.Option("--rows", help="store the rows: auto, none, all")] = "auto",
    runs: Runs = Path("runs"),
    force: Annotated[bool, typer.Option("--force", help="compute again even if the run is there")] = False,
    hash_media: Annotated[bool, typer.Option("--hash-media", help="identify media by content")] = False,
    device: Annotated[str, typer.Option(help="cpu or cuda:N, for instruments")] = "cpu",
    require: Annotated[
        Path | None, typer.Option("--require", help="a TOML file of requirements; exit 1 when a run does not meet them")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="only say what would be read, computed and written")
    ] = False,
    as_json: Json = False,
) -> None:
    """Evaluate predictions, by group, with intervals."""
    if kept_rows not in ("auto", "none", "all"):
        raise OptionError(f"--rows {kept_rows!r} is not known: it takes auto, none or all.")
    entry = registry.task(task)
    known = [fact.name for fact in facts(entry.options)] if options else []
    systems, further = with_options(systems, known)
    given = assignments([*(options or []), *further])
    named = [system(text) for text in systems]
    if not named:
        raise OptionError("No predictions were named: write [NAME=]FILE after the task.")
    for name, path in named:  # before any of them is evaluated
        if not path.exists() and name and known:
            raise UnknownNameError("option", name, known, f"And there is no file {str(path)!r} of a system {name!r}.")
        if not path.exists():
            raise PredictionError(f"{path} does not exist. Check the path.")
    called = [name or path.stem or path.name for name, path in named]
    if len(set(called)) < len(called):
        raise OptionError(f"Two systems have the same name: {', '.join(called)}. Write NAME=FILE.")
    attributes = names(by)
    if dry_run:
        if entry.attributes_option and by is not None:
            given[entry.attributes_option] = by
        source = data or (named[0][1] if entry.data_optional else Path())
        grouped = entry.attributes if attributes is None else attributes
        paths = dict(zip(called, (path for _, path in named), strict=True))
        _dry_run(entry, paths, source, given, grouped, depth, settings.draws, runs, engine, as_json)
        return
    done: list[Run] = []
    shown: set[str] = set()

    def first_time(message: str) -> None:
        if message not in shown:
            shown.add(message)
            warn(message)

    for (name, path), title in zip(named, called, strict=True):
        with progress(f"{entry.name} of {title}", quiet=as_json) as hook:
            run = api.evaluate(
                entry,
                path,
                data=data if data is not None or entry.data_optional else Path(),
                model=name,
                options=given,
                by=attributes,
                depth=depth,
                settings=settings,
                engine=engine,
                runs=runs,
                rows=cast(Literal["auto", "none", "all"], kept_rows),
                force=force,
                hash_media=hash_media,
                device=device,
                progress=hook,
                warn=first_time,
            )
        done.append(run)
        if not as_json:
            show(run)
    met = [judge_run(run, require, quiet=as_json) for run in done] if require is not None else []
    if as_json:
        documents = [
            {"folder": run.folder, "reused": run.reused, "results": loads(results_json(run.results))} for run in done
        ]
        print_json({"runs": documents, **({"met": met} if met else {})})
    elif len(done) > 1:
        show_paper_tables(done)
        folders = " ".join(str(run.folder) for run in done)
        err().print(f"Compare them: evenhand compare {folders}", style="dim", soft_wrap=True)
    if not all(met):
        raise typer.Exit(1)


def show(run: Run) -> None:
    """Print the finding, the main numbers, the groups and the gaps; then the warnings, lest they scrolled away."""
    console = out()
    results = shown(run.results)
    blocks = [block for block in overview(results).blocks if not isinstance(block, Figure)]
    draw(console, [Section(f"{task_title(results.task, results.names)}: {results.model}", blocks)])
    show_paper_tables([run])
    for block in (*group_tables(results), *gaps(results)):
        if isinstance(block, Table):
            if block.columns[0] == "by":  # without how many groups were compared, for a screen of 80 characters
                block = replace(block, columns=block.columns[:6], rows=tuple(row[:6] for row in block.rows))
            draw_table(console, block)
    for message in results.warnings:
        warn(message)
    if run.folder is not None:
        again = " (it was there already; --force computes it again)" if run.reused else ""
        console.print()
        say(f"run: {run.folder}{again}")
        say(f"next: evenhand report {run.folder}", "dim")


def show_paper_tables(runs: Sequence[Run], title: str = "Metrics") -> None:
    """The tables that papers print, a line per metric and a column per method, with the best in bold."""
    from evenhand.reporting.reported import family_of, names_of

    results = [run.results for run in runs]
    table = methods_table([family_of(one)[1] for one in results], names_of(results), title)
    if table is not None:
        draw_table(out(), table)


def _dry_run(
    entry: Task[Any, Any],
    systems: dict[str, Path],
    data: Path,
    given: dict[str, str],
    by: tuple[str, ...],
    depth: int,
    draws: int,
    runs: Path,
    engine: str,
    as_json: bool,
) -> None:
    """Say what would happen: what is read, computed and written, and how long it takes on this machine or cluster."""
    from time import perf_counter

    from evenhand.run.estimate import cost_of, measured_rates

    parsed = parse(entry.options, given)
    begin = perf_counter()
    dataset = entry.load(data, parsed)
    loading = perf_counter() - begin
    counts = [len(dataset.levels[name]) for name in by if name in dataset.levels]
    groups = api.number_of_groups(counts, depth)
    paths = list(systems.values())
    cost = cost_of(entry, dataset, paths, parsed, draws=draws, groups=groups, seconds_loading=loading)
    rates = measured_rates(api.engine_of(engine), runs)
    seconds = cost.seconds(rates)
    document: dict[str, Any] = {
        "task": entry.name,
        "samples": len(dataset.samples),
        "reads": [fact.path for fact in dataset.inputs] + list(map(str, paths)),
        "bytes_read": cost.bytes_read,
        "multiply_adds": cost.multiply_adds,
        "multiply_adds_of_draws": cost.drawn,
        "groups": groups,
        "draws": draws,
        "writes": [str(runs / entry.name / name) for name in systems],
        "engine": engine,
        "workers": rates.workers,
        "multiply_adds_per_second": round(rates.multiply_adds),
        "seconds_about": round(seconds, 1),
    }
    if as_json:
        print_json(document)
        return
    say(f"would evaluate {len(systems)} system(s) on {len(dataset.samples):,} samples of {entry.name}")
    say(f"reads   {cost.bytes_read / 1e6:,.1f} MB: {', '.join(document['reads'][:6])}")
    say(f"groups  {groups:,} (by {', '.join(by) or 'nothing'}, depth {depth}), {draws:,} draws")
    say(f"writes  below {', '.join(document['writes'])}")
    say(f"forms   {counted(cost.multiply_adds)} of similarities, at most {counted(cost.drawn)} of draws")
    measured = f"which was measured at {counted(rates.multiply_adds)} a second; a factor of three is possible"
    say(f"takes   about {duration(seconds)} on {engine}, {measured}")


def counted(multiply_adds: float) -> str:
    """A number of multiply-adds in words.

    >>> counted(0), counted(5.12e12)
    ('no multiply-adds', '5.1 T multiply-adds')
    """
    if not multiply_adds:
        return "no multiply-adds"
    for unit, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6)):
        if multiply_adds >= size:
            return f"{multiply_adds / size:.1f} {unit} multiply-adds"
    return f"{multiply_adds:,.0f} multiply-adds"


def rows(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    groups: Annotated[list[str] | None, typer.Option("--group", help="attribute=level; repeat to intersect")] = None,
    worst: Annotated[int | None, typer.Option(help="only so many rows, worst first")] = None,
    form: Annotated[str, typer.Option("--format", help="table, csv, jsonl or parquet")] = "table",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="write here instead of standard output")] = None,
    limit: Annotated[int, typer.Option(help="rows of a table or JSON document to show")] = 20,
    as_json: Json = False,
) -> None:
    """Show the rows behind a number."""
    from evenhand.store.frames import rows_frame, worst_rows, write_frame

    check_output(output, "the table", [run])
    if output is not None and as_json:
        raise OptionError("--json prints a document; to write rows, name --format csv, jsonl or parquet with -o.")
    if output is not None and form == "table":
        form = output.suffix.lstrip(".")  # a table of the terminal is not for files
    stored = api.load(run)
    records = stored.records()
    if groups:
        records = records.take(records.members(group(groups)))
    total, task = len(records), task_of(stored.results)
    if worst is not None:
        records = worst_rows(records, metrics_of(stored.results), worst, task.badness if task is not None else None)
    if as_json:
        some = rows_frame(records.take(slice(0, worst if worst is not None else limit)))
        listed = [{name: _plain(value) for name, value in row.items()} for row in some.to_dicts()]
        document = {"run": str(run), "groups": groups or [], "rows": total, "shown": len(listed), "records": listed}
        print_json({**document, "unverified": list(stored.results.unverified.values())})
        return
    if form != "table":
        if unverified := ", ".join(dict.fromkeys(stored.results.unverified.values())):
            warn(f"{unverified}: {UNVERIFIED_WEIGHTS}")
        write_frame(rows_frame(records), form, output)
        return
    show_rows(records.take(slice(0, worst if worst is not None else limit)), total, stored.results, worst is not None)


def show_rows(records: Records, total: int, results: Results, is_worst: bool) -> None:
    """Print rows in words: classes and groups by their names."""
    labels, names = labels_of(results, records), names_of_family(results.task)
    rows = []
    for number in range(len(records)):
        columns, attributes = row_facts(records, number, labels, names)
        rows.append({**{name.replace("_", " "): value for name, value in columns.items()}, **attributes})
    kind = "worst rows" if is_worst else "rows"
    title = f"All {total:,} {kind}" if len(rows) == total else f"{len(rows):,} {kind} of {total:,}"
    marked = {column.replace("_", " ") for column in results.unverified.values()}
    headings = tuple(f"{name} ({UNVERIFIED_WEIGHTS})" if name in marked else name for name in (rows[0] if rows else ()))
    cells = tuple(tuple(row.values()) for row in rows)
    if len(headings) <= MOST_COLUMNS:
        draw_table(out(), Table(title, headings, cells), most_rows=len(cells))
    else:
        draw_cards(out(), title, headings, cells)


def _plain(value: Any) -> Any:
    """A value of a row as JSON has it; a number that is none is null."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, list):
        return [_plain(part) for part in value]
    return value.hex() if isinstance(value, bytes) else value


def draw_cards(console: Console, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Rows with more columns than a screen is wide: one below the other, a line per value that is there."""
    width = max(len(name) for name in columns)
    console.print(title, style="bold")
    for row in rows:
        console.print()
        for name, value in zip(columns, row, strict=True):
            if value not in ("", "–"):
                console.print(f"[dim]{escape(name):>{width}}[/]  {escape(value)}", soft_wrap=True)


def explain(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    target: Annotated[
        str, typer.Option(help="a published number, such as 96.28: rank all combinations by their distance")
    ] = "",
    quantity: Annotated[str, typer.Option(help="what the number is, such as TAR@FAR=1e-4; anything by default")] = "",
    most: Annotated[int, typer.Option(help="combinations to show")] = 20,
    data: Annotated[Path | None, typer.Option(help="where the data are now, if they were moved")] = None,
    predictions: Annotated[Path | None, typer.Option(help="where the predictions are now, if they were moved")] = None,
    as_json: Json = False,
) -> None:
    """Show the same numbers under every convention, or find the ones that give a published number."""
    stored = api.load(run)
    task = task_of(stored.results)
    if most < 1:
        raise OptionError(f"--most {most}: how many combinations to show, at least 1.")
    if target or quantity or data or predictions:
        if task is None or task.explain_target is None:
            raise OptionError(
                f"{stored.results.task} has no combinations to choose from or rank by a target; explain it without "
                "--target, --quantity, --data and --predictions."
            )
        section = task.explain_target(stored, Target(target, quantity, most, data, predictions))
    else:
        section = _definitions(stored.results) if task is None or task.explain is None else task.explain(stored)
    if as_json:
        print_json(section)
        return
    draw(out(), [section], most_rows=sys.maxsize)  # a combination that is not shown can't be found


def _definitions(results: Results) -> Section:
    """How the numbers of a task with a single convention are defined."""
    rows = tuple(
        (fact.name, fact.definition, ", ".join(f"{name}={value}" for name, value in fact.parameters.items()))
        for fact in results.metrics
    )
    table = Table(f"How the numbers of {results.task} are defined", ("metric", "definition", "parameters"), rows)
    return Section("One convention", [Text("This task has one convention: these are its definitions."), table])
