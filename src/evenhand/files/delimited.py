"""Delimited text: the one reader of comma-, semicolon- and tab-separated tables.

A whole table::

    table = read_table(path, {"FILE": CellKind.TEXT, "FACE_X": CellKind.NUMBER}, DataError)
    table.frame["FACE_X"], table.lines, table.fact

Columns are found by name; their order is free, and further ones are ignored. `read_table(path)` without kinds reads
every column as text (`CellKind.CELL`). A table larger than memory is read block by block::

    reader = BlockReader(path, PredictionError)
    for first_line, body in reader.blocks():
        block = parse(body, reader.header, kinds, first_line)
        raise_first(block.issues, path, PredictionError)

What is accepted: UTF-8 with or without byte-order mark; lines that end in LF, CRLF or CR, the last one perhaps in
nothing; quoted fields, in whole tables also with line breaks inside; blank lines, which are skipped; files compressed
by gzip, bzip2 or xz, whatever their name. What is not accepted is an error that names file, line and column.
The work is linear in the size of the file, whatever its shape: a header of more than `LONGEST_HEADER` bytes or
`MOST_COLUMNS` names, a line of more than `LONGEST_LINE` bytes, and a compressed file that expands beyond all measure
are refused as soon as they are seen.

A block of lines is read by Polars first. Only where something in it is unusual (a field that is missing, empty or not a
number, a quote in the middle of one) is it read again record by record, which either finds nothing wrong or names every
problem with its line.
"""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import DataError, InputError
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.inputs import Problem, decode
from evenhand.files.text_files import SEPARATORS, text_file

BLOCK_BYTES = 20 << 20  # larger ones are mapped anew by the allocator each time, which costs a third of the work
LONGEST_HEADER = 4 << 20
LONGEST_LINE = 64 << 20
MOST_COLUMNS = 50_000
MOST_ISSUES = 100_000  # that are listed of a run of lines
_LONG_LINE = 1 << 16
_CELLS_AT_ONCE = 3_000_000  # that are held as Python's texts
_LARGEST_SCAN = 256 << 20  # bytes that `_record_starts` looks at; it takes five times as much memory


class CellKind(Enum):
    """What a column holds. Blanks around numbers do not matter; around text they are kept."""

    TEXT = "text"  # never empty
    CELL = "text or nothing"
    NUMBER = "number"  # finite
    INTEGER = "whole number"  # of 64 bits

    @property
    def dtype(self) -> type[pl.DataType]:
        """Its type in a frame."""
        return {CellKind.NUMBER: pl.Float64, CellKind.INTEGER: pl.Int64}.get(self, pl.String)


class Issue(NamedTuple):
    """Something wrong in a line of a file."""

    line: int  # the first line of a file is 1
    message: str


class RowBlock(NamedTuple):
    """The rows of a run of lines that could be read, and what was wrong with the others."""

    frame: pl.DataFrame  # the wanted columns
    lines: Array  # (rows,): the line of each, the first one where a row has several
    issues: tuple[Issue, ...]


