"""One thread of linear algebra per part.

A product of matrices that is split over threads adds in another order, so its last bits depend
on the number of threads. Every part therefore runs with one, whatever the engine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_holds = 0  # that are open in this process
_threads_of_new_torch: int | None = None  # how many it started with, when it was imported inside of one


def hold_new_torch() -> None:
    """Hold torch to one thread where a part may have imported it: what was not loaded then was not held."""
    global _threads_of_new_torch
    torch = sys.modules.get("torch")
    if _holds and torch is not None and torch.get_num_threads() != 1:
        _threads_of_new_torch = torch.get_num_threads()
        torch.set_num_threads(1)


class OneThread:
    """Holds the libraries that are loaded to one thread; looks again when modules were imported since."""

    def __init__(self) -> None:
        self._controller: Any = None
        self._modules = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """While it is open, linear algebra runs on one thread; torch too if it is imported meanwhile."""
        global _holds
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if torch is not None else None
        with self._current().limit(limits=1):
            if torch is not None and threads != 1:
                torch.set_num_threads(1)
            _holds += 1
            try:
                yield
            finally:
                _holds -= 1
                if threads is None and not _holds:
                    torch, threads = sys.modules.get("torch"), _threads_of_new_torch
                if torch is not None and threads is not None and torch.get_num_threads() != threads:
                    torch.set_num_threads(threads)

    def hold(self) -> None:
        """From here on, in this process, linear algebra runs on one thread."""
        global _holds
        _holds += 1
        self._current().limit(limits=1)
        hold_new_torch()

    @property
    def is_stale(self) -> bool:
        """Whether modules were imported since the libraries were looked up."""
        return len(sys.modules) != self._modules

    def _current(self) -> Any:
        from threadpoolctl import ThreadpoolController

        if self._controller is None or self.is_stale:
            self._modules = len(sys.modules)
            self._controller = ThreadpoolController()
        return self._controller
