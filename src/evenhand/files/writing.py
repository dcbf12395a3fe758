"""The one place through which the package writes and deletes files.

Three promises:

* **Whole or absent.** A file is written under a temporary name beside its target, flushed, and renamed. A process that
  is killed, or a disk that is full, leaves the previous file or none, never half of one.
* **In the user's words.** A full disk, a read-only folder or a folder where a file should be raise `StorageError` with
  advice, never a bare `OSError`.
* **Nothing outside the folder named.** With `below=ROOT` every folder between the root and the file is opened without
  following links; a link that leads out of the root is refused.

How to use it:

```python
write_file(path, data)                            # bytes or text, at once
with open_file(path) as file: ...                 # a text file, block by block; open_file(path, "wb") for bytes
with replace_file(path) as temporary: ...         # for libraries that want a path: frame.write_csv(temporary)
with append_file(path) as file: ...               # a journal: lines are added, nothing is replaced
with temporary_folder() as folder: ...            # for what only exists while the block runs
make_folder(path); remove(path, below=root)       # a folder with its parents; a file, a link or a whole tree

policy = PathPolicy()                             # before anything is written: what does this call read and write?
policy.reads(data, "the data folder")
policy.reads(predictions, "the predictions")
policy.writes(report, "the report")
policy.check()                                    # raises OptionError when an output is an input or another output
```

Parents of a written file are made. A device or a pipe that the user names (`/dev/stdout`) is written directly. A link
that is named as the target is itself replaced; what it pointed to stays as it was.

`tests/architecture` holds that no other module opens a file for writing, renames or deletes one.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Literal, overload

from evenhand.core.errors import OptionError, StorageError

_ADVICE = {
    errno.ENOSPC: "The disk is full. Free some space or name another place",
    errno.EDQUOT: "Your quota is used up. Free some space or name another place",
    errno.EROFS: "The folder is read-only. Name a folder that can be written",
    errno.EACCES: "You may not write there. Name a folder that you can write",
    errno.EPERM: "Writing there is not permitted. Name a folder that you can write",
    errno.ENOTDIR: "There is a file where a folder is needed. Name another place",
    errno.EISDIR: "It is a folder, but a file was expected. Name a file in it",
    errno.EEXIST: "There is a file where a folder is needed. Name another place",
    errno.ENAMETOOLONG: "The name is too long for this disk. Name a shorter one",
    errno.EIO: "The disk reports an error. Name a folder on another disk",
}
_TEMPORARY = re.compile(r"\..*\.[0-9a-f]{8}\.partial(\..*)?", re.DOTALL)
_POSIX = os.name == "posix"
_NO_LINK = getattr(os, "O_NOFOLLOW", 0)
_FOLDER = os.O_RDONLY | getattr(os, "O_DIRECTORY", 0)
_LONGEST = 80  # characters of the target's name in a temporary one


@contextmanager
def storing(path: Path | str, option: str = "") -> Iterator[None]:
    """Turns a failure to write at `path` into a StorageError in words; `option` names what to change."""
    try:
        yield
    except OSError as error:
        where = os.fsdecode(error.filename) if isinstance(error.filename, str | bytes) else str(path)
        if _TEMPORARY.fullmatch(Path(where).name):
            where = str(path)
        if error.errno == errno.ENOENT and not Path(path).is_relative_to(where):
            raise  # something that is read: no failure to write
        advice = _ADVICE.get(error.errno or 0, "Check the folder, or name another one")
        named = f" ({option})" if option else ""
        raise StorageError(
            f"{where} can't be written: {error.strerror or error}. {advice}{named}; what was finished is kept."
        ) from None


def write_file(path: Path | str, data: bytes | str, *, below: Path | None = None, flush: bool = True) -> None:
    """Write a file that is there with all its content, or not at all; text is written as UTF-8."""
    with open_file(path, "wb", below=below, flush=flush) as file:
        file.write(data.encode() if isinstance(data, str) else data)


@overload
def open_file(
    path: Path | str, mode: Literal["w"] = "w", *, below: Path | None = None, flush: bool = True
) -> AbstractContextManager[IO[str]]: ...
@overload
def open_file(
    path: Path | str, mode: Literal["wb"], *, below: Path | None = None, flush: bool = True
) -> AbstractContextManager[IO[bytes]]: ...
@contextmanager
def open_file(path: Path | str, mode: str = "w", *, below: Path | None = None, flush: bool = True) -> Iterator[IO[Any]]:
    """A file to write, which takes its name when the block ends without an error.

    Text is UTF-8 with plain line ends. `flush=False` leaves it to the system when the bytes reach the disk: for files
    that are made again at need, such as caches.
    """
    path = Path(path)
    text: dict[str, Any] = {} if "b" in mode else {"encoding": "utf-8", "newline": ""}
    if _is_device(path):
        with storing(path), path.open(mode, **text) as file:
            yield file
        return
    with _replacement(path, below, flush) as (_, handle), open(handle, mode, closefd=False, **text) as file:
        yield file
        file.flush()
        if flush:
            os.fsync(handle)


@contextmanager
def replace_file(path: Path | str, *, below: Path | None = None, flush: bool = True) -> Iterator[Path]:
    """The path of a temporary file that takes the name of `path` when the block ends without an error.

    For libraries that want to open the file themselves. The temporary name ends as the target's does.
    """
    path = Path(path)
    if _is_device(path):
        with storing(path):
            yield path
        return
    with _replacement(path, below, flush) as (temporary, _):
        yield path.with_name(temporary)
        if flush:
            _flush(path.with_name(temporary))


@contextmanager
def _replacement(path: Path, below: Path | None, flush: bool) -> Iterator[tuple[str, int]]:
    """The name and the handle of a new file, which takes the name of `path` when the block ends without an error.

    It is renamed before it is closed: as long as the handle is open nobody takes it for a stale one.
    """
    with storing(path), _parent(path, below) as parent:
        temporary, handle = _temporary(path, parent, flush)
        try:
            yield temporary, handle
            parent.replace(temporary, path.name)
        except BaseException:
            with suppress(OSError):
                parent.remove(temporary)
            raise
        finally:
            os.close(handle)
        if flush:
            parent.flush()


@contextmanager
def append_file(path: Path | str, *, below: Path | None = None) -> Iterator[IO[str]]:
    """A text file to which lines are added; the one kind of file that is not replaced as a whole.

    Refuses a link: whoever can place one must not choose what grows.
    """
    path = Path(path)
    with storing(path), _parent(path, below) as parent:
        handle = parent.open(path.name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | _NO_LINK)
    with open(handle, "a", encoding="utf-8", newline="") as file:
        yield file


def make_folder(path: Path | str, *, below: Path | None = None, option: str = "") -> Path:
    """The folder, made with its parents where it was not there."""
    path = Path(path)
    with storing(path, option), _parent(path / "x", below):
        return path


@contextmanager
def temporary_folder(parent: Path | None = None) -> Iterator[Path]:
    """A new folder, in a folder of the user's or in the system's place for such; it is deleted when the block ends."""
    with storing(Path(parent or tempfile.gettempdir())):
        folder = Path(tempfile.mkdtemp(dir=parent, prefix=".partial-"))
    try:
        yield folder
    finally:
        remove(folder, below=folder.parent)


def copy_file(source: Path | str, target: Path | str, *, below: Path | None = None, flush: bool = True) -> None:
    """Copy a file's content in blocks; the copy is whole or absent."""
    with Path(source).open("rb") as file, open_file(target, "wb", below=below, flush=flush) as copy:
        shutil.copyfileobj(file, copy, 1 << 20)


