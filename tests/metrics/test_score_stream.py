"""Streams of scores give what sorting gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.metrics.operating_points import (
    Convention,
    SortedScores,
    area_under_roc,
    corner_points,
    equal_error_rate,
    tar_at_far,
)
from evenhand.metrics.score_stream import (
    ScoreBlock,
    blocks_of,
    count,
    count_between,
    streamed_scores,
)

RATES = (0.0, 1e-3, 0.01, 0.1, 0.5, 1.0)


def comparisons(seed: int, n: int, digits: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    same = rng.random(n) < 0.2
    score = np.round(rng.normal(size=n) + same, digits).astype(np.float32)
    score[rng.random(n) < 0.02] = -np.inf
    return score, same


def assert_equal_to_sorting(score: np.ndarray, same: np.ndarray, genuine: SortedScores, impostor: SortedScores) -> None:
    sorted_genuine, sorted_impostor = SortedScores.of(score[same]), SortedScores.of(score[~same])
    for convention in set(Convention) - {Convention.NEAREST}:
        for rate in RATES:
            got = tar_at_far(genuine, impostor, rate, convention)
            np.testing.assert_array_equal(got, tar_at_far(sorted_genuine, sorted_impostor, rate, convention))
    np.testing.assert_equal(area_under_roc(genuine, impostor), area_under_roc(sorted_genuine, sorted_impostor))
    np.testing.assert_equal(equal_error_rate(genuine, impostor), equal_error_rate(sorted_genuine, sorted_impostor))
    if len(sorted_genuine.scores) and len(sorted_impostor.scores):
        for mine, theirs in zip(
            corner_points(genuine, impostor), corner_points(sorted_genuine, sorted_impostor), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)


@settings(max_examples=30, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10**6), st.integers(0, 400), st.sampled_from([0, 1, 3, 6]), st.integers(1, 150))
def test_a_stream_gives_the_same_points_and_curves_as_sorting(seed: int, n: int, digits: int, size: int) -> None:
    score, same = comparisons(seed, n, digits)
    genuine, impostor = streamed_scores(lambda: blocks_of(score, same, size), RATES)
    assert_equal_to_sorting(score, same, genuine, impostor)


def test_shards_add_up_to_the_whole_stream() -> None:
    score, same = comparisons(3, 5000, 2)
    parts = [slice(0, 1000), slice(1000, 1001), slice(1001, 5000)]
    first = sum(
        (count([ScoreBlock(score[p], same[p])]) for p in parts[1:]),
        count([ScoreBlock(score[parts[0]], same[parts[0]])]),
    )
    second = [count_between([ScoreBlock(score[p], same[p])], first, RATES) for p in parts]
    assert_equal_to_sorting(score, same, SortedScores.of(first.genuine), (second[0] + second[1] + second[2]).impostor())


def test_zero_and_minus_zero_are_one_score() -> None:
    score = np.array([0.0, -0.0, -0.0, 0.5], dtype=np.float32)
    same = np.array([True, False, False, False])
    assert_equal_to_sorting(score, same, *streamed_scores(lambda: [ScoreBlock(score, same)], RATES))


def test_a_score_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(ValueError, match="block 0"):
        count([ScoreBlock(np.array([np.nan], dtype=np.float32), np.array([False]))])
