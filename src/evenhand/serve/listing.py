"""Every run below a folder, in one line each, which of them a list shows in which order, and how far others are.

The folder is walked again when somebody asks and the last walk is old enough; a run is read again when its files
have changed. Links are not followed, and counted.

The progress of an unfinished run is seen from what is on disk. An evaluation keeps the parts that it has recorded,
`predict` journals its answers; both do so in a hidden folder that is locked while somebody writes it. Looking takes no
lock and changes nothing.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from threading import Lock
from time import monotonic, time
from typing import Any

import msgspec
from starlette.datastructures import QueryParams

from evenhand.core.errors import InputError, RunError
from evenhand.core.page import Interval
from evenhand.core.printing import printable
from evenhand.core.results import Results
from evenhand.files import inputs
from evenhand.reporting.display import names_of_results, shown_group
from evenhand.reporting.phrases import as_cell, direction_of, headline, levels
from evenhand.reporting.sections import gap_of, ordered
from evenhand.serve.folders import OutsideError, ServedFolders
from evenhand.store.manifest import FILENAME, read_manifest
from evenhand.store.plain import from_plain, loads
from evenhand.store.runs import RECORDED, RECORDS, RESULTS, results_plain, walk_runs
from evenhand.store.unfinished import UNDERWAY, UNFINISHED

FRESH_SECONDS = 1.0
_SHARE_OF_TIME = 10  # a walk that takes long is repeated seldom
_KEPT, _JOURNAL = "kept", "journal"
_LOCKS = Path("/proc/locks")
_Entry = tuple[str, str, msgspec.Raw]


class RunState(Enum):
    EVALUATION = "evaluation"
    PREDICTIONS = "predictions"
    DAMAGED = "damaged"


@dataclass(frozen=True)
class RunEntry:
    """A run, as it stands in the list."""

    key: str  # how it is addressed
    folder: Path
    name: str  # below the folder of runs, for people
    state: RunState
    task: str = ""
    model: str = ""
    dataset: str = ""
    finished: str = ""
    output: str = ""  # what the value is of
    better: str = ""  # "higher" or "lower"
    value: Interval = field(default_factory=lambda: Interval(None))
    gap: Interval = field(default_factory=lambda: Interval(None))
    gap_by: str = ""
    worst: str = ""
    units: int = 0
    problem: str = ""

    @property
    def words(self) -> str:
        """What is searched for a text."""
        return f"{self.task} {self.model} {self.dataset} {self.name} {self.worst}".casefold()


@dataclass(frozen=True)
class RunList:
    lines: tuple[RunEntry, ...] = ()
    unfinished: tuple[Path, ...] = ()
    links: int = 0  # not followed
    version: str = ""  # changes with the lines

    def find(self, key: str) -> RunEntry | None:
        return next((line for line in self.lines if line.key == key), None)


_ORDERS: dict[str, Callable[[RunEntry], Any]] = {
    "task": lambda line: (line.task, line.model, line.name),
    "model": lambda line: (line.model.casefold(), line.task, line.name),
    "value": lambda line: -math.inf if line.value.value is None else line.value.value,
    "gap": lambda line: -1.0 if line.gap.value is None else line.gap.value,
    "units": lambda line: line.units,
    "finished": lambda line: line.finished,
}
_FALLING = ("value", "gap", "units", "finished")  # the direction that people want first
MOST = 500  # lines on a page


@dataclass(frozen=True)
class RunFilter:
    text: str = ""
    task: str = ""
    state: str = ""
    order: str = "finished"
    falling: bool = True
    ticked: tuple[str, ...] = ()

    @classmethod
    def of(cls, query: QueryParams) -> RunFilter:
        """What an address says; names that are not known are ignored."""
        order = query.get("sort", "finished")
        order = order if order in _ORDERS else "finished"
        way = query.get("way", "")
        falling = way == "down" if way in ("up", "down") else order in _FALLING
        state = query.get("state", "")
        return cls(
            query.get("q", "").strip()[:200],
            query.get("task", ""),
            state if state in {one.value for one in RunState} else "",
            order,
            falling,
            tuple(dict.fromkeys(query.getlist("run"))),
        )

    def pick(self, listing: RunList) -> tuple[RunEntry, ...]:
        wanted = self.text.casefold().split()
        lines = [
            line
            for line in listing.lines
            if (not self.task or line.task == self.task)
            and (not self.state or line.state.value == self.state)
            and all(word in line.words for word in wanted)
        ]
        lines.sort(key=lambda line: line.name)
        lines.sort(key=_ORDERS[self.order], reverse=self.falling)
        return tuple(lines)

    def hidden(self, shown: Sequence[RunEntry], listing: RunList) -> tuple[RunEntry, ...]:
        """Ticked runs that the filter hides; they stay ticked."""
        visible = {line.key for line in shown}
        return tuple(line for key in self.ticked if key not in visible and (line := listing.find(key)) is not None)

    def turned(self, order: str) -> str:
        """The way in which a click on a column sorts."""
        if order == self.order:
            return "up" if self.falling else "down"
        return "down" if order in _FALLING else "up"

    def aria(self, order: str) -> str:
        """How a column is sorted, for a screen reader."""
        return "none" if order != self.order else "descending" if self.falling else "ascending"


Stamp = tuple[tuple[int, int, int] | None, ...]


class RunIndex:
    """The runs below a folder, as they are now."""

    def __init__(self, root: Path) -> None:
        self.root, self.allowed = root, ServedFolders.of([root])
        self._read: dict[Path, tuple[Stamp, RunEntry]] = {}
        self._latest = RunList()
        self._due = float("-inf")
        self._lock = Lock()

    def now(self) -> RunList:
        """What is in the folder; at most a second old, or older where walking takes long."""
        with self._lock:
            begun = monotonic()
            if begun >= self._due:
                self._latest = self._walk()
                self._due = monotonic() + max(FRESH_SECONDS, _SHARE_OF_TIME * (monotonic() - begun))
            return self._latest

    def _walk(self) -> RunList:
        lines, unfinished, links = [], [], 0
        read: dict[Path, tuple[Stamp, RunEntry]] = {}
        for folder, is_finished, linked in walk_runs(self.root):
            links += linked
            if not is_finished:
                unfinished.append(folder)
                continue
            stamp = stamp_of(folder)
            known = self._read.get(folder)
            line = known[1] if known is not None and known[0] == stamp else self._line(folder)
            read[folder] = (stamp, line)
            lines.append(line)
        self._read = read
        version = hashlib.sha256(repr([(line.key, read[line.folder][0]) for line in lines]).encode()).hexdigest()[:16]
        return RunList(tuple(lines), tuple(unfinished), links, version)

    def _line(self, folder: Path) -> RunEntry:
        place = folder.relative_to(self.root).as_posix() if folder != self.root else folder.name
        line = RunEntry(key_of(folder, self.root), folder, printable(place, keep=""), RunState.EVALUATION)
        try:
            self.allowed.check_tree(folder)
            manifest = read_manifest(folder)
            line = replace(
                line,
                task=printable(manifest.task, keep=""),
                model=printable(manifest.model, keep=""),
                dataset=printable(manifest.dataset, keep=""),
                finished=manifest.clock.finished,
            )
            if manifest.kind == "predictions":
                return replace(line, state=RunState.PREDICTIONS)
            return replace(line, **_values(folder))
        except (InputError, ValueError, TypeError, AttributeError, OSError) as error:
            *task, model, _ = ("", *line.name.split("/"))[-4:]
            return replace(
                line,
                task=line.task or "/".join(filter(None, task)),
                model=line.model or model or line.name,
                state=RunState.DAMAGED,
                problem=printable(str(error), keep=""),
            )


def key_of(folder: Path, root: Path) -> str:
    """How a folder is addressed: a hash of where it lies, so that no request ever names a path."""
    return hashlib.sha256(os.fsencode(folder.relative_to(root).as_posix())).hexdigest()[:16]


def _values(folder: Path) -> Mapping[str, Any]:
    """What a list shows of the results; their groups are not read."""
    path = folder / RESULTS
    plain = results_plain(inputs.read(path, RunError).data, path)
    overall = [entry for entry in plain.get("estimates", ()) if entry.get("group") == []]
    numbers = [entry for entry in overall if isinstance(entry.get("value"), int | float | str)]
    undefined = [entry for entry in overall if isinstance(entry.get("value"), dict) and "undefined" in entry["value"]]
    reduced = {**plain, "estimates": [*numbers, *undefined], "contrasts": [], "omnibus": []}
    results: Results = from_plain(reduced, Results)
    values: dict[str, Any] = {"units": results.units}
    first = headline(results)
    if first is None:
        return values
    names, estimate = names_of_results(results), results.get(*first)
    is_share = names.is_share(*first) and estimate.number is not None and 0 <= estimate.number <= 1
    values["output"] = printable(names.value(*first), keep="")
    values["value"] = as_cell(estimate, "%" if is_share else "")
    values["better"] = direction_of(results, *first)
    gaps = [summary for summary in ordered(results, first) if isinstance(summary.values.get("max_gap"), float)]
    if gaps:
        widest = max(gaps, key=gap_of)
        worst = None if widest.worst is None else shown_group(widest.worst, names)
        values["gap"] = Interval(gap_of(widest), unit="points" if is_share else "")
        values |= {"gap_by": names.attribute(widest.by[0]), "worst": printable(levels(worst), keep="")}
    return values


def stamp_of(folder: Path) -> Stamp:
    """What changes when the files of a run do."""
    facts: list[tuple[int, int, int] | None] = []
    for name in (FILENAME, RESULTS):
        try:
            fact = (folder / name).stat()
            facts.append((fact.st_mtime_ns, fact.st_size, fact.st_ino))
        except OSError:
            facts.append(None)
    return tuple(facts)


@dataclass(frozen=True)
class RunProgress:
    key: str
    task: str
    model: str
    alive: bool | None  # None: this system does not tell
    changed: float  # seconds since something was written
    age: float  # seconds since it began
    kind: str = "evaluation"  # or "predictions"
    stage: str = "recording rows"  # what is being done, or was when it stopped
    done: int = 0  # answers or parts
    total: int | None = None  # answers that are wanted; None where it is not known
    unit: str = "parts recorded"  # what `done` counts
    unanswered: int = 0
    in_flight: int = 0

    @property
    def share(self) -> float | None:
        """How much is done, between 0 and 1; None where the total is not known."""
        return None if not self.total else min(self.done / self.total, 1.0)

    @property
    def rate(self) -> float | None:
        """How many a second, over all the time."""
        return self.done / self.age if self.age > 1 and self.done else None

    @property
    def remaining(self) -> float | None:
        """Seconds that the rest will take at that rate."""
        if self.total is None or self.rate is None or not self.alive:
            return None
        return max(self.total - self.done, 0) / self.rate


@dataclass
class _Answers:
    """The entries of the shards that were read; shards are whole and never change."""

    shards: set[str]
    kinds: dict[str, str]  # sample → "answer" or "unanswered"


class ProgressMonitor:
    """Follows the unfinished runs below a folder, and remembers where those were that are gone."""

    def __init__(self, root: Path) -> None:
        self.root, self.allowed = root, ServedFolders.of([root])
        self._answers: dict[Path, _Answers] = {}
        self._seen: dict[str, Path] = {}
        self._lock = Lock()

    def look(self, listing: RunList) -> tuple[RunProgress, ...]:
        with self._lock:
            unfinished = tuple(filter(None, map(self._progress, listing.unfinished)))
            for gone in set(self._answers) - set(listing.unfinished):
                del self._answers[gone]
        return unfinished

    def became(self, key: str, listing: RunList) -> RunEntry | None:
        """The finished run that an unfinished one has become."""
        folder = self._seen.get(key)
        if folder is None:
            return None
        name = folder.name[1:].partition(UNFINISHED)[0]
        for line in listing.lines:
            if line.folder.parent != folder.parent or line.state is RunState.DAMAGED:
                continue
            if line.folder.name == name or read_manifest(line.folder).fingerprint == name:
                return line
        return None

    def _progress(self, folder: Path) -> RunProgress | None:
        try:
            self.allowed.check_tree(folder)
            fact = folder.stat()
            begun = min((path.stat().st_mtime for path in folder.iterdir()), default=fact.st_mtime)
            latest = max(path.stat().st_mtime for path in (folder, *folder.iterdir(), *_inner(folder)))
        except (OSError, OutsideError, ValueError):  # finished or removed while we looked, or a link that leads out
            return None
        key = key_of(folder, self.root)
        if len(self._seen) > 1000:
            self._seen.clear()
        self._seen[key] = folder
        about, alive, now = _about(folder), _is_locked(fact.st_ino), time()
        place = folder.parent.relative_to(self.root).parts
        task = printable(str(about.get("task") or "/".join(place[:-1])), keep="")
        model = printable(str(about.get("model") or "".join(place[-1:])), keep="")
        age = max((now if alive else latest) - begun, 0.0)
        progress = RunProgress(key, task, model, alive, max(now - latest, 0.0), age)
        if (folder / _JOURNAL).is_dir():
            total = about.get("samples")
            return self._asking(folder, replace(progress, total=total if isinstance(total, int) else None))
        return _evaluating(folder, progress)

    def _asking(self, folder: Path, progress: RunProgress) -> RunProgress:
        journal = folder / _JOURNAL
        known = self._answers.setdefault(folder, _Answers(set(), {}))
        for path in sorted(journal.glob("shard-*.msgpack")):
            if path.name in known.shards:
                continue
            try:
                entries = msgspec.msgpack.decode(path.read_bytes(), type=list[_Entry])
            except (OSError, msgspec.DecodeError):  # being replaced, or damaged: `predict --resume` will say so
                continue
            known.kinds.update((sample, kind) for sample, kind, _ in entries)
            known.shards.add(path.name)
        unanswered = sum(kind == "unanswered" for kind in known.kinds.values())
        in_flight = max(_lines(journal / "asked") - len(known.kinds), 0)
        progress = replace(progress, kind="predictions", stage="asking the model", unit="answers")
        return replace(progress, done=len(known.kinds), unanswered=unanswered, in_flight=in_flight)


def _evaluating(folder: Path, progress: RunProgress) -> RunProgress:
    parts = max(sum(1 for _ in folder.glob(f"{name}/*.parquet")) for name in (_KEPT, RECORDS))
    if (folder / RESULTS).exists():
        progress = replace(progress, stage="writing")
    elif (folder / RECORDS / RECORDED).exists():
        progress = replace(progress, stage="measuring groups and intervals")
    return replace(progress, done=parts)


def _inner(folder: Path) -> list[Path]:
    return [path for name in (_KEPT, RECORDS, _JOURNAL) for path in (folder / name).glob("*")]


def _about(folder: Path) -> Mapping[str, Any]:
    try:
        plain = loads((folder / UNDERWAY).read_bytes())
    except (OSError, ValueError):
        return {}
    return plain if isinstance(plain, dict) else {}


def _lines(path: Path) -> int:
    try:
        return path.read_bytes().count(b"\n")
    except OSError:
        return 0


def _is_locked(inode: int) -> bool | None:
    """Whether some process holds the lock on a folder, as the system tells it; None where it does not."""
    try:
        lines = _LOCKS.read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    held = {line.split()[5].rpartition(":")[2] for line in lines if "FLOCK" in line and "->" not in line}
    return str(inode) in held
