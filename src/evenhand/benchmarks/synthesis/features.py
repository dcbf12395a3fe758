"""Features that were computed before: vectors per frame, with the ids of the frames.

Any network can be replaced by its features: `.npz` with an array `ids` and one array per feature (`inception`,
`logits`, `osnet`, `pcb`, `face`, `body`, or a name of your own), or a folder with `ids.txt` (one id a line) and one
`NAME.npy` per feature. An id is a frame's path below its folder, without its ending. `face_found` and `person_found`
(true or false per frame) say where a detector found nobody. A single `NAME.npy` has its ids in `NAME.ids.txt`.
Arrays are read without running anything.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping, Sequence
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


def read_features(path: Path, root: Path, problem: Problem) -> FeatureTable:
    """The features of an `.npz` file, a `.npy` with its `.ids.txt`, or a folder of `.npy` files with `ids.txt`."""
    if path.is_dir():
        return _from_folder(path, root, problem)
    arrays = load_arrays(path, problem)
    if isinstance(arrays, np.ndarray):
        source = read(path.with_suffix(".ids.txt"), problem)
        facts = source.fact, hash_of(path, problem)
        return _checked(path, root, _lines(source.text(problem)), {path.stem: arrays}, facts, problem)
    found = dict(arrays)
    if "ids" not in found:
        raise problem(
            f"{path}: there is no array 'ids'; found {', '.join(found) or 'nothing'}. Name every row's frame."
        )
    ids = found.pop("ids")
    return _checked(path, root, [str(name) for name in ids.tolist()], found, (hash_of(path, problem),), problem)


def _from_folder(folder: Path, root: Path, problem: Problem) -> FeatureTable:
    source = read(folder / IDS_FILE, problem)
    ids = _lines(source.text(problem))
    arrays, facts = {}, [source.fact]
    for path in sorted(folder.glob("*.npy")):
        array = load_arrays(path, problem)
        if not isinstance(array, np.ndarray):
            raise problem(f"{path} is not one array.")
        arrays[path.stem] = array
        facts.append(hash_of(path, problem))
    if not arrays:
        raise problem(f"{folder} has {IDS_FILE} but no .npy file with features.")
    return _checked(folder, root, ids, arrays, tuple(facts), problem)


def _checked(
    path: Path,
    root: Path,
    ids: Sequence[str],
    arrays: Mapping[str, Array],
    facts: tuple[InputFact, ...],
    problem: Problem,
) -> FeatureTable:
    plain = [frame_id(Path(name), root) for name in ids]
    if len(set(plain)) != len(plain):
        twice = next(name for name in plain if plain.count(name) > 1)
        raise problem(f"{path}: the id {twice!r} occurs twice. Give every frame one row.")
    for name, array in arrays.items():
        if len(array) != len(plain):
            raise problem(f"{path}: {len(array)} rows of {name!r} for {len(plain)} ids. Write one row per id.")
        if array.dtype.kind not in "fiub":
            raise problem(f"{path}: {name!r} holds {array.dtype} and not numbers.")
    return FeatureTable(root, tuple(plain), dict(arrays), facts)


def _lines(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip()]


def load_arrays(path: Path, problem: Problem) -> Array | Mapping[str, Array]:
    """The array of a `.npy` file, or the arrays of an `.npz` by name; nothing in it is run."""
    return read_npz(path, problem) if path.suffix == ".npz" else read_npy(path, problem)
