"""What of a run is whole, what is missing or damaged, and what can still be shown.

`open_run` takes whole runs and refuses others. A report or a page must not: here every piece of a run's folder is
read by itself. `results.json` has a line per estimate, so a file that was cut off still has whole lines; fields of a
newer version that are not known here are left out. Both are reported, and nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple, get_args, get_type_hints

from evenhand.core.errors import EvenhandError, InputError, RunError
from evenhand.core.records import Records, concatenate
from evenhand.core.results import Contrast, Coverage, Estimate, Method, MetricFact, Omnibus, Results, Summary
from evenhand.files import inputs
from evenhand.store.manifest import FILENAME, Input, Manifest, from_format_1, read_manifest
from evenhand.store.plain import from_plain, loads
from evenhand.store.runs import (
    PREDICTIONS,
    RECORDED,
    RECORDS,
    RESULTS,
    RecordedParts,
    Run,
    is_plain,
    open_run,
    read_parts,
    read_recorded,
)

_SHOWN_FACTS = ("kind", "task", "model", "dataset", "format", "fingerprint")  # of a run.json that can't be read


class Condition(Enum):
    WHOLE = "whole"
    NOT_KEPT = "not kept"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class Piece:
    name: str
    holds: str  # what it is good for, in the words of the user
    condition: Condition
    reason: str = ""

    @property
    def is_lost(self) -> bool:
        return self.condition in (Condition.MISSING, Condition.DAMAGED)


@dataclass(frozen=True)
class InspectedRun:
    """All that can be read of a run, and how each piece is."""

    folder: Path
    pieces: tuple[Piece, ...]
    manifest: Manifest | None = None
    results: Results | None = None  # as far as they can be read
    recorded: RecordedParts | None = None
    run: Run | None = None  # the run as the commands take it; None when its manifest or results are not whole
    inputs: tuple[Input, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)  # what an unreadable run.json says nonetheless

    @property
    def is_whole(self) -> bool:
        return not any(piece.is_lost for piece in self.pieces)

    def reason(self, name: str) -> str:
        return next((piece.reason for piece in self.pieces if piece.name == name), "")


def inspect_run(folder: Path, *, pairs_on_disk: bool = False) -> InspectedRun:
    """Every piece of a run's folder; raises RunError when the folder holds no run at all.

    `pairs_on_disk` as in `open_run`.
    """
    if not (folder / FILENAME).exists() and not (folder / RESULTS).exists():
        open_run(folder)  # says why
    manifest, plain, piece = _manifest(folder)
    facts = {name: str(plain[name])[:200] for name in _SHOWN_FACTS if isinstance(plain.get(name), str | int)}
    if (manifest.kind if manifest is not None else facts.get("kind")) == "predictions":
        place, reason = folder / PREDICTIONS, "Ask the model again: evenhand predict … --resume."
        there = place.is_dir() and any(place.iterdir())
        answers = ("", Condition.WHOLE) if there else (reason, Condition.MISSING)
        return InspectedRun(folder, (piece, _piece(place, *answers)), manifest, facts=facts)
    run: Run | None = None
    reasons: list[str] = []
    if manifest is not None:
        try:
            run = open_run(folder, pairs_on_disk=pairs_on_disk)
            results = run.results
        except InputError as error:
            plain = {"task": manifest.task, "model": manifest.model, "dataset": manifest.dataset}
            results, reasons = _readable_results(folder / RESULTS, plain, str(error))
    else:
        results, reasons = _readable_results(folder / RESULTS, plain)
    recorded, rows = _recorded(folder, manifest)
    pieces = (piece, _piece(folder / RESULTS, " ".join(reasons)), rows)
    files = manifest.inputs if manifest is not None else tuple(_readable_entries(plain, "inputs", Input))
    return InspectedRun(folder, pieces, manifest, results, recorded, run, files, {} if manifest else facts)


_HOLD = {
    FILENAME: "what was evaluated, with what, when",
    PREDICTIONS: "the official file of answers",
    RESULTS: "values, intervals, comparisons of groups, coverage",
    RECORDS: "the rows behind every number",
}


def _piece(path: Path, reason: str = "", condition: Condition | None = None) -> Piece:
    """A piece of a run; with a reason it is missing or damaged, unless its condition is said."""
    if condition is None and reason:
        condition = Condition.DAMAGED if path.exists() else Condition.MISSING
    return Piece(path.name, _HOLD[path.name], condition or Condition.WHOLE, reason)


class ReadableRows(NamedTuple):
    """The rows of every part that can be read, and what is wrong with the others."""

    records: Records
    problems: tuple[str, ...]


def readable_rows(run: InspectedRun, check: Callable[[Path], object]) -> ReadableRows:
    """The rows of a run, as far as they can be read; raises RunError when there are none.

    `check` raises InputError for a file that may not be read.
    """
    if run.recorded is None:
        raise RunError(run.reason(RECORDS) or "The run keeps no rows. Evaluate again with --rows all to store them.")
    records, parts, problems = run.folder / RECORDS, [], []
    for part in run.recorded.parts:
        try:
            if is_plain(part.name):
                check(records / part.name)
            parts.append(next(read_parts(records, replace(run.recorded, parts=(part,)))))
        except InputError as error:
            problems.append(str(error))
    if not parts and problems:
        raise RunError(" ".join(problems))
    return ReadableRows(concatenate(parts), tuple(problems))


def _manifest(folder: Path) -> tuple[Manifest | None, dict[str, Any], Piece]:
    """The manifest, or where it can't be read the fields that can, and how it is."""
    path = folder / FILENAME
    try:
        return read_manifest(folder), {}, _piece(path)
    except InputError as error:
        piece = _piece(path, str(error))
    try:
        plain = loads(inputs.read(path, RunError).data)
    except (ValueError, EvenhandError):
        plain = None
    return None, from_format_1(plain) if isinstance(plain, dict) else {}, piece


