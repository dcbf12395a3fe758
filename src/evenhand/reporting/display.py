"""Results and rows as people read them: names instead of keys and numbers of classes, shares marked as such.

Everything that is drawn or printed for people is made from `shown` results; files for programs (JSON, CSV) keep the
keys. The names are those of the family; without it, keys are written by rule.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evenhand import registry
from evenhand.core.contrasts import Contrasts, Family, SelectableContrasts, contrasts_of
from evenhand.core.errors import EvenhandError, OptionError, UnknownNameError
from evenhand.core.metric import Curve, Grid, Value
from evenhand.core.names import DisplayNames
from evenhand.core.printing import printable
from evenhand.core.records import EVERYONE, MISSING, Group, Records
from evenhand.core.results import UNVERIFIED_WEIGHTS, Contrast, Estimate, MetricFact, Omnibus, Results, Summary
from evenhand.reporting.phrases import headline
from evenhand.store.frames import attribute_texts

if TYPE_CHECKING:
    from evenhand.stats.comparison import Comparison, GapContrast, ModelContrast

_LONG = 400  # characters of a value of a row that are shown
Output = tuple[str, str]  # metric and output
NO_OUTPUT: Output = ("", "")  # of results without any value
_Entry = TypeVar("_Entry", Estimate, Contrast, Family, Omnibus, Summary, "ModelContrast", "GapContrast")


@dataclass(frozen=True)
class ShownResults(Results):
    """Results whose groups, attributes and values have display names."""

    names: DisplayNames = field(default_factory=DisplayNames)
    shares: frozenset[Output] = frozenset()  # written in per cent
    swatches: Mapping[tuple[str, str], str] = field(default_factory=dict)  # attribute and level, as shown → colour

    @cached_property
    def first(self) -> Output:
        """The value that the report is about."""
        return headline(self) or NO_OUTPUT

    @cached_property
    def first_pairs(self) -> tuple[Contrast, ...]:
        """The comparisons of single groups by that value."""
        return tuple(contrasts_of(self.contrasts, *self.first, order=1))

    def unit(self, metric: str, output: str) -> str:
        return "%" if (metric, output) in self.shares else ""

    def points(self, metric: str, output: str) -> str:
        """The unit of a difference of values."""
        return "points" if (metric, output) in self.shares else ""


def names_of_family(task: str) -> DisplayNames:
    """The display names of a task's family; those by rule when it is not installed."""
    try:
        return registry.benchmark(task.partition("/")[0]).names
    except EvenhandError:
        return DisplayNames()


def names_of_results(results: Results) -> DisplayNames:
    """The display names of a run's family, with a mark behind values that rest on unverified weights."""
    marks = dict.fromkeys(results.unverified, f" ({UNVERIFIED_WEIGHTS})")
    return replace(names_of_family(results.task), marks=marks)


def task_title(task: str, names: DisplayNames | None = None) -> str:
    """A task as people write it.

    >>> task_title("some/face_parsing", DisplayNames())
    'some: face parsing'
    """
    names = names_of_family(task) if names is None else names
    family, _, rest = task.partition("/")
    return names.tasks.get(task) or (f"{names.family or family}: {rest.replace('_', ' ')}" if rest else task)


def shown(results: Results) -> ShownResults:
    """The results with display names; results that have them already are returned as they are."""
    return results if isinstance(results, ShownResults) else _Translation(results).results()


def shown_output(results: Results, metric: str, output: str) -> Output:
    """How a metric and output of stored results are called in the shown ones."""
    return (metric, output) if isinstance(results, ShownResults) else _Translation(results).output(metric, output)


def shown_comparison(comparison: Comparison, results: Results) -> Comparison:
    """The comparison with the display names of the results of one of its models."""
    if isinstance(results, ShownResults):
        return comparison
    translation = _Translation(results)
    titles = ((value, translation.names.value(value.metric, value.output)) for value in comparison.left_out)
    return replace(
        comparison,
        contrasts=tuple(map(translation.renamed, comparison.contrasts)),
        gaps=tuple(map(translation.renamed, comparison.gaps)),
        # which the results of the first model may not know
        left_out=tuple(replace(value, metric=title, output=title) for value, title in titles),
    )


def shown_group(group: Group, names: DisplayNames) -> Group:
    """A group under its display names; what is not annotated stays marked as such."""
    terms = ((name, level if level == MISSING else names.level(name, level)) for name, level in group.terms)
    return Group(tuple((names.attribute(name), level) for name, level in terms))


