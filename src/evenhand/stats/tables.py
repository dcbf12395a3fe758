"""Who counts where: cells of a tally by unit and by group.

Cells are (unit, membership pattern). From them come, for every group, the sums and counts of each
of its units, from which everything about means and proportions follows. Patterns are few, so
groups are looked up on patterns, and only the cells that are in a group are touched.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock

import numpy as np

from evenhand.core.membership import Memberships, inside
from evenhand.core.metric import UNBOUNDED, UNIT_SCALE, Kind, Ratio, Scale
from evenhand.core.records import Group, Records, blocks, distinct, unique_codes
from evenhand.core.sparse import SparseMatrix
from evenhand.stats.checks import Booleans, Floats, Integers, divide, floats, summed
from evenhand.stats.intervals import ClusteredMean, cluster_means, jackknife_means
from evenhand.stats.resample import EXACT_SINGLE, Weights

_MOST_APART = 1_000_000  # entries of pairs that are kept, for each attribute or intersection
DRAWS_AT_ONCE = 250  # so that the weights of all units stay in the cache
_MOST_DENSE_GROUPS = 3_000  # beyond, a table of all pairs of groups is not written out
_PAIRS_AT_ONCE = 100_000
_SPARSE = 20  # a table of which fewer than one in so many is there is multiplied sparsely


@dataclass(frozen=True)
class TallyLayout:
    """The groups of a tally, and where its cells stand in units, patterns and groups."""

    groups: tuple[Group, ...]
    unit: Integers  # (cells,)
    unit_b: Integers | None  # (cells,), for rows about two units
    units: int
    pattern: Integers  # (cells,)
    keeps: Memberships  # (groups, patterns): the rows that make a group's value
    has: Memberships  # (groups, patterns): the rows that the group's attributes apply to and are true of
    rows: Integers  # (cells,)
    _apart: dict[int, tuple[Integers, SparseMatrix]] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )
    _lock: Lock = field(default_factory=Lock, init=False, compare=False, repr=False)

    @property
    def cells(self) -> int:
        return len(self.unit)

    @property
    def patterns(self) -> int:
        return self.keeps.width

    @cached_property
    def kept(self) -> Booleans:
        """`keeps` as a whole table; large where there are thousands of groups."""
        return self.keeps.dense()

    @cached_property
    def by_attributes(self) -> dict[tuple[str, ...], Integers]:
        """Positions of the groups of every attribute and intersection, in declared order, without `(missing)`."""
        found: dict[tuple[str, ...], list[int]] = {}
        for position, group in enumerate(self.groups):
            if group.terms and not group.is_missing:
                found.setdefault(group.by, []).append(position)
        return {names: np.array(positions) for names, positions in found.items()}

    @cached_property
    def attribute_sets(self) -> Integers:
        """(groups,): which attribute or intersection each group is of; −1 for everyone and for `(missing)`."""
        sets = np.full(len(self.groups), -1)
        for number, positions in enumerate(self.by_attributes.values()):
            sets[positions] = number
        return sets

    @cached_property
    def pattern_rows(self) -> Floats:
        """(patterns,): rows of each pattern."""
        return summed(self.pattern, self.rows, self.patterns)

    def among(self, first: Integers, second: Integers) -> tuple[Integers, Integers, Integers]:
        """The groups that occur in pairs, in ascending order, and where the sides of each pair stand among them.

        Of thousands of groups few are large enough to be compared: the rest would only cost memory.
        """
        there = np.zeros(len(self.groups), dtype=np.bool_)
        there[first] = there[second] = True
        place = np.cumsum(there) - 1
        return np.flatnonzero(there), place[first], place[second]

    def shared_pairs(self, first: Integers, second: Integers) -> Integers:
        """(pairs,): rows that are members of both groups of each pair."""
        used, one, other = self.among(first, second)
        if not self.overlap(used):
            return np.zeros(len(first), dtype=np.int64)
        inside = self.has.take(used)
        weighted = SparseMatrix(inside.start, inside.rows, self.patterns, self.pattern_rows[inside.rows])
        if len(used) <= _MOST_DENSE_GROUPS:
            shared = (weighted @ inside.T).dense()[one, other]
        else:
            shared = _pairwise(weighted, inside, one, other)
        return np.asarray(np.rint(shared), dtype=np.int64)

    def overlap(self, chosen: Sequence[int] | Integers) -> bool:
        """Whether a row is a member of two of the chosen groups."""
        several = np.bincount(self.has.take(np.asarray(chosen, dtype=np.int64)).rows, minlength=self.patterns) > 1
        return bool(np.any(self.pattern_rows[several] > 0))

    @cached_property
    def rows_per_unit(self) -> Floats:
        """(units,): rows of each unit."""
        counts = summed(self.unit, self.rows, self.units)
        return counts if self.unit_b is None else counts + summed(self.unit_b, self.rows, self.units)

    @cached_property
    def cells_of_patterns(self) -> SparseMatrix:
        """(patterns, cells): 1 where the cell is of the pattern."""
        return SparseMatrix.of_entries(self.pattern, np.arange(self.cells), (self.patterns, self.cells))

    @cached_property
    def cells_by_unit(self) -> tuple[Integers, Integers]:
        """The cells by unit, and the place of every cell among them."""
        order = np.argsort(self.unit, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(self.cells)
        return order, rank

    def entries_of(self, kept: Memberships) -> tuple[Integers, Integers]:
        """Every (group of `kept`, cell) of which the cell's pattern is in the group, as two columns."""
        cells = self.cells_of_patterns.take(kept.rows)
        return np.repeat(kept.groups, cells.sizes), cells.columns

    @cached_property
    def cells_of_groups(self) -> SparseMatrix:
        """(groups, cells): the cells of every group, by unit; the same for every output."""
        return self._by_unit(self.keeps)

    def _by_unit(self, kept: Memberships) -> SparseMatrix:
        """(groups, cells): the cells of each of some groups (groups × patterns), by unit."""
        group, cell = self.entries_of(kept)
        by_unit, rank = self.cells_by_unit
        code = group * max(self.cells, 1) + rank[cell]
        code.sort()  # a quick sort of numbers, as all of them are different
        group, at = np.divmod(code, max(self.cells, 1))
        return SparseMatrix.of_entries(group, by_unit[at], (len(kept), self.cells))

    def apart(self, first: Integers, second: Integers) -> SparseMatrix:
        """The cells of pairs of groups of the same attributes, each without the rows that are members of both.

        Pair j is groups 2j and 2j + 1. The pairs of a large family are asked for again, by other metrics and for those
        that are listed; the largest request of each attribute or intersection is kept.
        """
        asked = first * len(self.groups) + second
        of_set = int(self.attribute_sets[first[0]])
        with self._lock:  # two metrics ask for the same: the second waits for what the first has found
            kept, found = self._apart.get(of_set, (asked[:0], None))
            if found is not None:
                at = np.searchsorted(kept, asked).clip(max=len(kept) - 1)
                if np.array_equal(kept[at], asked):
                    return found if len(asked) == len(kept) else found.take(_both_sides(2 * at, 2 * at + 1))
            found = self._without_shared(first, second)
            if len(found.columns) <= _MOST_APART and len(asked) > len(kept):
                self._apart[of_set] = asked, found
        return found

    def _without_shared(self, first: Integers, second: Integers) -> SparseMatrix:
        one = self.has.take(first)
        shared, _ = _common(one, self.has.take(second))
        pair, pattern = one.row_of[shared], one.rows[shared]
        sides = self.keeps.take(_both_sides(first, second))
        left = np.ones(len(sides.rows), dtype=np.bool_)
        for side in (0, 1):
            both = SparseMatrix.of_entries(2 * pair + side, pattern, sides.shape)
            left[_common(sides, both)[0]] = False
        start = np.append(0, np.cumsum(left))[sides.start]
        return self._by_unit(Memberships(start, sides.rows[left], self.patterns))

    def constant_within_units(self, chosen: Sequence[int]) -> bool:
        """Whether every unit has the same membership in the chosen groups in all its rows."""
        return self.unit_b is None and bool(self._constant[list(chosen)].all())

    @cached_property
    def single_rows(self) -> bool:
        """Whether every row is a unit of its own."""
        return self.unit_b is None and self.units == self.cells and bool(np.all(self.rows == 1))

    @cached_property
    def disjoint(self) -> bool:
        """Whether no row counts for two groups of one attribute or intersection."""
        of_set = self.attribute_sets[self.keeps.groups]
        code = of_set[of_set >= 0] * self.patterns + self.keeps.rows[of_set >= 0]
        return not len(code) or int(np.bincount(code).max()) <= 1

    @cached_property
    def _constant(self) -> Booleans:
        """(groups,): whether every unit has all its cells in the group, or none."""
        if self.units == self.cells:
            return np.ones(len(self.groups), dtype=np.bool_)
        group, cell = self.cells_of_groups.row_of, self.cells_of_groups.columns
        unit = self.unit[cell]
        begins = np.flatnonzero(np.append(True, (group[1:] != group[:-1]) | (unit[1:] != unit[:-1]))[: len(group)])
        inside = np.diff(begins, append=len(group))
        every = np.bincount(self.unit, minlength=self.units)
        constant = np.ones(len(self.groups), dtype=np.bool_)
        constant[group[begins[inside < every[unit[begins]]]]] = False
        return constant


