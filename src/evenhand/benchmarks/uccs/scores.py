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
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial, reduce
from pathlib import Path
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from evenhand.benchmarks.uccs.data import PREFIX, WatchlistFaces, box_issues, shown_subjects
from evenhand.benchmarks.uccs.detections import (
    KINDS,
    LEADING_COLUMNS,
    Gathered,
    NameIndex,
    TrueSubjectScores,
    WatchlistDetections,
    assemble,
    end_warning,
    gather,
    header_issues,
    order_of,
)
from evenhand.benchmarks.uccs.stores import ids_path, load_ids
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.arrays import open_npy
from evenhand.files.delimited import (
    BlockReader,
    CellKind,
    Header,
    Issue,
    RowBlock,
    parse,
    raise_first,
    raise_missing,
)
from evenhand.files.inputs import hashed
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image
from evenhand.instruments.ahead import ahead

CHALLENGE_SUBJECTS = 1000
NO_LIMIT = 1e6  # seconds: a block of a file takes as long as it takes
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
        self._parts: list[Gathered] = []
        none = np.zeros(0, np.intp)
        self._largest: list[Array] = [np.zeros(0)]
        self._candidates = [TrueSubjectScores(none, none, np.zeros(0), none, none)]
        self._rows = 0

    def add(self, rows: Gathered, similarities: Array) -> None:
        """Take a block: its rows, and their similarities (rows, subjects)."""
        self.add_picked(rows, similarities.max(axis=1), lambda places: similarities[places])

    def add_picked(self, rows: Gathered, largest: Array, pick: Callable[[Array], Array]) -> None:
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
        return replace(
            plain,
            largest=largest,
            candidates=candidates._replace(detection=place[candidates.detection], similarity=similarity),
            subjects=self.subjects,
            warnings=(*plain.warnings, *self._subject_warnings()),
            facts={"subjects": len(self.subjects)},
        )

    def _subject_warnings(self) -> tuple[str, ...]:
        lacking = sorted(set(self._faces.subject[self._faces.is_known & (self._column < 0)].tolist()))
        if not lacking:
            return ()
        shown = shown_subjects(lacking)
        return (f"{len(lacking)} annotated subjects have no similarity column ({shown}); their faces can't be named.",)


