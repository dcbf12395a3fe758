"""Open-set search: is the right person found, and is a stranger let alone?

A row is one probe searched in one gallery. `mated` says whether the person has a template
there, `mate` is the best score of these templates, `above` and `tied` count the templates
of other people that score higher than or the same as the mate, and `top` is the best score
of other people. A failure to enrol scores −∞ and has no rank.

Galleries are evaluated one by one with all probes and then combined: the plain mean of
their rates, or pooled counts. The two differ when galleries have different numbers of
mated probes, so every name says which.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from evenhand.core.metric import (
    UNIT_SCALE,
    Column,
    Curve,
    Direction,
    Metric,
    Numbers,
    OperatingPoint,
    Sampled,
    Scale,
    Undefined,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import LazyCurves
from evenhand.metrics.search_rates import ANY_RANK, GallerySearch, Searches, SearchRates, TieRule, share_of, trade_off
from evenhand.metrics.search_resampling import resampled_searches

STANDARD_RATES = (1e-3, 1e-2, 1e-1)
STANDARD_RANKS = (1, 5, 10)
Combination = Literal["mean", "pooled"]

_NO_MATED = "no mated probe"
_NO_NONMATED = "no non-mated probe"


class _OfSearches(Metric[Searches]):
    """What the metrics of searches share: the rows they read, and one kind of state."""

    ties: TieRule
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def columns(self) -> tuple[str, ...]:
        return ("gallery", "mated", "mate", "above", "tied", "top")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Searches:
        return Searches.measured(rows, cells, size, self.ties)

    def missing(self, state: Searches) -> Array | None:
        return state.left_out()


@dataclass(frozen=True)
class Cmc(_OfSearches):
    """Share of mated probes whose mate is among the first r candidates (CMC), over the mated probes only.

    Ties count against the algorithm (`pessimistic`), as in OpenBR and bob, unless `optimistic`.
    """

    name: str
    ranks: tuple[int, ...] = STANDARD_RANKS
    ties: TieRule = "pessimistic"
    combination: Combination = "mean"
    depth: int = 50  # of the curve

    @property
    def outputs(self) -> Mapping[str, Direction]:
        found = {rank_name(rank): Direction.HIGHER for rank in self.ranks}
        return {**found, "curve": Direction.NEITHER}

    def result(self, part: Searches, whole: Searches) -> Mapping[str, Column]:
        rates = []
        totals = []
        for gallery in part.galleries:
            hits, mated = self._counts(part, gallery)
            rates.append(hits)
            totals.append(mated)
        curve = _combined(rates, totals, self.combination, part.size, self._longest())
        found: dict[str, Column] = {rank_name(rank): Numbers(curve[:, rank - 1], _NO_MATED) for rank in self.ranks}
        shown = np.arange(1, min(self.depth, self._longest()) + 1)
        found["curve"] = [
            Undefined(_NO_MATED)
            if np.isnan(line).any()
            else Curve(shown.astype(np.float64), line[: len(shown)], "rank", "identification rate")
            for line in curve
        ]
        return found

    def _longest(self) -> int:
        return max((*self.ranks, self.depth))

    def _counts(self, state: Searches, gallery: int) -> tuple[Array, Array]:
        """(cells, ranks) mated probes with the mate at that rank or better, and (cells,) all mated probes."""
        longest = self._longest()
        inside = np.flatnonzero((state.gallery == gallery) & state.mated)
        found = state.rank[inside]
        limit = np.where((found > 0) & (found <= longest), found, longest + 1)
        table = np.zeros((state.basis, longest + 1))
        np.add.at(table, (state.codes[inside], limit - 1), 1.0)
        hits, mated = np.cumsum(table, axis=1)[:, :longest], table.sum(axis=1)
        if state.mixture is None:
            return hits, mated
        return np.asarray(state.mixture @ hits), np.asarray(state.mixture @ mated)


@dataclass(frozen=True)
class OpenSetSearch(_OfSearches):
    """Share of mated probes found at thresholds that few strangers pass (TPIR at FPIR).

    `limits` are the ranks at which the mate may stand at most; 0 is any rank. Every group is
    read at its own threshold (`TPIR@FPIR=…`) and at the threshold that was set on all non-mated
    searches of a gallery (`FPIR@…`, `FNIR@…`). The curve `IET` is FNIR over FPIR, the mate within the first limit.
    """

    name: str
    fpir: tuple[float, ...] = STANDARD_RATES
    limits: tuple[int, ...] = (1, 20, ANY_RANK)
    ties: TieRule = "pessimistic"
    combination: Combination = "mean"

    @property
    def outputs(self) -> Mapping[str, Direction]:
        found = {tpir_name(rate, limit): Direction.HIGHER for limit in self.limits for rate in self.fpir}
        found |= {fpir_name(rate): Direction.LOWER for rate in self.fpir}
        found |= {fnir_name(rate): Direction.LOWER for rate in self.fpir}
        return {**found, "IET": Direction.NEITHER}

    def result(self, part: Searches, whole: Searches) -> Mapping[str, Column]:
        galleries = part.galleries
        first = self.limits[0] if self.limits else 1
        own: list[list[SearchRates]] = []
        at_shared: list[list[SearchRates]] = []
        for gallery in galleries:
            everyone = GallerySearch(whole, gallery).at(self.fpir, (first,))
            search = GallerySearch(part, gallery)
            own.append(search.at(self.fpir, self.limits))
            at_shared.append(search.beyond([reading.threshold for reading in everyone], first))
        found: dict[str, Column] = {}
        for place, rate in enumerate(self.fpir):
            read = [readings[place] for readings in own]
            shared = [readings[place] for readings in at_shared]
            mated, nonmated = [reading.mated for reading in read], [reading.nonmated for reading in read]
            for limit in self.limits:
                rates = [reading.tpir[limit] for reading in read]
                reason = f"{_NO_MATED}, or {_NO_NONMATED}"
                found[tpir_name(rate, limit)] = _numbers(rates, mated, self.combination, part.size, reason)
            fpir = [reading.fpir for reading in shared]
            found[fpir_name(rate)] = _numbers(fpir, nonmated, self.combination, part.size, _NO_NONMATED)
            fnir = [1.0 - reading.tpir[first] for reading in shared]
            found[fnir_name(rate)] = _numbers(fnir, mated, self.combination, part.size, _NO_MATED)
        found["IET"] = LazyCurves(part.size, lambda cell: self._trade_off(part, galleries, cell))
        return {output: found[output] for output in self.outputs}

    def redrawn(
        self, state: Searches, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        if state.mixture is not None or cells.unit_b is not None:
            return None
        first = self.limits[0] if self.limits else 1
        galleries = resampled_searches(state, cells, weights, self.fpir, self.limits or (first,))
        found: dict[str, Array] = {}
        for place, rate in enumerate(self.fpir):
            read = [rates[place] for rates in galleries]
            mated, nonmated = [one.mated for one in read], [one.nonmated for one in read]
            for limit in self.limits:
                found[tpir_name(rate, limit)] = self._over_galleries([one.tpir[limit] for one in read], mated)
            found[fpir_name(rate)] = self._over_galleries([one.fpir for one in read], nonmated)
            found[fnir_name(rate)] = self._over_galleries([one.fnir for one in read], mated)
        return {output: found[output] for output in wanted}

    def _over_galleries(self, rates: list[Array], bottoms: list[Array]) -> Array:
        """The same combination as of single cells, for (draws, groups)."""
        shape = rates[0].shape
        flat = [[table.reshape(-1) for table in tables] for tables in (rates, bottoms)]
        return _numbers(flat[0], flat[1], self.combination, rates[0].size, "").values.reshape(shape)

    def points(self, part: Searches, whole: Searches) -> Mapping[str, Sequence[OperatingPoint | None]]:
        """Realised FPIR over all galleries; the threshold where there is one gallery."""
        read = [GallerySearch(part, gallery).at(self.fpir, self.limits) for gallery in part.galleries]
        found: dict[str, Sequence[OperatingPoint | None]] = {}
        for place, rate in enumerate(self.fpir):
            own = [readings[place] for readings in read]
            points = [self._point(own, rate, cell) for cell in range(part.size)]
            found |= {tpir_name(rate, limit): points for limit in self.limits}
        return found

    def _trade_off(self, state: Searches, galleries: Sequence[int], cell: int) -> Curve | Undefined:
        first = self.limits[0] if self.limits else 1
        sides = [GallerySearch(state, gallery).sides(cell, first) for gallery in galleries]
        return trade_off(sides, pooled=self.combination == "pooled")

    def _point(self, own: Sequence[SearchRates], rate: float, cell: int) -> OperatingPoint | None:
        there = [reading for reading in own if not np.isnan(reading.fpir[cell])]
        if not there:
            return None
        thresholds = {float(reading.threshold[cell]) for reading in there}
        return OperatingPoint(
            f"exact, {self.combination} over galleries" if len(own) > 1 else "exact",
            rate,
            float(np.mean([reading.fpir[cell] for reading in there])),
            thresholds.pop() if len(thresholds) == 1 else None,
            round(sum(float(reading.false_positives[cell]) for reading in there)),
        )


def rank_name(rank: int) -> str:
    """The name of the output that is the identification rate at a rank."""
    return f"rank {rank}"


def tpir_name(rate: float, limit: int) -> str:
    """The name of the output that is the true positive identification rate at a false positive one.

    >>> tpir_name(0.01, 1), tpir_name(0.01, 20), tpir_name(0.1, ANY_RANK)
    ('TPIR@FPIR=0.01, rank 1', 'TPIR@FPIR=0.01, top 20', 'TPIR@FPIR=0.1, any rank')
    """
    where = "any rank" if limit == ANY_RANK else "rank 1" if limit == 1 else f"top {limit}"
    return f"TPIR@FPIR={rate:.12g}, {where}"


def fpir_name(rate: float) -> str:
    """The name of a group's FPIR at the threshold that was set on all non-mated searches."""
    return f"FPIR@overall FPIR={rate:.12g}"


