"""A synthetic FHIBE: both tables, and pictures where they are asked for, from procedural people.

The layout is the published one, so every loader, wrapper and command works on it. Attributes are
drawn at random from the vocabulary; geometry follows from the figures.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.table import BODY_TABLE, FACE_TABLE, table_path
from evenhand.core.streams import stream
from evenhand.files.writing import open_file
from evenhand.scenes.faces import FacePicture, face_picture
from evenhand.scenes.figures import Box, PersonFigure, picture
from evenhand.scenes.looks import Look, look_of
from evenhand.scenes.saving import save_picture

_AGES = (19, 24, 33, 37, 44, 52, 66)
_AGE_SHARES = (0.25, 0.2, 0.15, 0.15, 0.12, 0.1, 0.03)
_COUNTRIES = ("usa", "Kenya", "Viet Nam", "nigeria", "uk ")
_NATIONALITIES = ("105. Kenyan", "146. Nigerian", "3. American", "27. British", "218. Vietnamese")
_SEGMENTS = {"Left leg clothes": "Lower body clothes", "Right leg clothes": "Lower body clothes"}


@dataclass(frozen=True)
class Subject:
    """A synthetic person: an identity, a look, and the attributes that do not change from picture to picture."""

    id: str
    look: Look
    attributes: Mapping[str, str]


@dataclass(frozen=True)
class BodyRow:
    """One subject in one picture: where it stands."""

    subject: Subject
    image_id: str
    image: str  # relative path
    figure: PersonFigure
    size: tuple[int, int]  # height, width


@dataclass(frozen=True)
class FaceRow:
    """One face picture of a subject."""

    subject: Subject
    image: str  # relative path
    mask: str  # relative path of the combined label map
    yaw: float
    light: float
    size: int

    def draw(self) -> FacePicture:
        """The picture and its labels."""
        noise = stream("fhibe", "made up", "noise", self.image)
        return face_picture(self.subject.look, self.size, yaw=self.yaw, light=self.light, noise=noise)


def make_subjects(count: int, *names: object) -> tuple[Subject, ...]:
    """So many people, the same for the same names."""
    rng = stream("fhibe", "made up", "subjects", *names)
    subjects = []
    for number in range(count):
        identity = f"subject{number:04d}"
        tone = int(rng.integers(6))
        values = {name: _cell(name, rng) for name in vocabulary.ATTRIBUTES}
        values["age"] = str(int(rng.choice(_AGES, p=_AGE_SHARES)))
        skin = vocabulary.VALUES["apparent_skin_color"][tone]
        values |= {"apparent_skin_color": skin, "natural_skin_color": skin}
        subjects.append(Subject(identity, look_of((*names, number), tone=tone), values))
    return tuple(subjects)


def write_bodies(
    root: Path,
    subjects: Sequence[Subject],
    *,
    images: int = 3,
    size: tuple[int, int] = (256, 192),
    together: float = 0.1,
    pixels: bool = False,
) -> tuple[BodyRow, ...]:
    """Write the body table (and the pictures) below a data root; the rows come back in its order.

    A share `together` of the pictures shows a second subject.
    """
    rows = tuple(_body_rows(subjects, images, size, together))
    _write_table(root, BODY_TABLE, [_body_cells(row) for row in rows])
    if pixels:
        shown: dict[str, list[BodyRow]] = {}
        for row in rows:
            shown.setdefault(row.image, []).append(row)
        for image, people in shown.items():
            save_picture(root / image, picture([row.figure for row in people], *size))
    return rows


def write_faces(
    root: Path, subjects: Sequence[Subject], *, images: int = 3, size: int = 512, pixels: bool = False
) -> tuple[FaceRow, ...]:
    """Write the face table (and pictures with their label maps) below a data root."""
    rng = stream("fhibe", "made up", "faces", len(subjects), images)
    rows, cells = [], []
    for subject in subjects:
        for number in range(images):
            image_id = f"face{number}{subject.id}"
            image = f"data/raw/{BODY_TABLE}/{subject.id}/{image_id}/faces_crop_and_align_{image_id}_{subject.id}.png"
            folder = f"data/processed/{FACE_TABLE}/masks/CelebAMask-HQ_format/{image_id}_{subject.id}"
            row = FaceRow(
                subject, image, f"{folder}/combined.png", float(rng.uniform(-1, 1)), float(rng.uniform(0.8, 1)), size
            )
            rows.append(row)
            cells.append(
                {
                    **_common(subject, f"{image_id}_{subject.id}", image, (size, size)),
                    "CelebA": str([row.mask, f"{folder}/skin.png"]),
                    "multiple_subjects": "0",
                }
            )
            if pixels:
                _save_face(root, row)
    _write_table(root, FACE_TABLE, cells)
    return tuple(rows)


def _body_rows(subjects: Sequence[Subject], images: int, size: tuple[int, int], together: float) -> Iterator[BodyRow]:
    rng = stream("fhibe", "made up", "bodies", len(subjects), images)
    height, width = size
    for place, subject in enumerate(subjects):
        for number in range(images):
            image_id = f"image{number}{subject.id}"
            image = f"data/raw/{BODY_TABLE}/{subject.id}/{image_id}/main_{image_id}.png"
            shown = [subject]
            if rng.random() < together and len(subjects) > 1:
                shown.append(subjects[(place + 1) % len(subjects)])
            for position, person in enumerate(shown):
                middle = width * (0.5 if len(shown) == 1 else 0.28 + 0.44 * position)
                tall = height * float(rng.uniform(0.62, 0.82))
                figure = PersonFigure(person.look, middle + float(rng.uniform(-6, 6)), 0.95 * height, tall)
                yield BodyRow(person, image_id, image, figure.walking(float(rng.uniform())), size)


def _body_cells(row: BodyRow) -> dict[str, str]:
    points = {name: [round(x, 2), round(y, 2), 1] for name, (x, y) in row.figure.keypoints().items()}
    numbered = {f"{place}. {name}": points[name] for place, name in enumerate(vocabulary.KEYPOINTS_33)}
    segments = [
        {
            "class_name": _numbered_segment(name),
            "num": 0,
            "polygon": [{"x": round(float(x), 1), "y": round(float(y), 1)} for x, y in outline],
        }
        for name, outline in row.figure.parts().items()
    ]
    return {
        **_common(row.subject, row.image_id, row.image, row.size),
        "keypoints": str(numbered),
        "segments": str(segments),
        "person_bbox": str(_xywh(row.figure.box())),
        "face_bbox": str(_xywh(row.figure.face_box())),
        "multiple_subjects": "0",
    }


def _common(subject: Subject, image_id: str, image: str, size: tuple[int, int]) -> dict[str, str]:
    return {
        "image_id": image_id,
        "filepath": image,
        "json_path": image.replace(".png", ".json"),
        "subject_id": subject.id,
        "image_height": str(size[0]),
        "image_width": str(size[1]),
        **subject.attributes,
    }


def _numbered_segment(name: str) -> str:
    plain = _SEGMENTS.get(name, name)
    return f"{vocabulary.SEGMENTS.index(plain)}. {plain}"


def _xywh(box: Box) -> list[float]:
    return [round(box[0], 3), round(box[1], 3), round(box[2] - box[0], 3), round(box[3] - box[1], 3)]


def _cell(name: str, rng: np.random.Generator) -> str:
    if name == "location_country":
        return str(rng.choice(_COUNTRIES))
    values = _NATIONALITIES if name == "nationality" else vocabulary.VALUES[name]
    if name == "pronoun":
        values = values[:3]
    if name == "ancestry":
        values = tuple(vocabulary.ANCESTRY_REGIONS)
    if name not in vocabulary.MULTI_VALUED:
        return values[int(rng.integers(len(values)))]
    count = 2 if rng.random() < 0.1 and len(values) > 1 else 1
    return str([values[place] for place in sorted(rng.choice(len(values), count, replace=False))])


def _save_face(root: Path, row: FaceRow) -> None:
    drawn = row.draw()
    for path, content in ((root / row.image, drawn.pixels), (root / row.mask, drawn.labels)):
        save_picture(path, content)


def _write_table(root: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    path = table_path(root, name)
    with open_file(path, flush=False) as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
