"""Scores of listed pairs of templates.

Fetching two vectors per pair would move tens of gigabytes. Instead the templates that occur
are multiplied tile by tile, and the listed entries are picked from each product. Where a
tile has only few listed pairs, their vectors are multiplied one by one.

The tiles have a fixed size, so the same pairs give the same bits on any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.engine import Engine, Serial, Workplace, finished
from evenhand.core.records import Array, blocks
from evenhand.search.enrol import Templates
from evenhand.search.lookup import AT_ONCE, looked_up

_TILE = 2048  # templates on each side of a tile
_WORTH_A_PRODUCT = 1 / 64  # listed share of a tile above which the whole product is cheaper
_PAIRS_AT_ONCE = 4096
_BYTES_HELD = 640 << 20  # of a whole matrix of products


class _Tile(NamedTuple):
    """Two ranges of templates, and the pairs between them."""

    first: int
    second: int
    pairs: Array  # rows of the list


def pair_scores(
    templates: Templates, first: Array, second: Array, *, engine: Engine | None = None
) -> NDArray[np.floating]:
    """The cosine (pairs,) of templates `first[i]` and `second[i]`, in their precision; −∞ where one was not enrolled.

    >>> vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.0]], dtype=np.float32)
    >>> some = Templates(vectors, np.array([True, True, False]), 0)
    >>> pair_scores(some, np.array([0, 0]), np.array([1, 2])).round(4).tolist()
    [0.6000000238418579, -inf]
    """
    engine = Serial() if engine is None else engine
    first, second = np.asarray(first), np.asarray(second)
    used_first, row_of = _used(first, len(templates.vectors))
    used_second, column_of = _used(second, len(templates.vectors))
    rows, columns = templates.vectors[used_first], templates.vectors[used_second]
    area = len(rows) * len(columns)
    if _WORTH_A_PRODUCT * area <= len(first) and area * rows.itemsize <= _BYTES_HELD:
        scores = _picked(_all_products(rows, columns, engine), row_of, first, column_of, second)
    else:
        left, right = looked_up(row_of, first), looked_up(column_of, second)
        scores = np.empty(len(left), dtype=rows.dtype)
        tiles = list(_tiles(left, right, len(rows), len(columns)))
        found = finished(engine.map(_score_tile, tiles, shared=(rows, columns, left, right)), "tile")
        for tile, part in zip(tiles, found, strict=True):
            scores[tile.pairs] = part
    if not templates.enrolled.all():
        failed = ~(looked_up(templates.enrolled, first) & looked_up(templates.enrolled, second))
        scores[failed] = -np.inf
    return scores


def _all_products(rows: Array, columns: Array, engine: Engine) -> NDArray[np.floating]:
    """Every row with every column, tile by tile: quicker than sorting pairs when most of it is asked for."""
    whole = np.empty((len(rows), len(columns)), dtype=rows.dtype)
    corners = [(a, b) for a in range(0, len(rows), _TILE) for b in range(0, len(columns), _TILE)]
    if engine.name == Serial().name:  # nobody else works on it, so every tile is computed where it belongs
        for a, b in corners:
            out = whole[a : a + _TILE, b : b + _TILE]
            np.matmul(rows[a : a + _TILE], columns[b : b + _TILE].T, out=out)
        return whole
    products = finished(engine.map(_product, corners, shared=(rows, columns)), "tile")
    for (a, b), product in zip(corners, products, strict=True):
        whole[a : a + _TILE, b : b + _TILE] = product
    return whole


def _picked(
    products: NDArray[np.floating], row_of: Array, first: Array, column_of: Array, second: Array
) -> NDArray[np.floating]:
    """The listed entries of a matrix, block by block: places of all of them would take more memory than the scores."""
    flat, width = products.reshape(-1), products.shape[1]
    scores = np.empty(len(first), dtype=products.dtype)
    start_of_row = row_of.astype(np.int64) * width
    for block in blocks(len(first), AT_ONCE):
        place = np.take(start_of_row, first[block], mode="clip")
        place += np.take(column_of, second[block], mode="clip")
        np.take(flat, place, out=scores[block], mode="clip")
    return scores


def _product(corner: tuple[int, int], place: Workplace) -> NDArray[np.floating]:
    rows, columns = place.shared
    return np.asarray(rows[corner[0] : corner[0] + _TILE] @ columns[corner[1] : corner[1] + _TILE].T)


def _used(templates: Array, count: int) -> tuple[Array, Array]:
    """The templates that occur, ascending, and where each of all templates stands among them."""
    present = np.zeros(count, dtype=np.bool_)
    for block in blocks(len(templates), AT_ONCE):
        present[templates[block]] = True
    return np.flatnonzero(present), np.cumsum(present, dtype=np.int32) - 1


def _tiles(left: Array, right: Array, rows: int, columns: int) -> Iterator[_Tile]:
    across = -(-columns // _TILE)
    down = -(-rows // _TILE)
    if down * across <= 1:
        yield _Tile(0, 0, np.arange(len(left)))
        return
    # The tile of each pair: 16 bits where they suffice, because these are sorted by radix.
    number = (left // _TILE) * across + right // _TILE
    number = number.astype(np.uint16 if down * across < 2**16 else np.int64)
    order = np.argsort(number, kind="stable")
    counts = np.bincount(number, minlength=down * across)
    stops = np.cumsum(counts)
    for tile in np.flatnonzero(counts):
        first, second = divmod(int(tile), across)
        yield _Tile(first * _TILE, second * _TILE, order[stops[tile] - counts[tile] : stops[tile]])


def _score_tile(tile: _Tile, place: Workplace) -> NDArray[np.floating]:
    rows, columns, left, right = place.shared
    first, second = left[tile.pairs] - tile.first, right[tile.pairs] - tile.second
    a, b = rows[tile.first : tile.first + _TILE], columns[tile.second : tile.second + _TILE]
    if len(tile.pairs) >= _WORTH_A_PRODUCT * len(a) * len(b):
        product = a @ b.T
        return np.asarray(product[first, second])
    scores = np.empty(len(first), dtype=rows.dtype)
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        np.einsum("ij,ij->i", a[first[part]], b[second[part]], out=scores[part])
    return scores