@dataclass(frozen=True)
class Header:
    """The names of all columns, what is wrong with them, and what separates fields."""

    names: tuple[str, ...]
    issues: tuple[Issue, ...] = ()
    separator: str = ","

    @cached_property
    def places(self) -> Mapping[str, int]:
        """Where each column is; of one that occurs twice, the first."""
        return {name: place for place, name in reversed(list(enumerate(self.names)))}

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names, each once: a repeated one has its place behind it."""
        return tuple(
            name if self.places[name] == place else f"{name}\0{place}" for place, name in enumerate(self.names)
        )


@dataclass(frozen=True)
class DelimitedTable:
    """The wanted columns of a whole file."""

    path: Path
    header: Header
    frame: pl.DataFrame
    lines: Array  # (rows,): the line of each row in the file
    fact: InputFact

    def __len__(self) -> int:
        return self.frame.height


def read_table(
    path: Path,
    wanted: Mapping[str, CellKind] | None = None,
    problem: Problem = DataError,
    *,
    optional: Mapping[str, CellKind] | None = None,
    other: CellKind | None = None,
    separator: str | None = ",",
    plain: Callable[[str], CellKind | None] | None = None,
) -> DelimitedTable:
    """The wanted columns of a file, and of the optional ones those that it has; without `wanted`, all as text.

    With `other`, all further columns that have a name are of that kind, and are read too.
    Raises `problem` when the file can't be read, a wanted column is missing, or a line is wrong; the first wrong line
    is named, with the number of others. With `separator=None` the one that is most frequent in the header is taken.
    `plain` gives kinds of columns, None for those that are not needed, that are tried first: they do where every line
    is as they say.
    """
    path = Path(path)
    with text_file(path, problem) as source:
        data, fact = source.read_all(), source.fact()
    if not data or data.isspace():
        size = "0 bytes" if not fact.size else "blank lines only"
        raise problem(f"{path} is empty ({size}). Was the program that wrote it stopped? Write it again.")
    first, _, body = _unix_lines(data).partition(b"\n")
    del data  # a copy of the whole file
    header = header_of(first, path, problem, separator=separator)
    if plain is not None and not header.issues:
        expected = {name: kind for name in header.names if (kind := plain(name)) is not None}
        block = _by_polars(body, header, expected, 2)
        if block is not None:
            return DelimitedTable(path, header, block.frame, block.lines, fact)
    kinds = dict.fromkeys(header.names, CellKind.CELL) if wanted is None else dict(wanted)
    raise_missing(header, tuple(kinds), path, problem)
    kinds |= {name: kind for name, kind in (optional or {}).items() if name in header.places}
    if other is not None:
        kinds |= {name: other for name in header.names if name and name not in kinds}
    block = parse(body, header, kinds, 2)
    raise_first((*header.issues, *block.issues), path, problem)
    return DelimitedTable(path, header, block.frame, block.lines, fact)


def read_records(
    path: Path, problem: Problem = DataError, *, separator: str = ","
) -> tuple[list[tuple[int, list[str]]], InputFact]:
    """Every record that is not blank, (line, fields), as it is: for formats that are lenient about their columns."""
    path = Path(path)
    with text_file(path, problem) as source:
        data, fact = source.read_all(), source.fact()
    header_of(data.partition(b"\n")[0], path, problem, separator=separator)  # for its limits
    issues: list[Issue] = []
    records = list(_records(decode(data, path, problem), separator, 1, issues))
    raise_first(issues, path, problem)
    return records, fact


def read_header(path: Path, problem: Problem = DataError, *, separator: str | None = ",") -> Header:
    """The header alone."""
    with text_file(Path(path), problem) as source:
        first, _, _ = bytes(source.fetch(LONGEST_HEADER + 1)).partition(b"\n")
        return header_of(first, Path(path), problem, separator=separator)


def header_of(line: bytes, path: Path, problem: Problem, *, separator: str | None = ",") -> Header:
    """The column names of a header line."""
    if len(line) > LONGEST_HEADER:
        raise _too_long(path, 1, LONGEST_HEADER, problem)
    text = decode(line, path, problem).strip("\n")
    separator = separator or max(SEPARATORS, key=text.count)
    issues: list[Issue] = []
    fields = next((fields for _, fields in _records(text, separator, 1, issues)), [])
    raise_first(issues, path, problem)
    if len(fields) > MOST_COLUMNS:
        raise problem(f"{path}, line 1: {len(fields)} columns; a table may have {MOST_COLUMNS}. Is it the right file?")
    names = tuple(name.strip() for name in fields)
    repeated = sorted(name for name, count in Counter(names).items() if count > 1)
    twice = tuple(Issue(1, f"the column {_short(name)} occurs more than once") for name in repeated)
    return Header(names, twice, separator)


def _too_long(path: Path, line: int, most: int, problem: Problem) -> InputError:
    what = "the line of column names" if line == 1 else "a line"
    return problem(
        f"{path}, line {line}: no line end within {most >> 20} MiB, the most that {what} may have. "
        "Is it a table, and the right file?"
    )


def missing_columns(header: Header, wanted: Sequence[str]) -> tuple[str, ...]:
    """The wanted columns that the header lacks, in their order."""
    return tuple(name for name in wanted if name not in header.places)


def raise_missing(header: Header, wanted: Sequence[str], path: Path, problem: Problem) -> None:
    """Raise `problem` when wanted columns are missing, naming all of them."""
    lacking = missing_columns(header, wanted)
    if not lacking:
        return
    other = max(SEPARATORS, key=",".join(header.names).count) if len(header.names) == 1 else header.separator
    advice = f" Fields seem to be separated by {other!r}; {header.separator!r} is expected." * (
        other != header.separator and other in header.names[0]
    )
    raise problem(
        f"{path}, line 1: no column {', '.join(lacking)}. The header has: {shown_names(header.names)}.{advice}"
    )


def shown_names(names: Iterable[str]) -> str:
    """The first names of columns, for messages: a header may be a megabyte of something else.

    >>> shown_names(["a", "b" * 50])
    'a, bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…'
    """
    first = list(islice(names, 21))
    shown = ", ".join(name if len(name) <= 40 else name[:37] + "…" for name in first[:20])
    return shown + (", …" if len(first) > 20 else "")


def raise_first(issues: Sequence[Issue], path: Path, problem: Problem) -> None:
    """Raise `problem` for the first issue, with the number of the others."""
    if not issues:
        return
    others = len(issues) - 1
    count = f"{others} more" if others < MOST_ISSUES else f"{others} or more others"
    more = f" ({count}; `evenhand check` lists them all.)" if others else ""
    raise problem(f"{path}, line {issues[0].line}: {issues[0].message}.{more}")


def parse(body: bytes, header: Header, wanted: Mapping[str, CellKind], first_line: int) -> RowBlock:
    """The wanted columns of a run of whole lines; those that the header lacks are left out."""
    body = _unix_lines(body)
    chosen = {name: kind for name, kind in wanted.items() if name in header.places}
    return _by_polars(body, header, chosen, first_line) or _by_record(body, header, chosen, first_line)


class BlockReader:
    """A large table, read block by block and hashed on the way.

    The next block is fetched, expanded and hashed while the last one is being worked on. Records are lines here: a
    quoted field with a line break is reported as one that can't be read.
    """

    def __init__(self, path: Path, problem: Problem, *, separator: str | None = ",") -> None:
        self.path, self._problem, self._separator = Path(path), problem, separator
        self.header = Header(())
        self.ends_with_line_feed = True
        self._fact: InputFact | None = None

    @property
    def fact(self) -> InputFact:
        """What the file was, once all blocks were read."""
        assert self._fact is not None, "the file was not read to its end"
        return self._fact

    def blocks(self, size: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(number of the first line, whole lines) of every block after the header."""
        size = BLOCK_BYTES if size is None else size
        with text_file(self.path, self._problem) as source, ThreadPoolExecutor(1) as fetcher:
            rest: list[bytes | bytearray] = []  # of a line that has not ended; joined once, in linear time
            held, line = 0, 1
            waiting = fetcher.submit(source.fetch, size)
            while fetched := waiting.result():
                waiting = fetcher.submit(source.fetch, size)
                begun, cut = 0, fetched.rfind(b"\n") + 1
                if not cut:
                    rest.append(fetched)
                    held += len(fetched)
                    most = LONGEST_HEADER if line == 1 else LONGEST_LINE
                    if held > most:
                        raise _too_long(self.path, line, most, self._problem)
                    continue
                if line == 1:
                    begun = fetched.find(b"\n") + 1
                    self.header, line, rest = self._header(b"".join([*rest, fetched[: begun - 1]])), 2, []
                body = b"".join([*rest, memoryview(fetched)[begun:cut]])
                rest, held = [fetched[cut:]], len(fetched) - cut
                if body:
                    yield line, body
                    line += body.count(b"\n")
            self._fact = source.fact()
            end = b"".join(rest)
            if line == 1:
                if not end.strip():
                    raise self._problem(
                        f"{self.path} is empty ({self._fact.size} bytes). "
                        "Was the program that wrote it stopped? Write it again."
                    )
                self.header = self._header(end)
            elif end.strip():
                self.ends_with_line_feed = False
                yield line, end

    def _header(self, line: bytes) -> Header:
        return header_of(line, self.path, self._problem, separator=self._separator)


