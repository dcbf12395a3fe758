"""FairFace: gender, race and age of a face, from any kind of answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.fairface.tasks import benchmark

__all__ = ["benchmark"]


def __getattr__(name: str) -> Any:
    if name == "benchmark":
        from evenhand.benchmarks.fairface.tasks import benchmark as found

        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
