"""Answer files, record by record, in whatever shape they come; nothing is matched or merged here.

JSON lines, JSON lists, objects keyed by image, delimited text, Parquet and Excel tables, each perhaps
compressed; the format is detected from the content. A record has the key of an image, and either an
answer, in any wrapping, or the error that came instead.
"""

from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Final

import msgspec

from evenhand.benchmarks.fairface import shapes
from evenhand.benchmarks.fairface.image_answers import (
    FINE_STATUS,
    MOST_REMEMBERED,
    AnswerReader,
    FileSummary,
    ImageAnswer,
    as_text,
    exception_in,
    failed,
)
from evenhand.benchmarks.fairface.normalise import FaceAnswer, Normaliser, Reason, nothing
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.table_records import delimited_table, excel_table, parquet_table, table_records
from evenhand.benchmarks.fairface.taxonomy import ATTRIBUTES
from evenhand.core.errors import PredictionError
from evenhand.files.delimited import LONGEST_LINE, shown_names
from evenhand.files.inputs import decode, opened
from evenhand.files.text_files import TextFile, text_file

_BLOCK: Final = 1 << 20
_FOLDER_KINDS: Final = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".gz", ".ndjson")
_TYPED_TABLES: Final = {b"PAR1": parquet_table, b"PK\x03\x04": excel_table}  # by the first bytes of a file
_SILENT: Final = {"content_filter": Reason.REFUSAL, "length": Reason.CUT_OFF}  # an answer without text, by its end


def records(path: Path, options: FaceOptions, summary: FileSummary) -> Iterator[tuple[str, ImageAnswer]]:
    """The records of a file in its order, with the keys as they are written; of a folder, those of all its files."""
    read = AnswerReader(options, summary)
    if path.is_dir():
        for file in _files_of(path):
            yield from _records_of(file, read, _attribute_of_name(file.name))
    else:
        yield from _records_of(path, read, "")


def texts_of(path: Path, normaliser: Normaliser) -> Iterator[tuple[str, FaceAnswer]]:
    """The answers of a file with what they give; a file without records has an answer in each line."""
    try:
        for _, answer in records(path, FaceOptions(), FileSummary()):
            yield answer.raw, answer.answer if answer.cells is not None else normaliser.answer(answer.raw)
    except PredictionError:
        with opened(path, PredictionError) as file:
            text = decode(file.read(), path, PredictionError)
        for line in filter(str.strip, text.split("\n")):
            yield line, normaliser.answer(line)


def _files_of(folder: Path) -> list[Path]:
    files = sorted(file for file in folder.iterdir() if file.is_file() and file.name.endswith(_FOLDER_KINDS))
    named = [file for file in files if _attribute_of_name(file.name)]
    if not named:
        there = ", ".join(file.name for file in files[:8]) or "no answer file"
        raise PredictionError(
            f"{folder} is a folder without a file for each attribute (there is {there}). "
            "Name the answer file itself, or call the files gender, race and age."
        )
    return named


def _attribute_of_name(name: str) -> str:
    parts = re.split(r"[^a-z]+", name.lower())
    named = [attribute for attribute in ATTRIBUTES if attribute in parts]
    return named[0] if len(named) == 1 else ""


def _records_of(path: Path, read: AnswerReader, attribute: str) -> Iterator[tuple[str, ImageAnswer]]:
    with opened(path, PredictionError) as file:
        typed_table = _TYPED_TABLES.get(file.read(4))
    if typed_table is not None:
        yield from table_records(typed_table(path), path, read)
        return
    with text_file(path, PredictionError) as source:
        head = bytes(source.fetch(4096)).removeprefix(b"\xef\xbb\xbf")
        begun = head.lstrip()
        if not begun:
            raise PredictionError(f"{path} is empty. It should have one record per image.")
        decode(begun.rsplit(b"\n", 1)[0] if b"\n" in begun else begun[:64], path, PredictionError)
        family = read.options.family
        is_json = begun[:1] in b"{[" if family == "auto" else family in ("vlm", "deepface")
        if is_json:
            yield from _json_records(_lines(head, source), path, read, attribute)
            read.summary.facts.append(source.fact())
            return
    yield from table_records(delimited_table(path), path, read)


def _lines(head: bytes, source: TextFile) -> Iterator[bytes]:
    """The lines of a file that begins with some bytes that were fetched already."""
    number, rest = 0, head
    while block := source.fetch(_BLOCK):
        *lines, rest = io.BytesIO(rest + block).readlines()
        yield from lines
        number += len(lines)
        if len(rest) >= LONGEST_LINE:
            raise PredictionError(
                f"{source.path}, line {number + 1}: no line may have {LONGEST_LINE >> 20} MiB. "
                "Write one record per line."
            )
    yield from io.BytesIO(rest)


