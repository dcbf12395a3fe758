"""Many objects of one shape as lines of JSON, written column by column.

An evaluation has tens of thousands of estimates and pairs with the same fields. Columns become the fields of light
objects, which are encoded together; a group or an enum that comes again is encoded once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
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
    """Lines of some dataclass objects of the same class; `plain` gives the JSON values of a field."""
    names = [field.name for field in fields(objects[0])]
    yield _lines({name: _column([getattr(one, name) for one in objects], plain) for name in names})


def lines_of_contrasts(contrasts: Contrasts, plain: Plain) -> Iterator[bytes]:
    """Lines of pairs of groups, some at a time, as `lines_of_objects` would write them."""
    for family in contrasts.families:
        if len(family):
            yield _family_lines(family, plain)


def _family_lines(family: Family, plain: Plain) -> bytes:
    groups: dict[int, Any] = {-1: None}
    for place in np.unique(np.concatenate([family.first, family.second])).tolist():
        groups[place] = msgspec.Raw(_encode(plain(family.groups[place])))
    return _lines(
        {
            "metric": _repeated(family.metric, family),
            "output": _repeated(family.output, family),
            "first": [groups[place] for place in family.first.tolist()],
            "second": [groups[place] for place in family.second.tolist()],
            "difference": family.difference.tolist(),  # what is not finite is null
            "low": family.low.tolist(),
            "high": family.high.tolist(),
            "p": family.p.tolist(),
            "adjusted": family.adjusted.tolist(),
            "verdict": _column(family.verdict, plain),
            "worse": [groups[place] for place in family.worse.tolist()],
            "test": family.test,
            "interval": family.interval,
            "family": _repeated(family.name, family),
            "family_size": _repeated(family.size, family),
            "correction": _repeated(family.correction, family),
            "effects": _effects(family),
            "detectable": family.detectable.tolist(),
            "margin": _repeated(family.margin, family),
            "shared_rows": family.shared_rows.tolist(),
            "notes": _column(family.notes, plain),
        }
    )


def _effects(family: Family) -> list[Any]:
    """The sizes of effects of each pair; those that are not there are left out."""
    if not family.effects:
        return _repeated({}, family)
    columns = {
        name: [value if isfinite(value) else msgspec.UNSET for value in values.tolist()]
        for name, values in family.effects.items()
    }
    return _objects(columns)


def _lines(columns: Mapping[str, Sequence[Any]]) -> bytes:
    """A line for each object with these fields, with a comma after all but the last."""
    return msgspec.json.Encoder().encode_lines(_objects(columns))[:-1].replace(b"\n", b",\n")


def _objects(columns: Mapping[str, Sequence[Any]]) -> list[Any]:
    kind = msgspec.defstruct("Line", list(columns), gc=False)
    return list(map(kind, *columns.values()))


def _column(values: Sequence[Any], plain: Plain) -> Sequence[Any]:
    """Values as JSON values: numbers and texts as they are, what comes again encoded once."""
    kinds = set(map(type, values))
    if kinds == {str} or (kinds <= _PLAIN_NUMBERS and all(isfinite(value) for value in values if value is not None)):
        return values
    known: dict[int, msgspec.Raw] = {}

    def encoded(value: Any) -> msgspec.Raw:
        text = known[id(value)] = msgspec.Raw(_encode(plain(value)))  # the same object, while the list holds it
        return text

    return [known.get(id(value)) or encoded(value) for value in values]


def _repeated(value: Any, family: Family) -> list[Any]:
    return [value] * len(family)
