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
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array, Attribute
from evenhand.core.task import Dataset, InputFact, LazySamples, Sample
from evenhand.files.delimited import DelimitedTable, read_table
from evenhand.files.inputs import opened_picture, read, too_many_pixels
from evenhand.files.pickles import load_plain
from evenhand.files.writing import write_file

MIRRORED = "/mirrored"  # at the end of a sample's id
RACES = ("African", "Asian", "Caucasian", "Indian")  # of RFW
CROSS = "cross-group"
_MOST_FOLDS = 1000
_OF_PAIRS = ("p1", "p2", "label", "id1", "id2", "att1", "att2", "fold")  # columns of a table
_UNPACKED = ("lfw", "lfw-deepfunneled", "data", "images", "RFW", "test/data", "bfw-cropped-aligned")
# What a label may be in a table, in any case.
LABELS = {
    **dict.fromkeys(("1", "1.0", "true", "same", "genuine"), True),
    **dict.fromkeys(("0", "0.0", "false", "different", "impostor"), False),
}
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


def pair_keys(truth: PairSet) -> NDArray[np.int64]:
    """(pairs,): one number for the two pictures of a pair, whichever comes first."""
    return keys_of(truth.first, truth.second, len(truth.pictures))


def keys_of(first: NDArray[np.int64], second: NDArray[np.int64], pictures: int) -> NDArray[np.int64]:
    """(pairs,): one number for two places among so many pictures, whichever comes first."""
    return np.asarray(np.minimum(first, second) * pictures + np.maximum(first, second), dtype=np.int64)


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
    if path.suffix.lower() == ".bin":
        return _load_bin(name, path, options, cache)
    if path.suffix.lower() == ".csv":
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
        there = ", ".join(path.name for path in tables) or "no bfw-*.csv"
        advice = " Name the one that is meant." if tables else ""
        raise DataError(f"{data} has {there}; one table of pairs like bfw-v0.1.5-datatable.csv was expected.{advice}")
    return load_table(name, tables[0], options)


def load_table(name: str, path: Path, options: PairSetOptions) -> Dataset[PairSet]:
    """A table with p1, p2 and label, and where known fold, id1, id2 (people) and att1, att2 (groups, as in BFW)."""
    table = read_table(path, separator=None)
    columns = columns_of(table)
    lacking = [column for column in ("p1", "p2", "label") if column not in columns]
    if lacking:
        raise DataError(
            f"{path}, line 1: no column {', '.join(lacking)}; it has {', '.join(table.frame.columns)}. A table of "
            "pairs has p1, p2, label and, where known, fold, id1, id2, att1, att2."
        )
    cells = {column: stripped_cells(table, columns[column]) for column in _OF_PAIRS if column in columns}
    for column in ("p1", "p2", "id1", "id2", "fold"):
        is_empty = cells[column] == "" if column in cells else None
        if is_empty is not None and is_empty.any():
            line = table.lines[is_empty.arg_max()]
            advice = "" if column in ("p1", "p2") else f" Fill it everywhere, or leave the column {column} out."
            raise DataError(f"{path}, line {line}, column {column}: empty.{advice}")
    same = _labels(table, cells["label"])
    people = (cells["id1"], cells["id2"]) if "id1" in cells and "id2" in cells else None
    if people is not None:
        _check_labels(table, same, people)
    fold, warnings = _table_folds(path, cells.get("fold"), len(same), options)
    attributes = _subgroups(cells["att1"], cells["att2"]) if "att1" in cells and "att2" in cells else {}
    truth = _pair_set(name, (cells["p1"], cells["p2"]), same, fold, people, attributes)
    media_folder = _media_folder((path.parent, path.parent.parent), truth.pictures)
    return _dataset(truth, (table.fact,), _samples(truth.pictures, options, media_folder.joinpath), options, warnings)


def columns_of(table: DelimitedTable) -> dict[str, str]:
    """The columns of a table by their names in lower case."""
    return {name.strip().lower(): name for name in table.frame.columns}


def stripped_cells(table: DelimitedTable, column: str) -> pl.Series:
    """The entries of a column without blanks around them."""
    return table.frame[column].str.strip_chars()


def label_codes(cells: pl.Series) -> NDArray[np.int8]:
    """(rows,): 1 for a pair of one person, 0 for one of two, −1 where an entry is no label."""
    codes = cells.str.to_lowercase().replace_strict(LABELS, default=-1, return_dtype=pl.Int8)
    return np.asarray(codes.to_numpy())


def places_in(names: Sequence[str] | pl.Series, cells: pl.Series) -> NDArray[np.int64]:
    """(rows,): the place of every entry among different names, −1 where it is none of them."""
    known = pl.Series(names, dtype=pl.String)
    places = pl.Series(np.arange(len(known)), dtype=pl.Int64)
    return np.asarray(cells.replace_strict(known, places, default=-1, return_dtype=pl.Int64).to_numpy())


