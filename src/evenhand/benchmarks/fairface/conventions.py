"""The same answers under every convention that is about, each with whose it is (`evenhand explain`)."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from evenhand.core.metric import Grid
from evenhand.core.page import Cell, Section, Table, Text
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results

_PROTOCOL: Final = "this protocol"
_LABELS: Final = (
    ("accuracy", "unknown answers are wrong", _PROTOCOL),
    ("accuracy_answered_only", "unknown answers are left out", "scripts that join answers and labels (inner join)"),
    ("balanced_accuracy", "mean recall of the classes that occur", "scikit-learn, balanced_accuracy_score"),
    ("macro_f1", "mean F1 of the declared classes", _PROTOCOL),
    (
        "macro_f1_present_classes",
        "mean F1 of the classes that occur",
        "scikit-learn, f1_score(labels=those that occur)",
    ),
)
_AGES: Final = (
    ("bin_overlap_accuracy_inclusive", "overlaps the true bin, read literally", f"{_PROTOCOL}, headline"),
    (
        "bin_overlap_accuracy_touch_excluded",
        "overlaps it by more than an end point",
        f"{_PROTOCOL}, age_overlap=strict",
    ),
    ("single_bin", "reduced to one bin, equal to the true one", "classifiers of bins and point estimators"),
)


def explain_labels(run: Any) -> Section:
    """Gender or race under every convention."""
    results: Results = run.results
    metric = results.task.rpartition("/")[2]
    rows: list[tuple[Cell, ...]] = [
        (output, words + _counted(results, metric, output), _value(results, metric, output), whose)
        for output, words, whose in _LABELS
    ]
    rows.append(
        (
            "macro_f1_unknown_as_a_class",
            "mean F1 of all labels that occur, unknown among them",
            macro_f1_unknown_as_a_class(results, metric),
            "scikit-learn, f1_score(average='macro') without labels; not offered as a result",
        )
    )
    return _section(rows)


def explain_ages(run: Any) -> Section:
    """Age under every scoring convention."""
    results: Results = run.results
    return _section([(metric, words, _value(results, metric, "accuracy"), whose) for metric, words, whose in _AGES])


def macro_f1_unknown_as_a_class(results: Results, metric: str) -> float | None:
    """Macro-F1 as it comes out where `unknown` is taken for one more class; None without a matrix.

    The F1 of `unknown` is 0, since it is never true, and it takes part in the mean
    as soon as one answer is unknown.
    """
    grid = results.get(metric, "confusion").value
    if not isinstance(grid, Grid):
        return None
    counts = np.asarray(grid.values, dtype=np.float64)
    right, support, named = np.diagonal(counts), counts.sum(axis=1), counts[:, :-1].sum(axis=0)
    occurs = support + named > 0
    classes = int(occurs.sum()) + bool(counts[:, -1].sum())
    return float((2 * right[occurs] / (support + named)[occurs]).sum() / classes)


def _counted(results: Results, metric: str, output: str) -> str:
    """How many faces are the denominator of an accuracy."""
    grid = results.get(metric, "confusion").value
    if not output.startswith("accuracy") or not isinstance(grid, Grid):
        return ""
    counts = np.asarray(grid.values)
    faces = counts.sum() - (counts[:, -1].sum() if output == "accuracy_answered_only" else 0)
    return f" ({int(np.trace(counts)):,} of {int(faces):,} faces)"


def _value(results: Results, metric: str, output: str) -> float | None:
    return next((e.number for e in results.of(metric, output) if e.group == EVERYONE), None)


def _section(rows: list[tuple[Cell, ...]]) -> Section:
    note = Text("One set of answers, read in every way that is about. No option changes what a name means.")
    table = Table("Conventions", ("name", "what counts", "value", "whose"), tuple(rows))
    return Section("The same answers under every convention", [note, table])
