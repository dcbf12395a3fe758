"""Reading pictures and videos that may hang the program that reads them.

Some damaged files keep a decoder busy for ever. Every file is therefore read in a worker that can be
stopped; a file that takes too long, raises or kills its worker is named and counted, and the
others go on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from evenhand.core.engine import Engine, Failed, Workplace

TIME_LIMIT = 30.0  # seconds; a sound picture takes a fraction of one
R = TypeVar("R")


@dataclass(frozen=True)
class Readable(Generic[R]):
    """A file, and what was read from it."""

    path: Path
    value: R


@dataclass(frozen=True)
class Unreadable:
    """A file that could not be read, and why."""

    path: Path
    reason: str


def read_each(
    engine: Engine, read: Callable[[Path], R], paths: Iterable[Path], *, time_limit: float = TIME_LIMIT
) -> Iterator[Readable[R] | Unreadable]:
    """What `read` gives for every file, in order; `read` must be a function of a module, not a lambda."""
    listed = [Path(path) for path in paths]
    for outcome in engine.map(partial(_read, read), listed, time_limit=time_limit):
        path = listed[outcome.part]
        if isinstance(outcome, Failed):
            yield Unreadable(path, outcome.cause)
        else:
            yield Readable(path, outcome.value)


def _read(read: Callable[[Path], R], path: Path, place: Workplace) -> R:
    return read(path)