def _labels(table: DelimitedTable, cells: pl.Series) -> NDArray[np.bool_]:
    codes = label_codes(cells)
    wrong = np.flatnonzero(codes < 0)
    if len(wrong):
        row = int(wrong[0])
        raise DataError(
            f"{table.path}, line {table.lines[row]}, column label: {cells[row][:80]!r}, but 1 (true, same, genuine) or "
            "0 (false, different, impostor) was expected."
        )
    return codes.astype(np.bool_)


def _check_labels(table: DelimitedTable, same: NDArray[np.bool_], people: tuple[pl.Series, pl.Series]) -> None:
    """Labels and the people of a pair say the same."""
    clash = np.flatnonzero((people[0] == people[1]).to_numpy() != same)
    if len(clash):
        row = int(clash[0])
        label = "1 (one person)" if same[row] else "0 (two people)"
        raise DataError(
            f"{table.path}, line {table.lines[row]}: the label is {label}, but id1 is {people[0][row]!r} and id2 "
            f"{people[1][row]!r}."
        )


def _table_folds(
    path: Path, cells: pl.Series | None, pairs: int, options: PairSetOptions
) -> tuple[NDArray[np.int64], list[str]]:
    """The folds of a table, in the order of their numbers; contiguous ones where it has none of its own."""
    entries = [] if cells is None else cells.unique().to_list()
    if cells is None or len(entries) < 2:
        one = f"{path}: its column fold has one fold; {options.folds} in the order of the pairs are used."
        return _asked_folds(path, pairs, options), [one] if entries else []
    try:
        keys: Array = np.array([float(entry) for entry in entries])
    except ValueError:
        keys = np.array(entries)
    names, fold = np.unique(keys, return_inverse=True)
    if len(names) > _MOST_FOLDS:
        raise DataError(
            f"{path}: the column fold has {len(names):,} different entries, at most {_MOST_FOLDS:,} were expected. Is "
            "it the number of a fold?"
        )
    warnings = []
    if len(names) != options.folds and options.folds != PairSetOptions.folds:  # BFW has 5, without anybody's asking
        warnings.append(
            f"{path}: its column fold has {len(names):,} folds, which are used; folds={options.folds} is for tables "
            "without that column."
        )
    return fold.reshape(-1).astype(np.int64)[places_in(entries, cells)], warnings


def _pair_set(
    name: str,
    pictures: tuple[pl.Series, pl.Series],
    same: NDArray[np.bool_],
    fold: NDArray[np.int64],
    people: tuple[pl.Series, pl.Series] | None,
    attributes: Mapping[str, Attribute],
) -> PairSet:
    """A set whose pictures and people are named, side by side; pictures are numbered as they are met."""
    names, (first, second) = _numbered(pictures, lambda both: both.unique(maintain_order=True))
    coded = None if people is None else _numbered(people, lambda both: both.unique().sort())[1]
    return PairSet(name, tuple(names), first, second, same, fold, coded, attributes)


