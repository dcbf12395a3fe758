"""Rows and how to select them.

`Records` are equally long columns with the attributes of each row. An `Attribute`
says to which of its declared levels a row belongs: one, several, none (it was not
annotated), or that the question makes no sense for this row (a false alarm has no
gender). A `Group` names levels of attributes; selecting it keeps its members *and*
the rows to which an attribute does not apply.

An attribute is kept as one small integer per row, the row's *pattern*, and one table
of patterns × levels. A million rows cost a megabyte per attribute, however many levels
it has, and rows with equal patterns are found by comparing integers alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import OptionError, UnknownNameError

Array = NDArray[Any]

MISSING = "(missing)"  # the group of rows whose attribute applies but was not annotated
NOT_APPLICABLE = -1  # the pattern code of rows to which an attribute says nothing
# Columns that the data fill, whatever the model: two runs that are compared must agree on them.
GIVEN_COLUMNS = ("unit", "unit_b", "truth", "same", "mated", "sample_weight")


@dataclass(frozen=True)
class Attribute:
    """To which levels of one attribute each row belongs.

    `codes` has a row of `patterns` for each row, or `NOT_APPLICABLE`. The pattern
    without any level means: applies, but not annotated.

    >>> tone = Attribute.of(["dark", None, "light"], levels=("light", "dark"))
    >>> tone.member.tolist()
    [[False, True], [False, False], [True, False]]
    >>> tone.applies.tolist()
    [True, True, True]
    """

    levels: tuple[str, ...]  # declared by the dataset, the same in every part
    codes: NDArray[np.integer[Any]]  # (rows,)
    patterns: NDArray[np.bool_]  # (patterns, levels)

    @classmethod
    def of(cls, values: Iterable[str | None], levels: Sequence[str]) -> Attribute:
        """One level per row; `None` or an empty text is not annotated."""
        known: dict[str | None, int] = {None: len(levels), "": len(levels)}
        known.update((level, code) for code, level in enumerate(levels))
        try:
            codes = [known[value] for value in values]
        except KeyError as error:
            raise UnknownNameError("level", str(error.args[0]), levels) from None
        return cls.coded(np.array(codes, dtype=np.int64), levels)

    @classmethod
    def coded(cls, codes: Array, levels: Sequence[str]) -> Attribute:
        """One level per row, given by its index.

        The index `len(levels)` is "not annotated", `NOT_APPLICABLE` is "does not apply".
        """
        count = len(levels)
        codes = np.asarray(codes)
        if codes.size and (codes.max() > count or codes.min() < NOT_APPLICABLE):
            raise OptionError(f"A code lies outside −1…{count}: the attribute has {count} levels.")
        patterns = np.zeros((count + 1, count), dtype=np.bool_)
        np.fill_diagonal(patterns, True)
        return cls(tuple(levels), codes.astype(_smallest(count + 1), copy=False), patterns)

    @classmethod
    def many(cls, values: Iterable[Collection[str] | None], levels: Sequence[str]) -> Attribute:
        """Any number of levels per row; an empty collection is "not annotated", `None` does not apply.

        >>> Attribute.many([{"a", "b"}, (), None], levels=("a", "b")).applies.tolist()
        [True, True, False]
        """
        known = {level: code for code, level in enumerate(levels)}
        seen: dict[frozenset[int], int] = {}
        codes = []
        for value in values:
            if value is None:
                codes.append(NOT_APPLICABLE)
                continue
            try:
                chosen = frozenset(known[level] for level in value)
            except KeyError as error:
                raise UnknownNameError("level", str(error.args[0]), levels) from None
            codes.append(seen.setdefault(chosen, len(seen)))
        patterns = np.zeros((len(seen), len(levels)), dtype=np.bool_)
        for chosen, code in seen.items():
            patterns[code, list(chosen)] = True
        return cls(tuple(levels), np.array(codes, dtype=_smallest(len(seen))), patterns)

    @classmethod
    def silent(cls, rows: int, levels: Sequence[str]) -> Attribute:
        """An attribute that says nothing about any of the rows."""
        return cls.coded(np.full(rows, NOT_APPLICABLE), levels)

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def member(self) -> NDArray[np.bool_]:
        """(rows, levels): does the row belong to the level?"""
        return self._lookup(self.patterns)

    @property
    def applies(self) -> NDArray[np.bool_]:
        """(rows,): does the attribute say anything about the row?"""
        return np.asarray(self.codes != NOT_APPLICABLE)

    def belongs(self, level: str, *, or_silent: bool = False) -> NDArray[np.bool_]:
        """(rows,): which rows are members of a level, or of `MISSING`; `or_silent`: or are not what it is about."""
        if level not in (*self.levels, MISSING):
            raise UnknownNameError("level", level, (*self.levels, MISSING))
        unannotated = level == MISSING
        table = ~self.patterns.any(axis=1) if unannotated else self.patterns[:, self.levels.index(level)]
        return self._lookup(np.asarray(table), silent=or_silent)

    def take(self, index: Array | slice) -> Attribute:
        """The attribute of the rows at `index` (positions, a boolean mask or a slice)."""
        return Attribute(self.levels, self.codes[index], self.patterns)

    def _lookup(self, table: NDArray[np.bool_], *, silent: bool = False) -> NDArray[np.bool_]:
        # One more row at the end: code −1 finds it.
        tail = np.full((1, *table.shape[1:]), silent)
        return np.asarray(np.concatenate([table, tail])[self.codes])


@dataclass(frozen=True, order=True)
class Group:
    """Levels that must all hold; no terms is everyone.

    >>> str(Group.of(age="70+", pronoun="She/her/hers"))
    'age=70+ × pronoun=She/her/hers'
    >>> str(EVERYONE)
    'everyone'
    """

    terms: tuple[tuple[str, str], ...] = ()

    @classmethod
    def of(cls, **levels: str) -> Group:
        """The group of the given levels, in the order in which they are written."""
        return cls(tuple(levels.items()))

    @property
    def by(self) -> tuple[str, ...]:
        """The attributes that the group names."""
        return tuple(name for name, _ in self.terms)

    @property
    def is_missing(self) -> bool:
        """Whether the group is that of rows without an annotation."""
        return any(level == MISSING for _, level in self.terms)

    def __str__(self) -> str:
        return " × ".join(f"{name}={level}" for name, level in self.terms) or "everyone"


EVERYONE = Group()


class LazyColumns(Mapping[str, Array]):
    """Columns of so many rows, of which some are made when they are first looked at.

    >>> columns = LazyColumns(2, {"score": np.array([0.5, 0.7]), "item": lambda: np.arange(2)})
    >>> columns["item"].tolist()
    [0, 1]
    """

    def __init__(self, rows: int, columns: Mapping[str, Array | Callable[[], Array]]) -> None:
        self.rows, self._columns = rows, dict(columns)

    def __getitem__(self, name: str) -> Array:
        column = self._columns[name]
        if not isinstance(column, np.ndarray):
            column = self._columns[name] = column()
        return column

    def __contains__(self, name: object) -> bool:
        return name in self._columns

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)


@dataclass(frozen=True)
class Records:
    """Rows as equally long NumPy columns, with the attributes of each row.

    Some columns have a fixed meaning: `item` (what the row is about), `unit` (what was
    sampled independently), `unit_b` (the other one, for pairs), `kind` (what sort of event), and `GIVEN_COLUMNS`,
    which the data fill.

    >>> tone = Attribute.of(["light", "dark", "dark"], levels=("light", "dark"))
    >>> rows = Records({"hit": np.array([1, 0, 1])}, {"tone": tone})
    >>> len(rows.select(Group.of(tone="dark")))
    2
    """

    columns: Mapping[str, Array]
    attributes: Mapping[str, Attribute]

    def __post_init__(self) -> None:
        if isinstance(self.columns, LazyColumns):
            lengths = {"lazy columns": self.columns.rows}
        else:
            lengths = {name: len(column) for name, column in self.columns.items()}
        lengths |= {f"attribute {name}": len(attribute) for name, attribute in self.attributes.items()}
        if len(set(lengths.values())) > 1:
            raise ValueError(f"columns and attributes of unequal length: {lengths}")

    def __len__(self) -> int:
        if isinstance(self.columns, LazyColumns):
            return self.columns.rows
        every: Iterator[Sized] = chain(self.columns.values(), self.attributes.values())
        return len(next(every, ()))

    def __getitem__(self, name: str) -> Array:
        try:
            return self.columns[name]
        except KeyError:
            raise UnknownNameError("column", name, self.columns) from None

    def __contains__(self, name: str) -> bool:
        return name in self.columns

    def take(self, index: Array | slice) -> Records:
        """The rows at `index` (positions, a boolean mask or a slice), in that order."""
        return Records(
            {name: column[index] for name, column in self.columns.items()},
            {name: attribute.take(index) for name, attribute in self.attributes.items()},
        )

    def select(self, group: Group) -> Records:
        """The rows of a group, and the rows to which one of its attributes does not apply."""
        return self.take(self.kept(group))

    def members(self, group: Group) -> NDArray[np.bool_]:
        """(rows,): the rows that all terms of the group are true of."""
        return self._inside(group, or_silent=False)

    def kept(self, group: Group) -> NDArray[np.bool_]:
        """(rows,): the rows that `select` keeps; per term, members and those it does not apply to."""
        return self._inside(group, or_silent=True)

    def _inside(self, group: Group, *, or_silent: bool) -> NDArray[np.bool_]:
        inside = np.ones(len(self), dtype=np.bool_)
        for name, level in group.terms:
            inside &= self.attribute(name).belongs(level, or_silent=or_silent)
        return inside

    def attribute(self, name: str) -> Attribute:
        """The attribute of that name; raises UnknownNameError when there is none."""
        try:
            return self.attributes[name]
        except KeyError:
            raise UnknownNameError("attribute", name, self.attributes) from None


def concatenate(parts: Sequence[Records]) -> Records:
    """The rows of all parts, one after the other.

    Parts have the same columns and the same attributes with the same levels; tables of
    patterns may differ and are joined.
    """
    if len(parts) < 2:
        return parts[0] if parts else Records({}, {})
    first = parts[0]
    for part in parts[1:]:
        if set(part.columns) != set(first.columns) or set(part.attributes) != set(first.attributes):
            raise ValueError(
                f"parts with different columns: {sorted(first.columns)} with {sorted(first.attributes)}, "
                f"and {sorted(part.columns)} with {sorted(part.attributes)}"
            )
    return Records(
        {name: np.concatenate([part.columns[name] for part in parts]) for name in first.columns},
        {name: _join([part.attributes[name] for part in parts]) for name in first.attributes},
    )


def distinct(rows: Records, by: Sequence[str] = (), columns: Sequence[str] = ()) -> tuple[Array, Records]:
    """Which combination of columns and attribute patterns each row has, and the combinations.

    The combinations are records themselves, sorted by the columns and then by the patterns;
    their column `rows` counts the rows of each.

    >>> tone = Attribute.of(["dark", "light", "dark"], levels=("light", "dark"))
    >>> index, cells = distinct(Records({"unit": np.array([7, 7, 7])}, {"tone": tone}), by=["tone"], columns=["unit"])
    >>> index.tolist(), cells["rows"].tolist()
    ([1, 0, 1], [1, 2])
    """
    keys, radices = [], []
    values: dict[str, Array] = {}
    for name in columns:
        values[name], codes = unique_codes(rows[name])
        keys.append(codes)
        radices.append(max(len(values[name]), 1))
    for name in by:
        attribute = rows.attribute(name)
        keys.append(attribute.codes)
        radices.append(len(attribute.patterns) + 1)
    offsets = [0] * len(columns) + [1] * len(by)  # "does not apply" is −1
    index, combinations_ = _combine(keys, radices, offsets, len(rows))
    picked: dict[str, Array] = {
        name: values[name][codes] for name, codes in zip(columns, combinations_[: len(columns)], strict=True)
    }
    if combinations_:
        picked["rows"] = np.bincount(index, minlength=len(combinations_[0]))
    else:
        picked["rows"] = np.full(min(len(rows), 1), len(rows), dtype=np.int64)
    attributes = {}
    for name, codes in zip(by, combinations_[len(columns) :], strict=True):
        attribute = rows.attributes[name]
        attributes[name] = Attribute(attribute.levels, codes.astype(attribute.codes.dtype), attribute.patterns)
    return index, Records(picked, attributes)


def unique_codes(column: Array) -> tuple[Array, Array]:
    """The sorted distinct values of a column, and the position of each row's value among them."""
    column = np.asarray(column)
    if column.dtype.kind in "iu" and len(column):
        low, high = int(column.min()), int(column.max())
        if high - low < 4 * len(column) + 1024:  # dense integers need no sort
            shifted = column if low == 0 else column.astype(np.int64) - low
            present = np.zeros(high - low + 1, dtype=np.bool_)
            for block in blocks(len(shifted), _AT_ONCE):  # numbers are widened on the way
                present[shifted[block]] = True
            values = np.flatnonzero(present).astype(column.dtype) + column.dtype.type(low)
            narrow = np.int32 if len(present) < 2**31 else np.int64
            if len(values) == len(present):  # every number occurs: they are their own positions
                return values, shifted.astype(narrow)
            return values, (np.cumsum(present, dtype=narrow) - 1).astype(narrow, copy=False)[shifted]
    found, codes = np.unique(column, return_inverse=True)
    return found, codes.reshape(-1)


