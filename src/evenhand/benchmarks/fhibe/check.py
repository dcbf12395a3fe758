"""`evenhand check`: is this file well formed and complete, and do its boxes mean what they seem to?

The published documentation shows boxes as x0, x1, y0, y1 in one place and x0, y0, x1, y1 in another, and
detectors often give x, y, width, height. A wrong order scores close to nothing without an error, so
each order is tried against the annotations, and a better one is named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe.codec import BoxDetections
from evenhand.benchmarks.fhibe.data import BoxTruth
from evenhand.benchmarks.fhibe.scores import box_overlaps
from evenhand.core.records import Array
from evenhand.core.task import CheckReport, Dataset, Finding
from evenhand.geometry.boxes import corners

_MUCH_BETTER = 0.1  # of mean overlap
_GOOD = 0.6  # a mean overlap that no other order of the numbers betters so much
_LARGEST_SHARE = 1.5
_ORDERS: Mapping[str, Callable[[Array], Array]] = {
    "x0, x1, y0, y1": lambda boxes: boxes[:, [0, 2, 1, 3]],
    "x, y, width, height": corners,
    "y0, x0, y1, x1": lambda boxes: boxes[:, [1, 0, 3, 2]],
}


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
    """What to say about boxes that are flat, that are shares of the image, or that fit better in another order.

    `overlaps` are those of the boxes as they are, where they are known.
    """
    now = float((box_overlaps(truth, answers) if overlaps is None else overlaps).mean())
    if now > _GOOD:
        return
    entries = {image: answers.get(image) for image in truth.people.rows_by_image()}
    known = {image: entry for image, entry in entries.items() if entry is not None and len(entry.boxes_xyxy)}
    if not known:
        return
    boxes = np.concatenate([entry.boxes_xyxy for entry in known.values()])
    if np.abs(boxes).max() <= _LARGEST_SHARE:
        yield (
            f"Boxes look like shares of the image from 0 to 1 (the largest number is {boxes.max():.3g}). Write pixels."
        )
        return
    flat = float(np.mean((boxes[:, 2] <= boxes[:, 0]) | (boxes[:, 3] <= boxes[:, 1])))
    if flat > 0.2:
        yield f"{flat:.0%} of the boxes have no area when read as x0, y0, x1, y1."
    for order, turned in _ORDERS.items():
        other = {image: BoxDetections(turned(entry.boxes_xyxy)) for image, entry in known.items()}
        then = float(box_overlaps(truth, other).mean())
        if then > now + _MUCH_BETTER:
            yield (
                f"Boxes look like {order}: read so, the mean overlap with the annotations is {then:.2f}, as "
                f"x0, y0, x1, y1 it is {now:.2f}. Write x0, y0, x1, y1 (left, top, right, bottom)."
            )
