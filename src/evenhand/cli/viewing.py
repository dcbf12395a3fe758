"""`compare`, `diff`, `report` and `serve`: what a person looks at."""

from __future__ import annotations

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli.console import err, out, print_json, say, warn
from evenhand.cli.options import Json, with_settings
from evenhand.core.errors import MissingExtraError, OptionError
from evenhand.store.runs import check_output

if TYPE_CHECKING:
    from evenhand.reporting import html
    from evenhand.stats.settings import Settings

Page = Annotated[Path | None, typer.Option("--page", help="also write it as an HTML page")]
MOST_ON_PAGE = 5000  # changed rows that a page lists


@with_settings
def compare(
    runs: Annotated[list[Path], typer.Argument(help="two or more run folders of the same task")],
    settings: Settings,
    page: Page = None,
    everything: Annotated[
        bool, typer.Option("--all", help="show every value and the gaps, not only the first")
    ] = False,
    as_json: Json = False,
) -> None:
    """Compare models on the same units, by group.

    The first run is the baseline: every difference is the other run minus the first, new minus baseline.
    """
    from evenhand import api
    from evenhand.cli.draw import draw
    from evenhand.reporting.comparison import comparison_page, comparison_sections

    opened = [api.load(path) for path in runs]
    comparisons = api.compare(*opened, settings=settings)
    if page is not None:
        check_output(page, "the page", runs)
        _write(comparison_page(comparisons, [run.results for run in opened]), page, quiet=as_json)
    if as_json:
        print_json(comparisons)
        return
    for comparison in comparisons:
        draw(out(), comparison_sections(comparison, opened[0].results, everything=everything))


def diff(
    first: Annotated[Path, typer.Argument(help="a run folder")],
    second: Annotated[Path, typer.Argument(help="another run folder of the same task")],
    most: Annotated[int, typer.Option(help="changed rows to show")] = 20,
    page: Page = None,
    as_json: Json = False,
) -> None:
    """Say why two runs differ: inputs, options, then rows."""
    from evenhand import api
    from evenhand.cli.draw import draw
    from evenhand.reporting.comparison import difference_page, difference_sections
    from evenhand.store.differences import diff as difference_of

    if most < 0:
        raise OptionError(f"--most {most}: how many changed rows to show, 0 or more.")
    listed = most if page is None else max(most, MOST_ON_PAGE)
    difference = difference_of(api.load(first), api.load(second), most=max(listed, 100))
    if page is not None:
        check_output(page, "the page", (first, second))
        _write(difference_page(difference), page, quiet=as_json)
    if as_json:
        print_json(difference)
        return
    draw(out(), difference_sections(difference, most))


def _write(page: html.Page, path: Path, *, quiet: bool) -> None:
    from evenhand.reporting.html import write_page

    write_page(page, path)
    if not quiet:
        say(f"page: {path}")


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
    as_json: Json = False,
) -> None:
    """Write a report of one or several runs.

    A run that is damaged or incomplete is reported as far as it can be read; the page says what is missing.
    """
    from evenhand.reporting.forms import FORMS, opened, writer_of
    from evenhand.run.reopened import run_folder

    write = writer_of(form, intervals=intervals)
    runs = [run_folder(path) for path in runs]
    reports = opened(runs, form if mlflow is None else "")
    for path, run in zip(runs, reports, strict=True):
        for problem in run.problems:
            warn(f"{path}: {problem}")
    if mlflow is not None:
        from evenhand.reporting.tracking import log_run

        keys = [log_run(run, mlflow) for run in reports]
        if as_json:
            print_json({"logged": keys})
            return
        for run, key in zip(reports, keys, strict=True):
            say(f"logged: {run.results.task} {run.results.model} as {key}")
        return
    target = output if output is not None else runs[0] / "report" / f"report.{FORMS[form][0]}"
    check_output(target, "the report", runs)
    write(reports, target)
    if as_json:
        print_json({"report": str(target), "format": form, "problems": [list(run.problems) for run in reports]})
        return
    say(f"report: {target}")


def serve(
    runs: Annotated[Path, typer.Argument(help="the folder of runs")] = Path("runs"),
    data: Annotated[list[Path] | None, typer.Option("--data", help="a data folder with pictures; repeat")] = None,
    host: Annotated[str, typer.Option(help="address to listen on; other than loopback needs a token")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="port; 0 takes a free one", min=0, max=65535)] = 8765,
    names: Annotated[
        list[str] | None, typer.Option("--name", help="another name under which this machine is reached; repeat")
    ] = None,
    token: Annotated[bool, typer.Option("--token", help="ask for a token on loopback too")] = False,
    as_json: Json = False,
) -> None:
    """Look at runs in the browser, down to the sample.

    Lists, filters, compares and follows runs. It only reads, and only in the folders that are named.
    """
    for package in ("starlette", "uvicorn"):
        if find_spec(package) is None:
            raise MissingExtraError(f"serve needs {package}", "serve")
    for folder in (runs, *(data or [])):
        if not folder.is_dir():
            raise OptionError(f"{folder} is not a folder. Name the folder of runs, and data folders with --data.")
    from evenhand.serve import ServeSettings
    from evenhand.serve.server import listen
    from evenhand.serve.server import serve as answer

    listening = listen(host, port, names=tuple(names or ()), token=token)
    if as_json:
        print_json({"open": listening.address, "runs": str(runs), "data": [str(folder) for folder in data or []]})
        sys.stdout.flush()
    else:
        say(f"open:  {listening.address}")
    if listening.access.token:
        err().print("Whoever has this address can see the runs and the pictures of the data folders.", style="yellow")
    err().print("stop:  Ctrl-C", style="dim")
    answer(ServeSettings(runs.resolve(), tuple(folder.resolve() for folder in data or [])), listening)
