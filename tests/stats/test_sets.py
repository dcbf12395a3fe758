"""Distances between sets."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from evenhand.core.measure import tally
from evenhand.core.metric import Column, Direction, Linear, Metric, Resampling, ratio
from evenhand.core.metric import tally as add_up
from evenhand.core.records import Array, Attribute, Group, Records
from evenhand.stats.analysis import analyse
from evenhand.stats.settings import Settings


@dataclass(frozen=True, eq=False)
class Moments(Linear):
    """Sums of both sides."""

    real: Array
    real_count: Array
    made: Array
    made_count: Array


@dataclass(frozen=True)
class MeanDistance(Metric[Moments]):
    """The distance of the means of real and made rows."""

    name: str
    resampling: ClassVar[Resampling] = Resampling.SUBSAMPLE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"distance": Direction.LOWER}

    @property
    def columns(self) -> tuple[str, ...]:
        return ("x", "made")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Moments:
        made = np.asarray(rows["made"], dtype=bool)
        return Moments(
            add_up(np.where(made, 0.0, rows["x"]), cells, size),
            add_up(~made, cells, size),
            add_up(np.where(made, rows["x"], 0.0), cells, size),
            add_up(made, cells, size),
        )

    def result(self, part: Moments, whole: Moments) -> Mapping[str, Column]:
        real, made = ratio(part.real, part.real_count, "no real"), ratio(part.made, part.made_count, "none made")
        apart = np.abs(real.values - made.values)
        return {"distance": ratio(apart, np.where(np.isnan(apart), 0.0, 1.0), "a side is empty")}


def frames(shift: float) -> Records:
    rng = np.random.default_rng(0)
    unit = np.repeat(np.arange(60), 4)
    made = np.tile([False, False, True, True], 60)
    group = (unit >= 40).astype(int)
    x = rng.normal(0, 1, 240) + made * (1.0 + shift * group)
    return Records({"unit": unit, "x": x, "made": made}, {"g": Attribute.coded(group, ("many", "few"))})


def test_a_distance_gets_a_subsample_interval_around_its_full_value() -> None:
    settings = Settings(draws=100, set_draws=40)
    found = analyse(tally(frames(0.0), [MeanDistance("d")], ["g"]), ["g"], 1, settings)
    many = next(e for e in found.estimates if e.group == Group.of(g="many"))
    assert many.method == "subsample"
    assert many.low is not None
    assert many.high is not None
    assert many.number == pytest.approx((many.low + many.high) / 2)
    assert found.contrasts[0].interval == "subsample_at_equal_size"


def test_units_permuted_between_groups_find_a_planted_difference_and_no_other() -> None:
    settings = Settings(draws=100, set_draws=20, set_permutations=99)
    planted = analyse(tally(frames(2.0), [MeanDistance("d")], ["g"]), ["g"], 1, settings).contrasts[0]
    even = analyse(tally(frames(0.0), [MeanDistance("d")], ["g"]), ["g"], 1, settings).contrasts[0]
    assert planted.test == "unit_permutation"
    assert planted.p == pytest.approx(0.01)
    assert even.p is not None
    assert even.p > 0.05
    assert planted.worse == Group.of(g="few")


def test_without_draws_a_distance_has_no_interval() -> None:
    found = analyse(tally(frames(0.0), [MeanDistance("d")], ["g"]), ["g"], 1, Settings(draws=0))
    assert all(estimate.low is None for estimate in found.estimates)
