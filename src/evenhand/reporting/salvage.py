"""What can still be shown of a run that is incomplete, damaged, or of another version.

`results.json` has a line per estimate, so a file that was cut off still has whole lines; a newer
version's fields that are not known here are left out, and both are reported. Nothing is guessed: what can't be
read is not shown.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass, replace
from pathlib import Path
from typing import Any, get_args, get_type_hints

from evenhand.core.errors import EvenhandError, RunError
from evenhand.core.results import Contrast, Coverage, Estimate, Method, MetricFact, Omnibus, Results, Summary
from evenhand.files import inputs
from evenhand.reporting.reported import Reported, family_of, reported
from evenhand.store.manifest import FILENAME, FORMAT, Input
from evenhand.store.plain import from_plain, loads
from evenhand.store.runs import RECORDS, RESULTS, open_run


def reported_folder(folder: Path) -> Reported:
    """A stored run for its report, as far as it can be read; raises RunError when the folder holds no run at all."""
    folder = Path(folder)
    try:
        run = open_run(folder)
    except RunError as error:
        if not (folder / FILENAME).exists() and not (folder / RESULTS).exists():
            raise
        return salvaged(folder, str(error))
    found = reported(run)
    try:
        if run.manifest.stored.get("rows", False):
            run.recorded  # noqa: B018  # reading it tells whether it is there and whole
            gone = [part.name for part in run.recorded.parts if not (folder / RECORDS / part.name).exists()]
            if gone:
                raise RunError(f"{len(gone)} of {len(run.recorded.parts)} files of rows are gone ({gone[0]}, …).")
    except RunError as error:
        told = f"The rows can't be read: {error} The numbers below do not depend on them."
        found = replace(found, problems=(*found.problems, told))
    return found


def salvaged(folder: Path, reason: str) -> Reported:
    """What is left of a run that can't be opened, and why it can't."""
    problems = [reason]
    facts = _object(folder / FILENAME, problems)
    version = facts.get("format")
    if isinstance(version, int) and version != FORMAT:
        problems.append(
            f"It was written in format {version}, this evenhand reads {FORMAT}: unknown fields are left out."
        )
    plain, whole = _results(folder / RESULTS, problems)
    kept = {name: _lenient(plain[name], kind) for name, kind in _PARTS.items() if name in plain}
    for name, kind in _LISTS.items():
        entries = plain.get(name, [])
        read = [entry for entry in (_lenient(one, kind) for one in entries) if entry is not None]
        lost = len(entries) - len(read)
        if lost:
            problems.append(f"{lost:,} of {len(entries):,} {name} can't be read and are not shown.")
        kept[name] = tuple(read)
    if not kept["estimates"]:
        problems.append("There are no values left to show: evaluate again with --force.")
    elif not whole:
        problems.append(f"{len(kept['estimates']):,} values could be read and are shown; others may be lost.")
    simple = {name: plain[name] for name in _SIMPLE if isinstance(plain.get(name), _SIMPLE[name])}
    levels = {"by": tuple(map(str, plain.get("by") or ())), "warnings": tuple(map(str, plain.get("warnings") or ()))}
    head = plain.get("headline")
    headline = (str(head[0]), str(head[1])) if isinstance(head, list) and len(head) == 2 else None
    there = {name: value for name, value in kept.items() if value is not None}
    results = Results(
        task=str(plain.get("task") or facts.get("task") or "unknown task"),
        model=str(plain.get("model") or facts.get("model") or "unknown model"),
        dataset=str(plain.get("dataset") or facts.get("dataset") or "unknown"),
        headline=headline,
        **{"options": {}, "coverage": Coverage(), **simple, **there, **levels},
    )
    files = tuple(one for one in (_lenient(entry, Input) for entry in facts.get("inputs") or ()) if one is not None)
    question = family_of(replace(results, estimates=()))[0] if "/" in results.task else ""
    return Reported(results, (), question, files, tuple(problems))


_LISTS: Mapping[str, type[Any]] = {
    "estimates": Estimate,
    "contrasts": Contrast,
    "omnibus": Omnibus,
    "summaries": Summary,
    "metrics": MetricFact,
}
_PARTS: Mapping[str, type[Any]] = {"coverage": Coverage, "method": Method}
_SIMPLE: Mapping[str, type[Any]] = {"rows": int, "units": int, "version": str, "options": dict, "instruments": dict}


def _object(path: Path, problems: list[str]) -> dict[str, Any]:
    """The fields of a JSON file; none when it can't be read, with the reason among the problems."""
    try:
        plain = loads(inputs.read(path, RunError).data)
    except (ValueError, EvenhandError) as error:
        problems.append(f"{path.name} can't be read: {error}")
        return {}
    return plain if isinstance(plain, dict) else {}


def _results(path: Path, problems: list[str]) -> tuple[dict[str, Any], bool]:
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
    found: dict[str, Any] = {}
    inside: list[Any] | None = None
    for line in data.splitlines():
        text = line.strip().rstrip(b",")
        if text.endswith(b": [") and text.startswith(b'"'):
            name = text[1 : text.index(b'"', 1)].decode("utf-8", "replace")
            inside = found.setdefault(name, [])
            continue
        if text == b"]":
            inside = None
            continue
        try:
            if inside is not None:
                inside.append(loads(text))
            elif text.startswith(b'"'):
                found.update(loads(b"{" + text + b"}"))
        except ValueError:
            continue
    return found


def _lenient(plain: Any, kind: type[Any]) -> Any:
    """A value whose unknown fields are left out; None when it can't be read."""
    try:
        return from_plain(_known(plain, kind), kind)
    except (ValueError, TypeError, KeyError):
        return None


def _known(plain: Any, kind: Any) -> Any:
    if not (is_dataclass(kind) and isinstance(plain, dict)):
        inner = [part for part in get_args(kind) if is_dataclass(part)]
        return _known(plain, inner[0]) if len(inner) == 1 and isinstance(plain, dict) else plain
    hints = get_type_hints(kind)
    names = {field.name for field in fields(kind)}
    return {name: _known(value, hints[name]) for name, value in plain.items() if name in names}
