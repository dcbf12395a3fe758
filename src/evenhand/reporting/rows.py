"""Rows in words: classes by name instead of number, values as people write them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import Grid
from evenhand.core.names import DisplayNames
from evenhand.core.printing import printable
from evenhand.core.records import EVERYONE, MISSING, Records
from evenhand.core.results import Results
from evenhand.reporting.display import shown
from evenhand.store.frames import attribute_texts

_LONG = 400  # characters of a value that are shown


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
