"""Arrays that are stored once and seen by every worker.

On Linux the bytes lie in anonymous memory, elsewhere in a nameless temporary file; a worker maps them
and copies nothing. Where a handle can't be passed on, the array itself is sent.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from multiprocessing import reduction
from typing import Any

import numpy as np

from evenhand.core.records import Array


class SharedArray:
    """An array outside of this process's own memory."""

    def __init__(self, array: Array) -> None:
        array = np.ascontiguousarray(array)
        self._dtype, self._shape = array.dtype, array.shape
        self._array: Array | None = None
        self._handle: int | None = None
        if os.name != "posix" or array.dtype.hasobject or not array.size:
            self._array = array
            return
        self._handle = _nameless()
        with open(self._handle, "wb", closefd=False) as file:
            file.write(array.reshape(-1).view(np.uint8).data)

    def close(self) -> None:
        """Give the memory back."""
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def open(self) -> Array:
        """The array, read-only where it is shared."""
        if self._handle is None:
            assert self._array is not None
            return self._array
        size = self._dtype.itemsize * int(np.prod(self._shape))
        view = mmap.mmap(self._handle, size, prot=mmap.PROT_READ)
        return np.frombuffer(view, dtype=self._dtype).reshape(self._shape)

    def __getstate__(self) -> dict[str, Any]:
        handle = None if self._handle is None else reduction.DupFd(self._handle)
        return {"_dtype": self._dtype, "_shape": self._shape, "_array": self._array, "_handle": handle}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if state["_handle"] is not None:
            self._handle = state["_handle"].detach()


def _nameless() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("evenhand")
    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
