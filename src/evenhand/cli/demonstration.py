"""`demo`: every family on small data made on the spot, with a truth that was planted."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand import api, registry
from evenhand.cli.console import out, print_json, progress, say, warn
from evenhand.cli.draw import draw_table
from evenhand.cli.evaluating import show_paper_tables
from evenhand.cli.options import EngineName, Json, group
from evenhand.core.errors import MissingExtraError
from evenhand.core.page import Cell, Interval, Table
from evenhand.core.records import Group
from evenhand.core.task import Demo
from evenhand.reporting.display import NO_OUTPUT, ShownResults, shown, shown_group, task_title
from evenhand.reporting.phrases import SURE, as_cell
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
                    outcome, lines = _judged(shown(run.results), example)
                    gate = _gate(run, example, runs)
                    outcomes.append({"task": example.task, "run": str(run.folder), **outcome, **gate})
                    rows.extend(lines)
                    if example.note:
                        notes.append(f"note:   {example.task}: {example.note}")
                        outcomes[-1]["note"] = example.note
                    if gate:
                        gates.append(f"gate:   {example.require}: {gate['gate']}")
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
    for line in (*notes, *gates, *([f"report: {report}"] if report is not None else [])):
        say(line)
    say(f"runs:   {runs}")
    say("next:   evenhand tasks, then evenhand describe TASK", "dim")


def _gate(run: Run, example: Demo, runs: Path) -> dict[str, object]:
    """What the requirements of a demo say of a model that is to replace the one in production."""
    if example.production is None or example.require is None:
        return {}
    api.evaluate(example.task, example.production, model="production", options=example.options, runs=runs, warn=warn)
    outcomes = api.gate(run, example.require)
    failed = [outcome for outcome in outcomes if not outcome.met]
    return {"gate": f"FAILED: {failed[0].message}" if failed else f"PASSED: {len(outcomes)} requirements met"}


def _judged(results: ShownResults, example: Demo) -> tuple[dict[str, object], list[tuple[Cell, ...]]]:
    """Whether the planted group was found and the other over-read; and three rows of the table: everyone, and both."""

    def line(name: str, of: Group, *verdicts: str) -> tuple[Cell, ...]:
        first = results.first
        value = Interval(None) if first == NO_OUTPUT else as_cell(results.get(*first, of), results.unit(*first))
        return name, value, *verdicts

    planted, chance = (
        shown_group(group(text.split(" × ")), results.names) for text in (example.planted, example.chance)
    )
    worse = {
        pair.worse for pair in results.contrasts if pair.verdict in SURE and (pair.metric, pair.output) == results.first
    }
    is_found, over_read = planted in worse, chance in worse
    called = [" × ".join(f"{name}: {level}" for name, level in of.terms) for of in (planted, chance)]
    outcome = {"planted": example.planted, "found": is_found, "chance": example.chance, "over_read": over_read}
    return outcome, [
        line(f"{example.task}, everyone", Group(), "", ""),
        line(f"  {called[0]}", planted, "worse", "worse" if is_found else "MISSED"),
        line(f"  {called[1]}", chance, "the same", "OVER-READ" if over_read else "not proven"),
    ]
