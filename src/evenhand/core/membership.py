"""Which rows are in which groups, kept by the places that are filled.

A row is in few of thousands of intersections. A table of (groups, rows) would be nearly empty, and large; here
stand only the rows of each group, one group after the other.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.records import Array, Group, Records

Integers = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Memberships:
    """(groups, rows) of 0 and 1: the rows of group g are `rows[start[g] : start[g + 1]]`, in ascending order."""

    start: Integers  # (groups + 1,)
    rows: Integers  # (entries,)
    width: int  # how many rows there are

    @classmethod
    def of(cls, parts: Sequence[Integers], width: int) -> Memberships:
        """The memberships of groups whose rows are given one by one."""
        start = np.zeros(len(parts) + 1, dtype=np.int64)
        np.cumsum([len(part) for part in parts], out=start[1:])
        return cls(start, np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64), width)

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.start) - 1, self.width

    @property
    def sizes(self) -> Integers:
        """(groups,): how many rows each group has."""
        return np.diff(self.start)

    @cached_property
    def groups(self) -> Integers:
        """(entries,): the group of each entry."""
        return np.repeat(np.arange(len(self.start) - 1), self.sizes)

    def __len__(self) -> int:
        return len(self.start) - 1

    def __matmul__(self, values: Array) -> Array:
        """Sums over the rows of each group, of values (rows, …); whole numbers stay whole.

        >>> Memberships.of([np.array([0, 2]), np.array([], dtype=np.int64)], 3) @ np.array([1, 10, 100])
        array([101,   0])
        """
        values = np.asarray(values)
        whole = values.dtype.kind in "iub"
        flat = values.reshape(len(values), math.prod(values.shape[1:]))
        out = np.zeros((len(self), flat.shape[1]), dtype=np.int64 if whole else np.float64)
        for column in range(flat.shape[1]):
            # A sum of counts below 2⁵³ is exact in double precision.
            sums = np.bincount(self.groups, flat[self.rows, column], minlength=len(self))
            out[:, column] = np.rint(sums) if whole else sums
        return out.reshape(len(self), *values.shape[1:])

    def of_group(self, group: int) -> Integers:
        """The rows of one group."""
        return self.rows[self.start[group] : self.start[group + 1]]

    def take(self, chosen: Array) -> Memberships:
        """The memberships of some groups, in the order given."""
        chosen = np.asarray(chosen, dtype=np.int64)
        sizes = self.sizes[chosen]
        start = np.zeros(len(chosen) + 1, dtype=np.int64)
        np.cumsum(sizes, out=start[1:])
        at = np.repeat(self.start[chosen] - start[:-1], sizes) + np.arange(int(start[-1]))
        return Memberships(start, self.rows[at], self.width)

    def dense(self) -> NDArray[np.bool_]:
        """The whole table (groups, rows)."""
        table = np.zeros(self.shape, dtype=np.bool_)
        table[self.groups, self.rows] = True
        return table


class Inside(NamedTuple):
    """The rows that `Records.kept` and `Records.members` give for every group."""

    kept: Memberships
    members: Memberships


def inside(rows: Records, groups: Sequence[Group]) -> Inside:
    """What `kept` and `members` say of every group; a group is looked for among the rows of its first terms only.

    >>> from evenhand.core.records import EVERYONE, Attribute
    >>> tone = Attribute.of(["light", "dark", "dark"], levels=("light", "dark"))
    >>> found = inside(Records({}, {"tone": tone}), [EVERYONE, Group.of(tone="dark")]).members
    >>> found.rows.tolist(), found.start.tolist()
    ([0, 1, 2, 1, 2], [0, 3, 5])
    """
    names = {name for group in groups for name, _ in group.terms}
    everywhere = all(bool(rows.attribute(name).applies.all()) for name in names)
    members = _found(rows, groups, or_silent=False)
    return Inside(members if everywhere else _found(rows, groups, or_silent=True), members)


def _found(rows: Records, groups: Sequence[Group], *, or_silent: bool) -> Memberships:
    masks: dict[tuple[str, str], NDArray[np.bool_]] = {}
    known: dict[tuple[tuple[str, str], ...], Integers] = {(): np.arange(len(rows))}

    def of(terms: tuple[tuple[str, str], ...]) -> Integers:
        there = known.get(terms)
        if there is not None:
            return there
        before, last = of(terms[:-1]), terms[-1]
        if last not in masks:
            attribute = rows.attribute(last[0])
            belongs = attribute.belongs(last[1])
            masks[last] = belongs | ~attribute.applies if or_silent else belongs
        known[terms] = found = before[masks[last][before]]
        return found

    return Memberships.of([of(group.terms) for group in groups], len(rows))
