"""Ages said in words: `toddler`, `middle-aged`, `elderly` (rule A8)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from evenhand.benchmarks.fairface.normalise.age_patterns import Candidate
from evenhand.benchmarks.fairface.normalise.lexicon import by_first_word, phrases, table, words
from evenhand.benchmarks.fairface.normalise.race_lexicon import RACE_WORDS
from evenhand.benchmarks.fairface.taxonomy import AgeKind

_TABLE: Final = table("age.toml")
VAGUE: Final = words(_TABLE["vague"])
SPANS: Final[dict[tuple[int, int | None], tuple[str, ...]]] = {  # low and high → the phrases that stand for them
    (entry["low"], entry.get("high")): phrases(entry["phrases"]) for entry in _TABLE["words"]
}
AGE_WORDS: Final = by_first_word({tuple(text.split()): span for span, texts in SPANS.items() for text in texts})
FIRST_WORDS: Final = frozenset(AGE_WORDS)
_YEARS: Final = ("year", "years", "yr", "yrs")


def find_age_words(tokens: Sequence[str]) -> list[Candidate]:
    """The age words of a text, longest first, hyphens ignored.

    >>> [age[:4] for age in find_age_words("a pre - teen or young adult".split())]
    [(1, 4, 10, 12), (5, 7, 18, 29)]
    >>> find_age_words("a baby - faced man".split())
    []
    """
    ages: list[Candidate] = []
    free = 0
    for position in [at for at, token in enumerate(tokens) if token in FIRST_WORDS]:
        if position < free:
            continue
        for phrase, (low, high) in AGE_WORDS[tokens[position]]:
            end = _match(tokens, position, phrase)
            if end and not _is_something_else(tokens, position, end):
                ages.append(Candidate(position, end, low, high, AgeKind.WORD, "A8"))
                free = end
                break
    return ages


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
        after = [token for token in tokens[end : end + 2] if token != "-"]
        return bool(after) and after[0] in ("face", "faced", "like")
    if tokens[start] == "old":
        before = [token for token in tokens[max(start - 2, 0) : start] if token != "-"]
        return bool(before) and before[-1] in _YEARS
    return False
