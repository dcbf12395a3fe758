"""`gate` and `plan`: requirements on a result, and how many subjects a question needs."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli.catalogue import Json
from evenhand.cli.console import escape, out, print_json
from evenhand.cli.draw import draw_table
from evenhand.core.errors import OptionError
from evenhand.core.page import Table
from evenhand.reporting.rounding import number
from evenhand.store.runs import open_run


def mount(app: typer.Typer) -> None:
    """Add the verbs of this module."""
    app.command("gate")(gate)
    app.command("plan")(plan)


def gate(
    run: Annotated[Path, typer.Argument(help="a run folder")],
    require: Annotated[Path, typer.Option("--require", help="a TOML file of requirements")],
    junit: Annotated[Path | None, typer.Option("--junit", help="write JUnit XML here")] = None,
    as_json: Json = False,
) -> None:
    """Stop a release when a requirement is not met."""
    from evenhand.files import inputs
    from evenhand.reporting.junit import write_junit
    from evenhand.stats.gate import judge, read_requirements

    results = open_run(run).results
    requirements = read_requirements(inputs.read(require, OptionError).text(OptionError), str(require))
    verdicts = judge(results, requirements)
    if junit is not None:
        write_junit(verdicts, f"{results.task} {results.model}", junit)
    met = all(verdict.met for verdict in verdicts)
    if as_json:
        from evenhand.store.plain import to_plain

        print_json({"met": met, "requirements": to_plain(verdicts)})
    else:
        console = out()
        for verdict in verdicts:
            mark = "[green]met    [/]" if verdict.met else "[red]not met[/]"
            console.print(f"{mark} {escape(verdict.name)}: {escape(verdict.message)}", soft_wrap=True)
        console.print("all requirements are met" if met else "[red]the gate stays shut[/]")
    if not met:
        raise typer.Exit(1)


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
        found = what_shows(subjects, rate, **shared)  # type: ignore[arg-type]  # the four are numbers
    elif margin is not None:
        found = subjects_needed(margin, rate, **shared)  # type: ignore[arg-type]  # the four are numbers
    else:
        raise OptionError("Give --margin (how many subjects?), --subjects (what can they show?) or --run.")
    if as_json:
        print_json(found._asdict())
        return
    console = out()
    if subjects is None:
        console.print(f"{found.subjects:,} subjects in the group ({found.rows:,} images)")
    console.print(
        f"{found.subjects:,} subjects show a difference of {number(found.detectable)} at a rate of {rate} "
        f"with {power:.0%} power"
        + (
            f", against {found.other_subjects:,} others"
            if found.other_subjects is not None
            else ", against a large rest"
        )
    )
    if found.design_effect > 1:
        console.print(
            f"{images:g} images of a subject with correlation {correlation:g}: "
            f"design effect {found.design_effect:.2f}, {found.effective_rows:,.0f} effective images"
        )


def _plan_run(folder: Path, rate: float, power: float, as_json: bool) -> None:
    from evenhand.core.records import EVERYONE
    from evenhand.reporting.sections import headline
    from evenhand.stats.plan import what_shows

    results = open_run(folder).results
    first = headline(results)
    if first is None:
        raise OptionError(f"{folder} has no number to plan from.")
    whole = results.get(*first, EVERYONE)
    common = whole.number if whole.number is not None and 0 < whole.number < 1 else rate
    rows = []
    for estimate in results.of(*first):
        if estimate.group != EVERYONE and len(estimate.group.terms) == 1 and estimate.units:
            images = max(1.0, estimate.rows / estimate.units)
            found = what_shows(estimate.units, common, images=images, power=power, balance=None)
            rows.append((str(estimate.group), estimate.units, estimate.rows, round(found.detectable, 4)))
    if as_json:
        keys = ("group", "units", "rows", "detectable")
        print_json({"rate": common, "power": power, "groups": [dict(zip(keys, row, strict=True)) for row in rows]})
        return
    caption = (
        f"smallest difference from the rest found with {power:.0%} power, at a rate of {number(common)}; "
        "images of a unit taken as independent"
    )
    draw_table(
        out(), Table("What these groups can show", ("group", "units", "rows", "detectable"), tuple(rows), caption)
    )
