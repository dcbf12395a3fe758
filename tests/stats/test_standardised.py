"""Group values with a common composition."""

import numpy as np
import pytest

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.measure import tally
from evenhand.core.metric import Undefined
from evenhand.core.records import Attribute, Records
from evenhand.metrics.means import Rate
from evenhand.stats.standardised import standardised_rates


def rows(empty_cell: bool = False) -> Records:
    # Old faces are harder for everyone; group y is mostly old.
    group = ["x"] * 110 + ["y"] * 110
    age = (
        ["young"] * 100 + ["old"] * 10 + ["young"] * (0 if empty_cell else 10) + ["old"] * (110 if empty_cell else 100)
    )
    right = [True] * 90 + [False] * 10 + [True] * 5 + [False] * 5
    right += [True] * 9 + [False] * 1 + [True] * 50 + [False] * 50
    return Records(
        {"unit": np.arange(220), "right": np.array(right)},
        {"group": Attribute.of(group, ("x", "y")), "age": Attribute.of(age, ("young", "old"))},
    )


def test_a_difference_of_composition_disappears() -> None:
    found = standardised_rates(tally(rows(), [Rate("hit", "right")], ["group", "age"]), "hit", "group", "age")
    assert found.crude["x"] == pytest.approx(95 / 110)
    assert found.crude["y"] == pytest.approx(59 / 110)
    assert found.standardised["x"] == pytest.approx(found.standardised["y"])
    assert found.weights == {"young": 0.5, "old": 0.5}


def test_a_group_without_rows_in_a_needed_stratum_is_undefined_with_the_reason() -> None:
    whole = tally(rows(empty_cell=True), [Rate("hit", "right")], ["group", "age"])
    found = standardised_rates(whole, "hit", "group", "age")
    assert found.standardised["y"] == Undefined("the group has no rows in some of age")


def test_what_can_not_be_standardised_is_refused() -> None:
    whole = tally(rows(), [Rate("hit", "right")], ["group", "age"])
    with pytest.raises(UnknownNameError, match="tone"):
        standardised_rates(whole, "hit", "tone", "age")
    with pytest.raises(UnknownNameError, match="hit"):
        standardised_rates(whole, "hti", "group", "age")
    with pytest.raises(OptionError, match="only proportions and means"):
        standardised_rates(whole, "hit", "group", "age", output="median")
