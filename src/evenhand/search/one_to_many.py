"""Every probe searched in a gallery, with exact ranks.

A part is a block of probes. It meets the gallery tile by tile: the tiles that hold its mates come
first and give the mates' scores; in every tile, the templates of other people that score above or
as high as the mate are counted, and the best of them kept. Scores of probes whose mate is not known
yet wait until it is. No list is ever sorted.

Probes are sorted by the position of their mate and the gallery by person, so few scores wait, and every
product is formed once. Where too many would wait, a tile is formed again with the same shape, so
that a tie is a tie.

Templates are arrays (`search`), or lie in files and are read tile by tile (`search_stores`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.engine import Engine, Serial, Workplace, finished
from evenhand.core.errors import DataError
from evenhand.core.records import Array, blocks
from evenhand.search.enrol import Templates
from evenhand.search.stores import EmbeddingStore

_PROBES = 1024  # in a block
_TILE = 4096  # templates in a tile of the gallery
_UNIT = 1e-5  # a length so near to one is one
_ENTRIES_KEPT = 1 << 27  # scores of the first round that are kept for the second: half a gigabyte at most


class Searched(NamedTuple):
    """What became of every probe in one gallery."""

    mated: NDArray[np.bool_]  # the person has a template in the gallery's list, enrolled or not
    mate: NDArray[np.float32]  # best score of the person's templates; −∞ without one that could be compared
    above: NDArray[np.int64]  # templates of other people that score higher than the mate
    tied: NDArray[np.int64]  # … that score the same
    top: NDArray[np.float32]  # best score of other people; −∞ when there is none
    largest_others: NDArray[np.float32]  # the highest scores of other people over all probes, descending
    owner_of_largest: NDArray[np.int64]  # the probe of each of these


class _ProbeBlock(NamedTuple):
    """A block of probes, as a range of the sorted probes; and how many of the largest others are wanted."""

    start: int
    stop: int
    wanted: int


class _Found(NamedTuple):
    mate: Array
    above: Array
    tied: Array
    top: Array
    largest: Array
    owner: Array


def search(
    probes: Templates,
    probe_subject: Array,
    gallery: Templates,
    gallery_subject: Array,
    *,
    engine: Engine | None = None,
    largest: int = 0,
) -> Searched:
    """Search all probes in a gallery; subjects are whole numbers that mean the same on both sides.

    `largest` asks for that many of the highest scores of other people over all probes.

    >>> vectors = np.array([[1.0, 0.0], [0.0, 1.0]], dtype=np.float32)
    >>> people = Templates(vectors, np.array([True, True]), 0)
    >>> found = search(people, np.array([5, 9]), people, np.array([5, 6]))
    >>> found.mated.tolist(), found.above.tolist(), found.top.tolist()
    ([True, False], [0, 0], [0.0, 1.0])
    """
    probe_subject, gallery_subject = np.asarray(probe_subject), np.asarray(gallery_subject)
    enrolled = np.flatnonzero(gallery.enrolled)
    by_person = enrolled[np.argsort(gallery_subject[enrolled], kind="stable")]
    people = gallery_subject[by_person]
    first = np.searchsorted(people, probe_subject, side="left")
    last = np.searchsorted(people, probe_subject, side="right")
    usable = np.flatnonzero(probes.enrolled)
    order = usable[np.argsort(first[usable], kind="stable")]
    shared = (_rows(probes.vectors, order), _rows(gallery.vectors, by_person), first[order], last[order])
    return _searched(_search_block, shared, order, np.isin(probe_subject, gallery_subject), largest, engine)


def search_stores(
    probes: EmbeddingStore,
    probe_subject: Array,
    gallery: EmbeddingStore,
    gallery_subject: Array,
    *,
    engine: Engine | None = None,
    largest: int = 0,
) -> Searched:
    """The same over embeddings on disk; a worker holds a block of probes and one tile of the gallery at a time.

    Vectors are scaled to length one where they are not; one without length, or with a number that is none, is a
    failure to enrol. The gallery stays in its order on disk: where a person has several templates, keep them together.
    """
    engine = Serial() if engine is None else engine
    probe_subject, gallery_subject = np.asarray(probe_subject), np.asarray(gallery_subject)
    for store, subject, side in ((probes, probe_subject, "probes"), (gallery, gallery_subject, "gallery")):
        if len(store) != len(subject):
            raise DataError(f"The {side} have {len(store):,} embeddings and {len(subject):,} subjects.")
    if probes.dimensions != gallery.dimensions:
        raise DataError(
            f"The probes have {probes.dimensions} dimensions and the gallery {gallery.dimensions}: "
            "both must come from one network."
        )
    probe_scale, gallery_scale = scales(probes, engine), scales(gallery, engine)
    by_person = np.argsort(gallery_subject, kind="stable")
    people = gallery_subject[by_person]
    first = np.searchsorted(people, probe_subject, side="left")
    last = np.searchsorted(people, probe_subject, side="right")
    where = np.append(by_person, len(by_person))[
        np.where(last > first, first, len(by_person))
    ]  # the first mate on disk
    usable = np.flatnonzero(probe_scale > 0)
    order = usable[np.argsort(where[usable], kind="stable")]
    shared = (order, first[order], last[order], by_person, probe_scale, gallery_scale)
    find = partial(_search_block_on_disk, probes, gallery)
    return _searched(find, shared, order, np.isin(probe_subject, gallery_subject), largest, engine)


def scales(store: EmbeddingStore, engine: Engine) -> NDArray[np.float32]:
    """What every vector is multiplied with to have length one: 1 where it has it, 0 where it can't be compared."""
    starts = range(0, len(store), _TILE * 8)
    parts = finished(engine.map(partial(_scale_rows, store), starts), "part of a store")
    return np.concatenate([np.zeros(0, np.float32), *parts])


