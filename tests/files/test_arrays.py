"""Arrays out of files of others: every fault is one sentence, nothing is evaluated, nothing inflates."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.core.errors import DataError, PredictionError
from evenhand.files.arrays import open_npy, read_npy, read_npz, read_safetensors
from evenhand.files.inputs import hash_of

HERE = Path("file")


def npy(header: str, data: bytes = b"", version: int = 1) -> bytes:
    text = header.encode("latin-1")
    length = struct.pack("<H" if version == 1 else "<I", len(text))
    return b"\x93NUMPY" + bytes([version, 0]) + length + text + data


def saved(array: Any) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def safetensors(entries: Any, data: bytes = b"") -> bytes:
    header = json.dumps(entries).encode()
    return struct.pack("<Q", len(header)) + header + data


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3),
        np.asfortranarray(np.arange(6, dtype=np.int16).reshape(2, 3)),
        np.array(3.5),
        np.zeros((0, 4), np.float32),
        np.array(["a", "bcd"]),
        np.array([True, False]),
        np.arange(3, dtype=">f4"),
    ],
)
def test_what_numpy_writes_is_read_back(tmp_path: Path, array: Any) -> None:
    path = tmp_path / "a.npy"
    path.write_bytes(saved(array))
    for values in (read_npy(path), np.asarray(open_npy(path)), open_npy(path)[:] if array.ndim else array):
        assert values.dtype == array.dtype
        assert np.array_equal(values, array)
    np.savez_compressed(tmp_path / "a.npz", first=array, second=array)
    assert np.array_equal(read_npz(tmp_path / "a.npz")["second"], array)
    assert list(read_npz(tmp_path / "a.npz", choose=lambda names: names[:1])) == ["first"]


@pytest.mark.parametrize("order", ["C", "F"])
def test_rows_of_a_file_are_those_of_the_array(tmp_path: Path, order: Any) -> None:
    array = np.asarray(np.random.default_rng(3).random((200, 3)), order=order)
    np.save(tmp_path / "a.npy", array)
    rows = open_npy(tmp_path / "a.npy")
    assert (rows.shape, rows.ndim, rows.dtype, len(rows)) == (array.shape, 2, array.dtype, 200)
    picked = np.random.default_rng(4).integers(0, 200, 90)
    for index in (slice(20, 40), slice(None), slice(190, 400), slice(0, 90, 7), picked, np.sort(picked), 7, picked[:0]):
        assert np.array_equal(rows[index], array[index])
    with pytest.raises(IndexError):
        rows[np.array([200])]


TRUNCATED = """
import os, sys
import numpy as np, polars as pl
from pathlib import Path
from evenhand.core.errors import EvenhandError
from evenhand.files.arrays import open_npy
from evenhand.instruments.readings import ReadingCache
from evenhand.benchmarks.ijb.streams import _blocks, _opened_shard
from evenhand.search.stores import open_store

folder, vectors = Path(sys.argv[1]), np.ones((50_000, 64), np.float32)
np.save(folder / "a.npy", vectors)
np.save(folder / "scores.npy", np.ones(5_000_000))
np.save(folder / "same.npy", np.ones(5_000_000, np.int8))
pl.DataFrame({"embedding": vectors}).write_parquet(folder / "b.parquet", row_group_size=5_000)
cache = ReadingCache(folder, "x")
cache.add({str(row): vectors[row] for row in range(5_000)})
cache.flush()
array, store, columns = open_npy(folder / "a.npy"), open_store(folder / "a.npy"), open_store(folder / "b.parquet")
shard = _opened_shard(folder / "scores.npy", folder / "same.npy")
assert columns.rows(0, 10).shape == (10, 64)
for path in folder.rglob("*"):
    if path.is_file() and ".keys." not in path.name:
        os.truncate(path, 5_000)
for read in (
    lambda: array[:], lambda: array[40_000:], lambda: array[np.arange(0, 50_000, 100)], lambda: np.asarray(array),
    lambda: store.rows(30_000, 40_000), lambda: store.take(np.array([3, 49_999])),
    lambda: columns.rows(30_000, 40_000), lambda: list(_blocks(*shard)),
):
    try:
        read()
    except EvenhandError as error:
        print(error)
