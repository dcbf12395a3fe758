"""The searches of a gallery, sorted once and read at thresholds, for many cells at a time.

A cell's threshold at a false positive identification rate is the lowest score that at most this share of its
non-mated searches reaches. Cells may be groups or draws: each weighs the same sorted searches in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np

from evenhand.core.metric import Collected, Curve, Undefined
from evenhand.core.records import Array, Records
from evenhand.core.sparse import dense_rows

NO_GALLERY = -1  # as a gallery: a row that no rate here counts
LEFT_OUT = -2  # as a gallery: a search that failed and is left out of all rates, but counted as missing
ANY_RANK = 0  # as a rank limit: the mate may stand anywhere in the list
TieRule = Literal["pessimistic", "optimistic"]

_CELLS_AT_ONCE = 1 << 22  # cells × rows of the weights that are held at a time


@dataclass(frozen=True, eq=False)
class Searches(Collected):
    """The rows of searches, with the cell of each."""

    gallery: Array
    mated: Array
    mate: Array
    rank: Array  # 0: no rank, the mate could not be compared
    top: Array

    @classmethod
    def measured(cls, rows: Records, cells: Array | None, size: int, ties: TieRule) -> Self:
        """The searches that rows tell of."""
        mate = np.asarray(rows["mate"])
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        return cls(
            codes,
            size,
            None,
            np.asarray(rows["gallery"], dtype=np.int64),
            np.asarray(rows["mated"], dtype=np.bool_),
            mate,
            ranks_of(mate, rows["above"], rows["tied"], ties),
            np.asarray(rows["top"]),
        )

    @property
    def galleries(self) -> list[int]:
        """The galleries whose searches count."""
        return [int(code) for code in np.unique(self.gallery) if code not in (NO_GALLERY, LEFT_OUT)]

    def left_out(self) -> Array | None:
        """(cells,): searches that were left out of all rates; None when there are none."""
        out = self.gallery == LEFT_OUT
        if not out.any():
            return None
        counts = np.bincount(self.codes[out], minlength=self.basis)
        return counts if self.mixture is None else np.asarray(self.mixture @ counts)


def ranks_of(mate: Array, above: Array, tied: Array, ties: TieRule = "pessimistic") -> Array:
    """The rank of every mate; 0 where it could not be compared.

    >>> ranks_of(np.array([0.5, -np.inf]), np.array([0, 0]), np.array([1, 0])).tolist()
    [2, 0]
    """
    others = np.asarray(above) + (np.asarray(tied) if ties == "pessimistic" else 0)
    return np.where(np.asarray(mate) > -np.inf, 1 + others, 0)


class SearchRates(NamedTuple):
    """Rates of every cell at one FPIR in one gallery; NaN where undefined."""

    tpir: Mapping[int, Array]  # by rank limit
    threshold: Array
    fpir: Array  # realised
    false_positives: Array
    mated: Array
    nonmated: Array


class GallerySides(NamedTuple):
    """The searches of one gallery: best scores of strangers, scores of mates within the rank, and all mates' weight."""

    top: Array  # (non-mated,), descending
    top_weight: Array
    mate: Array  # (mated,), descending
    mate_weight: Array  # 0 where the mate stands too low in the list, or could not be compared
    mated: float


