"""Arrays inside MessagePack: type, shape and bytes, and back to the last bit. Reading runs no code."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from evenhand.core.records import Array

ARRAY, SCALAR = 1, 2  # codes of MessagePack extensions
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
