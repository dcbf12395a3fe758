"""Verification sets as they are distributed: `.bin` files, LFW's `pairs.txt`, RFW's four of them, BFW's table.

A set is pictures, and pairs of them with a label. Where the files name people, a pair is about two of them; a `.bin`
names nobody, and every pair stands for itself.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.core.errors import DataError, OptionError
from evenhand.core.optional import cv2
from evenhand.core.records import Attribute
from evenhand.core.task import Dataset, InputFact, LazySamples, Sample
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
    encoded: tuple[bytes, ...] = ()  # the pictures inside a .bin

    def __len__(self) -> int:
        return len(self.same)


def folds_of(pairs: int, folds: int) -> NDArray[np.int64]:
    """(pairs,): contiguous folds in file order; the first ones have one pair more where it does not come out even.

    >>> folds_of(5, 2).tolist()
    [0, 0, 0, 1, 1]
    """
    return np.sort(np.arange(pairs) % folds)


def _asked_folds(path: Path, pairs: int, options: PairSetOptions) -> NDArray[np.int64]:
    if options.folds > max(pairs, 10):  # fewer than ten pairs have words of their own
        raise OptionError(f"Option 'folds' can't be {options.folds}: {path} has {pairs:,} pairs.")
    return folds_of(pairs, options.folds)


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
    there = sorted(Path(data).rglob("*_pairs.txt"))
    for race in RACES:
        paths = [path for path in there if path.name.lower() == f"{race}_pairs.txt".lower()]
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
    people = (cells("id1"), cells("id2")) if "id1" in columns and "id2" in columns else None
    clash = [] if people is None else np.flatnonzero((np.array(people[0]) == np.array(people[1])) != same).tolist()
    if people is not None and clash:
        row = clash[0]
        raise DataError(f"{path}, line {table.lines[row]}: label {labels[row]} of {people[0][row]}, {people[1][row]}.")
    folds = cells("fold") if "fold" in columns else []
    fold = np.unique(np.array(folds), return_inverse=True)[1].reshape(-1).astype(np.int64)
    fold = fold if fold.any() else _asked_folds(path, len(same), options)
    attributes = _subgroups(cells("att1"), cells("att2")) if "att1" in columns and "att2" in columns else {}
    truth = _pair_set(name, (cells("p1"), cells("p2")), same, fold, people, attributes)
    return _dataset(truth, (table.fact,), _samples(truth.pictures, options, path.parent.joinpath))


def _pair_set(
    name: str,
    pictures: tuple[Sequence[str], Sequence[str]],
    same: NDArray[np.bool_],
    fold: NDArray[np.int64],
    people: tuple[Sequence[str], Sequence[str]] | None,
    attributes: Mapping[str, Attribute],
) -> PairSet:
    """A set whose pictures and people are named, side by side; pictures are numbered as they are met."""
    places: dict[str, int] = {}
    first, second = (
        np.array([places.setdefault(picture, len(places)) for picture in side], dtype=np.int64) for side in pictures
    )
    coded = None
    if people is not None:
        codes = np.unique(np.array([*people[0], *people[1]]), return_inverse=True)[1].reshape(-1).astype(np.int64)
        coded = (codes[: len(same)], codes[len(same) :])
    return PairSet(name, tuple(places), first, second, same, fold, coded, attributes)


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
    pictures = [_bytes(picture, path, place) for place, picture in enumerate(content[0])]
    labels = list(content[1].ravel() if isinstance(content[1], np.ndarray) else content[1])
    if len(pictures) % 2:
        raise DataError(f"{path} has {len(pictures):,} pictures, an odd number: pair i is pictures 2i and 2i + 1.")
    if len(pictures) != 2 * len(labels):
        raise DataError(
            f"{path} has {len(pictures):,} pictures but {len(labels):,} labels; there must be half as many."
        )
    wrong = next((place for place, label in enumerate(labels) if np.ndim(label) or label not in (0, 1)), None)
    if wrong is not None:
        raise DataError(f"{path}: label {wrong} is {labels[wrong]!r}, but true or false was expected.")
    return pictures, np.array([bool(label) for label in labels], dtype=np.bool_), source.fact


def _load_bin(name: str, path: Path, options: PairSetOptions, cache: Path | None) -> Dataset[PairSet]:
    pictures, same, fact = read_bin(path)
    each = np.arange(len(same))
    numbers = tuple(str(number) for number in range(len(pictures)))
    folds = _asked_folds(path, len(same), options)
    truth = PairSet(name, numbers, 2 * each, 2 * each + 1, same, folds, None, encoded=tuple(pictures))

    def picture_in(cache: Path, name: str) -> Path:
        """The picture, written to the cache of the runs when a model is to see it."""
        encoded = pictures[int(name)]
        kind = "png" if encoded.startswith(b"\x89PNG") else "jpg"
        picture = cache / "pairs" / fact.hash[:16] / f"{int(name):06d}.{kind}"
        if not picture.is_file():
            write_file(picture, encoded, flush=False)
        return picture

    return _dataset(truth, (fact,), _samples(numbers, options, partial(picture_in, cache) if cache else None))


def _load_lists(name: str, lists: Mapping[str, Path], folder: Path, options: PairSetOptions) -> Dataset[PairSet]:
    """pairs.txt of LFW, or one for each race; folds are counted in every file by itself."""
    facts, pairs, fold, group, warnings = [], [], [], [], []
    for place, (race, path) in enumerate(lists.items()):
        lines, header, fact = _read_list(path, f"{race}/" if race else "")
        warnings += _header_warnings(path, header, len(lines), options)
        facts.append(fact)
        pairs += lines
        fold.append(_asked_folds(path, len(lines), options))
        group.append(np.full(len(lines), place))
    pictures, people = (([pair[what][0] for pair in pairs], [pair[what][1] for pair in pairs]) for what in (0, 1))
    same = np.array([one == other for one, other in zip(*people, strict=True)], dtype=np.bool_)
    attributes = {"race": Attribute.coded(np.concatenate(group), tuple(lists))} if len(lists) > 1 else {}
    truth = _pair_set(name, pictures, same, np.concatenate(fold), people, attributes)
    media_folder = _media_folder(folder, next(iter(lists.values())), truth.pictures)
    return _dataset(truth, tuple(facts), _samples(truth.pictures, options, media_folder.joinpath), warnings)


def _header_warnings(path: Path, header: Sequence[int], pairs: int, options: PairSetOptions) -> list[str]:
    """Whether a list has as many pairs as its first line says (folds and pairs of each kind), in as many folds."""
    if len(header) != 2:
        return []
    folds, of_each_kind = header
    warnings = []
    if pairs != 2 * folds * of_each_kind:
        warnings.append(
            f"{path}: line 1 says {folds} folds of 2 × {of_each_kind} pairs, {2 * folds * of_each_kind:,} in all, but "
            f"{pairs:,} follow. Is the file complete?"
        )
    if folds != options.folds and folds > 1:
        warnings.append(
            f"{path}: line 1 says {folds} folds, but {options.folds} are used, as papers do; --set folds={folds} "
            "follows the file."
        )
    return warnings


def _read_list(path: Path, within: str) -> tuple[list[tuple[list[str], list[str]]], list[int], InputFact]:
    """The two pictures and the two people of every line, and the numbers of the first line where it has only numbers.

    `name n m` is a pair of one person, `name n name m` of two; a first line of two numbers says folds and pairs.
    """
    source = read(path, DataError)
    pairs, header = [], []
    for number, line in enumerate(source.text(DataError).split("\n"), start=1):
        cells = line.split("\t") if line.count("\t") > 1 else line.split()
        cells = [cell.strip() for cell in cells if cell.strip()]
        if number == 1 and len(cells) <= 2 and all(cell.isdecimal() for cell in cells):
            header = [int(cell) for cell in cells]
            continue
        if not cells:
            continue
        who, numbers = (cells[::2], cells[1::2]) if len(cells) == 4 else (cells[:1] * 2, cells[1:])
        try:
            pictures = [f"{within}{one}/{one}_{int(count):04d}.jpg" for one, count in zip(who, numbers, strict=True)]
            if (len(cells) == 4 and who[0] == who[1]) or min(map(int, numbers)) < 0:
                raise ValueError(line)
        except ValueError:
            raise DataError(
                f"{path}, line {number}: {line[:80]!r}; 'name n m' (one person) or 'name n name m' (two) was expected. "
                "Names that have blanks need tabs between the columns."
            ) from None
        pairs.append((pictures, [f"{within}{person}" for person in who]))
    return pairs, header, source.fact


def _dataset(
    truth: PairSet, inputs: tuple[InputFact, ...], samples: Sequence[Sample], warnings: Sequence[str] = ()
) -> Dataset[PairSet]:
    count, folds = len(truth), int(truth.fold.max(initial=-1)) + 1
    if count < 10:
        raise DataError(f"{inputs[0].path} has {count} pairs; ten folds need at least ten.")
    genuine = int(truth.same.sum())
    warnings = (*warnings, *_content_warnings(truth, folds))
    return Dataset(
        version=truth.name,
        samples=samples,
        truth=truth,
        levels={name: attribute.levels for name, attribute in truth.attributes.items()},
        inputs=inputs,
        warnings=tuple(warnings),
        facts={
            "pictures": len(truth.pictures),
            "pairs": count,
            "genuine": genuine,
            "impostor": count - genuine,
            "folds": folds,
        },
    )


def _content_warnings(truth: PairSet, folds: int) -> Iterator[str]:
    """What about the pairs of a set limits its results."""
    if truth.people is None:
        yield UNKNOWN_PEOPLE
    genuine, total = (np.bincount(truth.fold, kind, minlength=folds) for kind in (truth.same, None))
    if genuine.sum() in (0, len(truth)):
        shown = "one person" if genuine.any() else "two people"
        yield f"All pairs show {shown}: accuracy is defined, but no rate at a false accept rate is."
    elif one_kind := int(((genuine == 0) | (genuine == total)).sum()):
        yield (
            f"{one_kind} of {folds} folds have pairs of one kind only: accuracy over folds then depends on the order "
            "of the pairs. Published sets have both kinds in every fold."
        )
    with_itself = np.flatnonzero(truth.first == truth.second)
    if len(with_itself):
        row = int(with_itself[0])
        yield (
            f"{len(with_itself):,} of {len(truth):,} pairs show one picture twice, which is always right: the first is "
            f"pair {row} ({truth.pictures[truth.first[row]]})."
        )


def _samples(names: Sequence[str], options: PairSetOptions, path_of: Callable[[str], Path] | None) -> LazySamples:
    """The pictures, with flip=sum each also mirrored; where one is, is asked when it is looked at."""
    passes = 2 if options.flip == "sum" else 1
    return LazySamples(passes * len(names), partial(_sample, names, passes, path_of))


def _sample(names: Sequence[str], passes: int, path_of: Callable[[str], Path] | None, number: int) -> Sample:
    place, mirrored = divmod(number, passes)
    name = names[place]
    return Sample(name + MIRRORED * mirrored, (path_of(name),) if path_of else (), {"mirror": bool(mirrored)})


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


def _media_folder(folder: Path, list_path: Path, pictures: Sequence[str]) -> Path:
    """The folder below which the first picture is; LFW and RFW are unpacked into one of several.

    RFW itself has `test/data/RACE/…` beside `test/txts/RACE/RACE_pairs.txt`.
    """
    names = ("lfw", "lfw-deepfunneled", "data", "images", "RFW", "test/data")
    beside = list_path.parent.parent.parent / "data"
    for place in (folder, *(folder / name for name in names), beside):
        if pictures and (place / pictures[0]).is_file():
            return place
    return folder


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


def _bytes(picture: Any, path: Path, place: int) -> bytes:
    if isinstance(picture, bytes | bytearray):
        return bytes(picture)
    if isinstance(picture, str) and all(char <= "\xff" for char in picture):  # Python 2 wrote bytes as text
        return picture.encode("latin-1")
    found = type(picture).__name__
    if isinstance(picture, np.ndarray):
        is_flat = picture.size == max(picture.shape, default=1)  # OpenCV also made columns of bytes
        if picture.dtype.kind in "uiS" and is_flat:
            return picture.tobytes() if picture.dtype.kind == "S" else picture.astype(np.uint8).tobytes()
        found = f"an array of {picture.dtype} with shape {picture.shape}"
    raise DataError(f"{path}: picture {place} is {found}, but the bytes of a PNG or JPEG were expected.")
