"""A table of a user: pandas, Polars, Arrow, a mapping of arrays, or a file; its columns by name.

Whatever the table is, a column becomes the same NumPy arrays: labels as codes into an ordered list of texts, numbers
in double precision, identifiers as whole numbers or texts. So the same values give the same results to the bit.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evenhand.benchmarks.table.options import limit_text
from evenhand.core.errors import DataError, InputError, OptionError, UnknownNameError
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files import inputs
from evenhand.files.columnar import native_panics_in_words, read_columnar
from evenhand.files.delimited import MOST_COLUMNS
from evenhand.files.delimited import read_table as read_delimited
from evenhand.files.text_files import MOST_CELLS

Problem = type[InputError]
TEXT_ENDINGS = (".csv", ".tsv", ".txt")
ENDINGS = (*TEXT_ENDINGS, ".jsonl", ".ndjson", ".parquet", ".arrow", ".feather", ".ipc")
LONGEST_NAME = 4096  # characters of an id, a class or a group
_DEEPEST_JSON = 8
_TRUE, _FALSE = ("true", "yes", "1", "1.0", "t", "y"), ("false", "no", "0", "0.0", "f", "n")


class LabelColumn(NamedTuple):
    """A column of labels: the index of each row's level, −1 where the value is missing."""

    codes: Array  # (rows,)
    levels: tuple[str, ...]


