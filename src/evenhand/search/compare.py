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
        pairs = _PairsByStrip.of(row_of, column_of, first, second, height)
        shared = (rows, columns, pairs.entry, pairs.ends)
        strips = range(-(-len(rows) // height))
        for strip, part in enumerate(
            finished(engine.map(partial(_score_strip, height), strips, shared=shared), "strip")
        ):
            done = 0
            for segment in _segments(pairs.ends, strip):
                scores[segment] = part[done : done + segment.stop - segment.start]
                done += segment.stop - segment.start
        for block in blocks(len(scores), AT_ONCE):
            ordered = scores[block].copy()
            scores[block][pairs.order[block]] = ordered
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


def rounding_error(dimensions: int) -> float:
    """How far the product of two unit vectors in single precision may be off: half a unit in the last place for every
    addition, and what the lengths themselves are off."""
    return (dimensions + 8) * 2.0**-24


def scores_in_double(templates: Templates, first: Array, second: Array) -> NDArray[np.float64]:
    """As `pair_scores` in double precision, for few pairs: only vectors that are being multiplied are converted."""
    scores, lengths = np.full(len(first), -np.inf), _lengths_in_double(templates.vectors)
    enrolled = np.flatnonzero(templates.enrolled[first] & templates.enrolled[second])
    sides = [np.empty((_DOUBLES_AT_ONCE, templates.vectors.shape[1])) for _ in range(2)]
    for block in blocks(len(enrolled), _DOUBLES_AT_ONCE):
        pairs = enrolled[block]
        for doubles, side in zip(sides, (first, second), strict=True):
            doubles[: len(pairs)] = templates.vectors[side[pairs]]
        products = np.einsum("ij,ij->i", *(doubles[: len(pairs)] for doubles in sides))
        scores[pairs] = products / (lengths[first[pairs]] * lengths[second[pairs]])
    return scores


def _lengths_in_double(vectors: Array) -> NDArray[np.float64]:
    """(vectors,): one for those without length."""
    lengths = np.empty(len(vectors))
    for block in blocks(len(vectors), _DOUBLES_AT_ONCE):
        double = vectors[block].astype(np.float64)
        lengths[block] = np.sqrt(np.einsum("ij,ij->i", double, double))
    return np.where(lengths > 0, lengths, 1.0)


def in_double(vectors: Array) -> NDArray[np.float64]:
    """Vectors of unit length in double precision; those without length stay zero."""
    return vectors / _lengths_in_double(vectors)[:, None]


def _score_strip(height: int, strip: int, place: Workplace) -> NDArray[np.floating]:
    """The scores of the pairs whose first template is in a strip of rows, block after block of the list."""
    rows, columns, entry, ends = place.shared
    strip_rows = rows[strip * height : (strip + 1) * height]
    products = strip_rows @ columns.T
    flat, scores, done = products.reshape(-1), np.empty(int(np.diff(ends[:, strip : strip + 2]).sum()), rows.dtype), 0
    for segment in _segments(ends, strip):
        entries = entry[segment]  # within the products: no second look is needed
        np.take(flat, entries, mode="clip", out=scores[done : done + len(entries)])
        done += len(entries)
    return scores


def _segments(ends: Array, strip: int) -> Iterator[slice]:
    """Where the pairs of a strip stand in every block of the list."""
    for block, (start, stop) in enumerate(ends[:, strip : strip + 2].tolist()):
        yield slice(block * AT_ONCE + start, block * AT_ONCE + stop)


class _PairsByStrip(NamedTuple):
    """Listed pairs, which are in the order of their strips within every block of the list."""

    entry: NDArray[np.signedinteger]  # (pairs,), of a strip's products
    order: NDArray[np.uint16]  # (pairs,): where each stands in its block as it was listed
    ends: NDArray[np.int32]  # (blocks, strips + 1): where the pairs of a strip begin, and those of the next

    @classmethod
    def of(cls, row_of: Array, column_of: Array, first: Array, second: Array, height: int) -> _PairsByStrip:
        """Pairs of rows and columns of the product; `row_of` and `column_of` say where each template stands there."""
        strips = int(row_of.max(initial=0)) // height + 1
        # Codes of 8 or 16 bits are sorted by radix.
        codes = (row_of // height).astype(np.uint8 if strips < 2**8 else np.uint16 if strips < 2**16 else np.int32)
        starts = row_of % np.int32(height) * np.int32(column_of.max(initial=0) + 1)
        entry, order = np.empty(len(first), dtype=np.int32), np.empty(len(first), dtype=np.uint16)
        ends = np.zeros((-(-len(first) // AT_ONCE), strips + 1), dtype=np.int32)
        for number, block in enumerate(blocks(len(first), AT_ONCE)):
            strip = np.take(codes, first[block], mode="clip")
            entries = np.take(starts, first[block], mode="clip")
            entries += np.take(column_of, second[block], mode="clip")
            by_strip = np.argsort(strip, kind="stable")
            np.take(entries, by_strip, mode="clip", out=entry[block])
            order[block] = by_strip
            np.cumsum(np.bincount(strip, minlength=strips), out=ends[number, 1:])
        return cls(entry, order, ends)


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
