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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from evenhand.core.metric import Collected, Column, Curve, Direction, Metric, Numbers, OperatingPoint, Undefined
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import Lazily
from evenhand.metrics.search_curves import GallerySides, trade_off

STANDARD_RATES = (1e-3, 1e-2, 1e-1)
STANDARD_RANKS = (1, 5, 10)
NO_GALLERY = -1  # as a gallery: a row that no rate here counts
LEFT_OUT = -2  # as a gallery: a search that failed and is left out of all rates, but counted as missing
ANY_RANK = 0  # as a rank limit: the mate may stand anywhere in the list
TieRule = Literal["pessimistic", "optimistic"]
Combination = Literal["mean", "pooled"]

_NO_MATED = "no mated probe"
_NO_NONMATED = "no non-mated probe"
_CELLS_AT_ONCE = 1 << 22  # cells × rows of the weights that are held at a time


@dataclass(frozen=True, eq=False)
class Searches(Collected):
    """The rows of searches, with the cell of each."""

    gallery: Array
    mated: Array
    mate: Array
    rank: Array  # 0: no rank, the mate could not be compared
    top: Array


class SearchReading(NamedTuple):
    """Rates of every cell at one FPIR in one gallery; NaN where undefined."""

    tpir: Mapping[int, Array]  # by rank limit
    threshold: Array
    fpir: Array  # realised
    false_positives: Array
    mated: Array
    nonmated: Array


@dataclass(frozen=True)
class Cmc(Metric[Searches]):
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

    @property
    def columns(self) -> tuple[str, ...]:
        return ("gallery", "mated", "mate", "above", "tied", "top")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Searches:
        return _measured(rows, cells, size, self.ties)

    def result(self, part: Searches, whole: Searches) -> Mapping[str, Column]:
        rates = []
        totals = []
        for gallery in _galleries(part):
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

    def missing(self, state: Searches) -> Array | None:
        return _left_out(state)

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
class OpenSetSearch(Metric[Searches]):
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

    @property
    def columns(self) -> tuple[str, ...]:
        return ("gallery", "mated", "mate", "above", "tied", "top")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Searches:
        return _measured(rows, cells, size, self.ties)

    def result(self, part: Searches, whole: Searches) -> Mapping[str, Column]:
        galleries = _galleries(part)
        first = self.limits[0] if self.limits else 1
        own: list[list[SearchReading]] = []
        at_shared: list[list[SearchReading]] = []
        for gallery in galleries:
            everyone = _GallerySearch(whole, gallery).at(self.fpir, (first,))
            search = _GallerySearch(part, gallery)
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
        found["IET"] = Lazily(part.size, lambda cell: self._trade_off(part, galleries, cell))
        return {output: found[output] for output in self.outputs}

    def points(self, part: Searches, whole: Searches) -> Mapping[str, Sequence[OperatingPoint | None]]:
        """Realised FPIR over all galleries; the threshold where there is one gallery."""
        read = [_GallerySearch(part, gallery).at(self.fpir, self.limits) for gallery in _galleries(part)]
        found: dict[str, Sequence[OperatingPoint | None]] = {}
        for place, rate in enumerate(self.fpir):
            own = [readings[place] for readings in read]
            points = [self._point(own, rate, cell) for cell in range(part.size)]
            found |= {tpir_name(rate, limit): points for limit in self.limits}
        return found

    def missing(self, state: Searches) -> Array | None:
        return _left_out(state)

    def _trade_off(self, state: Searches, galleries: Sequence[int], cell: int) -> Curve | Undefined:
        first = self.limits[0] if self.limits else 1
        sides = [_GallerySearch(state, gallery).sides(cell, first) for gallery in galleries]
        return trade_off(sides, pooled=self.combination == "pooled")

    def _point(self, own: Sequence[SearchReading], rate: float, cell: int) -> OperatingPoint | None:
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


