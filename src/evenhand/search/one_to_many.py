"""Every probe searched in a gallery, with exact ranks.

A part is a block of probes. It meets the gallery tile by tile; in every tile, the templates of other people that score
above or as high as the mate are counted, and the best of them kept. The mate's score is the one in the product of its
own tile, so that a tie is a tie; but for rounding it is known before. Scores that differ from it by rounding alone wait
for it, all others are counted at once: every product is formed once, and no list is ever sorted.

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
from evenhand.search.compare import rounding_error
from evenhand.search.enrol import Templates
from evenhand.search.stores import EmbeddingStore

_PROBES = 1024  # in a block
_TILE = 4096  # templates in a tile of the gallery
_UNIT = 1e-5  # a length so near to one is one
_MOST_NEAR = 1 << 22  # scores that wait before equal ones are merged


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
    """A block of probes, as a range of the sorted probes."""

    start: int
    stop: int
    wanted: int  # how many of the largest others
    highest: float  # no score can be higher: the product of the largest lengths


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
    mated, length = np.isin(probe_subject, gallery_subject), _longest(shared[0]) * _longest(shared[1])
    return _searched(_search_block, shared, order, mated, largest, engine, max(length, 1.0))


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

    is_silent = gallery_scale == 0
    own_enrolled = _Own(*(column[~is_silent[own.position]] for column in own))
    expected = partial(own_enrolled.expected, vectors, lambda rows: scaled(gallery.take(rows), gallery_scale[rows]))
    return _search_tiles(vectors, own, tile, len(gallery), expected, block, silence)


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


def _longest(vectors: NDArray[np.float32]) -> float:
    return float(np.sqrt(np.einsum("ij,ij->i", vectors, vectors).max(initial=0.0)))


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
    expected = partial(own.expected, vectors, lambda positions: gallery[positions])
    return _search_tiles(vectors, own, lambda start: gallery[start : start + _TILE], len(gallery), expected, block)


def _search_tiles(
    vectors: Array,
    own: _Own,
    tile: Callable[[int], Array],
    size: int,
    expected: Callable[[], Array],
    block: _ProbeBlock,
    silence: Callable[[Array, int], None] | None = None,
) -> _Found:
    """A block of probes against all tiles of a gallery; `silence` takes failures to enrol out of a product.

    `expected` gives what the mate of each probe scores, but for rounding; −∞ without one. One tile needs no such look
    ahead.
    """
    count = len(vectors)
    mate, top = np.full((2, count), -np.inf, dtype=np.float32)
    above, tied = np.zeros((2, count), dtype=np.int64)
    largest = _Largest(block.wanted)
    buffer = np.empty((count, _TILE), dtype=np.float32)
    margin = 2 * rounding_error(vectors.shape[1]) * block.highest if size > _TILE else 0.0  # the limits are rounded too
    known = expected() if margin else mate  # which is filled in before it is looked at
    near = _NearScores()
    for start in range(0, size, _TILE):
        columns = tile(start)
        product = np.matmul(vectors, columns.T, out=buffer[:, : len(columns)])
        if silence is not None:
            silence(product, start)
        entries = own.entries(start, len(columns))
        np.maximum.at(mate, entries[0], product[entries])
        product[entries] = -np.inf  # a person's own templates compete with nobody
        best = product.max(axis=1)
        np.maximum(top, best, out=top)
        largest.offer(product, best, block.start)
        if start == 0:
            low, high = (np.where(known > -np.inf, known + by, np.inf).astype(np.float32) for by in (-margin, margin))
        for row in np.flatnonzero(best >= low):
            line = product[row]
            higher = np.count_nonzero(line > high[row])
            above[row] += higher
            reaching = line >= low[row]
            if np.count_nonzero(reaching) > higher:
                near.add(row, line[reaching & (line <= high[row])])
    rows, scores, times = near.distinct()
    np.add.at(above, rows, times * (scores > mate[rows]))
    np.add.at(tied, rows, times * (scores == mate[rows]))
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

    def expected(self, vectors: Array, take: Callable[[Array], Array]) -> Array:
        """(rows,): the best score of each row's own templates, which `take` fetches; −∞ without any.

        It differs from a product in single precision by no more than that is rounded.
        """
        best = np.full(len(vectors), -np.inf)
        for start in np.unique(self.position // _TILE) * _TILE:
            rows, columns = self.entries(start, _TILE)
            for part in blocks(len(rows), _PROBES):
                others = take(start + columns[part])
                scores = np.einsum("ij,ij->i", vectors[rows[part]], others, dtype=np.float64)
                np.maximum.at(best, rows[part], scores)
        return best

    def entries(self, start: int, width: int) -> tuple[Array, Array]:
        """Rows and columns of them in one tile."""
        low, high = np.searchsorted(self.position, [start, start + width])
        return self.row[low:high], self.position[low:high] - start


class _NearScores:
    """Scores so near to the mate's that they can't be counted before it is known, each once and how often it occurs.

    The precision leaves few numbers so near, so they are few even where all embeddings are alike.
    """

    def __init__(self) -> None:
        self._keys: list[Array] = []  # row in the upper half, the bits of the score in the lower one
        self._times: list[Array] = []
        self._held = 0

    def add(self, row: np.integer[Any], scores: NDArray[np.float32]) -> None:
        self._keys.append((np.int64(row) << 32) | scores.view(np.uint32))
        self._times.append(np.ones(len(scores), dtype=np.int64))
        self._held += len(scores)
        if self._held > _MOST_NEAR:
            self._merge()

    def distinct(self) -> tuple[Array, NDArray[np.float32], Array]:
        """Row and value of every score, and how often it occurs."""
        keys, times = self._merge()
        return keys >> 32, keys.astype(np.uint32).view(np.float32), times

    def _merge(self) -> tuple[Array, Array]:
        keys, place = np.unique(np.concatenate([np.zeros(0, np.int64), *self._keys]), return_inverse=True)
        times = np.zeros(len(keys), dtype=np.int64)
        np.add.at(times, place, np.concatenate([times[:0], *self._times]))
        self._keys, self._times, self._held = [keys], [times], 0
        return keys, times


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
    highest: float = 1.0,
) -> Searched:
    """All probes, block by block; findings come in the order in which the probes were given."""
    parts = [_ProbeBlock(part.start, part.stop, largest, highest) for part in blocks(len(order), _PROBES)]
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
