"""Lines written column by column are those that one object after the other would give."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import msgspec
import numpy as np
import pytest

from evenhand.core.contrasts import Contrasts, Family
from evenhand.core.metric import Curve, Undefined
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Contrast, Estimate, Results, Status, Verdict
from evenhand.store.plain import dumps_lines, from_plain, loads, to_plain

GROUPS = (Group.of(tone="50 % «light»"), Group.of(tone='da"rk,'), Group.of(tone="medium\n"))


def one_by_one(objects: Any) -> bytes:
    return b'{\n"entries": [\n%b\n]\n}\n' % b",\n".join(msgspec.json.encode(to_plain(one)) for one in objects)


def families(effects: dict[str, Any]) -> Contrasts:
    numbers = np.array([0.1, np.nan, -1e-300])
    family = Family(
        "AR %", "recall, all", "AR, single", 3, "holm", None, GROUPS, np.array([0, 0, 1]), np.array([1, 2, 2]),
        numbers, numbers - 1, numbers + 1, np.abs(numbers), np.abs(numbers), numbers,
        [Verdict.DIFFERENT, None, Verdict.UNDECIDED], np.array([1, -1, 2]), ["a,b", "a,b", "c"], ["x", "y", "z"],
        np.array([0, 7, 0]), [(), ("7 rows, in both", "more"), ()], effects,
    )  # fmt: skip
    return Contrasts((family, replace(family, first=np.zeros(0, int), second=np.zeros(0, int), verdict=[])))


@pytest.mark.parametrize(
    "effects", [{}, {"ratio": np.array([1.0, 2.0, 3.0])}, {"h": np.array([1.0, np.nan, 3.0]), "g": np.full(3, np.nan)}]
)
def test_pairs_in_columns_give_the_lines_of_their_objects(effects: dict[str, Any]) -> None:
    found = families(effects)
    assert dumps_lines({"entries": found}) == one_by_one(found)
    text = dumps_lines({"contrasts": found})
    assert text == dumps_lines({"contrasts": tuple(found)})
    assert from_plain(loads(text)["contrasts"], tuple[Contrast, ...]) == tuple(found)


def test_estimates_of_every_kind_give_the_lines_of_their_objects() -> None:
    curve = Curve(np.array([0.0, 1.0]), np.array([np.nan, np.inf]), "x", "y")
    values: list[Any] = [0.25, float("inf"), Undefined("no faces"), curve, 1e22]
    found = [
        Estimate("m", "o", group, value, low, None, rows, 2, "t", status, events=events, notes=notes)
        for group, value, low, rows, status, events, notes in zip(
            [EVERYONE, *GROUPS, EVERYONE],
            values,
            [0.0, None, float("nan"), 1.0, 2.0],
            [1, 2, 3, 4, 2**40],
            [*Status, Status.OK, Status.SMALL],
            [None, 3, None, 5, 6],
            [(), ("a",), (), ("a", "b"), ("a",)],
            strict=True,
        )
    ]
    assert dumps_lines({"entries": found}) == one_by_one(found)


def test_no_pairs_are_an_empty_list() -> None:
    assert json.loads(dumps_lines({"contrasts": Contrasts(), "by": ()})) == {"contrasts": [], "by": []}
    assert Results.__dataclass_fields__["contrasts"].default == ()
