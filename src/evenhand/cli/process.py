"""How a process that runs one command keeps its memory.

A command makes and forgets many arrays of tens of megabytes. The C library would give each back to the system and ask
for it again, and the system clears every page that it hands out: at the size of IJB-C a fifth of the CPU. Here freed
memory stays with the process, which ends soon. Python looks rarely for values that refer to each other: few do.

This is for commands, not for the package: who imports evenhand decides on their own process.
"""

from __future__ import annotations

import ctypes
import gc

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # parameters of the C library's `mallopt`
_LARGEST = 1 << 30  # bytes: a larger array is given back at once


def prepare_process(*, is_lasting: bool = False) -> None:
    """Settings for the process of a command; one that goes on running gives freed memory back.

    Without effect on memory where the C library has no such setting.
    """
    gc.freeze()
    gc.set_threshold(100_000, 20, 20)
    if is_lasting:
        return
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (AttributeError, OSError, TypeError):  # not the GNU C library
        return
    mallopt(_MMAP_THRESHOLD, _LARGEST)
    mallopt(_TRIM_THRESHOLD, 2 * _LARGEST - 1)
