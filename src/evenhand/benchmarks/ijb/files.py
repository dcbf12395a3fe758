"""The files of the IJB protocols as tables: columns by name, errors by line.

Headers are matched by name, whatever their case and the blanks around them; early and late
releases name some columns differently, and every name that is known means the same here.
Empty cells, `NaN`, `nan` and `NA` are missing values.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError, PredictionError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files import delimited
from evenhand.files.inputs import Problem, read
from evenhand.files.whole_numbers import read_whole_numbers

if TYPE_CHECKING:
    import polars as pl

SYNONYMS: Mapping[str, str] = {
    "FILE": "FILENAME",
    "NOSE_BASE_X": "NOSE_X",
    "NOSE_BASE_Y": "NOSE_Y",
    "FRAME": "FRAME_NUM",
    "VIDEO": "VIDEO_FILENAME",
    "SKIN_TONE": "SKINTONE",
    "INDOOR": "INDOOR_OUTDOOR",
    "FACE_YAW": "YAW",
    "IGNORE": "IGNORE_FLAG",
    "IGNORED": "IGNORE_FLAG",
    "IGNORE FLAG": "IGNORE_FLAG",
}
MISSING_WORDS = ("", "nan", "na")


@dataclass(frozen=True)
class ProtocolTable:
    """The cells of a file as text, by column name, and the line of every row."""

    path: Path
    columns: Mapping[str, pl.Series]  # with their blanks: most have none, and numbers are read quicker as they are
    rows: int
    fact: InputFact
    problem: Problem
    lines: Array  # (rows,)

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def require(self, *names: str) -> None:
        """Raise when a column is not there."""
        lacking = [name for name in names if name not in self.columns]
        if lacking:
            raise self.problem(
                f"{self.path}, line 1: no column {', '.join(lacking)} in the header "
                f"({delimited.shown_names(self.columns)}). Expected {', '.join(names)}."
            )

    def names(self, name: str) -> pl.Series:
        """(rows,): the cells without blanks around them, as Polars keeps them; empty when missing."""
        self.require(name)
        return self.columns[name].fill_null("").str.strip_chars()

    def text(self, name: str) -> NDArray[np.object_]:
        """(rows,): the cells without blanks around them; empty when missing."""
        return np.asarray(self.names(name).to_numpy(), dtype=object)

    def whole(self, name: str, *, missing: int | None = None) -> NDArray[np.int64]:
        """(rows,): whole numbers; a missing one is `missing`, or an error when that is None."""
        import polars as pl

        self.require(name)
        values = self.columns[name].cast(pl.Int64, strict=False)
        if values.null_count():
            cells = self.names(name)
            values = cells.cast(pl.Int64, strict=False)
            absent = cells.str.to_lowercase().is_in(MISSING_WORDS)
            wrong = values.is_null() & ~absent if missing is not None else values.is_null()
            self._refuse_first(wrong, name, "a whole number")
            values = values if missing is None else values.fill_null(missing)
        return np.asarray(values.to_numpy(), dtype=np.int64)

    def numbers(self, name: str) -> NDArray[np.float64]:
        """(rows,): numbers, not a number where missing; infinities are errors."""
        import polars as pl

        self.require(name)
        plain = self.columns[name].cast(pl.Float64, strict=False)
        if not plain.null_count() and not plain.is_infinite().any():
            return np.array(plain.to_numpy(), dtype=np.float64)
        cells = self.names(name)
        values = cells.cast(pl.Float64, strict=False)
        absent = cells.str.to_lowercase().is_in(MISSING_WORDS)
        self._refuse_first((values.is_null() & ~absent) | values.is_infinite().fill_null(False), name, "a number")
        numbers = np.array(values.fill_null(float("nan")).to_numpy(), dtype=np.float64)
        numbers[absent.to_numpy()] = np.nan
        return numbers

    def matrix(self, names: Sequence[str]) -> NDArray[np.float64]:
        """(rows, names): the numbers of several columns; not a number where missing, or without the column."""
        import polars as pl

        there = [name for name in names if name in self]
        numbers = np.full((self.rows, len(names)), np.nan)
        if not there:
            return numbers
        frame = pl.DataFrame([self.columns[name].alias(name) for name in there])
        read = frame.select(pl.all().cast(pl.Float64, strict=False))
        is_complete = not any(column.null_count() for column in read.iter_columns())
        for name in there:
            plain = read[name].to_numpy() if is_complete else None
            is_plain = plain is not None and not np.isinf(plain).any()
            numbers[:, names.index(name)] = plain if is_plain else self.numbers(name)
        return numbers

    def refuse(self, wrong: Array, what: Callable[[int], str], column: str = "") -> None:
        """Raise for the first row of a mask (rows,); `what` says of a row what is wrong with it."""
        rows = np.flatnonzero(wrong)
        if len(rows):
            where = f"{self.path}, line {self.lines[rows[0]]}" + (f", column {column}" if column else "")
            raise self.problem(f"{where}: {what(int(rows[0]))}")

    def refuse_repeated(self, ids: Array, what: str) -> None:
        """Raise when an id (rows,) stands in two rows."""
        again = np.ones(len(ids), dtype=np.bool_)
        again[np.unique(ids, return_index=True)[1]] = False
        self.refuse(again, lambda row: f"{what} {ids[row]} is there twice. Each must occur once.")

    def _refuse_first(self, wrong: pl.Series, name: str, expected: str) -> None:
        count = int(wrong.sum())
        more = f" ({count} such cells.)" if count > 1 else ""
        self.refuse(
            wrong.to_numpy(),
            lambda row: f"{self.names(name)[row][:60]!r} found, but {expected} was expected.{more}",
            name,
        )


def read_table(
    path: Path, problem: Problem = DataError, plain: Callable[[str], delimited.CellKind | None] | None = None
) -> ProtocolTable:
    """A comma-separated file with a header.

    `plain` says what the columns of most files hold, by their usual names, None for those that are not needed; a file
    that has something else there is read as text.
    """

    def known(name: str) -> str:
        return SYNONYMS.get(name.upper(), name.upper())

    plain_kind = None if plain is None else lambda name: plain(known(name))
    table = delimited.read_table(path, problem=problem, plain=plain_kind)
    names = [known(name) for name in table.header.names]
    for name in names:
        if names.count(name) > 1:
            raise problem(f"{path}, line 1: the column {name} is there twice. Keep one.")
    columns = {known(name): table.frame[name] for name in table.frame.columns}
    return ProtocolTable(Path(path), columns, len(table), table.fact, problem, table.lines)


def file_of(path: Path, *names: str) -> Path:
    """A file of predictions: the one that is named, or of a folder the first that has one of some names."""
    path = Path(path)
    if not path.is_dir():
        return path
    for name in names:
        if (path / name).is_file():
            return path / name
    lacks = f"has no {names[0]}" if len(names) == 1 else f"has none of {', '.join(names)}"
    raise PredictionError(f"{path} {lacks}. Name the file itself, or call it so.")


def read_pairs(path: Path, problem: Problem = DataError) -> tuple[Array, Array, InputFact]:
    """Two template ids per line, without a header: reference, then probe. In 32 bits where they fit, for speed."""
    (first, second), fact = read_whole_numbers(path, 2, ",", problem, "two template ids (reference, probe)")
    return first, second, fact


def read_matrix(path: Path, problem: Problem = DataError) -> tuple[NDArray[np.float64], InputFact]:
    """A comma-separated matrix of scores without a header; an empty cell is −∞, a failure to enrol."""
    source = read(path, problem)
    lines = source.text(problem).split("\n")
    while lines and not lines[-1]:
        lines.pop()
    width = lines[0].count(",") + 1
    rows = []
    for number, line in enumerate(lines, start=1):
        cells = line.split(",")
        if len(cells) != width:
            raise problem(f"{path}, line {number}: {len(cells)} scores, but line 1 has {width}.")
        rows.append([_score(cell, path, number, column, problem) for column, cell in enumerate(cells, start=1)])
    return np.array(rows, dtype=np.float64), source.fact


def scores_of(table: ProtocolTable, name: str = "SCORE") -> NDArray[np.float64]:
    """(rows,): similarity scores; an empty cell is −∞, a failure to enrol. Not a number is an error."""
    import polars as pl

    cells = table.names(name)
    values = cells.cast(pl.Float64, strict=False)
    empty = (cells == "") | (cells.str.to_lowercase() == "-inf")
    table._refuse_first((values.is_null() | values.is_nan().fill_null(True)) & ~empty, name, "a score")
    table._refuse_first((values == float("inf")).fill_null(False), name, "a finite score")
    return np.asarray(values.fill_null(float("-inf")).to_numpy(), dtype=np.float64)


def _score(cell: str, path: Path, line: int, column: int, problem: Problem) -> float:
    if not cell.strip():
        return -np.inf
    try:
        value = float(cell)
    except ValueError:
        raise problem(f"{path}, line {line}, column {column}: {cell[:60]!r} found, but a score was expected.") from None
    if np.isnan(value) or value == np.inf:
        raise problem(
            f"{path}, line {line}, column {column}: {cell!r} is no score. "
            "Leave the cell empty when a template could not be enrolled."
        )
    return value
