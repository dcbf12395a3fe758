"""The arithmetic of the published evaluator that is no network and no distance between sets.

Cosines with their small constant, means of batch means, faces that are not there, and the scale-shape-pose error.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.records import Array

Floats = NDArray[np.float64]
SMALL = np.float32(1e-6)  # added to every norm


def cosine_rows(predictions: Array, references: Array, *, normalise: bool = True) -> Floats:
    """(rows,): how alike two feature vectors are, row by row, in single precision as published.

    Each row is divided by (its length + 1e-6); a row of zeros gives 0. Without `normalise`, the plain products: no
    metric here takes them, but the published function offers them.

    >>> cosine_rows(np.array([[3.0, 4.0]]), np.array([[6.0, 8.0]])).round(5).tolist()
    [1.0]
    """
    first, second = (np.atleast_2d(np.asarray(side, dtype=np.float32)) for side in (predictions, references))
    if first.shape != second.shape:
        raise DataError(f"features of shape {first.shape} and {second.shape} can't be compared row by row.")
    if normalise:
        first, second = (side / (np.linalg.norm(side, axis=1, keepdims=True) + SMALL) for side in (first, second))
    return np.asarray((first * second).sum(axis=1), dtype=np.float64)


def batch_weights(count: int, batch: int) -> Floats:
    """(rows,): one over the size of the batch that a row is in; the weighted mean is the mean of batch means.

    >>> batch_weights(3, 2).tolist()
    [0.5, 0.5, 1.0]
    """
    position = np.arange(count) // batch
    return np.asarray(1.0 / np.bincount(position)[position], dtype=np.float64) if count else np.zeros(0)


def face_weights(reference_has_face: Array, batch: int) -> Floats:
    """(rows,): what every row weighs in the published paired face-CS, in which rows without a face are 0.

    A batch counts the frames whose reference has a face; a batch without any counts as 0, not as nothing.

    >>> face_weights(np.array([True, False, False]), 2).tolist()
    [1.0, 0.0, 1.0]
    """
    faces = np.asarray(reference_has_face, dtype=np.bool_)
    position = np.arange(len(faces)) // batch
    batches = int(position[-1]) + 1 if len(position) else 0
    sizes, shown = np.bincount(position, minlength=batches), np.bincount(position[faces], minlength=batches)
    empty = (shown == 0)[position]
    return np.where(empty, 1.0 / sizes[position], np.where(faces, 1.0 / np.maximum(shown, 1)[position], 0.0))


def sspe_rows(predictions: Array, references: Array) -> Floats:
    """(rows,): the scale-shape-pose error of 85 body parameters.

    Scale (column 0), shape (the last ten) and camera with pose (the first 75, so scale counts twice), each as the sum
    of absolute differences.
    """
    first, second = (np.atleast_2d(np.asarray(side, dtype=np.float64)) for side in (predictions, references))
    if first.shape != second.shape or first.shape[1] != 85:
        raise DataError(f"body parameters of shape {first.shape} and {second.shape}; expected (frames, 85) twice.")
    apart = np.abs(first - second)
    return np.asarray(apart[:, 0] + apart[:, -10:].sum(axis=1) + apart[:, :75].sum(axis=1), dtype=np.float64)


def pose_errors(predictions: Array, references: Array) -> dict[str, Array]:
    """The distance of key points that both frames show, and the share of the reference's that the prediction lacks.

    A row holds x, y and 1 (seen) or 0 of every key point. Without any in the reference both are NaN; a prediction in
    which nobody is found lacks all of them and has no distance.

    >>> made, real = np.array([[3.0, 4.0, 1, 9, 9, 0]]), np.array([[0.0, 0.0, 1, 5, 5, 1]])
    >>> pose_errors(made, real)
    {'akd': array([5.]), 'mkr': array([0.5])}
    """
    first, second = (
        np.atleast_2d(np.asarray(side, dtype=np.float64)).reshape(len(side), -1, 3)
        for side in (predictions, references)
    )
    wanted, shown = second[:, :, 2] > 0, first[:, :, 2] > 0
    both = wanted & shown
    apart = np.where(both, np.linalg.norm(first[:, :, :2] - second[:, :, :2], axis=2), 0.0)
    unread = np.isnan(first).any(axis=(1, 2)) | np.isnan(second).any(axis=(1, 2))
    count, known = both.sum(axis=1), wanted.sum(axis=1)
    distance = np.where((count > 0) & ~unread, apart.sum(axis=1) / np.maximum(count, 1), np.nan)
    missing = np.where((known > 0) & ~unread, 1.0 - count / np.maximum(known, 1), np.nan)
    return {"akd": distance, "mkr": missing}
