"""Rows, attributes, groups and how they select."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core import records
from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.membership import groups_of
from evenhand.core.records import (
    EVERYONE,
    MISSING,
    Attribute,
    Group,
    LazyColumns,
    Records,
    concatenate,
    distinct,
    unique_codes,
)

TONES = ("light", "dark")


def rows_of(*tones: str | None) -> Records:
    return Records({"item": np.arange(len(tones))}, {"tone": Attribute.of(tones, TONES)})


def test_a_group_keeps_its_members() -> None:
    assert rows_of("light", "dark", "dark").select(Group.of(tone="dark"))["item"].tolist() == [1, 2]


def test_rows_to_which_the_attribute_does_not_apply_stay_in_every_group() -> None:
    tone = Attribute.coded(np.array([0, 1, -1]), TONES)
    rows = Records({"item": np.arange(3)}, {"tone": tone})
    assert rows.select(Group.of(tone="light"))["item"].tolist() == [0, 2]
    assert rows.select(Group.of(tone="dark"))["item"].tolist() == [1, 2]
    assert rows.members(Group.of(tone="dark")).tolist() == [False, True, False]


def test_an_unannotated_row_belongs_to_no_level_and_to_the_group_missing() -> None:
    rows = rows_of("light", None, "")
    assert len(rows.select(Group.of(tone="light"))) == 1
    assert rows.select(Group.of(tone=MISSING))["item"].tolist() == [1, 2]


def test_a_row_with_two_levels_is_in_both_groups_and_in_every_product() -> None:
    ancestry = Attribute.many([{"Africa", "Asia"}, {"Asia"}], ("Africa", "Asia", "Europe"))
    rows = Records({"item": np.arange(2)}, {"ancestry": ancestry, "tone": Attribute.of(["dark", "dark"], TONES)})
    assert rows.members(Group.of(ancestry="Africa")).tolist() == [True, False]
    assert rows.members(Group.of(ancestry="Asia")).tolist() == [True, True]
    assert rows.members(Group.of(ancestry="Africa", tone="dark")).tolist() == [True, False]


def test_declared_levels_without_rows_are_listed_as_groups() -> None:
    found = groups_of(rows_of("dark", "dark"), ["tone"])
    assert found == (EVERYONE, Group.of(tone="light"), Group.of(tone="dark"))


def test_missing_is_listed_only_where_something_is_missing_and_only_alone() -> None:
    rows = Records(
        {"item": np.arange(2)},
        {"tone": Attribute.of(["dark", None], TONES), "sex": Attribute.of(["f", "m"], ("f", "m"))},
    )
    names = [str(group) for group in groups_of(rows, ["tone", "sex"], depth=2)]
    assert names == [
        "everyone",
        "tone=light",
        "tone=dark",
        "tone=(missing)",
        "sex=f",
        "sex=m",
        "tone=light × sex=f",
        "tone=light × sex=m",
        "tone=dark × sex=f",
        "tone=dark × sex=m",
    ]


def test_groups_keep_the_declared_order_and_not_the_alphabet() -> None:
    ages = ("9-12", "13-17", "100+")
    rows = Records({}, {"age": Attribute.of(["100+"], ages)})
    assert [group.terms[0][1] for group in groups_of(rows, ["age"])[1:]] == list(ages)


def test_an_unknown_level_names_the_nearest() -> None:
    with pytest.raises(UnknownNameError, match="Did you mean 'light'"):
        Attribute.of(["lihgt"], TONES)
    with pytest.raises(UnknownNameError, match="There is no level 'drak'"):
        rows_of("dark").select(Group.of(tone="drak"))


def test_an_unknown_attribute_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="Known: tone"):
        rows_of("dark").select(Group.of(tome="dark"))
    with pytest.raises(UnknownNameError, match="There is no attribute 'age'"):
        groups_of(rows_of("dark"), ["age"])


def test_an_unknown_column_names_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="There is no column 'scores'"):
        rows_of("dark")["scores"]


def test_a_code_outside_the_levels_is_refused() -> None:
    with pytest.raises(OptionError, match="2 levels"):
        Attribute.coded(np.array([3]), TONES)


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="unequal length"):
        Records({"a": np.arange(2), "b": np.arange(3)}, {})


def test_parts_join_even_when_their_patterns_were_met_in_another_order() -> None:
    levels = ("a", "b", "c")
    first = Records({}, {"x": Attribute.many([{"a"}, {"b", "c"}], levels)})
    second = Records({}, {"x": Attribute.many([{"b", "c"}, None, {"a"}, ()], levels)})
    joined = concatenate([first, second])
    expected = np.concatenate([first.attributes["x"].member, second.attributes["x"].member])
    assert (joined.attributes["x"].member == expected).all()
    assert joined.attributes["x"].applies.tolist() == [True, True, True, False, True, True]


def test_parts_with_other_columns_or_levels_are_refused() -> None:
    with pytest.raises(ValueError, match="different columns"):
        concatenate([rows_of("dark"), Records({"item": np.arange(1)}, {})])
    other = Records({"item": np.arange(1)}, {"tone": Attribute.of(["x"], ("x",))})
    with pytest.raises(ValueError, match="different levels"):
        concatenate([rows_of("dark"), other])


@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(seed=st.integers(0, 10**6), n=st.integers(0, 50), text=st.booleans(), wide=st.booleans())
def test_distinct_combinations_are_those_that_occur(seed: int, n: int, text: bool, wide: bool) -> None:
    rng = np.random.default_rng(seed)
    unit = rng.integers(-5, 10**9 if wide else 5, n)
    x, y = rng.integers(-1, 4, n), rng.integers(-1, 3, n)
    rows = Records(
        {"unit": unit.astype(str) if text else unit},
        {"x": Attribute.coded(x, ("a", "b", "c")), "y": Attribute.coded(y, ("p", "q"))},
    )
    index, cells = distinct(rows, ["x", "y"], ["unit"])
    triples = list(zip(rows["unit"].tolist(), x.tolist(), y.tolist(), strict=True))
    assert len(cells) == len(set(triples))
    found = list(
        zip(
            cells["unit"].tolist(),
            cells.attributes["x"].codes.tolist(),
            cells.attributes["y"].codes.tolist(),
            strict=True,
        )
    )
    assert [found[i] for i in index] == triples
    assert cells["rows"].tolist() == [triples.count(cell) for cell in found]


@pytest.mark.parametrize("is_constant", [True, False])
def test_combinations_are_the_same_when_their_table_would_be_large(
    monkeypatch: pytest.MonkeyPatch, is_constant: bool
) -> None:
    rng = np.random.default_rng(4)
    first, second = rng.integers(0, 30, 2000), rng.integers(0, 40, 2000)
    tone = (first + second) % 3 if is_constant else rng.integers(-1, 3, 2000)
    attributes = {"tone": Attribute.coded(tone, ("a", "b", "c")), "age": Attribute.coded(first % 2, ("old", "young"))}
    rows = Records({"unit": first, "unit_b": second}, attributes)
    index, cells = distinct(rows, ["tone", "age"], ["unit", "unit_b"])
    monkeypatch.setattr(records, "_LARGE_SPAN", 1)
    again, same = distinct(rows, ["tone", "age"], ["unit", "unit_b"])
    np.testing.assert_array_equal(again, index)
    for name in ("unit", "unit_b", "rows"):
        np.testing.assert_array_equal(same[name], cells[name])
    for name in attributes:
        np.testing.assert_array_equal(same.attributes[name].codes, cells.attributes[name].codes)


def test_distinct_survives_more_combinations_than_an_integer_can_count() -> None:
    levels = tuple(f"l{i}" for i in range(1000))
    attributes = {f"a{i}": Attribute.coded(np.array([-1, 7, 7, 999]), levels) for i in range(8)}
    index, cells = distinct(Records({}, attributes), list(attributes))
    assert len(cells) == 3
    assert index[1] == index[2]
    assert cells.attributes["a3"].codes[index].tolist() == [-1, 7, 7, 999]


def test_unique_codes_of_far_apart_integers_and_texts() -> None:
    for column in (np.array([10**12, 3, 10**12]), np.array(["b", "a", "b"]), np.array([], dtype=np.int64)):
        values, codes = unique_codes(column)
        assert (values[codes] == column).all()


def test_a_group_reads_as_a_sentence() -> None:
    assert str(Group.of(age="70+", tone="dark")) == "age=70+ × tone=dark"
    assert Group.of(age=MISSING).is_missing
    assert Group.of(age="70+", tone="dark").by == ("age", "tone")


def test_a_lazy_column_is_made_when_it_is_first_looked_at_and_once() -> None:
    made = []

    def items() -> np.ndarray:
        made.append(1)
        return np.arange(3)

    rows = Records(LazyColumns(3, {"item": items, "hit": np.array([1, 0, 1])}), {})
    assert len(rows) == 3
    assert "item" in rows
    assert not made
    assert rows["item"].tolist() == rows["item"].tolist() == [0, 1, 2]
    assert rows.take(np.array([2]))["item"].tolist() == [2]
    assert len(made) == 1


def test_lazy_columns_must_have_the_rows_of_the_attributes() -> None:
    with pytest.raises(ValueError, match="unequal length"):
        Records(LazyColumns(3, {"item": lambda: np.arange(3)}), {"tone": Attribute.of(["light"], TONES)})
