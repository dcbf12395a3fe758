"""The two tables of FHIBE on disk: found, read, sampled, and kept parsed.

A table is a CSV with one row per subject and image. Cells are texts; boxes, keypoints and polygons
are texts of Python literals, polygons of tens of kilobytes each. With a cache folder what was parsed
is kept there as Parquet, named by the hash of the CSV, so that the second run parses nothing and reads
only the columns that it needs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe import cells
from evenhand.core.errors import DataError, OptionError
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files import inputs
from evenhand.files.columnar import read_parquet
from evenhand.files.delimited import read_header, shown_names
from evenhand.files.delimited import read_table as read_delimited
from evenhand.files.writing import open_file

BODY_TABLE = "fhibe_downsampled"
FACE_TABLE = "fhibe_face_crop_align"
NEEDED = ("filepath", "json_path", "age", "location_country")
MINI_SEED = 42
MINI_ROWS = 50

CACHE = "fhibe"  # what `evenhand cache` lists
_FORMAT = 3  # of the parsed form; part of the name of what is kept
_MISSING = (
    "", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN", "<NA>", "N/A", "NA",
    "NULL", "NaN", "None", "n/a", "nan", "null",
)  # fmt: skip
_SHAPES = "segments"
_POINTS = "keypoints"
_CLASSES, _OUTLINES, _LENGTHS = "segments.class", "segments.points", "segments.lengths"
_POINT_NAMES, _POINT_VALUES = "keypoints.name", "keypoints.value"

Texts = tuple[str | None, ...]
_NO_POINTS = np.zeros(0, dtype=np.int32)


@dataclass(frozen=True)
class Segment:
    """One polygon of a row, with the plain name of its class."""

    name: str
    points: NDArray[np.int32]  # (points, 2), truncated toward zero


@dataclass(frozen=True)
class AnnotationTable:
    """The rows that are evaluated, in order; `numbers` are their places in the file, from 0."""

    root: Path
    path: Path
    frame: Any  # polars.DataFrame: texts, and the parsed columns
    numbers: Array
    fact: InputFact

    def __len__(self) -> int:
        return len(self.numbers)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of the CSV that can be asked for."""
        named = [name for name in self.frame.columns if "." not in name]
        parsed = {_SHAPES: _CLASSES, _POINTS: _POINT_NAMES}
        return (*named, *(name for name, inner in parsed.items() if inner in self.frame.columns))

    def __contains__(self, column: object) -> bool:
        return column in self.columns

    def texts(self, column: str) -> Texts:
        """The cells of a column; None where the cell is missing."""
        self._need(column)
        return tuple(self.frame[column].to_list())

    def whole(self, column: str) -> NDArray[np.int64]:
        """A column of whole numbers."""
        numbers = []
        for place, cell in enumerate(self.texts(column)):
            if cell is None:
                raise self.problem(column, place, "nothing, but a whole number is needed")
            try:
                numbers.append(np.int64(int(float(cell))))
            except (ValueError, OverflowError):
                raise self.problem(column, place, f"{_short(cell)} is not a number") from None
        return np.array(numbers, dtype=np.int64)

    def boxes(self, column: str) -> NDArray[np.float64]:
        """(rows, 4): a column of boxes, left, top, width, height."""
        self._need(column)
        lists = self.frame[column]
        if not lists.null_count() and (lists.list.len() == 4).all():
            table = lists.explode().to_numpy().reshape(-1, 4)
            if np.isfinite(table).all() and (table[:, 2:] >= 0).all():
                return np.asarray(table, dtype=np.float64)
        place, box = next(
            (place, box)
            for place, box in enumerate(lists.to_list())
            if box is None
            or len(box) != 4
            or not np.isfinite(np.array(box, dtype=np.float64)).all()
            or min(box[2:]) < 0
        )
        needed = "but four numbers are needed: x, y, width, height (0 or more)"
        raise self.problem(column, place, f"{_short(box)}, {needed}")

    def segments(self) -> tuple[tuple[Segment, ...], ...]:
        """The polygons of every row."""
        self._need(_SHAPES)
        rows = []
        columns = (self.frame[name].to_list() for name in (_CLASSES, _LENGTHS))
        for names, lengths, points in zip(*columns, self.frame[_OUTLINES], strict=True):
            rows.append(row_segments(names or [], lengths or [], _NO_POINTS if points is None else points.to_numpy()))
        return tuple(rows)

    def keypoints(self) -> tuple[Mapping[str, tuple[float, float, float]], ...]:
        """The annotated keypoints of every row by plain name: x, y, visibility."""
        self._need(_POINTS)
        rows = []
        for names, values in zip(*(self.frame[name].to_list() for name in (_POINT_NAMES, _POINT_VALUES)), strict=True):
            rows.append(row_keypoints(names or [], values or []))
        return tuple(rows)

    def take(self, index: Array) -> AnnotationTable:
        """The rows at these positions, in that order."""
        return replace(self, frame=self.frame[np.asarray(index).tolist()], numbers=self.numbers[index])

    def problem(self, column: str, place: int, what: str) -> DataError:
        """An error that names the row at a place, its image and the cell."""
        image = self.frame["filepath"][place]
        shown = f" ({image})" if image else ""
        return DataError(f"{self.path}, row {int(self.numbers[place])}{shown}, column {column!r}: {what}.")

    def _need(self, column: str) -> None:
        if column not in self.columns:
            raise DataError(
                f"{self.path} has no column {column!r}. It has: {shown_names(sorted(self.columns))}. "
                "Is it the table of the right data set?"
            )


