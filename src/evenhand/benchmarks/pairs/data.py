"""Verification sets as they are distributed: `.bin` files, LFW's `pairs.txt`, RFW's four of them, BFW's table.

A set is pictures, and pairs of them with a label. Where the files name people, a pair is about two of them; a `.bin`
names nobody, and every pair stands for itself.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.core.errors import DataError
from evenhand.core.optional import cv2
from evenhand.core.records import Attribute
from evenhand.core.task import Dataset, InputFact, Sample
from evenhand.files.delimited import read_table
from evenhand.files.inputs import opened_picture, read, too_many_pixels
from evenhand.files.pickles import load_plain
from evenhand.files.writing import write_file

MIRRORED = "/mirrored"  # at the end of a sample's id
RACES = ("African", "Asian", "Caucasian", "Indian")  # of RFW
CROSS = "cross-group"
UNKNOWN_PEOPLE = (
    "The file does not say who is in the pictures: pairs are treated as independent, though they may share people, and "
    "intervals may be too narrow."
)


@dataclass(frozen=True)
class PairSet:
    """Pictures, pairs of them, and whether both show one person."""

    name: str
    pictures: tuple[str, ...]  # names, or numbers in a .bin
    first: NDArray[np.int64]  # (pairs,): places among the pictures
    second: NDArray[np.int64]
    same: NDArray[np.bool_]
    fold: NDArray[np.int64]
    people: tuple[NDArray[np.int64], NDArray[np.int64]] | None  # of both sides; None: not known
    attributes: Mapping[str, Attribute] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.same)


class _Listed(NamedTuple):
    """One line of pairs.txt: two pictures, their people, and whether they are the same."""

    pictures: tuple[str, str]
    people: tuple[str, str]
    same: bool


def folds_of(pairs: int, folds: int) -> NDArray[np.int64]:
    """(pairs,): contiguous folds in file order; the first ones have one pair more where it does not come out even.

    >>> folds_of(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    sizes = np.full(folds, pairs // folds)
    sizes[: pairs % folds] += 1
    return np.repeat(np.arange(folds), sizes)


def load_set(name: str, data: Path, options: PairSetOptions, cache: Path | None = None) -> Dataset[PairSet]:
    """A set by its name: `NAME.bin`, or for LFW its pairs.txt; a `.bin`, text or table may be named itself."""
    data = Path(data)
    path = data if data.is_file() else _file_of(name, data)
    if path.suffix == ".bin":
        return _load_bin(name, path, options, cache)
    if path.suffix == ".csv":
        return load_table(name, path, options)
    return _load_lists(name, {"": path}, path.parent, options)


def load_rfw(name: str, data: Path, options: PairSetOptions, cache: Path | None = None) -> Dataset[PairSet]:
    """RFW: a `RACE_pairs.txt` for each race, wherever below the folder."""
    lists = {}
    for race in RACES:
        paths = sorted(Path(data).rglob(f"{race}_pairs.txt"))
        if len(paths) != 1:
            count = "no" if not paths else f"{len(paths)} files"
            raise DataError(f"{data} has {count} {race}_pairs.txt; one for each of {', '.join(RACES)} was expected.")
        lists[race] = paths[0]
    return _load_lists(name, lists, Path(data), options)


def load_bfw(name: str, data: Path, options: PairSetOptions, cache: Path | None = None) -> Dataset[PairSet]:
    """BFW: its table of pairs."""
    data = Path(data)
    tables = [data] if data.is_file() else sorted(data.glob("bfw*.csv"))
    if len(tables) != 1:
        there = ", ".join(path.name for path in tables) or "none"
        raise DataError(f"{data} has {there}; one table of pairs like bfw-v0.1.5-datatable.csv was expected.")
    return load_table(name, tables[0], options)


def load_table(name: str, path: Path, options: PairSetOptions) -> Dataset[PairSet]:
    """A table with p1, p2 and label, and where known fold, id1, id2 (people) and att1, att2 (groups, as in BFW)."""
    table = read_table(path)
    columns = {column.strip().lower(): column for column in table.frame.columns}
    lacking = [column for column in ("p1", "p2", "label") if column not in columns]
    if lacking:
        raise DataError(
            f"{path}, line 1: no column {', '.join(lacking)}; it has {', '.join(table.frame.columns)}. A table of "
            "pairs has p1, p2, label and, where known, fold, id1, id2, att1, att2."
        )

    def cells(column: str) -> list[str]:
        return [str(cell).strip() for cell in table.frame[columns[column]].to_list()]

    words = {"1": True, "1.0": True, "true": True, "0": False, "0.0": False, "false": False}
    labels = [cell.lower() for cell in cells("label")]
    wrong = next((row for row, cell in enumerate(labels) if cell not in words), None)
    if wrong is not None:
        raise DataError(f"{path}, line {table.lines[wrong]}, column label: {labels[wrong]!r}, but 0 or 1 was expected.")
    same = np.array([words[cell] for cell in labels], dtype=np.bool_)
    places: dict[str, int] = {}
    first, second = (
        np.array([places.setdefault(cell, len(places)) for cell in cells(column)], dtype=np.int64)
        for column in ("p1", "p2")
    )
    people = None
    if "id1" in columns and "id2" in columns:
        people = _coded(cells("id1"), cells("id2"))
    clash = np.zeros(0, np.int64) if people is None else np.flatnonzero((people[0] == people[1]) != same)
    if len(clash):
        row = int(clash[0])
        raise DataError(
            f"{path}, line {table.lines[row]}: label {labels[row]} of {cells('id1')[row]}, {cells('id2')[row]}."
        )
    fold = _table_folds(cells("fold") if "fold" in columns else None, len(same), options)
    attributes = _subgroups(cells("att1"), cells("att2")) if "att1" in columns and "att2" in columns else {}
    truth = PairSet(name, tuple(places), first, second, same, fold, people, attributes)
    return _dataset(truth, (table.fact,), _FileSamples(truth.pictures, path.parent, options))


def decoded(picture: bytes) -> bool:
    """Whether a picture can be decoded."""
    from PIL import Image

    try:
        with opened_picture(io.BytesIO(picture)) as header:
            if too_many_pixels(header.size):
                return False
    except (OSError, SyntaxError, ValueError, Image.DecompressionBombError):
        return False
    return cv2.imdecode(np.frombuffer(picture, np.uint8), cv2.IMREAD_COLOR) is not None


def read_bin(path: Path) -> tuple[list[bytes], NDArray[np.bool_], InputFact]:
    """The encoded pictures and labels of a `.bin`, without running anything that its pickle says."""
    source = read(path, DataError)
    content = load_plain(path, DataError, data=source.data)
    if (
        not isinstance(content, list | tuple)
        or len(content) != 2
        or not all(isinstance(part, list | tuple | np.ndarray) for part in content)
    ):
        raise DataError(
            f"{path} holds no list of pictures and list of labels. Is it a verification set of insightface?"
        )
    pictures, labels = [_bytes(picture, path, place) for place, picture in enumerate(content[0])], list(content[1])
    if len(pictures) % 2:
        raise DataError(f"{path} has {len(pictures):,} pictures, an odd number: pair i is pictures 2i and 2i + 1.")
    if len(pictures) != 2 * len(labels):
        raise DataError(
            f"{path} has {len(pictures):,} pictures but {len(labels):,} labels; there must be half as many."
        )
    wrong = next((place for place, label in enumerate(labels) if label not in (0, 1)), None)
    if wrong is not None:
        raise DataError(f"{path}: label {wrong} is {labels[wrong]!r}, but true or false was expected.")
    return pictures, np.array([bool(label) for label in labels], dtype=np.bool_), source.fact


def _load_bin(name: str, path: Path, options: PairSetOptions, cache: Path | None) -> Dataset[PairSet]:
    pictures, same, fact = read_bin(path)
    each = np.arange(len(same))
    numbers = tuple(str(number) for number in range(len(pictures)))
    truth = PairSet(name, numbers, 2 * each, 2 * each + 1, same, folds_of(len(same), options.folds), None)
    folder = None if cache is None else cache / "pairs" / fact.sha256[:16]
    return _dataset(truth, (fact,), _StoredSamples(pictures, folder, options), (UNKNOWN_PEOPLE,))


def _load_lists(name: str, lists: Mapping[str, Path], folder: Path, options: PairSetOptions) -> Dataset[PairSet]:
    """pairs.txt of LFW, or one for each race; folds are counted in every file by itself."""
    facts, listed, fold, group = [], [], [], []
    for place, (race, path) in enumerate(lists.items()):
        lines, fact = _read_list(path, race)
        facts.append(fact)
        listed += lines
        fold.append(folds_of(len(lines), options.folds))
        group.append(np.full(len(lines), place))
    places: dict[str, int] = {}
    first, second = (
        np.array([places.setdefault(line.pictures[side], len(places)) for line in listed], dtype=np.int64)
        for side in (0, 1)
    )
    people = _coded(*([line.people[side] for line in listed] for side in (0, 1)))
    same = np.array([line.same for line in listed], dtype=np.bool_)
    attributes = {"race": Attribute.coded(np.concatenate(group), tuple(lists))} if len(lists) > 1 else {}
    truth = PairSet(name, tuple(places), first, second, same, np.concatenate(fold), people, attributes)
    return _dataset(truth, tuple(facts), _FileSamples(truth.pictures, _media_folder(folder, truth.pictures), options))


def _read_list(path: Path, race: str) -> tuple[list[_Listed], InputFact]:
    """`name n m` is a pair of one person, `name n name m` of two; a first line of two numbers says folds and pairs."""
    source = read(path, DataError)
    found = []
    for number, line in enumerate(source.text(DataError).split("\n"), start=1):
        cells = line.split("\t") if line.count("\t") > 1 else line.split()
        cells = [cell.strip() for cell in cells if cell.strip()]
        if not cells or (number == 1 and len(cells) <= 2 and all(cell.isdigit() for cell in cells)):
            continue
        try:
            if len(cells) == 3:
                who = (cells[0], cells[0])
                numbers = (int(cells[1]), int(cells[2]))
            else:
                who = (cells[0], cells[2])
                numbers = (int(cells[1]), int(cells[3]))
                if len(cells) != 4 or who[0] == who[1]:
                    raise ValueError(line)
        except (ValueError, IndexError):
            raise DataError(
                f"{path}, line {number}: {line[:80]!r}; 'name n m' (one person) or 'name n name m' (two) was expected."
            ) from None
        within = f"{race}/" if race else ""
        pictures = [f"{within}{person}/{person}_{count:04d}.jpg" for person, count in zip(who, numbers, strict=True)]
        people = [f"{within}{person}" for person in who]
        found.append(_Listed((pictures[0], pictures[1]), (people[0], people[1]), who[0] == who[1]))
    return found, source.fact


def _dataset(
    truth: PairSet, inputs: tuple[InputFact, ...], samples: Sequence[Sample], warnings: tuple[str, ...] = ()
) -> Dataset[PairSet]:
    count, folds = len(truth), int(truth.fold.max(initial=-1)) + 1
    if count < 10:
        raise DataError(f"{inputs[0].path} has {count} pairs; ten folds need at least ten.")
    genuine = int(truth.same.sum())
    if genuine in (0, count):
        kind = "same" if genuine else "different"
        warnings += (f"All pairs show {kind} people: accuracy is defined, but no rate at a false accept rate is.",)
    if truth.people is None and UNKNOWN_PEOPLE not in warnings:
        warnings += (UNKNOWN_PEOPLE,)
    return Dataset(
        version=truth.name,
        samples=samples,
        truth=truth,
        levels={name: attribute.levels for name, attribute in truth.attributes.items()},
        inputs=inputs,
        warnings=warnings,
        facts={
            "pictures": len(truth.pictures),
            "pairs": count,
            "genuine": genuine,
            "impostor": count - genuine,
            "folds": folds,
        },
    )


class _FileSamples(Sequence[Sample]):
    """Pictures that are files, with flip=sum each also mirrored; made when they are looked at."""

    def __init__(self, names: Sequence[str], folder: Path, options: PairSetOptions) -> None:
        self._names, self._folder = names, folder
        self._passes = 2 if options.flip == "sum" else 1

    def __len__(self) -> int:
        return self._passes * len(self._names)

    def __getitem__(self, index: int | slice) -> Sample:  # type: ignore[override]  # slices are never asked for
        if isinstance(index, slice):
            raise TypeError("samples are asked for one by one")
        place, mirrored = divmod(range(len(self))[index], self._passes)
        name = self._names[place]
        return Sample(name + MIRRORED * mirrored, self._media(place), {"mirror": bool(mirrored)})

    def __iter__(self) -> Iterator[Sample]:
        return (self[place] for place in range(len(self)))

    def _media(self, place: int) -> tuple[Path, ...]:
        return (self._folder / self._names[place],)


class _StoredSamples(_FileSamples):
    """Pictures inside a `.bin`: written to the cache of the runs when a model is to see them."""

    def __init__(self, pictures: Sequence[bytes], folder: Path | None, options: PairSetOptions) -> None:
        super().__init__([str(number) for number in range(len(pictures))], Path(), options)
        self._pictures, self._cache = pictures, folder

    def _media(self, place: int) -> tuple[Path, ...]:
        if self._cache is None:
            return ()
        picture = self._pictures[place]
        kind = "png" if picture.startswith(b"\x89PNG") else "jpg"
        path = self._cache / f"{place:06d}.{kind}"
        if not path.is_file():
            write_file(path, picture, flush=False)
        return (path,)

    def undecodable(self) -> list[int]:
        """The numbers of pictures that can't be decoded."""
        return [place for place, picture in enumerate(self._pictures) if not decoded(picture)]


def undecodable(dataset: Dataset[PairSet]) -> list[int]:
    """The numbers of pictures of a `.bin` that can't be decoded; nothing for sets whose pictures are files."""
    samples: Any = dataset.samples
    return samples.undecodable() if isinstance(samples, _StoredSamples) else []


def _file_of(name: str, folder: Path) -> Path:
    if not folder.is_dir():
        raise DataError(f"{folder} does not exist. Give the folder that holds the set, or its file.")
    stem = name.rpartition("/")[2]
    known = [folder / f"{stem}.bin", *([folder / "pairs.txt"] if stem in ("lfw", "custom") else [])]
    there = [path for path in known if path.is_file()]
    if not there and stem == "custom":
        there = sorted(
            path for path in folder.iterdir() if path.suffix in (".bin", ".csv") or path.name.endswith("pairs.txt")
        )
        if len(there) > 1:
            raise DataError(f"{folder} has {', '.join(path.name for path in there)}: name the one that is meant.")
    if not there:
        raise DataError(f"{folder} has no {' or '.join(path.name for path in known)}.")
    return there[0]


def _media_folder(folder: Path, pictures: Sequence[str]) -> Path:
    """The folder below which the first picture is; LFW and RFW are unpacked into one of several."""
    for place in (folder, *(folder / name for name in ("lfw", "lfw-deepfunneled", "data", "images", "RFW"))):
        if pictures and (place / pictures[0]).is_file():
            return place
    return folder


def _table_folds(cells: list[str] | None, pairs: int, options: PairSetOptions) -> NDArray[np.int64]:
    if cells is None or len(set(cells)) < 2:
        return folds_of(pairs, options.folds)
    return np.unique(np.array(cells), return_inverse=True)[1].reshape(-1).astype(np.int64)


def _subgroups(first: Sequence[str], second: Sequence[str]) -> dict[str, Attribute]:
    """Subgroup, race and gender of pairs within a group; pairs across groups stand apart."""
    parts = {cell: _words(cell) for cell in (*first, *second)}
    attributes = {}
    for name, word in (("subgroup", 0), ("race", 1), ("gender", 2)):
        levels = tuple(dict.fromkeys(sorted(parts[cell][word] for cell in parts if parts[cell][word])))
        if not levels:
            continue
        code = {level: place for place, level in enumerate((*levels, CROSS))}
        both = [(parts[one][word], parts[other][word]) for one, other in zip(first, second, strict=True)]
        codes = np.array([code.get(one, len(code)) if one == other else code[CROSS] for one, other in both])
        attributes[name] = Attribute.coded(codes, tuple(code))
    return attributes


def _words(cell: str) -> tuple[str, str, str]:
    """Subgroup, race and gender of an entry such as `asian_females`."""
    race, _, gender = cell.strip().lower().rpartition("_")
    return cell.strip().lower(), race, gender.removesuffix("s") if race else ""


def _coded(first: Sequence[str], second: Sequence[str]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    _, codes = np.unique(np.array([*first, *second]), return_inverse=True)
    codes = codes.reshape(-1).astype(np.int64)
    return codes[: len(first)], codes[len(first) :]


def _bytes(picture: Any, path: Path, place: int) -> bytes:
    if isinstance(picture, bytes):
        return picture
    if isinstance(picture, str):  # Python 2 wrote bytes as text
        return picture.encode("latin-1")
    if isinstance(picture, np.ndarray) and picture.dtype.kind in "uiS":
        return picture.tobytes() if picture.dtype.kind == "S" else picture.astype(np.uint8).tobytes()
    raise DataError(f"{path}: picture {place} is {type(picture).__name__}, but encoded bytes were expected.")
