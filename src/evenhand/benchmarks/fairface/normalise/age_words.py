"""Ages said in words: `toddler`, `middle-aged`, `elderly` (rule A8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table, words
from evenhand.benchmarks.fairface.normalise.race_lexicon import RACE_WORDS

_TABLE: Final = table("age.toml")
VAGUE: Final = words(_TABLE["vague"])

_YEARS: Final = frozenset({"year", "years", "yr", "yrs"})


class AgeWord(NamedTuple):
    """A phrase and the ages it stands for; no upper limit when `high` is None."""

    words: tuple[str, ...]
    low: int
    high: int | None


class FoundAge(NamedTuple):
    """An age word in a text, from position `start` up to and without `end`."""

    start: int
    end: int
    low: int
    high: int | None


def _by_first_word() -> Mapping[str, tuple[AgeWord, ...]]:
    grouped: dict[str, list[AgeWord]] = {}
    for entry in _TABLE["words"]:
        for text in phrases(entry["phrases"]):
            phrase = tuple(text.split())
            grouped.setdefault(phrase[0], []).append(AgeWord(phrase, entry["low"], entry.get("high")))
    return MappingProxyType(
        {word: tuple(sorted(entries, key=lambda entry: -len(entry.words))) for word, entries in grouped.items()}
    )


AGE_WORDS: Final = _by_first_word()  # first word → its phrases, longest first
FIRST_WORDS: Final = frozenset(AGE_WORDS)


def find_age_words(tokens: Sequence[str]) -> list[FoundAge]:
    """The age words of a text, longest first, hyphens ignored.

    >>> find_age_words("a pre - teen or young adult".split())
    [FoundAge(start=1, end=4, low=10, high=12), FoundAge(start=5, end=7, low=18, high=29)]
    >>> find_age_words("a baby - faced man".split())
    []
    """
    found: list[FoundAge] = []
    free = 0
    for position in [at for at, token in enumerate(tokens) if token in FIRST_WORDS]:
        if position < free:
            continue
        for entry in AGE_WORDS[tokens[position]]:
            end = _match(tokens, position, entry.words)
            if end and not _is_something_else(tokens, position, end):
                found.append(FoundAge(position, end, entry.low, entry.high))
                free = end
                break
    return found


def _match(tokens: Sequence[str], position: int, phrase: tuple[str, ...]) -> int:
    """The position after the phrase if it stands at `position`, else 0."""
    for word in phrase:
        if word is not phrase[0]:
            while position < len(tokens) and (tokens[position] == "-" or tokens[position] in RACE_WORDS):
                position += 1  # "a little Asian girl" is a little girl
        if position >= len(tokens) or tokens[position] != word:
            return 0
        position += 1
    return position


def _is_something_else(tokens: Sequence[str], start: int, end: int) -> bool:
    """A baby face is no baby, and a 30-year-old man is no old man."""
    if tokens[start] in ("baby", "child"):
        return next(_words_from(tokens, end), "") in ("face", "faced", "like")
    if tokens[start] == "old":
        before = start - 1
        if before >= 0 and tokens[before] == "-":
            before -= 1
        return before >= 0 and tokens[before] in _YEARS
    return False


def _words_from(tokens: Sequence[str], position: int) -> Iterator[str]:
    for token in tokens[position : position + 2]:
        if token != "-":
            yield token
