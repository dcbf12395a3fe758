"""`report`: what a person opens."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.console import escape, out


def mount(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("report")(report)


def report(
    runs: Annotated[list[Path], typer.Argument(help="one or several run folders")],
    form: Annotated[str, typer.Option("--format", help="html, csv, json, markdown or latex")] = "html",
    output: Annotated[Path | None, typer.Option("--output", "-o", help="file to write; by default in the run")] = None,
) -> None:
    """Write a report of one or several runs."""
    from evenhand import api

    suffix = {"markdown": "md", "latex": "tex"}.get(form, form)
    path = output if output is not None else runs[0] / "report" / f"report.{suffix}"
    api.report(*runs, path=path, form=form)
    out().print(f"report: {escape(str(path))}", soft_wrap=True)
