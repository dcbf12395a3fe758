"""Files and folders that are whole or absent.

A file is written under a temporary name, flushed and renamed. A run is written in a hidden
folder beside its place and renamed when all of it is there and flushed, so a process that is
killed never leaves a half run that looks whole.

A hidden folder belongs to the process that has locked it; the system gives the lock back when the
process ends, however it ends. Whoever starts the same run again takes over what a dead process left.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from evenhand.core.errors import StorageError

_LOCKS = os.name == "posix"  # elsewhere folders have no locks: nothing is taken over, and nothing of others removed
_ADVICE = {
    errno.ENOSPC: "The disk is full. Free some space or name another folder",
    errno.EDQUOT: "Your quota is used up. Free some space or name another folder",
    errno.EROFS: "The folder is read-only. Name a folder that can be written",
    errno.EACCES: "You may not write there. Name a folder that you can write",
    errno.EPERM: "Writing there is not permitted. Name a folder that you can write",
    errno.ENOTDIR: "A file stands where a folder is needed. Name another folder",
    errno.EIO: "The disk reports an error. Name a folder on another disk",
}
_TEMPORARY = re.compile(r"\..+\.[0-9a-f]{8}")  # as `write_whole` names them
UNFINISHED = ".partial-"  # in the name of a folder that is being written
REPLACED = ".replaced-"  # in the name of a run that makes room for its successor


@contextmanager
def storing(path: Path) -> Iterator[None]:
    """Turns a failure to write at `path` into a StorageError in words."""
    try:
        yield
    except OSError as error:
        where = error.filename if error.filename is not None else path
        advice = _ADVICE.get(error.errno or 0, "Check the folder, or name another one")
        raise StorageError(
            f"{os.fsdecode(where)} can't be written: {error.strerror}. {advice} (--runs); what was finished is kept."
        ) from None


def write_whole(path: Path, data: bytes, *, flush: bool = True) -> None:
    """Write a file that is there with all its bytes, or not at all."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    with storing(path):
        try:
            with temporary.open("xb") as file:
                file.write(data)
                if flush:
                    file.flush()
                    os.fsync(file.fileno())
            temporary.replace(path)
        except BaseException:
            with suppress(OSError):
                temporary.unlink()
            raise
        if flush:
            flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Make the names in a folder last through a loss of power."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def flush_tree(folder: Path) -> None:
    """Make a folder and all that is in it last through a loss of power."""
    for parent, _, names in os.walk(folder):
        for name in names:
            with Path(parent, name).open("rb") as file:
                os.fsync(file.fileno())
        flush_folder(Path(parent))


@dataclass
class Claim:
    """A hidden folder that this process alone writes, until it is published or let go."""

    name: str  # of the run; files of another are never taken for its own
    folder: Path
    adopted: bool  # a dead process left it, with what it had finished
    _lock: int | None = None

    def publish(self, final: Path, *, replace: bool = False) -> bool:
        """Give the folder its name; False when another process was first and has it.

        With `replace`, a run that is there makes room.
        """
        with storing(final):
            _sweep(self.folder)
            flush_tree(self.folder)
            aside = None
            if replace and final.exists():
                aside = final.with_name(f".{self.name}{REPLACED}{secrets.token_hex(4)}")
                with suppress(FileNotFoundError):
                    final.rename(aside)
            try:
                self.folder.rename(final)
            except OSError as error:
                if error.errno not in (errno.ENOTEMPTY, errno.EEXIST) and not final.exists():
                    raise
                return False
            flush_folder(final.parent)
            if aside is not None:
                shutil.rmtree(aside, ignore_errors=True)
        self.release()
        return True

    def discard(self) -> None:
        """Remove the folder and all that is in it."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.release()

    def empty(self) -> None:
        """Remove what is in the folder; the folder itself stays, and stays ours."""
        with storing(self.folder):
            for entry in self.folder.iterdir():
                shutil.rmtree(entry) if entry.is_dir() else entry.unlink()

    def release(self) -> None:
        """Let go; what is in the folder stays for whoever comes next."""
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _sweep(folder: Path) -> None:
    """Remove the temporary files of a process that died while it wrote them."""
    for path in folder.rglob(".*"):
        if _TEMPORARY.fullmatch(path.name) and path.is_file():
            path.unlink()


def claim(parent: Path, name: str) -> Claim:
    """A folder in which the run `name` can be written: one that a dead process left, or a new one."""
    with storing(parent):
        parent.mkdir(parents=True, exist_ok=True)
    found: Claim | None = None
    for folder in unfinished(parent, name):
        lock = lock_folder(folder)
        if lock is None:
            continue
        if found is None:
            found = Claim(name, folder, adopted=True, _lock=lock)
        else:  # one is enough
            Claim(name, folder, adopted=True, _lock=lock).discard()
    for folder in parent.glob(f".{name}{REPLACED}*"):
        shutil.rmtree(folder, ignore_errors=True)
    while found is None:
        folder = parent / f".{name}{UNFINISHED}{secrets.token_hex(4)}"
        with storing(folder):
            folder.mkdir()
        lock = lock_folder(folder)
        if lock is not None or not _LOCKS:
            found = Claim(name, folder, adopted=False, _lock=lock)
    return found


def unfinished(parent: Path, name: str) -> list[Path]:
    """The folders in which the run `name` (a pattern) was or is being written, in order."""
    return sorted(parent.glob(f".{name}{UNFINISHED}*"))


def lock_folder(folder: Path) -> int | None:
    """A handle that holds the lock on a folder; None when another process holds it or it is gone."""
    if not _LOCKS:
        return None
    import fcntl

    try:
        handle = os.open(folder, os.O_RDONLY)
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
