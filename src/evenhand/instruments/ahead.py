"""Work that threads do a little ahead of whoever needs it, in order, and with a limit on every piece.

Some damaged files keep a decoder busy for ever. A piece that takes too long is left behind: it is named, another thread
takes over, and the others go on. The thread that hangs ends with the program.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from typing import Generic, NamedTuple, TypeVar

TIME_LIMIT = 60.0
"""Seconds after which a picture counts as one that can't be read; a sound one takes a fraction of a second."""

In = TypeVar("In")
Out = TypeVar("Out")


class Ahead(NamedTuple, Generic[Out]):
    """What became of a piece of work."""

    done: Out | None  # None: it took too long
    waited: float  # seconds that whoever needed it had to wait


def ahead(
    pieces: Iterable[In], work: Callable[[In], Out], *, workers: int, depth: int, limit: float = TIME_LIMIT
) -> Iterator[Ahead[Out]]:
    """The outcome of every piece, in order; at most `depth` are finished before they are asked for.

    An exception that `work` raises is raised here, in its turn.

    >>> [outcome.done for outcome in ahead([1, 2, 3], lambda n: n * n, workers=2, depth=2)]
    [1, 4, 9]
    """
    threads = _WorkerThreads(work, max(1, workers))
    pending: deque[_Piece[In, Out]] = deque()
    try:
        for piece in pieces:
            pending.append(threads.give(piece))
            if len(pending) > depth:
                yield threads.outcome(pending.popleft(), limit)
        while pending:
            yield threads.outcome(pending.popleft(), limit)
    finally:
        threads.dismiss()


class _Piece(Future[Out], Generic[In, Out]):
    """A piece on its way through a thread."""

    def __init__(self, given: In) -> None:
        super().__init__()
        self.given = given
        self.begun: float | None = None

    def patience(self, limit: float) -> float:
        """Seconds for which it is still waited for."""
        return limit if self.begun is None else max(0.0, self.begun + limit - time.monotonic()) + 0.001


class _WorkerThreads(Generic[In, Out]):
    """Threads that take pieces in order; one that hangs is replaced."""

    def __init__(self, work: Callable[[In], Out], workers: int) -> None:
        self.work, self.workers, self.started = work, workers, 0
        self.tasks: queue.SimpleQueue[_Piece[In, Out] | None] = queue.SimpleQueue()

    def give(self, given: In) -> _Piece[In, Out]:
        piece: _Piece[In, Out] = _Piece(given)
        self.tasks.put(piece)
        if self.started < self.workers:
            self._start()
        return piece

    def outcome(self, piece: _Piece[In, Out], limit: float) -> Ahead[Out]:
        asked = time.monotonic()
        while not piece.done():
            wait([piece], piece.patience(limit))
            if not piece.done() and piece.begun is not None and time.monotonic() - piece.begun >= limit:
                self._start()
                return Ahead(None, time.monotonic() - asked)
        return Ahead(piece.result(), time.monotonic() - asked)

    def dismiss(self) -> None:
        """Let every thread go, when it is done with what it has."""
        for _ in range(self.started):
            self.tasks.put(None)

    def _start(self) -> None:
        self.started += 1
        threading.Thread(target=self._run, name=f"pictures-{self.started}", daemon=True).start()

    def _run(self) -> None:
        while (piece := self.tasks.get()) is not None:
            piece.begun = time.monotonic()
            try:
                piece.set_result(self.work(piece.given))
            except BaseException as error:  # is raised where the piece is asked for
                piece.set_exception(error)