def _scale_rows(store: EmbeddingStore, start: int, place: Workplace) -> NDArray[np.float32]:
    rows = store.rows(start, start + _TILE * 8)
    length = np.sqrt(np.einsum("ij,ij->i", rows, rows, dtype=np.float64))
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = np.where(np.abs(length - 1) < _UNIT, 1.0, 1.0 / length)
    scale[~np.isfinite(length) | (length == 0)] = 0.0
    return scale.astype(np.float32)


def _search_block_on_disk(
    probes: EmbeddingStore, gallery: EmbeddingStore, block: _ProbeBlock, place: Workplace
) -> _Found:
    order, first, last, by_person, probe_scale, gallery_scale = place.shared
    mine = order[block.start : block.stop]
    vectors = scaled(probes.take(mine), probe_scale[mine])
    own = _Own.of(first[block.start : block.stop], last[block.start : block.stop], by_person)

    def tile(start: int) -> Array:
        return scaled(gallery.rows(start, start + _TILE), gallery_scale[start : start + _TILE])

    def silence(product: Array, start: int) -> None:
        failed = np.flatnonzero(gallery_scale[start : start + _TILE] == 0)
        if len(failed):
            product[:, failed] = -np.inf

    return _search_tiles(vectors, own, tile, len(gallery), block, silence)


def scaled(rows: NDArray[np.float32], scale: NDArray[np.float32]) -> NDArray[np.float32]:
    """Vectors of length one; not copied when they are."""
    if bool((scale == 1).all()):
        return rows
    unusable = scale == 0
    rows = rows * scale[:, None]
    rows[unusable] = 0.0
    return rows


def _rows(vectors: NDArray[np.float32], order: Array) -> NDArray[np.float32]:
    """The vectors in an order; not copied when that is how they stand, as a sorted gallery of millions does."""
    as_is = len(order) == len(vectors) and bool((order == np.arange(len(vectors))).all())
    return vectors if as_is else vectors[order]


