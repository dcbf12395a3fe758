"""The table with the truth: what names its rows, units, weights and groups, and what is wrong with them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from evenhand.benchmarks.table.frame import LabelColumn, UserTable, read_table
from evenhand.benchmarks.table.options import TableOptions, TablePairOptions
from evenhand.core.errors import DataError, InputError, OptionError
from evenhand.core.levels import doubtful_levels
from evenhand.core.records import Array, Attribute, unique_codes
from evenhand.core.task import Dataset, LazySamples, Sample

MANY_NUMBERS = 20  # groups that are numbers, beyond which steps are proposed


def samples_of(items: Array) -> LazySamples:
    """The rows of a table as samples."""
    return LazySamples(len(items), partial(_sample, items))


def _sample(items: Array, at: int) -> Sample:
    return Sample(str(items[at]))


@dataclass(frozen=True)
class Truth:
    """The table that the truth is in, with the rows' names, units, weights and groups."""

    table: UserTable
    item: Array
    unit: Array | None
    unit_b: Array | None
    weight: Array | None
    attributes: Mapping[str, Attribute]


def load(data: Path, options: TableOptions) -> Dataset[Truth]:
    """The table with the truth."""
    return dataset_of(read_table(data), options)


def dataset_of(table: UserTable, options: TableOptions) -> Dataset[Truth]:
    """What the truth's table says of every row, checked."""
    warnings: list[str] = []
    item = _items(table, options)
    unit = unit_b = None
    if options.unit:
        unit, missing = table.identifiers(options.unit, "unit")
        if missing.any():
            warnings.append(
                f"{int(missing.sum()):,} of {table.rows:,} rows have no {options.unit!r}: each is taken as a "
                "unit of its own"
            )
    if isinstance(options, TablePairOptions):
        if not options.unit or not options.unit_b:
            raise OptionError("Pairs need two units: name the columns of both people, unit=… and unit_b=….")
        unit_b, missing = table.identifiers(options.unit_b, "unit_b")
        if missing.any() or unit is None:
            raise DataError(f"{table.where}: {int(missing.sum()):,} pairs have no {options.unit_b!r}.")
        if unit.dtype.kind != unit_b.dtype.kind:
            unit, unit_b = unit.astype(str), unit_b.astype(str)
    if unused := [name for name in options.limits if name not in options.by]:
        raise OptionError(f"bins names {unused[0]!r}, which is no column to group by (by={', '.join(options.by)}).")
    attributes: dict[str, Attribute] = {}
    for name in dict.fromkeys(options.by):
        attributes |= _attributes(table, name, options)
        if len(values := attributes[name].levels) > MANY_NUMBERS and _are_numbers(values):
            warnings.append(
                f"{name!r} has {len(values)} different numbers, and each is a group: bins={name}:30:60 would make three"
            )
        warnings.extend(doubtful_levels(repr(name), values))
        if unit is not None and unit_b is None:
            warnings.extend(_crossing(name, attributes[name], unit, options.unit))
    weight = _weights(table, options.weight) if options.weight else None
    truth = Truth(table, item, unit, unit_b, weight, attributes)
    levels = {name: attributes[name].levels for name in options.by}
    facts = {"rows of the table": table.rows}
    return Dataset("table", samples_of(item), truth, levels, table.facts, tuple(warnings), facts, media=False)


def _items(table: UserTable, options: TableOptions) -> Array:
    """What names the rows: the key, or their numbers from 1."""
    if not options.key:
        return np.arange(1, table.rows + 1)
    keys, missing = table.identifiers(options.key, "key")
    if missing.any():
        raise DataError(f"{table.where}, row {int(missing.argmax()) + 1}: {options.key!r} is empty.")
    refuse_repeated(keys, table.where, options.key, DataError)
    return keys


def refuse_repeated(keys: Array, where: str, name: str, problem: type[InputError]) -> None:
    values, counts = np.unique(keys, return_counts=True)
    if len(values) < len(keys):
        often = values[counts > 1]
        raise problem(
            f"{where}: {len(often):,} values of the key {name!r} occur more than once (first {str(often[0])!r}, "
            f"{int(counts[counts > 1][0])} times). A key must name one row."
        )


def _are_numbers(levels: Sequence[str]) -> bool:
    return all(level.lstrip("-").replace(".", "", 1).isdigit() for level in levels)


def _attributes(table: UserTable, name: str, options: TableOptions) -> dict[str, Attribute]:
    """The column to group by, cut at limits where there are some; of pairs, also the group that both people are in.

    A pair of people of two groups belongs to neither; it counts for everyone. The group of each person stands beside.
    """

    def grouped(column: str) -> LabelColumn:
        if name in options.limits:
            return table.binned(column, options.limits[name])
        return table.labels(column, "a column to group by", options.most_levels)

    pairs_of_columns = ([f"{name}{end}" for end in ends] for ends in (("_a", "_b"), ("_1", "_2"), ("1", "2")))
    sides = next((both for both in pairs_of_columns if all(side in table.columns for side in both)), None)
    if name in table.columns or sides is None or not isinstance(options, TablePairOptions):
        coded = grouped(name)
        if not coded.levels:
            raise DataError(f"{table.where}: {name!r}, a column to group by, is empty in every row.")
        return {name: _of_codes(*coded)}
    first, second = map(grouped, sides)
    levels = tuple(dict.fromkeys((*first.levels, *second.levels)))
    codes = {level: code for code, level in enumerate(levels)}
    first_codes, second_codes = recoded(first, codes, -1), recoded(second, codes, -1)
    return {
        name: _of_codes(np.where(first_codes == second_codes, first_codes, -1), levels),
        f"{name} (first)": _of_codes(first_codes, levels),
        f"{name} (second)": _of_codes(second_codes, levels),
    }


def _of_codes(codes: Array, levels: tuple[str, ...]) -> Attribute:
    return Attribute.coded(np.where(codes < 0, len(levels), codes), levels)


def _weights(table: UserTable, name: str) -> Array:
    weight = table.numbers(name, "weight")
    for wrong, what in ((np.isnan(weight), "empty"), (weight < 0, "negative")):
        if wrong.any():
            raise DataError(
                f"{table.where}, row {int(wrong.argmax()) + 1}: the weight {name!r} is {what} "
                f"({int(wrong.sum()):,} rows). Weights are 0 or more."
            )
    if not weight.any():
        raise DataError(f"{table.where}: every weight in {name!r} is 0.")
    return weight


def _crossing(name: str, attribute: Attribute, unit: Array, unit_name: str) -> Iterator[str]:
    """Says when units are in several groups: right for lighting, wrong for a person's birthplace."""
    _, codes = unique_codes(unit)
    known = attribute.codes < len(attribute.levels)
    first = np.full(int(codes.max(initial=-1)) + 1, -1, dtype=np.int64)
    first[codes[known][::-1]] = attribute.codes[known][::-1]
    other = known & (first[codes] != attribute.codes)
    if other.any():
        row = int(other.argmax())
        levels = attribute.levels[first[codes[row]]], attribute.levels[attribute.codes[row]]
        yield (
            f"{len(np.unique(codes[other])):,} of {len(first):,} units ({unit_name!r}) are in several groups of "
            f"{name!r}, such as {unit[row]!s} in {levels[0]!r} and {levels[1]!r}: groups share units. If {name!r} "
            "describes the unit, mend the table"
        )


def recoded(column: LabelColumn, codes: Mapping[str, int], other: int) -> Array:
    table = np.array([*(codes.get(level, other) for level in column.levels), other], dtype=np.int64)
    return np.asarray(table[column.codes])
