"""Files of the published package, read without running anything in them.

A serialised dictionary (`.pth`) or exclusion list (`.pickle`) is a program for a small stack
machine, and the usual loaders let it call any function. `load_plain` is another machine: it knows
the instructions that build numbers, texts and containers, and a dozen names, each of which stands
for a step of building an array that is written out below. A name in the file is never looked up in
a Python module, so there is nothing that a file could execute; whatever it asks for beyond this
list is refused by name.

`save_plain` writes a dictionary of arrays in the published form, as `torch.save` would.
"""

from __future__ import annotations

import io
import pickle
import pickletools
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.files.inputs import Problem

_TORCH_MAGIC = 0x1950A86A20F9469CFC6C  # opens the files of torch before 1.6
_STORAGES = {
    "DoubleStorage": "<f8",
    "FloatStorage": "<f4",
    "HalfStorage": "<f2",
    "LongStorage": "<i8",
    "IntStorage": "<i4",
    "ShortStorage": "<i2",
    "CharStorage": "|i1",
    "ByteStorage": "|u1",
    "BoolStorage": "|b1",
}


def load_plain(data: bytes, path: Path, problem: Problem = DataError) -> Any:
    """The arrays and plain values of a `.pth` or `.pickle` file.

    Raises `problem` when the file is damaged or asks for anything that is not on the list.

    >>> load_plain(save_plain({"bboxes": np.zeros((2, 4))}), Path("store.pth"))["bboxes"].shape
    (2, 4)
    """
    try:
        if data[:2] == b"PK":
            return _from_archive(data)
        stream = io.BytesIO(data)
        value = _run(stream, None)
        if isinstance(value, int) and value == _TORCH_MAGIC:
            _, _, value = (_run(stream, None) for _ in range(3))  # protocol, machine, content
        return value
    except RefusedError as refused:
        raise problem(
            f"{path} asks for {refused}, which no store of arrays needs. Nothing was executed. "
            "Convert the file with a program that you trust, for instance to .npz."
        ) from None
    except _DAMAGE as error:
        raise problem(f"{path} is no serialised store, or it is damaged: {error}.") from None


_DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    EOFError,
    ArithmeticError,
    RecursionError,
    NotImplementedError,
    RuntimeError,
    zipfile.BadZipFile,
)


def ids_of(value: Any, path: Path) -> Array:
    """Whole numbers from what an exclusion list held: a list, tuple, set or array."""
    if not isinstance(value, list | tuple | set | frozenset | np.ndarray):
        raise DataError(f"{path} holds a {type(value).__name__}; an exclusion list is a list of face ids.")
    try:
        ids = sorted(value) if isinstance(value, set | frozenset) else list(value)
        return np.array([int(face) for face in ids], dtype=np.int64)
    except (TypeError, ValueError):
        raise DataError(f"{path} has an entry that is no face id; ids are whole numbers.") from None


def save_plain(arrays: Mapping[str, Array]) -> bytes:
    """The bytes of a `.pth` file with a dictionary of arrays, in the published form."""
    stream = pickle.dumps({name: np.ascontiguousarray(array) for name, array in arrays.items()}, protocol=2)
    stream = stream.replace(b"cnumpy._core.", b"cnumpy.core.")  # older releases of NumPy can read it too
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        for name, content in (("data.pkl", stream), ("byteorder", b"little"), ("version", b"3\n")):
            archive.writestr(zipfile.ZipInfo(f"archive/{name}", date_time=(1980, 1, 1, 0, 0, 0)), content)
    return out.getvalue()


class RefusedError(Exception):
    """Something that is not on the list of what a store needs."""


class _Name(NamedTuple):
    """A name in the file: a value like any other, looked up nowhere."""

    module: str
    name: str


class _Making:
    """An array or a dtype between its construction and its state."""

    def __init__(self, value: Any = None) -> None:
        self.value = value


_Storage = Callable[[str], bytes]


def _from_archive(data: bytes) -> Any:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        names = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if len(names) != 1:
            raise ValueError("the archive has no data.pkl")
        root = names[0][: -len("data.pkl")]
        return _run(io.BytesIO(archive.read(names[0])), lambda key: archive.read(f"{root}data/{key}"))


