"""Files of the published package, read without running anything."""

from __future__ import annotations

import contextlib
import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.uccs.legacy import load_plain, save_plain
from evenhand.core.errors import DataError

HERE = Path("store.pth")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_and_plain_values_of_every_protocol(protocol: int) -> None:
    given = {"a": np.arange(6.0).reshape(2, 3), "f": np.asfortranarray(np.eye(2)), "n": [1, "x", None, True, 2.5]}
    found = load_plain(pickle.dumps(given, protocol), HERE)
    assert found["a"].tolist() == given["a"].tolist()
    assert found["f"].tolist() == [[1, 0], [0, 1]]
    assert found["n"] == given["n"]


def test_a_store_is_written_in_the_published_form(tmp_path: Path) -> None:
    arrays = {"embeddings": np.ones((10, 4), np.float32), "landmarks": np.zeros((10, 5, 2))}
    data = save_plain(arrays)
    assert data == save_plain(arrays)
    found = load_plain(data, HERE)
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
    found = load_plain(stream.getvalue(), HERE)
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
        load_plain(pickle.dumps(Calls(os.mkdir, str(victim)), protocol), HERE)
    assert not victim.exists()


@pytest.mark.parametrize("function", [eval, exec, getattr, __import__, open, print])
def test_builtins_are_refused(function: Any) -> None:
    with pytest.raises(DataError, match=r"asks for (builtins|io|_io)\."):
        load_plain(pickle.dumps(Calls(function, "1")), HERE)


def test_arrays_of_objects_are_refused() -> None:
    with pytest.raises(DataError, match="an array of type 'O8'"):
        load_plain(pickle.dumps(np.array([{}, []], dtype=object)), HERE)


def test_a_name_alone_is_refused() -> None:
    with pytest.raises(DataError, match="the name"):
        load_plain(pickle.dumps(print), HERE)


@pytest.mark.parametrize(
    "data", [b"", b"\x80", b"not a pickle", b"PK\x03\x04cut", pickle.dumps([1, 2, 3])[:-3], b"R.", b"0."]
)
def test_damage_is_an_error_with_the_file_name(data: bytes) -> None:
    with pytest.raises(DataError, match=r"store\.pth"):
        load_plain(data, HERE)


@pytest.mark.parametrize("seed", range(30))
def test_random_damage_never_raises_anything_else(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = bytearray(pickle.dumps({"a": np.arange(12.0).reshape(3, 4), "b": [1, (2, "x")]}))
    for place in rng.integers(0, len(data), 4):
        data[place] = int(rng.integers(0, 256))
    with contextlib.suppress(DataError):
        load_plain(bytes(data), HERE)
