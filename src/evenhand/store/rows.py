"""Rows as Parquet, and back to the last bit.

A part of records is one Parquet file. Columns keep their type and shape; an attribute is the
column `attribute:NAME`, whose values can be read by any other tool: the level, several levels
joined by " | ", `(missing)` where it was not annotated, nothing where it does not apply. What a
table of texts can't say (levels without rows, the order of patterns) is in the file's metadata
under `evenhand`.

The same rows give the same bytes.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from evenhand.core.errors import RunError
from evenhand.core.records import MISSING, NOT_APPLICABLE, Array, Attribute, Records

_KEY = "evenhand"
_PREFIX = "attribute:"
_KINDS = "biufUS"  # booleans, whole numbers, reals, texts, bytes


def to_parquet(rows: Records) -> bytes:
    import polars as pl

    columns = {name: np.asarray(column) for name, column in rows.columns.items()}
    series = [_series(name, column) for name, column in columns.items()]
    series += [_labels(name, attribute) for name, attribute in rows.attributes.items()]
    facts = {
        "rows": len(rows),
        "columns": {name: [column.dtype.str, list(column.shape[1:])] for name, column in columns.items()},
        "attributes": {
            name: {
                "levels": list(attribute.levels),
                "dtype": attribute.codes.dtype.str,
                "patterns": [np.flatnonzero(pattern).tolist() for pattern in attribute.patterns],
            }
            for name, attribute in rows.attributes.items()
        },
    }
    file = io.BytesIO()
    pl.DataFrame(series).write_parquet(
        file,
        compression="zstd",
        compression_level=1,
        statistics=False,
        metadata={_KEY: msgspec.json.encode(facts).decode()},
    )
    return file.getvalue()


def from_parquet(data: bytes, what: str = "part") -> Records:
    """The rows of a Parquet file that `to_parquet` made; raises RunError when it is damaged or another's."""
    import polars as pl

    try:
        facts = msgspec.json.decode(pl.read_parquet_metadata(io.BytesIO(data))[_KEY])
        frame = pl.read_parquet(io.BytesIO(data))
        return Records(
            {name: _column(frame[name], dtype, shape) for name, (dtype, shape) in facts["columns"].items()},
            {name: _attribute(frame[_PREFIX + name], fact) for name, fact in facts["attributes"].items()},
        )
    except (
        pl.exceptions.PolarsError,
        pl.exceptions.PanicException,
        msgspec.DecodeError,
        KeyError,
        ValueError,
        OSError,
    ) as error:
        raise RunError(
            f"{what} can't be read as rows ({type(error).__name__}: {error}). "
            "It is damaged or was not written by evenhand; evaluate again with --force."
        ) from None


def _series(name: str, column: Array) -> Any:
    import polars as pl

    if column.dtype.kind not in _KINDS:
        raise TypeError(
            f"column {name!r} has the type {column.dtype}, which can't be stored; rows hold booleans, numbers and texts"
        )
    if column.dtype.kind == "S":
        return pl.Series(name, column.tolist(), dtype=pl.Binary)
    if column.dtype.kind == "U":
        flat = pl.Series(name, column.reshape(-1), dtype=pl.String)
        return flat if column.ndim == 1 else flat.reshape(column.shape)
    if column.dtype == np.float16:  # exact in single precision, and known to every reader
        column = column.astype(np.float32)
    return pl.Series(name, np.ascontiguousarray(column))


def _column(series: Any, dtype: str, shape: Sequence[int]) -> Array:
    kind = np.dtype(dtype)
    if kind.kind in "US" and not shape:
        return np.array(series.to_list(), dtype=kind)
    if kind.kind == "U":
        flat = np.array(series.explode().to_list() if len(series) else [], dtype=kind)
        return flat.reshape(len(series), *shape)
    return np.asarray(series.to_numpy()).reshape(len(series), *shape).astype(kind, copy=False)


def _labels(name: str, attribute: Attribute) -> Any:
    import polars as pl

    labels = _names(attribute)
    codes = pl.Series(np.asarray(attribute.codes, dtype=np.int64))
    codes = codes.set(codes == NOT_APPLICABLE, None).cast(pl.UInt32)
    if not labels:
        return pl.Series(_PREFIX + name, [None] * len(attribute), dtype=pl.String)
    return pl.Series(_PREFIX + name, labels, dtype=pl.Enum(labels)).gather(codes)


def _attribute(series: Any, fact: Any) -> Attribute:
    levels = tuple(fact["levels"])
    patterns = np.zeros((len(fact["patterns"]), len(levels)), dtype=np.bool_)
    for pattern, members in zip(patterns, fact["patterns"], strict=True):
        pattern[members] = True
    if not len(patterns):
        codes = np.full(len(series), NOT_APPLICABLE)
    else:
        codes = series.to_physical().cast(int).fill_null(NOT_APPLICABLE).to_numpy()
    return Attribute(levels, codes.astype(fact["dtype"]), patterns)


def _names(attribute: Attribute) -> list[str]:
    """A text for each pattern, no two the same."""
    names: list[str] = []
    for pattern in attribute.patterns:
        name = " | ".join(attribute.levels[level] for level in np.flatnonzero(pattern)) or MISSING
        while name in names:
            name += "′"
        names.append(name)
    return names
