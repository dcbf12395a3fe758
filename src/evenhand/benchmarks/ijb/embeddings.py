"""Embeddings as people keep them: `.npy`, `.npz`, Parquet, safetensors.

Nothing is unpickled, and nothing is mapped: a file that is cut short meanwhile is an error in words.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.arrays import array_headers, open_npy, read_npy, read_npz, read_safetensors
from evenhand.files.columnar import native_panics_in_words, read_parquet, scanned
from evenhand.files.delimited import shown_names
from evenhand.files.inputs import hash_of, opened

FORMATS = (".npy", ".npz", ".parquet", ".safetensors")
# What entries are called in files that hold several: ours, and those of IJB_evals (embs, embs_f, scores).
ENTRIES = {
    "embeddings": ("embeddings", "embedding", "features", "embs", "img_feats", "arr_0"),
    "flip": ("flip", "embeddings_flip", "embs_f"),
    "scores": ("scores", "score", "arr_0"),
}


def read_array(path: Path, *, entry: str = "embeddings", dimensions: int = 2) -> tuple[Array, InputFact]:
    """An array of numbers, with what was read; `entry` says what is wanted from files that hold several arrays."""
    return open_array(path, entry=entry, dimensions=dimensions), hash_of(path, PredictionError)


def axes_of(path: Path) -> dict[str, int]:
    """The arrays that a file holds, and how many axes each has, from headers alone; empty for other formats."""
    headers = array_headers(path, PredictionError) if path.suffix in (".npy", ".npz") else {}
    return {name: len(header.shape) for name, header in headers.items()}


def holds_mirrored_pass(path: Path) -> bool:
    """Whether a file has the mirrored pass beside the embeddings, under a name of `ENTRIES`."""
    names: Iterable[str] = ()
    if path.suffix == ".npz":
        names = axes_of(path)
    elif path.suffix == ".safetensors":
        names = _safetensors_names(path)
    elif path.suffix == ".parquet":
        names = _vector_columns(path)[0]
    there = set(names)
    return bool(there & set(ENTRIES["flip"])) and bool(there - set(ENTRIES["flip"]))


def open_array(path: Path, *, entry: str = "embeddings", dimensions: int = 2) -> Array:
    """As `read_array`, for those who hash the file themselves, or need no hash."""
    path = Path(path)
    with opened(path, PredictionError):
        pass  # a file that is not there, or can't be read, has the usual words
    readers = {".npy": _npy, ".npz": _npz, ".parquet": _parquet, ".safetensors": _safetensors}
    if path.suffix not in readers:
        raise PredictionError(f"{path}: arrays are read from {', '.join(FORMATS)}.")
    array = readers[path.suffix](path, entry)
    if dimensions == 1 and array.ndim == 2 and 1 in array.shape:
        array = array.reshape(-1)  # one model among the rows of IJB_evals' scores
    if array.ndim != dimensions or array.dtype.kind not in "fiu":
        wanted = "(faces, dimensions)" if dimensions == 2 else "one number per comparison"
        raise PredictionError(f"{path}: an array of {array.dtype} with shape {array.shape}; {wanted} was expected.")
    return array


def stored_array(path: Path, *, entry: str = "embeddings", hashed: bool = False) -> Any:
    """As `open_array`, of two dimensions; the rows of a `.npy` file stay in it until they are asked for.

    `hashed`: those that are read in order are hashed on the way.
    """
    if Path(path).suffix == ".npy":
        stored = open_npy(path, PredictionError, hashed=hashed)
        if stored.ndim == 2 and stored.dtype.kind in "fiu" and not stored.header.fortran:
            return stored
    return open_array(path, entry=entry)


def _npy(path: Path, entry: str) -> Array:
    return read_npy(path, PredictionError)


def _npz(path: Path, entry: str) -> Array:
    (array,) = read_npz(path, PredictionError, choose=lambda names: [_pick(path, names, entry)]).values()
    return array


def _parquet(path: Path, entry: str) -> Array:
    import polars as pl

    vectors, schema = _vector_columns(path)
    if vectors:
        values = read_parquet(path, PredictionError, columns=[_pick(path, vectors, entry)]).to_series()
        if isinstance(values.dtype, pl.List):
            widths = values.list.len().unique()
            if len(widths) != 1:
                raise PredictionError(f"{path}: embeddings of {len(widths)} different lengths.")
            values = values.list.to_array(int(widths[0]))
        return np.asarray(values.to_numpy())
    numeric = [column for column, kind in schema.items() if kind.is_numeric()]
    whole = [column for column in numeric if schema[column].is_integer()]
    if whole and len(whole) < len(numeric):  # numbers of rows or templates are no part of an embedding
        raise PredictionError(
            f"{path} has whole numbers in {shown_names(whole)} and fractions in {len(numeric) - len(whole)} other "
            "columns. Keep the columns of the embeddings alone, or put each embedding into one cell of a column "
            f"{ENTRIES['embeddings'][0]!r} of lists."
        )
    return np.asarray(read_parquet(path, PredictionError, columns=numeric).to_numpy())


def _vector_columns(path: Path) -> tuple[list[str], Mapping[str, Any]]:
    """The columns of a Parquet file that hold a vector in each cell, and the types of all."""
    import polars as pl

    with scanned(path, PredictionError) as lazy, native_panics_in_words(path, PredictionError, "Parquet"):
        schema = lazy.collect_schema()
    return [column for column, kind in schema.items() if isinstance(kind, pl.List | pl.Array)], schema


def _safetensors_names(path: Path) -> list[str]:
    there: list[str] = []

    def note(names: list[str]) -> list[str]:
        there.extend(names)
        return []

    read_safetensors(path, PredictionError, choose=note)
    return there


def _safetensors(path: Path, entry: str) -> Array:
    (array,) = read_safetensors(path, PredictionError, choose=lambda names: [_pick(path, names, entry)]).values()
    return array


def _pick(path: Path, there: list[str], entry: str) -> str:
    for known in ENTRIES[entry]:
        if known in there:
            return known
    if len(there) == 1:
        return there[0]
    raise PredictionError(
        f"{path} holds {', '.join(there) or 'nothing'}; which are the {entry}? Name them {ENTRIES[entry][0]!r}."
    )
