"""Open-set search: worked examples that can be checked on paper."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evenhand.core.metric import Curve, Undefined
from evenhand.core.records import Records
from evenhand.metrics.search import (
    Cmc,
    OpenSetSearch,
    fnir_name,
    fpir_name,
    rank_name,
    tpir_name,
)
from evenhand.metrics.search_rates import ANY_RANK, GallerySearch, Searches, ranks_of

# Gallery 0: four mated probes and three strangers.
MATE = [0.9, 0.7, 0.5, -np.inf]
ABOVE = [0, 0, 1, 0]
TIED = [0, 1, 0, 0]
TOP_OF_STRANGERS = [0.6, 0.4, 0.2]


def searches(galleries: int = 1) -> Records:
    count = len(MATE) + len(TOP_OF_STRANGERS)
    once = {
        "mated": np.array([True] * 4 + [False] * 3),
        "mate": np.array(MATE + [-np.inf] * 3),
        "above": np.array([*ABOVE, 0, 0, 0]),
        "tied": np.array([*TIED, 0, 0, 0]),
        "top": np.array([0.3, 0.7, 0.55, 0.1, *TOP_OF_STRANGERS]),
    }
    columns = {name: np.tile(column, galleries) for name, column in once.items()}
    return Records({**columns, "gallery": np.repeat(np.arange(galleries), count)}, {})


def values(metric: Cmc | OpenSetSearch, rows: Records) -> dict[str, object]:
    state = metric.measure(rows)
    return {name: column[0] for name, column in metric.result(state, state).items()}


def test_a_tie_counts_against_the_mate_unless_asked_otherwise() -> None:
    assert ranks_of(np.array(MATE), np.array(ABOVE), np.array(TIED)).tolist() == [1, 2, 2, 0]
    assert ranks_of(np.array(MATE), np.array(ABOVE), np.array(TIED), "optimistic").tolist() == [1, 1, 2, 0]


def test_a_mate_that_failed_to_enrol_is_a_miss_at_every_rank() -> None:
    found = values(Cmc("CMC", ranks=(1, 2, 50)), searches())
    assert [found[rank_name(rank)] for rank in (1, 2, 50)] == [0.25, 0.75, 0.75]


def test_the_mate_must_pass_the_threshold_and_stand_high_enough() -> None:
    found = values(OpenSetSearch("1:N", (1 / 3,), (1, 2, ANY_RANK)), searches())
    # one stranger of three may pass: everything above 0.4 is accepted
    assert found[tpir_name(1 / 3, 1)] == 0.25
    assert found[tpir_name(1 / 3, 2)] == 0.75
    assert found[tpir_name(1 / 3, ANY_RANK)] == 0.75
    assert found[fpir_name(1 / 3)] == pytest.approx(1 / 3)
    assert found[fnir_name(1 / 3)] == 0.75


def test_at_rate_zero_only_what_beats_every_stranger_counts() -> None:
    found = values(OpenSetSearch("1:N", (0.0,), (ANY_RANK,)), searches())
    assert found[tpir_name(0.0, ANY_RANK)] == 0.5


def test_the_threshold_is_the_lowest_score_above_the_first_refused_stranger() -> None:
    metric = OpenSetSearch("1:N", (1 / 3,), (1,))
    state = metric.measure(searches())
    point = metric.points(state, state)[tpir_name(1 / 3, 1)][0]
    assert point is not None
    assert (point.threshold, point.realised, point.events) == (0.5, 1 / 3, 1)


def test_galleries_are_averaged_or_pooled() -> None:
    first = searches()
    second = first.take(np.array([0, 4]))  # one mated probe at rank 1, one stranger
    rows = Records(
        {
            name: np.concatenate([first[name], second[name] if name != "gallery" else second[name] + 1])
            for name in first.columns
        },
        {},
    )
    assert values(Cmc("CMC", (1,)), rows)[rank_name(1)] == (0.25 + 1.0) / 2
    assert values(Cmc("CMC", (1,), combination="pooled"), rows)[rank_name(1)] == 2 / 5


def test_without_mated_probes_identification_rates_are_undefined() -> None:
    rows = searches().take(np.arange(4, 7))
    found = values(Cmc("CMC", (1,)), rows)
    assert found[rank_name(1)] == Undefined("no mated probe")
    assert isinstance(values(OpenSetSearch("1:N", (0.1,), (1,)), rows)[tpir_name(0.1, 1)], Undefined)


def test_without_non_mated_probes_the_cmc_is_still_defined() -> None:
    rows = searches().take(np.arange(4))
    assert values(Cmc("CMC", (1,)), rows)[rank_name(1)] == 0.25
    assert isinstance(values(OpenSetSearch("1:N", (0.1,), (1,)), rows)[tpir_name(0.1, 1)], Undefined)


def test_rates_can_be_read_at_every_score() -> None:
    search = GallerySearch.of(Searches.measured(searches(), None, 1, "pessimistic"), 0)
    below = np.nextafter(-np.array([0.9, 0.7, 0.6, 0.5, 0.4, 0.2]), np.inf)
    once = np.ones((len(below), 1))
    assert (search.strangers.above(once, below) / 3).tolist() == [0, 0, 1 / 3, 1 / 3, 2 / 3, 1]
    assert (1 - search.mates.above(once, below, ANY_RANK) / 4).tolist() == [0.75, 0.5, 0.5, 0.25, 0.25, 0.25]


def test_the_iet_curve_goes_through_the_operating_points() -> None:
    rng = np.random.default_rng(9)
    count = 400
    mated = rng.random(count) < 0.6
    rows = Records(
        {
            "gallery": rng.integers(0, 2, count),
            "mated": mated,
            "mate": np.where(mated, np.round(rng.normal(0.6, 0.2, count), 2), -np.inf),
            "above": rng.integers(0, 3, count) * mated,
            "tied": np.zeros(count, np.int64),
            "top": np.round(rng.normal(0.3, 0.2, count), 2),
        },
        {},
    )
    rates = (0.0, 0.01, 0.05, 0.1, 0.33, 0.9)
    for combination in ("mean", "pooled"):
        metric = OpenSetSearch("1:N", rates, (1,), combination=combination)  # type: ignore[arg-type]  # the literals above
        for some in (rows, rows.take(rows["gallery"] == 0)):
            state = metric.measure(some)
            found = metric.result(state, state)
            curve = found["IET"][0]
            assert isinstance(curve, Curve)
            for rate in rates:
                place = np.searchsorted(curve.x, rate, side="right") - 1
                assert 1.0 - curve.y[place] == pytest.approx(found[tpir_name(rate, 1)][0])


def test_the_iet_curve_is_undefined_without_strangers() -> None:
    some = searches()
    state = OpenSetSearch("1:N").measure(some.take(np.asarray(some["mated"])))
    assert isinstance(OpenSetSearch("1:N").result(state, state)["IET"][0], Undefined)


@pytest.mark.parametrize("combination", ["mean", "pooled"])
def test_people_drawn_again_give_the_rates_of_weighed_searches(combination: Any) -> None:
    """Every draw equals the metric of rows that are repeated as often as their person was drawn."""
    from types import SimpleNamespace

    rng = np.random.default_rng(7)
    n, units = 240, 30
    mated = rng.random(n) < 0.5
    mate = np.where(mated, np.round(rng.normal(size=n) + 1, 1), -np.inf)
    above, tied = rng.integers(0, 4, n) * (mate > -np.inf), rng.integers(0, 2, n) * (mate > -np.inf)
    columns = {
        "gallery": rng.integers(0, 2, n), "mated": mated, "mate": mate, "above": above, "tied": tied,
        "top": np.round(rng.normal(size=n), 1),
    }  # fmt: skip
    rows = Records(columns, {})
    unit, pattern = rng.integers(0, units, n), rng.integers(0, 2, n)
    metric = OpenSetSearch("1:N", (0.0, 0.05, 0.3, 1.0), (1, 3, ANY_RANK), combination=combination)
    weights = rng.multinomial(units, np.full(units, 1 / units), 12)
    kept = np.array([[True, True], [True, False], [False, True]])
    cells = SimpleNamespace(unit=unit, unit_b=None, units=units, pattern=pattern, kept=kept)
    state = metric.measure(rows, np.arange(n), n)
    wanted = frozenset(name for name in metric.outputs if name != "IET")
    drawn = metric.redrawn(state, cells, [weights[:5], weights[5:]], wanted)
    assert drawn is not None
    for place, weight in enumerate(weights):
        repeated = np.repeat(np.arange(n), weight[unit])
        whole = metric.measure(rows.take(repeated))
        for group, keeps in enumerate(kept):
            part = metric.measure(rows.take(repeated[keeps[pattern[repeated]]]))
            values = metric.result(part, whole)
            for name in wanted:
                expected = values[name].values[0]
                np.testing.assert_allclose(drawn[name][place, group], expected, atol=1e-12, err_msg=name)
