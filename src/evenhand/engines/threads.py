"""Threads of this process.

A thread can't be interrupted. When a time limit is asked for, parts go to spawned workers that can be stopped, as many
as there are threads; what can't be sent to a worker runs here, without limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.core.blas import OneThread
from evenhand.core.engine import Done, Failed, In, Out, Workplace, attempt, prepare
from evenhand.core.records import Array
from evenhand.engines.pool import WorkerPool, WorkersHere
from evenhand.engines.processes import Processes


class Threads(WorkersHere):
    """A number of threads; good for work that waits, or that leaves Python's lock alone."""

    kind = "threads"

    def map(
        self,
        fn: Callable[[In, Workplace], Out],
        parts: Iterable[In],
        *,
        setup: Callable[[], Any] | None = None,
        shared: Sequence[Array] = (),
        time_limit: float | None = None,
    ) -> Iterator[Done[Out] | Failed]:
        """The outcome of every part, in order."""
        spawned = Processes(self.workers)
        if time_limit is not None and spawned.accepts(fn, setup):
            yield from spawned.map(fn, parts, setup=setup, shared=shared, time_limit=time_limit)
            return
        with OneThread().held():
            yield from WorkerPool(self.workers, lambda: _ThreadWorker(fn, setup, tuple(shared))).map(parts)


@dataclass
class _ThreadWorker:
    """What the thread itself does."""

    fn: Callable[[Any, Workplace], Any]
    setup: Callable[[], Any] | None
    shared: tuple[Array, ...]
    place: Workplace | None = None

    def work(self, number: int, part: Any) -> Done[Any] | Failed:
        if self.place is None:
            OneThread().hold(to_the_end=False)  # OpenMP counts its threads for each thread of ours
            self.place = Workplace(prepare(self.setup), self.shared)
        return attempt(self.fn, number, part, self.place)

    def interrupt(self) -> None:
        """The part is worked on to its end."""

    def close(self) -> None:
        """There is nothing to give back."""
