"""Embeddings as people keep them: `.npy`, `.npz`, Parquet, safetensors.

Arrays are mapped, not loaded, where the format allows it. Nothing is unpickled.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.arrays import read_npy, read_npz, read_safetensors
from evenhand.files.inputs import hash_of, opened

FORMATS = (".npy", ".npz", ".parquet", ".safetensors")
_NAMES = ("embeddings", "embedding", "features", "arr_0")


def read_array(path: Path, *, name: str = "", dimensions: int = 2) -> tuple[Array, InputFact]:
    """An array of numbers, with what was read; `name` is the entry in files that hold several."""
    return open_array(path, name=name, dimensions=dimensions), hash_of(path, PredictionError)


def open_array(path: Path, *, name: str = "", dimensions: int = 2) -> Array:
    """As `read_array`, for those who hash the file themselves, or need no hash."""
    path = Path(path)
    with opened(path, PredictionError):
        pass  # a file that is not there, or can't be read, has the usual words
    readers = {".npy": _npy, ".npz": _npz, ".parquet": _parquet, ".safetensors": _safetensors}
    if path.suffix not in readers:
        raise PredictionError(f"{path}: arrays are read from {', '.join(FORMATS)}.")
    array = readers[path.suffix](path, name)
    if array.ndim != dimensions or array.dtype.kind not in "fiu":
        wanted = "(faces, dimensions)" if dimensions == 2 else "one number per comparison"
        raise PredictionError(f"{path}: an array of {array.dtype} with shape {array.shape}; {wanted} was expected.")
    return array


def _npy(path: Path, name: str) -> Array:
    return np.asarray(read_npy(path, PredictionError, mapped=True))


def _npz(path: Path, name: str) -> Array:
    (array,) = read_npz(path, PredictionError, choose=lambda names: [_pick(path, names, name)]).values()
    return array


def _parquet(path: Path, name: str) -> Array:
    import polars as pl

    try:
        schema = pl.read_parquet_schema(path)
    except pl.exceptions.PolarsError as error:
        raise PredictionError(f"{path} is no Parquet file that can be read: {error}.") from None
    vectors = [column for column, kind in schema.items() if isinstance(kind, pl.List | pl.Array)]
    if vectors or name in schema:
        values = pl.read_parquet(path, columns=[_pick(path, vectors or list(schema), name)]).to_series()
        if isinstance(values.dtype, pl.List):
            widths = values.list.len().unique()
            if len(widths) != 1:
                raise PredictionError(f"{path}: embeddings of {len(widths)} different lengths.")
            values = values.list.to_array(int(widths[0]))
        return np.asarray(values.to_numpy())
    numeric: Any = pl.read_parquet(path).select(pl.selectors.numeric())
    return np.asarray(numeric.to_numpy())


def _safetensors(path: Path, name: str) -> Array:
    (array,) = read_safetensors(path, PredictionError, choose=lambda names: [_pick(path, names, name)]).values()
    return array


def _pick(path: Path, there: list[str], name: str) -> str:
    if name and name in there:
        return name
    for known in _NAMES:
        if known in there and not name:
            return known
    if len(there) == 1:
        return there[0]
    raise PredictionError(f"{path} holds {', '.join(there) or 'nothing'}; which are the embeddings? Name one of them.")
