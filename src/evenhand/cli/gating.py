"""`gate` and `plan`: requirements on a result, and how many subjects a question needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand import api
from evenhand.cli.console import escape, out, print_json
from evenhand.cli.draw import draw_table
from evenhand.cli.options import Json
from evenhand.core.errors import OptionError
from evenhand.core.page import Table
from evenhand.reporting.rounding import number
from evenhand.store.runs import Run, check_output


def gate(
    run: Annotated[Path, typer.Argument(help="a run folder, or the folder of a model: its latest run")],
    require: Annotated[Path, typer.Option("--require", help="a TOML file of requirements")],
    latest: Annotated[bool, typer.Option("--latest", help="of a folder with several models, the latest run")] = False,
    junit: Annotated[Path | None, typer.Option("--junit", help="write JUnit XML here")] = None,
    as_json: Json = False,
) -> None:
    """Stop a release when a requirement is not met."""
    if not judge_run(api.load(run, latest=latest), require, junit, as_json=as_json):
        raise typer.Exit(1)


def judge_run(
    run: Run, require: Path, junit: Path | None = None, *, as_json: bool = False, quiet: bool = False
) -> bool:
    """Print which requirements a run meets; whether it meets all."""
    check_output(junit, "the JUnit file", [run], require)
    outcomes = api.gate(run, require)
    if junit is not None:
        from evenhand.reporting.forms import write_junit

        write_junit(outcomes, f"{run.results.task} {run.results.model}", junit)
    failed = sum(not outcome.met for outcome in outcomes)
    if as_json:
        print_json({"met": not failed, "requirements": outcomes})
    elif not quiet:
        console = out()
        for outcome in outcomes:
            mark = "[green]met    [/]" if outcome.met else "[red]not met[/]"
            console.print(f"{mark} {escape(outcome.name)}: {escape(outcome.message)}", soft_wrap=True)
        total = f"{len(outcomes)} requirement{'s' if len(outcomes) != 1 else ''}"
        console.print(f"[red]FAILED: {failed} of {total} not met[/]" if failed else f"PASSED: {total} met")
    return not failed


def plan(
    margin: Annotated[float | None, typer.Option(help="the difference that must be found")] = None,
    rate: Annotated[float, typer.Option(help="the expected common rate")] = 0.8,
    subjects: Annotated[int | None, typer.Option(help="subjects of the group: what difference can they show?")] = None,
    images: Annotated[float, typer.Option(help="images per subject")] = 1.0,
    correlation: Annotated[float, typer.Option(help="correlation between images of one subject")] = 0.0,
    power: Annotated[float, typer.Option(help="how sure the difference must be found")] = 0.8,
    balance: Annotated[
        float | None, typer.Option(help="subjects of the other group for each one here; none: a large remainder")
    ] = 1.0,
    run: Annotated[Path | None, typer.Option("--run", help="a run: what can its groups show?")] = None,
    as_json: Json = False,
) -> None:
    """How many subjects does a group need?"""
    from evenhand.stats.plan import subjects_needed, what_shows

    if run is not None:
        _plan_run(run, rate, power, as_json)
        return
    shared = {"images": images, "correlation": correlation, "power": power, "balance": balance}
    if subjects is not None:
        answer = what_shows(subjects, rate, **shared)  # type: ignore[arg-type]  # the four are numbers
    elif margin is not None:
        answer = subjects_needed(margin, rate, **shared)  # type: ignore[arg-type]  # the four are numbers
    else:
        raise OptionError("Give --margin (how many subjects?), --subjects (what can they show?) or --run.")
    if as_json:
        print_json(answer._asdict())
        return
    console = out()
    if subjects is None:
        console.print(f"{answer.subjects:,} subjects in the group ({answer.rows:,} images)")
    others = "a large rest" if answer.other_subjects is None else f"{answer.other_subjects:,} others"
    console.print(
        f"{answer.subjects:,} subjects show a difference of {number(answer.detectable)} at a rate of {rate} "
        f"with {power:.0%} power, against {others}"
    )
    if answer.design_effect > 1:
        console.print(
            f"{images:g} images of a subject with correlation {correlation:g}: "
            f"design effect {answer.design_effect:.2f}, {answer.effective_rows:,.0f} effective images"
        )


def _plan_run(folder: Path, rate: float, power: float, as_json: bool) -> None:
    from evenhand.core.records import EVERYONE
    from evenhand.reporting.phrases import headline
    from evenhand.stats.plan import what_shows

    results = api.load(folder).results
    first = headline(results)
    if first is None:
        raise OptionError(f"{folder} has no number to plan from.")
    overall = results.get(*first, EVERYONE)
    common = overall.number if overall.number is not None and 0 < overall.number < 1 else rate
    rows = []
    for estimate in results.of(*first):
        if estimate.group != EVERYONE and len(estimate.group.terms) == 1 and estimate.units:
            images = max(1.0, estimate.rows / estimate.units)
            shows = what_shows(estimate.units, common, images=images, power=power, balance=None)
            rows.append((str(estimate.group), estimate.units, estimate.rows, round(shows.detectable, 4)))
    keys = ("group", "units", "rows", "detectable")
    if as_json:
        print_json({"rate": common, "power": power, "groups": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    caption = (
        f"smallest difference from the rest found with {power:.0%} power, at a rate of {number(common)}; "
        "images of a unit taken as independent"
    )
    draw_table(out(), Table("What these groups can show", keys, tuple(rows), caption))
