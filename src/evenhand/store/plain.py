"""Typed values as strict JSON, and back.

The types of `core` say how they are written: a frozen dataclass is an object with its fields,
an enum its value, a group the list of its terms. Numbers come back to the last bit. JSON has
no infinities and no "not a number", so these are the texts "inf", "-inf" and "nan"; a value
that does not exist is `{"undefined": reason}`.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from enum import Enum
from math import isfinite
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

import msgspec
import numpy as np

from evenhand.core.contrasts import Contrasts, Family
from evenhand.core.metric import Curve, Grid, Undefined
from evenhand.core.records import Group
from evenhand.core.results import Contrast

_AS_IT_IS = frozenset({str, int, bool, type(None)})
_PLAIN_NUMBERS = frozenset({int, float, type(None)})
_SAME_IN_ALL = _PLAIN_NUMBERS | {str}  # facts of a family that all its pairs share
_RULES: dict[type[Any], Callable[[Any], Any]] = {}
_WORDS = {math.inf: "inf", -math.inf: "-inf"}
_NUMBERS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_TAGGED: Mapping[str, type[Any]] = {"curve": Curve, "grid": Grid, "undefined": Undefined}


def dumps(value: Any) -> bytes:
    """A value as indented JSON with a line end; the same value gives the same bytes.

    >>> dumps({"threshold": float("inf"), "value": Undefined("no faces")}).decode()
    '{\\n  "threshold": "inf",\\n  "value": {\\n    "undefined": "no faces"\\n  }\\n}\\n'
    """
    return msgspec.json.format(msgspec.json.encode(to_plain(value)), indent=2) + b"\n"


def dumps_lines(value: Mapping[str, Any]) -> bytes:
    """A mapping as JSON with a line per field, and a line per entry of its long lists.

    >>> print(dumps_lines({"rows": 3, "estimates": [{"value": 0.5}, {"value": 0.25}], "by": ("age",)}).decode(), end="")
    {
    "rows": 3,
    "estimates": [
    {"value":0.5},
    {"value":0.25}
    ],
    "by": ["age"]
    }
    """
    encode = msgspec.json.encode
    pieces: list[bytes] = []  # joined once, as they may be large
    for name, entry in value.items():
        parts = _parts(entry)
        pieces += [b",\n" if pieces else b"{\n", encode(name), b": "]
        pieces += [encode(to_plain(entry))] if parts is None else [b"[\n", b",\n".join(parts), b"\n]"]
    return b"".join([*(pieces or [b"{\n"]), b"\n}\n"])


def _parts(entry: Any) -> Iterable[bytes] | None:
    """The encoded entries of a list of objects; None when it is something else."""
    if isinstance(entry, Contrasts):
        return map(_lines_of_family, filter(len, entry.families)) if len(entry) else None
    parts = entry if isinstance(entry, list | tuple) else ()
    if not any(isinstance(part, Mapping) or is_dataclass(part) for part in parts):
        return None
    kind = type(parts[0])
    own_rule = issubclass(kind, Group | Undefined | Curve | Grid)
    if is_dataclass(kind) and not own_rule and all(type(part) is kind for part in parts):
        return [_lines_of_objects(parts)]
    return (msgspec.json.encode(to_plain(part)) for part in parts)


def _lines_of_objects(objects: Sequence[Any]) -> bytes:
    """Lines of some dataclass objects of the same class.

    An evaluation has tens of thousands of estimates and pairs with the same fields. Columns become the fields of light
    objects, which are encoded together; a group or an enum that comes again is encoded once.
    """
    return _lines(
        {field.name: _column([getattr(entry, field.name) for entry in objects]) for field in fields(objects[0])}
    )


def _lines_of_family(family: Family) -> bytes:
    """Lines of pairs of groups, as `_lines_of_objects` would write them."""
    groups: dict[int, Any] = {-1: None}
    for place in np.unique(np.concatenate([family.first, family.second])).tolist():
        groups[place] = _raw(family.groups[place])
    effects = {
        name: [value if isfinite(value) else msgspec.UNSET for value in values.tolist()]
        for name, values in family.effects.items()
    }
    columns: dict[str, Sequence[Any]] = {}
    for field in fields(Contrast):
        value = getattr(family, {"family": "name", "family_size": "size"}.get(field.name, field.name))
        if field.name in ("first", "second", "worse"):
            columns[field.name] = [groups[place] for place in value.tolist()]
        elif field.name == "effects":
            columns[field.name] = _objects(effects) if effects else [{}] * len(family)
        elif isinstance(value, np.ndarray):
            columns[field.name] = value.tolist()  # what is not finite is null
        else:
            columns[field.name] = [value] * len(family) if type(value) in _SAME_IN_ALL else _column(value)
    return _lines(columns)


def _lines(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """A line for each object with these fields, with a comma after all but the last."""
    return msgspec.json.Encoder().encode_lines(_objects(columns))[:-1].replace(b"\n", b",\n")


def _objects(columns: Mapping[str, Sequence[Any]]) -> list[Any]:
    kind = msgspec.defstruct("Line", list(columns), gc=False)
    return list(map(kind, *columns.values()))


def _column(values: Sequence[Any]) -> Sequence[Any]:
    """Values as JSON values: numbers and texts as they are, what comes again encoded once."""
    kinds = set(map(type, values))
    if kinds == {str} or (kinds <= _PLAIN_NUMBERS and all(isfinite(value) for value in values if value is not None)):
        return values
    known: dict[int, msgspec.Raw] = {}

    def encoded(value: Any) -> msgspec.Raw:
        text = known[id(value)] = _raw(value)  # the same object, while the list holds it
        return text

    return [known.get(id(value)) or encoded(value) for value in values]


def _raw(value: Any) -> msgspec.Raw:
    return msgspec.Raw(msgspec.json.encode(to_plain(value)))


def loads(data: bytes) -> Any:
    """The JSON values in a text; raises ValueError when it is not JSON."""
    try:
        return msgspec.json.decode(data)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ValueError(str(error)) from None


def to_plain(value: Any) -> Any:
    """A value as JSON values.

    >>> to_plain(Group.of(age="70+")), to_plain((1, 2.5)), to_plain(float("-inf"))
    ([['age', '70+']], [1, 2.5], '-inf')
    """
    kind = type(value)
    if kind in _AS_IT_IS:
        return value
    if kind is float:
        return value if isfinite(value) else _WORDS.get(value, "nan")
    return (_RULES.get(kind) or _RULES.setdefault(kind, _rule(kind)))(value)


def _rule(kind: type[Any]) -> Callable[[Any], Any]:
    """How values of a type are written; found once for each type."""
    if kind is Group:
        return lambda group: [list(term) for term in group.terms]
    if issubclass(kind, Enum):
        return lambda entry: to_plain(entry.value)
    if issubclass(kind, np.generic):
        return lambda number: to_plain(number.item())
    if issubclass(kind, np.ndarray):
        return _array_rule
    if issubclass(kind, Undefined):
        return lambda undefined: {"undefined": undefined.reason}
    if issubclass(kind, Curve | Grid):
        tag, inner = kind.__name__.lower(), _fields_rule(kind)
        return lambda value: {tag: inner(value)}
    if is_dataclass(kind) and not issubclass(kind, Contrasts):
        return _fields_rule(kind)
    if issubclass(kind, Mapping):
        return _mapping
    if issubclass(kind, Path | str):
        return str
    if issubclass(kind, int | float):  # a type derived from them
        return lambda number: to_plain(int(number) if isinstance(number, int) else float(number))
    if issubclass(kind, frozenset | set):
        return lambda entries: sorted((to_plain(entry) for entry in entries), key=repr)
    if issubclass(kind, Sequence):
        return lambda entries: [to_plain(entry) for entry in entries]
    return _function


def _fields_rule(kind: type[Any]) -> Callable[[Any], dict[str, Any]]:
    """How a dataclass is written: most fields are finite numbers or texts and take no further call."""
    names = tuple(field.name for field in fields(kind))

    def write(value: Any) -> dict[str, Any]:
        plain = {name: getattr(value, name) for name in names}
        for name, entry in plain.items():
            its = type(entry)
            if its not in _AS_IT_IS and not (its is float and isfinite(entry)):
                plain[name] = to_plain(entry)
        return plain

    return write


def _array_rule(array: np.ndarray[Any, Any]) -> Any:
    numbers = array.tolist()
    whole = array.dtype.kind in "iub" or (array.dtype.kind == "f" and bool(np.isfinite(array).all()))
    return numbers if whole else to_plain(numbers)


def _mapping(value: Mapping[Any, Any]) -> Any:
    if any(not isinstance(key, str) for key in value):
        return [[to_plain(key), to_plain(entry)] for key, entry in value.items()]
    return {str(key): to_plain(entry) for key, entry in value.items()}


def _function(value: Any) -> str:
    """A function among a metric's parameters, by its name."""
    if callable(value) and hasattr(value, "__qualname__"):
        return f"{value.__module__}.{value.__qualname__}"
    raise TypeError(f"a {type(value).__name__} can't be written as JSON: {value!r}")


