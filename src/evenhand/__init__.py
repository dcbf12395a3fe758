"""Evaluate vision models that look at people: published protocols, split by group, with honest uncertainty.

`evaluate`, `predict`, `load`, `compare` and `report` are the verbs of the command line. Names are
loaded when they are first used, so importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.api import compare, demo, evaluate, load, predict, report
    from evenhand.core.errors import EvenhandError
    from evenhand.core.metric import Curve, Direction, Grid, Metric, Undefined
    from evenhand.core.records import Attribute, Group, Records
    from evenhand.core.results import Contrast, Coverage, Estimate, Results, Summary
    from evenhand.core.task import Benchmark, Codec, Dataset, Model, Sample, Task, Unanswered
    from evenhand.store.runs import Run

__version__ = "0.1.0"

_HOMES = {
    "evenhand.api": ("compare", "demo", "evaluate", "load", "predict", "report"),
    "evenhand.core.errors": ("EvenhandError",),
    "evenhand.core.metric": ("Curve", "Direction", "Grid", "Metric", "Undefined"),
    "evenhand.core.records": ("Attribute", "Group", "Records"),
    "evenhand.core.results": ("Contrast", "Coverage", "Estimate", "Results", "Summary"),
    "evenhand.core.task": ("Benchmark", "Codec", "Dataset", "Model", "Sample", "Task", "Unanswered"),
    "evenhand.store.runs": ("Run",),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}
_FAMILIES = ("fairface", "fhibe", "ijb", "synthesis", "uccs")  # `evenhand.fhibe.write_outputs`, …

__all__ = [
    "Attribute",
    "Benchmark",
    "Codec",
    "Contrast",
    "Coverage",
    "Curve",
    "Dataset",
    "Direction",
    "Estimate",
    "EvenhandError",
    "Grid",
    "Group",
    "Metric",
    "Model",
    "Records",
    "Results",
    "Run",
    "Sample",
    "Summary",
    "Task",
    "Unanswered",
    "Undefined",
    "__version__",
    "compare",
    "demo",
    "evaluate",
    "load",
    "predict",
    "report",
]


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _FAMILIES:
        return import_module(f"evenhand.benchmarks.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
