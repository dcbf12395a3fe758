"""Every template with every other: the same as from the whole matrix, without it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand.core.errors import DataError
from evenhand.engines import parse
from evenhand.metrics.operating_points import SortedScores, rates_at
from evenhand.run.stores import points_of_all_pairs
from evenhand.search import all_pairs as module
from evenhand.search.all_pairs import all_pairs
from evenhand.search.stores import open_store

RATES = (0.001, 0.01, 0.1)


@pytest.fixture
def people(tmp_path: Path):
    rng = np.random.default_rng(1)
    person = rng.integers(0, 40, 300)
    centre = rng.standard_normal((40, 16))
    vectors = (centre[person] + 0.8 * rng.standard_normal((300, 16))).astype(np.float32)
    vectors[7] = 0.0
    np.save(tmp_path / "a.npy", vectors)
    return open_store(tmp_path / "a.npy"), vectors, person, rng.integers(-1, 2, 40)[person]


def lengths(pairs) -> int:
    return len(pairs.score)


@pytest.mark.parametrize("tile", [2048, 64, 7])
def test_every_pair_is_met_once(people, tile: int, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_TILE", tile)
    assert all_pairs(people[0], lengths) == 300 * 299 // 2


@pytest.mark.parametrize("engine", ["serial", "threads:2"])
def test_points_by_group_are_those_of_the_matrix(people, engine: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(module, "_TILE", 64)
    store, vectors, person, group = people
    found = points_of_all_pairs(store, person, group, ("women", "men"), RATES, engine=parse(engine))
    with np.errstate(invalid="ignore"):
        unit = np.nan_to_num(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))
    row, column = np.triu_indices(300, 1)
    score = (unit @ unit.T)[row, column]
    score[(row == 7) | (column == 7)] = -np.inf
    same = person[row] == person[column]
    for point in found:
        cell = {"everyone": None, "women": 0, "men": 1}[point.group]
        member = np.ones(len(row), bool) if cell is None else (group[row] == cell) & (group[column] == cell)
        expected = rates_at(
            SortedScores.of(score[member & same]), SortedScores.of(score[member & ~same]), [point.rate]
        )[0]
        assert point.own.tar == expected.tar
        assert point.own.fmr == expected.fmr
        assert point.own.threshold == pytest.approx(expected.threshold, rel=1e-5)


def test_a_single_template_has_no_pairs(tmp_path: Path):
    np.save(tmp_path / "a.npy", np.ones((1, 3), np.float32))
    with pytest.raises(DataError, match="has no pairs"):
        points_of_all_pairs(open_store(tmp_path / "a.npy"), [0], [0], ["all"], RATES)
