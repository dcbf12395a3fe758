"""FHIBE: nine tasks on people who consented, wrapped models, and the published bias report.

`benchmark` is the family; `write_outputs` and `encode_mask` are for people who infer elsewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.fhibe.outputs import encode_mask, write_outputs
    from evenhand.core.task import Benchmark

    benchmark: Benchmark

__all__ = ["benchmark", "encode_mask", "write_outputs"]


def __getattr__(name: str) -> Any:
    if name == "benchmark":
        from evenhand.benchmarks.fhibe.family import benchmark

        return benchmark
    if name in ("write_outputs", "encode_mask"):
        from evenhand.benchmarks.fhibe import outputs

        return getattr(outputs, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
