"""Verification sets: pairs of faces, and whether both show one person (LFW, CFP-FP, AgeDB-30, RFW, BFW and others)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.pairs.tasks import benchmark

__all__ = ["benchmark"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from evenhand.benchmarks.pairs.tasks import benchmark

    return benchmark