def _numbered(
    sides: tuple[pl.Series, pl.Series], distinct: Callable[[pl.Series], pl.Series]
) -> tuple[list[str], tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """The different names on both sides, and the place of every one among them."""
    names = distinct(pl.concat(sides))
    return names.to_list(), (places_in(names, sides[0]), places_in(names, sides[1]))


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
    pictures = _encoded_pictures(content[0], path)
    labels = list(content[1].ravel() if isinstance(content[1], np.ndarray) else content[1])
    if len(pictures) % 2:
        raise DataError(f"{path} has {len(pictures):,} pictures, an odd number: pair i is pictures 2i and 2i + 1.")
    if len(pictures) != 2 * len(labels):
        raise DataError(
            f"{path} has {len(pictures):,} pictures but {len(labels):,} labels; there must be half as many."
        )
    wrong = next((place for place, label in enumerate(labels) if np.ndim(label) or label not in (0, 1)), None)
    if wrong is not None:
        raise DataError(f"{path}: label {wrong} is {repr(labels[wrong])[:80]}, but true or false was expected.")
    return pictures, np.array([bool(label) for label in labels], dtype=np.bool_), source.fact


def _load_bin(name: str, path: Path, options: PairSetOptions, cache: Path | None) -> Dataset[PairSet]:
    pictures, same, fact = read_bin(path)
    each = np.arange(len(same))
    numbers = tuple(str(number) for number in range(len(pictures)))
    folds = _asked_folds(path, len(same), options)
    truth = PairSet(name, numbers, 2 * each, 2 * each + 1, same, folds, None, encoded=tuple(pictures))
    known: dict[int, int] = {}
    first_use = [known.setdefault(id(picture), place) for place, picture in enumerate(pictures)]

    def picture_in(cache: Path, name: str) -> Path:
        """The picture, written to the cache of the runs when a model is to see it."""
        place = first_use[int(name)]  # a picture that the file uses again is written once
        encoded = pictures[place]
        kind = "png" if encoded.startswith(b"\x89PNG") else "jpg"
        picture = cache / "pairs" / fact.hash[:16] / f"{place:06d}.{kind}"
        if not picture.is_file():
            write_file(picture, encoded, flush=False)
        return picture

    return _dataset(truth, (fact,), _samples(numbers, options, partial(picture_in, cache) if cache else None), options)


def _load_lists(name: str, lists: Mapping[str, Path], folder: Path, options: PairSetOptions) -> Dataset[PairSet]:
    """pairs.txt of LFW, or one for each race; folds are counted in every file by itself."""
    facts, pairs, fold, group, warnings = [], [], [], [], []
    for place, (race, path) in enumerate(lists.items()):
        lines, header, fact = _read_list(path, f"{race}/" if race else "")
        warnings += _header_warnings(path, header, [one == other for _, (one, other) in lines], options)
        facts.append(fact)
        pairs += lines
        fold.append(_asked_folds(path, len(lines), options))
        group.append(np.full(len(lines), place))
    pictures, people = (_sides([pair[what] for pair in pairs]) for what in (0, 1))
    same = (people[0] == people[1]).to_numpy()
    attributes = {"race": Attribute.coded(np.concatenate(group), tuple(lists))} if len(lists) > 1 else {}
    truth = _pair_set(name, pictures, same, np.concatenate(fold), people, attributes)
    # RFW itself has test/data/RACE/… beside test/txts/RACE/RACE_pairs.txt.
    unpacked = next(iter(lists.values())).parent.parent.parent / "data"
    media_folder = _media_folder((folder, unpacked), truth.pictures)
    return _dataset(truth, tuple(facts), _samples(truth.pictures, options, media_folder.joinpath), options, warnings)


def _sides(names: Sequence[Sequence[str]]) -> tuple[pl.Series, pl.Series]:
    first, second = (pl.Series([both[side] for both in names], dtype=pl.String) for side in (0, 1))
    return first, second


def _header_warnings(path: Path, header: Sequence[int], same: Sequence[bool], options: PairSetOptions) -> list[str]:
    """Whether a list has as many pairs of each kind as its first line says, in as many folds.

    The first line has the number of folds and of pairs of each kind, or in LFW's View 1 the latter alone.
    """
    if not header:
        return []
    folds, of_each_kind = header if len(header) == 2 else (1, header[0])
    genuine, impostor, expected = sum(same), len(same) - sum(same), folds * of_each_kind
    warnings = []
    if (genuine, impostor) != (expected, expected):
        parts = f"{folds} folds of 2 × {of_each_kind} pairs" if folds > 1 else f"2 × {of_each_kind} pairs"
        warnings.append(
            f"{path}: line 1 says {parts}, {expected:,} of one person and {expected:,} of two, but {genuine:,} and "
            f"{impostor:,} follow. Is the file complete?"
        )
    if folds != options.folds and folds > 1:
        asked = ", as papers do" if options.folds == 10 else f" (folds={options.folds})"
        warnings.append(
            f"{path}: line 1 says {folds} folds, but {options.folds} are used{asked}; --set folds={folds} follows the "
            "file."
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
            if min(map(int, numbers)) < 0:
                raise ValueError(line)
        except ValueError:
            raise DataError(
                f"{path}, line {number}: {line[:80]!r}; 'name n m' (one person) or 'name n name m' (two) was expected. "
                "Names that have blanks need tabs between the columns."
            ) from None
        if len(cells) == 4 and who[0] == who[1]:
            raise DataError(
                f"{path}, line {number}: {line[:80]!r} is written as a pair of two people, but both are {who[0]!r}. A "
                "pair of one person is 'name n m'."
            )
        pairs.append((pictures, [f"{within}{person}" for person in who]))
    return pairs, header, source.fact


def _dataset(
    truth: PairSet,
    inputs: tuple[InputFact, ...],
    samples: Sequence[Sample],
    options: PairSetOptions,
    warnings: Sequence[str] = (),
) -> Dataset[PairSet]:
    count, folds = len(truth), int(truth.fold.max(initial=-1)) + 1
    if count < 10:
        raise DataError(f"{inputs[0].path} has {count} pairs; ten folds need at least ten.")
    genuine = int(truth.same.sum())
    warnings = (*warnings, *_content_warnings(truth, folds), *_rate_warnings(count - genuine, options))
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
    else:
        yield from _people_warning(truth)
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
    keys = pair_keys(truth)
    ordered = np.sort(keys)
    if (ordered[1:] == ordered[:-1]).any():
        again = np.delete(np.arange(len(truth)), np.unique(keys, return_index=True)[1])
        row = int(again[0])
        both = f"{truth.pictures[truth.first[row]]}, {truth.pictures[truth.second[row]]}"
        yield (
            f"{len(again):,} of {len(truth):,} pairs were listed before and count again: the first is pair {row} "
            f"({both})."
        )


def _people_warning(truth: PairSet) -> Iterator[str]:
    """Whether a picture is of two people: then pairs are resampled with the wrong ones."""
    assert truth.people is not None
    place, who = np.concatenate([truth.first, truth.second]), np.concatenate(truth.people)
    person = np.zeros(len(truth.pictures), dtype=np.int64)
    person[place] = who
    wrong = np.unique(place[person[place] != who])
    if len(wrong):
        yield (
            f"{len(wrong):,} of {len(truth.pictures):,} pictures are of one person in a pair and of another in the "
            f"next, such as {truth.pictures[wrong[0]]}. Are the columns id1 and id2 right?"
        )


def _rate_warnings(impostors: int, options: PairSetOptions) -> Iterator[str]:
    """Rates that so few pairs of two people can't show."""
    too_low = [rate for rate in options.far if 0 < rate * impostors < 1]
    if too_low:
        rates = ", ".join(f"{rate:g}" for rate in too_low)
        yield (
            f"{impostors:,} pairs show two people: at FAR {rates} none of them may be accepted, so TAR there is "
            "measured with no false accepts."
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


def _media_folder(folders: Sequence[Path], pictures: Sequence[str]) -> Path:
    """The folder below which the first pictures are; sets are unpacked into one of several. The first, if none is."""
    places = [place for folder in folders for place in (folder, *(folder / name for name in _UNPACKED))]
    return next((place for place in places for name in pictures[:10] if (place / name).is_file()), folders[0])


def _subgroups(first: pl.Series, second: pl.Series) -> dict[str, Attribute]:
    """Subgroup, race and gender of pairs within a group; pairs across groups stand apart."""
    entries, sides = _numbered((first, second), lambda both: both.unique())
    parts = [_words(entry) for entry in entries]
    attributes = {}
    for name, word in (("subgroup", 0), ("race", 1), ("gender", 2)):
        levels = sorted({part[word] for part in parts} - {""})
        if not levels:
            continue
        code = {level: place for place, level in enumerate((*levels, CROSS))}
        unknown = len(code)  # of one side is enough
        of_entry = np.array([code.get(part[word], unknown) for part in parts])
        one, other = (of_entry[side] for side in sides)
        codes = np.where(one == other, one, code[CROSS])
        codes[(one == unknown) | (other == unknown)] = unknown
        attributes[name] = Attribute.coded(codes, tuple(code))
    return attributes


def _words(cell: str) -> tuple[str, str, str]:
    """Subgroup, race and gender of an entry such as `asian_females`."""
    race, _, gender = cell.strip().lower().rpartition("_")
    return cell.strip().lower(), race, gender.removesuffix("s") if race else ""


def _encoded_pictures(entries: Any, path: Path) -> list[bytes]:
    """The bytes of every picture; one that the pickle uses again is kept once, however often that is."""
    entries = list(entries)  # kept, lest two have one identity
    known: dict[int, bytes] = {}
    for place, entry in enumerate(entries):
        if id(entry) not in known:
            known[id(entry)] = _bytes(entry, path, place)
    return [known[id(entry)] for entry in entries]


def _bytes(picture: Any, path: Path, place: int) -> bytes:
    if isinstance(picture, bytes | bytearray):
        return bytes(picture)
    if isinstance(picture, str) and all(char <= "\xff" for char in picture):  # Python 2 wrote bytes as text
        return picture.encode("latin-1")
    found = type(picture).__name__
    if isinstance(picture, np.ndarray):
        is_flat = picture.size == max(picture.shape, default=1)  # OpenCV also made columns of bytes
        is_bytes = picture.dtype.kind == "S" or picture.dtype == np.int8
        if picture.dtype.kind in "ui" and is_flat and not is_bytes:
            is_bytes = not picture.size or (int(picture.min()) >= 0 and int(picture.max()) <= 255)
        if is_bytes and is_flat:
            return picture.tobytes() if picture.dtype.kind == "S" else picture.astype(np.uint8).tobytes()
        found = f"an array of {picture.dtype} with shape {picture.shape}"
        if picture.dtype.kind in "ui" and is_flat:
            found += f" and values from {picture.min()} to {picture.max()}"
    raise DataError(f"{path}: picture {place} is {found}, but the bytes of a PNG or JPEG were expected.")
