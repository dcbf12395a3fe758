"""The published FHIBE pair procedure."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats import published


def test_on_equal_medians_the_second_group_is_called_worst_and_the_disparity_is_zero() -> None:
    found = published.tested_pairs({"a": np.array([0.1] * 5 + [0.5] * 20), "b": np.array([0.5] * 20 + [0.9] * 5)})
    assert (found[0].worst, found[0].disparity) == ("b", 0.0)


def test_the_disparity_is_one_when_only_the_lower_median_is_zero_and_zero_when_both_are() -> None:
    found = published.tested_pairs({"a": np.zeros(20), "b": np.full(20, 0.5), "c": np.zeros(20)})
    assert [pair.disparity for pair in found] == [1.0, 0.0, 1.0]


def test_p_values_are_scipys_and_significance_is_corrected_for_the_pairs_of_the_attribute() -> None:
    rng = np.random.default_rng(0)
    groups = {name: rng.random(25).round(2) + shift for name, shift in (("a", 0.0), ("b", 0.25), ("c", 0.05))}
    found = published.tested_pairs(groups)
    for pair in found:
        oracle = stats.mannwhitneyu(groups[pair.first], groups[pair.second])
        assert pair.p_value == pytest.approx(oracle.pvalue, rel=1e-14)
        assert pair.significant == (oracle.pvalue < 0.05 / 3)


def test_very_small_groups_get_the_exact_test() -> None:
    groups = {"a": np.array([0.1, 0.2, 0.35, 0.4, 0.55]), "b": np.array([0.3, 0.5, 0.6, 0.7, 0.8, 0.9])}
    found = published.tested_pairs(groups)[0]
    assert found.p_value == pytest.approx(stats.mannwhitneyu(groups["a"], groups["b"]).pvalue)
