"""The reader tested as a measuring instrument: whichever group a sentence names, it is read or none is (rule E1).

Sentences with one place for a group are filled with every plain term of every class.
The share of them that is read, per class, must be the same for all classes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table, words
from evenhand.benchmarks.fairface.normalise.normaliser import Normaliser
from evenhand.benchmarks.fairface.normalise.race_lexicon import PHRASES
from evenhand.benchmarks.fairface.taxonomy import COARSE_OF, RACES, AgeInterval

Slots = Mapping[str, Mapping[str, Sequence[str]]]  # a place in a sentence → class → its terms

_PATTERNS: Final = table("patterns.toml")
_NOT_PLAIN: Final = words(_PATTERNS["race"]["not_plain"])
_GENDERS: Final[Slots] = {
    f"{{{slot}}}": {label: phrases(text) for label, text in classes.items()}
    for slot, classes in _PATTERNS["gender"]["slots"].items()
}
_AGES: Final[Slots] = {  # each a class of its own, which begins with the age
    "{age}": {str(age): [str(age)] for age in (21, 25, 34, 38, 47, 52, 59, 66, 71, 83)},
    "{decade}": {f"{decade}s": [f"{decade}s"] for decade in range(20, 90, 10)},
    "{range}": {f"{low}-{low + 9}": [f"{low}-{low + 9}"] for low in range(20, 90, 10)},
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


def evenness(read: Callable[[str, str], Any], patterns: Iterable[str], slots: Slots) -> Evenness:
    """How evenly a reader reads; `slots` are the places, each with the terms of each class.

    Any reader of free text can be tested with it: `read` gives what a sentence that names a class says of it, the same
    for all classes, or None when it was not read as that class.

    >>> read = lambda text, label: "a" in text or None
    >>> even = evenness(read, ["x {c}", "{c}"], {"{c}": {"A": ["a"], "B": ["b"]}})
    >>> even.coverage, even.uneven
    ({'A': 1.0, 'B': 0.0}, (('x {c}', ('b',)), ('{c}', ('b',))))
    """
    sentences: Counter[str] = Counter()
    understood: Counter[str] = Counter()
    uneven: list[tuple[str, tuple[str, ...]]] = []
    for pattern in patterns:
        slot = next(name for name in slots if name in pattern)
        terms = [(label, word) for label, listed in slots[slot].items() for word in listed]
        readings = [read(_filled(pattern, slot, word), label) for label, word in terms]
        for (label, _), reading in zip(terms, readings, strict=True):
            sentences[label] += 1
            understood[label] += reading is not None
        if len(set(readings)) > 1:
            missed = (word for (_, word), reading in zip(terms, readings, strict=True) if reading is None)
            uneven.append((pattern, tuple(missed)))
    return Evenness(sentences, understood, tuple(uneven))


def attribute_evenness(attribute: str, normaliser: Normaliser) -> Evenness:
    """How evenly the classes of an attribute are read.

    Every age in a pattern must give the same interval around it.
    """

    def read(text: str, label: str) -> Any:
        answer = normaliser.answer(text)
        if attribute == "age":
            return _around(answer.age.interval, int(label[:2]))
        return answer.value(attribute) == label or None

    if attribute == "race":
        return evenness(read, race_patterns(), {"{race}": race_terms()})
    return evenness(read, _PATTERNS[attribute]["sentences"], _GENDERS if attribute == "gender" else _AGES)


def race_patterns() -> Iterator[str]:
    """The sentences about a person's race: subjects with predicates, and others."""
    races = _PATTERNS["race"]
    yield from (f"{subject} {predicate}" for subject in races["subjects"] for predicate in races["predicates"])
    yield from races["sentences"]


def race_terms() -> dict[str, list[str]]:
    """The plain terms of each race, which stand in the patterns."""
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
