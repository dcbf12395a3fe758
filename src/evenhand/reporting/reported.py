"""Runs as pages: what a report shows of one run, of several together, and a notebook of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress
from pathlib import Path

from evenhand import registry
from evenhand.core.errors import EvenhandError, RunError
from evenhand.core.page import Block, Cell, Figure, Forest, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results
from evenhand.reporting.curves import curves_together
from evenhand.reporting.display import NO_OUTPUT, ShownResults, names_of_family, shown, task_title
from evenhand.reporting.drawing import svg, write_figure
from evenhand.reporting.groups import group_tables, output_figures
from evenhand.reporting.html import Article, Link, Page, environment
from evenhand.reporting.phrases import (
    WORDING,
    as_cell,
    by_words,
    direction_of,
    headline,
    in_sentence,
    levels,
    value_name,
)
from evenhand.reporting.rounding import cell as cell_text
from evenhand.reporting.rounding import with_even_digits
from evenhand.reporting.sections import (
    PAPER,
    brief,
    finding,
    gap_of,
    methods_table,
    overview,
    standard,
    verdict_badges,
    widest,
    with_added,
    worst_group,
)
from evenhand.store.damaged import inspect_run
from evenhand.store.manifest import Input
from evenhand.store.runs import RECORDS, Run, open_run

_NAMED = 3  # runs that the first sentence about several names
MANY = 12  # runs beyond which a page says of each only what can't be said of all together


@dataclass(frozen=True)
class Reported:
    results: Results
    added: tuple[Section, ...] = ()  # the sections of its family
    question: str = ""  # what the task asks, in a line
    inputs: tuple[Input, ...] = ()  # the files that it is based on
    problems: tuple[str, ...] = ()  # what is missing or damaged
    finished: str = ""  # when it was evaluated

    @cached_property
    def shown(self) -> ShownResults:
        """The results with display names, translated once."""
        return shown(self.results)

    @property
    def sections(self) -> tuple[Section, ...]:
        return self._with_problems(with_added(standard(self.shown, self.question, self.inputs), self.added))

    @property
    def brief(self) -> tuple[Section, ...]:
        """The sections of the run when it is one of many."""
        return self._with_problems(brief(self.shown, self.question, self.inputs))

    @property
    def facts(self) -> tuple[str, ...]:
        """The line below the title: data, date, size, and what share was answered."""
        results = self.shown
        size = results.get(*results.first).rows if results.first != NO_OUTPUT else results.rows
        parts = [f"Data: {results.dataset.partition(' (')[0]}" if results.dataset else "", self.finished[:10]]
        units = f" of {results.units:,} independent units" if results.units not in (0, size) else ""
        parts.append(f"n = {size:,}{units}")
        coverage = results.coverage
        if coverage.asked:
            parts.append(f"{100 * coverage.answered / coverage.asked:.1f} % answered".replace(".0 %", " %"))
        return tuple(part for part in parts if part)

    def _with_problems(self, sections: tuple[Section, ...]) -> tuple[Section, ...]:
        if not self.problems:
            return sections
        missing = Section("What is missing", [Text(problem, "caution") for problem in self.problems], name="missing")
        return (missing, *sections)


def reported(run: Run, *, one_of_many: bool = False) -> Reported:
    """A stored run with what its family adds; the sections of one of many are not shown."""
    question, added = family_of(run.results, sections=not one_of_many)
    keeps_rows = run.folder is None or run.manifest.stored.get("rows", False)
    problems = () if keeps_rows else (WORDING["notes"]["rows"],)
    return Reported(run.results, added, question, run.manifest.inputs, problems, run.manifest.clock.finished)


def reported_folder(folder: Path, *, one_of_many: bool = False) -> Reported:
    """A stored run for its report, as far as it can be read; raises RunError when the folder holds no run at all.

    Of one of many runs few pairs of groups are shown: the others are left on disk.
    """
    inspected = inspect_run(Path(folder), pairs_on_disk=one_of_many)
    lost = {piece.name: piece.reason for piece in inspected.pieces if piece.is_lost}
    if inspected.run is None:
        results = inspected.results or open_run(folder).results  # without any results, opening it says why
        question = family_of(replace(results, estimates=()))[0] if "/" in results.task else ""
        return Reported(results, (), question, inspected.inputs, tuple(lost.values()))
    run = reported(inspected.run, one_of_many=one_of_many)
    if one_of_many:
        try:
            run = replace(run, results=run.shown)
        except RunError:  # a pair that can't be read: what can is looked for
            return reported_folder(folder)
    if RECORDS not in lost:
        return run
    problem = f"The rows can't be read: {lost[RECORDS]} The numbers below do not depend on them."
    return replace(run, problems=(*run.problems, problem))


def family_of(results: Results, *, sections: bool = True) -> tuple[str, tuple[Section, ...]]:
    """What the task asks, and the sections that its family adds; nothing when the family is not installed."""
    try:
        task = registry.task(results.task)
    except EvenhandError:
        return "", ()
    added = [section for make in task.sections if sections and (section := make(results)) is not None]
    for at, section in enumerate(added):
        if section.name == PAPER:
            blocks = [with_even_digits(block) if isinstance(block, Table) else block for block in section.blocks]
            added[at] = replace(section, blocks=blocks)
    return task.summary, tuple(added)


def report_page(runs: Sequence[Reported], links: Sequence[Link] = ()) -> Page:
    """The page of one run, or of several: first side by side, then one after the other."""
    if len(runs) == 1:
        results = runs[0].results
        kicker = task_title(results.task)
        return Page(results.model or kicker, [Article(results.model, runs[0].sections)], kicker, runs[0].facts, links)
    tasks = list(dict.fromkeys(run.results.task for run in runs))
    models = {run.results.model for run in runs}
    articles = [Article("Side by side", _together(runs))]
    for run in runs:
        title, kicker = run.results.model or "model", task_title(run.results.task, run.shown.names)
        if len(tasks) > 1:
            title, kicker = kicker, title
        about = (kicker, *run.facts) if len(models) > 1 or len(tasks) == 1 else run.facts
        note = kicker if len(models) > 1 and len(tasks) > 1 else ""  # in the contents: what tells two of a name apart
        sections = run.brief if len(runs) > MANY else run.sections
        articles.append(Article(title, sections, " · ".join(about), note))
    one_task = f"{len(runs)} models: {task_title(tasks[0])}"
    title = one_task if len(tasks) == 1 else f"{len(runs)} runs of {len(tasks)} tasks"
    return Page(title, articles, "evenhand report", links=links)


def names_of(results: Sequence[Results]) -> list[str]:
    """A name for each system: the model's, with a number where two of a task have the same."""
    seen: Counter[tuple[str, str]] = Counter()
    names = []
    for run in results:
        seen[run.task, run.model] += 1
        count = seen[run.task, run.model]
        names.append(run.model if count == 1 else f"{run.model} ({count})")
    return names


