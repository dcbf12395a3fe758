"""Arrays and plain values out of pickles and torch files, without running anything that they say.

A pickle (`.pkl`, `.pth`, `.pt`, `.bin`) is a program for a small stack machine, and the usual loaders let it call any
function. `load_plain` is another machine: it knows the instructions that build numbers, texts and containers, and a
dozen names, each of which stands for a step of building an array that is written out below. A name in the file is
never looked up in a Python module, so there is nothing that a file could execute; whatever it asks for beyond this
list is refused by name.

Every step is charged to a budget: memory grows with the size of the file, instructions do not. Containers that hold
each other many times over, tensors that repeat one number, archives that inflate and structures that are nested
hundreds deep are refused before they are built.

`save_plain` writes a dictionary of arrays as `torch.save` would.
"""

from __future__ import annotations

import codecs
import io
import math
import pickle
import pickletools
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.files.arrays import FAULTS, fill
from evenhand.files.inputs import Problem, opened

BASE_BYTES = 128 << 20  # what any file may need
EXPANSION = 16  # bytes of memory for each byte of the file beyond that
INSTRUCTIONS = 3_000_000
DEPTH = 200
_VALUES_AT_MOST = 3_000_000  # entries of all containers, counted each time that they are met

_TORCH_MAGIC = 0x1950A86A20F9469CFC6C  # opens the files of torch before 1.6
_STORAGES = {
    "DoubleStorage": "<f8", "FloatStorage": "<f4", "HalfStorage": "<f2", "LongStorage": "<i8", "IntStorage": "<i4",
    "ShortStorage": "<i2", "CharStorage": "|i1", "ByteStorage": "|u1", "BoolStorage": "|b1",
    "BFloat16Storage": "<u2",  # widened to single precision where a tensor is made
}  # fmt: skip


def load_plain(path: Path, problem: Problem = DataError, *, data: bytes | None = None, modules: bool = False) -> Any:
    """The arrays and plain values of a pickle, or of a file that `torch.save` wrote.

    Texts of Python 2 are read as Latin-1. With `modules`, the modules of a TorchScript archive are read as
    dictionaries of what they hold. `data` is the content of the file when it was read already. Raises `problem` when
    the file is damaged, too large once read, or asks for anything that is not on the list.

    >>> load_plain(Path("store.pth"), data=save_plain({"bboxes": np.zeros((2, 4))}))["bboxes"].shape
    (2, 4)
    """
    try:
        with io.BytesIO(data) if data is not None else opened(path, problem) as stream:
            size = stream.seek(0, io.SEEK_END)
            stream.seek(0)
            return _load(stream, ReadingBudget(BASE_BYTES + EXPANSION * size), modules=modules)
    except RefusedError as refused:
        raise problem(
            f"{path} asks for {refused}, which no file of arrays needs. Nothing was executed. "
            "Convert the file with a program that you trust, for instance to .npz."
        ) from None
    except ReadingBudgetError as exceeded:
        raise problem(f"{path}: {exceeded}. Nothing was executed; the file was not read.") from None
    except OSError as error:
        raise problem(f"{path} can't be read ({error.strerror or error}).") from None
    except (*FAULTS, AttributeError) as error:
        reason = str(error).splitlines()[0][:200] if str(error) else type(error).__name__
        raise problem(f"{path} is no pickle of arrays, or it is damaged: {reason}.") from None


def named_arrays(value: Any, joint: str = "/", prefix: str = "") -> Iterator[tuple[str, Array]]:
    """Every array in nested dictionaries with the keys that lead to it; a bare array has the key "".

    >>> [name for name, _ in named_arrays({"net": {"kernel": np.zeros(3)}, "step": 7})]
    ['net/kernel']
    """
    if isinstance(value, np.ndarray):
        yield prefix, value
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from named_arrays(inner, joint, f"{prefix}{joint}{key}" if prefix else str(key))


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
    """Something that is not on the list of what a file of arrays needs."""


class ReadingBudgetError(Exception):
    """More memory, more instructions or deeper nesting than a file of this size may ask for."""


class ReadingBudget:
    """Memory and instructions that are left for reading one file."""

    def __init__(self, memory: int) -> None:
        self.memory, self.instructions = memory, INSTRUCTIONS
        self._allowed = memory

    def spend(self, memory: int, instructions: int = 0) -> None:
        """Charge bytes before they are allocated, and instructions."""
        self.memory -= memory
        self.instructions -= instructions
        if self.memory < 0:
            raise ReadingBudgetError(f"reading it would need more than {self._allowed >> 20:,} MB of memory")
        if self.instructions < 0:
            raise ReadingBudgetError(f"it has more than {INSTRUCTIONS:,} instructions")


