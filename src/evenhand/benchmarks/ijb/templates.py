"""Which faces make up which template, and whose face it is.

A template is read from the rows of one or several files, grouped by `TEMPLATE_ID`; its rows
need not stand together. Rows of one medium share a `MEDIA_ID` where there is one
(IJB-A), else a `SIGHTING_ID` (IJB-B and IJB-C).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.covariates import ALL_COLUMNS, read_codes
from evenhand.benchmarks.ijb.files import ProtocolTable, read_table
from evenhand.core.errors import DataError
from evenhand.core.records import Array, blocks
from evenhand.core.task import InputFact, LazySamples, Sample
from evenhand.files.delimited import CellKind
from evenhand.search.lookup import AT_ONCE

if TYPE_CHECKING:
    import polars as pl

BOX = ("FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")
LANDMARKS = ("RIGHT_EYE_X", "RIGHT_EYE_Y", "LEFT_EYE_X", "LEFT_EYE_Y", "NOSE_X", "NOSE_Y")
ANGLES = ("YAW", "ROLL")
_PLACES = (*BOX, *LANDMARKS, "FRAME_NUM")


_COLUMNS = ("template", "subject", "sighting", "medium")
_IDS = ("TEMPLATE_ID", "SUBJECT_ID", "SIGHTING_ID", "MEDIA_ID")


class FacePlaces(NamedTuple):
    """Where faces are in their pictures; not a number where that is not annotated."""

    box: NDArray[np.float64]  # (rows, 4): left, top, width, height
    landmarks: NDArray[np.float64]  # (rows, 6), or (rows, 10) as list files have them
    frame: NDArray[np.float64]

    @classmethod
    def of(cls, table: ProtocolTable) -> FacePlaces:
        """The places in a table, of the columns that it has."""
        numbers = table.matrix(_PLACES)
        return cls(numbers[:, : len(BOX)], numbers[:, len(BOX) : -1], numbers[:, -1])

    @classmethod
    def unknown(cls, rows: int, landmarks: NDArray[np.float64] | None = None) -> FacePlaces:
        """No places, but perhaps landmarks."""
        box, points = np.full((rows, 4), np.nan), np.full((rows, 6), np.nan) if landmarks is None else landmarks
        return cls(box, points, np.full(rows, np.nan))


@dataclass(frozen=True)
class ProtocolFaces:
    """Faces as a protocol file lists them: one row per face of a template.

    Their places are read when they are asked for: who compares embeddings needs none.
    """

    template: NDArray[np.int64]  # id
    subject: NDArray[np.int64]
    filename: pl.Series  # as read: most who compare embeddings only ask whether two columns are the same
    sighting: NDArray[np.int64]
    medium: NDArray[np.int64]
    read_places: Callable[[], FacePlaces]
    video: NDArray[np.object_] | None = None  # of video probes
    codes: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)  # covariate column → level
    angles: Mapping[str, NDArray[np.float64]] = field(default_factory=dict)
    names_people: bool = True  # False: subjects are numbers of our own, which nobody else can know

    def __len__(self) -> int:
        return len(self.template)

    @cached_property
    def places(self) -> FacePlaces:
        """Boxes, landmarks and frames."""
        return self.read_places()

    def take(self, rows: Array) -> ProtocolFaces:
        """Some of the faces, without their covariates."""
        places = FacePlaces(*(column[rows] for column in self.places))
        some = {name: getattr(self, name)[rows] for name in (*_COLUMNS, "filename")}
        return ProtocolFaces(**some, read_places=lambda: places, video=None if self.video is None else self.video[rows])


def read_faces(path: Path) -> tuple[ProtocolFaces, InputFact]:
    """The faces of a template file of any release."""
    table = read_table(path, plain=_plain_kind)
    table.require("TEMPLATE_ID", "SUBJECT_ID", "FILENAME")
    return faces_of(table), table.fact


def _plain_kind(column: str) -> CellKind | None:
    """Ids are numbers in most files, and places are not read at once."""
    return CellKind.INTEGER if column in _IDS else None if column in _PLACES else CellKind.CELL


def _places_in(path: Path) -> FacePlaces:
    return FacePlaces.of(read_table(path))


def faces_of(table: ProtocolTable) -> ProtocolFaces:
    """The faces in a table."""
    rows = table.rows
    sighting = table.whole("SIGHTING_ID", missing=-1) if "SIGHTING_ID" in table else np.full(rows, -1, np.int64)
    medium = table.whole("MEDIA_ID", missing=-1) if "MEDIA_ID" in table else sighting
    video = table.text("VIDEO_FILENAME") if "VIDEO_FILENAME" in table else None
    codes = {}
    for covariate in ALL_COLUMNS:
        levels = read_codes(table, covariate)
        if levels is not None:
            codes[covariate.column] = levels
    return ProtocolFaces(
        table.whole("TEMPLATE_ID") if "TEMPLATE_ID" in table else np.arange(rows),
        table.whole("SUBJECT_ID") if "SUBJECT_ID" in table else np.full(rows, -1, np.int64),
        table.names("FILENAME"),
        sighting,
        _own_medium(medium),
        partial(_places_in, table.path),
        video if video is not None and (video != "").any() else None,
        codes,
        {name: table.numbers(name) for name in ANGLES if name in table},
    )


def join_faces(parts: Sequence[ProtocolFaces]) -> ProtocolFaces:
    """The faces of several files, one after the other; covariates that all of them have."""
    import polars as pl

    if len(parts) == 1:
        return parts[0]
    shared = [name for name in parts[0].codes if all(name in part.codes for part in parts)]
    angles = [name for name in parts[0].angles if all(name in part.angles for part in parts)]
    columns: dict[str, Any] = {name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS}
    videos = [np.full(len(part), "", dtype=object) if part.video is None else part.video for part in parts]
    return ProtocolFaces(
        **columns,
        filename=pl.concat([part.filename for part in parts]),
        read_places=partial(_joined_places, parts),
        video=None if all(part.video is None for part in parts) else np.concatenate(videos),
        codes={name: np.concatenate([part.codes[name] for part in parts]) for name in shared},
        angles={name: np.concatenate([part.angles[name] for part in parts]) for name in angles},
    )


def _joined_places(parts: Sequence[ProtocolFaces]) -> FacePlaces:
    return FacePlaces(*(np.concatenate(column) for column in zip(*(part.places for part in parts), strict=True)))


@dataclass(frozen=True)
class TemplateSet:
    """The templates of one or several files, in the order in which they first occur."""

    faces: ProtocolFaces
    ids: NDArray[np.int64]  # (templates,)
    subject: NDArray[np.int64]  # (templates,)
    of_face: NDArray[np.int64]  # (faces,): the template's position

    @classmethod
    def of(cls, faces: ProtocolFaces, where: Path) -> TemplateSet:
        """Group the faces by template; raises when a template shows two people."""
        values, first, inverse = np.unique(faces.template, return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        position = np.empty(len(values), dtype=np.int64)
        position[order] = np.arange(len(values))
        of_face = position[inverse.reshape(-1)]
        subject = faces.subject[first[order]]
        wrong = np.flatnonzero(subject[of_face] != faces.subject)
        if len(wrong):
            row = int(wrong[0])
            raise DataError(
                f"{where}: template {faces.template[row]} shows subject {subject[of_face[row]]} and subject "
                f"{faces.subject[row]}. A template has one subject; template ids must be unique over the files."
            )
        return cls(faces, values[order], subject, of_face)

    def __len__(self) -> int:
        return len(self.ids)

    def positions(self, ids: Array, where: Path, *, in_place: bool = False) -> NDArray[np.int32]:
        """The position of each id; raises when one names no template. `in_place`: ids of 32 bits are overwritten."""
        places = _PlaceTable(self.ids)
        positions = ids if in_place and ids.dtype == np.int32 else np.empty(len(ids), dtype=np.int32)
        for block in blocks(len(ids), AT_ONCE):
            found = places.of(ids[block])
            if len(found) and int(found.min()) < 0:
                unknown = block.start + np.flatnonzero(places.of(ids[block.start :]) < 0)
                raise DataError(
                    f"{where}, line {int(unknown[0]) + 1}: template {int(ids[unknown[0]])} is in none of the template "
                    f"files ({len(unknown)} such entries). Are the files of one release?"
                )
            positions[block] = found
        return positions

    @property
    def subject_codes(self) -> Array:
        """(templates,): the subjects numbered from 0, in the order of their ids; in 16 bits where these suffice."""
        subjects, codes = np.unique(self.subject, return_inverse=True)
        return codes.reshape(-1).astype(np.int16 if len(subjects) < 2**15 else np.int32)

    def same_subject(self, first: Array, second: Array) -> NDArray[np.bool_]:
        """Whether two templates, by their positions, show the same person."""
        codes = self.subject_codes
        same = np.empty(len(first), dtype=np.bool_)
        for block in blocks(len(same), AT_ONCE):
            one, other = np.take(codes, first[block], mode="clip"), np.take(codes, second[block], mode="clip")
            np.equal(one, other, out=same[block])
        return same

    def per_template(self, codes: Array) -> NDArray[np.int64]:
        """(templates,): the level of a template's first annotated face; −1 without any."""
        found = np.full(len(self), -1, dtype=np.int64)
        annotated = np.flatnonzero(codes >= 0)[::-1]
        found[self.of_face[annotated]] = codes[annotated]
        return found


