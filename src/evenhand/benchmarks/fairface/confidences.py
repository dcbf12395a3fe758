"""Confidences that a model states of its own answers, one per attribute.

They stand in an object `confidence` with a key per attribute, in keys such as
`gender_confidence`, beside a value (`{"label": "male", "confidence": 0.9}`), or are the
scores of all classes, of which the largest counts. Numbers above 1 are per cent. The
confidence of a face detector is none of these.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Final

from evenhand.benchmarks.fairface.deepface import largest_face
from evenhand.benchmarks.fairface.normalise.lenient import parse
from evenhand.benchmarks.fairface.normalise.structured import CONTAINER_KEYS, KEYS_OF, as_number, by_letters
from evenhand.benchmarks.fairface.taxonomy import PerAttribute

_WORDS: Final = ("confidence", "confidences", "certainty", "probability", "probabilities", "score")
_CLEARLY_PER_CENT: Final = 1.5  # what shares of all classes never add up to


Confidences = PerAttribute[float]  # what was stated, from 0 to 1; NaN where nothing was
NOTHING_STATED: Final = PerAttribute(math.nan, math.nan, math.nan)


def stated_confidences(payload: Any) -> Confidences:
    """The confidences in a model's answer: text with an object in it, or the object.

    >>> stated_confidences('{"gender": "male", "age": "30", "confidence": {"gender": 0.9, "age": 45}}')
    PerAttribute(gender=0.9, race=nan, age=0.45)
    >>> stated_confidences([{"gender": {"Man": 12.5, "Woman": 87.5}, "face_confidence": 0.99}]).gender
    0.875
    """
    face = _object(payload)
    if face is None:
        return NOTHING_STATED
    keys = by_letters(face)
    for name in CONTAINER_KEYS:
        inner = keys.get(name)
        if isinstance(inner, Mapping):
            keys = {**by_letters(inner), **keys}
    return PerAttribute(*(_of(keys, names) for names in KEYS_OF.values()))


def largest_share(text: str) -> float:
    """The largest of scores written as a list, as the FairFace script does: `[0.1 0.7 0.2]`.

    >>> largest_share("[0.1 0.7 0.2]"), largest_share("")
    (0.7, nan)
    """
    numbers = [as_number(word) for word in text.replace("[", " ").replace("]", " ").replace(",", " ").split()]
    return _largest([number for number in numbers if number is not None])


def one_confidence(value: Any) -> float:
    """A stated confidence from 0 to 1; NaN when it is none.

    >>> one_confidence("85"), one_confidence(0.5), one_confidence("high")
    (0.85, 0.5, nan)
    """
    number = as_number(value.strip().rstrip("%") if isinstance(value, str) else value)
    if number is None or not 0 <= number <= 100:
        return math.nan
    return number / 100 if number > 1 else number


def _object(payload: Any) -> Mapping[str, Any] | None:
    if isinstance(payload, str):
        first, last = payload.find("{"), payload.rfind("}")
        if not 0 <= first < last:
            return None
        try:
            payload = parse(payload[first : last + 1])
        except ValueError:
            return None
    return largest_face(payload)


def _of(keys: Mapping[str, Any], names: Sequence[str]) -> float:
    for word in _WORDS:
        if (confidence := _under(keys.get(word), names)) is not None:
            return one_confidence(confidence)
        for name in names:
            for key in (name + word, word + name):
                if key in keys:
                    return one_confidence(keys[key])
    for name in names:
        value = keys.get(name)
        if (confidence := _under(value, _WORDS)) is not None:
            return one_confidence(confidence)
        scores = [as_number(entry) for entry in value.values()] if isinstance(value, Mapping) else []
        if scores and None not in scores:
            return _largest([score for score in scores if score is not None])
    return math.nan


def _under(value: Any, names: Sequence[str]) -> Any:
    """What an object has under the first of some names that it has; None where it has none, or is no object."""
    keys = by_letters(value) if isinstance(value, Mapping) else {}
    return next((keys[name] for name in names if name in keys), None)


def _largest(scores: Sequence[float]) -> float:
    if not scores or min(scores) < 0 or not math.isfinite(total := sum(scores)):
        return math.nan
    return max(scores) / 100 if total > _CLEARLY_PER_CENT else max(scores)
