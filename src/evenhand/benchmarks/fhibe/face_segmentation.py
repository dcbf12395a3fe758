"""Faces scored pixel by pixel, in parts that are read, counted and forgotten, and that can be stopped.

A damaged label map can keep a decoder busy for ever. A part that takes too long or kills its worker is done
again face by face; the face that did it is named and left out, the others count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
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
    """F1 of every label that the truth has, and the mean with stored ear pixels left out; none for an unread face."""

    by_label: Mapping[str, float] = {}
    ears_ignored: float = float("nan")

    @property
    def mean(self) -> float:
        """The unweighted mean over labels, background included."""
        return _mean(self.by_label)


def face_score(truth: NDArray[np.uint8], answer: FaceMap | None, *, ears_to_skin: bool = False) -> FaceScore:
    """F1 per label present in the truth; predicted labels that the truth lacks are not scored by themselves.

    A pixel that no mask covers is background. An answer without any mask scores 0 for every label.
    """
    size = len(vocabulary.FACE_LABELS)
    if truth.max(initial=0) >= size:
        raise DataError(f"a label {int(truth.max())} in a label map; labels are 0 to {size - 1}")
    nothing = np.full_like(truth, 255)  # not even background: a label that is wrong everywhere
    predicted = label_map(answer, *truth.shape) if answer is not None and answer.masks else nothing
    if ears_to_skin:
        predicted = np.where(np.isin(predicted, vocabulary.EAR_LABELS), vocabulary.SKIN_LABEL, predicted)
    pairs = np.bincount((truth.T.astype(np.intp) * 256 + predicted.T).reshape(-1), minlength=size * 256)
    table = pairs.reshape(size, 256)
    by_label = _f1(table)
    table[:, list(vocabulary.EAR_LABELS)] = 0
    return FaceScore(by_label, _mean(_f1(table)))


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


class _AnsweredFace(NamedTuple):
    image: str
    truth: Path
    answer: FaceMap | None


def score_faces(
    truth: FaceMapTruth,
    answers: AnswersByImage[FaceMap],
    engine: Engine,
    *,
    ears_to_skin: bool = False,
    warn: Callable[[str], None],
    time_limit: float = TIME_LIMIT,
) -> Iterator[list[FaceScore]]:
    """The scores of all faces in table order, part by part; an empty one where a label map was not read in time.

    A map that can't be read at all or an answer of another size is an error that names the image.
    """

    score = partial(_score, ears_to_skin)
    faces = list(zip(truth.people.images, truth.maps, strict=True))
    parts = [faces[start : start + FACES_PER_PART] for start in range(0, len(faces), FACES_PER_PART)]

    def answered(part: Sequence[tuple[str, Path]]) -> list[_AnsweredFace]:
        return [_AnsweredFace(image, path, answers.get(image)) for image, path in part]

    for part, outcome in zip(parts, engine.map(score, map(answered, parts), time_limit=time_limit), strict=True):
        if not isinstance(outcome, Failed):
            yield list(outcome.value)
            continue
        _raise_unless_stopped(outcome)
        alone = engine.map(score, (answered([face]) for face in part), time_limit=time_limit)
        scores: list[FaceScore] = []
        for (_, path), single in zip(part, alone, strict=True):
            if isinstance(single, Failed):
                _raise_unless_stopped(single)
                warn(f"{path} was left out: reading it {single.cause}. Is the file damaged?")
                scores.append(FaceScore())
            else:
                scores.extend(single.value)
        yield scores


def _score(ears_to_skin: bool, faces: Sequence[_AnsweredFace], workplace: Workplace) -> list[FaceScore]:
    scores = []
    for face in faces:
        try:
            scores.append(face_score(read_label_map(face.truth), face.answer, ears_to_skin=ears_to_skin))
        except (MaskError, EvenhandError) as error:
            raise PredictionError(f"image {face.image}: {error}") from None
    return scores


def _raise_unless_stopped(outcome: Failed) -> None:
    """An error that the reading itself raised names its image; a part that was stopped or lost says nothing yet."""
    kind, colon, message = outcome.cause.partition(": ")
    if colon and kind.endswith("Error"):
        raise PredictionError(message)


def _f1(table: Array) -> dict[str, float]:
    """F1 of the labels that the truth has, from pixels by true label and predicted one."""
    hits, predicted, actual = np.diagonal(table), table.sum(axis=0), table.sum(axis=1)
    return {
        name: 2 * int(hits[label]) / (int(predicted[label]) + int(actual[label]))
        for label, name in enumerate(vocabulary.FACE_LABELS)
        if actual[label]
    }


def _mean(by_label: Mapping[str, float]) -> float:
    return float(np.mean(list(by_label.values()))) if by_label else float("nan")
