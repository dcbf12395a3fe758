"""From a number to its group, to its rows, to one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from starlette.datastructures import QueryParams

from evenhand import registry
from evenhand.core.contrasts import contrasts_of as all_contrasts_of
from evenhand.core.errors import EvenhandError, OptionError, UnknownNameError
from evenhand.core.metric import Grid, Metric
from evenhand.core.names import DisplayNames
from evenhand.core.options import parse
from evenhand.core.records import EVERYONE, MISSING, Array, Group, Records
from evenhand.core.results import Contrast, Estimate, Results, Status
from evenhand.reporting.axes import padded_span
from evenhand.reporting.display import names_of_family, shown
from evenhand.reporting.phrases import headline
from evenhand.reporting.summary import badge
from evenhand.store.frames import attribute_texts, worst_rows

PAGE = 24  # rows on a page
_NUMBER = "row number"  # a column that is added to find rows again
_LONG = 400  # characters of a value that are shown


@dataclass(frozen=True)
class ValueChoice:
    """A value that a run has: one output of one metric."""

    metric: str
    output: str
    better: str
    definition: str


@dataclass(frozen=True)
class GroupEstimates:
    """The estimates of the groups of one attribute or intersection, worst first, with the range that they span."""

    by: tuple[str, ...]
    estimates: tuple[Estimate, ...]
    low: float
    high: float
    verdict: str = ""
    finding: str = ""

    @property
    def gap(self) -> float:
        """How far apart the groups are that are large enough to be compared."""
        compared = [e for e in self.estimates if e.status is Status.OK and not e.group.is_missing]
        values = [e.number for e in compared if e.number is not None]
        return max(values) - min(values) if values else 0.0


def choices(results: Results) -> tuple[ValueChoice, ...]:
    """Every output that is a number for someone, the task's own first."""
    facts = {fact.name: fact for fact in results.metrics}
    found: dict[tuple[str, str], ValueChoice] = {}
    for estimate in results.estimates:
        pair = (estimate.metric, estimate.output)
        if pair in found or estimate.number is None:
            continue
        fact = facts.get(estimate.metric)
        better = fact.outputs.get(estimate.output, "neither") if fact is not None else "neither"
        found[pair] = ValueChoice(*pair, better, fact.definition if fact is not None else "")
    first = headline(results)
    return tuple(sorted(found.values(), key=lambda choice: (choice.metric, choice.output) != first))


def chosen(results: Results, metric: str, output: str) -> ValueChoice | None:
    """The value that was asked for; the first one when nothing was; None when the run has no values.

    Raises UnknownNameError for one that the run does not have.
    """
    known = choices(results)
    if not metric:
        return known[0] if known else None
    for choice in known:
        if choice.metric == metric and (choice.output == output or not output):
            return choice
    raise UnknownNameError("value", f"{metric}: {output}", [f"{one.metric}: {one.output}" for one in known])


def spreads(results: Results, choice: ValueChoice) -> tuple[GroupEstimates, ...]:
    """The groups of every attribute and intersection, worst first; the attribute with the widest gap comes first.

    All single attributes share one axis, so that their gaps can be compared by eye.
    """
    by: dict[tuple[str, ...], list[Estimate]] = {}
    for estimate in results.of(choice.metric, choice.output):
        if estimate.group != EVERYONE:
            by.setdefault(estimate.group.by, []).append(estimate)
    pairs = tuple(all_contrasts_of(results.contrasts, choice.metric, choice.output, order=1))
    shared = _range([estimate for names, estimates in by.items() if len(names) == 1 for estimate in estimates])
    sign = -1.0 if choice.better == "lower" else 1.0
    display = names_of_family(results.task)
    spread = []
    for names, estimates in by.items():
        ordered = sorted(estimates, key=lambda e: (e.status is Status.EMPTY, e.number is None, sign * (e.number or 0)))
        low, high = shared if len(names) == 1 else _range(ordered)
        own = [_named(pair, display) for pair in pairs if pair.first.by == names]
        verdict = badge(own) if len(names) == 1 else ("", "")
        spread.append(GroupEstimates(names, tuple(ordered), low, high, *verdict))
    return tuple(sorted(spread, key=lambda one: (len(one.by), -one.gap, one.by)))


