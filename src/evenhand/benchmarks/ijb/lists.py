"""The community's list files, and the way between them and the official ones.

Three files, separated by blanks, without headers: which image is in which template and
medium, five landmarks and a detector score per image, and labelled pairs of templates. The
same face stands once per template that it belongs to; rows follow gallery 1, gallery 2 and
the mixed probes in file order.

List files name no subjects. Genuine pairs join templates of one person, so people are the
connected components of the genuine pairs.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.files import read_whole_numbers
from evenhand.benchmarks.ijb.templates import LANDMARKS, FacePlaces, ProtocolFaces, TemplateSet, template_places
from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.core.sparse import connected_components
from evenhand.core.task import InputFact
from evenhand.files.inputs import read
from evenhand.files.writing import make_folder, open_file, write_file


@dataclass(frozen=True)
class FaceList:
    """The rows of `*_face_tid_mid.txt` and `*_name_5pts_score.txt`."""

    name: NDArray[np.object_]
    template: NDArray[np.int64]
    medium: NDArray[np.int64]
    landmarks: NDArray[np.float64] | None  # (rows, 10)
    score: NDArray[np.float64] | None  # the detector's
    inputs: tuple[InputFact, ...]

    def __len__(self) -> int:
        return len(self.template)


@dataclass(frozen=True)
class PairList:
    """The rows of `*_template_pair_label.txt`."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]
    same: NDArray[np.bool_]
    fact: InputFact


def read_face_list(faces: Path, landmarks: Path | None) -> FaceList:
    """Templates, media and, where the second file is there, landmarks and detector scores, matched by image name."""
    (names, template, medium), fact = _columns(faces, 1, 3, "image, template id, media id")
    name = np.array(names, dtype=object)
    template, medium = (_whole(column, faces, number) for number, column in enumerate((template, medium), start=2))
    if landmarks is None:
        return FaceList(name, template, medium, None, None, (fact,))
    (others, *columns), other_fact = _columns(landmarks, 1, 12, "image, five landmarks, detector score")
    numbers = np.column_stack([_real(column, landmarks, place) for place, column in enumerate(columns, start=2)])
    other = np.array(others, dtype=object)
    if len(other) != len(name) or (other != name).any():
        numbers = numbers[_rows_by_name(name, other, numbers, faces, landmarks)]
    return FaceList(name, template, medium, numbers[:, :10], numbers[:, 10], (fact, other_fact))


def _rows_by_name(
    name: NDArray[np.object_], other: NDArray[np.object_], numbers: NDArray[np.float64], faces: Path, landmarks: Path
) -> NDArray[np.int64]:
    """The row of the second list for each image of the first: files in another order are joined by name."""
    rows: dict[str, int] = {}
    for row, image in enumerate(other.tolist()):
        first = rows.setdefault(image, row)
        if not np.array_equal(numbers[first], numbers[row]):
            raise DataError(
                f"{landmarks}, line {row + 1}: image {image!r} has other landmarks or another score than in line "
                f"{first + 1}, and the lines are not in the order of {faces}."
            )
    found = np.array([rows.get(image, -1) for image in name.tolist()], dtype=np.int64)
    lacking = np.flatnonzero(found < 0)
    if len(lacking):
        row = int(lacking[0])
        raise DataError(
            f"{faces}, line {row + 1}: image {name[row]!r} is not in {landmarks} ({len(lacking):,} such lines)."
        )
    return found


def read_pair_list(path: Path) -> PairList:
    """Labelled pairs of templates."""
    (first, second, label), fact = read_whole_numbers(path, 3, " ", DataError, "two template ids and a label 0 or 1")
    wrong = np.flatnonzero((label != 0) & (label != 1))
    if len(wrong):
        raise DataError(f"{path}, line {int(wrong[0]) + 1}: label {label[wrong[0]]} found, but 0 or 1 was expected.")
    return PairList(first, second, label == 1, fact)


