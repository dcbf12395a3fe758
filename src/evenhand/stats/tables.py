"""Who counts where: cells of a tally by unit and by group.

Cells are (unit, membership pattern). From them come, for every group, the sums and counts of each
of its units, from which everything about means and proportions follows. Patterns are few, so
groups are looked up on patterns, and only the cells that are in a group are touched.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from evenhand.core.metric import Kind, Ratio
from evenhand.core.records import Group, Records, distinct, inside_of, unique_codes
from evenhand.stats.checks import Booleans, Floats, Integers, divide, floats, summed
from evenhand.stats.intervals import ClusteredMean, JackknifeMean, cluster_means, jackknife_means
from evenhand.stats.resample import Weights

_MOST_DENSE = 1_000_000  # a table of so many (group, unit) is filled rather than searched
_SPARSE = 20  # a table of which fewer than one in so many is there is multiplied sparsely


@dataclass(frozen=True)
class Layout:
    """The groups of a tally, and where its cells stand in units, patterns and groups."""

    groups: tuple[Group, ...]
    unit: Integers  # (cells,)
    unit_b: Integers | None  # (cells,), for rows about two units
    units: int
    pattern: Integers  # (cells,)
    kept: Booleans  # (groups, patterns): the rows that make a group's value
    members: Booleans  # (groups, patterns): the rows that the group's attributes apply to and are true of
    rows: Integers  # (cells,)

    @property
    def cells(self) -> int:
        """The number of cells."""
        return len(self.unit)

    @cached_property
    def pattern_rows(self) -> Floats:
        """(patterns,): rows of each pattern."""
        return summed(self.pattern, self.rows, self.kept.shape[1])

    @cached_property
    def shared_rows(self) -> Floats:
        """(groups, groups): rows that are members of both groups."""
        return self.shared_among(np.arange(len(self.groups)))

    def shared_among(self, chosen: Integers) -> Floats:
        """(chosen, chosen): rows that are members of both groups, for some of the groups."""
        inside = sparse.csr_array(self.members[chosen].astype(np.float64))
        return np.asarray((inside @ sparse.diags_array(self.pattern_rows) @ inside.T).toarray())

    def overlap(self, chosen: Sequence[int]) -> bool:
        """Whether a row is a member of two of the chosen groups."""
        several = np.count_nonzero(self.members[list(chosen)], axis=0) > 1
        return bool(np.any(self.pattern_rows[several] > 0))

    @cached_property
    def rows_per_unit(self) -> Floats:
        """(units,): rows of each unit."""
        counts = summed(self.unit, self.rows, self.units)
        return counts if self.unit_b is None else counts + summed(self.unit_b, self.rows, self.units)

    @cached_property
    def sorted_cells(self) -> tuple[Integers, Integers]:
        """The cells by pattern, and where each pattern's cells start."""
        order = np.argsort(self.pattern, kind="stable")
        return order, np.searchsorted(self.pattern[order], np.arange(self.kept.shape[1] + 1))

    def entries_of(self, kept: Booleans) -> tuple[Integers, Integers]:
        """Every (row of `kept`, cell) of which the cell's pattern is in the row, as two columns."""
        order, start = self.sorted_cells
        group, pattern = np.nonzero(kept)
        many = (start[1:] - start[:-1])[pattern]
        before = np.cumsum(many) - many
        cells = order[np.repeat(start[pattern] - before, many) + np.arange(int(many.sum()))]
        return np.repeat(group, many), cells

    @cached_property
    def entries(self) -> tuple[Integers, Integers]:
        """Every (group, cell) of which the cell's rows count for the group, as two columns."""
        return self.entries_of(self.kept)

    def constant_within_units(self, chosen: Sequence[int]) -> bool:
        """Whether every unit has the same membership in the chosen groups in all its rows."""
        if self.unit_b is not None:
            return False
        packed = np.packbits(self.kept[list(chosen)], axis=0).T  # (patterns, bytes): the membership of each pattern
        one_cell = np.zeros(self.units, dtype=np.int64)
        one_cell[self.unit] = np.arange(self.cells)
        other = self.pattern[one_cell[self.unit]]
        apart = self.pattern != other
        return bool(np.array_equal(packed[self.pattern[apart]], packed[other[apart]]))


def layout(cells: Records, groups: Sequence[Group]) -> Layout:
    """Where the cells of a tally stand; rows without a `unit` are units of their own."""
    pattern, patterns = distinct(cells, tuple(cells.attributes))
    kept, members = inside_of(patterns, groups)
    unit_b = None
    if "unit_b" in cells:
        _, codes = unique_codes(np.concatenate([cells["unit"], cells["unit_b"]]))
        unit, unit_b = codes[: len(cells)], codes[len(cells) :]
        units = int(codes.max(initial=-1)) + 1
    elif "unit" in cells:
        found, unit = unique_codes(cells["unit"])
        units = len(found)
    else:
        unit, units = np.arange(len(cells)), len(cells)
    return Layout(
        tuple(groups),
        np.asarray(unit, dtype=np.int64),
        None if unit_b is None else np.asarray(unit_b, dtype=np.int64),
        units,
        np.asarray(pattern, dtype=np.int64),
        kept,
        members,
        np.asarray(cells["rows"], dtype=np.int64),
    )


