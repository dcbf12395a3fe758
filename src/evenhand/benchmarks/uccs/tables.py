"""Strict comma-separated tables, quickly.

A table has one header line; columns are found by name, their order is free and further ones are
ignored. Every wanted field must be there and be what it should: text, a finite number, a whole
number. Blank lines are skipped.

A block of lines is read by Polars first. Only when something in it looks odd (a field that is
missing, empty or no number) is it read again line by line, which either finds nothing wrong
(blanks around a number) or names every problem with its line.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from enum import Enum
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl

from evenhand.core.errors import InputError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.inputs import HashingFile, Problem, decode, opened

BLOCK_BYTES = 20 << 20  # larger ones are mapped anew by the allocator each time, which costs a third of the work


class Kind(Enum):
    """What a column holds."""

    TEXT = "text"
    NUMBER = "number"
    INTEGER = "whole number"


_POLARS = {Kind.TEXT: pl.String, Kind.NUMBER: pl.Float64, Kind.INTEGER: pl.Int64}


class Issue(NamedTuple):
    """Something wrong in a line of a file."""

    line: int  # the first line of a file is 1
    message: str


class Block(NamedTuple):
    """The rows of a run of lines that could be read, and what was wrong with the others."""

    frame: pl.DataFrame  # the wanted columns
    lines: Array  # (rows,): the line of each
    issues: tuple[Issue, ...]


class Header(NamedTuple):
    """The names of all columns, and what is wrong with them."""

    names: tuple[str, ...]
    issues: tuple[Issue, ...]


def header_of(line: bytes, path: Path, problem: Problem) -> Header:
    """The column names of a header line."""
    text = decode(line, path, problem).strip("\n")
    names = tuple(name.strip().strip('"') for name in text.split(","))
    repeated = sorted({name for name in names if names.count(name) > 1}) if len(set(names)) < len(names) else []
    return Header(names, tuple(Issue(1, f"the column {name!r} occurs more than once") for name in repeated))


def missing_columns(header: Header, wanted: Sequence[str]) -> tuple[str, ...]:
    """The wanted columns that the header lacks, in their order."""
    return tuple(name for name in wanted if name not in header.names)


def parse(body: bytes, header: Header, wanted: Mapping[str, Kind], first_line: int, path: Path) -> Block:
    """The wanted columns of a run of whole lines."""
    frame = _quickly(body, header.names, wanted)
    if frame is not None:
        return Block(frame, np.arange(first_line, first_line + len(frame)), ())
    return _line_by_line(body, header.names, wanted, first_line, path)


def read_table(data: bytes, path: Path, wanted: Mapping[str, Kind], problem: Problem) -> tuple[Block, Header]:
    """The wanted columns of a whole file; raises `problem` when one is missing or a line is wrong."""
    first, _, body = data.partition(b"\n")
    header = header_of(first, path, problem)
    raise_missing(header, tuple(wanted), path, problem)
    block = parse(body, header, wanted, 2, path)
    raise_first((*header.issues, *block.issues), path, problem)
    return block, header


def raise_missing(header: Header, wanted: Sequence[str], path: Path, problem: Problem) -> None:
    """Raise `problem` when wanted columns are missing, naming all of them."""
    lacking = missing_columns(header, wanted)
    if lacking:
        have = ", ".join(header.names[:20]) + (", …" if len(header.names) > 20 else "")
        raise problem(f"{path}, line 1: no column {', '.join(lacking)}. The header has: {have}.")


def raise_first(issues: Sequence[Issue], path: Path, problem: Problem) -> None:
    """Raise `problem` for the first issue, with the number of the others."""
    if issues:
        raise first_of(issues, path, problem)


def first_of(issues: Sequence[Issue], path: Path, problem: Problem) -> InputError:
    """The first issue as an error that also says how many more there are."""
    more = f" ({len(issues) - 1} more; `evenhand check` lists them all.)" if len(issues) > 1 else ""
    return problem(f"{path}, line {issues[0].line}: {issues[0].message}.{more}")


class Lines:
    """A large table, read block by block and hashed on the way.

    The next block is fetched and hashed while the last one is being worked on.
    """

    def __init__(self, path: Path, problem: Problem) -> None:
        self.path, self._problem = Path(path), problem
        self.header = Header((), ())
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
        with opened(self.path, self._problem) as raw, ThreadPoolExecutor(1) as fetcher:
            hashing = HashingFile(raw, self.path)
            rest, line = b"", 1
            waiting = fetcher.submit(_fetch, hashing, size)
            while True:
                fetched = waiting.result()
                if not fetched:
                    break
                waiting = fetcher.submit(_fetch, hashing, size)
                data = rest + fetched
                if line == 1:
                    end = data.find(b"\n")
                    if end < 0:
                        rest = data
                        continue
                    self.header = header_of(data[: end + 1], self.path, self._problem)
                    data, line = data[end + 1 :], 2
                cut = data.rfind(b"\n") + 1
                body, rest = data[:cut], data[cut:]
                if body:
                    yield line, body
                    line += body.count(b"\n")
            self._fact = hashing.fact()
            if line == 1:
                if not rest:
                    raise self._problem(
                        f"{self.path} is empty (0 bytes). Was the program that wrote it stopped? Write it again."
                    )
                self.header, rest = header_of(rest, self.path, self._problem), b""
            elif rest.strip():
                self.ends_with_line_feed = False
                yield line, rest


def _fetch(file: HashingFile, size: int) -> bytes:
    buffer = bytearray(size)
    filled = 0
    with memoryview(buffer) as view:
        while filled < size:
            got = file.readinto(view[filled:])  # type: ignore[arg-type]  # a view is a writable buffer
            if not got:
                break
            filled += got
    return bytes(buffer) if filled == size else bytes(buffer[:filled])


def _quickly(body: bytes, names: Sequence[str], wanted: Mapping[str, Kind]) -> pl.DataFrame | None:
    """The wanted columns, or None when anything in the block is not as it should be."""
    chosen = {names.index(name): name for name in wanted if name in names}
    last = len(names) - 1  # a line that is too short lacks the last field
    positions = sorted({*chosen, last})
    if not body or body.isspace():
        return pl.DataFrame({name: pl.Series([], dtype=_POLARS[wanted[name]]) for name in chosen.values()})
    if body.endswith((b"\n\n", b"\n\r\n")):
        body = body.rstrip(b"\r\n")
    schema = {
        f"column_{place}": _POLARS[wanted[chosen[place]]] if place in chosen else pl.String
        for place in range(len(names))
    }
    try:
        frame = pl.read_csv(
            io.BytesIO(body),
            has_header=False,
            schema=schema,
            columns=positions,
            quote_char=None,
        )
    except pl.exceptions.PolarsError:
        return None
    for place in positions:
        column = frame[f"column_{place}"]
        if column.null_count():
            return None
        if place in chosen and column.dtype == pl.String and _odd_text(column):
            return None
    numbers = [f"column_{place}" for place, name in chosen.items() if wanted[name] is Kind.NUMBER]
    if numbers and not np.isfinite(frame.select(pl.col(numbers).sum()).row(0)).all():
        return None
    return frame.select([pl.col(f"column_{place}").alias(name) for place, name in chosen.items()])


def _odd_text(column: pl.Series) -> bool:
    """Whether a text column has empty, padded or quoted fields, which the careful way sorts out."""
    kinds = column.unique()
    return any(text != text.strip() or not text or '"' in text for text in kinds.to_list())


def _line_by_line(body: bytes, names: Sequence[str], wanted: Mapping[str, Kind], first_line: int, path: Path) -> Block:
    chosen = {name: names.index(name) for name in wanted if name in names}
    columns: dict[str, list[object]] = {name: [] for name in chosen}
    lines: list[int] = []
    issues: list[Issue] = []
    text = body.decode("utf-8", errors="replace").replace("\r\n", "\n").replace("\r", "\n")
    for number, line in enumerate(text.split("\n"), first_line):
        if not line.strip():
            continue
        fields = next(csv.reader([line])) if '"' in line else line.split(",")
        if len(fields) != len(names):
            cut = "; the file looks cut off here" if number == first_line + text.count("\n") else ""
            issues.append(Issue(number, f"{len(fields)} fields, but the header has {len(names)} columns{cut}"))
            continue
        values, wrong = [], []
        for name, place in chosen.items():
            value, message = _value(fields[place].strip(), wanted[name])
            values.append(value)
            if message:
                wrong.append(Issue(number, f"{name} {message}"))
        if wrong:
            issues.extend(wrong)
            continue
        lines.append(number)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    frame = pl.DataFrame({name: pl.Series(columns[name], dtype=_POLARS[wanted[name]]) for name in chosen})
    return Block(frame, np.array(lines, dtype=np.int64), tuple(issues))


def _value(field: str, kind: Kind) -> tuple[object, str]:
    """The value of a field, and what is wrong with it."""
    if not field:
        return None, "is empty"
    if kind is Kind.TEXT:
        return field, "is not UTF-8 text" if "\ufffd" in field else ""
    try:
        number = float(field.replace("_", "?"))  # Python's digit separators are no part of a file
    except ValueError:
        return None, f"is {_short(field)}, not a {kind.value}"
    if not np.isfinite(number):
        return None, f"is {_short(field)}, not a finite number"
    if kind is Kind.INTEGER:
        return (int(number), "") if number.is_integer() else (None, f"is {_short(field)}, not a whole number")
    return number, ""


def _short(field: str) -> str:
    return repr(field if len(field) <= 40 else field[:37] + "…")
