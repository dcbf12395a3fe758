"""Confusion, checked on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand import evaluate_table
from evenhand.core.metric import Grid, Undefined
from evenhand.core.records import Records
from evenhand.metrics.labels import Confusion

METRIC = Confusion("race", ("a", "b", "c"))


def values(truth: list[int], answer: list[int]) -> dict[str, Any]:
    rows = Records({"truth": np.array(truth, dtype=int), "answer": np.array(answer, dtype=int)}, {})
    state = METRIC.measure(rows)
    return {output: column[0] for output, column in METRIC.result(state, state).items()}


def test_unknown_is_a_wrong_answer_and_not_a_class() -> None:
    found = values([0, 0, 1, 2], [0, 3, 1, 1])
    assert found["accuracy"] == 0.5
    assert found["unknown_rate"] == 0.25
    assert found["accuracy_answered_only"] == pytest.approx(2 / 3)
    assert found["precision:a"] == 1.0
    assert found["recall:a"] == 0.5
    assert found["f1:b"] == pytest.approx(2 / 3)
    assert found["macro_f1"] == pytest.approx((2 / 3 + 2 / 3 + 0) / 3)
    assert found["balanced_accuracy"] == pytest.approx((0.5 + 1 + 0) / 3)


def test_a_class_without_rows_enters_the_macro_average_with_zero() -> None:
    found = values([0, 1], [0, 1])
    assert found["macro_f1"] == pytest.approx(2 / 3)
    assert found["macro_f1_present_classes"] == 1.0


def test_the_matrix_has_a_column_for_unknown_and_adds_up_to_all_rows() -> None:
    grid = values([0, 0, 1, 2], [0, 9, 1, -1])["confusion"]
    assert isinstance(grid, Grid)
    assert grid.columns == ("a", "b", "c", "unknown")
    assert grid.values.tolist() == [[1, 0, 0, 1], [0, 1, 0, 0], [0, 0, 0, 1]]


def test_no_rows_give_no_values() -> None:
    assert all(isinstance(value, Undefined) for value in values([], []).values())


def test_a_true_class_that_is_not_declared_is_refused() -> None:
    with pytest.raises(ValueError, match="a true class outside"):
        values([3], [0])


def test_a_share_of_the_answered_rows_says_how_many_these_are() -> None:
    table = {"t": ["a", "b"] * 50, "p": ["a", "b", "a", None] * 25, "g": ["x"] * 40 + ["y"] * 60}
    results = evaluate_table(table, truth="t", prediction="p", by=["g"], draws=0, permutations=0).results
    rows = {name: [e.rows for e in results.of("labels", name)] for name in results.metrics[0].outputs}
    assert rows["accuracy_answered_only"] == [75, 30, 45]
    assert rows["precision:b"] == [25, 10, 15]
    assert rows["recall:b"] == [50, 20, 30]
    assert rows["accuracy"] == rows["unknown_rate"] == rows["macro_f1"] == [100, 40, 60]