def search_scores(scores: Array, probe_subject: Array, gallery_subject: Array, *, largest: int = 0) -> Searched:
    """The same from a matrix of scores (probes, gallery); −∞ is a failure to enrol.

    >>> found = search_scores(np.array([[0.5, 0.5]]), np.array([1]), np.array([1, 2]))
    >>> found.above.tolist(), found.tied.tolist(), found.top.tolist()
    ([0], [1], [0.5])
    """
    scores = np.asarray(scores)
    same = np.asarray(probe_subject)[:, None] == np.asarray(gallery_subject)[None, :]
    mated = same.any(axis=1)
    mate = np.where(same, scores, -np.inf).max(axis=1, initial=-np.inf)
    others = np.where(same, -np.inf, scores)
    comparable = (mate > -np.inf)[:, None]
    above = ((others > mate[:, None]) & comparable).sum(axis=1)
    tied = ((others == mate[:, None]) & comparable & ~same).sum(axis=1)
    values, owner = _highest([others.reshape(-1)], [np.repeat(np.arange(len(scores)), scores.shape[1])], largest)
    return Searched(mated, mate, above, tied, others.max(axis=1, initial=-np.inf), values, owner)


def _search_block(block: _ProbeBlock, place: Workplace) -> _Found:
    probes, gallery, first, last = place.shared
    own = _Own.of(first[block.start : block.stop], last[block.start : block.stop])
    vectors = probes[block.start : block.stop]
    return _search_tiles(vectors, own, lambda start: gallery[start : start + _TILE], len(gallery), block)


def _search_tiles(
    vectors: Array,
    own: _Own,
    tile: Callable[[int], Array],
    size: int,
    block: _ProbeBlock,
    silence: Callable[[Array, int], None] | None = None,
) -> _Found:
    """A block of probes against all tiles of a gallery; `silence` takes failures to enrol out of a product."""
    count = len(vectors)
    starts = range(0, size, _TILE)
    with_mates = own.tiles()
    mate = np.full(count, -np.inf, dtype=np.float32)
    buffer = np.empty((count, _TILE), dtype=np.float32)

    def product_of(start: int, out: Array | None) -> Array:
        columns = tile(start)
        product = np.matmul(vectors, columns.T, out=out if out is not None and len(columns) == _TILE else None)
        if silence is not None:
            silence(product, start)
        return product

    above, tied = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
    top = np.full(count, -np.inf, dtype=np.float32)
    largest = _Largest(block.wanted)

    def count_rivals(product: Array, best: Array, row_of: Array) -> None:
        """Count what reaches the mates of rows whose mates are all known."""
        for line in np.flatnonzero((best >= mate[row_of]) & (mate[row_of] > -np.inf)):
            row, limit = row_of[line], mate[row_of[line]]
            above[row] += np.count_nonzero(product[line] > limit)
            tied[row] += np.count_nonzero(product[line] == limit)

    last_own = own.last_tiles(count)
    everyone = np.arange(count)
    kept: list[tuple[Array, Array, Array]] = []  # rows whose mates are not all known yet, with their products
    held, late = 0, []
    for start in [*with_mates, *(start for start in starts if start not in set(with_mates))]:
        product = product_of(start, buffer)
        rows, columns = own.entries(start, product.shape[1])
        np.maximum.at(mate, rows, product[rows, columns])
        product[rows, columns] = -np.inf  # a person's own templates compete with nobody
        best = product.max(axis=1)
        np.maximum(top, best, out=top)
        largest.offer(product, best, block.start)
        is_known = last_own <= start
        if start not in with_mates or is_known.all():
            count_rivals(product, best, everyone)
            continue
        count_rivals(product[is_known], best[is_known], everyone[is_known])
        waiting = everyone[~is_known]
        if held + len(waiting) * product.shape[1] <= _ENTRIES_KEPT:
            kept.append((product[waiting], best[waiting], waiting))
            held += len(waiting) * product.shape[1]
        else:
            late.append((start, waiting))
    for product, best, row_of in kept:
        count_rivals(product, best, row_of)
    for start, waiting in late:  # formed again with the same shape, so that a tie is a tie
        product = product_of(start, buffer)
        rows, columns = own.entries(start, product.shape[1])
        product[rows, columns] = -np.inf
        count_rivals(product[waiting], product[waiting].max(axis=1), waiting)
    return _Found(mate, above, tied, top, largest.values, largest.owner)