@dataclass(frozen=True)
class UserTable:
    """Named columns of equal length, from wherever they come."""

    columns: Mapping[str, Any]  # Polars series, or what `narwhals` reads
    rows: int
    where: str  # for messages: a path, or "the table"
    facts: tuple[InputFact, ...] = ()  # of the file, where it is in one
    problem: Problem = DataError
    is_text: bool = False  # every column is of texts, some of which are numbers
    _asked: dict[str, pl.Series] = field(default_factory=dict, repr=False, compare=False)
    _coded: dict[str, LabelColumn] = field(default_factory=dict, repr=False, compare=False)

    def series(self, name: str, role: str) -> pl.Series:
        """A column as a Polars series; raises with the nearest names."""
        if name not in self.columns:
            raise UnknownNameError("column", name, self.columns, f"It was named as {role} of {self.where}.")
        series = self._read(name)
        if _is_of_several_values(series) or series.dtype == pl.Duration:
            raise self.problem(
                f"The column {name!r} of {self.where}, named as {role}, holds {series.dtype} in its cells: expected "
                "one number or text in each."
            )
        return series

    def comparable(self, name: str) -> pl.Series:
        """A column of whatever kind as one whose rows can be compared: lists and objects as texts."""
        series = self._read(name)
        return pl.Series(name, list(map(repr, series.to_list()))) if _is_of_several_values(series) else series

    def _read(self, name: str) -> pl.Series:
        if name not in self._asked:
            series = _series(name, self.columns[name])
            self._asked[name] = _inferred(series) if self.is_text else series
        return self._asked[name]

    def labels(self, name: str, role: str, most: int | None = None) -> LabelColumn:
        """A column of classes or groups. Numbers keep their order, declared categories theirs, texts are sorted."""
        if name not in self._coded:
            self._coded[name] = self._labels(name, role)
        coded = self._coded[name]
        if most is not None and len(coded.levels) > most:
            many = len(coded.levels)
            raise OptionError(
                f"The column {name!r} of {self.where} has {many:,} different values, which would be {many:,} groups "
                f"and {many * (many - 1) // 2:,} pairs of them ({', '.join(coded.levels[:3])}, …). Group by a coarser "
                f"column, cut numbers at limits (bins={name}:30:60), or allow it with most_levels={many}."
            )
        return coded

    def binned(self, name: str, limits: Sequence[float]) -> LabelColumn:
        """A column of numbers in steps: each step begins with its limit and ends before the next."""
        numbers = self.numbers(name, "a column to group by")
        steps = [limit_text(limit) for limit in limits]
        inner = (f"{low} to under {high}" for low, high in pairwise(steps))
        codes = np.where(np.isnan(numbers), -1, np.searchsorted(np.asarray(limits), numbers, side="right"))
        return LabelColumn(codes, (f"under {steps[0]}", *inner, f"{steps[-1]} and over"))

    def _labels(self, name: str, role: str) -> LabelColumn:
        series = self.series(name, role)
        declared: list[str] | None = None
        if series.dtype == pl.Enum:
            categories = _texts(series.dtype.categories)  # type: ignore[attr-defined]  # an Enum has them
            declared = categories.drop_nulls().unique(maintain_order=True).to_list()
        texts = self._short_texts(series, name, role)
        if declared is None:
            declared = _in_order(texts.drop_nulls().unique())
        if not declared:
            return LabelColumn(np.full(self.rows, -1, dtype=np.int64), ())
        codes = texts.cast(pl.Enum(declared)).to_physical().cast(pl.Int64).fill_null(-1).to_numpy()
        return LabelColumn(np.ascontiguousarray(codes), tuple(declared))

    def _short_texts(self, series: pl.Series, name: str, role: str) -> pl.Series:
        """A column as texts; refuses a text so long that it is no name: every row would take its length in memory."""
        texts = _texts(series)
        lengths = texts.str.len_chars()
        longest = int(lengths.max() or 0)  # type: ignore[arg-type]  # a number, by the line above
        if longest > LONGEST_NAME:
            row = int((lengths == longest).arg_max() or 0)
            raise self.problem(
                f"{self.where}, row {row + 1}: {name!r}, named as {role}, is a text of {longest:,} characters "
                f"({texts[row][:40]!r}…); ids, classes and groups have at most {LONGEST_NAME:,}. Is the file damaged?"
            )
        return texts

    def numbers(self, name: str, role: str) -> Array:
        """A column of numbers, not a number where it is missing; refuses texts and infinities."""
        series = self.series(name, role)
        if series.dtype == pl.Boolean:
            series = series.cast(pl.Int8)
        if series.dtype.is_temporal():
            raise self.problem(
                f"The column {name!r} of {self.where}, named as {role}, holds dates or times ({series.dtype}) where "
                "numbers were expected. Name another column, or write a number for each."
            )
        if not series.dtype.is_numeric():
            values = series.cast(pl.Float64, strict=False)
            wrong = values.is_null() & series.is_not_null()
            if wrong.any():
                row = int(wrong.arg_max() or 0)
                raise self.problem(
                    f"{self.where}, row {row + 1}: {name!r} was named as {role}, but holds {str(series[row])!r} where "
                    f"a number was expected ({int(wrong.sum()):,} rows). Name another column, or mend it."
                )
            series = values
        numbers = series.cast(pl.Float64).fill_null(float("nan")).to_numpy()
        endless = np.flatnonzero(np.isinf(numbers))
        if len(endless):
            raise self.problem(
                f"{self.where}, row {endless[0] + 1}: {name!r}, named as {role}, is infinite ({len(endless):,} rows). "
                "Leave such values empty, or replace them."
            )
        return np.ascontiguousarray(numbers, dtype=np.float64)

    def truths(self, name: str, role: str) -> Array:
        """A column of yes and no as 1 and 0, −1 where it is missing."""
        coded = self.labels(name, role)
        known = {**dict.fromkeys(_TRUE, 1), **dict.fromkeys(_FALSE, 0)}
        unknown = [level for level in coded.levels if level.casefold() not in known]
        if unknown:
            raise self.problem(
                f"{self.where}: {name!r}, named as {role}, holds {unknown[0]!r}; true or false, 1 or 0 was expected."
            )
        values = np.array([known[level.casefold()] for level in coded.levels] + [-1])
        return np.asarray(values[coded.codes])

    def identifiers(self, name: str, role: str) -> tuple[Array, Array]:
        """A column of ids as whole numbers or texts, and which rows have none (they get `(row N)`)."""
        series = _whole_numbers(self.series(name, role))
        missing = np.asarray(series.is_null().to_numpy())
        if series.dtype.is_integer() and not missing.any():
            whole = series.cast(pl.Int64, strict=False)
            if not whole.null_count():  # else they are beyond 64 bits, as some hashes are, and stay texts
                return np.ascontiguousarray(whole.to_numpy()), missing
        texts = self._short_texts(series, name, role)
        names = np.array([f"(row {row + 1})" if text is None else text for row, text in enumerate(texts.to_list())])
        return names, missing