class _PlaceTable:
    """Where each of some ids stands among them; looked up in a table, which is quicker than a search, or searched."""

    def __init__(self, known: NDArray[np.int64]) -> None:
        low, high = (int(known.min()), int(known.max())) if len(known) else (0, -1)
        self._low, self._high, self._known = low, high, known
        self._order = np.argsort(known)
        if high - low < 1 << 26:
            self._table = np.full(high - low + 2, -1, dtype=np.int32)
            self._table[known - low] = np.arange(len(known))

    def of(self, ids: Array) -> NDArray[np.int32]:
        """The position of each id; −1 for unknown ones."""
        if not np.can_cast(np.min_scalar_type(self._high + 1), ids.dtype):
            ids = ids.astype(np.int64)
        if self._high - self._low < 1 << 26:
            if len(ids) and (int(ids.min()) < self._low or int(ids.max()) > self._high):
                ids = np.where((ids >= self._low) & (ids <= self._high), ids, self._high + 1)
            return np.asarray(np.take(self._table, ids - ids.dtype.type(self._low), mode="clip"))
        place = np.minimum(np.searchsorted(self._known[self._order], ids), len(self._known) - 1)
        return np.where(self._known[self._order][place] == ids, self._order[place], -1).astype(np.int32)


def template_places(known: NDArray[np.int64], ids: Array) -> NDArray[np.int32]:
    """The position of each id among the known ones; −1 for the others."""
    return _PlaceTable(known).of(np.asarray(ids))


def template_samples(ids: Array) -> LazySamples:
    """One sample per template, made when it is looked at."""
    return LazySamples(len(ids), partial(_template_sample, ids))


def _template_sample(ids: Array, number: int) -> Sample:
    return Sample(str(ids[number]))


def _own_medium(medium: NDArray[np.int64]) -> NDArray[np.int64]:
    """A face whose medium is not said is a medium of its own."""
    unknown = np.flatnonzero(medium < 0)
    if not len(unknown):
        return medium
    found = medium.copy()
    found[unknown] = -2 - np.arange(len(unknown))
    return found
