"""Any function of truth and prediction as a metric, and some of the outputs of another metric."""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.core.metric import (
    UNBOUNDED,
    Collected,
    Column,
    Direction,
    Metric,
    Numbers,
    OperatingPoint,
    Ratio,
    Scale,
)
from evenhand.core.records import Array, Records


@dataclass(frozen=True, eq=False)
class BothColumns(Collected):
    """Truth and prediction of every row, as the function gets them."""

    truth: Array  # (rows,)
    prediction: Array  # (rows,)
    further: Array  # (rows, arguments)


@dataclass(frozen=True)
class FunctionMetric(Metric[BothColumns]):
    """The value of a function `f(truth, prediction)` on the rows of a group; units are resampled, one call each.

    The function gets two arrays of equal length and returns a number; an error it raises is why there is no value.
    """

    name: str
    function: Callable[..., float]
    truth: str = "truth"
    prediction: str = "prediction"
    direction: Direction = Direction.HIGHER
    scale: Scale = UNBOUNDED
    arguments: tuple[tuple[str, str], ...] = ()  # further arguments by keyword: its name, and the column
    collects: ClassVar[bool] = True

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"value": self.direction}

    @property
    def scales(self) -> Mapping[str, Scale]:
        return {"value": self.scale}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.truth, self.prediction, *(column for _, column in self.arguments))

    @property
    def parameters(self) -> Mapping[str, Any]:
        shown = getattr(self.function, "__qualname__", type(self.function).__qualname__)
        return {
            **super().parameters,
            "function": f"{getattr(self.function, '__module__', '')}.{shown}",
            "code": self._code,
        }

    @property
    def _code(self) -> str:
        """What the function does, as a hash, so that a changed function is another metric."""
        code = getattr(self.function, "__code__", None)
        if code is None:
            return uuid.uuid4().hex  # nothing tells what it does: never the same twice
        held = [getattr(cell, "cell_contents", None) for cell in self.function.__closure__ or ()]
        parts = (code.co_code, repr(code.co_consts), code.co_names, repr(held), repr(self.function.__defaults__))
        return hashlib.sha256(repr(parts).encode()).hexdigest()[:16]

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> BothColumns:
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        further = np.zeros((len(rows), len(self.arguments)))
        for place, (_, column) in enumerate(self.arguments):
            further[:, place] = rows[column]
        both = np.asarray(rows[self.truth]), np.asarray(rows[self.prediction])
        return BothColumns(codes, size, None, *both, further)

    def result(self, part: BothColumns, whole: BothColumns) -> Mapping[str, Column]:
        values, reasons = np.full(part.size, np.nan), ["the group has no rows"] * part.size
        for cell in range(part.size):
            often = part.weights_of(cell)
            rows = np.repeat(np.arange(len(often)), often.astype(np.int64))
            if len(rows):
                try:
                    given = {name: part.further[rows, place] for place, (name, _) in enumerate(self.arguments)}
                    values[cell] = float(self.function(part.truth[rows], part.prediction[rows], **given))
                    reasons[cell] = "the function gave no number"
                except Exception as error:  # a user's function: whatever it raises is why there is no value
                    reasons[cell] = f"the function raised {type(error).__name__}: {error}"
        return {"value": Numbers(values, reasons)}


def _forwarded(name: str) -> Any:
    """What another metric has or does, as it is."""
    return property(lambda self: getattr(self.of, name))


@dataclass(frozen=True)
class Selected(Metric[Any]):
    """Some of the outputs of another metric, and nothing else of it."""

    name: str
    of: Metric[Any]
    only: tuple[str, ...]

    resampling = _forwarded("resampling")
    collects = _forwarded("collects")
    definition = _forwarded("definition")
    columns = _forwarded("columns")
    keeps = _forwarded("keeps")
    measure = _forwarded("measure")
    missing = _forwarded("missing")
    tallied = _forwarded("tallied")
    redrawn = _forwarded("redrawn")
    row_scores = _forwarded("row_scores")

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return _some(self.of.outputs, self.only)

    @property
    def scales(self) -> Mapping[str, Scale]:
        return _some(self.of.scales, self.only)

    @property
    def linearised(self) -> frozenset[str]:
        return self.of.linearised & frozenset(self.only)

    def result(self, part: Any, whole: Any) -> Mapping[str, Column]:
        return _some(self.of.result(part, whole), self.only)

    def ratios(self, state: Any) -> Mapping[str, Ratio]:
        return _some(self.of.ratios(state), self.only)

    def points(self, part: Any, whole: Any) -> Mapping[str, Sequence[OperatingPoint | None]]:
        return _some(self.of.points(part, whole), self.only)


def _some(values: Mapping[str, Any], only: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name in only}