def _unix_lines(data: bytes) -> bytes:
    return data.replace(b"\r\n", b"\n").replace(b"\r", b"\n") if b"\r" in data else data


def _by_polars(body: bytes, header: Header, chosen: Mapping[str, CellKind], first_line: int) -> RowBlock | None:
    """The wanted columns, or None when anything in the block is not as it should be."""
    if not body or body.isspace():
        empty_frame = pl.DataFrame({name: pl.Series([], dtype=kind.dtype) for name, kind in chosen.items()})
        return RowBlock(empty_frame, np.arange(0), ())
    body = body if body.endswith(b"\n") and not body.endswith(b"\n\n") else body.rstrip(b"\n") + b"\n"
    labels, separator, quoted, starts = header.labels, header.separator.encode(), b'"' in body, None
    if quoted and (body.count(b'"') % 2 or body[-3:-1] in (separator + b'"', b'\n"')):  # Polars may panic
        return None
    if len(labels) > 1 and not quoted and (b"\n\n" in body or body.startswith(b"\n")):
        starts = _record_starts(body, header)
        if starts is None:
            return None
        is_end = np.frombuffer(b"\n" + body, np.uint8) == ord("\n")
        body = np.frombuffer(body, np.uint8)[~(is_end[:-1] & is_end[1:])].tobytes()
    lines = body.count(b"\n")
    # Polars accepts no line that is too long, but takes its time; where a column is left out, it does accept them. A
    # line that is too short lacks its last field: where that may be empty, separators are counted.
    if len(chosen) < len(labels) or len(labels) == 1:
        if quoted:
            starts = _record_starts(body, header)
        if starts is None and (quoted or not _has_width(body, separator, len(labels), lines)):
            return None
    elif (
        not quoted
        and (chosen[labels[-1]] is CellKind.CELL or len(body) > lines * _LONG_LINE)
        and body.count(separator) != (len(labels) - 1) * lines
    ):
        return None
    needed = set(chosen) or {labels[-1]}
    try:
        frame = pl.read_csv(
            io.BytesIO(body),
            has_header=False,
            separator=header.separator,
            schema={label: chosen[label].dtype if label in chosen else pl.String for label in labels},
            columns=None if len(needed) == len(labels) else [n for n, label in enumerate(labels) if label in needed],
            quote_char='"' if quoted else None,
        )
    except (pl.exceptions.PolarsError, ValueError):
        return None
    if starts is None and len(frame) != lines:  # line breaks in fields
        starts = _record_starts(body, header)
        if starts is None:
            return None
    if starts is not None and len(starts) != len(frame):
        return None
    empty = {name for name, count in zip(frame.columns, frame.null_count().row(0), strict=True) if count}
    if labels[-1] in empty and ((quoted and starts is None) or len(labels) == 1):
        return None
    of_kind = {kind: [name for name in chosen if chosen[name] is kind] for kind in CellKind}
    if not empty.isdisjoint(set(chosen) - set(of_kind[CellKind.CELL])):
        return None
    texts = frame.select(of_kind[CellKind.TEXT] if len(labels) > 1 else pl.col(pl.String))  # a blank line is no row
    perhaps_blank = (column.filter(~column.is_between("!", "\x7f")) for column in texts)  # by the first character
    if any((column.str.strip_chars_start() == "").any() for column in perhaps_blank):
        return None
    numbers = of_kind[CellKind.NUMBER]
    if numbers and not np.isfinite(frame.select(pl.col(numbers).sum()).row(0)).all():
        return None
    places = np.arange(len(frame)) if starts is None else starts
    frame = frame if frame.columns == list(chosen) else frame.select(list(chosen))
    cells = [name for name in of_kind[CellKind.CELL] if name in empty]
    frame = frame.with_columns(pl.col(cells).fill_null("")) if cells else frame
    return RowBlock(frame, first_line + places, ())