class _Translation:
    """Keys to names, each looked up once; names that two keys would share are not used."""

    def __init__(self, stored: Results) -> None:
        self.stored, self.names = stored, names_of_results(stored)
        pairs = list(dict.fromkeys((e.metric, e.output) for e in stored.estimates))
        pairs += [(fact.name, output) for fact in stored.metrics for output in fact.outputs]
        pairs = list(dict.fromkeys(pairs))
        titles = {pair: self.names.value(*pair) for pair in pairs}
        often = Counter(titles.values())
        self.outputs: dict[Output, Output] = {
            pair: (title, title) if often[title] == 1 else (pair[0], f"{title} ({pair[0]}: {pair[1]})")
            for pair, title in titles.items()
        }
        self.groups: dict[Group, Group] = {}
        self.levels: dict[str, dict[str, str]] = {}
        self.rules: Mapping[str, Callable[[Any], Any]] = {  # of the fields that hold keys, by name
            **dict.fromkeys(("group", "first", "second", "worse", "worst", "best"), self.group),
            **dict.fromkeys(("eligible", "excluded"), lambda groups: tuple(map(self.group, groups))),
            "shrunken": lambda values: {self.group(group): value for group, value in values.items()},
            "by": self.by,
            "value": self.value,
        }
        self.keyed: dict[type, list[str]] = {}  # by the class of an entry: its fields that hold keys

    def output(self, metric: str, output: str) -> Output:
        return self.outputs.get((metric, output), (metric, output))

    def renamed(self, entry: _Entry, **changes: Any) -> _Entry:
        """An entry of the results with names for its metric and output, and for its other keys or as `changes` say."""
        metric, output = self.output(entry.metric, entry.output)
        if type(entry) not in self.keyed:
            self.keyed[type(entry)] = [name for name in self.rules if name in vars(entry)]
        keyed = () if changes else self.keyed[type(entry)]
        keys = {name: key for name in keyed if (key := getattr(entry, name)) is not None}
        changes |= {name: self.rules[name](key) for name, key in keys.items()}
        return replace(entry, metric=metric, output=output, **changes)

    def level(self, attribute: str, level: str) -> str:
        if attribute not in self.levels:
            known = self.stored.levels.get(attribute, ())
            named = {key: self.names.level(attribute, key) for key in known}
            often = Counter(named.values())
            self.levels[attribute] = {key: name if often[name] == 1 else key for key, name in named.items()}
        if level == MISSING:
            return level
        return self.levels[attribute].get(level) or self.names.level(attribute, level)

    def group(self, group: Group) -> Group:
        if group not in self.groups:
            terms = ((self.names.attribute(name), self.level(name, level)) for name, level in group.terms)
            self.groups[group] = Group(tuple(terms))
        return self.groups[group]

    def by(self, attributes: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self.names.attribute, attributes))

    def value(self, value: Value) -> Value:
        if not isinstance(value, Grid):
            return value
        attribute = next((name for name, levels in self.stored.levels.items() if set(value.rows) & set(levels)), "")
        rows, columns = (tuple(self.level(attribute, key) for key in keys) for keys in (value.rows, value.columns))
        return replace(value, rows=rows, columns=columns)

    def shares(self) -> frozenset[Output]:
        beyond = {
            (e.metric, e.output)
            for e in self.stored.estimates
            if isinstance(e.value, Curve | Grid) or (e.number is not None and not -1e-9 <= e.number <= 1 + 1e-9)
        }
        return frozenset(
            shown for pair, shown in self.outputs.items() if pair not in beyond and self.names.is_share(*pair)
        )

    def results(self) -> ShownResults:
        stored = self.stored
        contrasts: Sequence[Contrast]
        # Only pairs of the first value are shown; those of others are in the files for programs.
        first = None if stored.headline is None else headline(stored)
        one_of_many = isinstance(stored.contrasts, SelectableContrasts)  # left on disk; few intersections are shown
        if isinstance(stored.contrasts, Contrasts):
            families = stored.contrasts.families
            kept_families = [f for f in families if first is None or (f.metric, f.output) == first]
            contrasts = Contrasts(
                tuple(self.renamed(f, groups=tuple(map(self.group, f.groups))) for f in kept_families)
            )
        else:
            order = 1 if one_of_many else None
            pairs = stored.contrasts if first is None else contrasts_of(stored.contrasts, *first, order=order)
            contrasts = tuple(map(self.renamed, pairs))
        changed: dict[str, Any] = {
            "estimates": tuple(
                self.renamed(e)
                for e in stored.estimates
                if not one_of_many or len(e.group.terms) <= 1 or (e.metric, e.output) == first
            ),
            "contrasts": contrasts,
            "omnibus": tuple(map(self.renamed, stored.omnibus)),
            "summaries": tuple(map(self.renamed, stored.summaries)),
            "metrics": tuple(
                MetricFact(metric, fact.definition, {name: direction}, fact.parameters)
                for fact in stored.metrics
                for output, direction in fact.outputs.items()
                for metric, name in [self.output(fact.name, output)]
            ),
            "headline": None if first is None else self.output(*first),
            "by": self.by(stored.by),
            "missing_attributes": {self.names.attribute(k): count for k, count in stored.missing_attributes.items()},
        }
        kept = {one.name: getattr(stored, one.name) for one in fields(Results) if one.name not in changed}
        swatches = {
            (self.names.attribute(attribute), self.level(attribute, level)): colour
            for attribute, colours in self.names.swatches.items()
            for level, colour in colours.items()
        }
        return ShownResults(**kept, **changed, names=self.names, shares=self.shares(), swatches=swatches)


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
    text = printable(text, keep="\n")
    return text if len(text) <= _LONG else text[: _LONG - 1] + "…"


def row_facts(
    rows: Records, number: int, labels: RowLabels, names: DisplayNames
) -> tuple[Mapping[str, str], Mapping[str, str]]:
    """One row in words: its columns and its attributes; raises UnknownNameError when there is no such row."""
    if not 0 <= number < len(rows):
        raise UnknownNameError("row", str(number), [f"0 to {len(rows) - 1}"])
    columns = {name: value_text(column[number]) for name, column in rows.columns.items()}
    for coded in (labels.truth, labels.answer):
        if coded.name in columns:
            columns[coded.name] = coded.word(rows, number)
    one = rows.take(slice(number, number + 1))
    attributes = {}
    for name, attribute in one.attributes.items():
        text = attribute_texts(attribute)[0]
        level = "does not apply" if text is None else "not annotated" if text == MISSING else names.level(name, text)
        attributes[names.attribute(name)] = value_text(level)
    return columns, attributes
