"""Verification errors by group."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.metric import Undefined
from evenhand.core.streams import stream
from evenhand.stats.checks import StatisticsError
from evenhand.stats.resample import pair_counts, unit_weights
from evenhand.stats.verification import (
    cross_counts,
    differentials,
    fmr_matrix,
    rate_draws,
    rate_intervals,
    rates,
    shared_threshold,
    smoothed,
    trade_off,
)


@settings(max_examples=60)
@given(st.lists(st.integers(0, 9), min_size=1, max_size=30), st.lists(st.integers(0, 9), max_size=10), st.floats(0, 1))
def test_the_shared_threshold_is_the_smallest_observed_score_that_keeps_the_rate(
    impostors: list[int], genuine: list[int], target: float
) -> None:
    scores = np.array(impostors) / 10
    observed = np.unique(np.concatenate([scores, np.array(genuine) / 10]))
    fine = [s for s in observed if (scores >= s).mean() <= target + 1e-12]
    assert shared_threshold(scores, target, np.array(genuine) / 10) == (min(fine) if fine else np.inf)


def test_a_threshold_without_impostors_is_refused() -> None:
    with pytest.raises(StatisticsError, match="no impostor"):
        shared_threshold([], 0.1)
    with pytest.raises(StatisticsError, match="from 0 to 1"):
        shared_threshold([0.1], 2)


def _small() -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(4)
    people = 12
    a, b = (side.ravel() for side in np.triu_indices(people))
    a, b = np.repeat(a, 3), np.repeat(b, 3)
    score = np.where(a == b, rng.normal(1.5, 0.5, len(a)), rng.normal(0, 0.6, len(a)))
    membership = np.zeros((people, 2), dtype=bool)
    membership[:6, 0] = membership[6:, 1] = True
    return a, b, score, membership


def test_rates_count_pairs_with_both_people_in_the_group() -> None:
    a, b, score, membership = _small()
    counts = pair_counts(a, b, score, [1.0], 12)
    seen = rates(counts, membership)
    for group in range(2):
        inside = membership[a, group] & membership[b, group]
        assert seen.impostor_pairs[group] == (inside & (a != b)).sum()
        assert seen.false_matches[group] == (inside & (a != b) & (score >= 1.0)).sum()
        assert seen.false_non_matches[group] == (inside & (a == b) & (score < 1.0)).sum()
    assert seen.subjects.tolist() == [6, 6]


def test_the_matrix_is_symmetric_and_counts_each_comparison_once_when_people_are_in_both_groups() -> None:
    a, b, score, membership = _small()
    membership[0] = True
    counts = pair_counts(a, b, score, [1.0], 12)
    table = cross_counts(counts.impostor, membership)
    other = a != b
    across = (membership[a, 0] & membership[b, 1]) | (membership[a, 1] & membership[b, 0])
    assert table[0, 1] == table[1, 0] == (across & other).sum()
    matrix = fmr_matrix(counts, membership)
    assert matrix[0, 1] == pytest.approx((across & other & (score >= 1.0)).sum() / (across & other).sum())


def test_a_failure_to_enrol_is_a_non_match_that_stays_in_the_denominator() -> None:
    counts = pair_counts([0, 0, 1], [0, 1, 1], [np.nan, np.nan, 0.9], [0.5], 2)
    seen = rates(counts, np.ones((2, 1), dtype=bool))
    assert (seen.genuine_pairs[0], seen.false_non_matches[0]) == (2, 1)
    assert (seen.impostor_pairs[0], seen.false_matches[0]) == (1, 0)
    assert shared_threshold([np.nan, 0.2, 0.4, 0.6], 0.25) == 0.6


def test_no_error_seen_has_an_upper_limit_from_subjects_and_not_zero_percent() -> None:
    a, b, score, membership = _small()
    counts = pair_counts(a, b, score, [99.0], 12)
    seen = rates(counts, membership)
    found, _ = rate_intervals(seen, rate_draws(counts, membership, unit_weights(12, 200, stream("test"))))
    assert found.is_limit.all()
    assert found.interval.high[0] > 0.3
    assert found.interval.low[0] == 0


def test_ratio_forms_are_undefined_with_a_zero_rate_and_smoothed_ones_are_not() -> None:
    found = differentials([0.0, 0.01], [0.1, 0.2])
    assert found.inequity_rate == Undefined("a rate is 0")
    assert isinstance(found.max_over_geometric_mean_fmr, Undefined)
    assert isinstance(found.fairness_discrepancy_rate, float)
    a, b, score, membership = _small()
    assert isinstance(
        smoothed(rates(pair_counts(a, b, score, [99.0], 12), membership)).smoothed_max_over_min_fmr, float
    )


def test_one_group_has_no_differential_with_the_reason() -> None:
    found = differentials([0.1], [0.1])
    assert isinstance(found.garbe, Undefined)
    assert "fewer than two groups" in found.garbe.reason
    assert isinstance(differentials([0.1, np.nan], [0.1, 0.1]).garbe, Undefined)


def test_targets_that_expect_fewer_than_thirty_false_matches_are_not_estimable() -> None:
    rng = np.random.default_rng(0)
    people = 60
    a, b = (np.repeat(side, 20) for side in np.triu_indices(people))
    score = np.where(a == b, 3.0, 0.0) + rng.normal(size=len(a))
    membership = np.zeros((people, 2), dtype=bool)
    membership[:30, 0] = membership[30:, 1] = True
    sheet = trade_off(a, b, score, membership, targets=(1e-2, 1e-3))
    assert not isinstance(sheet[0].numbers, Undefined)
    assert isinstance(sheet[1].numbers, Undefined)
    assert "not estimable" in sheet[1].numbers.reason
    assert sheet[1].realised_fmr <= 1e-3
