"""Face embeddings of located faces: ArcFace, MagFace, CurricularFace, SFace, VGGFace2 and dlib.

An embedder takes a picture and the faces found in it, cuts each out as its publication does (aligned by five landmarks
to 112 × 112, or the box at 160 × 160), and gives one vector per face, not made unit length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Unpack

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError, MissingExtraError, UnknownNameError
from evenhand.core.optional import cv2
from evenhand.instruments.architectures import NetworkOptions, ReadyNetwork, build_network, find_weights
from evenhand.instruments.comparers import PictureComparer, unit_batch
from evenhand.instruments.detectors import FaceDetector, mtcnn_detector, quiet_opencv
from evenhand.instruments.errors import PictureError
from evenhand.instruments.faces import Face, align, blue_green_red, crop, standardised
from evenhand.instruments.pictures import AS_IT_IS, Picture, Pixels
from evenhand.instruments.readings import Instrument, Pictures, Vectors
from evenhand.instruments.weights import LocatedWeights

Embeddings = NDArray[np.float32]  # (faces, dimensions)


@dataclass(frozen=True)
class FaceEmbedder:
    """Faces of a picture to vectors: `cut` makes the crops, `run` embeds them."""

    fingerprint: str
    dimensions: int
    cut: Callable[[Pixels, Face], Pixels]
    run: Callable[[Sequence[Pixels]], Embeddings]
    batch: int = 32

    def embed(self, pixels: Pixels, faces: Sequence[Face]) -> Embeddings:
        """One vector per face, in their order; no faces give an array without rows."""
        return self.embed_crops([self.cut(pixels, face) for face in faces])

    def embed_crops(self, crops: Sequence[Pixels]) -> Embeddings:
        """One vector per finished crop."""
        parts = [self.run(crops[start : start + self.batch]) for start in range(0, len(crops), self.batch)]
        return np.concatenate(parts) if parts else np.zeros((0, self.dimensions), np.float32)


def face_embedder(name: str, **where: Unpack[NetworkOptions]) -> FaceEmbedder:
    """The embedder of that name: `arcface`, `magface`, `curricularface`, `sface`, `vggface2` or `dlib`.

    `magface-18`, `-34` and `-50` are MagFace's smaller networks, from a checkpoint of the user.
    """
    if name in ("arcface", "magface", "magface-18", "magface-34", "magface-50", "curricularface", "vggface2"):
        return _torch_embedder(name, build_network(name, **where))
    if name == "sface":
        return _sface(find_weights("sface", **where))
    if name == "dlib":
        return _dlib(**where)
    raise UnknownNameError("face embedder", name, ("arcface", "magface", "curricularface", "sface", "vggface2", "dlib"))


def face_similarity(detector: FaceDetector, embedder: FaceEmbedder, cache: Path | None = None) -> PictureComparer:
    """How alike the first faces of two pictures are: the product of their unit embeddings (FHIBE's CURRICULAR_FACE).

    A picture in which no face is found makes its pair a named problem; the other pairs are measured.
    """

    def first_face(picture: Picture) -> Pixels:
        faces = detector.faces(picture.pixels)
        if not faces:
            raise PictureError(picture.name, "no face was found in it, so it can't be aligned.")
        return embedder.cut(picture.pixels, faces[0])

    def together(jobs: Sequence[Pictures]) -> Vectors:
        vectors = embedder.embed_crops([first_face(picture) for job in jobs for picture in job])
        unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
        return np.asarray((unit[0::2] * unit[1::2]).sum(axis=1, keepdims=True))

    fingerprint = f"face-similarity|{detector.fingerprint}|{embedder.fingerprint}|{AS_IT_IS.fingerprint}"
    return PictureComparer(Instrument(fingerprint, AS_IT_IS, 1, together=together, batch=4), cache)


def curricular_face(*, cache: Path | None = None, **where: Unpack[NetworkOptions]) -> PictureComparer:
    """FHIBE's CURRICULAR_FACE: MTCNN at 0.6/0.7/0.8 from 20 pixels on, five-point alignment, IR-101."""
    detector = mtcnn_detector(thresholds=(0.6, 0.7, 0.8), **where)
    return face_similarity(detector, face_embedder("curricularface", **where), cache)


def _aligned(pixels: Pixels, face: Face) -> Pixels:
    if face.landmarks is None:
        raise DataError(
            "This embedding aligns faces by five landmarks, and the detector gives none. Use mtcnn or yunet."
        )
    return align(pixels, face.landmarks)


def _torch_embedder(name: str, ready: ReadyNetwork) -> FaceEmbedder:
    def run(crops: Sequence[Pixels]) -> Embeddings:
        import torch

        if name.startswith("magface"):
            batch = unit_batch([blue_green_red(one) for one in crops], ready.device)
        elif name in ("arcface", "curricularface"):
            batch = (unit_batch(crops, ready.device) - 0.5) / 0.5
        else:
            batch = torch.from_numpy(standardised(crops)).to(ready.device)
        return ready.run(batch)

    how = "box-160" if name == "vggface2" else "aligned-112"
    return FaceEmbedder(f"{name}|{ready.fingerprint}|{how}", 512, crop if name == "vggface2" else _aligned, run)


def _sface(located: LocatedWeights) -> FaceEmbedder:
    """SFace (OpenCV Zoo, 2021-12) as OpenCV runs it: aligned faces, 128 numbers."""
    with quiet_opencv():
        network = cv2.FaceRecognizerSF.create(str(located.path), "")

    def run(crops: Sequence[Pixels]) -> Embeddings:
        return np.concatenate(
            [np.array(network.feature(blue_green_red(one)), np.float32).reshape(1, -1) for one in crops]
        )

    return FaceEmbedder(f"sface|{located.fingerprint}|aligned-112", 128, _aligned, run)


def _dlib(**where: Unpack[NetworkOptions]) -> FaceEmbedder:
    """dlib's 128 numbers of a face box, cut by its own five-point chip at 150 × 150."""
    try:
        import dlib
    except ImportError as error:
        raise MissingExtraError("The dlib embedding needs dlib", "models") from error
    marks, weights = (find_weights(f"dlib-{part}", **where) for part in ("landmarks", "embedding"))
    landmarks, network = dlib.shape_predictor(str(marks.path)), dlib.face_recognition_model_v1(str(weights.path))

    def cut(pixels: Pixels, face: Face) -> Pixels:
        x0, y0, x1, y1 = (round(side) for side in face.box)
        shape = landmarks(np.ascontiguousarray(pixels), dlib.rectangle(x0, y0, x1 - 1, y1 - 1))
        return np.asarray(
            dlib.get_face_chip(np.ascontiguousarray(pixels), shape, size=150, padding=0.25), dtype=np.uint8
        )

    def run(crops: Sequence[Pixels]) -> Embeddings:
        return np.array([network.compute_face_descriptor(np.ascontiguousarray(one)) for one in crops], dtype=np.float32)

    return FaceEmbedder(f"dlib|{marks.fingerprint}+{weights.fingerprint}|chip-150", 128, cut, run)
