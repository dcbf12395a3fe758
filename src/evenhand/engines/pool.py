"""What engines with several workers share: outcomes in the order of parts, and threads that look after workers."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, ClassVar

from evenhand.core.engine import Done, Failed, In, Out

AHEAD = 4  # parts per worker that may be finished before they are asked for


@dataclass(frozen=True)
class WorkersHere:
    """A number of workers on this machine."""

    workers: int
    kind: ClassVar[str]

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.workers}"

    def size(self) -> int:
        """How many parts run at once."""
        return self.workers


class PoolWorker:
    """Works on one part after the other, in a thread of its own here."""

    def work(self, number: int, part: Any) -> Done[Any] | Failed:
        """What became of a part; what it raises concerns every part, and is raised where outcomes are asked for."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Called by another thread: nobody waits for the part any more."""

    def close(self) -> None:
        """There are no more parts."""


@dataclass
class WorkerPool:
    """The workers of one map; they are started when there is something to do for them."""

    size: int
    start: Callable[[], PoolWorker]
    _tasks: queue.SimpleQueue[tuple[int, Any] | None] = field(default_factory=queue.SimpleQueue)
    _outcomes: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    _workers: list[tuple[PoolWorker, threading.Thread]] = field(default_factory=list)
    _open_tasks: int = 0

    def map(self, parts: Iterable[Any]) -> Iterator[Done[Any] | Failed]:
        """The outcome of every part, in order; whoever closes the iterator early interrupts the workers."""
        is_done = False
        try:
            yield from in_order(parts, self._submit, self._receive, self.size * AHEAD)
            is_done = True
        finally:
            with suppress(queue.Empty):  # what nobody waits for any more
                while True:
                    self._tasks.get_nowait()
            for worker, _ in self._workers:
                if not is_done:
                    worker.interrupt()
                self._tasks.put(None)
            for _, thread in self._workers:
                thread.join()

    def _submit(self, task: tuple[int, Any]) -> None:
        self._open_tasks += 1
        if len(self._workers) < min(self.size, self._open_tasks):
            worker = self.start()
            thread = threading.Thread(target=self._serve, args=(worker,), daemon=True)
            self._workers.append((worker, thread))
            thread.start()
        self._tasks.put(task)

    def _receive(self) -> Done[Any] | Failed:
        outcome: Done[Any] | Failed | BaseException = self._outcomes.get()
        self._open_tasks -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def _serve(self, worker: PoolWorker) -> None:
        try:
            while (task := self._tasks.get()) is not None:
                self._outcomes.put(worker.work(*task))
        except BaseException as error:  # the caller raises it: no part can be worked on
            self._outcomes.put(error)
        finally:
            worker.close()


def in_order(
    parts: Iterable[In],
    submit: Callable[[tuple[int, In]], None],
    receive: Callable[[], Done[Out] | Failed],
    ahead: int,
) -> Iterator[Done[Out] | Failed]:
    """Keep at most `ahead` parts on their way, and yield what comes back in the order of parts."""
    waiting: dict[int, Done[Out] | Failed] = {}
    source = enumerate(parts)
    submitted = given = 0
    while True:
        for entry in islice(source, ahead - (submitted - given)):
            submit(entry)
            submitted += 1
        if given == submitted:
            return
        while given not in waiting:
            outcome = receive()
            waiting[outcome.part] = outcome
        yield waiting.pop(given)
        given += 1
