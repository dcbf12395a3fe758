"""Files as they are read: content and hash in one pass.

Every loader and codec opens its files here, so that a result can name exactly which files
it is based on, and so that a missing, empty or unreadable file gets the same clear message
everywhere.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
import stat
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from blake3 import blake3

from evenhand.core.errors import DataError, EvenhandError, InputError, OptionError
from evenhand.core.task import InputFact

if TYPE_CHECKING:
    from PIL import Image


def limit_of(variable: str, usual: int) -> int:
    """A limit that an environment variable may set, as in 50000000 or 5e7."""
    text = os.environ.get(variable, "")
    try:
        return int(float(text)) if text else usual
    except (ValueError, OverflowError):
        raise OptionError(f"{variable} is {text!r}, but a number such as {usual} is needed.") from None


SHA256 = "sha256:"  # before a hash that is no BLAKE3: of weights, and of files of format 1
_BLOCK = 1 << 20
_STREAMS = ("/dev/fd/", "/dev/stdin", "/proc/self/fd/")  # what a shell hands over as a file
MOST_PIXELS = limit_of("EVENHAND_MOST_PIXELS", 89_478_485)  # a decoded one is held in under 1 GB
_LONGEST_TOML = 1_000_000
_LONG_KEY = re.compile(r"""(?<![\w"'-])(?:[\w"'-]++[ \t]*+\.[ \t]*+){200}""")
Problem = Callable[[str], InputError]  # DataError, PredictionError, OptionError


@dataclass(frozen=True)
class Source:
    """The content of a file, and what it was."""

    path: Path
    data: bytes
    fact: InputFact

    def text(self, problem: Problem = DataError) -> str:
        """The content as UTF-8 text without byte-order mark and with plain line ends."""
        return decode(self.data, self.path, problem)

    def has_hash(self, expected: str) -> bool:
        """Whether the content has this hash; one that begins with "sha256:" is the SHA-256."""
        if expected.startswith(SHA256):
            return expected == SHA256 + hashlib.sha256(self.data).hexdigest()
        return expected == self.fact.hash


def read(path: Path, problem: Problem = DataError, *, allow_empty: bool = False) -> Source:
    """The whole of a file; raises `problem` when it can't be read or has nothing in it."""
    path = Path(path)
    with opened(path, problem) as file:
        data = file.read()
    if not data and not allow_empty:
        raise problem(f"{path} is empty (0 bytes). Was the program that wrote it stopped? Write it again.")
    return Source(path, data, InputFact(str(path), len(data), content_hash(data)))


def content_hash(data: bytes | memoryview) -> str:
    """The hash of a content, in hexadecimal: BLAKE3, which `b3sum` prints."""
    return hash_of_blocks([data])


def hash_of_blocks(blocks: Iterable[bytes | memoryview]) -> str:
    """The hash of a content that comes in blocks, of which one at a time is held.

    >>> content_hash(b"people") == hash_of_blocks([b"peo", b"ple"]), content_hash(b"")[:16]
    (True, 'af1349b9f5f9a1a6')
    """
    digest = blake3()
    for block in blocks:
        digest.update(block)
    return digest.hexdigest()


class HashingFile(io.RawIOBase):
    """A file that is hashed while it is read from beginning to end."""

    def __init__(self, file: BinaryIO, path: Path) -> None:
        self._file, self._path = file, path
        self._digest, self._size = blake3(), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray) -> int:  # type: ignore[override]  # the buffer is always writable bytes
        read = self._file.readinto(buffer)  # type: ignore[attr-defined]  # a file opened for bytes has it
        self._digest.update(memoryview(buffer)[:read])
        self._size += read
        return int(read)

    def readall(self) -> bytes:
        """All that is left, in one piece."""
        data = self._file.read()
        self._digest.update(data)
        self._size += len(data)
        return data

    def fact(self) -> InputFact:
        """What was read; call it at the end of the file, the rest is read for it."""
        while block := self._file.read(_BLOCK):
            self._digest.update(block)
            self._size += len(block)
        return InputFact(str(self._path), self._size, self._digest.hexdigest())


class FollowingHash:
    """The hash of a file that somebody else reads in order, handing over what was read.

    What was not handed over in order is read for `fact`, so that it is always the hash of the whole file.
    """

    def __init__(self, path: Path, problem: Problem = DataError) -> None:
        self._path, self._problem = Path(path), problem
        self._digest, self._done = blake3(), 0

    def follow(self, start: int, data: memoryview) -> None:
        """Hash bytes of the file from `start` on, as far as they go on from what was hashed."""
        if start <= self._done < start + len(data):
            self._digest.update(data[self._done - start :])
            self._done = start + len(data)

    def __reduce__(self) -> tuple[Any, ...]:
        return FollowingHash, (self._path, self._problem)  # in another process it begins anew

    def fact(self) -> InputFact:
        """What the file is; the rest of it is read."""
        with opened(self._path, self._problem) as file:
            file.seek(self._done)
            while block := file.read(_BLOCK):
                self._digest.update(block)
                self._done += len(block)
        return InputFact(str(self._path), self._done, self._digest.hexdigest())


@contextmanager
def opened(path: Path, problem: Problem = DataError) -> Iterator[BinaryIO]:
    """An open file, for reading bytes; raises `problem` in words when that is impossible."""
    path = Path(path)
    try:
        kind = path.stat().st_mode
        if stat.S_ISDIR(kind):
            raise problem(f"{path} is a folder, but a file was expected.")
        if not stat.S_ISREG(kind) and not str(path).startswith(_STREAMS):  # a pipe in a data folder would be waited for
            raise problem(f"{path} is a pipe or a device, but a file was expected.")
        file = path.open("rb")
    except FileNotFoundError:
        near = f" The folder {path.parent} does not exist." if not path.parent.exists() else ""
        raise problem(f"{path} does not exist.{near} Check the path.") from None
    except OSError as error:
        raise problem(f"{path} can't be read: {error.strerror}.") from None
    with file:
        yield file


@contextmanager
def damage_in_words(path: Path, problem: Problem, what: str) -> Iterator[None]:
    """Around the reading of a user's files: whatever a damaged or hostile one makes a reader raise becomes `problem`.

    Readers say what is wrong with a line or a field themselves; this is for what none of them foresaw. With
    EVENHAND_TRACEBACK=1 it comes through as it is.
    """
    try:
        yield
    except (EvenhandError, KeyboardInterrupt, SystemExit, GeneratorExit, ImportError, NameError):
        raise
    except BaseException as error:  # a panic of Polars is no Exception
        if os.environ.get("EVENHAND_TRACEBACK"):
            raise
        if isinstance(error, MemoryError):
            reason = "it asks for more memory than there is"
        elif type(error).__name__ == "PanicException":
            reason = "its parts contradict each other"
        elif isinstance(error, RecursionError):
            reason = "it is nested too deeply"
        else:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise problem(
            f"{path} can't be read as {what} ({reason}). It is damaged, or not in the format that "
            "`evenhand describe` shows."
        ) from None


@contextmanager
def hashed(path: Path, problem: Problem = DataError) -> Iterator[HashingFile]:
    """An open file that is hashed while it is read, for files larger than memory."""
    with opened(path, problem) as file:
        yield HashingFile(file, Path(path))


def decode(data: bytes, path: Path, problem: Problem = DataError) -> str:
    """UTF-8 text without byte-order mark, line ends made plain; refuses binary content."""
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise problem(f"{path} is UTF-16 text, but UTF-8 was expected. Save it as UTF-8.")
    if b"\x00" in data[:4096]:
        raise problem(f"{path} is a binary file, but text was expected. Is it the right file?")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise problem(
            f"{path}, line {line}: byte 0x{data[error.start]:02x} is not UTF-8 text. Save the file as UTF-8."
        ) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def parse_toml(text: str, where: Path | str, problem: Problem = DataError, advice: str = "") -> dict[str, Any]:
    """The tables of a TOML text; whatever is wrong with it is `problem`, with some advice at its end.

    >>> parse_toml("draws = 100", "settings.toml")
    {'draws': 100}
    """
    import tomllib

    try:
        if len(text) > _LONGEST_TOML or _LONG_KEY.search(text):  # tomllib takes the square of a key's length
            raise ValueError(f"it has {len(text):,} characters, or a key of hundreds of parts")
        return tomllib.loads(text)
    except RecursionError:
        reason = "it is nested too deeply"
    except ValueError as error:  # also of a number of five thousand digits
        reason = str(error)
    raise problem(f"{where} is not TOML: {reason}.{' ' * bool(advice)}{advice}")


@contextmanager
def opened_picture(source: Path | BinaryIO) -> Iterator[Image.Image]:
    """A picture of which the header is read; without Pillow's warning of large ones, for there is `too_many_pixels`."""
    from PIL import Image

    if isinstance(source, Path) and not stat.S_ISREG(source.stat().st_mode):
        raise OSError(f"{source} is a pipe, a device or a folder; a file was expected")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        picture = Image.open(source)
    with picture:
        yield picture


def too_many_pixels(size: tuple[int, int], most: int = MOST_PIXELS) -> str:
    """What is wrong with a picture of this size, which its header says, before it is decoded; empty: nothing.

    >>> too_many_pixels((640, 480)), too_many_pixels((20_000, 20_000), 1_000_000)[:15]
    ('', '20000 × 20000 p')
    """
    if size[0] * size[1] <= most:
        return ""
    return (
        f"{size[0]} × {size[1]} pixels; at most {most:,} pixels are decoded. Shrink it, or raise the limit (the "
        "environment variable EVENHAND_MOST_PIXELS; in synthesis tasks --set most_pixels=NUMBER)."
    )


def stamp(path: Path | str) -> InputFact:
    """A picture or video by size and time stamp, without reading it."""
    status = os.stat(path)  # noqa: PTH116 - of a million pictures, each would first be taken apart as a path
    return InputFact(str(path), status.st_size, "", status.st_mtime)


def hash_of(path: Path, problem: Problem = DataError) -> InputFact:
    """A file by its content, read in blocks."""
    with hashed(path, problem) as file:
        return file.fact()


def has_hash(path: Path, expected: str, problem: Problem = DataError) -> bool:
    """Whether the content of a file, which is read in blocks, has this hash; see `Source.has_hash`."""
    if expected.startswith(SHA256):
        return expected == SHA256 + sha256_of(path, problem)
    return expected == hash_of(path, problem).hash


def sha256_of(path: Path, problem: Problem = DataError) -> str:
    """The SHA-256 of a file, in hexadecimal, for what was named by it before inputs were named by BLAKE3."""
    digest = hashlib.sha256()
    with opened(path, problem) as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()


def with_marked_sha256(stored: Mapping[str, Any], before: str, now: str) -> dict[str, Any]:
    """Fields that were stored when hashes were SHA-256: the hash in `before` is in `now`, and begins with "sha256:".

    Whatever else stands there (a time stamp, nothing) stays as it is.

    >>> with_marked_sha256({"size": 3, "sha256": "b10c82"}, "sha256", "hash")
    {'size': 3, 'hash': 'sha256:b10c82'}
    """
    fields = dict(stored)
    if before in fields:
        digits = fields.pop(before)
        fields[now] = SHA256 + digits if isinstance(digits, str) and digits.isalnum() else digits
    return fields


def hash_text(text: str) -> str:
    """The hash of a text, in hexadecimal."""
    return content_hash(text.encode("utf-8", "surrogatepass"))
