"""The normaliser: any answer in, one label per attribute out, with the rules that decided.

The version goes into every result. It changes whenever any answer could be read
differently than before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from evenhand.benchmarks.fairface.normalise.age import read_age, read_age_number, read_age_range
from evenhand.benchmarks.fairface.normalise.attribute_reader import AttributeReader
from evenhand.benchmarks.fairface.normalise.gender import read_gender
from evenhand.benchmarks.fairface.normalise.markup import plain_text, without_reasoning
from evenhand.benchmarks.fairface.normalise.race import read_race
from evenhand.benchmarks.fairface.normalise.readings import (
    AgeReading,
    FaceAnswer,
    GenderReading,
    Mode,
    RaceReading,
    Reason,
    no_age,
    no_gender,
    no_race,
    nothing,
)
from evenhand.benchmarks.fairface.normalise.strict import strict_age, strict_gender, strict_race
from evenhand.benchmarks.fairface.normalise.structured import (
    ABSENT,
    RANGE_KEYS,
    VALUE_KEYS,
    Fields,
    as_number,
    best_scored,
    fields_of,
    find_fields,
    letters_only,
    without_confidences,
)
from evenhand.benchmarks.fairface.normalise.text import final_answer, labelled_values, prepare, without_questions
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText

NORMALISER_VERSION: Final = "3"
_DEEPEST_VALUE: Final = 4
_PROSE: Final = Mode.PROSE
_FOREIGN: Final = Reason.LANGUAGE


@dataclass(frozen=True)
class Normaliser:
    """Reads answers by the protocol's rules.

    >>> Normaliser().answer("A young South Asian woman, approximately 25–30 years old.").race.label
    'Indian'
    >>> Normaliser(strict=True).gender("a woman").label
    'unknown'
    """

    first_of_several: bool = False  # option multi=first (R7)
    age_words: bool = True  # option age_words=off (A8)
    strict: bool = False  # option profile=strict

    _gender: AttributeReader[GenderReading] = field(init=False, repr=False, compare=False)
    _race: AttributeReader[RaceReading] = field(init=False, repr=False, compare=False)
    _age: AttributeReader[AgeReading] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        read_full_race = partial(read_race, first_of_several=self.first_of_several)
        read_full_age = partial(read_age, age_words=self.age_words)
        # A frozen object's own way to set what follows from its options.
        object.__setattr__(self, "_gender", AttributeReader("gender", _strict_gender if self.strict else _full_gender))
        object.__setattr__(self, "_race", AttributeReader("race", _strict_race if self.strict else read_full_race))
        object.__setattr__(self, "_age", AttributeReader("age", _strict_age if self.strict else read_full_age))

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
        text = passage.text
        labelled = labelled_values(text)
        tokenized = TokenizedText(text) if len(labelled) < len(FaceAnswer._fields) else None  # no text is left to read
        if labelled or passage.rules or tokenized is None:
            gender = self._gender.within(passage, labelled, tokenized, _PROSE)
            race = self._race.within(passage, labelled, tokenized, _PROSE)
            age = self._age.within(passage, labelled, tokenized, _PROSE)
        else:  # the same in fewer steps
            gender = self._gender.read(text, _PROSE, tokenized)
            race = self._race.read(text, _PROSE, tokenized)
            age = self._age.read(text, _PROSE, tokenized)
        answer = FaceAnswer(gender, race, age)
        if gender.reason is _FOREIGN or race.reason is _FOREIGN or age.reason is _FOREIGN:
            return _in_some_language(answer)
        return answer

    def gender(self, raw: Any, mode: Mode = Mode.FIELD) -> GenderReading:
        """The gender that a value known to be about gender, or a prose text, states."""
        if not isinstance(raw, str):
            raw = self._scalar(raw)
            if isinstance(raw, Reason):
                return no_gender(raw, "S5")
        return self._gender.of(raw, mode)

    def race(self, raw: Any, mode: Mode = Mode.FIELD) -> RaceReading:
        """The race that a value known to be about race, or a prose text, states."""
        if not isinstance(raw, str):
            raw = self._scalar(raw)
            if isinstance(raw, Reason):
                return no_race(raw, "S5")
        return self._race.of(raw, mode)

    def age(self, raw: Any, mode: Mode = Mode.FIELD) -> AgeReading:
        """The age that a value known to be about age, or a prose text, states."""
        if isinstance(raw, str):
            return self._age.of(raw, mode)
        if (number := _number(raw)) is not None:
            return read_age_number(number)
        if (ends := _range(raw)) is not None:
            return read_age_range(*ends)
        found = self._scalar(raw, for_age=True)
        if isinstance(found, AgeReading):
            return found
        if isinstance(found, Reason):
            return no_age(found, "S5")
        return self._age.of(found, mode)

    def fields(self, fields: Fields) -> FaceAnswer:
        """All three attributes of a recognised object; an absent key is unknown (S6)."""
        return FaceAnswer(
            no_gender(Reason.EMPTY, "S6") if fields.gender is ABSENT else self.gender(fields.gender),
            no_race(Reason.EMPTY, "S6") if fields.race is ABSENT else self.race(fields.race),
            no_age(Reason.EMPTY, "S6") if fields.age is ABSENT else self.age(fields.age),
        )

    def _scalar(self, raw: Any, *, for_age: bool = False, depth: int = 0) -> Any:
        """The text a value stands for (S5), or the reason why it stands for none."""
        if isinstance(raw, str):
            return raw
        if raw is None or raw == [] or raw == {}:
            return Reason.EMPTY
        if isinstance(raw, bool) or depth > _DEEPEST_VALUE:
            return Reason.NOT_UNDERSTOOD
        if for_age and depth and ((number := _number(raw)) is not None):
            return read_age_number(number)
        if for_age and depth and ((ends := _range(raw)) is not None):
            return read_age_range(*ends)
        if isinstance(raw, list):
            if len(raw) == 1:
                return self._scalar(raw[0], for_age=for_age, depth=depth + 1)
            if all(isinstance(element, str) for element in raw):
                return " / ".join(raw)
        elif isinstance(raw, Mapping):
            keys = {letters_only(str(key)): value for key, value in raw.items()}
            for name in VALUE_KEYS:
                if name in keys:
                    return self._scalar(keys[name], for_age=for_age, depth=depth + 1)
            best = best_scored({str(key): value for key, value in raw.items()})
            return Reason.SEVERAL if best is None and _all_scores(raw) else best or Reason.NOT_UNDERSTOOD
        return Reason.NOT_UNDERSTOOD


def _in_some_language(answer: FaceAnswer) -> FaceAnswer:
    """An answer in which something was read is no answer in another language (L1)."""
    if all(reading.reason is not None for reading in answer):
        return answer
    gender, race, age = answer
    return FaceAnswer(
        gender._replace(reason=Reason.NOT_UNDERSTOOD) if gender.reason is Reason.LANGUAGE else gender,
        race._replace(reason=Reason.NOT_UNDERSTOOD) if race.reason is Reason.LANGUAGE else race,
        age._replace(reason=Reason.NOT_UNDERSTOOD) if age.reason is Reason.LANGUAGE else age,
    )


def _full_gender(text: str, mode: Mode, tokenized: TokenizedText) -> GenderReading:
    return read_gender(text, tokenized)


def _strict_gender(text: str, mode: Mode, tokenized: TokenizedText) -> GenderReading:
    return strict_gender(text)


def _strict_race(text: str, mode: Mode, tokenized: TokenizedText) -> RaceReading:
    return strict_race(text)


def _strict_age(text: str, mode: Mode, tokenized: TokenizedText) -> AgeReading:
    return strict_age(text)


def _number(raw: Any) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    try:
        return float(raw)
    except OverflowError:
        return float("inf")


def _range(raw: Any) -> tuple[float, float | None] | None:
    """The two ends under an age key: a list of two numbers, or an object with `min` and `max` and the like."""
    if isinstance(raw, list) and len(raw) == 2:
        low, high = _number(raw[0]), _number(raw[1])
        return None if low is None or high is None else (low, high)
    if not isinstance(raw, Mapping):
        return None
    keys = {letters_only(str(key)): value for key, value in raw.items()}
    if any(name in keys for name in VALUE_KEYS):
        return None
    for lower, upper in RANGE_KEYS:
        if lower in keys and upper in keys:
            low, high = as_number(keys[lower]), as_number(keys[upper])
            if low is not None and (high is not None or keys[upper] is None):
                return low, high
    return None


def _all_scores(raw: Mapping[Any, Any]) -> bool:
    return all(as_number(value) is not None for value in raw.values())
