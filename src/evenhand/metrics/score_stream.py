"""Exact operating points and curves of more scores than fit into memory.

Scores are read twice, block by block. The first pass counts impostors by the upper sixteen
bits of an order-preserving form of their score, and keeps the genuine scores, of which
there are few. Now it is known in which of the 65,536 bins each wanted rank lies. The second
pass counts the lower sixteen bits inside these bins, and how many impostors lie between any
two genuine scores.

What comes out is a weighted list of impostor scores, much shorter than the stream, that
gives the same operating points, ROC, AUC and EER as sorting everything. Both passes add, so
shards can be counted anywhere. `operating_points_stream` reads the `nearest` conventions from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.records import Array
from evenhand.metrics.operating_points import Convention, SortedScores, allowed_accepts

SUPPORTED = (Convention.EXACT, Convention.AT_IMPOSTOR, Convention.LINEAR, Convention.NEAREST_FULL_CURVE)
BINS = 1 << 16


class ScoreBlock(NamedTuple):
    """Some comparisons: single-precision scores, and whether both sides are the same person."""

    score: Array
    same: Array


Stream = Callable[[], Iterable[ScoreBlock]]  # may be read twice


@dataclass(frozen=True)
class FirstPass:
    """Impostors by the upper half of their score, and all genuine scores."""

    impostors: NDArray[np.int64]  # (65536,)
    genuine: NDArray[np.float32]

    def __add__(self, other: FirstPass) -> FirstPass:
        return FirstPass(self.impostors + other.impostors, np.concatenate([self.genuine, other.genuine]))

    @property
    def total(self) -> int:
        """How many impostors there are."""
        return int(self.impostors.sum())

    def plan(self, rates: Sequence[float]) -> PassPlan:
        """Which bins the second pass has to look into, and where it has to cut."""
        from_top = np.cumsum(self.impostors[::-1])
        ranks = {allowed_accepts(self.total, rate) for rate in rates} if self.total else set()
        bins = sorted({BINS - 1 - int(np.searchsorted(from_top, k, side="right")) for k in ranks if k < self.total})
        wanted = np.array(bins, dtype=np.int64)
        bounds = np.concatenate([wanted, np.minimum(wanted + 1, BINS - 1)]).astype(np.uint32)
        edges = from_keys(np.left_shift(bounds, np.uint32(16), dtype=np.uint32))
        # Failures to enrol stay apart from the lowest real score.
        edges = np.concatenate([edges[np.isfinite(edges)], np.array([-np.inf], dtype=np.float32)])
        return PassPlan(wanted, np.unique(np.concatenate([self.genuine, edges])))


class PassPlan(NamedTuple):
    """The bins whose lower half is counted, and the scores between which impostors are counted."""

    bins: NDArray[np.int64]
    cuts: NDArray[np.float32]  # ascending


@dataclass(frozen=True)
class SecondPass:
    """Impostors at and between the cuts, and by their lower half inside the wanted bins."""

    plan: PassPlan
    at: NDArray[np.int64]  # (cuts,): equal to the cut
    between: NDArray[np.int64]  # (cuts + 1,): below the first, between two, above the last
    lowest: NDArray[np.float32]  # (cuts + 1,): the smallest score there; +∞ where there is none
    inside: NDArray[np.int64]  # (bins, 65536)

    def __add__(self, other: SecondPass) -> SecondPass:
        return SecondPass(
            self.plan,
            self.at + other.at,
            self.between + other.between,
            np.minimum(self.lowest, other.lowest),
            self.inside + other.inside,
        )

    def impostor(self) -> SortedScores:
        """The impostors as a weighted list, exact wherever an operating point or a corner of the ROC lies."""
        bins, cuts = self.plan
        rank, low = np.nonzero(self.inside)
        exact = from_keys((bins[rank].astype(np.uint32) << np.uint32(16)) | low.astype(np.uint32))
        there = self.between > 0
        apart = there & ~_inside_bins(self.lowest, bins)
        outside = ~_inside_bins(cuts, bins) & (self.at > 0)
        scores = np.concatenate([exact, self.lowest[apart], cuts[outside]])
        weights = np.concatenate([self.inside[rank, low], self.between[apart], self.at[outside]])
        order = np.argsort(scores, kind="stable")
        return SortedScores.weighted(scores[order], weights[order])


def first_pass(blocks: Iterable[ScoreBlock]) -> FirstPass:
    """Count a stream, or a shard of it, for the first time."""
    counts = np.zeros(BINS, dtype=np.int64)
    genuine = [np.zeros(0, dtype=np.float32)]
    for number, block in enumerate(blocks):
        score, same = _checked(block, number)
        genuine.append(score[same])
        counts += np.bincount(keys_of(score[~same]) >> np.uint32(16), minlength=BINS)
    return FirstPass(counts, np.concatenate(genuine))


def second_pass(blocks: Iterable[ScoreBlock], plan: PassPlan) -> SecondPass:
    """Count the same stream, or shard, for the second time."""
    bins, cuts = plan
    at, between = np.zeros(len(cuts), np.int64), np.zeros(len(cuts) + 1, np.int64)
    lowest = np.full(len(cuts) + 1, np.inf, dtype=np.float32)
    inside = np.zeros((len(bins), BINS), dtype=np.int64)
    for number, block in enumerate(blocks):
        score, same = _checked(block, number)
        ordered = np.sort(score[~same])
        left, right = np.searchsorted(ordered, cuts, side="left"), np.searchsorted(ordered, cuts, side="right")
        at += right - left
        start, stop = np.concatenate([[0], right]), np.concatenate([left, [len(ordered)]])
        between += stop - start
        some = stop > start
        lowest[some] = np.minimum(lowest[some], ordered[start[some]])
        keys = keys_of(ordered)
        for place, number_of_bin in enumerate(bins):
            first, last = np.searchsorted(keys, _edges(int(number_of_bin)))
            inside[place] += np.bincount(keys[first:last] & np.uint32(0xFFFF), minlength=BINS)
    return SecondPass(plan, at, between, lowest, inside)


def streamed_scores(stream: Stream, rates: Sequence[float]) -> tuple[SortedScores, SortedScores]:
    """Genuine and impostor scores of a stream, to be read with `tar_at_far`, `roc`, `area_under_roc` and the like.

    Exact at the given rates for the conventions of `SUPPORTED`, and everywhere on the ROC.

    >>> scores, same = np.array([0.9, 0.4, 0.5, 0.1], dtype=np.float32), np.array([True, True, False, False])
    >>> genuine, impostor = streamed_scores(lambda: [ScoreBlock(scores, same)], [0.5])
    >>> round(impostor.refused_at(0.5), 4), impostor.total
    (0.1, 2.0)
    """
    first = first_pass(stream())
    second = second_pass(stream(), first.plan(rates))
    return SortedScores.of(first.genuine), second.impostor()


def blocks_of(score: Array, same: Array, size: int = 1 << 22) -> Iterator[ScoreBlock]:
    """Arrays, or files mapped as arrays, cut into blocks."""
    if len(score) != len(same):
        raise ValueError(f"{len(score)} scores and {len(same)} labels")
    for start in range(0, len(score), size):
        yield ScoreBlock(np.asarray(score[start : start + size]), np.asarray(same[start : start + size]))


def _checked(block: ScoreBlock, number: int) -> tuple[NDArray[np.float32], NDArray[np.bool_]]:
    score = np.asarray(block.score, dtype=np.float32) + np.float32(0.0)  # −0 becomes 0: they are equal scores
    if np.isnan(score).any():
        raise ValueError(f"block {number} has a score that is not a number")
    return score, np.asarray(block.same, dtype=np.bool_)


def keys_of(score: NDArray[np.float32]) -> NDArray[np.uint32]:
    """Whole numbers in the order of the scores."""
    bits = np.ascontiguousarray(score).view(np.uint32)
    return np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(0x80000000))


def from_keys(keys: NDArray[np.uint32]) -> NDArray[np.float32]:
    bits = np.where(keys >> np.uint32(31), keys & np.uint32(0x7FFFFFFF), ~keys).astype(np.uint32)
    return bits.view(np.float32)


def _edges(number: int) -> NDArray[np.int64]:
    return np.array([number << 16, (number + 1) << 16], dtype=np.int64)


def _inside_bins(score: NDArray[np.float32], bins: NDArray[np.int64]) -> NDArray[np.bool_]:
    return np.isin((keys_of(score + np.float32(0.0)) >> np.uint32(16)).astype(np.int64), bins)
