"""An example of a wrapped model for each task that looks at pixels and needs no network.

    evenhand predict fhibe/person_localization --model examples/fhibe_classical.py:PersonFinder --data FHIBE

They show the published wrapper contract, and find procedural people by classical vision: what differs
from the background is a person, what is skin at the top of it is a face. Networks that look at photographs
are wrapped in `examples/fhibe_networks.py`. All are examples to copy from, not models to compare with.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.scenes.looks import SKIN

Pixels = NDArray[np.uint8]
_BATCH = 8
_FAR = 30  # grey levels from the background that make a pixel part of somebody
_SMALLEST = 40  # pixels of a region that counts
# Where keypoints lie in the box of a standing person: share of width, share of height.
_STANDING: Mapping[str, tuple[float, float]] = {
    "Nose": (0.5, 0.07), "Left eye": (0.54, 0.06), "Right eye": (0.46, 0.06), "Left ear": (0.58, 0.07),
    "Right ear": (0.42, 0.07), "Left shoulder": (0.72, 0.18), "Right shoulder": (0.28, 0.18),
    "Left elbow": (0.82, 0.35), "Right elbow": (0.18, 0.35), "Left wrist": (0.9, 0.48), "Right wrist": (0.1, 0.48),
    "Left hip": (0.63, 0.48), "Right hip": (0.37, 0.48), "Left knee": (0.68, 0.72), "Right knee": (0.32, 0.72),
    "Left ankle": (0.7, 0.94), "Right ankle": (0.3, 0.94),
}  # fmt: skip


class Region(NamedTuple):
    """A connected piece of a picture: its mask and the box around it."""

    mask: NDArray[np.bool_]
    box: tuple[float, float, float, float]


class Example(ABC):
    """What all examples share: batches of pictures with their paths."""

    map_ears_to_skin = True

    @property
    def name(self) -> str:
        """What runs are filed under."""
        return type(self).__name__

    def data_preprocessor(self, img_filepaths: list[str], **kwargs: Any) -> Iterator[dict[str, Any]]:
        """Batches of eight pictures; each batch carries the paths of its pictures."""
        self.boxes: Mapping[str, Any] = kwargs.get("img_filepath_gt_bboxes", {})
        self.keypoints: list[str] = list(kwargs.get("custom_keypoints") or vocabulary.KEYPOINTS)
        for start in range(0, len(img_filepaths), _BATCH):
            paths = img_filepaths[start : start + _BATCH]
            yield {"images": [read_picture(Path(path)) for path in paths], "image_paths": paths}

    def __call__(self, batch: Mapping[str, Any]) -> list[Any]:
        """One answer per picture."""
        return [self.answer(*entry) for entry in zip(batch["images"], batch["image_paths"], strict=True)]

    @abstractmethod
    def answer(self, pixels: Pixels, path: str) -> Any:
        """The answer to one picture."""


class PersonFinder(Example):
    """Boxes of people: regions that differ from the background."""

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        found = people(pixels)
        return {
            "bboxes": [list(region.box) for region in found],
            "scores": [0.9] * len(found),
            "labels": [0] * len(found),
        }


class PersonCutter(Example):
    """Masks of people: regions that differ from the background."""

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        found = people(pixels)
        return {
            "masks": [region.mask for region in found],
            "scores": [0.9] * len(found),
            "labels": [0] * len(found),
        }


class FaceFinder(Example):
    """Boxes of faces: skin in the upper fifth of a person."""

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        boxes = [box for region in people(pixels) if (box := face_box(pixels, region)) is not None]
        return {"detections": [list(box) for box in boxes], "scores": [0.9] * len(boxes)}


class PoseFinder(Example):
    """Keypoints: where they are in a standing person, scaled to the region inside each given box."""

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        poses = []
        for x0, y0, x1, y1 in self.boxes[path]:
            inside = foreground(pixels)[max(int(y0), 0) : int(y1) + 1, max(int(x0), 0) : int(x1) + 1]
            rows, columns = np.flatnonzero(inside.any(axis=1)), np.flatnonzero(inside.any(axis=0))
            top, left = (rows[0], columns[0]) if len(rows) else (0, 0)
            high, wide = (np.ptp(rows), np.ptp(columns)) if len(rows) else (y1 - y0, x1 - x0)
            poses.append(
                [
                    [float(x0 + left + wide * _STANDING[name][0]), float(y0 + top + high * _STANDING[name][1])]
                    for name in self.keypoints
                ]
            )
        return {"keypoints": poses, "scores": [[[0.5]] * len(self.keypoints) for _ in poses]}


class PartFinder(Example):
    """Face and hands: how much skin there is at the top and at the sides of each given box (x, y, width, height)."""

    def answer(self, pixels: Pixels, path: str) -> list[dict[str, float]]:
        found = []
        for x, y, width, height in self.boxes[path]:
            inside = pixels[max(int(y), 0) : int(y + height), max(int(x), 0) : int(x + width)]
            skin = is_skin(inside)
            tall = len(skin)
            face = float(skin[: tall // 6].mean()) if tall else 0.0
            hands = float(skin[tall // 3 : tall * 2 // 3].mean()) if tall else 0.0
            found.append({"Face": min(1.0, 4 * face), "Hand": min(1.0, 8 * hands)})
        return found


class FaceLabeller(Example):
    """Labels of a face: the nearest of a few colours, by place."""

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        size = len(pixels)
        labels = np.zeros(pixels.shape[:2], dtype=np.uint8)
        rows = np.arange(size)[:, np.newaxis] / size
        inside = foreground(pixels)
        skin = is_skin(pixels) & inside
        labels[inside] = vocabulary.FACE_LABELS.index("hair")
        labels[inside & (rows > 0.85)] = vocabulary.FACE_LABELS.index("cloth")
        labels[skin] = vocabulary.FACE_LABELS.index("skin")
        labels[skin & (rows > 0.86)] = vocabulary.FACE_LABELS.index("neck")
        return {"detections": labels}


class FaceEmbedder(Example):
    """A vector per face: mean colours of a grid of patches, as a unit vector."""

    def align_faces(
        self, img_filepaths: list[str], aligned_img_filepaths: list[str], batch_size: int = 1, num_workers: int = 0,
        cuda: bool = False,
    ) -> list[bool]:  # fmt: skip
        """The pictures are aligned already: copy them to where the aligned ones belong."""
        for source, target in zip(img_filepaths, aligned_img_filepaths, strict=True):
            Path(target).parent.mkdir(parents=True, exist_ok=True)
            Path(target).write_bytes(Path(source).read_bytes())
        return [True] * len(img_filepaths)

    def __call__(self, batch: Mapping[str, Any]) -> Any:
        """(pictures, numbers): unit vectors."""
        return np.stack(super().__call__(batch))

    def answer(self, pixels: Pixels, path: str) -> Any:
        """The unit vector of one picture."""
        vector = _shrunk(pixels, 12).reshape(-1).astype(np.float32)
        vector -= vector.mean()
        return vector / np.linalg.norm(vector)


class FaceEncoder(Example):
    """An encoding: the picture at a quarter of its size; saved at full size again."""

    def answer(self, pixels: Pixels, path: str) -> dict[str, Any]:
        return {"encoding": _shrunk(pixels, max(len(pixels) // 4, 1)), "size": len(pixels)}

    def __call__(self, batch: Mapping[str, Any]) -> list[Any]:
        """One encoding per picture."""
        self._size = len(batch["images"][0])
        return super().__call__(batch)

    def save_encoding(self, encoding: Pixels, path: str) -> None:
        """Save the picture that can be recovered from an encoding."""
        _save(encoding, self._size, path)


class FaceRestorer(Example):
    """Super resolution: the picture at half its size, brought back by smooth interpolation."""

    def answer(self, pixels: Pixels, path: str) -> Pixels:
        self._size = len(pixels)
        return _shrunk(pixels, max(len(pixels) // 2, 1))

    def save_array(self, array: Pixels, path: str) -> None:
        """Save the restored picture."""
        _save(array, self._size, path)


EXAMPLES: Mapping[str, type[Example]] = {
    "person_localization": PersonFinder,
    "person_parsing": PersonCutter,
    "face_localization": FaceFinder,
    "keypoint_estimation": PoseFinder,
    "body_parts_detection": PartFinder,
    "face_parsing": FaceLabeller,
    "face_verification": FaceEmbedder,
    "face_encoding": FaceEncoder,
    "face_super_resolution": FaceRestorer,
}


def read_picture(path: Path) -> Pixels:
    """The picture in a file, eight-bit RGB."""
    from PIL import Image

    with Image.open(path) as picture:
        return np.asarray(picture.convert("RGB"))


def foreground(pixels: Pixels) -> NDArray[np.bool_]:
    """(height, width): what differs from the colour that its row has at the picture's border."""
    border = np.concatenate([pixels[:, :2], pixels[:, -2:]], axis=1).astype(np.int64)
    background = np.median(border, axis=1)[:, np.newaxis]
    return np.asarray(np.abs(pixels.astype(np.int64) - background).max(axis=2) > _FAR)


