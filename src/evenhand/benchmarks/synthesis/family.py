"""The family as it is registered: its name, its tasks, its demonstration."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.benchmarks.synthesis.names import NAMES
from evenhand.benchmarks.synthesis.tasks import TASKS
from evenhand.core.task import Benchmark, Demo


def _demo(folder: Path) -> Sequence[Demo]:
    """Drawn people and a model that performs worse for some of them; the drawing code is loaded on demand."""
    from evenhand.benchmarks.synthesis.demo import demo

    return demo(folder)


def _limits() -> Iterable[tuple[str, str]]:
    """The metrics that lack a package or weights on this machine."""
    from evenhand.benchmarks.synthesis.availability import limits

    return limits()


benchmark = Benchmark(
    "synthesis",
    "Synthesised pictures of people: imitation, appearance transfer, novel views, plain folders.",
    TASKS,
    demo=_demo,
    limits=_limits,
    names=NAMES,
)
