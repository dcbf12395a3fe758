"""Runs as pages: what a report shows of one run, and of several together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from evenhand import registry
from evenhand.core.contrasts import contrasts_of
from evenhand.core.errors import EvenhandError
from evenhand.core.page import Block, Cell, Section, Table, Text
from evenhand.core.results import Results, Verdict
from evenhand.reporting.curves import curves_together
from evenhand.reporting.html import Article, Link, Page
from evenhand.reporting.phrases import as_cell, certainly_worse, headline, levels, listed, value_name
from evenhand.reporting.sections import InputFile, brief, standard, with_added
from evenhand.reporting.summary import how_even, widest
from evenhand.store.runs import Run

MANY = 12  # runs beyond which a page says of each only what can't be said of all together


@dataclass(frozen=True)
class Reported:
    """A run as its report needs it."""

    results: Results
    added: tuple[Section, ...] = ()  # the sections of its family
    question: str = ""  # what the task asks, in a line
    inputs: tuple[InputFile, ...] = ()  # the files that it rests on
    problems: tuple[str, ...] = ()  # what is missing or damaged

    @property
    def sections(self) -> tuple[Section, ...]:
        """Everything that is said about the run, in order."""
        return self._told(with_added(standard(self.results, self.question, self.inputs), self.added))

    @property
    def brief(self) -> tuple[Section, ...]:
        """What is said about the run when it is one of many."""
        return self._told(brief(self.results, self.question, self.inputs))

    def _told(self, sections: tuple[Section, ...]) -> tuple[Section, ...]:
        if not self.problems:
            return sections
        told = Section("What is missing", [Text(problem, "caution") for problem in self.problems], name="missing")
        return (told, *sections)


def reported(run: Run) -> Reported:
    """A stored run with what its family adds."""
    question, added = family_of(run.results)
    problems = () if _keeps_rows(run) else (_NO_ROWS,)
    return Reported(run.results, added, question, run.manifest.inputs, problems)


_NO_ROWS = (
    "The run keeps no rows: its numbers are all here, but single rows can't be looked up, and it can't be compared "
    "with another run. Evaluate again with --rows all to store them."
)


def family_of(results: Results) -> tuple[str, tuple[Section, ...]]:
    """What the task asks, and the sections that its family adds; nothing when the family is not installed."""
    try:
        task = registry.task(results.task)
    except EvenhandError:
        return "", ()
    drawn = (section(results) for section in task.sections)
    return task.summary, tuple(section for section in drawn if section is not None)


def report_page(runs: Sequence[Reported], links: Sequence[Link] = ()) -> Page:
    """The page of one run, or of several: first side by side, then one after the other."""
    if len(runs) == 1:
        one = runs[0].results
        title = one.model or one.task
        return Page(title, [Article(title, runs[0].sections)], kicker=one.task, links=links)
    tasks = list(dict.fromkeys(run.results.task for run in runs))
    together = Article("Side by side", _together([run.results for run in runs]))
    many = len(runs) > MANY
    each = []
    for run in runs:
        title, kicker = run.results.model or "model", run.results.task
        if len(tasks) > 1:
            title, kicker = kicker, title
        each.append(Article(title, run.brief if many else run.sections, kicker=kicker))
    title = f"{len(runs)} runs of {tasks[0]}" if len(tasks) == 1 else f"{len(runs)} runs, {len(tasks)} tasks"
    return Page(title, [together, *each], kicker="evenhand report", links=links)


def names_of(results: Sequence[Results]) -> list[str]:
    """A name for each system: the model's, with a number where two have the same."""
    seen: dict[str, int] = {}
    found = []
    for one in results:
        seen[one.model] = seen.get(one.model, 0) + 1
        found.append(one.model if seen[one.model] == 1 else f"{one.model} ({seen[one.model]})")
    return found


def _together(results: Sequence[Results]) -> tuple[Section, ...]:
    rows = tuple(_line(one) for one in results)
    columns = ("task", "model", "value of", "value", "worst group", "gap", "an even model", "worse off")
    caption = "«worse off»: groups that do worse beyond chance in some pair of one attribute."
    blocks: list[Block] = [Table("Every run", columns, rows, caption)]
    sections = [Section("Overview", blocks, name="overview")]
    for task in dict.fromkeys(one.task for one in results):
        same = [one for one in results if one.task == task]
        if len(same) > 1:
            found = curves_together(same, names_of(same))
            sections.append(Section(f"{found.title}: {task}", found.blocks, name=f"{found.name}-{task}"))
    return tuple(section for section in sections if section.blocks)


def _line(results: Results) -> tuple[Cell, ...]:
    first = headline(results)
    if first is None:
        return (results.task, results.model, "–", None, "–", None, None, "no value")
    summary = widest(results, first)
    pairs = contrasts_of(results.contrasts, *first, order=1)
    worse = certainly_worse(pairs)
    sure = [levels(group) for verdict in (Verdict.LARGE, Verdict.DIFFERENT) for group in worse[verdict]]
    told = listed(sure, 4) if sure else ("nobody for certain" if pairs else how_even(pairs))
    whole = as_cell(results.get(*first))
    if summary is None or summary.worst is None:
        return (results.task, results.model, value_name(*first), whole, "–", None, None, told)
    gap = summary.values["max_gap"]
    return (
        results.task,
        results.model,
        value_name(*first),
        whole,
        levels(summary.worst),
        gap if isinstance(gap, float) else None,
        summary.reference.mean if summary.reference else None,
        told,
    )


def _keeps_rows(run: Run) -> bool:
    return run.folder is None or bool(run.manifest.stored.get("rows", False))
