"""Workers on this machine: spawned processes, where a part that hangs or kills its worker harms no other; and threads.

Each worker has a thread here that sends it parts and waits for answers. A part that takes longer than the
time limit, or whose worker is ended by the system, is `Failed` with the cause in words; a new worker
takes the place of the lost one.

A worker process answers the work itself with None, or with the error for which no worker could be set up; then it
receives parts, and answers each with `Done` or `Failed`. It ends when it is sent None or the driver closes the
connection, and with the driver however that ends. What was set up and has a `close` is closed at the end.

A thread can't be interrupted. When a time limit is asked for, parts go to spawned workers that can be stopped, as many
as there are threads; what can't be sent to a worker runs here, without limit.
"""

from __future__ import annotations

import multiprocessing
import os
import queue
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.reduction import ForkingPickler
from typing import Any, ClassVar

from evenhand.core.blas import OneThread
from evenhand.core.engine import Done, Failed, In, Out, Work, WorkEngine, Workplace, attempt, cause_of, prepare
from evenhand.core.errors import EvenhandError, PartError
from evenhand.engines.shared_arrays import SharedArray
from evenhand.files.safe_path import safe_path

AHEAD = 4  # parts per worker that may be finished before they are asked for
TIME_LIMIT = 30.0  # seconds for reading a picture that may keep its decoder busy for ever; a sound one takes a fraction
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
_STARTING = threading.Lock()


@dataclass(frozen=True)
class _WorkersHere(WorkEngine):
    """A number of workers on this machine."""

    workers: int
    kind: ClassVar[str]

    @property
    def name(self) -> str:
        return f"{self.kind}:{self.workers}"

    def size(self) -> int:
        """How many parts run at once."""
        return self.workers


class Processes(_WorkersHere):
    """A number of spawned processes."""

    kind = "processes"

    def accepts(self, *functions: Any) -> bool:
        """Whether functions can be sent to another process."""
        try:
            ForkingPickler.dumps(functions)
        except Exception:
            return False
        return True

    def run(self, work: Work[In, Out], parts: Iterable[In]) -> Iterator[Done[Out] | Failed]:
        try:
            payload = bytes(ForkingPickler.dumps((work.fn, work.setup)))
        except Exception as error:
            raise PartError(
                f"The work can't be sent to processes ({cause_of(error)}). "
                "Functions must be defined at the top of a module; or use serial or threads:N."
            ) from None
        arrays = tuple(SharedArray(array) for array in work.shared)
        try:
            yield from _WorkerPool(self.workers, lambda: ProcessWorker(payload, arrays, work.time_limit)).map(parts)
        finally:
            for array in arrays:
                array.close()


class Threads(_WorkersHere):
    """A number of threads; good for work that waits, or that leaves Python's lock alone."""

    kind = "threads"

    def run(self, work: Work[In, Out], parts: Iterable[In]) -> Iterator[Done[Out] | Failed]:
        spawned = Processes(self.workers)
        if work.time_limit is not None and spawned.accepts(work.fn, work.setup):
            yield from spawned.run(work, parts)
            return
        with OneThread().held():
            yield from _WorkerPool(self.workers, lambda: WorkerHere(work)).map(parts)


class WorkerLostError(PartError):
    """A process ended before it could take a part."""

    def __init__(self, ending: str) -> None:
        super().__init__(
            f"A worker process ended before it was ready ({ending}). In a script of your own, "
            'call evenhand below `if __name__ == "__main__":`, or use serial or threads:N.'
        )
        self.ending = ending


class PartWorker:
    """Works on one part after the other."""

    def work(self, number: int, part: Any) -> Done[Any] | Failed:
        """What became of a part; what it raises concerns every part, and is raised where outcomes are asked for."""
        raise NotImplementedError

    def interrupt(self) -> None:
        """Called by another thread: nobody waits for the part any more."""

    def close(self) -> None:
        """There are no more parts."""


@dataclass
class WorkerHere(PartWorker):
    """What the calling thread does itself; a part is worked on to its end."""

    todo: Work[Any, Any]
    one_thread: bool = True  # of linear algebra
    place: Workplace | None = None

    def work(self, number: int, part: Any) -> Done[Any] | Failed:
        if self.place is None:
            if self.one_thread:
                OneThread().hold(to_the_end=False)  # OpenMP counts its threads for each thread of ours
            self.place = Workplace(prepare(self.todo.setup), tuple(self.todo.shared))
        return attempt(self.todo.fn, number, part, self.place)

    def close(self) -> None:
        if self.place is not None:
            _close(self.place)


