"""The searches of a gallery, sorted once and read at thresholds, for many cells at a time.

A cell's threshold at a false positive identification rate is the lowest score that at most this share of its
non-mated searches reaches. Cells may be groups or draws: each weighs the same sorted searches in its own way, by
weights of what the searches belong to (`owner`: a basis cell, or a person who is resampled).

Thresholds lie among the highest non-mated searches, and over all cells they move within a range of scores: what lies
above that range counts in every cell and is one product of weights and counts, and only searches inside the range are
weighed one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Collected, Curve, Sampled, Undefined, ratio
from evenhand.core.records import Array, Records, blocks
from evenhand.metrics.operating_points import SortedScores, next_observed

NO_GALLERY = -1  # as a gallery: a row that no rate here counts
LEFT_OUT = -2  # as a gallery: a search that failed and is left out of all rates, but counted as missing
ANY_RANK = 0  # as a rank limit: the mate may stand anywhere in the list
TieRule = Literal["pessimistic", "optimistic"]

_CELLS_AT_ONCE = 1 << 22  # cells × rows of the weights that are held at a time
_SPARE = 1.3  # so much more than the share of a rate is looked at first

Floats = NDArray[np.float64]


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
        return self.per_cell(out) if out.any() else None


def ranks_of(mate: Array, above: Array, tied: Array, ties: TieRule = "pessimistic") -> Array:
    """The rank of every mate; 0 where it could not be compared.

    >>> ranks_of(np.array([0.5, -np.inf]), np.array([0, 0]), np.array([1, 0])).tolist()
    [2, 0]
    """
    others = np.asarray(above) + (np.asarray(tied) if ties == "pessimistic" else 0)
    return np.where(np.asarray(mate) > -np.inf, 1 + others, 0)


class RankedSearches(NamedTuple):
    """Searches of one kind in one gallery, from the highest score down."""

    falling: Array  # negated scores: these rise
    row: Array
    owner: Array  # what weighs it
    rank: Array

    def only(self, rows: Array) -> RankedSearches:
        """Those of some rows."""
        kept = np.flatnonzero(rows[self.row])
        return RankedSearches(*(column[kept] for column in self))

    def total(self, weights: Floats) -> Floats:
        """(cells,): the weight of all."""
        return np.asarray(weights @ np.bincount(self.owner, minlength=weights.shape[1]))

    def refused(self, weights: Floats, total: Floats, rate: float) -> Floats:
        """(cells,): the highest score that must be refused, negated; +∞ when all may pass, NaN without any."""
        count = len(self.owner)
        taken = min(count, int(_SPARE * rate * count) + 64)
        while True:
            passed = np.cumsum(weights[:, self.owner[:taken]], axis=1)
            over = share_of(passed, total[:, None]) > rate
            is_known: NDArray[np.bool_] = np.asarray(over.any(axis=1))
            if taken == count or is_known[total > 0].all():
                break
            taken = min(count, 4 * taken)
        place = over.argmax(axis=1) if taken else np.zeros(len(weights), dtype=np.intp)
        refused = np.where(is_known, self.falling[place] if count else np.inf, np.inf)
        return np.where(total > 0, refused, np.nan)

    def above(self, weights: Floats, refused: Floats, limit: int | None = None) -> Floats:
        """(cells,): the weight of scores above a refused one; with a limit, of those with a rank within it."""
        known = ~np.isnan(refused)
        place = np.searchsorted(self.falling, np.where(known, refused, -np.inf), side="left")
        counted = self.within(limit)
        low, high = (int(place[known].min()), int(place[known].max())) if known.any() else (0, 0)
        sums = weights @ np.bincount(self.owner[:low][counted[:low]], minlength=weights.shape[1])
        if high > low:
            inside = np.zeros((len(weights), high - low + 1))
            np.cumsum(weights[:, self.owner[low:high]] * counted[low:high], axis=1, out=inside[:, 1:])
            sums = sums + inside[np.arange(len(weights)), np.clip(place - low, 0, high - low)]
        return np.where(known, sums, np.nan)

    def next_above(self, weights: Floats, refused: Floats) -> Floats:
        """(cells,): the smallest score above a refused one that counts in the cell; +∞ when there is none."""
        lowest = np.full(len(weights), np.inf)
        for cell, place in enumerate(np.searchsorted(self.falling, refused, side="left")):
            counted = np.flatnonzero(weights[cell, self.owner[:place]])
            if len(counted):
                lowest[cell] = -self.falling[counted[-1]]
        return lowest

    def within(self, limit: int | None) -> NDArray[np.bool_]:
        """(searches,): whether the mate was compared and stands within a rank; without a limit, true of all."""
        if limit is None:
            return np.ones(len(self.rank), dtype=np.bool_)
        return np.asarray((self.rank > 0) & ((self.rank <= limit) | (limit == ANY_RANK)))

    def scores(self, weights: Floats, limit: int | None = None) -> SortedScores:
        """The scores of one cell, by its weights (owners,)."""
        return SortedScores.weighted(-self.falling[::-1], (weights[self.owner] * self.within(limit))[::-1])


class ThresholdRates(NamedTuple):
    """The threshold of every cell at a false positive identification rate, and what passes it; NaN where undefined."""

    threshold: Floats
    fpir: Floats  # realised
    false_positives: Floats


class GallerySearch(NamedTuple):
    """The non-mated and the mated searches of one gallery, sorted once."""

    strangers: RankedSearches
    mates: RankedSearches

    @classmethod
    def of(cls, state: Searches, gallery: int, owner: Array | None = None) -> GallerySearch:
        """All searches of a gallery; `owner` (rows,) weighs each, its basis cell when it is not given."""
        inside = state.gallery == gallery
        sides = []
        for kind, score in ((inside & ~state.mated, state.top), (inside & state.mated, state.mate)):
            rows = np.flatnonzero(kind)
            rows = rows[np.argsort(-score[rows], kind="stable")]
            sides.append(
                RankedSearches(-score[rows], rows, (state.codes if owner is None else owner)[rows], state.rank[rows])
            )
        return cls(*sides)

    def refused(self, weights: Floats, rates: Sequence[float]) -> Floats:
        """(rates, cells): the highest score that must be refused, negated; NaN without strangers or without mates."""
        total, has_mates = self.strangers.total(weights), self.mates.total(weights) > 0
        refused = np.empty((len(rates), len(weights)))
        for number, rate in enumerate(rates):
            refused[number] = np.where(has_mates, self.strangers.refused(weights, total, rate), np.nan)
        return refused

    def rates(self, weights: Floats, rates: Sequence[float], limits: Sequence[int], shared: Floats) -> Floats:
        """(rates, limits + 4, cells): TPIR by limit, FPIR, FNIR, mated, non-mated.

        TPIR is read at a cell's own threshold, FPIR and FNIR (within the first limit) at `shared` (rates, cells).
        """
        nonmated, mated = self.strangers.total(weights), self.mates.total(weights)
        table = np.empty((len(rates), len(limits) + 4, len(weights)))
        for number, rate in enumerate(rates):
            refused = self.strangers.refused(weights, nonmated, rate)
            tpir = [share_of(self.mates.above(weights, refused, limit), mated) for limit in limits]
            fpir = share_of(self.strangers.above(weights, shared[number]), nonmated)
            fnir = 1.0 - share_of(self.mates.above(weights, shared[number], limits[0]), mated)
            table[number] = [*tpir, fpir, fnir, mated, nonmated]
        return table

    def threshold(self, weights: Floats, rate: float) -> ThresholdRates:
        """At each cell's own threshold."""
        nonmated = self.strangers.total(weights)
        (refused,) = self.refused(weights, [rate])
        passed = self.strangers.above(weights, refused)
        lowest = [side.next_above(weights, refused) for side in self]
        threshold = np.where(np.isnan(refused), np.nan, np.minimum(*lowest))
        return ThresholdRates(threshold, share_of(passed, nonmated), passed)

    def curve_sides(self, weights: Floats, limit: int) -> CurveSides:
        """Strangers and mates of one cell, by its weights (owners,)."""
        mated = float(self.mates.total(weights[np.newaxis])[0])
        return CurveSides(self.strangers.scores(weights), self.mates.scores(weights, limit), mated)


