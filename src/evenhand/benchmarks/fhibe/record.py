"""Truth and answers to rows: one row per annotated person, per part, or per picture.

Columns: `item` (the image), `unit` (the subject), `row` (its place in the evaluated table), and what
happened. Nothing is dropped: an image without an answer gives rows that score what silence scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import pictures, scores, vocabulary
from evenhand.benchmarks.fhibe.check import misread_boxes, misread_poses
from evenhand.benchmarks.fhibe.codec import BoxDetections, FaceMap, PartProbabilities, Poses
from evenhand.benchmarks.fhibe.data import BoxTruth, FaceMapTruth, PartTruth, People, PeopleTruth, PoseTruth
from evenhand.benchmarks.fhibe.face_segmentation import score_faces
from evenhand.benchmarks.fhibe.options import FacePictureOptions, FaceVerificationOptions, ParsingOptions, PartOptions
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array, Records
from evenhand.core.task import Answers, Dataset, Tools

OTHER_PART = "(other part)"
PARTS: tuple[str, ...] = (
    "Face", "Hand", "Left hand", "Right hand", "Leg", "Left leg", "Right leg", *vocabulary.SEGMENTS, OTHER_PART,
)  # fmt: skip


def record_people(
    columns: Callable[..., Mapping[str, Array]],
    dataset: Dataset[Any],
    answers: Answers[Any],
    options: Any,
    tools: Tools,
) -> Iterator[Records]:
    """One row per annotated person or picture, with the columns that its task scores."""
    yield person_rows(dataset.truth.people, columns(dataset.truth, answers, options, tools))


def box_columns(truth: BoxTruth, answers: Answers[BoxDetections], options: Any, tools: Tools) -> dict[str, Array]:
    """The best overlap of every annotated person or face; says so when boxes seem to be of another form."""
    overlaps = scores.box_overlaps(truth, answers)
    for message in misread_boxes(truth, answers, overlaps):
        tools.warn(message)
    return {"overlap": overlaps}


def pose_columns(truth: PoseTruth, answers: Answers[Poses], options: Any, tools: Tools) -> Mapping[str, Array]:
    """How near every annotated person's keypoints were found; says so when they seem to be of another form."""
    columns = scores.pose_columns(truth, answers, options, tools)
    for message in misread_poses(truth, answers):
        tools.warn(message)
    return columns


def record_parts(
    dataset: Dataset[PartTruth], answers: Answers[PartProbabilities], options: PartOptions, tools: Tools
) -> Iterator[Records]:
    """One row per annotated person and predicted part."""
    parts = scores.part_scores(dataset.truth, answers)
    people, count = dataset.truth.people, len(parts.parts)
    place = {part: index for index, part in enumerate(PARTS)}
    row = np.repeat(np.arange(len(people)), count)
    part = np.tile([place.get(name, place[OTHER_PART]) for name in parts.parts], len(people))
    columns = {
        "part": part,
        "part_name": np.tile(np.array(parts.parts), len(people)),
        "present": parts.visible.reshape(-1),
        "probability": parts.probability.reshape(-1),
        "recall": parts.recall(options.recall_thresholds).reshape(-1),
        "accuracy": parts.accuracy(options.accuracy_thresholds).reshape(-1),
        "recall_legs": parts.recall(options.recall_thresholds, corrected=True).reshape(-1),
        "accuracy_legs": parts.accuracy(options.accuracy_thresholds, corrected=True).reshape(-1),
    }
    yield person_rows(people, columns, row)


def record_faces(
    dataset: Dataset[FaceMapTruth], answers: Answers[FaceMap], options: ParsingOptions, tools: Tools
) -> Iterator[Records]:
    """One row per face, with its F1; not a number where its label map could not be read in time."""
    truth, start = dataset.truth, 0
    for faces in score_faces(truth, answers, tools.engine, ears_to_skin=options.ears_to_skin, warn=tools.warn):
        by_label = [[face.by_label.get(label, np.nan) for label in vocabulary.FACE_LABELS] for face in faces]
        columns = {
            "f1": np.array([face.mean for face in faces]),
            "f1_ears_ignored": np.array([face.ears_ignored for face in faces]),
            "f1_of_label": np.array(by_label).reshape(-1, len(vocabulary.FACE_LABELS)),
        }
        yield person_rows(truth.people, columns, np.arange(start, start + len(faces)))
        start += len(faces)


def record_embeddings(
    dataset: Dataset[PeopleTruth], answers: Answers[Any], options: FaceVerificationOptions, tools: Tools
) -> Iterator[Records]:
    """One row per eligible picture that the file names; its embedding is not a number where alignment failed.

    Embeddings are in single precision where that holds them exactly, else in double.
    """
    people = dataset.truth.people
    vectors = {row: vector for row, image in enumerate(people.images) if (vector := answers.get(image)) is not None}
    sizes = {len(vector) for vector in vectors.values() if len(vector)}
    if not sizes:
        raise PredictionError("No eligible picture has an embedding.")
    if len(sizes) > 1:
        raise PredictionError(f"Embeddings of different lengths: {sorted(sizes)}. All must come from one model.")
    nothing = np.full(sizes.pop(), np.nan)
    table = np.stack([vector if len(vector) else nothing for vector in vectors.values()])
    single = table.astype(np.float32)
    exact = np.array_equal(single.astype(np.float64), table, equal_nan=True)
    yield person_rows(people, {"embedding": single if exact else table}, np.array(list(vectors), dtype=np.int64))


def picture_columns(
    metrics: tuple[str, ...], truth: PeopleTruth, answers: Answers[Path], options: FacePictureOptions, tools: Tools
) -> dict[str, Array]:
    """Every number of a picture that could be measured."""
    people = truth.people
    rows = [row for row, image in enumerate(people.images) if answers.get(image) is not None]
    originals = [people.root / people.images[row] for row in rows]
    answered = [Path(answers.get(people.images[row]) or "") for row in rows]
    columns = {}
    for metric in metrics:
        values = np.full(len(people), np.nan)
        if not options.metrics or metric in options.metrics:
            values[rows] = pictures.compare(metric, answered, originals, tools, required=metric in options.metrics)
        columns[metric.lower()] = values
    return columns


def person_rows(people: People, columns: Mapping[str, Array], rows: Array | None = None) -> Records:
    """Columns with image, subject and attributes of their rows; `rows` says which people they are about."""
    index = np.arange(len(people)) if rows is None else rows
    images = np.array(people.images)
    fixed = {"item": images[index], "unit": people.units[index], "row": index}
    return Records(
        {**fixed, **columns},
        {name: attribute.take(index) for name, attribute in people.attributes.items()},
    )
