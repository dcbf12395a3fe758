"""A protocol's named switches, as frozen dataclasses.

A task declares its options as a frozen dataclass derived from `Options`; every field has a
default, which is the published protocol, and a line of help. `--set key=value` gives texts;
`parse` turns them into the declared types and refuses what does not fit.

```python
@dataclass(frozen=True)
class RaceOptions(Options):
    taxonomy: Literal["coarse", "fine"] = option("coarse", "six classes, or the seven of the label file")
```
"""

from __future__ import annotations

import types
import typing
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields, replace
from enum import Enum
from pathlib import Path
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

from evenhand.core.errors import OptionError, UnknownNameError


@dataclass(frozen=True)
class Options:
    """No switches. Derive from it."""


O = TypeVar("O", bound=Options)  # noqa: E741  # the letter of the word
D = TypeVar("D")


class OptionFact(typing.NamedTuple):
    """One switch, for people to read."""

    name: str
    default: Any
    help: str
    values: str  # what it can take


def option(default: D, help: str, *, former: str = "") -> D:  # noqa: A002  # the word that dataclass users expect
    """A field with a default and a line of help; `former` is an earlier name, which is still accepted."""
    return field(default=default, metadata={"help": help, "former": former})


def parse(kind: type[O], given: Mapping[str, Any]) -> O:
    """The options with the given ones set; texts are turned into the declared types.

    >>> @dataclass(frozen=True)
    ... class Example(Options):
    ...     ranks: tuple[int, ...] = option((1, 5), "ranks to report")
    >>> parse(Example, {"ranks": "1,10"})
    Example(ranks=(1, 10))
    """
    hints = typing.get_type_hints(kind)
    known = [entry.name for entry in fields(kind)]
    former = {entry.metadata.get("former"): entry.name for entry in fields(kind)}
    values = {}
    for name, value in given.items():
        name = former.get(name, name)
        if name not in known:
            raise UnknownNameError("option", name, known)
        try:
            values[name] = _converted(value, hints[name])
        except (ValueError, TypeError, OverflowError):
            raise OptionError(f"Option {name!r} can't be {value!r}: it takes {describe(hints[name])}.") from None
    return replace(kind(), **values)


def facts(kind: type[Options]) -> tuple[OptionFact, ...]:
    """All switches of a task, with defaults, help and what they can take."""
    hints = typing.get_type_hints(kind)
    return tuple(
        OptionFact(
            entry.name,
            entry.default if entry.default is not MISSING else getattr(kind(), entry.name),
            entry.metadata.get("help", ""),
            describe(hints[entry.name]),
        )
        for entry in fields(kind)
    )


def as_plain(options: Options) -> dict[str, Any]:
    """The options as plain values for results and fingerprints."""
    return {entry.name: _plain(getattr(options, entry.name)) for entry in fields(options)}


def describe(kind: Any) -> str:
    """What a type can take, in words.

    >>> describe(Literal["coarse", "fine"]), describe(tuple[int, ...]), describe(float | None)
    ('coarse | fine', 'whole numbers, separated by commas', 'a number | none')
    """
    if get_origin(kind) is Literal:
        return " | ".join(str(value) for value in get_args(kind))
    if get_origin(kind) in (Union, types.UnionType):
        return " | ".join(describe(part) for part in get_args(kind))
    if get_origin(kind) is Mapping:
        return f"name={describe(get_args(kind)[1])}, separated by commas"
    if get_origin(kind) is tuple:
        inner = get_args(kind)[0]
        return f"{_PLURALS.get(inner) or describe(inner)}, separated by commas"
    if isinstance(kind, type) and issubclass(kind, Enum):
        return " | ".join(str(member.value) for member in kind)
    return _WORDS.get(kind, str(kind))


_WORDS: Mapping[Any, str] = {
    bool: "true | false",
    int: "a whole number",
    float: "a number",
    str: "text",
    Path: "a path",
    type(None): "none",
}
_PLURALS: Mapping[Any, str] = {int: "whole numbers", float: "numbers", str: "texts", Path: "paths"}
_TRUE, _FALSE = ("true", "yes", "on", "1"), ("false", "no", "off", "0")


def _converted(value: Any, kind: Any) -> Any:
    origin = get_origin(kind)
    if origin is Literal:
        for allowed in get_args(kind):
            if value == allowed or str(value) == str(allowed):
                return allowed
        raise ValueError(value)
    if origin in (Union, types.UnionType):
        for part in sorted(get_args(kind), key=lambda part: part is not type(None)):
            try:
                return _converted(value, part)
            except (ValueError, TypeError, OverflowError):
                continue
        raise ValueError(value)
    if origin is Mapping:
        inner = get_args(kind)[1]
        # Names may have signs of equality ("TAR@FAR=0.001=0.02"), and commas where semicolons stand between entries.
        pairs = value
        if isinstance(value, str):
            entries = value.split(";" if ";" in value else ",")
            pairs = [entry.rpartition("=")[::2] for entry in entries if entry.strip()]
        named = {str(name).strip(): _converted(part, inner) for name, part in dict(pairs).items()}
        if "" in named:
            raise ValueError(value)
        return named
    if origin is tuple:
        inner = get_args(kind)[0]
        parts = [part.strip() for part in value.split(",") if part.strip()] if isinstance(value, str) else value
        parts = (parts,) if isinstance(parts, (int, float)) else parts  # one number for a list of one
        return tuple(_converted(part, inner) for part in parts)
    if kind is type(None):
        if value is None or value in ("none", "None", ""):
            return None
        raise ValueError(value)
    if kind is bool:
        word = str(value).casefold()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise ValueError(value)
    if kind is int and isinstance(value, float) and not value.is_integer():
        raise ValueError(value)
    if kind is float and str(value).casefold().strip() in ("nan", "+nan", "-nan"):
        raise ValueError(value)
    return kind(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    return value
