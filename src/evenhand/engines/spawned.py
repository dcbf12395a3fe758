"""What a spawned worker does: sets itself up, then works on one part after the other.

It talks to the driver over one connection. It answers the work itself with None, or with the error for which no worker
could be set up; then it receives parts, and answers each with `Done` or `Failed`. It ends when the driver closes the
connection, and with the driver however that ends.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
from multiprocessing.connection import Connection
from typing import Any

from evenhand.core.blas import OneThread
from evenhand.core.engine import Failed, Workplace, attempt, cause_of, prepare
from evenhand.core.errors import EvenhandError, PartError

_THREAD_COUNTS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS")


def work(connection: Connection, shared: tuple[Any, ...]) -> None:
    """Serve parts until the driver closes the connection."""
    _end_with_the_driver()
    _may_have_workers()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole terminal; the driver decides
    for name in _THREAD_COUNTS:  # for libraries that are still to be loaded
        os.environ[name] = "1"
    blas = OneThread()
    try:
        fn, setup = connection.recv()
        blas.hold()
        place = Workplace(prepare(setup), tuple(array.open() for array in shared))
    except EvenhandError as error:
        connection.send(error)
        return
    except EOFError:
        return
    except Exception as error:
        connection.send(PartError(f"A worker can't load the work it was sent ({cause_of(error)})."))
        return
    connection.send(None)
    while True:
        try:
            number, part = connection.recv()
        except EOFError:
            return
        if blas.is_stale:
            blas.hold()
        outcome = attempt(fn, number, part, place)
        try:
            connection.send(outcome)
        except (BrokenPipeError, ConnectionError):
            return
        except Exception as error:
            connection.send(Failed(number, f"its result can't be sent back ({cause_of(error)})"))


def _may_have_workers() -> None:
    """Let a part start workers of its own, to read pictures that may hang; Python forbids it to daemons by default.

    They end with this worker as it ends with its driver, so nothing is left behind.
    """
    config: dict[str, Any] = vars(multiprocessing.current_process()).get("_config", {})
    config["daemon"] = False


def _end_with_the_driver() -> None:
    """Ask the system to end this process when the driver's thread ends, even if a decoder hangs here."""
    if sys.platform != "linux":
        return
    with contextlib.suppress(OSError, AttributeError):
        import ctypes

        set_death_signal = 1
        ctypes.CDLL(None).prctl(set_death_signal, signal.SIGKILL)
