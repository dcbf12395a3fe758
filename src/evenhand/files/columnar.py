"""Parquet and Arrow files of others, read by Polars within a budget.

Such files may hold a column of one value in a few bytes, so the size in memory is estimated from their footer before
anything is read. Damage makes Polars panic, which is no `Exception` and writes a Rust backtrace: it becomes an error
in words. (A file whose sizes lie can still end the process in native code; docs/security.md says so.)
"""

from __future__ import annotations

import io
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.files.inputs import Problem, damage_in_words, opened
from evenhand.files.text_files import MOST_CELLS

if TYPE_CHECKING:
    import polars as pl

_ONE_AT_A_TIME = threading.Lock()  # standard error is the process's
_CELL = 80  # bytes that a text, a list or a record takes while it is worked on
_NUMBER = 36  # bytes that a number, a date or a truth value takes
_MOST_BYTES = _CELL * MOST_CELLS  # of any file
_MOST_TIMES = 200  # the size of the file, beyond that


@contextmanager
def scanned(path: Path, problem: Problem) -> Iterator[pl.LazyFrame]:
    """A Parquet file as a lazy frame that reads blocks of it.

    Polars maps a file that it is given by name, and a mapped file that another program cuts short ends the process.
    By its handle, where the system has a name for that, it is read.
    """
    import polars as pl

    with opened(path, problem) as file:
        handles = Path("/proc/self/fd")
        yield pl.scan_parquet(f"file://{handles}/{file.fileno()}" if handles.is_dir() else path, glob=False)


def read_parquet(path: Path, problem: Problem, columns: list[str] | None = None) -> Any:
    """The frame in a Parquet file; raises `problem` in words."""
    with scanned(path, problem) as lazy, native_panics_in_words(path, problem, "Parquet"):
        lazy = lazy if columns is None else lazy.select(columns)
        check_expansion(lazy, path.stat().st_size, path, problem)
        return lazy.collect()


def read_columnar(data: bytes, path: Path, problem: Problem, *, is_parquet: bool) -> Any:
    """The frame in the bytes of a Parquet, Arrow or Feather file; raises `problem` in words."""
    import polars as pl

    with native_panics_in_words(path, problem, "Parquet" if is_parquet else "Arrow"):
        lazy = (pl.scan_parquet if is_parquet else pl.scan_ipc)(io.BytesIO(data))
        check_expansion(lazy, len(data), path, problem)
        return lazy.collect()


def check_expansion(lazy: pl.LazyFrame, size: int, path: Path, problem: Problem) -> None:
    """Raises `problem` when a frame would take far more memory than its file, by the footer alone."""
    import polars as pl

    rows = int(lazy.select(pl.len()).collect().item())
    needed = rows * sum(map(_width, lazy.collect_schema().values()))
    if needed > max(_MOST_BYTES, _MOST_TIMES * size):
        raise problem(
            f"{path}: {size:,} bytes may need {needed / 1e9:,.1f} GB of memory ({rows:,} rows), "
            f"over {_MOST_TIMES} times the file. If that is right, write it again with only the columns that are used, "
            "or raise the limit (the environment variable EVENHAND_MOST_CELLS)."
        )


def _width(kind: pl.DataType) -> int:
    import polars as pl

    if isinstance(kind, pl.Array) and isinstance(kind.inner, pl.DataType) and kind.inner.is_numeric():
        return max(_CELL, kind.size * int("".join(filter(str.isdigit, str(kind.inner).partition("(")[0])) or 64) // 8)
    return _NUMBER if kind.is_numeric() or kind.is_temporal() or kind == pl.Boolean else _CELL


@contextmanager
def native_panics_in_words(path: Path, problem: Problem, what: str) -> Iterator[None]:
    """Around a call of Polars on a user's file: damage is `problem`, without a backtrace on standard error."""
    with damage_in_words(path, problem, what), without_native_messages():
        yield


@contextmanager
def without_native_messages() -> Iterator[None]:
    """Around a call of native code: what it prints is not shown, unless EVENHAND_TRACEBACK=1 asks for it."""
    if os.environ.get("EVENHAND_TRACEBACK"):
        yield
        return
    with _ONE_AT_A_TIME:
        kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            os.close(null)
