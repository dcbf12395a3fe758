"""Sparse matrices beside SciPy's and beside whole tables."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import sparse

from evenhand.core.sparse import Product, SparseMatrix, connected_components, dense_rows

seeds = st.integers(0, 2**32 - 1)
sizes = st.integers(0, 9)


def table_of(seed: int, rows: int, width: int, share: float = 0.4) -> NDArray[np.float64]:
    """A table of small numbers, most of them zero; the first row is full, so that rows are of very unequal length."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-9, 10, (rows, width)) * (rng.random((rows, width)) < share) / 4
    table[:1] = 0.25
    return table


@given(seed=seeds, rows=sizes, width=st.integers(1, 9), columns=st.sampled_from([None, 1, 3, 8, 40]))
def test_products_with_tables_are_those_of_scipy(seed: int, rows: int, width: int, columns: int | None) -> None:
    left = table_of(seed, rows, width)
    right = np.random.default_rng(seed).random(width if columns is None else (width, columns))
    product = SparseMatrix.of_table(left) @ right
    np.testing.assert_allclose(product, sparse.csr_array(left) @ right, rtol=1e-13, atol=1e-13)
    turned = np.ascontiguousarray(right.T)
    np.testing.assert_allclose(turned @ SparseMatrix.of_table(left).T, turned @ left.T, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("columns", [3, 30])
def test_long_and_short_rows_are_added_alike(columns: int) -> None:
    rng = np.random.default_rng(2)
    size = np.array([5000, 0, 1, 2, 700, 0, 3] * 20)
    row, column = np.repeat(np.arange(len(size)), size), rng.integers(0, 900, int(size.sum()))
    values, table = rng.random(len(row)), rng.random((900, columns))
    ours = SparseMatrix.of_entries(row, column, (len(size), 900), values)
    theirs = sparse.coo_array((values, (row, column)), shape=(len(size), 900))
    np.testing.assert_allclose(ours @ table, theirs @ table, rtol=1e-12)
    np.testing.assert_allclose(ours.dense(), theirs.toarray(), rtol=1e-12)


def test_whole_numbers_stay_whole_and_single_precision_stays_single() -> None:
    ones = SparseMatrix.of_entries([1, 0, 1], [0, 1, 2], (2, 3))
    assert (ones @ np.array([True, True, True])).dtype == (ones @ np.ones((3, 9), dtype=np.int32)).dtype == np.int64
    assert (ones @ np.ones(3, dtype=np.float32)).dtype == np.float64
    single = SparseMatrix.of_entries([0], [1], (2, 3), np.ones(1, dtype=np.float32))
    assert (single @ np.ones((3, 9), dtype=np.float32)).dtype == np.float32


@given(seed=seeds, rows=sizes, inner=st.integers(1, 6), width=sizes)
def test_a_product_is_read_by_rows(seed: int, rows: int, inner: int, width: int) -> None:
    first, second, third = table_of(seed, 4, rows), table_of(seed, rows, inner), table_of(seed + 1, inner, width)
    matrices = [SparseMatrix.of_table(table) for table in (first, second, third)]
    chain = matrices[0] @ (matrices[1] @ matrices[2])
    whole = first @ second @ third
    assert isinstance(chain, Product)
    assert chain.shape == whole.shape
    np.testing.assert_allclose(chain.dense(), whole, atol=1e-12)
    np.testing.assert_allclose(dense_rows(chain, [2, 0]), whole[[2, 0]], atol=1e-12)
    np.testing.assert_allclose(chain @ np.ones(width), whole.sum(axis=1), atol=1e-12)
    np.testing.assert_allclose(np.ones(4) @ chain, whole.sum(axis=0), atol=1e-12)
    for row in range(4):
        np.testing.assert_allclose(chain.row(row), whole[row], rtol=1e-5, atol=1e-4)


@given(seed=seeds, rows=st.integers(1, 6), width=st.integers(1, 6))
def test_rows_columns_and_blocks_are_those_of_the_table(seed: int, rows: int, width: int) -> None:
    table = table_of(seed, rows, width)
    matrix = SparseMatrix.of_table(table)
    rng = np.random.default_rng(seed)
    some, columns = rng.integers(0, rows, 4), rng.permutation(width)[: width // 2]
    np.testing.assert_array_equal(matrix.take(some).dense(), table[some])
    np.testing.assert_array_equal(matrix.take_columns(columns).dense(), table[:, columns])
    np.testing.assert_array_equal(matrix.T.dense(), table.T)
    np.testing.assert_array_equal(matrix.repeated(3).dense(), np.kron(np.eye(3), table))
    np.testing.assert_array_equal(matrix.interleaved(3).dense(), np.kron(table, np.eye(3)))


@given(seed=seeds, nodes=st.integers(1, 30), edges=st.integers(0, 40))
def test_components_are_those_of_scipy(seed: int, nodes: int, edges: int) -> None:
    first, second = np.random.default_rng(seed).integers(0, nodes, (2, edges))
    links = sparse.coo_array((np.ones(edges), (first, second)), shape=(nodes, nodes))
    theirs = sparse.csgraph.connected_components(links, directed=False)[1]
    assert connected_components(first, second, nodes).tolist() == theirs.tolist()


def test_a_row_of_very_many_entries_is_multiplied_in_pieces() -> None:
    rng = np.random.default_rng(3)
    left, right = rng.integers(1, 4, (2, 60_000)), rng.integers(0, 3, (60_000, 9))
    product = (SparseMatrix.of_table(left) @ SparseMatrix.of_table(right)).dense()
    np.testing.assert_array_equal(product, left @ right)


@pytest.mark.parametrize("columns", [2, 40])
def test_sums_that_are_not_finite_are_left_to_the_caller(columns: int) -> None:
    table = np.full((2, columns), np.inf)
    table[1] = -np.inf
    assert np.isnan(SparseMatrix.of_table([[1.0, 1.0]]) @ table).all()
