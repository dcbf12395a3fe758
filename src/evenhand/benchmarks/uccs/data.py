"""The challenge's data folder: annotated faces, the gallery, the exclusion list.

Images keep the order of their first appearance and faces the order of their rows, because the
protocol breaks ties by it. A face with a subject id of 0 or less is of somebody unknown.

The exclusion list names probe faces that were cut out as gallery pictures. They take part in the
assignment, but a detection on one of them counts neither way. The published evaluation lowers its
denominators by the *length of the list*, whatever the ids are; `Exclusion` keeps that length
beside the ids.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, check_targets
from evenhand.core.errors import DataError, OptionError
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array
from evenhand.core.task import Dataset, InputFact, Sample
from evenhand.files.delimited import CellKind, Issue, raise_first, read_header, read_table
from evenhand.files.inputs import read
from evenhand.geometry.box_forms import are_shares

FACE_COLUMNS = ("FILE", "FACE_ID", "SUBJECT_ID", "FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")
LANDMARK_COLUMNS = tuple(f"{part}_{axis}" for part in ("REYE", "LEYE", "NOSE", "RMOUTH", "LMOUTH") for axis in "XY")
FACE_KINDS = dict.fromkeys(FACE_COLUMNS, CellKind.NUMBER) | {
    "FILE": CellKind.TEXT,
    "FACE_ID": CellKind.INTEGER,
    "SUBJECT_ID": CellKind.INTEGER,
}
GALLERY_COLUMNS = ("FILE", "SUBJECT_ID", *LANDMARK_COLUMNS)
PREFIX = "S_"  # of a subject's column of similarities
MOST_LEVELS = 50  # a column with more distinct values is no attribute


@dataclass(frozen=True)
class Exclusion:
    """Face ids that must not count."""

    ids: Array  # (list,): as listed, repeated ones too
    fact: InputFact | None = None

    def __len__(self) -> int:
        return len(self.ids)


NO_EXCLUSION = Exclusion(np.zeros(0, dtype=np.int64))


@dataclass(frozen=True)
class ExtraColumn:
    """What faces can be grouped by: one level per face, or none where the field is empty."""

    levels: tuple[str, ...]
    of_face: Array  # (faces,): index of the level, `len(levels)` where empty
    of_image: Array | None  # (images,): the same when all faces of an image agree; else None


@dataclass(frozen=True)
class WatchlistFaces:
    """Annotated faces, sorted by image; all arrays have one entry per face."""

    images: tuple[str, ...]  # names with extension, in the order of first appearance
    image: Array  # index into images, ascending
    boxes_xywh: Array  # (faces, 4) double precision
    subject: Array
    face_id: Array
    exclusion: Exclusion = NO_EXCLUSION
    extra: Mapping[str, ExtraColumn] = field(default_factory=dict)
    unclear_columns: tuple[str, ...] = ()  # whose names differ in case alone: nothing is grouped by them
    gallery: tuple[int, ...] | None = None  # the subjects of the watchlist, where it is known
    gallery_table: InputFact | None = None

    def __len__(self) -> int:
        return len(self.image)

    @property
    def is_known(self) -> Array:
        """Whether a face is of somebody on the watchlist."""
        return self.subject > 0

    @property
    def is_excluded(self) -> Array:
        """Whether a face is on the exclusion list."""
        return np.isin(self.face_id, self.exclusion.ids)


class GalleryPicture(NamedTuple):
    """One picture of a watchlist subject."""

    file: str
    subject: int
    landmarks: Array  # (5, 2): right eye, left eye, nose, right and left mouth corner


def load(data: Path, options: WatchlistDetectionOptions) -> Dataset[WatchlistFaces]:
    """A set of the data folder; without annotations its images can be looked at, but not evaluated."""
    if not 0 < options.iou <= 1:
        raise OptionError(f"iou is {options.iou:g}; an overlap limit lies above 0 and at most at 1, usually 0.5.")
    check_targets(options.targets)
    data = Path(data)
    if data.is_file():
        raise DataError(f"{data} is a file; name the folder that holds {options.which_set}.csv.")
    table, pictures = data / f"{options.which_set}.csv", data / f"{options.which_set}_images"
    inputs: list[InputFact] = []
    warnings: list[str] = []
    if _is_annotated(table):
        exclusion = _exclusion(data, options, warnings)
        faces, fact = read_faces(table, exclusion)
        if not len(faces):
            raise DataError(f"{table} has a header but no row: no face, no image, and so nothing to evaluate.")
        inputs += [fact, *([exclusion.fact] if exclusion.fact else [])]
    elif table.exists() or pictures.is_dir():
        names, listed = list_images(table, pictures)
        faces = unannotated(names)
        inputs += [listed] if listed else []
        warnings.append(f"{options.which_set} has no annotated faces here: it can be predicted, not evaluated.")
    else:
        raise DataError(
            f"{table} does not exist, nor the folder {pictures.name} beside it. "
            "Name the folder of the challenge's data, and the set with which_set."
        )
    gallery_table, given = data / "gallery.csv", {}
    if gallery_table.exists():
        subjects, fact = read_subjects(gallery_table)
        faces = replace(faces, gallery=subjects, gallery_table=fact)
        given = {"gallery": str(gallery_table)}
    samples = tuple(Sample(name, (pictures / name,), given) for name in faces.images)
    levels = {name: column.levels for name, column in faces.extra.items()}
    known = int(faces.is_known.sum())
    facts = {
        "images": len(faces.images),
        "faces": len(faces),
        "known faces": known,
        "unknown faces": len(faces) - known,
        "exclusion list": len(faces.exclusion),
    }
    if faces.gallery is not None:
        facts["gallery subjects"] = len(faces.gallery)
    messages = (*exclusion_warnings(faces), *annotation_warnings(faces), *warnings)
    return Dataset("UCCS watchlist", samples, faces, levels, tuple(inputs), messages, facts)


def read_faces(path: Path, exclusion: Exclusion = NO_EXCLUSION) -> tuple[WatchlistFaces, InputFact]:
    """The annotated faces of `validation.csv` or `test.csv`.

    Columns beyond the official ones become attributes when they have at most 50 distinct values, under their name in
    lower case; of those whose names differ in case alone none does.
    """
    table = read_table(path, FACE_KINDS, other=CellKind.CELL)
    frame = table.frame
    first_seen: dict[str, int] = {}
    image = np.array([first_seen.setdefault(name, len(first_seen)) for name in frame["FILE"].to_list()], dtype=np.intp)
    boxes = frame.select(FACE_COLUMNS[3:]).to_numpy().reshape(-1, 4)
    raise_first(box_issues(boxes, table.lines, "FACE"), path, DataError)
    order = np.argsort(image, kind="stable")
    faces = WatchlistFaces(
        images=tuple(first_seen),
        image=image[order],
        boxes_xywh=boxes[order],
        subject=frame["SUBJECT_ID"].to_numpy()[order],
        face_id=frame["FACE_ID"].to_numpy()[order],
        exclusion=exclusion,
    )
    others = {name: frame[name] for name in table.header.names if name not in FACE_COLUMNS and name}
    columns = _extra_columns(others, order, image[order], len(first_seen))
    repeated = Counter(name.lower() for name in columns)
    extra = {name.lower(): column for name, column in columns.items() if repeated[name.lower()] == 1}
    unclear = tuple(name for name in columns if name.lower() not in extra)
    faces = replace(faces, extra=_own_columns(faces) | extra, unclear_columns=unclear)
    return faces, table.fact


def plain_name(name: str) -> str:
    """The name of an image without blanks around it, its accents written in one form (NFC).

    >>> plain_name(" a01.jpg ")
    'a01.jpg'
    """
    name = name.strip()
    return name if name.isascii() else unicodedata.normalize("NFC", name)


def read_exclusion(path: Path) -> Exclusion:
    """The face ids of an exclusion list: one whole number per line, blank lines skipped.

    A list from the first release (`.pickle`) is read by a loader that builds plain values only.
    """
    path = Path(path)
    source = read(path, allow_empty=True)
    entries: Iterable[tuple[str, Any]]
    expected, unordered = "The list has one whole number per line, without a header.", False
    if path.suffix in (".pickle", ".pkl"):
        from evenhand.files.pickles import load_plain

        value = load_plain(path, data=source.data)
        single = isinstance(value, np.ndarray) and not value.ndim
        if single or not isinstance(value, list | tuple | set | frozenset | np.ndarray):
            raise DataError(f"{path} holds a {type(value).__name__}; an exclusion list is a list of face ids.")
        unordered = isinstance(value, set | frozenset)
        entries = (("", face) for face in (sorted(value, key=str) if unordered else value))
        expected = "Every entry of a pickled list is a whole number."
    else:
        lines = enumerate(source.text().split("\n"), 1)
        entries = ((f", line {number}", line.strip()) for number, line in lines if line.strip())
    ids: list[np.int64] = []
    for where, entry in entries:
        try:
            if isinstance(entry, str) and not re.fullmatch(r"[+-]?[0-9]+", entry):
                raise ValueError(entry)
            ids.append(np.int64(int(entry)))
        except OverflowError:
            raise DataError(f"{path}: the face id {entry} is beyond the whole numbers of 64 bits.") from None
        except (TypeError, ValueError):
            raise DataError(f"{path}{where}: {str(entry)[:40]!r} is no face id. {expected}") from None
    if unordered:
        ids.sort()
    return Exclusion(np.array(ids, dtype=np.int64), source.fact)


def read_gallery(path: Path) -> tuple[tuple[GalleryPicture, ...], InputFact]:
    """The gallery pictures of `gallery.csv`, in the order of the file."""
    kinds = dict.fromkeys(GALLERY_COLUMNS, CellKind.NUMBER) | {"FILE": CellKind.TEXT, "SUBJECT_ID": CellKind.INTEGER}
    table = read_table(path, kinds)
    landmarks = table.frame.select(LANDMARK_COLUMNS).to_numpy().reshape(-1, 5, 2)
    files, subjects = table.frame["FILE"].to_list(), table.frame["SUBJECT_ID"].to_list()
    raise_first(_subject_issues(subjects, table.lines), path, DataError)
    return tuple(map(GalleryPicture, files, subjects, landmarks)), table.fact


def read_subjects(path: Path) -> tuple[tuple[int, ...], InputFact]:
    """The distinct subject ids of `gallery.csv`, in the text order of their four-digit names."""
    table = read_table(path, {"SUBJECT_ID": CellKind.INTEGER})
    subjects = table.frame["SUBJECT_ID"].to_list()
    raise_first(_subject_issues(subjects, table.lines), path, DataError)
    if not subjects:
        raise DataError(f"{path} has a header but no row: there is nobody on the watchlist.")
    return tuple(sorted(set(subjects), key=subject_name)), table.fact


def _subject_issues(subjects: Sequence[int], lines: Array) -> list[Issue]:
    return [
        Issue(int(line), f"SUBJECT_ID is {subject}; watchlist subjects are numbered from 1")
        for line, subject in zip(lines, subjects, strict=True)
        if subject < 1
    ]


def subject_name(subject: int) -> str:
    """A subject's name in stores and headers: four digits.

    >>> subject_name(7)
    '0007'
    """
    return f"{subject:04d}"


def shown_subjects(subjects: Sequence[int]) -> str:
    """The first columns of subjects, for messages.

    >>> shown_subjects([7])
    'S_0007'
    """
    return ", ".join(PREFIX + subject_name(subject) for subject in subjects[:5]) + (", …" if len(subjects) > 5 else "")


def list_images(path: Path, pictures: Path) -> tuple[tuple[str, ...], InputFact | None]:
    """The images of a set, sorted by name: the distinct `FILE`s of its table, or else the folder's content.

    Only `FILE` is needed: a test set comes without annotations, or without any table.
    """
    if path.exists():
        table = read_table(path, {"FILE": CellKind.TEXT})
        return tuple(sorted(set(table.frame["FILE"].to_list()), key=str.encode)), table.fact
    if not pictures.is_dir():
        raise DataError(f"Neither {path} nor the folder {pictures} exists, so there is no image to look at.")
    names = [entry.name for entry in pictures.iterdir() if entry.suffix.lower() in _PICTURES and entry.is_file()]
    if not names:
        raise DataError(f"The folder {pictures} has no picture ({', '.join(sorted(_PICTURES))}).")
    return tuple(sorted(names, key=str.encode)), None


_PICTURES = {".jpg", ".jpeg", ".png", ".bmp", ".webp", ".tif", ".tiff"}


def box_issues(boxes_xywh: Array, lines: Array, what: str) -> list[Issue]:
    """Boxes with a negative extent or beyond single precision, with their lines."""
    negative = np.asarray((boxes_xywh[:, 2:] < 0).any(axis=1))
    huge = np.asarray((np.abs(boxes_xywh) > 1e18).any(axis=1))  # squares must stay finite in single precision
    issues = []
    for row in np.flatnonzero(negative | huge):
        x, y, width, height = boxes_xywh[row].tolist()
        if negative[row]:
            message = f"{what}_WIDTH {width:g} and {what}_HEIGHT {height:g}: a box can't be smaller than nothing"
        else:
            message = f"the box {x:g}, {y:g}, {width:g}, {height:g} is beyond any picture"
        issues.append(Issue(int(lines[row]), message))
    return issues


def unannotated(images: Sequence[str]) -> WatchlistFaces:
    """Images of which no face is annotated: they can be looked at, not evaluated."""
    none = np.zeros(0, dtype=np.int64)
    return WatchlistFaces(tuple(images), none.astype(np.intp), np.zeros((0, 4)), none, none)


def exclusion_warnings(faces: WatchlistFaces) -> tuple[str, ...]:
    """What is odd about the exclusion list; the published denominators subtract its length all the same."""
    ids = faces.exclusion.ids
    if not len(ids):
        return ()
    warnings = []
    distinct = np.unique(ids)
    if len(distinct) < len(ids):
        warnings.append(f"The exclusion list repeats {len(ids) - len(distinct)} ids; each is subtracted every time.")
    absent = distinct[~np.isin(distinct, faces.face_id)]
    if len(absent):
        shown = ", ".join(str(face) for face in absent[:5].tolist()) + (", …" if len(absent) > 5 else "")
        warnings.append(
            f"The exclusion list names {len(absent)} faces that are not annotated ({shown}); "
            "the published evaluation subtracts them from the number of faces, and so do we."
        )
    strangers = int((faces.is_excluded & ~faces.is_known).sum())
    if strangers:
        warnings.append(
            f"{strangers} excluded faces are of unknown people; the published evaluation subtracts them "
            "from the number of known faces, and so do we."
        )
    return tuple(warnings)


def annotation_warnings(faces: WatchlistFaces) -> tuple[str, ...]:
    """What is odd about the annotated faces: a face or an id twice, boxes that nothing can overlap."""
    warnings = []
    images, ids = faces.image.tolist(), faces.face_id.tolist()
    same_box = Counter(zip(images, map(tuple, faces.boxes_xywh.tolist()), strict=True))
    repeated_ids = Counter(ids)
    again = sum(same_box.values()) - len(same_box)
    if again:
        image = faces.images[next(key for key, count in same_box.items() if count > 1)[0]]
        warnings.append(
            f"{again} annotated faces have the image and the box of an earlier one, such as one in {image}, and can "
            "hardly be found twice. Is a row there twice?"
        )
    shared = [face for face, count in repeated_ids.items() if count > 1]
    if shared:
        excluded = int(np.isin(shared, faces.exclusion.ids).sum())
        more = f" {excluded} of them are excluded, and then all faces of that id are." if excluded else ""
        warnings.append(
            f"{len(shared)} FACE_IDs belong to more than one face, such as {shared[0]}. An id names one face of the "
            f"whole set.{more}"
        )
    flat = int((faces.boxes_xywh[:, 2:] == 0).any(axis=1).sum())
    if flat:
        warnings.append(f"{flat} annotated faces have a width or a height of 0: no detection can overlap them.")
    if len(faces) and are_shares(faces.boxes_xywh):
        warnings.append("The annotated boxes look like shares of the picture from 0 to 1; pixels are expected.")
    folded = [plain_name(name).casefold() for name in faces.images]
    counts = Counter(folded)
    if len(counts) < len(folded):
        alike = next(name for name in folded if counts[name] > 1)
        first, second = [image for image, name in zip(faces.images, folded, strict=True) if name == alike][:2]
        warnings.append(
            f"{first!r} and {second!r} are different images: names differ in upper and lower case, in blanks around "
            "them or in how accents are written."
        )
    if faces.unclear_columns:
        warnings.append(
            f"The columns {', '.join(map(repr, faces.unclear_columns))} differ in upper and lower case alone, and "
            "nothing is grouped by them. Give one of two another name."
        )
    return tuple(warnings)


def _exclusion(data: Path, options: WatchlistDetectionOptions, warnings: list[str]) -> Exclusion:
    if options.exclude.casefold() in ("none", "null", ""):
        return NO_EXCLUSION
    if options.exclude != "auto":
        path = Path(options.exclude)
        first_release = path.with_suffix(".pickle")
        return read_exclusion(first_release if not path.exists() and first_release.exists() else path)
    for suffix in (".txt", ".pickle"):
        path = data / f"exclude_gallery_{options.which_set}{suffix}"
        if path.exists():
            return read_exclusion(path)
    warnings.append(f"There is no exclude_gallery_{options.which_set}.txt: every face counts, also gallery pictures.")
    return NO_EXCLUSION


def _is_annotated(table: Path) -> bool:
    """Whether a table has more than image names."""
    if not table.exists():
        return False
    return any(name in FACE_COLUMNS[1:] for name in read_header(table).names)


SIZES = ("below 50 px", "50-99 px", "100-199 px", "200 px and more")


def _own_columns(faces: WatchlistFaces) -> dict[str, ExtraColumn]:
    """What every table tells about its faces: whether they are on the watchlist, and how high they are."""
    height = np.digitize(faces.boxes_xywh[:, 3], (50, 100, 200))
    listed = np.where(faces.is_known, 0, 1)
    return {
        "listed": ExtraColumn(("listed", "unknown"), listed, None),
        "face_height": ExtraColumn(SIZES, height, None),
    }


def _extra_columns(others: Mapping[str, pl.Series], order: Array, image: Array, images: int) -> dict[str, ExtraColumn]:
    """The further columns that faces can be grouped by, by their name in the header."""
    columns = {}
    for name, column in others.items():
        cells = column.str.strip_chars()
        if cells.n_unique() > MOST_LEVELS + 1:
            continue
        values = cells[order].to_list()
        levels = tuple(sorted(set(values) - {""}))
        if not 0 < len(levels) <= MOST_LEVELS:
            continue
        codes = {level: code for code, level in enumerate(levels)} | {"": len(levels)}
        of_face = np.array([codes[value] for value in values], dtype=np.int64)
        of_image = np.full(images, len(levels), dtype=np.int64)
        of_image[image] = of_face
        agree = bool((of_image[image] == of_face).all())
        columns[name] = ExtraColumn(levels, of_face, of_image if agree else None)
    return columns
