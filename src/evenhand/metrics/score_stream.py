"""Exact operating points and curves of more scores than fit into memory, of everyone and of every group.

Scores are read twice, block by block. The first pass counts impostors by the upper sixteen bits of an
order-preserving form of their score (their key), and keeps the genuine scores, of which there are few. Now it is
known in which of the 65,536 bins each wanted rank lies. The second pass keeps the exact scores inside these bins.
Both passes add, so shards can be counted anywhere.

- `streamed_scores` also counts how many impostors lie between any two genuine scores. What comes out is a weighted
  list of impostor scores, much shorter than the stream, that gives the same operating points, ROC, AUC and EER as
  sorting everything.
- `streamed_rates` reads a rate under any convention; bins are read as the convention asks for them.
- `points_by_group`: every comparison has a cell (both female, both male, …), and a group is a set of cells. Memory
  depends on cells and rates, not on the number of scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.records import Array, blocks
from evenhand.metrics.operating_points import (
    Convention,
    RatePoint,
    SortedScores,
    UnknownScoresError,
    allowed_accepts,
    rates_at,
    tar_at_far,
)

EVERYONE = "everyone"
_BINS = 1 << 16
_LOWEST_FINITE = 0x0080  # the bin of the most negative number; below it there is only −∞


class ScoreBlock(NamedTuple):
    """Some comparisons: single-precision scores, whether both are the same person, and the cell (−1: in no group)."""

    score: Array
    same: Array
    cell: Array | None = None


Stream = Callable[[], Iterable[ScoreBlock]]  # may be read twice


@dataclass(frozen=True)
class BinCounts:
    """Impostors by cell and upper half of their key, and all genuine scores with their cells."""

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
    """The exact scores of impostors inside the wanted bins: codes of cell and key, ascending, and how many."""

    codes: NDArray[np.int64]  # cell · 2³² + key
    counts: NDArray[np.int64]

    def __add__(self, other: ExactScores) -> ExactScores:
        codes = np.concatenate([self.codes, other.codes])
        distinct, place = np.unique(codes, return_inverse=True)
        counts = np.zeros(len(distinct), dtype=np.int64)
        np.add.at(counts, place, np.concatenate([self.counts, other.counts]))
        return ExactScores(distinct, counts)


@dataclass(frozen=True)
class CutCounts:
    """Impostors at and between the cuts, and their exact scores inside the wanted bins."""

    wanted: NDArray[np.bool_]  # (65536,)
    cuts: NDArray[np.uint32]  # keys, ascending: all genuine scores, and the edges of the wanted bins
    at: NDArray[np.int64]  # (cuts,): equal to the cut
    between: NDArray[np.int64]  # (cuts + 1,): below the first, between two, above the last
    lowest: NDArray[np.uint32]  # (cuts + 1,): the smallest key there
    exact: ExactScores

    def __add__(self, other: CutCounts) -> CutCounts:
        lowest = np.minimum(self.lowest, other.lowest)
        at, between, exact = self.at + other.at, self.between + other.between, self.exact + other.exact
        return CutCounts(self.wanted, self.cuts, at, between, lowest, exact)

    def impostor(self) -> SortedScores:
        """The impostors as a weighted list, exact wherever an operating point or a corner of the ROC lies."""
        apart = (self.between > 0) & ~self.wanted[self.lowest >> np.uint32(16)]
        outside = (self.at > 0) & ~self.wanted[self.cuts >> np.uint32(16)]
        keys = np.concatenate([self.exact.codes.astype(np.uint32), self.lowest[apart], self.cuts[outside]])
        weights = np.concatenate([self.exact.counts, self.between[apart], self.at[outside]])
        order = np.argsort(keys, kind="stable")
        return SortedScores.weighted(_scores(keys[order]), weights[order])


class PointOfGroup(NamedTuple):
    """What a group is accepted and refused at one rate: at its own threshold, and at everyone's."""

    group: str
    rate: float
    own: RatePoint
    shared: RatePoint
    genuine: int
    impostors: int


def count(stream: Iterable[ScoreBlock], cells: int = 0) -> BinCounts:
    """Count a stream, or a shard of it, for the first time."""
    counts = np.zeros((cells + 1) * _BINS, dtype=np.int64)
    genuine, genuine_cell = [np.zeros(0, np.float32)], [np.zeros(0, np.int64)]
    for number, block in enumerate(stream):
        key, cell, place, same = _coded(block, cells, number)
        mates = np.flatnonzero(same)
        genuine.append(_scores(key[mates]))
        genuine_cell.append(cell[mates])
        counts += np.bincount(place, minlength=len(counts))
        counts -= np.bincount(place[mates], minlength=len(counts))
    return BinCounts(counts.reshape(cells + 1, _BINS), np.concatenate(genuine), np.concatenate(genuine_cell))


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


