"""Faces scored pixel by pixel, in parts that are read, counted and forgotten, and that can be stopped.

A damaged label map can keep a decoder busy for ever. A part that takes too long or kills its worker is done
again face by face; the face that did it is named and left out, the others count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.codec import FaceMap, label_map
from evenhand.benchmarks.fhibe.data import FaceMapTruth
from evenhand.benchmarks.fhibe.scores import AnswersByImage
from evenhand.core.engine import Engine, Failed, Workplace
from evenhand.core.errors import DataError, EvenhandError, PredictionError
from evenhand.core.records import Array
from evenhand.engines.local import TIME_LIMIT
from evenhand.files.inputs import opened_picture, too_many_pixels
from evenhand.geometry.masks import MaskError

FACES_PER_PART = 128


class FaceScore(NamedTuple):
    """F1 of every label that the truth has, and the same with stored ear pixels left out."""

    by_label: Mapping[str, float]
    ears_ignored: float

    @property
    def mean(self) -> float:
        """The unweighted mean over labels, background included."""
        return float(np.mean(list(self.by_label.values()))) if self.by_label else float("nan")


def label_scores(score: FaceScore | None) -> list[float]:
    """F1 of all labels in order; not a number where the truth lacks a label or could not be read."""
    by_label = {} if score is None else score.by_label
    return [by_label.get(name, np.nan) for name in vocabulary.FACE_LABELS]


def face_score(truth: NDArray[np.uint8], answer: FaceMap | None, *, ears_to_skin: bool = False) -> FaceScore:
    """F1 per label present in the truth; predicted labels that the truth lacks are not scored by themselves.

    A pixel that no mask covers is background. An answer without any mask scores 0 for every label.
    """
    size = len(vocabulary.FACE_LABELS)
    if truth.max(initial=0) >= size:
        raise DataError(f"a label {int(truth.max())} in a label map; labels are 0 to {size - 1}")
    if answer is None or not answer.masks:  # nothing was predicted, not even background
        actual = np.bincount(truth.reshape(-1), minlength=size)
        scores = _f1(np.zeros(size), np.zeros(size), actual)
        return FaceScore(scores, 0.0 if scores else float("nan"))
    predicted = label_map(answer, *truth.shape)
    if ears_to_skin:
        predicted = np.where(np.isin(predicted, vocabulary.EAR_LABELS), vocabulary.SKIN_LABEL, predicted)
    pairs = np.bincount((truth.T.astype(np.intp) * 256 + predicted.T).reshape(-1), minlength=size * 256)
    table = pairs.reshape(size, 256)
    scores = _f1(np.diagonal(table), table.sum(axis=0), table.sum(axis=1))
    ears = list(vocabulary.EAR_LABELS)
    if table[:, ears].any():
        kept = table.copy()
        kept[:, ears] = 0
        ignored = _f1(np.diagonal(kept), kept.sum(axis=0), kept.sum(axis=1))
    else:
        ignored = scores
    return FaceScore(scores, float(np.mean(list(ignored.values()))) if ignored else float("nan"))


def read_label_map(path: Path) -> NDArray[np.uint8]:
    """The grey values of a mask picture."""
    from PIL import Image

    try:
        with opened_picture(path) as picture:
            if reason := too_many_pixels(picture.size):
                raise DataError(f"{path}: {reason}")
            return np.asarray(picture.convert("L"))
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError) as error:
        raise DataError(f"{path} can't be read as a mask picture: {error}") from None


class _Part(NamedTuple):
    maps: tuple[Path, ...]
    answers: tuple[FaceMap | None, ...]
    images: tuple[str, ...]
    ears_to_skin: bool


def score_faces(
    truth: FaceMapTruth,
    answers: AnswersByImage[FaceMap],
    engine: Engine,
    *,
    ears_to_skin: bool = False,
    warn: Callable[[str], None],
    time_limit: float = TIME_LIMIT,
) -> Iterator[list[FaceScore | None]]:
    """The scores of all faces in table order, part by part; None where a label map was not read in time.

    A map that can't be read at all or an answer of another size is an error that names the image.
    """

    def part(places: Sequence[int]) -> _Part:
        images = tuple(truth.people.images[place] for place in places)
        return _Part(
            tuple(truth.maps[place] for place in places),
            tuple(answers.get(image) for image in images),
            images,
            ears_to_skin,
        )

    count = len(truth.people)
    ranges = [range(start, min(start + FACES_PER_PART, count)) for start in range(0, count, FACES_PER_PART)]
    parts = (part(places) for places in ranges)
    for places, outcome in zip(ranges, engine.map(_score, parts, time_limit=time_limit), strict=True):
        if not isinstance(outcome, Failed):
            yield list(outcome.value)
            continue
        _raise_unless_stopped(outcome)
        alone = engine.map(_score, (part([place]) for place in places), time_limit=time_limit)
        scores: list[FaceScore | None] = []
        for place, one in zip(places, alone, strict=True):
            if isinstance(one, Failed):
                _raise_unless_stopped(one)
                warn(f"{truth.maps[place]} was left out: reading it {one.cause}. Is the file damaged?")
                scores.append(None)
            else:
                scores.extend(one.value)
        yield scores


def _score(part: _Part, workplace: Workplace) -> list[FaceScore]:
    scores = []
    for path, answer, image in zip(part.maps, part.answers, part.images, strict=True):
        try:
            scores.append(face_score(read_label_map(path), answer, ears_to_skin=part.ears_to_skin))
        except (MaskError, EvenhandError) as error:
            raise PredictionError(f"image {image}: {error}") from None
    return scores


def _raise_unless_stopped(outcome: Failed) -> None:
    """An error that the reading itself raised names its image; a part that was stopped or lost says nothing yet."""
    kind, colon, message = outcome.cause.partition(": ")
    if colon and kind.endswith("Error"):
        raise PredictionError(message)


def _f1(hits: Array, predicted: Array, actual: Array) -> dict[str, float]:
    return {
        name: 2 * int(hits[label]) / (int(predicted[label]) + int(actual[label]))
        for label, name in enumerate(vocabulary.FACE_LABELS)
        if actual[label]
    }
