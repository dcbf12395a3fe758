"""The published FHIBE pair procedure."""

import numpy as np
import pytest
from scipy import stats

from evenhand.stats.checks import StatisticsError
from evenhand.stats.published import CAUTIONS, published_pairs


def test_on_equal_medians_the_second_group_is_called_worst_and_the_disparity_is_zero() -> None:
    found = published_pairs({"a": [0.1] * 5 + [0.5] * 20, "b": [0.5] * 20 + [0.9] * 5})
    assert (found.pairs[0].worst, found.pairs[0].disparity) == ("b", 0.0)


def test_the_disparity_is_one_when_only_the_lower_median_is_zero_and_zero_when_both_are() -> None:
    found = published_pairs({"a": [0.0] * 20, "b": [0.5] * 20, "c": [0.0] * 20})
    assert [pair.disparity for pair in found.pairs] == [1.0, 0.0, 1.0]


def test_p_values_are_scipys_and_significance_is_corrected_for_the_pairs_of_the_attribute() -> None:
    rng = np.random.default_rng(0)
    groups = {name: rng.random(25).round(2) + shift for name, shift in (("a", 0.0), ("b", 0.25), ("c", 0.05))}
    found = published_pairs(groups)
    for pair in found.pairs:
        oracle = stats.mannwhitneyu(groups[pair.first], groups[pair.second])
        assert pair.p_value == oracle.pvalue  # to the last bit: scripts compare lists of disparities
        assert pair.significant == (oracle.pvalue < 0.05 / 3)
        assert pair.effect_size == abs(pair.z)


def test_only_significant_pairs_are_listed_widest_disparity_first() -> None:
    groups = {name: np.full(30, level) + np.arange(30) * 1e-4 for name, level in (("a", 0.9), ("b", 0.5), ("c", 0.8))}
    listed = published_pairs(groups).listed
    assert [pair.disparity for pair in listed] == sorted((pair.disparity for pair in listed), reverse=True)


def test_groups_under_twenty_scores_are_left_out_by_name() -> None:
    found = published_pairs({"a": [0.5] * 19, "b": [0.5] * 20})
    assert (found.eligible, found.excluded, found.pairs) == (("b",), ("a",), ())


def test_very_small_groups_get_the_exact_test_when_the_limit_lets_them_in() -> None:
    groups = {"a": [0.1, 0.2, 0.35, 0.4, 0.55], "b": [0.3, 0.5, 0.6, 0.7, 0.8, 0.9]}
    found = published_pairs(groups, least=5).pairs[0]
    assert found.p_value == pytest.approx(stats.mannwhitneyu(groups["a"], groups["b"]).pvalue)


@pytest.mark.parametrize("bad", [-0.1, np.nan])
def test_scores_that_the_procedure_does_not_support_are_refused(bad: float) -> None:
    with pytest.raises(StatisticsError, match="group 'a'"):
        published_pairs({"a": [bad] * 20})


def test_its_known_properties_can_be_printed_beside_it() -> None:
    assert any("independent" in caution for caution in CAUTIONS)
