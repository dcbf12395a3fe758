"""From rows to estimates."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.engine import total
from evenhand.core.errors import UnknownNameError
from evenhand.core.measure import estimates, measure, tally
from evenhand.core.membership import groups_of
from evenhand.core.metric import Undefined
from evenhand.core.records import EVERYONE, MISSING, Attribute, Group, Records
from evenhand.core.results import Status
from evenhand.metrics.means import Mean, Rate

TONES = ("light", "dark", "none such")
HIT = Rate("hits", "hit")


def rows() -> Records:
    return Records(
        {
            "unit": np.array(["s1", "s1", "s2", "s3", "s3"]),
            "hit": np.array([True, True, False, True, False]),
            "value": np.array([1.0, np.nan, 3.0, 5.0, 7.0]),
        },
        {"tone": Attribute.of(["light", "light", "dark", "dark", None], TONES)},
    )


def by_group(metric: object, **options: object) -> dict[str, tuple[object, int, int, int]]:
    found = measure(rows(), [metric], ["tone"])  # type: ignore[list-item]  # any metric
    return {str(e.group): (e.value, e.rows, e.units, e.missing) for e in found}


def test_every_group_has_its_value_rows_and_units() -> None:
    assert by_group(HIT) == {
        "everyone": (0.6, 5, 3, 0),
        "tone=light": (1.0, 2, 1, 0),
        "tone=dark": (0.5, 2, 2, 0),
        "tone=none such": (Undefined("no row counts"), 0, 0, 0),
        "tone=(missing)": (0.0, 1, 1, 0),
    }


def test_rows_without_a_value_are_counted_as_missing_and_not_as_rows() -> None:
    assert by_group(Mean("m", "value"))["tone=light"] == (1.0, 1, 1, 1)


def test_a_declared_group_without_rows_is_empty() -> None:
    found = measure(rows(), [HIT], ["tone"])
    assert [e.status for e in found if e.group == Group.of(tone="none such")] == [Status.EMPTY]


def test_false_alarms_stay_in_every_group_but_are_not_counted_as_its_rows() -> None:
    tone = Attribute.coded(np.array([0, 1, -1]), TONES)
    table = Records({"unit": np.arange(3), "hit": np.array([True, True, False])}, {"tone": tone})
    found = {str(e.group): (e.value, e.rows) for e in measure(table, [HIT], ["tone"])}
    assert found["tone=light"] == (0.5, 1)
    assert found["everyone"] == (2 / 3, 3)


def test_parts_give_the_same_as_the_whole() -> None:
    table = rows()
    parts = [table.take(np.array([4, 0])), table.take(np.array([1])), table.take(np.array([3, 2]))]
    metrics = [HIT, Mean("m", "value")]
    assert measure(parts, metrics, ["tone"]) == measure(table, metrics, ["tone"])


def test_an_attribute_that_varies_within_a_unit_makes_more_cells() -> None:
    whole = tally(rows(), [HIT], ["tone"])
    assert len(whole.cells) == 4  # s3 is dark once and unannotated once
    assert len(whole.by_pattern().cells) == 3


def test_units_of_pairs_are_counted_on_both_sides() -> None:
    table = Records(
        {"unit": np.array([0, 1]), "unit_b": np.array([1, 2]), "hit": np.array([True, False])},
        {"tone": Attribute.of(["light", "dark"], TONES)},
    )
    found = {str(e.group): e.units for e in measure(table, [HIT], ["tone"])}
    assert (found["everyone"], found["tone=light"]) == (3, 2)


def test_a_row_without_a_unit_is_its_own_unit_in_whole_and_in_parts() -> None:
    table = Records({"hit": rows()["hit"]}, rows().attributes)
    parts = [table.take(slice(0, 2)), table.take(slice(2, 3)), table.take(slice(3, 5))]
    for whole in (tally(table, [HIT], ["tone"]), total(tally(part, [HIT], ["tone"]) for part in parts)):
        assert whole is not None
        assert whole.cells["unit"].tolist() == [0, 1, 2, 3, 4]
        assert estimates(whole, groups_of(whole.cells, ["tone"]))[0].units == 5


def test_without_units_cells_are_patterns() -> None:
    whole = tally(rows(), [HIT], ["tone"], units=False)
    assert len(whole.cells) == 3
    found = estimates(whole, groups_of(whole.cells, ["tone"]))
    assert found[0].units == 5


def test_a_metric_that_lacks_its_column_says_so() -> None:
    with pytest.raises(UnknownNameError, match="The metric 'r' reads it"):
        measure(rows(), [Rate("r", "his")], [])


def test_no_parts_give_no_estimates() -> None:
    assert measure([], [HIT]) == ()


def test_groups_can_be_named() -> None:
    found = measure(rows(), [HIT], groups=[Group.of(tone=MISSING), EVERYONE])
    assert [e.value for e in found] == [0.0, 0.6]


@pytest.mark.parametrize("by", [(), ("tone",), ("tone", "sex")])
def test_a_big_table_is_tallied_in_blocks_to_the_same_numbers(by: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    n = 300_000
    table = Records(
        {
            "unit": rng.integers(0, 50, n),
            "hit": rng.random(n) < 0.3,
            "value": np.where(rng.random(n) < 0.1, np.nan, 2.0),
        },
        {
            "tone": Attribute.coded(rng.integers(-1, 4, n), TONES),
            "sex": Attribute.many([{"f"}, {"f", "m"}, None, ()] * (n // 4), ("f", "m")),
        },
    )
    metrics = [HIT, Mean("m", "value")]
    blocks = tally(table, metrics, by, units=False)
    whole = tally(table, metrics, by).by_pattern()
    groups = groups_of(table, by, 2)
    strip = [(e.metric, e.group, e.value, e.rows, e.missing, e.status) for e in estimates(blocks, groups)]
    assert strip == [(e.metric, e.group, e.value, e.rows, e.missing, e.status) for e in estimates(whole, groups)]
