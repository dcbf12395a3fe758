"""JSON as models write it: trailing commas, single quotes, `True` and `None` are accepted (rule S1).

Nothing is ever executed. The time is proportional to the length of the text, and
nesting deeper than any honest answer is refused.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

DEEPEST: Final = 60

_PIECE: Final = re.compile(
    r"""\s*+(?:
        (?P<sign>[{}\[\](),:])
      | "(?P<double>(?:[^"\\]|\\.)*+)"
      | '(?P<single>(?:[^'\\]|\\.)*+)'
      | (?P<number>[-+]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][-+]?\d{1,4})?)
      | (?P<word>[A-Za-z]+)
    )""",
    re.VERBOSE | re.DOTALL,
)
_NAN: Final = float("nan")
_WORDS: Final[dict[str, Any]] = {"true": True, "True": True, "false": False, "False": False, "null": None, "None": None}
_WORDS.update({"NaN": _NAN, "nan": _NAN, "Infinity": float("inf")})
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_ESCAPED: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSES: Final = {"{": "}", "[": "]", "(": ")"}


def parse(text: str) -> Any:
    """The object or list that a text from its opening to its closing bracket stands for.

    Repeated keys: the last wins. A text that is neither JSON nor nearly so raises ValueError.

    >>> parse("{'age': (20, 30), \\"gender\\": None,}")
    {'age': [20, 30], 'gender': None}
    >>> parse("{gender: male}")
    Traceback (most recent call last):
    ValueError: a key without quotes
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return _Parser(text).value(0)


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.position = 0

    def piece(self) -> re.Match[str]:
        found = _PIECE.match(self.text, self.position)
        if found is None:
            raise ValueError("something that is no JSON")
        self.position = found.end()
        return found

    def peek(self) -> str | None:
        found = _PIECE.match(self.text, self.position)
        return found["sign"] if found else None

    def value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise ValueError("nested too deeply")
        found = self.piece()
        if found["sign"] == "{":
            return self.mapping(depth)
        if found["sign"] in ("[", "("):
            return self.sequence(_CLOSES[found["sign"]], depth)
        if found["sign"]:
            raise ValueError("a sign where a value belongs")
        return _scalar(found)

    def mapping(self, depth: int) -> dict[str, Any]:
        out: dict[str, Any] = {}
        while self.peek() != "}":
            key = self.piece()
            if key["double"] is None and key["single"] is None:
                raise ValueError("a key without quotes")
            if self.piece()["sign"] != ":":
                raise ValueError("a key without a colon")
            out[str(_scalar(key))] = self.value(depth + 1)
            self.separator("}")
        self.piece()
        return out

    def sequence(self, closing: str, depth: int) -> list[Any]:
        out: list[Any] = []
        while self.peek() != closing:
            out.append(self.value(depth + 1))
            self.separator(closing)
        self.piece()
        return out

    def separator(self, closing: str) -> None:
        following = self.peek()
        if following == ",":
            self.piece()
        elif following != closing:
            raise ValueError("values without a comma between them")


def _scalar(found: re.Match[str]) -> Any:
    if found["double"] is not None or found["single"] is not None:
        text = found["double"] if found["double"] is not None else found["single"]
        return _ESCAPE.sub(_unescape, text) if "\\" in text else text
    if found["number"]:
        digits = found["number"]
        return int(digits) if len(digits) < 16 and digits.lstrip("+-").isdecimal() else float(digits[:40])
    if found["word"] not in _WORDS:
        raise ValueError("a word without quotes")
    return _WORDS[found["word"]]


def _unescape(found: re.Match[str]) -> str:
    escape = found[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _ESCAPED.get(escape, escape)