def people(pixels: Pixels) -> list[Region]:
    """The connected regions of the foreground, largest first."""
    import cv2

    closed = cv2.morphologyEx(foreground(pixels).astype(np.uint8), cv2.MORPH_CLOSE, np.ones((3, 3), np.uint8))
    count, labels, sizes, _ = cv2.connectedComponentsWithStats(closed)
    order = sorted(range(1, count), key=lambda label: -sizes[label, cv2.CC_STAT_AREA])
    found = []
    for label in order:
        x, y, width, height, area = (int(value) for value in sizes[label])
        if area >= _SMALLEST:
            found.append(Region(labels == label, (float(x), float(y), float(x + width), float(y + height))))
    return found


def is_skin(pixels: Pixels) -> NDArray[np.bool_]:
    """(height, width): pixels whose colour is near one of six skin colours, in any light."""
    colour = pixels.astype(np.float64)
    tones = np.array(SKIN, dtype=np.float64)
    share = colour / np.maximum(colour.sum(axis=2, keepdims=True), 1)
    known = tones / tones.sum(axis=1, keepdims=True)
    return np.asarray(np.abs(share[:, :, np.newaxis] - known).max(axis=3).min(axis=2) < 0.02)


def face_box(pixels: Pixels, region: Region) -> tuple[float, float, float, float] | None:
    """The box around the skin in the upper part of a person."""
    x0, y0, x1, y1 = (int(value) for value in region.box)
    top = y0 + max(int(0.17 * (y1 - y0)), 2)
    rows, columns = np.nonzero(is_skin(pixels[y0:top, x0:x1]) & region.mask[y0:top, x0:x1])
    if not len(rows):
        return None
    return (
        float(x0 + columns.min()),
        float(y0 + rows.min()),
        float(x0 + columns.max() + 1),
        float(y0 + rows.max() + 1),
    )


def _shrunk(pixels: Pixels, size: int) -> Pixels:
    import cv2

    return np.asarray(cv2.resize(pixels, (size, size), interpolation=cv2.INTER_AREA), dtype=np.uint8)


def _save(pixels: Pixels, size: int, path: str) -> None:
    from PIL import Image

    Image.fromarray(pixels).resize((size, size), Image.Resampling.BICUBIC).save(path)
