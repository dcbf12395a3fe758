"""IJB-A, IJB-B and IJB-C: verification, search, detection and clustering of faces in the wild."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.ijb.tasks import benchmark

__all__ = ["benchmark"]


def __getattr__(name: str) -> Any:
    if name == "benchmark":
        from evenhand.benchmarks.ijb.tasks import benchmark as family

        return family
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
