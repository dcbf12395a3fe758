"""The engine: parts in, outcomes in order, whatever becomes of workers and machines.

The driver keeps the list of who works on what. A worker that is lost gives its parts back; the part that it was
working on is tried again elsewhere, a few times, because it may be what ends workers.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any

from evenhand.core.engine import Done, Failed, In, Out, Work, WorkEngine, cause_of
from evenhand.core.errors import EngineError, OptionError, PartError, StorageError
from evenhand.core.records import Array
from evenhand.engines.local import AHEAD, in_order
from evenhand.engines.ray_cluster import worker as worker_module
from evenhand.engines.ray_cluster.joining import CLIENT, compare, join

_LOG = logging.getLogger("evenhand")
ATTEMPTS = 3  # at a part whose worker is lost
_QUEUED = 2  # parts that a worker holds, so that it never waits for the next
_PATIENCE = 60.0  # seconds without any worker before we say so, or give up
_REST = 5.0  # seconds that workers are kept between two maps


def parse(text: str) -> RayEngine:
    """The engine that a text names; nothing is imported or joined before there is work.

    >>> parse("ray").name, parse("ray:8").name, parse("ray://head:10001").name
    ('ray', 'ray:8', 'ray://head:10001')
    >>> parse("ray:many")
    Traceback (most recent call last):
    ...
    evenhand.core.errors.OptionError: Engine 'ray:many': expected ray, ray:8 (workers) or ray://HOST:PORT.
    """
    text = text.strip()
    if text.startswith(CLIENT) and text != CLIENT:
        return RayEngine(text)
    name, _, count = text.partition(":")
    if name == "ray" and not count and not text.endswith(":"):
        return RayEngine()
    if not (count.isascii() and count.isdigit() and 1 <= int(count) <= 100_000):
        raise OptionError(f"Engine {text!r}: expected ray, ray:8 (workers) or ray://HOST:PORT.")
    return RayEngine(workers=int(count))


def _ignore(outcome: Done[Any] | Failed) -> None:
    """No listener."""


@dataclass(frozen=True)
class RayEngine(WorkEngine):
    """A cluster; `workers` bounds how many of its cores are used, `gpus` is what each worker holds."""

    address: str = ""
    workers: int | None = None
    gpus: float = 0.0
    at_once: int = 1  # parts that a worker may be in; more than one only for work that guards itself
    on_outcome: Callable[[Done[Any] | Failed], None] = _ignore
    idle: _IdleWorkers = field(default_factory=lambda: _IdleWorkers(), compare=False, repr=False)

    @property
    def name(self) -> str:
        return self.address or ("ray" if self.workers is None else f"ray:{self.workers}")

    def with_listener(self, on_outcome: Callable[[Done[Any] | Failed], None]) -> RayEngine:
        """The same engine, which reports every part as soon as it is finished, before its turn has come."""

        def both(outcome: Done[Any] | Failed) -> None:
            self.on_outcome(outcome)
            on_outcome(outcome)

        return replace(self, on_outcome=both)

    def with_workers(self, workers: int, gpus: float, at_once: int) -> RayEngine:
        """The same engine with so many workers (0: as now), each with so many GPUs and parts at once."""
        return replace(self, workers=workers or self.workers, gpus=gpus, at_once=at_once, idle=_IdleWorkers())

    def run(self, work: Work[In, Out], parts: Iterable[In]) -> Iterator[Done[Out] | Failed]:
        ray = join(self.address, self.workers)
        size = self.size(ray)
        pool = _ActorPool(ray, self, size, _payload(ray, work.fn, work.setup), work.time_limit)
        try:
            pool.shared = [_placed(ray, array) for array in work.shared]
            yield from in_order(parts, pool.submit, pool.receive, size * max(AHEAD, 2 * self.at_once))
        finally:
            pool.release()

    def size(self, ray: Any = None) -> int:
        """How many workers it has; joins the cluster where that has to be asked."""
        if self.workers is not None:
            return self.workers
        ray = ray or join(self.address)
        kind, each = ("GPU", self.gpus) if self.gpus else ("CPU", 1.0)
        there = float(ray.cluster_resources().get(kind, 0.0))
        if there < each:
            raise EngineError(f"The cluster has {there:g} {kind}s, and a worker needs {each:g}. Add a node to it.")
        return int(there // each)


@dataclass
class _Task:
    """A part on its way, and how often a worker was lost over it."""

    number: int
    part: Any
    lost: int = 0


@dataclass
class _ActorWorker:
    """One worker: ready when it has answered from where it runs and has set itself up."""

    actor: Any
    where: Any  # the reference of its first answer, None once it has come
    set_up: Any  # likewise
    tasks: dict[Any, tuple[_Task, float]] = field(default_factory=dict)  # by reference, in the order of work

    @property
    def is_ready(self) -> bool:
        return self.where is None and self.set_up is None


class _IdleWorkers:
    """Where workers wait for the next map, for they are costly to start; after a while the cluster has them back."""

    def __init__(self) -> None:
        self._workers: list[tuple[_ActorWorker, Callable[[_ActorWorker], None]]] = []  # and how each is ended
        self._lock = threading.Lock()
        self._timer: threading.Timer | None = None

    def add(self, worker: _ActorWorker, end: Callable[[_ActorWorker], None]) -> None:
        with self._lock:
            self._workers.append((worker, end))
            self._restart_timer()

    def take(self) -> _ActorWorker | None:
        """A worker that waits here, if there is one."""
        with self._lock:
            if not self._workers:
                return None
            worker, _ = self._workers.pop()
            self._restart_timer()
            return worker

    def _end_all(self) -> None:
        with self._lock:
            for worker, end in self._workers:
                end(worker)
            self._workers.clear()

    def _restart_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._timer = threading.Timer(_REST, self._end_all)
        self._timer.daemon = True
        self._timer.start()


class _ActorPool:
    """The workers of one map, and the parts between them."""

    def __init__(self, ray: Any, engine: RayEngine, size: int, payload: Any, time_limit: float | None) -> None:
        self.ray, self.engine, self.size, self.payload, self.time_limit = ray, engine, size, payload, time_limit
        self.shared: list[Any] = []
        self.waiting: deque[_Task] = deque()
        self.outcomes: deque[Done[Any] | Failed] = deque()
        self.workers: list[_ActorWorker] = []
        self.open_tasks = self.ended_early = 0
        self.here = worker_module.installed()
        self.idle_since = monotonic()

    def submit(self, task: tuple[int, Any]) -> None:
        self.open_tasks += 1
        self.waiting.append(_Task(*task))
        self._start_workers()
        self._distribute()

    def receive(self) -> Done[Any] | Failed:
        while not self.outcomes:
            self._distribute()
            if not self.outcomes:
                self._wait()
        self.open_tasks -= 1
        outcome = self.outcomes.popleft()
        self.engine.on_outcome(outcome)
        return outcome

    def release(self) -> None:
        """Let the workers rest, for they are costly to start; end those that are still at work."""
        for worker in self.workers:
            if worker.where is None and not worker.tasks:
                worker.actor.rest.remote()
                self.engine.idle.add(worker, self._end)
            else:
                self._end(worker)
        self.workers.clear()
        self.shared.clear()

    def _start_workers(self) -> None:
        while len(self.workers) < min(self.size, self.open_tasks):
            worker = self.engine.idle.take()
            if worker is None:
                options = {"num_cpus": 1, "num_gpus": self.engine.gpus, "max_concurrency": self.engine.at_once}
                actor = self.ray.remote(worker_module.Worker).options(**options, max_restarts=0).remote()
                worker = _ActorWorker(actor, actor.where.remote(), None)
            worker.set_up = worker.actor.set_up.remote(self.payload, *self.shared)
            self.workers.append(worker)

    def _distribute(self) -> None:
        """Give waiting parts to workers that have few, the same number to each."""
        # With a time limit the clock of a part starts when it is handed over, so none may wait behind another.
        most = 1 if self.time_limit is not None else max(_QUEUED, self.engine.at_once)
        ready = [worker for worker in self.workers if worker.is_ready]
        for level in range(most):
            for worker in ready:
                if self.waiting and len(worker.tasks) <= level:
                    self._send(worker, self.waiting.popleft())

    def _send(self, worker: _ActorWorker, task: _Task) -> None:
        try:
            reference = worker.actor.work.remote(task.number, task.part)
        except TypeError as error:  # Ray's word for what can't be serialised
            self.outcomes.append(Failed(task.number, f"it can't be sent to a worker ({_first_line(error)})"))
            return
        worker.tasks[reference] = (task, monotonic())

    def _wait(self) -> None:
        """Wait until a worker reports, or a time limit has passed."""
        worker_of: dict[Any, _ActorWorker] = {}
        for worker in self.workers:
            for reference in (worker.where, worker.set_up, *worker.tasks):
                if reference is not None:
                    worker_of[reference] = worker
        if any(worker.is_ready for worker in self.workers):
            self.idle_since = monotonic()
        elif monotonic() - self.idle_since > _PATIENCE:
            self._wait_on()
        come, _ = self.ray.wait(list(worker_of), num_returns=1, timeout=self._until_next_limit())
        for reference in come:
            worker = worker_of[reference]
            if worker in self.workers:
                self._receive(worker, reference)
        self._stop_overdue()

    def _wait_on(self) -> None:
        """On a busy cluster one waits for a core; on one that has none left there is nothing to wait for."""
        if float(self.ray.cluster_resources().get("CPU", 0.0)) < 1:
            raise EngineError(
                "The cluster has no machine left that could work (`ray status` tells). "
                "What was finished is kept; start the same command again."
            )
        _LOG.warning("All cores of the cluster are taken; waiting for one.")
        self.idle_since = monotonic()

    def _until_next_limit(self) -> float:
        if self.time_limit is None:
            return 5.0
        begun = [since for worker in self.workers for _, since in worker.tasks.values()]
        return max(0.0, min(begun, default=monotonic()) + self.time_limit - monotonic()) + 0.01

    def _receive(self, worker: _ActorWorker, reference: Any) -> None:
        raised = self.ray.exceptions
        try:
            answer = self.ray.get(reference)
        except raised.RayTaskError as error:  # the worker lives, and could not say what it wanted to say
            if reference not in worker.tasks:  # evenhand can't be imported there: versions are compared where they come
                raise EngineError(
                    f"A worker of the cluster could not be set up ({_first_line(error)}). "
                    "Install evenhand with the same versions on every machine; no part was started."
                ) from None
            task, _ = worker.tasks.pop(reference)
            self.outcomes.append(Failed(task.number, f"its result can't be sent back ({_first_line(error)})"))
            return
        except raised.OutOfDiskError as error:
            raise StorageError(
                f"A disk of the cluster is full, where Ray keeps what does not fit into memory ({_first_line(error)}). "
                "Free some space there; what was finished is kept."
            ) from error
        except raised.RayError as error:
            self._lose(worker, error)
            return
        if reference == worker.where:
            worker.where = None
            node, _, there = answer
            compare(self.here, there, node)
        elif reference == worker.set_up:
            worker.set_up = None
            if isinstance(answer, BaseException):
                raise answer
        else:
            worker.tasks.pop(reference)
            self.ended_early = 0
            self.outcomes.append(answer)

    def _lose(self, worker: _ActorWorker, error: Exception) -> None:
        """A worker is gone: its parts are given to others, and another worker takes its place."""
        was_ready = worker.is_ready
        self._end(worker)
        self.workers.remove(worker)
        given = [task for task, _ in worker.tasks.values()]
        for task in given[: self.engine.at_once]:  # those that it was working on
            task.lost += 1
            if task.lost >= ATTEMPTS:
                given.remove(task)
                self.outcomes.append(
                    Failed(task.number, f"its worker was lost {task.lost} times ({_ending(error)})", cause_of(error))
                )
        self.waiting.extendleft(reversed(given))
        if not was_ready:
            self.ended_early += 1
            if self.ended_early > ATTEMPTS * self.size:
                raise PartError(f"Workers of the cluster end before they are ready: {_ending(error)}.")
        self._start_workers()

    def _stop_overdue(self) -> None:
        if self.time_limit is None:
            return
        for worker in list(self.workers):
            for reference, (task, since) in list(worker.tasks.items()):
                if monotonic() - since <= self.time_limit or self.ray.wait([reference], timeout=0)[0]:
                    continue
                del worker.tasks[reference]
                self._end(worker)
                self.workers.remove(worker)
                self.outcomes.append(Failed(task.number, f"took longer than {self.time_limit:g} s and was stopped"))
                self._start_workers()

    def _end(self, worker: _ActorWorker) -> None:
        with suppress(Exception):  # it has ended already, or the connection has
            self.ray.kill(worker.actor, no_restart=True)


def _payload(ray: Any, fn: Any, setup: Any) -> Any:
    """The work, placed once; also makes Ray send the class of workers by value."""
    ray.cloudpickle.register_pickle_by_value(worker_module)
    try:
        return ray.put(ray.cloudpickle.dumps((fn, setup)))
    except Exception as error:
        raise PartError(
            f"The work can't be sent to a cluster ({_first_line(error)}). "
            "It holds something that belongs to this process: an open file, a lock, a connection."
        ) from None


def _placed(ray: Any, array: Array) -> Any:
    try:
        return ray.put(array)
    except ray.exceptions.ObjectStoreFullError:
        raise EngineError(
            f"The cluster's object store has no room for an array of {array.nbytes / 1e9:.1f} GB. Start its nodes "
            "with a larger --object-store-memory."
        ) from None
    except ray.exceptions.OutOfDiskError:
        raise StorageError(
            f"The disk on which Ray keeps what does not fit into memory has no room for an array of "
            f"{array.nbytes / 1e9:.1f} GB. Free some space, or start the nodes with a larger --object-store-memory."
        ) from None


def _ending(error: Exception) -> str:
    """How a worker ended, in a line.

    >>> _ending(RuntimeError("Task was killed due to the node running low on memory."))
    'it ran out of memory; give it smaller parts, fewer workers per machine, or more memory'
    """
    kind, text = type(error).__name__, " ".join(str(error).lower().split())
    # An actor that is lost for memory or with its machine may come as an ActorDiedError, which says why by text alone.
    if kind == "OutOfMemoryError" or "running low on memory" in text:
        return "it ran out of memory; give it smaller parts, fewer workers per machine, or more memory"
    if kind in ("NodeDiedError", "OwnerDiedError") or "node died" in text or "node has died" in text:
        return "its machine was lost"
    if "unexpectedly" in text:
        return "it was ended by the system, which may have run out of memory"
    return _first_line(error)


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    last = lines[-1] if lines[0].startswith(("\x1b", "ray::")) else lines[0]
    return last[:300]
