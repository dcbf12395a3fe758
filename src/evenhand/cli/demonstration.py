"""`demo`: every family on small data made on the spot, with a truth that was planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evenhand import api, registry
from evenhand.cli.catalogue import Json
from evenhand.cli.console import escape, out, print_json, progress, warn
from evenhand.cli.draw import draw_table
from evenhand.cli.evaluating import EngineName, show_paper_tables
from evenhand.core.errors import MissingExtraError
from evenhand.core.page import Cell, Interval, Table
from evenhand.core.records import Group
from evenhand.core.results import Results, Verdict
from evenhand.core.task import Demo
from evenhand.reporting.display import names_of_family, task_title
from evenhand.reporting.sections import as_cell, headline
from evenhand.store.runs import Run


def mount(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("demo")(demo)


def demo(
    families: Annotated[list[str] | None, typer.Argument(help="families; all by default")] = None,
    runs: Annotated[Path, typer.Option("--runs", help="where data, runs and the report go")] = Path("evenhand-demo"),
    engine: EngineName = "serial",
    as_json: Json = False,
) -> None:
    """See every family at work on made-up data.

    In each, the model really performs worse for one group, and another only looks worse by chance. The table
    shows whether the first was found and the second not over-read.
    """
    console = out()
    rows: list[tuple[Cell, ...]] = []
    done: list[Run] = []
    outcomes = []
    gates: list[str] = []
    notes: list[str] = []
    for name in families or registry.names(registry.BENCHMARKS):
        if registry.benchmark(name).demo is None:
            continue
        try:
            with progress(f"demo of {name}", quiet=as_json) as hook:
                for made in api.demo(name, runs / "data" / name):
                    run = api.evaluate(
                        made.task,
                        made.predictions,
                        data=made.data,
                        model="demo",
                        options=made.options,
                        engine=engine,
                        runs=runs,
                        progress=hook,
                        warn=warn,
                    )
                    done.append(run)
                    outcome = judged(run.results, made)
                    gate = _gate(run, made, runs)
                    outcomes.append({"task": made.task, "run": str(run.folder), **outcome, **gate})
                    rows.extend(demo_rows(run.results, made, outcome))
                    if made.note:
                        notes.append(f"{made.task}: {made.note}")
                        outcomes[-1]["note"] = made.note
                    if gate:
                        gates.append(f"{made.require}: {gate['gate']}")
        except MissingExtraError as error:
            if families:
                raise
            warn(f"{name} is left out. {error}")
    report = _report(done, runs)
    if as_json:
        print_json({"demos": outcomes, "report": str(report) if report else None})
        return
    columns = ("task, group", "value", "in truth", "evenhand says")
    draw_table(console, Table("What was planted, and what was found", columns, tuple(rows)))
    for run in done if families else ():
        show_paper_tables([run], task_title(run.results.task))
    for line in notes:
        console.print(f"note:   {escape(line)}", soft_wrap=True)
    for line in gates:
        console.print(f"gate:   {escape(line)}", soft_wrap=True)
    if report is not None:
        console.print(f"report: {escape(str(report))}", soft_wrap=True)
    console.print(f"runs:   {escape(str(runs))}", soft_wrap=True)
    console.print("next:   evenhand tasks, then evenhand describe TASK", style="dim")


def _gate(run: Run, made: Demo, runs: Path) -> dict[str, object]:
    """What the requirements of a demo say of a model that is to replace the one in production."""
    if made.production is None or made.require is None:
        return {}
    api.evaluate(made.task, made.production, model="production", options=made.options, runs=runs, warn=warn)
    outcomes = api.gate(run, made.require)
    failed = [outcome for outcome in outcomes if not outcome.met]
    return {"gate": f"FAILED: {failed[0].message}" if failed else f"PASSED: {len(outcomes)} requirements met"}


def judged(results: Results, made: Demo) -> dict[str, object]:
    """Whether the planted group was found, and whether the other was over-read."""
    return {
        "planted": made.planted,
        "found": _worse_off(results, group_named(made.planted)),
        "chance": made.chance,
        "over_read": _worse_off(results, group_named(made.chance)),
    }


def demo_rows(results: Results, made: Demo, outcome: dict[str, object]) -> Iterator[tuple[Cell, ...]]:
    """One demo as three rows of the table: everyone, the planted group, and the one that only looks worse."""
    yield f"{made.task}, everyone", _value(results, Group()), "", ""
    found = "worse" if outcome["found"] else "MISSED"
    planted, chance = group_named(made.planted), group_named(made.chance)
    yield f"  {_group_words(results, planted)}", _value(results, planted), "worse", found
    read = "OVER-READ" if outcome["over_read"] else "not proven"
    yield f"  {_group_words(results, chance)}", _value(results, chance), "the same", read


def _group_words(results: Results, group: Group) -> str:
    """A group as people write it, such as "race: Latino/Hispanic"."""
    names = names_of_family(results.task)
    return " × ".join(f"{names.attribute(key)}: {names.level(key, level)}" for key, level in group.terms)


def group_named(text: str) -> Group:
    """A group from `attribute=level × attribute=level`."""
    terms = (part.split("=", 1) for part in text.split(" × "))
    return Group(tuple((name.strip(), level.strip()) for name, level in terms))


def _worse_off(results: Results, group: Group) -> bool:
    first = headline(results)
    sure = (Verdict.LARGE, Verdict.DIFFERENT)
    return any(
        contrast.worse == group and contrast.verdict in sure and (contrast.metric, contrast.output) == first
        for contrast in results.contrasts
    )


def _value(results: Results, group: Group) -> Interval:
    first = headline(results)
    if first is None:
        return Interval(None)
    unit = "%" if names_of_family(results.task).is_share(*first) else ""
    return as_cell(results.get(*first, group), unit)


def _report(done: list[Run], runs: Path) -> Path | None:
    return api.report(*done, path=runs / "report.html") if done else None
