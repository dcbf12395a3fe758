"""Typed values as strict JSON, and back.

The types of `core` say how they are written: a frozen dataclass is an object with its fields,
an enum its value, a group the list of its terms. Numbers come back to the last bit. JSON has
no infinities and no «not a number», so these are the texts "inf", "-inf" and "nan"; a value
that does not exist is `{"undefined": reason}`.
"""

from __future__ import annotations

import math
import types
import typing
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any, Union, get_args, get_origin

import msgspec
import numpy as np

from evenhand.core.metric import Curve, Grid, Undefined
from evenhand.core.records import Group

_WORDS = {math.inf: "inf", -math.inf: "-inf"}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_TAGGED: Mapping[str, type[Any]] = {"curve": Curve, "grid": Grid, "undefined": Undefined}


def dumps(value: Any) -> bytes:
    """A value as indented JSON with a line end; the same value gives the same bytes.

    >>> dumps({"threshold": float("inf"), "value": Undefined("no faces")}).decode()
    '{\\n  "threshold": "inf",\\n  "value": {\\n    "undefined": "no faces"\\n  }\\n}\\n'
    """
    return msgspec.json.format(msgspec.json.encode(to_plain(value)), indent=2) + b"\n"


def loads(data: bytes) -> Any:
    """The JSON values in a text; raises ValueError when it is not JSON."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def to_plain(value: Any) -> Any:
    """A value as JSON values.

    >>> to_plain(Group.of(age="70+")), to_plain((1, 2.5)), to_plain(float("-inf"))
    ([['age', '70+']], [1, 2.5], '-inf')
    """
    if value is None or isinstance(value, bool | str):
        return str(value) if isinstance(value, np.str_) else value.value if isinstance(value, Enum) else value
    if isinstance(value, Enum):
        return to_plain(value.value)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return _number(float(value))
    if isinstance(value, np.bool_):
        return bool(value)
    if isinstance(value, np.ndarray):
        return to_plain(value.tolist())
    if isinstance(value, Group):
        return [list(term) for term in value.terms]
    if isinstance(value, Undefined):
        return {"undefined": value.reason}
    if isinstance(value, Curve | Grid):
        return {type(value).__name__.lower(): _fields(value)}
    if is_dataclass(value) and not isinstance(value, type):
        return _fields(value)
    if isinstance(value, Mapping):
        if any(not isinstance(key, str) for key in value):
            return [[to_plain(key), to_plain(entry)] for key, entry in value.items()]
        return {str(key): to_plain(entry) for key, entry in value.items()}
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, frozenset | set):
        return sorted((to_plain(entry) for entry in value), key=repr)
    if isinstance(value, Sequence):
        return [to_plain(entry) for entry in value]
    if callable(value) and hasattr(value, "__qualname__"):  # a function among a metric's parameters
        return f"{value.__module__}.{value.__qualname__}"
    raise TypeError(f"a {type(value).__name__} can't be written as JSON: {value!r}")


def from_plain(plain: Any, kind: Any) -> Any:
    """The value of type `kind` that `to_plain` took apart; raises ValueError when it can't be one.

    Fields that are not there take their default, so that what an older version wrote can be read.

    >>> from_plain({"undefined": "no faces"}, float | Undefined)
    Undefined(reason='no faces')
    """
    origin = get_origin(kind)
    if kind is Any:
        return plain
    if origin in (Union, types.UnionType):
        return _union(plain, get_args(kind))
    if kind is Group:
        return Group(tuple((str(name), str(level)) for name, level in _list(plain)))
    if kind is Undefined:
        return Undefined(str(_tagged(plain, "undefined")))
    if kind is float:
        return _float(plain)
    if kind in (int, str, bool):
        if type(plain) is not kind:
            raise ValueError(f"expected {kind.__name__}, found {plain!r}")
        return plain
    if kind is Path:
        return Path(str(plain))
    if kind is type(None):
        if plain is not None:
            raise ValueError(f"expected nothing, found {plain!r}")
        return None
    if origin is tuple:
        inner = get_args(kind)
        if len(inner) == 2 and inner[1] is Ellipsis:
            return tuple(from_plain(entry, inner[0]) for entry in _list(plain))
        return tuple(from_plain(entry, part) for entry, part in zip(_list(plain), inner, strict=True))
    if origin is not None and isinstance(origin, type) and issubclass(origin, Mapping):
        key, entry = get_args(kind)
        pairs = plain.items() if isinstance(plain, dict) else _list(plain)
        return {from_plain(name, key): from_plain(value, entry) for name, value in pairs}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind(plain)
    if is_dataclass(kind) and isinstance(kind, type):
        return _dataclass(plain, kind)
    if _is_array(kind):
        return _array(plain)
    raise TypeError(f"no rule to read {kind!r} from JSON")


def _fields(value: Any) -> dict[str, Any]:
    return {field.name: to_plain(getattr(value, field.name)) for field in fields(value)}


def _number(value: float) -> float | str:
    return value if math.isfinite(value) else _WORDS.get(value, "nan")


def _float(plain: Any) -> float:
    if isinstance(plain, str) and plain in _NUMBERS:
        return _NUMBERS[plain]
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise ValueError(f"expected a number, found {plain!r}")
    return float(plain)


def _union(plain: Any, kinds: tuple[Any, ...]) -> Any:
    if isinstance(plain, dict) and len(plain) == 1 and (tag := next(iter(plain))) in _TAGGED:
        kind = _TAGGED[tag]
        if kind in kinds:
            return from_plain(plain, kind) if kind is Undefined else _dataclass(plain[tag], kind)
    problems = []
    for kind in sorted(kinds, key=lambda kind: kind is not type(None)):
        try:
            return from_plain(plain, kind)
        except (ValueError, TypeError) as error:
            problems.append(str(error))
    raise ValueError("; ".join(problems))


def _dataclass(plain: Any, kind: type[Any]) -> Any:
    if not isinstance(plain, dict):
        raise ValueError(f"expected the fields of {kind.__name__}, found {plain!r}")
    hints = typing.get_type_hints(kind)
    known = {field.name: field for field in fields(kind)}
    if unknown := set(plain) - set(known):
        raise ValueError(f"{kind.__name__} has no field {sorted(unknown)[0]!r}")
    for name, field in known.items():
        if name not in plain and field.default is MISSING and field.default_factory is MISSING:
            raise ValueError(f"{kind.__name__} needs the field {name!r}, which is not there")
    values = {}
    for name, entry in plain.items():
        try:
            values[name] = from_plain(entry, hints[name])
        except ValueError as error:
            raise ValueError(f"{kind.__name__}.{name}: {error}") from None
    return kind(**values)


def _tagged(plain: Any, tag: str) -> Any:
    if not isinstance(plain, dict) or set(plain) != {tag}:
        raise ValueError(f"expected an object with the one field {tag!r}, found {plain!r}")
    return plain[tag]


def _list(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise ValueError(f"expected a list, found {plain!r}")
    return plain


def _is_array(kind: Any) -> bool:
    return kind is np.ndarray or get_origin(kind) is np.ndarray


def _array(plain: Any) -> np.ndarray[Any, Any]:
    numbers = _unword(_list(plain))
    return np.asarray(numbers, dtype=None if _filled(numbers) else np.float64)


def _filled(plain: Any) -> bool:
    return any(_filled(entry) if isinstance(entry, list) else True for entry in plain)


def _unword(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_unword(entry) for entry in plain]
    return _NUMBERS.get(plain, plain) if isinstance(plain, str) else plain
