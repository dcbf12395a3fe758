"""Arrays out of `.npy`, `.npz` and `.safetensors` files that somebody else wrote.

Only plain numbers and fixed-width texts are read; nothing is unpickled and no header is evaluated. What a header
promises is compared with the bytes that are there before anything is allocated, archives that would inflate beyond a
budget are refused, and every fault of a file is one sentence that names it.
"""

from __future__ import annotations

import io
import json
import math
import re
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, BinaryIO, NamedTuple

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.files.inputs import FollowingHash, Problem, opened

BASE_BYTES = 512 << 20  # what any archive may hold once it is inflated
EXPANSION = 16  # bytes for each byte of the file beyond that
_HEADER = 1 << 16
_STEPWISE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # others expand all that they are given
_SKIPPED = 8  # rows that are read and not needed, rather than a read of its own
_SAFETENSORS_HEADER = 64 << 20

Choice = Callable[[list[str]], Iterable[str]]  # which of the arrays that are there


class ArrayHeader(NamedTuple):
    """What the beginning of a `.npy` file says, and where its numbers start."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int

    @property
    def bytes(self) -> int:
        """The length of the numbers."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_npy(path: Path, problem: Problem = DataError, *, data: bytes | None = None) -> Array:
    """The array of a `.npy` file, or of `data` that was read from it.

    >>> stream = io.BytesIO()
    >>> np.save(stream, np.eye(2))
    >>> read_npy(Path("a.npy"), data=stream.getvalue()).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    with _faults(path, ".npy file", problem), _stream(path, data, problem) as stream:
        header = _fitting_header(stream)
        stream.seek(header.offset)
        return _array(stream.read(header.bytes), header)


def open_npy(path: Path, problem: Problem = DataError, *, hashed: bool = False) -> FileArray:
    """The array of a `.npy` file, of which rows are read as they are asked for, and hashed meanwhile where asked."""
    with _faults(path, ".npy file", problem), opened(path, problem) as stream:
        header = _fitting_header(stream)
        hashing = FollowingHash(path, problem) if hashed else None
        if hashing is not None:
            stream.seek(0)
            hashing.follow(0, memoryview(stream.read(header.offset)))
        return FileArray(Path(path), header, problem, hashing)


def _fitting_header(stream: BinaryIO) -> ArrayHeader:
    header = npy_header(stream)
    size = stream.seek(0, io.SEEK_END)
    if header.offset + header.bytes > size:
        raise ValueError(f"its header promises {header.bytes:,} bytes, {size - header.offset:,} are there")
    return header


@dataclass(frozen=True)
class FileArray:
    """An array in a `.npy` file: `array[rows]` reads these rows, `numpy.asarray(array)` all.

    It is read, never mapped: a file that another program cuts short meanwhile is an error in words, where a mapped one
    would end the process with a bus error.
    """

    path: Path
    header: ArrayHeader
    problem: Problem = DataError
    hashing: FollowingHash | None = None  # of those who read the rows in order, and want to know what they read

    @property
    def shape(self) -> tuple[int, ...]:
        return self.header.shape

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.header.dtype

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        array = read_npy(self.path, self.problem)
        return array if dtype is None else array.astype(dtype, copy=False)

    def __getitem__(self, rows: int | slice | Array) -> Array:
        if self.header.fortran and self.ndim > 1:
            return np.asarray(np.asarray(self)[rows])
        if isinstance(rows, slice):
            start, stop, step = rows.indices(len(self))
            return self._block(start, max(start, stop)) if step == 1 else self[np.arange(start, stop, step)]
        index = np.atleast_1d(np.asarray(rows))
        ordered = np.unique(index)
        close = np.split(ordered, np.flatnonzero(np.diff(ordered) > _SKIPPED) + 1)  # these are read in one go
        ranges = [(int(part[0]), int(part[-1]) + 1) for part in close if len(part)]
        if ranges and not 0 <= ranges[0][0] <= ranges[-1][1] <= len(self):
            raise IndexError(f"rows {ranges[0][0]} to {ranges[-1][1] - 1} of {len(self)}")
        read_rows = np.concatenate([np.arange(0), *(np.arange(start, stop) for start, stop in ranges)])
        taken = self._read(ranges)[np.searchsorted(read_rows, index)]
        return np.asarray(taken[0] if np.ndim(rows) == 0 else taken)

    def _block(self, start: int, stop: int) -> Array:
        rows = self._read([(start, stop)])
        if self.hashing is not None and rows.size:
            self.hashing.follow(self.header.offset + start * rows[0].nbytes, rows.reshape(-1).view(np.uint8).data)
        return rows

    def _read(self, ranges: Sequence[tuple[int, int]]) -> Array:
        """The rows of some ranges, one after the other."""
        rows = np.empty((sum(stop - start for start, stop in ranges), *self.shape[1:]), self.dtype)
        width = math.prod(self.shape[1:]) * self.dtype.itemsize
        view, place = rows.reshape(-1).view(np.uint8).data, 0
        with _faults(self.path, ".npy file", self.problem), opened(self.path, self.problem) as stream:
            for start, stop in ranges:
                stream.seek(self.header.offset + start * width)
                end = place + (stop - start) * width
                if stream.readinto(view[place:end]) != end - place:  # type: ignore[attr-defined]  # a file of bytes has it
                    raise ValueError("it became shorter while it was read")
                place = end
        return rows


def read_npz(
    path: Path, problem: Problem = DataError, *, data: bytes | None = None, choose: Choice | None = None
) -> dict[str, Array]:
    """The arrays of an `.npz` file by name; `choose` picks among the names that are there."""
    with _faults(path, ".npz file", problem), _stream(path, data, problem) as stream:
        size = stream.seek(0, io.SEEK_END)
        left = BASE_BYTES + EXPANSION * size
        arrays: dict[str, Array] = {}
        with zipfile.ZipFile(stream) as archive:
            members = {name.removesuffix(".npy"): name for name in archive.namelist() if name.endswith(".npy")}
            for name in members if choose is None else choose(list(members)):
                entry = archive.getinfo(members[name])
                left -= entry.file_size
                if left < 0:
                    raise ValueError(
                        f"inflated it would be larger than {BASE_BYTES + EXPANSION * size >> 20:,} MB, "
                        f"{EXPANSION} times its size and more; save it with numpy.savez, uncompressed"
                    )
                with archive.open(entry) as member:
                    header = npy_header(member)
                    if header.offset + header.bytes > entry.file_size:
                        raise ValueError(f"{name!r} promises {header.bytes:,} bytes of numbers and has fewer")
                    numbers = np.empty(header.bytes, np.uint8)  # filled in place: a second copy of a bomb is a bomb
                    fill(numbers, member, 1 << 20 if entry.compress_type in _STEPWISE else 1 << 12)
                arrays[name] = _array(numbers.data, header)
        return arrays


def array_headers(path: Path, problem: Problem = DataError) -> dict[str, ArrayHeader]:
    """What a `.npz` file holds by name, or a `.npy` file under the name "", from headers alone."""
    with _faults(path, f"{path.suffix} file", problem), opened(path, problem) as stream:
        if path.suffix == ".npy":
            return {"": npy_header(stream)}
        headers = {}
        with zipfile.ZipFile(stream) as archive:
            for name in archive.namelist():
                if name.endswith(".npy"):
                    with archive.open(name) as member:
                        headers[name.removesuffix(".npy")] = npy_header(member)
        return headers


_SAFETENSORS = {
    "F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2", "I64": "<i8", "I32": "<i4", "I16": "<i2", "I8": "|i1",
    "U64": "<u8", "U32": "<u4", "U16": "<u2", "U8": "|u1", "BOOL": "|b1",
}  # fmt: skip


def read_safetensors(
    path: Path, problem: Problem = DataError, *, data: bytes | None = None, choose: Choice | None = None
) -> dict[str, Array]:
    """The arrays of a safetensors file by name; `choose` picks among the names. bfloat16 becomes single precision."""
    with _faults(path, "safetensors file", problem), _stream(path, data, problem) as stream:
        size = stream.seek(0, io.SEEK_END)
        stream.seek(0)
        length = int.from_bytes(stream.read(8), "little")
        if size < 8 or length > min(size - 8, _SAFETENSORS_HEADER):
            raise ValueError(f"its header would have {length:,} bytes, the file has {size:,}")
        entries = json.loads(stream.read(length))
        if not isinstance(entries, dict):
            raise ValueError("its header is no table of arrays")
        names = [name for name in entries if name != "__metadata__"]
        arrays: dict[str, Array] = {}
        left = BASE_BYTES + EXPANSION * size
        for name in names if choose is None else choose(names):
            start, stop, shape, kind = _safetensors_entry(name, entries[name], size - 8 - length)
            left -= (stop - start) * (1 + (kind == "BF16"))
            if left < 0:
                raise ValueError("its arrays overlap many times over")
            stream.seek(8 + length + start)
            values = np.frombuffer(stream.read(stop - start), _SAFETENSORS[kind]).reshape(shape)
            arrays[name] = (values.astype(np.uint32) << 16).view(np.float32) if kind == "BF16" else values
        return arrays


def _safetensors_entry(name: str, entry: Any, size: int) -> tuple[int, int, tuple[int, ...], str]:
    try:
        kind, shape, (start, stop) = entry["dtype"], entry["shape"], entry["data_offsets"]
        whole = all(isinstance(value, int) and 0 <= value < 1 << 62 for value in (*shape, start, stop))
    except (TypeError, KeyError, ValueError):
        raise ValueError(f"the entry {name!r} lacks its type, shape or place") from None
    if kind not in _SAFETENSORS:
        raise ValueError(f"{name!r} has the number type {kind!r}; known: {', '.join(_SAFETENSORS)}")
    if not whole or stop < start or stop > size:
        raise ValueError(f"the entry {name!r} lies outside the file")
    if math.prod(shape) * np.dtype(_SAFETENSORS[kind]).itemsize != stop - start:
        raise ValueError(f"{name!r} has {stop - start:,} bytes, which is not its shape {tuple(shape)}")
    return start, stop, tuple(shape), kind


_ENTRY = re.compile(r"\s*'(descr|fortran_order|shape)'\s*:\s*(?:'([^']{1,20})'|(True|False)|\(([\d\sL,-]*)\))\s*,?")


def npy_header(stream: IO[bytes]) -> ArrayHeader:
    """The header at the beginning of a `.npy` stream; its dictionary is matched, never evaluated."""
    stream.seek(0)
    opening = stream.read(8)
    if opening[:6] != b"\x93NUMPY" or len(opening) < 8:
        raise ValueError("it does not begin like a NumPy array")
    width = 2 if opening[6] == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if opening[6] not in (1, 2, 3) or length > _HEADER:
        raise ValueError(f"its header has version {opening[6]} and {length:,} bytes")
    text = stream.read(length).decode("latin-1").strip()
    entries, place = {}, 1
    while match := _ENTRY.match(text, place):
        entries[match[1]] = match[2] or match[3] or match[4] or ""
        place = match.end()
    if set(entries) != {"descr", "fortran_order", "shape"} or text[:1] != "{" or text[place:].strip() != "}":
        raise ValueError(f"its header is no description of plain numbers: {text[:80]!r}")
    sides = [side.strip().removesuffix("L") for side in entries["shape"].split(",") if side.strip()]
    if not all(side.isdigit() and len(side) < 19 for side in sides) or len(sides) > 32:
        raise ValueError(f"it has the shape ({entries['shape']})")
    kind = entries["descr"].lstrip("<>|=")
    if not re.fullmatch(r"b1|[iu][1248]|f[248]|c(8|16)|[SU]\d{1,6}|[mM]8(\[\d{0,3}[a-z]{1,2}\])?", kind):
        raise ValueError(f"it holds {entries['descr']!r}, neither numbers nor texts")
    shape = tuple(map(int, sides))
    return ArrayHeader(shape, np.dtype(entries["descr"]), entries["fortran_order"] == "True", 8 + width + length)


def fill(values: Array, stream: Any, step: int = 1 << 20) -> None:
    """Reads numbers from a stream into their place, so many bytes at once."""
    view = memoryview(values.view(np.uint8).data) if values.size else memoryview(b"")
    done = 0
    while done < len(view):
        count = stream.readinto(view[done : done + step])
        if not count:
            raise ValueError("it ends in the middle of an array")
        done += count


def _array(data: bytes | memoryview, header: ArrayHeader) -> Array:
    if len(data) < header.bytes:
        raise ValueError("it ends in the middle of its numbers")
    if not header.bytes:
        return np.zeros(header.shape, header.dtype)
    return np.frombuffer(data, header.dtype).reshape(header.shape, order="F" if header.fortran else "C")


def _stream(path: Path, data: bytes | None, problem: Problem) -> Any:
    return opened(path, problem) if data is None else io.BytesIO(data)


FAULTS = (  # what a damaged file provokes in readers of arrays
    OSError,  # a seek outside the file that its directory asks for
    ArithmeticError,
    EOFError,
    LookupError,
    MemoryError,
    RuntimeError,  # also of recursion, encrypted members and unknown compressions
    TypeError,
    ValueError,
    struct.error,
    zipfile.BadZipFile,
    zlib.error,
)


@contextmanager
def _faults(path: Path, what: str, problem: Problem) -> Iterator[None]:
    """Turns whatever a damaged file provokes into one sentence with its name."""
    try:
        yield
    except FAULTS as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0][:200]
        raise problem(f"{path} is no {what} that can be read: {reason}.") from None
