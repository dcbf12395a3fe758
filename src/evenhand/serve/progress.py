"""Progress of unfinished runs, as seen from what is on disk.

An evaluation keeps the parts that it has recorded, `predict` journals its answers; both do so in a hidden folder
that is locked while somebody writes it. Looking takes no lock and changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from time import time
from typing import Any

import msgspec

from evenhand.core.printing import printable
from evenhand.serve.folders import OutsideError, ServedFolders
from evenhand.serve.listing import RunEntry, RunList, RunState, key_of
from evenhand.store.manifest import read_manifest
from evenhand.store.plain import loads
from evenhand.store.runs import RECORDED, RECORDS, RESULTS
from evenhand.store.underway import UNDERWAY
from evenhand.store.unfinished import UNFINISHED

_KEPT, _JOURNAL = "kept", "journal"
_LOCKS = Path("/proc/locks")
_Entry = tuple[str, str, msgspec.Raw]


@dataclass(frozen=True)
class RunProgress:
    """How far an unfinished run is."""

    key: str
    task: str
    model: str
    kind: str  # "evaluation" or "predictions"
    stage: str  # what is being done, or was when it stopped
    done: int  # answers or parts
    total: int | None  # answers that are wanted; None where it is not known
    unit: str  # what `done` counts
    unanswered: int = 0
    in_flight: int = 0
    alive: bool | None = None  # None: this system does not tell
    changed: float = 0.0  # seconds since something was written
    age: float = 0.0  # seconds since it began

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

    def __init__(self, root: Path, allowed: ServedFolders) -> None:
        self.root, self.allowed = root, allowed
        self._answers: dict[Path, _Answers] = {}
        self._seen: dict[str, Path] = {}
        self._lock = Lock()

    def look(self, listing: RunList) -> tuple[RunProgress, ...]:
        """All unfinished runs, as they are now."""
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
        about = _about(folder)
        place = folder.parent.relative_to(self.root).parts
        common: dict[str, Any] = {
            "key": key,
            "task": printable(str(about.get("task") or "/".join(place[:-1])), keep=""),
            "model": printable(str(about.get("model") or "".join(place[-1:])), keep=""),
            "alive": _is_locked(fact.st_ino),
            "changed": max(time() - latest, 0.0),
            "age": max((latest if not _is_locked(fact.st_ino) else time()) - begun, 0.0),
        }
        if (folder / _JOURNAL).is_dir():
            return self._asking(folder, about, common)
        return _evaluating(folder, common)

    def _asking(self, folder: Path, about: Mapping[str, Any], common: dict[str, Any]) -> RunProgress:
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
        total = about.get("samples")
        handed = _lines(journal / "asked")
        return RunProgress(
            kind="predictions",
            stage="asking the model",
            done=len(known.kinds),
            total=total if isinstance(total, int) else None,
            unit="answers",
            unanswered=sum(kind == "unanswered" for kind in known.kinds.values()),
            in_flight=max(handed - len(known.kinds), 0),
            **common,
        )


def _evaluating(folder: Path, common: dict[str, Any]) -> RunProgress:
    parts = max(sum(1 for _ in folder.glob(f"{name}/*.parquet")) for name in (_KEPT, RECORDS))
    stage = "recording rows"
    if (folder / RESULTS).exists():
        stage = "writing"
    elif (folder / RECORDS / RECORDED).exists():
        stage = "measuring groups and intervals"
    return RunProgress(kind="evaluation", stage=stage, done=parts, total=None, unit="parts recorded", **common)


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
