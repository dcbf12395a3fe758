"""Where a face is and how it is cut out: five landmarks, the 112 × 112 template, crops.

Landmarks are ordered as a viewer meets them: the eye on the left of the picture first (the person's right eye), the
other eye, the nose, the left corner of the mouth, the right one; x before y, in pixels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.optional import cv2
from evenhand.instruments.pictures import PixelResampling, Pixels, resize

Points = NDArray[np.float64]  # (5, 2): x, y

TEMPLATE_112: Points = np.array(
    [[38.2946, 51.6963], [73.5318, 51.5014], [56.0252, 71.7366], [41.5493, 92.3655], [70.7299, 92.2041]]
)
"""Where the five landmarks belong in a 112 × 112 face (MagFace, CurricularFace, ArcFace, SFace)."""


@dataclass(frozen=True)
class Face:
    """One detected face: its box (x0, y0, x1, y1), how sure the detector is, and its landmarks where it gives any."""

    box: tuple[float, float, float, float]
    score: float
    landmarks: Points | None = None

    @property
    def area(self) -> float:
        return max(0.0, self.box[2] - self.box[0]) * max(0.0, self.box[3] - self.box[1])


def similarity(points: Points, targets: Points) -> NDArray[np.float64]:
    """The 2 × 3 matrix of the least-squares similarity that takes `points` to `targets`.

    Rotation, one scale and a translation; never a reflection. Points that all coincide have no such transform.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> similarity(square, square[:, ::-1] * [-2, 2] + 3).round(9).tolist()  # a quarter turn, twice the size
    [[0.0, -2.0, 3.0], [2.0, 0.0, 3.0]]
    """
    if points.shape != targets.shape or points.ndim != 2 or points.shape[1] != 2:
        raise DataError(
            f"Alignment needs two sets of points of one shape (n, 2); found {points.shape} and {targets.shape}."
        )
    if not np.isfinite(points).all():
        raise DataError(
            "Alignment found a landmark that is not finite. Leave that face out, or give its landmarks again."
        )
    centre, goal = points.mean(axis=0), targets.mean(axis=0)
    spread, aim = points - centre, targets - goal
    size = float((spread**2).sum())
    if size == 0.0:
        raise DataError("Alignment found all landmarks of a face in one spot. Leave that face out.")
    # In the plane a similarity is a complex factor: a + ib takes x + iy to x' + iy'.
    a = float((spread * aim).sum()) / size
    b = float((spread[:, 0] * aim[:, 1] - spread[:, 1] * aim[:, 0]).sum()) / size
    turn = np.array([[a, -b], [b, a]])
    return np.column_stack([turn, goal - turn @ centre])


def align(pixels: Pixels, landmarks: Points, *, size: int = 112) -> Pixels:
    """The face turned, scaled and moved so that its landmarks lie on the template; black where the picture ends.

    Bilinear, `size` × `size`. The template is for 112 pixels and is scaled with `size`. Fewer landmarks than five
    (eyes and nose) are the first of the template.
    """
    points = np.asarray(landmarks, dtype=np.float64).reshape(-1, 2)
    matrix = similarity(points, TEMPLATE_112[: len(points)] * (size / 112.0))
    warped = cv2.warpAffine(pixels, matrix, (size, size), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_CONSTANT)
    return np.asarray(warped, dtype=np.uint8)


def crop_box(box: tuple[float, float, float, float], height: int, width: int) -> tuple[int, int, int, int]:
    """The whole-pixel box that is cut out for a face: cut to the picture, truncated.

    >>> crop_box((-3.2, 4.9, 50.9, 60.1), 64, 48)
    (0, 4, 48, 60)
    """
    return int(max(box[0], 0)), int(max(box[1], 0)), int(min(box[2], width)), int(min(box[3], height))


def crop(pixels: Pixels, face: Face, *, size: int = 160) -> Pixels:
    """The face's box cut out and brought to `size` × `size` by area averaging on eight bits."""
    x0, y0, x1, y1 = crop_box(face.box, *pixels.shape[:2])
    if x1 <= x0 or y1 <= y0:
        raise DataError(
            f"The face box {face.box} has no pixel inside the {pixels.shape[1]} × {pixels.shape[0]} picture."
        )
    return resize(np.ascontiguousarray(pixels[y0:y1, x0:x1]), (size, size), PixelResampling.OPENCV_AREA)


def standardised(crops: Sequence[Pixels]) -> NDArray[np.float32]:
    """Crops of one size as facenet's networks take them: channels first, (value - 127.5) / 128.

    >>> float(standardised([np.full((2, 2, 3), 255, np.uint8)]).max())
    0.99609375
    """
    return (np.stack(crops).transpose(0, 3, 1, 2).astype(np.float32) - np.float32(127.5)) / np.float32(128)


def blue_green_red(pixels: Pixels) -> Pixels:
    """The same picture with its channels in the other order, for networks that were trained on it.

    >>> blue_green_red(np.array([[[1, 2, 3]]], dtype=np.uint8)).tolist()
    [[[3, 2, 1]]]
    """
    return np.ascontiguousarray(pixels[:, :, ::-1])