def link_file(source: Path, target: Path) -> None:
    """Give a file a second name where the disk can, else copy it."""
    with storing(target):
        try:
            os.link(source, target)
        except OSError:
            copy_file(source, target, flush=False)


def move_file(source: Path, target: Path) -> None:
    """Move a finished file of the same disk to its place, replacing what was there."""
    with storing(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        source.replace(target)


def rename(source: Path, target: Path) -> None:
    """Give a file or a folder another name beside it; an OSError is the caller's, who knows what it means."""
    source.rename(target)


def remove(path: Path | str, *, below: Path, missing_ok: bool = True) -> None:
    """Delete a file, a link (not what it points to) or a folder with all that is in it, somewhere below a root.

    Raises StorageError when a link between the root and the file leads elsewhere, or when it can't be deleted.
    """
    path, root = Path(path), Path(below)
    if _relative(path, root) == ():
        raise StorageError(f"{path} is the folder itself, not something in it; it is not deleted.")
    with storing(path):
        try:
            with _parent(path, root, make=False) as parent:
                parent.remove(path.name)
        except FileNotFoundError:
            if not missing_ok:
                raise


def remove_stale(folder: Path) -> None:
    """Delete the temporary files directly in a folder that processes which are gone left half written."""
    with suppress(OSError), _parent(folder / "x", None, make=False) as parent:
        parent.remove_stale()


def flush_tree(folder: Path) -> None:
    """Make a folder and all that is in it last through a loss of power."""
    for parent, _, names in os.walk(folder):
        for name in names:
            _flush(Path(parent, name))
        flush_folder(Path(parent))


def flush_folder(folder: Path) -> None:
    """Make the names in a folder last through a loss of power."""
    if _POSIX:
        _flush(folder)


def is_inside(path: Path | str, root: Path | str) -> bool:
    """Whether a path, after all links, lies in a folder or is it."""
    return Path(os.path.realpath(path)).is_relative_to(os.path.realpath(root))


@dataclass
class PathPolicy:
    """What one call reads and writes, checked before it writes anything.

    An output may be no input, no existing file of a folder that is read, and no other output. Paths are compared after
    all links, by the file itself (hard links) and, where the disk does not tell capital letters apart, without them.
    """

    inputs: list[tuple[Path, str]] = field(default_factory=list)
    outputs: list[tuple[Path, str]] = field(default_factory=list)

    def reads(self, path: Path | str | None, what: str) -> None:
        """Note a file or folder that is read; None is nothing."""
        if path is not None:
            self.inputs.append((Path(path), what))

    def writes(self, path: Path | str | None, what: str) -> None:
        """Note a file that is written; None is nothing."""
        if path is not None:
            self.outputs.append((Path(path), what))

    def check(self) -> None:
        """Raise OptionError for the first output that would destroy something."""
        for number, (output, what) in enumerate(self.outputs):
            if _is_device(output):
                continue
            for source, role in self.inputs:
                if _same(output, source):
                    raise OptionError(f"{output} is {role}; {what} would overwrite it. Name another file for {what}.")
                if source.is_dir() and output.exists() and is_inside(output, source) and not output.is_dir():
                    raise OptionError(
                        f"{output} is a file in {source} ({role}); {what} would overwrite it. "
                        f"Name a file elsewhere for {what}."
                    )
            for other, role in self.outputs[:number]:
                if _same(output, other):
                    raise OptionError(f"{output} is named twice, for {role} and for {what}. Name two files.")


def _same(first: Path, second: Path) -> bool:
    with suppress(OSError):
        if os.path.samefile(first, second):  # links and hard links, and other spellings on disks that fold case
            return True
    one, other = os.path.realpath(first), os.path.realpath(second)
    if one == other:
        return True
    # Neither may exist yet: on a disk that folds case they would still be one file.
    return one.casefold() == other.casefold() and _folds_case(Path(one).parent)


def _folds_case(folder: Path) -> bool:
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    swapped = folder.with_name(folder.name.swapcase())
    with suppress(OSError):
        return swapped.name != folder.name and os.path.samefile(folder, swapped)
    return False


def _is_device(path: Path) -> bool:
    """Whether a path is a device, a pipe or a terminal, which is written and never replaced."""
    if path.is_absolute() and path.parts[1:2] in (("dev",), ("proc",)) and path.exists():
        return not path.is_dir()
    with suppress(OSError):
        mode = path.stat().st_mode
        return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))
    return False


