"""Adjusted p-values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from reference_statistics import rejected
from scipy import stats

from evenhand.stats.multiplicity import Correction

families = st.lists(st.floats(0, 1), min_size=1, max_size=40)


@given(families)
def test_holm_lies_between_the_raw_value_and_bonferroni(p_values: list[float]) -> None:
    adjusted = Correction.HOLM(p_values)
    assert np.all(adjusted >= np.array(p_values) - 1e-15)
    assert np.all(adjusted <= Correction.BONFERRONI(p_values) + 1e-15)


@given(families)
def test_benjamini_hochberg_agrees_with_scipy_and_never_exceeds_holm(p_values: list[float]) -> None:
    adjusted = Correction.BENJAMINI_HOCHBERG(p_values)
    assert adjusted == pytest.approx(stats.false_discovery_control(p_values))
    assert np.all(adjusted <= Correction.HOLM(p_values) + 1e-12)


@given(families)
def test_adjusting_keeps_the_order_of_p_values(p_values: list[float]) -> None:
    order = np.argsort(p_values)
    for correction in Correction:
        assert np.all(np.diff(correction(p_values)[order]) >= -1e-15)


def test_a_test_that_could_not_be_made_does_not_count_in_the_family() -> None:
    assert Correction.BONFERRONI([0.01, np.nan, 0.02]).tolist()[0] == pytest.approx(0.02)
    assert np.isnan(Correction.HOLM([0.01, np.nan])[1])


def test_a_value_on_the_level_is_rejected_whatever_the_last_bit_says() -> None:
    assert rejected([0.05 / 7 * 7, 0.0500001]).tolist() == [True, False]


def test_a_family_of_more_than_five_thousand_is_allowed() -> None:
    p = np.random.default_rng(0).random(5778)
    assert Correction.HOLM(p).shape == (5778,)
