"""FairFace label files: read in every form in which they are about, or refused with the reason.

Nothing is dropped and no label is edited. What spreadsheets do to the age bins of
this very file (`3-9` becomes `03-Sep`) is undone, with a warning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.prompts import prompt_of, schema_of
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, CLASSES, COARSE_OF, FINE_RACES, GENDERS, RACES
from evenhand.core.errors import DataError, InputError, OptionError
from evenhand.core.optional import polars as pl
from evenhand.core.task import Dataset, InputFact, LazySamples, Sample
from evenhand.files.delimited import read_header, read_records, read_table, shown_names

REPAIRED: Final = "spreadsheet_dates_repaired"

HUB_ORDER: Final = ("East Asian", "Indian", "Black", "White", "Middle Eastern", "Latino_Hispanic", "Southeast Asian")

Codes = NDArray[np.int8]

_REQUIRED: Final = ("file", "age", "gender", "race")
_DASHES: Final = re.compile("[\u2010-\u2015\u2043\u2212\ufe58\ufe63\uff0d]")
_SPREADSHEET: Final = (
    (re.compile(r"0?3-sep|0?9-mar|sep-0?3|mar-0?9", re.IGNORECASE), "3-9"),
    (re.compile(r"oct-19|19-oct", re.IGNORECASE), "10-19"),
)
_LAST_BIN: Final = frozenset({"70+", "more than 70", ">70", "> 70", "70 or more", "70 +"})
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
    files = [faces.files[row] for row in faces.chosen.tolist()]
    return Dataset(
        version=f"FairFace {label_file.name} ({len(faces.files)} labels, BLAKE3 {source.hash[:12]})",
        samples=LazySamples(len(files), partial(_sample, root, files, given, {})),
        truth=faces,
        levels=dict(CLASSES),
        inputs=(source,),
        warnings=(*warnings, *_absent_classes(faces)),
        facts={
            "label_file": label_file.name,
            "label_hash": source.hash,
            "labels": len(faces.files),
            "evaluated": len(faces.chosen),
            "subset": options.subset,
            "service_test": "absent" if faces.service_test is None else int(faces.service_test.sum()),
        },
    )


def _sample(root: Path, files: Sequence[str], given: Mapping[str, Any], is_there: dict[str, bool], at: int) -> Sample:
    """An image, without its picture where the folder is not there; `is_there` remembers folders."""
    file = files[at]
    folder = file.rpartition("/")[0]
    if folder not in is_there:
        is_there[folder] = (root / folder).is_dir()
    return Sample(file, (root / file,) if is_there[folder] else (), given)


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
        return HUB_ORDER if text == "hub" else FINE_RACES
    names = tuple(name.strip() for name in text.split(","))
    if sorted(names) != sorted(FINE_RACES):
        raise OptionError(
            f"Option 'label_order' can't be {text!r}: it takes hub, script, or the seven races in the order "
            f"of their codes, separated by commas ({', '.join(FINE_RACES)})."
        )
    return names


def read_labels(path: Path, order: Sequence[str] | None = None) -> tuple[Faces, tuple[str, ...], InputFact]:
    """The labels of a file, warnings, and what the file was.

    `order` is the meaning of integer race codes; without it integers are refused. Each distinct value of a column is
    looked at once; of all the cells that can't be used, the first is named.
    """
    columns, rows, fact = _columns(path)
    files = [file.strip() for file in columns.pop("file").to_list()]
    wrong: list[tuple[int, bool, int, str, str, _Problem]] = []  # row, not empty, order of the column, its name, value
    codes: dict[str, Codes] = {}
    repaired = False
    for place, (name, values) in enumerate(columns.items(), start=1):
        meanings = {text: _meaning(name, text.strip(), order) for text in values.unique().to_list()}
        problems = {text: meaning for text, meaning in meanings.items() if isinstance(meaning, _Problem)}
        if problems:
            at, text = next((at, text) for at, text in enumerate(values.to_list()) if text in problems)
            wrong.append((at, problems[text] is not _EMPTY, place, name, text.strip(), problems[text]))
        else:
            codes[name] = values.replace_strict(meanings, return_dtype=pl.Int8).to_numpy()
        repaired = repaired or (name == "age" and any(map(repair_age, meanings)))
    if "" in files:
        wrong.append((files.index(""), False, 0, "file", "", _EMPTY))
    if len(set(files)) < len(files):
        first_rows: dict[str, int] = {}
        at = next(at for at, file in enumerate(files) if first_rows.setdefault(file, at) < at)
        repeated = f"a repeated file (first in row {rows[first_rows[files[at]]]})"
        wrong.append((at, True, 0, "file", files[at], _Problem(repeated, "Files are unique keys.")))
    if wrong:
        at, _, _, name, value, problem = min(wrong)
        image = f" (image {files[at]})" if files[at] and name != "file" else ""
        raise DataError(f"{path}, row {rows[at]}{image}, column {name}: {problem.found} ({value!r}). {problem.advice}")
    service = codes["service_test"].astype(np.bool_) if "service_test" in codes else None
    faces = Faces(tuple(files), codes["gender"], codes["race"], codes["age"], service, np.arange(len(files)))
    return faces, ((REPAIRED,) if repaired else ()), fact


def _columns(path: Path) -> tuple[dict[str, pl.Series], Sequence[int], InputFact]:
    """The columns of a label file, the line of each row, and what the file was; rows may have any number of cells."""
    try:
        table = read_table(path, None, DataError)
    except InputError:
        places = _places(path, read_header(path, DataError).names)
        (_, *records), fact = read_records(path, DataError)
        lines = [line for line, _ in records]
        columns = {
            name: pl.Series([cells[at] if at < len(cells) else "" for _, cells in records], dtype=pl.String)
            for name, at in places.items()
        }
    else:
        columns = {name: table.frame.to_series(at) for name, at in _places(path, table.header.names).items()}
        lines, fact = table.lines.tolist(), table.fact
    if not lines:
        raise DataError(f"{path} has a header but no rows. It should have one row per image.")
    return columns, lines, fact


def _places(path: Path, names: Sequence[str]) -> dict[str, int]:
    header = [name.lower() for name in names]
    lacking = [name for name in _REQUIRED if name not in header]
    if lacking:
        raise DataError(
            f"{path}, row 1: no column {', '.join(lacking)}; found {shown_names(header) or 'nothing'}. "
            "A FairFace label file has the header file,age,gender,race,service_test."
        )
    columns = [name for name in (*_REQUIRED, "service_test") if name in header]
    repeated = [name for name in columns if header.count(name) > 1]
    if repeated:
        raise DataError(f"{path}, row 1: the column {repeated[0]} is there twice. Leave one out.")
    return {name: header.index(name) for name in columns}


class _Problem(NamedTuple):
    """What is wrong with a cell, and what to do about it."""

    found: str
    advice: str


_EMPTY: Final = _Problem("an empty cell", "Every image has a file, an age, a gender and a race.")
_AMBIGUOUS: Final = _Problem(
    "an integer",
    "Codes are ambiguous: the dataset hub's export and the original script order the races differently. "
    "Say which with --set label_order=hub, label_order=script, or the seven names in order.",
)


def _meaning(column: str, text: str, order: Sequence[str] | None) -> int | _Problem:
    """The code of a cell's class, or what is wrong with it."""
    plain = (repair_age(text) or _DASHES.sub("-", text)) if column == "age" else text.replace("_", " ")
    code = _CODES[column].get(plain.casefold())
    if code is not None:
        return code
    if column == "service_test":
        return _Problem("neither True nor False", "Write True or False.")
    if not text:
        return _EMPTY
    if _INTEGER.fullmatch(text):
        if order is None:
            return _AMBIGUOUS
        names = {"age": AGE_BINS, "gender": GENDERS, "race": order}[column]
        code = int(text.partition(".")[0])
        if not 0 <= code < len(names):
            return _Problem("a code outside the order", f"Codes run from 0 to {len(names) - 1}.")
        return FINE_RACES.index(names[code]) if column == "race" else code
    if column == "age":
        return _Problem("an unknown age", f"Ages are {', '.join(AGE_BINS[:-1])}, more than 70.")
    expected = GENDERS if column == "gender" else FINE_RACES
    return _Problem(f"an unknown {column}", f"Expected one of {', '.join(expected)}.")


