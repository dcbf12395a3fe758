"""Faces scored pixel by pixel, in parts that are read, counted and forgotten, and that can be stopped.

A damaged label map can keep a decoder busy for ever. A part that takes too long or kills its worker is done
again face by face; the face that did it is named and left out, the others count.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evenhand.benchmarks.fhibe.codec import FaceMap
from evenhand.benchmarks.fhibe.data import FaceMapTruth
from evenhand.benchmarks.fhibe.scores import Answered, FaceScore, face_score, read_label_map
from evenhand.core.engine import Engine, Failed, Workplace
from evenhand.core.errors import EvenhandError, PredictionError
from evenhand.engines.media import TIME_LIMIT
from evenhand.geometry.masks import MaskError

FACES_PER_PART = 128


class _Part(NamedTuple):
    maps: tuple[Path, ...]
    answers: tuple[FaceMap | None, ...]
    images: tuple[str, ...]
    ears_to_skin: bool


def score_faces(
    truth: FaceMapTruth,
    answers: Answered[FaceMap],
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
        found: list[FaceScore | None] = []
        for place, one in zip(places, alone, strict=True):
            if isinstance(one, Failed):
                _raise_unless_stopped(one)
                warn(f"{truth.maps[place]} was left out: reading it {one.cause}. Is the file damaged?")
                found.append(None)
            else:
                found.extend(one.value)
        yield found


def _score(part: _Part, workplace: Workplace) -> list[FaceScore]:
    found = []
    for path, answer, image in zip(part.maps, part.answers, part.images, strict=True):
        try:
            found.append(face_score(read_label_map(path), answer, ears_to_skin=part.ears_to_skin))
        except (MaskError, EvenhandError) as error:
            raise PredictionError(f"image {image}: {error}") from None
    return found


def _raise_unless_stopped(outcome: Failed) -> None:
    """An error that the reading itself raised names its image; a part that was stopped or lost says nothing yet."""
    kind, colon, message = outcome.cause.partition(": ")
    if colon and kind.endswith("Error"):
        raise PredictionError(message)
