"""Weights of redrawn units and pairs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.core.sparse import SparseMatrix
from evenhand.core.streams import stream
from evenhand.stats.checks import StatisticsError
from evenhand.stats.resample import (
    dyadic_totals,
    pair_counts,
    subsample_weights,
    table_draws,
    unit_weights,
    weight_blocks,
)


def test_every_draw_has_as_many_units_as_there_are() -> None:
    weights = unit_weights(30, 50, stream("test"))
    assert np.all(weights.sum(axis=1) == 30)
    assert weights.var() == pytest.approx(29 / 30, abs=0.1)


def test_strata_keep_their_number_of_units() -> None:
    strata = np.array([0, 0, 0, 1, 1, 2])
    weights = unit_weights(6, 40, stream("test"), strata=strata)
    for code, size in ((0, 3), (1, 2), (2, 1)):
        assert np.all(weights[:, strata == code].sum(axis=1) == size)


def test_the_same_stream_gives_the_same_bytes_in_whatever_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = unit_weights(17, 23, stream("same"))
    monkeypatch.setattr("evenhand.stats.resample._BLOCK_CELLS", 40)
    parts = list(weight_blocks(17, 23, stream("same")))
    assert len(parts) > 1
    assert np.concatenate(parts).tobytes() == whole.tobytes()


def test_no_units_are_refused() -> None:
    with pytest.raises(StatisticsError, match="no units"):
        unit_weights(0, 5, stream("test"))


def test_a_subsample_takes_each_unit_at_most_once() -> None:
    weights = subsample_weights(10, 4, 30, stream("test"))
    assert set(np.unique(weights)) == {0.0, 1.0}
    assert np.all(weights.sum(axis=1) == 4)
    with pytest.raises(StatisticsError, match="10 of 10"):
        subsample_weights(10, 10, 1, stream("test"))


def test_drawing_a_table_of_counts_has_the_spread_of_drawing_rows() -> None:
    table = np.array([[30, 10], [50, 10]])
    drawn = table_draws(table, 4000, stream("test"))
    assert drawn.mean(axis=0) == pytest.approx(table, abs=0.5)
    assert drawn[:, 0, 0].var() == pytest.approx(100 * 0.3 * 0.7, rel=0.1)


def _brute(weights: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.array([sum(w[i] * (1 if i == j else w[j]) for i, j in zip(a, b, strict=True)) for w in weights])


@given(st.integers(0, 10_000))
def test_counting_by_pair_of_subjects_gives_what_single_comparisons_give(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b, score = rng.integers(0, 6, 40), rng.integers(0, 6, 40), rng.random(40)
    weights = unit_weights(6, 5, rng)
    counts = pair_counts(a, b, score, [0.5], 6)
    other = a != b
    false = other & (score >= 0.5)
    assert dyadic_totals(weights, counts.impostor) == pytest.approx(_brute(weights, a[other], b[other]))
    assert dyadic_totals(weights, counts.impostor_errors[0]) == pytest.approx(_brute(weights, a[false], b[false]))
    missed = ~other & (score < 0.5)
    assert weights @ counts.genuine_errors[0] == pytest.approx(_brute(weights, a[missed], b[missed]))


@given(st.integers(0, 10_000))
def test_totals_of_a_group_count_the_pairs_with_both_people_in_it(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.integers(0, 6, 30), rng.integers(0, 6, 30)
    keep = a != b
    a, b = a[keep], b[keep]
    group = rng.random(6) < 0.6
    weights = unit_weights(6, 4, rng)
    counts = pair_counts(a, b, np.zeros(len(a)), [1.0], 6)
    inside = group[a] & group[b]
    expected = _brute(weights, a[inside], b[inside])
    assert dyadic_totals(weights, counts.impostor, group) == pytest.approx(expected)


def test_dense_and_sparse_tables_give_the_same_totals() -> None:
    rng = np.random.default_rng(0)
    dense = rng.integers(0, 3, (40, 40)).astype(float)
    weights = unit_weights(40, 7, rng)
    expected = np.einsum("di,ij,dj->d", weights, dense, weights)
    assert dyadic_totals(weights, SparseMatrix.of_table(dense)) == pytest.approx(expected)