def _relative(path: Path, root: Path) -> tuple[str, ...]:
    """The names between a root and a path below it, without a look at the disk; raises StorageError outside of it."""
    absolute, top = Path(os.path.abspath(path)), Path(os.path.abspath(root))
    if not absolute.is_relative_to(top):
        raise StorageError(f"{path} lies outside of {root}; nothing is written or deleted there.")
    return absolute.relative_to(top).parts


class _Folder:
    """A folder that is held open, so that what its name means can't change while we write in it.

    Without a handle (Windows) its files are named by their paths.
    """

    def __init__(self, path: Path, handle: int | None) -> None:
        self.path, self.handle = path, handle

    def _at(self, name: str) -> Path | str:
        return self.path / name if self.handle is None else name

    def open(self, name: str, flags: int) -> int:
        return os.open(self._at(name), flags | getattr(os, "O_BINARY", 0), 0o666, dir_fd=self.handle)

    def status(self, name: str) -> os.stat_result:
        return os.stat(self._at(name), dir_fd=self.handle, follow_symlinks=False)

    def replace(self, old: str, new: str) -> None:
        os.replace(self._at(old), self._at(new), src_dir_fd=self.handle, dst_dir_fd=self.handle)

    def remove(self, name: str) -> None:
        if stat.S_ISDIR(self.status(name).st_mode):
            shutil.rmtree(
                self._at(name), dir_fd=self.handle
            )  # it follows no links, not even one that appears meanwhile
        else:
            os.unlink(self._at(name), dir_fd=self.handle)

    def remove_stale(self, stem: str = "") -> None:
        if not _POSIX:
            return
        import fcntl

        for name in os.listdir(self.path if self.handle is None else self.handle):
            if not name.startswith(f".{stem}") or not _TEMPORARY.fullmatch(name):
                continue
            with suppress(OSError):
                handle = self.open(name, os.O_RDONLY | _NO_LINK | os.O_NONBLOCK)
                try:
                    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)  # whoever still writes it holds the lock
                    self.remove(name)
                finally:
                    os.close(handle)

    def flush(self) -> None:
        if self.handle is not None:
            os.fsync(self.handle)


