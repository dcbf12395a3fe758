"""Tables and arrays for others to read."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.records import Array
from evenhand.files.writing import open_file


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Iterable[Any]]) -> None:
    """A comma-separated table with a header."""
    with open_file(path) as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(rows)


def write_npy(path: Path, array: Array) -> None:
    """An array in NumPy's own format."""
    with open_file(path, "wb") as file:
        np.save(file, array, allow_pickle=False)
