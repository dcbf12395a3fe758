"""Arrays out of files of others: every fault is one sentence, nothing is evaluated, nothing inflates."""

from __future__ import annotations

import contextlib
import io
import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.core.errors import DataError, PredictionError
from evenhand.files.arrays import read_npy, read_npz, read_safetensors

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
    for values in (read_npy(path), read_npy(path, mapped=True)):
        assert values.dtype == array.dtype
        assert np.array_equal(values, array)
    np.savez_compressed(tmp_path / "a.npz", first=array, second=array)
    assert np.array_equal(read_npz(tmp_path / "a.npz")["second"], array)
    assert list(read_npz(tmp_path / "a.npz", choose=lambda names: names[:1])) == ["first"]


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
    for mapped in (True, False):
        with pytest.raises(PredictionError, match=r"bad\.npy is no \.npy file that can be read: \S"):
            read_npy(path, PredictionError, mapped=mapped)
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