def fnir_name(rate: float) -> str:
    """The name of a group's FNIR at the threshold that was set on all non-mated searches."""
    return f"FNIR@overall FPIR={rate:.12g}"


def _combined(tops: list[Array], bottoms: list[Array], how: Combination, cells: int, width: int) -> Array:
    """(cells, width): rates over galleries; a gallery without a denominator is left out of the mean."""
    if not tops:
        return np.full((cells, width), np.nan)
    top, bottom = np.stack(tops), np.stack(bottoms)[:, :, None]
    if how == "pooled":
        return share_of(top.sum(axis=0), bottom.sum(axis=0))
    return _mean(share_of(top, bottom))


def _numbers(rates: list[Array], bottoms: list[Array], how: Combination, cells: int, reason: str) -> Numbers:
    if not rates:
        return Numbers(np.full(cells, np.nan), reason)
    if how == "mean":
        return Numbers(_mean(np.stack(rates)), reason)
    defined = [~np.isnan(rate) for rate in rates]
    top = sum(np.where(there, rate * n, 0.0) for there, rate, n in zip(defined, rates, bottoms, strict=True))
    bottom = sum(np.where(there, n, 0.0) for there, n in zip(defined, bottoms, strict=True))
    return Numbers(share_of(np.asarray(top), np.asarray(bottom)), reason)


def _mean(rates: Array) -> Array:
    """The mean over the first axis of what is defined; NaN where nothing is."""
    there = ~np.isnan(rates)
    return share_of(np.where(there, rates, 0.0).sum(axis=0), there.sum(axis=0))
