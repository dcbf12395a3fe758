"""Text of others (names, levels, answers, paths) as it may be printed: it moves no cursor and forges no line."""

from __future__ import annotations

import json
import re
import unicodedata

_JOINERS = "\N{ZERO WIDTH NON-JOINER}\N{ZERO WIDTH JOINER}"  # words of Persian and families of emoji need them


def printable(text: str, keep: str = "\n\t", instead: str = "�") -> str:
    """Text of others as it may be shown: control characters and marks that turn the writing direction become �.

    Spaces of all scripts and joiners of letters stay.

    >>> printable("red\\x1b[31m, turned\\u202e, kept\\n"), printable("one\\nline", keep="")
    ('red�[31m, turned�, kept\\n', 'one�line')
    """
    if text.isprintable():
        return text
    return "".join(char if char in keep or _is_harmless(char) else instead for char in text)


def printable_lines(text: str) -> str:
    """The same for a message, whose further lines are indented so that none passes for a line of ours.

    >>> print(printable_lines("no file 'a\\x1b[31m\\nerror: b'"))
    no file 'a�[31m
        error: b'
    """
    return text if text.isprintable() else printable(text).replace("\n", "\n    ")


def json_escaped(text: str) -> str:
    """JSON in which every character that can't be shown is written as its escape, which means the same.

    >>> print(json_escaped('{"a": "turned\\u202e"}'))
    {"a": "turned\\u202e"}
    """
    if text.replace("\n", "").isprintable():
        return text
    return re.sub("[^\n -~]", lambda char: char[0] if _is_harmless(char[0]) else json.dumps(char[0])[1:-1], text)


def duration(seconds: float) -> str:
    """A time in the units that matter.

    >>> duration(3.2), duration(600), duration(5000), duration(90_000)
    ('3 s', '10 min', '1 h 23 min', '25 h')
    """
    if seconds < 120:
        return f"{seconds:.0f} s"
    hours, minutes = divmod(round(seconds / 60), 60)
    return " ".join([f"{hours} h"] * (hours > 0) + [f"{minutes} min"] * (minutes > 0))


def _is_harmless(char: str) -> bool:
    return char.isprintable() or char in _JOINERS or unicodedata.category(char) == "Zs"
