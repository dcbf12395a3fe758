"""Face detectors by name: MTCNN, YuNet and dlib, each giving boxes, scores and five landmarks.

`mtcnn` is the detector of the published protocols and needs torch. `yunet` runs in OpenCV alone; `dlib` in dlib. They
find different boxes, so results say which one was used: a substitute never goes under another's name.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Unpack

import numpy as np

from evenhand.core.errors import MissingExtraError, UnknownNameError
from evenhand.core.optional import cv2
from evenhand.instruments.architectures import NetworkOptions, build_network, find_weights
from evenhand.instruments.faces import Face, blue_green_red
from evenhand.instruments.pictures import Pixels


@dataclass(frozen=True)
class FaceDetector:
    """Finds faces in eight-bit RGB pixels, the surest first."""

    fingerprint: str
    faces: Callable[[Pixels], tuple[Face, ...]]  # none is an empty tuple


def mtcnn_detector(
    *,
    least_face: int = 20,
    thresholds: tuple[float, float, float] = (0.6, 0.7, 0.7),
    factor: float = 0.709,
    **where: Unpack[NetworkOptions],
) -> FaceDetector:
    """MTCNN with facenet-pytorch's cascade. The watchlist challenge uses `least_face=40`, `thresholds=(0.2,) * 3`."""
    ready = build_network("mtcnn", **where)
    from evenhand.instruments.networks.mtcnn import CascadeSettings, Mtcnn

    network = ready.network
    assert isinstance(network, Mtcnn)
    settings = CascadeSettings(least_face, thresholds, factor)
    levels = "/".join(f"{level:g}" for level in thresholds)
    name = f"mtcnn|{ready.fingerprint}|least {least_face}, thresholds {levels}, factor {factor:g}"
    return FaceDetector(name, lambda pixels: network.faces(pixels, settings))


def yunet_detector(*, least_score: float = 0.6, overlap: float = 0.3, **where: Unpack[NetworkOptions]) -> FaceDetector:
    """YuNet (OpenCV Zoo, 2023-03) as OpenCV runs it."""
    located = find_weights("yunet", **where)
    with quiet_opencv():
        network = cv2.FaceDetectorYN.create(str(located.path), "", (320, 320), least_score, overlap, 5000)

    def find(pixels: Pixels) -> tuple[Face, ...]:
        height, width = pixels.shape[:2]
        network.setInputSize((width, height))
        _, rows = network.detect(blue_green_red(pixels))
        faces = [] if rows is None else [_from_row(np.asarray(row, dtype=np.float64)) for row in rows]
        # OpenCV 4.11 gives a row of garbage for some pictures without a face.
        inside = [face for face in faces if _meets(face.box, width, height)]
        return tuple(sorted(inside, key=lambda face: -face.score))

    return FaceDetector(f"yunet|{located.fingerprint}|score {least_score:g}, overlap {overlap:g}", find)


def dlib_detector(*, enlarge: int = 0) -> FaceDetector:
    """dlib's gradient-histogram detector: boxes and scores; the five landmarks of the templates it does not give.

    `enlarge` doubles the picture that many times first, to find smaller faces.
    """
    try:
        import dlib
    except ImportError as error:
        raise MissingExtraError("The dlib detector needs dlib", "models") from error
    detect = dlib.get_frontal_face_detector()

    def find(pixels: Pixels) -> tuple[Face, ...]:
        boxes, scores, _ = detect.run(np.ascontiguousarray(pixels), enlarge, 0.0)
        faces = [
            Face((float(box.left()), float(box.top()), float(box.right() + 1), float(box.bottom() + 1)), float(score))
            for box, score in zip(boxes, scores, strict=True)
        ]
        return tuple(sorted(faces, key=lambda face: -face.score))

    return FaceDetector(f"dlib-hog|{dlib.__version__}|enlarge {enlarge}", find)


def face_detector(name: str, **where: Unpack[NetworkOptions]) -> FaceDetector:
    """The face detector of that name in its published setting: `mtcnn`, `yunet` or `dlib`."""
    if name == "mtcnn":
        return mtcnn_detector(**where)
    if name == "yunet":
        return yunet_detector(**where)
    if name == "dlib":
        return dlib_detector()
    raise UnknownNameError("face detector", name, ("mtcnn", "yunet", "dlib"))


@contextmanager
def quiet_opencv() -> Iterator[None]:
    """Keep OpenCV from printing remarks about its own engine while a network is opened; errors still show."""
    logging, errors = getattr(cv2.utils, "logging", cv2), 2  # 4.11 has the functions at its top
    before = logging.getLogLevel()
    logging.setLogLevel(errors)
    try:
        yield
    finally:
        logging.setLogLevel(before)


def _meets(box: tuple[float, float, float, float], width: int, height: int) -> bool:
    return box[0] < width and box[1] < height and box[2] > 0 and box[3] > 0


def _from_row(row: np.ndarray[tuple[int], np.dtype[np.float64]]) -> Face:
    """YuNet's row: left, top, width, height, five points (right eye first, as ours), score."""
    x, y, width, height = (float(value) for value in row[:4])
    return Face((x, y, x + width, y + height), float(row[14]), row[4:14].reshape(5, 2))
