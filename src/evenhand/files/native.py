"""Native libraries that write on standard error by themselves."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_ONE_AT_A_TIME = threading.Lock()  # standard error is the process's


@contextmanager
def without_native_messages() -> Iterator[None]:
    """Around a call of native code: what it prints is not shown, unless EVENHAND_TRACEBACK=1 asks for it."""
    if os.environ.get("EVENHAND_TRACEBACK"):
        yield
        return
    with _ONE_AT_A_TIME:
        kept, null = os.dup(2), os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 2)
        try:
            yield
        finally:
            os.dup2(kept, 2)
            os.close(kept)
            os.close(null)
