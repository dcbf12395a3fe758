"""Scores of listed pairs of templates.

Fetching two vectors per pair would move tens of gigabytes. Instead the templates that occur
are multiplied strip by strip, or tile by tile where few pairs are listed, and the listed entries are picked from each
product. Where a tile has only few listed pairs, their vectors are multiplied one by one.

The sizes of strips and tiles follow from the templates, so the same pairs give the same bits on any number of workers.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.engine import Engine, Serial, Workplace, finished
from evenhand.core.records import Array, blocks
from evenhand.search.enrol import Templates
from evenhand.search.lookup import AT_ONCE, looked_up

_TILE = 2048  # templates on each side of a tile
WORTH_A_PRODUCT = 1 / 64  # listed share of a tile above which the whole product is cheaper
_PAIRS_AT_ONCE = 1024
_DOUBLES_AT_ONCE = 128  # pairs whose vectors in double precision stay in a core's cache
_STRIP_BYTES = 31 << 20  # of products held at a time; from 32 MB on memory is mapped anew each time


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
    scores = np.empty(len(first), dtype=rows.dtype)
    if WORTH_A_PRODUCT * len(rows) * len(columns) <= len(first):
        height = max(_STRIP_BYTES // max(len(columns) * rows.itemsize, 1), 1)
        strips = -(-len(rows) // height)
        codes = (row_of // height).astype(np.uint8 if strips < 2**8 else np.uint16 if strips < 2**16 else np.int32)
        strip_of_pair = looked_up(codes, first)
        entry = looked_up(row_of % np.int32(height) * np.int32(len(columns)), first)  # of a strip's products
        for block in blocks(len(entry), AT_ONCE):
            entry[block] += np.take(column_of, second[block], mode="clip")
        shared = (rows, columns, strip_of_pair, entry)
        parts = finished(engine.map(partial(_score_strip, height), range(strips), shared=shared), "strip")
        for part in parts:
            for block, (inside, some) in zip(blocks(len(first), AT_ONCE), part, strict=True):
                scores[block][inside] = some
    else:
        left, right = looked_up(row_of, first), looked_up(column_of, second)
        tiles = list(_tiles(left, right, len(rows), len(columns)))
        products = finished(engine.map(_score_tile, tiles, shared=(rows, columns, left, right)), "tile")
        for tile, product in zip(tiles, products, strict=True):
            scores[tile.pairs] = product
    if not templates.enrolled.all():
        failed = ~(looked_up(templates.enrolled, first) & looked_up(templates.enrolled, second))
        scores[failed] = -np.inf
    return scores


def scores_in_double(templates: Templates, first: Array, second: Array) -> NDArray[np.float64]:
    """As `pair_scores` in double precision, for few pairs: only vectors that are being multiplied are converted."""
    scores = np.full(len(first), -np.inf)
    enrolled = np.flatnonzero(templates.enrolled[first] & templates.enrolled[second])
    for block in blocks(len(enrolled), _DOUBLES_AT_ONCE):
        pairs = enrolled[block]
        sides = (in_double(templates.vectors[side[pairs]]) for side in (first, second))
        scores[pairs] = np.einsum("ij,ij->i", *sides)
    return scores


def in_double(vectors: Array) -> NDArray[np.float64]:
    """Vectors of unit length in double precision; those without length stay zero."""
    double = vectors.astype(np.float64)
    lengths = np.sqrt(np.einsum("ij,ij->i", double, double))
    double /= np.where(lengths > 0, lengths, 1.0)[:, None]
    return double


def _score_strip(height: int, strip: int, place: Workplace) -> list[tuple[NDArray[np.uint16], NDArray[np.floating]]]:
    """For every block of the list, where the pairs are whose first template is in a strip of rows, and their scores."""
    rows, columns, strip_of_pair, entry = place.shared
    strip_rows = rows[strip * height : (strip + 1) * height]
    products = np.empty((len(strip_rows), len(columns)), dtype=rows.dtype)
    for block in blocks(len(columns), _TILE):
        np.matmul(strip_rows, columns[block].T, out=products[:, block])
    flat = products.reshape(-1)
    scores = []
    for block in blocks(len(entry), AT_ONCE):  # that stays in a core's cache
        inside = np.flatnonzero(strip_of_pair[block] == strip)
        entries = np.take(entry[block], inside, mode="clip")  # within the products: no second look is needed
        scores.append((inside.astype(np.uint16), np.take(flat, entries, mode="clip")))
    return scores


def _used(templates: Array, count: int) -> tuple[Array, Array]:
    """The templates that occur, ascending, and where each of all templates stands among them."""
    present = np.zeros(count, dtype=np.bool_)
    if len(templates) and not 0 <= templates.min() <= templates.max() < count:
        raise IndexError(f"a pair names template {templates.max()}, but there are {count}")
    for block in blocks(len(templates), AT_ONCE):
        if not np.take(present, templates[block], mode="clip").all():  # soon all are known, and a look is cheaper
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
    if len(tile.pairs) >= WORTH_A_PRODUCT * len(a) * len(b):
        product = a @ b.T
        return np.asarray(product[first, second])
    scores = np.empty(len(first), dtype=rows.dtype)
    for start in range(0, len(first), _PAIRS_AT_ONCE):
        part = slice(start, start + _PAIRS_AT_ONCE)
        np.einsum("ij,ij->i", a[first[part]], b[second[part]], out=scores[part])
    return scores
