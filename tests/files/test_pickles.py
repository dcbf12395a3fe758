"""Pickles and torch files: arrays are read, nothing runs, and no file chooses how much memory or time it takes."""

from __future__ import annotations

import contextlib
import io
import pickle
import struct
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.core.errors import DataError
from evenhand.files.pickles import load_plain, named_arrays, save_plain

HERE = Path("store.pth")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_and_plain_values_of_every_protocol(protocol: int) -> None:
    given = {"a": np.arange(6.0).reshape(2, 3), "f": np.asfortranarray(np.eye(2)), "n": [1, "x", None, True, 2.5]}
    found = load_plain(HERE, data=pickle.dumps(given, protocol))
    assert found["a"].tolist() == given["a"].tolist()
    assert found["f"].tolist() == [[1, 0], [0, 1]]
    assert found["n"] == given["n"]


def test_a_store_is_written_in_the_published_form(tmp_path: Path) -> None:
    arrays = {"embeddings": np.ones((10, 4), np.float32), "landmarks": np.zeros((10, 5, 2))}
    data = save_plain(arrays)
    assert data == save_plain(arrays)
    found = load_plain(HERE, data=data)
    assert found["embeddings"].dtype == np.float32
    assert found["landmarks"].shape == (10, 5, 2)


def test_torch_reads_what_we_write_and_we_read_what_torch_writes() -> None:
    torch = pytest.importorskip("torch")
    from numpy._core.multiarray import _reconstruct

    allowed = [_reconstruct, np.ndarray, np.dtype, type(np.dtype(np.float32))]
    with torch.serialization.safe_globals([*allowed, (_reconstruct, "numpy.core.multiarray._reconstruct")]):
        theirs = torch.load(io.BytesIO(save_plain({"x": np.eye(2, dtype=np.float32)})), weights_only=True)
    assert theirs["x"].tolist() == [[1, 0], [0, 1]]
    stream = io.BytesIO()
    torch.save({"t": torch.arange(6.0).reshape(2, 3).T, "a": np.arange(3)}, stream)
    found = load_plain(HERE, data=stream.getvalue())
    assert found["t"].tolist() == [[0, 3], [1, 4], [2, 5]]
    assert found["a"].tolist() == [0, 1, 2]


class Calls:
    """Pickles as a call of a function."""

    def __init__(self, function: Any, *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> Any:
        return self.call


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_a_call_is_refused_by_name_and_not_executed(tmp_path: Path, protocol: int) -> None:
    import os

    victim = tmp_path / "made"
    with pytest.raises(DataError, match=r"asks for (posix|nt)\.mkdir.*Nothing was executed"):
        load_plain(HERE, data=pickle.dumps(Calls(os.mkdir, str(victim)), protocol))
    assert not victim.exists()


@pytest.mark.parametrize("function", [eval, exec, getattr, __import__, open, print])
def test_builtins_are_refused(function: Any) -> None:
    with pytest.raises(DataError, match=r"asks for (builtins|io|_io)\."):
        load_plain(HERE, data=pickle.dumps(Calls(function, "1")))


def test_arrays_of_objects_are_refused() -> None:
    with pytest.raises(DataError, match="an array of type 'O8'"):
        load_plain(HERE, data=pickle.dumps(np.array([{}, []], dtype=object)))


def test_a_name_alone_is_refused() -> None:
    with pytest.raises(DataError, match="the name"):
        load_plain(HERE, data=pickle.dumps(print))


@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"not a pickle", b"PK\x03\x04cut", pickle.dumps([1, 2, 3])[:-3], b"R.", b"0."]
)
def test_damage_is_an_error_with_the_file_name(data: bytes) -> None:
    with pytest.raises(DataError, match=r"store\.pth"):
        load_plain(HERE, data=data)


@pytest.mark.parametrize("name", [b"collections\nOrderedDict", b"builtins\ndict", b"__builtin__\ndict"])
def test_a_pair_of_a_dictionary_is_no_text_of_two_letters(name: bytes) -> None:
    with pytest.raises(DataError, match="a str in the wrong place"):
        load_plain(HERE, data=b"\x80\x02c" + name + b"\n](X\x02\x00\x00\x00abe\x85R.")


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_never_raises_anything_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(pickle.dumps({"a": np.arange(12.0).reshape(3, 4), "b": [1, (2, "x")]}))
    for place in rng.integers(0, len(data), 4):
        data[place] = int(rng.integers(0, 256))
    with contextlib.suppress(DataError):
        load_plain(HERE, data=bytes(data))


def nested(opening: bytes, count: int) -> bytes:
    """A container that holds the previous one twice, again and again."""
    return b"\x80\x02" + opening + b"".join(b"q%c(h%ch%ct" % (i, i, i) for i in range(count)) + b"."


