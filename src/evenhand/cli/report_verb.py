"""`report`: what a person opens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import escape, out, print_json, warn


def mount(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("report")(report)


def report(
    runs: Annotated[
        list[Path], typer.Argument(help="one or several run folders, or folders of models: their latest runs")
    ],
    form: Annotated[
        str, typer.Option("--format", help="html, pdf, csv, json, markdown, latex, or card for a model card")
    ] = "html",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="file to write; by default in the run")] = None,
    intervals: Annotated[bool, typer.Option(help="print intervals in LaTeX tables")] = True,
    mlflow: Annotated[str | None, typer.Option(help="log the runs to this MLflow server or folder instead")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON document.")] = False,
) -> None:
    """Write a report of one or several runs.

    A run that is damaged or incomplete is reported as far as it can be read; the page says what is missing.
    """
    from evenhand.reporting.forms import SUFFIXES, opened, writer_of
    from evenhand.run.reopened import run_folder
    from evenhand.store.runs import check_output

    write = writer_of(form, intervals=intervals)
    runs = [run_folder(path) for path in runs]
    found = opened(runs, form if mlflow is None else "")
    for path, run in zip(runs, found, strict=True):
        for problem in run.problems:
            warn(f"{path}: {problem}")
    if mlflow is not None:
        from evenhand.reporting.tracking import log_run

        keys = [log_run(run, mlflow) for run in found]
        if as_json:
            print_json({"logged": keys})
            return
        for run, key in zip(found, keys, strict=True):
            out().print(f"logged: {escape(run.results.task)} {escape(run.results.model)} as {escape(key)}")
        return
    target = output if output is not None else runs[0] / "report" / f"report.{SUFFIXES[form]}"
    check_output(target, "the report", runs)
    write(found, target)
    if as_json:
        print_json({"report": str(target), "format": form, "problems": [list(run.problems) for run in found]})
        return
    out().print(f"report: {escape(str(target))}", soft_wrap=True)
