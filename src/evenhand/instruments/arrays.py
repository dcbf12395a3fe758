"""Arrays out of foreign files, without running anything that those files say.

Three formats carry published weights inside packages: Python pickles of NumPy arrays, TorchScript archives and
TensorFlow's frozen graphs. Each is read here by a loader that knows how to build arrays, numbers, texts, lists and
dictionaries, and nothing else: a name that a pickle asks for is never imported, and an unknown one is refused.
"""

from __future__ import annotations

import io
import pickle
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.instruments.errors import WeightsError

Arrays = dict[str, NDArray[Any]]

_NUMPY = {
    ("numpy.core.multiarray", "_reconstruct"),
    ("numpy._core.multiarray", "_reconstruct"),
    ("numpy", "ndarray"),
    ("numpy", "dtype"),
}
_STORAGES = {
    "FloatStorage": "<f4",
    "DoubleStorage": "<f8",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
}
_DTYPES = {"f2", "f4", "f8", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "b1"}


def pickled_arrays(path: Path, *, encoding: str = "ASCII") -> Arrays:
    """The arrays of a pickle of (nested) dictionaries of NumPy arrays, their keys joined by `/`.

    Files written by Python 2 need `encoding="latin1"`. A bare array has the key "".
    """
    return dict(_named(_InertReader(io.BytesIO(path.read_bytes()), str(path), encoding=encoding).load(), "/"))


def torchscript_arrays(path: Path) -> Arrays:
    """The tensors of a TorchScript archive, named by the modules that hold them; its code is not looked at."""
    try:
        with zipfile.ZipFile(path) as archive:
            data = [name for name in archive.namelist() if name.endswith("/data.pkl")]
            if len(data) != 1:
                raise WeightsError(f"{path}: no TorchScript archive (found {len(data)} data.pkl inside, expected one).")
            root = data[0].removesuffix("data.pkl")
            reader = _InertReader(io.BytesIO(archive.read(data[0])), str(path), archive, root)
            return dict(_named(reader.load(), "."))
    except zipfile.BadZipFile as error:
        raise WeightsError(f"{path}: no TorchScript archive ({error}).") from error


def frozen_graph_arrays(path: Path) -> Arrays:
    """The constants of a TensorFlow graph by node name."""
    return {node.name: node.value for node in _constants(path.read_bytes(), str(path))}


class _Stand(NamedTuple):
    """Stands for a name that a pickle asked for; it is never looked up."""

    module: str
    name: str


class _Building:
    """An object that a pickle builds up: what it was called with, then the state it was given."""

    what: _Stand
    arguments: tuple[Any, ...] = ()
    state: Any = None

    def __init__(self, what: _Stand, arguments: tuple[Any, ...]) -> None:
        self.what, self.arguments = what, arguments

    def __setstate__(self, state: Any) -> None:
        self.state = state


class _Maker:
    """What the reader gets for an allowed name; calling it makes an inert `_Building` or an array."""

    def __init__(self, stand: _Stand) -> None:
        self.stand = stand

    def __call__(self, *arguments: Any) -> Any:
        return _Building(self.stand, arguments)


class _InertReader(pickle.Unpickler):
    """A pickle reader that imports nothing: allowed names become inert makers, others are refused."""

    def __init__(
        self,
        data: io.BytesIO,
        name: str,
        archive: zipfile.ZipFile | None = None,
        root: str = "",
        *,
        encoding: str = "ASCII",
    ) -> None:
        super().__init__(data, encoding=encoding)
        self.name, self.archive, self.root = name, archive, root

    def find_class(self, module: str, name: str) -> Any:
        stand = _Stand(module, name)
        if (module, name) == ("collections", "OrderedDict"):
            return dict
        if (module, name) == ("_codecs", "encode"):
            return _latin_bytes
        if (module, name) in _NUMPY:
            return _Maker(stand)
        if self.archive is not None:
            if module.startswith("__torch__"):
                return _inert_class(stand)
            if (module, name) in {("torch._utils", "_rebuild_tensor_v2"), ("torch.jit._pickle", "build_intlist")}:
                return _Maker(stand)
            if module == "torch" and name in _STORAGES:
                return stand
        raise WeightsError(
            f"{self.name}: asks for {module}.{name}, which is not an array. Only arrays are read from weights; "
            "save the file as a plain state dictionary."
        )

    def persistent_load(self, identity: Any) -> Any:
        _, storage, key, _, count = identity
        if self.archive is None or not isinstance(storage, _Stand):
            raise WeightsError(f"{self.name}: refers to a storage outside the file.")
        data = self.archive.read(f"{self.root}data/{key}")
        return np.frombuffer(data, _STORAGES[storage.name], count=count)

    def load(self) -> Any:
        try:
            return super().load()
        except (pickle.UnpicklingError, EOFError, ValueError, KeyError, IndexError, TypeError, AttributeError) as error:
            raise WeightsError(f"{self.name}: damaged, or no file of arrays ({error}).") from error


