"""What a record of an answer file is about, and where in it the answer stands.

Evaluation harnesses, chat servers, batch services and pipelines each wrap an answer in
their own way. Here the wrappings are known; what an answer says is not looked at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table
from evenhand.benchmarks.fairface.normalise.structured import (
    ATTRIBUTE_OF,
    as_number,
    best_scored,
    letters_only,
)

_KEYS: Final = table("keys.toml")["records"]
IMAGE_KEYS: Final = phrases(_KEYS["image"])
TEXT_KEYS: Final = phrases(_KEYS["text"])
ERROR_KEYS: Final = phrases(_KEYS["error"])
ATTRIBUTE_KEYS: Final = phrases(_KEYS["attribute"])
QUESTION_KEYS: Final = phrases(_KEYS["question"])
LIST_KEYS: Final = phrases(_KEYS["list"])
_WRAPPING_KEYS: Final = phrases(_KEYS["wrapping"])
_ASKS: Final = {
    "gender": re.compile(r"\b(?:gender|sex|male or female|man or (?:a )?woman)\b", re.IGNORECASE),
    "race": re.compile(r"\b(?:race|racial|ethnicity|ethnic)\b", re.IGNORECASE),
    "age": re.compile(r"\b(?:age|how old|years old)\b", re.IGNORECASE),
}
_PREDICTED: Final = sorted(phrases(_KEYS["predicted"]), key=len, reverse=True)
_TRUE: Final = sorted(phrases(_KEYS["true"]), key=len, reverse=True)
_IMAGE_NAME: Final = re.compile(r"\.(?:jpe?g|png|webp|bmp|gif|tiff?)$", re.IGNORECASE)
_WITH_ATTRIBUTE: Final = re.compile(r"(.+?)[-_#|:/ ]+(gender|sex|race|ethnicity|age)", re.IGNORECASE)
_DEEPEST: Final = 8


class Wrapped(NamedTuple):
    """An answer out of its wrapping: the payload, why it ended, and the bodies that wrapped it."""

    payload: Any
    finish_reason: str
    wrappings: tuple[Mapping[str, Any], ...]


def image_of(record: Mapping[str, Any]) -> tuple[str, str]:
    """The key under which a record names its image, and the name; two empty texts when it names none.

    >>> image_of({"id": "batch_req_1", "custom_id": "val/1.jpg"})
    ('custom_id', 'val/1.jpg')
    >>> image_of({"doc_id": 3, "doc": {"file": "val/1.jpg"}})
    ('doc', 'val/1.jpg')
    """
    for name in IMAGE_KEYS:
        value = record.get(name)
        if isinstance(value, list) and len(value) == 1:
            value = value[0]
        if isinstance(value, Mapping):
            value = value.get("path") or value.get("file_name")
        if value not in (None, "") and isinstance(value, str | int | float) and not isinstance(value, bool):
            return name, str(value)
    inner = record.get("doc")
    return ("doc", image_of(inner)[1]) if isinstance(inner, Mapping) else ("", "")


def text_key_of(record: Mapping[str, Any], image_key: str) -> str | None:
    """The key under which a record has its answer; None when the attributes stand in the record itself."""
    known = [name for name in TEXT_KEYS if name in record and name != image_key]
    return next((name for name in known if record[name] not in (None, "", [], {})), known[0] if known else None)


def unwrapped(value: Any) -> Wrapped:
    """The answer in what chat servers, batch services, pipelines and harnesses put around it.

    >>> unwrapped({"choices": [{"message": {"content": "Female"}, "finish_reason": "stop"}]})[:2]
    ('Female', 'stop')
    >>> unwrapped([{"label": "Male", "score": 0.2}, {"label": "Female", "score": 0.8}]).payload
    'Female'
    >>> unwrapped([["A man."]]).payload
    'A man.'
    """
    finish = ""
    wrappings: list[Mapping[str, Any]] = []
    for _ in range(_DEEPEST):
        inner = _inside(value)
        if inner is value:
            break
        if isinstance(value, Mapping):
            wrappings.append(value)
            finish = str(value.get("finish_reason") or finish)
        elif isinstance(value, list) and isinstance(value[0], Mapping):
            finish = str(value[0].get("finish_reason") or finish)
        value = inner
    return Wrapped(value, finish, tuple(wrappings))


def _inside(value: Any) -> Any:
    """What a wrapping holds; the value itself when it is none."""
    if isinstance(value, Mapping):
        for name in _WRAPPING_KEYS:
            if name in value and not _has_attribute(value):
                return value[name]
        if "content" in value and (len(value) == 1 or "role" in value or "finish_reason" in value):
            return value["content"] if value["content"] is not None else value.get("refusal", "")
        if set(value) == {"text"} or value.get("type") in ("text", "output_text"):
            return value.get("text", "")
        return value
    if not isinstance(value, list) or not value:
        return value
    first = value[0]
    if all(isinstance(part, Mapping) for part in value):
        if all("label" in part and "score" in part for part in value):
            scores = {str(part["label"]): part["score"] for part in value}
            return best_scored(scores) or ""
        if all("role" in part for part in value):
            answers = [part for part in value if part["role"] in ("assistant", "model", "gpt")]
            return answers[-1] if answers else ""
        if all(part.get("type") in ("text", "output_text") or set(part) == {"text"} for part in value):
            return "".join(str(part.get("text", "")) for part in value)
        if len(value) == 1 and _inside(first) is not first:
            return _inside(first)
        if "message" in first or "finish_reason" in first:
            return first
        return value
    if len(value) == 1 and isinstance(first, str | list):
        return first
    return value


def _has_attribute(value: Mapping[str, Any]) -> bool:
    return any(letters_only(str(key)) in ATTRIBUTE_OF for key in value)


def attribute_asked(record: Mapping[str, Any]) -> str:
    """The only attribute that a record's question is about; empty when it is about several, or unknown.

    >>> attribute_asked({"question": "How old is this person?"}), attribute_asked({"prompt": "Gender, race, age?"})
    ('age', '')
    """
    for name in ATTRIBUTE_KEYS:
        value = record.get(name)
        if isinstance(value, str) and letters_only(value) in ATTRIBUTE_OF:
            return ATTRIBUTE_OF[letters_only(value)]
    for name in QUESTION_KEYS:
        text = record.get(name)
        if isinstance(text, str) and len(text) < 4000:
            asked = [attribute for attribute, pattern in _ASKS.items() if pattern.search(text)]
            if asked:
                return asked[0] if len(asked) == 1 else ""
    return ""


def without_attribute(key: str) -> tuple[str, str]:
    """An image key with the attribute that was written behind it, as batches with a question per attribute need.

    >>> without_attribute("val/1.jpg-gender"), without_attribute("val/1.jpg")
    (('val/1.jpg', 'gender'), ('val/1.jpg', ''))
    """
    found = _WITH_ATTRIBUTE.fullmatch(key) if key[-1:] in "rxeyEXRY" else None
    return (found[1], ATTRIBUTE_OF[found[2].lower()]) if found else (key, "")


def listed_records(value: Any) -> Iterator[tuple[str, Any]]:
    """The records of a JSON file that is one value, each with its place.

    A list; an object that holds a list under a usual name; or an object keyed by image.

    >>> list(listed_records({"val/1.jpg": "Female"}))
    [('key val/1.jpg', {'image': 'val/1.jpg', 'raw_output': 'Female'})]
    """
    if isinstance(value, list):
        yield from ((f"record {number}", entry) for number, entry in enumerate(value, start=1))
        return
    if isinstance(value, Mapping) and not image_of(value)[0]:
        for name in LIST_KEYS:
            if isinstance(value.get(name), list | Mapping):
                yield from listed_records(value[name])
                return
        if value and all(_IMAGE_NAME.search(key) or key.isdigit() for key in value):
            for key, entry in value.items():
                if isinstance(entry, Mapping) and (text_key_of(entry, "") or _has_attribute(entry)):
                    yield f"key {key}", {**entry, "image": key}
                else:
                    yield f"key {key}", {"image": key, "raw_output": entry}
            return
    yield "line 1", value


class Column(NamedTuple):
    """What a column of a table holds: an attribute, and whether its name says predicted, true or neither."""

    attribute: str
    role: str  # "predicted", "true" or ""


def column_of(name: str) -> Column | None:
    """What the name of a column says; None when it names no attribute.

    >>> column_of("gender_pred"), column_of("true_age")
    (Column(attribute='gender', role='predicted'), Column(attribute='age', role='true'))
    """
    letters = letters_only(name)
    if letters in ATTRIBUTE_OF:
        return Column(ATTRIBUTE_OF[letters], "predicted" if letters.startswith("predicted") else "")
    for role, marks in (("predicted", _PREDICTED), ("true", _TRUE)):
        for mark in marks:
            for rest in (letters.removesuffix(mark), letters.removeprefix(mark)):
                if rest != letters and rest in ATTRIBUTE_OF:
                    return Column(ATTRIBUTE_OF[rest], role)
    return None


def numbers_in(wrappings: Sequence[Mapping[str, Any]], name: str) -> float | None:
    """A number that one of the wrappings tells, also under `usage`."""
    for body in wrappings:
        usage = body.get("usage")
        for place in (body, usage if isinstance(usage, Mapping) else {}):
            if (number := as_number(place.get(name))) is not None:
                return number
    return None
