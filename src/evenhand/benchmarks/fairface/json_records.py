"""Records of JSON answer files: JSON lines, lists, objects keyed by image; an answer in any wrapping."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from evenhand.benchmarks.fairface.confidences import NOTHING_STATED, stated_confidences
from evenhand.benchmarks.fairface.deepface import is_deepface
from evenhand.benchmarks.fairface.image_answers import (
    FINE_STATUS,
    IS_LABEL_CODE,
    MOST_REMEMBERED,
    AnswerReader,
    ImageAnswer,
    as_text,
    exception_in,
    failed,
)
from evenhand.benchmarks.fairface.normalise import Reason, nothing
from evenhand.benchmarks.fairface.normalise.structured import fields_of
from evenhand.benchmarks.fairface.shapes import (
    ERROR_KEYS,
    IMAGE_KEYS,
    TEXT_KEYS,
    attribute_asked,
    column_of,
    image_of,
    listed_records,
    numbers_in,
    text_key_of,
    unwrapped,
)
from evenhand.core.errors import PredictionError
from evenhand.files.delimited import shown_names

_SILENT: Final = {"content_filter": Reason.REFUSAL, "length": Reason.CUT_OFF}  # an answer without text, by its end


def json_records(
    lines: Iterator[bytes], path: Path, read: AnswerReader, attribute: str
) -> Iterator[tuple[str, ImageAnswer]]:
    """The records of a file; `attribute` is the only one that its questions are about, if its name says so."""
    options, summary = read.options, read.summary
    remembered = others = 0
    unread_before = summary.unread
    image_key = text_key = ""
    is_plain = not attribute and options.confidence == "off" and options.family == "auto"
    plain: dict[str, ImageAnswer] = {}  # texts of records that have nothing but an image and a text
    for where, record in _objects(lines, path):
        if len(record) == 2 or (len(record) == 3 and record.get("status") == "ok"):
            own, text = record.get(image_key), record.get(text_key)
            known = plain.get(text) if type(text) is str else None
            if known is not None and type(own) is str and own:
                remembered += 1
                yield own, known
                continue
        image_key, image = image_of(record)
        if not image_key:
            place = f"line {where}" if isinstance(where, int) else where
            raise PredictionError(
                f"{path}, {place}: no image key; found {shown_names(map(repr, record)) or 'an empty object'}. "
                f"Name the image with one of {', '.join(IMAGE_KEYS)}."
            )
        others += 1
        answer = _image_answer(record, image_key, read, attribute)
        if answer is None:
            summary.add_unread(record, image_key)
            answer = ImageAnswer("", nothing(Reason.EMPTY))
        text_key = text_key_of(record, image_key) or ""
        if is_plain and len(record) <= 3 and answer.raw is record.get(text_key) and len(plain) < MOST_REMEMBERED:
            plain[answer.raw] = answer
        yield image, answer
    if remembered:
        summary.families["vlm"] += remembered
    if not remembered and others == summary.unread - unread_before:
        there = shown_names(map(repr, summary.keys)) or "nothing but the image"
        raise PredictionError(
            f"{path}: no record has an answer. The records have {there}; an answer stands under one of "
            f"{', '.join(TEXT_KEYS)}, or the attributes under gender, race and age."
        )


def _objects(lines: Iterator[bytes], path: Path) -> Iterator[tuple[int | str, Mapping[str, Any]]]:
    """The objects of a JSON-lines file, or of a file that is one JSON value, with the line or the place of each."""
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            continue
        try:
            value = _decoded(line, path, number)
        except ValueError as error:
            if number > 1:
                raise PredictionError(
                    f"{path}, line {number}: not valid JSON ({error}). Write one object per line; "
                    "was the program that wrote it stopped in the middle of a line?"
                ) from None
            try:
                value = _decoded(b"".join(chain([line], lines)), path, number)
            except ValueError as whole_error:
                raise PredictionError(f"{path}: neither JSON lines nor one JSON value ({whole_error}).") from None
            yield from _listed(value, path)
            return
        if number == 1 and (isinstance(value, list) or not (isinstance(value, dict) and image_of(value)[0])):
            yield from _listed(value, path)
        else:
            yield number, value if isinstance(value, dict) else _object(value, path, f"line {number}")


def _decoded(text: bytes, path: Path, number: int) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError):
        pass
    try:
        return json.loads(text.decode())  # which also takes NaN, and says what is wrong where it is
    except UnicodeDecodeError as error:
        raise PredictionError(
            f"{path}, line {number + text.count(bytes([10]), 0, error.start)}: byte 0x{text[error.start]:02x} is not "
            "UTF-8 text. Is it the right file? If it is text, save it as UTF-8."
        ) from None
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    except ValueError:
        raise ValueError("it has a number of too many digits") from None


def _listed(value: Any, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where, record in listed_records(value):
        yield where, _object(record, path, where)


def _object(value: Any, path: Path, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PredictionError(
            f"{path}, {where}: {type(value).__name__} where an object with an image key was expected."
        )
    return value


def _image_answer(record: Mapping[str, Any], image_key: str, read: AnswerReader, attribute: str) -> ImageAnswer | None:
    """The answer of a record; None when nothing in it can be one."""
    options, summary = read.options, read.summary
    text_key = text_key_of(record, image_key)
    payload: Any = record[text_key] if text_key is not None else None
    finish = ""
    wrappings: tuple[Mapping[str, Any], ...] = ()
    if not isinstance(payload, str):
        payload, finish, wrappings = unwrapped(payload)
    if error := _error_of(record, payload, wrappings):
        return failed(as_text(payload), error)
    if text_key is None:  # the attributes stand in the record itself
        payload = {name: value for name, value in record.items() if name not in (image_key, "status", "model")}
        if not any(column_of(str(name)) for name in payload):
            return None
        payload = _predicted_only(payload)
    summary.add_spending(record, wrappings)
    if finish and "finish_reason" not in record:
        summary.values.setdefault("finish_reason", Counter())[finish] += 1
    finish = str(record.get("finish_reason") or finish)
    if finish in _SILENT and not payload:
        return ImageAnswer("", nothing(_SILENT[finish]))
    if payload is None or payload in ("", [], {}):
        summary.families["vlm"] += 1
        return None
    asked = attribute or attribute_asked(record)
    if isinstance(payload, str) and IS_LABEL_CODE(payload):
        payload = read.decoded(asked or "race", payload)
    deepface = options.family == "deepface" or (options.family == "auto" and is_deepface(payload))
    summary.families["deepface" if deepface else "vlm"] += 1
    stated = stated_confidences(payload) if options.confidence == "on" else NOTHING_STATED
    if deepface:
        return read.deepface(payload, stated)
    if isinstance(payload, Mapping) and fields_of(payload) is None:
        summary.add_unread(payload, "")
    if asked:
        return read.about(asked, payload, stated)
    again = record.get("repeats")
    repeats = tuple(read.text(text).answer for text in again if isinstance(text, str)) if again else ()
    if isinstance(payload, str) and stated is NOTHING_STATED and not repeats:
        return read.text(payload)
    answer = read.text(payload).answer if isinstance(payload, str) else read.normaliser.answer(payload)
    return ImageAnswer(as_text(payload), answer, confidences=stated, repeats=repeats)


def _predicted_only(payload: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a record under their own names: what is called predicted, where anything is."""
    columns = {name: column for name in payload if (column := column_of(str(name)))}
    predicted = {column.attribute: payload[name] for name, column in columns.items() if column.role == "predicted"}
    if predicted:
        return predicted
    return {name: value for name, value in payload.items() if name not in columns or columns[name].role != "true"}


def _error_of(record: Mapping[str, Any], payload: Any, wrappings: Sequence[Mapping[str, Any]] = ()) -> str:
    """Why a record is no answer; empty when it is one."""
    status = record.get("status")
    error = next((as_text(record[name]) for name in ERROR_KEYS if record.get(name)), "")
    if status is not None and str(status).strip().lower() not in FINE_STATUS:
        return error or f"status {status!r}"
    code = numbers_in(wrappings, "status_code")
    if code is not None and code >= 400:
        return error or f"HTTP {code:g}"
    if error and payload in (None, "", [], {}):
        return error
    return exception_in(payload)
