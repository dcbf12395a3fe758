"""What a folder of runs holds beside its runs: caches, and what was never finished.

Caches lie in `RUNS/.cache`, one folder each: readings of instruments, downloads. Unfinished runs and interrupted
predictions lie in hidden folders where the finished ones would be. Both may hold what was seen of people, so both
are listed, and emptied when someone withdraws consent.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import UnknownNameError
from evenhand.files.writing import is_inside, remove
from evenhand.store.unfinished import REPLACED, UNFINISHED, lock_folder

FOLDER = ".cache"


@dataclass(frozen=True)
class Cache:
    """One thing that can be emptied."""

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
        """How many bytes were freed."""
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
    listed = list_caches(runs)
    if names is not None:
        known = [cache.name for cache in listed]
        for name in names:
            if name not in known:
                raise UnknownNameError("cache", name, known)
    removed, left = [], []
    for cache in listed:
        if names is not None and cache.name not in names:
            continue
        if cache.in_use:
            left.append(cache)
            continue
        remove(cache.path, below=Path(runs))
        removed.append(cache)
    return Emptied(tuple(removed), tuple(left))


def _unfinished(root: Path) -> Iterator[Path]:
    for parent, folders, _ in os.walk(root):
        for name in folders:
            is_hidden = name.startswith(".") and (UNFINISHED in name or REPLACED in name)
            if is_hidden and not Path(parent, name).is_symlink():
                yield Path(parent, name)
        folders[:] = [name for name in folders if not name.startswith(".")]


def _measure(name: str, kind: str, path: Path, *, in_use: bool = False) -> Cache:
    files = size = 0
    modified = path.lstat().st_mtime
    paths = (
        [path] if not path.is_dir() else (Path(parent, entry) for parent, _, found in os.walk(path) for entry in found)
    )
    for entry in paths:
        try:
            status = entry.lstat()
        except OSError:  # it was just removed
            continue
        files, size, modified = files + 1, size + status.st_size, max(modified, status.st_mtime)
    return Cache(name, kind, path, files, size, modified, in_use)
