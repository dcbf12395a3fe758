"""The words of a text with what several readers ask of them, found once."""

from __future__ import annotations

from evenhand.benchmarks.fairface.normalise.negation import negation
from evenhand.benchmarks.fairface.normalise.text import words


class Spoken:
    """The words of a prepared text, and which of them are negated.

    >>> spoken = Spoken("not middle-aged but young")
    >>> spoken.tokens, list(spoken.marks)
    (['not', 'middle', '-', 'aged', 'but', 'young'], [0, 1, 1, 1, 0, 0])
    >>> Spoken("middle-aged").unhyphenated.tokens
    ['middle', 'aged']
    """

    def __init__(self, text: str, tokens: list[str] | None = None) -> None:
        self.text = text
        self.tokens = words(text) if tokens is None else tokens
        self._marks: bytearray | None = None

    @property
    def marks(self) -> bytearray:
        """One mark per word, as `negation` sets them."""
        if self._marks is None:
            self._marks = negation(self.tokens)
        return self._marks

    @property
    def unhyphenated(self) -> Spoken:
        """The same words without the hyphens between them."""
        return Spoken(self.text, [token for token in self.tokens if token != "-"]) if "-" in self.tokens else self

    def marks_of(self, tokens: list[str]) -> bytearray:
        """The marks of other words made of the same text; these are often equal to ours."""
        return self.marks if tokens == self.tokens else negation(tokens)
