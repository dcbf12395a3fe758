"""Which rows are in which groups, kept by the places that are filled.

A row is in few of thousands of intersections. A table of (groups, rows) would be nearly empty, and large; here
stand only the rows of each group, one group after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.records import EVERYONE, MISSING, Group, Records, distinct
from evenhand.core.sparse import Integers, SparseMatrix


def groups_of(rows: Records, by: Sequence[str], depth: int = 1) -> tuple[Group, ...]:
    """Everyone, the levels of each attribute, and their intersections up to `depth`.

    Attributes and levels keep their declared order; declared levels without rows are listed.
    `(missing)` is listed, at depth one, for attributes that some row was not annotated for.
    """
    _, patterns = distinct(rows, by)
    groups = [EVERYONE]
    for order in range(1, min(depth, len(by)) + 1):
        for names in combinations(by, order):
            every = product(*(rows.attributes[name].levels for name in names))
            groups.extend(Group(tuple(zip(names, levels, strict=True))) for levels in every)
            unannotated = Group(((names[0], MISSING),))
            if order == 1 and patterns.members(unannotated).any():
                groups.append(unannotated)
    return tuple(groups)


class Memberships(SparseMatrix):
    """(groups, rows) of 0 and 1: the rows of group g are `rows[start[g] : start[g + 1]]`, in ascending order."""

    @classmethod
    def of(cls, parts: Sequence[Integers], width: int) -> Memberships:
        """The memberships of groups whose rows are given one by one."""
        start = np.append(0, np.cumsum([len(part) for part in parts], dtype=np.int64))
        return cls(start, np.concatenate([np.zeros(0, dtype=np.int64), *parts]), width)

    @property
    def rows(self) -> Integers:
        """(entries,): the row of each entry."""
        return self.columns

    @property
    def groups(self) -> Integers:
        """(entries,): the group of each entry."""
        return self.row_of

    def of_group(self, group: int) -> Integers:
        """The rows of one group."""
        return self.rows[self.start[group] : self.start[group + 1]]

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
            masks[last] = rows.attribute(last[0]).belongs(last[1], or_silent=or_silent)
        known[terms] = inside = before[masks[last][before]]
        return inside

    return Memberships.of([of(group.terms) for group in groups], len(rows))