def ranks_of(mate: Array, above: Array, tied: Array, ties: TieRule = "pessimistic") -> Array:
    """The rank of every mate; 0 where it could not be compared.

    >>> ranks_of(np.array([0.5, -np.inf]), np.array([0, 0]), np.array([1, 0])).tolist()
    [2, 0]
    """
    others = np.asarray(above) + (np.asarray(tied) if ties == "pessimistic" else 0)
    return np.where(np.asarray(mate) > -np.inf, 1 + others, 0)


class Trade(NamedTuple):
    """False negatives over false positives at every distinct score, from the top (the IET curve)."""

    threshold: Array
    fpir: Array
    fnir: Mapping[int, Array]  # by rank limit


def identification_trade_off(rows: Records, limits: Sequence[int], ties: TieRule = "pessimistic") -> Trade | None:
    """The IET curve of the searches of one gallery; None without mated or without non-mated probes.

    Points are the distinct values among the mates' scores and the best scores of non-mated searches.
    """
    mated = np.asarray(rows["mated"], dtype=np.bool_)
    if mated.all() or not mated.any():
        return None
    mate, top = np.asarray(rows["mate"])[mated], np.asarray(rows["top"])[~mated]
    rank = ranks_of(mate, rows["above"][mated], rows["tied"][mated], ties)
    thresholds = np.unique(np.concatenate([mate[mate > -np.inf], top[top > -np.inf]]))[::-1]
    fpir = _reaching(top, thresholds) / len(top)
    fnir = {}
    for limit in limits:
        listed = rank > 0 if limit == ANY_RANK else (rank > 0) & (rank <= limit)
        fnir[limit] = 1.0 - _reaching(mate[listed], thresholds) / len(mate)
    return Trade(thresholds, fpir, fnir)


