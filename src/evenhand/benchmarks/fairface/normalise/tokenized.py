"""The words of a text with what several readers ask of them, found once and only when asked for.

Which words are negated; and where a reader finds no term, whether the text declines to answer or what else it is. Only
the reason code depends on the latter, never a label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table
from evenhand.benchmarks.fairface.normalise.lexicon import words as word_set
from evenhand.benchmarks.fairface.normalise.negation import negation
from evenhand.benchmarks.fairface.normalise.readings import Reason
from evenhand.benchmarks.fairface.normalise.text import words

_TABLE: Final = table("refusals.toml")
_DECLINING: Final = phrases(_TABLE["declining"])
_NAMING_OTHERS: Final = phrases(_TABLE["naming_others"])
_ENGLISH, *_OTHERS = [word_set(text) for text in table("languages.toml").values()]
_LANGUAGES: Final = [function_words - _ENGLISH for function_words in _OTHERS]
_FOREIGN_WORDS: Final = frozenset().union(*_LANGUAGES)
_LAST_LATIN: Final = "\u024f"
_DECLINES: Final = re.compile(rf"\b(?:{'|'.join(_DECLINING)})\b")
_NAMES_OTHERS: Final = re.compile(rf"\b(?:{'|'.join(_NAMING_OTHERS)})\b")
# The letters that each phrase begins with, up to its first sign or space.
_BEGINNINGS: Final = frozenset(re.split(r"[^a-z]", phrase)[0] for phrase in _DECLINING + _NAMING_OTHERS)


class TokenizedText:
    """The words of a prepared text, and which of them are negated.

    >>> tokenized = TokenizedText("not middle-aged but young")
    >>> tokenized.tokens, list(tokenized.marks)
    (['not', 'middle', '-', 'aged', 'but', 'young'], [0, 1, 1, 1, 0, 0])
    """

    __slots__ = ("_marks", "_reason", "text", "tokens")

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = words(text)  # and signs, in their order
        self._marks: bytearray | None = None
        self._reason: Reason | None = None

    @property
    def marks(self) -> bytearray:
        """One mark per word, as `negation` sets them."""
        if self._marks is None:
            self._marks = negation(self.tokens, self.text)
        return self._marks

    @property
    def why_nothing(self) -> Reason:
        """The reason code of the text where a reader finds no term in it.

        >>> [TokenizedText(text).why_nothing.value for text in ("", "i'm sorry", "42 bananas")]
        ['empty', 'refusal', 'not understood']
        """
        if self._reason is None:
            self._reason = self._why_nothing()
        return self._reason

    def _why_nothing(self) -> Reason:
        if not self.text:
            return Reason.EMPTY
        if is_foreign(self.text, self.tokens):
            return Reason.LANGUAGE
        if _may_begin(self.text, self.tokens):
            if _DECLINES.search(self.text):
                return Reason.REFUSAL
            if _NAMES_OTHERS.search(self.text):
                return Reason.OUTSIDE
        return Reason.NOT_UNDERSTOOD


def is_foreign(text: str, tokens: Sequence[str]) -> bool:
    """Whether a text is not English: its script is not Latin, or its function words are another language's (L1).

    >>> is_foreign("una mujer de unos treinta anos", "una mujer de unos treinta anos".split())
    True
    """
    if not text.isascii():
        letters = [sign for sign in text if sign.isalpha()]
        if sum(sign > _LAST_LATIN for sign in letters) > len(letters) / 2:
            return True
    if _FOREIGN_WORDS.isdisjoint(tokens):
        return False
    used = _FOREIGN_WORDS.intersection(tokens)
    if len(used) < 2:
        return False
    english = len(_ENGLISH.intersection(tokens))
    return any(len(used & function_words) > max(english, 1) for function_words in _LANGUAGES)


def _may_begin(text: str, tokens: Sequence[str]) -> bool:
    """Whether any phrase can stand in the text: False is certain, True is not.

    A phrase stands at a word's beginning and its first letters end where no letter
    follows, so they are a whole word, or a part of one between apostrophes.
    """
    if not _BEGINNINGS.isdisjoint(tokens):
        return True
    return "'" in text and any(not _BEGINNINGS.isdisjoint(token.split("'")) for token in tokens if "'" in token)