def _run(stream: io.BytesIO, storage: _Storage | None) -> Any:
    """What a program leaves on the stack."""
    machine = _Machine(storage)
    for code, argument, _ in pickletools.genops(stream):
        if code.name == "STOP":
            return _finished(machine.stack.pop())
        machine.step(code.name, argument)
    raise ValueError("the stream ends early")


_MARK = object()
_VALUES = frozenset(
    {"INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING"}
    | {"SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES"}
    | {"BINBYTES8", "BYTEARRAY8"}
)
_FIXED: Mapping[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
    "EMPTY_SET": set,
}


class _Machine:
    """A stack, a memo, and the instructions that build plain values."""

    def __init__(self, storage: _Storage | None) -> None:
        self.stack: list[Any] = []
        self._memo: dict[int, Any] = {}
        self._storage = storage

    def step(self, name: str, argument: Any) -> None:
        """Carry out one instruction."""
        if name in _VALUES:
            self.stack.append(argument)
        elif name in _FIXED:
            self.stack.append(_FIXED[name]())
        elif name in ("PROTO", "FRAME"):
            pass
        elif name == "MARK":
            self.stack.append(_MARK)
        elif name in ("PUT", "BINPUT", "LONG_BINPUT"):
            self._memo[int(argument)] = self.stack[-1]
        elif name == "MEMOIZE":
            self._memo[len(self._memo)] = self.stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            self.stack.append(self._memo[int(argument)])
        else:
            self._build(name, argument)

    def _build(self, name: str, argument: Any) -> None:
        stack = self.stack
        if name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            stack[-count:] = [tuple(stack[-count:])]
        elif name in ("TUPLE", "LIST", "FROZENSET"):
            made = {"TUPLE": tuple, "LIST": list, "FROZENSET": frozenset}[name](self._marked())
            stack.append(made)
        elif name == "DICT":
            stack.append(_dict_of(self._marked()))
        elif name in ("SETITEM", "SETITEMS"):
            items = self._marked() if name == "SETITEMS" else self._last(2)
            _expect(stack[-1], dict).update(_dict_of(items))
        elif name in ("APPEND", "APPENDS"):
            items = self._marked() if name == "APPENDS" else self._last(1)
            _expect(stack[-1], list).extend(items)
        elif name == "ADDITEMS":
            items = self._marked()
            _expect(stack[-1], set).update(items)
        elif name == "POP":
            stack.pop()
        elif name == "GLOBAL":
            module, _, attribute = str(argument).partition(" ")
            stack.append(_Name(module, attribute))
        elif name == "STACK_GLOBAL":
            module, attribute = self._last(2)
            stack.append(_Name(str(module), str(attribute)))
        elif name == "REDUCE":
            called, arguments = self._last(2)
            stack.append(_make(called, _expect(arguments, tuple)))
        elif name == "BUILD":
            state = stack.pop()
            _complete(stack[-1], state)
        elif name == "BINPERSID":
            stack.append(self._stored(stack.pop()))
        else:
            raise RefusedError(f"the instruction {name}")

    def _last(self, count: int) -> list[Any]:
        taken = self.stack[-count:]
        if len(taken) < count or _MARK in taken:
            raise ValueError("an instruction lacks its arguments")
        del self.stack[-count:]
        return taken

    def _marked(self) -> list[Any]:
        place = len(self.stack) - 1
        while self.stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise ValueError("an instruction lacks its mark")
        taken = self.stack[place + 1 :]
        del self.stack[place:]
        return taken

    def _stored(self, key: Any) -> Array:
        if self._storage is None or not isinstance(key, tuple) or len(key) != 5 or key[0] != "storage":
            raise RefusedError("something outside the file")
        _, kind, name, _, count = key
        if not isinstance(kind, _Name) or kind.module != "torch" or kind.name not in _STORAGES:
            raise RefusedError(f"a storage of {kind}")
        values = np.frombuffer(self._storage(str(name)), dtype=_STORAGES[kind.name])
        if len(values) != count:
            raise ValueError(f"a storage of {len(values)} numbers where {count} were announced")
        return values


