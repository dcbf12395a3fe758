"""Pictures for a model: the usual five-point crop, and the frames of a video on request."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.optional import cv2
from evenhand.core.records import Array

# Where eyes, nose and corners of the mouth lie in a picture of 112 × 112 pixels (ArcFace).
FIVE_POINTS = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)


def aligned(picture: Array, landmarks: Array, size: int = 112) -> NDArray[np.uint8]:
    """The face, turned and scaled so that its landmarks lie where they usually do.

    `landmarks` are 3 points (right eye, left eye, nose: what is annotated) or 5, as seen in the picture.
    """
    points = np.asarray(landmarks, dtype=np.float64).reshape(-1, 2)
    matrix = similarity(points, FIVE_POINTS[: len(points)] * (size / 112))
    return np.asarray(cv2.warpAffine(np.asarray(picture), matrix, (size, size)), dtype=np.uint8)


def similarity(points: Array, targets: Array) -> NDArray[np.float64]:
    """The rotation, scale and shift (2, 3) that brings points nearest to targets in the mean square.

    >>> similarity(np.array([[0, 0], [2, 0], [0, 2]]), np.array([[1, 1], [2, 1], [1, 2]])).round(3).tolist()
    [[0.5, -0.0, 1.0], [0.0, 0.5, 1.0]]
    """
    centre, goal = points.mean(axis=0), targets.mean(axis=0)
    a = (points - centre) @ np.array([1, 1j])
    b = (targets - goal) @ np.array([1, 1j])
    turn = np.vdot(a, b) / np.vdot(a, a)
    linear = np.array([[turn.real, -turn.imag], [turn.imag, turn.real]])
    return np.column_stack([linear, goal - linear @ centre])


def frames(video: Path, first: int = 0, step: int = 1) -> Iterator[tuple[int, NDArray[np.uint8]]]:
    """Numbers and pictures (RGB) of a video's frames, from the first on, decoded as they are asked for."""
    reader: Any = cv2.VideoCapture(str(video))
    try:
        if not reader.isOpened():
            raise DataError(f"{video} can't be opened as a video.")
        number = 0
        while True:
            there = reader.grab()
            if not there:
                return
            if number >= first and (number - first) % step == 0:
                good, picture = reader.retrieve()
                if good:
                    yield number, np.asarray(cv2.cvtColor(picture, cv2.COLOR_BGR2RGB), dtype=np.uint8)
            number += 1
    finally:
        reader.release()
