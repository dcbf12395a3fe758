"""Objects inside an answer: where they are, which one counts, what its values say (rules S1 to S7)."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from evenhand.benchmarks.fairface.normalise.lenient import parse
from evenhand.benchmarks.fairface.normalise.lexicon import phrases, table
from evenhand.benchmarks.fairface.normalise.readings import Reason
from evenhand.benchmarks.fairface.normalise.text import TextCache
from evenhand.benchmarks.fairface.taxonomy import PerAttribute

_KEYS: Final = table("keys.toml")["objects"]
_FRONTS: Final = phrases(_KEYS["fronts"])


def _with_fronts(attribute: str) -> tuple[str, ...]:
    names = phrases(_KEYS[attribute])
    return tuple(dict.fromkeys([*names, *(front + name for name in names for front in _FRONTS)]))


KEYS_OF: Final = {  # attribute → the letters of its keys, in their precedence
    "gender": ("dominantgender", *_with_fronts("gender")),
    "race": ("dominantrace", *_with_fronts("race")),
    "age": _with_fronts("age"),
}
CONTAINER_KEYS: Final = phrases(_KEYS["containers"])
_VALUE_KEYS: Final = phrases(_KEYS["values"])
_RANGE_KEYS: Final = [tuple(ends.split()) for ends in phrases(_KEYS["ranges"])]

ATTRIBUTE_OF: Final = {key: attribute for attribute, keys in KEYS_OF.items() for key in keys}
_KNOWN: Final = frozenset(ATTRIBUTE_OF)
_JSON: Final = json.JSONDecoder()
_NOT_LETTERS: Final = re.compile(r"[^a-z]+")
_LETTERS: Final = TextCache(lambda key: _NOT_LETTERS.sub("", key.lower()))
_BRACKETS_AND_QUOTES: Final = re.compile(r"[{}\[\]\"'\\]")
_OPENS_STRING_AFTER: Final = frozenset("{[(,:")
_DEEPEST_VALUE: Final = 4
_DEEPEST_RETRY: Final = 4  # levels of brackets looked into when the outer ones can't be parsed
_UNDER_CONFIDENCE: Final = re.compile(r"confidences?[\"']?\s*[:=]\s*$", re.IGNORECASE)
_CONFIDENCE_OBJECT: Final = re.compile(r"[\"']?confidences?[\"']?\s*+[:=]\s*+\{[^{}]*\}?", re.IGNORECASE)
_PAIR: Final = re.compile(
    r"""(?P<quote>["'])(?P<key>[^"'\\{}\[\]]{1,60})(?P=quote)\s*+:\s*+(?:
        "(?P<double>(?:[^"\\]|\\.)*+)"
      | '(?P<single>(?:[^'\\]|\\.)*+)'
      | (?P<number>-?\d++(?:\.\d++)?)(?=\s*+[,}\]\s])
      | (?P<open>[{\[])
      | (?P<cut>)
    )
    | (?P<close>[}\]])""",
    re.VERBOSE | re.DOTALL,
)


Fields = PerAttribute[Any]  # the values of a recognised object; an absent key is ABSENT


class _Absent:
    def __repr__(self) -> str:
        return "ABSENT"


ABSENT: Final = _Absent()


def find_fields(text: str) -> Fields | None:
    """The values of the object that decides an answer; None when the text is prose.

    The last object with a known key counts. When an opening bracket never
    closes, only the complete pairs after it are used.

    >>> find_fields('First {"sex": "M"}, no: {"sex": "F", "age": [20, 30],}')
    PerAttribute(gender='F', race=ABSENT, age=[20, 30])
    >>> find_fields("{'gender': 'male', 'age': '30-3").age
    ABSENT
    >>> find_fields("just {prose}")
    """
    first = text.find("{")
    if first < 0:
        return None
    whole = _only_object(text, first)
    if whole is not None:
        return fields_of(whole)
    for respect_quotes in (True, False):
        spans, unclosed = _balanced(text, respect_quotes=respect_quotes)
        found = [fields for fields in (_recognise(text, span) for span in spans) if fields is not None]
        if found:
            return found[-1]
    return _complete_pairs(text[unclosed:]) if unclosed is not None else None


def _only_object(text: str, first: int) -> dict[str, Any] | None:
    """The object from the first brace to the last, when that is plain JSON: most answers that have one at all."""
    last = text.rfind("}")
    if last < first or text.find("{", last) >= 0 or _is_confidence(text, first):
        return None
    try:
        value, end = _JSON.raw_decode(text, first)
    except (ValueError, RecursionError):
        return None
    return value if end == last + 1 and isinstance(value, dict) else None


def without_confidences(text: str) -> str:
    """A text that is to be read as prose, without the objects that hold confidences (S4).

    >>> without_confidences('{oops, "confidence": {"age": 0.8}} a man')
    '{oops, } a man'
    """
    return _CONFIDENCE_OBJECT.sub("", text) if "{" in text else text


def fields_of(value: Any) -> Fields | None:
    """The values of an object that is already parsed, looked for one level down if need be (S2).

    >>> fields_of([{"attributes": {"Age (years)": 31}}]).age
    31
    """
    keys = _keys_of(value)
    if not _KNOWN.isdisjoint(keys):
        return _by_precedence(keys)
    for name in CONTAINER_KEYS:
        inner_keys = _keys_of(keys.get(name))
        if not _KNOWN.isdisjoint(inner_keys):
            return _by_precedence(inner_keys)
    return None


def _keys_of(value: Any) -> dict[str, Any]:
    """The values of an object, or of the first object of a list, by the letters of their keys."""
    if isinstance(value, dict):
        return by_letters(value)
    first = next((element for element in value if isinstance(element, dict)), {}) if isinstance(value, list) else {}
    return by_letters(first)


def letters_only(key: str) -> str:
    """A key as it is compared: lower case, letters alone (S4).

    >>> letters_only("Age (years)")
    'ageyears'
    """
    return _LETTERS[key]


def by_letters(value: Mapping[Any, Any]) -> dict[str, Any]:
    """The values of an object by the letters of their keys."""
    return {_LETTERS[str(key)]: inner for key, inner in value.items()}


def best_scored(scores: Mapping[str, Any]) -> str | None:
    """The label with the largest of finite scores; None when there is none or the largest is shared.

    >>> best_scored({"Man": "12.5", "Woman": 87.5})
    'Woman'
    >>> best_scored({"asian": 50, "white": 50})
    """
    numbers = {label: as_number(score) for label, score in scores.items()}
    finite = {label: number for label, number in numbers.items() if number is not None}
    if not finite or len(finite) < len(numbers):
        return None
    best = max(finite.values())
    winners = [label for label, number in finite.items() if number == best]
    return winners[0] if len(winners) == 1 else None


def as_number(value: Any) -> float | None:
    """A finite number, also one written as text; None for everything else, booleans included."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value[:64] if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def plain_value(raw: Any, *, for_age: bool, depth: int = 0) -> str | tuple[float, float | None] | Reason:
    """The text that a value stands for (S5), the ends of its age where it is one in numbers, or why it is neither."""
    if isinstance(raw, str):
        return raw
    if raw is None or raw == [] or raw == {}:
        return Reason.EMPTY
    if isinstance(raw, bool) or depth > _DEEPEST_VALUE:
        return Reason.NOT_UNDERSTOOD
    if for_age and (ends := _ends(raw)) is not None:
        return ends
    if isinstance(raw, list):
        if len(raw) == 1:
            return plain_value(raw[0], for_age=for_age, depth=depth + 1)
        if all(isinstance(element, str) for element in raw):
            return " / ".join(raw)
    elif isinstance(raw, Mapping):
        keys = by_letters(raw)
        for name in _VALUE_KEYS:
            if name in keys:
                return plain_value(keys[name], for_age=for_age, depth=depth + 1)
        best = best_scored({str(key): value for key, value in raw.items()})
        shared = best is None and all(as_number(value) is not None for value in raw.values())
        return Reason.SEVERAL if shared else best or Reason.NOT_UNDERSTOOD
    return Reason.NOT_UNDERSTOOD


