"""The word lists of the normaliser, read from the data files in `fairface/lexicon`.

A list is written as text with commas, so that people can read and check it; each file
names its sources.
"""

from __future__ import annotations

import csv
import tomllib
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

_FOLDER = files("evenhand.benchmarks.fairface").joinpath("lexicon")


def table(name: str) -> dict[str, Any]:
    """A file of word lists.

    >>> table("gender.toml")["third"]["pairs"]
    'non binary, gender queer, gender fluid'
    """
    return tomllib.loads(_FOLDER.joinpath(name).read_text(encoding="utf-8"))


def phrases(text: str) -> tuple[str, ...]:
    """The phrases of a list with commas, each with single blanks.

    >>> phrases("east asian,\\n  han")
    ('east asian', 'han')
    """
    return tuple(" ".join(phrase.split()) for phrase in text.split(",") if phrase.strip())


def words(text: str) -> frozenset[str]:
    """The same as a set."""
    return frozenset(phrases(text))


def vocabulary(name: str) -> frozenset[str]:
    """The words of a plain list, without its comments."""
    lines = _FOLDER.joinpath(name).read_text(encoding="utf-8").splitlines()
    return frozenset(word for line in lines if not line.startswith("#") for word in line.split())


def demonyms() -> Iterator[tuple[str, str, str]]:
    """The countries by code, their adjectives, and what each stands for."""
    lines = _FOLDER.joinpath("demonyms.csv").read_text(encoding="utf-8").splitlines()
    for row in csv.DictReader(line for line in lines if not line.startswith("#")):
        yield row["country"], row["adjective"], row["stands_for"]
