"""Vectors that were computed elsewhere: a file of features with the ids they belong to.

`features.npy` holds one row per picture, and `features.ids.txt` beside it one id per line in the same order; or one
`features.npz` holds both, as `features` and `ids`. An id is a picture's path as the protocol names it, its file name,
or its name without the ending: whichever all ids of the file are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import PredictionError
from evenhand.instruments.checkpoints import sha256_of


@dataclass(frozen=True)
class PrecomputedReader:
    """A reader that looks vectors up instead of computing them."""

    fingerprint: str
    values: NDArray[np.floating]  # (ids, features)
    rows: Mapping[str, int]
    source: str

    def read(self, images: Sequence[Path]) -> NDArray[np.floating]:
        """The vectors of these pictures in order; an error that counts and names pictures without one."""
        found = [self._row(Path(image)) for image in images]
        absent = [str(image) for image, row in zip(images, found, strict=True) if row is None]
        if absent:
            raise PredictionError(
                f"{self.source}: has no features for {len(absent)} of {len(found)} pictures, the first {absent[0]}. "
                "Give one row per picture, with its path, file name or stem as id."
            )
        return np.asarray(self.values[np.array(found, dtype=np.intp)])

    def _row(self, image: Path) -> int | None:
        return next(
            (self.rows[name] for name in (str(image), image.as_posix(), image.name, image.stem) if name in self.rows),
            None,
        )


def precomputed_reader(path: Path) -> PrecomputedReader:
    """The features of a `.npy` (with its `.ids.txt`) or `.npz` file as a reader; checked, never unpickled."""
    try:
        if path.suffix == ".npz":
            with np.load(path, allow_pickle=False) as content:
                lacking = {"features", "ids"} - set(content.files)
                if lacking:
                    raise PredictionError(
                        f"{path}: has no array {' nor '.join(sorted(lacking))}; found {', '.join(content.files)}."
                    )
                values, ids = content["features"], [str(one) for one in content["ids"].ravel()]
        else:
            beside = path.with_suffix(".ids.txt")
            if not beside.is_file():
                raise PredictionError(
                    f"{beside}: is missing. Write the id of each row of {path.name} there, one per line."
                )
            values = np.load(path, allow_pickle=False, mmap_mode="r")
            ids = beside.read_text(encoding="utf-8").splitlines()
    except (OSError, ValueError, EOFError) as error:
        raise PredictionError(f"{path}: is no file of features ({error}).") from error
    if values.ndim != 2 or values.dtype.kind not in "fiu":
        raise PredictionError(
            f"{path}: holds a {values.dtype} array of shape {values.shape}; expected numbers, one row per id."
        )
    if len(ids) != len(values):
        raise PredictionError(f"{path}: has {len(values)} rows for {len(ids)} ids. Give one id per row.")
    rows = {name: row for row, name in enumerate(ids)}
    if len(rows) != len(ids):
        twice = next(name for row, name in enumerate(ids) if rows[name] != row)
        raise PredictionError(f"{path}: the id {twice!r} occurs more than once. Each picture has one row.")
    broken = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(broken):
        raise PredictionError(
            f"{path}: {len(broken)} rows hold values that are not finite, the first for {ids[broken[0]]!r}."
        )
    return PrecomputedReader(f"precomputed:{path.name}@{sha256_of(path)[:16]}", values, rows, str(path))