def _has_width(body: bytes, separator: bytes, width: int, lines: int) -> bool:
    """Whether every line of a block without quotes has so many fields."""
    if body.count(separator) != (width - 1) * lines:  # lest the pattern below be larger than the block
        return False
    others = bytes(set(range(256)) - {*separator, ord("\n")})
    return body.translate(None, others) == (separator * (width - 1) + b"\n") * lines


def _record_starts(body: bytes, header: Header) -> Array | None:
    """(records,): the line on which each record begins, from 0 on, without blank lines.

    None where fields are too many or too few, quotes stand anywhere but at both ends of a field or doubled inside, or
    the block is too large.
    """
    if len(body) > _LARGEST_SCAN:
        return None
    text = np.frombuffer(b"\n" + body, np.uint8)
    is_quote = text == ord('"')
    is_outside = np.cumsum(is_quote, dtype=np.uint8) % 2 == 0
    quotes, line_ends = np.flatnonzero(is_quote), np.flatnonzero(text == ord("\n"))
    starts = np.flatnonzero(is_outside[line_ends])  # lines that begin a record; the last one is the end
    is_edge = np.isin(np.arange(256), list(f'{header.separator}"\n'.encode()))
    if len(quotes) % 2 or not is_edge[text[quotes[::2] - 1]].all() or not is_edge[text[quotes[1::2] + 1]].all():
        return None
    is_filled = np.diff(line_ends[starts]) > 1
    width, ends = len(header.names), line_ends[starts[1:][is_filled]]
    is_mark = (text == ord(header.separator)) & is_outside
    is_mark[ends] = True
    marks = text[is_mark]
    if len(marks) != width * len(ends) or (marks[width - 1 :: width] != ord("\n")).any():
        return None
    return starts[:-1][is_filled]


