"""The community's list files.

Three files, separated by blanks, without headers: which image is in which template and
medium, five landmarks and a detector score per image, and labelled pairs of templates. The
same face stands once per template that it belongs to; rows follow gallery 1, gallery 2 and
the mixed probes in file order.

List files name no subjects. Genuine pairs join templates of one person, so people are the
connected components of the genuine pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.templates import FacePlaces, ProtocolFaces, TemplateSet, template_places
from evenhand.core.errors import DataError
from evenhand.core.records import Array
from evenhand.core.sparse import connected_components
from evenhand.core.task import InputFact
from evenhand.files.inputs import read
from evenhand.files.whole_numbers import read_whole_numbers


@dataclass(frozen=True)
class FaceList:
    """The rows of `*_face_tid_mid.txt` and `*_name_5pts_score.txt`."""

    name: NDArray[np.object_]
    template: NDArray[np.int64]
    medium: NDArray[np.int64]
    landmarks: NDArray[np.float64] | None  # (rows, 10)
    score: NDArray[np.float64] | None  # the detector's
    inputs: tuple[InputFact, ...]
    lines: NDArray[np.int64] | None = None  # of landmarks and scores in their file

    def __len__(self) -> int:
        return len(self.template)

    def unusable_score(self, used: Array) -> str | None:
        """Where the first of the scores of some rows (a mask) is that can't weigh a face; None when all can."""
        if self.score is None or self.lines is None:
            return None
        wrong = np.flatnonzero(used & ~np.isfinite(self.score))
        if not len(wrong):
            return None
        row = wrong[np.argmin(self.lines[wrong])]
        more = f" ({len(wrong):,} such lines)" if len(wrong) > 1 else ""
        return (
            f"{self.inputs[-1].path}, line {self.lines[row]}: the detector score of {self.name[row]!r} is "
            f"{self.score[row]}, but a finite number was expected{more}."
        )


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
    rows = np.arange(len(name))
    if len(other) != len(name) or (other != name).any():
        rows = _rows_by_name(name, other, numbers, faces, landmarks)
        numbers = numbers[rows]
    return FaceList(name, template, medium, numbers[:, :10], numbers[:, 10], (fact, other_fact), rows + 1)


def _rows_by_name(
    name: NDArray[np.object_], other: NDArray[np.object_], numbers: NDArray[np.float64], faces: Path, landmarks: Path
) -> NDArray[np.int64]:
    """The row of the second list for each image of the first: files in another order are joined by name."""
    rows: dict[str, int] = {}
    for row, image in enumerate(other.tolist()):
        first = rows.setdefault(image, row)
        if not np.array_equal(numbers[first], numbers[row], equal_nan=True):
            raise DataError(
                f"{landmarks}, line {row + 1}: image {image!r} has other landmarks or another score than in line "
                f"{first + 1}, and the lines are not in the order of {faces}."
            )
    places = np.array([rows.get(image, -1) for image in name.tolist()], dtype=np.int64)
    lacking = np.flatnonzero(places < 0)
    if len(lacking):
        row = int(lacking[0])
        raise DataError(
            f"{faces}, line {row + 1}: image {name[row]!r} is not in {landmarks} ({len(lacking):,} such lines), which "
            f"has images such as {other[0]!r}. Both files must have the same images and write their names alike."
        )
    return places


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
    if known is None:  # people are the connected components of the genuine pairs
        person = connected_components(first[pairs.same], second[pairs.same], len(ids))
    else:
        person = _known_people(ids, known, where)
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
        names_people=known is not None,
    )
    return TemplateSet.of(faces, where)


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
        if not cells:
            raise DataError(f"{path}, line {number}: the line is empty. Remove it, or write what it lacks ({what}).")
        if len(cells) != len(kinds):
            raise DataError(
                f"{path}, line {number}: {len(cells)} entries, but {len(kinds)} were expected ({what}), separated by "
                "blanks. Correct the line."
            )
        for place, (cell, kind) in enumerate(zip(cells, kinds, strict=True)):
            try:
                columns[place].append(kind(cell))
            except ValueError:
                expected = "whole number" if kind is int else "number"
                advice = " The file must not have a header: if this is one, delete the line." if number == 1 else ""
                raise DataError(
                    f"{path}, line {number}, entry {place + 1}: {cell!r} found, but a {expected} was expected "
                    f"({what}).{advice}"
                ) from None
    return [
        np.array(column, dtype=object if kind is str else kind) for column, kind in zip(columns, kinds, strict=True)
    ], source.fact
