"""Small networks as wrapped models for FHIBE: written to the published contract, and to nothing of ours.

    evenhand predict fhibe/face_localization --model examples/fhibe_networks.py:YuNetFaces --data FHIBE

A wrapper has `data_preprocessor`, which gives batches, and `__call__`, which answers a batch. Every batch here carries
the paths of its pictures, so answers are tied to pictures by them. YuNet and SFace are OpenCV's, pose and person mask
MediaPipe's; they run with `pip install 'evenhand[models]'`, and `evenhand weights` says where their files come from.
They were trained on photographs and need not find drawn figures; classical vision that does is in
`examples/fhibe_classical.py`. They are examples to copy from, not models to compare with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import cv2
import numpy as np
from numpy.typing import NDArray

from evenhand.instruments.bodies import PersonMask, Pose, PoseReader
from evenhand.instruments.detectors import FaceDetector, yunet_detector
from evenhand.instruments.embedders import FaceEmbedder, face_embedder
from evenhand.instruments.faces import Face, align
from evenhand.instruments.pictures import Pixels

BATCH = 4
COCO = (
    "Nose", "Left eye", "Right eye", "Left ear", "Right ear", "Left shoulder", "Right shoulder", "Left elbow",
    "Right elbow", "Left wrist", "Right wrist", "Left hip", "Right hip", "Left knee", "Right knee", "Left ankle",
    "Right ankle",
)  # fmt: skip
ABSENT = -999.0  # the benchmark's word for a keypoint that was not found
PARTS: Mapping[str, tuple[int, ...]] = {  # which of the 33 points show a part
    "Face": (0, 2, 5, 9, 10),
    "Hand": (17, 18, 19, 20, 21, 22),
    "Left hand": (17, 19, 21),
    "Right hand": (18, 20, 22),
    "Leg": (25, 26, 27, 28, 29, 30, 31, 32),
    "Left leg": (25, 27, 29, 31),
    "Right leg": (26, 28, 30, 32),
}
SKIN, NOSE, LEFT_EYE, RIGHT_EYE, MOUTH, HAIR, NECK, CLOTH = 1, 2, 4, 5, 10, 13, 17, 18  # CelebAMask-HQ


class Wrapper(ABC):
    """What all of them share: batches of pictures with their paths, answered one picture at a time."""

    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> Iterator[dict[str, Any]]:
        """Batches of four pictures; the arguments that a task passes are kept."""
        self.given = kwargs
        for start in range(0, len(img_filepaths), BATCH):
            paths = img_filepaths[start : start + BATCH]
            yield {"image_paths": paths, "images": [read_picture(Path(path)) for path in paths]}

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        """One answer per picture, in the order of the batch."""
        return [self.answer(*entry) for entry in zip(batch["images"], batch["image_paths"], strict=True)]

    @abstractmethod
    def answer(self, pixels: Pixels, path: str) -> Any:
        """The answer to one picture."""


class MaskedPeople(Wrapper):
    """Person localization: boxes around the pieces of MediaPipe's person mask."""

    @cached_property
    def network(self) -> PersonMask:
        return PersonMask()

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        found = pieces(self.network.mask(pixels))
        return {
            "bboxes": [box_of(piece) for piece, _ in found],
            "scores": [score for _, score in found],
            "labels": [0] * len(found),
        }


class PersonMasks(MaskedPeople):
    """Person parsing: the pieces of MediaPipe's person mask."""

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        found = pieces(self.network.mask(pixels))
        return {
            "masks": [piece for piece, _ in found],
            "scores": [score for _, score in found],
            "labels": [0] * len(found),
        }


class YuNetFaces(Wrapper):
    """Face localization: YuNet's boxes."""

    @cached_property
    def network(self) -> FaceDetector:
        return yunet_detector()

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        faces = self.network.faces(pixels)
        return {"detections": [list(face.box) for face in faces], "scores": [face.score for face in faces]}


class PosedPeople(Wrapper):
    """Keypoints: MediaPipe's pose in each given box (left, top, right, bottom)."""

    @cached_property
    def network(self) -> PoseReader:
        return PoseReader()

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        names = list(self.given.get("custom_keypoints") or COCO)
        chosen = [COCO.index(name) for name in names]
        poses, scores = [], []
        for x0, y0, x1, y1 in self.given["img_filepath_gt_bboxes"][path]:
            pose = self.pose(pixels, (x0, y0, x1, y1))
            if pose is None:
                poses.append([[ABSENT, ABSENT]] * len(names))
                scores.append([0.0] * len(names))
            else:
                poses.append(pose.coco[chosen].tolist())
                scores.append([pose.score] * len(names))
        return {"keypoints": poses, "scores": scores}

    def pose(self, pixels: Pixels, box: tuple[float, float, float, float]) -> Pose | None:
        """The pose in a box with some room around it, in the picture's coordinates."""
        height, width = pixels.shape[:2]
        room = 0.1 * max(box[2] - box[0], box[3] - box[1])
        left, top = max(int(box[0] - room), 0), max(int(box[1] - room), 0)
        right, bottom = min(int(box[2] + room), width), min(int(box[3] + room), height)
        if right - left < 8 or bottom - top < 8:
            return None
        found = self.network.pose(np.ascontiguousarray(pixels[top:bottom, left:right]))
        return None if found is None else Pose(found.points + np.array([left, top]), found.visibility, found.score)


