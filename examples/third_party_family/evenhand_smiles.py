"""A whole family in one file: does the face smile?

`truth.csv` in the data folder has the columns `image,person,smiles,age`; predictions are a CSV
with `image,smiles`. Everything else (groups, intervals, verdicts, reports) comes with evenhand.
"""

from __future__ import annotations

import csv
import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import evenhand as eh

AGES = ("young", "middle", "old")


@dataclass(frozen=True)
class Face:
    """What is known of one image."""

    person: str
    smiles: bool
    age: str


@dataclass(frozen=True)
class SmileOptions(eh.Options):
    """The switches of the task."""

    unanswered: bool = eh.option(False, "what an image without an answer counts as having said")


def load(data: Path, options: SmileOptions) -> eh.Dataset[dict[str, Face]]:
    """The labelled faces."""
    source = eh.read(data / "truth.csv", eh.DataError)
    rows = list(csv.DictReader(source.text().splitlines()))
    faces = {row["image"]: Face(row["person"], row["smiles"] == "yes", row["age"]) for row in rows}
    samples = [eh.Sample(image, (data / image,)) for image in faces]
    return eh.Dataset("smiles 1", samples, faces, {"age": AGES}, (source.fact,))


class SmileCodec(eh.Codec[bool]):
    """A CSV with one line per image."""

    filename = "smiles.csv"
    example = "image,smiles\n1.jpg,yes"

    def read(self, path: Path, dataset: eh.Dataset[dict[str, Face]], options: SmileOptions) -> eh.Predictions[bool]:
        source = eh.read(path, eh.PredictionError)
        said = {row["image"]: row["smiles"] == "yes" for row in csv.DictReader(source.text().splitlines())}
        known = {image: smiles for image, smiles in said.items() if image in dataset.truth}
        if not known:
            raise eh.PredictionError(
                f"{path}: no image of the data set is named. Write lines such as {self.example!r}."
            )
        asked = len(dataset.samples)
        coverage = eh.Coverage(asked, len(known), missing=asked - len(known), extra=len(said) - len(known))
        return eh.Answers(known, coverage, (source.fact,))

    def write(self, path: Path, answers: Iterable[tuple[str, bool]], dataset: object, options: object) -> None:
        lines = [f"{image},{'yes' if smiles else 'no'}" for image, smiles in answers]
        path.write_text("\n".join(["image,smiles", *lines]) + "\n", encoding="utf-8")


def record(
    dataset: eh.Dataset[dict[str, Face]], predictions: eh.Predictions[bool], options: SmileOptions, tools: eh.Tools
) -> Iterator[eh.Records]:
    """One row per face; the person is the unit."""
    faces = dataset.truth
    answers = {image: predictions.get(image) for image in faces}
    right = [
        (options.unanswered if answers[image] is None else answers[image]) == faces[image].smiles for image in faces
    ]
    columns = {"item": np.array(list(faces)), "unit": np.array([face.person for face in faces.values()])}
    yield eh.Records(
        {**columns, "right": np.array(right)}, {"age": eh.Attribute.of((face.age for face in faces.values()), AGES)}
    )


def demo(folder: Path) -> Sequence[eh.Demo]:
    """400 faces; the old are recognised worse."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)  # made-up data
    truth, said = ["image,person,smiles,age"], ["image,smiles"]
    for number in range(400):
        age, smiles = AGES[number % 3], rng.random() < 0.5
        right = rng.random() < (0.55 if age == "old" else 0.9)
        truth.append(f"{number}.jpg,p{number // 2},{'yes' if smiles else 'no'},{age}")
        said.append(f"{number}.jpg,{'yes' if smiles == right else 'no'}")
    (folder / "truth.csv").write_text("\n".join(truth) + "\n", encoding="utf-8")
    (folder / "said.csv").write_text("\n".join(said) + "\n", encoding="utf-8")
    return [eh.Demo("smiles/smiling", folder, folder / "said.csv", "age=old", "age=middle")]


smiling = eh.Task(
    name="smiles/smiling",
    summary="Say whether the face smiles.",
    load=load,
    codec=SmileCodec(),
    options=SmileOptions,
    record=record,
    metrics=lambda options: (eh.Rate("smiling", "right", output="accuracy"),),
    attributes=("age",),
    about=eh.About(data="DIR/truth.csv: image,person,smiles,age", rows="a face", unit="person"),
)
benchmark = eh.Benchmark("smiles", "Smiles, as an example.", (smiling,), demo=demo)
