"""Macro averages over strata."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.metric import Curve, Numbers, Undefined
from evenhand.core.records import Records
from evenhand.metrics.means import Rate
from evenhand.metrics.strata import Stratified
from evenhand.metrics.verification import Separation, Verification

ROWS = Records({"hit": np.array([1, 1, 0, 1], dtype=bool), "part": np.array([0, 0, 1, 1])}, {})


def test_every_stratum_counts_once_however_many_rows_it_has() -> None:
    metric = Stratified("AR", Rate("r", "hit"), "part", ("face", "hand", "foot"))
    state = metric.measure(ROWS)
    found = metric.result(state, state)
    assert [found[name][0] for name in ("rate", "rate:face", "rate:hand")] == [0.75, 1.0, 0.5]
    assert found["rate:foot"][0] == Undefined("no row counts")


def test_the_mean_may_ask_for_all_strata() -> None:
    metric = Stratified("AR", Rate("r", "hit"), "part", ("face", "hand", "foot"), minimum=3)
    state = metric.measure(ROWS)
    column = metric.result(state, state)["rate"]
    assert isinstance(column, Numbers)
    assert column[0] == Undefined("fewer than 3 of part have a value")


def test_a_stratum_that_is_not_declared_is_refused() -> None:
    with pytest.raises(ValueError, match="a stratum outside"):
        Stratified("AR", Rate("r", "hit"), "part", ("face",)).measure(ROWS)


def test_curves_stand_by_stratum_and_have_no_mean() -> None:
    score = np.array([0.9, 0.4, 0.5, 0.1, 0.8, 0.2])
    columns = {"score": score, "same": np.array([1, 0, 1, 0, 1, 0], bool), "split": np.array([0, 0, 0, 0, 1, 1])}
    metric = Stratified("1:1", Separation("1:1"), "split", ("first", "second"))
    state = metric.measure(Records(columns, {}))
    found = metric.result(state, state)
    assert isinstance(found["ROC"][0], Undefined)
    assert isinstance(found["ROC:second"][0], Curve)
    assert found["AUC"][0] == 1.0


def test_strata_of_metrics_that_keep_the_same_share_one_state() -> None:
    one, other = (Stratified("m", of, "split", ("a", "b")) for of in (Separation("s"), Verification("v")))
    assert one.keeps == other.keeps is not None
    assert Stratified("AR", Rate("r", "hit"), "part", ("face",)).keeps is None
