"""`compare` and `diff`: two models on the same units, and why two numbers differ."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand import api
from evenhand.cli.catalogue import Json
from evenhand.cli.console import escape, out, print_json
from evenhand.cli.draw import draw
from evenhand.cli.settings_options import with_settings
from evenhand.reporting import html
from evenhand.stats.settings import Settings
from evenhand.store.runs import check_output

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
    from evenhand.reporting.comparison import difference_page, difference_sections
    from evenhand.store.differences import diff as difference_of

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
    html.write_page(page, path)
    if not quiet:
        out().print(f"page: {escape(str(path))}", soft_wrap=True)
