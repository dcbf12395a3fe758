"""Average precision of detections: how precise a detector stays as its threshold falls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.core.metric import UNIT_SCALE, Collected, Column, Direction, Metric, Numbers, Scale
from evenhand.core.records import Array, Records


@dataclass(frozen=True, eq=False)
class DetectedRows(Collected):
    """Annotated objects and detections: the score of each (NaN: not detected), and which are objects."""

    score: Array  # (rows,)
    is_object: Array  # (rows,)


@dataclass(frozen=True)
class AveragePrecision(Metric[DetectedRows]):
    """The mean over 101 recalls (0, 0.01, …, 1) of the best precision at that recall or above, as COCO has it.

    A row is an annotated object, with the score of the detection that found it or none, or a false alarm with its
    score. Detections of equal score come together, whatever their order.
    """

    name: str
    score: str = "score"
    is_object: str = "is_object"
    collects: ClassVar[bool] = True

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"AP": Direction.HIGHER}

    @property
    def scales(self) -> Mapping[str, Scale]:
        return {"AP": UNIT_SCALE}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.score, self.is_object)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> DetectedRows:
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        score, is_object = np.asarray(rows[self.score], np.float64), np.asarray(rows[self.is_object], np.bool_)
        return DetectedRows(codes, size, None, score, is_object)

    def result(self, part: DetectedRows, whole: DetectedRows) -> Mapping[str, Column]:
        detected = np.flatnonzero(~np.isnan(part.score))
        order = detected[np.argsort(-part.score[detected], kind="stable")]
        last = np.append(np.diff(part.score[order]) != 0, True)[: len(order)]  # equal scores come together
        values = np.full(part.size, np.nan)
        for cell in range(part.size):
            weight = part.weights_of(cell).astype(np.float64)
            objects = weight[part.is_object].sum()
            if objects:
                hits = np.cumsum(weight[order] * part.is_object[order])[last]
                every = np.cumsum(weight[order])[last]
                precision = np.divide(hits, every, out=np.zeros_like(hits), where=every > 0)
                best = np.maximum.accumulate(precision[::-1])[::-1]
                at = np.searchsorted(hits / objects, np.linspace(0.0, 1.0, 101), side="left")
                values[cell] = np.append(best, 0.0)[np.minimum(at, len(best))].mean()
        return {"AP": Numbers(values, "no object is annotated here")}