def _together(reports: Sequence[Reported]) -> tuple[Section, ...]:
    """All runs in one chart and one table, then, for each task, its metrics, groups and curves over all models."""
    runs = [report.shown for report in reports]
    names = names_of(runs)
    lead = Text(_together_sentence(runs, names), "lead")
    sections = [Section("Overview", [lead, *_side_by_side(runs, names), _every_run(runs, names)], name="overview")]
    for task in dict.fromkeys(run.task for run in runs):
        same = [report for report in reports if report.results.task == task]
        models = [report.shown for report in same]
        called = [name for name, run in zip(names, runs, strict=True) if run.task == task]
        if 1 < len(same) <= MANY:
            metrics = methods_table([report.added for report in same], called)
            if metrics is not None:
                sections.append(Section(f"Metrics: {task_title(task)}", [metrics], name=f"methods-{task}"))
            sections.append(_groups_together(models, called))
        if len(same) > 1:
            curves = curves_together(models, called)
            sections.append(Section(f"{curves.title}: {task_title(task)}", curves.blocks, name=f"{curves.name}-{task}"))
    return tuple(section for section in sections if section.blocks)


def _together_sentence(runs: Sequence[ShownResults], names: Sequence[str]) -> str:
    """Which model is best over all groups and for its worst one, and where some group performs worse beyond chance."""
    worse = [
        f"{name} performs worse for {levels(group)}"
        for name, run in zip(_run_names(runs, names), runs, strict=True)
        if (group := worst_group(run)) is not None
    ]
    if not worse:
        text = "In no run is a group shown to perform worse."
    elif len(worse) <= _NAMED:
        text = f"{'; '.join(worse)}; chance does not explain this."
    else:
        text = f"In {len(worse)} of {len(runs)} runs some group performs worse, and chance does not explain it."
    return " ".join([*_best_sentences(runs, names), text])