def tensor_archive(size: tuple[int, ...], stride: tuple[int, ...], numbers: int = 1, repeats: int = 1) -> bytes:
    """A torch archive with tensors of a chosen extent over a small storage."""
    storage = b"(X\x07\x00\x00\x00storagectorch\nFloatStorage\nX\x01\x00\x00\x000X\x03\x00\x00\x00cpu" + (
        b"J" + struct.pack("<i", numbers) + b"tQ"
    )
    sides = b"".join(b"\x8a\x08" + struct.pack("<q", n) for n in size)
    steps = b"".join(b"\x8a\x08" + struct.pack("<q", n) for n in stride)
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\x00(" + sides + b"t(" + steps + b"ttR"
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("archive/data.pkl", b"\x80\x02(" + tensor * repeats + b"l.")
        archive.writestr("archive/data/0", b"\0" * 4 * numbers)
    return out.getvalue()


def zipped(size: int) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", b"\0" * size)
    return out.getvalue()


BOMBS = {
    "tuples that hold each other": lambda: nested(b")", 60),
    "lists nested in lists": lambda: b"\x80\x02" + b"]" * 3000 + b"a" * 2999 + b".",
    "tuples nested in tuples": lambda: b"\x80\x02)" + b"\x85" * 30_000 + b".",
    "a tuple of tuples as a key": lambda: b"\x80\x02}" + nested(b")", 40)[2:-1] + b"Ns.",
    "a list in itself": lambda: b"\x80\x02]q\x00h\x00a.",
    "sets by the million": lambda: b"\x80\x04(" + b"\x8f" * 700_000 + b"t.",
    "one number stretched": lambda: tensor_archive((1 << 20, 1 << 20), (0, 0)),
    "one number stretched a little, often": lambda: tensor_archive((1 << 12, 1 << 10), (0, 0), repeats=500),
    "a negative side": lambda: tensor_archive((-1, 4), (4, 1), 16),
    "a tensor without end": lambda: tensor_archive((1 << 61, 1 << 61), (1, 1), 4),
    "a member that inflates": lambda: zipped(200 << 20),
    "endless instructions": lambda: b"\x80\x02" + b"N0" * 500_000 + b"N.",
    "an array of no shape": lambda: pickle.dumps(np.zeros((2, 3))).replace(
        b"K\x02K\x03\x86", b"J\xff\xff\xff\xffK\x03\x86"
    ),
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_refused_by_name(bomb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.files.pickles.INSTRUCTIONS", 800_000)
    with pytest.raises(DataError, match=r"store\.pth"):
        load_plain(HERE, data=BOMBS[bomb]())


@pytest.mark.parametrize("tower", [b")" + b"\x85" * 500, b"(" * 500 + b"l" * 500, b"]" * 500 + b"a" * 499])
def test_a_tower_of_containers_is_refused_while_it_grows(tower: bytes) -> None:
    with pytest.raises(DataError, match="nested more than 200 deep"):
        load_plain(HERE, data=b"\x80\x02" + tower + b"no instruction")


def test_two_hundred_containers_in_each_other_are_read() -> None:
    for opening, wrap in ((b")", b"\x85" * 200), (b"]" * 201, b"a" * 200)):
        value = load_plain(HERE, data=b"\x80\x02" + opening + wrap + b".")
        for _ in range(200):
            (value,) = value
        assert not value


def test_a_shared_array_is_read_once() -> None:
    array = np.arange(5)
    values = load_plain(HERE, data=pickle.dumps([array, {"again": array}]))
    assert values[0] is values[1]["again"]


def test_text_pickles_of_python_2_are_read() -> None:
    data = (
        b"(dp0\nS'cams'\np1\ncnumpy.core.multiarray\n_reconstruct\np2\n(cnumpy\nndarray\np3\n(I0\ntp4\nS'b'\np5\n"
        b"tp6\nRp7\n(I1\n(I2\ntp8\ncnumpy\ndtype\np9\n(S'f4'\np10\nI0\nI1\ntp11\nRp12\n(I3\nS'<'\np13\nNNNI-1\nI-1\n"
        b"I0\ntp14\nbI00\nS'\\x00\\x00\\x80?\\x00\\x00\x00\xc0'\np15\ntp16\nbs."
    )
    assert dict(named_arrays(load_plain(HERE, data=data)))["cams"].tolist() == [1.0, -2.0]


@pytest.mark.parametrize("old", [True, False])
def test_state_dictionaries_of_old_and_new_torch_are_read(old: bool) -> None:
    torch = pytest.importorskip("torch")
    state = OrderedDict(a=torch.nn.Parameter(torch.arange(6.0).reshape(2, 3)), h=torch.ones(3, dtype=torch.bfloat16))
    state["shared"] = state["a"].detach()[:, 1]
    stream = io.BytesIO()
    torch.save({"state_dict": state, "epoch": 3}, stream, _use_new_zipfile_serialization=not old)
    content = load_plain(HERE, data=stream.getvalue())
    assert content["epoch"] == 3
    assert content["state_dict"]["a"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert content["state_dict"]["shared"].tolist() == [1, 4]
    assert content["state_dict"]["h"].tolist() == [1, 1, 1]
