"""Columns of whole numbers in text files without a header, parsed as fast as the disk gives them.

The digits of a block of bytes are joined all at once: to numbers of two digits at every byte, then of four, and of
eight where a cell ends. Whatever is not a plain file of short numbers is read line by line, which names a wrong one.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.inputs import Problem, Source, hashed, read

_BLOCK = 1 << 18  # bytes that stay in a core's cache
_LONGEST = 8  # digits of a number
_MARK = b"\xef\xbb\xbf"  # some programs begin UTF-8 text with it
_SEPARATORS = {",": b",", " ": b" \t"}


def read_whole_numbers(
    path: Path, width: int, separator: str, problem: Problem, what: str
) -> tuple[list[Array], InputFact]:
    """The columns of a file, and what was read; in 32 bits where they fit. `what` says what a line should hold.

    Cells may have blanks or quotes around them; a line that has anything else is an error that names it.
    """
    columns, fact = parse_whole_numbers(path, width, separator, problem)
    return _by_line(read(path, problem), width, separator, problem, what) if columns is None else columns, fact


def parse_whole_numbers(
    path: Path, width: int, separator: str, problem: Problem = DataError
) -> tuple[list[NDArray[np.int32]] | None, InputFact]:
    """The columns of a file, one blank or comma between cells, and what was read; None for any other content.

    Columns are parts of larger arrays of which nothing else was ever written, so they take no more than their memory.
    """
    rest = b""
    row = 0
    columns: list[NDArray[np.int32]] | None = None
    with hashed(path, problem) as file:
        size = Path(path).stat().st_size
        most = size // (2 * width) + 1
        columns = [np.empty(most, dtype=np.int32) for _ in range(width)]
        while block := file.read(_BLOCK):
            if columns is None:
                continue  # only to hash it
            block = rest + block if row or rest else (rest + block).removeprefix(_MARK)
            end = block.rfind(b"\n") + 1
            rest = block[end:]
            parsed = _parsed(block[:end], width, separator) if len(rest) < _BLOCK else None
            row, columns = _appended(columns, row, parsed)
        if columns is not None and rest.strip():
            row, columns = _appended(columns, row, _parsed(rest.rstrip() + b"\n", width, separator))
        fact = file.fact()
    return (None if columns is None else [column[:row] for column in columns]), fact


def _appended(
    columns: list[NDArray[np.int32]], row: int, parsed: NDArray[np.int32] | None
) -> tuple[int, list[NDArray[np.int32]] | None]:
    if parsed is None or row + parsed.shape[1] > len(columns[0]):
        return row, None
    for column, values in zip(columns, parsed, strict=True):
        column[row : row + len(values)] = values
    return row + parsed.shape[1], columns


def _parsed(lines: bytes, width: int, separator: str) -> NDArray[np.int32] | None:
    """The numbers (width, lines) of whole lines; None when a cell is none, or has too many digits.

    >>> _parsed(b"12,345678\\n7,8\\n", 2, ",").tolist()
    [[12, 7], [345678, 8]]
    >>> _parsed(b"12,x\\n", 2, ",") is None
    True
    """
    if b"\r" in lines:
        lines = lines.replace(b"\r\n", b"\n")
    text = np.frombuffer(b"\n" * _LONGEST + lines, dtype=np.uint8)
    digit = text - np.uint8(ord("0"))
    is_digit = digit < 10
    ends = np.flatnonzero(~is_digit)[_LONGEST - 1 :]  # of cells, after the end of the line before
    beyond = np.diff(ends)  # one more than a cell has digits
    ends = ends[1:]
    if not len(ends) or len(ends) % width or beyond.min() < 2 or (longest := beyond.max() - 1) > _LONGEST:
        return np.empty((width, 0), dtype=np.int32) if not lines.strip() else None
    marks = text.take(ends).reshape(-1, width)
    between = marks[:, :-1]
    is_plain = (between == ord(separator)).all() or np.isin(between, list(_SEPARATORS[separator])).all()
    if not is_plain or not (marks[:, -1] == ord("\n")).all():
        return None
    once = is_digit.view(np.uint8)
    digit *= once
    two = digit[:-1] * np.uint8(10)  # the number of two digits that ends at each byte but the first
    two += digit[1:]
    two *= once[1:]
    # At place p + 4 the number of four digits before byte p, at place p the one before that: both halves of a number.
    before = np.empty(len(text) + 8, dtype=np.uint16)
    four = before[8 : len(text) + 5]
    np.multiply(two[:-2], np.uint16(100), out=four)
    four *= once[2:-1]
    four += two[2:]
    numbers = before[4:].take(ends).astype(np.int32)
    if longest > 4:
        higher = before.take(ends).astype(np.int32)
        higher *= np.int32(10_000)
        higher *= beyond > 5
        numbers += higher
    return numbers.reshape(-1, width).T


def _by_line(source: Source, width: int, separator: str, problem: Problem, what: str) -> list[Array]:
    rows = []
    for number, line in enumerate(source.text(problem).split("\n"), start=1):
        if not line.strip():
            continue
        cells = line.split() if separator == " " else line.split(separator)
        try:
            if len(cells) != width:
                raise ValueError(line)
            rows.append([int(cell.strip().removeprefix('"').removesuffix('"')) for cell in cells])
        except ValueError:
            advice = _advice(line, number, separator)
            raise problem(f"{source.path}, line {number}: {line[:80]!r} found, but {what} expected.{advice}") from None
    return list(np.array(rows, dtype=np.int64).reshape(-1, width).T)


def _advice(line: str, number: int, separator: str) -> str:
    """What to do about a line that is wrong, where that can be told."""
    other = next((sign for sign in ",;\t" if sign in line and sign not in _SEPARATORS[separator].decode()), None)
    if other is not None and all(cell.strip().lstrip("-").isdigit() for cell in line.split(other)):
        wanted = "blanks" if separator == " " else "commas"
        found = {",": "commas", ";": "semicolons", "\t": "tabs"}[other]
        return f" Its numbers are separated by {found}: write {wanted}."
    return " The file must not have a header: delete the line." if number == 1 else ""