def group_name(group: Group, names: DisplayNames, *, full: bool = False) -> str:
    """A group as people write it; `full`: with its attributes.

    >>> group = Group((("skin_tone", "dark_brown"), ("age", "30-39")))
    >>> group_name(group, DisplayNames()), group_name(group, DisplayNames(), full=True)
    ('dark brown × 30–39', 'skin tone: dark brown, age: 30–39')
    """
    levels = [
        (names.attribute(name), "not annotated" if level == MISSING else names.level(name, level))
        for name, level in group.terms
    ]
    if full:
        return ", ".join(f"{name}: {level}" for name, level in levels) or "everyone"
    return " × ".join(level for _, level in levels) or "everyone"


def _named(pair: Contrast, names: DisplayNames) -> Contrast:
    """A comparison of groups under their display names."""

    def named(group: Group) -> Group:
        return Group(tuple((names.attribute(name), names.level(name, level)) for name, level in group.terms))

    worse = None if pair.worse is None else named(pair.worse)
    return replace(pair, first=named(pair.first), second=named(pair.second), worse=worse)


def group_of(terms: Sequence[str]) -> Group:
    """A group from `attribute=level` texts; raises OptionError when one is none."""
    pairs = []
    for text in terms:
        name, equals, level = text.partition("=")
        if not equals:
            raise OptionError(f"{text!r} is not a group: write attribute=level.")
        pairs.append((name, level))
    return Group(tuple(pairs))


def contrasts_of(results: Results, choice: ValueChoice, group: Group) -> tuple[Contrast, ...]:
    """The comparisons in which a group takes part, the surest first."""
    found = (
        contrast
        for contrast in results.contrasts
        if (contrast.metric, contrast.output) == (choice.metric, choice.output)
        and group in (contrast.first, contrast.second)
    )
    return tuple(sorted(found, key=lambda contrast: math.inf if contrast.adjusted is None else contrast.adjusted))


def badness_of(results: Results) -> Callable[[Records], Array] | None:
    """How the task of a run tells how wrong a row is; None when it does not."""
    try:
        return registry.task(results.task).badness
    except EvenhandError:
        return None


def metrics_of(results: Results) -> tuple[Metric[Any], ...]:
    """The metrics as they were applied; none when the family is not installed or has changed."""
    try:
        task = registry.task(results.task)
        return task.metrics(parse(task.options, results.options))
    except EvenhandError:
        return ()


@dataclass(frozen=True)
class RowQuery:
    """Which rows are looked at and in which order, as it stands in an address: a link to it can be shared."""

    group: Group = EVERYONE
    truth: str = ""  # a cell of the confusion matrix, in words
    answer: str = ""
    text: str = ""  # part of the name of the sample
    order: str = "worst"  # worst, best, or recorded

    @classmethod
    def of(cls, query: QueryParams) -> RowQuery:
        """What an address says; orders that are not known are the first."""
        order = query.get("sort", "worst")
        order = order if order in ("worst", "best", "recorded") else "worst"
        truth, answer, text = (query.get(name, "")[:200] for name in ("truth", "answer", "q"))
        return cls(group_of(query.getlist("g")), truth, answer, text, order)

    @property
    def address(self) -> dict[str, Any]:
        """The query as it is written into an address."""
        terms = [f"{name}={level}" for name, level in self.group.terms]
        order = "" if self.order == "worst" else self.order
        return {"g": terms, "truth": self.truth, "answer": self.answer, "q": self.text, "sort": order}


