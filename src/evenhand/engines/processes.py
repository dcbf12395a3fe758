"""Spawned processes: a part that hangs, or kills its worker, harms no other.

Each worker has a thread here that sends it parts and waits for answers. A part that takes longer than the
time limit, or whose worker is ended by the system, is `Failed` with the cause in words; a new worker
takes the place of the lost one.
"""

from __future__ import annotations

import multiprocessing
import queue
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

from evenhand.core.engine import Done, Failed, In, Out, Workplace, cause_of
from evenhand.core.errors import EvenhandError, PartError
from evenhand.core.records import Array
from evenhand.engines.order import AHEAD, WorkersHere, in_order
from evenhand.engines.shared_arrays import SharedArray
from evenhand.engines.spawned import NotReady, work
from evenhand.files.safe_path import safe_path

_STARTING = threading.Lock()
_PATIENCE = 5.0  # seconds for an idle worker to end by itself


class Processes(WorkersHere):
    """A number of spawned processes."""

    kind = "processes"

    def accepts(self, *functions: Any) -> bool:
        """Whether functions can be sent to another process."""
        try:
            ForkingPickler.dumps(functions)
        except Exception:
            return False
        return True

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
        try:
            payload = bytes(ForkingPickler.dumps((fn, setup)))
        except Exception as error:
            raise PartError(
                f"The work can't be sent to processes ({cause_of(error)}). "
                "Functions must be defined at the top of a module; or use serial or threads:N."
            ) from None
        arrays = tuple(SharedArray(array) for array in shared)
        pool = _WorkerPool(self.workers, payload, arrays, time_limit)
        try:
            yield from in_order(parts, pool.submit, pool.receive, self.workers * AHEAD)
            pool.dismiss()
        finally:
            pool.stop()
            for array in arrays:
                array.close()


@dataclass
class _WorkerPool:
    """The workers of one map; they are started when there is something to do for them."""

    size: int
    payload: bytes
    shared: tuple[SharedArray, ...]
    time_limit: float | None
    tasks: queue.SimpleQueue[tuple[int, Any] | None] = field(default_factory=queue.SimpleQueue)
    outcomes: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    workers: list[_SpawnedWorker] = field(default_factory=list)
    open_tasks: int = 0

    def submit(self, task: tuple[int, Any]) -> None:
        self.open_tasks += 1
        if len(self.workers) < min(self.size, self.open_tasks):
            self.workers.append(_SpawnedWorker(self))
        self.tasks.put(task)

    def receive(self) -> Any:
        outcome = self.outcomes.get()
        self.open_tasks -= 1
        if isinstance(outcome, BaseException):
            raise outcome
        return outcome

    def dismiss(self) -> None:
        """Let the workers end by themselves."""
        for _ in self.workers:
            self.tasks.put(None)
        for worker in self.workers:
            worker.thread.join()
        self.workers.clear()

    def stop(self) -> None:
        """End the workers at once, whatever they are doing."""
        while not self.tasks.empty():
            self.tasks.get()
        for worker in self.workers:
            worker.is_stopped = True
            worker.kill()
            self.tasks.put(None)
        for worker in self.workers:
            worker.thread.join()


class _SpawnedWorker:
    """One worker, and the thread that talks to it."""

    def __init__(self, pool: _WorkerPool) -> None:
        self.pool = pool
        self.process: BaseProcess | None = None
        self.is_stopped = False
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def kill(self) -> None:
        process = self.process
        if process is not None:
            with suppress(ValueError, OSError):  # it has ended already
                process.kill()

    def _serve(self) -> None:
        connection: Connection | None = None
        try:
            while (task := self.pool.tasks.get()) is not None and not self.is_stopped:
                if connection is None:
                    connection = self._start()
                outcome, connection = self._attempt(connection, task)
                self.pool.outcomes.put(outcome)
        except BaseException as error:  # the caller raises it: no part can be worked on
            self.pool.outcomes.put(error)
        finally:
            self._end(connection)

    def _start(self) -> Connection:
        """The connection to a new worker that is set up."""
        here, there = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=work, args=(there, self.pool.shared), daemon=True, name="evenhand worker"
        )
        with _STARTING, safe_path(), _program_left_out(self.pool.payload):
            process.start()
        there.close()
        self.process = process
        if self.is_stopped:
            process.kill()
        try:
            here.send_bytes(self.pool.payload)
            answer = here.recv()
        except (EOFError, OSError):
            process.join()
            raise PartError(
                f"A worker process ended before it was ready ({_ending(process)}). In a script of your own, "
                'call evenhand below `if __name__ == "__main__":`, or use serial or threads:N.'
            ) from None
        if isinstance(answer, NotReady):
            raise answer.error
        return here

    def _attempt(self, connection: Connection, task: tuple[int, Any]) -> tuple[Any, Connection | None]:
        """What became of a part, and the connection while the worker lives."""
        number, _ = task
        assert self.process is not None
        limit = self.pool.time_limit
        try:
            connection.send(task)
            if not connection.poll(limit):
                self.process.kill()
                self._end(connection)
                return Failed(number, f"took longer than {limit:g} s and was stopped"), None
            return connection.recv(), connection
        except (EOFError, OSError):
            self.process.join()
            cause = f"its worker process was lost ({_ending(self.process)})"
            self._end(connection)
            return Failed(number, cause), None
        except EvenhandError:
            raise
        except Exception as error:
            return Failed(number, f"it can't be sent to a worker ({cause_of(error)})"), connection

    def _end(self, connection: Connection | None) -> None:
        if connection is not None:
            connection.close()
        process = self.process
        if process is None:
            return
        process.join(_PATIENCE)
        if process.is_alive():
            process.kill()
            process.join()
        self.process = None
        process.close()


@contextmanager
def _program_left_out(payload: bytes) -> Iterator[None]:
    """A worker imports the program that started it only when its work is defined there."""
    if b"__main__" in payload:
        yield
        return
    program = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = program


def _ending(process: BaseProcess) -> str:
    code = process.exitcode
    if code is None or code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = "; the system may have run out of memory" if -code == getattr(signal, "SIGKILL", None) else ""
    return f"ended by {name}{hint}"
