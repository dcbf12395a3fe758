"""The arithmetic of the published evaluator that is no network and no distance between sets.

Cosines with their small constant, means of batch means, faces that are not there, and the scale-shape-pose error.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.metrics.distances import frechet_distance

Floats = NDArray[np.float64]
SMALL = np.float32(1e-6)  # added to every norm


def cosine_rows(predictions: Array, references: Array, *, normalise: bool = True) -> Floats:
    """(rows,): how alike two feature vectors are, row by row, in single precision as published.

    Each row is divided by (its length + 1e-6); a row of zeros gives 0. Without `normalise`, plain products.

    >>> cosine_rows(np.array([[3.0, 4.0]]), np.array([[6.0, 8.0]])).round(5).tolist()
    [1.0]
    """
    first, second = (np.atleast_2d(np.asarray(side, dtype=np.float32)) for side in (predictions, references))
    if first.shape != second.shape:
        raise DataError(f"features of shape {first.shape} and {second.shape} can't be compared row by row.")
    if normalise:
        first, second = (side / (np.linalg.norm(side, axis=1, keepdims=True) + SMALL) for side in (first, second))
    return np.asarray((first * second).sum(axis=1), dtype=np.float64)


def mean_cosine(predictions: Array, references: Array, *, normalise: bool = True) -> float:
    """The mean of `cosine_rows`; 0 when there are no rows, as published."""
    if not len(predictions):
        return 0.0
    return float(cosine_rows(predictions, references, normalise=normalise).mean())


def batch_means(values: Array, batch: int) -> Floats:
    """The mean of every run of `batch` values; the last one may be shorter.

    >>> batch_means(np.array([1.0, 3.0, 5.0]), 2).tolist()
    [2.0, 5.0]
    """
    values = np.asarray(values, dtype=np.float64)
    return np.array([values[start : start + batch].mean() for start in range(0, len(values), batch)])


def mean_of_batch_means(values: Array, batch: int) -> float:
    """The plain mean over batches of their means: a short last batch weighs as much as a full one.

    >>> mean_of_batch_means(np.array([1.0, 3.0, 5.0]), 2)
    3.5
    """
    return float(batch_means(values, batch).mean()) if len(values) else 0.0


class FaceShares(NamedTuple):
    """A value and a weight per row; the weighted mean is what was published."""

    values: Floats
    weights: Floats


def batch_weights(count: int, batch: int) -> Floats:
    """(rows,): one over the size of the batch that a row is in; the weighted mean is the mean of batch means.

    >>> batch_weights(3, 2).tolist()
    [0.5, 0.5, 1.0]
    """
    position = np.arange(count) // batch
    return np.asarray(1.0 / np.bincount(position)[position], dtype=np.float64) if count else np.zeros(0)


def paired_face_shares(cosines: Array, reference_has_face: Array, batch: int) -> FaceShares:
    """What every row adds to the published paired face-CS.

    A batch counts the frames whose reference has a face; a batch without any counts as 0, not as nothing.
    """
    cosines, faces = np.asarray(cosines, dtype=np.float64), np.asarray(reference_has_face, dtype=np.bool_)
    position = np.arange(len(cosines)) // batch
    batches = int(position[-1]) + 1 if len(position) else 0
    sizes, found = np.bincount(position, minlength=batches), np.bincount(position[faces], minlength=batches)
    empty = (found == 0)[position]
    weights = np.where(empty, 1.0 / sizes[position], np.where(faces, 1.0 / np.maximum(found, 1)[position], 0.0))
    return FaceShares(np.where(faces, cosines, 0.0), weights)


def paired_face(cosines: Array, reference_has_face: Array, batch: int) -> tuple[float, Floats]:
    """The published paired face-CS, and the value of every batch.

    >>> value, batches = paired_face(np.array([0.5, 0.9, 0.4]), np.array([True, False, False]), 2)
    >>> value, batches.tolist()
    (0.25, [0.5, 0.0])
    """
    shares = paired_face_shares(cosines, reference_has_face, batch)
    position = np.arange(len(shares.values)) // batch
    values: Floats = np.bincount(position, weights=shares.values * shares.weights).astype(np.float64)
    return (float(values.mean()) if len(values) else 0.0), values


def published_frechet(predictions: Array, references: Array) -> float:
    """The Fréchet distance, with the published 0 for no features at all; a single row is refused."""
    if not len(predictions) and not len(references):
        return 0.0
    return frechet_distance(predictions, references)


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


def sspe(predictions: Array, references: Array) -> float:
    """The mean of `sspe_rows`."""
    return float(sspe_rows(predictions, references).mean())


POSE_VALUES = 3  # of a key point: x, y and whether it is seen


class PoseErrors(NamedTuple):
    """How far key points are apart, and which share of the real ones is not found; NaN where there is nothing."""

    distance: Floats  # (rows,)
    missing: Floats  # (rows,)


def pose_errors(predictions: Array, references: Array) -> PoseErrors:
    """The distance of key points that both frames show, and the share of the reference's that the prediction lacks.

    A row holds x, y and 1 (seen) or 0 of every key point. Without any in the reference both are NaN; a prediction in
    which nobody is found lacks all of them and has no distance.

    >>> made, real = np.array([[3.0, 4.0, 1, 9, 9, 0]]), np.array([[0.0, 0.0, 1, 5, 5, 1]])
    >>> pose_errors(made, real)
    PoseErrors(distance=array([5.]), missing=array([0.5]))
    """
    first, second = (
        np.atleast_2d(np.asarray(side, dtype=np.float64)).reshape(len(side), -1, POSE_VALUES)
        for side in (predictions, references)
    )
    wanted, shown = second[:, :, 2] > 0, first[:, :, 2] > 0
    both = wanted & shown
    apart = np.where(both, np.linalg.norm(first[:, :, :2] - second[:, :, :2], axis=2), 0.0)
    unread = np.isnan(first).any(axis=(1, 2)) | np.isnan(second).any(axis=(1, 2))
    count, known = both.sum(axis=1), wanted.sum(axis=1)
    distance = np.where((count > 0) & ~unread, apart.sum(axis=1) / np.maximum(count, 1), np.nan)
    missing = np.where((known > 0) & ~unread, 1.0 - count / np.maximum(known, 1), np.nan)
    return PoseErrors(distance, missing)
