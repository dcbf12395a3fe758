"""The nearest point of a curve whose scores do not fit into memory."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.metrics import operating_points
from evenhand.metrics.operating_points import Convention, SortedScores, rates_at
from evenhand.metrics.score_stream import blocks_of, streamed_rates

RATES = (0.0, 1e-4, 1e-3, 1e-2, 0.1, 0.5, 1.0)


def scores(seed: int, impostors: int, *, digits: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    genuine = rng.normal(0.6, 0.1, 300)
    score = np.concatenate([genuine, rng.normal(0.1, 0.12, impostors)]).astype(np.float32)
    score[rng.random(len(score)) < 0.01] = -np.inf
    if digits is not None:
        score = np.round(score, digits)
    same = np.arange(len(score)) < 300
    order = rng.permutation(len(score))
    return score[order], same[order]


@pytest.mark.parametrize("convention", list(Convention))
@pytest.mark.parametrize("seed", range(2))
def test_a_stream_is_read_as_if_all_scores_were_there(convention: Convention, seed: int) -> None:
    check(convention, seed, None)


@pytest.mark.parametrize("convention", list(Convention))
@pytest.mark.parametrize("digits", [4, 3, 2])
@pytest.mark.parametrize("seed", range(3))
def test_the_bends_around_a_rate_are_found_in_its_neighbourhood(
    digits: int, seed: int, convention: Convention, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating_points, "_REACH", 1)
    check(convention, seed, digits)


def check(convention: Convention, seed: int, digits: int | None) -> None:
    score, same = scores(seed, 20_000, digits=digits)
    expected = rates_at(SortedScores.of(score[same]), SortedScores.of(score[~same]), RATES, convention)
    found = streamed_rates(lambda: blocks_of(score, same, 7_000), RATES, convention)
    assert found == expected


@pytest.mark.parametrize("bend", [None, -0.9, 0.1, 0.3, 0.7999])
def test_the_next_bend_of_a_straight_curve_is_found_however_far_away(
    bend: float | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(operating_points, "_REACH", 4)
    impostors = np.unique(np.linspace(-0.9, 0.8, 20_000).astype(np.float32))
    twice = [] if bend is None else [impostors[np.abs(impostors - bend).argmin()]]  # tied impostors: the curve bends
    score = np.concatenate([impostors, twice, [0.9]]).astype(np.float32)
    same = np.arange(len(score)) == len(score) - 1
    for rate in (0.2, 0.5, 0.9):
        expected = rates_at(SortedScores.of(score[same]), SortedScores.of(score[~same]), [rate], Convention.NEAREST)
        assert streamed_rates(lambda: blocks_of(score, same), [rate], Convention.NEAREST) == expected


def test_a_window_of_the_curve_gives_the_nearest_point_of_the_whole() -> None:
    for seed in range(4):
        score, same = scores(seed, 60_000, digits=None if seed % 2 else 3)
        genuine, impostor = SortedScores.of(score[same]), SortedScores.of(score[~same])
        for rate in (1e-4, 3e-3, 0.02):
            for convention in (Convention.NEAREST, Convention.NEAREST_FULL_CURVE):
                whole = rates_at(genuine, impostor, (rate, 1.0), convention)[0]  # 1.0 asks for the whole curve
                assert rates_at(genuine, impostor, (rate,), convention)[0] == whole