def _latin_bytes(text: str, encoding: str = "latin1") -> bytes:
    """The bytes that a Python 3 pickle of an old protocol wrote as text."""
    if encoding not in ("latin1", "latin-1"):
        raise ValueError(f"bytes written as {encoding}")
    return text.encode("latin1")


def _inert_class(stand: _Stand) -> type:
    """A class of its own for a TorchScript module, so that the pickle can build one: a state and no behaviour."""
    return type("InertModule", (_Building,), {"what": stand})


def _named(value: Any, joint: str, prefix: str = "") -> Iterator[tuple[str, NDArray[Any]]]:
    """Every array below `value` with the path of keys that leads to it."""
    if isinstance(value, _Building):
        array = _array(value)
        if array is not None:
            yield prefix, array
            return
        value = value.state
    if isinstance(value, np.ndarray):
        yield prefix, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from _named(inner, joint, f"{prefix}{joint}{key}" if prefix else str(key))


def _array(made: _Building) -> NDArray[Any] | None:
    """The array that a finished `_Building` describes; None when it describes something else."""
    if made.what.name == "_rebuild_tensor_v2":
        storage, offset, shape, strides = made.arguments[:4]
        steps = [step * storage.itemsize for step in strides]
        reach = offset + sum((side - 1) * step for side, step in zip(shape, strides, strict=True))
        if reach >= max(storage.size, 1) or min((offset, *shape, *strides)) < 0:
            raise WeightsError("A tensor reaches beyond its storage: the file is damaged.")
        return np.lib.stride_tricks.as_strided(storage[offset:], shape, steps, writeable=False).copy()
    if made.what.name == "_reconstruct" and made.state is not None:
        _, shape, dtype, fortran, data = made.state
        kind, order = str(dtype.arguments[0]), dtype.state[1] if dtype.state else "|"
        if isinstance(data, str):  # bytes that Python 2 wrote as text
            data = data.encode("latin1")
        if kind not in _DTYPES or not isinstance(data, bytes):
            raise WeightsError(f"An array of type {kind!r} is not one of numbers.")
        return np.frombuffer(data, np.dtype(f"{'>' if order == '>' else '<'}{kind}")).reshape(
            shape, order="F" if fortran else "C"
        )
    return None


class _Constant(NamedTuple):
    name: str
    value: NDArray[Any]


def _constants(graph: bytes, name: str) -> Iterator[_Constant]:
    """The constants of a serialised GraphDef: node (1) → name (1), op (2), attribute map (5) → "value" → tensor (8)."""
    try:
        for field, node in _fields(graph):
            if field != 1 or not isinstance(node, bytes):
                continue
            parts = list(_fields(node))
            if (2, b"Const") not in parts:
                continue
            label = next(value for number, value in parts if number == 1)
            for number, attribute in parts:
                if number != 5 or not isinstance(attribute, bytes):
                    continue
                entry = dict(_fields(attribute))
                if entry.get(1) == b"value":
                    tensor = dict(_fields(_bytes(entry[2]))).get(8)
                    value = _tensor(_bytes(tensor)) if tensor is not None else None
                    if value is not None:
                        yield _Constant(_bytes(label).decode(), value)
    except (IndexError, StopIteration, KeyError, ValueError) as error:
        raise WeightsError(f"{name}: no frozen TensorFlow graph, or a damaged one ({error}).") from error


_TENSORFLOW = {1: "<f4", 2: "<f8", 3: "<i4", 9: "<i8", 10: "?"}


def _tensor(message: bytes) -> NDArray[Any] | None:
    """A TensorProto of numbers: type (1), shape (2), raw content (4), or values of one type (5, 7); else None."""
    fields: dict[int, list[int | bytes]] = {}
    for number, value in _fields(message):
        fields.setdefault(number, []).append(value)
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
        return np.full(shape, values[0]) if values.size == 1 else values.reshape(shape)
    return None


def _bytes(value: int | bytes) -> bytes:
    if not isinstance(value, bytes):
        raise ValueError("a number where a message was expected")
    return value


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
            fields: dict[int, list[int | bytes]] = {}
            for inner, part in _fields(_bytes(value)):
                fields.setdefault(inner, []).append(part)
            if fields.get(2) == [1]:  # float
                raw = _bytes(fields[9][0]) if 9 in fields else b"".join(_bytes(part) for part in fields.get(4, ()))
                shape = [_number(side) for side in fields.get(1, ())]
                arrays[_bytes(fields[8][0]).decode()] = np.frombuffer(raw, "<f4").reshape(shape)
    except (IndexError, StopIteration, KeyError, ValueError) as error:
        raise WeightsError(f"{path}: no ONNX model, or a damaged one ({error}).") from error
    return arrays


def _number(value: int | bytes) -> int:
    if not isinstance(value, int):
        raise ValueError("a message where a number was expected")
    return value