def _ends(raw: Any) -> tuple[float, float | None] | None:
    """The ends of an age: a number, a list of two numbers, or an object with `min` and `max` and the like."""
    number = _number(raw)
    if number is not None:
        return number, number
    if isinstance(raw, list) and len(raw) == 2:
        low, high = _number(raw[0]), _number(raw[1])
        return None if low is None or high is None else (low, high)
    if not isinstance(raw, Mapping):
        return None
    keys = by_letters(raw)
    if any(name in keys for name in _VALUE_KEYS):
        return None
    for lower, upper in _RANGE_KEYS:
        if lower in keys and upper in keys:
            low, high = as_number(keys[lower]), as_number(keys[upper])
            if low is not None and (high is not None or keys[upper] is None):
                return low, high
    return None


def _number(raw: Any) -> float | None:
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return None
    try:
        return float(raw)
    except OverflowError:
        return float("inf")


def _by_precedence(keys: Mapping[str, Any]) -> Fields:
    return PerAttribute(*[_first(keys, names) for names in KEYS_OF.values()])


def _first(keys: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if name in keys:
            return keys[name]
    return ABSENT


class _Span(NamedTuple):
    """A balanced bracket from `start` up to and without `end`, with the balanced ones directly inside."""

    start: int
    end: int
    inner: tuple[_Span, ...]


def _balanced(text: str, *, respect_quotes: bool) -> tuple[list[_Span], int | None]:
    """The outermost balanced brackets, and where the first bracket that never closes stands."""
    open_brackets: list[tuple[int, str, list[_Span]]] = []
    outermost: list[_Span] = []
    quote = ""
    skip = -1
    for found in _BRACKETS_AND_QUOTES.finditer(text):
        position, sign = found.start(), found[0]
        if position == skip:
            continue
        if sign == "\\":
            skip = position + 1 if quote else -1
        elif quote:
            quote = "" if sign == quote else quote
        elif sign in "{[":
            open_brackets.append((position, "}" if sign == "{" else "]", []))
        elif sign in "}]":
            if open_brackets and open_brackets[-1][1] == sign:
                start, _, inner = open_brackets.pop()
                span = _Span(start, position + 1, tuple(inner))
                (open_brackets[-1][2] if open_brackets else outermost).append(span)
        elif respect_quotes and open_brackets and (sign == '"' or _opens_string(text, position)):
            quote = sign
    for _, _, inner in open_brackets:
        outermost.extend(inner)
    outermost.sort(key=lambda span: span.start)
    return outermost, next((start for start, closing, _ in open_brackets if closing == "}"), None)


def _opens_string(text: str, position: int) -> bool:
    """Whether a single quote opens a string rather than being an apostrophe."""
    before = text[max(position - 8, 0) : position].rstrip()
    return before[-1:] in _OPENS_STRING_AFTER


def _recognise(text: str, span: _Span, level: int = 0) -> Fields | None:
    """The values of a balanced bracket, or of the last one inside when it can't be parsed as a whole."""
    if _is_confidence(text, span.start):
        return None
    if "{" not in text[span.start : span.end]:
        return None
    try:
        return fields_of(parse(text[span.start : span.end]))
    except ValueError:
        if level == _DEEPEST_RETRY:
            return None
    inside = (_recognise(text, inner, level + 1) for inner in span.inner)
    return next(iter([fields for fields in inside if fields is not None][-1:]), None)


def _is_confidence(text: str, start: int) -> bool:
    """Whether the bracket at `start` is the value of a key `confidence`."""
    return start > 0 and _UNDER_CONFIDENCE.search(text[max(start - 40, 0) : start]) is not None


def _complete_pairs(text: str) -> Fields | None:
    """Rule S7: the complete pairs of a truncated object; a cut-off value is absent."""
    pairs: dict[str, Any] = {}
    depth = 0
    hidden_below: int | None = None  # depth of an open confidence object
    for match in _PAIR.finditer(text):
        if match["close"]:
            depth -= 1
            if hidden_below is not None and depth < hidden_below:
                hidden_below = None
            continue
        key = letters_only(match["key"])
        value: Any = ABSENT
        if match["open"]:
            depth += 1
            if key.startswith("confidence") and hidden_below is None:
                hidden_below = depth
        elif match["number"]:
            value = float(match["number"][:40])
        elif match["cut"] is None:
            value = match["single"] if match["double"] is None else match["double"]
        if hidden_below is None and key in _KNOWN:
            pairs[key] = value
    return _by_precedence(pairs) if pairs else None