def _make(called: Any, arguments: tuple[Any, ...]) -> Any:
    """The steps of building an array that a file may ask for, by name."""
    if not isinstance(called, _Name):
        raise RefusedError("a call of something that is no name")
    module, name = called.module.replace("numpy._core", "numpy.core"), called.name
    match module, name:
        case ("numpy.core.multiarray", "_reconstruct"):
            if arguments[0] != ("numpy", "ndarray"):
                raise RefusedError(f"an array of class {arguments[0]}")
            return _Making()
        case ("numpy", "dtype"):
            return _Making(_number_type(arguments[0]))
        case ("numpy.core.multiarray", "scalar"):
            return np.frombuffer(_bytes(arguments[1]), dtype=_expect(arguments[0], _Making).value)[0].item()
        case ("numpy.core.numeric", "_frombuffer"):
            data, dtype, shape, order = arguments
            return np.frombuffer(_bytes(data), dtype=_expect(dtype, _Making).value).reshape(shape, order=order).copy()
        case ("_codecs", "encode"):
            if arguments[1:] != ("latin1",):
                raise ValueError("bytes in an unexpected encoding")
            return str(arguments[0]).encode("latin1")
        case ("torch._utils", "_rebuild_tensor_v2"):
            return _tensor(*arguments[:4])
        case ("collections", "OrderedDict") | ("builtins" | "__builtin__", "dict"):
            return dict(*arguments)
        case ("builtins" | "__builtin__", "set" | "frozenset"):
            return set(*arguments)
        case ("builtins" | "__builtin__", "list" | "tuple"):
            return list(*arguments)
        case ("builtins" | "__builtin__", "bytearray" | "bytes"):
            return b"" if not arguments else _bytes(arguments[0])
        case _:
            raise RefusedError(f"{called.module}.{called.name}")


def _complete(made: Any, state: Any) -> None:
    """Give an array its shape, type and bytes, or a type its byte order."""
    if not isinstance(made, _Making):
        raise RefusedError("an object with a state of its own")
    if isinstance(made.value, np.dtype):
        order = _expect(state, tuple)[1]
        if order not in ("<", ">", "|", "="):
            raise ValueError("a number type without byte order")
        made.value = made.value.newbyteorder(order) if order != "|" else made.value
        return
    _, shape, dtype, fortran, data = _expect(state, tuple)
    values = np.frombuffer(_bytes(data), dtype=_expect(dtype, _Making).value)
    made.value = values.reshape(shape, order="F" if fortran else "C").copy()


def _number_type(text: Any) -> np.dtype[Any]:
    made = np.dtype(str(text)) if str(text)[:1] in "<>|=?biufSU" else None
    if made is None or made.hasobject or made.kind not in "biufSU":
        raise RefusedError(f"an array of type {text!r}")
    return made


def _tensor(storage: Any, offset: int, size: tuple[int, ...], stride: tuple[int, ...]) -> Array:
    values = _expect(storage, np.ndarray)
    if any(n < 0 or step < 0 for n, step in zip(size, stride, strict=True)):
        raise ValueError("a tensor of negative extent")
    if 0 in size:
        return np.zeros(size, dtype=values.dtype)
    if not 0 <= offset <= offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) < len(values):
        raise ValueError("a tensor beyond its storage")
    steps = [step * values.itemsize for step in stride]
    return np.lib.stride_tricks.as_strided(values[offset:], size, steps).copy()


def _finished(value: Any) -> Any:
    """The value with every array in its final form."""
    if isinstance(value, _Making):
        return value.value
    if isinstance(value, _Name) or value is _MARK:
        raise RefusedError(f"the name {value}")
    if isinstance(value, dict):
        return {_finished(key): _finished(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)([_finished(item) for item in value])
    return value


def _dict_of(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(items[::2], items[1::2], strict=True))


def _bytes(value: Any) -> bytes:
    return value.encode("latin1") if isinstance(value, str) else bytes(_expect(value, (bytes, bytearray)))


def _expect(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a {type(value).__name__} in the wrong place")
    return value
