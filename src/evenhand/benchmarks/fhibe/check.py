"""`evenhand check`: is this file well formed and complete, and do its boxes mean what they seem to?

The published documentation shows boxes as x0, x1, y0, y1 in one place and x0, y0, x1, y1 in another, and
detectors often give x, y, width, height. A wrong order scores close to nothing without an error, so
each form is tried against the annotations, and a better one is named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe.codec import BoxDetections
from evenhand.benchmarks.fhibe.data import BoxTruth, PoseTruth
from evenhand.benchmarks.fhibe.scores import box_overlaps
from evenhand.core.records import Array
from evenhand.core.task import CheckReport, Dataset, Finding
from evenhand.geometry.box_forms import CORNERS, Form, are_shares, better_form, other_forms

_MUCH_BETTER = 0.1  # of mean overlap
_GOOD = 0.6  # a mean overlap that no other order of the numbers betters so much
_MANY_FLAT = 0.2  # share of the boxes
_BAD = 0.1  # mean overlap
_NEAR = 0.5  # of the diagonal of a face
_FEW_NEAR = 0.25  # share of the keypoints


def inspect_data(dataset: Dataset[Any], data: Path, options: Any) -> CheckReport:
    """How many rows, subjects and images there are."""
    facts = dataset.facts
    size = f"{facts['rows']} rows of {facts['subjects']} subjects in {facts['images']} images"
    return CheckReport((Finding("note", str(data), size),))


def inspect_answers(dataset: Dataset[Any], answers: Any, predictions: Path) -> Iterator[Finding]:
    """The form of the answers, and boxes that seem to be written in another order."""
    for sample in dataset.samples:
        answers.get(sample.id)  # raises PredictionError when it can't be read
    yield Finding("note", str(predictions), f"form of the answers: {answers.facts.get('form')}")
    if isinstance(dataset.truth, BoxTruth):
        for message in misread_boxes(dataset.truth, answers):
            yield Finding("warning", str(predictions), message)


def misread_boxes(truth: BoxTruth, answers: Any, overlaps: Array | None = None) -> Iterator[str]:
    """What to say about boxes that are flat, that are shares of the image, or that fit better in another form.

    `overlaps` are those of the boxes as they are, where they are known.
    """
    now = float((box_overlaps(truth, answers) if overlaps is None else overlaps).mean())
    if now > _GOOD or not len(truth.people):
        return
    entries = {image: answers.get(image) for image in truth.people.rows_by_image()}
    known = {image: entry for image, entry in entries.items() if entry is not None and len(entry.boxes_xyxy)}
    if not known:
        return
    boxes = np.concatenate([entry.boxes_xyxy for entry in known.values()])
    usable = np.isfinite(boxes).all(axis=1)
    if not usable.all():
        yield f"{int((~usable).sum()):,} of {len(boxes):,} boxes hold a value that is no number: they find nobody."
        return
    if are_shares(boxes):
        yield (
            f"Boxes look like shares of the image from 0 to 1 (the largest number is {boxes.max():.3g}). Write pixels."
        )
        return
    flat = float(np.mean((boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1])))
    if flat > _MANY_FLAT:
        yield f"{flat:.0%} of the boxes have no area when read as x0, y0, x1, y1."

    def overlap_in(form: Form) -> float:
        read = {image: BoxDetections(form(entry.boxes_xyxy)) for image, entry in known.items()}
        return float(box_overlaps(truth, read).mean())

    if better := better_form(overlap_in, other_forms(CORNERS), now, _MUCH_BETTER):
        yield (
            f"Boxes look like {better.form}: read so, the mean overlap with the annotations is {better.fit:.2f}, as "
            f"{CORNERS} it is {now:.2f}. Write {CORNERS} (left, top, right, bottom)."
        )
    elif flat <= _MANY_FLAT and now < _BAD and len(known) > len(entries) / 2:
        yield (
            f"Boxes hardly overlap the annotated ones (mean overlap {now:.2f}). Are they in pixels of these images, as "
            "x0, y0, x1, y1, and do the entries belong to their image paths?"
        )


def misread_poses(truth: PoseTruth, answers: Any) -> Iterator[str]:
    """What to say about keypoints that are mostly far from the annotated ones, whatever the thresholds of PCK are."""
    rows_of = truth.people.rows_by_image()
    known = {image: entry for image in rows_of if (entry := answers.get(image)) is not None and len(entry.keypoints)}
    if len(known) <= len(rows_of) / 2:
        return
    compared = list(_compared_poses(rows_of, known))
    rows = [row for _, row, _ in compared]
    predicted = np.stack([known[image].keypoints[place] for image, _, place in compared])
    poses, faces = truth.poses[rows], truth.face_xyxy[rows]
    labelled = poses[..., 2] > 0
    if not labelled.any():
        return
    size = np.hypot(*(faces[:, 2:] - faces[:, :2]).T)

    def near(points: Array) -> float:
        """The share of the keypoints that are near the annotated ones."""
        distance = np.hypot(*np.moveaxis(points - poses[..., :2], -1, 0)) / np.maximum(size, 1e-9)[:, np.newaxis]
        return float((distance[labelled] < _NEAR).mean())

    if (now := near(predicted)) > _FEW_NEAR:
        return
    if are_shares(predicted):
        largest = np.nanmax(np.abs(predicted), initial=0.0)
        yield f"Keypoints look like shares of the image from 0 to 1 (the largest is {largest:.3g}). Write pixels."
        return
    if near(predicted[..., ::-1]) > now + _MUCH_BETTER:
        yield "Keypoints look like y, x: read so, they are much nearer to the annotated ones. Write x, y."
        return
    yield (
        f"Keypoints are far from the annotated ones ({now:.0%} are nearer than half a face's diagonal). Are they in "
        f"pixels of these images, as x, y, and in this order: {', '.join(truth.names)}?"
    )


def _compared_poses(rows_of: Mapping[str, list[int]], known: Mapping[str, Any]) -> Iterator[tuple[str, int, int]]:
    """The image of every row that has a pose to be compared with, the row, and the place of the pose."""
    for image, rows in rows_of.items():
        for place, row in enumerate(rows):
            if image in known and place < len(known[image].keypoints):
                yield image, row, place