def _check_depth(depth: int) -> None:
    if depth > DEPTH:
        raise ReadingBudgetError(f"its values are nested more than {DEPTH} deep")


class _Name(NamedTuple):
    """A name in the file: a value like any other, looked up nowhere."""

    module: str
    name: str


class _Unfinished:
    """An array, a dtype or a TorchScript module between its construction and its state."""

    def __init__(self, value: Any = None, *, module: bool = False) -> None:
        self.value, self.module = value, module


@dataclass
class _Storage:
    """The numbers that tensors share; in files of torch before 1.6 they come after the tensors."""

    kind: str
    count: int
    values: Array | None = None

    @property
    def bytes(self) -> int:
        return self.count * np.dtype(_STORAGES[self.kind]).itemsize

    def fill(self, stream: Any, budget: ReadingBudget) -> None:
        budget.spend(self.bytes)
        self.values = np.empty(self.count, _STORAGES[self.kind])
        fill(self.values, stream)


class _Tensor(NamedTuple):
    storage: _Storage
    offset: int
    size: tuple[int, ...]
    stride: tuple[int, ...]


def _load(stream: BinaryIO, budget: ReadingBudget, *, modules: bool) -> Any:
    opening = stream.read(2)
    stream.seek(0)
    if opening == b"PK":
        return _from_archive(stream, budget, modules=modules)
    machine = _Machine(budget, modules=modules)
    value = machine.run(stream)
    if isinstance(value, int) and value == _TORCH_MAGIC:
        machine.run(stream)  # the protocol
        machine.run(stream)  # the machine that wrote it
        machine.storages = {}
        value = machine.run(stream)
        for key in _Resolver(budget).resolve(machine.run(stream)):  # then for each storage its count and its numbers
            storage = machine.storages[str(key)]
            count = int.from_bytes(stream.read(8), "little", signed=True)
            if count != storage.count:
                raise ValueError(f"a storage of {count} numbers where {storage.count} were announced")
            storage.fill(stream, budget)
    return _Resolver(budget).resolve(value)


def _from_archive(stream: BinaryIO, budget: ReadingBudget, *, modules: bool) -> Any:
    with zipfile.ZipFile(stream) as archive:
        names = [name for name in archive.namelist() if name.endswith("data.pkl")]
        if len(names) != 1:
            raise ValueError(f"the archive has {len(names)} data.pkl, expected one")
        root = names[0][: -len("data.pkl")]
        budget.spend(archive.getinfo(names[0]).file_size)
        machine = _Machine(budget, modules=modules)
        machine.storages = {}
        value = machine.run(io.BytesIO(archive.read(names[0])))
        for key, storage in machine.storages.items():
            size = archive.getinfo(f"{root}data/{key}").file_size
            if size != storage.bytes:  # the archive's own figures, before anything is read
                raise ValueError(f"a storage of {size:,} bytes where {storage.count:,} numbers are")
            with archive.open(f"{root}data/{key}") as member:
                storage.fill(member, budget)
        return _Resolver(budget).resolve(value)


_OPCODES = {opcode.code.encode("latin-1"): opcode for opcode in pickletools.opcodes}
_VALUES = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT", "STRING", "BINSTRING"),
    *("SHORT_BINSTRING", "UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "BINBYTES", "SHORT_BINBYTES"),
    *("BINBYTES8", "BYTEARRAY8"),
)
_CONTAINER_BYTES = {
    **{"EMPTY_DICT": 64, "EMPTY_LIST": 56, "EMPTY_SET": 216, "FROZENSET": 216, "DICT": 64, "LIST": 56},
    "MARK": 40,  # a place in the stack
}


