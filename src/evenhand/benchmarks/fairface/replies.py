"""Answer files, record by record: the four families of the protocol, told apart by what is in them.

A record has the key of an image, and either what was said about it or the error
that came instead. Files are read line by line; nothing is matched or merged here.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO, Final

from evenhand.benchmarks.fairface.confidences import (
    NOTHING_STATED,
    Confidences,
    largest_share,
    one_confidence,
    stated_confidences,
)
from evenhand.benchmarks.fairface.data import repair_age
from evenhand.benchmarks.fairface.deepface import is_deepface, read_deepface
from evenhand.benchmarks.fairface.keys import without_face_number
from evenhand.benchmarks.fairface.normalise import Answer, Normaliser, Reason, nothing
from evenhand.benchmarks.fairface.normalise.structured import (
    ABSENT,
    AGE_KEYS,
    GENDER_KEYS,
    RACE_KEYS,
    as_number,
    find_fields,
    letters_only,
)
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.core.errors import PredictionError
from evenhand.core.task import InputFact
from evenhand.files.inputs import decode, hashed

IMAGE_KEYS: Final = ("image_path", "image", "file", "img_path", "path", "filename", "image_id", "id")
TEXT_KEYS: Final = ("raw_output", "output", "response", "answer", "text", "prediction", "completion")
ERROR_KEYS: Final = ("error", "exception", "stderr", "traceback")
FACE_NAME: Final = "face_name_align"

_SPENT: Final = ("prompt_tokens", "completion_tokens", "cost")
_FINE_STATUS: Final = frozenset({"ok", "success", "succeeded", "completed", "done"})
_EXCEPTION: Final = re.compile(r"\s*(?:Traceback \(most recent call last\)|(?:\w+\.)*\w*(?:Error|Exception):\s)")
_LONGEST_REMEMBERED: Final = 200
_MOST_REMEMBERED: Final = 100_000


@dataclass(frozen=True)
class Reply:
    """What a model said about one image, as it was said and as it was understood."""

    raw: str
    answer: Answer
    error: str = ""  # why there is no answer
    faces: int = 1
    nothing_found: bool = False  # the detector found no face and the whole picture was analysed
    face_number: int = 0  # of the FairFace script's crops
    cells: tuple[str, str, str] | None = None  # gender, race and age as they stand in a CSV
    confidences: Confidences = NOTHING_STATED  # where the option asks for them

    def about(self, attribute: str) -> str:
        """The part of what was said that speaks of an attribute; all of it where it is prose."""
        if self.cells is not None:
            return self.cells[Answer._fields.index(attribute)]
        fields = find_fields(self.raw)
        if fields is None:
            return self.raw
        value = getattr(fields, attribute)
        return "(absent)" if value is ABSENT else _as_text(value)


@dataclass
class Reading:
    """A file while it is read: how many records of each family, and what was repaired."""

    families: dict[str, int] = field(default_factory=dict)
    repaired: int = 0
    fact: InputFact | None = None
    sums: dict[str, float] = field(default_factory=dict)  # tokens and cost that the records tell
    latencies: list[float] = field(default_factory=list)

    def count(self, family: str) -> None:
        self.families[family] = self.families.get(family, 0) + 1

    def spent(self, record: Mapping[str, Any]) -> None:
        """Add up what a record tells about its request."""
        for name in _SPENT:
            if (number := as_number(record.get(name))) is not None:
                self.sums[name] = self.sums.get(name, 0) + number
        if (seconds := as_number(record.get("latency_seconds"))) is not None:
            self.latencies.append(seconds)

    def spending(self) -> dict[str, float]:
        """Tokens, cost and the middle latency of all requests; empty when the file tells nothing."""
        found = dict(self.sums)
        if self.latencies:
            found["latency_seconds_median"] = median(self.latencies)
        return found


def records(path: Path, options: FaceOptions, reading: Reading) -> Iterator[tuple[str, Reply]]:
    """The records of a file in its order, with the keys as they are written.

    The family is told by the content: a CSV with `face_name_align` is the FairFace
    script's, any other CSV has its own columns, JSON lines are DeepFace's when they
    have its dictionaries. Option `family` overrules.
    """
    understand = _Understanding(options)
    with hashed(path, PredictionError) as file:
        buffered: Any = io.BufferedReader(file, 1 << 20)
        start = buffered.peek(4096)[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
        if not start:
            raise PredictionError(f"{path} is empty. It should have one record per image.")
        decode(start.rsplit(b"\n", 1)[0] if b"\n" in start else start[:64], path, PredictionError)
        is_json = start[:1] in b"{[" if options.family == "auto" else options.family in ("vlm", "deepface")
        lines = _lines(buffered, path)
        yield from (_json_records if is_json else _csv_records)(lines, path, options, reading, understand)
        reading.fact = file.fact()


class _Understanding:
    """Normalises, remembering short answers and short values: most of them come again and again."""

    def __init__(self, options: FaceOptions) -> None:
        self.normaliser: Normaliser = options.normaliser
        self._answers: dict[str, Answer] = {}
        self._values: dict[tuple[str, str], Any] = {}

    def answer(self, raw: Any) -> Answer:
        """What a free answer says."""
        if not isinstance(raw, str):
            return self.normaliser.answer(raw)
        found = self._answers.get(raw)
        if found is None:
            found = self.normaliser.answer(raw)
            if len(raw) <= _LONGEST_REMEMBERED and len(self._answers) < _MOST_REMEMBERED:
                self._answers[raw] = found
        return found

    def cells(self, gender: str, race: str, age: str) -> Answer:
        """What three cells of a table say."""
        return Answer(self._value("gender", gender), self._value("race", race), self._value("age", age))

    def _value(self, attribute: str, text: str) -> Any:
        key = (attribute, text)
        found = self._values.get(key)
        if found is None:
            found = getattr(self.normaliser, attribute)(text)
            if len(text) <= _LONGEST_REMEMBERED and len(self._values) < _MOST_REMEMBERED:
                self._values[key] = found
        return found


def _lines(stream: BinaryIO, path: Path) -> Iterator[str]:
    for number, line in enumerate(stream, start=1):
        try:
            text = line.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise PredictionError(
                f"{path}, line {number}: byte 0x{line[error.start]:02x} is not UTF-8 text. "
                "Is it the right file? If it is text, save it as UTF-8."
            ) from None
        yield text


def _json_records(
    lines: Iterator[str], path: Path, options: FaceOptions, reading: Reading, understand: _Understanding
) -> Iterator[tuple[str, Reply]]:
    for where, record in _json_objects(lines, path):
        name = next((name for name in IMAGE_KEYS if record.get(name) not in (None, "")), None)
        if name is None:
            raise PredictionError(
                f"{path}, {where}: no image key; found {', '.join(map(repr, list(record)[:8])) or 'an empty object'}. "
                f"Name the image with one of {', '.join(IMAGE_KEYS)}."
            )
        yield str(record[name]), _reply(record, name, options, reading, understand)


def _json_objects(lines: Iterator[str], path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a JSON-lines file, or of a file that is one JSON list, with the place of each."""
    pending: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        if pending or line.strip() == "[":  # a pretty-printed list: needs the whole
            pending.append(line)
            continue
        try:
            value = json.loads(line)
        except (ValueError, RecursionError) as error:
            if number == 1:
                pending.append(line)
                continue
            raise PredictionError(
                f"{path}, line {number}: not valid JSON ({error}). Write one object per line; "
                "was the program that wrote it stopped in the middle of a line?"
            ) from None
        if isinstance(value, list):
            yield from _listed(value, path)
        else:
            yield f"line {number}", _object(value, path, f"line {number}")
    if pending:
        try:
            value = json.loads("".join(pending))
        except (ValueError, RecursionError) as error:
            raise PredictionError(f"{path}: neither JSON lines nor one JSON list ({error}).") from None
        yield from _listed(value if isinstance(value, list) else [value], path)