def weights_of_cells(state: Searches) -> Iterator[tuple[slice, Floats]]:
    """The weights (cells, basis) of all cells, so many at a time that memory stays bounded."""
    step = max(1, _CELLS_AT_ONCE // max(len(state.codes), state.basis, 1))
    for block in blocks(state.size, step):
        yield block, state.basis_weights(np.arange(block.start, block.stop)).astype(np.float64)


def rates_of_cells(part: Searches, whole: Searches, rates: Sequence[float], limits: Sequence[int]) -> list[Floats]:
    """For every gallery `GallerySearch.rates` of all cells, beside those at the thresholds of `whole`."""
    tables = []
    for gallery in part.galleries:
        everyone, search = GallerySearch.of(whole, gallery), GallerySearch.of(part, gallery)
        shared, table = np.empty((len(rates), whole.size)), np.empty((len(rates), len(limits) + 4, part.size))
        for block, weights in weights_of_cells(whole):
            shared[:, block] = everyone.refused(weights, rates)
        shared = np.broadcast_to(shared, (len(rates), part.size))
        for block, weights in weights_of_cells(part):
            table[:, :, block] = search.rates(weights, rates, limits, shared[:, block])
        tables.append(table)
    return tables


def resampled_rates(
    state: Searches, cells: Sampled, weights: Iterable[Array], rates: Sequence[float], limits: Sequence[int]
) -> list[Floats]:
    """For every gallery (rates, limits + 4, draws, groups): `GallerySearch.rates` in every draw and group."""
    unit, pattern = np.asarray(cells.unit)[state.codes], np.asarray(cells.pattern)[state.codes]
    kept = [np.asarray(keeps, dtype=np.bool_)[pattern] for keeps in cells.kept]
    everyone = [GallerySearch.of(state, gallery, unit) for gallery in state.galleries]
    groups = [[GallerySearch(*(side.only(rows) for side in search)) for rows in kept] for search in everyone]
    tables = [[np.zeros((len(rates), len(limits) + 4, 0, len(kept)))] for _ in everyone]
    for many in weights:
        many = np.asarray(many, dtype=np.float64)
        for table, whole, parts in zip(tables, everyone, groups, strict=True):
            shared = whole.refused(many, rates)
            table.append(np.stack([part.rates(many, rates, limits, shared) for part in parts], axis=3))
    return [np.concatenate(table, axis=2) for table in tables]


class CurveSides(NamedTuple):
    """One cell in one gallery: best scores of strangers, scores of mates within the rank, and all mates' weight."""

    strangers: SortedScores
    hits: SortedScores
    mated: float


def trade_off(galleries: Sequence[CurveSides], *, pooled: bool = False) -> Curve | Undefined:
    """FNIR over FPIR (the IET curve), combined over the galleries that have mated and non-mated searches.

    At each FPIR stands the lowest FNIR that does not exceed it, in every gallery by itself.
    A point for every rate at which something changes, from 0 on; thresholds where there is one gallery.

    >>> some = CurveSides(SortedScores.of(np.array([0.5, 0.2])), SortedScores.of(np.array([0.9, 0.4])), 2.0)
    >>> curve = trade_off([some])
    >>> curve.x.tolist(), curve.y.tolist()
    ([0.0, 0.5], [0.5, 0.0])
    """
    steps = [_steps(side) for side in galleries if side.strangers.total > 0 and side.mated > 0]
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


def _steps(side: CurveSides) -> _Steps:
    scores, reached = side.strangers.steps()
    refused = np.append(scores, -np.inf)  # from k false positives on, this score is the first too many
    fpir = np.concatenate([[0.0], reached]) / side.strangers.total
    fnir = 1.0 - side.hits.above(refused) / side.mated
    return _Steps(fpir, fnir, next_observed(side.hits, side.strangers, refused), side.mated)


def share_of(top: Array, bottom: Array) -> Array:
    """Cell by cell `top / bottom`; NaN where nothing is below the line."""
    return ratio(top, bottom, "").values
