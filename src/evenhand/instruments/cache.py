"""Readings that were taken before, kept by what was read and what read it.

A key is the SHA-256 of a file's bytes (two for a pair); a fingerprint names the instrument with its weights and
preparation. Renaming a file changes nothing, changing a byte of it or of the weights reads anew. Readings lie in shards
that are whole or absent: values are written first, and only a shard with its keys counts. A shard is written when
enough readings wait for it, and at the end of a run.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evenhand.core.errors import DataError
from evenhand.files.arrays import FileArray, open_npy
from evenhand.files.writing import open_file, write_file

Vector = NDArray[np.floating]


SHARD = 1024
"""Readings that wait before a shard is written: what a run that is killed has to read again."""


class ReadingCache:
    """The stored readings of one instrument below `folder`.

    Without a folder nothing is kept, unless `remember` keeps it in memory: for few numbers that are asked for twice.
    """

    def __init__(self, folder: Path | None, fingerprint: str, *, remember: bool = False) -> None:
        self.fingerprint, self._remembers = fingerprint, remember
        self.place = folder / "readings" / hashlib.sha256(fingerprint.encode()).hexdigest()[:24] if folder else None
        self._rows: dict[str, tuple[FileArray, int]] = {}
        self._waiting: dict[str, Vector] = {}
        if self.place is not None and self.place.is_dir():
            for keys in sorted(self.place.glob("*.keys.npy")):
                self._open(keys)

    def __len__(self) -> int:
        return len(self._rows) + len(self._waiting)

    def get(self, key: str) -> Vector | None:
        """The reading kept under a key; None when there is none."""
        if key in self._waiting:
            return self._waiting[key]
        if key not in self._rows:
            return None
        values, row = self._rows[key]
        try:
            return values[row]
        except DataError:  # cut short or deleted meanwhile: the picture is read again
            return None

    def add(self, readings: Mapping[str, Vector]) -> None:
        """Keep readings; they are written with others as one shard."""
        if self.place is None and not self._remembers:
            return
        self._waiting.update(readings)
        if self.place is not None and len(self._waiting) >= SHARD:
            self.flush()

    def flush(self) -> None:
        """Write what waits."""
        if self.place is None or not self._waiting:
            return
        keys = np.array(sorted(self._waiting))
        values = np.stack([self._waiting[key] for key in keys])
        name = hashlib.sha256("\n".join(keys).encode()).hexdigest()[:24]
        about = self.place / "about.json"
        if not about.exists():
            write_file(about, json.dumps({"fingerprint": self.fingerprint}, indent=2), flush=False)
        for kind, array in (("values", values), ("keys", keys)):
            with open_file(self.place / f"{name}.{kind}.npy", "wb", flush=False) as file:
                np.save(file, array, allow_pickle=False)
        self._waiting = {}
        self._open(self.place / f"{name}.keys.npy")

    def _open(self, keys: Path) -> None:
        """Make a shard's readings findable; a damaged shard is passed over, and its pictures are read again."""
        try:
            names = np.load(keys, allow_pickle=False)
            values = open_npy(keys.with_name(keys.name.replace(".keys.", ".values.")))
        except (OSError, ValueError, EOFError, DataError):
            return
        if values.ndim == 2 and len(values) == len(names):
            self._rows.update({str(name): (values, row) for row, name in enumerate(names)})