def look(stream: Iterable[ScoreBlock], wanted: NDArray[np.bool_]) -> ExactScores:
    """Read the same stream, or shard, for the second time, and keep the scores inside the wanted bins."""
    exact = pending = ExactScores(np.zeros(0, np.int64), np.zeros(0, np.int64))
    flat = wanted.ravel()
    for number, block in enumerate(stream):
        key, cell, place, same = _coded(block, len(wanted) - 1, number)
        inside = np.flatnonzero(flat[place] & ~same)
        codes, counts = np.unique((cell[inside] << 32) + key[inside], return_counts=True)
        pending = pending + ExactScores(codes, counts)
        if len(pending.codes) > len(exact.codes):  # merged rarely, so that a long stream costs little more than a sort
            exact, pending = exact + pending, ExactScores(codes[:0], counts[:0])
    return exact + pending


def count_between(stream: Iterable[ScoreBlock], counted: BinCounts, rates: Sequence[float]) -> CutCounts:
    """Read a stream without cells, or a shard of it, for the second time, and count impostors between genuine scores.

    `counted` is the first pass over the whole stream.
    """
    wanted = wanted_bins(counted, {}, rates)[0]
    bins = np.flatnonzero(wanted).astype(np.uint32)
    starts = bins << np.uint32(16)
    # Failures to enrol stay apart from the lowest real score.
    edges = _keys(np.array([-np.inf], dtype=np.float32)), starts, starts + np.uint32(_BINS)
    cuts = np.unique(np.concatenate([_keys(counted.genuine), *edges]))
    at, between = np.zeros(len(cuts), np.int64), np.zeros(len(cuts) + 1, np.int64)
    lowest = np.full(len(cuts) + 1, 0xFFFFFFFF, dtype=np.uint32)
    inside = np.zeros((len(bins), _BINS), dtype=np.int64)
    for number, block in enumerate(stream):
        coded = _coded(block, 0, number)
        ordered = np.sort(coded.key[~coded.same])
        left, right = np.searchsorted(ordered, cuts, side="left"), np.searchsorted(ordered, cuts, side="right")
        at += right - left
        start, stop = np.concatenate([[0], right]), np.concatenate([left, [len(ordered)]])
        between += stop - start
        some = stop > start
        lowest[some] = np.minimum(lowest[some], ordered[start[some]])
        firsts, lasts = np.searchsorted(ordered, starts), np.searchsorted(ordered, starts | np.uint32(0xFFFF), "right")
        for place, (first, last) in enumerate(zip(firsts, lasts, strict=True)):
            inside[place] += np.bincount(ordered[first:last] & np.uint32(0xFFFF), minlength=_BINS)
    wanted_bin, low = np.nonzero(inside)
    exact = ExactScores(starts[wanted_bin].astype(np.int64) + low, inside[wanted_bin, low])
    return CutCounts(wanted, cuts, at, between, lowest, exact)


def streamed_scores(stream: Stream, rates: Sequence[float]) -> tuple[SortedScores, SortedScores]:
    """Genuine and impostor scores of a stream, to be read with `tar_at_far`, `roc`, `area_under_roc` and the like.

    Exact at the given rates for every convention but `nearest`, and everywhere on the ROC.

    >>> scores, same = np.array([0.9, 0.4, 0.5, 0.1], dtype=np.float32), np.array([True, True, False, False])
    >>> genuine, impostor = streamed_scores(lambda: [ScoreBlock(scores, same)], [0.5])
    >>> round(impostor.refused_at(0.5), 4), impostor.total
    (0.1, 2.0)
    """
    counted = count(stream())
    return SortedScores.of(counted.genuine), count_between(stream(), counted, rates).impostor()


def streamed_rates(stream: Stream, rates: Sequence[float], convention: Convention) -> list[RatePoint]:
    """TAR at FAR of a stream under any convention, as from all scores at once.

    The convention `nearest` has to know every score around a rank up to the next bends of the curve. Where these are
    not in the bin of the rank, the stream is read once more, over more bins.

    >>> scores, same = np.array([0.9, 0.4, 0.5, 0.1], dtype=np.float32), np.array([True, True, False, False])
    >>> streamed_rates(lambda: [ScoreBlock(scores, same)], [0.4], Convention.NEAREST)[0].fmr
    0.5
    """
    counted = count(stream())
    genuine, impostor = SortedScores.of(counted.genuine), StreamedImpostors(stream, counted, rates)
    return [tar_at_far(genuine, impostor, rate, convention) for rate in rates]


