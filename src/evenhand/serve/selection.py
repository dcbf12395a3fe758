"""From a number to its group, to its rows, to one of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from starlette.datastructures import QueryParams

from evenhand.core.contrasts import contrasts_of as all_contrasts_of
from evenhand.core.errors import EvenhandError, OptionError, UnknownNameError
from evenhand.core.metric import Metric
from evenhand.core.names import DisplayNames
from evenhand.core.records import EVERYONE, Array, Group, Records
from evenhand.core.results import Contrast, Estimate, Results, Status
from evenhand.reporting.canvas import padded_span
from evenhand.reporting.display import RowLabels, names_of_family, shown_group
from evenhand.reporting.groups import by_attributes
from evenhand.reporting.phrases import direction_of, headline, levels
from evenhand.reporting.sections import badge
from evenhand.store.frames import worst_rows

PAGE = 24  # rows on a page
_NUMBER = "row number"  # a column that is added to find rows again


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
    verdict: str
    finding: str

    @property
    def gap(self) -> float:
        """How far apart the groups are that are large enough to be compared."""
        compared = [e for e in self.estimates if e.status is Status.OK and not e.group.is_missing]
        values = [e.number for e in compared if e.number is not None]
        return max(values) - min(values) if values else 0.0


def choices(results: Results) -> tuple[ValueChoice, ...]:
    """Every output that is a number for someone, the task's own first."""
    definitions = {fact.name: fact.definition for fact in results.metrics}
    pairs = dict.fromkeys((e.metric, e.output) for e in results.estimates if e.number is not None)
    values = [ValueChoice(*pair, direction_of(results, *pair), definitions.get(pair[0], "")) for pair in pairs]
    first = headline(results)
    return tuple(sorted(values, key=lambda choice: (choice.metric, choice.output) != first))


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
    by = by_attributes(results, choice.metric, choice.output)
    pairs = tuple(all_contrasts_of(results.contrasts, choice.metric, choice.output, order=1))
    shared = _range([estimate for names, estimates in by.items() if len(names) == 1 for estimate in estimates])
    sign = -1.0 if choice.better == "lower" else 1.0
    named = partial(group_name, names=names_of_family(results.task))
    spread = []
    for names, estimates in by.items():
        ordered = sorted(estimates, key=lambda e: (e.status is Status.EMPTY, e.number is None, sign * (e.number or 0)))
        low, high = shared if len(names) == 1 else _range(ordered)
        verdict = badge([pair for pair in pairs if pair.first.by == names], named) if len(names) == 1 else ("", "")
        spread.append(GroupEstimates(names, tuple(ordered), low, high, *verdict))
    return tuple(sorted(spread, key=lambda one: (len(one.by), -one.gap, one.by)))


def group_name(group: Group, names: DisplayNames, *, full: bool = False) -> str:
    """A group as people write it; `full`: with its attributes.

    >>> group = Group((("skin_tone", "dark_brown"), ("age", "30-39")))
    >>> group_name(group, DisplayNames()), group_name(group, DisplayNames(), full=True)
    ('dark brown × 30–39', 'skin tone: dark brown, age: 30–39')
    """
    group = shown_group(group, names)
    if full:
        return ", ".join(f"{name}: {levels(Group(((name, level),)))}" for name, level in group.terms) or "everyone"
    return levels(group)


def group_of(texts: Sequence[str]) -> Group:
    """A group from `attribute=level` texts; raises OptionError when one is none."""
    pairs = []
    for text in texts:
        name, equals, level = text.partition("=")
        if not equals:
            raise OptionError(f"{text!r} is not a group: write attribute=level.")
        pairs.append((name, level))
    return Group(tuple(pairs))


def terms(group: Group) -> list[str]:
    """A group as it stands in an address."""
    return [f"{name}={level}" for name, level in group.terms]


def contrasts_of(results: Results, choice: ValueChoice, group: Group) -> tuple[Contrast, ...]:
    """The comparisons in which a group takes part, the surest first."""
    pairs = all_contrasts_of(results.contrasts, choice.metric, choice.output)
    own = (pair for pair in pairs if group in (pair.first, pair.second))
    return tuple(sorted(own, key=lambda contrast: math.inf if contrast.adjusted is None else contrast.adjusted))


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
        order = "" if self.order == "worst" else self.order
        return {"g": terms(self.group), "truth": self.truth, "answer": self.answer, "q": self.text, "sort": order}


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


def scalar_columns(rows: Records) -> tuple[str, ...]:
    """The columns that fit into a cell, `item` first, those that say nothing last."""
    names = [name for name, column in rows.columns.items() if column.ndim == 1 and name != "item"]
    return (*(("item",) if "item" in rows else ()), *names)


def _range(estimates: Sequence[Estimate]) -> tuple[float, float]:
    ends = [
        end
        for estimate in estimates
        if estimate.number is not None
        for end in (estimate.number, estimate.low, estimate.high)
        if end is not None and math.isfinite(end)
    ]
    return padded_span(ends)