def row_segments(names: Sequence[str], lengths: Sequence[int], points: NDArray[np.int32]) -> tuple[Segment, ...]:
    """The polygons of a row from what `cells.segments` reads in its cell."""
    pieces = np.split(points.reshape(-1, 2), np.cumsum(lengths)[:-1]) if len(lengths) else []
    return tuple(Segment(name, piece) for name, piece in zip(names, pieces, strict=True))


def row_keypoints(names: Sequence[str], values: Sequence[float]) -> dict[str, tuple[float, float, float]]:
    """The keypoints of a row by name from what `cells.keypoints` reads in its cell: x, y, visibility."""
    return dict(zip(names, zip(*(iter(values),) * 3, strict=True), strict=True))


def table_path(root: Path, name: str) -> Path:
    """Where a table lies below the data root."""
    return root / "data" / "processed" / name / f"{name}.csv"


def read_table(root: Path, name: str, columns: Sequence[str], cache: Path | None = None) -> AnnotationTable:
    """The columns of a table that a task needs; columns that the file lacks are left out.

    `columns` may name columns that are not there: the caller decides whether that is an error.
    """
    path = table_path(Path(root), name)
    if not path.is_file():
        raise DataError(
            f"{path} does not exist. The data folder is the one that holds `data/processed/{name}/{name}.csv`."
        )
    fact = inputs.hash_of(path)
    if fact.size == 0:
        raise DataError(f"{path} is empty (0 bytes).")
    wanted = tuple(dict.fromkeys((*NEEDED, "image_id", "subject_id", *columns)))
    frame = _columns(path, fact, cache, wanted)
    lacking = [column for column in NEEDED if column not in frame.columns]
    if lacking:
        raise DataError(f"{path} lacks the columns {', '.join(lacking)}, which every task needs.")
    table = AnnotationTable(Path(root), path, frame, np.arange(frame.height), fact)
    if not len(table):
        raise DataError(f"{path} has a header but no rows.")
    for place, image in enumerate(table.texts("filepath")):
        if image is None:
            raise table.problem("filepath", place, "nothing, but every row needs an image")
    return table


def mini_rows(rows: int, size: int) -> NDArray[np.int64]:
    """The rows of the mini data set, in evaluation order.

    Rows, not images, are drawn, so a two-subject image may keep one subject. 0 means 50.

    >>> mini_rows(60, 10).tolist()
    [0, 5, 36, 45, 13, 54, 33, 48, 12, 57]
    """
    size = size or MINI_ROWS
    if size < 0:
        raise OptionError(f"mini={size}: a mini data set has one row or more; 0 means {MINI_ROWS}.")
    if size > rows:
        raise OptionError(f"A mini data set of {size} rows was asked for, but the table has {rows}.")
    # The published draw is the legacy generator's permutation with this seed, and numbers depend on it.
    return np.random.RandomState(MINI_SEED).permutation(rows)[:size]


