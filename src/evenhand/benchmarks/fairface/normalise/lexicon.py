"""The word lists of the normaliser, read from the data files in `fairface/lexicon`.

A list is written as text with commas, so that people can read and check it; each file
names its sources.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from importlib.resources import files
from types import MappingProxyType
from typing import Any, Generic, NamedTuple, TypeVar

from evenhand.files.packaged import packaged_table

Meaning = TypeVar("Meaning")

_FOLDER = files("evenhand.benchmarks.fairface").joinpath("lexicon")


class Phrase(NamedTuple, Generic[Meaning]):
    """A phrase of a lexicon as words, and what it stands for."""

    words: tuple[str, ...]
    meaning: Meaning


def table(name: str) -> dict[str, Any]:
    """A file of word lists."""
    lists: dict[str, Any] = packaged_table("evenhand.benchmarks.fairface", f"lexicon/{name}")
    return lists


def phrases(text: str) -> tuple[str, ...]:
    """The phrases of a list with commas, each with single blanks.

    >>> phrases("east asian,\\n  han")
    ('east asian', 'han')
    """
    return tuple(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip())


def words(text: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(phrases(text))


def pairs(text: str) -> frozenset[tuple[str, ...]]:
    """The phrases of a list with commas, each as its words.

    >>> pairs("rather than")
    frozenset({('rather', 'than')})
    """
    return frozenset(tuple(phrase.split()) for phrase in phrases(text))


def by_first_word(meanings: Mapping[tuple[str, ...], Meaning]) -> Mapping[str, tuple[Phrase[Meaning], ...]]:
    """The phrases with their meanings by their first word, the longest first."""
    grouped: dict[str, list[Phrase[Meaning]]] = {}
    for phrase in sorted(meanings, key=len, reverse=True):
        grouped.setdefault(phrase[0], []).append(Phrase(phrase, meanings[phrase]))
    return MappingProxyType({word: tuple(entries) for word, entries in grouped.items()})


def vocabulary(name: str) -> frozenset[str]:
    """The words of a plain list, without its comments."""
    lines = _FOLDER.joinpath(name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def demonyms() -> Iterator[tuple[str, str, str]]:
    """The countries by code, their adjectives, and what each stands for."""
    lines = _FOLDER.joinpath("demonyms.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        yield row["country"], row["adjective"], row["stands_for"]
