"""Matrices of which few places are filled: the filled places of each row, one row after the other.

Groups, bootstrap resamples and pairs of people are such matrices, multiplied with tables of counts. A product of two
of them is kept as its factors, since only some of its rows are ever read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.core.records import Array

Integers = NDArray[np.int64]

_NARROW = 8  # columns below which a product is made column by column
_AT_ONCE = 1 << 16  # numbers that are added at a time, so that they stay in the cache


@dataclass(frozen=True, eq=False)
class SparseMatrix:
    """(rows, width): row r is filled at `columns[start[r] : start[r + 1]]`; in any order, each place once.

    >>> groups = SparseMatrix.of_entries([0, 0, 2], [0, 2, 1], (3, 3))
    >>> groups @ np.array([1, 10, 100])
    array([101,   0,  10])
    """

    start: Integers  # (rows + 1,)
    columns: Integers  # (entries,)
    width: int
    values: Array | None = None  # (entries,); None: all are 1

    __array_ufunc__ = None  # `table @ matrix` asks the matrix

    @classmethod
    def of_entries(
        cls, rows: ArrayLike, columns: ArrayLike, shape: tuple[int, int], values: ArrayLike | None = None
    ) -> Self:
        """The matrix with these places filled, which are given in any order."""
        row, column = np.asarray(rows, dtype=np.int64), np.asarray(columns, dtype=np.int64)
        own = None if values is None else np.asarray(values)
        if np.any(row[1:] < row[:-1]):
            order = np.argsort(row, kind="stable")
            row, column, own = row[order], column[order], None if own is None else own[order]
        return cls(_starts(np.bincount(row, minlength=shape[0])), column, shape[1], own)

    @classmethod
    def of_table(cls, table: ArrayLike) -> Self:
        """The places of a table that are not zero."""
        values = np.asarray(table)
        row, column = np.nonzero(values)
        return cls.of_entries(row, column, (values.shape[0], values.shape[1]), values[row, column])

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.start) - 1, self.width

    @property
    def sizes(self) -> Integers:
        """(rows,): how many places of each row are filled."""
        return np.diff(self.start)

    @cached_property
    def row_of(self) -> Integers:
        """(entries,): the row of each entry."""
        return np.repeat(np.arange(len(self)), self.sizes)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __matmul__(self, other: Any) -> Any:
        """The product with a table (width, …), in which whole numbers stay whole; with a matrix, a `Product`."""
        if isinstance(other, SparseMatrix | Product):
            return Product(self, other)
        table = np.asarray(other)
        flat = table.reshape(len(table), math.prod(table.shape[1:]))
        own = np.dtype(np.int64) if self.values is None else self.values.dtype
        kinds = own.kind, flat.dtype.kind
        is_whole = kinds[0] in "iub" and kinds[1] in "iub"
        single = self.values is not None and own == flat.dtype == np.float32
        out = np.zeros((len(self), flat.shape[1]), dtype=np.float32 if single else np.float64)
        with np.errstate(invalid="ignore", over="ignore"):  # what is not finite is the caller's to find
            if flat.shape[1] < _NARROW:
                self._add_columns(flat, out)
            else:
                self._add_rows(np.ascontiguousarray(flat, dtype=out.dtype), out)
        # A sum of counts below 2⁵³ is exact in double precision.
        return (np.rint(out).astype(np.int64) if is_whole else out).reshape(len(self), *table.shape[1:])

    def __rmatmul__(self, table: Array) -> Array:
        return np.ascontiguousarray((self.T @ np.asarray(table).T).T)

    @cached_property
    def T(self) -> SparseMatrix:  # noqa: N802  # as NumPy calls it
        """The matrix with rows and columns exchanged."""
        order = np.argsort(self.columns, kind="stable")
        values = None if self.values is None else self.values[order]
        start = _starts(np.bincount(self.columns, minlength=self.width))
        return SparseMatrix(start, self.row_of[order], len(self), values)

    def take(self, chosen: ArrayLike) -> Self:
        """Some rows, in the order given."""
        rows = np.asarray(chosen, dtype=np.int64)
        sizes = self.sizes[rows]
        at = ranges(self.start[rows], sizes)
        values = None if self.values is None else self.values[at]
        return type(self)(_starts(sizes), self.columns[at], self.width, values)

    def take_columns(self, chosen: Integers) -> SparseMatrix:
        """Some columns, in the order given, each once."""
        place = np.full(self.width, -1)
        place[chosen] = np.arange(len(chosen))
        column = place[self.columns]
        there = column >= 0
        values = None if self.values is None else self.values[there]
        return SparseMatrix.of_entries(self.row_of[there], column[there], (len(self), len(chosen)), values)

    def dense(self) -> Array:
        """The whole table (rows, width)."""
        place = self.row_of * self.width + self.columns
        return np.bincount(place, self.values, minlength=len(self) * self.width).reshape(self.shape)

    def repeated(self, times: int) -> SparseMatrix:
        """The matrix so many times, each with rows and columns of its own: the blocks of a diagonal."""
        block = np.arange(times)[:, None]
        start = np.append((block * len(self.columns) + self.start[:-1]).ravel(), times * len(self.columns))
        columns = (block * self.width + self.columns).ravel()
        values = None if self.values is None else np.tile(self.values, times)
        return SparseMatrix(start, columns, times * self.width, values)

    def interleaved(self, layers: int) -> SparseMatrix:
        """The matrix for every one of so many layers: row `r · layers + s` has the columns `c · layers + s`."""
        layer = np.arange(layers)
        rows, columns = ((side[:, None] * layers + layer).ravel() for side in (self.row_of, self.columns))
        values = None if self.values is None else np.repeat(self.values, layers)
        return SparseMatrix.of_entries(rows, columns, (len(self) * layers, self.width * layers), values)

    def _add_columns(self, table: Array, out: Array) -> None:
        filled = np.flatnonzero(self.sizes)
        for column in range(table.shape[1] if len(filled) else 0):
            entries = table[:, column].astype(out.dtype, copy=False).take(self.columns)
            if self.values is not None:
                entries *= self.values
            out[filled, column] = np.add.reduceat(entries, self.start[filled])

    def _add_rows(self, table: Array, out: Array) -> None:
        """Add the first entry of all rows, then the second, and so on; rows that are far longer one by one."""
        sizes = self.sizes
        order = np.argsort(-sizes, kind="stable")
        sizes = sizes[order]
        long = int(np.argmin(np.arange(len(sizes) + 1) + np.append(sizes, 0)))
        step = max(1, _AT_ONCE // table.shape[1])
        space = np.empty((step, table.shape[1]), dtype=out.dtype)
        for row in order[:long].tolist():
            entries = np.arange(self.start[row], self.start[row + 1])
            for first in range(0, len(entries), step):
                some = self._entries(table, entries[first : first + step], space)
                some[0] += out[row]
                out[row] = some.sum(axis=0)
        for start in range(long, len(order), step):
            rows, many = order[start : start + step], sizes[start : start + step]
            total = np.zeros((len(rows), table.shape[1]), dtype=out.dtype)
            first_entry = self.start[rows]
            left = np.searchsorted(-many, -np.arange(many[0]))  # rows that have such an entry
            for place, there in enumerate(left.tolist()):
                total[:there] += self._entries(table, first_entry[:there] + place, space)
            out[rows] = total

    def _entries(self, table: Array, at: Integers, space: Array) -> Array:
        """The rows of a table that some entries stand for, times their values."""
        entries = space[: len(at)]
        np.take(table, self.columns[at], axis=0, out=entries, mode="clip")  # `raise` would copy once more
        if self.values is not None:
            entries *= self.values[at, None]
        return entries


class Product:
    """A product of two matrices of which only some rows are ever read, so it is not multiplied out."""

    __array_ufunc__ = None

    def __init__(self, left: SparseMatrix, right: SparseMatrix | Product) -> None:
        self.left, self.right = left, right
        self.shape: tuple[int, int] = (len(left), right.shape[1])
        self._latest: tuple[int, Array] | None = None  # the same row is often asked for again

    def __matmul__(self, table: Array) -> Array:
        return np.asarray(self.left @ (self.right @ table))

    def __rmatmul__(self, table: Array) -> Array:
        return np.asarray((table @ self.left) @ self.right)

    def row(self, place: int) -> Array:
        """One row as single-precision numbers: whole weights stay exact."""
        if self._latest is None or self._latest[0] != place:
            self._latest = (place, self._row(place))
        return self._latest[1]

    def _row(self, place: int) -> Array:
        out = np.zeros(self.shape[1], dtype=np.float32)
        entries = slice(self.left.start[place], self.left.start[place + 1])
        inner = self.left.columns[entries]
        factors = np.ones(len(inner)) if self.left.values is None else self.left.values[entries]
        for factor, row in zip(factors.tolist(), inner.tolist(), strict=True):
            if isinstance(self.right, Product):
                out += factor * self.right.row(row)
            else:
                part = slice(self.right.start[row], self.right.start[row + 1])
                values = 1.0 if self.right.values is None else self.right.values[part]
                out[self.right.columns[part]] += factor * values
        return out

    def take(self, chosen: ArrayLike) -> Product:
        return Product(self.left.take(chosen), self.right)

    def dense(self) -> Array:
        left, right = self.left, self.right
        if isinstance(right, Product):
            used, place = np.unique(left.columns, return_inverse=True)
            inner = SparseMatrix(left.start, place.reshape(-1), len(used), left.values)
            return np.asarray(inner @ right.take(used).dense())
        entries = np.append(0, np.cumsum(right.sizes[left.columns]))[left.start]  # (rows + 1,): multiplied so far
        out, first = [], 0
        while first < len(left):
            last = max(first + 1, int(np.searchsorted(entries, entries[first] + _AT_ONCE, side="right")) - 1)
            part = left.take(np.arange(first, last))
            out.append(_multiplied(part, right) if last > first + 1 else _multiplied_row(part, right))
            first = last
        return np.concatenate(out) if out else np.zeros(self.shape)


def _multiplied(left: SparseMatrix, right: SparseMatrix) -> Array:
    """The product of two matrices as a table."""
    picked = right.take(left.columns)
    rows, values = np.repeat(left.row_of, picked.sizes), picked.values
    if left.values is not None:
        factors = np.repeat(left.values, picked.sizes)
        values = factors if values is None else values * factors
    shape = len(left), right.width
    return np.bincount(rows * shape[1] + picked.columns, values, minlength=shape[0] * shape[1]).reshape(shape)


def _multiplied_row(left: SparseMatrix, right: SparseMatrix) -> Array:
    """The product of a matrix of one row, so many entries at a time that they stay in the cache."""
    total = np.zeros((1, right.width), dtype=np.int64)
    ends = np.cumsum(right.sizes[left.columns])
    first = 0
    while first < len(ends):
        so_far = ends[first - 1] if first else 0
        last = max(first + 1, int(np.searchsorted(ends, so_far + _AT_ONCE, side="right")))
        values = None if left.values is None else left.values[first:last]
        part = SparseMatrix(np.array([0, last - first]), left.columns[first:last], left.width, values)
        total = total + _multiplied(part, right)
        first = last
    return total


def dense_rows(matrix: Array | SparseMatrix | Product, rows: ArrayLike) -> Array:
    """Some rows of a matrix of any kind as a table."""
    if isinstance(matrix, SparseMatrix | Product):
        return matrix.take(rows).dense()
    return np.asarray(matrix[np.asarray(rows)])


def ranges(start: Array, sizes: Integers) -> Array:
    """The numbers from each start on, as many as its size says, one range after the other.

    >>> ranges(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    before = np.cumsum(sizes) - sizes
    return np.repeat(start - before, sizes) + np.arange(int(sizes.sum()))


def connected_components(first: Array, second: Array, count: int) -> Integers:
    """(count,): the component of every node of a graph with these edges, numbered by their smallest nodes.

    >>> connected_components(np.array([3, 1]), np.array([1, 4]), 5)
    array([0, 1, 2, 1, 1])
    """
    root = np.arange(count)
    while True:
        # Every node points to a smaller one of its component; ends of an edge with different roots are joined.
        while not np.array_equal(root, above := root[root]):
            root = above
        low, high = np.minimum(root[first], root[second]), np.maximum(root[first], root[second])
        apart = low < high
        if not apart.any():
            return np.unique(root, return_inverse=True)[1].reshape(-1)
        np.minimum.at(root, high[apart], low[apart])


def _starts(sizes: Integers) -> Integers:
    start = np.zeros(len(sizes) + 1, dtype=np.int64)
    np.cumsum(sizes, out=start[1:])
    return start
