"""Runs that are whole or absent.

A run is written in a hidden folder beside its place and renamed when all of it is there and flushed, so a process that
is killed never leaves half a run that looks whole.

A hidden folder belongs to the process that has locked it; the system releases the lock when the process ends, however
it ends. Whoever starts the same run again takes over what a dead process left, without the links in it: a run holds
files only, and a link there would make us write elsewhere.
"""

from __future__ import annotations

import errno
import os
import secrets
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import StorageError
from evenhand.files.writing import (
    flush_folder,
    flush_tree,
    make_folder,
    remove,
    remove_stale,
    rename,
    storing,
    write_file,
)
from evenhand.store.plain import dumps

_LOCKS = os.name == "posix"  # elsewhere folders have no locks: nothing is taken over, and nothing of others removed
UNFINISHED = ".partial-"  # in the name of a folder that is being written
REPLACED = ".replaced-"  # in the name of a run that is being replaced
UNDERWAY = "underway.json"  # in a run that is being made: what it is, for whoever follows it
OPTION = "--runs"  # what a user changes when a run can't be written


@dataclass
class Claim:
    """A hidden folder that this process alone writes, until it is published or let go."""

    name: str  # of the run; files of another are never taken for its own
    folder: Path
    adopted: bool  # a dead process left it, with what it had finished
    _lock: int | None = None

    def announce(self, *, task: str, model: str, samples: int) -> None:
        """Say in the folder what the run will be, and how much there is to do, until it is published."""
        note = dumps({"task": task, "model": model, "samples": samples})
        write_file(self.folder / UNDERWAY, note, flush=False)

    def publish(self, final: Path, *, replace: bool = False) -> bool:
        """Give the folder its name; False when another process was first and has it.

        With `replace`, an existing run is replaced.
        """
        with storing(final, OPTION):
            remove(self.folder / UNDERWAY, below=self.folder)
            _sweep(self.folder)
            flush_tree(self.folder)
            aside = None
            if replace and final.exists():
                aside = final.with_name(f".{self.name}{REPLACED}{secrets.token_hex(4)}")
                with suppress(FileNotFoundError):
                    rename(final, aside)
            try:
                rename(self.folder, final)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) and not final.exists():
                    raise
                return False
            flush_folder(final.parent)
            if aside is not None:
                _remove_quietly(aside)
        self.release()
        return True

    def discard(self) -> None:
        _remove_quietly(self.folder)
        self.release()

    def empty(self) -> None:
        """Remove what is in the folder; the folder itself stays, and stays ours."""
        with storing(self.folder, OPTION):
            for entry in self.folder.iterdir():
                remove(entry, below=self.folder)

    def release(self) -> None:
        """Let go; what is in the folder stays for whoever comes next."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _sweep(folder: Path) -> None:
    """Remove links, and the temporary files of a process that died while it wrote them."""
    for parent, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(parent, name)
            if path.is_symlink():
                remove(path, below=folder)
        remove_stale(Path(parent))


def _remove_quietly(folder: Path) -> None:
    """Remove a hidden folder; one that can't be removed now is listed by `evenhand cache` and harms nothing."""
    with suppress(StorageError):
        remove(folder, below=folder.parent)


def claim(parent: Path, name: str) -> Claim:
    """A folder in which the run `name` can be written: one that a dead process left, or a new one."""
    make_folder(parent, option=OPTION)
    claimed: Claim | None = None
    for folder in unfinished(parent, name):
        lock = lock_folder(folder)
        if lock is None:
            continue
        if claimed is None:
            with storing(folder, OPTION):
                _sweep(folder)
            claimed = Claim(name, folder, adopted=True, _lock=lock)
        else:  # one is enough
            Claim(name, folder, adopted=True, _lock=lock).discard()
    for folder in parent.glob(f".{name}{REPLACED}*"):
        _remove_quietly(folder)
    while claimed is None:
        folder = parent / f".{name}{UNFINISHED}{secrets.token_hex(4)}"
        make_folder(folder, option=OPTION)
        lock = lock_folder(folder)
        if lock is not None or not _LOCKS:
            claimed = Claim(name, folder, adopted=False, _lock=lock)
    return claimed


def unfinished(parent: Path, name: str) -> list[Path]:
    """The folders in which the run `name` (a pattern) was or is being written, in order."""
    return sorted(path for path in parent.glob(f".{name}{UNFINISHED}*") if path.is_dir() and not path.is_symlink())


def lock_folder(folder: Path) -> int | None:
    """A handle that holds the lock on a folder; None when another process holds it or it is gone."""
    if not _LOCKS:
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        # The name may have been given to the finished run, or removed, since it was listed.
        if os.fstat(handle).st_ino == folder.stat().st_ino:
            return handle
    except OSError:
        pass
    os.close(handle)
    return None