@dataclass
class ProcessWorker(PartWorker):
    """One process, which is started with its first part and again when it was lost."""

    payload: bytes | tuple[Any, Any]  # the function and its set-up: pickled for a spawned process, as such for a fork
    shared: tuple[SharedArray, ...] = ()
    time_limit: float | None = None
    one_thread: bool = True  # of linear algebra
    follows: bool = True  # leaves Ctrl-C to the driver, and ends with the thread that started it
    patience: float = 5.0  # seconds for an idle worker to end by itself
    _process: Any = None
    _connection: Connection | None = None
    _is_interrupted: bool = False

    def work(self, number: int, part: Any) -> Done[Any] | Failed:
        self._connection = connection = self._connection or self._start()
        try:
            connection.send((number, part))
            ready = wait([connection, self._process.sentinel], self.time_limit)
            if connection in ready:
                outcome: Done[Any] | Failed = connection.recv()
                return outcome
        except (EOFError, OSError):
            ready = [self._process.sentinel]
        except EvenhandError:
            raise
        except Exception as error:
            return Failed(number, f"it can't be sent to a worker ({cause_of(error)})")
        if ready:
            self._process.join()
            cause = f"its worker process was lost ({_ending(self._process.exitcode)})"
        else:
            self._process.kill()
            cause = f"took longer than {self.time_limit:g} s and was stopped"
        self.close()
        return Failed(number, cause)

    def interrupt(self) -> None:
        self._is_interrupted = True
        if (process := self._process) is not None:
            with suppress(ValueError, OSError):  # it has ended already
                process.kill()

    def close(self) -> None:
        """Let the process end by itself, and end it when it does not."""
        if self._connection is not None:
            with suppress(OSError):  # it has ended already
                self._connection.send(None)
            self._connection.close()
        if (process := self._process) is not None:
            process.join(self.patience)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()
        self._connection = self._process = None

    def _start(self) -> Connection:
        """The connection to a new worker that is set up."""
        spawned = isinstance(self.payload, bytes)
        context: Any = multiprocessing.get_context("spawn" if spawned else "fork")
        here: Connection
        here, there = context.Pipe()
        given = (there, self.shared, self.one_thread, self.follows, None if spawned else self.payload)
        process = context.Process(target=_serve, args=given, daemon=True, name="evenhand worker")
        with _starting(self.payload):
            process.start()
        there.close()
        self._process = process
        if self._is_interrupted:
            process.kill()
        try:
            if isinstance(self.payload, bytes):
                here.send_bytes(self.payload)
            error: EvenhandError | None = here.recv()
        except (EOFError, OSError):
            process.join()
            raise WorkerLostError(_ending(process.exitcode)) from None
        if error is not None:
            raise error
        return here


@dataclass
class _WorkerPool:
    """The workers of one map, each with a thread here; they are started when there is something to do for them."""

    size: int
    start: Callable[[], PartWorker]
    _tasks: queue.SimpleQueue[tuple[int, Any] | None] = field(default_factory=queue.SimpleQueue)
    _outcomes: queue.SimpleQueue[Any] = field(default_factory=queue.SimpleQueue)
    _workers: list[tuple[PartWorker, threading.Thread]] = field(default_factory=list)
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

    def _serve(self, worker: PartWorker) -> None:
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


@contextmanager
def _starting(payload: bytes | tuple[Any, Any]) -> Iterator[None]:
    """Around the start of a worker; a spawned one imports our program only when its work is defined there."""
    if not isinstance(payload, bytes):  # a fork would inherit the locks as they are held
        yield
        return
    with _STARTING, safe_path():
        program = sys.modules["__main__"]
        if b"__main__" not in payload:
            sys.modules["__main__"] = types.ModuleType("__main__")
        try:
            yield
        finally:
            sys.modules["__main__"] = program


def _ending(code: int | None) -> str:
    if code is None or code >= 0:
        return f"exit code {code}"
    name = signal.Signals(-code).name if -code in set(signal.Signals) else f"signal {-code}"
    hint = "; the system may have run out of memory" if -code == getattr(signal, "SIGKILL", None) else ""
    return f"ended by {name}{hint}"


def _serve(
    connection: Connection, shared: tuple[Any, ...], one_thread: bool, follows: bool, work: tuple[Any, Any] | None
) -> None:
    """Serve parts until the driver sends None or closes the connection."""
    if follows:
        _end_with_the_driver()
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the driver decides
    # Python forbids daemons to have children, but a part may start workers of its own, to read pictures that may hang;
    # they end with this worker as it ends with its driver, so nothing is left behind.
    vars(multiprocessing.current_process()).get("_config", {})["daemon"] = False
    if one_thread:  # for libraries that are still to be loaded
        os.environ.update(dict.fromkeys(_THREAD_COUNTS, "1"))
    blas = OneThread()
    try:
        fn, setup = work or connection.recv()
        if one_thread:
            blas.hold()
        place = Workplace(prepare(setup), tuple(array.open() for array in shared))
    except EvenhandError as error:
        connection.send(error)
        return
    except EOFError:
        return
    except Exception as error:
        connection.send(PartError(f"A worker can't load the work it was sent ({cause_of(error)})."))
        return
    connection.send(None)
    try:
        while (task := connection.recv()) is not None:
            if one_thread and blas.is_stale:
                blas.hold()
            number, part = task
            outcome = attempt(fn, number, part, place)
            try:
                connection.send(outcome)
            except ConnectionError:
                raise
            except Exception as error:
                connection.send(Failed(number, f"its result can't be sent back ({cause_of(error)})"))
    except (EOFError, ConnectionError):  # nobody waits any more
        return
    finally:
        _close(place)


def _close(place: Workplace) -> None:
    """Close what was set up, where it can be closed."""
    if callable(close := getattr(place.kept, "close", None)):
        close()


def _end_with_the_driver() -> None:
    """Ask the system to end this process when the driver's thread ends, even if a decoder hangs here."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
