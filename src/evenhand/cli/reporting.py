"""`report`: what a person opens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import escape, out
from evenhand.core.errors import OptionError
from evenhand.store.runs import open_run


def mount(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("report")(report)


def report(
    runs: Annotated[list[Path], typer.Argument(help="one or several run folders")],
    form: Annotated[str, typer.Option("--format", help="html, csv, json or markdown")] = "html",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="file to write; by default in the run")] = None,
) -> None:
    """Write a report of one or several runs."""
    from evenhand.report.html import write_report
    from evenhand.report.tables import WRITERS

    found = [open_run(path) for path in runs]
    if form not in ("html", *WRITERS):
        raise OptionError(f"--format {form!r} is not known: it takes html, {', '.join(WRITERS)}.")
    first = found[0].folder
    assert first is not None
    suffix = {"markdown": "md"}.get(form, form)
    path = output if output is not None else first / "report" / f"report.{suffix}"
    results = [run.results for run in found]
    if form == "html":
        write_report(results, path)
    else:
        WRITERS[form](results, path)
    out().print(f"report: {escape(str(path))}", soft_wrap=True)