class _Machine:
    """A stack, a memo, and the instructions that build plain values.

    Beside each value on the stack stands how deep it is nested, so that a tower of containers is refused while it
    grows. What is filled only after it was put into another is measured when all is read (`_Resolver`).
    """

    def __init__(self, budget: ReadingBudget, *, modules: bool) -> None:
        self.storages: dict[str, _Storage] | None = None
        self._stack: list[Any] = []
        self._depths: list[int] = []  # of the values on the stack
        self._taken_depth = 0  # of the values that were taken off it last
        self._marks: list[int] = []  # places in the stack
        self._memo: dict[int, Any] = {}
        self._budget, self._modules = budget, modules

    def run(self, stream: BinaryIO) -> Any:
        """What one program leaves on the stack."""
        self._stack, self._depths, self._marks, self._memo = [], [], [], {}
        actions = self._actions()
        while code := stream.read(1):
            opcode = _OPCODES.get(code)
            if opcode is None:
                raise ValueError(f"there is no instruction {code!r}")
            name = opcode.name
            self._budget.spend(_CONTAINER_BYTES.get(name, 8), instructions=1)
            if name == "STOP":
                return self._last()
            argument = _quoted(stream) if name == "STRING" else opcode.arg and opcode.arg.reader(stream)
            if name not in actions:
                raise RefusedError(f"the instruction {name}")
            actions[name](argument)
        raise ValueError("the stream ends early")

    def _actions(self) -> dict[str, Callable[[Any], None]]:
        """What each instruction does with its argument."""
        push, build, fill, take, marked = self._push, self._build, self._fill, self._take, self._marked
        return {
            **dict.fromkeys(_VALUES, push),
            **dict.fromkeys(("PUT", "BINPUT", "LONG_BINPUT"), self._memoize),
            **dict.fromkeys(("GET", "BINGET", "LONG_BINGET"), self._recall),
            **dict.fromkeys(("PROTO", "FRAME"), lambda _: None),
            "MEMOIZE": lambda _: self._memoize(len(self._memo)),
            "MARK": lambda _: self._marks.append(len(self._stack)),
            "POP": lambda _: self._pop(),
            "NONE": push,
            "NEWTRUE": lambda _: push(True),
            "NEWFALSE": lambda _: push(False),
            "EMPTY_DICT": lambda _: push({}, 1),
            "EMPTY_LIST": lambda _: push([], 1),
            "EMPTY_TUPLE": lambda _: push((), 1),
            "EMPTY_SET": lambda _: push(set()),
            "TUPLE1": lambda _: build(tuple(take(1))),
            "TUPLE2": lambda _: build(tuple(take(2))),
            "TUPLE3": lambda _: build(tuple(take(3))),
            "TUPLE": lambda _: build(tuple(marked())),
            "LIST": lambda _: build(marked()),
            "DICT": lambda _: build(_dict_of(marked())),
            "FROZENSET": lambda _: push(set(map(_key, marked()))),
            "SETITEM": lambda _: fill(dict, dict.update, _dict_of(take(2))),
            "SETITEMS": lambda _: fill(dict, dict.update, _dict_of(marked())),
            "APPEND": lambda _: fill(list, list.extend, take(1)),
            "APPENDS": lambda _: fill(list, list.extend, marked()),
            "ADDITEMS": lambda _: fill(set, set.update, list(map(_key, marked()))),
            "GLOBAL": lambda name: push(_Name(*name.split(" ", 1))),
            "STACK_GLOBAL": lambda _: push(_Name(*(_expect(part, str) for part in take(2)))),
            "REDUCE": lambda _: push(_construct(*take(2))),
            "NEWOBJ": lambda _: push(self._module(take(2)[0])),
            "BUILD": lambda _: _complete(take(1)[0], self._last()),
            "BINPERSID": lambda _: push(self._stored(take(1)[0])),
        }

    def _push(self, value: Any, depth: int = 0) -> None:
        self._stack.append(value)
        self._depths.append(depth)

    def _build(self, container: Any) -> None:
        """Push a container of the values that were taken."""
        _check_depth(self._taken_depth)
        self._push(container, self._taken_depth + 1)

    def _fill(self, kind: type, add: Callable[[Any, Any], None], items: Any) -> None:
        """Add the values that were taken to the container below them."""
        add(_expect(self._last(), kind), items)
        _check_depth(self._taken_depth)
        self._depths[-1] = max(self._depths[-1], self._taken_depth + 1)

    def _memoize(self, place: int) -> None:
        self._memo[place] = self._last()

    def _recall(self, place: int) -> None:
        if place not in self._memo:
            raise ValueError(f"it uses its value number {place}, which it never gave")
        self._push(self._memo[place])

    def _pop(self) -> None:
        if self._marks and self._marks[-1] == len(self._stack):
            self._marks.pop()
        else:
            self._take(1)

    def _last(self) -> Any:
        if len(self._stack) <= (self._marks[-1] if self._marks else 0):
            raise ValueError("an instruction lacks its arguments")
        return self._stack[-1]

    def _take(self, count: int) -> list[Any]:
        place = len(self._stack) - count
        if place < (self._marks[-1] if self._marks else 0):
            raise ValueError("an instruction lacks its arguments")
        return self._taken_from(place)

    def _marked(self) -> list[Any]:
        if not self._marks:
            raise ValueError("an instruction lacks its mark")
        return self._taken_from(self._marks.pop())

    def _taken_from(self, place: int) -> list[Any]:
        values = self._stack[place:]
        self._taken_depth = max(self._depths[place:], default=0)
        del self._stack[place:], self._depths[place:]
        return values

    def _module(self, called: Any) -> _Unfinished:
        if not (self._modules and isinstance(called, _Name) and called.module.startswith("__torch__")):
            raise RefusedError(f"an object of class {_written(called)}")
        return _Unfinished({}, module=True)

    def _stored(self, key: Any) -> _Storage:
        if self.storages is None or not isinstance(key, tuple) or len(key) not in (5, 6) or key[0] != "storage":
            raise RefusedError("something outside the file")
        _, kind, name, _, count = key[:5]
        if not isinstance(kind, _Name) or kind.module != "torch" or kind.name not in _STORAGES:
            raise RefusedError(f"a storage of {_written(kind)}")
        if len(key) == 6 and key[5] is not None:
            raise RefusedError("a storage that is a view of another")
        wanted = _Storage(kind.name, _count(count))
        known = self.storages.setdefault(str(_expect(name, str | int)), wanted)
        if (known.kind, known.count) != (wanted.kind, wanted.count):
            raise ValueError(f"two storages are called {name!r}")
        return known