def from_frame(frame: Any) -> UserTable:
    """The table in a pandas, Polars or Arrow frame, or in a mapping of names to arrays."""
    if isinstance(frame, Mapping):
        odd = [str(name) for name, column in frame.items() if isinstance(column, str) or np.ndim(column) == 0]
        if odd:
            raise OptionError(f"The column {odd[0]!r} of the table is a single value: expected one value per row.")
        lengths = {str(name): len(column) for name, column in frame.items()}
        if len(set(lengths.values())) > 1:
            raise OptionError(f"The columns of the table have different lengths: {lengths}.")
        refuse_unlike_indexes(frame)
        return _checked({str(name): column for name, column in frame.items()}, max(lengths.values(), default=0))
    import narwhals as nw

    try:
        native: nw.DataFrame[Any] = nw.from_native(frame, eager_only=True)
    except nw.exceptions.DuplicateError as error:
        shown = " ".join(str(error).split())
        raise OptionError(f"Two columns of the table have the same name ({shown}). Rename one of them.") from None
    except TypeError:
        raise OptionError(
            f"A {type(frame).__name__} is no table: expected a pandas, Polars or Arrow frame, or a mapping of column "
            "names to arrays. A lazy frame must be collected first."
        ) from None
    names: list[Any] = list(native.columns)
    if any(isinstance(name, tuple) for name in names):
        raise OptionError(
            f"The columns of the table have names of several levels, such as {names[0]!r}. Give each one name: "
            "frame.columns = ['_'.join(map(str, name)) for name in frame.columns]."
        )
    if len(set(map(str, names))) < len(names):
        raise OptionError("Two columns of the table have the same name. Rename one of them.")
    return _checked({str(name): native.get_column(name) for name in names}, len(native))


def read_table(path: Path, problem: Problem = DataError) -> UserTable:
    """The table in a file: CSV, TSV (also compressed), JSON lines, Parquet or Arrow."""
    name = path.name.lower()
    plain = name.removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")
    if not plain.endswith(ENDINGS):
        raise problem(f"{path}: the name tells no kind of table. Expected one of {', '.join(ENDINGS)}.")
    is_text = plain.endswith(TEXT_ENDINGS)
    if is_text:
        delimited = read_delimited(path, problem=problem, separator=None)
        frame, fact = delimited.frame, delimited.fact
    else:
        source = inputs.read(path, problem)
        frame, fact = _parsed(source.data, plain, path, problem), source.fact
    if not len(frame):
        raise problem(f"{path} has no rows.")
    return UserTable(
        {column: frame[column] for column in frame.columns}, len(frame), str(path), (fact,), problem, is_text
    )


def content_fact(arrays: Mapping[str, Any]) -> InputFact:
    """What identifies a table that is in no file: a hash of the columns that are used."""
    size = 0

    def content() -> Iterator[bytes]:
        nonlocal size
        for name, values in sorted(arrays.items()):
            array = np.asarray(values)
            size += array.nbytes
            yield f"{name}\x00{array.dtype.str}\x00{array.shape}\x00".encode()
            yield np.ascontiguousarray(array).tobytes()

    digest = inputs.hash_of_blocks(content())
    return InputFact("table", size, digest)


def _checked(columns: Mapping[str, Any], rows: int) -> UserTable:
    if not columns or not rows:
        raise OptionError(f"The table is empty: {rows} rows, {len(columns)} columns.")
    return UserTable(columns, rows, "the table", problem=OptionError)


def refuse_unlike_indexes(columns: Mapping[Any, Any]) -> None:
    """Refuses pandas series of which rows of the same label stand at different places: they are taken by place."""
    if difference := unlike_indexes(columns):
        raise OptionError(
            f"{difference}, so it is unclear which rows belong together. Make one frame of them, which joins them by "
            "index, or, if the rows stand in the same order, give .to_numpy() of each."
        )


