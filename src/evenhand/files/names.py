"""How names that were not found differ from those that are known: folder, case, extension, zeros."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from pathlib import PurePosixPath

_COMPARED = 100  # names that are looked at


def difference(names: Iterable[str], known: Iterable[str]) -> str:
    """How names differ from known ones, in a sentence; nothing where that can't be seen.

    A difference is named when most of the first names have a partner without it, and no two of the known ones become
    the same.

    >>> difference(["A1.JPG", "A2.JPG"], ["a1.jpg", "a2.jpg"])
    'They differ in upper and lower case: write a1.jpg, not A1.JPG.'
    >>> difference(["b1.jpg"], ["a1.jpg"])
    ''
    """
    there, compared = tuple(known), tuple(islice(names, _COMPARED))
    for what, form in _FORMS.items():
        by_form = {form(name): name for name in there}
        alike = [(name, by_form[form(name)]) for name in compared if form(name) in by_form]
        if len(by_form) == len(there) and 2 * len(alike) > len(compared):
            return f"They differ in {what}: write {alike[0][1]}, not {alike[0][0]}."
    return ""


def _base(name: str) -> str:
    return name.replace("\\", "/").rpartition("/")[2]


def _without_extension(name: str) -> str:
    return name.removesuffix(PurePosixPath(name).suffix)


def _unpadded(name: str) -> str:
    return re.sub(r"(?<!\d)0+(?=\d)", "", name)


_FORMS: Mapping[str, Callable[[str], str]] = {
    "their folder": _base,
    "upper and lower case": str.casefold,
    "their extension": _without_extension,
    "the zeros before their numbers": _unpadded,
    "their folder, extension, case or zeros": lambda name: _unpadded(_without_extension(_base(name)).casefold()),
}