def _json_records(
    lines: Iterator[bytes], path: Path, read: AnswerReader, attribute: str
) -> Iterator[tuple[str, ImageAnswer]]:
    """The records of a file; `attribute` is the only one that its questions are about, if its name says so."""
    options, summary = read.options, read.summary
    count, unread_before = 0, summary.unread
    image_key = text_key = ""
    is_plain = not attribute and options.confidence == "off" and options.family == "auto"
    plain: dict[str, ImageAnswer] = {}  # texts of records that have nothing but an image and a text
    for where, record in _values(lines, path):
        count += 1
        if not isinstance(record, dict):
            raise _refused(path, where, f"{type(record).__name__} where an object with an image key was expected.")
        if len(record) == 2 or (len(record) == 3 and record.get("status") == "ok"):
            own, text = record.get(image_key), record.get(text_key)
            known = plain.get(text) if type(text) is str else None
            if known is not None and type(own) is str and own:
                summary.families[known.family] += 1
                yield own, known
                continue
        image_key, image = shapes.image_of(record)
        if not image_key:
            keys = shown_names(map(repr, record)) or "an empty object"
            advice = f"Name the image with one of {', '.join(shapes.IMAGE_KEYS)}."
            raise _refused(path, where, f"no image key; found {keys}. {advice}")
        answer = _image_answer(record, image_key, read, attribute)
        if answer is None:
            summary.add_unread(record, image_key)
            answer = ImageAnswer("", nothing(Reason.EMPTY))
        text_key = shapes.text_key_of(record, image_key) or ""
        if is_plain and len(record) <= 3 and answer.raw is record.get(text_key) and len(plain) < MOST_REMEMBERED:
            plain[answer.raw] = answer
        yield image, answer
    if count == summary.unread - unread_before:
        there = shown_names(map(repr, summary.keys)) or "nothing but the image"
        raise PredictionError(
            f"{path}: no record has an answer. The records have {there}; an answer stands under one of "
            f"{', '.join(shapes.TEXT_KEYS)}, or the attributes under gender, race and age."
        )


def _refused(path: Path, where: int | str, problem: str) -> PredictionError:
    """An error about a record, by its line or its place."""
    return PredictionError(f"{path}, {f'line {where}' if isinstance(where, int) else where}: {problem}")


def _values(lines: Iterator[bytes], path: Path) -> Iterator[tuple[int | str, Any]]:
    """The values of a JSON-lines file, or of a file that is one JSON value, with the line or the place of each."""
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
            yield from shapes.listed_records(value)
            return
        if number == 1 and (isinstance(value, list) or not (isinstance(value, dict) and shapes.image_of(value)[0])):
            yield from shapes.listed_records(value)
        else:
            yield number, value


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


def _image_answer(record: Mapping[str, Any], image_key: str, read: AnswerReader, attribute: str) -> ImageAnswer | None:
    """The answer of a record; None when nothing in it can be one."""
    summary = read.summary
    text_key = shapes.text_key_of(record, image_key)
    payload: Any = record[text_key] if text_key is not None else None
    finish = ""
    wrappings: tuple[Mapping[str, Any], ...] = ()
    if not isinstance(payload, str):
        payload, finish, wrappings = shapes.unwrapped(payload)
    if error := _error_of(record, payload, wrappings):
        return failed(as_text(payload), error)
    if text_key is None:  # the attributes stand in the record itself
        payload = {name: value for name, value in record.items() if name not in (image_key, "status", "model")}
        if not any(shapes.column_of(str(name)) for name in payload):
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
    again = record.get("repeats")
    texts = [text for text in again if isinstance(text, str)] if isinstance(again, list) else []
    answer = read.answer(
        payload, attribute or shapes.attribute_asked(record), tuple(read.text(text).answer for text in texts)
    )
    summary.families[answer.family] += 1
    return answer


def _predicted_only(payload: dict[str, Any]) -> dict[str, Any]:
    """The attributes of a record under their own names: what is called predicted, where anything is."""
    columns = {name: column for name in payload if (column := shapes.column_of(str(name)))}
    predicted = {column.attribute: payload[name] for name, column in columns.items() if column.role == "predicted"}
    if predicted:
        return predicted
    return {name: value for name, value in payload.items() if name not in columns or columns[name].role != "true"}


def _error_of(record: Mapping[str, Any], payload: Any, wrappings: Sequence[Mapping[str, Any]] = ()) -> str:
    """Why a record is no answer; empty when it is one."""
    status = record.get("status")
    error = next((as_text(record[name]) for name in shapes.ERROR_KEYS if record.get(name)), "")
    if status is not None and str(status).strip().lower() not in FINE_STATUS:
        return error or f"status {status!r}"
    code = shapes.numbers_in(wrappings, "status_code")
    if code is not None and code >= 400:
        return error or f"HTTP {code:g}"
    if error and payload in (None, "", [], {}):
        return error
    return exception_in(payload)