class GallerySearch:
    """The searches of one gallery, sorted once; rates of all cells at a time."""

    def __init__(self, state: Searches, gallery: int) -> None:
        inside = state.gallery == gallery
        self.state = state
        strangers = np.flatnonzero(inside & ~state.mated)
        self.strangers = strangers[np.argsort(-state.top[strangers], kind="stable")]
        mates = np.flatnonzero(inside & state.mated)
        self.mates = mates[np.argsort(-state.mate[mates], kind="stable")]
        self.top, self.mate, self.rank = state.top[self.strangers], state.mate[self.mates], state.rank[self.mates]

    def at(self, rates: Sequence[float], limits: Sequence[int]) -> list[SearchRates]:
        """At each cell's own thresholds: the lowest with at most `rate` of the non-mated searches above it."""
        return self._read(limits, len(rates), lambda block, place: block.at(rates[place]))

    def beyond(self, thresholds: Sequence[Array], limit: int) -> list[SearchRates]:
        """At thresholds that were set elsewhere: one for all cells, or one per cell."""

        def read(block: _CellBlock, place: int) -> SearchRates:
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
        self, limits: Sequence[int], count: int, read: Callable[[_CellBlock, int], SearchRates]
    ) -> list[SearchRates]:
        """Readings of all cells, so many at a time that memory stays bounded."""
        step = max(1, _CELLS_AT_ONCE // max(len(self.strangers), len(self.mates), 1))
        parts = []
        for start in range(0, max(self.state.size, 1), step):
            block = _CellBlock(self, np.arange(start, min(start + step, self.state.size)), limits)
            parts.append([read(block, place) for place in range(count)])
        return [
            SearchRates(
                {limit: np.concatenate([part[place].tpir[limit] for part in parts]) for limit in limits},
                *(np.concatenate([getattr(part[place], name) for part in parts]) for name in SearchRates._fields[1:]),
            )
            for place in range(count)
        ]

    def weights(self, cells: Array, rows: Array) -> Array:
        """(cells, rows): how often each row counts in each cell."""
        state = self.state
        codes = state.codes[rows]
        if state.mixture is None:
            return np.asarray(codes == cells[:, None], dtype=np.float64)
        return np.asarray(dense_rows(state.mixture, cells)[:, codes], dtype=np.float64)


def trade_off(galleries: Sequence[GallerySides], *, pooled: bool = False) -> Curve | Undefined:
    """FNIR over FPIR (the IET curve), combined over the galleries that have mated and non-mated searches.

    At each FPIR stands the lowest FNIR that does not exceed it, in every gallery by itself.
    A point for every rate at which something changes, from 0 on; thresholds where there is one gallery.

    >>> some = GallerySides(np.array([0.5, 0.2]), np.ones(2), np.array([0.9, 0.4]), np.ones(2), 2.0)
    >>> curve = trade_off([some])
    >>> curve.x.tolist(), curve.y.tolist()
    ([0.0, 0.5], [0.5, 0.0])
    """
    steps = [_steps(one) for one in galleries if one.top_weight.sum() > 0 and one.mated > 0]
    if not steps:
        return Undefined("no mated probe, or no non-mated probe")
    grid = np.unique(np.concatenate([step.fpir for step in steps]))
    places = [np.searchsorted(step.fpir, grid, side="right") - 1 for step in steps]
    rates = np.stack([step.fnir[place] for step, place in zip(steps, places, strict=True)])
    share = np.array([step.mated for step in steps]) if pooled else np.ones(len(steps))
    fnir = share @ rates / share.sum()
    threshold = steps[0].threshold[places[0]] if len(steps) == 1 else None
    changes = np.concatenate([[True], np.diff(fnir) != 0])
    return Curve(
        grid[changes], fnir[changes], "FPIR", "FNIR", None if threshold is None else threshold[changes], log_x=True
    )


class _Steps(NamedTuple):
    """From each FPIR on: the FNIR, and the threshold."""

    fpir: Array
    fnir: Array
    threshold: Array
    mated: float


def _steps(side: GallerySides) -> _Steps:
    counted = side.top_weight > 0
    top, weight = side.top[counted], side.top_weight[counted]
    ends = np.flatnonzero(np.append(top[1:] != top[:-1], True))
    reached = np.cumsum(weight)[ends]
    refused = np.append(top[ends], -np.inf)  # from k false positives on, this score is the first too many
    start = np.concatenate([[0.0], reached]) / reached[-1]
    hits = np.concatenate([[0.0], np.cumsum(side.mate_weight)])
    above = np.searchsorted(-side.mate, -refused, side="left")
    observed = np.sort(np.concatenate([top, side.mate[side.mate_weight > 0]]))
    observed = observed[observed > -np.inf]
    next_above = np.append(observed, np.inf)[np.searchsorted(observed, refused, side="right")]
    return _Steps(start, 1.0 - hits[above] / side.mated, next_above, side.mated)


class _CellBlock:
    """The searches of some cells, weighted and summed from the top; read at any threshold."""

    def __init__(self, search: GallerySearch, cells: Array, limits: Sequence[int]) -> None:
        self.search, self.cells, self.limits = search, cells, limits
        self.strangers, self.mates = search.weights(cells, search.strangers), search.weights(cells, search.mates)
        self.nonmated, self.mated = self.strangers.sum(axis=1), self.mates.sum(axis=1)
        self.passed = _running(self.strangers)
        self.hits = {
            limit: _running(self.mates if limit == ANY_RANK else self.mates * (search.rank <= limit), search.rank > 0)
            for limit in limits
        }

    def at(self, rate: float) -> SearchRates:
        """At the cells' own thresholds."""
        search = self.search
        # The first stranger, from the top, that would be one too many.
        allowed = self.passed[:, 1:] <= rate * self.nonmated[:, None] * (1 + 1e-9)
        refused_at = allowed.sum(axis=1)
        rows = np.arange(len(self.cells))
        while True:  # k / n ≤ rate is decided by the division itself
            over = share_of(self.passed[rows, refused_at], self.nonmated) > rate
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

    def beyond(self, fixed: Array) -> SearchRates:
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

    def _reading(self, threshold: Array, accepted: Array, found: Array, undefined: Array) -> SearchRates:
        rows = np.arange(len(self.cells))
        passed = self.passed[rows, accepted]
        tpir = {limit: share_of(self.hits[limit][rows, found], self.mated) for limit in self.limits}
        fpir = share_of(passed, self.nonmated)
        fpir[undefined] = np.nan
        return SearchRates(tpir, threshold, fpir, passed, self.mated, self.nonmated)

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


def share_of(top: Array, bottom: Array) -> Array:
    """Cell by cell `top / bottom`; NaN where nothing is below the line."""
    top, bottom = np.asarray(top, dtype=np.float64), np.asarray(bottom, dtype=np.float64)
    out = np.full(np.broadcast(top, bottom).shape, np.nan)
    np.divide(top, bottom, out=out, where=bottom > 0)
    return out
