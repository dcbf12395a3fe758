"""The annotated attributes of faces, with their words.

Numbers in the files stand for words (IJB-B README, 4.3). Crowd workers annotated them in
layman's terms. A number outside its enumeration is an error; a missing one is 'not annotated'.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.files import ProtocolTable
from evenhand.core.records import Array, Attribute, blocks
from evenhand.files.packaged import packaged_table
from evenhand.search.lookup import AT_ONCE

NOT_ANNOTATED = -1


@dataclass(frozen=True)
class Enumeration:
    """A covariate whose numbers stand for words, in their declared order."""

    column: str  # in the files
    name: str  # of the attribute
    words: Mapping[int, str]

    @property
    def levels(self) -> tuple[str, ...]:
        return tuple(self.words.values())


def angle_levels(edges: Sequence[float]) -> tuple[str, ...]:
    """The bins of absolute differences in degrees, left-closed, by their edges.

    >>> angle_levels((0, 15, 181))
    ('0–15°', '15–181°')
    """
    return tuple(f"{low:g}–{high:g}°" for low, high in pairwise(edges))


ENUMERATIONS = tuple(
    Enumeration(column, entry["name"], {int(number): word for number, word in entry["words"].items()})
    for column, entry in packaged_table(__package__, "covariates.toml").items()
)
GENDER, SKIN_TONE, AGE, *_ = ENUMERATIONS
AGE_WITH_UNKNOWN = Enumeration("AGE", "age", {0: "unknown", **AGE.words})  # as the files have it
OCCLUSIONS = tuple(Enumeration(f"OCC{cell}", f"occlusion_{cell}", {0: "free", 1: "occluded"}) for cell in range(1, 19))
YAW_EDGES = (0.0, 15.0, 30.0, 45.0, 60.0, 90.0, 181.0)
ALL_COLUMNS = tuple(AGE_WITH_UNKNOWN if entry is AGE else entry for entry in (*ENUMERATIONS, *OCCLUSIONS))
OF_SUBJECTS = (GENDER, SKIN_TONE)  # constant for a person


def read_codes(table: ProtocolTable, covariate: Enumeration) -> NDArray[np.int64] | None:
    """(rows,): the index of each row's level, `NOT_ANNOTATED` where missing; None without the column."""
    if covariate.column not in table:
        return None
    values = table.numbers(covariate.column)
    known = {float(number): place for place, number in enumerate(covariate.words)}
    codes = np.full(len(values), NOT_ANNOTATED, dtype=np.int64)
    there = ~np.isnan(values)
    recognised = np.zeros(len(values), dtype=np.bool_)
    for number, place in known.items():
        inside = values == number
        codes[inside] = place
        recognised |= inside
    words = ", ".join(f"{number} {word}" for number, word in covariate.words.items())
    table.refuse(
        there & ~recognised,
        lambda row: f"{values[row]:g} is not in the enumeration ({words}; NaN for none).",
        covariate.column,
    )
    return codes


def without_unknown_age(codes: Array) -> NDArray[np.int64]:
    """Codes of `AGE` from those of the files: the annotators' 'unknown' counts as missing."""
    return np.where(codes > 0, codes - 1, NOT_ANNOTATED)


def attribute_of(codes: Array, levels: Sequence[str]) -> Attribute:
    """One level per row; `NOT_ANNOTATED` becomes "applies, but not annotated"."""
    return Attribute.coded(np.where(codes == NOT_ANNOTATED, len(levels), codes), levels)


def pair_levels(covariate: Enumeration) -> tuple[str, ...]:
    """The unordered pairs of levels: first `both = v` for every level, then the mixed ones.

    >>> pair_levels(GENDER)
    ('both female', 'both male', 'female | male')
    """
    levels = covariate.levels
    mixed = [f"{one} | {other}" for place, one in enumerate(levels) for other in levels[place + 1 :]]
    return (*(f"both {level}" for level in levels), *mixed)


class PairAttribute(Attribute):
    """An attribute of millions of comparisons, whose codes are made when somebody asks for groups by it."""

    def __init__(self, levels: tuple[str, ...], rows: int, make: Callable[[], NDArray[np.int8]]) -> None:
        patterns = np.eye(len(levels) + 1, len(levels), dtype=np.bool_)
        self.__dict__.update(levels=levels, patterns=patterns, _rows=rows, _make=make)

    @cached_property
    def codes(self) -> NDArray[np.int8]:
        codes: NDArray[np.int8] = self.__dict__["_make"]()
        return codes

    def __len__(self) -> int:
        return int(self.__dict__["_rows"])

    def take(self, index: Array | slice) -> Attribute:
        is_whole = isinstance(index, slice) and index.indices(len(self)) == (0, len(self), 1)
        return self if is_whole else super().take(index)


def pair_attribute(codes: Array, first: Array, second: Array, covariate: Enumeration) -> Attribute:
    """The unordered pair of levels of each comparison; missing where one side is not annotated.

    `codes` are those of templates, `first` and `second` the templates that are compared.

    >>> pair_attribute(np.array([0, 1, -1]), np.array([0, 1, 0]), np.array([0, 0, 2]), GENDER).codes.tolist()
    [0, 2, 3]
    """
    levels = pair_levels(covariate)
    return PairAttribute(levels, len(first), partial(_pair_codes, codes, first, second, len(covariate.levels)))


def _pair_codes(codes: Array, first: Array, second: Array, count: int) -> NDArray[np.int8]:
    """(pairs,): the position among `pair_levels` of so many levels; their number where a side is not annotated."""
    not_annotated = count * (count + 1) // 2
    table = np.full((count + 1, count + 1), not_annotated, dtype=np.int8)  # the last row and column stay so
    table[np.arange(count), np.arange(count)] = np.arange(count)
    one, other = np.triu_indices(count, 1)
    table[one, other] = table[other, one] = count + np.arange(len(one))
    flat = table.reshape(-1)
    column_of = np.where(codes == NOT_ANNOTATED, count, codes).astype(np.int16)
    row_of = column_of * np.int16(count + 1)
    pairs = np.empty(len(first), dtype=np.int8)
    for block in blocks(len(pairs), AT_ONCE):
        place = np.take(row_of, first[block], mode="clip")
        place += np.take(column_of, second[block], mode="clip")
        np.take(flat, place, out=pairs[block], mode="clip")
    return pairs


AGREEMENT = ("same", "different")


def agreement_attribute(first: Array, second: Array) -> Attribute:
    """Whether both sides of a comparison have the same level; missing where one is not annotated."""
    known = (first != NOT_ANNOTATED) & (second != NOT_ANNOTATED)
    return Attribute.coded(np.where(known, np.where(first == second, 0, 1), 2).astype(np.int8), AGREEMENT)


def difference_attribute(first: Array, second: Array, edges: Sequence[float]) -> Attribute:
    """The bin of the absolute difference of two angles; missing where one is, or beyond the last edge."""
    levels, apart = angle_levels(edges), np.abs(first - second)
    place = np.searchsorted(np.asarray(edges), apart, side="right") - 1
    outside = np.isnan(apart) | (place < 0) | (place >= len(levels))
    return Attribute.coded(np.where(outside, len(levels), place), levels)
