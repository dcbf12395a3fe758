"""Similarities to the watchlist: the recognition score file, the binary store, and what is kept of them.

The text file has one row per detection with one similarity per subject, named `S_` and the
subject's number. At the size of the challenge it is 2.6 GB, and evaluation needs little of it: of
every row its largest similarity, and for the faces that a row overlaps the similarity to their
true subject with its rank. So rows are streamed block by block and reduced at once; memory does
not grow with rows × subjects.

The binary store is two files beside each other: `NAME.npy`, the similarities as a single-precision
matrix (rows × subjects), and `NAME.ids.npz` with `files` (names), `detection_scores` and `bboxes`
(doubles) of the rows and `subjects` (whole numbers) of the columns.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.uccs.data import PREFIX, WatchlistFaces, box_issues, shown_subjects
from evenhand.benchmarks.uccs.detections import (
    LEADING_COLUMNS,
    CheckedRows,
    NameIndex,
    Report,
    TrueSubjectScores,
    WatchlistDetections,
    assemble,
    end_warning,
    leading_columns,
    order_of,
    raising,
    score_rows,
)
from evenhand.benchmarks.uccs.stores import ids_path, load_ids
from evenhand.core.errors import PredictionError
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array, blocks
from evenhand.core.task import InputFact
from evenhand.files.arrays import open_npy
from evenhand.files.delimited import BlockReader, CellKind, Issue
from evenhand.files.inputs import hashed
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image

CHALLENGE_SUBJECTS = 1000
_BLOCK_VALUES = 1 << 23


class ScoredBlock(NamedTuple):
    """Detections of several images in a row, with their similarities."""

    files: list[str]  # image of each row, without extension
    detection_scores: Array  # (rows,) doubles
    boxes_xywh: Array  # (rows, 4) doubles
    similarities: NDArray[np.float32]  # (rows, subjects)


class Reducer:
    """Keeps of blocks of similarities what identification needs.

    Which face a detection is finally paired with is known only when all rows of its image are
    there. A pair must overlap by at least the limit, so the similarity and rank of every such
    pair are kept, usually one per row at most.
    """

    def __init__(self, faces: WatchlistFaces, subjects: Sequence[int], iou: float) -> None:
        self._faces, self._iou = faces, iou
        self._corners = corners(faces.boxes_xywh.astype(np.float32))
        self._offsets = offsets_of(faces.image, len(faces.images))
        place = {subject: column for column, subject in enumerate(subjects)}
        column = [place.get(subject, -1) for subject in faces.subject.tolist()]
        self._column = np.where(faces.is_known, np.array(column, dtype=np.intp).reshape(len(faces)), -1)
        self.subjects = tuple(subjects)
        self._parts: list[CheckedRows] = []
        none = np.zeros(0, np.intp)
        self._largest: list[Array] = [np.zeros(0)]
        self._candidates = [TrueSubjectScores(none, none, np.zeros(0), none, none)]
        self._rows = 0

    def add(self, rows: CheckedRows, largest: Array, pick: Callable[[Array], Array]) -> None:
        """Take a block by the largest similarity of every row, and a function that gives those of some rows.

        Few rows overlap a face, and only their similarities are looked at one by one.
        """
        self._parts.append(rows)
        self._largest.append(largest.astype(np.float64))
        here = np.flatnonzero(rows.image >= 0)
        here = here[np.argsort(rows.image[here], kind="stable")]
        pairs = overlaps_by_image(
            self._corners,
            self._offsets,
            corners(rows.boxes_xywh[here].astype(np.float32)),
            offsets_of(rows.image[here], len(self._faces.images)),
            at_least=self._iou,
        )
        known = self._column[pairs.first] >= 0
        face, row = pairs.first[known], here[pairs.second[known]]
        picked, inverse = np.unique(row, return_inverse=True)
        similarities = pick(picked)
        own = similarities[inverse, self._column[face]]
        larger, tied = np.zeros(len(row), np.int64), np.zeros(len(row), np.int64)
        step = max(1, _BLOCK_VALUES // max(len(self.subjects), 1))
        for start in range(0, len(row), step):
            part = slice(start, start + step)
            mine = similarities[inverse[part]]
            larger[part] = np.count_nonzero(mine > own[part, np.newaxis], axis=1)
            tied[part] = np.count_nonzero(mine == own[part, np.newaxis], axis=1) - 1
        self._candidates.append(TrueSubjectScores(row + self._rows, face, own.astype(np.float64), larger, tied))
        self._rows += len(rows.image)

    def add_frame(self, rows: CheckedRows, frame: pl.DataFrame) -> None:
        """Take a block of a text file, with all of its columns."""
        similar = frame.drop(LEADING_COLUMNS)
        if len(similar):
            largest = reduce(np.maximum, (column.to_numpy() for column in similar.iter_columns()))
            self.add(rows, largest, partial(_rows_of, similar))

    def finish(
        self, *, inputs: tuple[InputFact, ...] = (), warnings: tuple[str, ...] = (), single: bool = False
    ) -> WatchlistDetections:
        """The detections with their reduced similarities.

        `single`: the similarities were single-precision numbers; they are given the doubles that
        their shortest text would be read as, so that text and binary files agree to the last bit.
        """
        plain = assemble(self._parts, self._faces, inputs=inputs, warnings=warnings)
        _, order = order_of(self._parts)
        place = np.full(self._rows, -1, dtype=np.intp)
        place[order] = np.arange(len(order))
        largest = np.concatenate(self._largest)[order]
        candidates = TrueSubjectScores(*(np.concatenate(column) for column in zip(*self._candidates, strict=True)))
        similarity = candidates.similarity
        if single:
            largest, similarity = as_written(largest), as_written(similarity)
        lacking = sorted(set(self._faces.subject[self._faces.is_known & (self._column < 0)].tolist()))
        unnamed = (
            f"{len(lacking)} annotated subjects have no similarity column ({shown_subjects(lacking)}); "
            "their faces can't be named."
        )
        return replace(
            plain,
            largest=largest,
            candidates=candidates._replace(detection=place[candidates.detection], similarity=similarity),
            subjects=self.subjects,
            warnings=(*plain.warnings, unnamed) if lacking else plain.warnings,
            facts={"subjects": len(self.subjects)},
        )


def evaluate_blocks(
    scored: Iterable[ScoredBlock],
    subjects: Sequence[int],
    faces: WatchlistFaces,
    *,
    iou: float = 0.5,
    inputs: tuple[InputFact, ...] = (),
) -> WatchlistDetections:
    """Detections with the reduced similarities of blocks in single precision: of a binary store, or just made."""
    reducer = Reducer(faces, subjects, iou)
    index = NameIndex(faces.images)
    rows = 0
    for block in scored:
        if not block.files:
            continue
        lines = np.arange(rows + 1, rows + len(block.files) + 1)
        gathered = index.gather(block.files, block.detection_scores, block.boxes_xywh, lines)
        reducer.add(gathered, block.similarities.max(axis=1), block.similarities.__getitem__)
        rows += len(block.files)
    return reducer.finish(inputs=inputs, single=True)


def as_written(values: Array) -> Array:
    """The doubles that the shortest text of single-precision numbers is read as.

    >>> as_written(np.array([0.1], dtype=np.float32)).tolist()
    [0.1]
    """
    return np.array([float(str(value)) for value in values.astype(np.float32)], dtype=np.float64)


def similarity_columns(
    lines: BlockReader, report: Report, gallery: Sequence[int] | None, *, challenge: bool
) -> tuple[tuple[int, ...], Mapping[str, CellKind]]:
    """The subjects of a recognition file's columns, in their order, and what its columns hold; reports a bad header."""
    leading = leading_columns(lines, report)
    names = [name for name in lines.header.names if name not in LEADING_COLUMNS]
    wrong = [name for name in names if not (name.startswith(PREFIX) and name[len(PREFIX) :].isdigit())]
    subjects = () if wrong else tuple(int(name[len(PREFIX) :]) for name in names)
    message = None
    if not names:
        message = f"no similarity column ({PREFIX}0001, …). Is it a detection file?"
    elif wrong:
        shown = ", ".join(wrong[:5]) + (", …" if len(wrong) > 5 else "")
        message = f"similarity columns are named {PREFIX}0001 and so on, but the header has {shown}"
    message = message or gallery_issue(subjects, gallery, challenge=challenge)
    report([Issue(1, message)] if message else [])
    return subjects, {**leading, **dict.fromkeys(names, CellKind.NUMBER)}


