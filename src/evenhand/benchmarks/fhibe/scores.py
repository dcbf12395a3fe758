"""Per-row scores by the published rules: what happened to every annotated person.

Arrays in the order of rows come back. NaN means "undefined", and only where the protocol knows such
a thing: a pose without visible keypoints, a part that nobody predicted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe.codec import BoxDetections, PartProbabilities, PersonMasks, Poses, fitting
from evenhand.benchmarks.fhibe.data import BoxTruth, MaskTruth, PartTruth, PoseTruth
from evenhand.benchmarks.fhibe.options import KeypointOptions, threshold_keys
from evenhand.benchmarks.fhibe.table import Segment
from evenhand.core.engine import Engine, Workplace, finished
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.task import Tools
from evenhand.geometry import keypoints as kp
from evenhand.geometry.boxes import overlaps_by_image
from evenhand.geometry.masks import MaskError, Runs, area, overlap_matrix, runs_of_polygons

IMAGES_PER_PART = 256
P_co = TypeVar("P_co", covariant=True)
Floats = NDArray[np.float64]
Columns = Mapping[str, Array]  # (rows, …) each


class AnswersByImage(Protocol[P_co]):
    """Whatever gives the answer to an image, or None."""

    def get(self, sample: str) -> P_co | None: ...


def box_overlaps(truth: BoxTruth, answers: AnswersByImage[BoxDetections]) -> Floats:
    """(rows,): the best overlap of each row's box with any prediction of its image; 0 without any.

    Confidence is not used, and several rows may claim the same prediction.
    """
    rows_of = truth.people.rows_by_image()
    entries = [answers.get(image) for image in rows_of]
    boxes = np.concatenate([np.zeros((0, 4)), *(entry.boxes_xyxy for entry in entries if entry is not None)])
    boxes[~np.isfinite(boxes).all(axis=1)] = np.nan  # they overlap nobody
    counts = [0 if entry is None else len(entry.boxes_xyxy) for entry in entries]
    order = np.array([row for rows in rows_of.values() for row in rows], dtype=np.int64)
    pairs = overlaps_by_image(
        truth.boxes_xyxy[order],
        np.cumsum([0, *map(len, rows_of.values())]),
        boxes,
        np.cumsum([0, *counts]),
    )
    best = np.zeros(len(truth.people))
    np.maximum.at(best, order[pairs.first], np.nan_to_num(pairs.overlap, nan=0.0))
    return best


class _ImageMasks(NamedTuple):
    rows: Sequence[Sequence[Segment]]  # the polygons of every row
    size: tuple[int, int]  # height, width
    predicted: tuple[Runs, ...] = ()


def mask_columns(truth: MaskTruth, answers: AnswersByImage[PersonMasks], options: Any, tools: Tools) -> Columns:
    """Every row's polygons, rasterised: their best overlap with any predicted mask of the image, and their area."""
    rows_of = truth.people.rows_by_image()
    overlap, areas = np.zeros(len(truth.people)), np.zeros(len(truth.people), dtype=np.int64)
    images = []
    for image, rows in rows_of.items():
        height, width = truth.sizes[rows[0]].tolist()
        predicted = _fitted(image, answers.get(image), height, width)
        images.append(_ImageMasks([truth.segments[row] for row in rows], (height, width), predicted))
    for rows, scored in zip(rows_of.values(), _scored_masks(images, tools.engine), strict=True):
        overlap[rows], areas[rows] = scored
    return {"overlap": overlap, "area": areas}


def mask_areas(segments: Sequence[Sequence[Segment]], sizes: Array, engine: Engine) -> Array:
    """(rows,): pixels of each row's whole-person mask."""
    alone = [
        _ImageMasks([row], (int(height), int(width))) for row, (height, width) in zip(segments, sizes, strict=True)
    ]
    return np.array([areas[0] for _, areas in _scored_masks(alone, engine)], dtype=np.int64)


def row_runs(segments: Sequence[Segment], height: int, width: int) -> Runs:
    """The whole-person mask of a row: the union of all its polygons."""
    return runs_of_polygons([segment.points for segment in segments], height, width)


def pose_columns(truth: PoseTruth, answers: AnswersByImage[Poses], options: KeypointOptions, tools: Tools) -> Columns:
    """PCK by index and OKS by best match, row by row (the two rules differ, and both are published).

    PCK is not a number where no keypoint is visible, OKS where nothing is labelled or predicted. By `pck_missing_zero`
    a row without a prediction of its own scores 0; `pck_documented` takes the nearest predicted point, strictly within.
    """
    people, levels = truth.people, np.asarray(options.pck_thresholds, dtype=np.float64)
    areas = mask_areas(truth.segments, truth.sizes, tools.engine)
    pck = np.full((len(people), len(levels)), np.nan)
    missing_zero, documented = np.full(len(people), np.nan), np.full(len(people), np.nan)
    oks = np.full(len(people), np.nan)
    for image, rows in people.rows_by_image().items():
        answer = answers.get(image)
        predicted = answer.keypoints if answer is not None else np.zeros((0, 0, 2))
        if len(predicted) and predicted.shape[1] != len(truth.names):
            raise PredictionError(
                f"image {image}: poses of {predicted.shape[1]} keypoints, but {len(truth.names)} are evaluated: "
                f"{', '.join(truth.names)}. Predict these in this order, or name yours with custom_keypoints."
            )
        for place, row in enumerate(rows):
            pose, scale = truth.poses[row], kp.diagonal(truth.face_xyxy[row])
            oks[row] = best_similarity(pose, predicted, float(areas[row]), truth.sigmas)
            visible = pose[:, 2] == kp.VISIBLE
            if not visible.any():
                continue
            pck[row] = missing_zero[row] = documented[row] = 0.0
            if place < len(predicted):
                near = kp.share_correct(kp.distances(pose, predicted[place]), visible, scale, levels)
                nearest = kp.closest_distances(pose, predicted[place])
                closest = kp.share_correct(nearest, visible, scale, levels, strict=True)
                assert near is not None
                assert closest is not None
                pck[row], missing_zero[row], documented[row] = near, near.mean(), closest.mean()
        if len(predicted) == 1 and len(rows) == 2 and not np.isnan(pck[rows]).any():
            pck[rows[1]] = pck[rows[0]]  # one prediction for two people: the second inherits the first's (Q7)
    return {
        "pck": np.asarray(pck.mean(axis=1)),
        "pck_at_thresholds": pck,
        "pck_missing_zero": missing_zero,
        "pck_documented": documented,
        "oks": oks,
        "area": areas,
    }


