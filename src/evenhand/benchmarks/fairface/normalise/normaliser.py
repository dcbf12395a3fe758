"""The normaliser: any answer in, one label per attribute out, with the rules that decided.

The version goes into every result. It changes whenever any answer could be read
differently than before.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from evenhand.benchmarks.fairface.normalise.age import read_age, read_age_range
from evenhand.benchmarks.fairface.normalise.gender import read_gender
from evenhand.benchmarks.fairface.normalise.markup import plain_text, without_reasoning
from evenhand.benchmarks.fairface.normalise.race import read_race
from evenhand.benchmarks.fairface.normalise.readings import FaceAnswer, Mode, Reading, Reason, nothing, unknown
from evenhand.benchmarks.fairface.normalise.structured import (
    ABSENT,
    Fields,
    fields_of,
    find_fields,
    plain_value,
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
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, ATTRIBUTES, COARSE_OF, GENDERS

NORMALISER_VERSION: Final = "3"
_PROSE: Final = Mode.PROSE
_FIELD: Final = Mode.FIELD
_FOREIGN: Final = Reason.LANGUAGE
_LABELS: Final = {  # all that the strict profile understands, besides ages that are plain numbers
    "gender": {label.lower() for label in GENDERS},
    "race": {"asian", *(label.lower().replace("_", " ") for label in COARSE_OF)},
    "age": {*AGE_BINS, "more than 70"},
}
_PLAIN_AGE: Final = re.compile(r"\d{1,3}(?:\.\d{1,20})?")
AttributeRules = Callable[[TokenizedText, Mode], Reading]


class AttributeReader:
    """One attribute: its label's name, and the rules that read it in a prepared text.

    Called with a raw text or a JSON value, it gives what that says of the attribute.

    >>> AttributeReader("gender", read_gender)("Age: 30\\nGender: M").rules
    ('P8', 'G1')
    """

    def __init__(self, name: str, read: AttributeRules) -> None:
        self.name = name
        self.read = read
        self._of_fields = TextCache(partial(self._of_text, mode=_FIELD))
        self._of_labelled = TextCache(self._of_labelled_value)

    def __call__(self, raw: Any, mode: Mode = _FIELD) -> Reading:
        if not isinstance(raw, str):
            if raw is ABSENT:
                return unknown(Reason.EMPTY, "S6")
            raw = plain_value(raw, for_age=self.name == "age")
            if isinstance(raw, Reason):
                return unknown(raw, "S5")
            if isinstance(raw, tuple):
                return read_age_range(*raw)
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
        rules: dict[str, AttributeRules] = {
            "gender": read_gender,
            "race": partial(read_race, first_of_several=self.first_of_several),
            "age": partial(read_age, age_words=self.age_words),
        }
        for name, read in rules.items():
            reader = AttributeReader(name, partial(_read_strictly, name, read) if self.strict else read)
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
    readings = [
        reading._replace(reason=Reason.NOT_UNDERSTOOD) if reading.reason is _FOREIGN else reading for reading in answer
    ]
    return FaceAnswer(*readings)


def _read_strictly(attribute: str, read: AttributeRules, text: TokenizedText, mode: Mode) -> Reading:
    """The class of a prepared text that is nothing but its name; for age, also a number.

    A run under this profile shows how much of a result depends on the normaliser's generosity.
    """
    name = text.text.rstrip(".")
    if attribute != "age":
        name = name.strip().replace("-", " ")
    elif not name.startswith("more"):
        name = name.replace(" ", "")
        if _PLAIN_AGE.fullmatch(name):
            return read_age_range(float(name), float(name))._replace(rules=("strict",))
    if name in _LABELS[attribute]:
        return read(TokenizedText(name), _FIELD)._replace(rules=("strict",), words=())
    return unknown(Reason.NOT_UNDERSTOOD if text.text else Reason.EMPTY, "strict")
