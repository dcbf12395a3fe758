"""Why two numbers differ."""

import numpy as np

from evenhand.core.records import Attribute, Records
from evenhand.store.differences import Change, compare_rows


def rows(items: list[str], score: list[float], tone: list[str | None] | None = None, **more: object) -> Records:
    attributes = {} if tone is None else {"tone": Attribute.of(tone, ("light", "dark"))}
    return Records(
        {"item": np.array(items), "score": np.array(score), **{k: np.array(v) for k, v in more.items()}}, attributes
    )


def test_the_worst_change_comes_first():
    before = rows(["a", "b", "c"], [0.0, 0.5, 1.0])
    after = rows(["a", "b", "c"], [0.1, 0.5, 0.2])
    found = compare_rows(before, after)
    assert [(change.item, round(change.size, 9)) for change in found.worst] == [("c", 0.8), ("a", 0.1)]
    assert (found.same, found.changed) == (1, 2)


def test_rows_are_matched_by_what_they_are_about_and_not_by_place():
    found = compare_rows(rows(["a", "b"], [0.1, 0.2]), rows(["b", "a"], [0.2, 0.1]))
    assert (found.same, found.changed) == (2, 0)


def test_rows_of_one_item_are_told_apart_by_kind_and_by_order():
    before = rows(["a", "a", "a"], [0.1, 0.2, 0.3], kind=["hit", "false alarm", "false alarm"])
    after = rows(["a", "a", "a"], [0.2, 0.9, 0.1], kind=["false alarm", "false alarm", "hit"])
    found = compare_rows(before, after)
    assert found.same == 2
    assert found.worst[0].kind == "false alarm"
    assert found.worst[0].columns == (Change("score", 0.3, 0.9),)


def test_rows_of_one_item_are_named_by_the_attribute_that_tells_them_apart():
    before = rows(["a", "a", "b"], [0.1, 0.2, 0.3], ["light", "dark", "dark"])
    after = rows(["a", "a", "b"], [0.1, 0.9, 0.4], ["light", "dark", "dark"])
    assert [change.item for change in compare_rows(before, after).worst] == ["a, tone dark", "b"]


def test_rows_of_one_run_alone_are_counted_and_named():
    found = compare_rows(rows(["a", "b"], [1, 2]), rows(["b", "c", "d"], [2, 3, 4]))
    assert (found.only_first, found.only_second) == (1, 2)
    assert [change.item for change in found.missing_second] == ["a"]
    assert [change.item for change in found.missing_first] == ["c", "d"]


def test_a_changed_attribute_is_a_change():
    found = compare_rows(rows(["a", "b"], [1, 1], ["dark", None]), rows(["a", "b"], [1, 1], ["dark", "light"]))
    assert found.worst[0].columns == (Change("tone", "(missing)", "light"),)


def test_what_is_not_a_number_in_both_is_the_same_and_in_one_is_a_change():
    found = compare_rows(rows(["a", "b"], [np.nan, np.nan]), rows(["a", "b"], [np.nan, 0.5]))
    assert (found.same, found.changed, found.worst[0].size) == (1, 1, 1.0)


def test_items_of_another_type_are_matched_by_their_text():
    before = Records({"item": np.array([1, 2]), "hit": np.array([True, False])}, {})
    after = Records({"item": np.array(["2", "1"]), "hit": np.array([True, True])}, {})
    assert [change.item for change in compare_rows(before, after).worst] == ["2"]


def test_vectors_are_compared_by_their_largest_change():
    before = Records({"item": np.array([1, 2]), "v": np.array([[0.0, 0.0], [1.0, 0.0]])}, {})
    after = Records({"item": np.array([1, 2]), "v": np.array([[0.0, 0.5], [1.0, 0.0]])}, {})
    assert compare_rows(before, after).worst[0].size == 0.5


def test_no_rows_are_no_changes():
    assert compare_rows(rows([], []), rows([], [])).changed == 0


def test_the_list_is_cut_and_the_count_is_not():
    before = rows([str(n) for n in range(50)], [0.0] * 50)
    after = rows([str(n) for n in range(50)], [1.0] * 50)
    found = compare_rows(before, after, most=3)
    assert (found.changed, [change.item for change in found.worst]) == (50, ["0", "1", "2"])
