"""DeepFace's dictionaries: which face of a picture counts, and what it says.

The largest face counts; ties go to the higher detector confidence, then to the
first. A confidence of 0 means that no face was found and the whole picture was
analysed: the answer counts, and such pictures are counted too.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.lenient import parse
from evenhand.benchmarks.fairface.normalise.structured import Fields, as_number, fields_of

_SIGNS_OF_DEEPFACE: Final = frozenset(
    {"dominant_gender", "dominant_race", "face_confidence", "region", "dominant_emotion"}
)


_CONTAINERS: Final = ("results", "result", "analysis", "faces")
_NUMPY: Final = re.compile(r"\b(?:np|numpy)\.\w{1,12}\(([^()]{0,60})\)")  # as NumPy 2 writes its numbers


class ChosenFace(NamedTuple):
    """The face that counts, how many there were, and whether none was really found."""

    fields: Fields | None
    faces: int
    nothing_found: bool


def is_deepface(payload: Any) -> bool:
    """Whether a payload is DeepFace's: a dictionary, a list of them, or the JSON text of either.

    >>> is_deepface([{"dominant_race": "asian"}]), is_deepface('{"gender": "male"}')
    (True, False)
    """
    if isinstance(payload, str):
        if "dominant_" not in payload and "face_confidence" not in payload:
            return False
        payload = _parsed(payload)
    payload = _unwrapped(payload)
    faces = payload if isinstance(payload, list) else [payload]
    return (
        bool(faces) and all(isinstance(face, Mapping) for face in faces) and not _SIGNS_OF_DEEPFACE.isdisjoint(faces[0])
    )


def choose_face(payload: Any) -> ChosenFace:
    """The face of a payload that counts.

    >>> small = {"age": 5, "region": {"w": 10, "h": 10}}
    >>> large = {"age": 50, "region": {"w": 90, "h": 90}, "face_confidence": 0}
    >>> chosen = choose_face([small, large])
    >>> chosen.fields.age, chosen.faces, chosen.nothing_found
    (50, 2, True)
    """
    if isinstance(payload, str):
        payload = _parsed(payload)
    face = largest_face(payload)
    if face is None:
        return ChosenFace(None, 0, nothing_found=False)
    return ChosenFace(
        fields_of(dict(face)), len(_faces(payload)), nothing_found=as_number(face.get("face_confidence")) == 0
    )


def largest_face(payload: Any) -> Mapping[str, Any] | None:
    """The object of the largest face; the object itself where there is one, None where there is none."""
    faces = _faces(payload)
    return max(enumerate(faces), key=lambda pair: (*_size(pair[1]), -pair[0]))[1] if faces else None


def _faces(payload: Any) -> list[Mapping[str, Any]]:
    payload = _unwrapped(payload)
    return [face for face in (payload if isinstance(payload, list) else [payload]) if isinstance(face, Mapping)]


def _unwrapped(payload: Any) -> Any:
    """The faces under `results`, `result` or `analysis`, as scripts that store DeepFace's answers write them."""
    if isinstance(payload, Mapping) and _SIGNS_OF_DEEPFACE.isdisjoint(payload):
        return next((payload[name] for name in _CONTAINERS if isinstance(payload.get(name), list | Mapping)), payload)
    return payload


def _size(face: Mapping[str, Any]) -> tuple[float, float]:
    region = face.get("region")
    if not isinstance(region, Mapping):
        region = {}
    width, height = as_number(region.get("w")) or 0.0, as_number(region.get("h")) or 0.0
    return width * height, as_number(face.get("face_confidence")) or 0.0


def _parsed(text: str) -> Any:
    try:
        return parse(_NUMPY.sub(r"\1", text.strip()))
    except ValueError:
        return None
