"""What a folder of runs holds beside its runs: caches, and what was never finished.

Caches lie in `RUNS/.cache`, one folder each: readings of instruments, downloads. Unfinished runs and interrupted
predictions lie in hidden folders where the finished ones would be. Both may hold what was seen of people, so both
are listed, and emptied when someone withdraws consent.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import UnknownNameError
from evenhand.files.writing import is_inside, remove
from evenhand.store.unfinished import REPLACED, UNFINISHED, lock_folder

FOLDER = ".cache"


@dataclass(frozen=True)
class Cache:
    name: str  # "readings", or the path of an unfinished run below the folder of runs
    kind: str  # "cache" or "unfinished"
    path: Path
    files: int
    bytes: int
    modified: float  # time stamp of the newest file
    in_use: bool = False  # another process is writing it now


@dataclass(frozen=True)
class Emptied:
    """What was removed, and what was left because it is in use."""

    removed: tuple[Cache, ...]
    left: tuple[Cache, ...]

    @property
    def bytes(self) -> int:
        return sum(cache.bytes for cache in self.removed)


def list_caches(runs: Path | str) -> tuple[Cache, ...]:
    """Every cache and every unfinished run below a folder of runs, sorted by name."""
    root = Path(runs)
    kept = sorted((root / FOLDER).iterdir()) if (root / FOLDER).is_dir() else []
    caches = [_measure(path.name, "cache", path) for path in kept if is_inside(path.parent, root)]
    for path in _unfinished(root):
        lock = lock_folder(path)
        if lock is not None:
            os.close(lock)
        caches.append(_measure(path.relative_to(root).as_posix(), "unfinished", path, in_use=lock is None))
    return tuple(sorted(caches, key=lambda cache: (cache.kind, cache.name)))


def empty_caches(runs: Path | str, names: Collection[str] | None = None) -> Emptied:
    """Remove caches and unfinished runs: those named, or all. What is being written now is left."""
    listed = {cache.name: cache for cache in list_caches(runs)}
    for name in names or ():
        if name not in listed:
            raise UnknownNameError("cache", name, list(listed))
    chosen = [cache for cache in listed.values() if names is None or cache.name in names]
    removed = tuple(cache for cache in chosen if not cache.in_use)
    for cache in removed:
        remove(cache.path, below=Path(runs))
    return Emptied(removed, tuple(cache for cache in chosen if cache.in_use))


def _unfinished(root: Path) -> Iterator[Path]:
    for parent, folders, _ in os.walk(root):
        for name in folders:
            is_hidden = name.startswith(".") and (UNFINISHED in name or REPLACED in name)
            if is_hidden and not Path(parent, name).is_symlink():
                yield Path(parent, name)
        folders[:] = [name for name in folders if not name.startswith(".")]


def _measure(name: str, kind: str, path: Path, *, in_use: bool = False) -> Cache:
    paths = [Path(parent, entry) for parent, _, files in os.walk(path) for entry in files] if path.is_dir() else [path]
    facts = []
    for entry in paths:
        with suppress(OSError):  # it was just removed
            facts.append(entry.lstat())
    modified = max([path.lstat().st_mtime, *(fact.st_mtime for fact in facts)])
    return Cache(name, kind, path, len(facts), sum(fact.st_size for fact in facts), modified, in_use)
