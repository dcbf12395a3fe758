"""How many faces are found at how many false positives per image, and how precise detections are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import (
    UNIT_SCALE,
    Collected,
    Column,
    Curve,
    Direction,
    Metric,
    Numbers,
    OperatingPoint,
    Scale,
    Undefined,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import Event

_NO_FACES = "no annotated faces"
_NO_IMAGES = "no images"
_RECALLS = np.arange(101) / 100  # divisions, so that seven faces of ten reach 0.70; 70 steps of 0.01 lie above it


class DetectionCounts(NamedTuple):
    """True and false positives at every distinct confidence, from the top; ties enter together."""

    threshold: NDArray[np.float64]
    true: NDArray[np.float64]
    false: NDArray[np.float64]
    faces: float
    images: float

    @property
    def recall(self) -> NDArray[np.float64]:
        return self.true / self.faces

    @property
    def precision(self) -> NDArray[np.float64]:
        return self.true / (self.true + self.false)


@dataclass(frozen=True, eq=False)
class DetectionRows(Collected):
    """Rows sorted by falling confidence, those without any last."""

    score: Array
    kind: Array


@dataclass(frozen=True)
class DetectionRates(Metric[DetectionRows]):
    """Share of annotated faces found at so many false positives per image, and average precision.

    `TPR@FPPI=α` is the best true positive rate with at most α false positives per image, 0 when even
    the most confident detections have more. AP is the area under the monotone envelope of the
    precision-recall curve; AP101 its mean at 101 recalls.
    """

    name: str
    fppi: tuple[float, ...] = (0.01, 0.1, 1.0)
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        found = {tpr_name(rate): Direction.HIGHER for rate in self.fppi}
        found |= {"recall": Direction.HIGHER, "AP": Direction.HIGHER, "AP101": Direction.HIGHER}
        return {**found, "FROC": Direction.NEITHER, "PR": Direction.NEITHER}

    @property
    def columns(self) -> tuple[str, ...]:
        return ("kind", "score")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> DetectionRows:
        score = np.asarray(rows["score"], dtype=np.float64)
        codes = np.zeros(len(rows), dtype=np.int64) if cells is None else np.asarray(cells)
        return DetectionRows(codes, size, None, score, np.asarray(rows["kind"]))

    def result(self, part: DetectionRows, whole: DetectionRows) -> Mapping[str, Column]:
        numbers = np.full((part.size, len(self.fppi) + 3), np.nan)
        curves: list[Curve | Undefined] = []
        precise: list[Curve | Undefined] = []
        reasons = []
        for cell, counts in enumerate(self._counts(part)):
            reason = _NO_FACES if not counts.faces else _NO_IMAGES if not counts.images else ""
            reasons.append(reason)
            if not counts.faces:
                curves.append(Undefined(reason))
                precise.append(Undefined(reason))
                continue
            at = (
                [true_positive_rate(counts, rate) for rate in self.fppi] if counts.images else [np.nan] * len(self.fppi)
            )
            recall = counts.recall[-1] if len(counts.true) else 0.0
            numbers[cell] = [*at, recall, average_precision(counts), average_precision_101(counts)]
            curves.append(Undefined(reason) if reason else _froc(counts))
            precise.append(Curve(counts.recall, counts.precision, "recall", "precision", counts.threshold))
        found: dict[str, Column] = {
            output: Numbers(numbers[:, place], reasons)
            for place, output in enumerate([*map(tpr_name, self.fppi), "recall", "AP", "AP101"])
        }
        return {**found, "FROC": curves, "PR": precise}

    def points(self, part: DetectionRows, whole: DetectionRows) -> Mapping[str, Sequence[OperatingPoint | None]]:
        found: dict[str, list[OperatingPoint | None]] = {tpr_name(rate): [] for rate in self.fppi}
        for counts in self._counts(part):
            for rate in self.fppi:
                found[tpr_name(rate)].append(_point(counts, rate))
        return found

    def _counts(self, state: DetectionRows) -> list[DetectionCounts]:
        scored = np.flatnonzero((state.kind == Event.FOUND) | (state.kind == Event.FALSE_ALARM))
        order = scored[np.argsort(-state.score[scored], kind="stable")]
        score, is_true = state.score[order], state.kind[order] == Event.FOUND
        is_face = (state.kind == Event.FOUND) | (state.kind == Event.MISSED)
        is_image = state.kind == Event.IMAGE
        found = []
        for cell in range(state.size):
            weights = state.weights_of(cell)
            found.append(
                detection_counts(
                    score, is_true, weights[order], float(weights[is_face].sum()), float(weights[is_image].sum())
                )
            )
        return found


def tpr_name(rate: float) -> str:
    """The name of the output that is the true positive rate at a number of false positives per image."""
    return f"TPR@FPPI={rate:.12g}"


def counts_of(rows: Records) -> DetectionCounts:
    """The counts of all rows, at every distinct confidence."""
    metric = DetectionRates("detection")
    return metric._counts(metric.measure(rows))[0]


def detection_counts(score: Array, is_true: Array, weights: Array, faces: float, images: float) -> DetectionCounts:
    """Counts at every distinct confidence; `score` falls."""
    counted = np.flatnonzero(weights)
    score, is_true, weights = score[counted], is_true[counted], weights[counted]
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
    true, false = np.cumsum(weights * is_true), np.cumsum(weights * ~is_true)
    return DetectionCounts(score[last], true[last].astype(np.float64), false[last].astype(np.float64), faces, images)


def true_positive_rate(counts: DetectionCounts, fppi: float) -> float:
    """The best true positive rate with at most so many false positives per image; 0 when there is none."""
    allowed = np.flatnonzero(counts.false / counts.images <= fppi)
    return float(counts.recall[allowed[-1]]) if len(allowed) else 0.0


def average_precision(counts: DetectionCounts) -> float:
    """The area under the monotone envelope of the precision-recall curve."""
    if not len(counts.true):
        return 0.0
    envelope = np.maximum.accumulate(counts.precision[::-1])[::-1]
    return float(np.sum(np.diff(counts.recall, prepend=0.0) * envelope))


def average_precision_101(counts: DetectionCounts) -> float:
    """The mean of the envelope at the recalls 0, 0.01, …, 1."""
    if not len(counts.true):
        return 0.0
    envelope = np.append(np.maximum.accumulate(counts.precision[::-1])[::-1], 0.0)
    return float(envelope[np.searchsorted(counts.recall, _RECALLS, side="left")].mean())


def _froc(counts: DetectionCounts) -> Curve:
    per_image = counts.false / counts.images
    return Curve(
        per_image, counts.recall, "false positives per image", "true positive rate", counts.threshold, log_x=True
    )


def _point(counts: DetectionCounts, rate: float) -> OperatingPoint | None:
    if not counts.faces or not counts.images:
        return None
    allowed = np.flatnonzero(counts.false / counts.images <= rate)
    if not len(allowed):
        return OperatingPoint("exact", rate, 0.0, float("inf"), 0)
    at = allowed[-1]
    return OperatingPoint(
        "exact", rate, float(counts.false[at] / counts.images), float(counts.threshold[at]), int(counts.false[at])
    )
