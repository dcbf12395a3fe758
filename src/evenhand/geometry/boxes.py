"""Boxes and how much they overlap.

Inside the package a box is its corners `x0, y0, x1, y1` in pixels; files that give left, top,
width and height pass through `corners`. All arithmetic is done in the precision of the arrays
that come in, in one fixed order, because protocols decide borderline cases by it: single
precision moves an overlap of one half by about 1e-6 at coordinates of a few thousand pixels.

Boxes of many images are handled at once: the boxes of image *i* are the rows
`offsets[i]:offsets[i + 1]`, and only boxes of the same image meet.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from evenhand.core.records import Array

_PAIRS_AT_ONCE = 1 << 18


class Overlaps(NamedTuple):
    """Pairs of boxes of the same image, with their overlap: three arrays of equal length."""

    first: Array  # rows of the first boxes, ascending
    second: Array  # rows of the second boxes, ascending within a first one
    overlap: Array  # in the precision of the boxes


def corners(boxes_xywh: Array) -> Array:
    """`x0, y0, x1, y1` (…, 4) of boxes given as left, top, width, height, in their own precision.

    >>> corners(np.array([[10.0, 20.0, 5.0, 8.0]])).tolist()
    [[10.0, 20.0, 15.0, 28.0]]
    """
    boxes_xywh = np.asarray(boxes_xywh)
    return np.concatenate([boxes_xywh[..., :2], boxes_xywh[..., :2] + boxes_xywh[..., 2:]], axis=-1)


def extents(boxes_xyxy: Array) -> Array:
    """Left, top, width and height (…, 4) of boxes given as corners, in their own precision.

    >>> extents(np.array([[10.0, 20.0, 15.0, 28.0]])).tolist()
    [[10.0, 20.0, 5.0, 8.0]]
    """
    boxes_xyxy = np.asarray(boxes_xyxy)
    return np.concatenate([boxes_xyxy[..., :2], boxes_xyxy[..., 2:] - boxes_xyxy[..., :2]], axis=-1)


def areas(boxes_xyxy: Array) -> Array:
    """Width × height (…,) of boxes given as corners.

    >>> areas(np.array([[0.0, 0.0, 4.0, 2.0]])).tolist()
    [8.0]
    """
    boxes_xyxy = np.asarray(boxes_xyxy)
    return np.asarray((boxes_xyxy[..., 2] - boxes_xyxy[..., 0]) * (boxes_xyxy[..., 3] - boxes_xyxy[..., 1]))


def overlap(first: Array, second: Array) -> Array:
    """Intersection over union of boxes that stand opposite each other; shapes broadcast.

    The union is `(area of the first + area of the second) − intersection`. Two boxes without
    any area have no defined overlap; it is taken as 0.

    >>> overlap(np.array([0.0, 0.0, 2.0, 2.0]), np.array([1.0, 0.0, 3.0, 2.0])).round(4).item()
    0.3333
    """
    first, second = _real(first), _real(second)
    width = np.minimum(first[..., 2], second[..., 2]) - np.maximum(first[..., 0], second[..., 0])
    height = np.minimum(first[..., 3], second[..., 3]) - np.maximum(first[..., 1], second[..., 1])
    shared = np.maximum(width, 0) * np.maximum(height, 0)
    union = (areas(first) + areas(second)) - shared
    return np.asarray(np.divide(shared, union, out=np.zeros_like(shared), where=union > 0))


def overlaps_by_image(
    first: Array, first_offsets: Array, second: Array, second_offsets: Array, *, at_least: float = 0.0
) -> Overlaps:
    """All pairs of boxes of the same image whose overlap reaches `at_least`.

    Pairs are formed for a bounded number of images at a time, so memory grows with the pairs
    that are kept. `at_least` is compared in the precision of the boxes; equal counts.

    >>> boxes = np.array([[0.0, 0.0, 2.0, 2.0], [0.0, 0.0, 2.0, 2.0]])
    >>> overlaps_by_image(boxes, np.array([0, 1, 2]), boxes, np.array([0, 0, 2])).second.tolist()
    [0, 1]
    """
    first, second = _real(first), _real(second)
    limit = np.result_type(first, second).type(at_least)
    pairs = []
    for rows, others in _same_image(np.asarray(first_offsets), np.asarray(second_offsets)):
        shared = overlap(first[rows], second[others])
        keep = shared >= limit
        pairs.append(Overlaps(rows[keep], others[keep], shared[keep]))
    if not pairs:
        nothing = np.zeros(0, dtype=np.intp)
        return Overlaps(nothing, nothing, np.zeros(0, dtype=limit.dtype))
    return Overlaps(*(np.concatenate(columns) for columns in zip(*pairs, strict=True)))


def offsets_of(image_of_box: Array, images: int) -> Array:
    """(images + 1,): where the boxes of each image begin, for boxes sorted by image.

    >>> offsets_of(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    return np.concatenate([[0], np.cumsum(np.bincount(image_of_box, minlength=images))])


def _real(boxes: Array) -> Array:
    """The boxes in their own precision; whole numbers as doubles."""
    boxes = np.asarray(boxes)
    return boxes if boxes.dtype.kind == "f" else boxes.astype(np.float64)


def _same_image(first_offsets: Array, second_offsets: Array) -> Iterator[tuple[Array, Array]]:
    """Rows of all pairs within images, for so many images at a time that memory stays bounded."""
    per_image = np.diff(first_offsets) * np.diff(second_offsets)
    running = np.concatenate([[0], np.cumsum(per_image)])
    start = 0
    while start < len(per_image):
        stop = int(np.searchsorted(running, running[start] + _PAIRS_AT_ONCE, side="right")) - 1
        stop = min(max(stop, start + 1), len(per_image))
        if running[stop] > running[start]:
            yield _pairs_of(first_offsets[start : stop + 1], second_offsets[start : stop + 1])
        start = stop


def _pairs_of(first_offsets: Array, second_offsets: Array) -> tuple[Array, Array]:
    met = np.repeat(np.diff(second_offsets), np.diff(first_offsets))  # how many each first box meets
    begin = np.repeat(second_offsets[:-1], np.diff(first_offsets))
    first = np.repeat(np.arange(first_offsets[0], first_offsets[-1]), met)
    within = np.arange(len(first)) - np.repeat(np.cumsum(met) - met, met)
    return first, np.repeat(begin, met) + within
