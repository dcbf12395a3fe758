"""The cells of the tables: boxes, polygons, keypoints, mask pictures and selections, read as data and never run.

The tables keep lists and mappings as Python writes them, with single quotes. Almost every cell is
JSON but for its quotes and is read as such, at the speed of a JSON parser. The rest goes through a
small parser of literals: texts, numbers, True, False, None, lists, tuples, mappings. Names, calls,
operators, deep nesting and numbers of absurd length are errors; nothing is ever evaluated.

A polygon of 30 kB takes 0.1 ms here and 20 ms with the standard library's literal parser.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe import vocabulary

MOST_CHARACTERS = 64 << 20  # of one cell
DEEPEST = 32
LONGEST_NUMBER = 64

_TOKEN = re.compile(
    r"\s*(?:(?P<text>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?)"
    r"|(?P<word>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<mark>[\[\]{}(),:]))",
    re.DOTALL,
)
_WORDS = {"True": True, "False": False, "None": None, "nan": float("nan"), "inf": float("inf")}
_CLOSING = {"[": "]", "(": ")", "{": "}"}
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class LiteralError(ValueError):
    """The text is not a literal that a table may hold; the message says where and why."""


def parse_literal(text: str) -> Any:
    """The value that a literal's text stands for.

    >>> parse_literal("['0. She/her/hers', '2. They/them/their']")
    ['0. She/her/hers', '2. They/them/their']
    >>> parse_literal("{'Nose': (1, 2.5, None)}")
    {'Nose': [1, 2.5, None]}
    """
    if len(text) > MOST_CHARACTERS:
        raise LiteralError(f"{len(text):,} characters; a cell may have {MOST_CHARACTERS:,}")
    if '"' not in text and "\\" not in text and "(" not in text and _is_shallow(text):
        # Without double quotes and escapes every single quote is a delimiter, so this is the same value as JSON.
        try:
            return msgspec.json.decode(text.replace("'", '"').encode())
        except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
            pass
    return _LiteralParser(text).parse()


def _is_shallow(text: str) -> bool:
    """Whether brackets are nested at most `DEEPEST` deep; how deep a JSON parser goes depends on Python's version.

    >>> _is_shallow("[" * 32 + "]" * 32), _is_shallow("[" * 33 + "]" * 33)
    (True, False)
    """
    if text.count("[") + text.count("{") <= DEEPEST:
        return True
    brackets = text.encode(errors="replace").translate(None, _NO_BRACKETS)
    for _ in range(DEEPEST):  # each time the innermost pairs go
        if not brackets:
            break
        brackets = brackets.replace(b"{}", b".").replace(b"[]", b".").replace(b".", b"")
    return not brackets


def numbers(cell: str) -> list[float]:
    """A box: a list of numbers.

    >>> numbers("[1, 2.5, 3, 4]")
    [1.0, 2.5, 3.0, 4.0]
    """
    value = parse_literal(cell)
    if not isinstance(value, list):
        raise TypeError("a list of numbers was expected")
    return [float(part) for part in value]


def segments(cell: str) -> tuple[list[str], list[int], NDArray[np.int32]]:
    """Polygons: the class of each, its number of vertices, and all vertices one after the other, truncated toward zero.

    >>> names, lengths, points = segments("[{'class_name': '3. Nose', 'polygon': [{'x': 1.9, 'y': 2}]}]")
    >>> names, lengths, points.tolist()
    (['Nose'], [1], [1, 2])
    """
    value = parse_literal(cell)
    if not isinstance(value, list):
        raise TypeError("a list of segments was expected")
    names, lengths, points = [], [], []
    for segment in value:
        polygon = segment["polygon"]
        names.append(vocabulary.plain_name(str(segment["class_name"])))
        lengths.append(len(polygon))
        for point in polygon:
            points.append(point["x"])
            points.append(point["y"])
    flat = np.trunc(np.array(points, dtype=np.float64))
    if not np.isfinite(flat).all() or np.abs(flat).max(initial=0) > 2**30:
        raise ValueError("a vertex that is not a number or far outside every picture")
    return names, lengths, flat.astype(np.int32)


def keypoints(cell: str) -> tuple[list[str], list[float]]:
    """Annotated keypoints: the name of each, and x, y, visibility of all one after the other."""
    value = parse_literal(cell)
    if not isinstance(value, dict):
        raise TypeError("a mapping of keypoints was expected")
    names, flat = [], []
    for name, point in value.items():
        if len(point) != 3:
            raise ValueError(f"keypoint {name!r} has {len(point)} numbers; x, y, visibility were expected")
        names.append(vocabulary.plain_name(str(name)))
        flat += [float(part) for part in point]
    return names, flat


def combined_mask(cell: str | None) -> str:
    """The label map among the listed mask pictures.

    >>> combined_mask("['masks/skin.png', 'masks/combined.png']")
    'masks/combined.png'
    """
    try:
        listed = parse_literal(cell) if cell is not None else []
        combined = [str(path) for path in listed if "combined" in str(path)]
    except (LiteralError, TypeError) as error:
        raise LiteralError(f"no list of mask pictures: {error}") from None
    if not combined:
        raise LiteralError("no combined mask among the listed pictures")
    return combined[0]


def selections(cell: str) -> tuple[str, ...]:
    """The individual values of a multi-valued cell; a cell that is no list is one value.

    >>> selections("['1. Haze', '5. Cloud']")
    ('1. Haze', '5. Cloud')
    """
    if not cell.lstrip().startswith(("[", "(")):
        return (cell,)
    try:
        values = parse_literal(cell)
    except LiteralError:
        return (cell,)
    return tuple(str(value) for value in values)


class _LiteralParser:
    """One pass over the tokens of a literal."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._kind, self._token, self._start = "", "", 0

    def parse(self) -> Any:
        self._next()
        value = self._value(0)
        if self._kind != "end":
            raise self._problem(f"{self._token!r} after the end of the literal")
        return value

    def _next(self) -> None:
        match = _TOKEN.match(self._text, self._at)
        if match is not None:
            self._kind = str(match.lastgroup)
            self._token, self._start, self._at = match.group(self._kind), match.start(self._kind), match.end()
            return
        self._kind, self._token, self._start = "end", "", self._at
        if rest := self._text[self._at :].strip():
            raise self._problem(f"{rest[:20]!r} is not a literal")

    def _value(self, depth: int) -> Any:
        if depth > DEEPEST:
            raise self._problem(f"nested more than {DEEPEST} deep")
        kind, token = self._kind, self._token
        if token in _CLOSING:
            self._next()
            items = self._items(token, depth + 1)
            value: Any = dict(items) if token == "{" else list(items)
        elif kind == "text":
            value = _text(token)
        elif kind == "number":
            if len(token) > LONGEST_NUMBER:
                raise self._problem(f"a number of {len(token):,} characters")
            value = float(token) if any(mark in token for mark in ".eE") else int(token)
        elif token in _WORDS:
            value = _WORDS[token]
        else:
            raise self._problem(f"{token!r} is not a literal" if token else "the literal breaks off")
        self._next()
        return value

    def _items(self, opening: str, depth: int) -> Iterator[Any]:
        """The values up to the closing bracket; of a mapping keys with their values."""
        closing = _CLOSING[opening]
        while self._token != closing:
            value = self._value(depth)
            if opening == "{":
                if not isinstance(value, str | int | float | bool | None):
                    raise self._problem("a key that is no text or number")
                if self._token != ":":
                    raise self._problem("a key without a value")
                self._next()
                value = value, self._value(depth)
            yield value
            if self._token == ",":
                self._next()
            elif self._token != closing:
                raise self._problem(f"{self._token!r} where ',' or {closing!r} was expected")

    def _problem(self, what: str) -> LiteralError:
        return LiteralError(f"character {self._start}: {what}")


def _text(token: str) -> str:
    if "\\" not in token:
        return token[1:-1]
    try:
        value: str = ast.literal_eval(token)  # one text token, so nothing but escapes is interpreted
    except (SyntaxError, ValueError) as error:
        raise LiteralError(f"{token[:20]!r} is not a text") from error
    return value
