"""Ages said in words: `toddler`, `middle-aged`, `elderly` (rule A8)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.wording import listed

_CHILDREN: Final = ("child", "kid", "girl", "boy")

_WORDS: Final[tuple[tuple[str, int, int | None], ...]] = (
    ("newborn, newborns, neonate, neonates, infant, infants, baby, babies", 0, 2),
    ("toddler, toddlers", 1, 3),
    ("preschooler, preschoolers, pre schooler, pre schoolers, preschool age, preschool aged", 3, 5),
    ("pre school age, pre school aged", 3, 5),
    (", ".join(f"{size} {child}" for size in ("young", "small", "little") for child in _CHILDREN), 3, 9),
    ("young children, small children, little children, little kids, little girls, little boys", 3, 9),
    ("child, children, kid, kids, schoolboy, schoolgirl, schoolchild, school age, school aged", 3, 12),
    ("preteen, pre teen, tween, preteens, pre teens, tweens", 10, 12),
    ("teen, teenager, teenagers, teenage, teenaged, adolescent, adolescents", 13, 19),
    ("young adult, young adults", 18, 29),
    ("middle aged, middle age", 40, 59),
    ("elderly, senior, seniors, senior citizen, senior citizens, old man, old woman, old lady, old person", 65, None),
    ("old gentleman, older adult, older adults, geriatric", 65, None),
    ("sexagenarian", 60, 69),
    ("septuagenarian", 70, 79),
    ("octogenarian", 80, 89),
    ("nonagenarian", 90, 99),
    ("centenarian", 100, None),
)
VAGUE: Final = frozenset(listed("adult adults grown young youth old older mature minor"))

_YEARS: Final = frozenset({"year", "years", "yr", "yrs"})


class AgeWord(NamedTuple):
    """A phrase and the ages it stands for; no upper limit when `high` is None."""

    words: tuple[str, ...]
    low: int
    high: int | None


class Found(NamedTuple):
    """An age word in a text, from position `start` up to and without `end`."""

    start: int
    end: int
    low: int
    high: int | None


def _by_first_word() -> Mapping[str, tuple[AgeWord, ...]]:
    grouped: dict[str, list[AgeWord]] = {}
    for phrases, low, high in _WORDS:
        for phrase in phrases.split(", "):
            words = tuple(phrase.split())
            grouped.setdefault(words[0], []).append(AgeWord(words, low, high))
    return MappingProxyType(
        {word: tuple(sorted(entries, key=lambda entry: -len(entry.words))) for word, entries in grouped.items()}
    )


AGE_WORDS: Final = _by_first_word()  # first word → its phrases, longest first
FIRST_WORDS: Final = frozenset(AGE_WORDS)


def find_age_words(tokens: Sequence[str]) -> list[Found]:
    """The age words of a text, longest first, hyphens ignored.

    >>> find_age_words(listed("a pre - teen or young adult"))
    [Found(start=1, end=4, low=10, high=12), Found(start=5, end=7, low=18, high=29)]
    >>> find_age_words(listed("a baby - faced man"))
    []
    """
    found: list[Found] = []
    free = 0
    for position in [at for at, token in enumerate(tokens) if token in FIRST_WORDS]:
        if position < free:
            continue
        for entry in AGE_WORDS[tokens[position]]:
            end = _match(tokens, position, entry.words)
            if end and not _is_something_else(tokens, position, end):
                found.append(Found(position, end, entry.low, entry.high))
                free = end
                break
    return found


def _match(tokens: Sequence[str], position: int, phrase: tuple[str, ...]) -> int:
    """The position after the phrase if it stands at `position`, else 0."""
    for word in phrase:
        if position < len(tokens) and tokens[position] == "-" and word is not phrase[0]:
            position += 1
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