def _listed(values: list[Any], path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for index, value in enumerate(values, start=1):
        yield f"record {index}", _object(value, path, f"record {index}")


def _object(value: Any, path: Path, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PredictionError(
            f"{path}, {where}: {type(value).__name__} where an object with an image key was expected."
        )
    return value


def _reply(
    record: Mapping[str, Any], image_key: str, options: FaceOptions, reading: Reading, understand: _Understanding
) -> Reply:
    text_key = next((name for name in TEXT_KEYS if name in record), None)
    payload = record[text_key] if text_key is not None else None
    if error := _error_of(record, payload):
        return Reply(_as_text(payload), nothing(Reason.ERROR), error=error)
    if text_key is None:  # the attributes stand in the record itself
        payload = {name: value for name, value in record.items() if name not in (image_key, "status", "model")}
    reading.spent(record)
    deepface = options.family == "deepface" or (options.family == "auto" and is_deepface(payload))
    reading.count("deepface" if deepface else "vlm")
    stated = stated_confidences(payload) if options.confidence == "on" else NOTHING_STATED
    if not deepface:
        return Reply(_as_text(payload), understand.answer(payload), confidences=stated)
    answer, face = read_deepface(payload, understand.normaliser)
    text = _as_text(payload)
    return Reply(text, answer, faces=face.faces, nothing_found=face.nothing_found, confidences=stated)


def _error_of(record: Mapping[str, Any], payload: Any) -> str:
    """Why a record is no answer; empty when it is one."""
    status = record.get("status")
    told = next((str(record[name]) for name in ERROR_KEYS if record.get(name)), "")
    if status is not None and str(status).strip().lower() not in _FINE_STATUS:
        return told or f"status {status!r}"
    if payload is None and told:
        return told
    if isinstance(payload, str) and _EXCEPTION.match(payload):
        return payload.strip()[:200]
    return ""


def _csv_records(
    lines: Iterator[str], path: Path, options: FaceOptions, reading: Reading, understand: _Understanding
) -> Iterator[tuple[str, Reply]]:
    rows = csv.reader(lines)
    try:
        header = next(rows, [])
        columns = _Columns(header, path, options)
        for cells in rows:
            if not cells:
                continue
            if len(cells) != len(header):
                raise PredictionError(
                    f"{path}, line {rows.line_num}: {len(cells)} cells, but the header has {len(header)} columns. "
                    "Quote cells that contain a comma."
                )
            reading.count(columns.family)
            yield columns.record(cells, rows.line_num, reading, understand)
    except csv.Error as error:
        raise PredictionError(f"{path}, line {rows.line_num}: {error}. The file is not well-formed CSV.") from None


class _Columns:
    """Where a CSV has its key, its attributes or its text."""

    def __init__(self, header: list[str], path: Path, options: FaceOptions) -> None:
        self.path = path
        plain = [name.strip().lower() for name in header]
        script = FACE_NAME in plain if options.family == "auto" else options.family == "fairface_csv"
        self.family = "fairface_csv" if script else "csv"
        letters = [letters_only(name) for name in header]
        key_names = (FACE_NAME,) if script else IMAGE_KEYS
        self.key = next((plain.index(name) for name in key_names if name in plain), -1)
        if self.key < 0:
            raise PredictionError(
                f"{path}, line 1: no column for the image; found {', '.join(header) or 'nothing'}. "
                f"Name one of the columns {', '.join(key_names)}."
            )
        self.gender = _first(letters, GENDER_KEYS)
        self.race = _first(letters, RACE_KEYS)
        if script and options.race_column == "race4":
            self.race = plain.index("race4") if "race4" in plain else -1
        self.age = _first(letters, AGE_KEYS)
        self.text = next((plain.index(name) for name in TEXT_KEYS if name in plain), -1)
        self.status = plain.index("status") if "status" in plain else -1
        self.confidences = _confidence_columns(plain) if options.confidence == "on" else ()
        if max(self.gender, self.race, self.age) < 0 and self.text < 0:
            raise PredictionError(
                f"{path}, line 1: no column gender, race or age; found {', '.join(header)}. "
                "Name at least one of them, or put the whole answer into a column raw_output."
            )

    def record(self, cells: list[str], line: int, reading: Reading, understand: _Understanding) -> tuple[str, Reply]:
        key = cells[self.key].strip()
        if not key:
            raise PredictionError(f"{self.path}, line {line}: the cell that names the image is empty.")
        if self.status >= 0 and (status := cells[self.status].strip().lower()) not in _FINE_STATUS:
            return key, Reply("", nothing(Reason.ERROR), error=f"status {status!r}")
        if max(self.gender, self.race, self.age) < 0:
            raw = cells[self.text]
            if error := _error_of({}, raw):
                return key, Reply(raw, nothing(Reason.ERROR), error=error)
            return key, Reply(raw, understand.answer(raw))
        gender, race, age = (cells[at] if at >= 0 else "" for at in (self.gender, self.race, self.age))
        raw = "; ".join((gender, race, age))
        if repaired := repair_age(age):
            reading.repaired += 1
            age = repaired
        answer = understand.cells(gender, race, age)
        stated = Confidences(*(_stated(cells, at) for at in self.confidences))
        if self.family != "fairface_csv":
            return key, Reply(raw, answer, cells=(gender, race, age), confidences=stated)
        image, number = without_face_number(key)
        return image, Reply(raw, answer, face_number=number, cells=(gender, race, age), confidences=stated)


def _confidence_columns(plain: list[str]) -> tuple[int, ...]:
    """Where a CSV has the confidence, or the scores, of gender, race and age; −1 where it has none."""
    names = [(f"{name}_confidence", f"{name}_scores_fair") for name in ("gender", "race", "age")]
    return tuple(next((plain.index(name) for name in pair if name in plain), -1) for pair in names)


def _stated(cells: list[str], at: int) -> float:
    if at < 0:
        return math.nan
    return largest_share(cells[at]) if "[" in cells[at] else one_confidence(cells[at])


def _first(letters: list[str], names: tuple[str, ...]) -> int:
    return next((letters.index(name) for name in names if name in letters), -1)


def _as_text(payload: Any) -> str:
    if payload is None:
        return ""
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, default=str)
