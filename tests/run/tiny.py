"""A family of its own for tests: faces that were found or missed, in a JSON file."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from evenhand.core.engine import Workplace, finished
from evenhand.core.errors import PredictionError
from evenhand.core.options import Options, option
from evenhand.core.records import Attribute, Records
from evenhand.core.results import Coverage
from evenhand.core.task import Answers, Codec, Dataset, Sample, Task, Tools
from evenhand.files import inputs
from evenhand.metrics.means import Mean, Rate

LEVELS = {"tone": ("light", "dark"), "age": ("young", "old")}


@dataclass(frozen=True)
class TinyOptions(Options):
    size: int = option(50, "faces per part")
    trouble: Literal["none", "raise", "kill", "slow", "hang"] = option("none", "what happens in part 2")
    weights: Path | None = option(None, "a file that is not read")
    threshold: float = option(0.5, "score from which a face counts as found")


@dataclass(frozen=True)
class Face:
    person: int
    tone: str | None
    age: str | None


class TinyCodec(Codec[float]):
    filename = "scores.json"

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Answers[float]:
        source = inputs.read(path, PredictionError)
        scores = json.loads(source.text(PredictionError))
        asked = {sample.id for sample in dataset.samples}
        known = {key: float(value) for key, value in scores.items() if key in asked}
        coverage = Coverage(
            asked=len(asked), answered=len(known), missing=len(asked) - len(known), extra=len(scores) - len(known)
        )
        return Answers(known, coverage, (source.fact,))

    def write(self, path: Path, answers: Iterable[tuple[str, float]], dataset: Dataset[Any], options: Any) -> None:
        path.write_text(json.dumps(dict(answers), indent=1))


def load(folder: Path, options: Any) -> Dataset[Mapping[str, Face]]:
    source = inputs.read(folder / "faces.json")
    faces = {key: Face(*value) for key, value in json.loads(source.text()).items()}
    samples = [Sample(key) for key in faces]
    return Dataset("tiny-1", samples, faces, LEVELS, (source.fact,), facts={"faces": len(faces)})


def record(
    dataset: Dataset[Mapping[str, Face]], predictions: Answers[float], options: TinyOptions, tools: Tools
) -> Iterator[Records]:
    ids = [sample.id for sample in dataset.samples]
    parts = [
        (
            number,
            [(key, dataset.truth[key], predictions.get(key)) for key in ids[start : start + options.size]],
            options,
        )
        for number, start in enumerate(range(0, len(ids), options.size))
    ]
    if predictions.coverage.missing:
        tools.warn(f"{predictions.coverage.missing} faces without a score count as missed")
    yield from finished(tools.engine.map(record_part, parts))


def record_part(part: Any, place: Workplace) -> Records:
    number, faces, options = part
    if log := os.environ.get("TINY_LOG"):
        with Path(log).open("a") as file:
            file.write(f"{number}\n")
    if number == 2:
        make_trouble(options.trouble)
    if options.trouble == "slow":
        time.sleep(0.03)
    scores = np.array([0.0 if score is None else score for _, _, score in faces])
    return Records(
        {
            "item": np.array([key for key, _, _ in faces]),
            "unit": np.array([face.person for _, face, _ in faces]),
            "found": scores >= options.threshold,
            "score": scores,
        },
        {
            "tone": Attribute.of([face.tone for _, face, _ in faces], LEVELS["tone"]),
            "age": Attribute.of([face.age for _, face, _ in faces], LEVELS["age"]),
        },
    )


def make_trouble(kind: str) -> None:
    if kind == "raise" and not os.environ.get("TINY_HEALED"):
        raise ValueError("the picture 0117.jpg is damaged")
    if kind == "kill" and not os.environ.get("TINY_HEALED"):
        os.kill(os.getpid(), 9)
    if kind == "hang":
        Path(os.environ["TINY_PIDS"]).write_text(f"{os.getpid()}\n")
        while True:
            pass


task = Task(
    name="tiny/found",
    summary="Find faces.",
    load=load,
    codec=TinyCodec(),
    options=TinyOptions,
    record=record,
    metrics=lambda options: (Rate("found", column="found"), Mean("score", column="score")),
    attributes=("tone", "age"),
    headline=("found", "rate"),
)


def write_data(folder: Path, faces: int = 400, seed: int = 0) -> tuple[Path, Path]:
    """The data folder and a file of predictions, with dark tones found less often."""
    rng = np.random.default_rng(seed)
    data = folder / "data"
    data.mkdir(parents=True)
    truth, scores = {}, {}
    for number in range(faces):
        tone = ["light", "dark", None][int(rng.choice(3, p=[0.5, 0.45, 0.05]))]
        age = ["young", "old"][int(rng.integers(2))]
        truth[f"{number:05d}.jpg"] = [number // 2, tone, age]
        scores[f"{number:05d}.jpg"] = round(float(rng.random() - 0.15 * (tone == "dark") + 0.2), 6)
    scores.pop("00007.jpg")
    scores["stray.jpg"] = 0.5
    (data / "faces.json").write_text(json.dumps(truth))
    predictions = folder / "model.json"
    predictions.write_text(json.dumps(scores))
    return data, predictions
