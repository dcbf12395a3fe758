"""Rank tests of many groups at once."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from evenhand.stats.ranks import cliffs_delta, cliffs_delta_interval, kruskal_wallis, mann_whitney, rank_sums

samples = st.lists(st.integers(0, 6), min_size=2, max_size=30)


@given(samples, samples)
def test_every_pair_agrees_with_scipy_with_ties(first: list[int], second: list[int]) -> None:
    values = np.array([*first, *second], dtype=float)
    codes = np.repeat([0, 1], [len(first), len(second)])
    sums = rank_sums(values, codes, 2)
    found = mann_whitney(sums.u[0, 1], len(first), len(second), sums.ties[0, 1])
    if len(set(values.tolist())) == 1:
        assert float(found) == 1.0
        return
    oracle = stats.mannwhitneyu(first, second, method="asymptotic")
    assert sums.u[0, 1] == pytest.approx(oracle.statistic)
    assert float(found) == pytest.approx(oracle.pvalue)


def test_many_groups_over_several_blocks_give_what_each_pair_gives_alone() -> None:
    rng = np.random.default_rng(0)
    values, codes = rng.random(20_000), rng.integers(0, 5, 20_000)
    sums = rank_sums(values, codes, 5)
    for i, j in ((0, 1), (2, 4)):
        oracle = stats.mannwhitneyu(values[codes == i], values[codes == j], method="asymptotic")
        found = mann_whitney(sums.u[i, j], sums.counts[i], sums.counts[j], sums.ties[i, j])
        assert float(found) == pytest.approx(oracle.pvalue)


def test_equal_values_give_p_1_and_delta_0_without_a_warning() -> None:
    sums = rank_sums(np.ones(40), np.repeat([0, 1], 20), 2)
    assert float(mann_whitney(sums.u[0, 1], 20, 20, sums.ties[0, 1])) == 1.0
    assert float(cliffs_delta(sums.u[0, 1], 20, 20)) == 0.0


def test_an_empty_group_has_no_p_value() -> None:
    sums = rank_sums([1.0, 2.0], [0, 0], 2)
    assert np.isnan(mann_whitney(sums.u[0, 1], 2, 0))


@given(st.lists(samples, min_size=2, max_size=5))
def test_kruskal_wallis_agrees_with_scipy(groups: list[list[int]]) -> None:
    values = np.concatenate(groups).astype(float)
    codes = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    found = kruskal_wallis(values, codes, len(groups))
    if len(set(values.tolist())) == 1:
        assert np.isnan(found.p_value)
        return
    oracle = stats.kruskal(*groups)
    assert found.statistic == pytest.approx(oracle.statistic)
    assert found.p_value == pytest.approx(oracle.pvalue)


def test_one_group_is_no_omnibus_test() -> None:
    assert np.isnan(kruskal_wallis([1.0, 2.0], [0, 0], 1).p_value)


@given(st.integers(2, 60), st.integers(2, 60), st.floats(-1, 1))
def test_limits_of_cliffs_delta_hold_it_stay_in_range_and_turn_with_the_groups(n1: int, n2: int, delta: float) -> None:
    low, high = cliffs_delta_interval([delta], n1, n2)
    assert -1 <= low[0] <= delta + 1e-9
    assert delta - 1e-9 <= high[0] <= 1
    turned = cliffs_delta_interval([-delta], n2, n1)
    assert np.allclose([-turned.high[0], -turned.low[0]], [low[0], high[0]])


def test_a_group_that_always_wins_has_limits_of_some_width_that_shrink_with_size() -> None:
    widths = [np.subtract(*cliffs_delta_interval([1.0], n, n)[::-1])[0] for n in (5, 20, 80)]
    assert widths == sorted(widths, reverse=True)
    assert 0 < widths[-1] < widths[0] < 1


@pytest.mark.parametrize("shift", [0.0, 1.0])
def test_limits_of_cliffs_delta_cover_the_truth(shift: float) -> None:
    chance = np.random.default_rng(17)
    truth = 2 * stats.norm.cdf(shift / np.sqrt(2)) - 1
    deltas = []
    for _ in range(1000):
        first, second = chance.normal(shift, 1, 15), chance.normal(0, 1, 25)
        deltas.append(np.sign(first[:, None] - second).mean())
    low, high = cliffs_delta_interval(deltas, 15, 25)
    assert 0.93 <= np.mean((low <= truth) & (truth <= high)) <= 0.98