def from_plain(plain: Any, kind: Any) -> Any:
    """The value of type `kind` that `to_plain` took apart; raises ValueError when it can't be one.

    Fields that are not there take their default, so that what an older version wrote can be read.

    >>> from_plain({"undefined": "no faces"}, float | Undefined)
    Undefined(reason='no faces')
    """
    try:
        return _reader(kind)(plain)
    except (TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise ValueError(f"{type(error).__name__}: {error}") from None


_Reader = Callable[[Any], Any]
_READERS: dict[Any, _Reader] = {}


def _reader(kind: Any) -> _Reader:
    """What reads values of a type; made once for each type."""
    known = _READERS.get(kind)
    return known if known is not None else _READERS.setdefault(kind, _make_reader(kind))


def _make_reader(kind: Any) -> _Reader:
    if kind is Any:
        return lambda plain: plain
    if kind is float:
        return _float
    if kind in _AS_IT_IS:
        return _plain_reader(kind)
    if kind is Group:
        return lambda plain: Group(tuple([(str(name), str(level)) for name, level in _list(plain)]))
    if kind is Undefined:
        return lambda plain: Undefined(str(_tagged(plain, "undefined")))
    if isinstance(kind, type) and get_origin(kind) is None:
        return _class_reader(kind)
    origin, inner = get_origin(kind), get_args(kind)
    while hasattr(origin, "__value__"):  # a type alias, as NumPy 2.5 declares NDArray
        origin = get_origin(origin.__value__)
    if origin in (Union, types.UnionType):
        return _union_reader(inner)
    if origin is Sequence or (origin is tuple and len(inner) == 2 and inner[1] is Ellipsis):
        entry = _reader(inner[0])
        return lambda plain: tuple([entry(part) for part in _list(plain)])
    if origin is tuple:
        readers = [_reader(part) for part in inner]
        return lambda plain: tuple([read(part) for read, part in zip(readers, _list(plain), strict=True)])
    if origin is np.ndarray:
        return _array
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return _mapping_reader(_reader(inner[0]), _reader(inner[1]))
    raise TypeError(f"no rule to read {kind!r} from JSON")


def _plain_reader(kind: type[Any]) -> _Reader:
    def read(plain: Any) -> Any:
        if type(plain) is not kind:
            raise ValueError(f"expected {'nothing' if kind is type(None) else kind.__name__}, found {plain!r}")
        return plain

    return read


def _class_reader(kind: type[Any]) -> _Reader:
    if issubclass(kind, tuple) and hasattr(kind, "_fields"):
        hints = get_type_hints(kind)
        readers = [_reader(hints[name]) for name in kind._fields]
        return lambda plain: kind(*(read(part) for read, part in zip(readers, _list(plain), strict=True)))
    if issubclass(kind, Enum):
        members = {entry.value: entry for entry in kind}
        return lambda plain: members[plain] if type(plain) is str and plain in members else kind(plain)
    if is_dataclass(kind):
        return _dataclass_reader(kind)
    if kind is Path:
        return lambda plain: Path(str(plain))
    if kind is np.ndarray:
        return _array
    raise TypeError(f"no rule to read {kind!r} from JSON")


def _mapping_reader(key: _Reader, entry: _Reader) -> _Reader:
    def read(plain: Any) -> Any:
        pairs = plain.items() if isinstance(plain, dict) else _list(plain)
        return {key(name): entry(value) for name, value in pairs}

    return read


def _union_reader(kinds: tuple[Any, ...]) -> _Reader:
    tagged = {tag: kind for tag, kind in _TAGGED.items() if kind in kinds}
    has_none, has_float = type(None) in kinds, float in kinds

    def read(plain: Any) -> Any:
        if plain is None and has_none:
            return None
        if type(plain) is float and has_float:
            return plain
        if isinstance(plain, dict) and len(plain) == 1 and (tag := next(iter(plain))) in tagged:
            return _reader(tagged[tag])(plain if tagged[tag] is Undefined else plain[tag])
        problems = []
        for kind in kinds:
            try:
                return _reader(kind)(plain)
            except (ValueError, TypeError) as error:
                problems.append(str(error))
        raise ValueError("; ".join(problems))

    return read


def _dataclass_reader(kind: type[Any]) -> _Reader:
    hints = get_type_hints(kind)
    types_of = {entry.name: hints[entry.name] for entry in fields(kind)}
    needed = {f.name for f in fields(kind) if f.default is MISSING and f.default_factory is MISSING}
    readers: dict[str, _Reader] = {}  # filled at the first value: a class may have fields of its own type

    def read(plain: Any) -> Any:
        if not isinstance(plain, dict):
            raise ValueError(f"expected the fields of {kind.__name__}, found {plain!r}")
        if not readers:
            readers.update({name: _reader(its) for name, its in types_of.items()})
        if not plain.keys() <= readers.keys():
            raise ValueError(f"{kind.__name__} has no field {sorted(set(plain) - set(readers))[0]!r}")
        if not needed <= plain.keys():
            raise ValueError(f"{kind.__name__} needs the field {sorted(needed - set(plain))[0]!r}, which is not there")
        values = {}
        for name, entry in plain.items():
            try:
                values[name] = readers[name](entry)
            except ValueError as error:
                raise ValueError(f"{kind.__name__}.{name}: {error}") from None
        return kind(**values)

    return read


def _float(plain: Any) -> float:
    if type(plain) is float:
        return plain
    if isinstance(plain, str) and plain in _NUMBERS:
        return _NUMBERS[plain]
    if isinstance(plain, bool) or not isinstance(plain, int | float):
        raise ValueError(f"expected a number, found {plain!r}")
    return float(plain)


def _tagged(plain: Any, tag: str) -> Any:
    if not isinstance(plain, dict) or set(plain) != {tag}:
        raise ValueError(f"expected an object with the one field {tag!r}, found {plain!r}")
    return plain[tag]


def _list(plain: Any) -> list[Any]:
    if not isinstance(plain, list):
        raise ValueError(f"expected a list, found {plain!r}")
    return plain


def _array(plain: Any) -> np.ndarray[Any, Any]:
    array = np.asarray(_list(plain))
    return array if array.dtype.kind in "iufb" else np.asarray(_unword(plain))


def _unword(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_unword(entry) for entry in plain]
    return _NUMBERS.get(plain, plain) if isinstance(plain, str) else plain
