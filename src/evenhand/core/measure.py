"""Records × metrics × groups → estimates.

Cells are the distinct pairs (unit, membership pattern) that occur. One pass over the rows
tallies every metric into all cells; groups, draws and permutations are then computed from
the cells alone. A `Tally` is that: the cells, as records with one row each, and the state
of every metric. Tallies of parts add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.engine import total
from evenhand.core.membership import Inside, Memberships, groups_of, inside
from evenhand.core.metric import Column, Linear, Metric, Numbers
from evenhand.core.records import (
    Array,
    Attribute,
    Group,
    Records,
    blocks,
    concatenate,
    distinct,
)
from evenhand.core.results import Estimate, Status

AnyMetric = Metric[Any]
_MOST_DENSE = 1_000_000  # places of a table of groups and patterns
_MOST_LISTED = 1_000_000  # cells that are listed group by group; of more, one group is looked up at a time
_MOST_SEEN = 1 << 25  # places of a table of patterns and units
_BLOCK = 1 << 17  # rows whose codes and values stay in a core's cache


@dataclass(frozen=True)
class Tally:
    """The cells of a set of rows, and the state of every metric over them."""

    cells: Records  # one row per cell: unit, unit_b where rows are pairs, `rows`; the attributes
    metrics: tuple[AnyMetric, ...]
    states: tuple[Any, ...]  # of each metric, over the cells
    own_units: bool = False  # the rows named no unit: each is its own, numbered in the order of rows

    def __add__(self, other: Tally, /) -> Tally:
        theirs = other.cells
        if self.own_units:
            unit = theirs["unit"] + int(self.cells["unit"].max(initial=-1)) + 1
            theirs = Records({**theirs.columns, "unit": unit}, theirs.attributes)
        both = concatenate([self.cells, theirs])
        keys = [name for name in both.columns if name != "rows"]
        index, cells = distinct(both, tuple(both.attributes), keys)
        rows = np.bincount(index, weights=both["rows"], minlength=len(cells)).astype(np.int64)
        cells = Records({**cells.columns, "rows": rows}, cells.attributes)

        def added(a: Any, b: Any) -> Any:
            return a.place(index[: len(self.cells)], len(cells)) + b.place(index[len(self.cells) :], len(cells))

        return Tally(cells, self.metrics, _once(added, self.states, other.states), self.own_units)

    def by_pattern(self) -> Tally:
        """The same without units: one cell per membership pattern."""
        index, patterns = distinct(self.cells, tuple(self.cells.attributes))
        rows = np.bincount(index, weights=self.cells["rows"], minlength=len(patterns)).astype(np.int64)
        states = _once(lambda state: state.place(index, len(patterns)), self.states)
        return Tally(Records({"rows": rows}, patterns.attributes), self.metrics, states)

    def everyone(self) -> tuple[Any, ...]:
        """The state of each metric over all rows, in one cell."""
        index = np.zeros(len(self.cells), dtype=np.intp)
        return _once(lambda state: state.place(index, 1), self.states)


def tally(rows: Records, metrics: Sequence[AnyMetric], by: Sequence[str] = (), *, units: bool = True) -> Tally:
    """The cells of the rows and the state of every metric.

    `units=False` leaves units out: enough for counts and values, not for intervals by unit. A row without a `unit`
    is its own unit.
    """
    for metric in metrics:
        metric.check_columns(rows)
    own_units = units and "unit" not in rows
    if own_units:
        rows = Records({**rows.columns, "unit": np.arange(len(rows))}, rows.attributes)
    keys = [name for name in ("unit", "unit_b") if name in rows] if units else []
    if not keys and len(rows) >= 2 * _BLOCK and not any(metric.collects for metric in metrics):
        return _tally_patterns(rows, metrics, by)
    index, cells = distinct(rows, by, keys)
    return Tally(cells, tuple(metrics), _measured(metrics, rows, index, len(cells)), own_units)


def _tally_patterns(rows: Records, metrics: Sequence[AnyMetric], by: Sequence[str]) -> Tally:
    """As `tally` without units: block by block, so that what is written between two steps stays in the cache."""
    attributes = [rows.attribute(name) for name in by]
    radices = [len(attribute.patterns) + 1 for attribute in attributes]
    span = math.prod(radices)
    if span > _BLOCK:
        index, cells = distinct(rows, by)
        return Tally(cells, tuple(metrics), _measured(metrics, rows, index, len(cells)))
    counts: Array = np.zeros(span, dtype=np.int64)
    states: tuple[Any, ...] | None = None
    for block in blocks(len(rows), _BLOCK):
        code = _dense_codes([attribute.codes[block] for attribute in attributes], radices, block.stop - block.start)
        part = _measured(metrics, rows.take(block), code, span)
        known = (metric.tallied(state) for metric, state in zip(metrics, part, strict=True))
        own = next((count for count in known if count is not None), None)
        counts += np.bincount(code, minlength=span) if own is None else own
        states = part if states is None else _once(lambda a, b: a + b, states, part)
    assert states is not None
    there = np.flatnonzero(counts)
    index = np.zeros(span, dtype=np.intp)  # cells without rows have neutral states: wherever they go, nothing changes
    index[there] = np.arange(len(there))
    patterns = {
        name: Attribute(attribute.levels, (codes - 1).astype(attribute.codes.dtype), attribute.patterns)
        for name, attribute, codes in zip(by, attributes, np.unravel_index(there, radices) if by else (), strict=True)
    }
    cells = Records({"rows": counts[there]}, patterns)
    return Tally(cells, tuple(metrics), _once(lambda state: state.place(index, len(there)), states))


def _dense_codes(codes: Sequence[Array], radices: Sequence[int], rows: int) -> Array:
    """(rows,): one number that tells the patterns of all attributes; "does not apply" (−1) counts as the first."""
    # This runs over every row there is: narrow integers, in place, all offsets added at once.
    narrow = np.int16 if math.prod(radices) < 2**15 else np.int32
    code: Array = np.zeros(rows, dtype=narrow)
    for own, radix in zip(codes, radices, strict=True):
        code *= narrow(radix)
        code += own.astype(narrow)
    offset = 0
    for radix in radices:
        offset = offset * radix + 1
    code += narrow(offset)
    return code.astype(np.intp)


def estimates(whole: Tally, groups: Sequence[Group], known: Inside | None = None) -> tuple[Estimate, ...]:
    """Every output of every metric for every group, without intervals.

    Rows and units are those that the group's attributes apply to. `known` are the memberships of the patterns of the
    tally in the groups, where they have been looked up before.
    """
    patterns = whole.by_pattern()
    kept, members = inside(patterns.cells, groups) if known is None else known
    rows = members @ patterns.cells["rows"]
    units = count_units(whole.cells, groups)
    listed: list[Estimate] = []
    parts = _once(lambda state: state.weigh(_weights(state, kept)), patterns.states)
    wholes = patterns.everyone()
    for metric, state, part, everyone in zip(whole.metrics, patterns.states, parts, wholes, strict=True):
        values = metric.result(part, everyone)
        points = metric.points(part, everyone)
        per_cell = metric.missing(state)
        missing = np.zeros(len(groups), np.int64) if per_cell is None else members @ np.asarray(per_cell)
        counts = ((rows - missing).tolist(), units.tolist(), missing.tolist(), rows.tolist())
        sizes = list(zip(groups, *counts, strict=True))
        for output in metric.outputs:
            column, at = values[output], points.get(output)
            listed.extend(
                Estimate(
                    metric=metric.name,
                    output=output,
                    group=group,
                    value=column[position],
                    rows=measured,
                    units=own,
                    missing=lost,
                    status=Status.OK if every else Status.EMPTY,
                    at=None if at is None else at[position],
                )
                for position, (group, measured, own, lost, every) in enumerate(sizes)
            )
    return tuple(listed)


def measure(
    rows: Records | Iterable[Records],
    metrics: Sequence[AnyMetric],
    by: Sequence[str] = (),
    depth: int = 1,
    *,
    groups: Sequence[Group] | None = None,
) -> tuple[Estimate, ...]:
    """Values of every metric for everyone and for the groups, without intervals.

    `groups` overrides `by` and `depth`.
    """
    parts = [rows] if isinstance(rows, Records) else rows
    names = tuple(by) if groups is None else tuple(dict.fromkeys(name for group in groups for name in group.by))
    whole = total(tally(part, metrics, names) for part in parts)
    if whole is None:
        return ()
    return estimates(whole, groups_of(whole.cells, names, depth) if groups is None else groups)


def numbers(column: Column) -> NDArray[np.float64]:
    """(cells,): the numbers of an output that has no curves or grids, not a number where undefined."""
    assert isinstance(column, Numbers), "a curve or a grid is not a number"
    return column.values


def count_units(cells: Records, groups: Sequence[Group]) -> NDArray[np.int64]:
    """(groups,): distinct units among the members of each group; rows where there are no units."""
    counts = np.zeros(len(groups), dtype=np.int64)
    if "unit" not in cells:
        return np.asarray(inside(cells, groups).members @ cells["rows"])
    per_column, span = _dense_units([cells[name] for name in ("unit", "unit_b") if name in cells])
    if len(per_column) == 1 and int(np.bincount(per_column[0], minlength=1).max()) <= 1:  # a cell is a unit
        _, patterns = distinct(cells, tuple(cells.attributes))
        return np.asarray(inside(patterns, groups).members @ patterns["rows"])
    if len(cells) > _MOST_LISTED:
        code, patterns = distinct(cells, tuple(cells.attributes))
        if len(patterns) * span <= _MOST_SEEN:  # which units each pattern has serves all groups
            seen = np.zeros((len(patterns), span), dtype=np.bool_)
            start = code.astype(np.int64) * span
            for column in per_column:
                seen.reshape(-1)[start + column] = True
            members = inside(patterns, groups).members
            return np.array(
                [np.count_nonzero(seen[members.of_group(place)].any(axis=0)) for place in range(len(groups))], np.int64
            )
    listed = inside(cells, groups).members if len(cells) <= _MOST_LISTED else None
    used = np.zeros(span, dtype=np.bool_)
    for position in range(len(groups)):
        rows = cells.members(groups[position]) if listed is None else listed.of_group(position)
        for column in per_column:
            used[column[rows]] = True
        counts[position] = np.count_nonzero(used)
        used[:] = False
    return counts


def _dense_units(columns: Sequence[Array]) -> tuple[list[Array], int]:
    """Units as numbers from 0 on, and how many numbers there are; small whole numbers stay as they are."""
    length = sum(len(column) for column in columns)
    if length and all(column.dtype.kind in "iu" for column in columns):
        low, high = min(int(column.min()) for column in columns), max(int(column.max()) for column in columns)
        if low >= 0 and high <= 4 * length + 1024:
            return list(columns), high + 1
    _, codes = np.unique(np.concatenate(columns), return_inverse=True)
    return np.split(codes.reshape(-1), len(columns)), int(codes.max(initial=-1)) + 1


def _weights(state: Any, kept: Memberships) -> Any:
    """The groups as weights of patterns: a table where that is small, else the places that are filled."""
    groups, patterns = kept.shape
    if isinstance(state, Linear) and groups * patterns > _MOST_DENSE:
        return kept
    return kept.dense().astype(np.int64)


def _measured(metrics: Sequence[AnyMetric], rows: Records, index: Array, size: int) -> tuple[Any, ...]:
    """The state of every metric; those that keep the same of the rows share one."""
    shared: dict[Hashable, Any] = {}
    states = []
    for position, metric in enumerate(metrics):
        key = position if metric.keeps is None else ("kept", metric.keeps)
        if key not in shared:
            shared[key] = metric.measure(rows, index, size)
        states.append(shared[key])
    return tuple(states)


def _once(make: Callable[..., Any], *given: Sequence[Any]) -> tuple[Any, ...]:
    """What is made of the given objects, position by position; the same objects are worked on once."""
    made: dict[tuple[int, ...], Any] = {}
    parts = []
    for these in zip(*given, strict=True):
        key = tuple(id(one) for one in these)
        if key not in made:
            made[key] = make(*these)
        parts.append(made[key])
    return tuple(parts)
