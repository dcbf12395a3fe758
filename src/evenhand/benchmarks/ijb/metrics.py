"""Rates of detection (test 6), and two conventions of searches that public scripts print, under their own names.

Neither of the two is TPIR at FPIR as the words mean it. They are here so that published numbers can be
compared with, and only when asked for (`legacy=true`).
"""

from __future__ import annotations

import math
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
    Resampling,
    Scale,
    Undefined,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import Event
from evenhand.metrics.search_rates import NO_GALLERY, ranks_of

NON_MATE_SCORE = -1  # in `above`: the row is one of the largest scores of other people
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

    @property
    def envelope(self) -> NDArray[np.float64]:
        """The highest precision at each recall or a higher one."""
        return np.maximum.accumulate(self.precision[::-1])[::-1]

    def point(self, fppi: float) -> tuple[float, OperatingPoint]:
        """The best true positive rate with at most so many false positives per image; 0 when there is none."""
        allowed = np.flatnonzero(self.false / self.images <= fppi)
        if not len(allowed):
            return 0.0, OperatingPoint("exact", fppi, 0.0, float("inf"), 0)
        at = allowed[-1]
        false, threshold = self.false[at], float(self.threshold[at])
        return float(self.recall[at]), OperatingPoint("exact", fppi, float(false / self.images), threshold, int(false))

    def summaries(self) -> tuple[float, float, float]:
        """Recall, the area under the monotone envelope of precision over recall, and its mean at 101 recalls."""
        if not len(self.true):
            return 0.0, 0.0, 0.0
        area = float(np.sum(np.diff(self.recall, prepend=0.0) * self.envelope))
        at_recalls = np.append(self.envelope, 0.0)[np.searchsorted(self.recall, _RECALLS, side="left")]
        return float(self.recall[-1]), area, float(at_recalls.mean())


@dataclass(frozen=True, eq=False)
class DetectionRows(Collected):
    """The events of test 6, with the confidence of those that have one."""

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
        numbers = dict.fromkeys((*map(tpr_name, self.fppi), "recall", "AP", "AP101"), Direction.HIGHER)
        return {**numbers, "FROC": Direction.NEITHER, "PR": Direction.NEITHER}

    @property
    def columns(self) -> tuple[str, ...]:
        return ("kind", "score")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> DetectionRows:
        score = np.asarray(rows["score"], dtype=np.float64)
        codes = np.zeros(len(rows), dtype=np.int64) if cells is None else np.asarray(cells)
        return DetectionRows(codes, size, None, score, np.asarray(rows["kind"]))

    def result(self, part: DetectionRows, whole: DetectionRows) -> Mapping[str, Column]:
        numbers = np.full((part.size, len(self.fppi) + 3), np.nan)
        froc: list[Curve | Undefined] = []
        precision: list[Curve | Undefined] = []
        reasons = []
        for cell, counts in enumerate(self.counts(part)):
            reason = "no annotated faces" if not counts.faces else "no images" if not counts.images else ""
            reasons.append(reason)
            if counts.faces:
                at = [counts.point(rate)[0] if counts.images else np.nan for rate in self.fppi]
                numbers[cell] = [*at, *counts.summaries()]
            froc.append(Undefined(reason) if reason else _froc(counts))
            precision.append(
                Curve(counts.recall, counts.precision, "recall", "precision", counts.threshold)
                if counts.faces
                else Undefined(reason)
            )
        named = zip(self.outputs, numbers.T, strict=False)
        columns: dict[str, Column] = {output: Numbers(values, reasons) for output, values in named}
        return {**columns, "FROC": froc, "PR": precision}

    def points(self, part: DetectionRows, whole: DetectionRows) -> Mapping[str, Sequence[OperatingPoint | None]]:
        cells = self.counts(part)
        return {
            tpr_name(rate): [counts.point(rate)[1] if counts.faces and counts.images else None for counts in cells]
            for rate in self.fppi
        }

    def counts(self, state: DetectionRows) -> list[DetectionCounts]:
        """The counts of every cell."""
        scored = np.flatnonzero((state.kind == Event.FOUND) | (state.kind == Event.FALSE_ALARM))
        order = scored[np.argsort(-state.score[scored], kind="stable")]
        score, is_true = state.score[order], state.kind[order] == Event.FOUND
        is_face = (state.kind == Event.FOUND) | (state.kind == Event.MISSED)
        is_image = state.kind == Event.IMAGE
        cells = []
        for cell in range(state.size):
            weights = state.weights_of(cell)
            faces, images = float(weights[is_face].sum()), float(weights[is_image].sum())
            cells.append(_detection_counts(score, is_true, weights[order], faces, images))
        return cells


def tpr_name(rate: float) -> str:
    """The name of the output that is the true positive rate at a number of false positives per image."""
    return f"TPR@FPPI={rate:.12g}"


def _detection_counts(score: Array, is_true: Array, weights: Array, faces: float, images: float) -> DetectionCounts:
    """Counts at every distinct confidence; `score` falls."""
    counted = np.flatnonzero(weights)
    score, is_true, weights = score[counted], is_true[counted], weights[counted]
    last = np.flatnonzero(np.append(score[1:] != score[:-1], True)) if len(score) else np.zeros(0, np.int64)
    true, false = np.cumsum(weights * is_true), np.cumsum(weights * ~is_true)
    return DetectionCounts(score[last], true[last].astype(np.float64), false[last].astype(np.float64), faces, images)


def _froc(counts: DetectionCounts) -> Curve:
    names = ("false positives per image", "true positive rate")
    return Curve(counts.false / counts.images, counts.recall, *names, counts.threshold, log_x=True)


@dataclass(frozen=True, eq=False)
class LegacyRows(Collected):
    """Rows of searches as the scripts need them."""

    gallery: Array
    mated: Array
    mate: Array
    top: Array
    above: Array
    rank: Array


