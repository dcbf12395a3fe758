"""One-to-one verification: worked examples that can be checked on paper."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark as ijb
from evenhand.benchmarks.pairs import benchmark as pairs
from evenhand.benchmarks.table import benchmark as table
from evenhand.core.metric import Curve, Numbers, Undefined
from evenhand.core.records import Attribute, Group, Records
from evenhand.core.sparse import Product, SparseMatrix
from evenhand.metrics import operating_points
from evenhand.metrics.operating_points import (
    Convention,
    CurveStretch,
    SortedScores,
    allowed_accepts,
    area_under_roc,
    corner_points,
    equal_error_rate,
    exact_threshold,
    kept_points,
    rates_at,
    rates_by_convention,
    tar_at_far,
)
from evenhand.metrics.verification import Separation, Verification, fmr_name, fnmr_name, misplacement, tar_name
from evenhand.store.frames import worst_rows

GENUINE = SortedScores.of(np.array([0.9, 0.8, 0.6, 0.3]))
IMPOSTOR = SortedScores.of(np.array([0.7, 0.5, 0.5, 0.2, 0.1]))


def rows(score: list[float], same: list[bool], dtype: type = np.float32) -> Records:
    return Records({"score": np.array(score, dtype=dtype), "same": np.array(same)}, {})


def test_measuring_leaves_the_rows_as_they_are() -> None:
    some = rows([0.3, 0.9, 0.1, 0.5], [True, True, False, False])
    state = Verification("1:1").measure(some)
    assert state.genuine.score.tolist() == sorted(state.genuine.score.tolist())
    np.testing.assert_array_equal(some["score"], np.array([0.3, 0.9, 0.1, 0.5], dtype=np.float32))


def test_the_allowed_number_of_false_accepts_loses_none_to_rounding() -> None:
    assert allowed_accepts(8_000_000, 1e-5) == 80
    assert allowed_accepts(10, 0.3) == 3  # 0.3 · 10 is 3.0000000000000004 or less, never mind
    assert allowed_accepts(5, 0.0) == 0
    assert allowed_accepts(5, 1.0) == 5


def test_exact_takes_a_block_of_tied_impostors_whole_or_not_at_all() -> None:
    at_two_fifths = tar_at_far(GENUINE, IMPOSTOR, 0.4)
    assert at_two_fifths.tar == 0.75  # only the impostor at 0.7 passes: the two at 0.5 would make three
    assert at_two_fifths.fmr == 0.2
    assert at_two_fifths.threshold == 0.6
    assert tar_at_far(GENUINE, IMPOSTOR, 0.6).fmr == 0.6


def test_no_false_accept_is_allowed_at_rate_zero() -> None:
    found = tar_at_far(GENUINE, IMPOSTOR, 0.0)
    assert (found.tar, found.threshold, found.false_accepts) == (0.5, 0.8, 0)


def test_the_threshold_is_infinite_when_nothing_may_be_accepted() -> None:
    assert exact_threshold(SortedScores.of(np.array([0.1])), SortedScores.of(np.array([0.5])), 0.0) == np.inf


def test_a_threshold_at_an_impostors_score_never_beats_exact() -> None:
    for rate in (0.0, 0.2, 0.4, 0.6, 1.0):
        restricted = tar_at_far(GENUINE, IMPOSTOR, rate, Convention.AT_IMPOSTOR)
        assert restricted.tar <= tar_at_far(GENUINE, IMPOSTOR, rate).tar


def test_the_nearest_point_can_exceed_the_rate_that_was_asked() -> None:
    found = tar_at_far(GENUINE, IMPOSTOR, 0.15, Convention.NEAREST_FULL_CURVE)
    assert found.fmr == 0.2


def test_linear_interpolates_where_both_classes_tie() -> None:
    genuine, impostor = SortedScores.of(np.array([0.5, 0.5])), SortedScores.of(np.array([0.5, 0.1]))
    assert tar_at_far(genuine, impostor, 0.25, Convention.LINEAR).tar == 0.5


def test_the_area_counts_ties_half() -> None:
    assert area_under_roc(SortedScores.of(np.array([0.5])), SortedScores.of(np.array([0.5]))) == 0.5


def test_the_equal_error_rate_lies_where_the_errors_meet() -> None:
    assert equal_error_rate(GENUINE, IMPOSTOR) == pytest.approx(0.25)
    assert equal_error_rate(SortedScores.of(np.array([0.9])), SortedScores.of(np.array([0.1]))) == 0.0


def test_corner_points_carry_all_of_the_curve() -> None:
    rng = np.random.default_rng(4)
    genuine = SortedScores.of(np.round(rng.normal(1, 1, 40), 1))
    impostor = SortedScores.of(np.round(rng.normal(0, 1, 300), 1))
    false, true, _ = CurveStretch.of(genuine, impostor, 0, impostor.length)[:3]
    x, y, _ = corner_points(genuine, impostor)
    assert len(x) <= 2 * 40 + 2
    area = np.trapezoid(true / genuine.total, false / impostor.total)
    assert np.trapezoid(y, x) == pytest.approx(area)
    assert area_under_roc(genuine, impostor) == pytest.approx(area)


def test_the_reduced_curve_is_that_of_scikit_learn() -> None:
    # sklearn.metrics.roc_curve([0, 0, 1, 1], [0.1, 0.4, 0.35, 0.8])
    genuine, impostor = SortedScores.of(np.array([0.35, 0.8])), SortedScores.of(np.array([0.1, 0.4]))
    curve = CurveStretch.of(genuine, impostor, 0, impostor.length)[:3]
    kept = kept_points(*curve[:2])
    false, true, threshold = (column[kept] for column in curve)
    assert (false / 2).tolist() == [0.0, 0.0, 0.5, 0.5, 1.0]
    assert (true / 2).tolist() == [0.0, 0.5, 0.5, 1.0, 1.0]
    assert threshold.tolist() == [np.inf, 0.8, 0.4, 0.35, 0.1]


def test_without_genuine_or_impostor_comparisons_nothing_is_defined() -> None:
    nobody = SortedScores.of(np.zeros(0))
    for convention in Convention:
        assert np.isnan(rates_at(nobody, IMPOSTOR, [0.1], convention)[0].tar)
        assert np.isnan(rates_at(GENUINE, nobody, [0.1], convention)[0].tar)
    assert np.isnan(area_under_roc(nobody, IMPOSTOR))
    assert np.isnan(equal_error_rate(GENUINE, nobody))


def test_a_failure_to_enrol_is_never_accepted_but_stays_in_the_denominator() -> None:
    table = rows([0.9, -np.inf, 0.1, -np.inf], [True, True, False, False])
    metric = Verification("1:1", far=(1.0,))
    state = metric.measure(table)
    values = metric.result(state, state)
    assert values[tar_name(1.0)][0] == 0.5
    assert values[fmr_name(1.0)][0] == 0.5
    assert metric.missing(state) is None


def test_excluded_failures_leave_both_rates_and_are_counted_as_missing() -> None:
    table = rows([0.9, -np.inf, 0.1, -np.inf], [True, True, False, False])
    metric = Verification("1:1", far=(1.0,), failures="exclude")
    state = metric.measure(table)
    assert metric.result(state, state)[tar_name(1.0)][0] == 1.0
    missing = metric.missing(state)
    assert missing is not None
    assert missing.tolist() == [2]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_group_is_judged_at_the_threshold_that_was_set_on_all(dtype: type) -> None:
    table = rows([0.9, 0.2, 0.6, 0.1, 0.5, 0.0], [True, True, False, False, False, False], dtype)
    tone = Attribute.of(["a", "b", "b", "b", "a", "a"], ("a", "b"))
    table = Records(table.columns, {"tone": tone})
    metric = Verification("1:1", far=(0.25,))
    whole = metric.measure(table)
    b = metric.measure(table.select(Group.of(tone="b")))
    values = metric.result(b, whole)  # overall one of four impostors may pass: threshold 0.6
    assert values[fmr_name(0.25)][0] == 0.5
    assert values[fnmr_name(0.25)][0] == 1.0
    assert values[tar_name(0.25)][0] == 0.0  # at its own threshold: none of two


def test_operating_points_say_what_was_reached() -> None:
    metric = Verification("1:1", far=(0.4,), conventions=(Convention.EXACT, Convention.NEAREST))
    state = metric.measure(rows([0.9, 0.8, 0.6, 0.3, 0.7, 0.5, 0.5, 0.2, 0.1], [True] * 4 + [False] * 5, np.float64))
    point = metric.points(state, state)[tar_name(0.4)][0]
    assert point is not None
    assert (point.convention, point.asked, point.realised, point.events) == ("exact", 0.4, 0.2, 1)


def test_a_group_without_genuine_pairs_says_so() -> None:
    metric = Verification("1:1", far=(0.1,))
    state = metric.measure(rows([0.1], [False]))
    value = metric.result(state, state)[tar_name(0.1)][0]
    assert value == Undefined("no genuine comparisons")


def test_separation_gives_curves_from_corner_to_corner() -> None:
    metric = Separation("1:1")
    state = metric.measure(rows([0.9, 0.4, 0.5, 0.1], [True, True, False, False]))
    values = metric.result(state, state)
    curve = values["ROC"][0]
    assert isinstance(curve, Curve)
    assert (curve.x[0], curve.y[0], curve.x[-1], curve.y[-1]) == (0.0, 0.0, 1.0, 1.0)
    assert isinstance(values["AUC"], Numbers)
    assert values["AUC"][0] == 0.75


def test_a_score_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="not a number"):
        Verification("1:1").measure(rows([np.nan], [True]))


def test_products_that_are_not_multiplied_out_give_the_same_draws() -> None:
    rng = np.random.default_rng(6)
    same = rng.random(300) < 0.3
    table = rows(np.round(rng.normal(size=300) + same, 1).tolist(), same.tolist())
    cells = rng.integers(0, 40, 300)
    pattern = np.arange(40) % 3
    draws = rng.integers(0, 3, (2, 40)).astype(float)
    spread = np.concatenate([draw * (pattern == np.arange(3)[:, None]) for draw in draws])
    groups = np.kron(np.eye(2), np.array([[1, 1, 1], [1, 0, 0], [0, 1, 1]]))
    everyone = np.kron(np.eye(2), np.ones((3, 3)))
    metric = Verification("1:1", far=(0.01, 0.1, 0.5))
    of_kinds = []
    for as_matrix in (np.asarray, SparseMatrix.of_table):
        drawn = metric.measure(table, cells, 40).weigh(as_matrix(spread))
        values = metric.result(drawn.weigh(as_matrix(groups)), drawn.weigh(as_matrix(everyone)))
        of_kinds.append(np.array([column.values for column in values.values() if isinstance(column, Numbers)]))
    assert isinstance(drawn.weigh(SparseMatrix.of_table(groups)).impostor.mixture, Product)
    np.testing.assert_array_equal(*of_kinds)


@pytest.mark.parametrize("tied", [False, True])
def test_rates_of_the_highest_impostors_are_those_of_all(monkeypatch: pytest.MonkeyPatch, tied: bool) -> None:
    monkeypatch.setattr(operating_points, "_MANY", 1000)
    rng = np.random.default_rng(5)
    score = rng.normal(size=20_000).round(2 if tied else 12)
    same = rng.random(20_000) < 0.05
    score[same] += 3
    genuine, fars = SortedScores.of(score[same]), (1e-4, 1e-3, 1e-2, 1e-1)
    highest = SortedScores.highest(score, ~same, max(fars))
    assert not highest.is_whole
    assert highest.length < 4000
    assert rates_by_convention(genuine, highest, fars) == rates_by_convention(
        genuine, SortedScores.of(score[~same]), fars
    )


def test_the_worst_comparisons_failed_or_lie_farthest_on_the_wrong_side_of_the_threshold() -> None:
    score = np.array([0.9, -np.inf, 0.1, 0.8, 0.3, 0.2, -np.inf])
    same = np.array([True, True, True, False, True, False, False])
    for task in (ijb.find("ijb/test1"), pairs.find("pairs/rfw"), table.find("table/pairs")):
        assert task.badness is misplacement
    worst = worst_rows(Records({"item": np.arange(7), "score": score, "same": same}, {}), [], 3, misplacement)
    assert worst["item"].tolist() == [1, 3, 2]
    alone = misplacement(Records({"score": score[same], "same": same[same]}, {}))
    assert np.argsort(-alone).tolist() == [1, 2, 3, 0]
