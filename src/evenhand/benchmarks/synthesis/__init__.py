"""Human image synthesis: motion imitation, appearance transfer, novel views, and plain folders of pictures.

`benchmark` is found by entry point; nothing heavy is imported before a task is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.core.task import Benchmark

    benchmark: Benchmark


def __getattr__(name: str) -> Any:
    if name != "benchmark":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from evenhand.benchmarks.synthesis.tasks import benchmark

    return benchmark