def unlike_indexes(columns: Mapping[Any, Any]) -> str:
    """The first two pandas series of equal length whose indexes differ, in words; empty when there are none.

    A series that is numbered from 0 is taken for one without an index of its own, unless its numbers are the labels of
    another series in another order.
    """
    labelled = {name: column for name, column in columns.items() if hasattr(getattr(column, "index", None), "equals")}
    counted = [name for name, column in labelled.items() if np.array_equal(column.index, np.arange(len(column)))]
    own = [name for name in labelled if name not in counted]
    for name, column in labelled.items():
        for other in own[:1] or counted[:1]:
            index = labelled[other].index
            if name == other or len(column.index) != len(index) or column.index.equals(index):
                continue
            if name not in counted or len(column.index.symmetric_difference(index)) == 0:
                row = int(np.argmax(np.asarray(column.index != index)))
                return (
                    f"The series {str(other)!r} and {str(name)!r} have different indexes (row {row + 1} is "
                    f"{index[row]} and {column.index[row]})"
                )
    return ""


def _series(name: str, column: Any) -> pl.Series:
    native = getattr(column, "to_native", lambda: column)()  # of a series of narwhals
    if isinstance(native, pl.Series):
        return native
    if hasattr(native, "cat"):  # of pandas, whose categories can be of any type
        return _of_categories(name, native)
    values: Any = native
    if native is not column:
        import narwhals as nw

        if column.dtype in (nw.Categorical, nw.Enum):
            column = column.cast(nw.String)
        values = column.to_numpy() if column.dtype.is_numeric() else column.to_list()
    if isinstance(values, np.ndarray):
        if values.dtype.kind in "biuf":
            return pl.Series(name, np.ascontiguousarray(values))
        if values.dtype.kind in "mM":  # whose `tolist` gives whole numbers where they are in nanoseconds
            return pl.Series(name, values.astype(f"{'datetime' if values.dtype.kind == 'M' else 'timedelta'}64[us]"))
        values = values.tolist()
    return pl.Series(name, [None if _is_missing(value) else value for value in values], strict=False)


def _of_categories(name: str, column: Any) -> pl.Series:
    """A categorical column of pandas as texts; declared in their order, where they have one."""
    categories = pl.Series(column.cat.categories.tolist(), strict=False)
    if categories.dtype.is_nested() or categories.dtype == pl.Object:  # such as the intervals of pandas.cut
        categories = pl.Series(list(map(str, column.cat.categories)))
    texts = _texts(categories).to_list()
    series = pl.Series(name, [None if code < 0 else texts[code] for code in column.cat.codes], dtype=pl.String)
    ordered = list(dict.fromkeys(text for text in texts if text is not None))
    return series.cast(pl.Enum(ordered)) if column.cat.ordered else series


def _is_of_several_values(series: pl.Series) -> bool:
    """Whether the cells of a column are lists, structures or objects."""
    return bool(series.dtype.is_nested()) or series.dtype == pl.Object


def _is_missing(value: Any) -> bool:
    return (
        value is None or (isinstance(value, float) and value != value) or type(value).__name__ in ("NAType", "NaTType")
    )


def _texts(series: pl.Series) -> pl.Series:
    """The values as texts: whole numbers without a fraction, no blanks at the ends, an empty text as missing."""
    if series.dtype.is_decimal():
        series = _plain_decimals(series)
    if series.dtype.is_float():
        series = _whole_numbers(series.fill_nan(None))
    if series.dtype == pl.Boolean:
        series = series.cast(pl.Int8)
    if series.dtype.is_temporal():
        return _short_times(series.cast(pl.String))
    texts = series.cast(pl.String)
    if bool(texts.str.contains(r"^\s|\s$").any()):  # stripping copies them all
        texts = texts.str.strip_chars()
    return texts.set(texts == "", None) if bool((texts == "").any()) else texts


def _in_order(levels: pl.Series) -> list[str]:
    """Numbers in their order, where all levels are; equal doubles, and texts, in that of texts."""
    levels = levels.sort()
    order = levels.cast(pl.Float64, strict=False)
    numeric = len(levels) > 0 and order.null_count() == 0
    frame = pl.DataFrame({"level": levels, "order": order})
    return (frame.sort("order", maintain_order=True) if numeric else frame)["level"].to_list()


