"""A person's mask and pose by MediaPipe's networks, run by LiteRT; permissively licensed, small, on the processor.

The examples of wrapped models use both, and synthesis measures keypoint distances with the poses. Poses have 33 points;
`COCO_POINTS` picks the seventeen of COCO in their order.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import MissingExtraError
from evenhand.core.optional import cv2
from evenhand.files.columnar import without_native_messages
from evenhand.instruments.architectures import NetworkOptions, find_weights
from evenhand.instruments.pictures import Pixels

COCO_POINTS = (0, 2, 5, 7, 8, 11, 12, 13, 14, 15, 16, 23, 24, 25, 26, 27, 28)
"""Which of the 33 points are COCO's nose, eyes, ears, shoulders, elbows, wrists, hips, knees and ankles."""

_POINTS = 33
_SIDE = 224  # of the pose detector's picture


@dataclass(frozen=True)
class Pose:
    """One person's 33 points (x, y in pixels), how visible each is, and how sure the network is of the person."""

    points: NDArray[np.float64]  # (33, 2)
    visibility: NDArray[np.float64]  # (33,) in [0, 1]
    score: float

    @property
    def coco(self) -> NDArray[np.float64]:
        """The seventeen COCO keypoints (17, 2)."""
        return self.points[list(COCO_POINTS)]


class PersonMask:
    """Shares of person in each pixel, for pictures with people in the foreground."""

    def __init__(self, **where: Unpack[NetworkOptions]) -> None:
        located = find_weights("person-mask", **where)
        self._network = _LiteModel(located.path)
        self.fingerprint = f"person-mask|{located.fingerprint}"

    def mask(self, pixels: Pixels) -> NDArray[np.float32]:
        """Numbers in [0, 1] of the picture's height and width; 0.5 and more is taken for person."""
        height, width = pixels.shape[:2]
        small = cv2.resize(pixels, (256, 256), interpolation=cv2.INTER_LINEAR).astype(np.float32) / 255
        (answer,) = self._network.run(small[None])
        full_size = cv2.resize(answer[0, :, :, 0], (width, height), interpolation=cv2.INTER_LINEAR)
        return np.clip(np.asarray(full_size, dtype=np.float32), 0.0, 1.0)


class PoseReader:
    """The pose of the surest person of a picture."""

    def __init__(self, *, least_score: float = 0.5, **where: Unpack[NetworkOptions]) -> None:
        detection, landmarks = (find_weights(name, **where) for name in ("pose-detection", "pose-landmarks"))
        self._detection, self._landmarks = _LiteModel(detection.path), _LiteModel(landmarks.path)
        self._anchors = _anchors()
        self.least_score = least_score
        self.fingerprint = f"pose|{detection.fingerprint}+{landmarks.fingerprint}|least {least_score:g}"

    def pose(self, pixels: Pixels) -> Pose | None:
        """The pose, or None when nobody is found."""
        person = self._find(pixels)
        if person is None:
            return None
        hips, end = person
        # The second point lies on the circle around the whole body: it gives the size and the turn of the crop.
        side = float(2 * np.linalg.norm(end - hips) * 1.25)
        turn = np.arctan2(end[0] - hips[0], hips[1] - end[1])
        along = np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        step = side / 256
        back = np.column_stack([along * step, hips - along @ np.array([128.0, 128.0]) * step])  # crop → picture
        flags = cv2.INTER_LINEAR | cv2.WARP_INVERSE_MAP
        crop = cv2.warpAffine(pixels, back, (256, 256), flags=flags).astype(np.float32) / 255
        answers = self._landmarks.run(crop[None])
        rows = (
            next(answer for answer in answers if answer.shape == (1, 195)).reshape(39, 5)[:_POINTS].astype(np.float64)
        )
        score = float(next(answer for answer in answers if answer.shape == (1, 1))[0, 0])
        if score < self.least_score:
            return None
        points = rows[:, :2] @ back[:, :2].T + back[:, 2]
        return Pose(points, 1 / (1 + np.exp(-rows[:, 3])), score)

    def _find(self, pixels: Pixels) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
        """The middle of the hips and a point on the circle around the surest person."""
        height, width = pixels.shape[:2]
        scale = _SIDE / max(height, width)
        left, top = (_SIDE - width * scale) / 2, (_SIDE - height * scale) / 2
        into = np.array([[scale, 0, left], [0, scale, top]])
        square = cv2.warpAffine(pixels, into, (_SIDE, _SIDE), flags=cv2.INTER_AREA).astype(np.float32) / 127.5 - 1
        answers = self._detection.run(square[None])
        rows = next(answer for answer in answers if answer.shape[-1] == 12)[0].astype(np.float64)
        scores = next(answer for answer in answers if answer.shape[-1] == 1)[0, :, 0].astype(np.float64)
        best = int(scores.argmax())
        if 1 / (1 + np.exp(-np.clip(scores[best], -100, 100))) < self.least_score:
            return None
        points = rows[best, 4:8].reshape(2, 2) + self._anchors[best] * _SIDE
        hips, end = (points - (left, top)) / scale
        return hips, end


class _LiteModel:
    """A TensorFlow Lite file that LiteRT runs."""

    def __init__(self, path: Path) -> None:
        try:
            lite = importlib.import_module("ai_edge_litert.interpreter")
        except ImportError as error:
            raise MissingExtraError(f"{path.name} needs ai-edge-litert", "models") from error
        with without_native_messages():  # which delegate it chose
            self._model: Any = lite.Interpreter(model_path=str(path), num_threads=1)
            self._model.allocate_tensors()

    def run(self, batch: NDArray[np.floating]) -> list[NDArray[np.float32]]:
        """All outputs for one input, in the file's order."""
        self._model.set_tensor(self._model.get_input_details()[0]["index"], batch.astype(np.float32))
        self._model.invoke()
        return [np.array(self._model.get_tensor(one["index"])) for one in self._model.get_output_details()]


def _anchors() -> NDArray[np.float64]:
    """Centres of the detector's cells in [0, 1], x before y: two a cell at strides 8 and 16, six at stride 32."""
    parts = []
    for stride, copies in ((8, 2), (16, 2), (32, 6)):
        cells = (np.arange(_SIDE // stride) + 0.5) * stride / _SIDE
        ys, xs = np.meshgrid(cells, cells, indexing="ij")
        parts.append(np.repeat(np.stack([xs.ravel(), ys.ravel()], axis=1), copies, axis=0))
    return np.concatenate(parts)
