"""The words of a text with what several readers ask of them, found once and only when asked for."""

from __future__ import annotations

from collections.abc import Sequence

from evenhand.benchmarks.fairface.normalise.negation import may_negate, negation, without
from evenhand.benchmarks.fairface.normalise.readings import Reason
from evenhand.benchmarks.fairface.normalise.refusals import why_nothing
from evenhand.benchmarks.fairface.normalise.text import words


class TokenizedText:
    """The words of a prepared text, and which of them are negated.

    >>> tokenized = TokenizedText("not middle-aged but young")
    >>> tokenized.tokens, list(tokenized.marks)
    (['not', 'middle', '-', 'aged', 'but', 'young'], [0, 1, 1, 1, 0, 0])
    >>> list(tokenized.marks_without([2]))
    [0, 1, 1, 0, 0]
    """

    __slots__ = ("_marks", "_may_negate", "_reason", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[str] = words(text)  # and signs, in their order
        self._may_negate = True
        self._marks: bytearray | None = None
        self._reason: Reason | None = None

    @property
    def marks(self) -> bytearray:
        """One mark per word, as `negation` sets them."""
        if self._marks is None:
            tokens = self.tokens
            self._may_negate = may_negate(self.text, tokens)
            self._marks = negation(tokens, self.text) if self._may_negate else bytearray(len(tokens))
        return self._marks

    @property
    def why_nothing(self) -> Reason:
        """The reason code of the text where a reader finds no term in it."""
        if self._reason is None:
            self._reason = why_nothing(self.text, self.tokens)
        return self._reason

    def marks_without(self, removed: Sequence[int]) -> bytearray:
        """The marks of the words that stay when those at some positions, in order, are taken out."""
        marks = self.marks
        if not removed:
            return marks
        return without(self.tokens, marks, removed) if self._may_negate else marks[len(removed) :]
