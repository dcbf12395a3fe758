"""True classes against answers: confusion, accuracy, precision, recall, F1.

`truth` and `answer` are indices of the declared labels; any other answer is `unknown`.
An unknown answer costs recall to the true class and is nobody's false positive, so it
is a column of the matrix and not a class.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from evenhand.core.metric import (
    UNIT_SCALE,
    Column,
    Direction,
    Grid,
    Kind,
    Linear,
    Matrix,
    Metric,
    Numbers,
    Ratio,
    Scale,
    Undefined,
    ratio,
)
from evenhand.core.records import Array, Records
from evenhand.core.sparse import SparseMatrix
from evenhand.metrics.curves import LazyCurves

UNKNOWN = "unknown"
_MANY_CELLS = 1000  # beyond, cells of one row each are kept without a table of their own


@dataclass(frozen=True, eq=False)
class ConfusionCounts(Linear):
    """How often each true class got each answer."""

    counts: Array  # (cells, classes, classes + 1); the last column is `unknown`

    def __add__(self, other: ConfusionCounts, /) -> ConfusionCounts:
        return ConfusionCounts(self.tables() + other.tables())

    def tables(self) -> Array:
        """(cells, classes, classes + 1): the counts of every cell."""
        return self.counts


@dataclass(frozen=True, eq=False)
class SingleAnswers(ConfusionCounts):
    """The same of cells that have one row or none: `counts` is a number for each cell, truth · columns + answer or −1.

    Rows that are units of their own are cells of their own: a table for each would be a hundred times as large.
    """

    adds: ClassVar[bool] = False
    classes: int

    def arrays(self) -> list[Array]:
        return [self.counts]

    def tables(self) -> Array:
        return answer_tables(self.classes)[self.counts]

    def __add__(self, other: ConfusionCounts, /) -> ConfusionCounts:  # type: ignore[override]  # more than one row
        if isinstance(other, SingleAnswers) and not np.any((self.counts >= 0) & (other.counts >= 0)):
            return SingleAnswers(np.maximum(self.counts, other.counts), self.classes)
        return super().__add__(other)

    def place(self, index: Array, size: int) -> ConfusionCounts:  # type: ignore[override]  # more than one row
        there = self.counts >= 0
        codes, cells = (self.counts, index) if there.all() else (self.counts[there], index[there])
        if len(codes) <= size:
            placed = np.full(size, -1, dtype=self.counts.dtype)
            placed[cells] = codes
            if np.count_nonzero(placed >= 0) == len(codes):
                return SingleAnswers(placed, self.classes)
        shape = (size, self.classes, self.classes + 1)
        step = self.classes * (self.classes + 1)
        counts = np.bincount(np.asarray(cells, dtype=np.int64) * step + codes, minlength=size * step)
        return ConfusionCounts(counts.reshape(shape))

    def weigh(self, weights: Matrix) -> ConfusionCounts:  # type: ignore[override]  # more than one row
        step = self.classes * (self.classes + 1)
        if isinstance(weights, SparseMatrix):
            code, row, values = self.counts[weights.columns], weights.row_of, weights.values
            there = np.flatnonzero(code >= 0)
            place = row[there] * step + code[there]
            counts = np.bincount(place, None if values is None else values[there], minlength=len(weights) * step)
        else:
            there = np.flatnonzero(self.counts >= 0)
            counts = weights @ SparseMatrix.of_entries(there, self.counts[there], (self.size, step))
        return ConfusionCounts(counts.reshape(-1, self.classes, self.classes + 1))


def answer_tables(classes: int) -> Array:
    """The table of counts of one row, for each of its codes; the last is that of no row.

    >>> answer_tables(2)[4].tolist()
    [[0, 0, 0], [0, 1, 0]]
    """
    step = classes * (classes + 1)
    return np.eye(step + 1, step, dtype=np.int64).reshape(step + 1, classes, classes + 1)


@dataclass(frozen=True)
class Confusion(Metric[ConfusionCounts]):
    """Accuracy, macro-F1 over the declared classes, and the confusion matrix; `unknown` is a wrong answer.

    Macro averages run over all declared classes: one without rows enters with 0.
    `macro_f1_present_classes` and `balanced_accuracy` run over the classes that have rows.
    """

    name: str
    labels: tuple[str, ...]
    truth: str = "truth"
    answer: str = "answer"
    weight: str | None = None
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {
            "accuracy": Direction.HIGHER,
            "macro_f1": Direction.HIGHER,
            "macro_f1_present_classes": Direction.HIGHER,
            "balanced_accuracy": Direction.HIGHER,
            "accuracy_answered_only": Direction.HIGHER,
            "unknown_rate": Direction.LOWER,
            **{f"{what}:{label}": Direction.HIGHER for what in ("precision", "recall", "f1") for label in self.labels},
            "confusion": Direction.NEITHER,
        }

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.truth, self.answer) if self.weight is None else (self.truth, self.answer, self.weight)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> ConfusionCounts:
        classes = len(self.labels)
        truth, answer = rows[self.truth], rows[self.answer]
        if truth.size and (truth.min() < 0 or truth.max() >= classes):
            raise ValueError(f"a true class outside 0…{classes - 1}")
        columns = classes + 1
        # Narrow integers: this runs over every row there is.
        narrow = np.int16 if classes * columns < 2**15 else np.int32
        code: Array = truth.astype(narrow)
        code *= narrow(columns)
        if answer.size and (answer.min() < 0 or answer.max() > classes):
            answer = np.where((answer < 0) | (answer > classes), classes, answer)
        code += answer.astype(narrow, copy=False)
        if cells is not None and self.weight is None and _MANY_CELLS <= size >= len(code):
            placed: Array = np.full(size, -1, dtype=narrow)
            placed[cells] = code
            if np.count_nonzero(placed >= 0) == len(code):
                return SingleAnswers(placed, classes)
        if cells is not None:
            wide = cells * np.intp(classes * columns)
            wide += code.astype(np.intp)
            code = wide
        weights = None if self.weight is None else np.asarray(rows[self.weight], dtype=np.float64)
        counts = np.bincount(code, weights, minlength=size * classes * columns)
        return ConfusionCounts(counts.reshape(size, classes, columns))

    def result(self, part: ConfusionCounts, whole: ConfusionCounts) -> Mapping[str, Column]:
        counts = part.tables().astype(np.float64)
        right = np.diagonal(counts[:, :, :-1], axis1=1, axis2=2)  # (cells, classes)
        support = counts.sum(axis=2)
        named = counts[:, :, :-1].sum(axis=1)  # how often each class was the answer
        rows = support.sum(axis=1)
        unknown = counts[:, :, -1].sum(axis=1)
        empty = "the group has no rows"
        present = support > 0
        f1 = _or_zero(2 * right, support + named)
        recall = _or_zero(right, support)
        classes = np.where(rows > 0, len(self.labels), 0)
        columns: dict[str, Column] = {
            "accuracy": ratio(right.sum(axis=1), rows, empty),
            "macro_f1": ratio(f1.sum(axis=1), classes, empty),
            "macro_f1_present_classes": ratio((f1 * present).sum(axis=1), present.sum(axis=1), empty),
            "balanced_accuracy": ratio((recall * present).sum(axis=1), present.sum(axis=1), empty),
            "accuracy_answered_only": ratio(right.sum(axis=1), rows - unknown, "no row was answered"),
            "unknown_rate": ratio(unknown, rows, empty),
        }
        for index, label in enumerate(self.labels):
            # As is the custom, 0 where the class was never named or never occurred.
            precision = _or_zero(right[:, index], named[:, index])
            for what, values in (("precision", precision), ("recall", recall[:, index]), ("f1", f1[:, index])):
                columns[f"{what}:{label}"] = Numbers(np.where(rows > 0, values, np.nan), empty)
        tables, answers = part.tables(), (*self.labels, UNKNOWN)

        def grid(cell: int) -> Grid | Undefined:
            there = rows[cell] > 0
            return Grid(self.labels, answers, tables[cell], "truth", "answer") if there else Undefined(empty)

        return columns | {"confusion": LazyCurves(part.size, grid)}

    def ratios(self, state: ConfusionCounts) -> Mapping[str, Ratio]:
        if isinstance(state, SingleAnswers):
            known, at = self.ratios(ConfusionCounts(answer_tables(state.classes))), state.counts
            return {name: replace(one, top=one.top[at], bottom=one.bottom[at]) for name, one in known.items()}
        counts = np.asarray(state.counts, dtype=np.float64)
        right = np.diagonal(counts[:, :, :-1], axis1=1, axis2=2)
        rows, unknown = counts.sum(axis=(1, 2)), counts[:, :, -1].sum(axis=1)
        named = counts[:, :, :-1].sum(axis=1)
        ratios = {
            "accuracy": Ratio(right.sum(axis=1), rows, Kind.PROPORTION),
            "accuracy_answered_only": self._of_some(right.sum(axis=1), rows - unknown),
            "unknown_rate": Ratio(unknown, rows, Kind.PROPORTION),
        }
        for index, label in enumerate(self.labels):
            ratios[f"precision:{label}"] = self._of_some(right[:, index], named[:, index])
            ratios[f"recall:{label}"] = self._of_some(right[:, index], counts[:, index].sum(axis=1))
        return ratios

    def _of_some(self, top: Array, bottom: Array) -> Ratio:
        """The share of some of the rows."""
        return Ratio(top, bottom, Kind.PROPORTION, own_rows=self.weight is None)

    @property
    def keeps(self) -> Hashable:
        return Confusion, self.labels, self.truth, self.answer, self.weight

    def tallied(self, state: ConfusionCounts) -> Array | None:
        if self.weight is not None:
            return None
        if isinstance(state, SingleAnswers):
            return np.asarray(state.counts >= 0, dtype=np.int64)
        return np.asarray(state.counts.sum(axis=(1, 2)))

    def row_scores(self, rows: Records) -> Array:
        return np.asarray(rows[self.truth] == rows[self.answer], dtype=np.float64)


@dataclass(frozen=True)
class ClassRates(Confusion):
    """How often each class is predicted, and both kinds of error: selection rate, TPR, FPR, FNR, TNR.

    With a `positive` class the outputs are about that class alone; without one there is an output of every class.
    An unknown answer is no prediction of any class.
    """

    positive: str | None = None

    _RATES: ClassVar[Mapping[str, Direction]] = {
        "selection_rate": Direction.NEITHER,
        "true_positive_rate": Direction.HIGHER,
        "false_positive_rate": Direction.LOWER,
        "false_negative_rate": Direction.LOWER,
        "true_negative_rate": Direction.HIGHER,
    }

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {self._named(rate, label): way for rate, way in self._RATES.items() for label in self._about}

    @property
    def _about(self) -> tuple[str, ...]:
        return self.labels if self.positive is None else (self.positive,)

    def _named(self, rate: str, label: str) -> str:
        return rate if self.positive is not None else f"{rate}:{label}"

    def result(self, part: ConfusionCounts, whole: ConfusionCounts) -> Mapping[str, Column]:
        ratios, reason = self.ratios(part), "the group has no rows that count here"
        return {output: ratio(ratios[output].top, ratios[output].bottom, reason) for output in self.outputs}

    def ratios(self, state: ConfusionCounts) -> Mapping[str, Ratio]:
        if isinstance(state, SingleAnswers):
            return super().ratios(state)
        counts = np.asarray(state.counts, dtype=np.float64)
        rows = counts.sum(axis=(1, 2))
        ratios = {}
        for label in self._about:
            at = self.labels.index(label)
            hits, named, true = counts[:, at, at], counts[:, :, at].sum(axis=1), counts[:, at].sum(axis=1)
            false = rows - true
            for rate, top, bottom in (
                ("selection_rate", named, rows),
                ("true_positive_rate", hits, true),
                ("false_positive_rate", named - hits, false),
                ("false_negative_rate", true - hits, true),
                ("true_negative_rate", false - named + hits, false),
            ):
                ratios[self._named(rate, label)] = self._of_some(top, bottom)
        return ratios


def _or_zero(top: Array, bottom: Array) -> Array:
    return np.divide(top, bottom, out=np.zeros(np.broadcast(top, bottom).shape), where=bottom != 0)
