"""The normaliser: any answer in, one label per attribute out, with the rules that decided.

The version goes into every result. It changes whenever any answer could be read
differently than before.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from evenhand.benchmarks.fairface.normalise.age import read_age, read_age_range
from evenhand.benchmarks.fairface.normalise.gender import read_gender
from evenhand.benchmarks.fairface.normalise.markup import plain_text, without_reasoning
from evenhand.benchmarks.fairface.normalise.race import read_race
from evenhand.benchmarks.fairface.normalise.readings import FaceAnswer, Mode, Reading, Reason, nothing, unknown
from evenhand.benchmarks.fairface.normalise.strict import read_strictly
from evenhand.benchmarks.fairface.normalise.structured import (
    ABSENT,
    RANGE_KEYS,
    VALUE_KEYS,
    Fields,
    as_number,
    best_scored,
    by_letters,
    fields_of,
    find_fields,
    without_confidences,
)
from evenhand.benchmarks.fairface.normalise.text import (
    Passage,
    TextCache,
    final_answer,
    labelled_values,
    prepare,
    without_questions,
)
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
from evenhand.benchmarks.fairface.taxonomy import ATTRIBUTES

NORMALISER_VERSION: Final = "3"
_DEEPEST_VALUE: Final = 4
_PROSE: Final = Mode.PROSE
_FIELD: Final = Mode.FIELD
_FOREIGN: Final = Reason.LANGUAGE


class AttributeReader:
    """One attribute: its label's name, and the rules that read it in a prepared text.

    Called with a raw text or a JSON value, it gives what that says of the attribute.

    >>> AttributeReader("gender", read_gender)("Age: 30\\nGender: M").rules
    ('P8', 'G1')
    """

    def __init__(self, name: str, read: Callable[[TokenizedText, Mode], Reading]) -> None:
        self.name = name
        self.read = read
        self._of_fields = TextCache(partial(self._of_text, mode=_FIELD))
        self._of_labelled = TextCache(self._of_labelled_value)

    def __call__(self, raw: Any, mode: Mode = _FIELD) -> Reading:
        if not isinstance(raw, str):
            if raw is ABSENT:
                return unknown(Reason.EMPTY, "S6")
            raw = _scalar(raw, for_age=self.name == "age")
            if isinstance(raw, Reason):
                return unknown(raw, "S5")
            if isinstance(raw, Reading):
                return raw
        return self._of_fields[raw] if mode is _FIELD else self._of_text(raw, mode)

    def within(self, passage: Passage, labelled: Mapping[str, str], text: TokenizedText | None, mode: Mode) -> Reading:
        """What a prepared text says of the attribute; a value labelled with its name decides alone (P8)."""
        value = labelled.get(self.name)
        if value is not None:
            reading = self._of_labelled[value]
        else:
            reading = self.read(text or TokenizedText(passage.text), mode)
        return reading._replace(rules=passage.rules + reading.rules) if passage.rules else reading

    def _of_text(self, raw: str, mode: Mode) -> Reading:
        text = prepare(plain_text(without_reasoning(raw) or ""))
        passage = final_answer(without_questions(text) if mode is _PROSE else text)
        return self.within(passage, labelled_values(passage.text), None, mode)

    def _of_labelled_value(self, value: str) -> Reading:
        reading = self.read(TokenizedText(value), _FIELD)
        return reading._replace(rules=("P8", *reading.rules))


@dataclass(frozen=True)
class Normaliser:
    """Reads answers by the protocol's rules.

    `gender`, `race` and `age` read a value that is known to be about that attribute, or with `Mode.PROSE` a text.

    >>> Normaliser().answer("A young South Asian woman, approximately 25–30 years old.").race.label
    'Indian'
    >>> Normaliser(strict=True).gender("a woman").label
    'unknown'
    """

    first_of_several: bool = False  # option multi=first (R7)
    age_words: bool = True  # option age_words=off (A8)
    strict: bool = False  # option profile=strict

    gender: AttributeReader = field(init=False, repr=False, compare=False)
    race: AttributeReader = field(init=False, repr=False, compare=False)
    age: AttributeReader = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        rules: dict[str, Callable[[TokenizedText, Mode], Reading]] = {
            "gender": read_gender,
            "race": partial(read_race, first_of_several=self.first_of_several),
            "age": partial(read_age, age_words=self.age_words),
        }
        for name, read in rules.items():
            reader = AttributeReader(name, partial(read_strictly, attribute=name) if self.strict else read)
            object.__setattr__(self, name, reader)  # a frozen object's own way to set what follows from its options

    def answer(self, raw: Any) -> FaceAnswer:
        """All three attributes of a free answer: text, or an object that is already parsed."""
        if raw is None:
            return nothing(Reason.EMPTY)
        if not isinstance(raw, str):
            parsed = fields_of(raw)
            return self.fields(parsed) if parsed else nothing(Reason.NOT_UNDERSTOOD)
        answer = without_reasoning(raw)
        if answer is None:
            return nothing(Reason.CUT_OFF)
        fields = find_fields(answer)
        return self.prose(answer) if fields is None else self.fields(fields)

    def prose(self, raw: str) -> FaceAnswer:
        """All three attributes of a text that has no object with a known key (S6)."""
        passage = final_answer(without_questions(prepare(plain_text(without_confidences(raw)))))
        labelled = labelled_values(passage.text)
        text = TokenizedText(passage.text) if len(labelled) < len(ATTRIBUTES) else None
        if labelled or passage.rules or text is None:
            gender = self.gender.within(passage, labelled, text, _PROSE)
            race = self.race.within(passage, labelled, text, _PROSE)
            age = self.age.within(passage, labelled, text, _PROSE)
        else:  # the same in fewer steps
            gender, race, age = (
                self.gender.read(text, _PROSE),
                self.race.read(text, _PROSE),
                self.age.read(text, _PROSE),
            )
        answer = FaceAnswer(gender, race, age)
        if gender.reason is _FOREIGN or race.reason is _FOREIGN or age.reason is _FOREIGN:
            return _in_some_language(answer)
        return answer

    def fields(self, fields: Fields) -> FaceAnswer:
        """All three attributes of a recognised object; an absent key is unknown (S6)."""
        gender, race, age = fields
        return FaceAnswer(self.gender(gender), self.race(race), self.age(age))


def _in_some_language(answer: FaceAnswer) -> FaceAnswer:
    """An answer in which something was read is no answer in another language (L1)."""
    if all(reading.reason is not None for reading in answer):
        return answer
    foreign = {name: reading for name, reading in answer._asdict().items() if reading.reason is _FOREIGN}
    return answer._replace(
        **{name: reading._replace(reason=Reason.NOT_UNDERSTOOD) for name, reading in foreign.items()}
    )


def _scalar(raw: Any, *, for_age: bool, depth: int = 0) -> Any:
    """The text that a value stands for (S5), its age where it is one in numbers, or the reason why it is none."""
    if isinstance(raw, str):
        return raw
    if raw is None or raw == [] or raw == {}:
        return Reason.EMPTY
    if isinstance(raw, bool) or depth > _DEEPEST_VALUE:
        return Reason.NOT_UNDERSTOOD
    if for_age and (ends := _ends(raw)) is not None:
        return read_age_range(*ends)
    if isinstance(raw, list):
        if len(raw) == 1:
            return _scalar(raw[0], for_age=for_age, depth=depth + 1)
        if all(isinstance(element, str) for element in raw):
            return " / ".join(raw)
    elif isinstance(raw, Mapping):
        keys = by_letters(raw)
        for name in VALUE_KEYS:
            if name in keys:
                return _scalar(keys[name], for_age=for_age, depth=depth + 1)
        best = best_scored({str(key): value for key, value in raw.items()})
        shared = best is None and all(as_number(value) is not None for value in raw.values())
        return Reason.SEVERAL if shared else best or Reason.NOT_UNDERSTOOD
    return Reason.NOT_UNDERSTOOD


def _ends(raw: Any) -> tuple[float, float | None] | None:
    """The ends of an age: a number, a list of two numbers, or an object with `min` and `max` and the like."""
    number = _number(raw)
    if number is not None:
        return number, number
    if isinstance(raw, list) and len(raw) == 2:
        low, high = _number(raw[0]), _number(raw[1])
        return None if low is None or high is None else (low, high)
    if not isinstance(raw, Mapping):
        return None
    keys = by_letters(raw)
    if any(name in keys for name in VALUE_KEYS):
        return None
    for lower, upper in RANGE_KEYS:
        if lower in keys and upper in keys:
            low, high = as_number(keys[lower]), as_number(keys[upper])
            if low is not None and (high is not None or keys[upper] is None):
                return low, high
    return None


def _number(raw: Any) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    try:
        return float(raw)
    except OverflowError:
        return float("inf")