class _Own(NamedTuple):
    """Which templates of the gallery show the probes' own people, in the order of the gallery."""

    row: Array  # of the block
    position: Array  # in the gallery, ascending

    @classmethod
    def of(cls, first: Array, last: Array, by_person: Array | None = None) -> _Own:
        """From ranges of the gallery sorted by person; `by_person` says where each of these stands."""
        lengths = last - first
        row = np.repeat(np.arange(len(first)), lengths)
        position = np.arange(len(row)) - np.repeat(np.cumsum(lengths) - lengths, lengths) + np.repeat(first, lengths)
        if by_person is not None:
            position = by_person[position]
        order = np.argsort(position, kind="stable")
        return cls(row[order], position[order])

    def tiles(self) -> list[int]:
        """Where the tiles start that hold any of them."""
        starts: list[int] = (np.unique(self.position // _TILE) * _TILE).tolist()
        return starts

    def last_tiles(self, rows: int) -> Array:
        """(rows,): where the last tile starts that holds a template of each row's person; −1 without any."""
        last = np.full(rows, -1, dtype=np.int64)
        np.maximum.at(last, self.row, self.position // _TILE * _TILE)
        return last

    def entries(self, start: int, width: int) -> tuple[Array, Array]:
        """Rows and columns of them in one tile."""
        low, high = np.searchsorted(self.position, [start, start + width])
        return self.row[low:high], self.position[low:high] - start


class _Largest:
    """The highest scores seen, at least `wanted` of them, with the probe of each."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted
        self.values = np.zeros(0, dtype=np.float32)
        self.owner = np.zeros(0, dtype=np.int64)
        self.floor = -np.inf

    def offer(self, product: Array, best: Array, first_probe: int) -> None:
        if not self.wanted:
            return
        rows = np.flatnonzero(best > self.floor)
        if not len(rows):
            return
        row, column = np.nonzero(product[rows] > self.floor)
        values, owner = product[rows[row], column], first_probe + rows[row]
        self.values, self.owner = _highest([self.values, values], [self.owner, owner], self.wanted)
        if len(self.values) == self.wanted:
            self.floor = float(self.values[-1])


def _highest(values: Sequence[Array], owners: Sequence[Array], wanted: int) -> tuple[Array, Array]:
    """The `wanted` highest finite values, descending, with their owners; ties in the order of owners."""
    value, owner = np.concatenate(values), np.concatenate(owners)
    if not wanted:
        return value[:0], owner[:0]
    keep = value > -np.inf
    value, owner = value[keep], owner[keep]
    if len(value) > wanted:
        limit = np.partition(value, len(value) - wanted)[len(value) - wanted]
        keep = value >= limit
        value, owner = value[keep], owner[keep]
    order = np.lexsort((owner, -value))[:wanted]
    return value[order], owner[order]


def _searched(
    find: Callable[[_ProbeBlock, Workplace], _Found],
    shared: Sequence[Array],
    order: Array,
    mated: Array,
    largest: int,
    engine: Engine | None,
) -> Searched:
    """All probes, block by block; findings come in the order in which the probes were given."""
    parts = [_ProbeBlock(part.start, part.stop, largest) for part in blocks(len(order), _PROBES)]
    engine = Serial() if engine is None else engine
    found = list(finished(engine.map(find, parts, shared=shared), "block of probes"))

    def column(name: str, otherwise: Any) -> Array:
        values = np.full(len(mated), otherwise)
        if found:
            values[order] = np.concatenate([getattr(block, name) for block in found])
        return values

    lowest, none = np.float32(-np.inf), np.int64(0)
    values, owner = _highest(
        [np.zeros(0, np.float32), *(block.largest for block in found)],
        [np.zeros(0, np.int64), *(block.owner for block in found)],
        largest,
    )
    above, tied = column("above", none), column("tied", none)
    return Searched(mated, column("mate", lowest), above, tied, column("top", lowest), values, order[owner])