def templates_of(listed: FaceList, pairs: PairList, where: Path, known: TemplateSet | None = None) -> TemplateSet:
    """The templates of list files; people are those of the `known` templates, or joined by the genuine pairs."""
    import polars as pl

    ids, position = np.unique(listed.template, return_inverse=True)
    places = []
    for column in (pairs.first, pairs.second):
        place = template_places(ids, column)
        unknown = np.flatnonzero(place < 0)
        if len(unknown):
            row = int(unknown[0])
            raise DataError(f"{pairs.fact.path}, line {row + 1}: template {column[row]} is not in {where}.")
        places.append(place)
    first, second = places
    person = _people(ids, first, second, pairs) if known is None else _known_people(ids, known, where)
    wrong = np.flatnonzero((person[first] == person[second]) != pairs.same)
    if len(wrong):
        row = int(wrong[0])
        label = "same" if pairs.same[row] else "different"
        reason = "other genuine pairs join them to one person" if known is None else "the galleries and probes disagree"
        raise DataError(
            f"{pairs.fact.path}, line {row + 1}: templates {pairs.first[row]} and {pairs.second[row]} are labelled "
            f"{label}, but {reason}."
        )
    landmarks = None if listed.landmarks is None else listed.landmarks[:, :6]
    faces = ProtocolFaces(
        listed.template,
        person[position.reshape(-1)].astype(np.int64),
        pl.Series(listed.name, dtype=pl.String),
        listed.medium,
        listed.medium,
        partial(FacePlaces.unknown, len(listed), landmarks),
    )
    return TemplateSet.of(faces, where)


def _people(ids: Array, first: Array, second: Array, pairs: PairList) -> Array:
    """(templates,): people as the connected components of the genuine pairs."""
    return connected_components(first[pairs.same], second[pairs.same], len(ids))


def _known_people(ids: Array, known: TemplateSet, where: Path) -> Array:
    """(templates,): the subjects of template files beside the lists."""
    place = template_places(known.ids, ids)
    unknown = np.flatnonzero(place < 0)
    if len(unknown):
        raise DataError(
            f"{where}: template {ids[unknown[0]]} is in none of the template files beside it ({len(unknown):,} such "
            "templates). Are the files of one release?"
        )
    return known.subject[place]


def write_lists(
    folder: Path,
    prefix: str,
    templates: TemplateSet,
    pairs: tuple[Array, Array, Array],
    scores: Array | None = None,
    face_index: Array | None = None,
) -> tuple[Path, ...]:
    """Write the list files of templates (in the order of their files) and labelled pairs.

    As in the community's release, rows are named by their number; a fourth file says which face
    each is. The official files have three landmarks; the corners of the mouth are put where the
    nose lies below the eyes once more, so that there are five points. Without detector `scores`
    every face has 1.
    """
    make_folder(folder)
    faces = templates.faces
    names = [f"{row}.jpg" for row in range(1, len(faces) + 1)]
    rows = zip(names, faces.template.tolist(), faces.medium.tolist(), strict=True)
    first = folder / f"{prefix}_face_tid_mid.txt"
    write_file(first, "".join(f"{name} {template} {medium}\n" for name, template, medium in rows))
    points = _five_points(faces.places.landmarks)
    weight = np.ones(len(faces)) if scores is None else np.asarray(scores)
    second = folder / f"{prefix}_name_5pts_score.txt"
    write_file(
        second,
        "".join(
            f"{name} {' '.join(f'{value:.3f}' for value in line)} {score}\n"
            for name, line, score in zip(names, points.tolist(), weight.tolist(), strict=True)
        ),
    )
    third = folder / f"{prefix}_template_pair_label.txt"
    label = np.asarray(pairs[2]).astype(np.int64)
    lines = zip(pairs[0].tolist(), pairs[1].tolist(), label.tolist(), strict=True)
    write_file(third, "".join(f"{one} {other} {same}\n" for one, other, same in lines))
    fourth = folder / "row_to_face_index.csv"
    with open_file(fourth) as file:
        writer = csv.writer(file, lineterminator="\n")
        known = ("FILENAME", "SUBJECT_ID", "SIGHTING_ID")
        writer.writerow(("ROW_NAME", *known) if face_index is None else ("ROW_NAME", "FACE_INDEX", *known))
        for row, (name, filename) in enumerate(zip(names, faces.filename, strict=True)):
            face = (filename, faces.subject[row], faces.sighting[row])
            writer.writerow((name, *face) if face_index is None else (name, face_index[row], *face))
    return first, second, third, fourth


