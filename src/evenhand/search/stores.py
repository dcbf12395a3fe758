"""Embeddings on disk, in shards, that are never held whole.

A store is a `.npy` file, a Parquet file, or a folder of them; the shards of a folder follow each other in the order of
their names. A `.npy` shard is read as it is asked for, through the system's cache of pages, which the workers of
one machine share; a Parquet shard has one column of vectors and is read row group by row group. What travels
between machines is the description alone: every machine must see the files.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.files.arrays import FileArray, open_npy
from evenhand.files.columnar import scanned
from evenhand.files.inputs import damage_in_words

_NPY, _PARQUET = ".npy", ".parquet"


class Shard(NamedTuple):
    """One file of a store."""

    path: Path
    rows: int


@dataclass(frozen=True)
class EmbeddingStore:
    """Vectors (rows, dimensions) in files; rows are numbered through all shards."""

    shards: tuple[Shard, ...]
    dimensions: int
    column: str = ""  # of Parquet shards
    _open: dict[Path, FileArray] = field(default_factory=dict, compare=False, repr=False)

    def __len__(self) -> int:
        return self._starts[-1]

    def __getstate__(self) -> dict[str, Any]:
        return {"shards": self.shards, "dimensions": self.dimensions, "column": self.column, "_open": {}}

    @property
    def nbytes(self) -> int:
        """Bytes of all vectors in single precision."""
        return 4 * len(self) * self.dimensions

    def rows(self, start: int, stop: int) -> NDArray[np.float32]:
        """The vectors from `start` to `stop`: read from the files."""
        pieces = [self._read(shard, first, last) for shard, first, last in self._within(start, min(stop, len(self)))]
        if len(pieces) == 1:
            return pieces[0]
        return np.concatenate(pieces) if pieces else np.zeros((0, self.dimensions), np.float32)

    def take(self, index: Array) -> NDArray[np.float32]:
        """The vectors of some rows, in the order asked for."""
        index = np.asarray(index)
        taken = np.empty((len(index), self.dimensions), dtype=np.float32)
        number = np.searchsorted(self._starts, index, side="right") - 1
        for place in np.unique(number):
            shard, here = self.shards[place], np.flatnonzero(number == place)
            if shard.path.suffix == _NPY:
                taken[here] = self._array(shard.path)[index[here] - self._starts[place]]
                continue
            within = index[here] - self._starts[place]
            low = int(within.min())
            taken[here] = self._read(shard, low, int(within.max()) + 1)[within - low]
        return taken

    @cached_property
    def _starts(self) -> list[int]:
        starts = [0]
        for shard in self.shards:
            starts.append(starts[-1] + shard.rows)
        return starts

    def _within(self, start: int, stop: int) -> Iterator[tuple[Shard, int, int]]:
        for shard, first in zip(self.shards, self._starts, strict=False):
            low, high = max(start - first, 0), min(stop - first, shard.rows)
            if low < high:
                yield shard, low, high

    def _read(self, shard: Shard, start: int, stop: int) -> NDArray[np.float32]:
        if shard.path.suffix == _NPY:
            return np.asarray(self._array(shard.path)[start:stop], dtype=np.float32)
        with scanned(shard.path, DataError) as lazy, damage_in_words(shard.path, DataError, "Parquet"):
            rows = lazy.select(self.column).slice(start, stop - start).collect()
            flat = rows.to_series().explode().to_numpy()
        if flat.size != (stop - start) * self.dimensions:
            raise DataError(f"{shard.path}: the vectors in {self.column!r} are not all of {self.dimensions} numbers.")
        return np.ascontiguousarray(flat.reshape(stop - start, self.dimensions), dtype=np.float32)

    def _array(self, path: Path) -> FileArray:
        if path not in self._open:
            self._open[path] = open_npy(path)
        return self._open[path]


def open_store(path: Path, column: str = "embedding") -> EmbeddingStore:
    """The store in a file or folder; only headers are read. Raises DataError where shards do not fit together."""
    path = Path(path)
    found = sorted(_files(path), key=by_number)
    if not found:
        raise DataError(f"{path} has no embeddings: a .npy or .parquet file, or a folder of them, was expected.")
    shards, dimensions = [], None
    for file in found:
        rows, width = _npy_shape(file) if file.suffix == _NPY else _parquet_shape(file, column)
        if dimensions is None:
            dimensions = width
        if width != dimensions:
            raise DataError(
                f"{file} has vectors of {width} numbers, but {found[0].name} has vectors of {dimensions}. "
                "All shards of a store must come from one network."
            )
        shards.append(Shard(file.absolute(), rows))
    assert dimensions is not None
    return EmbeddingStore(tuple(shards), dimensions, column)


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in path.iterdir() if file.suffix in (_NPY, _PARQUET) and not file.name.startswith(".")]
    return [path] if path.suffix in (_NPY, _PARQUET) and path.is_file() else []


def by_number(path: Path) -> tuple[Any, ...]:
    """A key to sort files by their names: shard-2 comes before shard-10."""
    return tuple((int(part), "") if part.isdigit() else (-1, part) for part in re.split(r"(\d+)", path.name))


def _npy_shape(path: Path) -> tuple[int, int]:
    array = open_npy(path)
    if array.ndim != 2 or array.dtype.kind != "f":
        raise DataError(
            f"{path} holds {array.dtype} of shape {array.shape}; real numbers (rows, dimensions) were expected."
        )
    return int(array.shape[0]), int(array.shape[1])


def _parquet_shape(path: Path, column: str) -> tuple[int, int]:
    import polars as pl

    with scanned(path, DataError) as frame, damage_in_words(path, DataError, "Parquet"):
        names = frame.collect_schema().names()
        if column not in names:
            raise DataError(f"{path} has no column {column!r}; it has {', '.join(names)}.")
        rows = int(frame.select(pl.len()).collect().item())
        first = frame.select(column).head(1).collect().to_series()
    if first.dtype.base_type() not in (pl.List, pl.Array):
        raise DataError(f"{path}: the column {column!r} holds {first.dtype}; lists of numbers were expected.")
    return rows, len(first.explode()) if len(first) else 0
