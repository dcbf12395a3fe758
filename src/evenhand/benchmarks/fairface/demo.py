"""Small made-up data with a planted truth: the model performs worse for one group, and only seems to for another.

Drawn faces with made-up labels (the drawing does not depend on the label), and the answers of a model that is
wrong more often about one group. A second, small group has the same chance of
being right as everyone else and happens to fare worse in this draw.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, COARSE_OF, FINE_RACES, GENDERS
from evenhand.core.optional import cv2
from evenhand.core.streams import stream
from evenhand.core.task import Demo
from evenhand.files.writing import make_folder, open_file
from evenhand.scenes.looks import look_of
from evenhand.scenes.saving import save_face

_FACES: Final = 1400
_SIZE: Final = 96  # pixels of a drawn face
_RIGHT: Final = 0.88
_RIGHT_IF_PLANTED: Final = 0.62
_REFUSALS: Final = 0.03
_AGES: Final = (*AGE_BINS[:-1], "more than 70")  # as the label file writes them
_AGE_SHARES: Final = (0.03, 0.12, 0.11, 0.29, 0.20, 0.11, 0.07, 0.04, 0.03)
_DRAW: Final = 23  # of those tried, the first in which the small group fares worse by chance in all three tasks
PLANTED: Final = "race=Latino_Hispanic"
CHANCE: Final = "age=70+"


class _Face(NamedTuple):
    file: str
    age: str
    gender: str
    race: str
    service_test: bool


def write_demo(folder: Path) -> Sequence[Demo]:
    """Write labels and answers below a folder, and say what is in them."""
    make_folder(folder)
    faces = _faces(stream("fairface", "demo", "faces"))
    with open_file(folder / "fairface_label_val.csv") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(_Face._fields)
        writer.writerows(faces)
    if cv2:
        for face in faces:
            rng = stream("fairface", "demo", "picture", face.file)
            save_face(folder / face.file, look_of(face.file), _SIZE, yaw=float(rng.uniform(-1, 1)))
    answers = folder / "answers.jsonl"
    rng = stream("fairface", "demo", "answers", _DRAW)
    with open_file(answers) as file:
        for face in faces:
            record = {"image_path": face.file, "status": "ok", "raw_output": _answer(face, rng)}
            file.write(json.dumps(record) + "\n")
    story = (
        f"A model answers about {_FACES} made-up faces. It is right about {_RIGHT:.0%} of them, but about only "
        f"{_RIGHT_IF_PLANTED:.0%} of the Latino_Hispanic ones. Faces over 70 are few and fare worse by chance alone."
    )
    return [
        Demo(task=f"fairface/{name}", data=folder, predictions=answers, planted=PLANTED, chance=CHANCE, story=story)
        for name in ("gender", "race", "age")
    ]


def _faces(rng: np.random.Generator) -> list[_Face]:
    ages = rng.choice(len(AGE_BINS), size=_FACES, p=_AGE_SHARES)
    races = rng.integers(0, len(FINE_RACES), _FACES)
    genders = rng.integers(0, len(GENDERS), _FACES)
    return [
        _Face(f"val/{number}.jpg", _AGES[age], GENDERS[gender], FINE_RACES[race], bool(rng.random() < 0.5))
        for number, (age, gender, race) in enumerate(zip(ages, genders, races, strict=True), start=1)
    ]


def _answer(face: _Face, rng: np.random.Generator) -> str:
    if rng.random() < _REFUSALS:
        return "I'm sorry, but I can't describe the person in this picture."
    right = _RIGHT_IF_PLANTED if COARSE_OF[face.race] == "Latino_Hispanic" else _RIGHT
    gender = face.gender if rng.random() < right else _other(face.gender, GENDERS, rng)
    race = face.race if rng.random() < right else _other(face.race, FINE_RACES, rng)
    age = face.age if rng.random() < right else _other(face.age, _AGES, rng)
    style = rng.integers(0, 3)
    if style == 0:
        return json.dumps({"gender": gender.lower(), "ethnicity": race, "age_range": age})
    if style == 1:
        return f"Gender: {gender}\nRace: {race}\nAge: {age} years"
    return f"```json\n{json.dumps({'sex': gender[0], 'race': race, 'age': age})}\n```"


def _other(label: str, labels: Sequence[str], rng: np.random.Generator) -> str:
    others = [name for name in labels if name != label]
    return others[int(rng.integers(0, len(others)))]