def layout(cells: Records, groups: Sequence[Group]) -> TallyLayout:
    """Where the cells of a tally stand; rows without a `unit` are units of their own."""
    pattern, patterns = distinct(cells, tuple(cells.attributes))
    keeps, has = inside(patterns, groups)
    columns = [cells[name] for name in ("unit", "unit_b") if name in cells] or [np.arange(len(cells))]
    units, codes = unique_codes(np.concatenate(columns))
    unit, unit_b = codes[: len(cells)], codes[len(cells) :] if len(columns) == 2 else None
    return TallyLayout(
        tuple(groups),
        np.asarray(unit, dtype=np.int64),
        None if unit_b is None else np.asarray(unit_b, dtype=np.int64),
        len(units),
        np.asarray(pattern, dtype=np.int64),
        keeps,
        has,
        np.asarray(cells["rows"], dtype=np.int64),
    )


@dataclass(frozen=True)
class UnitTable:
    """Sums and counts of one output by unit and group; an entry for every unit that a group has, in that order."""

    group: Integers  # (entries,)
    unit: Integers  # (entries,)
    top: Floats  # (entries,)
    bottom: Floats  # (entries,)
    groups: int
    units: int
    kind: Kind
    independent: bool  # every unit has one row, and that counts once
    scale: Scale = UNBOUNDED

    @cached_property
    def means(self) -> ClusteredMean:
        """Value, variance between units, rows and units of every group."""
        return cluster_means(self.top, self.bottom, self.group, self.groups)

    @cached_property
    def jackknife(self) -> ClusteredMean:
        """Value, variance and degrees of freedom of every group, for few units of unequal size."""
        return jackknife_means(self.top, self.bottom, self.means, self.group)

    @cached_property
    def totals(self) -> Floats:
        """(groups,): the sum over the group's rows; for proportions the number of events."""
        return summed(self.group, self.top, self.groups)

    @cached_property
    def influence(self) -> SparseMatrix:
        """(groups, units): each unit's pull on the group's value, (s − m·n)/N."""
        means = self.means
        value = np.where(np.isnan(means.value), 0.0, means.value)
        return self._sparse(divide(self.top - value[self.group] * self.bottom, means.rows[self.group]))

    @cached_property
    def presence(self) -> SparseMatrix:
        """(groups, units): 1 where the unit has rows in the group."""
        return self._sparse(None)

    def _sparse(self, values: Floats | None) -> SparseMatrix:
        """Values of the entries as a table (groups, units)."""
        start = np.searchsorted(self.group, np.arange(self.groups + 1))
        return SparseMatrix(start, self.unit, self.units, values)

    @cached_property
    def shares_units(self) -> bool:
        """Whether a unit has rows in two groups."""
        return bool(len(self.unit)) and bool(np.bincount(self.unit).max() > 1)

    @cached_property
    def covariance(self) -> Floats:
        """(groups, groups): Σ over units of the products of their pulls."""
        return floats((self.influence @ self.influence.T).dense())

    def units_in_both(self, first: Integers, second: Integers) -> Integers:
        """(pairs,): units with rows in both groups of each pair."""
        if not self.shares_units:
            return np.zeros(len(first), dtype=np.int64)
        if self.groups < len(first) and self.groups <= _MOST_DENSE_GROUPS:
            shared = (self.presence @ self.presence.T).dense()[first, second]
        else:
            shared = _pairwise(self.presence, self.presence, first, second)
        return np.asarray(np.rint(shared), dtype=np.int64)

    def joint_squares(self, first: Integers, second: Integers) -> Floats:
        """(pairs,): Σ over units of the squared pull on the difference of each pair."""
        if self.groups < len(first) and self.groups <= _MOST_DENSE_GROUPS:
            own, both = self.covariance.diagonal(), self.covariance[first, second]
        else:
            own = _rowwise(self.influence, self.influence)
            both = _pairwise(self.influence, self.influence, first, second)
        return floats((own[first] + own[second] - 2 * both).clip(0))

    def of(self, chosen: Integers) -> UnitTable:
        """The table of some groups, in ascending order, which become 0, 1, 2, …"""
        place = np.full(self.groups, -1)
        place[chosen] = np.arange(len(chosen))
        group = place[self.group]
        inside = group >= 0
        some = type(self)(
            group[inside], self.unit[inside], self.top[inside], self.bottom[inside], len(chosen), self.units,
            self.kind, self.independent, self.scale,
        )  # fmt: skip
        for name in ("means", "jackknife"):  # groups don't depend on each other: what is known of them holds
            if name in self.__dict__:
                known = self.__dict__[name]
                some.__dict__[name] = type(known)(*(column[chosen] for column in known))
        return some

    def drawn(self, weights: Iterable[Weights | Floats]) -> Floats:
        """The value of every group when units come as often as the weights (draws × units) say: (draws, groups).

        A unit is in few of many groups, so only the sums that are there are multiplied.
        """
        sums: tuple[SparseMatrix | Floats, ...] = self._sparse(self.top), self._sparse(self.bottom)
        single, most = None, 0.0
        if len(self.group) * _SPARSE > self.groups * self.units:
            sums = tables = tuple(table.dense() for table in (self._sparse(self.top), self._sparse(self.bottom)))
            if self.is_exact:
                single = [table.T.astype(np.float32) for table in tables]
                most = max(float(np.abs(table).sum(axis=1).max(initial=0)) for table in tables)
        parts = []
        for many in weights:
            for block in blocks(len(many), DRAWS_AT_ONCE):
                some = many[block]
                if single is not None and most * float(some.max(initial=0)) < EXACT_SINGLE:  # any order of sums will do
                    narrow = np.asarray(some, dtype=np.float32)
                    parts.append(divide(*(floats(narrow @ table) for table in single)))
                else:
                    turned = np.ascontiguousarray(some.T, dtype=np.float64)
                    parts.append(divide(*(table @ turned for table in sums)).T)
        return np.concatenate(parts) if parts else np.zeros((0, self.groups))

    @cached_property
    def is_exact(self) -> bool:
        """Whether all sums are whole numbers, which can be added in any order."""
        return all(np.array_equal(column, np.rint(column)) for column in (self.top, self.bottom))

    def wide(self) -> tuple[Floats, Floats]:
        """Sums and counts as (units, groups)."""
        at, shape = self.unit * self.groups + self.group, (self.units, self.groups)
        top, bottom = (summed(at, column, self.units * self.groups) for column in (self.top, self.bottom))
        return top.reshape(shape), bottom.reshape(shape)


