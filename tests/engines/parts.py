"""Work for engines, at the top of a module so that processes can load it."""

import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.engine import Workplace
from evenhand.core.errors import DataError


def square(part: int, place: Workplace) -> int:
    return part * part


def unequally_slow(part: int, place: Workplace) -> int:
    time.sleep(0.02 * (part % 3 == 0))
    return part


def with_place(part: int, place: Workplace) -> tuple[int, float, Any]:
    return part, float(place.shared[0][part]), place.kept


def where(part: int, place: Workplace) -> int:
    return os.getpid()


def troubled(part: str, place: Workplace) -> str:
    if part == "raise":
        raise ValueError("picture 7 is damaged")
    if part == "hang":
        while True:  # holds Python's lock and never listens, as a decoder does
            pass
    if part == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if part == "exit":
        os._exit(5)
    if part == "unsendable":
        return lambda: None  # type: ignore[return-value]  # what no process can be sent
    if part == "print":
        print("a model that talks")
        sys.stdout.flush()
    return part


def product(seed: int, place: Workplace) -> bytes:
    """A matrix product whose last bits depend on the number of threads."""
    matrix = np.random.default_rng(seed).standard_normal((300, 300))
    return bytes((matrix @ matrix.T).tobytes())


def threads_of_blas(part: int, place: Workplace) -> int:
    from threadpoolctl import threadpool_info

    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


def load_model() -> str:
    return "a model"


def load_nothing() -> None:
    raise RuntimeError("no weights here")


def load_bad_data() -> None:
    raise DataError("weights.bin is empty.")


def read_picture(path: Path, place: Workplace) -> int:
    if path.name == "hangs.jpg":
        while True:
            pass
    if path.name == "damaged.jpg":
        raise OSError("broken data stream")
    return len(path.name)


def of_shared(part: int, place: Workplace) -> list[tuple[tuple[int, ...], Any]]:
    return [(array.shape, array.tolist()) for array in place.shared]


def guarded(part: str, place: Workplace) -> list[str]:
    """A part that guards its own decoding."""
    from evenhand.engines import parse

    outcomes = parse("serial").map(troubled, [part, "hang"], time_limit=1.0)
    return [getattr(outcome, "value", None) or outcome.cause for outcome in outcomes]


def slow_where(part: int, place: Workplace) -> int:
    time.sleep(0.1)
    return os.getpid()


def waits_for_a_later_one(part: tuple[int, str], place: Workplace) -> int:
    number, marker = part
    if number == 3:
        Path(marker).touch()
    deadline = time.monotonic() + 20
    while number == 0 and not Path(marker).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    return number


def owns_its_data(part: int, place: Workplace) -> tuple[bool, bool]:
    (array,) = place.shared
    return bool(array.flags.owndata), bool(array.flags.writeable)


def dies_the_first_time(part: str, place: Workplace) -> str:
    if not Path(part).exists():
        Path(part).touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return "done"


def greedy(part: int, place: Workplace) -> int:
    return len(np.empty(part, dtype=np.uint8))
