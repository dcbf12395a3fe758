"""How many subjects a group needs."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.stats.checks import StatisticsError
from evenhand.stats.plan import design_effect, subjects_needed, what_shows


@settings(max_examples=60)
@given(st.floats(0.01, 0.3), st.floats(0.05, 0.95), st.integers(1, 10), st.floats(0, 0.9))
def test_the_two_directions_agree(margin: float, rate: float, images: int, correlation: float) -> None:
    plan = subjects_needed(margin, rate, images=images, correlation=correlation)
    assert plan.detectable <= margin * (1 + 1e-9)
    if plan.subjects > 1:
        fewer = what_shows(plan.subjects - 1, rate, images=images, correlation=correlation)
        assert fewer.detectable > margin * (1 - 1e-9)


def test_ten_perfectly_correlated_images_are_worth_one() -> None:
    assert design_effect(10, 1.0) == 10
    assert subjects_needed(0.05, 0.8, images=10, correlation=1.0).subjects == subjects_needed(0.05, 0.8).subjects


def test_a_large_remainder_halves_the_need() -> None:
    both, alone = subjects_needed(0.1, 0.7), subjects_needed(0.1, 0.7, balance=None)
    assert alone.subjects == pytest.approx(both.subjects / 2, abs=1)
    assert alone.other_subjects is None


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"margin": 0.0}, "margin 0"),
        ({"rate": 1.0}, "rate 1"),
        ({"images": 0.5}, "0.5 images"),
        ({"correlation": 2.0}, "correlation 2"),
        ({"power": 1.5}, "power 1.5"),
        ({"balance": 0.0}, "balance 0"),
    ],
)
def test_impossible_wishes_are_refused_by_name(changed: dict[str, float], named: str) -> None:
    wish = {"margin": 0.05, "rate": 0.8, **changed}
    with pytest.raises(StatisticsError, match=named):
        subjects_needed(**wish)