def gallery_issue(
    subjects: Sequence[int], gallery: Sequence[int] | None, *, challenge: bool = False, where: str = "the file"
) -> str | None:
    """Why the subjects of a score file are not those of the gallery; None when they are."""
    if challenge and len(subjects) != CHALLENGE_SUBJECTS:
        return f"{where} has {len(subjects)} subjects; a submission to the challenge has {CHALLENGE_SUBJECTS}"
    if len(set(subjects)) < len(subjects):
        return f"two columns of {where} name the same subject"
    if gallery is None or set(subjects) == set(gallery):
        return None
    lacking, foreign = sorted(set(gallery) - set(subjects)), sorted(set(subjects) - set(gallery))
    parts = [
        f"{verb} {shown_subjects(some)}" for verb, some in (("lacks", lacking), ("has in addition", foreign)) if some
    ]
    return f"{where} belongs to another gallery: it {' and '.join(parts)} (gallery.csv has {len(gallery)} subjects)"


def read_scores(
    path: Path,
    faces: WatchlistFaces,
    *,
    iou: float = 0.5,
    gallery: Sequence[int] | None = None,
    challenge: bool = False,
) -> WatchlistDetections:
    """The detections of a recognition score file, text or binary, with their reduced similarities."""
    if Path(path).suffix == ".npy":
        return _read_binary(Path(path), faces, iou, gallery, challenge)
    lines, report = BlockReader(path, PredictionError), raising(path)
    reducers: list[Reducer] = []

    def columns() -> Mapping[str, CellKind]:
        subjects, kinds = similarity_columns(lines, report, gallery, challenge=challenge)
        reducers.append(Reducer(faces, subjects, iou))
        return kinds

    for rows, frame in score_rows(lines, faces, columns, report):
        reducers[0].add_frame(rows, frame)
    return reducers[0].finish(inputs=(lines.fact,), warnings=end_warning(lines))


