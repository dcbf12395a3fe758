"""Differences, ratios, tests and effects of two groups."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_statistics import newcombe
from scipy import stats

from evenhand.core.measure import tally
from evenhand.core.records import Attribute, Records
from evenhand.core.results import Verdict
from evenhand.metrics.means import Mean
from evenhand.stats.analysis import analyse
from evenhand.stats.contrasts import (
    chi_square,
    cohens_h,
    detectable_difference,
    fisher,
    hedges_g,
    joint_contrast,
    log_ratio,
    proportion_test,
    welch,
)
from evenhand.stats.intervals import cluster_means
from evenhand.stats.multiplicity import verdicts
from evenhand.stats.settings import Settings

counts = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts)
def test_fisher_agrees_with_scipy(first: tuple[int, int], second: tuple[int, int]) -> None:
    (a, m), (b, n) = first, second
    expected = stats.fisher_exact([[a, m - a], [b, n - b]]).pvalue
    assert fisher(a, m, b, n)[0] == pytest.approx(expected, rel=1e-6)


@given(counts, counts)
def test_swapping_groups_mirrors_the_difference_and_keeps_the_test(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    forward, back = newcombe(*first, *second), newcombe(*second, *first)
    assert float(forward.low) == pytest.approx(-float(back.high), abs=1e-12)
    one, other = proportion_test(*first, *second), proportion_test(*second, *first)
    assert float(one.p_value) == pytest.approx(float(other.p_value), rel=1e-6)
    assert one.method == other.method


@given(counts, counts)
def test_a_difference_lies_inside_its_interval(first: tuple[int, int], second: tuple[int, int]) -> None:
    found = newcombe(*first, *second)
    assert found.low - 1e-12 <= found.value <= found.high + 1e-12
    assert found.low >= -1 - 1e-12
    assert found.high <= 1 + 1e-12


def test_fisher_takes_over_when_a_cell_expects_fewer_than_five() -> None:
    found = proportion_test([5, 4], [50, 50], [5, 5], [50, 50])
    assert found.method.tolist() == ["score_z", "fisher"]


def test_the_score_test_is_the_chi_square_of_two_groups() -> None:
    test = chi_square([40, 30], [60, 60])
    assert float(proportion_test(40, 60, 30, 60).p_value) == pytest.approx(test.p_value)


def test_chi_square_agrees_with_scipy_and_names_small_expected_counts() -> None:
    k, n = np.array([90, 80, 35]), np.array([100, 100, 50])
    oracle = stats.chi2_contingency(np.stack([k, n - k]), correction=False)
    found = chi_square(k, n)
    assert (found.statistic, found.p_value) == pytest.approx((oracle.statistic, oracle.pvalue))
    assert chi_square([1, 2], [20, 20]).method == "chi_square_small"


@pytest.mark.parametrize(("k", "n"), [([0, 0], [40, 30]), ([40, 30], [40, 30]), ([3], [9])])
def test_chi_square_is_undefined_when_nothing_varies_or_one_group_is_left(k: list[int], n: list[int]) -> None:
    assert np.isnan(chi_square(k, n).p_value)


def test_the_ratio_without_rows_is_undefined_and_with_zero_counts_is_not() -> None:
    assert np.isnan(log_ratio(0, 0, 1, 5).value)
    assert float(log_ratio(0, 30, 0, 30).value) == 1.0


def test_welch_agrees_with_scipy_when_rows_are_independent() -> None:
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=20), rng.normal(0.5, 2, size=35)
    means = cluster_means(np.concatenate([x, y]), np.ones(55), np.repeat([0, 1], [20, 35]), 2)
    found = welch(means.value[0], means.variance[0], 20, means.value[1], means.variance[1], 35)
    oracle = stats.ttest_ind(x, y, equal_var=False)
    assert float(found.p_value) == pytest.approx(oracle.pvalue)
    limits = oracle.confidence_interval()
    assert found.limits() == pytest.approx((limits.low, limits.high))


def test_all_values_equal_on_both_sides_is_no_difference_and_no_warning() -> None:
    found = welch(0.5, 0.0, 30, 0.5, 0.0, 30)
    assert (*map(float, found.limits()), float(found.p_value)) == (0.0, 0.0, 1.0)


def test_a_single_subject_on_one_side_has_no_interval() -> None:
    assert np.isnan(welch(0.5, np.nan, 1, 0.4, 0.01, 20).limits().low)


def test_subjects_in_both_groups_cancel_their_common_part() -> None:
    rng = np.random.default_rng(1)
    subject = rng.normal(size=50)
    first, second = subject + rng.normal(0, 0.1, 50), subject + rng.normal(0, 0.1, 50)
    apart = first - second
    found = joint_contrast(apart.mean(), ((apart - apart.mean()) ** 2).sum() / 50**2, 50)
    oracle = stats.ttest_rel(first, second)
    assert float(found.p_value) == pytest.approx(oracle.pvalue)


def test_effect_sizes_have_their_known_values() -> None:
    assert float(cohens_h(0.5, 0.5)) == 0.0
    assert np.isnan(hedges_g(0.5, 0.0, 10, 0.4, 0.0, 10))


def test_the_detectable_difference_matches_the_published_table() -> None:
    found = detectable_difference(0.7, [20, 50, 100, 1000], 1e12)
    assert found.round(2).tolist() == [0.29, 0.18, 0.13, 0.04]


@pytest.mark.parametrize(
    ("low", "high", "p", "expected"),
    [
        (0.06, 0.2, 0.001, Verdict.LARGE),
        (-0.2, -0.06, 0.001, Verdict.LARGE),
        (0.06, 0.2, 0.2, Verdict.UNDECIDED),
        (0.01, 0.2, 0.001, Verdict.DIFFERENT),
        (0.001, 0.02, 0.001, Verdict.DIFFERENT),
        (-0.02, 0.02, 0.9, Verdict.EQUIVALENT),
        (-0.2, 0.2, 0.9, Verdict.UNDECIDED),
        (np.nan, np.nan, np.nan, Verdict.UNDECIDED),
    ],
)
def test_a_verdict_follows_from_interval_margin_and_adjusted_p(
    low: float, high: float, p: float, expected: Verdict
) -> None:
    assert verdicts(low, high, low, high, p).item() is expected


def test_what_rounding_leaves_is_neither_a_difference_nor_a_spread() -> None:
    assert float(welch(0.1 + 0.2, 0, 5, 0.3, 0, 5).p_value) == 1.0
    assert float(welch(0.3, 0, 5, 0.4, 0, 5).p_value) == 0.0
    assert np.isnan(welch([0.4, np.nan], np.nan, 5, 0.3, 0.01, 5).p_value).all()
    assert np.isnan(joint_contrast(0.1, np.nan, 25).p_value)
    assert float(joint_contrast(5.6e-17, 1e-33, 25, rounding=3e-16).p_value) == 1.0


def test_groups_that_share_units_and_hold_one_constant_do_not_differ() -> None:
    rows, value = 60, 0.1 + 0.2
    columns = {"item": np.arange(rows), "unit": np.arange(rows) % 20, "x": np.full(rows, value)}
    group = Attribute.coded((np.arange(rows) // 20 + np.arange(rows) % 3) % 2, ("a", "b"))
    found = analyse(tally(Records(columns, {"g": group}), [Mean("x", "x")], ["g"]), ["g"], 1, Settings(draws=50))
    (contrast,) = found.contrasts
    assert contrast.verdict is not Verdict.DIFFERENT
    assert contrast.p == 1.0
