"""Features that were computed before: vectors per frame, with the ids of the frames.

Any network can be replaced by its features: `.npz` with an array `ids` and one array per feature (`inception`,
`logits`, `osnet`, `pcb`, `face`, `body`, or a name of your own), or a folder with `ids.txt` (one id a line) and one
`NAME.npy` per feature. An id is a frame's path below its folder, without its ending. `face_found` and `person_found`
(true or false per frame) say where a detector found nobody. A single `NAME.npy` has its ids in `NAME.ids.txt`.
Arrays are read without running anything.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.arrays import read_npy, read_npz
from evenhand.files.inputs import Problem, hash_of, read
from evenhand.instruments.films import FILMS

PICTURES = frozenset({".png", ".jpg", ".jpeg", ".bmp", ".webp", ".tif", ".tiff", ".ppm", ".gif"})
"""Endings of picture files."""

FEATURES_FILE = "features.npz"
IDS_FILE = "ids.txt"
NUMBERS = frozenset({"lps", "dists", "lpips-vgg"})
"""Comparisons of two frames, that are one number per frame and not a vector."""
_ROUNDING = 1e-4  # by which single precision gets a distance wrong
FOUND = {"face": "face_found", "osnet": "person_found", "pcb": "person_found"}
"""The array that says whether a detector found what a feature is about."""


@dataclass(frozen=True)
class FeatureTable:
    """Feature vectors by name, with the frame of every row."""

    root: Path  # ids are paths below it
    ids: tuple[str, ...] = ()
    arrays: Mapping[str, Array] = field(default_factory=dict)  # name → (ids, …)
    inputs: tuple[InputFact, ...] = ()

    def __contains__(self, name: str) -> bool:
        return name in self.arrays

    def rows(self, name: str, paths: Sequence[Path | None]) -> Array:
        """(frames, …): the features of the frames, NaN where there are none."""
        array, known = self.arrays[name], self._index
        rows = [-1 if path is None else known.get(frame_id(path, self.root), -1) for path in paths]
        where = np.array(rows, dtype=np.intp)
        if (where >= 0).all():
            return np.asarray(array[where])
        found = np.full((len(paths), *array.shape[1:]), np.nan, dtype=np.result_type(array.dtype, np.float32))
        found[where >= 0] = array[where[where >= 0]]
        return found

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.ids)}


def frame_id(path: Path, root: Path) -> str:
    """A frame's path below a folder, in forward slashes and without its ending.

    Frames of a film go by the film's name. Letters with accents are written in one form (NFC), however a disk writes
    them.

    >>> frame_id(Path("data/001/7.png"), Path("data")), frame_id(Path("data/a.mp4/00000003"), Path("data"))
    ('001/7', 'a/00000003')
    """
    inside = path.relative_to(root) if path.is_relative_to(root) else path
    if inside.suffix.lower() in PICTURES:
        inside = inside.with_suffix("")
    elif inside.parent.suffix.lower() in FILMS:
        inside = inside.parent.with_suffix("") / inside.name
    text = inside.as_posix()
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def natural_order(name: str | Path) -> tuple[tuple[tuple[str | int, ...], ...], str]:
    """What names are sorted by, so that numbers count: frame_2 comes before frame_10.

    >>> sorted(["v/frame_10", "v/frame_2", "u/1"], key=natural_order)
    ['u/1', 'v/frame_2', 'v/frame_10']
    """
    text = name if isinstance(name, str) else name.as_posix()
    numbered = tuple(
        tuple([int(piece) if place % 2 else piece for place, piece in enumerate(_NUMBERS.split(part))])
        for part in text.split("/")
    )
    return numbered, text


_NUMBERS = re.compile("([0-9]+)")


def plain_ids(names: Iterable[str | bytes]) -> list[str]:
    """Ids without blanks at their end; those that were written with backslashes alone get forward ones.

    >>> plain_ids([b"v/1 ", "v/2"]), plain_ids(["v\\\\1"])
    (['v/1', 'v/2'], ['v/1'])
    """
    ids = [(name.decode(errors="replace") if isinstance(name, bytes) else str(name)).rstrip() for name in names]
    return ids if any("/" in name for name in ids) else [name.replace("\\", "/") for name in ids]


def read_features(path: Path, root: Path, problem: Problem) -> FeatureTable:
    """The features of an `.npz` file, a `.npy` with its `.ids.txt`, or a folder of `.npy` files with `ids.txt`."""
    if path.is_dir():
        files = sorted(path.glob("*.npy"))
        if not files:
            raise problem(f"{path} has {IDS_FILE} but no .npy file with features.")
        return _with_ids(path, root, path / IDS_FILE, files, problem)
    if path.suffix != ".npz":
        return _with_ids(path, root, path.with_suffix(".ids.txt"), [path], problem)
    arrays = dict(read_npz(path, problem))
    if "ids" not in arrays:
        raise problem(
            f"{path}: there is no array 'ids'; found {', '.join(arrays) or 'nothing'}. Name every row's frame."
        )
    ids = plain_ids(arrays.pop("ids").reshape(-1).tolist())
    return _checked(path, root, ids, arrays, (hash_of(path, problem),), problem)


def features_beside(folder: Path, problem: Problem) -> FeatureTable:
    """The features that lie in a folder beside its pictures; an empty table when there are none."""
    path = folder / FEATURES_FILE
    return read_features(path, folder, problem) if path.exists() else FeatureTable(folder)


def _with_ids(path: Path, root: Path, ids_file: Path, files: Sequence[Path], problem: Problem) -> FeatureTable:
    """The features of `.npy` files whose rows a text names, one id a line."""
    arrays = {file.stem: read_npy(file, problem) for file in files}
    source = read(ids_file, problem)
    ids = plain_ids(line.strip() for line in source.text(problem).splitlines() if line.strip())
    facts = (source.fact, *(hash_of(file, problem) for file in files))
    return _checked(path, root, ids, arrays, facts, problem)


def _checked(
    path: Path,
    root: Path,
    ids: Sequence[str],
    arrays: Mapping[str, Array],
    facts: tuple[InputFact, ...],
    problem: Problem,
) -> FeatureTable:
    if not ids:
        raise problem(f"{path} names no frame: it has no row. Was the program that wrote it stopped?")
    plain = [frame_id(Path(name), root) for name in ids]
    if len(set(plain)) != len(plain):
        twice = next(name for name in plain if plain.count(name) > 1)
        raise problem(f"{path}: the id {twice!r} occurs twice. Give every frame one row.")
    for name, array in arrays.items():
        if len(array) != len(plain):
            raise problem(f"{path}: {len(array)} rows of {name!r} for {len(plain)} ids. Write one row per id.")
        if array.dtype.kind not in "fiub":
            raise problem(f"{path}: {name!r} holds {array.dtype} and not numbers.")
        if name in NUMBERS:
            _check_distances(path, name, array, len(plain), problem)
    return FeatureTable(root, tuple(plain), dict(arrays), facts)


def _check_distances(path: Path, name: str, array: Array, frames: int, problem: Problem) -> None:
    """Refuse what is not one distance per frame; those of equal pictures may be below 0 by rounding."""
    if array.size != frames:
        raise problem(
            f"{path}: {name!r} has the shape {array.shape}; it is a distance, one number from 0 on per frame."
        )
    below = int(np.count_nonzero(array < -_ROUNDING))
    if below:
        raise problem(
            f"{path}: {below:,} of {frames:,} values of {name!r} {'is' if below == 1 else 'are'} below 0 "
            f"({np.nanmin(array):g}); it is a distance, one number from 0 on per frame."
        )