def _rows_of(frame: pl.DataFrame, places: Array) -> Array:
    return frame[places].to_numpy().reshape(len(places), frame.width)


class StoreRows(NamedTuple):
    """The rows and columns of a binary score store."""

    files: list[str]
    detection_scores: Array
    boxes_xywh: Array
    subjects: tuple[int, ...]


def read_ids(path: Path) -> tuple[StoreRows, InputFact]:
    """Rows and columns of a binary store."""
    arrays, fact = load_ids(path, ("files", "detection_scores", "bboxes", "subjects"))
    files = [name.decode() if isinstance(name, bytes) else str(name) for name in arrays["files"].reshape(-1).tolist()]
    scores = np.asarray(arrays["detection_scores"], dtype=np.float64).reshape(-1)
    boxes = np.asarray(arrays["bboxes"], dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise PredictionError(f"{ids_path(path)}: bboxes are {boxes.shape}; one row of four per detection is expected.")
    if not len(files) == len(scores) == len(boxes):
        raise PredictionError(
            f"{ids_path(path)}: {len(files)} files, {len(scores)} scores and {len(boxes)} boxes; equal needed."
        )
    columns = arrays["subjects"].reshape(-1)
    if columns.dtype.kind not in "iu" or not len(columns):
        raise PredictionError(
            f"{ids_path(path)}: subjects are {len(columns)} of {columns.dtype}; the numbers of the columns' subjects "
            "are expected, as whole numbers."
        )
    return StoreRows(files, scores, boxes, tuple(columns.tolist())), fact


def store_issues(rows: StoreRows) -> tuple[Issue, ...]:
    """What is wrong with the rows of a binary store; the first row has number 1."""
    numbers = np.arange(1, len(rows.files) + 1)
    finite = np.isfinite(rows.detection_scores) & np.isfinite(rows.boxes_xywh).all(axis=1)
    odd = [Issue(int(number), "a score or a box is not finite") for number in numbers[~finite]]
    return (*odd, *box_issues(rows.boxes_xywh, numbers, "BB"))


def stored_blocks(path: Path, rows: StoreRows, report: Report, facts: list[InputFact]) -> Iterator[ScoredBlock]:
    """The rows of a binary store with their similarities; its file is hashed on the way, and added to `facts`."""
    header, count, subjects = open_npy(path, PredictionError).header, len(rows.files), len(rows.subjects)
    if header.shape != (count, subjects) or header.fortran or header.dtype != np.float32:
        raise PredictionError(
            f"{path}: an array {header.shape} of {header.dtype}; {ids_path(path).name} asks for ({count}, {subjects}) "
            "of float32."
        )
    step = max(1, _BLOCK_VALUES // max(subjects, 1))
    with hashed(path, PredictionError) as source:
        file = io.BufferedReader(source)  # type: ignore[type-var]  # it takes any writable buffer of bytes
        file.read(header.offset)
        for part in blocks(count, step):
            similar = np.empty((len(rows.files[part]), subjects), dtype=np.float32)
            if file.readinto(similar.reshape(-1).view(np.uint8).data) < similar.nbytes:
                raise PredictionError(f"{path} was cut off while it was read.")
            if not np.isfinite(similar.sum(axis=1)).all():
                bad = np.flatnonzero(~np.isfinite(similar).all(axis=1)) + part.start + 1
                report([Issue(int(row), "a similarity is not finite") for row in bad])
            yield ScoredBlock(rows.files[part], rows.detection_scores[part], rows.boxes_xywh[part], similar)
        facts.append(source.fact())


def _read_binary(
    path: Path, faces: WatchlistFaces, iou: float, gallery: Sequence[int] | None, challenge: bool
) -> WatchlistDetections:
    rows, fact = read_ids(path)
    raising(ids_path(path))(store_issues(rows))
    wrong = gallery_issue(rows.subjects, gallery, challenge=challenge, where=str(path))
    if wrong:
        raise PredictionError(f"{wrong}.")
    facts = [fact]

    def report(issues: Sequence[Issue]) -> None:
        raise PredictionError(f"{path}, row {issues[0].line}: {issues[0].message}.")

    similar = stored_blocks(path, rows, report, facts)
    detections = evaluate_blocks(similar, rows.subjects, faces, iou=iou, inputs=(fact,))
    return replace(detections, inputs=tuple(facts))