@contextmanager
def _parent(path: Path, below: Path | None, *, make: bool = True) -> Iterator[_Folder]:
    """The folder of a path, made where it was not there; with `below`, reached without following a link out."""
    root, names = (path.parent, ()) if below is None else (Path(below), _relative(path, below)[:-1])
    if make:
        root.mkdir(parents=True, exist_ok=True)
    if not _POSIX:
        _check_links(root, names)
        if make:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.parent.is_dir():
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
        yield _Folder(path.parent, None)
        return
    handle = _descend(root, names, make=make)
    try:
        yield _Folder(path.parent, handle)
    finally:
        os.close(handle)


def _descend(root: Path, names: tuple[str, ...], *, make: bool) -> int:
    """A handle on the folder that is reached from the root through these names; links inside the root are followed."""
    handle = os.open(root, _FOLDER)
    here = Path(root)
    for name in names:
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, dir_fd=handle)
        here = here / name
        try:
            deeper = os.open(name, _FOLDER | _NO_LINK, dir_fd=handle)
        except OSError as error:
            os.close(handle)
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and here.is_symlink():
                whole = here.relative_to(root).parts
                target = os.path.relpath(os.path.realpath(here), os.path.realpath(root)).split(os.sep)
                if is_inside(here, root) and tuple(target) != whole:  # equal: a link to itself
                    return _descend(Path(os.path.realpath(root)), (*target, *names[len(whole) :]), make=make)
                raise _link_out(here, root) from None
            raise
        os.close(handle)
        handle = deeper
    return handle


def _check_links(root: Path, names: tuple[str, ...]) -> None:
    here = Path(root)
    for name in names:
        here = here / name
        if here.is_symlink() and not is_inside(here, root):
            raise _link_out(here, root)


def _link_out(path: Path, root: Path) -> StorageError:
    return StorageError(
        f"{path} is a link that leads out of {root}. Nothing is written or deleted through it: "
        "remove the link, or name the folder that it leads to."
    )


def _temporary(path: Path, parent: _Folder, tidy: bool) -> tuple[str, int]:
    """The name and the handle of a new file beside a target; it is locked as long as the handle is open.

    With `tidy`, what processes that are gone left of the same target is removed first.
    """
    previous = None
    with suppress(OSError):
        previous = parent.status(path.name).st_mode
    if previous is not None and stat.S_ISDIR(previous):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    suffix = path.suffix if len(path.suffix) < 20 else ""
    stem = path.name[: len(path.name) - len(suffix)].encode()[:_LONGEST].decode(errors="ignore")
    if tidy:
        parent.remove_stale(stem)
    while True:
        name = f".{stem}.{secrets.token_hex(4)}.partial{suffix}"
        handle = parent.open(name, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINK)
        if not _POSIX:
            return name, handle
        import fcntl

        with suppress(OSError):  # some network disks have no locks: there, nothing of other processes is removed
            fcntl.flock(handle, fcntl.LOCK_EX)
        if os.fstat(handle).st_nlink:
            break
        os.close(handle)  # another process took it for a stale one before it was locked
    if previous is not None and stat.S_ISREG(previous):
        with suppress(OSError):
            os.fchmod(handle, stat.S_IMODE(previous))
    return name, handle


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
