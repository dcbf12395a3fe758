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

_TILE = 2048  # templates on each side of a tile
_WORTH_A_PRODUCT = 1 / 64  # listed share of a tile above which the whole product is cheaper
_PAIRS_AT_ONCE = 4096
_PICKED_AT_ONCE = 1 << 17
_ENTRIES_HELD = 1 << 26  # of a whole matrix of products: a quarter of a gigabyte


class _Tile(NamedTuple):
    """Two ranges of templates, and the pairs between them."""

    first: int
    second: int
    pairs: Array  # rows of the list


def pair_scores(
    templates: Templates, first: Array, second: Array, *, engine: Engine | None = None
) -> NDArray[np.float32]:
    """The cosine (pairs,) of templates `first[i]` and `second[i]`; −∞ where one was not enrolled.

    >>> vectors = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 0.0]], dtype=np.float32)
    >>> some = Templates(vectors, np.array([True, True, False]), 0)
    >>> pair_scores(some, np.array([0, 0]), np.array([1, 2])).round(4).tolist()
    [0.6000000238418579, -inf]
    """
    engine = Serial() if engine is None else engine
    used_first, left = _used(np.asarray(first), len(templates.vectors))
    used_second, right = _used(np.asarray(second), len(templates.vectors))
    rows, columns = templates.vectors[used_first], templates.vectors[used_second]
    area = len(rows) * len(columns)
    if _WORTH_A_PRODUCT * area <= len(left) and area <= _ENTRIES_HELD:
        scores = _picked(_all_products(rows, columns, engine), left, right)
    else:
        scores = np.empty(len(left), dtype=np.float32)
        tiles = list(_tiles(left, right, len(rows), len(columns)))
        found = finished(engine.map(_score_tile, tiles, shared=(rows, columns, left, right)), "tile")
        for tile, part in zip(tiles, found, strict=True):
            scores[tile.pairs] = part
    if not templates.enrolled.all():
        failed = ~(templates.enrolled[np.asarray(first)] & templates.enrolled[np.asarray(second)])
        scores[failed] = -np.inf
    return scores


def _all_products(rows: Array, columns: Array, engine: Engine) -> NDArray[np.float32]:
    """Every row with every column, tile by tile: quicker than sorting pairs when most of it is asked for."""
    whole = np.empty((len(rows), len(columns)), dtype=np.float32)
    corners = [(a, b) for a in range(0, len(rows), _TILE) for b in range(0, len(columns), _TILE)]
    products = finished(engine.map(_product, corners, shared=(rows, columns)), "tile")
    for (a, b), product in zip(corners, products, strict=True):
        whole[a : a + _TILE, b : b + _TILE] = product
    return whole


def _picked(products: NDArray[np.float32], left: Array, right: Array) -> NDArray[np.float32]:
    """The listed entries of a matrix, block by block: places of all of them would take more memory than the scores."""
    flat, width = products.reshape(-1), products.shape[1]
    scores = np.empty(len(left), dtype=np.float32)
    for block in blocks(len(left), _PICKED_AT_ONCE):
        place = left[block].astype(np.int64)
        place *= width
        place += right[block]
        scores[block] = flat[place]
    return scores


def _product(corner: tuple[int, int], place: Workplace) -> NDArray[np.float32]:
    rows, columns = place.shared
    return np.asarray(rows[corner[0] : corner[0] + _TILE] @ columns[corner[1] : corner[1] + _TILE].T)


def _used(templates: Array, count: int) -> tuple[Array, Array]:
    """The templates that occur, ascending, and the position of each entry among them."""
    present = np.zeros(count, dtype=np.bool_)
    present[templates] = True
    position = np.cumsum(present, dtype=np.int32) - 1
    return np.flatnonzero(present), position[templates]


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


def _score_tile(tile: _Tile, place: Workplace) -> NDArray[np.float32]:
    rows, columns, left, right = place.shared
    first, second = left[tile.pairs] - tile.first, right[tile.pairs] - tile.second
    a, b = rows[tile.first : tile.first + _TILE], columns[tile.second : tile.second + _TILE]
    if len(tile.pairs) >= _WORTH_A_PRODUCT * len(a) * len(b):
        product = a @ b.T
        return np.asarray(product[first, second])
    scores = np.empty(len(first), dtype=np.float32)
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        np.einsum("ij,ij->i", a[first[part]], b[second[part]], out=scores[part])
    return scores
