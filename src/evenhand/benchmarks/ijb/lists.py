"""The community's list files, and the way between them and the official ones.

Three files, separated by blanks, without headers: which image is in which template and
medium, five landmarks and a detector score per image, and labelled pairs of templates. The
same face stands once per template that it belongs to; rows follow gallery 1, gallery 2 and
the mixed probes in file order.

List files name no subjects. Genuine pairs join templates of one person, so people are the
connected components of the genuine pairs.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.templates import BOX, LANDMARKS, FacePlaces, ProtocolFaces, TemplateSet, template_places
from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.core.sparse import connected_components
from evenhand.core.task import InputFact
from evenhand.files.inputs import read
from evenhand.files.outputs import write_csv
from evenhand.files.whole_numbers import read_whole_numbers
from evenhand.files.writing import make_folder, write_file


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
    (name, template, medium), fact = _columns(faces, (str, int, int), "image, template id, media id")
    if landmarks is None:
        return FaceList(name, template, medium, None, None, (fact,))
    kinds = (str, *[float] * 11)
    (other, *columns), other_fact = _columns(landmarks, kinds, "image, five landmarks, detector score")
    numbers = np.column_stack(columns)
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
    columns: dict[str, Iterable[Any]] = {"ROW_NAME": names}
    columns |= {} if face_index is None else {"FACE_INDEX": face_index}
    columns |= {"FILENAME": faces.filename, "SUBJECT_ID": faces.subject, "SIGHTING_ID": faces.sighting}
    write_csv(fourth, list(columns), zip(*columns.values(), strict=True))
    return first, second, third, fourth


def write_official(folder: Path, prefix: str, templates: TemplateSet, pairs: tuple[Array, Array]) -> tuple[Path, ...]:
    """Write the templates and the match list of list files as official CSVs.

    Boxes are not in list files and stay empty; subjects are numbered as the genuine pairs join them.
    """
    make_folder(folder)
    faces = templates.faces
    first = folder / f"{prefix}_11_templates.csv"
    points = [["" if np.isnan(value) else f"{value:g}" for value in row] for row in faces.places.landmarks]
    rows = zip(faces.template, faces.subject, faces.filename, faces.sighting, points, strict=True)
    write_csv(
        first,
        ("TEMPLATE_ID", "SUBJECT_ID", "FILENAME", "SIGHTING_ID", *BOX, *LANDMARKS),
        ((*known, *("",) * len(BOX), *landmarks) for *known, landmarks in rows),
    )
    second = folder / f"{prefix}_11_matches.csv"
    lines = zip(pairs[0].tolist(), pairs[1].tolist(), strict=True)
    write_file(second, "".join(f"{one},{other}\n" for one, other in lines))
    return first, second


def _five_points(three: Array) -> NDArray[np.float64]:
    right, left, nose = three[:, 0:2], three[:, 2:4], three[:, 4:6]
    below = 2 * nose[:, 1] - (right[:, 1] + left[:, 1]) / 2
    mouth = np.column_stack([right[:, 0], below, left[:, 0], below])
    return np.asarray(np.nan_to_num(np.column_stack([right, left, nose, mouth]), nan=0.0))


def _columns(path: Path, kinds: Sequence[type], what: str) -> tuple[list[Array], InputFact]:
    """The columns of a file that is separated by blanks, each of its kind."""
    import polars as pl

    source = read(path, DataError)
    schema = {str(place): {str: pl.String, int: pl.Int64, float: pl.Float64}[kind] for place, kind in enumerate(kinds)}
    try:
        frame = pl.read_csv(source.data, has_header=False, separator=" ", quote_char=None, schema=schema)
        if not any(column.null_count() for column in frame.iter_columns()):
            return [column.to_numpy() for column in frame.iter_columns()], source.fact
    except pl.exceptions.PolarsError:
        pass  # several blanks, tabs, or something wrong, which is found below with its line
    columns: list[list[Any]] = [[] for _ in kinds]
    for number, line in enumerate(source.text().rstrip().split("\n"), start=1):
        cells = line.split()
        if len(cells) != len(kinds):
            raise DataError(
                f"{path}, line {number}: {len(cells)} entries, but {len(kinds)} were expected ({what}), separated by "
                "blanks."
            )
        for place, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
            try:
                columns[place].append(kind(cell))
            except ValueError:
                raise DataError(f"{path}, line {number}, entry {place + 1}: {cell!r} is not a number.") from None
    return [
        np.array(column, dtype=object if kind is str else kind) for column, kind in zip(columns, kinds, strict=True)
    ], source.fact
