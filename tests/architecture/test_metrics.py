"""Every metric of the package is held to the laws."""

from __future__ import annotations

import importlib
import inspect

import tree
from test_laws import LISTED

from evenhand.core.metric import Metric


def test_every_concrete_metric_is_in_the_laws() -> None:
    listed = {type(entry.metric) for entry in LISTED}
    packages = ("evenhand.metrics", "evenhand.benchmarks", "evenhand.core")
    concrete = set()
    for name in tree.modules():
        if name.startswith(packages):
            for _, value in inspect.getmembers(importlib.import_module(name), inspect.isclass):
                if issubclass(value, Metric) and not inspect.isabstract(value) and value.__module__ == name:
                    concrete.add(value)
    missing = sorted(f"{value.__module__}.{value.__name__}" for value in concrete - listed)
    assert not missing, f"not listed in tests/laws: {', '.join(missing)}"
