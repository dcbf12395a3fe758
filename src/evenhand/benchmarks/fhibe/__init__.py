"""FHIBE: nine tasks on people who consented, wrapped models, and the published bias report.

`benchmark` is the family; `write_outputs` and `encode_mask` are for people who infer elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.fhibe.codec import encode_mask, write_outputs
    from evenhand.benchmarks.fhibe.tasks import benchmark

__all__ = ["benchmark", "encode_mask", "write_outputs"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from evenhand.benchmarks.fhibe import codec, tasks

    return getattr(tasks if name == "benchmark" else codec, name)