class _Legacy(Metric[LegacyRows]):
    resampling: ClassVar[Resampling] = Resampling.NONE
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def columns(self) -> tuple[str, ...]:
        return ("gallery", "mated", "mate", "above", "tied", "top")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> LegacyRows:
        codes = np.zeros(len(rows), dtype=np.int64) if cells is None else np.asarray(cells)
        rank = ranks_of(rows["mate"], rows["above"], rows["tied"])
        return LegacyRows(
            codes, size, None, rows["gallery"], rows["mated"], rows["mate"], rows["top"], rows["above"], rank
        )


@dataclass(frozen=True)
class ListStyleSearch(_Legacy):
    """TPIR as the insightface project's open-set script reads it: strictly above the m-th best stranger.

    m = max(int(N·α), 1), which is one count stricter than `exact`; the mate must be strictly first.
    Rates are averaged over galleries.
    """

    name: str
    fpir: tuple[float, ...] = (0.01, 0.1)

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {f"TPIR@{rate:.12g}": Direction.HIGHER for rate in self.fpir}

    def result(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Column]:
        columns: dict[str, Column] = {}
        for rate, output in zip(self.fpir, self.outputs, strict=True):
            values = np.full(part.size, np.nan)
            for cell in range(part.size):
                tpir = [value for value, _ in self._of_galleries(part, cell, rate) if not np.isnan(value)]
                values[cell] = np.mean(tpir) if tpir else np.nan
            columns[output] = Numbers(values, "no mated or no non-mated probe")
        return columns

    def points(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Sequence[OperatingPoint | None]]:
        points: dict[str, list[OperatingPoint | None]] = {output: [] for output in self.outputs}
        for rate, output in zip(self.fpir, points, strict=True):
            for cell in range(part.size):
                thresholds = [threshold for _, threshold in self._of_galleries(part, cell, rate)]
                threshold = thresholds[0] if len(thresholds) == 1 and not np.isnan(thresholds[0]) else None
                points[output].append(OperatingPoint("insightface open-set script", rate, None, threshold))
        return points

    def _of_galleries(self, state: LegacyRows, cell: int, rate: float) -> list[tuple[float, float]]:
        """Rate and threshold in every gallery."""
        weights = state.weights_of(cell)
        galleries = []
        for gallery in np.unique(state.gallery[(state.gallery > NO_GALLERY) & (weights > 0)]):
            inside = (state.gallery == gallery) & (weights > 0)
            strangers, mates = inside & ~state.mated, inside & state.mated
            if not strangers.any() or not mates.any():
                galleries.append((np.nan, np.nan))
                continue
            top, weight = state.top[strangers], weights[strangers]
            order = np.argsort(-top, kind="stable")
            counted = np.cumsum(weight[order])
            wanted = max(int(counted[-1] * rate), 1)
            threshold = float(top[order[int(np.searchsorted(counted, wanted))]])
            hit = (state.mate[mates] > threshold) & (state.rank[mates] == 1)
            galleries.append((float(weights[mates][hit].sum() / weights[mates].sum()), threshold))
        return galleries


@dataclass(frozen=True)
class MergedGallerySearch(_Legacy):
    """Hits in all galleries merged into one, above the ⌈α·N⌉-th largest non-mate score: not an FPIR.

    N is the number of probes, the scores are those of all probes with all templates of other people;
    a hit needs no rank. The threshold is set on everyone.
    """

    name: str
    far: tuple[float, ...] = (0.01, 0.1)
    ranks: tuple[int, ...] = (1, 5, 10)

    @property
    def outputs(self) -> Mapping[str, Direction]:
        names = (*(f"top{rank}" for rank in self.ranks), *(f"tpir@{rate:.12g}" for rate in self.far))
        return dict.fromkeys(names, Direction.HIGHER)

    def result(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Column]:
        thresholds = [self._threshold(whole, rate) for rate in self.far]
        is_probe = (part.gallery == NO_GALLERY) & (part.above != NON_MATE_SCORE)
        values = np.full((part.size, len(self.outputs)), np.nan)
        for cell in range(part.size):
            weights = part.weights_of(cell) * is_probe
            total = float(weights.sum())
            if not total:
                continue
            hits = [weights[(part.rank > 0) & (part.rank <= rank)].sum() for rank in self.ranks]
            hits += [weights[part.mate > threshold].sum() for threshold in thresholds]
            values[cell] = np.array(hits) / total
        reason = "the merged gallery was not searched, or the group has no probes"
        return {output: Numbers(values[:, place], reason) for place, output in enumerate(self.outputs)}

    def points(self, part: LegacyRows, whole: LegacyRows) -> Mapping[str, Sequence[OperatingPoint | None]]:
        points: dict[str, Sequence[OperatingPoint | None]] = {}
        for rate in self.far:
            threshold = self._threshold(whole, rate)
            point = OperatingPoint("merged gallery, all non-mate scores", rate, None, threshold)
            points[f"tpir@{rate:.12g}"] = [None if np.isnan(threshold) else point] * part.size
        return points

    def _threshold(self, state: LegacyRows, rate: float) -> float:
        weights = state.weights_of(0)
        merged = (state.gallery == NO_GALLERY) & (weights > 0)
        probes = float(weights[merged & (state.above != NON_MATE_SCORE)].sum())
        others = np.flatnonzero(merged & (state.above == NON_MATE_SCORE))
        order = others[np.argsort(-state.top[others], kind="stable")]
        counted = np.cumsum(weights[order])
        wanted = math.ceil(rate * probes)
        place = int(np.searchsorted(counted, wanted))
        return float(state.top[order[place]]) if wanted and place < len(order) else np.nan
