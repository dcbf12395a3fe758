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
from evenhand.metrics.means import defined_mean
from evenhand.metrics.search_rates import (
    ANY_RANK,
    GallerySearch,
    Searches,
    ThresholdRates,
    TieRule,
    rates_of_cells,
    resampled_rates,
    share_of,
    trade_off,
    weights_of_cells,
)

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
        return {**{rank_name(rank): Direction.HIGHER for rank in self.ranks}, "curve": Direction.NEITHER}

    def result(self, part: Searches, whole: Searches) -> Mapping[str, Column]:
        counts = [self._counts(part, gallery) for gallery in part.galleries]
        hits = np.array([top for top, _ in counts]).reshape(-1, part.size, self._longest())
        mated = np.array([bottom for _, bottom in counts]).reshape(-1, part.size, 1)
        if self.combination == "mean":
            curve = defined_mean(share_of(hits, mated))
        else:
            curve = share_of(hits.sum(axis=0), mated.sum(axis=0))
        columns: dict[str, Column] = {rank_name(rank): Numbers(curve[:, rank - 1], _NO_MATED) for rank in self.ranks}
        shown = np.arange(1, min(self.depth, self._longest()) + 1)
        columns["curve"] = [
            Undefined(_NO_MATED)
            if np.isnan(line).any()
            else Curve(shown.astype(np.float64), line[: len(shown)], "rank", "identification rate")
            for line in curve
        ]
        return columns

    def _longest(self) -> int:
        return max((*self.ranks, self.depth))

    def _counts(self, state: Searches, gallery: int) -> tuple[Array, Array]:
        """(cells, ranks) mated probes with the mate at that rank or better, and (cells,) all mated probes."""
        longest = self._longest()
        inside = np.flatnonzero((state.gallery == gallery) & state.mated)
        rank = state.rank[inside]
        limit = np.where((rank > 0) & (rank <= longest), rank, longest + 1)
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
        outputs = {tpir_name(rate, limit): Direction.HIGHER for limit in self.limits for rate in self.fpir}
        outputs |= {name(rate): Direction.LOWER for name in (fpir_name, fnir_name) for rate in self.fpir}
        return {**outputs, "IET": Direction.NEITHER}

    def result(self, part: Searches, whole: Searches) -> Mapping[str, Column]:
        values = self._over_galleries(rates_of_cells(part, whole, self.fpir, self._limits), (part.size,))
        reasons = {"TPIR": f"{_NO_MATED}, or {_NO_NONMATED}", "FPIR": _NO_NONMATED, "FNIR": _NO_MATED}
        columns: dict[str, Column] = {
            output: Numbers(rates, reasons[output.partition("@")[0]]) for output, rates in values.items()
        }
        return columns | {"IET": LazyCurves(part.size, lambda cell: self._trade_off(part, cell))}

    def redrawn(
        self, state: Searches, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        if state.mixture is not None or cells.unit_b is not None or not state.galleries:
            return None
        tables = resampled_rates(state, cells, weights, self.fpir, self._limits)
        values = self._over_galleries(tables, tables[0].shape[2:])
        return {output: values[output] for output in wanted}

    @property
    def _limits(self) -> tuple[int, ...]:
        return self.limits or (1,)

    def _over_galleries(self, tables: Sequence[Array], shape: tuple[int, ...]) -> dict[str, Array]:
        """The outputs, combined over tables (rates, limits + 4, …) of every gallery."""
        nothing = np.full((len(self.fpir), len(self._limits) + 4, *shape), np.nan)
        *tpir, fpir, fnir, mated, nonmated = np.moveaxis(np.stack(tables or [nothing]), 2, 0)
        values: dict[str, Array] = {}
        for limit, rates in zip(self.limits, tpir, strict=False):
            combined = _combined(rates, mated, self.combination)
            values |= {tpir_name(rate, limit): combined[place] for place, rate in enumerate(self.fpir)}
        for name, rates, bottom in ((fpir_name, fpir, nonmated), (fnir_name, fnir, mated)):
            combined = _combined(rates, bottom, self.combination)
            values |= {name(rate): combined[place] for place, rate in enumerate(self.fpir)}
        return {output: values[output] for output in self.outputs if output in values}

    def points(self, part: Searches, whole: Searches) -> Mapping[str, Sequence[OperatingPoint | None]]:
        """Realised FPIR over all galleries; the threshold where there is one gallery."""
        searches = [GallerySearch.of(part, gallery) for gallery in part.galleries]
        points: dict[str, list[OperatingPoint | None]] = {
            tpir_name(rate, limit): [] for limit in self.limits for rate in self.fpir
        }
        for block, weights in weights_of_cells(part):
            for rate in self.fpir:
                read = [search.threshold(weights, rate) for search in searches]
                own = [self._point(read, rate, cell) for cell in range(block.stop - block.start)]
                for limit in self.limits:
                    points[tpir_name(rate, limit)] += own
        return points

    def _trade_off(self, state: Searches, cell: int) -> Curve | Undefined:
        (weights,) = state.basis_weights(np.array([cell])).astype(np.float64)
        searches = (GallerySearch.of(state, gallery) for gallery in state.galleries)
        sides = [search.curve_sides(weights, self._limits[0]) for search in searches]
        return trade_off(sides, pooled=self.combination == "pooled")

    def _point(self, own: Sequence[ThresholdRates], rate: float, cell: int) -> OperatingPoint | None:
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


def _combined(rates: Array, bottoms: Array, how: Combination) -> Array:
    """Rates over galleries, the first axis; a gallery without a denominator is left out."""
    if how == "mean":
        return defined_mean(rates)
    there = ~np.isnan(rates)
    top = np.where(there, rates * bottoms, 0.0).sum(axis=0)
    return share_of(top, np.where(there, bottoms, 0.0).sum(axis=0))
