"""No code from the current folder.

Python puts the current folder in front of its module path for `python -c`, `python -m` and an interactive session. A
file `multiprocessing.py` or `pip.py` that lies in a downloaded data set would then run as soon as a worker or a tool is
started there. Every interpreter that evenhand starts is started inside `safe_path()`, and the command line drops the
current folder from its own path first.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_NAME = "PYTHONSAFEPATH"
_LOCK = threading.RLock()


@contextmanager
def safe_path() -> Iterator[None]:
    """Interpreters that are started in this block do not put the current folder, or a script's, on their path."""
    with _LOCK:
        before = os.environ.get(_NAME)
        os.environ[_NAME] = "1"
        try:
            yield
        finally:
            if before is None:
                os.environ.pop(_NAME, None)
            else:
                os.environ[_NAME] = before


def leave_current_folder() -> None:
    """Take the current folder off this program's module path, unless PYTHONPATH names it.

    Only for a program of our own (the command line); in a user's session the path is the user's.
    """
    named = {os.path.realpath(entry) for entry in os.environ.get("PYTHONPATH", "").split(os.pathsep) if entry}
    here = os.path.realpath(Path.cwd())
    if here not in named:
        sys.path[:] = [entry for entry in sys.path if entry and os.path.realpath(entry) != here]