class StreamedImpostors:
    """All impostors of a stream (`RankedImpostors`); bins that are asked for are read when they are not known yet."""

    is_whole = True

    def __init__(self, stream: Stream, counted: BinCounts, rates: Sequence[float]) -> None:
        counts = counted.impostors[0]
        self._stream, self._is_known = stream, counts == 0
        self._from_bin = np.append(np.cumsum(counts[::-1])[::-1], 0)  # impostors in each bin and above
        self.length = int(self._from_bin[0])
        self.total = float(self.length)
        self._exact = ExactScores(np.zeros(0, np.int64), np.zeros(0, np.int64))
        self._read(wanted_bins(counted, {}, rates)[0])

    def refused_at(self, rate: float) -> float:
        place = allowed_accepts(self.length, rate)
        return self._score(place) if place < self.length else -np.inf

    def above(self, value: float) -> float:
        return float(self.places_above(value))

    def reaching(self, value: float) -> float:
        return float(self._places(int(_keys(np.array([value], np.float32))[0])))

    def next_above(self, value: float) -> float:
        place = self.places_above(value)
        return self._score(place - 1) if place else np.inf

    def places_above(self, value: float) -> int:
        return self._places(int(_keys(np.array([value], np.float32))[0]) + 1)

    def between(self, first: int, last: int) -> tuple[Array, Array, float]:
        """As asked, to the ends of the bins."""
        high, low = (int(np.searchsorted(-self._from_bin, -place, side="left")) - 1 for place in (first, last - 1))
        wanted = np.zeros(_BINS, dtype=np.bool_)
        wanted[low : high + 1] = True
        self._read(wanted)
        part = slice(*np.searchsorted(self._exact.codes, [low << 16, (high + 1) << 16]))
        scores, weights = _scores(self._exact.codes[part].astype(np.uint32)), self._exact.counts[part]
        return scores[::-1], weights[::-1].astype(np.float64), float(self._from_bin[high + 1])

    def lengthen(self) -> None:
        raise UnknownScoresError("there are no further scores")

    def _score(self, place: int) -> float:
        scores, weights, before = self.between(place, place + 1)
        return float(scores[np.searchsorted(before + np.cumsum(weights), place, side="right")])

    def _places(self, key: int) -> int:
        """How many impostors have this key or a higher one."""
        wanted = np.arange(_BINS) == key >> 16
        self._read(wanted)
        part = slice(*np.searchsorted(self._exact.codes, [key, ((key >> 16) + 1) << 16]))
        return int(self._from_bin[(key >> 16) + 1] + self._exact.counts[part].sum())

    def _read(self, wanted: NDArray[np.bool_]) -> None:
        wanted = wanted & ~self._is_known
        if wanted.any():
            self._exact += look(self._stream(), wanted[np.newaxis])
            self._is_known |= wanted


def points_by_group(
    counted: BinCounts, exact_scores: ExactScores, groups: Mapping[str, Sequence[int]], rates: Sequence[float]
) -> list[PointOfGroup]:
    """Operating points of everyone and of every group, as sorting all scores would give them.

    >>> block = ScoreBlock(np.array([0.9, 0.4, 0.5, 0.1]), np.array([True, True, False, False]), np.array([0, 1, 0, 1]))
    >>> first = count([block], 2)
    >>> groups = {"women": [0], "men": [1]}
    >>> second = look([block], wanted_bins(first, groups, [0.5]))
    >>> [(point.group, point.own.tar, point.shared.fmr) for point in points_by_group(first, second, groups, [0.5])]
    [('everyone', 1.0, 0.5), ('women', 1.0, 1.0), ('men', 1.0, 0.0)]
    """
    genuine, impostor = _sides(counted, exact_scores, range(len(counted.impostors)))
    everyone = rates_at(genuine, impostor, rates)
    points = [
        PointOfGroup(EVERYONE, rate, own, own, int(genuine.total), int(impostor.total))
        for rate, own in zip(rates, everyone, strict=True)
    ]
    for name, cells in groups.items():
        genuine, impostor = _sides(counted, exact_scores, cells)
        for rate, own, shared in zip(rates, rates_at(genuine, impostor, rates), everyone, strict=True):
            accepted = float(impostor.reaching(shared.threshold))
            at_shared = RatePoint(
                float(genuine.reaching(shared.threshold)) / genuine.total if genuine.total else np.nan,
                shared.threshold,
                accepted / impostor.total if impostor.total else np.nan,
                accepted,
            )
            points.append(PointOfGroup(name, rate, own, at_shared, int(genuine.total), int(impostor.total)))
    return points


