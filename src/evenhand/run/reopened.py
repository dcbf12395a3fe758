"""A stored run, opened again: found by folder, with the metrics that its numbers were made by.

The metrics come from the task, where it is registered, else from what the run says of them: the class, if it is one
of evenhand's own, and its parameters. So runs of tasks that are registered nowhere are compared and looked into too.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from evenhand import registry
from evenhand.core.errors import EvenhandError, OptionError, RunError, UnknownNameError
from evenhand.core.metric import Metric
from evenhand.core.options import parse
from evenhand.core.results import MetricFact, Results
from evenhand.core.task import Task
from evenhand.store.manifest import FILENAME, read_manifest
from evenhand.store.plain import from_plain
from evenhand.store.runs import Run, open_run, run_folders

_OWN = ("evenhand.metrics.", "evenhand.benchmarks.")


def find_run(folder: Path, *, latest: bool = False) -> Run:
    """The run in a folder, or the latest one below the folder of a model; `latest` takes any folder of runs."""
    return open_run(run_folder(folder, latest=latest))


def run_folder(folder: Path, *, latest: bool = False) -> Path:
    """The folder of a run: this one, or that of the latest run below the folder of a model."""
    if (folder / FILENAME).exists() or not folder.is_dir():
        return folder
    below = []
    for candidate in run_folders(folder):
        try:
            manifest = read_manifest(candidate)
        except RunError:
            continue
        if manifest.kind == "evaluation":
            below.append((manifest.clock.finished if manifest.clock else "", manifest, candidate))
    if not below:
        return folder
    several = {(manifest.task, manifest.model) for _, manifest, _ in below}
    if len(several) > 1 and not latest:
        shown = ", ".join(f"{task} of {model}" for task, model in sorted(several)[:4])
        raise OptionError(
            f"{folder} holds {len(below)} runs ({shown}). Name one of them, the folder of one model, or ask "
            "for the latest."
        )
    return max(below, key=lambda entry: (entry[0], str(entry[2])))[2]


def task_of(results: Results) -> Task[Any, Any] | None:
    """The task of a run; None when it is registered nowhere."""
    try:
        return registry.task(results.task)
    except UnknownNameError:
        return None


def metrics_of(results: Results) -> tuple[Metric[Any], ...]:
    """The metrics of a run, in its order; those that can't be made again (a function of the user) are left out."""
    task = task_of(results)
    registered: dict[str, Metric[Any]] = {}
    if task is not None:
        try:
            registered = {metric.name: metric for metric in task.metrics(parse(task.options, results.options))}
        except EvenhandError:
            if not any(fact.kind for fact in results.metrics):
                raise
    metrics = [registered.get(fact.name) or _made_again(fact) for fact in results.metrics]
    known_metrics = tuple(metric for metric in metrics if metric is not None)
    if not known_metrics:
        raise RunError(
            f"The metrics of {results.task} can't be made again: the task is not registered here, and its "
            "metrics are not "
            "evenhand's own. Install the package that brings it."
        )
    return known_metrics


def _made_again(fact: MetricFact) -> Metric[Any] | None:
    module, _, name = fact.kind.partition(":")
    if not module.startswith(_OWN):
        return None
    try:
        kind = getattr(importlib.import_module(module), name)
        metric = from_plain({**fact.parameters, "name": fact.name}, kind)
    except (ImportError, AttributeError, TypeError, ValueError, EvenhandError):
        return None
    return metric if isinstance(metric, Metric) else None