class _GallerySearch:
    """The searches of one gallery, sorted once; rates of all cells at a time."""

    def __init__(self, state: Searches, gallery: int) -> None:
        inside = state.gallery == gallery
        self.state = state
        strangers = np.flatnonzero(inside & ~state.mated)
        self.strangers = strangers[np.argsort(-state.top[strangers], kind="stable")]
        mates = np.flatnonzero(inside & state.mated)
        self.mates = mates[np.argsort(-state.mate[mates], kind="stable")]
        self.top, self.mate, self.rank = state.top[self.strangers], state.mate[self.mates], state.rank[self.mates]

    def at(self, rates: Sequence[float], limits: Sequence[int]) -> list[SearchReading]:
        """At each cell's own thresholds: the lowest with at most `rate` of the non-mated searches above it."""
        return self._read(limits, len(rates), lambda block, place: block.at(rates[place]))

    def beyond(self, thresholds: Sequence[Array], limit: int) -> list[SearchReading]:
        """At thresholds that were set elsewhere: one for all cells, or one per cell."""

        def read(block: _Block, place: int) -> SearchReading:
            fixed = thresholds[place]
            return block.beyond(fixed if len(fixed) == 1 else fixed[block.cells])

        return self._read((limit,), len(thresholds), read)

    def sides(self, cell: int, limit: int) -> GallerySides:
        """Strangers and mates of one cell, for its curve."""
        one = np.array([cell])
        mates = self.weights(one, self.mates)[0]
        listed = self.rank > 0 if limit == ANY_RANK else (self.rank > 0) & (self.rank <= limit)
        return GallerySides(
            self.top, self.weights(one, self.strangers)[0], self.mate, mates * listed, float(mates.sum())
        )

    def _read(
        self, limits: Sequence[int], count: int, read: Callable[[_Block, int], SearchReading]
    ) -> list[SearchReading]:
        """Readings of all cells, so many at a time that memory stays bounded."""
        step = max(1, _CELLS_AT_ONCE // max(len(self.strangers), len(self.mates), 1))
        parts = []
        for start in range(0, max(self.state.size, 1), step):
            block = _Block(self, np.arange(start, min(start + step, self.state.size)), limits)
            parts.append([read(block, place) for place in range(count)])
        return [
            SearchReading(
                {limit: np.concatenate([part[place].tpir[limit] for part in parts]) for limit in limits},
                *(np.concatenate([getattr(part[place], name) for part in parts]) for name in SearchReading._fields[1:]),
            )
            for place in range(count)
        ]

    def weights(self, cells: Array, rows: Array) -> Array:
        """(cells, rows): how often each row counts in each cell."""
        state = self.state
        codes = state.codes[rows]
        if state.mixture is None:
            return np.asarray(codes == cells[:, None], dtype=np.float64)
        block = state.mixture[cells]
        dense = block.toarray() if hasattr(block, "toarray") else np.asarray(block)
        return np.asarray(dense[:, codes], dtype=np.float64)


class _Block:
    """The searches of some cells, weighted and summed from the top; read at any threshold."""

    def __init__(self, search: _GallerySearch, cells: Array, limits: Sequence[int]) -> None:
        self.search, self.cells, self.limits = search, cells, limits
        self.strangers, self.mates = search.weights(cells, search.strangers), search.weights(cells, search.mates)
        self.nonmated, self.mated = self.strangers.sum(axis=1), self.mates.sum(axis=1)
        self.passed = _running(self.strangers)
        self.hits = {
            limit: _running(self.mates if limit == ANY_RANK else self.mates * (search.rank <= limit), search.rank > 0)
            for limit in limits
        }

    def at(self, rate: float) -> SearchReading:
        """At the cells' own thresholds."""
        search = self.search
        # The first stranger, from the top, that would be one too many.
        allowed = self.passed[:, 1:] <= rate * self.nonmated[:, None] * (1 + 1e-9)
        refused_at = allowed.sum(axis=1)
        rows = np.arange(len(self.cells))
        while True:  # k / n ≤ rate is decided by the division itself
            over = _share(self.passed[rows, refused_at], self.nonmated) > rate
            if not over.any():
                break
            refused_at = np.where(over, refused_at - 1, refused_at)
        refused_at = self._end_of_weightless(refused_at)
        refused = np.append(search.top, -np.inf)[refused_at]
        threshold = self._next_above(refused)
        accepted = np.searchsorted(-search.top, -refused, side="left")  # strictly above
        found = np.searchsorted(-search.mate, -refused, side="left")
        undefined = (self.nonmated == 0) | (self.mated == 0)
        read = self._reading(threshold, accepted, found, undefined)
        for rates in read.tpir.values():
            rates[self.nonmated == 0] = np.nan
        return read._replace(threshold=np.where(undefined, np.nan, threshold))

    def beyond(self, fixed: Array) -> SearchReading:
        """At given thresholds; undefined where there is none."""
        search = self.search
        threshold = np.broadcast_to(fixed, (len(self.cells),)).astype(np.float64)
        accepted = np.searchsorted(-search.top, -threshold, side="right")
        found = np.searchsorted(-search.mate, -threshold, side="right")
        unknown = np.isnan(threshold)
        read = self._reading(threshold, np.where(unknown, 0, accepted), np.where(unknown, 0, found), unknown)
        for rates in read.tpir.values():
            rates[unknown] = np.nan
        return read

    def _reading(self, threshold: Array, accepted: Array, found: Array, undefined: Array) -> SearchReading:
        rows = np.arange(len(self.cells))
        passed = self.passed[rows, accepted]
        tpir = {limit: _share(self.hits[limit][rows, found], self.mated) for limit in self.limits}
        fpir = _share(passed, self.nonmated)
        fpir[undefined] = np.nan
        return SearchReading(tpir, threshold, fpir, passed, self.mated, self.nonmated)

    def _end_of_weightless(self, place: Array) -> Array:
        """Skip strangers that do not count in the cell: they refuse nothing."""
        length = len(self.search.top)
        counted = np.where(self.strangers > 0, np.arange(length), length)
        counted = np.where(np.arange(length) >= place[:, None], counted, length)
        return np.asarray(counted.min(axis=1, initial=length))

    def _next_above(self, refused: Array) -> Array:
        """The smallest score above `refused` among those that count in the cell; +∞ when there is none."""
        found = np.full(len(refused), np.inf)
        for scores, weights in ((self.search.top, self.strangers), (self.search.mate, self.mates)):
            if not len(scores):
                continue
            above = np.searchsorted(-scores, -refused, side="left")  # the scores [0, above) are higher
            place = np.where(weights > 0, np.arange(len(scores)), -1)
            place[np.arange(len(scores)) >= above[:, None]] = -1
            last = place.max(axis=1)
            found = np.where(last >= 0, np.minimum(found, scores[np.maximum(last, 0)]), found)
        return found


def _running(weights: Array, counted: Array | None = None) -> Array:
    """(cells, 1 + rows): weight of the rows before each."""
    out = np.zeros((weights.shape[0], weights.shape[1] + 1))
    np.cumsum(weights if counted is None else weights * counted, axis=1, out=out[:, 1:])
    return out


def _measured(rows: Records, cells: Array | None, size: int, ties: TieRule) -> Searches:
    mate = np.asarray(rows["mate"])
    codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
    return Searches(
        codes,
        size,
        None,
        np.asarray(rows["gallery"], dtype=np.int64),
        np.asarray(rows["mated"], dtype=np.bool_),
        mate,
        ranks_of(mate, rows["above"], rows["tied"], ties),
        np.asarray(rows["top"]),
    )


def _galleries(state: Searches) -> list[int]:
    return [int(code) for code in np.unique(state.gallery) if code not in (NO_GALLERY, LEFT_OUT)]


def _left_out(state: Searches) -> Array | None:
    """(cells,): searches that were left out of all rates; None when there are none."""
    out = state.gallery == LEFT_OUT
    if not out.any():
        return None
    counts = np.bincount(state.codes[out], minlength=state.basis)
    return counts if state.mixture is None else np.asarray(state.mixture @ counts)


def _combined(tops: list[Array], bottoms: list[Array], how: Combination, cells: int, width: int) -> Array:
    """(cells, width): rates over galleries; a gallery without a denominator is left out of the mean."""
    if not tops:
        return np.full((cells, width), np.nan)
    top, bottom = np.stack(tops), np.stack(bottoms)[:, :, None]
    if how == "pooled":
        return _share(top.sum(axis=0), bottom.sum(axis=0))
    return _mean(_share(top, bottom))


def _numbers(rates: list[Array], bottoms: list[Array], how: Combination, cells: int, reason: str) -> Numbers:
    if not rates:
        return Numbers(np.full(cells, np.nan), reason)
    if how == "mean":
        return Numbers(_mean(np.stack(rates)), reason)
    defined = [~np.isnan(rate) for rate in rates]
    top = sum(np.where(there, rate * n, 0.0) for there, rate, n in zip(defined, rates, bottoms, strict=True))
    bottom = sum(np.where(there, n, 0.0) for there, n in zip(defined, bottoms, strict=True))
    return Numbers(_share(np.asarray(top), np.asarray(bottom)), reason)


def _mean(rates: Array) -> Array:
    """The mean over the first axis of what is defined; NaN where nothing is."""
    there = ~np.isnan(rates)
    return _share(np.where(there, rates, 0.0).sum(axis=0), there.sum(axis=0))


def _share(top: Array, bottom: Array) -> Array:
    top, bottom = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    out = np.full(np.broadcast(top, bottom).shape, np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out


def _reaching(scores: Array, thresholds: Array) -> Array:
    """How many scores are ≥ each threshold."""
    ordered = np.sort(scores)
    return np.asarray(len(ordered) - np.searchsorted(ordered, thresholds, side="left"))
