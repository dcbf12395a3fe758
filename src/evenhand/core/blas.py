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
_torch_threads: int | None = None  # how many torch had before the first of them, or when it was imported inside


def hold_new_torch() -> None:
    """Hold torch to one thread where a part may have imported it: what was not loaded then was not held."""
    global _torch_threads
    torch = _loaded_torch()
    if _holds and torch is not None and torch.get_num_threads() != 1:
        _torch_threads = torch.get_num_threads()
        torch.set_num_threads(1)


def _loaded_torch() -> Any:
    """None also while another thread is still importing it."""
    torch = sys.modules.get("torch")
    return torch if hasattr(torch, "set_num_threads") else None


class OneThread:
    """Holds the libraries that are loaded to one thread; looks again when modules were imported since."""

    def __init__(self) -> None:
        self._controller: Any = None
        self._modules = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """While it is open, linear algebra runs on one thread; torch too if it is imported meanwhile."""
        global _holds, _torch_threads
        with self._current().limit(limits=1):
            _holds += 1
            hold_new_torch()
            try:
                yield
            finally:
                _holds -= 1
                if not _holds and _torch_threads is not None:
                    sys.modules["torch"].set_num_threads(_torch_threads)
                    _torch_threads = None

    def hold(self, *, to_the_end: bool = True) -> None:
        """From here on, in this process, linear algebra runs on one thread; in a thread of ours while a map is open."""
        global _holds
        _holds += to_the_end
        self._current().limit(limits=1)
        torch = _loaded_torch()
        if torch is not None:
            torch.set_num_threads(1)

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
