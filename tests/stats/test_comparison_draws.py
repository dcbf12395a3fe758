"""People drawn again: the quick way of comparisons gives what weighing every comparison gives."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import numpy as np
import pytest

from evenhand.core.measure import tally
from evenhand.core.membership import groups_of
from evenhand.core.metric import Metric
from evenhand.core.records import Attribute, Records
from evenhand.metrics import operating_points, verification_tails
from evenhand.metrics.operating_points import Convention
from evenhand.metrics.verification import Separation, Verification
from evenhand.stats.analysis import analyse
from evenhand.stats.redraw import redraw
from evenhand.stats.resample import Weights, weight_blocks
from evenhand.stats.settings import Settings
from evenhand.stats.tables import TallyLayout, layout

RATES = (0.0, 1e-3, 1e-2, 0.1, 0.5, 1.0)
EVERY_CONVENTION = Verification("1:1", RATES, tuple(Convention))


def comparisons(seed: int, *, ties: bool = False, dtype: type = np.float32, rows: int = 3000) -> Records:
    rng = np.random.default_rng(seed)
    people = 30
    first = rng.integers(0, people, rows)
    second = np.where(rng.random(rows) < 0.15, first, rng.integers(0, people, rows))
    same = first == second
    score = rng.normal(size=rows) * 0.3 + same * 0.7
    score = np.round(score, 1) if ties else score
    score[rng.random(rows) < 0.02] = -np.inf
    gender = rng.integers(0, 2, people)
    pair = Attribute.coded(gender[first] + gender[second], ("both female", "mixed", "both male"))
    columns = {"unit": first, "unit_b": second, "score": score.astype(dtype), "same": same}
    return Records(columns, {"gender": pair})


def slowly(metric: Metric[Any]) -> Metric[Any]:
    """The same metric without its quick way."""

    class Slow(type(metric)):  # type: ignore[misc]  # the class is known when the test runs
        def redrawn(self, *given: Any) -> None:
            return None

    made: Metric[Any] = Slow(**{field.name: getattr(metric, field.name) for field in fields(metric)})  # type: ignore[arg-type]  # metrics are dataclasses
    return made


def weights_of(places: TallyLayout, draws: int) -> Iterator[Weights]:
    return weight_blocks(places.units, draws, np.random.default_rng(1))


@pytest.mark.parametrize(("ties", "dtype"), [(False, np.float32), (True, np.float32), (True, np.float64)])
@pytest.mark.parametrize(
    "metric", [Verification("1:1", RATES), EVERY_CONVENTION, Separation("1:1")], ids=["rates", "all", "separation"]
)
def test_the_quick_way_finds_the_same_numbers(metric: Metric[Any], ties: bool, dtype: type) -> None:
    whole = tally(comparisons(2, ties=ties, dtype=dtype), [metric], ["gender"])
    places = layout(whole.cells, groups_of(whole.cells, ["gender"], 1))
    wanted = frozenset(metric.outputs) - {"ROC", "DET"} - metric.linearised
    quick = redraw(metric, whole.states[0], places, weights_of(places, 12), wanted)
    slow = redraw(slowly(metric), whole.states[0], places, weights_of(places, 12), wanted)
    for output in wanted:
        np.testing.assert_allclose(quick[output], slow[output], rtol=0, atol=1e-12)


def test_the_tail_grows_when_a_draw_needs_more_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification_tails, "_SPARE", 0.0)
    monkeypatch.setattr(verification_tails, "_BIN", 4)
    test_the_quick_way_finds_the_same_numbers(Verification("1:1", RATES), True, np.float32)
    test_the_quick_way_finds_the_same_numbers(Separation("1:1"), False, np.float32)


def test_many_people_need_no_table_of_every_two_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verification_tails, "_MOST_UNITS", 3)
    test_the_quick_way_finds_the_same_numbers(Verification("1:1", RATES), False, np.float32)


def test_the_area_moves_to_first_order_as_it_moves_in_full() -> None:
    metric = Separation("1:1")
    whole = tally(comparisons(4), [metric], ["gender"])
    places = layout(whole.cells, groups_of(whole.cells, ["gender"], 1))
    wanted = frozenset({"AUC"})
    quick = redraw(metric, whole.states[0], places, weights_of(places, 60), wanted)["AUC"]
    slow = redraw(slowly(metric), whole.states[0], places, weights_of(places, 60), wanted)["AUC"]
    assert np.corrcoef(quick[:, 0], slow[:, 0])[0, 1] > 0.99
    assert quick.std(axis=0) == pytest.approx(slow.std(axis=0), rel=0.1, nan_ok=True)


@pytest.mark.parametrize("reach", [1, 3, 1 << 20])
@pytest.mark.parametrize("ties", [False, True])
def test_other_conventions_are_read_around_the_threshold_however_little_is_looked_at_first(
    monkeypatch: pytest.MonkeyPatch, reach: int, ties: bool
) -> None:
    monkeypatch.setattr(operating_points, "_REACH", reach)
    monkeypatch.setattr(verification_tails, "_SPARE", 0.0)
    monkeypatch.setattr(verification_tails, "_BIN", 4)
    test_the_quick_way_finds_the_same_numbers(EVERY_CONVENTION, ties, np.float32)


def test_other_conventions_alone_have_intervals() -> None:
    metric = Verification("1:1", (0.1,), (Convention.NEAREST,))
    found = analyse(tally(comparisons(5, rows=400), [metric]), settings=Settings(draws=8, permutations=0))
    assert all(estimate.low is not None for estimate in found.estimates)


def test_area_and_equal_error_rate_have_intervals_that_say_how_they_were_made() -> None:
    rows = comparisons(6)
    found = analyse(tally(rows, [Separation("1:1")]), settings=Settings(draws=50, permutations=0))
    area, equal = (next(e for e in found.estimates if e.output == name) for name in ("AUC", "EER"))
    for estimate in (area, equal):
        assert estimate.low is not None
        assert estimate.high is not None
        assert estimate.number is not None
        assert 0 <= estimate.low <= estimate.number <= estimate.high <= 1
    assert "linearised" in area.method
    assert "linearised" not in equal.method
    assert any("to first order" in note for note in found.method.notes)


def test_metrics_that_keep_the_same_share_one_state() -> None:
    whole = tally(comparisons(7), [Verification("rates", (0.1,)), Separation("areas"), Separation("other", "exclude")])
    assert whole.states[0] is whole.states[1]
    assert whole.states[0] is not whole.states[2]
    patterns = whole.by_pattern()
    assert patterns.states[0] is patterns.states[1]
    both = whole + whole
    assert both.states[0] is both.states[1]