assert cache.get("4999") is None
"""


def test_a_file_that_is_cut_short_while_it_is_open_is_an_error_in_words(tmp_path: Path) -> None:
    """A mapped file would end the process with SIGBUS, so it is tried in a process of its own."""
    command = [sys.executable, "-c", TRUNCATED, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert len(lines) == 8
    assert all(str(tmp_path) in line and "can" in line for line in lines)


def test_what_safetensors_writes_is_read_back() -> None:
    from safetensors.numpy import save

    arrays = {"x": np.arange(6, dtype=np.float16).reshape(2, 3), "y": np.arange(3)}
    values = read_safetensors(HERE, data=save(arrays))
    assert {name: array.tolist() for name, array in values.items()} == {n: a.tolist() for n, a in arrays.items()}
    data = safetensors({"b": {"dtype": "BF16", "shape": [1], "data_offsets": [0, 2]}}, b"\xc0\x3f")
    assert read_safetensors(HERE, data=data)["b"].tolist() == [1.5]


BAD_NPY = {
    "nothing": b"",
    "text": b"hello",
    "cut": saved(np.ones(9))[:-8],
    "a negative side": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1, 4), }", b"0" * 64),
    "objects": npy("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", b"0" * 64),
    "code": npy("__import__('os').mkdir('made')", b"0" * 64),
    "brackets": npy("{'descr': " + "(" * 5000, b""),
    "an endless shape": npy("{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904, 8), }"),
    "a structured type": npy("{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,), }", b"0" * 8),
    "an unknown version": npy("{}", version=9),
}


@pytest.mark.parametrize("data", BAD_NPY.values(), ids=BAD_NPY.keys())
def test_a_bad_array_is_one_sentence_with_the_name_of_the_file(tmp_path: Path, data: bytes) -> None:
    path = tmp_path / "bad.npy"
    path.write_bytes(data)
    for reader in (read_npy, open_npy):
        with pytest.raises(PredictionError, match=r"bad\.npy is no \.npy file that can be read: \S"):
            reader(path, PredictionError)
    archive = tmp_path / "bad.npz"
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("a.npy", data)
    with pytest.raises(DataError, match=r"bad\.npz is no \.npz file that can be read: \S"):
        read_npz(archive)


def test_an_archive_that_inflates_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evenhand.files.arrays.BASE_BYTES", 1 << 20)
    np.savez_compressed(tmp_path / "bomb.npz", a=np.zeros(8 << 20, np.uint8))
    with pytest.raises(DataError, match="inflated it would be larger than"):
        read_npz(tmp_path / "bomb.npz")


@pytest.mark.parametrize(
    "data",
    [
        b"",
        struct.pack("<Q", 1 << 40),
        struct.pack("<Q", 2) + b"[]",
        struct.pack("<Q", 100_000) + b"[" * 100_000,
        safetensors({"x": {"dtype": "F8_E4M3", "shape": [1], "data_offsets": [0, 1]}}, b"0"),
        safetensors({"x": {"dtype": "F32", "shape": [-1], "data_offsets": [0, 4]}}, b"0000"),
        safetensors({"x": {"dtype": "F32", "shape": [1], "data_offsets": [0, 400]}}, b"0000"),
        safetensors({"x": {"dtype": "F32", "shape": [1 << 60, 1 << 60], "data_offsets": [0, 4]}}, b"0000"),
        safetensors({"x": 3}),
    ],
)
def test_a_bad_safetensors_file_is_one_sentence(data: bytes) -> None:
    with pytest.raises(DataError, match=r"file is no safetensors file that can be read: \S"):
        read_safetensors(HERE, data=data)


@pytest.mark.parametrize("seed", range(20))
def test_random_damage_is_never_anything_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    stream = io.BytesIO()
    np.savez(stream, a=np.arange(12.0).reshape(3, 4))
    readers: Any = ((read_npy, saved(np.arange(12.0))), (read_npz, stream.getvalue()))
    for reader, content in readers:
        data = bytearray(content)
        for place in rng.integers(0, len(data), 6):
            data[place] = int(rng.integers(0, 256))
        with contextlib.suppress(DataError):
            reader(HERE, data=bytes(data))


@pytest.mark.parametrize(
    "reads", [(), [(0, 40), (40, 100)], [(0, 40), (60, 100)], [(50, 100), (0, 30), (20, 50)], [(0, 100), (0, 100)]]
)
def test_rows_hashed_while_they_are_read_give_the_hash_of_the_file_in_any_order(tmp_path: Path, reads: Any) -> None:
    path = tmp_path / "a.npy"
    np.save(path, np.random.default_rng(1).standard_normal((100, 7)))
    array = open_npy(path, hashed=True)
    array[np.array([0, 3, 99])]  # a sample: not in order, so it is not hashed
    for start, stop in reads:
        assert np.array_equal(array[start:stop], np.load(path)[start:stop])
    assert array.hashing is not None
    assert array.hashing.fact() == hash_of(path)
