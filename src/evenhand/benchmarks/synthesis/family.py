"""The family as it is registered: its name, its tasks, its demonstration."""

from __future__ import annotations

from evenhand.benchmarks.synthesis.demo import demo
from evenhand.benchmarks.synthesis.tasks import TASKS
from evenhand.core.task import Benchmark

benchmark = Benchmark(
    "synthesis",
    "Synthesised pictures of people: imitation, appearance transfer, novel views, plain folders.",
    TASKS,
    demo=demo,
)