def _short_times(texts: pl.Series) -> pl.Series:
    """Dates and times without the fractions of seconds, or the time of day, that are 0 in all of them."""
    for zeros, rest in ((r"\.0+($|\D)", "${1}"), (r" 00:00:00$", "")):
        if bool(texts.drop_nulls().str.contains(zeros).all()):
            texts = texts.str.replace(zeros, rest)
    return texts


def _whole_numbers(series: pl.Series) -> pl.Series:
    """Numbers with fractions as whole ones, where all that are there are whole; any other column as it is.

    Decimals are compared as they are: doubles of 2**60 and 2**60 + 1, ids of two people, are equal.
    """
    if not series.dtype.is_float() and not series.dtype.is_decimal():
        return series
    filled = series.fill_nan(None) if series.dtype.is_float() else series
    whole = filled.cast(pl.Int64, strict=False)
    is_whole = whole.null_count() == filled.null_count() and bool((whole == filled).all())
    return whole if is_whole else series


def _plain_decimals(series: pl.Series) -> pl.Series:
    """Decimals as whole numbers or doubles, which are written alike in any table; where that loses digits, as texts."""
    whole = _whole_numbers(series)
    if whole.dtype.is_integer():
        return whole
    doubles = series.cast(pl.Float64)
    back = doubles.cast(series.dtype, strict=False)
    if back.null_count() == series.null_count() and bool((back == series).all()):
        return doubles
    return series.cast(pl.String).str.replace(r"\.0+$", "")


def _inferred(texts: pl.Series) -> pl.Series:
    """A column of texts as numbers, where all of them are; empty cells are missing.

    Ids such as 007 stay texts: as numbers they would be those of 7. So do ids of 400 digits, which would be infinite.
    """
    texts = texts.cast(pl.String).str.strip_chars()
    texts = texts.set(texts == "", None)
    if texts.str.contains(r"^[+-]?0\d").any():
        return texts
    for kind in (pl.Int64, pl.Float64):
        numbers = texts.cast(kind, strict=False)
        if numbers.null_count() == texts.null_count() and numbers.null_count() < len(texts):
            beyond = numbers.is_infinite() & texts.str.contains(r"\d")  # more digits than a number has
            return texts if bool(beyond.any()) else numbers
    return texts


def _parsed(data: bytes, name: str, path: Path, problem: Problem) -> pl.DataFrame:
    if name.endswith((".jsonl", ".ndjson")):
        _check_json_lines(data, path, problem)
        with native_panics_in_words(path, problem, "JSON lines"):
            return pl.read_ndjson(io.BytesIO(data))
    frame: pl.DataFrame = read_columnar(data, path, problem, is_parquet=name.endswith(".parquet"))
    return frame


def _check_json_lines(data: bytes, path: Path, problem: Problem) -> None:
    """Refuses what Polars would take memory without end for: very many names, also in few lines, and deep nesting."""
    names = {name for line in data.split(b"\n", 100)[:100] for name in re.findall(rb'"([^"]*)"\s*:', line)}
    lines = data.count(b"\n")
    if len(names) > MOST_COLUMNS or len(names) * lines > max(MOST_CELLS, 2 * len(data)):
        raise problem(
            f"{path}: {len(names):,} different names in its first 100 lines, nested ones too, and {lines:,} lines; "
            "is it a table? Write only the names that are used, or raise the limit (the environment variable "
            "EVENHAND_MOST_CELLS)."
        )
    for number, line in enumerate(io.BytesIO(data), 1):
        if line.count(b"{") + line.count(b"[") > _DEEPEST_JSON and _is_deep(line):
            raise problem(f"{path}, line {number}: a value is nested more than {_DEEPEST_JSON} deep.")


def _is_deep(line: bytes) -> bool:
    try:
        level = [msgspec.json.decode(line)]
    except RecursionError:
        return True
    except msgspec.DecodeError:
        return False  # Polars says what is wrong with it
    for _ in range(_DEEPEST_JSON + 1):
        containers = [value for value in level if isinstance(value, dict | list)]
        level = [item for value in containers for item in (value.values() if isinstance(value, dict) else value)]
    return bool(level)