def _best_sentences(runs: Sequence[ShownResults], names: Sequence[str]) -> list[str]:
    """Of models of one task: the best over all groups, and the one whose worst group fares best."""
    first = runs[0].first
    way = {"higher": "Highest", "lower": "Lowest"}.get(direction_of(runs[0], *first), "")
    if not way or len({(run.task, run.first) for run in runs}) > 1:
        return []
    unit, pick = runs[0].unit(*first), max if way == "Highest" else min
    overall = {name: (run.get(*first).number, EVERYONE) for name, run in zip(names, runs, strict=True)}
    worst = {
        name: (run.get(*first, summary.worst).number, summary.worst)
        for name, run in zip(names, runs, strict=True)
        if (summary := widest(run, first)) is not None and summary.worst is not None
    }
    sentences = []
    for values, what in (
        (overall, f"{in_sentence(value_name(*first))} over all groups"),
        (worst, "for its worst group"),
    ):
        known = {name: (value, group) for name, (value, group) in values.items() if value is not None}
        if len(known) > 1:
            best = pick(known, key=lambda name: known[name][0])
            value, group = known[best]
            of = f" ({levels(group)})" if group != EVERYONE else ""
            sentences.append(f"{way} {what}: {best}, {cell_text(Interval(value, unit=unit))}{of}.")
    return sentences


def _run_names(runs: Sequence[ShownResults], names: Sequence[str]) -> list[str]:
    """What tells the runs apart: the model, the task, or both."""
    titles = [task_title(run.task, run.names) for run in runs]
    if len(set(titles)) == 1:
        return list(names)
    return [t if titles.count(t) == 1 else f"{n}: {t}" for t, n in zip(titles, names, strict=True)]


def _side_by_side(runs: Sequence[ShownResults], names: Sequence[str]) -> list[Figure]:
    """Average and worst group of every run whose first value is a share, or of all where the value is the same."""
    rows: list[tuple[Cell, ...]] = []
    same = len({(run.task, run.first) for run in runs}) == 1
    for name, run in zip(_run_names(runs, names), runs, strict=True):
        first, unit = run.first, run.unit(*run.first)
        if first == NO_OUTPUT or not (unit or same):
            continue
        summary = widest(run, first)
        rows.append((name, "all groups", as_cell(run.get(*first), unit), ""))
        if summary is not None and summary.worst is not None:
            rows.append((name, "worst group", as_cell(run.get(*first, summary.worst), unit), levels(summary.worst)))
    if len(rows) < 3:
        return []
    axis = value_name(*runs[0].first) if same else ""
    title = f"{axis}, all models" if same else "All runs: average and worst group"
    table = Table(title, ("run", "of", "value", "group"), tuple(rows))
    in_percent = all(isinstance(row[2], Interval) and row[2].unit for row in rows)
    chart = Forest(2, series=1, axis=axis, percent=in_percent)
    return [Figure(title, chart, table, name="side-by-side")]


