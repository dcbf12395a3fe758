"""Stated confidence against right answers."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.metric import Grid, Undefined
from evenhand.core.records import Records
from evenhand.metrics.reliability import Reliability

METRIC = Reliability("confidence")


def judged(confidence: list[float], right: list[bool]) -> dict[str, object]:
    state = METRIC.measure(Records({"confidence": np.array(confidence), "right": np.array(right)}, {}))
    return {name: column[0] for name, column in METRIC.result(state, state).items()}


def test_the_error_is_the_mean_distance_between_stated_and_right() -> None:
    found = judged([0.95, 0.95, 0.65, 0.65], [True, False, True, True])
    assert found["expected_calibration_error"] == pytest.approx((2 * 0.45 + 2 * 0.35) / 4)
    assert found["mean_confidence"] == pytest.approx(0.8)


def test_only_bins_with_answers_are_listed() -> None:
    table = judged([1.0, 0.0, 0.05], [True, False, True])["reliability"]
    assert isinstance(table, Grid)
    assert table.rows == ("0–0.1", "0.9–1")
    assert table.values.tolist() == [[2.0, 0.025, 0.5], [1.0, 1.0, 1.0]]


def test_answers_without_a_confidence_are_left_out_and_counted() -> None:
    state = METRIC.measure(Records({"confidence": np.array([np.nan, 0.5]), "right": np.array([True, True])}, {}))
    assert METRIC.missing(state).tolist() == [1]
    assert METRIC.result(state, state)["mean_confidence"][0] == 0.5


def test_nothing_stated_is_undefined() -> None:
    found = judged([float("nan")], [True])
    assert isinstance(found["expected_calibration_error"], Undefined)
    assert isinstance(found["reliability"], Undefined)