def write_official(folder: Path, prefix: str, templates: TemplateSet, pairs: tuple[Array, Array]) -> tuple[Path, ...]:
    """Write the templates and the match list of list files as official CSVs.

    Boxes are not in list files and stay empty; subjects are numbered as the genuine pairs join them.
    """
    make_folder(folder)
    faces = templates.faces
    first = folder / f"{prefix}_11_templates.csv"
    with open_file(first) as file:
        writer = csv.writer(file, lineterminator="\n")
        box = ("FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")
        writer.writerow(("TEMPLATE_ID", "SUBJECT_ID", "FILENAME", "SIGHTING_ID", *box, *LANDMARKS))
        for row, name in enumerate(faces.filename):
            points = ["" if np.isnan(value) else f"{value:g}" for value in faces.places.landmarks[row]]
            writer.writerow((faces.template[row], faces.subject[row], name, faces.sighting[row], *("",) * 4, *points))
    second = folder / f"{prefix}_11_matches.csv"
    lines = zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)
    write_file(second, "".join(f"{one},{other}\n" for one, other in lines))
    return first, second


def _five_points(three: Array) -> NDArray[np.float64]:
    right, left, nose = three[:, 0:2], three[:, 2:4], three[:, 4:6]
    below = 2 * nose[:, 1] - (right[:, 1] + left[:, 1]) / 2
    mouth = np.column_stack([right[:, 0], below, left[:, 0], below])
    return np.asarray(np.nan_to_num(np.column_stack([right, left, nose, mouth]), nan=0.0))


def _columns(path: Path, texts: int, width: int, what: str) -> tuple[list[Any], InputFact]:
    """The columns of a file that is separated by blanks; the first `texts` are texts, the others numbers or texts."""
    import polars as pl

    source = read(path, DataError)
    kinds = [pl.String] * texts + [pl.Float64 if width > 3 else pl.Int64] * (width - texts)
    try:
        frame = pl.read_csv(
            source.data,
            has_header=False,
            separator=" ",
            quote_char=None,
            schema={str(place): kind for place, kind in enumerate(kinds)},
        )
        if not any(column.null_count() for column in frame.iter_columns()):
            return [column.to_numpy() for column in frame.iter_columns()], source.fact
    except pl.exceptions.PolarsError:
        pass  # several blanks, tabs, or something wrong, which is found below with its line
    lines = source.text().split("\n")
    while lines and not lines[-1].strip():
        lines.pop()
    cells = [line.split() for line in lines]
    for number, row in enumerate(cells, start=1):
        if len(row) != width:
            raise DataError(
                f"{path}, line {number}: {len(row)} entries, but {width} were expected ({what}), separated by blanks."
            )
    return list(zip(*cells, strict=True)), source.fact


def _whole(column: Sequence[str], path: Path, place: int) -> NDArray[np.int64]:
    try:
        return np.array(column, dtype=np.int64)
    except ValueError:
        return np.array([_number(cell, int, path, line, place) for line, cell in enumerate(column, 1)], np.int64)


def _real(column: Sequence[str], path: Path, place: int) -> NDArray[np.float64]:
    try:
        return np.array(column, dtype=np.float64)
    except ValueError:
        return np.array([_number(cell, float, path, line, place) for line, cell in enumerate(column, 1)])


def _number(cell: str, kind: type[int] | type[float], path: Path, line: int, place: int) -> float:
    try:
        return kind(cell)
    except ValueError:
        raise DataError(f"{path}, line {line}, entry {place}: {cell!r} is not a number.") from None
