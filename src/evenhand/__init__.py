"""Evaluate vision models that look at people: published protocols, split by group, with their uncertainty.

`evaluate`, `predict`, `load`, `compare` and `report` are the verbs of the command line. What a metric or a family of
its own needs (`Metric`, `Records`, `Task`, …) comes from here too. Names are loaded when they are first used, so
importing the package is cheap.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from evenhand.api import compare, demo, evaluate, evaluate_table, gate, load, predict, report
    from evenhand.core.errors import (
        DataError,
        EvenhandError,
        InputError,
        OptionError,
        PredictionError,
        RunError,
        UnknownNameError,
    )
    from evenhand.core.metric import (
        Collected,
        Curve,
        Direction,
        Grid,
        Kind,
        Linear,
        Metric,
        Numbers,
        Ratio,
        Resampling,
        Scale,
        Undefined,
        ratio,
        tally,
    )
    from evenhand.core.options import Options, option
    from evenhand.core.page import Section, Table, Text
    from evenhand.core.records import Attribute, Group, Records
    from evenhand.core.results import Contrast, Coverage, Estimate, Results, Status, Summary, Verdict
    from evenhand.core.task import (
        About,
        Answers,
        Benchmark,
        Codec,
        Dataset,
        Demo,
        Model,
        Predictions,
        Sample,
        Task,
        Tools,
        Unanswered,
    )
    from evenhand.files.inputs import read
    from evenhand.metrics.labels import Confusion
    from evenhand.metrics.means import Mean, Rate
    from evenhand.metrics.strata import Stratified
    from evenhand.metrics.verification import Verification
    from evenhand.stats.settings import Settings
    from evenhand.store.runs import Run

__version__ = "0.1.0"

_HOMES = {
    "evenhand.api": "compare demo evaluate evaluate_table gate load predict report",
    "evenhand.core.errors": "DataError EvenhandError InputError OptionError PredictionError RunError UnknownNameError",
    "evenhand.core.metric": (
        "Collected Curve Direction Grid Kind Linear Metric Numbers Ratio Resampling Scale Undefined ratio tally"
    ),
    "evenhand.core.options": "Options option",
    "evenhand.core.page": "Section Table Text",
    "evenhand.core.records": "Attribute Group Records",
    "evenhand.core.results": "Contrast Coverage Estimate Results Status Summary Verdict",
    "evenhand.core.task": "About Answers Benchmark Codec Dataset Demo Model Predictions Sample Task Tools Unanswered",
    "evenhand.files.inputs": "read",
    "evenhand.metrics.labels": "Confusion",
    "evenhand.metrics.means": "Mean Rate",
    "evenhand.metrics.strata": "Stratified",
    "evenhand.metrics.verification": "Verification",
    "evenhand.stats.settings": "Settings",
    "evenhand.store.runs": "Run",
}  # public names by the module that they are loaded from when they are first used
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names.split()}
_FAMILIES = ("ijb", "pairs", "synthesis", "table", "uccs")
_MODULES = ("fairface", "fhibe")  # with names of their own: `evenhand.fairface.read`, `evenhand.fhibe.write_outputs`

__all__ = [
    "About", "Answers", "Attribute", "Benchmark", "Codec", "Collected", "Confusion", "Contrast", "Coverage",
    "Curve", "DataError", "Dataset", "Demo", "Direction", "Estimate", "EvenhandError", "Grid", "Group",
    "InputError", "Kind", "Linear", "Mean", "Metric", "Model", "Numbers", "OptionError", "Options",
    "PredictionError", "Predictions", "Rate", "Ratio", "Records", "Resampling", "Results", "Run", "RunError",
    "Sample", "Scale", "Section", "Settings", "Status", "Stratified", "Summary", "Table", "Task", "Text",
    "Tools", "Unanswered", "Undefined", "UnknownNameError", "Verdict", "Verification", "__version__", "compare",
    "demo", "evaluate", "evaluate_table", "gate", "load", "option", "predict", "ratio", "read", "report",
    "tally",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return import_module(f"evenhand.{name}")
    if name in _FAMILIES:
        return import_module(f"evenhand.benchmarks.{name}")
    if name not in _HOME_OF:
        raise AttributeError(f"module 'evenhand' has no attribute {name!r}")
    return getattr(import_module(_HOME_OF[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_HOME_OF})
