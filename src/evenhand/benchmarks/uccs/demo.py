"""A small watchlist with a planted truth, in drawn pictures.

Seven hundred pictures with faces of forty listed people and of
strangers, and the score files of a system that finds and names fewer faces in the shade. Snow is
rare and has the same chances as any other weather; in this draw it happens to look worse.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from evenhand.benchmarks.uccs.codec import scored_block
from evenhand.benchmarks.uccs.data import FACE_COLUMNS, GALLERY_COLUMNS, subject_name
from evenhand.benchmarks.uccs.detections import ImageDetections, write_detections
from evenhand.benchmarks.uccs.scoring import write_text
from evenhand.core.optional import cv2
from evenhand.core.records import Array
from evenhand.core.streams import stream
from evenhand.core.task import Demo
from evenhand.files.writing import make_folder, write_file
from evenhand.scenes.faces import face_picture
from evenhand.scenes.looks import look_of
from evenhand.scenes.saving import save_picture

IMAGES: Final = 700
SUBJECTS: Final = 40
PLANTED: Final = "lighting=shade"
CHANCE: Final = "weather=snow"
_FOUND, _FOUND_IN_SHADE = 0.95, 0.70
_SCALE: Final = 0.15  # of a picture of 24 megapixels, so that files are small
_SIZE: Final = 720, 705  # pixels
_LIGHT: Final = {"sun": 1.0, "indoors": 0.85, "shade": 0.6}
_LIKE, _LIKE_IN_SHADE, _SPREAD = 0.62, 0.47, 0.11


class _Picture(NamedTuple):
    name: str
    lighting: str
    weather: str
    boxes: Array  # (faces, 4)
    subjects: Array  # (faces,)


def write_demo(folder: Path) -> Sequence[Demo]:
    """Write a table, an exclusion list, a gallery and two score files; say what is in them."""
    make_folder(folder)
    pictures = _pictures(stream("uccs", "demo", "pictures"))
    faces = _write_table(folder, pictures)
    for picture in pictures if cv2 else ():
        _draw(folder / "validation_images" / picture.name, picture)
    write_file(folder / "exclude_gallery_validation.txt", "".join(f"{face}\n" for face in faces[:5]))
    _write_gallery(folder)
    rng = stream("uccs", "demo", "answers")
    answers = [(picture.name, _answer(picture, rng)) for picture in pictures]
    detections, scores = folder / "detections.txt", folder / "scores.txt"
    write_detections(detections, answers)
    write_text(scores, (scored_block(name, answer, SUBJECTS) for name, answer in answers), range(1, SUBJECTS + 1))
    story = (
        f"A system looks for {SUBJECTS} listed people in {IMAGES} made-up pictures. It finds {_FOUND:.0%} of the "
        f"faces, but {_FOUND_IN_SHADE:.0%} in the shade, and is less sure of their names there. "
        "Snow is rare and fares worse by chance alone."
    )
    return [
        Demo("uccs/detection", folder, detections, PLANTED, CHANCE, story),
        Demo("uccs/identification", folder, scores, PLANTED, CHANCE, story),
    ]


def _pictures(rng: np.random.Generator) -> list[_Picture]:
    pictures = []
    for number in range(IMAGES):
        lighting = ("sun", "shade", "indoors")[int(rng.choice(3, p=(0.45, 0.35, 0.2)))]
        weather = ("dry", "rain", "snow")[int(rng.choice(3, p=(0.65, 0.31, 0.04)))]
        count = int(rng.integers(1, 5))
        left = rng.choice(8, size=count, replace=False) * 600.0 + rng.uniform(0, 200, count)
        size = rng.uniform(80, 200, count)
        boxes = (_SCALE * np.stack([left, rng.uniform(0, 3000, count), size, size * 1.25], axis=1)).round(2)
        subjects = np.where(rng.random(count) < 0.55, rng.integers(1, SUBJECTS + 1, count), -1)
        pictures.append(_Picture(f"picture_{number:04d}.jpg", lighting, weather, boxes, subjects))
    return pictures


def _draw(path: Path, picture: _Picture) -> None:
    """A street with the faces of a picture, in its light."""
    pixels = np.full((_SIZE[1], _SIZE[0], 3), (188, 200, 206), dtype=np.uint8)
    pixels[_SIZE[1] * 3 // 4 :] = (150, 152, 150)
    for place, (x, y, width, height) in enumerate(picture.boxes.tolist()):
        subject = int(picture.subjects[place])
        identity = ("uccs", subject) if subject > 0 else ("uccs", picture.name, place)
        size = round(height / 0.7)
        face = face_picture(look_of(identity), size)
        left, top = round(x + width / 2 - size / 2), round(y + height / 2 - size / 2)
        rows = slice(max(top, 0), min(top + size, _SIZE[1]))
        columns = slice(max(left, 0), min(left + size, _SIZE[0]))
        inner = (slice(rows.start - top, rows.stop - top), slice(columns.start - left, columns.stop - left))
        seen = face.labels[inner] > 0
        pixels[rows, columns][seen] = face.pixels[inner][seen]
    save_picture(path, cv2.convertScaleAbs(pixels, alpha=_LIGHT[picture.lighting]))


def _write_table(folder: Path, pictures: Sequence[_Picture]) -> list[int]:
    """Write `validation.csv`; returns the ids of known faces."""
    lines, known, face = [",".join((*FACE_COLUMNS, "LIGHTING", "WEATHER"))], [], 0
    for picture in pictures:
        for box, subject in zip(picture.boxes.tolist(), picture.subjects.tolist(), strict=True):
            face += 1
            known += [face] if subject > 0 else []
            fields = (picture.name, face, subject, *box, picture.lighting, picture.weather)
            lines.append(",".join(map(str, fields)))
    write_file(folder / "validation.csv", "\n".join(lines) + "\n")
    return known


def _write_gallery(folder: Path) -> None:
    points = (38.3, 51.7, 73.5, 51.5, 56.0, 71.7, 41.5, 92.4, 70.7, 92.2)
    lines = [",".join(GALLERY_COLUMNS)]
    for subject in range(1, SUBJECTS + 1):
        for number in range(10):
            lines.append(",".join(map(str, (f"{subject_name(subject)}_{number}.png", subject, *points))))
    write_file(folder / "gallery.csv", "\n".join(lines) + "\n")


def _answer(picture: _Picture, rng: np.random.Generator) -> ImageDetections:
    shade = picture.lighting == "shade"
    is_found = rng.random(len(picture.boxes)) < (_FOUND_IN_SHADE if shade else _FOUND)
    false = int(rng.poisson(0.5))
    boxes = np.concatenate(
        [
            picture.boxes[is_found] + _SCALE * rng.normal(0, 3, (int(is_found.sum()), 4)),
            _SCALE
            * np.stack([*rng.uniform(0, 4500, (2, false)), *rng.uniform(40, 150, (2, false))], axis=1).reshape(-1, 4),
        ]
    )
    scores = np.concatenate([rng.beta(9, 1.5, int(is_found.sum())), rng.beta(1.5, 5, false)])
    similar = rng.normal(0.0, _SPREAD, (len(boxes), SUBJECTS))
    for row, subject in enumerate(picture.subjects[is_found].tolist()):
        if subject > 0:
            similar[row, subject - 1] = rng.normal(_LIKE_IN_SHADE if shade else _LIKE, _SPREAD)
    order = np.argsort(-scores, kind="stable")
    return ImageDetections(scores[order], boxes[order].round(2), None, similar[order].astype(np.float32))