def _quoted(stream: BinaryIO) -> str:
    """A text that Python 2 wrote in quotes, whatever its bytes; the standard reader would insist on ASCII."""
    line = stream.readline().strip()
    if len(line) < 2 or line[:1] != line[-1:] or line[:1] not in (b"'", b'"'):
        raise ValueError("a text without its quotes")
    return codecs.escape_decode(line[1:-1])[0].decode("latin-1")


def _construct(called: Any, arguments: Any) -> Any:
    """The steps of building an array that a file may ask for, by name."""
    arguments = _expect(arguments, tuple)
    if not isinstance(called, _Name):
        raise RefusedError("a call of something that is no name")
    module, name = called.module.replace("numpy._core", "numpy.core"), called.name
    match module, name:
        case ("numpy.core.multiarray", "_reconstruct"):
            if arguments[0] != ("numpy", "ndarray"):
                raise RefusedError(f"an array of class {_written(arguments[0])}")
            return _Unfinished()
        case ("numpy", "dtype"):
            return _Unfinished(_number_type(arguments[0]))
        case ("numpy.core.multiarray", "scalar"):
            return np.frombuffer(_bytes(arguments[1]), dtype=_expect(arguments[0], _Unfinished).value)[0].item()
        case ("numpy.core.numeric", "_frombuffer"):
            data, dtype, shape, order = arguments
            values = np.frombuffer(_bytes(data), dtype=_expect(dtype, _Unfinished).value)
            return values.reshape(_shape(shape), order=order).copy()
        case ("_codecs", "encode"):
            if arguments[1:] not in (("latin1",), ("latin-1",)):
                raise ValueError("bytes in an unexpected encoding")
            return _expect(arguments[0], str).encode("latin1")
        case ("torch._utils", "_rebuild_tensor_v2" | "_rebuild_tensor"):
            storage, offset, size, stride = arguments[:4]
            return _Tensor(_expect(storage, _Storage), _count(offset), _shape(size), _shape(stride))
        case ("torch._utils", "_rebuild_parameter"):
            return _expect(arguments[0], _Tensor)
        case ("torch.jit._pickle", "build_intlist"):
            return list(_expect(arguments[0], list))
        case ("collections", "OrderedDict") | ("builtins" | "__builtin__", "dict"):
            pairs = _expect(arguments[0], list | tuple) if arguments else []
            return {_key(key): value for key, value in (_expect(pair, list | tuple) for pair in pairs)}
        case ("builtins" | "__builtin__", "set" | "frozenset"):
            return set(map(_key, _expect(arguments[0], list | tuple))) if arguments else set()
        case ("builtins" | "__builtin__", "list" | "tuple"):
            return list(_expect(arguments[0], list | tuple)) if arguments else []
        case ("builtins" | "__builtin__", "bytearray" | "bytes"):
            return b"" if not arguments else _bytes(arguments[0])
        case _:
            raise RefusedError(_written(called))


