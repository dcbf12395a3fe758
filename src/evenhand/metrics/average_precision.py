"""Average precision and recall of detections over several overlaps, as COCO defines them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.metric import UNIT_SCALE, Collected, Column, Direction, Metric, Numbers, Scale
from evenhand.core.records import Array, Records, blocks
from evenhand.metrics.means import defined_mean

COCO_OVERLAPS = tuple(round(0.5 + 0.05 * step, 2) for step in range(10))
_RECALLS = np.linspace(0.0, 1.0, 101)
_CELLS_AT_ONCE = 64


@dataclass(frozen=True, eq=False)
class DetectedRows(Collected):
    """Annotated objects and detections: the score of each at every overlap (NaN: none), which are objects, of what."""

    score: Array  # (rows, overlaps)
    is_object: Array  # (rows,)
    category: Array  # (rows,)


class _Ranking(NamedTuple):
    """The detections of one category at one overlap, best first."""

    rows: Array
    is_object: Array
    last: Array  # of each run of equal scores: those come together, whatever their order
    objects: Array  # the rows of all annotated objects of the category


@dataclass(frozen=True)
class AveragePrecision(Metric[DetectedRows]):
    """COCO's AP, AP50, AP75 and AR: mean precision over 101 recalls, by category and overlap (0.50, 0.55, …, 0.95).

    A row is an annotated object, with the score of the detection that found it at every overlap or none, or a detection
    with its score at the overlaps at which it finds nothing. AP is the mean over categories that have objects and over
    overlaps, AR the mean share of objects that are found at all. Detections of equal score come together.
    """

    name: str
    overlaps: tuple[float, ...] = COCO_OVERLAPS
    score: str = "score_at"  # (rows, overlaps)
    is_object: str = "is_object"
    category: str = "category"
    collects: ClassVar[bool] = True
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        single = [f"AP{round(100 * overlap)}" for overlap in (0.5, 0.75) if overlap in self.overlaps]
        return dict.fromkeys(("AP", *single, "AR"), Direction.HIGHER)

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.score, self.is_object, self.category)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> DetectedRows:
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        score = np.asarray(rows[self.score], np.float64).reshape(len(rows), len(self.overlaps))
        return DetectedRows(
            codes, size, None, score, np.asarray(rows[self.is_object], np.bool_), np.asarray(rows[self.category])
        )

    def result(self, part: DetectedRows, whole: DetectedRows) -> Mapping[str, Column]:
        categories = np.unique(part.category[part.is_object])
        precision = np.full((part.size, len(categories), len(self.overlaps)), np.nan)
        recall = np.full_like(precision, np.nan)
        rankings = [[self._ranking(part, which, at) for at in range(len(self.overlaps))] for which in categories]
        for block in blocks(part.size, _CELLS_AT_ONCE):
            cells = np.arange(block.start, block.stop)
            weights = part.basis_weights(cells)[:, part.codes].astype(np.float64)
            for number, of_category in enumerate(rankings):
                for at, ranking in enumerate(of_category):
                    precision[block, number, at], recall[block, number, at] = _curve_means(ranking, weights)
        values = {"AP": defined_mean(precision, (1, 2)), "AR": defined_mean(recall, (1, 2))}
        values |= {
            f"AP{round(100 * overlap)}": defined_mean(precision[:, :, [at]], (1, 2))
            for at, overlap in enumerate(self.overlaps)
        }
        return {output: Numbers(values[output], "no object is annotated here") for output in self.outputs}

    def _ranking(self, part: DetectedRows, category: int, at: int) -> _Ranking:
        inside = part.category == category
        score = part.score[:, at]
        rows = np.flatnonzero(inside & ~np.isnan(score))
        rows = rows[np.argsort(-score[rows], kind="stable")]
        last = np.append(np.diff(score[rows]) != 0, True)[: len(rows)]
        return _Ranking(rows, part.is_object[rows], last, np.flatnonzero(inside & part.is_object))


def _curve_means(ranking: _Ranking, weights: Array) -> tuple[Array, Array]:
    """By weights (cells, rows): the mean of the best precision at each recall or above, and the last recall."""
    objects = weights[:, ranking.objects].sum(axis=1)
    mine = weights[:, ranking.rows]
    hits = np.cumsum(mine * ranking.is_object, axis=1)[:, ranking.last]
    every = np.cumsum(mine, axis=1)[:, ranking.last]
    precision = np.divide(hits, every, out=np.zeros_like(hits), where=every > 0)
    best = np.maximum.accumulate(precision[:, ::-1], axis=1)[:, ::-1]
    best = np.concatenate([best, np.zeros((len(best), 1))], axis=1)
    means, recalls = np.full(len(weights), np.nan), np.full(len(weights), np.nan)
    for cell in np.flatnonzero(objects):
        recall = hits[cell] / objects[cell]
        means[cell] = best[cell, np.searchsorted(recall, _RECALLS, side="left")].mean()
        recalls[cell] = recall[-1] if len(recall) else 0.0
    return means, recalls
