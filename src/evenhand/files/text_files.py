"""The bytes of a text file as they were before compression.

Files compressed by gzip, bzip2 or xz are recognised by their first bytes, whatever their name. One that expands to too
many bytes, or to so many cells that 5 MB would take more than a gigabyte, is refused as soon as that is seen.
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from evenhand.core.task import InputFact
from evenhand.files.inputs import HashingFile, Problem, limit_of, opened

MOST_EXPANSION = 32  # times the size of the file
MOST_CELLS = limit_of("EVENHAND_MOST_CELLS", 12_000_000)  # that any compressed table may have
SEPARATORS = (",", ";", "\t", "|")
_ALWAYS_EXPANDED = 40 << 20  # bytes that any file may expand to
_CELLS_PER_BYTE = 2  # of the compressed file, beyond MOST_CELLS


Fetched = TypeVar("Fetched", bytes, bytearray)


@dataclass
class TextFile:
    """The bytes of a text file as they were before compression, with LF at the end of lines."""

    path: Path
    problem: Problem
    raw: HashingFile
    stored: int  # bytes on the disk
    expanding: io.BufferedIOBase | None  # None: it is plain text
    _expanded: int = 0
    _cells: int = 0
    _is_old_mac: bool | None = None  # lines end in CR alone

    def fetch(self, size: int) -> bytearray:
        """So many bytes, or fewer at the end of the file."""
        buffer = bytearray(size)
        filled = 0
        stream: Any = self.expanding or self.raw
        with memoryview(buffer) as view:
            while filled < size:
                try:
                    got = stream.readinto(view[filled:])
                except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
                    raise self._damaged(error) from None
                if not got:
                    break
                filled += got
        del buffer[filled:]
        if self.expanding is not None:
            self._check_expansion(buffer)
        return self._with_line_feeds(buffer)

    def _damaged(self, error: Exception) -> Exception:
        return self.problem(f"{self.path} is cut off or damaged: {error}.")

    def _with_line_feeds(self, fetched: Fetched) -> Fetched:
        if self._is_old_mac is None:
            self._is_old_mac = b"\n" not in fetched and b"\r" in fetched.rstrip(b"\r")
        return fetched.replace(b"\r", b"\n") if self._is_old_mac else fetched

    def read_all(self) -> bytes:
        """All that is left."""
        if self.expanding is None:
            try:
                return self._with_line_feeds(self.raw.readall())
            except OSError as error:
                raise self._damaged(error) from None
        size = min(max(self.stored + 1, 1 << 16), 64 << 20)
        pieces = [self.fetch(size)]
        while len(pieces[-1]) == size:
            pieces.append(self.fetch(size))
        return b"".join(pieces)

    def fact(self) -> InputFact:
        """What the file on the disk was, compressed or not."""
        return self.raw.fact()

    def _check_expansion(self, fetched: bytearray) -> None:
        self._expanded += len(fetched)
        if self._expanded > max(_ALWAYS_EXPANDED, MOST_EXPANSION * self.stored):
            raise self.problem(
                f"{self.path} expands to more than {MOST_EXPANSION} times its size ({self.stored} bytes). "
                "Expand it yourself if it is meant to."
            )
        self._cells += fetched.count(b"\n") + max(fetched.count(mark.encode()) for mark in SEPARATORS)
        most = max(MOST_CELLS, _CELLS_PER_BYTE * self.stored)
        if self._cells > most:
            raise self.problem(
                f"{self.path}: {self.stored:,} compressed bytes expand to more than {most:,} cells. If they are meant "
                "to, expand it yourself, or raise the limit (the environment variable EVENHAND_MOST_CELLS)."
            )


@contextmanager
def text_file(path: Path, problem: Problem) -> Iterator[TextFile]:
    """An open text file, hashed while it is read."""
    with opened(path, problem) as file:
        stored = path.stat().st_size
        start = file.read(6)
        file.seek(0)
        raw = HashingFile(file, path)
        yield TextFile(path, problem, raw, stored, expanding(raw, start))


def expanding(raw: HashingFile, start: bytes) -> io.BufferedIOBase | None:
    """What expands a compressed file, chosen by its first bytes; None for plain text."""
    buffered = io.BufferedReader(raw, 1 << 20)  # type: ignore[type-var]  # a raw file that reads into bytes
    if start.startswith(b"\x1f\x8b"):
        return gzip.GzipFile(fileobj=buffered)
    if start.startswith(b"BZh"):
        return bz2.BZ2File(buffered)
    if start.startswith(b"\xfd7zXZ\x00"):
        return lzma.LZMAFile(buffered)
    buffered.detach()
    return None
