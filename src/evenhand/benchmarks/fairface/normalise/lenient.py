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
_AS_JSON: Final = {"(": "[", ")": "]"}
_BEFORE_VALUES: Final = frozenset("{[,:")


def parse(text: str) -> Any:
    """The object or list that a text from its opening to its closing bracket stands for.

    Repeated keys: the last wins. A text that is neither JSON nor nearly so raises ValueError.

    >>> parse("{'age': (20, 30), \\"gender\\": None,}")
    {'age': [20, 30], 'gender': None}
    >>> parse("{gender: male}")
    Traceback (most recent call last):
    ValueError: a word without quotes
    """
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return json.loads(_as_json(text))


def _as_json(text: str) -> str:
    """The value that a text begins with, written as JSON; what follows it is not looked at."""
    pieces: list[str] = []
    closing: list[str] = []  # of the brackets that are open
    position = 0
    while not pieces or closing:
        match = _PIECE.match(text, position)
        if match is None:
            raise ValueError("something that is no JSON")
        position, sign = match.end(), match["sign"]
        if (not sign or sign in _CLOSES) and len(closing) > DEEPEST:
            raise ValueError("nested too deeply")
        if not sign:
            pieces.append(json.dumps(_scalar(match), ensure_ascii=False))
            continue
        if sign in _CLOSES:
            closing.append(_CLOSES[sign])
        elif sign in _CLOSES.values():
            if not closing or closing.pop() != sign:
                raise ValueError("a bracket that closes none")
            if pieces[-1] == "," and pieces[-2] not in _BEFORE_VALUES:  # a trailing comma
                pieces.pop()
        pieces.append(_AS_JSON.get(sign, sign))
    return " ".join(pieces)


def _scalar(match: re.Match[str]) -> Any:
    if match["double"] is not None or match["single"] is not None:
        text = match["double"] if match["double"] is not None else match["single"]
        return _ESCAPE.sub(_unescape, text) if "\\" in text else text
    if match["number"]:
        digits = match["number"]
        return int(digits) if len(digits) < 16 and digits.lstrip("+-").isdecimal() else float(digits[:40])
    if match["word"] not in _WORDS:
        raise ValueError("a word without quotes")
    return _WORDS[match["word"]]


def _unescape(match: re.Match[str]) -> str:
    escape = match[1]
    if len(escape) == 5:
        return chr(int(escape[1:], 16))
    return _ESCAPED.get(escape, escape)
