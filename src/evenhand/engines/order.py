"""What all engines share: one attempt at a part, and outcomes in the order of parts."""

from __future__ import annotations

import traceback
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from evenhand.core.engine import Done, Failed, In, Out, Workplace
from evenhand.core.errors import EvenhandError, PartError

AHEAD = 4  # parts per worker that may be finished before they are asked for


def prepare(setup: Callable[[], Any] | None) -> Any:
    """What `setup` gives; what it raises becomes one of our errors, for it concerns every part."""
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
    exhausted = False
    while True:
        while not exhausted and submitted - given < ahead:
            entry = next(source, None)
            if entry is None:
                exhausted = True
            else:
                submit(entry)
                submitted += 1
        if given == submitted:
            return
        while given not in waiting:
            outcome = receive()
            waiting[outcome.part] = outcome
        yield waiting.pop(given)
        given += 1
