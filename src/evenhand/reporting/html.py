"""The report as one HTML file that needs nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.core.page import Cell, Figure, Interval, Section, Table, Text
from evenhand.core.results import Results
from evenhand.reporting.rounding import cell
from evenhand.reporting.sections import standard

Added = Sequence[Sequence[Section]]  # what each result's family adds


def write_report(results: Sequence[Results], path: Path, added: Added = ()) -> Path:
    """Write the report of one or several results, with the sections of their families, and give its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(html(results, added), encoding="utf-8")
    return path


def html(results: Sequence[Results], added: Added = ()) -> str:
    """The report as a text; everything in it is escaped."""
    from jinja2 import Environment, PackageLoader

    environment = Environment(
        loader=PackageLoader("evenhand.reporting"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    tests: dict[str, Any] = {
        "a_text": partial(_is, Text),
        "a_figure": partial(_is, Figure),
        "a_table": partial(_is, Table),
        "a_number": lambda value: isinstance(value, int | float | Interval) and not isinstance(value, bool),
    }
    environment.tests.update(tests)
    environment.filters["cell"] = cell
    environment.filters["exact"] = exact
    own = added or [()] * len(results)
    pages = [(found, placed(standard(found), sections)) for found, sections in zip(results, own, strict=True)]
    return environment.get_template("report.html.j2").render(pages=pages)


def placed(sections: Sequence[Section], added: Sequence[Section]) -> tuple[Section, ...]:
    """The family's sections behind the groups and pairs, before coverage and method."""
    cut = next((at for at, section in enumerate(sections) if section.name in ("values", "coverage")), len(sections))
    return (*sections[:cut], *added, *sections[cut:])


def exact(value: Cell) -> str:
    """The unrounded number, for whoever points at it."""
    if isinstance(value, Interval):
        if value.value is None:
            return value.reason
        limits = "" if value.low is None or value.high is None else f" [{value.low!r}, {value.high!r}]"
        return f"{value.value!r}{limits}"
    return repr(value) if isinstance(value, float) else ""


def _is(kind: type, value: object) -> bool:
    return isinstance(value, kind)
