"""Keypoints: how far a predicted point lies from an annotated one, and how alike two poses are.

An annotated pose is (keypoints, 3): x, y and visibility (0 not labelled, 1 hidden, 2 visible). A
predicted pose is (keypoints, 2 or more), of which x and y count.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.core.records import Array

VISIBLE = 2


def distances(annotated: Array, predicted: Array) -> NDArray[np.float64]:
    """(…, keypoints): Euclidean distance between points of the same index.

    >>> distances(np.array([[0.0, 0.0, 2.0]]), np.array([[3.0, 4.0]])).tolist()
    [5.0]
    """
    return np.asarray(np.sqrt(((np.asarray(annotated)[..., :2] - np.asarray(predicted)[..., :2]) ** 2).sum(axis=-1)))


def closest_distances(annotated: Array, predicted: Array) -> NDArray[np.float64]:
    """(keypoints,): distance from each annotated point to the nearest predicted one, whatever its index."""
    gaps = np.asarray(annotated)[:, np.newaxis, :2] - np.asarray(predicted)[np.newaxis, :, :2]
    return np.asarray(np.sqrt((gaps**2).sum(axis=-1)).min(axis=1))


def share_correct(
    distance: Array, visible: Array, scale: float, thresholds: Array, *, strict: bool = False
) -> NDArray[np.float64] | None:
    """(thresholds,): share of visible keypoints within threshold × scale; None when none is visible.

    >>> share_correct(np.array([1.0, 9.0]), np.array([True, True]), 10.0, np.array([0.1, 0.95])).tolist()
    [0.5, 1.0]
    """
    visible = np.asarray(visible, dtype=np.bool_)
    if not visible.any():
        return None
    limit = np.asarray(thresholds, dtype=np.float64)[:, np.newaxis] * scale
    near = distance[visible]
    return np.asarray(((near < limit) if strict else (near <= limit)).mean(axis=1))


def similarity(annotated: Array, predicted: Array, area: float, sigmas: Array) -> float | None:
    """Object keypoint similarity of two poses; None when no annotated keypoint has visibility above 0.

    `exp(−d² / (2 · area · (2σ)²))`, averaged over those keypoints; machine epsilon is added to the area.

    >>> similarity(np.array([[0.0, 0.0, 2.0]]), np.array([[0.0, 0.0]]), 100.0, np.array([0.025]))
    1.0
    """
    labelled = np.asarray(annotated)[:, 2] > 0
    if not labelled.any():
        return None
    squares = ((np.asarray(annotated)[:, :2] - np.asarray(predicted)[:, :2]) ** 2).sum(axis=1)
    variances = (2 * np.asarray(sigmas, dtype=np.float64)) ** 2
    exponent = squares / variances / (area + np.spacing(1)) / 2
    return float(np.exp(-exponent[labelled]).mean())


def diagonal(box_xyxy: Array) -> float:
    """The length of a box's diagonal.

    >>> diagonal(np.array([0.0, 0.0, 3.0, 4.0]))
    5.0
    """
    x0, y0, x1, y1 = (float(value) for value in box_xyxy)
    return float(np.sqrt((x1 - x0) ** 2 + (y1 - y0) ** 2))
