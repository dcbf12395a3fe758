"""The serial engine, and the tree that adds."""

from __future__ import annotations

import pytest

from evenhand.core.engine import Done, Failed, Serial, Workplace, finished, total
from evenhand.core.errors import PartError


def invert(part: float, place: Workplace) -> float:
    return place.kept / part


def test_a_part_that_raises_stands_beside_the_finished_ones() -> None:
    outcomes = list(Serial().map(invert, [1.0, 0.0, 2.0], setup=lambda: 10.0))
    assert [type(outcome) for outcome in outcomes] == [Done, Failed, Done]
    assert "ZeroDivisionError" in outcomes[1].cause  # type: ignore[union-attr]  # it is the failed one


def test_all_values_are_given_before_the_failure_is_raised() -> None:
    seen: list[float] = []
    with pytest.raises(PartError, match=r"1 parts failed.*part 1: ZeroDivisionError"):
        seen.extend(finished(Serial().map(invert, [1.0, 0.0, 2.0], setup=lambda: 10.0)))
    assert seen == [10.0, 5.0]


class Pair:
    """Addition that shows the tree."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __add__(self, other: Pair) -> Pair:
        return Pair(f"({self.text}{other.text})")


def test_the_tree_depends_on_the_number_of_parts_only() -> None:
    whole = total(Pair(letter) for letter in "abcdefg")
    assert whole is not None
    assert whole.text == "(((ab)(cd))((ef)g))"
    assert total([]) is None