def repair_age(text: str) -> str | None:
    """The age bin that a spreadsheet turned into a date; None when the text is no such date.

    >>> repair_age("03-Sep"), repair_age("19-Oct"), repair_age("3-9")
    ('3-9', '10-19', None)
    """
    plain = _DASHES.sub("-", text.strip())
    return next((age for pattern, age in _SPREADSHEET if pattern.fullmatch(plain)), None)


def balance(faces: Faces) -> tuple[tuple[str, int, int, int, float | None], ...]:
    """Per age bin: faces, smallest and largest race × gender cell, and their ratio (None with an empty cell).

    The `service_test` rows are meant to be balanced in this sense; gaps between
    groups are then not confounded with age.
    """
    ages = []
    for code, name in enumerate(AGE_BINS):
        rows = faces.chosen[faces.age[faces.chosen] == code]
        # Southeast and East Asian are two cells of the label file, so the seven races are counted.
        cell = faces.fine_race[rows].astype(int) * len(GENDERS) + faces.gender[rows]
        counts = np.bincount(cell, minlength=len(FINE_RACES) * len(GENDERS))
        low, high = int(counts.min()), int(counts.max())
        ages.append((name, len(rows), low, high, high / low if low else None))
    return tuple(ages)


_CODES: Final[Mapping[str, Mapping[str, int]]] = {
    "age": {name: code for code, name in enumerate(AGE_BINS)} | dict.fromkeys(_LAST_BIN, len(AGE_BINS) - 1),
    "gender": {name.casefold(): code for code, name in enumerate(GENDERS)},
    "race": {name.casefold().replace("_", " "): code for code, name in enumerate(FINE_RACES)},
    "service_test": {"true": 1, "1": 1, "yes": 1, "false": 0, "0": 0, "no": 0},
}


def _absent_classes(faces: Faces) -> Iterable[str]:
    for attribute, names in CLASSES.items():
        seen = set(getattr(faces, attribute)[faces.chosen].tolist())
        for code, name in enumerate(names):
            if code not in seen:
                yield f"no image of class {name} is evaluated; in macro averages over the declared classes it counts 0"
