"""Threads of this process.

A thread can't be interrupted. When a time limit is asked for, parts go to spawned workers that can be stopped, as many
as there are threads; what can't be sent to a worker runs here, without limit.
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from evenhand.core.blas import OneThread
from evenhand.core.engine import Done, Failed, In, Out, Workplace, attempt, prepare
from evenhand.core.errors import EvenhandError
from evenhand.core.records import Array
from evenhand.engines.order import AHEAD, WorkersHere, in_order
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
        tasks: queue.SimpleQueue[tuple[int, Any] | None] = queue.SimpleQueue()
        outcomes: queue.SimpleQueue[Done[Out] | Failed | EvenhandError] = queue.SimpleQueue()

        def work() -> None:
            OneThread().hold()  # OpenMP counts its threads for each thread of ours
            place: Workplace | None = None
            while (task := tasks.get()) is not None:
                try:
                    place = place or Workplace(prepare(setup), tuple(shared))
                except EvenhandError as error:
                    outcomes.put(error)
                    return
                outcomes.put(attempt(fn, *task, place))

        def receive() -> Done[Out] | Failed:
            outcome = outcomes.get()
            if isinstance(outcome, EvenhandError):
                raise outcome
            return outcome

        threads = [threading.Thread(target=work, daemon=True) for _ in range(self.workers)]
        with OneThread().held():
            for thread in threads:
                thread.start()
            try:
                yield from in_order(parts, tasks.put, receive, self.workers * AHEAD)
            finally:
                while not tasks.empty():  # what nobody waits for any more
                    tasks.get()
                for _ in threads:
                    tasks.put(None)
                for thread in threads:
                    thread.join()
