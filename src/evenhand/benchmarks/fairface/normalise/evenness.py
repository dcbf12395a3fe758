"""The reader tested as a measuring instrument: whichever group a sentence names, it is read or none is (rule E1).

Sentences with one place for a group are filled with every plain term of every class.
The share of them that is read, per class, must be the same for all classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table, words
from evenhand.benchmarks.fairface.normalise.normaliser import Normaliser
from evenhand.benchmarks.fairface.normalise.race_lexicon import PHRASES
from evenhand.benchmarks.fairface.taxonomy import COARSE_OF, RACES, AgeInterval

Read = Callable[[str], str]

_PATTERNS: Final = table("patterns.toml")
_NOT_PLAIN: Final = words(_PATTERNS["race"]["not_plain"])
_GENDERS: Final[Mapping[str, Mapping[str, Sequence[str]]]] = {
    f"{{{slot}}}": {label: phrases(text) for label, text in classes.items()}
    for slot, classes in _PATTERNS["gender"]["slots"].items()
}
_AGES: Final = {
    "{age}": {str(age): age for age in (21, 25, 34, 38, 47, 52, 59, 66, 71, 83)},
    "{decade}": {f"{decade}s": decade for decade in range(20, 90, 10)},
    "{range}": {f"{low}-{low + 9}": low for low in range(20, 90, 10)},
}


@dataclass(frozen=True)
class Evenness:
    """How many sentences were read as the class they name, per class, and which were read for some classes only."""

    sentences: Mapping[str, int]
    read: Mapping[str, int]
    uneven: tuple[tuple[str, tuple[str, ...]], ...]  # a pattern, and the terms that were not read as their class

    @property
    def coverage(self) -> dict[str, float]:
        """The share of the sentences that was read, per class."""
        return {name: self.read[name] / self.sentences[name] for name in self.sentences}

    @property
    def largest_difference(self) -> float:
        """The difference between the classes that are read most and least often."""
        shares = self.coverage.values()
        return max(shares) - min(shares)


def evenness(read: Read, patterns: Iterable[str], slots: Mapping[str, Mapping[str, Sequence[str]]]) -> Evenness:
    """How evenly a reader reads; `slots` are the places, each with the terms of each class.

    Any reader of free text can be tested with it: `read` gives the class of a sentence.

    >>> even = evenness(lambda text: "A" if "a" in text else "", ["x {c}", "{c}"], {"{c}": {"A": ["a"], "B": ["b"]}})
    >>> even.coverage, even.uneven
    ({'A': 1.0, 'B': 0.0}, (('x {c}', ('b',)), ('{c}', ('b',))))
    """
    sentences: dict[str, int] = {}
    understood: dict[str, int] = {}
    uneven: list[tuple[str, tuple[str, ...]]] = []
    for pattern in patterns:
        slot = next(name for name in slots if name in pattern)
        missed: list[str] = []
        terms = 0
        for label, listed in slots[slot].items():
            for word in listed:
                terms += 1
                is_read = read(_filled(pattern, slot, word)) == label
                sentences[label] = sentences.get(label, 0) + 1
                understood[label] = understood.get(label, 0) + is_read
                if not is_read:
                    missed.append(word)
        if missed and len(missed) < terms:
            uneven.append((pattern, tuple(missed)))
    return Evenness(sentences, understood, tuple(uneven))


def race_evenness(normaliser: Normaliser) -> Evenness:
    """How evenly the races are read."""
    return evenness(lambda text: normaliser.answer(text).race.label, race_patterns(), {"{race}": _race_terms()})


def gender_evenness(normaliser: Normaliser) -> Evenness:
    """How evenly the genders are read."""
    return evenness(lambda text: normaliser.answer(text).gender.label, _PATTERNS["gender"]["sentences"], _GENDERS)


def age_evenness(normaliser: Normaliser) -> Evenness:
    """How evenly ages of equal form are read: every age in a pattern must give the same interval around it."""
    read: dict[str, int] = {}
    sentences: dict[str, int] = {}
    uneven: list[tuple[str, tuple[str, ...]]] = []
    for pattern in _PATTERNS["age"]["sentences"]:
        slot = next(name for name in _AGES if name in pattern)
        intervals = {
            word: _around(normaliser.answer(_filled(pattern, slot, word)).age.interval, age)
            for word, age in _AGES[slot].items()
        }
        for word, interval in intervals.items():
            sentences[word] = sentences.get(word, 0) + 1
            read[word] = read.get(word, 0) + (interval is not None)
        if len(set(intervals.values())) > 1:
            uneven.append((pattern, tuple(word for word, interval in intervals.items() if interval is None)))
    return Evenness(sentences, read, tuple(uneven))


def race_patterns() -> Iterator[str]:
    """The sentences about a person's race: subjects with predicates, and others."""
    races = _PATTERNS["race"]
    yield from (f"{subject} {predicate}" for subject in races["subjects"] for predicate in races["predicates"])
    yield from races["sentences"]


def plain_terms() -> dict[str, int]:
    """How many terms of each race stand in the patterns."""
    return {label: len(terms) for label, terms in _race_terms().items()}


def _race_terms() -> dict[str, list[str]]:
    terms: dict[str, list[str]] = {name: [] for name in RACES}
    for label, texts in PHRASES.items():
        coarse = "Asian" if label == "Asian" else COARSE_OF.get(label)
        if coarse:
            terms[coarse].extend(text.title() for text in texts if text not in _NOT_PLAIN)
    return terms


def _filled(pattern: str, slot: str, word: str) -> str:
    """A pattern with its place filled, `a` written as `an` where it must be."""
    text = pattern.replace(slot, word)
    if word[:1].lower() in "aeiou":
        text = text.replace(f" a {word}", f" an {word}").replace(f"A {word}", f"An {word}")
    return text


def _around(interval: AgeInterval | None, age: int) -> tuple[int | None, int | None] | None:
    """An interval relative to an age, its open ends as they are."""
    if interval is None:
        return None
    low = interval.low - age if interval.low else None
    return low, None if interval.high is None else interval.high - age
