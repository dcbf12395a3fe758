"""Every run below a folder, in one line each, and which of them a list shows in which order.

The folder is walked again when somebody asks and the last walk is old enough; a run is read again when its files
have changed. Links are not followed, and counted.
"""

from __future__ import annotations

import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import Any

from starlette.datastructures import QueryParams

from evenhand.core.errors import InputError, RunError
from evenhand.core.page import Interval
from evenhand.core.printing import printable
from evenhand.core.results import Results
from evenhand.files import inputs
from evenhand.reporting.display import names_of_results, shown_group
from evenhand.reporting.phrases import as_cell, direction_of, headline, levels
from evenhand.reporting.summary import gap_of
from evenhand.serve.folders import ServedFolders
from evenhand.store.manifest import FILENAME, read_manifest
from evenhand.store.plain import from_plain
from evenhand.store.runs import RESULTS, results_plain
from evenhand.store.unfinished import REPLACED, UNFINISHED

FRESH_SECONDS = 1.0
_SHARE_OF_TIME = 10  # a walk that takes long is repeated seldom


class RunState(Enum):
    """What stands in a folder."""

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
    rows: int = 0
    units: int = 0
    problem: str = ""


@dataclass(frozen=True)
class RunList:
    """All that was found in one walk."""

    lines: tuple[RunEntry, ...] = ()
    unfinished: tuple[Path, ...] = ()
    links: int = 0  # not followed
    version: str = ""  # changes with the lines

    def find(self, key: str) -> RunEntry | None:
        """The run of a key."""
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
    """Filters, order and ticks."""

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
        """The lines that are shown, in order."""
        wanted = self.text.casefold().split()
        lines = [
            line
            for line in listing.lines
            if (not self.task or line.task == self.task)
            and (not self.state or line.state.value == self.state)
            and all(word in _words(line) for word in wanted)
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


def _words(line: RunEntry) -> str:
    return f"{line.task} {line.model} {line.dataset} {line.name} {line.worst}".casefold()


Stamp = tuple[tuple[int, int, int] | None, ...]


class RunIndex:
    """The runs below a folder, as they are now."""

    def __init__(self, root: Path, allowed: ServedFolders) -> None:
        self.root, self.allowed = root, allowed
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
        for folder, is_finished, linked in folders(self.root):
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
            return replace(line, **_values(_everyone(folder)))
        except (InputError, ValueError, TypeError, AttributeError, OSError) as error:
            *task, model, _ = ("", *line.name.split("/"))[-4:]
            return replace(
                line,
                task=line.task or "/".join(filter(None, task)),
                model=line.model or model or line.name,
                state=RunState.DAMAGED,
                problem=printable(str(error), keep=""),
            )


def folders(root: Path) -> Iterator[tuple[Path, bool, int]]:
    """Every folder of a run: its path, whether it is finished, and how many links were passed on the way to it."""
    links = 0
    for parent, names, files in os.walk(root):
        here = Path(parent)
        linked = [name for name in names if (here / name).is_symlink()]
        links += len(linked)
        names[:] = sorted(name for name in names if name not in linked)
        if FILENAME in files or RESULTS in files:
            names.clear()
            yield here, True, links
            links = 0
            continue
        for name in list(names):
            if name.startswith("."):
                names.remove(name)
                if UNFINISHED in name and REPLACED not in name:
                    yield here / name, False, links
                    links = 0


def key_of(folder: Path, root: Path) -> str:
    """How a folder is addressed: a hash of where it lies, so that no request ever names a path."""
    return hashlib.sha256(os.fsencode(folder.relative_to(root).as_posix())).hexdigest()[:16]


def _everyone(folder: Path) -> Results:
    """The results without the groups, which a list does not need."""
    path = folder / RESULTS
    plain = results_plain(inputs.read(path, RunError).data, path)
    overall = [entry for entry in plain.get("estimates", ()) if entry.get("group") == []]
    numbers = [entry for entry in overall if isinstance(entry.get("value"), int | float | str)]
    undefined = [entry for entry in overall if isinstance(entry.get("value"), dict) and "undefined" in entry["value"]]
    reduced = {**plain, "estimates": [*numbers, *undefined], "contrasts": [], "omnibus": []}
    results: Results = from_plain(reduced, Results)
    return results


def _values(results: Results) -> Mapping[str, Any]:
    values: dict[str, Any] = {"rows": results.rows, "units": results.units}
    first = headline(results)
    if first is None:
        return values
    names, overall = names_of_results(results), results.get(*first)
    is_share = names.is_share(*first) and overall.number is not None and 0 <= overall.number <= 1
    values["output"] = printable(names.value(*first), keep="")
    values["value"] = as_cell(overall, "%" if is_share else "")
    values["better"] = direction_of(results, *first)
    single = [s for s in results.summaries if (s.metric, s.output) == first and len(s.by) == 1]
    measured = [summary for summary in single if isinstance(summary.values.get("max_gap"), float)]
    if measured:
        widest = max(measured, key=gap_of)
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