def best_similarity(pose: Array, predicted: Array, mask_area: float, sigmas: Array) -> float:
    """The best similarity of a pose to any predicted one; NaN when nothing is labelled or predicted."""
    values = [kp.similarity(pose, other, mask_area, sigmas) for other in predicted]
    known = [value for value in values if value is not None]
    return max(known) if known else float("nan")


@dataclass(frozen=True)
class PartScores:
    """For every row and part: was it visible, and how probable did the model think it."""

    parts: tuple[str, ...]
    probability: Floats  # (rows, parts); NaN: no answer for this person
    visible: NDArray[np.bool_]  # (rows, parts), as published
    corrected: NDArray[np.bool_]  # (rows, parts), knees and ankles count for legs

    def found(self, thresholds: Sequence[float]) -> Floats:
        """(rows, parts): share of thresholds that the probability reaches."""
        levels = np.array(list(threshold_keys(tuple(thresholds)).values()))
        return np.asarray((self.probability[..., np.newaxis] >= levels).mean(axis=-1))

    def recall(self, thresholds: Sequence[float], *, corrected: bool = False) -> Floats:
        """(rows, parts): AR_DET's value, NaN where the part is not visible."""
        return np.where(self.corrected if corrected else self.visible, self.found(thresholds), np.nan)

    def accuracy(self, thresholds: Sequence[float], *, corrected: bool = False) -> Floats:
        """(rows, parts): ACC_DET's value."""
        shares = self.found(thresholds)
        return np.where(self.corrected if corrected else self.visible, shares, 1 - shares)


def part_scores(truth: PartTruth, answers: AnswersByImage[PartProbabilities]) -> PartScores:
    """Probabilities matched to people by row order; every person must have the same parts.

    Mappings beyond the annotated people of an image are not used, as published: a mini data set may hold one of two.
    """
    predicted: dict[int, Mapping[str, float]] = {}
    for image, rows in truth.people.rows_by_image().items():
        listed = answers.get(image) or ()
        if listed and len(listed) < len(rows):
            raise PredictionError(
                f"image {image}: {len(listed)} people are answered, but {len(rows)} are annotated. "
                "Give one mapping per annotated person, in the order of the table."
            )
        predicted.update(zip(rows, listed, strict=False))
    order = sorted(row for row in predicted if predicted[row])
    if not order:
        raise PredictionError("No person has a part with a probability: every answer is empty.")
    parts = tuple(predicted[order[0]])
    probability = np.full((len(truth.people), len(parts)), np.nan)
    for row in order:
        if set(predicted[row]) != set(parts):
            raise PredictionError(
                f"image {truth.people.images[row]}: the parts {sorted(predicted[row])} are answered, but the first "
                f"person has {sorted(parts)}. Every person needs the same parts."
            )
        probability[row] = [predicted[row][part] for part in parts]
    return part_table(parts, probability, truth.visible, truth.corrected)


def part_table(
    parts: Sequence[str],
    probability: Array,
    visible: Sequence[Sequence[str]],
    corrected: Sequence[Sequence[str]] | None = None,
) -> PartScores:
    """Part scores from the visible parts of every row and a table of probabilities (rows, parts)."""
    seen, also = (
        np.array([[part in row for part in parts] for row in rows], dtype=np.bool_).reshape(-1, len(parts))
        for rows in (visible, visible if corrected is None else corrected)
    )
    return PartScores(tuple(parts), np.asarray(probability, dtype=np.float64), seen, also)


def _fitted(image: str, answer: PersonMasks | None, height: int, width: int) -> tuple[Runs, ...]:
    try:
        return tuple(fitting(runs, height, width) for runs in (answer.masks if answer is not None else ()))
    except MaskError as error:
        raise PredictionError(f"image {image}: {error}") from None


def _scored_masks(images: Sequence[_ImageMasks], engine: Engine) -> Iterator[tuple[list[float], list[int]]]:
    """Best overlaps and areas of the rows of every image."""
    parts = [images[start : start + IMAGES_PER_PART] for start in range(0, len(images), IMAGES_PER_PART)]
    for scored in finished(engine.map(_score_masks, parts), "part of the masks"):
        yield from scored


def _score_masks(images: Sequence[_ImageMasks], workplace: Workplace) -> list[tuple[list[float], list[int]]]:
    scored = []
    for rows, size, predicted in images:
        truth = [row_runs(segments, *size) for segments in rows]
        best = overlap_matrix(predicted, truth).max(axis=0, initial=0.0) if predicted else np.zeros(len(truth))
        scored.append((best.tolist(), [area(runs) for runs in truth]))
    return scored