def blocks(length: int, size: int) -> Iterator[slice]:
    """Slices of at most `size` that cover `length`.

    >>> list(blocks(5, 2))
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    for start in range(0, length, size):
        yield slice(start, min(start + size, length))


def _smallest(count: int) -> type[np.signedinteger[Any]]:
    """The smallest signed integer that holds −1…count."""
    return np.int8 if count <= 126 else np.int16 if count <= 32_766 else np.int32


def _join(parts: Sequence[Attribute]) -> Attribute:
    first = parts[0]
    for part in parts[1:]:
        if part.levels != first.levels:
            raise ValueError(f"parts that declare different levels: {first.levels} and {part.levels}")
    if all(part.patterns is first.patterns or np.array_equal(part.patterns, first.patterns) for part in parts):
        return Attribute(first.levels, np.concatenate([part.codes for part in parts]), first.patterns)
    seen: dict[bytes, int] = {}
    table: list[Array] = []
    joined = []
    for part in parts:
        remap = np.full(len(part.patterns) + 1, NOT_APPLICABLE, dtype=np.int64)
        for code, pattern in enumerate(part.patterns):
            if (new := seen.setdefault(pattern.tobytes(), len(seen))) == len(table):
                table.append(pattern)
            remap[code] = new
        joined.append(remap[part.codes])
    return Attribute(first.levels, np.concatenate(joined).astype(_smallest(len(table))), np.array(table))


def _combine(
    keys: Sequence[Array], radices: Sequence[int], offsets: Sequence[int], rows: int
) -> tuple[Array, list[Array]]:
    """Each row's combination of keys as one code, and the keys of every combination that occurs."""
    if not keys:
        return np.broadcast_to(np.intp(0), rows), []  # one number in memory, however many rows
    span = math.prod(radices)
    if span > _LARGE_SPAN and len(keys) > 1:  # gender and age of a unit add no combinations to those of units
        index, others = _combine(keys[:-1], radices[:-1], offsets[:-1], rows)
        last = _constant_within(index, keys[-1], len(others[0]))
        if last is not None:
            return index, [*others, last]
    if span >= 2**62:
        wide = np.stack([np.asarray(key, dtype=np.int64) for key in keys], axis=1)
        table, inverse = np.unique(wide, axis=0, return_inverse=True)
        return inverse.reshape(-1), list(table.T)
    dtype: type[np.signedinteger[Any]] = np.int32 if span < 2**31 else np.int64
    code: Array = np.empty(rows, dtype=dtype)
    present = np.zeros(span if span <= 4 * rows + 4096 else 0, dtype=np.bool_)
    shift = 0
    for radix, offset in zip(radices, offsets, strict=True):
        shift = shift * radix + offset
    for block in blocks(rows, _AT_ONCE):  # that stays in a core's cache until all keys are in
        some: Array = keys[0][block].astype(dtype)
        for key, radix in zip(keys[1:], radices[1:], strict=True):
            some *= dtype(radix)
            some += key[block]
        some += dtype(shift)
        code[block] = some
        # Of few codes all are soon known, and a look is cheaper than writing.
        if len(present) and (span > _AT_ONCE or not np.take(present, some, mode="clip").all()):
            present[some] = True
    if len(present):
        occurring: Array = np.flatnonzero(present).astype(dtype, copy=False)
        index = code
        if len(occurring) < span:
            position = np.empty(span, dtype=dtype)
            position[occurring] = np.arange(len(occurring), dtype=dtype)
            for block in blocks(rows, _AT_ONCE):  # in place, and without a look at whether each code is inside
                code[block] = np.take(position, code[block], mode="clip")
    else:
        occurring, index = np.unique(code, return_inverse=True)
        index = index.reshape(-1)
    split = []
    for radix, offset in zip(reversed(radices), reversed(offsets), strict=True):
        rest = occurring // occurring.dtype.type(radix)  # quicker than a remainder
        split.append(occurring - rest * occurring.dtype.type(radix) - occurring.dtype.type(offset))
        occurring = rest
    return index, split[::-1]


def _constant_within(index: Array, key: Array, count: int) -> Array | None:
    """(combinations,): the key that all rows of a combination share, which `index` names; None where they differ."""
    own: Array = np.zeros(count, dtype=key.dtype)
    for block in blocks(len(index), _AT_ONCE):
        own[index[block]] = key[block]
    for block in blocks(len(index), _AT_ONCE):
        if not np.array_equal(np.take(own, index[block], mode="clip"), key[block]):
            return None
    return own


_AT_ONCE = 1 << 17  # rows whose codes stay in a core's cache
_LARGE_SPAN = 1 << 24  # combinations of keys whose table stays in no cache
