"""The forms in which a report can be written."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path

from evenhand.core.errors import OptionError
from evenhand.reporting.html import write_page
from evenhand.reporting.model_card import write_card
from evenhand.reporting.reported import MANY, Reported, report_page, reported, reported_folder
from evenhand.reporting.tables import write_csv, write_json, write_latex, write_markdown
from evenhand.store.runs import Run

Writer = Callable[[Sequence[Reported], Path], object]


def write_report(runs: Sequence[Run | Path | str], path: Path, form: str = "html", *, intervals: bool = True) -> Path:
    """Write a report of runs in one of the forms, and give its path."""
    writer_of(form, intervals=intervals)(opened(runs, form), path)
    return path


def writer_of(form: str, *, intervals: bool = True) -> Writer:
    """What writes a form; raises OptionError when there is no such form, or it can't go without intervals."""
    if form not in FORMS:
        raise OptionError(f"The format {form!r} is not known: it is {', '.join(FORMS)}.")
    if not intervals:
        if form != "latex":
            raise OptionError(f"Intervals can be left out of the format latex, not of {form}.")
        return partial(write_latex, intervals=False)
    return FORMS[form][1]


def opened(runs: Sequence[Run | Path | str], form: str = "html") -> list[Reported]:
    """Runs for their report in a form; stored ones as far as they can be read."""
    many = len(runs) > MANY and form in ("html", "pdf")  # files for programs hold everything
    return [
        reported(run, one_of_many=many) if isinstance(run, Run) else reported_folder(Path(run), one_of_many=many)
        for run in runs
    ]


def _write_pdf(runs: Sequence[Reported], path: Path) -> None:
    from evenhand.reporting.pdf import write_pdf

    write_pdf(report_page(runs), path)


FORMS: Mapping[str, tuple[str, Writer]] = {  # the end of a file's name, and what writes it
    "html": ("html", lambda runs, path: write_page(report_page(runs), path)),
    "pdf": ("pdf", _write_pdf),
    "csv": ("csv", write_csv),
    "json": ("json", write_json),
    "markdown": ("md", write_markdown),
    "latex": ("tex", write_latex),
    "card": ("card.md", write_card),
}