class PosedParts(PosedPeople):
    """Body parts: how visible MediaPipe's pose thinks them in each given box (left, top, width, height)."""

    def answer(self, pixels: Pixels, path: str) -> Any:
        found = []
        height, width = pixels.shape[:2]
        for x, y, wide, high in self.given["img_filepath_gt_bboxes"][path]:
            pose = self.pose(pixels, (x, y, x + wide, y + high))
            if pose is None:
                found.append(dict.fromkeys(PARTS, 0.0))
                continue
            inside = ((pose.points >= 0) & (pose.points < (width, height))).all(axis=1)  # the pose may go on outside
            shown = np.where(inside, pose.visibility, 0.0)
            found.append({part: float(shown[list(points)].max()) for part, points in PARTS.items()})
        return found


class LabelledFaces(Wrapper):
    """Face parsing: simple shapes at YuNet's five landmarks, on MediaPipe's person mask."""

    map_ears_to_skin = True

    @cached_property
    def faces(self) -> FaceDetector:
        return yunet_detector()

    @cached_property
    def people(self) -> PersonMask:
        return PersonMask()

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        labels = np.where(self.people.mask(pixels) >= 0.5, CLOTH, 0).astype(np.uint8)
        for face in self.faces.faces(pixels)[:1]:
            draw_face(labels, face)
        return {"detections": labels}


class SFaceEmbeddings(Wrapper):
    """Face verification: SFace's vectors of faces that YuNet found and aligned."""

    @cached_property
    def faces(self) -> FaceDetector:
        return yunet_detector()

    @cached_property
    def network(self) -> FaceEmbedder:
        return face_embedder("sface")

    def align_faces(
        self, img_filepaths: list[str], aligned_img_filepaths: list[str], batch_size: int = 1, num_workers: int = 0,
        cuda: bool = False,
    ) -> list[bool]:  # fmt: skip
        """Cut out and turn the surest face of each picture; False where none was found."""
        return [
            self._aligned(Path(source), Path(target))
            for source, target in zip(img_filepaths, aligned_img_filepaths, strict=True)
        ]

    def _aligned(self, source: Path, target: Path) -> bool:
        pixels = read_picture(source)
        faces = self.faces.faces(pixels)
        if not faces or faces[0].landmarks is None:
            return False
        target.parent.mkdir(parents=True, exist_ok=True)
        cv2.imwrite(str(target), align(pixels, faces[0].landmarks)[..., ::-1])
        return True

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        """(pictures, 128): unit vectors."""
        return np.stack(super().__call__(batch))

    def answer(self, pixels: Pixels, path: str) -> Any:
        """The unit vector of one picture."""
        (vector,) = np.asarray(self.network.embed_crops([pixels]), dtype=np.float64)
        return vector / np.linalg.norm(vector)


def read_picture(path: Path) -> Pixels:
    """The picture in a file, eight-bit RGB."""
    from PIL import Image

    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def pieces(mask: NDArray[np.float32]) -> list[tuple[NDArray[np.bool_], float]]:
    """The connected pieces of a soft mask that are more than a hundredth of the picture, with their mean share."""
    count, labels, sizes, _ = cv2.connectedComponentsWithStats((mask >= 0.5).astype(np.uint8))
    order = sorted(range(1, count), key=lambda label: -sizes[label, cv2.CC_STAT_AREA])
    large = [label for label in order if sizes[label, cv2.CC_STAT_AREA] * 100 >= mask.size]
    return [(labels == label, float(mask[labels == label].mean())) for label in large]


def box_of(mask: NDArray[np.bool_]) -> list[float]:
    """Left, top, right, bottom of a mask."""
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    return [float(columns[0]), float(rows[0]), float(columns[-1] + 1), float(rows[-1] + 1)]


def draw_face(labels: NDArray[np.uint8], face: Face) -> None:
    """Hair, neck, skin, eyes, nose and mouth where a face's box and landmarks say."""
    x0, y0, x1, y1 = face.box
    middle, wide, high = (int((x0 + x1) / 2), int((y0 + y1) / 2)), x1 - x0, y1 - y0
    person = labels == CLOTH
    rows = np.arange(len(labels))[:, np.newaxis]
    labels[person & (rows < y0 + 0.6 * high)] = HAIR
    neck = np.zeros(labels.shape, np.uint8)
    cv2.rectangle(neck, (int(x0 + 0.25 * wide), middle[1]), (int(x1 - 0.25 * wide), int(y1 + 0.25 * high)), 1, -1)
    labels[(neck > 0) & person] = NECK
    cv2.ellipse(labels, middle, (int(0.5 * wide), int(0.55 * high)), 0, 0, 360, SKIN, -1)
    if face.landmarks is None:
        return
    points = [tuple(int(value) for value in point) for point in face.landmarks]  # eyes, nose, corners of the mouth
    size = max(int(0.09 * wide), 1)
    cv2.ellipse(labels, points[2], (size, int(1.6 * size)), 0, 0, 360, NOSE, -1)
    for point, label in zip(points[:2], (LEFT_EYE, RIGHT_EYE), strict=True):
        cv2.ellipse(labels, point, (size, max(size // 2, 1)), 0, 0, 360, label, -1)
    left, right = points[3], points[4]
    centre = ((left[0] + right[0]) // 2, (left[1] + right[1]) // 2)
    cv2.ellipse(labels, centre, (max(abs(right[0] - left[0]) // 2, 1), size), 0, 0, 360, MOUTH, -1)
