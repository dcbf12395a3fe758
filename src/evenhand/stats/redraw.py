"""Resampling of any metric: units with or without replacement, in every group at once.

A draw (one resample) is a row of weights on units. Spread over the cells and added by membership pattern it
gives the states of all draws and patterns, and one sparse product those of all groups; the metric itself turns
them into values. Rows about two units are weighted by the product of both weights.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.measure import AnyMetric, numbers
from evenhand.core.metric import Collected, Linear, Ratio
from evenhand.core.records import blocks, unique_codes
from evenhand.core.sparse import SparseMatrix
from evenhand.stats.checks import Floats, Integers, divide
from evenhand.stats.resample import Weights, dyadic_totals
from evenhand.stats.settings import Settings
from evenhand.stats.tables import TallyLayout

COSTLY_CELLS = 50_000
"""Beyond so many cells, metrics that are resampled get fewer draws."""


def draws_of(state: Any, places: TallyLayout, settings: Settings) -> int:
    """How often a metric is resampled: a tenth where that is costly, but `costly_draws` at least.

    It is costly where rows are kept and thresholds found anew in every draw, and where there are many cells or groups.
    """
    many = places.cells > COSTLY_CELLS or len(places.groups) * settings.draws > _MOST_DRAWN
    if not isinstance(state, Collected) and not many:
        return settings.draws
    return min(settings.draws, max(settings.costly_draws, settings.draws // 10))


_MOST_DRAWN = 20_000_000  # values of one output in all draws and groups
_BLOCK_ENTRIES = 3_000_000
_FEW_CELLS = 500
_MOST_AT_ONCE = 100  # draws, so that what lies between two products stays small
_MOST_COMPARED = 5_000_000
_AT_ONCE = 4_000_000  # weights of units that are left out in turn
_LONG_PATTERNS = 50  # cells of a pattern on average, from which on draws are not split further
_WIDE = 64  # columns of reals, from which on a sparse product is quicker than one column after the other
_WORTH_A_PRODUCT = 2000  # multiplications for each pattern, from which on a product of their own is quicker


def redraw(
    metric: AnyMetric,
    state: Any,
    places: TallyLayout,
    weights: Iterator[Weights],
    wanted: frozenset[str],
    *,
    of_kinds: Callable[[Integers], Iterator[Weights]] | None = None,
    kinds: "Kinds | None" = None,
) -> Mapping[str, Floats]:
    """The wanted outputs of a metric in every draw and group (draws × groups); NaN where a draw has no value.

    `of_kinds` gives weights of kinds of cells from their sizes; it is asked instead of `weights` where every
    unit is one cell and cells are of few kinds, since how often each kind was drawn is then all that matters.
    `kinds` are those of the state, where they are known.
    """
    quick = metric.redrawn(state, places, weights, wanted)
    if quick is not None:
        return quick
    drawn_values: dict[str, list[Floats]] = {name: [] for name in wanted}
    groups, patterns = places.keeps.shape
    kinds = kinds_of(state, places) if kinds is None else kinds
    pattern = places.pattern
    if kinds is not None:
        state, pattern = state.weigh(kinds.pick), pattern[kinds.first]
    cells = len(pattern)
    order = np.argsort(pattern, kind="stable")
    starts = np.searchsorted(pattern[order], np.arange(patterns))
    source, on_kinds = weights, False
    if kinds is not None and of_kinds is not None and places.units == places.cells and places.unit_b is None:
        source, on_kinds = of_kinds(kinds.sizes), True
    groups_per_cell = int(np.ceil(len(places.keeps.rows) / max(patterns, 1))) + 1
    most = _BLOCK_ENTRIES // max(cells * groups_per_cell, 1)
    block = max(1, min(most, _MOST_AT_ONCE if on_kinds else _BLOCK_ENTRIES // max(places.cells, 1)))
    sums = _sorted_sums(state, order)
    if sums is not None and sums.whole and cells > _LONG_PATTERNS * patterns:
        block = max(block, min(_MOST_AT_ONCE, _BLOCK_ENTRIES // max(places.cells, 1)))
    by_kind, kind_starts = (order, None) if kinds is None else kinds.in_order(order)
    steps: dict[int, tuple[Any, Any, Any]] = {}
    for many in source:
        for start in range(0, len(many), block):
            drawn = many[start : start + block]
            if on_kinds:
                cell_weights = drawn[:, order].astype(np.float64)
            else:
                cell_weights = _on_cells(drawn, places, by_kind)
                if kind_starts is not None:
                    cell_weights = np.add.reduceat(cell_weights, kind_starts, axis=1)
            if sums is not None:
                in_patterns = sums.of_patterns(cell_weights, starts)
            else:
                in_patterns = state.weigh(_by_pattern(cell_weights, order, starts))
            if len(drawn) not in steps:
                steps[len(drawn)] = _steps(len(drawn), places.keeps)
            to_groups, to_everyone, again = steps[len(drawn)]
            part, whole = in_patterns.weigh(to_groups), in_patterns.weigh(to_everyone)
            # A single whole serves all groups of its draw.
            values = metric.result(part, whole if len(drawn) == 1 else whole.weigh(again))
            for name in wanted:
                drawn_values[name].append(numbers(values[name]).reshape(len(drawn), groups))
    return {name: np.concatenate(parts) for name, parts in drawn_values.items()}


def _steps(draws: int, groups: SparseMatrix) -> tuple[SparseMatrix, SparseMatrix, SparseMatrix]:
    """From the patterns of so many draws to their groups, to everyone in each, and to everyone for every group."""
    many, patterns = groups.shape
    everyone = SparseMatrix(np.array([0, patterns]), np.arange(patterns), patterns)
    again = SparseMatrix(np.arange(many + 1), np.zeros(many, dtype=np.int64), 1)
    return groups.repeated(draws), everyone.repeated(draws), again.repeated(draws)


def redraw_dyadic(ratio: Ratio, places: TallyLayout, weights: Iterator[Weights]) -> Floats:
    """A ratio of sums over rows about two units, in every draw and group (draws × groups).

    A row about one unit twice (a genuine comparison) counts as often as the unit, any other as often as both.
    """
    assert places.unit_b is not None
    group, cell = places.entries_of(places.keeps)
    first = np.minimum(places.unit, places.unit_b)
    second = np.maximum(places.unit, places.unit_b)
    own = first == second
    tables = []
    for number in range(len(places.groups)):
        inside = cell[group == number]
        pair, alone = inside[~own[inside]], inside[own[inside]]
        tables.append(
            tuple(
                (
                    SparseMatrix.of_entries(first[pair], second[pair], (places.units, places.units), column[pair]),
                    np.bincount(first[alone], column[alone], minlength=places.units),
                )
                for column in (ratio.top, ratio.bottom)
            )
        )
    parts = []
    for many in weights:
        drawn = np.empty((len(many), len(tables)))
        for number, ((top, own_top), (bottom, own_bottom)) in enumerate(tables):
            above = dyadic_totals(many, top) + many.astype(np.float64) @ own_top
            below = dyadic_totals(many, bottom) + many.astype(np.float64) @ own_bottom
            drawn[:, number] = divide(above, below)
        parts.append(drawn)
    return np.concatenate(parts) if parts else np.zeros((0, len(tables)))


def left_out(metric: AnyMetric, state: Any, places: TallyLayout, wanted: frozenset[str]) -> Mapping[str, Floats]:
    """The wanted outputs without one unit at a time (units × groups), for acceleration."""

    def each() -> Iterator[Weights]:
        for block in blocks(places.units, max(1, _AT_ONCE // places.units)):
            ones = np.ones((block.stop - block.start, places.units), dtype=np.float32)
            ones[np.arange(len(ones)), np.arange(block.start, block.stop)] = 0.0
            yield ones

    return redraw(metric, state, places, each(), wanted)


class Kinds(NamedTuple):
    """Cells that are alike in state and pattern: for draws they are one cell, whose weights add."""

    first: Integers  # (kinds,): a cell of each
    sizes: Integers  # (kinds,): how many cells each has
    kind: Integers  # (cells,): the kind of each cell

    @property
    def pick(self) -> SparseMatrix:
        """(kinds, cells): 1 at the first cell of each."""
        return SparseMatrix(np.arange(len(self.first) + 1), self.first, len(self.kind))

    def in_order(self, order: Integers) -> tuple[Integers, Integers]:
        """The cells by kind, with the kinds in a given order, and where the cells of each of them start."""
        place = np.empty_like(order)
        place[order] = np.arange(len(order))
        sizes = self.sizes[order]
        return np.argsort(place[self.kind], kind="stable"), np.cumsum(sizes) - sizes


def kinds_of(state: Any, places: TallyLayout) -> Kinds | None:
    """The kinds of cells of a state of sums, when they are few; None when that would not pay."""
    if not isinstance(state, Linear) or places.cells < _FEW_CELLS:
        return None
    kind = places.pattern
    for array in state.arrays():
        for column in array.reshape(places.cells, -1).T:
            values, codes = unique_codes(column)
            if len(values) > 1:
                _, kind = unique_codes(kind * np.int64(len(values)) + codes)
                if int(kind.max()) >= places.cells // 2:
                    return None
    first = np.zeros(int(kind.max(initial=-1)) + 1, dtype=np.int64)
    first[kind[::-1]] = np.arange(places.cells)[::-1]
    if len(first) > places.cells // 2:
        return None
    kinds = Kinds(first, np.bincount(kind), np.asarray(kind, dtype=np.int64))
    order = _order(places.pattern[first], state.weigh(kinds.pick), places.cells)
    place = np.empty_like(order)
    place[order] = np.arange(len(order))
    return Kinds(first[order], kinds.sizes[order], place[kinds.kind])


def _order(pattern: Integers, state: Linear, cells: int) -> Integers:
    """The order in which kinds are drawn: that of their bytes, of a hash where there are many cells."""
    columns = [np.asarray(array, dtype=np.float64).reshape(len(pattern), -1) + 0.0 for array in state.arrays()]
    if sum(column.shape[1] for column in columns) * cells > _MOST_COMPARED:
        codes = pattern.astype(np.uint64)
        for column in columns:
            for values in column.T:
                bits = np.ascontiguousarray(values).view(np.uint64)
                codes = (codes ^ (bits >> np.uint64(31)) ^ bits) * np.uint64(0x9E3779B97F4A7C15)
                codes ^= codes >> np.uint64(32)
        return np.argsort(codes, kind="stable")
    rows = np.ascontiguousarray(np.hstack([pattern[:, None].astype(np.float64), *columns]))
    return np.argsort(rows.view(np.dtype((np.void, rows.dtype.itemsize * rows.shape[1]))).reshape(-1), kind="stable")


def _on_cells(weights: Weights, places: TallyLayout, order: Integers) -> Floats:
    """(draws, cells): how often each cell counts, in the given order."""
    unit = places.unit[order]
    drawn = weights[:, unit].astype(np.float64)
    if places.unit_b is not None:
        other = places.unit_b[order]
        drawn *= np.where(unit == other, 1.0, weights[:, other])
    return drawn


def _by_pattern(cell_weights: Floats, order: Integers, starts: Integers) -> SparseMatrix:
    """Draws × patterns as rows, cells as columns: the weights of a draw in the row of each cell's pattern."""
    draws, cells = cell_weights.shape
    start = (np.arange(draws, dtype=np.int64)[:, None] * cells + starts).ravel()
    return SparseMatrix(np.append(start, draws * cells), np.tile(order, draws), cells, cell_weights.ravel())


