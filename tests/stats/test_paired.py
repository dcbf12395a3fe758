"""Two models on the same rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from evenhand.core.streams import stream
from evenhand.stats.contrasts import (
    bonett_price,
    gap_difference,
    mcnemar,
    sign_flip,
)


@settings(max_examples=50)
@given(st.integers(0, 60), st.integers(0, 60))
def test_mcnemar_is_a_fair_coin_on_discordant_rows(only_a: int, only_b: int) -> None:
    expected = stats.binomtest(only_a, only_a + only_b).pvalue if only_a + only_b else 1.0
    assert float(mcnemar(only_a, only_b)) == pytest.approx(expected)


def test_bonett_price_holds_without_discordant_rows() -> None:
    found = bonett_price(0, 0, 50)
    assert float(found.value) == 0.0
    assert found.low < 0 < found.high
    assert np.isnan(bonett_price(0, 0, 0).low)


def test_sign_flips_over_few_subjects_try_every_pattern() -> None:
    assert sign_flip([3.0, -1.0, 2.0, 0.0], rng=stream("test")) == pytest.approx(4 / 8)


def test_sign_flips_over_many_subjects_agree_with_the_t_test() -> None:
    x = np.random.default_rng(1).normal(0.25, 1, 80)
    assert sign_flip(x, rng=stream("test"), flips=4000) == pytest.approx(stats.ttest_1samp(x, 0).pvalue, abs=0.02)


def test_models_that_never_differ_have_p_1() -> None:
    assert sign_flip(np.zeros(20), rng=stream("test")) == 1.0


def test_equal_models_have_no_difference_of_gaps() -> None:
    draws = np.random.default_rng(0).random((200, 4))
    found = gap_difference(draws[0], draws[0], draws, draws)
    assert (found.value[0], found.low[0], found.high[0], found.p_value[0]) == (0.0, 0.0, 0.0, 1.0)
