"""Exact operating points of every group, over more scores than fit into memory.

As in `score_stream`, scores are read twice. Here every comparison has a cell (both female, both male, …), and a group
is a set of cells. The first pass counts impostors by cell and by the upper sixteen bits of their score, and keeps
the genuine scores. It is then known, for every group and every rate, in which bin the last refused impostor lies and
in which the one above it. The second pass keeps the exact scores in these bins alone. Both passes add, so shards can
be counted anywhere, and memory depends on cells and rates, not on the number of scores.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.records import Array
from evenhand.metrics.operating_points import RatePoint, SortedScores, allowed_accepts, rates_at
from evenhand.metrics.score_stream import BINS, from_keys, keys_of

EVERYONE = "everyone"
_SIZE = 1 << 20  # comparisons in a block
_LOWEST_FINITE = 0x0080  # the bin of the most negative number; below it there is only −∞


class CellBlock(NamedTuple):
    """Some comparisons: single-precision scores, whether both are the same person, and the cell (−1: in no group)."""

    score: Array
    same: Array
    cell: Array


@dataclass(frozen=True)
class BinCounts:
    """Impostors by cell and upper half of their score, and all genuine scores with their cells."""

    impostors: NDArray[np.int64]  # (cells + 1, 65536); the last row has those that are in no cell
    genuine: NDArray[np.float32]
    genuine_cell: NDArray[np.int64]

    def __add__(self, other: BinCounts) -> BinCounts:
        return BinCounts(
            self.impostors + other.impostors,
            np.concatenate([self.genuine, other.genuine]),
            np.concatenate([self.genuine_cell, other.genuine_cell]),
        )


@dataclass(frozen=True)
class ExactScores:
    """The exact scores of impostors inside the wanted bins: codes of cell and score, ascending, and how many."""

    codes: NDArray[np.int64]  # cell · 2³² + order-preserving form of the score
    counts: NDArray[np.int64]

    def __add__(self, other: ExactScores) -> ExactScores:
        codes = np.concatenate([self.codes, other.codes])
        distinct, place = np.unique(codes, return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return ExactScores(distinct, counts)


class PointOfGroup(NamedTuple):
    """What a group is accepted and refused at one rate: at its own threshold, and at everyone's."""

    group: str
    rate: float
    own: RatePoint
    shared: RatePoint
    genuine: int
    impostors: int


def count(blocks: Iterable[CellBlock], cells: int) -> BinCounts:
    """Count a stream, or a shard of it, for the first time."""
    counts = np.zeros((cells + 1) * BINS, dtype=np.int64)
    genuine, genuine_cell = [np.zeros(0, np.float32)], [np.zeros(0, np.int64)]
    for number, block in enumerate(blocks):
        key, cell, same = _coded(block, cells, number)
        mates = np.flatnonzero(same)
        genuine.append(from_keys(key[mates]))
        genuine_cell.append(cell[mates])
        place = (cell << 16) + (key >> np.uint32(16))
        counts += np.bincount(place, minlength=len(counts))
        counts -= np.bincount(place[mates], minlength=len(counts))
    return BinCounts(counts.reshape(cells + 1, BINS), np.concatenate(genuine), np.concatenate(genuine_cell))


def wanted_bins(counted: BinCounts, groups: Mapping[str, Sequence[int]], rates: Sequence[float]) -> NDArray[np.bool_]:
    """Which bins (cells + 1, 65536) the second pass has to look into."""
    wanted = np.zeros(counted.impostors.shape, dtype=np.bool_)
    every = range(len(wanted))
    wanted[:, _bins(counted.impostors.sum(axis=0), rates)] = True
    for cells in groups.values():
        rows = np.array([cell for cell in cells if cell in every], dtype=np.int64)
        for place in _bins(counted.impostors[rows].sum(axis=0), rates):
            wanted[rows, place] = True
    return wanted


def look(blocks: Iterable[CellBlock], wanted: NDArray[np.bool_]) -> ExactScores:
    """Read the same stream, or shard, for the second time."""
    found = pending = ExactScores(np.zeros(0, np.int64), np.zeros(0, np.int64))
    flat = wanted.ravel()
    for number, block in enumerate(blocks):
        key, cell, same = _coded(block, len(wanted) - 1, number)
        inside = np.flatnonzero(flat[(cell << 16) + (key >> np.uint32(16))] & ~same)
        codes, counts = np.unique((cell[inside] << 32) + key[inside], return_counts=True)
        pending = pending + ExactScores(codes, counts)
        if len(pending.codes) > len(found.codes):  # merged rarely, so that a long stream costs little more than a sort
            found, pending = found + pending, ExactScores(codes[:0], counts[:0])
    return found + pending


