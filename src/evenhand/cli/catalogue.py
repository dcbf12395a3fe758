"""What can be evaluated, what each task needs, and whether a file is fit for it."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand import registry
from evenhand.cli.console import LINES, escape, out, print_json
from evenhand.cli.draw import draw_table
from evenhand.cli.options import DataOrTable, Json, Set, TaskName, assignments
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.options import facts, parse
from evenhand.core.page import Table
from evenhand.core.task import CheckReport, Dataset, Finding, Question, Task, check_with
from evenhand.files.inputs import damage_in_words
from evenhand.reporting.phrases import words


def tasks(as_json: Json = False) -> None:
    """List what can be evaluated."""
    entries: list[dict[str, Any]] = [
        {
            "task": entry.name,
            "summary": entry.summary,
            "aliases": list(entry.aliases),
            "evaluates": isinstance(entry, Task),
        }
        for found in registry.benchmarks()
        for entry in (*found.tasks, *found.questions)
    ]
    if as_json:
        print_json({"tasks": entries})
        return
    also = [f" Also {', '.join(entry['aliases'])}." if entry["aliases"] else "" for entry in entries]
    rows = tuple((entry["task"], entry["summary"] + more) for entry, more in zip(entries, also, strict=True))
    console = out()
    draw_table(console, Table("Tasks", ("task", "what it asks"), rows), most_rows=200)
    console.print("Next: [bold]evenhand describe TASK[/] says what data and predictions it needs.")


def describe(task: TaskName, as_json: Json = False) -> None:
    """Say what a task needs, measures and can be set to."""
    entry = registry.question(task)
    document = description(entry)
    if as_json:
        print_json(document)
        return
    console = out()
    console.print(f"[bold]{escape(entry.name)}[/]  {escape(entry.summary)}")
    for title, text in (
        ("Data", entry.about.data),
        ("Predictions", entry.about.predictions),
        ("Example", entry.codec.example),
        ("A row is", entry.about.rows),
        ("Sampled independently", entry.about.unit),
        ("Licence duties", entry.about.licence),
    ):
        if text:
            console.print(f"\n[bold]{title}[/]\n{escape(text.strip(), LINES)}")
    for title, texts in (("Conventions", entry.about.conventions), ("Mind", entry.about.cautions)):
        if texts:
            console.print(f"\n[bold]{title}[/]")
            for text in texts:
                console.print(f"• {escape(text)}")
    console.print()
    if document["metrics"]:
        rows = tuple(
            (metric["name"], ", ".join(_short(metric["outputs"])), metric["definition"])
            for metric in document["metrics"]
        )
        draw_table(console, Table("Metrics (↑ higher is better, ↓ lower)", ("metric", "outputs", "definition"), rows))
    options = tuple((fact["name"], str(fact["default"]), fact["values"], fact["help"]) for fact in document["options"])
    if options:
        draw_table(console, Table("Options (--set key=value)", ("option", "default", "takes", "meaning"), options))
    if entry.about.rules:
        console.print(f"\n[bold]Rules[/]\n{escape(entry.about.rules.strip(), LINES)}")
    if isinstance(entry, Task) and entry.attributes:
        console.print(f"\nGrouped by {', '.join(entry.attributes)}, unless --by says otherwise.")
    console.print(f"\nNext: evenhand evaluate {entry.name} FILE --data DIR", style="dim")


def description(entry: Question[Any, Any]) -> dict[str, Any]:
    """Everything about a task as one document."""
    metrics = entry.metrics(entry.options()) if isinstance(entry, Task) else ()
    return {
        "task": entry.name,
        "summary": entry.summary,
        "aliases": list(entry.aliases),
        **asdict(entry.about),
        "example": entry.codec.example,
        "attributes": list(entry.attributes) if isinstance(entry, Task) else [],
        "metrics": [
            {
                "name": metric.name,
                "definition": metric.definition,
                "outputs": {name: direction.value for name, direction in metric.outputs.items()},
            }
            for metric in metrics
        ],
        "options": [
            {"name": fact.name, "default": str(fact.default), "values": fact.values, "help": fact.help}
            for fact in facts(entry.options)
        ],
    }


def check(
    task: TaskName,
    files: Annotated[
        list[Path] | None, typer.Argument(help="files of predictions; none: check the data folder")
    ] = None,
    data: DataOrTable = None,
    options: Set = None,
    as_json: Json = False,
) -> None:
    """Are predictions, or the data folder, fit for evaluation?"""
    entry = registry.question(task)
    parsed = parse(entry.options, assignments(options or []))
    is_both = isinstance(entry, Task) and entry.data_optional
    reports = {
        str(path): _checked(entry, path, data or (path if is_both else Path()), parsed) for path in (files or [])
    }
    if not files:
        reports[str(data or Path())] = _checked(entry, None, data or Path(), parsed)
    if as_json:
        print_json({"ok": all(report.ok for report in reports.values()), "reports": reports})
    else:
        for name, report in reports.items():
            _print_report(name, report)
    if not all(report.ok for report in reports.values()):
        raise typer.Exit(2)


def _checked(entry: Question[Any, Any], path: Path | None, data: Path, options: Any) -> CheckReport:
    check = entry.check if isinstance(entry, Task) and entry.check is not None else None
    check = check or check_with(entry.load, entry.codec, _sizes)
    try:
        with damage_in_words(path or data, DataError, f"data or predictions of {entry.name}"):
            return check(path, data, options)
    except (DataError, PredictionError) as error:
        return CheckReport((Finding("error", str(path or data), str(error)),))


def _sizes(dataset: Dataset[Any], data: Path, options: Any) -> CheckReport:
    return CheckReport((Finding("note", str(data), f"{len(dataset.samples):,} samples ({dataset.version})"),))


def _print_report(name: str, report: CheckReport) -> None:
    console = out()
    colours = {"error": "red", "warning": "yellow", "note": "dim"}
    warnings = sum(finding.level == "warning" for finding in report.findings)
    verdict = "[green]fit for evaluation[/]" if report.ok else "[red]not fit for evaluation[/]"
    if report.ok and warnings:
        verdict = f"[yellow]fit for evaluation, with {warnings} warning{'s' * (warnings > 1)}[/]"
    console.print(f"[bold]{escape(name)}[/]: {verdict}", soft_wrap=True)
    levels = list(colours)
    # What is wrong with the named file comes before what is unusual about the data.
    for finding in sorted(report.findings, key=lambda finding: (levels.index(finding.level), finding.where != name)):
        console.print(f"[{colours[finding.level]}]{finding.level}[/] {escape(finding.message)}", soft_wrap=True)
    if report.coverage is not None:
        coverage = report.coverage
        console.print(
            f"asked {coverage.asked:,}, answered {coverage.answered:,}, not answered {coverage.missing:,}, "
            f"unusable {coverage.unusable:,}, empty {coverage.empty:,}, to nothing that was asked {coverage.extra:,}"
        )
        for reason, count in coverage.reasons.items():
            examples = ", ".join(coverage.examples.get(reason, ())[:3])
            console.print(f"  {count:,} {escape(reason)}" + (f" (such as {escape(examples)})" if examples else ""))
    for title, table in report.tables.items():
        draw_table(console, Table(words(title), tuple(map(str, table[0])), tuple(table[1:])))


def _short(outputs: dict[str, str]) -> list[str]:
    """Outputs with arrows; those that differ only behind a colon are shown once."""
    arrows = {"higher": "↑", "lower": "↓", "neither": ""}
    shown: dict[str, str] = {}
    for name, direction in outputs.items():
        stem, colon, _ = name.partition(":")
        shown.setdefault(stem + (":…" if colon else ""), arrows[direction])
    return [f"{name}{arrow}" for name, arrow in shown.items()]
