"""How one attribute of an answer is read: from the value that is labelled with its name, or from the whole text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, Generic, TypeVar

from evenhand.benchmarks.fairface.normalise.markup import plain_text, without_reasoning
from evenhand.benchmarks.fairface.normalise.readings import AgeReading, GenderReading, Mode, RaceReading
from evenhand.benchmarks.fairface.normalise.text import (
    Passage,
    final_answer,
    labelled_values,
    prepare,
    without_questions,
)
from evenhand.benchmarks.fairface.normalise.text_cache import TextCache
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText

AnyReading = TypeVar("AnyReading", GenderReading, RaceReading, AgeReading)


_FIELD: Final = Mode.FIELD


class AttributeReader(Generic[AnyReading]):
    """One attribute by its label's name, and the rules that read it in a prepared text.

    >>> from evenhand.benchmarks.fairface.normalise.gender import read_gender
    >>> gender = AttributeReader("gender", lambda text, mode, tokenized: read_gender(text, tokenized))
    >>> gender.of("Age: 30\\nGender: M", Mode.FIELD).rules
    ('P8', 'G1')
    """

    def __init__(self, name: str, read: Callable[[str, Mode, TokenizedText], AnyReading]) -> None:
        self.name = name
        self.read: Callable[[str, Mode, TokenizedText], AnyReading] = read
        self._of_fields: TextCache[AnyReading] = TextCache(self._of_field)
        self._of_labelled: TextCache[AnyReading] = TextCache(self._of_labelled_value)

    def of(self, raw: str, mode: Mode) -> AnyReading:
        """What a raw text says of the attribute."""
        return self._of_fields[raw] if mode is _FIELD else self._of_raw(raw, mode)

    def within(
        self, passage: Passage, labelled: Mapping[str, str], tokenized: TokenizedText | None, mode: Mode
    ) -> AnyReading:
        """What a prepared text says of the attribute; a value labelled with its name decides alone (P8)."""
        value = labelled.get(self.name)
        if value is not None:
            found = self._of_labelled[value]
        else:
            found = self.read(passage.text, mode, tokenized or TokenizedText(passage.text))
        return found._replace(rules=passage.rules + found.rules) if passage.rules else found

    def _of_field(self, raw: str) -> AnyReading:
        return self._of_raw(raw, Mode.FIELD)

    def _of_raw(self, raw: str, mode: Mode) -> AnyReading:
        text = prepare(plain_text(without_reasoning(raw) or ""))
        passage = final_answer(without_questions(text) if mode is Mode.PROSE else text)
        return self.within(passage, labelled_values(passage.text), None, mode)

    def _of_labelled_value(self, value: str) -> AnyReading:
        found: AnyReading = self.read(value, Mode.FIELD, TokenizedText(value))
        return found._replace(rules=("P8", *found.rules))
