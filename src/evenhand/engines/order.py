"""What engines with several workers share: their number, and outcomes in the order of parts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import ClassVar

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
