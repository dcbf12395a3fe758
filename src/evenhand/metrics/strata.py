"""Any metric, taken stratum by stratum and averaged.

A macro average over body parts, over galleries, over splits is no new metric: it is
`Stratified("AR_DET", of=AverageRecall(…), by="part", strata=PARTS)`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from evenhand.core.metric import Column, Direction, Matrix, Metric, Numbers, Scale, Undefined
from evenhand.core.records import Array, Records
from evenhand.core.sparse import SparseMatrix
from evenhand.metrics.curves import LazyCurves
from evenhand.metrics.means import defined_mean


@dataclass(frozen=True, eq=False)
class Layered:
    """The states of all strata side by side: cell i, stratum s is cell `i · strata + s` inside."""

    inner: Any
    strata: int

    @property
    def size(self) -> int:
        return int(self.inner.size) // self.strata

    def __add__(self, other: Self, /) -> Self:
        return type(self)(self.inner + other.inner, self.strata)

    def place(self, index: Array, size: int) -> Self:
        spread = (np.asarray(index)[:, np.newaxis] * self.strata + np.arange(self.strata)).reshape(-1)
        return type(self)(self.inner.place(spread, size * self.strata), self.strata)

    def weigh(self, weights: Matrix) -> Self:
        if isinstance(weights, SparseMatrix):
            return type(self)(self.inner.weigh(weights.interleaved(self.strata)), self.strata)
        eye = np.eye(self.strata, dtype=np.asarray(weights).dtype)
        return type(self)(self.inner.weigh(np.kron(weights, eye)), self.strata)


@dataclass(frozen=True)
class Stratified(Metric[Layered]):
    """The plain mean over strata of another metric's values, and the value of each stratum.

    A stratum without a value is left out of the mean of a cell; `minimum` strata must have
    one. The column `by` holds the index of each row's stratum.
    """

    name: str
    of: Metric[Any]
    by: str
    strata: tuple[str, ...]
    minimum: int = 1

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return self._with_strata(self.of.outputs)

    @property
    def scales(self) -> Mapping[str, Scale]:
        return self._with_strata(self.of.scales)

    def _with_strata(self, facts: Mapping[str, Any]) -> dict[str, Any]:
        """Facts of outputs, also under the name of each stratum."""
        return {**facts, **{f"{output}:{each}": fact for output, fact in facts.items() for each in self.strata}}

    @property
    def columns(self) -> tuple[str, ...]:
        return (*self.of.columns, self.by)

    @property
    def keeps(self) -> Hashable:
        inner = self.of.keeps
        return None if inner is None else (Stratified, inner, self.by, self.strata)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Layered:
        layers = len(self.strata)
        stratum = np.asarray(rows[self.by], dtype=np.intp)
        if stratum.size and (stratum.min() < 0 or stratum.max() >= layers):
            raise ValueError(f"a stratum outside 0…{layers - 1}")
        inside = stratum if cells is None else np.asarray(cells) * layers + stratum
        return Layered(self.of.measure(rows, inside, size * layers), layers)

    def result(self, part: Layered, whole: Layered) -> Mapping[str, Column]:
        whole_inner = whole.inner
        if whole.size != part.size:  # every cell of the part sees the whole of its own stratum
            repeat = np.tile(np.eye(part.strata, dtype=np.int64), (part.size, 1))
            whole_inner = whole_inner.weigh(repeat)
        inner = self.of.result(part.inner, whole_inner)
        columns: dict[str, Column] = {}
        for output in self.of.outputs:
            column = inner[output]
            for position, stratum in enumerate(self.strata):
                columns[f"{output}:{stratum}"] = _every(column, position, part.strata)
            if isinstance(column, Numbers):
                mean = defined_mean(column.values.reshape(-1, part.strata), 1, least=self.minimum)
                columns[output] = Numbers(mean, f"fewer than {self.minimum} of {self.by} have a value")
            else:
                columns[output] = [Undefined(f"a curve of each {self.by} stands beside; they have no mean")] * part.size
        return {output: columns[output] for output in self.outputs}


def _every(column: Column, position: int, step: int) -> Column:
    if isinstance(column, Numbers):
        reason = column.reason if isinstance(column.reason, str) else list(column.reason)[position::step]
        return Numbers(column.values[position::step], reason)
    return LazyCurves(len(column) // step, lambda cell: column[position + cell * step])