def points_by_group(
    counted: BinCounts, exact_scores: ExactScores, groups: Mapping[str, Sequence[int]], rates: Sequence[float]
) -> list[PointOfGroup]:
    """Operating points of everyone and of every group, as sorting all scores would give them.

    >>> block = CellBlock(np.array([0.9, 0.4, 0.5, 0.1]), np.array([True, True, False, False]), np.array([0, 1, 0, 1]))
    >>> first = count([block], 2)
    >>> groups = {"women": [0], "men": [1]}
    >>> second = look([block], wanted_bins(first, groups, [0.5]))
    >>> [(point.group, point.own.tar, point.shared.fmr) for point in points_by_group(first, second, groups, [0.5])]
    [('everyone', 1.0, 0.5), ('women', 1.0, 1.0), ('men', 1.0, 0.0)]
    """
    whole = range(len(counted.impostors))
    genuine, impostor = _sides(counted, exact_scores, whole)
    everyone = rates_at(genuine, impostor, rates)
    found = [
        PointOfGroup(EVERYONE, rate, own, own, int(genuine.total), int(impostor.total))
        for rate, own in zip(rates, everyone, strict=True)
    ]
    for name, cells in groups.items():
        genuine, impostor = _sides(counted, exact_scores, cells)
        for rate, own, shared in zip(rates, rates_at(genuine, impostor, rates), everyone, strict=True):
            at_shared = _read_at(genuine, impostor, shared.threshold)
            found.append(PointOfGroup(name, rate, own, at_shared, int(genuine.total), int(impostor.total)))
    return found


def pair_blocks(
    score: Array, first: Array, second: Array, person: Array, group: Array, size: int = _SIZE
) -> Iterator[CellBlock]:
    """Comparisons from arrays, or files mapped as arrays: scores, and on each side the template as a whole number.

    `person` and `group` (−1: unknown) belong to templates. A pair is in the cell of its group when both sides are in
    it, and in none when they are not.

    >>> (block,) = pair_blocks(np.ones(2), np.array([0, 0]), np.array([1, 2]), np.array([5, 5, 6]), np.array([1, 1, 0]))
    >>> block.same.tolist(), block.cell.tolist()
    ([True, False], [1, -1])
    """
    if not len(score) == len(first) == len(second):
        raise ValueError(f"{len(score)} scores, {len(first)} and {len(second)} templates")
    person, group = np.ascontiguousarray(person, np.int32), np.ascontiguousarray(group, np.int16)
    for start in range(0, len(score), size):
        part = slice(start, start + size)
        left, right = np.asarray(first[part]), np.asarray(second[part])
        one = group.take(left)
        cell = np.where(one == group.take(right), one, np.int16(-1))
        yield CellBlock(np.asarray(score[part]), person.take(left) == person.take(right), cell)


def _coded(
    block: CellBlock, cells: int, number: int
) -> tuple[NDArray[np.uint32], NDArray[np.int64], NDArray[np.bool_]]:
    score = np.asarray(block.score, dtype=np.float32) + np.float32(0.0)  # −0 becomes 0: they are equal scores
    if np.isnan(score).any():
        raise ValueError(f"block {number} has a score that is not a number")
    cell = np.asarray(block.cell).astype(np.int64)
    cell[cell < 0] = cells
    if len(cell) and int(cell.max()) > cells:
        raise ValueError(f"block {number} has cell {int(cell.max())}, but there are {cells}")
    return keys_of(score), cell, np.asarray(block.same, dtype=np.bool_)


def _bins(counts: NDArray[np.int64], rates: Sequence[float]) -> list[int]:
    """For every rate: the bin of the highest impostor that must be refused, and the next bin above that has any."""
    total = int(counts.sum())
    if not total:
        return []
    from_top = np.cumsum(counts[::-1])
    some = np.flatnonzero(counts)
    found: set[int] = set()
    for rate in rates:
        accepted = allowed_accepts(total, rate)
        at = _LOWEST_FINITE - 1 if accepted >= total else BINS - 1 - int(np.searchsorted(from_top, accepted, "right"))
        above = some[some > at]
        found.add(at)
        found.update(above[:1].tolist())
    return sorted(found)


def _sides(counted: BinCounts, exact_scores: ExactScores, cells: Iterable[int]) -> tuple[SortedScores, SortedScores]:
    """Genuine and impostor scores of some cells; impostors are exact inside the bins that were looked into."""
    rows = np.zeros(len(counted.impostors), dtype=np.bool_)
    rows[list(cells)] = True
    genuine = SortedScores.of(counted.genuine[rows[counted.genuine_cell]])
    mine = np.flatnonzero(rows[exact_scores.codes >> 32])
    keys, exact = (exact_scores.codes[mine] & 0xFFFFFFFF).astype(np.uint32), exact_scores.counts[mine]
    counts = counted.impostors[rows].sum(axis=0)
    counts -= np.bincount(keys >> np.uint32(16), weights=exact, minlength=BINS).astype(np.int64)
    rest = np.flatnonzero(counts)
    edges = np.left_shift(rest.astype(np.uint32), np.uint32(16), dtype=np.uint32)
    scores = np.concatenate([from_keys(keys), from_keys(edges)])
    scores = np.where(np.isnan(scores), -np.inf, scores)  # the lower edge of the bin of −∞ is no number
    order = np.argsort(scores, kind="stable")
    return genuine, SortedScores.weighted(scores[order], np.concatenate([exact, counts[rest]])[order])


def _read_at(genuine: SortedScores, impostor: SortedScores, threshold: float) -> RatePoint:
    accepted = float(impostor.reaching(threshold))
    return RatePoint(
        float(genuine.reaching(threshold)) / genuine.total if genuine.total else np.nan,
        threshold,
        accepted / impostor.total if impostor.total else np.nan,
        accepted,
    )