class PatternTable(UnitTable):
    """Events and rows of independent rows by membership pattern and group: all that proportions depend on.

    The entries of a group are its patterns; every row of a pattern is a unit.
    """

    @cached_property
    def means(self) -> ClusteredMean:
        rows = summed(self.group, self.bottom, self.groups)
        value = divide(self.totals, rows)
        variance = divide(value * (1 - value), (rows - 1.0).clip(0))
        return ClusteredMean(value, variance, rows, rows.astype(np.int64), rows - 1.0)


def pattern_table(places: TallyLayout, ratio: Ratio, cell: Integers, copies: Integers) -> PatternTable | None:
    """The table of a proportion of independent rows that are in one group of an attribute each; None of anything else.

    `ratio` is that of kinds of cells: `cell` is one of each, `copies` how many there are.
    """
    top, bottom = ratio.top, ratio.bottom
    if ratio.kind is not Kind.PROPORTION or not places.single_rows or not places.disjoint:
        return None
    if not (np.all((bottom == 0) | (bottom == 1)) and np.all((top == 0) | (top == bottom))):
        return None
    events = summed(places.pattern[cell], top * copies, places.patterns)
    rows = summed(places.pattern[cell], bottom * copies, places.patterns)
    use = rows[places.keeps.rows] > 0
    group, pattern = places.keeps.groups[use], places.keeps.rows[use]
    size = len(places.groups)
    return PatternTable(
        group, pattern, events[pattern], rows[pattern], size, places.patterns, ratio.kind, True, UNIT_SCALE
    )


