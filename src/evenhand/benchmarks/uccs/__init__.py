"""The UCCS watchlist challenge: faces in surveillance pictures, found and named.

Files: `data`, `detections`, `scores`, `stores` (reading), `record` (the protocol), `scoring` (from embeddings
to similarities), `tasks` (the contents). The challenge's own commands are in `evenhand.compat.uccs`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.uccs.tasks import benchmark

__all__ = ["benchmark"]


def __getattr__(name: str) -> Any:
    if name == "benchmark":
        from evenhand.benchmarks.uccs.tasks import benchmark as family

        return family
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
