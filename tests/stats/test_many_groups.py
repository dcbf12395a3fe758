"""Thousands of groups: what is computed for some of them is what all of them would give."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.measure import tally
from evenhand.core.membership import groups_of
from evenhand.core.metric import Ratio
from evenhand.core.records import Attribute, Records
from evenhand.metrics.means import Mean, Rate
from evenhand.stats import analysis, findings, tables
from evenhand.stats.evidence import RatioEvidence
from evenhand.stats.settings import Settings


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
def places() -> tuple[tables.TallyLayout, tables.UnitTable]:
    metric = Mean("m", "value")
    whole = tally(made(), [metric], ["several", "single"])
    found = tables.layout(whole.cells, groups_of(whole.cells, ["several", "single"], 2))
    return found, tables.unit_table(found, metric.ratios(whole.states[0])["mean"])


def test_a_table_of_some_groups_is_that_part_of_the_table_of_all(
    places: tuple[tables.TallyLayout, tables.UnitTable],
) -> None:
    layout, table = places
    chosen = np.array([1, 4, 9, 13])
    some = table.of(chosen)
    np.testing.assert_array_equal(some.means.value, table.means.value[chosen])
    np.testing.assert_allclose(some.covariance, table.covariance[np.ix_(chosen, chosen)], rtol=1e-12)
    first, second = np.array([1, 1, 4, 9]), np.array([4, 9, 13, 13])
    places_in_some = (np.searchsorted(chosen, side) for side in (first, second))
    np.testing.assert_array_equal(some.units_in_both(*places_in_some), table.units_in_both(first, second))
    members = layout.has.dense()
    both = [int(((members[a] & members[b]) * layout.pattern_rows).sum()) for a, b in zip(first, second, strict=False)]
    assert layout.shared_pairs(first, second).tolist() == both


def test_families_units_and_permutations_in_blocks_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    cells = Attribute.coded(rng.integers(0, 30, 1500), tuple(f"c{n}" for n in range(30)))
    rows = Records({"hit": rng.random(1500) < 0.7}, {"cell": cells})
    settings = analysis.Settings(draws=0, permutations=300)
    whole = analysis.analyse(tally(rows, [Rate("hit", "hit")], ["cell"]), ["cell"], 1, settings)
    monkeypatch.setattr(analysis, "MOST_PAIRS", 50)
    monkeypatch.setattr(analysis, "PAIRS_AT_ONCE", 40)
    monkeypatch.setattr(tables, "_MOST_DENSE_GROUPS", 0)
    monkeypatch.setattr("evenhand.stats.evidence._MOST_MEMBERSHIPS", 0)
    parts = analysis.analyse(tally(rows, [Rate("hit", "hit")], ["cell"]), ["cell"], 1, settings)
    assert parts.contrasts[0].family_size == whole.contrasts[0].family_size == 435
    everything = {(c.first, c.second): c for c in whole.contrasts}
    assert len(parts.contrasts) == 50
    for pair in parts.contrasts:
        assert pair.adjusted == everything[pair.first, pair.second].adjusted
    one, other = whole.summaries[0].reference, parts.summaries[0].reference
    assert one is not None
    assert other is not None
    assert other.mean == pytest.approx(one.mean, rel=0.05)


@pytest.mark.parametrize("sparse", [0, 10**9])
def test_draws_of_a_table_are_the_same_multiplied_sparsely_or_not(
    places: tuple[tables.TallyLayout, tables.UnitTable], sparse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, table = places
    monkeypatch.setattr(tables, "_SPARSE", sparse)
    weights = np.random.default_rng(1).multinomial(60, [1 / 60] * 60, size=9).astype(np.float32)
    top, bottom = table.wide()
    ratio = np.divide(
        weights @ top, weights @ bottom, out=np.full((9, table.groups), np.nan), where=weights @ bottom > 0
    )
    np.testing.assert_allclose(table.drawn([weights[:4], weights[4:]]), ratio, rtol=1e-12)


def test_sums_by_unit_are_those_of_its_rows_in_each_group(places: tuple[tables.TallyLayout, tables.UnitTable]) -> None:
    layout, table = places
    rows = made()
    assert list(zip(table.group, table.unit, strict=True)) == sorted(set(zip(table.group, table.unit, strict=True)))
    sums = dict(zip(zip(table.group.tolist(), table.unit.tolist(), strict=True), table.top, strict=True))
    units = np.unique(rows["unit"])
    for position, group in enumerate(layout.groups):
        inside = rows.members(group)
        for unit in np.unique(rows["unit"][inside]):
            mine = inside & (rows["unit"] == unit)
            assert sums.pop((position, int(np.searchsorted(units, unit)))) == pytest.approx(rows["value"][mine].sum())
    assert not sums


def test_groups_overlap_when_a_row_is_in_two_of_them(places: tuple[tables.TallyLayout, tables.UnitTable]) -> None:
    layout, _ = places
    positions = {str(group): position for position, group in enumerate(layout.groups)}
    assert layout.overlap([positions["several=l0"], positions["several=l1"]])
    assert not layout.overlap([positions["single=s0"], positions["single=s1"]])


def test_units_that_are_kept_for_all_draws_are_those_that_are_drawn_again(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tally(made(), [Mean("m", "value")], ["several", "single"])
    kept = analysis.analyse(whole, ["several", "single"], 2)
    monkeypatch.setattr(findings, "_MOST_KEPT", 0)
    assert analysis.analyse(whole, ["several", "single"], 2).summaries == kept.summaries


def whole_of(kind: str, rows: int = 400) -> tuple[tables.TallyLayout, Ratio]:
    """A layout and an output: the mean of a number, or the share of rows above one half."""
    records = made(rows)
    columns = {**records.columns, "high": records["value"] > 0.5}
    metric = Mean("m", "value") if kind == "mean" else Rate("m", "high")
    whole = tally(Records(columns, records.attributes), [metric], ["several", "single"])
    layout = tables.layout(whole.cells, groups_of(whole.cells, ["several", "single"], 2))
    return layout, next(iter(metric.ratios(whole.states[0]).values()))


@pytest.mark.parametrize("kind", ["mean", "proportion"])
def test_p_values_alone_are_those_of_the_whole_comparison(kind: str) -> None:
    layout, ratio = whole_of(kind)
    evidence = RatioEvidence(layout, ratio, lambda: iter(()))
    for positions in layout.by_attributes.values():
        first, second = (positions[side] for side in np.triu_indices(len(positions), 1))
        compared = evidence.pairs(first, second, Settings())
        np.testing.assert_array_equal(evidence.p_values(first, second, Settings()), compared.p_value)


def test_some_pairs_are_compared_as_they_are_among_all(monkeypatch: pytest.MonkeyPatch) -> None:
    layout, ratio = whole_of("mean")
    evidence = RatioEvidence(layout, ratio, lambda: iter(()))
    positions = layout.by_attributes["several", "single"]
    first, second = (positions[side] for side in np.triu_indices(len(positions), 1))
    every = evidence.pairs(first, second, Settings())
    chosen = np.arange(1, len(first), 3)
    for most in (10**9, 0):  # from the kept cells of all pairs, and looked up anew
        monkeypatch.setattr(tables, "_MOST_APART", most)
        layout._apart.clear()
        if most:
            evidence.p_values(first, second, Settings())
        some = evidence.pairs(first[chosen], second[chosen], Settings())
        assert some.test.tolist() == every.test[chosen].tolist()
        assert some.shared_rows.tolist() == every.shared_rows[chosen].tolist()
        np.testing.assert_array_equal(some.p_value, every.p_value[chosen])
        np.testing.assert_allclose(some.low, every.low[chosen], rtol=1e-12)
        np.testing.assert_array_equal(some.effects["cliffs_delta"], every.effects["cliffs_delta"][chosen])


def test_of_a_large_family_the_smallest_p_values_are_listed_and_equal_ones_in_their_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(analysis, "MOST_PAIRS", 3)
    assert analysis._listed(np.array([0.5, 0.2, 0.5, 0.1, 0.5])).tolist() == [0, 1, 3]
    assert analysis._listed(np.array([np.nan, 0.2, np.nan, 0.1, np.nan])).tolist() == [0, 1, 3]
    assert analysis._listed(np.array([0.3, 0.2])).tolist() == [0, 1]
