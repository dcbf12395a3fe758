"""Intervals of single numbers."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.core.metric import POSITIVE, UNBOUNDED, UNIT_SCALE, Scale
from evenhand.stats.checks import StatisticsError
from evenhand.stats.evidence import DrawnEvidence
from evenhand.stats.intervals import (
    bias_corrected,
    clopper_pearson,
    cluster_means,
    effective_size,
    jackknife_means,
    mean_interval,
    percentile,
    proportion_interval,
    scaled_percentile,
    subsampled,
    wilson,
)
from evenhand.stats.settings import Settings

counts = st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, st.floats(0.5, 0.999))
def test_wilson_and_clopper_pearson_agree_with_scipy(count: tuple[int, int], confidence: float) -> None:
    k, n = count
    oracle = stats.binomtest(k, n)
    for ours, method in ((wilson, "wilson"), (clopper_pearson, "exact")):
        expected = oracle.proportion_ci(confidence, method=method)
        found = ours(k, n, confidence=confidence)
        assert float(found.low) == pytest.approx(expected.low, abs=1e-9)
        assert float(found.high) == pytest.approx(expected.high, abs=1e-9)


@given(counts)
def test_an_interval_contains_its_value_and_stays_between_0_and_1(count: tuple[int, int]) -> None:
    k, n = count
    for found in (wilson(k, n), clopper_pearson(k, n)):
        assert 0 <= found.low <= k / n <= found.high <= 1


def test_no_rows_give_no_interval() -> None:
    assert np.isnan(wilson(0, 0).low)
    assert np.isnan(clopper_pearson(0, 0).high)


@pytest.mark.parametrize(("k", "n"), [(-1, 5), (6, 5), (0, -1)])
def test_impossible_counts_are_refused_with_what_was_found(k: int, n: int) -> None:
    with pytest.raises(StatisticsError, match=f"{k} events of {n} rows"):
        wilson(k, n)


@pytest.mark.parametrize("confidence", [0, 1, 95])
def test_a_confidence_in_percent_is_refused(confidence: float) -> None:
    with pytest.raises(StatisticsError, match="between 0 and 1"):
        wilson(1, 2, confidence=confidence)


def test_rows_that_are_their_own_cluster_have_the_classical_standard_error() -> None:
    values = np.random.default_rng(0).normal(size=40)
    found = cluster_means(values, np.ones(40))
    assert found.standard_error[0] == pytest.approx(values.std(ddof=1) / np.sqrt(40))
    expected = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
    interval = mean_interval(found)
    assert (interval.low[0], interval.high[0]) == pytest.approx(expected)


def test_groups_are_computed_side_by_side_as_they_are_alone() -> None:
    rng = np.random.default_rng(1)
    sums, counts_, groups = rng.random(30), rng.integers(1, 5, 30), rng.integers(0, 3, 30)
    together = cluster_means(sums, counts_, groups, 3)
    for group in range(3):
        alone = cluster_means(sums[groups == group], counts_[groups == group])
        assert together.value[group] == pytest.approx(alone.value[0])
        assert together.variance[group] == pytest.approx(alone.variance[0])


def test_one_cluster_has_a_value_and_no_interval() -> None:
    found = cluster_means([3.0], [4.0])
    assert found.value[0] == 0.75
    assert np.isnan(found.variance[0])
    assert np.isnan(mean_interval(found).low[0])
    assert np.isnan(proportion_interval(found).low[0])


def test_identical_rows_within_subjects_are_worth_one_row_each() -> None:
    right = np.array([1, 0, 1, 1, 0, 1, 0, 1, 1, 1] * 5)
    found = effective_size(cluster_means(right * 6.0, np.full(50, 6.0)))
    assert found.design_effect[0] == pytest.approx(6 * 50 / 49)
    assert found.rows[0] == pytest.approx(49)


def test_when_all_rows_agree_every_subject_counts_once() -> None:
    found = effective_size(cluster_means(np.full(12, 5.0), np.full(12, 5.0)))
    assert found.rows[0] == 12
    interval = proportion_interval(cluster_means(np.full(12, 5.0), np.full(12, 5.0)))
    assert interval.high[0] == 1.0
    assert interval.low[0] == pytest.approx(float(wilson(12, 12).low))


def test_few_subjects_widen_the_interval_of_a_proportion() -> None:
    means = cluster_means([3, 1, 4, 2, 0, 4], [4, 4, 4, 4, 4, 4])
    plain, wide = proportion_interval(means), proportion_interval(means, small_sample=True)
    assert wide.low[0] < plain.low[0] < plain.high[0] < wide.high[0]


def test_the_jackknife_leaves_out_one_cluster_at_a_time() -> None:
    sums, counts_ = np.array([3.0, 1.0, 9.0, 2.0]), np.array([4.0, 2.0, 9.0, 7.0])
    left = np.array([np.delete(sums, i).sum() / np.delete(counts_, i).sum() for i in range(4)])
    found = jackknife_means(sums, counts_, cluster_means(sums, counts_))
    value = sums.sum() / counts_.sum()
    assert found.variance[0] == pytest.approx(3 / 4 * ((left - value) ** 2).sum())
    assert found.degrees[0] == pytest.approx(22**2 / (counts_**2).sum() - 1)
    assert np.isnan(mean_interval(jackknife_means([1.0], [2.0], cluster_means([1.0], [2.0]))).low[0])


def test_clusters_of_equal_size_need_no_jackknife() -> None:
    sums = np.random.default_rng(0).random(12)
    plain = cluster_means(sums, np.full(12, 3.0))
    wide = jackknife_means(sums, np.full(12, 3.0), plain)
    assert wide.variance == pytest.approx(plain.variance)
    assert wide.degrees[0] == pytest.approx(11)


def test_weights_that_are_not_whole_use_the_same_formula() -> None:
    found = cluster_means([0.5, 0.0, 1.5], [0.5, 2.0, 1.5])
    assert found.value[0] == pytest.approx(0.5)
    assert np.isfinite(found.variance[0])


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=60), st.floats(0.5, 0.99))
def test_percentiles_are_those_of_numpy(values: list[float], confidence: float) -> None:
    found = percentile(np.array(values)[:, None], confidence=confidence)
    tail = (1 - confidence) / 2
    assert found.low[0] == pytest.approx(np.quantile(values, tail), abs=1e-9)
    assert found.high[0] == pytest.approx(np.quantile(values, 1 - tail), abs=1e-9)


def test_draws_without_the_group_are_skipped_counted_and_withhold_the_interval_beyond_five_percent() -> None:
    draws = np.random.default_rng(0).random((100, 2))
    draws[:5, 0] = np.nan
    draws[:6, 1] = np.nan
    found = percentile(draws)
    assert found.skipped.tolist() == [5, 6]
    assert found.low[0] == pytest.approx(np.nanquantile(draws[:, 0], 0.025))
    assert np.isnan(found.low[1])


def test_bca_agrees_with_scipy_on_a_skewed_mean() -> None:
    rng = np.random.default_rng(3)
    x = rng.exponential(size=40)
    oracle = stats.bootstrap((x,), np.mean, n_resamples=4000, method="BCa", rng=np.random.default_rng(5))
    draws = rng.choice(x, size=(4000, 40)).mean(axis=1)
    left_out = (x.sum() - x) / 39
    found = bias_corrected(draws[:, None], x.mean(), left_out[:, None])
    assert found.low[0] == pytest.approx(oracle.confidence_interval.low, abs=0.03)
    assert found.high[0] == pytest.approx(oracle.confidence_interval.high, abs=0.05)


def test_bca_of_draws_that_all_equal_the_value_is_the_value() -> None:
    found = bias_corrected(np.full((50, 1), 0.5), [0.5], np.full((10, 1), 0.5))
    assert (found.low[0], found.high[0]) == (0.5, 0.5)


def test_percentiles_of_few_clusters_are_drawn_apart_around_the_value() -> None:
    draws = np.random.default_rng(0).normal(0.5, 0.1, size=(500, 1))
    plain, wide = percentile(draws), scaled_percentile(draws, [0.5], [12])
    factor = stats.t.ppf(0.975, 11) / stats.norm.ppf(0.975) * np.sqrt(12 / 11)
    assert wide.low[0] - 0.5 == pytest.approx((plain.low[0] - 0.5) * factor)


def test_subsamples_of_half_need_no_scaling_and_of_a_quarter_less_than_they_show() -> None:
    draws = np.array([[1.0], [2.0], [3.0]])
    half, quarter = subsampled(draws, [2.0], [10], [20]), subsampled(draws, [2.0], [5], [20])
    t = stats.t.ppf(0.975, 19)
    assert half.high[0] == pytest.approx(2 + t)
    assert quarter.high[0] == pytest.approx(2 + t * np.sqrt(5 / 15))


def test_limits_of_rates_never_leave_zero_and_one() -> None:
    rng = np.random.default_rng(3)
    draws = np.clip(rng.normal([0.05, 0.77, 0.98], 0.1, size=(400, 3)), 0, 1)
    value, clusters = np.array([0.05, 0.77, 0.98]), np.array([4, 5, 6])
    plain = scaled_percentile(draws, value, clusters)
    kept = scaled_percentile(draws, value, clusters, scale=UNIT_SCALE)
    assert plain.low.min() < 0
    assert plain.high.max() > 1
    assert kept.low.min() >= 0
    assert kept.high.max() <= 1
    assert (kept.low < value).all()
    assert (kept.high > value).all()


def test_on_the_scale_of_rates_small_spreads_give_the_same_limits() -> None:
    draws = 0.5 + np.linspace(-0.01, 0.01, 401)[:, None]
    plain, kept = (scaled_percentile(draws, [0.5], [8], scale=scale) for scale in (UNBOUNDED, UNIT_SCALE))
    assert kept.low == pytest.approx(plain.low, abs=1e-5)
    assert kept.high == pytest.approx(plain.high, abs=1e-5)


def test_means_of_shares_stay_between_zero_and_one() -> None:
    means = cluster_means([1.0, 0.4, 1.0], [1, 1, 1])
    assert mean_interval(means).high > 1
    low, high = mean_interval(means, scale=UNIT_SCALE)
    assert 0 <= low < means.value < high <= 1
    every = cluster_means([2.0, 3.0], [2, 3])  # all at the end: each unit counts once, as for a proportion
    assert mean_interval(every, scale=UNIT_SCALE).high == 1 > mean_interval(every, scale=UNIT_SCALE).low > 0
    few = jackknife_means([1.0, 2.0, 0.5], [1, 3, 1], cluster_means([1.0, 2.0, 0.5], [1, 3, 1]))
    assert mean_interval(few, scale=UNIT_SCALE).high <= 1 < mean_interval(few).high


@pytest.mark.parametrize("scale", [Scale(-1, 1), POSITIVE, Scale(-np.inf, 5)], ids=str)
def test_means_stay_on_their_scale_whatever_it_is(scale: Scale) -> None:
    values = np.array([0.1, 0.9, 0.2, 0.8]) * (1 if np.isinf(scale.low) else 1.2)
    means = cluster_means(values, [1, 1, 1, 1])
    low, high = mean_interval(means, scale=scale, confidence=0.999)
    assert scale.low <= low[0] < means.value[0] < high[0] <= scale.high
    assert np.isnan(mean_interval(cluster_means([1.0], [2.0]), scale=scale).low[0])


def test_redrawn_rates_of_few_units_have_limits_within_bounds_and_differences_too() -> None:
    rng = np.random.default_rng(5)
    draws = np.clip(rng.normal([0.95, 0.05], 0.2, size=(500, 2)), 0, 1)
    apart: Any = SimpleNamespace(shared_pairs=lambda first, second: np.zeros(len(first), dtype=np.int64))
    evidence = DrawnEvidence(np.array([0.95, 0.05]), draws, np.array([3, 3]), apart, "cluster_bootstrap")
    interval = evidence.limits(0.95).interval
    assert interval.low.min() >= 0
    assert interval.high.max() <= 1
    pair = evidence.pairs(np.array([0]), np.array([1]), Settings())
    assert pair.high[0] <= 1
