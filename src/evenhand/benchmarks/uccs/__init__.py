"""The UCCS watchlist challenge: faces in surveillance pictures, found and named.

Files: `data`, `detections`, `scores`, `stores`, `legacy` (reading), `matching`, `record`,
`evaluation` (the protocol), `scoring`, `baseline` (making score files), `tasks` (the contents).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.uccs.tasks import benchmark

__all__ = ["benchmark"]


def __getattr__(name: str) -> Any:
    if name == "benchmark":
        from evenhand.benchmarks.uccs.tasks import benchmark as found

        return found
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
