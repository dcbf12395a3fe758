"""Why two numbers differ: inputs, options and versions, then the rows that changed, worst first.

Rows are matched by what they are about (`item`, and `kind` where there are several sorts of events).
How much a row changed is the sum over its columns: for a number the difference relative to the range
of its column, for anything else 1.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.core.errors import RunError
from evenhand.core.printing import printable
from evenhand.core.records import GIVEN_COLUMNS, MISSING, Array, Attribute, Records, concatenate, distinct
from evenhand.core.results import Results
from evenhand.files.inputs import SHA256
from evenhand.store.manifest import Manifest
from evenhand.store.runs import Run

KEYS = ("item", "kind")
MOST_EXAMPLES = 3


@dataclass(frozen=True)
class Change:
    """Something that is not the same in both runs; None where one has no such thing."""

    name: str
    first: Any
    second: Any
    rows: int = field(default=0, repr=False)  # behind an estimate, in the smaller of both


@dataclass(frozen=True)
class RowChange:
    """A row that is not the same in both runs, or is in one of them only."""

    item: str
    kind: str | None
    size: float
    columns: tuple[Change, ...] = ()


@dataclass(frozen=True)
class RowChanges:
    """The rows that changed, worst first, and how many there are in all."""

    same: int = 0
    changed: int = 0
    only_first: int = 0
    only_second: int = 0
    worst: tuple[RowChange, ...] = ()
    missing_first: tuple[RowChange, ...] = ()  # rows of the second run alone
    missing_second: tuple[RowChange, ...] = ()  # rows of the first run alone
    reason: str = ""  # why rows could not be compared


@dataclass(frozen=True)
class DataChange:
    """A truth, unit, weight or attribute that two runs give differently for the same rows."""

    name: str
    rows: int  # that differ
    of: int  # rows that both runs have
    examples: tuple[Change, ...]  # the first of them, named by their item


@dataclass(frozen=True)
class Agreement:
    """Whether the rows of two runs are about the same data."""

    changes: tuple[DataChange, ...] = ()
    only_first: int = 0  # rows about units that both runs have, but that one run lacks
    only_second: int = 0


@dataclass(frozen=True)
class Difference:
    """What is not the same in two runs."""

    first: str
    second: str
    facts: tuple[Change, ...] = ()  # task, model, data set, kind of hashes, code, instruments
    inputs: tuple[Change, ...] = ()  # by role and name: hash; size where the hashes are of two kinds
    options: tuple[Change, ...] = ()
    settings: tuple[Change, ...] = ()
    versions: tuple[Change, ...] = ()
    values: tuple[Change, ...] = ()  # estimates, those of most rows first
    data: tuple[DataChange, ...] = ()  # what the data say differently about the same rows
    rows: RowChanges = field(default_factory=RowChanges)

    @property
    def is_empty(self) -> bool:
        """Whether the runs have the same results and the same inputs."""
        parts = (self.facts, self.inputs, self.options, self.settings, self.versions, self.values, self.data)
        rows = self.rows
        return not any(parts) and not (rows.changed or rows.only_first or rows.only_second)


def diff(first: Run, second: Run, *, most: int = 100) -> Difference:
    """What differs between two runs of one task; at most so many rows are listed, all are counted."""
    first_manifest, second_manifest = first.manifest, second.manifest
    if first_manifest.task != second_manifest.task:
        raise RunError(
            f"{first.folder or first_manifest.model} is a run of {first_manifest.task}, "
            f"{second.folder or second_manifest.model} one of {second_manifest.task}. Give two runs of one task."
        )
    data: tuple[DataChange, ...] = ()
    try:
        both = first.records(), second.records()
        rows, data = compare_rows(*both, most=most), agreement(*both).changes
    except RunError as error:
        rows = RowChanges(reason=str(error))
    return Difference(
        first=str(first.folder or first_manifest.model),
        second=str(second.folder or second_manifest.model),
        facts=_changes(_facts(first_manifest), _facts(second_manifest)),
        inputs=_input_changes(first_manifest, second_manifest),
        options=_changes(first_manifest.options, second_manifest.options),
        settings=_changes(first_manifest.settings, second_manifest.settings),
        versions=_changes(first_manifest.versions, second_manifest.versions),
        values=_values(first, second),
        data=data,
        rows=rows,
    )


def compare_rows(first: Records, second: Records, *, most: int = 100) -> RowChanges:
    """The rows that changed from one set of records to another.

    >>> before = Records({"item": np.array(["a", "b"]), "iou": np.array([0.9, 0.5])}, {})
    >>> after = Records({"item": np.array(["b", "a"]), "iou": np.array([0.1, 0.9])}, {})
    >>> compare_rows(before, after).worst
    (RowChange(item='b', kind=None, size=0.5, columns=(Change(name='iou', first=0.5, second=0.1),)),)
    """
    keys, other_keys = _codes(first, second, [name for name in KEYS if name in first and name in second])
    span = max(len(first), len(second), 1)
    keys, other_keys = keys * span + _occurrence(keys), other_keys * span + _occurrence(other_keys)
    _, mine, theirs = np.intersect1d(keys, other_keys, assume_unique=True, return_indices=True)
    order = np.argsort(mine)
    mine, theirs = mine[order], theirs[order]
    sizes = np.zeros(len(mine))
    shared = [name for name in first.columns if name in second and name not in KEYS]
    for name in shared:
        sizes += _distance(first[name][mine], second[name][theirs], _span(first[name], second[name]))
    labels = {}
    for name in first.attributes:
        if name in second.attributes:
            labels[name] = (_labels(first.attributes[name]), _labels(second.attributes[name]))
            sizes += labels[name][0][mine] != labels[name][1][theirs]
    changed = np.flatnonzero(sizes)
    worst = changed[np.argsort(-sizes[changed], kind="stable")][:most]
    alone = np.setdiff1d(np.arange(len(keys)), mine)
    others = np.setdiff1d(np.arange(len(other_keys)), theirs)
    return RowChanges(
        same=len(mine) - len(changed),
        changed=len(changed),
        only_first=len(alone),
        only_second=len(others),
        worst=tuple(
            RowChange(*_name(first, row), float(size), tuple(_cells(first, second, row, other_row, labels)))
            for row, other_row, size in zip(mine[worst], theirs[worst], sizes[worst], strict=True)
        ),
        missing_second=tuple(RowChange(*_name(first, at), 1.0) for at in alone[:most]),
        missing_first=tuple(RowChange(*_name(second, at), 1.0) for at in others[:most]),
    )


def agreement(first: Records, second: Records, by: Sequence[str] | None = None) -> Agreement:
    """What two runs say differently about the data of the rows that both have: truth, units, weights, attributes.

    `by` names the attributes to look at; all that both have by default. Rows are matched by what they are about; an
    item that has another number of rows in the other run can't be matched row by row, and is left out.

    >>> before = Records({"item": np.array(["a", "b"]), "truth": np.array([0, 1])}, {})
    >>> after = Records({"item": np.array(["b", "a"]), "truth": np.array([1, 1])}, {})
    >>> agreement(before, after).changes
    (DataChange(name='truth', rows=1, of=2, examples=(Change(name='a', first=0, second=1),)),)
    """
    if "item" not in first or "item" not in second:
        return Agreement()
    mine, theirs, alone = _matched(first, second)
    changes = []
    for name in GIVEN_COLUMNS:
        if name in first and name in second:
            one, other = first[name][mine], second[name][theirs]
            changes.append(_data_change(name, _distance(one, other, 1.0) > 0, first["item"][mine], one, other))
    for name in first.attributes if by is None else by:
        if name in first.attributes and name in second.attributes:
            mine_of, theirs_of = first.attributes[name].take(mine), second.attributes[name].take(theirs)
            alike = mine_of.levels == theirs_of.levels and np.array_equal(mine_of.patterns, theirs_of.patterns)
            if not (alike and np.array_equal(mine_of.codes, theirs_of.codes)):
                texts = _labels(mine_of), _labels(theirs_of)
                changes.append(_data_change(name, texts[0] != texts[1], first["item"][mine], *texts))
    return Agreement(tuple(change for change in changes if change is not None), *alone)


def check_same_data(
    first: Records, second: Records, by: Sequence[str], names: tuple[str, str], results: Results
) -> Agreement:
    """Raise RunError when truth, units, weights or groups differ for rows that both runs have."""
    agreed = agreement(first, second, by)
    if agreed.changes:
        labels = results.class_labels()
        shown = "; ".join(_described(change, labels.get(change.name)) for change in agreed.changes)
        raise RunError(
            f"The runs of {names[0]} and {names[1]} do not agree on the data, so they can't be compared: {shown}. "
            "Evaluate both models on the same data. Rows are matched by their item: in a table that is its row number, "
            "or the column that key=… names."
        )
    return agreed


def _described(change: DataChange, labels: Sequence[str] | None) -> str:
    """How many rows differ, and the first of them: item, value in the first run, value in the second."""

    def shown(value: Any) -> str:
        is_class = labels and isinstance(value, int) and 0 <= value < len(labels)
        return printable(str(labels[value] if is_class and labels else value), keep="")

    rows = ", ".join(f"{shown(str(row.name))}: {shown(row.first)} and {shown(row.second)}" for row in change.examples)
    more = ", …" if change.rows > len(change.examples) else ""
    return f"{change.name!r} differs in {change.rows:,} of {change.of:,} rows ({rows}{more})"


def _matched(first: Records, second: Records) -> tuple[Array | slice, Array | slice, tuple[int, int]]:
    """Where the rows stand that both have, and how many of the units that both have are in one alone.

    Among events of several kinds are some that a model makes up, such as false alarms: these are matched within their
    unit, and none is missed.
    """
    events = "kind" in first and "kind" in second
    names = [name for name in (*KEYS, *(("unit",) if events else ())) if name in first and name in second]
    if len(first) == len(second) and all(np.array_equal(first[name], second[name]) for name in names):
        return slice(None), slice(None), (0, 0)
    keys, other_keys = _codes(first, second, names)
    often = (
        np.bincount(keys, minlength=other_keys.max(initial=0) + 1),
        np.bincount(other_keys, minlength=keys.max(initial=0) + 1),
    )
    equal = often[0] == often[1]
    mine, theirs = np.flatnonzero(equal[keys]), np.flatnonzero(equal[other_keys])
    mine, theirs = mine[np.argsort(keys[mine], kind="stable")], theirs[np.argsort(other_keys[theirs], kind="stable")]
    units = [name for name in ("unit", "unit_b") if name in first and name in second]
    if events or not units:
        return mine, theirs, (0, 0)
    sides = [np.unique(np.concatenate([rows[name] for name in units])) for rows in (first, second)]
    common = np.intersect1d(sides[0], sides[1])
    alone = []
    for codes, rows in ((keys, first), (other_keys, second)):
        inside = np.logical_and.reduce([np.isin(rows[name], common) for name in units])
        alone.append(int((inside & ~equal[codes]).sum()))
    return mine, theirs, (alone[0], alone[1])


def _data_change(name: str, unlike: Array, items: Array, one: Array, other: Array) -> DataChange | None:
    places = np.flatnonzero(unlike)
    if not len(places):
        return None
    examples = (Change(str(items[at]), one[at].item(), other[at].item()) for at in places[:MOST_EXAMPLES])
    return DataChange(name, len(places), len(unlike), tuple(examples))


def _codes(first: Records, second: Records, names: Sequence[str]) -> tuple[Array, Array]:
    """One number per row of each, equal where the named columns are."""
    columns = {}
    for name in names:
        both = first[name], second[name]
        columns[name] = both if all(column.dtype.kind in "iub" for column in both) else tuple(map(_text, both))
    parts = [Records({name: both[side] for name, both in columns.items()}, {}) for side in (0, 1)]
    index, _ = distinct(concatenate(parts), columns=names)
    return index[: len(first)].astype(np.int64), index[len(first) :].astype(np.int64)


def _occurrence(codes: Array) -> Array:
    """(rows,): how many earlier rows have the same code."""
    order = np.argsort(codes, kind="stable")
    _, starts, lengths = np.unique(codes[order], return_index=True, return_counts=True)
    earlier = np.empty(len(codes), dtype=np.int64)
    earlier[order] = np.arange(len(codes)) - np.repeat(starts, lengths)
    return earlier


def _text(column: Array) -> Array:
    return column if column.dtype.kind == "U" else column.astype(np.str_)


def _span(first: Array, second: Array) -> float:
    """The range of the numbers of a column, over both runs; 1 for what is no number."""
    if first.dtype.kind not in "iuf" or second.dtype.kind not in "iuf":
        return 1.0
    every = np.concatenate([first.reshape(-1), second.reshape(-1)]).astype(np.float64)
    every = every[np.isfinite(every)]
    return (float(np.ptp(every)) if len(every) else 0.0) or 1.0


def _distance(first: Array, second: Array, span: float) -> Array:
    """(rows,): how far apart the values of two equally long columns are, 0 where they are the same."""
    if first.shape[1:] != second.shape[1:]:
        return np.ones(len(first))
    if first.dtype.kind in "iuf" and second.dtype.kind in "iuf":
        first_values, second_values = first.astype(np.float64), second.astype(np.float64)
        same = (first_values == second_values) | (np.isnan(first_values) & np.isnan(second_values))
        with np.errstate(invalid="ignore"):
            apart = np.abs(first_values - second_values) / span
        apart = np.where(same, 0.0, np.where(np.isfinite(apart), apart, 1.0))
    else:
        apart = np.asarray(first != second).astype(np.float64)
    return np.asarray(apart.max(axis=tuple(range(1, apart.ndim)), initial=0.0)) if apart.ndim > 1 else apart


def _labels(attribute: Attribute) -> Array:
    """(rows,): the levels of each row as a text."""
    names = [" | ".join(np.array(attribute.levels)[pattern]) or MISSING for pattern in attribute.patterns]
    return np.asarray(np.array([*names, "does not apply"])[attribute.codes])


def _cells(
    first: Records, second: Records, mine: int, theirs: int, labels: Mapping[str, tuple[Array, Array]]
) -> Iterator[Change]:
    for name in first.columns:
        if name in second and name not in KEYS:
            one, other = first[name][[mine]], second[name][[theirs]]
            if _distance(one, other, 1.0)[0]:
                yield Change(name, one[0].tolist(), other[0].tolist())
    for name, (one, other) in labels.items():
        if one[mine] != other[theirs]:
            yield Change(name, str(one[mine]), str(other[theirs]))


def _name(rows: Records, at: int) -> tuple[str, str | None]:
    """What a row is about: its item, and where that has several rows the attributes that tell them apart; its kind."""
    item, kind = str(rows["item"][at]), str(rows["kind"][at]) if "kind" in rows else None
    several = np.flatnonzero(np.asarray(rows["item"]) == rows["item"][at])
    if len(several) > 1:
        for name, attribute in rows.attributes.items():
            labels = _labels(attribute.take(several))
            if (labels != labels[0]).any():
                item += f", {name} {labels[np.flatnonzero(several == at)[0]]}"
    return item, kind


def _facts(manifest: Manifest) -> dict[str, Any]:
    facts = {"task": manifest.task, "model": manifest.model, "data set": manifest.dataset}
    facts["hash of inputs"] = _hash_kind(manifest)
    facts |= {f"code of {name}": digest for name, digest in manifest.code.items()}
    facts |= {f"instrument {name}": fingerprint for name, fingerprint in manifest.instruments.items()}
    return facts | {f"platform: {name}": value for name, value in manifest.platform.items()}


def _hash_kind(manifest: Manifest) -> str:
    return "SHA-256" if manifest.format < 2 else "BLAKE3"


def _input_changes(first: Manifest, second: Manifest) -> tuple[Change, ...]:
    """Files by their hash, media by theirs; by size where one run has a SHA-256 and the other a BLAKE3 of them."""
    runs = [{f"{file.role}: {file.name}".rstrip(": "): file for file in run.inputs} for run in (first, second)]
    mine, theirs = ({name: file.hash for name, file in files.items()} for files in runs)
    for name in mine.keys() & theirs.keys():
        if mine[name].startswith(SHA256) != theirs[name].startswith(SHA256):
            mine[name], theirs[name] = (f"{files[name].size:,} bytes" for files in runs)
    of_content = [run.media.hashed for run in (first, second) if run.media is not None]  # not by their time stamps
    by_size = of_content == [True, True] and _hash_kind(first) != _hash_kind(second)
    for files, run in ((mine, first), (theirs, second)):
        if run.media is not None:
            files["media"] = f"{run.media.bytes:,} bytes" if by_size else run.media.sha256
    return _changes(mine, theirs)


def _changes(first: Mapping[str, Any], second: Mapping[str, Any]) -> tuple[Change, ...]:
    both = {name: (first.get(name), second.get(name)) for name in (*first, *second)}
    return tuple(Change(name, one, other) for name, (one, other) in both.items() if one != other)


def _values(first: Run, second: Run) -> tuple[Change, ...]:
    """Estimates that are not the same: those of most rows first, then by how far they are apart."""
    changes: list[tuple[float, Change]] = []
    others = {(e.metric, e.output, e.group): e for e in second.results.estimates}
    for estimate in first.results.estimates:
        other = others.get((estimate.metric, estimate.output, estimate.group))
        if other is None or estimate.value == other.value:
            continue
        both = estimate.number, other.number
        apart = abs(both[0] - both[1]) if both[0] is not None and both[1] is not None else 0.0
        name = f"{estimate.metric}.{estimate.output}, {estimate.group}"
        changes.append((apart, Change(name, estimate.value, other.value, min(estimate.rows, other.rows))))
    changes.sort(key=lambda entry: (-entry[1].rows, -entry[0]))  # matrices and curves after the numbers of their group
    return tuple(change for _, change in changes)
