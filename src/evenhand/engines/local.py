"""Workers on this machine: spawned processes, where a part that hangs or kills its worker harms no other; and threads.

Each worker has a thread here that sends it parts and waits for answers. A part that takes longer than the
time limit, or whose worker is ended by the system, is `Failed` with the cause in words; a new worker
takes the place of the lost one.

A worker answers the work itself with None, or with the error for which no worker could be set up; then it receives
parts, and answers each with `Done` or `Failed`. It ends when the driver closes the connection, and with the driver
however that ends.

A thread can't be interrupted. When a time limit is asked for, parts go to spawned workers that can be stopped, as many
as there are threads; what can't be sent to a worker runs here, without limit.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import types
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from multiprocessing.reduction import ForkingPickler
from typing import Any

from evenhand.core.blas import OneThread
from evenhand.core.engine import Done, Failed, In, Out, Workplace, attempt, cause_of, prepare
from evenhand.core.errors import EvenhandError, PartError
from evenhand.core.records import Array
from evenhand.engines.pool import PoolWorker, WorkerPool, WorkersHere
from evenhand.engines.shared_arrays import SharedArray
from evenhand.files.safe_path import safe_path

TIME_LIMIT = 30.0  # seconds for reading a picture that may keep its decoder busy for ever; a sound one takes a fraction
_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")
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
        try:
            yield from WorkerPool(self.workers, lambda: _SpawnedWorker(payload, arrays, time_limit)).map(parts)
        finally:
            for array in arrays:
                array.close()


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
class _ThreadWorker(PoolWorker):
    """What the thread itself does; a part is worked on to its end."""

    fn: Callable[[Any, Workplace], Any]
    setup: Callable[[], Any] | None
    shared: tuple[Array, ...]
    place: Workplace | None = None

    def work(self, number: int, part: Any) -> Done[Any] | Failed:
        if self.place is None:
            OneThread().hold(to_the_end=False)  # OpenMP counts its threads for each thread of ours
            self.place = Workplace(prepare(self.setup), self.shared)
        return attempt(self.fn, number, part, self.place)


class _SpawnedWorker(PoolWorker):
    """One process, which is started with its first part and again when it was lost."""

    def __init__(self, payload: bytes, shared: tuple[SharedArray, ...], time_limit: float | None) -> None:
        self._payload, self._shared, self._time_limit = payload, shared, time_limit
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._is_interrupted = False

    def work(self, number: int, part: Any) -> Done[Any] | Failed:
        self._connection = connection = self._connection or self._start()
        assert self._process is not None
        limit = self._time_limit
        try:
            connection.send((number, part))
            if connection.poll(limit):
                outcome: Done[Any] | Failed = connection.recv()
                return outcome
            self._process.kill()
            cause = f"took longer than {limit:g} s and was stopped"
        except (EOFError, OSError):
            self._process.join()
            cause = f"its worker process was lost ({_ending(self._process)})"
        except EvenhandError:
            raise
        except Exception as error:
            return Failed(number, f"it can't be sent to a worker ({cause_of(error)})")
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
            self._connection.close()
        if (process := self._process) is not None:
            process.join(_PATIENCE)
            if process.is_alive():
                process.kill()
                process.join()
            process.close()
        self._connection = self._process = None

    def _start(self) -> Connection:
        """The connection to a new worker that is set up."""
        here, there = multiprocessing.get_context("spawn").Pipe()
        process = multiprocessing.get_context("spawn").Process(
            target=_serve, args=(there, self._shared), daemon=True, name="evenhand worker"
        )
        with _STARTING, safe_path(), _program_left_out(self._payload):
            process.start()
        there.close()
        self._process = process
        if self._is_interrupted:
            process.kill()
        try:
            here.send_bytes(self._payload)
            error: EvenhandError | None = here.recv()
        except (EOFError, OSError):
            process.join()
            raise PartError(
                f"A worker process ended before it was ready ({_ending(process)}). In a script of your own, "
                'call evenhand below `if __name__ == "__main__":`, or use serial or threads:N.'
            ) from None
        if error is not None:
            raise error
        return here


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


def _serve(connection: Connection, shared: tuple[Any, ...]) -> None:
    """Serve parts until the driver closes the connection."""
    _end_with_the_driver()
    _may_have_workers()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the driver decides
    for name in _THREAD_COUNTS:  # for libraries that are still to be loaded
        os.environ[name] = "1"
    blas = OneThread()
    try:
        fn, setup = connection.recv()
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
    while True:
        try:
            number, part = connection.recv()
        except EOFError:
            return
        if blas.is_stale:
            blas.hold()
        outcome = attempt(fn, number, part, place)
        try:
            connection.send(outcome)
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as error:
            connection.send(Failed(number, f"its result can't be sent back ({cause_of(error)})"))


def _may_have_workers() -> None:
    """Let a part start workers of its own, to read pictures that may hang; Python forbids it to daemons by default.

    They end with this worker as it ends with its driver, so nothing is left behind.
    """
    config: dict[str, Any] = vars(multiprocessing.current_process()).get("_config", {})
    config["daemon"] = False


def _end_with_the_driver() -> None:
    """Ask the system to end this process when the driver's thread ends, even if a decoder hangs here."""
    if sys.platform != "linux":
        return
    with suppress(OSError, AttributeError):
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
