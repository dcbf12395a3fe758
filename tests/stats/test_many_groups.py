"""Thousands of groups: what is computed for some of them is what all of them would give."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.measure import tally
from evenhand.core.records import Attribute, Records, groups_of, inside_of
from evenhand.metrics.means import Mean
from evenhand.stats import analysis, tables
from evenhand.stats.redraw import redraw_ratio


def made(rows: int = 400, units: int = 60, seed: int = 0) -> Records:
    rng = np.random.default_rng(seed)
    several = [tuple(f"l{n}" for n in range(4) if rng.random() < 0.4) for _ in range(rows)]
    single = [f"s{n}" for n in rng.integers(0, 3, rows)]
    return Records(
        {"value": rng.integers(0, 11, rows) / 10, "unit": rng.integers(0, units, rows), "item": np.arange(rows)},
        {
            "several": Attribute.many(several, levels=tuple(f"l{n}" for n in range(4))),
            "single": Attribute.of(single, levels=("s0", "s1", "s2")),
        },
    )


@pytest.fixture
def places() -> tuple[tables.Layout, tables.UnitTable]:
    metric = Mean("m", "value")
    whole = tally(made(), [metric], ["several", "single"])
    found = tables.layout(whole.cells, groups_of(whole.cells, ["several", "single"], 2))
    return found, tables.unit_table(found, metric.ratios(whole.states[0])["mean"])


def test_memberships_of_many_groups_are_those_of_each() -> None:
    rows = made()
    groups = groups_of(rows, ["several", "single"], 2)
    kept, members = inside_of(rows, groups)
    for position, group in enumerate(groups):
        assert kept[position].tolist() == rows.kept(group).tolist()
        assert members[position].tolist() == rows.members(group).tolist()


def test_a_table_of_some_groups_is_that_part_of_the_table_of_all(
    places: tuple[tables.Layout, tables.UnitTable],
) -> None:
    layout, table = places
    chosen = np.array([1, 4, 9, 13])
    some = table.of(chosen)
    np.testing.assert_array_equal(some.means.value, table.means.value[chosen])
    np.testing.assert_array_equal(some.shared_units, table.shared_units[np.ix_(chosen, chosen)])
    np.testing.assert_allclose(some.covariance, table.covariance[np.ix_(chosen, chosen)], rtol=1e-12)
    np.testing.assert_array_equal(layout.shared_among(chosen), layout.shared_rows[np.ix_(chosen, chosen)])


@pytest.mark.parametrize("sparse", [0, 10**9])
def test_draws_of_a_table_are_the_same_multiplied_sparsely_or_not(
    places: tuple[tables.Layout, tables.UnitTable], sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table = places
    monkeypatch.setattr(tables, "_SPARSE", sparse)
    weights = np.random.default_rng(1).multinomial(60, [1 / 60] * 60, size=9).astype(np.float32)
    wide = redraw_ratio(table, list(range(table.groups)), iter([weights[:4], weights[4:]]))
    np.testing.assert_allclose(table.drawn([weights[:4], weights[4:]]), wide, rtol=1e-12)


@pytest.mark.parametrize("dense", [0, 10**9])
def test_sums_by_unit_are_the_same_filled_or_searched(dense: int, monkeypatch: pytest.MonkeyPatch) -> None:
    metric = Mean("m", "value")
    whole = tally(made(), [metric], ["several"])
    layout = tables.layout(whole.cells, groups_of(whole.cells, ["several"], 1))
    plain = tables.unit_table(layout, metric.ratios(whole.states[0])["mean"])
    monkeypatch.setattr(tables, "_MOST_DENSE", dense)
    other = tables.unit_table(layout, metric.ratios(whole.states[0])["mean"])
    for name in ("group", "unit", "top", "bottom"):
        np.testing.assert_array_equal(getattr(other, name), getattr(plain, name))


def test_groups_overlap_when_a_row_is_in_two_of_them(places: tuple[tables.Layout, tables.UnitTable]) -> None:
    layout, _ = places
    positions = {str(group): position for position, group in enumerate(layout.groups)}
    assert layout.overlap([positions["several=l0"], positions["several=l1"]])
    assert not layout.overlap([positions["single=s0"], positions["single=s1"]])


def test_units_that_are_kept_for_all_draws_are_those_that_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tally(made(), [Mean("m", "value")], ["several", "single"])
    kept = analysis.analyse(whole, ["several", "single"], 2)
    monkeypatch.setattr(analysis, "_MOST_KEPT", 0)
    assert analysis.analyse(whole, ["several", "single"], 2).summaries == kept.summaries