def _columns(path: Path, fact: InputFact, cache: Path | None, wanted: Sequence[str]) -> Any:
    """The wanted columns; with a cache what was parsed before is read from there, and the rest is parsed and kept.

    Plain cells are one file and every parsed column is another, so a task that needs no polygons parses none.
    """
    folder = None if cache is None else cache / CACHE / f"{fact.hash[:20]}-{_FORMAT}"
    raw = None

    def frame_of(name: str, make: Callable[[Any], Any]) -> Any:
        nonlocal raw
        cached = None if folder is None else folder / f"{name}.parquet"
        if cached is not None and cached.is_file():
            with suppress(DataError):  # a damaged one is made again
                return read_parquet(cached, DataError)
        raw = _read_csv(path) if raw is None else raw
        frame = make(raw)
        if cached is not None:
            with open_file(cached, "wb", flush=False) as file:
                frame.write_parquet(file)
        return frame

    def parsed(name: str, table: Any) -> Any:
        return pl.DataFrame(_PARSED[name](name, path, table))

    plain = frame_of("cells", lambda table: table.drop([name for name in _PARSED if name in table.columns]))
    there = raw.columns if raw is not None else read_header(path).names
    frames = [plain.select([name for name in wanted if name in plain.columns])]
    frames += [frame_of(name, partial(parsed, name)) for name in _PARSED if name in wanted and name in there]
    return pl.concat(frames, how="horizontal")


def _read_csv(path: Path) -> Any:
    """All cells as text; missing ones are null."""
    frame = read_delimited(path).frame
    return frame.with_columns(pl.when(~pl.all().is_in(_MISSING)).then(pl.all()))


_NUMBER = r"\s*-?\d{1,15}(\.\d{1,17})?\s*"
_PLAIN_NUMBERS = rf"^\[{_NUMBER}(,{_NUMBER})*\]$"
"""A list of numbers that JSON and Python write alike."""


def _box_column(column: str, path: Path, raw: Any) -> list[Any]:
    texts = raw[column]
    if texts.str.contains(_PLAIN_NUMBERS).all():  # nearly always, and then as one column; a missing cell stays missing
        with suppress(pl.exceptions.PolarsError):  # such as a number with two points: said with row and image below
            return [texts.str.json_decode(pl.List(pl.Float64)).alias(column)]
    return [pl.Series(column, _literals(path, raw, column, cells.numbers), dtype=pl.List(pl.Float64))]


def _list_columns(
    read: Callable[[str], Any], kinds: Mapping[str, str], nothing: Sequence[Any], column: str, path: Path, raw: Any
) -> list[Any]:
    """A column of lists for each part of what `read` finds in a cell; `nothing` is what a missing cell holds."""
    rows = [row or nothing for row in _literals(path, raw, column, read)]
    return [
        pl.Series(name, [row[place] for row in rows], dtype=pl.List(getattr(pl, kind)))
        for place, (name, kind) in enumerate(kinds.items())
    ]


_PARSED: Mapping[str, Callable[[str, Path, Any], list[Any]]] = {
    "person_bbox": _box_column,
    "face_bbox": _box_column,
    _SHAPES: partial(
        _list_columns,
        cells.segments,
        {_CLASSES: "String", _LENGTHS: "Int64", _OUTLINES: "Int32"},
        (None, None, _NO_POINTS),
    ),
    _POINTS: partial(_list_columns, cells.keypoints, {_POINT_NAMES: "String", _POINT_VALUES: "Float64"}, (None, None)),
}


def _literals(path: Path, frame: Any, column: str, read: Any) -> list[Any]:
    images = frame["filepath"].to_list() if "filepath" in frame.columns else [None] * frame.height
    values = []
    for number, (cell, image) in enumerate(zip(frame[column].to_list(), images, strict=True)):
        try:
            values.append(None if cell is None else read(cell))
        except (cells.LiteralError, TypeError, KeyError, ValueError, OverflowError) as error:
            raise DataError(
                f"{path}, row {number} ({image}), column {column!r}: {_short(cell)} can't be used: {error}. "
                "Cells hold the text of a list or mapping; they are read as data and never run."
            ) from None
    return values


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:80] + "…"
