"""Many objects of one shape as lines of JSON, written column by column.

An evaluation has tens of thousands of estimates and pairs with the same fields. A column of numbers is encoded in
one call, a text or a group that comes again is encoded once; what is left for each line is to put the pieces
together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import fields
from math import isfinite
from typing import Any

import msgspec
import numpy as np

from evenhand.core.contrasts import Contrasts, Family

Plain = Callable[[Any], Any]
_encode = msgspec.json.encode
_PLAIN_NUMBERS = frozenset({int, float, type(None)})


def lines_of_objects(objects: Sequence[Any], plain: Plain) -> Iterator[bytes]:
    """A line for each of some dataclass objects of the same class; `plain` gives the JSON values of a field."""
    names = [field.name for field in fields(objects[0])]
    return _lines(names, [_encoded([getattr(one, name) for one in objects], plain) for name in names])


def lines_of_contrasts(contrasts: Contrasts, plain: Plain) -> Iterator[bytes]:
    """A line for each pair of groups, as `lines_of_objects` would write them."""
    for family in contrasts.families:
        if len(family):
            yield from _family_lines(family, plain)


def _family_lines(family: Family, plain: Plain) -> Iterator[bytes]:
    groups: dict[int, bytes] = {-1: b"null"}
    for place in np.unique(np.concatenate([family.first, family.second])).tolist():
        groups[place] = _encode(plain(family.groups[place]))
    columns: dict[str, list[bytes]] = {
        "metric": _repeated(family.metric, family),
        "output": _repeated(family.output, family),
        "first": [groups[place] for place in family.first.tolist()],
        "second": [groups[place] for place in family.second.tolist()],
        "difference": _numbers(family.difference),
        "low": _numbers(family.low),
        "high": _numbers(family.high),
        "p": _numbers(family.p),
        "adjusted": _numbers(family.adjusted),
        "verdict": _encoded(family.verdict, plain),
        "worse": [groups[place] for place in family.worse.tolist()],
        "test": _encoded(family.test, plain),
        "interval": _encoded(family.interval, plain),
        "family": _repeated(family.name, family),
        "family_size": _repeated(family.size, family),
        "correction": _repeated(family.correction, family),
        "effects": _effects(family),
        "detectable": _numbers(family.detectable),
        "margin": _repeated(family.margin, family),
        "shared_rows": _split(family.shared_rows.tolist()),
        "notes": _encoded(family.notes, plain),
    }
    return _lines(list(columns), list(columns.values()))


def _effects(family: Family) -> list[bytes]:
    """The sizes of effects of each pair; those that are not there are left out."""
    columns = {name: _numbers(values) for name, values in family.effects.items()}
    if all(bool(np.isfinite(values).all()) for values in family.effects.values()):
        return list(_lines(list(columns), list(columns.values()))) if columns else [b"{}"] * len(family)
    heads = [_encode(name) + b":" for name in columns]
    return [
        b"{" + b",".join(head + value for head, value in zip(heads, row, strict=True) if value != b"null") + b"}"
        for row in zip(*columns.values(), strict=True)
    ]


def _lines(names: Sequence[str], columns: Sequence[Sequence[bytes]]) -> Iterator[bytes]:
    """Objects with these fields, from the encoded values of each."""
    head = b",".join(_encode(name).replace(b"%", b"%%") + b":%b" for name in names)
    shape = b"{" + head + b"}"
    return (shape % row for row in zip(*columns, strict=True))


def _encoded(values: Sequence[Any], plain: Plain) -> list[bytes]:
    """Each value as JSON: numbers all at once, what comes again once."""
    kinds = set(map(type, values))
    if kinds <= _PLAIN_NUMBERS and all(isfinite(value) for value in values if value is not None):
        return _split(list(values))
    if kinds == {str}:
        texts = {value: _encode(value) for value in set(values)}
        return [texts[value] for value in values]
    known: dict[int, bytes] = {}

    def encoded(value: Any) -> bytes:
        text = known[id(value)] = _encode(plain(value))  # the same object, while the list holds it
        return text

    return [known.get(id(value)) or encoded(value) for value in values]


def _numbers(values: np.ndarray[Any, Any]) -> list[bytes]:
    """Numbers as JSON; null where there is none."""
    return _split(values.tolist())


def _split(numbers: list[Any]) -> list[bytes]:
    return _encode(numbers)[1:-1].split(b",") if numbers else []  # what is not finite is null


def _repeated(value: Any, family: Family) -> list[bytes]:
    return [_encode(value)] * len(family)