def _complete(state: Any, target: Any) -> None:
    """Give an array its shape, type and bytes, a type its byte order, a module what it holds."""
    if isinstance(target, dict) and isinstance(state, dict):
        return  # torch puts the versions of modules beside a state dictionary
    if not isinstance(target, _Unfinished):
        raise RefusedError("an object with a state of its own")
    if target.module:
        target.value = _expect(state, dict)
    elif isinstance(target.value, np.dtype):
        order = _expect(state, tuple)[1]
        if order not in ("<", ">", "|", "="):
            raise ValueError("a number type without byte order")
        target.value = target.value.newbyteorder(order) if order != "|" else target.value
    else:
        _, shape, dtype, fortran, data = _expect(state, tuple)
        values = np.frombuffer(_bytes(data), dtype=_expect(dtype, _Unfinished).value)
        target.value = values.reshape(_shape(shape), order="F" if fortran else "C").copy()


class _Resolver:
    """Puts finished arrays in place, each shared value once, and counts what a reader of the result would meet."""

    def __init__(self, budget: ReadingBudget) -> None:
        self._budget = budget
        self._done: dict[int, tuple[Any, int, Any]] = {}  # by identity: result, values met, the original (kept alive)

    def resolve(self, value: Any) -> Any:
        """The value with every array in its final form."""
        return self._resolve(value, 0)[0]

    def _resolve(self, value: Any, depth: int) -> tuple[Any, int]:
        if not isinstance(value, dict | list | tuple | _Unfinished):
            if isinstance(value, _Storage):
                raise RefusedError("a storage without a tensor")
            return value, 1
        known = self._done.get(id(value))
        if known is None:
            _check_depth(depth)
            self._done[id(value)] = (None, _VALUES_AT_MOST, value)  # a container inside itself is never done
            known = self._done[id(value)] = (*self._built(value, depth), value)
        if known[1] >= _VALUES_AT_MOST:
            raise ReadingBudgetError(
                f"it holds more than {_VALUES_AT_MOST:,} values, counted each time that they are used"
            )
        return known[0], known[1]

    def _built(self, value: Any, depth: int) -> tuple[Any, int]:
        if isinstance(value, _Unfinished):
            if isinstance(value.value, np.dtype):
                raise RefusedError("a number type without an array")
            return self._resolve(value.value, depth + 1) if value.module else (value.value, 1)
        if isinstance(value, _Tensor):
            return _strided(value, self._budget), 1
        if isinstance(value, _Name):
            raise RefusedError(f"the name {_written(value)}")
        items, count = [], 1
        for inner in value.values() if isinstance(value, dict) else value:
            item, met = self._resolve(inner, depth + 1)
            items.append(item)
            count += met
        return (dict(zip(value, items, strict=True)) if isinstance(value, dict) else type(value)(items)), count


def _strided(tensor: _Tensor, budget: ReadingBudget) -> Array:
    storage, offset, size, stride = tensor
    values = storage.values
    if values is None or len(size) != len(stride):
        raise ValueError("a tensor without its numbers")
    if 0 in size:
        return np.zeros(size, values.dtype)
    if offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True)) >= len(values):
        raise ValueError("a tensor beyond its storage")
    steps = [step * values.itemsize for step in stride]
    view = np.lib.stride_tricks.as_strided(values[offset:], size, steps)
    if storage.kind == "BFloat16Storage":
        budget.spend(math.prod(size) * 8)
        return (view.astype(np.uint32) << 16).view(np.float32)
    if view.flags.c_contiguous:
        return view
    budget.spend(math.prod(size) * values.itemsize)
    return view.copy()


def _number_type(text: Any) -> np.dtype[Any]:
    dtype = np.dtype(str(text)) if str(text)[:1] in "<>|=?biufSU" else None
    if dtype is None or dtype.hasobject or dtype.kind not in "biufSU":
        raise RefusedError(f"an array of type {text!r}")
    return dtype


def _dict_of(items: list[Any]) -> dict[Any, Any]:
    return dict(zip(map(_key, items[::2]), items[1::2], strict=True))


def _key(value: Any) -> Any:
    """A key of a dictionary or a member of a set: hashing nested tuples takes time that a file must not choose."""
    if isinstance(value, _Unfinished):
        raise ValueError("an array as a key")
    return _expect(value, str | int | float | bytes | None)


def _shape(value: Any) -> tuple[int, ...]:
    return tuple(map(_count, _expect(value, tuple | list)))


def _count(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise ValueError("a size that is negative or no whole number")
    return value


def _bytes(value: Any) -> bytes:
    return value.encode("latin1") if isinstance(value, str) else bytes(_expect(value, (bytes, bytearray)))


def _expect(value: Any, kind: Any) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"a {type(value).__name__.lstrip('_').lower()} in the wrong place")
    return value


def _written(value: Any) -> str:
    return f"{value.module}.{value.name}" if isinstance(value, _Name) else type(value).__name__
