"""Embedding stores: what was extracted, per probe image and per gallery subject.

A store is a folder with one file per image or subject (`.npz`, `.safetensors` or the published
`.pth`), or one file for all: `.npz` or `.safetensors` with entries named `IMAGE/embeddings` and so
on, or `NAME.npy` with one vector per row and `NAME.ids.npz` that says whose.

A folder that the baselines write has an `origin.json`, which says by what and from what its stores were made and
whether all are there; beside a store of one file it is `NAME.origin.json`. Scoring refuses stores of two networks,
unfinished ones, and a gallery of another list.

Entries of a probe image: `detection_scores` (N), `bboxes` (N, 4: left, top, width, height),
`embeddings` (N, D), and, where they were kept, `landmarks` (N, 5, 2). Entries of a gallery
subject: `embeddings` (K, D) and `landmarks` (K, 5, 2).
"""

from __future__ import annotations

import io
import struct
import zipfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np

from evenhand.benchmarks.uccs.data import shown_subjects, subject_name
from evenhand.core.errors import DataError, OptionError, PredictionError
from evenhand.core.records import Array, blocks
from evenhand.core.task import InputFact
from evenhand.files.arrays import FileArray, open_npy, read_npz, read_safetensors
from evenhand.files.inputs import Problem, has_hash, opened, read, with_marked_sha256
from evenhand.files.pickles import load_plain, save_plain
from evenhand.files.writing import make_folder, open_file, remove, remove_stale, write_file

SUFFIXES = (".npz", ".safetensors", ".pth")
_ROWS_AT_ONCE = 4096


class ProbeEmbeddings(NamedTuple):
    """Detections of one probe image, or of several, with their embeddings."""

    names: list[str]  # the image of each detection, without extension
    detection_scores: Array  # (N,) doubles
    boxes_xywh: Array  # (N, 4) doubles
    embeddings: Array  # (N, D)


@dataclass(frozen=True)
class StoreOrigin:
    """By what and from what the stores of a folder were made."""

    network: str  # network, weights and alignment: the fingerprint of what embedded them
    pictures: str  # how pictures were read
    source: str  # the list of faces: a detection file, or the gallery's table
    source_hash: str  # BLAKE3, or "sha256:" and that
    form: str  # npz or pth
    stores: int | None = None  # how many there are; None while they are being written

    def differences(self, other: StoreOrigin) -> str:
        """What two origins do not share, in words; nothing when the stores of both may stand side by side."""
        compared = (("the network", "network"), ("how pictures are read", "pictures"))
        pairs = [(what, getattr(other, name), getattr(self, name)) for what, name in compared]
        return " and ".join(f"{what} ({theirs}, not {ours})" for what, theirs, ours in pairs if theirs != ours)


ORIGIN = "origin.json"


def origin_path(store: Path) -> Path:
    """Where the origin of a folder's stores is, or of a file's: `NAME.origin.json` beside it."""
    return store / ORIGIN if store.is_dir() else store.with_name(f"{store.stem}.{ORIGIN}")


def read_origin(store: Path) -> StoreOrigin | None:
    """The origin of a folder's stores, or of a file's; None when nobody wrote it down."""
    path = origin_path(store)
    if not path.is_file():
        return None
    try:
        stored = msgspec.json.decode(read(path, PredictionError).data, type=dict[str, Any])
        return msgspec.convert(with_marked_sha256(stored, "source_sha256", "source_hash"), StoreOrigin)
    except msgspec.DecodeError as error:
        raise PredictionError(
            f"{path} is damaged: {error}. Extract the embeddings again into another folder."
        ) from None


def write_origin(folder: Path, origin: StoreOrigin) -> None:
    """Write down the origin of a folder's stores."""
    write_file(folder / ORIGIN, msgspec.json.format(msgspec.json.encode(origin), indent=1) + b"\n")


