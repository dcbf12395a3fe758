"""Means and rates, checked on paper."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.metric import Direction, Numbers, Undefined
from evenhand.core.records import Records
from evenhand.metrics.means import Mean, Missing, Rate

ROWS = Records({"value": np.array([1.0, np.nan, 4.0]), "hit": np.array([1, 0, 1]), "asked": np.array([1, 1, 0])}, {})


def value(metric: Mean | Rate) -> float | Undefined:
    state = metric.measure(ROWS)
    column = metric.result(state, state)[metric.output]  # type: ignore[arg-type]  # one of the two
    assert isinstance(column, Numbers)
    return column[0]


def test_a_missing_value_is_left_out_and_counted_by_default() -> None:
    metric = Mean("m", "value")
    assert value(metric) == 2.5
    counted = metric.missing(metric.measure(ROWS))
    assert counted is not None
    assert counted.tolist() == [1]


def test_a_missing_value_can_make_the_mean_undefined_or_count_as_a_number() -> None:
    assert value(Mean("m", "value", missing_policy=Missing.FAIL)) == Undefined("1 rows could not be measured")
    assert value(Mean("m", "value", Direction.LOWER, 10.0)) == 5.0
    assert Mean("m", "value", missing_policy=10.0).row_scores(ROWS).tolist() == [1.0, 10.0, 4.0]


def test_a_rate_may_count_only_some_rows() -> None:
    assert value(Rate("r", "hit")) == pytest.approx(2 / 3)
    assert value(Rate("r", "hit", among="asked")) == 0.5
    assert value(Rate("r", "hit", equals=0)) == pytest.approx(1 / 3)