@dataclass(frozen=True)
class UnitTable:
    """Sums and counts of one output by unit and group; an entry for every unit that a group has."""

    group: Integers  # (entries,)
    unit: Integers  # (entries,)
    top: Floats  # (entries,)
    bottom: Floats  # (entries,)
    groups: int
    units: int
    kind: Kind
    independent: bool  # every unit has one row, and that counts once

    @cached_property
    def means(self) -> ClusteredMean:
        """Value, variance between units, rows and units of every group."""
        return cluster_means(self.top, self.bottom, self.group, self.groups)

    @cached_property
    def jackknife(self) -> JackknifeMean:
        """Value, variance and degrees of freedom of every group, for few units of unequal size."""
        return jackknife_means(self.top, self.bottom, self.group, self.groups)

    @cached_property
    def totals(self) -> Floats:
        """(groups,): the sum over the group's rows; for proportions the number of events."""
        return summed(self.group, self.top, self.groups)

    @cached_property
    def influence(self) -> sparse.csr_array:
        """(units, groups): each unit's pull on the group's value, (s − m·n)/N."""
        means = self.means
        value = np.where(np.isnan(means.value), 0.0, means.value)
        pull = divide(self.top - value[self.group] * self.bottom, means.rows[self.group])
        return sparse.csr_array((pull, (self.unit, self.group)), shape=(self.units, self.groups))

    @cached_property
    def presence(self) -> sparse.csr_array:
        """(units, groups): 1 where the unit has rows in the group."""
        one = np.ones(len(self.group))
        return sparse.csr_array((one, (self.unit, self.group)), shape=(self.units, self.groups))

    @cached_property
    def shared_units(self) -> Floats:
        """(groups, groups): units with rows in both groups."""
        return np.asarray((self.presence.T @ self.presence).todense(), dtype=np.float64)

    @cached_property
    def covariance(self) -> Floats:
        """(groups, groups): Σ over units of the products of their pulls."""
        return np.asarray((self.influence.T @ self.influence).todense(), dtype=np.float64)

    def of(self, chosen: Integers) -> "UnitTable":
        """The table of some groups, in ascending order, which become 0, 1, 2, …"""
        place = np.full(self.groups, -1)
        place[chosen] = np.arange(len(chosen))
        group = place[self.group]
        inside = group >= 0
        return UnitTable(
            group[inside], self.unit[inside], self.top[inside], self.bottom[inside], len(chosen), self.units,
            self.kind, self.independent,
        )  # fmt: skip

    def drawn(self, weights: Iterable[Weights]) -> Floats:
        """The value of every group when units come as often as the weights (draws × units) say: (draws, groups).

        A unit is in few of many groups, so only the sums that are there are multiplied.
        """
        shape = (self.groups, self.units)
        top, bottom = (
            sparse.csr_array((column, (self.group, self.unit)), shape=shape) for column in (self.top, self.bottom)
        )
        if len(self.group) * _SPARSE > self.groups * self.units:
            top, bottom = top.toarray(), bottom.toarray()
        parts = []
        for many in weights:
            turned = np.ascontiguousarray(many.T, dtype=np.float64)
            parts.append(divide(top @ turned, bottom @ turned).T)
        return np.concatenate(parts) if parts else np.zeros((0, self.groups))

    def wide(self, chosen: Sequence[int]) -> tuple[Floats, Floats]:
        """Sums and counts as (units, chosen groups)."""
        place = np.full(self.groups, -1)
        place[list(chosen)] = np.arange(len(chosen))
        inside = place[self.group] >= 0
        at = self.unit[inside] * len(chosen) + place[self.group[inside]]
        size = self.units * len(chosen)
        shape = (self.units, len(chosen))
        top = summed(at, self.top[inside], size).reshape(shape)
        return top, summed(at, self.bottom[inside], size).reshape(shape)


def unit_table(places: Layout, ratio: Ratio, kept: Booleans | None = None) -> UnitTable:
    """Sums and counts of an output by unit and group; `kept` (groups × patterns) replaces the layout's groups."""
    group, cell = places.entries if kept is None else places.entries_of(kept)
    use = ratio.bottom[cell] > 0
    group, cell = group[use], cell[use]
    top, bottom, unit = ratio.top[cell], ratio.bottom[cell], places.unit[cell]
    groups = len(places.groups) if kept is None else len(kept)
    key = group * places.units + unit
    dense = groups * places.units if groups * places.units <= _MOST_DENSE else 0
    pairs = np.flatnonzero(np.bincount(key, minlength=dense)) if dense else np.unique(key)
    if len(pairs) < len(key):
        if dense:
            top, bottom = summed(key, top, dense)[pairs], summed(key, bottom, dense)[pairs]
        else:
            at = np.searchsorted(pairs, key)
            top, bottom = summed(at, top, len(pairs)), summed(at, bottom, len(pairs))
        group, unit = pairs // places.units, pairs % places.units
    alone = bool(np.all(places.rows_per_unit <= 1)) and bool(np.all(bottom <= 1))
    return UnitTable(group, unit, floats(top), floats(bottom), groups, places.units, ratio.kind, alone)


def pair_tables(places: Layout, ratio: Ratio, first: Integers, second: Integers) -> UnitTable:
    """The table of many pairs of groups, each without the rows that are members of both.

    Pair j is groups 2j and 2j + 1 of the table.
    """
    shared = places.members[first] & places.members[second]
    sides = np.stack([places.kept[first] & ~shared, places.kept[second] & ~shared], axis=1)
    return unit_table(places, ratio, sides.reshape(2 * len(first), -1))


def by_order(groups: Sequence[Group]) -> dict[tuple[str, ...], list[int]]:
    """Positions of the groups of every attribute and intersection, in declared order, without `(missing)`."""
    found: dict[tuple[str, ...], list[int]] = {}
    for position, group in enumerate(groups):
        if group.terms and not group.is_missing:
            found.setdefault(group.by, []).append(position)
    return found
