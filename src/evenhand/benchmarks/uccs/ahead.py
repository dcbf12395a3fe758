"""Work on what comes next while what came before is used."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

In = TypeVar("In")
Out = TypeVar("Out")


def ahead(work: Callable[[In], Out], things: Iterable[In], threads: int = 2) -> Iterator[Out]:
    """Results in order, while other threads are at work on the next one or two.

    >>> list(ahead(len, ["a", "bc", ""]))
    [1, 2, 0]
    """
    with ThreadPoolExecutor(threads) as pool:
        waiting: deque[Future[Out]] = deque()
        for thing in things:
            waiting.append(pool.submit(work, thing))
            if len(waiting) > threads:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
