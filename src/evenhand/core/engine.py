"""Where work runs, and how states are added.

An engine has one method; what more some engines can do are protocols of their own (`SizedEngine`,
`InterruptibleEngine`, `ReportingEngine`, `ClusterEngine`). The benchmark decides the parts (a part is a description:
ids, a file, a range of rows), the engine decides where they run. Results come back in the order of the parts;
a part that failed comes as `Failed`, beside the finished ones.

`total` adds along a binary tree whose shape depends on the number of parts only, so one
worker and sixty-four give the same bits.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar, runtime_checkable

from evenhand.core.blas import OneThread
from evenhand.core.errors import EvenhandError, PartError
from evenhand.core.records import Array

In = TypeVar("In")
Out = TypeVar("Out")


class Workplace(NamedTuple):
    """What a worker keeps between parts: what `setup` returned, and the shared arrays."""

    kept: Any = None
    shared: tuple[Array, ...] = ()


@dataclass(frozen=True)
class Done(Generic[Out]):
    """A finished part."""

    part: int
    value: Out


@dataclass(frozen=True)
class Failed:
    """A part that raised, ran out of time or lost its worker; with the cause in words."""

    part: int
    cause: str
    detail: str = ""  # the traceback, where there is one


class Engine(Protocol):
    """Runs a function over parts."""

    @property
    def name(self) -> str: ...

    def map(
        self,
        fn: Callable[[In, Workplace], Out],
        parts: Iterable[In],
        *,
        setup: Callable[[], Any] | None = None,
        shared: Sequence[Array] = (),
        time_limit: float | None = None,
    ) -> Iterator[Done[Out] | Failed]:
        """Run `fn(part, workplace)` for every part, in any order; yield in the order of parts.

        `setup` runs once per worker and may load a model; `shared` arrays are placed once.
        `time_limit` (seconds) bounds a part that may hang in a decoder; engines that can't
        interrupt a part ignore it.
        """


@dataclass(frozen=True)
class Work(Generic[In, Out]):
    """What is done with every part: the arguments of `Engine.map`."""

    fn: Callable[[In, Workplace], Out]
    setup: Callable[[], Any] | None = None
    shared: Sequence[Array] = ()
    time_limit: float | None = None

    def on(self, engine: Engine, parts: Iterable[In]) -> Iterator[Done[Out] | Failed]:
        """The outcome of every part on an engine."""
        return engine.map(self.fn, parts, setup=self.setup, shared=self.shared, time_limit=self.time_limit)


class WorkEngine:
    """The `map` of an engine that says how it runs some work."""

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
        return self.run(Work(fn, setup, shared, time_limit), parts)

    def run(self, work: Work[In, Out], parts: Iterable[In]) -> Iterator[Done[Out] | Failed]:
        """The outcome of every part, in order."""
        raise NotImplementedError


@runtime_checkable
class SizedEngine(Engine, Protocol):
    """An engine that knows how many parts it runs at once."""

    def size(self) -> int: ...


@runtime_checkable
class InterruptibleEngine(Engine, Protocol):
    """An engine that stops a part at its time limit."""

    def accepts(self, *functions: Any) -> bool:
        """Whether these functions can be run there; some engines can't send every function to their workers."""


@runtime_checkable
class ReportingEngine(Engine, Protocol):
    """An engine that can report an outcome as soon as it is there, before its turn in the order of parts."""

    def with_listener(self, on_outcome: Callable[[Done[Any] | Failed], None]) -> Engine: ...


@runtime_checkable
class ClusterEngine(Engine, Protocol):
    """An engine whose workers can be sized: how many (0: as now), GPUs for each, parts at once in each."""

    def with_workers(self, workers: int, gpus: float, at_once: int) -> Engine: ...


@dataclass(frozen=True)
class Serial(WorkEngine):
    """One part after the other, here, with one thread of linear algebra.

    A part can't be interrupted here: with a time limit, parts go to `interruptible`, where there is one that accepts
    the functions.
    """

    interruptible: InterruptibleEngine | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        return "serial"

    def size(self) -> int:
        """One."""
        return 1

    def run(self, work: Work[In, Out], parts: Iterable[In]) -> Iterator[Done[Out] | Failed]:
        other = self.interruptible
        if work.time_limit is not None and other is not None and other.accepts(work.fn, work.setup):
            yield from work.on(other, parts)
            return
        blas = OneThread()
        with blas.held():
            place = Workplace(prepare(work.setup), tuple(work.shared))
        for number, part in enumerate(parts):
            with blas.held():
                outcome = attempt(work.fn, number, part, place)
            yield outcome


def prepare(setup: Callable[[], Any] | None) -> Any:
    """What `setup` returns; what it raises becomes one of our errors, for it concerns every part."""
    if setup is None:
        return None
    try:
        return setup()
    except EvenhandError:
        raise
    except Exception as error:
        raise PartError(f"No part was started: a worker could not be set up ({cause_of(error)}).") from error


def attempt(fn: Callable[[In, Workplace], Out], number: int, part: In, place: Workplace) -> Done[Out] | Failed:
    """What became of one part."""
    try:
        return Done(number, fn(part, place))
    except Exception as error:  # a part that raises must not take the others with it
        return Failed(number, cause_of(error), "".join(traceback.format_exception(error)))


def cause_of(error: BaseException) -> str:
    """What was raised, in a line."""
    return f"{type(error).__name__}: {error}"


def finished(outcomes: Iterable[Done[Out] | Failed], what: str = "part") -> Iterator[Out]:
    """The values of all parts, in order; raises at the end when some failed, naming them."""
    failures: list[Failed] = []
    for outcome in outcomes:
        if isinstance(outcome, Failed):
            failures.append(outcome)
        else:
            yield outcome.value
    if failures:
        shown = "; ".join(f"{what} {failure.part}: {failure.cause}" for failure in failures[:5])
        more = f"; and {len(failures) - 5} more" if len(failures) > 5 else ""
        raise PartError(f"{len(failures)} {what}s failed, the others were finished. {shown}{more}.")


class Addable(Protocol):
    """Anything with `+`."""

    def __add__(self, other: Self, /) -> Self: ...


A = TypeVar("A", bound=Addable)


def total(states: Iterable[A]) -> A | None:
    """The sum of all states along a fixed binary tree; None when there are none.

    Holds at most one partial sum per level of the tree, so a long stream is added in little memory.

    >>> total([1, 2, 3, 4, 5])
    15
    """
    levels: list[tuple[int, A]] = []  # (height, sum), heights strictly decreasing
    for state in states:
        height = 0
        while levels and levels[-1][0] == height:
            state = levels.pop()[1] + state
            height += 1
        levels.append((height, state))
    if not levels:
        return None
    whole = levels.pop()[1]
    while levels:
        whole = levels.pop()[1] + whole
    return whole
