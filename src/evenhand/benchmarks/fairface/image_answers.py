"""What an answer file gives: one answer per record, and what is counted while the file is read."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from statistics import median
from typing import Any, Final

from evenhand.benchmarks.fairface.confidences import NOTHING_STATED, Confidences, stated_confidences
from evenhand.benchmarks.fairface.data import label_order
from evenhand.benchmarks.fairface.deepface import choose_face, is_deepface
from evenhand.benchmarks.fairface.normalise import FaceAnswer, Mode, Reason, nothing
from evenhand.benchmarks.fairface.normalise.structured import ABSENT, as_number, fields_of, find_fields
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.shapes import numbers_in
from evenhand.benchmarks.fairface.taxonomy import CLASSES, PerAttribute
from evenhand.core.errors import PredictionError
from evenhand.core.task import InputFact

FINE_STATUS: Final = frozenset({"ok", "success", "succeeded", "completed", "done", "200", ""})
MOST_REMEMBERED: Final = 100_000
LONGEST_REMEMBERED: Final = 200
NOT_THERE: Final = "(absent)"  # what an answer says of an attribute for which it has no key or column

_SPENT: Final = ("prompt_tokens", "completion_tokens", "cost")
_COUNTED: Final = ("model", "finish_reason", "form")
_CODE: Final = re.compile(r"(?:LABEL_)?\d+(?:\.0+)?", re.IGNORECASE)
_NAMED_CODE: Final = re.compile(r"LABEL_\d+", re.IGNORECASE)
_EXCEPTION: Final = re.compile(r"\s*(?:Traceback \(most recent call last\)|(?:\w+\.)*\w*(?:Error|Exception):\s)")
_MOST_KEYS: Final = 50
_LONGEST_ANSWER: Final = 1 << 20  # characters; what is beyond is not read


@dataclass(frozen=True, slots=True)
class ImageAnswer:
    """What a model answered about one image, as it was written and as it was read."""

    raw: str
    answer: FaceAnswer
    error: str = ""  # why there is no answer
    faces: int = 1
    nothing_found: bool = False  # the detector found no face and the whole picture was analysed
    face_number: int = 0  # of the FairFace script's crops
    cells: PerAttribute[str] | None = None  # as they stand in a table; NOT_THERE without such a column
    confidences: Confidences = NOTHING_STATED  # where the option asks for them
    asked: str = ""  # the only attribute that the question was about
    repeats: tuple[FaceAnswer, ...] = ()  # answers to the same question asked again
    family: str = "vlm"  # or deepface

    def about(self, attribute: str) -> str:
        """The part of the answer that speaks of an attribute; all of it where it is prose."""
        if self.cells is not None:
            return str(getattr(self.cells, attribute))
        fields = find_fields(self.raw)
        if fields is None:
            return self.raw
        value = getattr(fields, attribute)
        return NOT_THERE if value is ABSENT else as_text(value)


@dataclass
class FileSummary:
    """A file while it is read: how many records of each family, what was repaired, what the requests took."""

    families: Counter[str] = field(default_factory=Counter)
    repaired: int = 0
    facts: list[InputFact] = field(default_factory=list)
    sums: dict[str, float] = field(default_factory=dict)  # tokens and cost that the records state
    latencies: list[float] = field(default_factory=list)
    values: dict[str, Counter[str]] = field(default_factory=dict)  # models, reasons of finishing, forms of requests
    unread: int = 0  # records in which no answer was found
    keys: dict[str, None] = field(default_factory=dict)  # of these records, in their order
    notes: list[str] = field(default_factory=list)

    def add_spending(self, record: Mapping[str, Any], wrappings: Sequence[Mapping[str, Any]] = ()) -> None:
        """Add up what a record states about its request."""
        for name in _SPENT:
            number = numbers_in((record, *wrappings), name) if name in record or wrappings else None
            if number is not None:
                self.sums[name] = self.sums.get(name, 0) + number
        if "latency_seconds" in record and (seconds := as_number(record["latency_seconds"])) is not None:
            self.latencies.append(seconds)
        for name in _COUNTED:
            value = record.get(name)
            if isinstance(value, str) and value:
                self.values.setdefault(name, Counter())[value[:200]] += 1

    def add_unread(self, record: Mapping[str, Any], image_key: str) -> None:
        """Count a record in which no answer was found."""
        self.unread += 1
        if len(self.keys) < _MOST_KEYS:
            self.keys.update((str(key), None) for key in islice(record, _MOST_KEYS) if key != image_key)

    def spending(self) -> dict[str, float]:
        """Tokens, cost and the middle latency of all requests; empty when the file states none."""
        totals = dict(self.sums)
        if self.latencies:
            totals["latency_seconds_median"] = median(self.latencies)
        return totals


class AnswerReader:
    """Reads the answers of a file as its options say; short texts are remembered, since most come again and again."""

    def __init__(self, options: FaceOptions, summary: FileSummary) -> None:
        self.options, self.summary = options, summary
        self.normaliser = options.normaliser
        self._answers: dict[str, ImageAnswer] = {}

    def text(self, raw: str) -> ImageAnswer:
        """A free answer."""
        answer = self._answers.get(raw)
        if answer is None:
            answer = ImageAnswer(raw, self.normaliser.answer(raw[:_LONGEST_ANSWER]))
            if len(raw) <= LONGEST_REMEMBERED and len(self._answers) < MOST_REMEMBERED:
                self._answers[raw] = answer
        return answer

    def answer(self, payload: Any, asked: str = "", repeats: tuple[FaceAnswer, ...] = ()) -> ImageAnswer:
        """An answer out of its wrapping; `asked` is the only attribute that the question was about, if it was."""
        if isinstance(payload, str):
            payload = self.decoded(asked or "race", payload)
        family = self.options.family
        stated = stated_confidences(payload) if self.options.confidence == "on" else NOTHING_STATED
        if family == "deepface" or (family == "auto" and is_deepface(payload)):
            return self.deepface(payload, stated)
        if isinstance(payload, Mapping) and fields_of(payload) is None:
            self.summary.add_unread(payload, "")
        if asked:
            return self.about(asked, payload, stated)
        if isinstance(payload, str) and stated is NOTHING_STATED and not repeats:
            return self.text(payload)
        answer = self.text(payload).answer if isinstance(payload, str) else self.normaliser.answer(payload)
        return ImageAnswer(as_text(payload), answer, confidences=stated, repeats=repeats)

    def about(self, attribute: str, payload: Any, stated: Confidences = NOTHING_STATED) -> ImageAnswer:
        """The answer to a question about one attribute."""
        if not isinstance(payload, str) or find_fields(payload) is not None:
            reading = getattr(self.normaliser.answer(payload), attribute)
        else:
            reading = getattr(self.normaliser, attribute)(payload[:_LONGEST_ANSWER], Mode.FIELD)
        answer = nothing(Reason.EMPTY)._replace(**{attribute: reading})
        return ImageAnswer(as_text(payload), answer, confidences=stated, asked=attribute)

    def deepface(self, payload: Any, stated: Confidences = NOTHING_STATED) -> ImageAnswer:
        """What DeepFace says of the face that counts."""
        fields, faces, nothing_found = choose_face(payload)
        answer = nothing(Reason.EMPTY) if fields is None else self.normaliser.fields(fields)
        return ImageAnswer(as_text(payload), answer, "", faces, nothing_found, confidences=stated, family="deepface")

    def decoded(self, attribute: str, text: str, *, integers: bool = False) -> str:
        """The class that LABEL_3, or an integer, stands for in the given order of labels; any other text as it is."""
        if not (_CODE if integers else _NAMED_CODE).fullmatch(text):
            return text
        order = label_order(self.options.label_order)
        if order is None:
            raise PredictionError(
                f"{text!r} is a code for a {attribute}, and codes are ambiguous: the dataset hub's export and the "
                "original script order the classes differently. Say which with --set label_order=hub or script."
            )
        names = {**CLASSES, "race": order}[attribute]
        code = int(text.upper().removeprefix("LABEL_").partition(".")[0][:9])
        if code >= len(names):
            raise PredictionError(f"{text!r} is outside the order of {attribute}: 0 to {len(names) - 1}.")
        return names[code]


def failed(raw: str, error: str) -> ImageAnswer:
    """An error that stands where an answer should."""
    return ImageAnswer(raw, nothing(Reason.ERROR), error=error)


def exception_in(payload: Any) -> str:
    """The text of an exception that stands where an answer should; empty when it is an answer.

    >>> exception_in("ValueError: no face"), exception_in("A man.")
    ('ValueError: no face', '')
    """
    return payload.strip()[:200] if isinstance(payload, str) and _EXCEPTION.match(payload) else ""


def as_text(payload: Any) -> str:
    """A payload as it is shown: text as it is, everything else as JSON."""
    if payload is None:
        return ""
    return payload if isinstance(payload, str) else json.dumps(payload, ensure_ascii=False, default=str)
