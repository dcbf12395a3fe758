"""How one attribute of an answer is read: from the value that is labelled with its name, or from the whole text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Generic, TypeVar

from evenhand.benchmarks.fairface.normalise.memory import Memory
from evenhand.benchmarks.fairface.normalise.readings import AgeReading, GenderReading, Mode, RaceReading
from evenhand.benchmarks.fairface.normalise.spoken import Spoken
from evenhand.benchmarks.fairface.normalise.text import Passage, final_answer, labelled_values, prepare

Reading = TypeVar("Reading", GenderReading, RaceReading, AgeReading)


class Attribute(Generic[Reading]):
    """One attribute by its label's name, and the rules that read it in a prepared text.

    >>> from evenhand.benchmarks.fairface.normalise.gender import read_gender
    >>> gender = Attribute("gender", lambda text, mode, spoken: read_gender(text, spoken))
    >>> gender.of("Age: 30\\nGender: M", Mode.FIELD).rules
    ('P8', 'G1')
    """

    def __init__(self, name: str, read: Callable[[str, Mode, Spoken], Reading]) -> None:
        self.name = name
        self.read: Callable[[str, Mode, Spoken], Reading] = read
        self._of_fields: Memory[Reading] = Memory(self._of_field)
        self._of_labelled: Memory[Reading] = Memory(self._of_labelled_value)

    def of(self, raw: str, mode: Mode) -> Reading:
        """What a raw text says of the attribute."""
        return self._of_fields[raw] if mode is Mode.FIELD else self._of_raw(raw, mode)

    def within(self, passage: Passage, labelled: Mapping[str, str], spoken: Spoken, mode: Mode) -> Reading:
        """What a prepared text says of the attribute; a value labelled with its name decides alone (P8)."""
        value = labelled.get(self.name)
        found = self.read(passage.text, mode, spoken) if value is None else self._of_labelled[value]
        return found._replace(rules=passage.rules + found.rules) if passage.rules else found

    def _of_field(self, raw: str) -> Reading:
        return self._of_raw(raw, Mode.FIELD)

    def _of_raw(self, raw: str, mode: Mode) -> Reading:
        passage = final_answer(prepare(raw))
        return self.within(passage, labelled_values(passage.text), Spoken(passage.text), mode)

    def _of_labelled_value(self, value: str) -> Reading:
        found: Reading = self.read(value, Mode.FIELD, Spoken(value))
        return found._replace(rules=("P8", *found.rules))
