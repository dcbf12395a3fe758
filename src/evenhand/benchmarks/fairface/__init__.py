"""FairFace: gender, race and age of a face, from any kind of answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.fairface.command import read
    from evenhand.benchmarks.fairface.tasks import benchmark

__all__ = ["benchmark", "read"]


def __getattr__(name: str) -> Any:
    if name == "benchmark":
        from evenhand.benchmarks.fairface import tasks

        return tasks.benchmark
    if name == "read":
        from evenhand.benchmarks.fairface import command

        return command.read
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
