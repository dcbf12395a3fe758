"""From a number to its group, to its rows, to one of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import registry
from evenhand.core.errors import EvenhandError, OptionError, UnknownNameError
from evenhand.core.metric import Metric
from evenhand.core.options import parse
from evenhand.core.records import EVERYONE, Group, Records
from evenhand.core.results import Contrast, Estimate, Results, Status
from evenhand.reporting.phrases import headline
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
    """The groups of every attribute and intersection, worst first."""
    by: dict[tuple[str, ...], list[Estimate]] = {}
    for estimate in results.of(choice.metric, choice.output):
        if estimate.group != EVERYONE:
            by.setdefault(estimate.group.by, []).append(estimate)
    found = []
    for names, estimates in sorted(by.items(), key=lambda pair: (len(pair[0]), pair[0])):
        sign = -1.0 if choice.better == "lower" else 1.0
        ordered = sorted(estimates, key=lambda e: (e.status is Status.EMPTY, e.number is None, sign * (e.number or 0)))
        low, high = _range(ordered)
        found.append(GroupEstimates(names, tuple(ordered), low, high))
    return tuple(found)


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


def metrics_of(results: Results) -> tuple[Metric[Any], ...]:
    """The metrics as they were applied; none when the family is not installed or has changed."""
    try:
        task = registry.task(results.task)
        return task.metrics(parse(task.options, results.options))
    except EvenhandError:
        return ()


@dataclass(frozen=True)
class RowPage:
    """Some rows of a group: their numbers in the run, and how they are ordered."""

    rows: Records
    numbers: tuple[int, ...]
    of: int  # how many rows the group has
    page: int
    is_worst_first: bool

    @property
    def pages(self) -> int:
        return max(-(-self.of // PAGE), 1)


def row_page(rows: Records, group: Group, metric: Metric[Any] | None, page: int) -> RowPage:
    """A page of a group's rows: worst first when the metric scores single rows, else as they were recorded."""
    numbered = Records({**rows.columns, _NUMBER: np.arange(len(rows))}, rows.attributes)
    inside = numbered.take(numbered.members(group))
    page = min(max(page, 1), max(-(-len(inside) // PAGE), 1))
    ordered, is_worst_first = inside, False
    if metric is not None:
        try:
            ordered, is_worst_first = worst_rows(inside, [metric], page * PAGE), True
        except (EvenhandError, KeyError, ValueError):  # no row scores: the order of recording is as good as any
            ordered = inside
    shown = ordered.take(slice((page - 1) * PAGE, page * PAGE))
    columns = {name: column for name, column in shown.columns.items() if name != _NUMBER}
    numbers = tuple(int(number) for number in shown[_NUMBER])
    return RowPage(Records(columns, shown.attributes), numbers, len(inside), page, is_worst_first)


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
        return "–" if math.isnan(value) else f"{float(value):.6g}"
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
    if not ends:
        return 0.0, 1.0
    low, high = min(ends), max(ends)
    pad = (high - low) * 0.04 or max(abs(high), 1.0) * 0.05
    if low >= 0 and high <= 1:
        return max(low - pad, 0.0), min(high + pad, 1.0)
    return low - pad, high + pad
