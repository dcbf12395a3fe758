"""FairFace: gender, race and age of a face, from any kind of answer."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.benchmarks.fairface.command import read
    from evenhand.benchmarks.fairface.tasks import benchmark

__all__ = ["benchmark", "read"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(f"{__name__}.{'tasks' if name == 'benchmark' else 'command'}")
    return getattr(module, name)
