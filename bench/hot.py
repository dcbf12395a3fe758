"""What a benchmark is: ours, the peer's and the bound, over the same data in one run.

`bench/<family>.py` offers `HOT`, a list of `Hot`. Each side runs in a process of its own, so
that its peak memory is its own; the peer runs in `.venv-bench`, where its packages are. The
module is imported by both environments: import evenhand and peers inside the functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

Side = Callable[[Any], Any]


def promises_cpu(goal: str) -> bool:
    """Whether a goal is about the CPU that ours takes; "(published: 67 CPU s)" is about another's."""
    return "CPU" in goal.replace("CPU s", "")


@dataclass(frozen=True)
class Hot:
    """One hot path."""

    name: str  # "stats/grouped_accuracy"
    what: str  # one line: the work, with its size
    prepare: Callable[[], Any]  # the data, made from a fixed seed; not timed
    ours: Side
    peer: Side | None = None
    peer_name: str = ""
    peer_here: bool = False  # the peer needs nothing but our own environment
    peer_share: float = 1.0  # the part of the work that the peer is given; its time is scaled up
    bound: Side | None = None  # what no implementation can beat: a copy, a GEMM, a bincount
    bound_name: str = ""
    goal: str = ""  # what we promise, in words
    repeat: int = 3  # the best of so many is taken
    peer_repeat: int = 1
    slow: bool = False  # left out unless named or `--all`
