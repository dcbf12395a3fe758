"""Answer files, record by record, in whatever shape they come; nothing is matched or merged here.

JSON lines, JSON lists, objects keyed by image, delimited text, Parquet and Excel tables, each perhaps
compressed; the format is detected from the content. A record has the key of an image, and either an
answer or the error that came instead.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, BinaryIO, Final

import msgspec

from evenhand.benchmarks.fairface.confidences import (
    NOTHING_STATED,
    Confidences,
    largest_share,
    one_confidence,
    stated_confidences,
)
from evenhand.benchmarks.fairface.data import label_order, repair_age
from evenhand.benchmarks.fairface.deepface import is_deepface, read_deepface
from evenhand.benchmarks.fairface.keys import without_face_number
from evenhand.benchmarks.fairface.normalise import FaceAnswer, Mode, Normaliser, Reason, nothing
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
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, GENDERS
from evenhand.core.errors import PredictionError
from evenhand.core.task import InputFact
from evenhand.files.delimited import SEPARATORS, expanding
from evenhand.files.inputs import HashingFile, decode, hash_of, opened

FACE_NAME: Final = "face_name_align"
ATTRIBUTES: Final = FaceAnswer._fields

_SPENT: Final = ("prompt_tokens", "completion_tokens", "cost")
_TOLD: Final = ("model", "finish_reason", "form")  # counted by value
_FINE_STATUS: Final = frozenset({"ok", "success", "succeeded", "completed", "done", "200", ""})
_EXCEPTION: Final = re.compile(r"\s*(?:Traceback \(most recent call last\)|(?:\w+\.)*\w*(?:Error|Exception):\s)")
_CODE: Final = re.compile(r"(?:LABEL_)?\d+", re.IGNORECASE)
_LABEL_CODE: Final = re.compile(r"LABEL_(\d+)", re.IGNORECASE)
_LONGEST_REMEMBERED: Final = 200
_MOST_REMEMBERED: Final = 100_000
_LONGEST_ANSWER: Final = 1 << 20  # characters; what is beyond is not read
_LONGEST_LINE: Final = 256 << 20
_MOST_EXPANSION: Final = 200
_ALWAYS_EXPANDED: Final = 256 << 20
_FOLDER_KINDS: Final = (".jsonl", ".json", ".csv", ".tsv", ".parquet", ".gz", ".ndjson")


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """What a model answered about one image, as it was written and as it was read."""

    raw: str
    answer: FaceAnswer
    error: str = ""  # why there is no answer
    faces: int = 1
    nothing_found: bool = False  # the detector found no face and the whole picture was analysed
    face_number: int = 0  # of the FairFace script's crops
    cells: tuple[str, str, str] | None = None  # gender, race and age as they stand in a table
    confidences: Confidences = NOTHING_STATED  # where the option asks for them
    asked: str = ""  # the only attribute that the question was about
    repeats: tuple[FaceAnswer, ...] = ()  # answers to the same question asked again

    def about(self, attribute: str) -> str:
        """The part of the answer that speaks of an attribute; all of it where it is prose."""
        if self.cells is not None:
            return self.cells[ATTRIBUTES.index(attribute)]
        fields = find_fields(self.raw)
        if fields is None:
            return self.raw
        value = getattr(fields, attribute)
        return "(absent)" if value is ABSENT else _as_text(value)


@dataclass
class FileSummary:
    """A file while it is read: how many records of each family, what was repaired, what the requests took."""

    families: Counter[str] = field(default_factory=Counter)
    repaired: int = 0
    facts: list[InputFact] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)  # tokens and cost that the records tell
    latencies: list[float] = field(default_factory=list)
    told: dict[str, Counter[str]] = field(default_factory=dict)  # models, reasons of finishing, forms of requests
    keys: Counter[str] = field(default_factory=Counter)  # of records in which no answer was found
    notes: list[str] = field(default_factory=list)

    def add_spending(self, record: Mapping[str, Any], wrappings: Sequence[Mapping[str, Any]] = ()) -> None:
        """Add up what a record tells about its request."""
        for name in _SPENT:
            number = numbers_in((record, *wrappings), name) if name in record or wrappings else None
            if number is not None:
                self.sums[name] = self.sums.get(name, 0) + number
        if "latency_seconds" in record and (seconds := as_number(record["latency_seconds"])) is not None:
            self.latencies.append(seconds)
        for name in _TOLD:
            value = record.get(name)
            if isinstance(value, str) and value:
                self.told.setdefault(name, Counter())[value[:200]] += 1

    def spending(self) -> dict[str, float]:
        """Tokens, cost and the middle latency of all requests; empty when the file tells nothing."""
        totals = dict(self.sums)
        if self.latencies:
            totals["latency_seconds_median"] = median(self.latencies)
        return totals


class CachedNormaliser:
    """Normalises, remembering short answers and values: most of them come again and again."""

    def __init__(self, options: FaceOptions) -> None:
        self.normaliser: Normaliser = options.normaliser
        self._answers: dict[str, ImageAnswer] = {}
        self._cells: dict[tuple[str, str, str], ImageAnswer] = {}

    def text(self, raw: str) -> ImageAnswer:
        """A free answer."""
        found = self._answers.get(raw)
        if found is None:
            found = ImageAnswer(raw, self.normaliser.answer(raw[:_LONGEST_ANSWER]))
            if len(raw) <= _LONGEST_REMEMBERED and len(self._answers) < _MOST_REMEMBERED:
                self._answers[raw] = found
        return found

    def cells(self, gender: str, race: str, age: str) -> ImageAnswer:
        """Three cells of a table."""
        key = (gender, race, age)
        found = self._cells.get(key)
        if found is None:
            read = self.normaliser
            answer = FaceAnswer(read.gender(gender), read.race(race), read.age(repair_age(age) or age))
            found = ImageAnswer("; ".join(key), answer, cells=key)
            if sum(map(len, key)) <= _LONGEST_REMEMBERED and len(self._cells) < _MOST_REMEMBERED:
                self._cells[key] = found
        return found

    def about(self, attribute: str, payload: Any) -> FaceAnswer:
        """The answer to a question about one attribute."""
        text = payload if isinstance(payload, str) else None
        if text is None or find_fields(text) is not None:
            reading = getattr(self.normaliser.answer(payload), attribute)
        else:
            reading = getattr(self.normaliser, attribute)(text[:_LONGEST_ANSWER], Mode.FIELD)
        return nothing(Reason.EMPTY)._replace(**{attribute: reading})


def records(path: Path, options: FaceOptions, summary: FileSummary) -> Iterator[tuple[str, ImageAnswer]]:
    """The records of a file in its order, with the keys as they are written; of a folder, those of all its files."""
    read = CachedNormaliser(options)
    if path.is_dir():
        for file in _files_of(path):
            yield from _records_of(file, options, summary, read, _attribute_of_name(file.name))
    else:
        yield from _records_of(path, options, summary, read, "")


def texts_of(path: Path, normaliser: Normaliser) -> Iterator[tuple[str, FaceAnswer]]:
    """The answers of a file with what they give; a file without records has an answer in each line."""
    options = FaceOptions()
    try:
        for _, found in records(path, options, FileSummary()):
            yield found.raw, found.answer if found.cells is not None else normaliser.answer(found.raw)
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


def _records_of(
    path: Path, options: FaceOptions, summary: FileSummary, read: CachedNormaliser, attribute: str
) -> Iterator[tuple[str, ImageAnswer]]:
    with opened(path, PredictionError) as file:
        start = file.read(8)
        file.seek(0)
        if start.startswith(b"PAR1") or start.startswith(b"PK\x03\x04"):
            header, rows = _parquet(path) if start.startswith(b"PAR1") else _workbook(path)
            summary.facts.append(hash_of(path, PredictionError))
            yield from _table_records(header, rows, path, options, summary, read)
            return
        raw = HashingFile(file, path)
        stream: Any = expanding(raw, start) or raw
        limit = math.inf if stream is raw else max(_ALWAYS_EXPANDED, _MOST_EXPANSION * path.stat().st_size)
        buffered = io.BufferedReader(stream, 1 << 20)
        try:
            head = buffered.peek(4096)[:4096].removeprefix(b"\xef\xbb\xbf").lstrip()
        except (OSError, EOFError) as error:
            raise PredictionError(f"{path} is cut off or damaged: {error}.") from None
        if not head:
            raise PredictionError(f"{path} is empty. It should have one record per image.")
        decode(head.rsplit(b"\n", 1)[0] if b"\n" in head else head[:64], path, PredictionError)
        is_json = head[:1] in b"{[" if options.family == "auto" else options.family in ("vlm", "deepface")
        lines = _lines(buffered, path, limit)
        if is_json:
            yield from _json_records(lines, path, options, summary, read, attribute)
        else:
            yield from _delimited_records(lines, path, options, summary, read)
        summary.facts.append(raw.fact())


def _lines(stream: BinaryIO, path: Path, limit: float) -> Iterator[str]:
    number, seen = 0, 0
    try:
        while line := stream.readline(_LONGEST_LINE):
            number, seen = number + 1, seen + len(line)
            if seen > limit or len(line) >= _LONGEST_LINE:
                raise PredictionError(f"{path}, line {number}: the file expands beyond all measure.")
            yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise PredictionError(
            f"{path}, line {number}: byte 0x{line[error.start]:02x} is not UTF-8 text. "
            "Is it the right file? If it is text, save it as UTF-8."
        ) from None
    except (EOFError, OSError) as error:
        raise PredictionError(f"{path} is cut off or damaged: {error}.") from None


def _json_records(
    lines: Iterator[str],
    path: Path,
    options: FaceOptions,
    summary: FileSummary,
    read: CachedNormaliser,
    attribute: str,
) -> Iterator[tuple[str, ImageAnswer]]:
    answers = 0
    image_key = text_key = ""
    is_plain = not attribute and options.confidence == "off" and options.family == "auto"
    plain: dict[str, ImageAnswer] = {}  # texts of records that have nothing but an image and a text
    for where, record in _json_objects(lines, path):
        if len(record) == 2 or (len(record) == 3 and record.get("status") == "ok"):
            own, text = record.get(image_key), record.get(text_key)
            known = plain.get(text) if type(text) is str else None
            if known is not None and type(own) is str and own:
                answers += 1
                image = own
                summary.families["vlm"] += 1
                yield image, known
                continue
        image_key, image = image_of(record)
        if not image_key:
            raise PredictionError(
                f"{path}, {where}: no image key; found {', '.join(map(repr, list(record)[:8])) or 'an empty object'}. "
                f"Name the image with one of {', '.join(IMAGE_KEYS)}."
            )
        found = _image_answer(record, image_key, options, summary, read, attribute)
        answers += found is not None
        if found is None:
            summary.keys.update(str(key) for key in record if key != image_key)
            found = ImageAnswer("", nothing(Reason.EMPTY))
        text_key = text_key_of(record, image_key) or ""
        if is_plain and len(record) <= 3 and found.raw is record.get(text_key) and len(plain) < _MOST_REMEMBERED:
            plain[found.raw] = found
        yield image, found
    if not answers:
        raise _nothing_read(path, summary.keys)


def _nothing_read(path: Path, keys: Iterable[str]) -> PredictionError:
    there = ", ".join(map(repr, list(keys)[:12])) or "nothing but the image"
    return PredictionError(
        f"{path}: no record has an answer. The records have {there}; an answer stands under one of "
        f"{', '.join(TEXT_KEYS)}, or the attributes under gender, race and age."
    )


def _json_objects(lines: Iterator[str], path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The objects of a JSON-lines file, or of a file that is one JSON value, with the place of each."""
    pending: list[str] = []
    for number, line in enumerate(lines, start=1):
        if not pending and line.isspace():
            continue
        if pending:
            pending.append(line)
            continue
        try:
            value = _decoded_line(line)
        except (ValueError, RecursionError) as error:
            if number == 1:
                pending.append(line)
                continue
            raise PredictionError(
                f"{path}, line {number}: not valid JSON ({error}). Write one object per line; "
                "was the program that wrote it stopped in the middle of a line?"
            ) from None
        if number == 1 and (isinstance(value, list) or not (isinstance(value, dict) and image_of(value)[0])):
            yield from _listed(value, path)
        else:
            yield f"line {number}", _object(value, path, f"line {number}")
    if pending:
        try:
            value = json.loads("".join(pending))
        except (ValueError, RecursionError) as error:
            raise PredictionError(f"{path}: neither JSON lines nor one JSON value ({error}).") from None
        yield from _listed(value, path)


