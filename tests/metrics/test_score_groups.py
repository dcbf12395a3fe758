"""Operating points by group from a stream are those of sorting every group's scores."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evenhand.metrics.operating_points import SortedScores, rates_at
from evenhand.metrics.score_stream import EVERYONE, ScoreBlock, count, look, points_by_group, wanted_bins

RATES = (0.0, 1e-3, 0.01, 0.1, 0.5, 1.0)
GROUPS = {"a": [0], "b": [1], "a or b": [0, 1], "nobody": [2]}


def blocks(score, same, cell, size):
    for start in range(0, len(score), size):
        part = slice(start, start + size)
        yield ScoreBlock(score[part], same[part], cell[part])


def comparisons(seed: int, n: int, digits: int):
    rng = np.random.default_rng(seed)
    same = rng.random(n) < 0.2
    score = np.round(rng.normal(size=n) + same, digits).astype(np.float32)
    score[rng.random(n) < 0.05] = -np.inf
    return score, same, rng.integers(-1, 2, n)


@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.integers(0, 10**6), st.integers(0, 400), st.sampled_from([0, 1, 3, 6]), st.integers(1, 150))
def test_every_group_has_the_points_that_sorting_gives(seed: int, n: int, digits: int, size: int):
    score, same, cell = comparisons(seed, n, digits)
    first = count(blocks(score, same, cell, size), 3)
    second = look(blocks(score, same, cell, size), wanted_bins(first, GROUPS, RATES))
    found = points_by_group(first, second, GROUPS, RATES)
    everyone = rates_at(SortedScores.of(score[same]), SortedScores.of(score[~same]), RATES)
    assert [point.group for point in found[: len(RATES)]] == [EVERYONE] * len(RATES)
    for point in found:
        member = np.ones(n, bool) if point.group == EVERYONE else np.isin(cell, GROUPS[point.group])
        genuine, impostor = SortedScores.of(score[member & same]), SortedScores.of(score[member & ~same])
        np.testing.assert_array_equal(point.own, rates_at(genuine, impostor, [point.rate])[0])
        threshold = everyone[RATES.index(point.rate)].threshold
        if impostor.total and not np.isnan(threshold):
            assert point.shared.fmr == float(impostor.reaching(threshold)) / impostor.total
        if genuine.total and not np.isnan(threshold):
            assert point.shared.tar == float(genuine.reaching(threshold)) / genuine.total


def test_shards_add_up_to_the_whole_stream():
    score, same, cell = comparisons(1, 500, 3)
    whole = count(blocks(score, same, cell, 500), 3)
    added = count(blocks(score[:200], same[:200], cell[:200], 70), 3) + count(
        blocks(score[200:], same[200:], cell[200:], 70), 3
    )
    np.testing.assert_array_equal(whole.impostors, added.impostors)
    np.testing.assert_array_equal(whole.genuine, added.genuine)


def test_a_score_that_is_not_a_number_is_refused():
    with pytest.raises(ValueError, match="block 0 has a score that is not a number"):
        count([ScoreBlock(np.array([np.nan]), np.array([True]), np.array([0]))], 1)


def test_a_cell_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="cell 4, but there are 2"):
        count([ScoreBlock(np.array([0.5]), np.array([True]), np.array([4]))], 2)


@pytest.mark.slow
def test_a_hundred_million_scores_from_disk_give_points_by_group_in_a_gigabyte(tmp_path: Path):
    import json
    import subprocess
    import sys

    root = Path(__file__).parents[2]
    command = [sys.executable, "-m", "bench.scores", "--scores", "100000000", "--in", str(tmp_path), "--json"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    said = json.loads(done.stdout)
    assert said["scores"] == 100_000_000
    assert said["peak_mb"] < 1000
    assert len(said["points"]) == 4 * 6


def test_cells_may_be_of_any_whole_numbers_and_of_more_cells_than_those_count():
    score, same = np.array([0.5, 0.25], dtype=np.float32), np.array([True, False])
    wide = count([ScoreBlock(score, same, np.array([127, -1]))], 128)
    narrow = count([ScoreBlock(score, same, np.array([127, -1], dtype=np.int8))], 128)
    assert np.array_equal(narrow.genuine, wide.genuine)
    assert np.array_equal(narrow.impostors, wide.impostors)
