"""Two models on the same units."""

import numpy as np
import pytest

from evenhand.core.errors import RunError
from evenhand.core.records import EVERYONE, Attribute, Group, Records
from evenhand.core.results import Verdict
from evenhand.metrics.labels import Confusion
from evenhand.metrics.means import Mean, Rate
from evenhand.stats.comparison import compare
from evenhand.stats.contrasts import bonett_price, mcnemar
from evenhand.stats.settings import Settings

QUICK = Settings(draws=200, permutations=200)


def rows_of(right: np.ndarray, units: np.ndarray, group: np.ndarray) -> Records:
    return Records(
        {"item": np.arange(len(right)), "unit": units, "right": right > 0, "x": right.astype(float)},
        {"g": Attribute.coded(group, ("a", "b"))},
    )


def test_independent_right_or_wrong_rows_get_mcnemar_and_bonett_price() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.random(200) < 0.8, rng.random(200) < 0.7
    units, group = np.arange(200), np.arange(200) % 2
    found = compare(
        rows_of(first, units, group), rows_of(second, units, group), [Rate("hit", "right")], ["g"], 1, QUICK
    )
    everyone = next(c for c in found.contrasts if c.group == EVERYONE)
    only_a, only_b = int((first & ~second).sum()), int((second & ~first).sum())
    assert everyone.p == float(mcnemar(only_a, only_b))
    limits = bonett_price(only_a, only_b, 200)
    assert (everyone.low, everyone.high) == (-float(limits.high), -float(limits.low))  # second minus first
    assert everyone.better == "first"
    assert everyone.test == "mcnemar_exact"


def test_subjects_with_several_rows_get_a_cluster_interval_and_sign_flips() -> None:
    rng = np.random.default_rng(0)
    units = np.repeat(np.arange(40), 3)
    group = units % 2
    first = rng.random(120)
    second = first - 0.1 + rng.normal(0, 0.02, 120)
    found = compare(rows_of(first, units, group), rows_of(second, units, group), [Mean("x", "x")], ["g"], 1, QUICK)
    for contrast in found.contrasts:
        assert (contrast.test, contrast.interval) == ("sign_flip", "cluster_t")
        assert contrast.low is not None
        assert contrast.low < -0.1 < (contrast.high or 0)
        assert contrast.verdict in (Verdict.LARGE, Verdict.DIFFERENT)
    single = [c for c in found.contrasts if len(c.group.terms) == 1]
    assert {c.family_size for c in single} == {2}


def test_other_metrics_are_drawn_jointly() -> None:
    rng = np.random.default_rng(0)
    units = np.arange(300)
    truth = rng.integers(0, 2, 300)
    sides = []
    for share in (0.9, 0.6):
        answer = np.where(rng.random(300) < share, truth, 1 - truth)
        sides.append(
            Records({"unit": units, "truth": truth, "answer": answer}, {"g": Attribute.coded(units % 2, ("a", "b"))})
        )
    found = compare(sides[0], sides[1], [Confusion("c", ("no", "yes"))], ["g"], 1, QUICK, names=("good", "bad"))
    f1 = next(c for c in found.contrasts if c.output == "macro_f1" and c.group == EVERYONE)
    assert f1.test == "joint_bootstrap"
    assert f1.better == "good"
    assert f1.p is not None
    assert f1.p < 0.05


def test_equal_models_differ_nowhere_and_their_gaps_neither() -> None:
    rng = np.random.default_rng(0)
    right, units = rng.random(200) < 0.8, np.arange(200)
    rows = rows_of(right, units, units % 2)
    found = compare(rows, rows, [Rate("hit", "right")], ["g"], 1, QUICK)
    assert all(c.difference == 0 and c.p == 1.0 and c.better is None for c in found.contrasts)
    gap = found.gaps[0]
    assert (gap.difference, gap.p) == (0.0, 1.0)
    assert gap.reference_first is not None
    assert gap.by == ("g",)


def test_a_planted_gap_is_found_as_a_difference_of_gaps() -> None:
    rng = np.random.default_rng(0)
    units = np.arange(1000)
    group = units % 2
    even, uneven = rng.random(1000) < 0.8, rng.random(1000) < np.where(group == 1, 0.6, 0.9)
    found = compare(rows_of(even, units, group), rows_of(uneven, units, group), [Rate("hit", "right")], ["g"], 1, QUICK)
    gap = found.gaps[0]
    assert gap.low is not None
    assert gap.low > 0  # the second model's gap is the wider one
    assert gap.reference_second is not None
    assert gap.reference_second.p < 0.05


def test_units_that_only_one_model_has_are_left_out_and_counted() -> None:
    units = np.arange(60)
    right = np.ones(60)
    rows = rows_of(right, units, units % 2)
    found = compare(rows.take(units < 50), rows.take(units >= 5), [Rate("hit", "right")], ["g"], 1, QUICK)
    assert (found.units, found.units_only_first, found.units_only_second) == (45, 5, 10)


def test_runs_without_a_common_unit_are_refused() -> None:
    units = np.arange(20)
    with pytest.raises(RunError, match="no unit in common"):
        compare(
            rows_of(np.ones(20), units, units % 2), rows_of(np.ones(20), units + 100, units % 2), [Rate("hit", "right")]
        )


def test_small_groups_are_shown_and_not_adjusted() -> None:
    units = np.arange(60)
    group = (units >= 50).astype(int)
    rng = np.random.default_rng(0)
    sides = [rows_of(rng.random(60) < 0.7, units, group) for _ in range(2)]
    found = compare(sides[0], sides[1], [Rate("hit", "right")], ["g"], 1, QUICK)
    small = next(c for c in found.contrasts if c.group == Group.of(g="b"))
    assert small.adjusted is None
    assert small.verdict is None
    assert small.low is not None


def test_a_group_in_which_one_model_has_no_value_is_not_tested_and_moves_no_other() -> None:
    rng = np.random.default_rng(4)
    units, group = np.repeat(np.arange(60), 2), np.repeat(np.arange(60) % 3, 2)
    x = rng.random(120)

    def rows(values: np.ndarray) -> Records:
        columns = {"item": np.arange(120), "unit": units, "x": values}
        return Records(columns, {"g": Attribute.coded(group, ("a", "b", "c"))})

    second = np.where(group == 2, np.nan, x + rng.normal(0.02, 0.1, 120))  # never answered for c
    found = compare(rows(x), rows(second), [Mean("x", "x")], ["g"], 1, QUICK)
    by_level = {c.group.terms[0][1]: c for c in found.contrasts if len(c.group.terms) == 1}
    assert (by_level["c"].difference, by_level["c"].p, by_level["c"].adjusted) == (None, None, None)
    assert {by_level[name].family_size for name in "ab"} == {2}
    assert min(by_level[name].p or 0 for name in "ab") > 0
