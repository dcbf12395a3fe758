"""Every group of every combination of attributes, counted and averaged in one sort per combination.

For attributes A in canonical order the published tool forms all 2^|A| − 1 subsets; a row belongs to
the product of its labels, so groups overlap. Eight attributes on ten thousand rows are 1.8 million
groups. Here a row's labels are small integers, a group is a number in mixed radix, and a subset costs
one sort of its memberships.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe import attributes
from evenhand.core.errors import UnknownNameError
from evenhand.core.records import Array, Attribute


class Labels(NamedTuple):
    """The labels of one attribute in published order, and those of every row."""

    name: str
    values: tuple[str, ...]
    rank: NDArray[np.int64]  # (values,): place in the published order; equal where it does not distinguish them
    row: NDArray[np.int64]  # (memberships,): ascending
    label: NDArray[np.int64]  # (memberships,)


@dataclass(frozen=True)
class Subset:
    """The groups of one combination of attributes, in published order."""

    by: tuple[str, ...]
    labels: tuple[Labels, ...]
    codes: NDArray[np.int64]  # (groups, attributes): the label of each attribute
    starts: NDArray[np.int64]  # (groups,): where a group's rows begin in `rows`
    sizes: NDArray[np.int64]  # (groups,)
    rows: NDArray[np.int64]  # row numbers, ascending within a group

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def key(self) -> str:
        """The combination as the published files write it."""
        return attributes.group_key(self.by)

    def keys(self) -> list[str]:
        """Every group as the published files write it."""
        return self._joined(repr, "[{}]")

    def quoted_keys(self) -> list[str]:
        """Every group's key as JSON text."""
        return self._joined(lambda value: json.dumps(repr(value))[1:-1], '"[{}]"')

    def _joined(self, written: Callable[[str], str], form: str) -> list[str]:
        before, after = form.split("{}")
        texts = [np.array([written(value) for value in labels.values], dtype=object) for labels in self.labels]
        columns = [text[self.codes[:, place]].tolist() for place, text in enumerate(texts)]
        if len(columns) == 1:
            return [before + text + after for text in columns[0]]
        return [before + ", ".join(parts) + after for parts in zip(*columns, strict=True)]

    def members(self, group: int) -> Array:
        """The rows of a group, ascending."""
        return self.rows[self.starts[group] : self.starts[group] + self.sizes[group]]

    def means(self, scores: Array) -> NDArray[np.float64]:
        """(groups,): the mean score of each group's rows."""
        if not len(self):
            return np.zeros(0)
        return np.asarray(np.add.reduceat(scores[self.rows], self.starts) / self.sizes)


def labels_of(name: str, attribute: Attribute) -> Labels:
    """The memberships of an attribute, with its labels in published order."""
    order = sorted(range(len(attribute.levels)), key=lambda level: attributes.sort_key(name, attribute.levels[level]))
    values = tuple(attribute.levels[level] for level in order)
    keys = [attributes.sort_key(name, value) for value in values]
    rank = np.cumsum([0, *(later != earlier for earlier, later in pairwise(keys))])[: len(keys)]
    row, label = np.nonzero(attribute.member[:, order])
    return Labels(name, values, rank.astype(np.int64), row, label)


def subsets(
    people: Mapping[str, Attribute], asked: Sequence[str], rows: Array | None = None, *, largest: int | None = None
) -> Iterator[Subset]:
    """The groups of every combination of the asked attributes, smaller combinations first.

    `rows` limits them to some rows (those with a value); `largest` limits the number of attributes.
    """
    for name in asked:
        if name not in people:
            raise UnknownNameError("attribute", name, people)
    names = attributes.canonical(asked)
    every = {name: _limited(labels_of(name, people[name]), rows) for name in names}
    count = max((len(people[name]) for name in names), default=0)
    for size in range(1, (len(names) if largest is None else min(largest, len(names))) + 1):
        for by in combinations(names, size):
            yield subset([every[name] for name in by], count)


def count_memberships(people: Mapping[str, Attribute], asked: Sequence[str]) -> int:
    """How many (row, group) pairs all combinations have: what the published file repeats; said before the work."""
    names = attributes.canonical(asked)
    per_row = [people[name].patterns.sum(axis=1)[people[name].codes] for name in names]
    # The product over subsets of label counts, summed over subsets, is ∏(1 + labels) − 1 for every row.
    return int((np.prod([1 + counts for counts in per_row], axis=0) - 1).sum()) if per_row else 0


def subset(labels: Sequence[Labels], rows: int) -> Subset:
    """The groups of one combination of attributes, ordered by their ranks, then by first appearance."""
    row, columns = _joined(labels, rows)
    code = np.zeros(len(row), dtype=np.int64)
    span = 1
    for label, column in zip(labels, columns, strict=True):
        span *= max(len(label.values), 1)
        code = code * max(len(label.values), 1) + column
    narrow = code.astype(np.int32) if span < 2**31 else code
    order = np.argsort(narrow, kind="stable")
    ordered = narrow[order]
    first = np.flatnonzero(np.diff(ordered, prepend=-1))
    sizes = np.diff(np.append(first, len(ordered)))
    codes = np.stack([column[order[first]] for column in columns], axis=1)
    groups = Subset(tuple(label.name for label in labels), tuple(labels), codes, first, sizes, row[order])
    share_a_number = any(len(label.rank) and label.rank[-1] + 1 < len(label.rank) for label in labels)
    return _by_rank(groups, order[first]) if share_a_number else groups


def _joined(labels: Sequence[Labels], rows: int) -> tuple[Array, list[Array]]:
    """Row and labels of every membership in the combination, rows ascending, last attribute fastest."""
    row, columns = labels[0].row, [labels[0].label]
    for label in labels[1:]:
        counts = np.bincount(label.row, minlength=rows)
        begin = np.cumsum(counts) - counts
        if (counts == 1).all():
            columns.append(label.label[begin[row]])
            continue
        times = counts[row]
        repeated = np.repeat(np.arange(len(row)), times)
        within = np.arange(len(repeated)) - np.repeat(np.cumsum(times) - times, times)
        columns = [column[repeated] for column in columns]
        row = row[repeated]
        columns.append(label.label[begin[row] + within])
    return row, columns


def _limited(labels: Labels, rows: Array | None) -> Labels:
    if rows is None:
        return labels
    inside = np.zeros(int(max(labels.row.max(initial=-1), rows.max(initial=-1))) + 1, dtype=np.bool_)
    inside[rows] = True
    keep = inside[labels.row]
    return labels._replace(row=labels.row[keep], label=labels.label[keep])


def _by_rank(groups: Subset, appeared: Array) -> Subset:
    """The same groups where two labels share a number: by rank, then in order of first appearance."""
    ranks = [label.rank[groups.codes[:, place]] for place, label in enumerate(groups.labels)]
    order = np.lexsort((appeared, *reversed(ranks)))
    sizes = groups.sizes[order]
    starts = np.cumsum(sizes) - sizes
    places = np.repeat(groups.starts[order] - starts, sizes) + np.arange(len(groups.rows))
    return replace(groups, codes=groups.codes[order], starts=starts, sizes=sizes, rows=groups.rows[places])