def _recorded(folder: Path, manifest: Manifest | None) -> tuple[RecordedParts | None, Piece]:
    path = folder / RECORDS
    if not (path / RECORDED).exists():
        if manifest is not None and not manifest.stored.get("rows", False):
            return None, _piece(path, "Evaluate again with --rows all to store them.", Condition.NOT_KEPT)
        loss = "The rows were there once and are gone. " if manifest is not None else ""
        return None, _piece(path, f"{loss}Evaluate again with --force.", Condition.MISSING)
    try:
        recorded = read_recorded(path)
    except InputError as error:
        return None, _piece(path, str(error))
    gone = [part.name for part in recorded.parts if not is_plain(part.name) or not (path / part.name).is_file()]
    reason = f"{len(gone)} of {len(recorded.parts)} parts are missing: {', '.join(gone[:3])}." if gone else ""
    return recorded, _piece(path, reason)


# Results of which only a part can be read


def _readable_results(path: Path, facts: Mapping[str, Any], reason: str = "") -> tuple[Results, list[str]]:
    """What is left of the results, and what is wrong with them."""
    problems = [reason] if reason else []
    plain, is_complete = _fields(path, problems)
    readable = {name: _lenient(plain[name], kind) for name, kind in _PARTS.items() if name in plain}
    for name, kind in _LISTS.items():
        readable[name] = tuple(_readable_entries(plain, name, kind))
        count = len(plain[name]) if isinstance(plain.get(name), list) else 0
        if lost := count - len(readable[name]):
            problems.append(f"{lost:,} of {count:,} {name} can't be read and are not shown.")
    if not readable["estimates"]:
        problems.append("There are no values left to show: evaluate again with --force.")
    elif not is_complete:
        problems.append(f"{len(readable['estimates']):,} values could be read and are shown; others may be lost.")
    simple = {name: plain[name] for name in _SIMPLE if isinstance(plain.get(name), _SIMPLE[name])}
    lists = {"by": tuple(map(str, plain.get("by") or ())), "warnings": tuple(map(str, plain.get("warnings") or ()))}
    first = plain.get("headline")
    headline = (str(first[0]), str(first[1])) if isinstance(first, list) and len(first) == 2 else None
    there = {name: value for name, value in readable.items() if value is not None}
    results = Results(
        task=str(plain.get("task") or facts.get("task") or "unknown task"),
        model=str(plain.get("model") or facts.get("model") or "unknown model"),
        dataset=str(plain.get("dataset") or facts.get("dataset") or "unknown"),
        headline=headline,
        **{"options": {}, "coverage": Coverage(), **simple, **there, **lists},
    )
    return results, problems


_LISTS: Mapping[str, type[Any]] = {
    "estimates": Estimate,
    "contrasts": Contrast,
    "omnibus": Omnibus,
    "summaries": Summary,
    "metrics": MetricFact,
}
_PARTS: Mapping[str, type[Any]] = {"coverage": Coverage, "method": Method}
_SIMPLE: Mapping[str, type[Any]] = {"rows": int, "units": int, "version": str, "options": dict, "instruments": dict}


def _fields(path: Path, problems: list[str]) -> tuple[dict[str, Any], bool]:
    """The fields of `results.json` and whether it was whole; line by line when it is not."""
    if not path.exists():
        problems.append(f"{path.name} is not there: the run was not finished, or it was deleted.")
        return {}, False
    try:
        data = inputs.read(path, RunError).data
    except EvenhandError as error:
        problems.append(str(error))
        return {}, False
    try:
        plain = loads(data)
        return (plain, True) if isinstance(plain, dict) else ({}, False)
    except ValueError:
        return _whole_lines(data), False


def _whole_lines(data: bytes) -> dict[str, Any]:
    """What the whole lines of a damaged file hold.

    >>> _whole_lines(b'{\\n"rows": 3,\\n"estimates": [\\n{"value":0.5},\\n{"val')
    {'rows': 3, 'estimates': [{'value': 0.5}]}
    """
    values: dict[str, Any] = {}
    inside: list[Any] | None = None
    for line in data.splitlines():
        text = line.strip().rstrip(b",")
        if text.endswith(b": [") and text.startswith(b'"'):
            name = text[1 : text.index(b'"', 1)].decode("utf-8", "replace")
            inside = values.setdefault(name, [])
            continue
        if text == b"]":
            inside = None
            continue
        try:
            if inside is not None:
                inside.append(loads(text))
            elif text.startswith(b'"'):
                values.update(loads(b"{" + text + b"}"))
        except ValueError:
            continue
    return values


def _lenient(plain: Any, kind: type[Any]) -> Any:
    """A value whose unknown fields are left out; None when it can't be read."""
    try:
        return from_plain(_known(plain, kind), kind)
    except (ValueError, TypeError, KeyError):
        return None


def _readable_entries(plain: Mapping[str, Any], name: str, kind: type[Any]) -> Iterator[Any]:
    """The entries of a list in a file that can be read; none where there is no list."""
    entries = plain.get(name)
    read = (_lenient(entry, kind) for entry in entries) if isinstance(entries, list) else ()
    return (entry for entry in read if entry is not None)


def _known(plain: Any, kind: Any) -> Any:
    if not (is_dataclass(kind) and isinstance(plain, dict)):
        inner = [part for part in get_args(kind) if is_dataclass(part)]
        return _known(plain, inner[0]) if len(inner) == 1 and isinstance(plain, dict) else plain
    hints = get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    return {name: _known(value, hints[name]) for name, value in plain.items() if name in names}