def _by_record(body: bytes, header: Header, chosen: Mapping[str, CellKind], first_line: int) -> RowBlock:
    """The wanted columns record by record, with everything that is wrong."""
    width = len(header.names)
    places = [header.places[name] for name in chosen]
    takes_all = places == list(range(width))
    at_once = min(_CELLS_AT_ONCE // max(len(places), 1) + 1, 20_000)
    issues: list[Issue] = []
    frames, lines = [], []
    rows: list[list[str]] = []
    numbers: list[int] = []
    text = body.decode("utf-8", errors="replace")
    is_utf8 = "\ufffd" not in text
    last_line = first_line + text.count("\n") - text.endswith("\n")

    def store() -> None:
        frame, kept = _frame_of(rows, numbers, chosen, is_utf8, issues)
        frames.append(frame)
        lines.append(kept)
        rows.clear()
        numbers.clear()

    for number, fields in _records(text, header.separator, first_line, issues):
        if len(fields) == width:
            rows.append(fields if takes_all else [fields[place] for place in places])
            numbers.append(number)
        else:
            cut = "; the file looks cut off here" if number == last_line and not text.endswith("\n") else ""
            issues.append(Issue(number, f"{len(fields)} fields, but the header has {width} columns{cut}"))
        if len(rows) == at_once:
            store()
        if len(issues) > MOST_ISSUES:
            break
    store()
    issues.sort(key=lambda issue: issue.line)
    return RowBlock(pl.concat(frames), np.concatenate(lines), tuple(issues))


def _frame_of(
    rows: Sequence[Sequence[str]],
    numbers: Sequence[int],
    chosen: Mapping[str, CellKind],
    is_utf8: bool,
    issues: list[Issue],
) -> tuple[pl.DataFrame, Array]:
    """The rows in which nothing is wrong, and their lines; what is wrong with others is added to the issues."""
    columns: dict[str, pl.Series] = {}
    right = np.ones(len(rows), dtype=np.bool_)
    by_column = zip(*rows, strict=True) if rows else [()] * len(chosen)
    for (name, kind), texts in zip(chosen.items(), by_column, strict=True):
        series = _usual(texts, kind, is_utf8)
        if series is None:
            values = [_value(text, kind) for text in texts]
            series = pl.Series([value for value, _ in values], dtype=kind.dtype)
            for at, (_, message) in enumerate(values):
                if message:
                    right[at] = False
                    issues.append(Issue(numbers[at], f"{name} {message}"))
        columns[name] = series
    frame = pl.DataFrame(columns)
    return frame if right.all() else frame.filter(pl.Series(right)), np.array(numbers, dtype=np.int64)[right]


def _usual(texts: Sequence[str], kind: CellKind, is_utf8: bool) -> pl.Series | None:
    """The values of a column, or None where a text must be looked at by itself."""
    if kind in (CellKind.TEXT, CellKind.CELL):
        return (
            pl.Series(texts, dtype=pl.String)
            if is_utf8 and (kind is CellKind.CELL or all(map(str.strip, texts)))
            else None
        )
    values = pl.Series(texts, dtype=pl.String).str.strip_chars().cast(kind.dtype, strict=False)
    return values if values.is_finite().all() and not values.has_nulls() else None


_LINE = re.compile(r"[^\n]*\n|[^\n]+")


def _records(text: str, separator: str, first_line: int, issues: list[Issue]) -> Iterator[tuple[int, list[str]]]:
    """(line, fields) of every record that is not blank."""
    lines = (match[0] for match in _LINE.finditer(text))  # one by one: a list of them takes ten times the text
    if '"' not in text:
        for number, line in enumerate(lines, first_line):
            if not line.isspace():
                yield number, line.rstrip("\n").split(separator, MOST_COLUMNS)
        return
    before = csv.field_size_limit(LONGEST_LINE)
    try:
        blanks = f'{separator} "' in text  # before a quoted field: the quotes belong to the field, not into it
        reader = csv.reader(lines, delimiter=separator, strict=True, skipinitialspace=blanks)
        begun = 0
        while True:
            try:
                fields = next(reader, None)
            except csv.Error as error:
                issues.append(Issue(first_line + begun, f"a quoted field can't be read ({error})"))
                begun = reader.line_num
                continue
            if fields is None:
                return
            if len(fields) > 1 or (fields and fields[0].strip()):
                yield first_line + begun, fields
            begun = reader.line_num
    finally:
        csv.field_size_limit(before)


def _value(text: str, kind: CellKind) -> tuple[object, str]:
    """The value of a field, and what is wrong with it."""
    if kind in (CellKind.TEXT, CellKind.CELL):
        if kind is CellKind.TEXT and not text.strip():
            return None, "is empty"
        return text, "is not UTF-8 text" if "\ufffd" in text else ""
    text = text.strip()
    if not text:
        return None, "is empty"
    try:
        number = float(text.replace("_", "?"))  # Python's digit separators are no part of a file
    except ValueError:
        return None, f"is {_short(text)}, not a {kind.value}"
    if not np.isfinite(number):
        return None, f"is {_short(text)}, not a finite number"
    return _whole(text, number) if kind is CellKind.INTEGER else (number, "")


def _whole(text: str, number: float) -> tuple[object, str]:
    """A whole number exactly: beyond 2⁵³ a double is not."""
    if not number.is_integer():
        return None, f"is {_short(text)}, not a whole number"
    try:
        whole = int(text)
    except ValueError:  # such as 3.0 or 1e3
        whole = int(number) if abs(number) < 2**53 else 2**63
    if not -(2**63) <= whole < 2**63:
        return None, f"is {_short(text)}, beyond the whole numbers of 64 bits"
    return whole, ""


def _short(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "…")
