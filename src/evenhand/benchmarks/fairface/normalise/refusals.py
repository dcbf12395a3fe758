"""Whether a text without any usable term declines to answer, and if not, what it is.

Only the reason code depends on this, never a label.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table, words
from evenhand.benchmarks.fairface.normalise.readings import Reason

_TABLE: Final = table("refusals.toml")
_DECLINING: Final = phrases(_TABLE["declining"])
_NAMING_OTHERS: Final = phrases(_TABLE["naming_others"])


def _first_letters(texts: Sequence[str]) -> frozenset[str]:
    """The letters that each phrase begins with, up to its first sign or space."""
    return frozenset(re.split(r"[^a-z]", text)[0] for text in texts)


def _any_of(texts: Sequence[str]) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(texts)})\b")


_ENGLISH, *_OTHERS = [words(text) for text in table("languages.toml").values()]
_LANGUAGES: Final = [function_words - _ENGLISH for function_words in _OTHERS]
_FOREIGN_WORDS: Final = frozenset().union(*_LANGUAGES)
_LAST_LATIN: Final = "\u024f"
_DECLINES: Final = _any_of(_DECLINING)
_OTHER: Final = _any_of(_NAMING_OTHERS)
_BEGINNINGS: Final = _first_letters(_DECLINING + _NAMING_OTHERS)


def why_nothing(text: str, tokens: Sequence[str]) -> Reason:
    """The reason code of a prepared text, with its words, in which no term was found.

    >>> why_nothing("i'm sorry", ["i'm", "sorry"]).value, why_nothing("42 bananas", ["42", "bananas"]).value
    ('refusal', 'not understood')
    """
    if not text:
        return Reason.EMPTY
    if is_foreign(text, tokens):
        return Reason.LANGUAGE
    if not _may_begin(text, tokens):
        return Reason.NOT_UNDERSTOOD
    if _DECLINES.search(text):
        return Reason.REFUSAL
    if _OTHER.search(text):
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