class _SortedSums(NamedTuple):
    """What a state of sums keeps of each cell, the cells of a pattern side by side."""

    state: Linear
    tables: list[Floats]  # (cells, columns)
    whole: bool  # counts, which can be added in any order

    def of_patterns(self, cell_weights: Floats, starts: Integers) -> Linear:
        """The state of every draw and pattern."""
        draws, patterns = len(cell_weights), len(starts)
        weighed = []
        for array, table in zip(self.state.arrays(), self.tables, strict=True):
            out = np.empty((draws, patterns, table.shape[1]))
            if self.whole and cell_weights.size * table.shape[1] > _WORTH_A_PRODUCT * patterns:
                ends = [*starts[1:].tolist(), cell_weights.shape[1]]
                for pattern, (start, stop) in enumerate(zip(starts.tolist(), ends, strict=True)):
                    np.matmul(cell_weights[:, start:stop], table[start:stop], out=out[:, pattern])
            else:
                for column, values in enumerate(table.T):
                    out[:, :, column] = np.add.reduceat(cell_weights * values, starts, axis=1)
            weighed.append(out.reshape(draws * patterns, *array.shape[1:]))
        return type(self.state)(*weighed)


def _sorted_sums(state: Any, order: Integers) -> _SortedSums | None:
    """The sums of cells in the given order; None where cells are not summed, or are wide tables of reals."""
    if not isinstance(state, Linear) or not state.adds:
        return None
    whole = all(array.dtype.kind in "iub" for array in state.arrays())
    if not whole and sum(array[:1].size for array in state.arrays()) > _WIDE:
        return None
    tables = [np.asarray(array[order].reshape(len(order), -1), dtype=np.float64) for array in state.arrays()]
    return _SortedSums(state, tables, whole)
