"""The normaliser: any answer in, one label per attribute out, with the rules that decided.

The version goes into every result. It changes whenever any answer could be read
differently than before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Final

from evenhand.benchmarks.fairface.normalise.age import read_age, read_age_number, read_age_range
from evenhand.benchmarks.fairface.normalise.gender import read_gender
from evenhand.benchmarks.fairface.normalise.race import read_race
from evenhand.benchmarks.fairface.normalise.readings import (
    AgeReading,
    Answer,
    GenderReading,
    Mode,
    RaceReading,
    Reason,
    no_age,
    no_gender,
    no_race,
    nothing,
)
from evenhand.benchmarks.fairface.normalise.spoken import Spoken
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
from evenhand.benchmarks.fairface.normalise.text import Passage, final_answer, labelled_values, prepare

NORMALISER_VERSION: Final = "1"
_DEEPEST_VALUE: Final = 4
_SHORT: Final = 64  # a value this long is likely to come again, and is then not read anew
_REMEMBERED: Final = 4096


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

    def answer(self, raw: Any) -> Answer:
        """All three attributes of a free answer: text, or an object that is already parsed."""
        if raw is None:
            return nothing(Reason.EMPTY)
        if not isinstance(raw, str):
            parsed = fields_of(raw)
            return self.fields(parsed) if parsed else nothing(Reason.NOT_UNDERSTOOD)
        found = find_fields(raw)
        return self.prose(raw) if found is None else self.fields(found)

    def prose(self, raw: str) -> Answer:
        """All three attributes of a text that has no object with a known key (S6)."""
        passage = final_answer(prepare(without_confidences(raw)))
        values = labelled_values(passage.text)
        spoken = Spoken(passage.text)
        return Answer(
            self._gender(*_choose(passage, values, "gender", Mode.PROSE), spoken),
            self._race(*_choose(passage, values, "race", Mode.PROSE), spoken),
            self._age(*_choose(passage, values, "age", Mode.PROSE), spoken),
        )

    def gender(self, raw: Any, mode: Mode = Mode.FIELD) -> GenderReading:
        """The gender that a value known to be about gender, or a prose text, states."""
        found = self._scalar(raw)
        if isinstance(found, Reason):
            return no_gender(found, "S5")
        return self._gender(*_locate(found, "gender", mode))

    def race(self, raw: Any, mode: Mode = Mode.FIELD) -> RaceReading:
        """The race that a value known to be about race, or a prose text, states."""
        found = self._scalar(raw)
        if isinstance(found, Reason):
            return no_race(found, "S5")
        return self._race(*_locate(found, "race", mode))

    def age(self, raw: Any, mode: Mode = Mode.FIELD) -> AgeReading:
        """The age that a value known to be about age, or a prose text, states."""
        number = None if isinstance(raw, str) else _number(raw)
        if number is not None:
            return read_age_number(number)
        if (ends := _range(raw)) is not None:
            return read_age_range(*ends)
        found = self._scalar(raw, for_age=True)
        if isinstance(found, AgeReading):
            return found
        if isinstance(found, Reason):
            return no_age(found, "S5")
        return self._age(*_locate(found, "age", mode))

    def fields(self, fields: Fields) -> Answer:
        """All three attributes of a recognised object; an absent key is unknown (S6)."""
        return Answer(
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

    def _gender(self, passage: Passage, mode: Mode, whole: Spoken | None = None) -> GenderReading:
        spoken = _spoken(passage, whole)
        return _short_gender(self, passage) if spoken is None else self._read_gender(passage, spoken)

    def _race(self, passage: Passage, mode: Mode, whole: Spoken | None = None) -> RaceReading:
        spoken = _spoken(passage, whole)
        return _short_race(self, passage, mode) if spoken is None else self._read_race(passage, mode, spoken)

    def _age(self, passage: Passage, mode: Mode, whole: Spoken | None = None) -> AgeReading:
        spoken = _spoken(passage, whole)
        return _short_age(self, passage, mode) if spoken is None else self._read_age(passage, mode, spoken)

    def _read_gender(self, passage: Passage, spoken: Spoken) -> GenderReading:
        found = strict_gender(passage.text) if self.strict else read_gender(passage.text, spoken)
        return found._replace(rules=passage.rules + found.rules) if passage.rules else found

    def _read_race(self, passage: Passage, mode: Mode, spoken: Spoken) -> RaceReading:
        if self.strict:
            found = strict_race(passage.text)
        else:
            found = read_race(passage.text, mode, spoken, first_of_several=self.first_of_several)
        return found._replace(rules=passage.rules + found.rules) if passage.rules else found

    def _read_age(self, passage: Passage, mode: Mode, spoken: Spoken) -> AgeReading:
        if self.strict:
            found = strict_age(passage.text)
        else:
            found = read_age(passage.text, mode, spoken, age_words=self.age_words)
        return found._replace(rules=passage.rules + found.rules) if passage.rules else found


@lru_cache(_REMEMBERED)
def _short_gender(reader: Normaliser, passage: Passage) -> GenderReading:
    return reader._read_gender(passage, Spoken(passage.text))


@lru_cache(_REMEMBERED)
def _short_race(reader: Normaliser, passage: Passage, mode: Mode) -> RaceReading:
    return reader._read_race(passage, mode, Spoken(passage.text))


@lru_cache(_REMEMBERED)
def _short_age(reader: Normaliser, passage: Passage, mode: Mode) -> AgeReading:
    return reader._read_age(passage, mode, Spoken(passage.text))


def _spoken(passage: Passage, whole: Spoken | None) -> Spoken | None:
    """The words of a passage, or None when it is short enough to be remembered."""
    if whole is not None and "P8" not in passage.rules:
        return whole
    return None if len(passage.text) <= _SHORT else Spoken(passage.text)


def _locate(raw: str, attribute: str, mode: Mode) -> tuple[Passage, Mode]:
    return _locate_short(raw, attribute, mode) if len(raw) <= _SHORT else _locate_any(raw, attribute, mode)


def _locate_any(raw: str, attribute: str, mode: Mode) -> tuple[Passage, Mode]:
    passage = final_answer(prepare(raw))
    return _choose(passage, labelled_values(passage.text), attribute, mode)


_locate_short = lru_cache(_REMEMBERED)(_locate_any)


def _choose(passage: Passage, values: Mapping[str, str], attribute: str, mode: Mode) -> tuple[Passage, Mode]:
    if attribute in values:
        return Passage(values[attribute], Mode.FIELD, (*passage.rules, "P8")), Mode.FIELD
    return passage, mode


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