def _decoded_line(line: str) -> Any:
    try:
        return msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError):
        return json.loads(line)  # which also takes NaN, and says what is wrong where it is


def _listed(value: Any, path: Path) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for where, record in listed_records(value):
        yield where, _object(record, path, where)


def _object(value: Any, path: Path, where: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise PredictionError(
            f"{path}, {where}: {type(value).__name__} where an object with an image key was expected."
        )
    return value


def _image_answer(
    record: Mapping[str, Any],
    image_key: str,
    options: FaceOptions,
    summary: FileSummary,
    read: CachedNormaliser,
    attribute: str,
) -> ImageAnswer | None:
    """The answer of a record; None when nothing in it can be one."""
    text_key = text_key_of(record, image_key)
    payload: Any = record[text_key] if text_key is not None else None
    finish = ""
    wrappings: tuple[Mapping[str, Any], ...] = ()
    if not isinstance(payload, str):
        payload, finish, wrappings = unwrapped(payload)
    if error := _error_of(record, payload, wrappings):
        return ImageAnswer(_as_text(payload), nothing(Reason.ERROR), error=error)
    if text_key is None:  # the attributes stand in the record itself
        payload = {name: value for name, value in record.items() if name not in (image_key, "status", "model")}
        if not any(column_of(str(name)) for name in payload):
            return None
        payload = _predicted_only(payload)
    summary.add_spending(record, wrappings)
    if finish and "finish_reason" not in record:
        summary.told.setdefault("finish_reason", Counter())[finish] += 1
    finish = str(record.get("finish_reason") or finish)
    if finish == "content_filter" and not payload:
        return ImageAnswer("", nothing(Reason.REFUSAL))
    if finish == "length" and not payload:
        return ImageAnswer("", nothing(Reason.CUT_OFF))
    if payload is None or payload in ("", [], {}):
        summary.families["vlm"] += 1
        return None
    asked = attribute or attribute_asked(record)
    if isinstance(payload, str) and _LABEL_CODE.fullmatch(payload):
        payload = _decoded(asked or "race", payload, options, "")
    deepface = options.family == "deepface" or (options.family == "auto" and is_deepface(payload))
    summary.families["deepface" if deepface else "vlm"] += 1
    stated = stated_confidences(payload) if options.confidence == "on" else NOTHING_STATED
    if deepface:
        answer, face = read_deepface(payload, read.normaliser)
        return ImageAnswer(
            _as_text(payload), answer, faces=face.faces, nothing_found=face.nothing_found, confidences=stated
        )
    if asked:
        return ImageAnswer(_as_text(payload), read.about(asked, payload), confidences=stated, asked=asked)
    again = record.get("repeats")
    repeats = tuple(read.text(text).answer for text in again if isinstance(text, str)) if again else ()
    if isinstance(payload, str) and stated is NOTHING_STATED and not repeats:
        return read.text(payload)
    answer = read.text(payload).answer if isinstance(payload, str) else read.normaliser.answer(payload)
    return ImageAnswer(_as_text(payload), answer, confidences=stated, repeats=repeats)


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
    told = next((_as_text(record[name]) for name in ERROR_KEYS if record.get(name)), "")
    if status is not None and str(status).strip().lower() not in _FINE_STATUS:
        return told or f"status {status!r}"
    code = numbers_in(wrappings, "status_code")
    if code is not None and code >= 400:
        return told or f"HTTP {code:g}"
    if told and payload in (None, "", [], {}):
        return told
    if isinstance(payload, str) and _EXCEPTION.match(payload):
        return payload.strip()[:200]
    return ""


def _delimited_records(
    lines: Iterator[str], path: Path, options: FaceOptions, summary: FileSummary, read: CachedNormaliser
) -> Iterator[tuple[str, ImageAnswer]]:
    first = next(lines, "")
    separator = max(SEPARATORS, key=first.count)

    def whole() -> Iterator[str]:
        yield first
        yield from lines

    rows = csv.reader(whole(), delimiter=separator)

    def numbered() -> Iterator[tuple[int, Sequence[str]]]:
        for cells in rows:
            if cells:
                yield rows.line_num, cells

    try:
        header = next(rows, [])
        yield from _table_records(header, numbered(), path, options, summary, read)
    except csv.Error as error:
        raise PredictionError(f"{path}, line {rows.line_num}: {error}. The file is not well-formed CSV.") from None


def _parquet(path: Path) -> tuple[list[str], Iterator[tuple[int, Sequence[str]]]]:
    import polars

    try:
        frame = polars.read_parquet(path)
    except Exception as error:  # Polars raises many kinds for a damaged file
        raise PredictionError(f"{path} can't be read as Parquet ({type(error).__name__}: {error}).") from None
    return frame.columns, _typed_rows(frame.iter_rows())


def _workbook(path: Path) -> tuple[list[str], Iterator[tuple[int, Sequence[str]]]]:
    try:
        import openpyxl  # type: ignore[import-untyped, unused-ignore]
    except ImportError:
        raise PredictionError(
            f"{path} is an Excel file, which needs openpyxl: pip install openpyxl. Or save it as CSV."
        ) from None
    try:
        sheet = openpyxl.load_workbook(path, read_only=True, data_only=True).active
        rows = sheet.iter_rows(values_only=True)
        header = [_as_text(cell) for cell in next(rows, ())]
    except Exception as error:  # a damaged workbook raises anything
        raise PredictionError(f"{path} can't be read as an Excel file ({type(error).__name__}: {error}).") from None
    return header, _typed_rows(row for row in rows if any(cell is not None for cell in row))


def _typed_rows(rows: Iterable[Sequence[Any]]) -> Iterator[tuple[int, Sequence[str]]]:
    for number, row in enumerate(rows, start=2):
        yield number, [_as_text(cell) for cell in row]


def _table_records(
    header: Sequence[str],
    rows: Iterator[tuple[int, Sequence[str]]],
    path: Path,
    options: FaceOptions,
    summary: FileSummary,
    read: CachedNormaliser,
) -> Iterator[tuple[str, ImageAnswer]]:
    columns = _Columns(header, path, options)
    summary.notes.extend(columns.notes)
    width, count, filled = len(header), 0, False
    for line, cells in rows:
        if len(cells) != width:
            raise PredictionError(
                f"{path}, line {line}: {len(cells)} cells, but the header has {width} columns. "
                "Quote cells that contain a comma."
            )
        count += 1
        key, found = columns.record(cells, line, summary, read)
        filled = filled or bool(found.error) or bool(found.raw.strip("; "))
        yield key, found
    summary.families[columns.family] += count
    if count and not filled:
        names = ", ".join(columns.read_columns)
        raise PredictionError(
            f"{path}: no row has an answer: the cells of {names} are all empty. The columns are "
            f"{', '.join(header)}; name the one that holds the answers raw_output, or gender, race and age."
        )


class _Columns:
    """Where a table has its key, its attributes or its text."""

    def __init__(self, header: Sequence[str], path: Path, options: FaceOptions) -> None:
        self.path, self.options = path, options
        plain = [name.strip().lower() for name in header]
        script = FACE_NAME in plain if options.family == "auto" else options.family == "fairface_csv"
        self.family = "fairface_csv" if script else "csv"
        key_names = (FACE_NAME,) if script else IMAGE_KEYS
        self.key = _place(plain, key_names)
        self.notes: list[str] = []
        if self.key < 0:
            raise PredictionError(
                f"{path}, line 1: no column for the image; found {', '.join(header) or 'nothing'}. "
                f"Name one of the columns {', '.join(key_names)}."
            )
        self.text = _place(plain, [name for name in TEXT_KEYS if name != plain[self.key]])
        self.places = self._attributes(header, plain)
        if script and options.race_column == "race4":
            self.places["race"] = _place(plain, ("race4",))
        self.status = _place(plain, ("status",))
        self.asked = _place(plain, ("attribute", "question_type", "task"))
        self.question = _place(plain, ("question", "prompt", "query"))
        self.face_confidence = _place(plain, ("face_confidence",))
        self.confidences = _confidence_columns(plain) if options.confidence == "on" else ()
        if max(self.places.values()) < 0 and self.text < 0:
            raise PredictionError(
                f"{path}, line 1: no column gender, race or age; found {', '.join(header)}. "
                f"Name at least one of them, or put the whole answer into a column: {', '.join(TEXT_KEYS[:9])}."
            )
        self.reads_text = max(self.places.values()) < 0
        used = [self.text] if self.reads_text else [at for at in self.places.values() if at >= 0]
        self.read_columns = [header[at] for at in used]

    def _attributes(self, header: Sequence[str], plain: list[str]) -> dict[str, int]:
        """Where the predicted attributes stand; what is called true, or stands beside a prediction, is not read."""
        by_role: dict[str, dict[str, int]] = {"predicted": {}, "true": {}, "": {}}
        precedence = {name: order for order, name in enumerate((*GENDER_KEYS, *RACE_KEYS, *AGE_KEYS))}
        named = [(column_of(name), at) for at, name in enumerate(header) if at != self.key]
        for column, at in sorted(
            ((column, at) for column, at in named if column),
            key=lambda pair: precedence.get(letters_only(header[pair[1]]), len(precedence)),
        ):
            by_role[column.role].setdefault(column.attribute, at)
        predicted, bare = by_role["predicted"], by_role[""]
        if predicted and (bare or by_role["true"]):
            shown = ", ".join(header[at] for at in (*bare.values(), *by_role["true"].values()))
            self.notes.append(f"columns taken as labels, not as answers: {shown}")
        chosen = predicted or bare
        if not predicted and bare and self.text >= 0:
            raise PredictionError(
                f"{self.path}, line 1: the columns {', '.join(header[at] for at in bare.values())} may be labels or "
                f"answers, and {header[self.text]} may be the answer. Call the answers gender_pred, race_pred and "
                "age_pred, or leave out what is not an answer."
            )
        if not predicted and "service_test" in plain:
            raise PredictionError(
                f"{self.path}, line 1: this is a label file (it has service_test), and no column is called predicted. "
                "Call the columns with the answers gender_pred, race_pred, age_pred."
            )
        return {attribute: chosen.get(attribute, -1) for attribute in ATTRIBUTES}

    def record(
        self, cells: Sequence[str], line: int, summary: FileSummary, read: CachedNormaliser
    ) -> tuple[str, ImageAnswer]:
        key = cells[self.key].strip()
        if not key:
            raise PredictionError(f"{self.path}, line {line}: the cell that names the image is empty.")
        if self.status >= 0 and (status := cells[self.status].strip().lower()) not in _FINE_STATUS:
            return key, ImageAnswer("", nothing(Reason.ERROR), error=f"status {status!r}")
        if self.reads_text:
            return key, self._text(cells, line, summary, read)
        values = [cells[at] if at >= 0 else "" for at in self.places.values()]
        if not (values[0] + values[1]).isalpha() or values[2][:1] in "lL":
            for at, attribute in enumerate(ATTRIBUTES):
                if _CODE.fullmatch(values[at]) and (attribute != "age" or values[at][0] in "lL"):
                    values[at] = _decoded(attribute, values[at], self.options, f"{self.path}, line {line}: ")
        found = read.cells(*values)
        summary.repaired += repair_age(values[2]) is not None if values[2][-1:].isalnum() and "-" in values[2] else 0
        stated = Confidences(*(_stated(cells, at) for at in self.confidences))
        zero = self.face_confidence >= 0 and as_number(cells[self.face_confidence]) == 0
        if self.family != "fairface_csv" and not zero and not self.confidences:
            return key, found
        image, number = without_face_number(key) if self.family == "fairface_csv" else (key, 0)
        return image, ImageAnswer(
            found.raw,
            found.answer,
            face_number=number,
            cells=found.cells,
            confidences=stated if self.confidences else NOTHING_STATED,
            nothing_found=zero,
        )

    def _text(self, cells: Sequence[str], line: int, summary: FileSummary, read: CachedNormaliser) -> ImageAnswer:
        raw = cells[self.text]
        if error := _error_of({}, raw):
            return ImageAnswer(raw, nothing(Reason.ERROR), error=error)
        hints = {"attribute": cells[self.asked] if self.asked >= 0 else None}
        hints["question"] = cells[self.question] if self.question >= 0 else None
        asked = attribute_asked(hints) if self.asked >= 0 or self.question >= 0 else ""
        if _LABEL_CODE.fullmatch(raw):
            raw = _decoded(asked or "race", raw, self.options, f"{self.path}, line {line}: ")
        if asked:
            return ImageAnswer(raw, read.about(asked, raw), asked=asked)
        if self.options.family in ("auto", "deepface") and is_deepface(raw):
            self.family = "deepface"
            answer, face = read_deepface(raw, read.normaliser)
            return ImageAnswer(raw, answer, faces=face.faces, nothing_found=face.nothing_found)
        return read.text(raw)


def _decoded(attribute: str, text: str, options: FaceOptions, where: str) -> str:
    """The class that an integer or LABEL_3 stands for in the given order of labels."""
    order = label_order(options.label_order)
    if order is None:
        raise PredictionError(
            f"{where}{text!r} is a code for a {attribute}, and codes are ambiguous: the dataset hub's export and the "
            "original script order the classes differently. Say which with --set label_order=hub or script."
        )
    names = {"gender": GENDERS, "race": order, "age": AGE_BINS}[attribute]
    code = int(text.upper().removeprefix("LABEL_"))
    if code >= len(names):
        raise PredictionError(f"{where}{text!r} is outside the order of {attribute}: 0 to {len(names) - 1}.")
    return names[code]


def _confidence_columns(plain: list[str]) -> tuple[int, ...]:
    """Where a table has the confidence, or the scores, of gender, race and age; −1 where it has none."""
    return tuple(_place(plain, (f"{name}_confidence", f"{name}_scores_fair")) for name in ATTRIBUTES)


def _stated(cells: Sequence[str], at: int) -> float:
    if at < 0:
        return math.nan
    return largest_share(cells[at]) if "[" in cells[at] else one_confidence(cells[at])


def _place(plain: list[str], names: Sequence[str]) -> int:
    return next((plain.index(name) for name in names if name in plain), -1)


def _as_text(payload: Any) -> str:
    if payload is None:
        return ""
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, default=str)
