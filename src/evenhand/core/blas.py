"""One thread of linear algebra per part.

A product of matrices that is split over threads adds in another order, so its last bits depend
on the number of threads. Every part therefore runs with one, whatever the engine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class OneThread:
    """Holds the libraries that are loaded to one thread; looks again when modules were imported since."""

    def __init__(self) -> None:
        self._controller: Any = None
        self._modules = 0

    @contextmanager
    def held(self) -> Iterator[None]:
        """While it is open, linear algebra runs on one thread."""
        torch = sys.modules.get("torch")
        threads = torch.get_num_threads() if torch is not None else 1
        with self._current().limit(limits=1):
            if torch is not None and threads != 1:
                torch.set_num_threads(1)
            try:
                yield
            finally:
                if torch is not None and threads != 1:
                    torch.set_num_threads(threads)

    def hold(self) -> None:
        """From here on, in this process, linear algebra runs on one thread."""
        self._current().limit(limits=1)
        torch = sys.modules.get("torch")
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