def evaluate_blocks(
    blocks: Iterable[ScoredBlock],
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
    for block in blocks:
        if not block.files:
            continue
        lines = np.arange(rows + 1, rows + len(block.files) + 1)
        gathered = index.gather(block.files, block.detection_scores, block.boxes_xywh, lines)
        reducer.add(gathered, block.similarities)
        rows += len(block.files)
    return reducer.finish(inputs=inputs, single=True)


def as_written(values: Array) -> Array:
    """The doubles that the shortest text of single-precision numbers is read as.

    >>> as_written(np.array([0.1], dtype=np.float32)).tolist()
    [0.1]
    """
    return np.array([float(str(value)) for value in values.astype(np.float32)], dtype=np.float64)


def subjects_of(header: Header) -> tuple[tuple[int, ...], tuple[Issue, ...]]:
    """The subjects of a recognition file's columns, in their order, and what is wrong with the header."""
    names = _similarity_names(header)
    wrong = [name for name in names if not (name.startswith(PREFIX) and name[len(PREFIX) :].isdigit())]
    if not names:
        return (), (Issue(1, f"no similarity column ({PREFIX}0001, …). Is it a detection file?"),)
    if wrong:
        shown = ", ".join(wrong[:5]) + (", …" if len(wrong) > 5 else "")
        return (), (Issue(1, f"similarity columns are named {PREFIX}0001 and so on, but the header has {shown}"),)
    subjects = tuple(int(name[len(PREFIX) :]) for name in names)
    if len(set(subjects)) < len(subjects):
        return subjects, (Issue(1, "two columns name the same subject"),)
    return subjects, ()


def gallery_issue(
    subjects: Sequence[int], gallery: Sequence[int] | None, *, challenge: bool = False, where: str = "the file"
) -> str | None:
    """Why the subjects of a score file are not those of the gallery; None when they are."""
    if challenge and len(subjects) != CHALLENGE_SUBJECTS:
        return f"{where} has {len(subjects)} subjects; a submission to the challenge has {CHALLENGE_SUBJECTS}"
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
    lines = BlockReader(path, PredictionError)
    index = NameIndex(faces.images)
    reducer: Reducer | None = None

    def blocks() -> Iterator[tuple[int, bytes]]:
        nonlocal reducer
        for block in lines.blocks():
            reducer = reducer or Reducer(faces, _checked_subjects(lines, path, gallery, challenge), iou)
            yield block

    def parsed(block: tuple[int, bytes]) -> RowBlock:
        first_line, body = block
        return parse(body, lines.header, score_kinds(lines.header), first_line)

    for outcome in ahead(blocks(), parsed, workers=1, depth=1, limit=NO_LIMIT):
        block = outcome.done
        assert reducer is not None
        assert block is not None
        rows, issues = gather(block, index)
        raise_first(issues, path, PredictionError)
        similar = block.frame.drop(LEADING_COLUMNS)
        if len(similar):
            largest = reduce(np.maximum, (column.to_numpy() for column in similar.iter_columns()))
            reducer.add_picked(rows, largest, partial(_rows_of, similar))
    reducer = reducer or Reducer(faces, _checked_subjects(lines, path, gallery, challenge), iou)
    return reducer.finish(inputs=(lines.fact,), warnings=end_warning(lines))


def _rows_of(frame: pl.DataFrame, places: Array) -> Array:
    return frame[places].to_numpy().reshape(len(places), frame.width)


def score_kinds(header: Header) -> dict[str, CellKind]:
    """What the columns of a recognition file hold."""
    return dict(KINDS) | dict.fromkeys(_similarity_names(header), CellKind.NUMBER)


class StoreRows(NamedTuple):
    """The rows and columns of a binary score store."""

    files: list[str]
    detection_scores: Array
    boxes_xywh: Array
    subjects: tuple[int, ...]


def read_ids(path: Path) -> tuple[StoreRows, InputFact]:
    """Rows and columns of a binary store."""
    arrays, fact = load_ids(path, ("files", "detection_scores", "bboxes", "subjects"))
    files = [str(name) for name in arrays["files"].tolist()]
    scores = np.asarray(arrays["detection_scores"], dtype=np.float64).reshape(-1)
    boxes = np.asarray(arrays["bboxes"], dtype=np.float64).reshape(-1, 4)
    if not len(files) == len(scores) == len(boxes):
        raise PredictionError(
            f"{ids_path(path)}: {len(files)} files, {len(scores)} scores and {len(boxes)} boxes; equal needed."
        )
    subjects = tuple(int(subject) for subject in arrays["subjects"].tolist())
    return StoreRows(files, scores, boxes, subjects), fact


def store_issues(rows: StoreRows) -> tuple[Issue, ...]:
    """What is wrong with the rows of a binary store; the first row has number 1."""
    numbers = np.arange(1, len(rows.files) + 1)
    finite = np.isfinite(rows.detection_scores) & np.isfinite(rows.boxes_xywh).all(axis=1)
    odd = [Issue(int(number), "a score or a box is not finite") for number in numbers[~finite]]
    return (*odd, *box_issues(rows.boxes_xywh, numbers, "BB"))


def matrix_blocks(path: Path, rows: int, subjects: int) -> Iterator[tuple[int, Array, InputFact | None]]:
    """(first row, similarities) of a binary store, hashed while it is read; the fact comes with the last."""
    header = open_npy(path, PredictionError).header
    if header.shape != (rows, subjects) or header.fortran or header.dtype != np.float32:
        raise PredictionError(
            f"{path}: an array {header.shape} of {header.dtype}; {ids_path(path).name} asks for ({rows}, {subjects}) "
            "of float32."
        )
    step = max(1, _BLOCK_VALUES // max(subjects, 1))
    with hashed(path, PredictionError) as source:
        file = io.BufferedReader(source)  # type: ignore[type-var]  # it takes any writable buffer of bytes
        file.read(header.offset)
        for start in range(0, max(rows, 1), step):
            block = np.empty((min(step, rows - start), subjects), dtype=np.float32)
            if file.readinto(block.reshape(-1).view(np.uint8).data) < block.nbytes:
                raise PredictionError(f"{path} was cut off while it was read.")
            yield start, block, source.fact() if start + step >= rows else None


def _read_binary(
    path: Path, faces: WatchlistFaces, iou: float, gallery: Sequence[int] | None, challenge: bool
) -> WatchlistDetections:
    stored, fact = read_ids(path)
    raise_first(store_issues(stored), ids_path(path), PredictionError)
    wrong = gallery_issue(stored.subjects, gallery, challenge=challenge, where=str(path))
    if wrong:
        raise PredictionError(f"{wrong}.")
    facts = [fact]

    def blocks() -> Iterator[ScoredBlock]:
        for start, similar, end in matrix_blocks(path, len(stored.files), len(stored.subjects)):
            if not np.isfinite(similar.sum(axis=1)).all():
                bad = start + int(np.flatnonzero(~np.isfinite(similar).all(axis=1))[0]) + 1
                raise PredictionError(f"{path}, row {bad}: a similarity is not finite.")
            if end is not None:
                facts.append(end)
            part = slice(start, start + len(similar))
            yield ScoredBlock(stored.files[part], stored.detection_scores[part], stored.boxes_xywh[part], similar)

    return replace(evaluate_blocks(blocks(), stored.subjects, faces, iou=iou), inputs=tuple(facts))


def _checked_subjects(
    lines: BlockReader, path: Path, gallery: Sequence[int] | None, challenge: bool
) -> tuple[int, ...]:
    raise_missing(lines.header, LEADING_COLUMNS, path, PredictionError)
    subjects, issues = subjects_of(lines.header)
    raise_first((*header_issues(lines), *issues), path, PredictionError)
    wrong = gallery_issue(subjects, gallery, challenge=challenge)
    if wrong:
        raise PredictionError(f"{path}, line 1: {wrong}.")
    return subjects


def _similarity_names(header: Header) -> list[str]:
    return [name for name in header.names if name not in LEADING_COLUMNS]
