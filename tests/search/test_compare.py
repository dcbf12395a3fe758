"""Scores of listed pairs."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.engines import parse
from evenhand.search import compare
from evenhand.search.compare import pair_scores, scores_in_double
from evenhand.search.enrol import Templates


def templates(count: int, seed: int = 1) -> Templates:
    vectors = np.random.default_rng(seed).normal(size=(count, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return Templates(vectors, np.ones(count, np.bool_), 0)


@pytest.mark.parametrize("tile", [7, 64, 4096])
@pytest.mark.parametrize("pairs", [50, 4000])
@pytest.mark.parametrize("held", [500, 1 << 26])
def test_tiles_of_any_size_give_the_cosine_of_each_pair(
    tile: int, pairs: int, held: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compare, "_TILE", tile)
    monkeypatch.setattr(compare, "_STRIP_BYTES", held)
    some = templates(100)
    rng = np.random.default_rng(2)
    first, second = rng.integers(0, 100, pairs), rng.integers(0, 100, pairs)
    expected = np.einsum("ij,ij->i", some.vectors[first].astype(np.float64), some.vectors[second].astype(np.float64))
    np.testing.assert_allclose(pair_scores(some, first, second), expected, atol=1e-6)


def test_threads_and_one_worker_find_the_same_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compare, "_TILE", 32)
    monkeypatch.setattr(compare, "_STRIP_BYTES", 1 << 12)
    some = templates(100)
    first, second = np.repeat(np.arange(100), 100), np.tile(np.arange(100), 100)
    here = pair_scores(some, first, second, engine=parse("serial"))
    np.testing.assert_array_equal(here, pair_scores(some, first, second, engine=parse("threads:2")))


def test_a_pair_with_a_failure_to_enrol_scores_minus_infinity() -> None:
    some = templates(3)._replace(enrolled=np.array([True, False, True]))
    assert pair_scores(some, np.array([0, 0]), np.array([1, 2]))[0] == -np.inf
    assert scores_in_double(some, np.array([0, 0]), np.array([1, 2]))[0] == -np.inf


def test_no_pairs_give_no_scores() -> None:
    assert len(pair_scores(templates(2), np.zeros(0, int), np.zeros(0, int))) == 0


def test_a_pair_of_a_template_that_is_not_there_is_refused() -> None:
    first = np.arange(70_000) % 4
    first[-1] = 9
    with pytest.raises(IndexError, match="template 9, but there are 4"):
        pair_scores(templates(4), first, np.arange(70_000) % 4)
