"""Identification rates when people are resampled, without weighing every search in every draw.

Thresholds lie among the highest non-mated searches. Over all draws they move within a narrow range of scores: what
lies above that range counts in every draw and is one product of weights and counts, and only searches inside the range
are weighed one by one. The values are those of `GallerySearch`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Sampled
from evenhand.core.records import Array
from evenhand.metrics.search_rates import ANY_RANK, Searches, share_of

_SPARE = 1.3  # so much more than the share of the highest rate is looked at first

Floats = NDArray[np.float64]


class ResampledSearch(NamedTuple):
    """Rates (draws, groups) in one gallery at one FPIR; not a number where undefined."""

    tpir: Mapping[int, Floats]  # by rank limit, at a group's own threshold
    fpir: Floats  # at the threshold that was set on everyone
    fnir: Floats
    mated: Floats
    nonmated: Floats


class _Sorted:
    """Searches of one kind in one gallery, from the highest score down, with the unit of each."""

    def __init__(self, score: Array, unit: Array, pattern: Array, rank: Array) -> None:
        order = np.argsort(-score, kind="stable")
        self.falling, self.unit = -score[order], unit[order]  # negated scores rise
        self.pattern, self.rank = pattern[order], rank[order]

    def part(self, kept: Array) -> _GroupSearches:
        rows = np.flatnonzero(kept[self.pattern])
        return _GroupSearches(self.falling[rows], self.unit[rows], self.rank[rows])


class _GroupSearches(NamedTuple):
    """The searches of a group, from the highest score down."""

    falling: Array
    unit: Array
    rank: Array

    def total(self, weights: Floats) -> Floats:
        """(draws,): the weight of all."""
        return np.asarray(weights @ np.bincount(self.unit, minlength=weights.shape[1]))

    def refused(self, weights: Floats, total: Floats, rate: float) -> Floats:
        """(draws,): the highest score that must be refused, negated; +∞ when all may pass, NaN without any."""
        count = len(self.unit)
        taken = min(count, int(_SPARE * rate * count) + 64)
        while True:
            passed = np.cumsum(weights[:, self.unit[:taken]], axis=1)
            over = share_of(passed, total[:, None]) > rate
            found: NDArray[np.bool_] = np.asarray(over.any(axis=1))
            if taken == count or found[total > 0].all():
                break
            taken = min(count, 4 * taken)
        place = over.argmax(axis=1) if taken else np.zeros(len(weights), dtype=np.intp)
        refused = np.where(found, self.falling[place] if count else np.inf, np.inf)
        return np.where(total > 0, refused, np.nan)

    def above(self, weights: Floats, refused: Floats, limit: int = ANY_RANK, *, ranked: bool = False) -> Floats:
        """(draws,): the weight of scores above a refused one; of `ranked` ones those with a rank within the limit."""
        known = ~np.isnan(refused)
        place = np.searchsorted(self.falling, np.where(known, refused, -np.inf), side="left")
        counted = np.ones(len(self.unit), dtype=np.bool_)
        if ranked:
            counted = self.rank > 0 if limit == ANY_RANK else (self.rank > 0) & (self.rank <= limit)
        low, high = (int(place[known].min()), int(place[known].max())) if known.any() else (0, 0)
        sums = weights @ np.bincount(self.unit[:low][counted[:low]], minlength=weights.shape[1])
        if high > low:
            inside = np.zeros((len(weights), high - low + 1))
            np.cumsum(weights[:, self.unit[low:high]] * counted[low:high], axis=1, out=inside[:, 1:])
            sums = sums + inside[np.arange(len(weights)), np.clip(place - low, 0, high - low)]
        return np.where(known, sums, np.nan)


class _Gallery(NamedTuple):
    """Non-mated and mated searches of one gallery: of everyone, and of each group."""

    everyone: tuple[_GroupSearches, _GroupSearches]
    groups: list[tuple[_GroupSearches, _GroupSearches]]

    def rates(self, weights: Floats, rates: Sequence[float], limits: Sequence[int]) -> Floats:
        """(rates, limits + 4, draws, groups): TPIR by limit, FPIR, FNIR, mated, non-mated."""
        strangers, mates = self.everyone
        total, has_mates = strangers.total(weights), mates.total(weights) > 0
        sizes = [(others.total(weights), own.total(weights)) for others, own in self.groups]
        table = np.full((len(rates), len(limits) + 4, len(weights), len(self.groups)), np.nan)
        for number, rate in enumerate(rates):
            shared = np.where(has_mates, strangers.refused(weights, total, rate), np.nan)
            for column, ((others, own), (nonmated, mated)) in enumerate(zip(self.groups, sizes, strict=True)):
                refused = others.refused(weights, nonmated, rate)
                found = [share_of(own.above(weights, refused, limit, ranked=True), mated) for limit in limits]
                fpir = share_of(others.above(weights, shared), nonmated)
                fnir = 1.0 - share_of(own.above(weights, shared, limits[0], ranked=True), mated)
                table[number, :, :, column] = [*found, fpir, fnir, mated, nonmated]
        return table


def resampled_searches(
    state: Searches, cells: Sampled, weights: Iterable[Array], rates: Sequence[float], limits: Sequence[int]
) -> list[list[ResampledSearch]]:
    """For every gallery and rate: rates of all groups in all draws. The first limit is that of FNIR."""
    unit, pattern = np.asarray(cells.unit)[state.codes], np.asarray(cells.pattern)[state.codes]
    groups = [np.asarray(keeps, dtype=np.bool_) for keeps in cells.kept]
    every = np.ones(int(pattern.max(initial=-1)) + 1, dtype=np.bool_)
    galleries = []
    for gallery in state.galleries:
        inside = state.gallery == gallery
        others, own = (
            _Sorted(score[kind], unit[kind], pattern[kind], state.rank[kind])
            for kind, score in ((inside & ~state.mated, state.top), (inside & state.mated, state.mate))
        )
        parts = [(others.part(keeps), own.part(keeps)) for keeps in groups]
        galleries.append(_Gallery((others.part(every), own.part(every)), parts))
    blocks = [
        [gallery.rates(np.asarray(many, dtype=np.float64), rates, limits) for gallery in galleries] for many in weights
    ]
    empty = np.zeros((len(rates), len(limits) + 4, 0, len(groups)))
    found = []
    for place in range(len(galleries)):
        table = np.concatenate([empty, *(block[place] for block in blocks)], axis=2)
        found.append(
            [ResampledSearch(dict(zip(limits, lines, strict=False)), *lines[len(limits) :]) for lines in table]
        )
    return found