def begin_stores(folder: Path, origin: StoreOrigin, option: str, *, replace: bool = False) -> frozenset[str]:
    """Make a folder ready for stores of an origin; the names of those that are there already and need not be made.

    Raises OptionError when the folder has stores of another origin; with `replace` they are removed.
    """
    folder = make_folder(folder)
    remove_stale(folder)
    there = [file for suffix in SUFFIXES for file in folder.glob(f"*{suffix}")]
    before = read_origin(folder)
    if replace:
        for file in (*there, folder / ORIGIN):
            remove(file, below=folder)
        there, before = [], None
    advice = f"Name another folder ({option}), or start anew with --replace, which removes the stores that are there."
    if before is None and there:
        raise OptionError(f"{folder} has {len(there)} stores, and nothing says what made them. {advice}")
    if before is not None:
        different = origin.differences(before)
        if different:
            raise OptionError(f"{folder} has stores that differ in {different}. {advice}")
        if before.source_hash != origin.source_hash and not has_hash(Path(origin.source), before.source_hash):
            raise OptionError(f"{folder} has stores that were made from another list ({before.source}). {advice}")
        if before.form != origin.form:
            raise OptionError(f"{folder} has stores in the form {before.form}, not {origin.form}. {advice}")
    if before is None or before.stores is not None:
        write_origin(folder, origin)
    return frozenset(file.stem for file in there)


def check_origins(gallery: Path, probes: Path, gallery_table: InputFact | None = None) -> tuple[str, ...]:
    """Raise when two stores can't be compared; otherwise what is not known about them.

    They must be of one network, complete, and the gallery must be that of `gallery_table` where it is given.
    """
    notes = []
    origins: dict[str, StoreOrigin] = {}
    for what, store in (("gallery", gallery), ("probe", probes)):
        origin = read_origin(store)
        if origin is None:
            if store.exists():
                notes.append(f"{store} does not say what made its {what} stores; they are taken as they are.")
            continue
        origins[what] = origin
        count = len(list(store.glob(f"*.{origin.form}"))) if store.is_dir() else len(_owners(store, what))
        if origin.stores is None:
            raise PredictionError(f"{store} is not finished: {count} stores. Run baseline_recognition again.")
        if count != origin.stores:
            raise PredictionError(
                f"{store} has {count} {what} stores, but {origin.stores} were made. Some were added or removed; "
                "extract them again with --replace."
            )
    if len(origins) == 2:
        different = origins["gallery"].differences(origins["probe"])
        if different:
            raise PredictionError(f"{gallery} and {probes} can't be compared: they differ in {different}.")
    if "gallery" in origins and gallery_table is not None:
        made_from = origins["gallery"].source_hash
        if made_from != gallery_table.hash and not has_hash(Path(gallery_table.path), made_from):
            raise PredictionError(
                f"{gallery} was made from another gallery.csv than {gallery_table.path}. "
                "Run baseline_recognition again."
            )
    source = Path(origins["probe"].source) if "probe" in origins else None
    if source and source.is_file() and not has_hash(source, origins["probe"].source_hash):
        notes.append(f"{source} was changed after {probes} was made from it; extract again to compare what it has now.")
    return tuple(notes)


def _owners(path: Path, what: str) -> Collection[str]:
    """The images or subjects in a store of one file."""
    if path.suffix == ".npy":
        arrays, _ = load_arrays(ids_path(path), PredictionError)
        return set(arrays.get("files" if what == "probe" else "subjects", np.zeros(0)).tolist())
    return _by_owner(load_arrays(path, PredictionError)[0], what)


def load_arrays(path: Path, problem: Problem = DataError) -> tuple[dict[str, Array], InputFact]:
    """All arrays of an `.npz`, `.safetensors` or `.pth` file, by name, and what the file was."""
    source = read(path, problem)
    return arrays_of(source.data, Path(path), problem), source.fact