def _pairwise(one: SparseMatrix, other: SparseMatrix, first: Integers, second: Integers) -> Floats:
    """(pairs,): the product of a row of one table with a row of the other, some pairs at a time."""
    parts = [_rowwise(one.take(first[at]), other.take(second[at])) for at in blocks(len(first), _PAIRS_AT_ONCE)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _rowwise(one: SparseMatrix, other: SparseMatrix) -> Floats:
    """(rows,): the product of each row with the same row of another table."""
    mine, theirs = _common(one, other)
    products = np.ones(len(mine))
    for side, at in ((one, mine), (other, theirs)):
        if side.values is not None:
            products *= side.values[at]
    return floats(np.bincount(one.row_of[mine], products, minlength=len(one)))


def _common(one: SparseMatrix, other: SparseMatrix) -> tuple[Integers, Integers]:
    """The entries of two tables at the same places, by their positions in each; columns ascend in every row."""
    mine, theirs = (side.row_of * side.width + side.columns for side in (one, other))
    at = np.searchsorted(theirs, mine)
    there = np.flatnonzero(np.append(theirs, -1)[at] == mine)
    return there, at[there]


def _both_sides(first: Integers, second: Integers) -> Integers:
    """The sides of all pairs, one pair after the other."""
    return np.stack([first, second], axis=1).ravel()


def unit_table(places: TallyLayout, ratio: Ratio, cells: SparseMatrix | None = None) -> UnitTable:
    """Sums and counts of an output by unit and group; `cells` replace those of the layout's groups."""
    cells = places.cells_of_groups if cells is None else cells
    group, cell = cells.row_of, cells.columns
    use = ratio.bottom[cell] > 0
    if not use.all():
        group, cell = group[use], cell[use]
    unit, top, bottom = places.unit[cell], floats(ratio.top[cell]), floats(ratio.bottom[cell])
    begins = np.append(True, (group[1:] != group[:-1]) | (unit[1:] != unit[:-1]))[: len(group)]
    if not begins.all():
        at = np.cumsum(begins) - 1
        group, unit = group[begins], unit[begins]
        top, bottom = summed(at, top, len(group)), summed(at, bottom, len(group))
    alone = bool(np.all(places.rows_per_unit <= 1)) and bool(np.all(bottom == 1))
    scale = UNIT_SCALE if ratio.kind is Kind.PROPORTION else ratio.scale
    return UnitTable(group, unit, top, bottom, len(cells), places.units, ratio.kind, alone, scale)
