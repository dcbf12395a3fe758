"""The family as the registry finds it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from evenhand.benchmarks.fhibe.names import NAMES
from evenhand.benchmarks.fhibe.tasks import FAMILY, TASKS
from evenhand.core.task import Benchmark, Demo


def _demo(folder: Path) -> Sequence[Demo]:
    from evenhand.benchmarks.fhibe.demo import write_demo

    return write_demo(folder)


benchmark = Benchmark(
    name=FAMILY,
    summary="Nine tasks on people who consented: boxes, masks, keypoints, parts, faces; with the bias report.",
    tasks=TASKS,
    demo=_demo,
    names=NAMES,
)
