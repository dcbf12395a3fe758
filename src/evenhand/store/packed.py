"""Values as MessagePack, and back to the last bit: arrays, numbers, texts, and the records and tuples that hold them.

Rows have their own format (Parquet). Other outcomes of parts, such as the ranks of a block of probes, are kept so that
a driver that was killed does not compute them again. Reading runs no code: a class is named by a module that is loaded
already, and must be a plain tuple or dataclass.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

import msgspec
import numpy as np

from evenhand.core.records import Array

ARRAY, SCALAR = 1, 2  # codes of MessagePack extensions
MOST_BYTES = 4 << 20  # of an outcome: what is larger is as quick to compute again as to write, check and read
KINDS = "biufcUS"  # types of NumPy that can be packed: numbers and texts, no objects


def packed(value: Array | np.generic) -> msgspec.msgpack.Ext:
    """An array or a scalar of NumPy as an extension of MessagePack.

    >>> unpacked(1, memoryview(packed(np.arange(3)).data)).tolist()
    [0, 1, 2]
    """
    array = np.asarray(value)
    head = msgspec.msgpack.encode((array.dtype.str, list(array.shape)))
    code = ARRAY if isinstance(value, np.ndarray) else SCALAR
    return msgspec.msgpack.Ext(code, len(head).to_bytes(4, "little") + head + array.tobytes())


def unpacked(code: int, data: memoryview) -> Any:
    """The array or scalar of an extension; raises ValueError when it holds none."""
    if code not in (ARRAY, SCALAR):
        raise ValueError(f"unknown kind {code}")
    length = int.from_bytes(data[:4], "little")
    try:
        name, shape = msgspec.msgpack.decode(data[4 : 4 + length], type=tuple[str, tuple[int, ...]])
        dtype = np.dtype(name)
        if dtype.kind not in KINDS:
            raise ValueError(f"an array of {dtype}")
        array = np.frombuffer(bytearray(data[4 + length :]), dtype=dtype).reshape(shape)
    except (msgspec.DecodeError, TypeError) as error:
        raise ValueError(str(error)) from None
    return array if code == ARRAY else array[()]


class NotStorableError(ValueError):
    """An outcome that holds something else than values."""


def to_bytes(value: Any) -> bytes | None:
    """An outcome as bytes; None when it is too large or holds something that is no value.

    >>> from_bytes(to_bytes((1, "two", [3.0])))
    (1, 'two', [3.0])
    >>> to_bytes(print) is None
    True
    """
    try:
        if _size(value) > MOST_BYTES:
            return None
        return msgspec.msgpack.encode(_taken_apart(value))
    except (NotStorableError, OverflowError):
        return None


def from_bytes(data: bytes) -> Any:
    """The outcome; raises ValueError when the bytes hold none."""
    try:
        return _put_together(msgspec.msgpack.decode(data, ext_hook=unpacked))
    except msgspec.DecodeError as error:  # a ValueError from msgspec 0.21 on
        raise ValueError(str(error)) from None


def _size(value: Any) -> int:
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, Mapping):
        return sum(_size(entry) for entry in value.values())
    if isinstance(value, (tuple, list)):
        return sum(map(_size, value))
    if dataclasses.is_dataclass(type(value)):
        return sum(_size(getattr(value, field.name)) for field in dataclasses.fields(value))
    return 8


def _taken_apart(value: Any) -> Any:
    if value is None or isinstance(value, (bool, str, bytes)) or type(value) in (int, float):
        return value
    if isinstance(value, np.ndarray):
        # Sums over another layout in memory may have other last bits, so only the usual one is kept.
        if value.dtype.kind not in KINDS or not value.flags.c_contiguous:
            raise NotStorableError
        return packed(value)
    if isinstance(value, np.generic) and value.dtype.kind in KINDS:
        return packed(value)
    kind = type(value)
    if kind in (list, tuple):
        return [kind.__name__, [_taken_apart(entry) for entry in value]]
    if kind is dict:
        return ["dict", [[_taken_apart(key), _taken_apart(entry)] for key, entry in value.items()]]
    entries = value if _is_named_tuple(kind) else None
    if dataclasses.is_dataclass(kind) and all(field.init for field in dataclasses.fields(kind)):
        entries = [getattr(value, field.name) for field in dataclasses.fields(kind)]
    if entries is None:
        raise NotStorableError
    return [f"{kind.__module__}:{kind.__qualname__}", [_taken_apart(entry) for entry in entries]]


def _put_together(plain: Any) -> Any:
    if not isinstance(plain, list):
        return plain
    name, entries = plain
    if name == "dict":
        return {_put_together(key): _put_together(entry) for key, entry in entries}
    values = [_put_together(entry) for entry in entries]
    if name == "list":
        return values
    if name == "tuple":
        return tuple(values)
    module, _, path = str(name).partition(":")
    kind: Any = sys.modules.get(module)
    for step in path.split("."):
        kind = getattr(kind, step, None)
    if not (isinstance(kind, type) and (_is_named_tuple(kind) or dataclasses.is_dataclass(kind))):
        raise ValueError(f"{name} is not a plain class of a module that is loaded")
    return kind(*values)


def _is_named_tuple(kind: type) -> bool:
    return issubclass(kind, tuple) and hasattr(kind, "_fields")