def arrays_of(data: bytes, path: Path, problem: Problem = DataError, npz: NpzReader | None = None) -> dict[str, Array]:
    """All arrays in the bytes of a store file; nothing in it is executed."""
    if path.suffix == ".safetensors":
        return read_safetensors(path, problem, data=data)
    if path.suffix == ".npz":
        try:
            quick = (npz or NpzReader()).arrays(data)
            return quick if quick is not None else read_npz(path, problem, data=data)
        except (ValueError, KeyError, EOFError, zipfile.BadZipFile, struct.error) as error:
            raise problem(f"{path} is no .npz file, or it is damaged: {error}.") from None
    value = load_plain(path, problem, data=data)
    if not isinstance(value, Mapping):
        raise problem(f"{path} holds a {type(value).__name__}; a store is a dictionary of arrays.")
    return {str(name): np.asarray(array) for name, array in value.items()}


def save_npz(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write arrays as `.npz`; the same arrays give the same bytes."""
    with open_file(path, "wb", flush=False) as file:
        contiguous: dict[str, Any] = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        np.savez(file, **contiguous)  # without allow_pickle: NumPy before 2.1 would store it as an array


def save_store(folder: Path, name: str, arrays: Mapping[str, Array], form: str = "npz") -> Path:
    """Write the store of one image or subject, as `npz` or in the published `pth` form."""
    path = folder / f"{name}.{form}"
    if form == "pth":
        write_file(path, save_plain(arrays), flush=False)
    else:
        save_npz(path, arrays)
    return path


def _is_of_rows(path: Path) -> bool:
    return Path(path).suffix == ".npy" and not Path(path).is_dir()


def read_probes(path: Path) -> Iterator[ProbeEmbeddings]:
    """The detections of all probe images, sorted by name; those of a file of rows a few thousand at a time."""
    if _is_of_rows(path):
        yield from _probes_of_rows(Path(path))
        return
    for name, arrays, file in _stores(Path(path), "probe", PredictionError):
        yield _probe(name, arrays, file)


def read_gallery_embeddings(path: Path, subjects: tuple[int, ...]) -> dict[int, Array]:
    """The embeddings (K, D) of every subject; raises when one is missing, naming it."""
    names = {subject_name(subject) for subject in subjects}
    if _is_of_rows(path):
        embeddings = _subjects_of_rows(Path(path))
    else:
        stores = _stores(Path(path), "gallery", DataError, names)
        embeddings = {name: _embeddings(arrays, file) for name, arrays, file in stores}
    lacking = [subject for subject in subjects if subject_name(subject) not in embeddings]
    if lacking:
        raise DataError(
            f"{path} has no embeddings of {len(lacking)} of {len(subjects)} subjects in gallery.csv: "
            f"{shown_subjects(lacking)}. "
            "Extract them first; a score file with a column missing would shift all others."
        )
    return {subject: embeddings[subject_name(subject)] for subject in subjects}


def _stores(
    path: Path, what: str, problem: Problem, wanted: Collection[str] | None = None
) -> Iterator[tuple[str, dict[str, Array], Path]]:
    """(image or subject, its arrays, their file) of a folder or of one file, sorted by name; all, or those wanted."""
    if not path.is_dir():
        arrays, _ = load_arrays(path, problem)
        yield from ((name, entries, path) for name, entries in _by_owner(arrays, what).items())
        return
    npz = NpzReader()
    for name, file in _files_in(path).items():
        if wanted is None or name in wanted:
            with opened(file, problem) as stream:
                data = stream.read()
            yield name, arrays_of(data, file, problem, npz), file


def _files_in(folder: Path) -> dict[str, Path]:
    """Store files by the name of their image or subject, sorted; `.npz` goes before `.pth`."""
    paths: dict[str, Path] = {}
    origin = read_origin(folder)
    for suffix in SUFFIXES if origin is None else (f".{origin.form}",):
        for file in folder.glob(f"*{suffix}"):
            paths.setdefault(file.stem, file)
    if not paths:
        raise PredictionError(f"The folder {folder} has no store ({', '.join(SUFFIXES)}). Extract embeddings first.")
    return dict(sorted(paths.items(), key=lambda pair: pair[0].encode()))


def _by_owner(arrays: Mapping[str, Array], what: str) -> dict[str, dict[str, Array]]:
    """Entries `[what/]OWNER/NAME` by owner; a bare `OWNER` is its embeddings."""
    prefixed = any(name.startswith(f"{what}/") for name in arrays)
    entries: dict[str, dict[str, Array]] = {}
    for name, array in arrays.items():
        if prefixed:
            if not name.startswith(f"{what}/"):
                continue
            name = name[len(what) + 1 :]
        owner, _, entry = name.rpartition("/") if "/" in name else (name, "", "embeddings")
        entries.setdefault(owner, {})[entry] = array
    return dict(sorted(entries.items(), key=lambda pair: pair[0].encode()))


def _probe(name: str, arrays: Mapping[str, Array], path: Path) -> ProbeEmbeddings:
    embeddings = _embeddings(arrays, path)
    lacking = [entry for entry in ("detection_scores", "bboxes") if entry not in arrays]
    if lacking:
        raise PredictionError(f"{path} lacks {', '.join(lacking)} of {name}; it has {', '.join(arrays)}.")
    scores = np.asarray(arrays["detection_scores"], dtype=np.float64).reshape(-1)
    boxes = np.asarray(arrays["bboxes"], dtype=np.float64)
    boxes = boxes.reshape(-1, 4) if boxes.ndim == 1 or not boxes.size else boxes
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise PredictionError(f"{path}, {name}: bboxes are {boxes.shape}; one row of four per detection is expected.")
    if not (np.isfinite(scores).all() and np.isfinite(boxes).all()):
        row = int(np.flatnonzero(~(np.isfinite(scores) & np.isfinite(boxes).all(axis=1)))[0])
        raise PredictionError(f"{path}, {name}: the detection score or the box in row {row} is not finite.")
    if not len(scores) == len(boxes) == len(embeddings):
        raise PredictionError(
            f"{path}, {name}: {len(scores)} scores, {len(boxes)} boxes, {len(embeddings)} embeddings; all must agree."
        )
    return ProbeEmbeddings([name] * len(scores), scores, boxes, embeddings)


def _embeddings(arrays: Mapping[str, Array], path: Path) -> Array:
    if "embeddings" not in arrays:
        raise PredictionError(f"{path} has no embeddings; it has {', '.join(arrays) or 'nothing'}.")
    vectors = np.asarray(arrays["embeddings"])
    if vectors.ndim == 1 and np.size(arrays.get("detection_scores", 0)) == 1:  # the one vector of one face
        vectors = vectors[np.newaxis]
    if vectors.ndim != 2 or vectors.dtype.kind != "f":
        raise PredictionError(
            f"{path}: embeddings are {vectors.dtype} {vectors.shape}; (faces, dimensions) are needed."
        )
    if not np.isfinite(vectors.sum(dtype=np.float64)) and not np.isfinite(vectors).all():
        row = int(np.flatnonzero(~np.isfinite(vectors).all(axis=1))[0])
        raise PredictionError(f"{path}: the embedding in row {row} is not finite.")
    return vectors


def load_ids(path: Path, wanted: Sequence[str]) -> tuple[dict[str, Array], InputFact]:
    """The arrays of `NAME.ids.npz` beside a file of rows, and what that was; raises when one of them is lacking."""
    arrays, fact = load_arrays(ids_path(path), PredictionError)
    lacking = [entry for entry in wanted if entry not in arrays]
    if lacking:
        raise PredictionError(f"{ids_path(path)} lacks {', '.join(lacking)}; it has {', '.join(arrays) or 'nothing'}.")
    return arrays, fact


def _rows_of(path: Path, wanted: Sequence[str]) -> tuple[FileArray, dict[str, Array]]:
    """The vectors of `NAME.npy` (read as they are asked for) and the arrays of `NAME.ids.npz`."""
    arrays, _ = load_ids(path, wanted)
    beside = ids_path(path)
    if not path.exists():
        raise PredictionError(f"{path} does not exist, but {beside.name} does.")
    vectors = open_npy(path, PredictionError)
    for entry in wanted:
        if len(arrays[entry]) != len(vectors):
            raise PredictionError(f"{beside}: {len(arrays[entry])} {entry} for {len(vectors)} rows of {path.name}.")
    return vectors, arrays


def ids_path(path: Path) -> Path:
    """Where the ids of a file of rows are: `scores.npy` has `scores.ids.npz`."""
    return path.with_name(path.stem + ".ids.npz")


def _probes_of_rows(path: Path) -> Iterator[ProbeEmbeddings]:
    vectors, arrays = _rows_of(path, ("files", "detection_scores", "bboxes"))
    names = [str(name).removesuffix(".jpg") for name in arrays["files"].tolist()]
    order = np.array(sorted(range(len(names)), key=lambda row: names[row].encode()), dtype=np.intp)
    is_sorted = np.array_equal(order, np.arange(len(names)))
    for part in blocks(len(names), _ROWS_AT_ONCE):
        rows = part if is_sorted else order[part]  # a slice is read without another copy
        entries = {entry: arrays[entry][rows] for entry in ("detection_scores", "bboxes")}
        probe = _probe(str(path), entries | {"embeddings": vectors[rows]}, path)
        yield probe._replace(names=[names[row] for row in order[part]])


def _subjects_of_rows(path: Path) -> dict[str, Array]:
    vectors, arrays = _rows_of(path, ("subjects",))
    subjects = arrays["subjects"].astype(np.int64)
    every = _embeddings({"embeddings": np.asarray(vectors)}, path)
    return {subject_name(int(subject)): every[subjects == subject] for subject in np.unique(subjects)}


class NpzReader:
    """Reads small uncompressed `.npz` files without the general machinery.

    A challenge set has eight thousand of them, and this is five times as fast. Headers of arrays
    that were met before are not parsed again.
    """

    def __init__(self) -> None:
        self._headers: dict[bytes, tuple[tuple[int, ...], np.dtype[np.generic]]] = {}

    def arrays(self, data: bytes) -> dict[str, Array] | None:
        """The arrays of an archive; None when it is not that simple."""
        end = data.rfind(b"PK\x05\x06")
        if end < 0:
            return None
        entries, _, place = struct.unpack_from("<HII", data, end + 10)
        arrays: dict[str, Array] = {}
        for _ in range(entries):
            if data[place : place + 4] != b"PK\x01\x02":
                return None
            flags, method = struct.unpack_from("<HH", data, place + 8)
            size, real, name_length, extra, comment = struct.unpack_from("<IIHHH", data, place + 20)
            (local,) = struct.unpack_from("<I", data, place + 42)
            name = data[place + 46 : place + 46 + name_length]
            place += 46 + name_length + extra + comment
            local_name, local_extra = struct.unpack_from("<HH", data, local + 26)
            start = local + 30 + local_name + local_extra
            if method or size != real or size == 0xFFFFFFFF or flags & 1 or not name.endswith(b".npy"):
                return None
            array = self._array(data[start : start + size])
            if array is None:
                return None
            arrays[name[:-4].decode()] = array
        return arrays

    def _array(self, data: bytes) -> Array | None:
        if data[:8] != b"\x93NUMPY\x01\x00":
            return None
        (length,) = struct.unpack_from("<H", data, 8)
        head = data[: 10 + length]
        known = self._headers.get(head)
        if known is None:
            stream = io.BytesIO(head)
            np.lib.format.read_magic(stream)
            shape, fortran, dtype = np.lib.format.read_array_header_1_0(stream)
            if fortran or dtype.hasobject:
                return None
            known = self._headers[head] = (shape, dtype)
        return np.frombuffer(data, dtype=known[1], offset=10 + length).reshape(known[0])
