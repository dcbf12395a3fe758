"""What of a run is whole, what is missing or damaged, and what can still be shown.

`store` opens whole runs and refuses others. A page must not: here every piece of a run's folder is looked at by
itself, and what can be read is kept beside the reasons why the rest can't.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError, RunError
from evenhand.core.records import Records, concatenate
from evenhand.core.results import Results
from evenhand.files import inputs
from evenhand.serve.folders import OutsideError, ServedFolders
from evenhand.store.manifest import FILENAME, Manifest, check_format, read_manifest
from evenhand.store.plain import from_plain, loads
from evenhand.store.runs import (
    PREDICTIONS,
    RECORDED,
    RECORDS,
    RESULTS,
    Recorded,
    Run,
    is_plain,
    read_parts,
    read_recorded,
)

_TELLING = ("kind", "task", "model", "dataset", "format", "fingerprint")  # shown of a run.json that we can't read


class Condition(Enum):
    """How a piece of a run is."""

    WHOLE = "whole"
    NOT_KEPT = "not kept"
    MISSING = "missing"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class Piece:
    """One piece of a run's folder."""

    name: str
    holds: str  # what it is good for, in the words of the user
    condition: Condition
    said: str = ""


@dataclass(frozen=True)
class Examined:
    """All that can be read of a run, and how each piece is."""

    folder: Path
    pieces: tuple[Piece, ...]
    manifest: Manifest | None = None
    results: Results | None = None
    recorded: Recorded | None = None
    told: Mapping[str, str] = field(default_factory=dict)  # what an unreadable run.json says nonetheless

    @property
    def is_whole(self) -> bool:
        return all(piece.condition in (Condition.WHOLE, Condition.NOT_KEPT) for piece in self.pieces)

    @property
    def task(self) -> str:
        return self._fact("task")

    @property
    def model(self) -> str:
        return self._fact("model")

    @property
    def run(self) -> Run | None:
        """The run as the verbs take it; None when its manifest or results can't be read."""
        if self.manifest is None or self.results is None:
            return None
        return Run(self.folder, self.manifest, self.results)

    def _fact(self, name: str) -> str:
        for source in (self.results, self.manifest):
            if source is not None:
                return str(getattr(source, name))
        return self.told.get(name, "")


def examine(folder: Path, allowed: ServedFolders) -> Examined:
    """Look at every piece of a run's folder; raises OutsideError when a link in it leads out."""
    allowed.check_tree(folder)
    pieces: list[Piece] = []
    manifest, told = _manifest(folder, pieces)
    kind = manifest.kind if manifest is not None else told.get("kind", "evaluation")
    if kind == "predictions":
        pieces.append(_predictions(folder))
        return Examined(folder, tuple(pieces), manifest, told=told)
    results = _results(folder, pieces)
    recorded = _recorded(folder, manifest, pieces)
    return Examined(folder, tuple(pieces), manifest, results, recorded, told)


def readable_rows(found: Examined, allowed: ServedFolders) -> tuple[Records, tuple[str, ...]]:
    """The rows of every part that can be read, and what is wrong with the others.

    Raises RunError when there are no rows to read.
    """
    if found.recorded is None:
        reason = next((piece.said for piece in found.pieces if piece.name == RECORDS and piece.said), "")
        raise RunError(reason or "The run keeps no rows. Evaluate again with --rows all to store them.")
    parts, problems = [], []
    for part, problem in _parts(found.folder / RECORDS, found.recorded, allowed):
        if part is None:
            problems.append(problem)
        else:
            parts.append(part)
    if not parts and problems:
        raise RunError(" ".join(problems))
    return concatenate(parts), tuple(problems)


def _manifest(folder: Path, pieces: list[Piece]) -> tuple[Manifest | None, Mapping[str, str]]:
    what = "what was evaluated, with what, when"
    try:
        manifest = read_manifest(folder)
    except InputError as error:
        missing = not (folder / FILENAME).exists()
        pieces.append(Piece(FILENAME, what, Condition.MISSING if missing else Condition.DAMAGED, str(error)))
        return None, _manifest_facts(folder / FILENAME)
    pieces.append(Piece(FILENAME, what, Condition.WHOLE))
    return manifest, {}


def _manifest_facts(path: Path) -> Mapping[str, str]:
    """The plain facts in a run.json of another version."""
    try:
        plain = loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    if not isinstance(plain, dict):
        return {}
    return {name: str(plain[name])[:200] for name in _TELLING if isinstance(plain.get(name), str | int)}


def _results(folder: Path, pieces: list[Piece]) -> Results | None:
    what, path = "values, intervals, comparisons of groups, coverage", folder / RESULTS
    try:
        results: Results = from_plain(results_plain(path), Results)
    except (InputError, ValueError, TypeError) as error:
        missing = not path.exists()
        said = f"There is no {RESULTS}: the evaluation did not get that far." if missing else str(error)
        pieces.append(Piece(RESULTS, what, Condition.MISSING if missing else Condition.DAMAGED, said))
        return None
    pieces.append(Piece(RESULTS, what, Condition.WHOLE))
    return results


def results_plain(path: Path) -> dict[str, Any]:
    """What stands in `results.json`, of a version that we know; raises RunError or ValueError."""
    plain: dict[str, Any] = check_format(loads(inputs.read(path, RunError).data), path)
    return {name: value for name, value in plain.items() if name != "format"}


def _recorded(folder: Path, manifest: Manifest | None, pieces: list[Piece]) -> Recorded | None:
    what, path = "the rows behind every number", folder / RECORDS / RECORDED
    if not path.exists():
        kept = manifest is None or manifest.stored.get("rows", False)
        said = "The rows were there once and are gone." if kept and manifest is not None else ""
        condition = Condition.MISSING if kept else Condition.NOT_KEPT
        hint = "Evaluate again with --rows all to store them." if not kept else "Evaluate again with --force."
        pieces.append(Piece(RECORDS, what, condition, f"{said} {hint}".strip()))
        return None
    try:
        recorded = read_recorded(folder / RECORDS)
    except InputError as error:
        pieces.append(Piece(RECORDS, what, Condition.DAMAGED, str(error)))
        return None
    gone = [part.name for part in recorded.parts if not is_plain(part.name) or not (path.parent / part.name).is_file()]
    if gone:
        said = f"{len(gone)} of {len(recorded.parts)} parts are missing: {', '.join(gone[:3])}."
        pieces.append(Piece(RECORDS, what, Condition.DAMAGED, f"{said} The other rows can be shown."))
    else:
        pieces.append(Piece(RECORDS, what, Condition.WHOLE))
    return recorded


def _predictions(folder: Path) -> Piece:
    place = folder / PREDICTIONS
    there = place.is_dir() and any(place.iterdir())
    said = "" if there else "Ask the model again: evenhand predict … --resume."
    what = "the official file of answers"
    return Piece(PREDICTIONS, what, Condition.WHOLE if there else Condition.MISSING, said)


def _parts(records: Path, recorded: Recorded, allowed: ServedFolders) -> Iterator[tuple[Records | None, str]]:
    for part in recorded.parts:
        try:
            if not is_plain(part.name):
                raise OutsideError(f"{RECORDED} names the part {part.name!r}, which is no name of a file beside it.")
            allowed.inside(records / part.name)
            yield next(read_parts(records, replace(recorded, parts=(part,)))), ""
        except InputError as error:
            yield None, str(error)
