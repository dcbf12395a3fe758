"""Summary numbers over groups."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.core.metric import Direction, Undefined
from evenhand.stats.standardised import standardise
from evenhand.stats.summaries import (
    extremes,
    gini,
    max_over_geometric_mean,
    shrink,
    summarise,
)

rates = st.lists(st.floats(0, 1), min_size=2, max_size=12)


@settings(max_examples=50)
@given(rates)
def test_the_gini_coefficient_is_the_mean_absolute_difference_by_twice_the_mean(values: list[float]) -> None:
    x = np.array(values)
    apart = np.abs(x[:, None] - x[None, :]).sum()
    k, mean = len(x), x.mean()
    expected = 0.0 if mean == 0 else k / (k - 1) * apart / (2 * k**2 * mean)
    assert gini(values) == pytest.approx(expected, abs=1e-9)


def test_the_largest_error_rate_is_the_worst_and_the_first_of_equals_wins() -> None:
    assert extremes([0.1, 0.3, 0.3], Direction.LOWER) == (1, 0)
    assert extremes([0.1, 0.3, 0.3], Direction.HIGHER) == (0, 1)
    assert extremes([0.1, 0.3], Direction.NEITHER) is None


def test_fewer_than_two_groups_have_no_summary_and_never_zero() -> None:
    assert all(isinstance(value, Undefined) for value in summarise([0.7], 0.7).values())
    assert extremes([], Direction.HIGHER) is None


def test_all_zero_values_have_gap_0_and_no_ratio() -> None:
    found = summarise([0.0, 0.0], 0.0)
    assert found["max_gap"] == 0.0
    assert isinstance(found["min_over_max_ratio"], Undefined)
    assert found["gini_corrected"] == 0.0


def test_all_equal_values_have_gap_0_and_ratio_1() -> None:
    found = summarise([1.0, 1.0], 1.0)
    assert (found["max_gap"], found["min_over_max_ratio"], found["max_over_geometric_mean"]) == (0.0, 1.0, 1.0)


def test_a_negative_value_has_no_geometric_mean() -> None:
    assert max_over_geometric_mean([-0.1, 0.2]) == Undefined("a value is negative")


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(0, 40), st.integers(1, 60)), min_size=2, max_size=10))
def test_shrunken_rates_lie_between_the_raw_and_the_common_rate(cells: list[tuple[int, int]]) -> None:
    n = np.array([rows + 40 for _, rows in cells])
    k = np.array([events for events, _ in cells])
    centre = k.sum() / n.sum()
    for raw, pooled in zip(k / n, shrink(k, n), strict=True):
        assert min(raw, centre) - 1e-9 <= pooled <= max(raw, centre) + 1e-9


def test_groups_that_differ_by_chance_only_all_get_the_common_rate() -> None:
    assert shrink([50, 51, 49], [100, 100, 100]) == pytest.approx([0.5, 0.5, 0.5])


def test_small_groups_are_pulled_more_than_large_ones() -> None:
    found = shrink([2, 200, 900, 800], [10, 1000, 1000, 1000])
    assert abs(found[0] - 0.2) > abs(found[1] - 0.2)


def test_a_needed_cell_without_rows_leaves_the_group_without_standardised_value() -> None:
    found = standardise([[1, 0], [2, 3]], [[4, 0], [4, 4]])
    assert np.isnan(found.standardised[0])
    assert found.standardised[1] == pytest.approx((8 * 0.5 + 4 * 0.75) / 12)


def test_composition_alone_makes_a_crude_difference_that_standardising_removes() -> None:
    found = standardise([[90, 5], [9, 50]], [[100, 10], [10, 100]])
    assert found.crude[0] - found.crude[1] > 0.3
    assert found.standardised[0] == pytest.approx(found.standardised[1])
