"""Small made-up data with a planted truth: people of one skin colour are found less well, older people only seem to be.

Procedural people in the published layout, so every loader, wrapper and command works on it. Attributes are drawn at
random from the vocabulary; boxes, masks and keypoints follow from the figures. The answers of a model are the truth
with errors that are larger for the planted group.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.codec import encode_mask, write_outputs
from evenhand.benchmarks.fhibe.table import BODY_TABLE, table_path
from evenhand.core.streams import stream
from evenhand.core.task import Demo
from evenhand.files.outputs import write_csv
from evenhand.scenes.figures import Box, PersonFigure, picture
from evenhand.scenes.looks import Look, look_of
from evenhand.scenes.saving import save_picture

SUBJECTS = 240
IMAGES = 2
PLANTED_SKIN = vocabulary.VALUES["apparent_skin_color"][0]
PLANTED = f"apparent_skin_color={PLANTED_SKIN}"
CHANCE = "age=[60, +]"
_DRAW = 0
_ERROR, _PLANTED_ERROR = 0.02, 0.075  # of the figure's height
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


def write_demo(folder: Path) -> Sequence[Demo]:
    """Write a table and three models' answers below a folder, and say what is in them."""
    rows = write_bodies(folder, make_subjects(SUBJECTS, "demo"), images=IMAGES, together=0.05, pixels=True)
    rng = stream("fhibe", "demo", "answers", _DRAW)
    answers: dict[str, dict[str, Any]] = {
        task: {} for task in ("person_localization", "person_parsing", "keypoint_estimation")
    }
    for row in rows:
        figure = _seen(row, rng)
        points = figure.keypoints()
        detections = (
            (list(figure.box()), 0.9),
            (encode_mask(figure.mask(*row.size)), 0.9),
            ([list(points[name]) for name in vocabulary.KEYPOINTS], [0.9] * len(vocabulary.KEYPOINTS)),
        )
        for by_image, (detection, score) in zip(answers.values(), detections, strict=True):
            entry = by_image.setdefault(row.image, {"detections": [], "scores": []})
            entry["detections"].append(detection)
            entry["scores"].append(score)
    story = (
        f"{len(rows)} made-up people. A model's boxes, masks and keypoints are off by {_ERROR:.0%} of a person's "
        f"height, by {_PLANTED_ERROR:.1%} for the darkest skin. People over 60 are few; they have the same errors "
        "as everyone else."
    )
    demos = []
    for task, by_image in answers.items():
        path = write_outputs(task, by_image, folder / "answers" / task / "model_outputs.json")
        demos.append(Demo(f"fhibe/{task}", folder, path, PLANTED, CHANCE, story))
    return demos


def _seen(row: BodyRow, rng: np.random.Generator) -> PersonFigure:
    """The figure as the model sees it: moved and scaled by its error."""
    planted = row.subject.attributes["apparent_skin_color"] == PLANTED_SKIN
    error = (_PLANTED_ERROR if planted else _ERROR) * row.figure.height
    sideways, up, taller = (float(value) for value in rng.normal(0, error, 3))
    return replace(
        row.figure,
        centre=row.figure.centre + sideways,
        ground=row.figure.ground + up,
        height=max(row.figure.height + taller, 20.0),
    )


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
    write_table(root, BODY_TABLE, [_body_cells(row) for row in rows])
    if pixels:
        shown: dict[str, list[BodyRow]] = {}
        for row in rows:
            shown.setdefault(row.image, []).append(row)
        for image, people in shown.items():
            save_picture(root / image, picture([row.figure for row in people], *size))
    return rows


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
            "class_name": f"{vocabulary.SEGMENTS.index(name)}. {name}",
            "num": 0,
            "polygon": [{"x": round(float(x), 1), "y": round(float(y), 1)} for x, y in outline],
        }
        for name, outline in ((_SEGMENTS.get(part, part), points) for part, points in row.figure.parts().items())
    ]
    return {
        **common_cells(row.subject, row.image_id, row.image, row.size),
        "keypoints": str(numbered),
        "segments": str(segments),
        "person_bbox": str(_xywh(row.figure.box())),
        "face_bbox": str(_xywh(row.figure.face_box())),
        "multiple_subjects": "0",
    }


def common_cells(subject: Subject, image_id: str, image: str, size: tuple[int, int]) -> dict[str, str]:
    """The cells that both tables have, by column."""
    return {
        "image_id": image_id,
        "filepath": image,
        "json_path": image.replace(".png", ".json"),
        "subject_id": subject.id,
        "image_height": str(size[0]),
        "image_width": str(size[1]),
        **subject.attributes,
    }


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


def write_table(root: Path, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write a table from the cells of its rows, below a data root."""
    columns = list(rows[0])
    write_csv(table_path(root, name), columns, ([row[column] for column in columns] for row in rows))
