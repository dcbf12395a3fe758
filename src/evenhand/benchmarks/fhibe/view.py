"""What a page shows of a row: the annotated person or face and the model's answers, drawn on the picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, TypeVar

import numpy as np

from evenhand.benchmarks.fhibe.codec import BoxDetections, PersonMasks, Poses
from evenhand.benchmarks.fhibe.data import BoxTruth, MaskTruth, PoseTruth
from evenhand.core.optional import cv2
from evenhand.core.task import Answers, Dataset
from evenhand.core.view import Mark, SampleView, box_mark, point_mark
from evenhand.geometry.masks import Runs, decode

P = TypeVar("P")
_MOST = 20  # answers to a picture that are drawn
_GOOD = 0.5  # overlap below which a row is shown as wrong
_VISIBLE = 2


def view_boxes(
    dataset: Dataset[BoxTruth], answers: Answers[BoxDetections] | None, row: Mapping[str, Any]
) -> SampleView:
    """The box of the row, and every box that the model found in its picture."""
    truth, answer = box_mark(dataset.truth.boxes_xyxy[int(row["row"])]), _answer(answers, row)
    drawn = [box_mark(box, is_answer=True) for box in answer.boxes_xyxy[:_MOST]] if answer else []
    return _view([truth, *drawn], row, "overlap", "overlap (IoU)")


def view_masks(dataset: Dataset[MaskTruth], answers: Answers[PersonMasks] | None, row: Mapping[str, Any]) -> SampleView:
    """The polygons of the row, and the outline of every mask that the model found in its picture."""
    segments, answer = dataset.truth.segments[int(row["row"])], _answer(answers, row)
    truth = [Mark(tuple((float(x), float(y)) for x, y in segment.points), label=segment.name) for segment in segments]
    drawn = [mark for mask in answer.masks[:_MOST] for mark in _outlines(mask)] if answer else []
    return _view([*truth, *drawn], row, "overlap", "overlap (IoU)")


def view_poses(dataset: Dataset[PoseTruth], answers: Answers[Poses] | None, row: Mapping[str, Any]) -> SampleView:
    """The visible keypoints of the row, and every pose that the model found in its picture."""
    pose, answer = dataset.truth.poses[int(row["row"])], _answer(answers, row)
    drawn = [point_mark(points, is_answer=True) for points in answer.keypoints[:_MOST]] if answer else []
    return _view([point_mark(pose[pose[:, 2] >= _VISIBLE, :2]), *drawn], row, "pck", "share of keypoints found (PCK)")


def _answer(answers: Answers[P] | None, row: Mapping[str, Any]) -> P | None:
    return None if answers is None else answers.get(str(row["item"]))


def _view(marks: list[Mark], row: Mapping[str, Any], column: str, name: str) -> SampleView:
    value = float(row[column])
    answer = f"{name} {value:.2f}" if np.isfinite(value) else f"no {name}"
    return SampleView(marks=tuple(marks), answer=answer, is_wrong=not value >= _GOOD)


def _outlines(mask: Runs) -> Iterator[Mark]:
    if not cv2:
        return
    shape = np.ascontiguousarray(decode(mask), dtype=np.uint8)
    outlines, _ = cv2.findContours(shape, cv2.RETR_EXTERNAL, cv2.CHAIN_APPROX_SIMPLE)
    for outline in outlines:
        points = cv2.approxPolyDP(outline, 0.002 * max(shape.shape), True).reshape(-1, 2)
        yield Mark(tuple((float(x), float(y)) for x, y in points), is_answer=True)