@dataclass(frozen=True)
class RowPage:
    """Some rows of a selection: their numbers in the run, and how they are ordered."""

    rows: Records
    numbers: tuple[int, ...]
    of: int  # how many rows were selected
    page: int
    is_ordered: bool  # False: the metric does not score single rows, so they are as recorded

    @property
    def pages(self) -> int:
        return max(-(-self.of // PAGE), 1)


def select(
    rows: Records,
    query: RowQuery,
    metric: Metric[Any] | None,
    labels: RowLabels,
    badness: Callable[[Records], Array] | None = None,
) -> tuple[Array, bool]:
    """The numbers of the rows that a query selects, in its order, and whether the metric could order them."""
    mask = np.asarray(rows.members(query.group)).copy()
    for column, word in ((labels.truth, query.truth), (labels.answer, query.answer)):
        if word:
            mask &= np.asarray(rows[column.name]) == column.code(word)
    if query.text and "item" in rows:
        wanted = query.text.casefold()
        mask &= np.array([wanted in str(item).casefold() for item in rows["item"]], dtype=np.bool_)
    numbers = np.flatnonzero(mask)
    if metric is None or query.order == "recorded":
        return numbers, False
    numbered = Records({**rows.columns, _NUMBER: np.arange(len(rows))}, rows.attributes).take(numbers)
    try:
        ordered = np.asarray(worst_rows(numbered, [metric], len(numbered), badness)[_NUMBER], dtype=np.int64)
    except (EvenhandError, KeyError, ValueError):  # the metric scores no single rows
        return numbers, False
    return (ordered if query.order == "worst" else ordered[::-1]), True


def row_page(rows: Records, numbers: Array, page: int, *, is_ordered: bool) -> RowPage:
    """A page of selected rows."""
    page = min(max(page, 1), max(-(-len(numbers) // PAGE), 1))
    some = numbers[(page - 1) * PAGE : page * PAGE]
    return RowPage(rows.take(some), tuple(map(int, some)), len(numbers), page, is_ordered)


@dataclass(frozen=True)
class CodedColumn:
    """A column of class numbers, and the word for each."""

    name: str = ""
    words: tuple[str, ...] = ()  # as shown

    def word(self, rows: Records, at: int) -> str:
        """The class of one row in words; empty where the column is not there."""
        if not self.name or self.name not in rows:
            return ""
        code = int(rows[self.name][at])
        return self.words[code] if 0 <= code < len(self.words) else "–"

    def code(self, word: str) -> int:
        """The number of a class; raises OptionError for one that is not known."""
        if word not in self.words:
            raise OptionError(f"There is no class {word!r}. Known: {', '.join(self.words) or 'none'}.")
        return self.words.index(word)


@dataclass(frozen=True)
class RowLabels:
    """Truth and answer of a classification: the columns that its confusion matrix counts."""

    truth: CodedColumn = CodedColumn()
    answer: CodedColumn = CodedColumn()
    grid: Grid | None = None  # as shown


def labels_of(results: Results, rows: Records) -> RowLabels:
    """The classes of a run that has a confusion matrix over two columns of its rows; none for any other."""
    for estimate in shown(results).estimates:
        grid = estimate.value
        if isinstance(grid, Grid) and estimate.group == EVERYONE:
            names = (grid.row_name, grid.column_name)
            coded = all(name in rows and np.issubdtype(rows[name].dtype, np.integer) for name in names)
            if coded:
                return RowLabels(CodedColumn(names[0], grid.rows), CodedColumn(names[1], grid.columns), grid)
    return RowLabels()


def scalar_columns(rows: Records) -> tuple[str, ...]:
    """The columns that fit into a cell, `item` first, those that say nothing last."""
    names = [name for name, column in rows.columns.items() if column.ndim == 1 and name != "item"]
    return (*(("item",) if "item" in rows else ()), *names)


def value_text(value: Any) -> str:
    """A value of a row as text; vectors by their length.

    >>> value_text(np.float64(0.123456789)), value_text(np.zeros(512)), value_text(np.bool_(True)), value_text("")
    ('0.123457', '512 numbers', 'yes', '')
    """
    if isinstance(value, np.ndarray):
        return f"{value.size:,} numbers"
    if isinstance(value, bool | np.bool_):
        return "yes" if value else "no"
    if isinstance(value, float | np.floating):
        return "–" if not math.isfinite(value) else f"{float(value):.6g}"
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    text = "".join(char if char.isprintable() or char == "\n" else "�" for char in text)
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def facts_of(rows: Records, number: int) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """One row: its columns and its attributes, as texts; raises UnknownNameError when there is no such row."""
    if not 0 <= number < len(rows):
        raise UnknownNameError("row", str(number), [f"0 to {len(rows) - 1}"])
    columns = {name: value_text(column[number]) for name, column in rows.columns.items()}
    one = rows.take(slice(number, number + 1))
    attributes = {name: attribute_texts(attribute)[0] or "does not apply" for name, attribute in one.attributes.items()}
    return columns, {name: value_text(text) for name, text in attributes.items()}


def item_of(rows: Records, number: int) -> str:
    """What a row is about."""
    if "item" not in rows or not 0 <= number < len(rows):
        return ""
    return str(rows["item"][number])


def _range(estimates: Sequence[Estimate]) -> tuple[float, float]:
    ends = [
        end
        for estimate in estimates
        if estimate.number is not None
        for end in (estimate.number, estimate.low, estimate.high)
        if end is not None and math.isfinite(end)
    ]
    return padded_span(ends)