def _groups_together(runs: Sequence[ShownResults], names: Sequence[str]) -> Section:
    """The groups of the attribute with the widest gap, every model in each line."""
    first = runs[0].first
    widths = [summary for run in runs if (summary := widest(run, first)) is not None]
    if not widths:
        return Section("Groups")
    by = max(widths, key=gap_of).by
    rows: list[tuple[Cell, ...]] = []
    groups = (e.group for run in runs for e in run.of(*first) if e.group.by == by and not e.group.is_missing)
    for group in dict.fromkeys(groups):
        for name, run in zip(names, runs, strict=True):
            value = next((as_cell(e, run.unit(*first)) for e in run.of(*first) if e.group == group), Interval(None))
            rows.append((levels(group), name, value))
    title = f"{value_name(*first)} by {by_words(by)}, all models"
    table = Table(title, (by_words(by), "model", "value"), tuple(rows))
    chart = Forest(2, series=1, axis=value_name(*first), percent=bool(runs[0].unit(*first)))
    figure = Figure(title, chart, table, name=f"groups-{runs[0].task}")
    return Section(f"Groups: {task_title(runs[0].task)}", [figure], name=f"groups-{runs[0].task}")


def _every_run(runs: Sequence[ShownResults], names: Sequence[str]) -> Table:
    """A row for each run; what is the same in all of them is left out."""
    rows = [_line(run, name) for run, name in zip(runs, names, strict=True)]
    columns = ["task", "model", "value", "all groups", "worst group", "gap (by chance)", "finding"]
    differs = [len({run.task for run in runs}) > 1, len({run.model for run in runs}) > 1]
    differs += [len({row[2] for row in rows}) > 1, True, True, True, True]
    lines = tuple(tuple(compress(row, differs)) for row in rows)
    return Table("Every run", tuple(compress(columns, differs)), lines)


def _line(run: ShownResults, name: str) -> tuple[Cell, ...]:
    first, summary = run.first, widest(run, run.first)
    title = task_title(run.task, run.names)
    if first == NO_OUTPUT:
        return (title, name, "–", Interval(None), "–", "–", "no value")
    unit, points = run.unit(*first), run.points(*first)
    badges = [f"{by}: {text}" for by, verdict, text in verdict_badges(run).rows if verdict in ("large", "different")]
    text = "; ".join(badges) or finding(run).partition(": ")[2]
    worst = gap = "–"
    if summary is not None and summary.worst is not None:
        worst = f"{levels(summary.worst)}: {cell_text(Interval(run.get(*first, summary.worst).number, unit=unit))}"
        known = [gap_of(summary), *([summary.reference.mean] if summary.reference else [])]
        gap, *chance = (cell_text(Interval(value, unit=points)).removesuffix(f" {points}") for value in known)
        gap = f"{gap}{''.join(f' ({text})' for text in chance)} {points}".strip()
    return (title, name, value_name(*first), as_cell(run.get(*first), unit), worst, gap, text)


@dataclass(frozen=True)
class Plot:
    """The chart of groups with their intervals, as notebooks show it; `save` writes SVG, PNG or PDF."""

    figures: tuple[Figure, ...]

    def _repr_html_(self) -> str:
        return "".join(f"<figure>{svg(figure, alone=True)}</figure>" for figure in self.figures)

    def save(self, path: str | Path) -> Path:
        """Write the chart, in the format that the name tells; several get a number each."""
        target = Path(path)
        for place, figure in enumerate(self.figures):
            write_figure(figure, target if place == 0 else target.with_stem(f"{target.stem}-{place + 1}"))
        return target


def plot(
    results: Results, metric: str | None = None, output: str | None = None, by: Sequence[str] | None = None
) -> Plot:
    """The chart of one output: every attribute, or the attributes in `by` together."""
    first = headline(results) if metric is None else None
    chosen = results.get(*(first or (metric or "", output)))
    wanted = None if by is None else set(map(names_of_family(results.task).attribute, by))
    return Plot(output_figures(results, chosen.metric, chosen.output, wanted))


def first_screen(results: Results) -> str:
    """What a person wants to see first, as HTML: the summary, and the groups of each attribute."""
    readable = shown(results)
    blocks: list[Block] = [*overview(readable).blocks, *group_tables(readable)]
    return environment("evenhand.reporting").get_template("screen.html.j2").render(blocks=blocks)
