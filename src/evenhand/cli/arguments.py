"""What people type: systems, options, groups, engines; turned into what the verbs take."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from evenhand.core.errors import OptionError
from evenhand.core.records import Group


def system(text: str) -> tuple[str, Path]:
    """A system's name and file: `NAME=FILE`; without a name it is empty, and the file tells it.

    >>> system("mine=a/b.txt"), system("a/b.txt")
    (('mine', PosixPath('a/b.txt')), ('', PosixPath('a/b.txt')))
    """
    match = re.fullmatch(r"([A-Za-z0-9_.+@ -]+)=(.+)", text)
    if match is not None and not Path(text).exists():
        return match[1], Path(match[2])
    return "", Path(text)


def with_options(systems: Sequence[str], options: Sequence[str]) -> tuple[list[str], list[str]]:
    """Systems, and what stands among them but is an option: `--set truth=y prediction=p` sets both.

    >>> with_options(["v1=a.csv", "prediction=p"], ["truth", "prediction"])
    (['v1=a.csv'], ['prediction=p'])
    """
    kept: list[str] = []
    further: list[str] = []
    for text in systems:
        name, equals, value = text.partition("=")
        is_option = bool(equals) and name in options and not Path(text).exists() and not Path(value).is_file()
        (further if is_option else kept).append(text)
    return kept, further


def assignments(given: Iterable[str]) -> dict[str, str]:
    """Options from `key=value` texts.

    >>> assignments(["taxonomy=fine"])
    {'taxonomy': 'fine'}
    """
    options: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise OptionError(f"--set {text!r} is not an option: write key=value, such as taxonomy=fine.")
        if name in options:
            raise OptionError(f"--set gives {name!r} twice: {options[name]!r} and {value!r}.")
        options[name] = value
    return options


def names(text: str | None) -> tuple[str, ...] | None:
    """Names separated by commas; None when nothing was said, none for an empty text.

    >>> names("age, pronoun"), names(None), names("")
    (('age', 'pronoun'), None, ())
    """
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def group(terms: Sequence[str]) -> Group:
    """A group from `attribute=level` texts.

    >>> str(group(["age=70+"]))
    'age=70+'
    """
    pairs = []
    for text in terms:
        name, equals, level = text.partition("=")
        if not equals:
            raise OptionError(f"{text!r} is not a group: write attribute=level, such as age=70+.")
        pairs.append((name.strip(), level.strip()))
    return Group(tuple(pairs))
