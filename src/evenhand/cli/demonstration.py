"""`demo`: every family on small data made on the spot, with a truth that was planted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from evenhand import api, registry
from evenhand.cli.arguments import group
from evenhand.cli.catalogue import Json
from evenhand.cli.console import escape, out, print_json, progress, warn
from evenhand.cli.draw import draw_table
from evenhand.cli.evaluating import EngineName, show_paper_tables
from evenhand.core.errors import MissingExtraError
from evenhand.core.page import Cell, Interval, Table
from evenhand.core.records import Group
from evenhand.core.results import Results
from evenhand.core.task import Demo
from evenhand.reporting.display import names_of_family, task_title
from evenhand.reporting.phrases import SURE, as_cell, headline
from evenhand.store.runs import Run


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
                for example in api.demo(name, runs / "data" / name):
                    run = api.evaluate(
                        example.task,
                        example.predictions,
                        data=example.data,
                        model="demo",
                        options=example.options,
                        engine=engine,
                        runs=runs,
                        progress=hook,
                        warn=warn,
                    )
                    done.append(run)
                    outcome = _judged(run.results, example)
                    gate = _gate(run, example, runs)
                    outcomes.append({"task": example.task, "run": str(run.folder), **outcome, **gate})
                    rows.extend(_rows(run.results, example, outcome))
                    if example.note:
                        notes.append(f"{example.task}: {example.note}")
                        outcomes[-1]["note"] = example.note
                    if gate:
                        gates.append(f"{example.require}: {gate['gate']}")
        except MissingExtraError as error:
            if families:
                raise
            warn(f"{name} is left out. {error}")
    report = api.report(*done, path=runs / "report.html") if done else None
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


def _gate(run: Run, example: Demo, runs: Path) -> dict[str, object]:
    """What the requirements of a demo say of a model that is to replace the one in production."""
    if example.production is None or example.require is None:
        return {}
    api.evaluate(example.task, example.production, model="production", options=example.options, runs=runs, warn=warn)
    outcomes = api.gate(run, example.require)
    failed = [outcome for outcome in outcomes if not outcome.met]
    return {"gate": f"FAILED: {failed[0].message}" if failed else f"PASSED: {len(outcomes)} requirements met"}


def _judged(results: Results, example: Demo) -> dict[str, object]:
    """Whether the planted group was found, and whether the other was over-read."""
    return {
        "planted": example.planted,
        "found": _worse_off(results, group(example.planted.split(" × "))),
        "chance": example.chance,
        "over_read": _worse_off(results, group(example.chance.split(" × "))),
    }


def _rows(results: Results, example: Demo, outcome: dict[str, object]) -> Iterator[tuple[Cell, ...]]:
    """One demo as three rows of the table: everyone, the planted group, and the one that only looks worse."""
    yield f"{example.task}, everyone", _value(results, Group()), "", ""
    verdict = "worse" if outcome["found"] else "MISSED"
    planted, chance = group(example.planted.split(" × ")), group(example.chance.split(" × "))
    yield f"  {_group_words(results, planted)}", _value(results, planted), "worse", verdict
    read = "OVER-READ" if outcome["over_read"] else "not proven"
    yield f"  {_group_words(results, chance)}", _value(results, chance), "the same", read


def _group_words(results: Results, of: Group) -> str:
    """A group as people write it, such as "race: Latino/Hispanic"."""
    names = names_of_family(results.task)
    return " × ".join(f"{names.attribute(key)}: {names.level(key, level)}" for key, level in of.terms)


def _worse_off(results: Results, of: Group) -> bool:
    first = headline(results)
    return any(
        contrast.worse == of and contrast.verdict in SURE and (contrast.metric, contrast.output) == first
        for contrast in results.contrasts
    )


def _value(results: Results, of: Group) -> Interval:
    first = headline(results)
    if first is None:
        return Interval(None)
    unit = "%" if names_of_family(results.task).is_share(*first) else ""
    return as_cell(results.get(*first, of), unit)