def blocks_of(score: Array, same: Array, size: int = 1 << 22) -> Iterator[ScoreBlock]:
    """Arrays, or files mapped as arrays, cut into blocks."""
    if len(score) != len(same):
        raise ValueError(f"{len(score)} scores and {len(same)} labels")
    for part in blocks(len(score), size):
        yield ScoreBlock(np.asarray(score[part]), np.asarray(same[part]))


def pair_blocks(
    score: Array, first: Array, second: Array, person: Array, group: Array, size: int = 1 << 20
) -> Iterator[ScoreBlock]:
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
    for part in blocks(len(score), size):
        left, right = np.asarray(first[part]), np.asarray(second[part])
        cell = group.take(left)
        cell = np.where(cell == group.take(right), cell, np.int16(-1))
        yield ScoreBlock(np.asarray(score[part]), person.take(left) == person.take(right), cell)


class _Coded(NamedTuple):
    """A block of comparisons, ready to be counted."""

    key: NDArray[np.uint32]
    cell: NDArray[np.int64]
    place: NDArray[np.int64]  # in a flat table (cells + 1, 65536)
    same: NDArray[np.bool_]


def _coded(block: ScoreBlock, cells: int, number: int) -> _Coded:
    """The comparisons of a block; those in no cell are in cell `cells`."""
    score = np.asarray(block.score, dtype=np.float32) + np.float32(0.0)  # −0 becomes 0: they are equal scores
    if np.isnan(score).any():
        raise ValueError(f"block {number} has a score that is not a number")
    cell = np.asarray(cells if block.cell is None else block.cell, dtype=np.int64)
    cell = np.where(cell < 0, cells, cell)
    if cell.max(initial=cells) > cells:
        raise ValueError(f"block {number} has cell {int(cell.max())}, but there are {cells}")
    key = _keys(score)
    place = (key >> np.uint32(16)).astype(np.int64)
    place += cell << 16
    return _Coded(key, np.broadcast_to(cell, key.shape), place, np.asarray(block.same, dtype=np.bool_))


def _keys(score: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Whole numbers in the order of the scores."""
    bits = np.ascontiguousarray(score).view(np.uint32)
    return np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(0x80000000))


def _scores(keys: NDArray[np.uint32]) -> NDArray[np.float32]:
    """The scores of keys; −∞ below the lowest."""
    bits = np.where(keys >> np.uint32(31), keys & np.uint32(0x7FFFFFFF), ~keys).astype(np.uint32)
    scores = bits.view(np.float32)
    return np.where(np.isnan(scores), np.float32(-np.inf), scores)


def _bins(counts: NDArray[np.int64], rates: Sequence[float]) -> list[int]:
    """For every rate: the bin of the highest impostor that must be refused, and the next bin above that has any."""
    total = int(counts.sum())
    if not total:
        return []
    from_top = np.cumsum(counts[::-1])
    some = np.flatnonzero(counts)
    bins: set[int] = set()
    for rate in rates:
        accepted = allowed_accepts(total, rate)
        at = _LOWEST_FINITE - 1 if accepted >= total else _BINS - 1 - int(np.searchsorted(from_top, accepted, "right"))
        above = some[some > at]
        bins.add(at)
        bins.update(above[:1].tolist())
    return sorted(bins)


def _sides(counted: BinCounts, exact_scores: ExactScores, cells: Iterable[int]) -> tuple[SortedScores, SortedScores]:
    """Genuine and impostor scores of some cells; impostors are exact inside the bins that were looked into."""
    rows = np.zeros(len(counted.impostors), dtype=np.bool_)
    rows[list(cells)] = True
    genuine = SortedScores.of(counted.genuine[rows[counted.genuine_cell]])
    mine = np.flatnonzero(rows[exact_scores.codes >> 32])
    keys, exact = (exact_scores.codes[mine] & 0xFFFFFFFF).astype(np.uint32), exact_scores.counts[mine]
    counts = counted.impostors[rows].sum(axis=0)
    counts -= np.bincount(keys >> np.uint32(16), weights=exact, minlength=_BINS).astype(np.int64)
    rest = np.flatnonzero(counts)
    edges = np.left_shift(rest.astype(np.uint32), np.uint32(16), dtype=np.uint32)
    keys, weights = np.concatenate([keys, edges]), np.concatenate([exact, counts[rest]])
    order = np.argsort(keys, kind="stable")
    return genuine, SortedScores.weighted(_scores(keys[order]), weights[order])
