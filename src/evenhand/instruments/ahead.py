"""Work that threads do a little ahead of whoever needs it, in order, and with a limit on every piece.

Some damaged files keep a decoder busy for ever. A piece that takes too long is left behind: it is named, another thread
takes over, and the others go on. The thread that hangs ends with the program; all others end with the iteration, since
what a thread holds, such as a network, can't be freed safely while the interpreter shuts down.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Generic, NamedTuple, TypeVar

TIME_LIMIT = 60.0
"""Seconds after which a picture counts as one that can't be read; a sound one takes a fraction of a second."""

_PATIENCE = 5.0  # seconds for the pieces in work when nobody asks for more

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
        self.worker: threading.Thread | None = None

    def patience(self, limit: float) -> float:
        """Seconds for which it is still waited for."""
        return limit if self.begun is None else max(0.0, self.begun + limit - time.monotonic()) + 0.001


class _WorkerThreads(Generic[In, Out]):
    """Threads that take pieces in order; one that hangs is replaced."""

    def __init__(self, work: Callable[[In], Out], workers: int) -> None:
        self.work, self.workers = work, workers
        self.threads: list[threading.Thread] = []
        self.hanging: list[threading.Thread | None] = []
        self.tasks: queue.SimpleQueue[_Piece[In, Out] | None] = queue.SimpleQueue()

    def give(self, given: In) -> _Piece[In, Out]:
        piece: _Piece[In, Out] = _Piece(given)
        self.tasks.put(piece)
        if len(self.threads) < self.workers:
            self._start()
        return piece

    def outcome(self, piece: _Piece[In, Out], limit: float) -> Ahead[Out]:
        asked = time.monotonic()
        while not piece.done():
            wait([piece], piece.patience(limit))
            if not piece.done() and piece.begun is not None and time.monotonic() - piece.begun >= limit:
                self.hanging.append(piece.worker)
                self._start()
                return Ahead(None, time.monotonic() - asked)
        return Ahead(piece.result(), time.monotonic() - asked)

    def dismiss(self) -> None:
        """Let every thread go, and wait for those that do not hang; pieces that were not begun are left."""
        with suppress(queue.Empty):
            while True:
                self.tasks.get_nowait()
        for _ in self.threads:
            self.tasks.put(None)
        until = time.monotonic() + _PATIENCE
        for thread in self.threads:
            if thread not in self.hanging:
                thread.join(max(0.0, until - time.monotonic()))

    def _start(self) -> None:
        name = f"pictures-{len(self.threads) + 1}"
        self.threads.append(threading.Thread(target=self._run, name=name, daemon=True))
        self.threads[-1].start()

    def _run(self) -> None:
        while (piece := self.tasks.get()) is not None:
            piece.worker, piece.begun = threading.current_thread(), time.monotonic()
            try:
                piece.set_result(self.work(piece.given))
            except BaseException as error:  # is raised where the piece is asked for
                piece.set_exception(error)
