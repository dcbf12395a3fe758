"""FairFace label files: read in every form in which they are about, or refused with the reason.

Nothing is dropped and no label is edited. What spreadsheets do to the age bins of
this very file (`3-9` becomes `03-Sep`) is undone, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.prompts import prompt_of, schema_of
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, COARSE_OF, FINE_RACES, GENDERS, RACES
from evenhand.core.errors import DataError, InputError, OptionError
from evenhand.core.task import Dataset, InputFact, Sample
from evenhand.files.delimited import read_header, read_records, read_table, shown_names

REPAIRED: Final = "spreadsheet_dates_repaired"

HUB_ORDER: Final = ("East Asian", "Indian", "Black", "White", "Middle Eastern", "Latino_Hispanic", "Southeast Asian")
SCRIPT_ORDER: Final = FINE_RACES

Codes = NDArray[np.int8]

_REQUIRED: Final = ("file", "age", "gender", "race")
_KNOWN_COLUMNS: Final = frozenset({*_REQUIRED, "service_test"})
_DASHES: Final = re.compile("[\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]")
_SPREADSHEET: Final = (
    (re.compile(r"0?3-sep|0?9-mar|sep-0?3|mar-0?9", re.IGNORECASE), "3-9"),
    (re.compile(r"oct-19|19-oct", re.IGNORECASE), "10-19"),
)
_LAST_BIN: Final = frozenset({"70+", "more than 70", ">70", "> 70", "70 or more", "70 +"})
_TRUE, _FALSE = frozenset({"true", "1", "yes"}), frozenset({"false", "0", "no"})
_INTEGER: Final = re.compile(r"[+-]?\d+(?:\.0+)?")


@dataclass(frozen=True)
class Faces:
    """The labels of all faces in a file, as codes of the declared classes, and which of them are evaluated."""

    files: tuple[str, ...]
    gender: Codes
    fine_race: Codes
    age: Codes
    service_test: NDArray[np.bool_] | None  # None: the file has no such column
    chosen: NDArray[np.intp]  # the rows that are evaluated, in file order

    @property
    def race(self) -> Codes:
        """The six coarse classes."""
        return _COARSE_CODES[self.fine_race]


_COARSE_CODES: Final[Codes] = np.array([RACES.index(COARSE_OF[name]) for name in FINE_RACES], dtype=np.int8)


def load(path: Path, options: FaceOptions) -> Dataset[Faces]:
    """The labelled faces of a data folder, or of one label file.

    In a folder, `fairface_label_val.csv` (or `_train`, by option `split`) is looked
    for, then `labels.csv`; option `labels` names another file.
    """
    label_file = find_labels(Path(path), options)
    faces, warnings, source = read_labels(label_file, order=label_order(options.label_order))
    if options.subset == "service_test":
        if faces.service_test is None:
            raise DataError(
                f"{label_file} has no column service_test, so that subset can't be selected. "
                "Use the published label file, or leave out --set subset=service_test."
            )
        faces = replace(faces, chosen=np.flatnonzero(faces.service_test))
        if not len(faces.chosen):
            raise DataError(f"{label_file}: no row has service_test True, so the subset is empty.")
    root = label_file.parent
    prompt = options.prompt or "all-v1"
    given = {"prompt": prompt_of(prompt), "schema": schema_of(prompt)}
    samples = FaceSamples(root, [faces.files[row] for row in faces.chosen.tolist()], given)
    return Dataset(
        version=f"FairFace {label_file.name} ({len(faces.files)} labels, sha256 {source.sha256[:12]})",
        samples=samples,
        truth=faces,
        levels={"gender": GENDERS, "race": RACES, "age": AGE_BINS},
        inputs=(source,),
        warnings=(*warnings, *_absent_classes(faces)),
        facts={
            "label_file": label_file.name,
            "label_sha256": source.sha256,
            "labels": len(faces.files),
            "evaluated": len(faces.chosen),
            "subset": options.subset,
            "service_test": "absent" if faces.service_test is None else int(faces.service_test.sum()),
        },
    )


class FaceSamples(Sequence[Sample]):
    """One sample per image, made when it is asked for; without a picture where its folder is not there."""

    def __init__(self, root: Path, files: Sequence[str], given: Mapping[str, Any]) -> None:
        self.root, self.files, self.given = root, files, given
        self._folders: dict[str, bool] = {}

    def __len__(self) -> int:
        return len(self.files)

    @overload
    def __getitem__(self, index: int) -> Sample: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Sample]: ...
    def __getitem__(self, index: int | slice) -> Sample | Sequence[Sample]:
        if isinstance(index, slice):
            return FaceSamples(self.root, self.files[index], self.given)
        return self._sample(self.files[index])

    def __iter__(self) -> Iterator[Sample]:
        return map(self._sample, self.files)

    def _sample(self, file: str) -> Sample:
        folder = file.rpartition("/")[0]
        there = self._folders.get(folder)
        if there is None:
            there = self._folders[folder] = (self.root / folder).is_dir()
        return Sample(file, (self.root / file,) if there else (), self.given)


def find_labels(path: Path, options: FaceOptions) -> Path:
    """The label file that a path means."""
    if path.is_file():
        return path
    if not path.exists():
        raise DataError(
            f"{path} does not exist. Name the folder with fairface_label_val.csv, or the label file itself."
        )
    named = [options.labels] if options.labels else [f"fairface_label_{options.split}.csv", "labels.csv"]
    for name in named:
        if (path / name).is_file():
            return path / name
    there = ", ".join(sorted(entry.name for entry in path.glob("*.csv"))[:8]) or "no CSV file"
    raise DataError(
        f"{path} has none of {', '.join(named)} (there is {there}). "
        "Download fairface_label_val.csv into it, or name the file with --set labels=NAME."
    )


def label_order(text: str) -> tuple[str, ...] | None:
    """The order of race codes in an integer-coded label file; None when integers are refused.

    >>> label_order("hub")[:2], label_order("") is None
    (('East Asian', 'Indian'), True)
    """
    if not text:
        return None
    if text in ("hub", "script"):
        return HUB_ORDER if text == "hub" else SCRIPT_ORDER
    names = tuple(name.strip() for name in text.split(","))
    if sorted(names) != sorted(FINE_RACES):
        raise OptionError(
            f"Option 'label_order' can't be {text!r}: it takes hub, script, or the seven races in the order "
            f"of their codes, separated by commas ({', '.join(FINE_RACES)})."
        )
    return names


def read_labels(path: Path, order: Sequence[str] | None = None) -> tuple[Faces, tuple[str, ...], InputFact]:
    """The labels of a file, warnings, and what the file was.

    `order` is the meaning of integer race codes; without it integers are refused.
    """
    if order is None and (quick := _read_by_column(path)) is not None:
        return quick
    header = [name.lower() for name in read_header(path, DataError).names]
    lacking = [name for name in _REQUIRED if name not in header]
    if lacking:
        raise DataError(
            f"{path}, row 1: no column {', '.join(lacking)}; found {shown_names(header) or 'nothing'}. "
            "A FairFace label file has the header file,age,gender,race,service_test."
        )
    records, fact = read_records(path, DataError)
    reader = _LabelReader(path, header, order)
    for line, cells in records[1:]:
        reader.take(line, cells)
    if not reader.files:
        raise DataError(f"{path} has a header but no rows. It should have one row per image.")
    return reader.faces(), ((REPAIRED,) if reader.repaired else ()), fact


def _read_by_column(path: Path) -> tuple[Faces, tuple[str, ...], InputFact] | None:
    """The same, with each distinct value looked at once; None when anything in the file is unusual."""
    try:
        table = read_table(path, None, DataError)
    except InputError:
        return None
    frame = table.frame.rename({name: name.lower() for name in table.frame.columns if name.lower() in _KNOWN_COLUMNS})
    if not len(table) or any(name not in frame.columns for name in _REQUIRED):
        return None
    reader = _LabelReader(path, frame.columns, None)
    files = frame["file"].to_list()
    codes: dict[str, Codes] = {}
    looks_up: dict[str, Callable[[str], int]] = {
        "age": lambda text: reader.age(0, text.strip()),
        "gender": lambda text: reader.named(0, "gender", text.strip(), _GENDER_NAMES, GENDERS),
        "race": lambda text: reader.named(0, "race", text.strip(), _RACE_NAMES, None),
        "service_test": lambda text: int(reader.boolean(0, text.strip())),
    }
    try:
        for name in (name for name in looks_up if name in frame.columns):
            values = frame[name]
            meaning = {value: looks_up[name](value) for value in values.unique().to_list()}
            codes[name] = values.replace_strict(meaning, return_dtype=pl.Int8).to_numpy()
    except (DataError, AttributeError):
        return None
    if any(not file or file != file.strip() for file in files) or len(set(files)) < len(files):
        return None
    service = codes["service_test"].astype(np.bool_) if "service_test" in codes else None
    chosen = np.arange(len(files), dtype=np.intp)
    faces = Faces(tuple(files), codes["gender"], codes["race"], codes["age"], service, chosen)
    return faces, ((REPAIRED,) if reader.repaired else ()), table.fact


def repair_age(text: str) -> str | None:
    """The age bin that a spreadsheet turned into a date; None when the text is no such date.

    >>> repair_age("03-Sep"), repair_age("19-Oct"), repair_age("3-9")
    ('3-9', '10-19', None)
    """
    for pattern, age in _SPREADSHEET:
        if pattern.fullmatch(text.strip()):
            return age
    return None


def balance(faces: Faces) -> tuple[tuple[str, int, int, int, float | None], ...]:
    """Per age bin: faces, smallest and largest race × gender cell, and their ratio (None with an empty cell).

    The `service_test` rows are meant to be balanced in this sense; gaps between
    groups are then not confounded with age.
    """
    found = []
    cells = len(RACES) * len(GENDERS)
    for code, name in enumerate(AGE_BINS):
        rows = faces.chosen[faces.age[faces.chosen] == code]
        # Southeast and East Asian are two cells of the label file, so the seven races are counted.
        cell = faces.fine_race[rows].astype(int) * len(GENDERS) + faces.gender[rows]
        counts = np.bincount(cell, minlength=cells + len(GENDERS))
        low, high = int(counts.min()), int(counts.max())
        found.append((name, len(rows), low, high, high / low if low else None))
    return tuple(found)


class _LabelReader:
    """Collects rows, and refuses the first that can't be used."""

    def __init__(self, path: Path, header: Sequence[str], order: Sequence[str] | None) -> None:
        self.path = path
        self.order = order
        self.at = {name: header.index(name) for name in (*_REQUIRED, "service_test") if name in header}
        self.files: dict[str, int] = {}
        self.codes: dict[str, list[int]] = {"age": [], "gender": [], "race": []}
        self.service: list[bool] = []
        self.repaired = 0
        self.image = ""  # of the row that is read

    def take(self, row: int, cells: Sequence[str]) -> None:
        values = {name: cells[at].strip() if at < len(cells) else "" for name, at in self.at.items()}
        self.image = values["file"]
        for name in _REQUIRED:
            if not values[name]:
                raise self.problem(
                    row, name, "", "an empty cell", "Every image has a file, an age, a gender and a race."
                )
        file = values["file"]
        if file in self.files:
            raise self.problem(
                row, "file", file, f"a repeated file (first in row {self.files[file]})", "Files are unique keys."
            )
        self.files[file] = row
        self.codes["age"].append(self.age(row, values["age"]))
        self.codes["gender"].append(self.named(row, "gender", values["gender"], _GENDER_NAMES, GENDERS))
        self.codes["race"].append(self.named(row, "race", values["race"], _RACE_NAMES, self.order))
        if "service_test" in self.at:
            self.service.append(self.boolean(row, values["service_test"]))

    def age(self, row: int, text: str) -> int:
        plain = _DASHES.sub("-", text).casefold()
        if plain in _AGE_NAMES:
            return _AGE_NAMES[plain]
        if plain in _LAST_BIN:
            return len(AGE_BINS) - 1
        if repaired := repair_age(plain):
            self.repaired += 1
            return AGE_BINS.index(repaired)
        if _INTEGER.fullmatch(text):
            return self.integer(row, "age", text, AGE_BINS if self.order else None)
        raise self.problem(row, "age", text, "an unknown age", f"Ages are {', '.join(AGE_BINS[:-1])}, more than 70.")

    def named(self, row: int, column: str, text: str, names: Mapping[str, int], order: Sequence[str] | None) -> int:
        code = names.get(text.casefold().replace("_", " "))
        if code is not None:
            return code
        if _INTEGER.fullmatch(text):
            meaning = order if self.order else None
            code = self.integer(row, column, text, meaning)
            return FINE_RACES.index(order[code]) if column == "race" and order else code
        expected = GENDERS if column == "gender" else FINE_RACES
        raise self.problem(row, column, text, f"an unknown {column}", f"Expected one of {', '.join(expected)}.")

    def integer(self, row: int, column: str, text: str, meaning: Sequence[str] | None) -> int:
        if meaning is None:
            raise self.problem(
                row,
                column,
                text,
                "an integer",
                "Codes are ambiguous: the dataset hub's export and the original script order the races differently. "
                "Say which with --set label_order=hub, label_order=script, or the seven names in order.",
            )
        code = int(float(text))
        if not 0 <= code < len(meaning):
            raise self.problem(
                row, column, text, "a code outside the order", f"Codes run from 0 to {len(meaning) - 1}."
            )
        return code

    def boolean(self, row: int, text: str) -> bool:
        word = text.casefold()
        if word in _TRUE or word in _FALSE:
            return word in _TRUE
        raise self.problem(row, "service_test", text, "neither True nor False", "Write True or False.")

    def problem(self, row: int, column: str, value: str, found: str, advice: str) -> DataError:
        image = f" (image {self.image})" if self.image and column != "file" else ""
        return DataError(f"{self.path}, row {row}{image}, column {column}: {found} ({value!r}). {advice}")

    def faces(self) -> Faces:
        return Faces(
            tuple(self.files),
            np.array(self.codes["gender"], dtype=np.int8),
            np.array(self.codes["race"], dtype=np.int8),
            np.array(self.codes["age"], dtype=np.int8),
            np.array(self.service, dtype=np.bool_) if "service_test" in self.at else None,
            np.arange(len(self.files), dtype=np.intp),
        )


_GENDER_NAMES: Final = {name.casefold(): code for code, name in enumerate(GENDERS)}
_RACE_NAMES: Final = {name.casefold().replace("_", " "): code for code, name in enumerate(FINE_RACES)}
_AGE_NAMES: Final = {name: code for code, name in enumerate(AGE_BINS)}


def _absent_classes(faces: Faces) -> Iterable[str]:
    for codes, names in ((faces.gender, GENDERS), (faces.race, RACES), (faces.age, AGE_BINS)):
        seen = set(codes[faces.chosen].tolist())
        for code, name in enumerate(names):
            if code not in seen:
                yield f"no image of class {name} is evaluated; in macro averages over the declared classes it counts 0"
