"""Detections: the rows of a score file, image by image.

Detection files name images with their extension, recognition files without it; both are
accepted in both. Rows of one image keep their order in the file; the order of images has no
meaning. Rows on images that are not annotated take no part, and are counted.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

import numpy as np

from evenhand.benchmarks.uccs.data import LANDMARK_COLUMNS, WatchlistFaces, box_issues, plain_name
from evenhand.core.errors import PredictionError
from evenhand.core.optional import polars as pl
from evenhand.core.records import Array
from evenhand.core.results import Coverage
from evenhand.core.task import InputFact
from evenhand.files.delimited import (
    BlockReader,
    CellKind,
    Issue,
    RowBlock,
    missing_columns,
    parse,
    raise_first,
    raise_missing,
    read_table,
)
from evenhand.files.names import difference
from evenhand.files.writing import open_file
from evenhand.geometry.boxes import extents, offsets_of
from evenhand.instruments.ahead import ahead

BOX_COLUMNS = ("BB_X", "BB_Y", "BB_WIDTH", "BB_HEIGHT")
LEADING_COLUMNS = ("FILE", "DETECTION_SCORE", *BOX_COLUMNS)
KINDS: Mapping[str, CellKind] = dict.fromkeys(LEADING_COLUMNS, CellKind.NUMBER) | {"FILE": CellKind.TEXT}
NOT_ANNOTATED = -1
NO_LIMIT = 1e6  # seconds: a block of a file takes as long as it takes
_BLOCK_BYTES = 1 << 20  # rows are short, and what is kept of a block is little


class ImageDetections(NamedTuple):
    """What a detector found in one image, best first."""

    scores: Array  # (detections,)
    boxes_xywh: Array  # (detections, 4)
    landmarks: Array | None = None  # (detections, 5, 2)
    similarities: Array | None = None  # (detections, subjects), for identification


class TrueSubjectScores(NamedTuple):
    """Similarities of detections to the true subjects of the faces that they overlap.

    All that identification needs of the similarities of a row, beside its largest: for every
    overlapping known face, the similarity to that subject and how many others are larger or equal.
    """

    detection: Array  # row of the detection
    face: Array  # row of the face
    similarity: Array
    larger: Array  # subjects with a strictly larger similarity
    tied: Array  # other subjects with the same similarity


@dataclass(frozen=True)
class WatchlistDetections:
    """The detections of one system on annotated images, sorted by image, in file order within.

    Is itself `Predictions`.
    """

    faces: WatchlistFaces
    image: Array  # (rows,): index into faces.images, ascending
    scores: Array  # (rows,)
    boxes_xywh: Array  # (rows, 4)
    line: Array  # (rows,): where it stands in the file, or in the store
    elsewhere: Mapping[str, int] = field(default_factory=dict)  # images that are not annotated → rows
    largest: Array | None = None  # (rows,): largest similarity of each row
    candidates: TrueSubjectScores | None = None
    subjects: tuple[int, ...] = ()  # of the similarity columns
    inputs: tuple[InputFact, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.image)

    @property
    def offsets(self) -> Array:
        """(images + 1,): where the detections of each image begin."""
        return offsets_of(self.image, len(self.faces.images))

    @property
    def coverage(self) -> Coverage:
        """Images with and without detections; rows on images that are not annotated."""
        answered = len(np.unique(self.image))
        reasons, examples = {}, {}
        if self.elsewhere:
            reasons["rows on images that are not annotated"] = sum(self.elsewhere.values())
            examples["rows on images that are not annotated"] = tuple(sorted(self.elsewhere)[:5])
        silent = len(self.faces.images) - answered
        return Coverage(
            asked=len(self.faces.images),
            answered=answered,
            missing=silent,
            extra=len(self.elsewhere),
            reasons=reasons | ({"images without a detection": silent} if silent else {}),
            examples=examples,
        )


class NameIndex:
    """Finds annotated images by name, with or without extension."""

    def __init__(self, images: Sequence[str]) -> None:
        self._images = tuple(images)
        self._exact = {name: place for place, name in enumerate(images)}
        self._stems = _places(map(_stem, images))
        self._plain = _places(map(plain_name, images))
        self._plain_stems = _places(_stem(plain_name(image)) for image in images)

    def find(self, name: str) -> int:
        """The image's place, or NOT_ANNOTATED. An exact name goes before `.jpg`, and that before any extension.

        A name that is not found so is looked for without the blanks around it, and however its accents are written.
        One that two images share is refused: a name without extension, unless one of them is a `.jpg`.
        """
        place = self._as_written(name)
        if place == NOT_ANNOTATED:
            plain = plain_name(name)
            by_plain = (self._plain.get(plain), self._plain.get(plain + ".jpg"), self._plain_stems.get(plain))
            place = next((found for found in by_plain if found is not None), NOT_ANNOTATED)
        if place == _AMBIGUOUS:
            plain = plain_name(name)
            both = (image for image in self._images if plain in (plain_name(image), _stem(plain_name(image))))
            raise PredictionError(
                f"The name {name!r} may be any of {', '.join(both)}. Write it as the annotation does, with its "
                "extension."
            )
        return place

    def advice(self, elsewhere: Iterable[str]) -> str:
        """How names that were not found differ from annotated ones, in words; nothing where that can't be seen."""
        return difference(map(plain_name, elsewhere), map(plain_name, self._images))

    def gather(self, names: pl.Series | Sequence[str], scores: Array, boxes_xywh: Array, lines: Array) -> CheckedRows:
        """Rows with the image that each belongs to. Those of one image mostly follow each other."""
        runs = pl.Series("names", names, dtype=pl.String).rle().struct.unnest()
        lengths, values = runs["len"].to_numpy(), runs["value"].to_list()
        places = np.array([self.find(name) for name in values], dtype=np.intp)
        elsewhere: Counter[str] = Counter()
        for run in np.flatnonzero(places == NOT_ANNOTATED):
            elsewhere[values[run]] += int(lengths[run])
        respelled = {
            name: self._images[place]
            for name, place in zip(values, places.tolist(), strict=True)
            if place != NOT_ANNOTATED and self._as_written(name) == NOT_ANNOTATED
        }
        return CheckedRows(np.repeat(places, lengths), scores, boxes_xywh, lines, elsewhere, respelled)

    def _as_written(self, name: str) -> int:
        place = self._exact.get(name)
        return place if place is not None else self._exact.get(name + ".jpg", self._stems.get(name, NOT_ANNOTATED))


def _places(names: Iterable[str]) -> dict[str, int]:
    """The places of names; _AMBIGUOUS for those that occur twice."""
    places: dict[str, int] = {}
    for place, name in enumerate(names):
        places[name] = _AMBIGUOUS if name in places else place
    return places


def _stem(name: str) -> str:
    return PurePosixPath(name).stem if "/" in name else name.rpartition(".")[0] or name


_AMBIGUOUS = -2


class CheckedRows(NamedTuple):
    """Checked rows of a block: where they belong, and their leading columns."""

    image: Array
    scores: Array
    boxes_xywh: Array
    lines: Array
    elsewhere: Counter[str]  # rows on images that are not annotated, by name
    respelled: Mapping[str, str]  # names that differ from the annotated one in blanks or accents, with that one


Report = Callable[[Sequence[Issue]], None]  # of what is wrong in a file


def score_rows(
    lines: BlockReader,
    faces: WatchlistFaces,
    columns: Callable[[], Mapping[str, CellKind]],
    report: Report,
    size: int | None = None,
) -> Iterator[tuple[CheckedRows, pl.DataFrame]]:
    """The rows of a score file, block by block, with the image of each and all columns that were read.

    `columns` looks at the header as soon as it is known, and says what is read. The next block is parsed meanwhile;
    blocks of a size that is asked for are small, and parsed in their turn.
    """
    index = NameIndex(faces.images)
    kinds: Mapping[str, CellKind] | None = None

    def blocks() -> Iterator[tuple[int, bytes]]:
        nonlocal kinds
        for block in lines.blocks(size):
            kinds = kinds or columns()
            yield block

    def parsed(block: tuple[int, bytes]) -> RowBlock:
        first_line, body = block
        return parse(body, lines.header, kinds or {}, first_line)

    for frame, numbers, issues in map(parsed, blocks()) if size else _parsed_ahead(blocks(), parsed):
        boxes = frame.select(BOX_COLUMNS).to_numpy().reshape(-1, 4)
        report((*issues, *box_issues(boxes, numbers, "BB")))
        yield index.gather(frame["FILE"], frame["DETECTION_SCORE"].to_numpy(), boxes, numbers), frame
    if kinds is None:
        columns()


def _parsed_ahead(
    blocks: Iterator[tuple[int, bytes]], parse_block: Callable[[tuple[int, bytes]], RowBlock]
) -> Iterator[RowBlock]:
    for outcome in ahead(blocks, parse_block, workers=1, depth=1, limit=NO_LIMIT):
        assert outcome.done is not None
        yield outcome.done


def leading_columns(lines: BlockReader, report: Report) -> Mapping[str, CellKind]:
    """The columns of every score file; reports a header that has some landmarks but not all."""
    raise_missing(lines.header, LEADING_COLUMNS, lines.path, PredictionError)
    issues = lines.header.issues
    lacking = missing_columns(lines.header, LANDMARK_COLUMNS)
    if 0 < len(lacking) < len(LANDMARK_COLUMNS):
        issues += (Issue(1, f"no column {', '.join(lacking)}, but other landmarks; give all ten or none"),)
    report(issues)
    return KINDS


def read_detections(path: Path, faces: WatchlistFaces) -> WatchlistDetections:
    """The detections of a detection or recognition score file.

    The ten landmark columns are optional, all or none; similarity columns are not read.
    """
    lines, report = BlockReader(path, PredictionError), raising(path)
    rows = score_rows(lines, faces, lambda: leading_columns(lines, report), report, _BLOCK_BYTES)
    parts = [part for part, _ in rows]
    return assemble(parts, faces, inputs=(lines.fact,), warnings=end_warning(lines))


def raising(path: Path) -> Report:
    """A report that raises the first issue."""
    return partial(raise_first, path=path, problem=PredictionError)


def read_found(path: Path) -> tuple[dict[str, ImageDetections], InputFact]:
    """The detections of every image of a detection file, with landmarks where it has them."""
    table = read_table(path, KINDS, PredictionError, optional=dict.fromkeys(LANDMARK_COLUMNS, CellKind.NUMBER))
    has_landmarks = not missing_columns(table.header, LANDMARK_COLUMNS)
    boxes = table.frame.select(BOX_COLUMNS).to_numpy().reshape(-1, 4)
    raise_first(box_issues(boxes, table.lines, "BB"), path, PredictionError)
    scores = table.frame["DETECTION_SCORE"].to_numpy()
    points = table.frame.select(LANDMARK_COLUMNS).to_numpy().reshape(-1, 5, 2) if has_landmarks else None
    rows: dict[str, list[int]] = {}
    for row, name in enumerate(table.frame["FILE"].to_list()):
        rows.setdefault(name, []).append(row)
    detections = {
        name: ImageDetections(scores[some], boxes[some], None if points is None else points[some])
        for name, some in rows.items()
    }
    return detections, table.fact


def end_warning(lines: BlockReader) -> tuple[str, ...]:
    """A warning when the last line has no line feed: the file may have been cut inside its last field."""
    if lines.ends_with_line_feed:
        return ()
    return (f"{lines.path}: the last line has no line end. Was the file cut? Its last number may be incomplete.",)


def assemble(
    parts: Sequence[CheckedRows],
    faces: WatchlistFaces,
    *,
    inputs: tuple[InputFact, ...] = (),
    warnings: tuple[str, ...] = (),
) -> WatchlistDetections:
    """Detections from blocks of rows; rows on images that are not annotated are counted and left out."""
    image, order = order_of(parts)
    elsewhere = sum((part.elsewhere for part in parts), Counter[str]())
    if elsewhere:
        advice = NameIndex(faces.images).advice(sorted(elsewhere))
        if not len(order):
            shown, known = (
                ", ".join(names[:3]) + ("…" if len(names) > 3 else "") for names in (sorted(elsewhere), faces.images)
            )
            where = f"{inputs[0].path}: no" if inputs else "No"
            warnings += (
                f"{where} row is on an annotated image, so there is nothing to evaluate: the rows name {shown}, the "
                f"annotation {known}. {advice or 'Is it the score file of another set?'}",
            )
        elif advice:
            warnings += (f"{len(elsewhere)} images of the score file are not annotated. {advice}",)
    respelled = {name: annotated for part in parts for name, annotated in part.respelled.items()}
    if respelled:
        name, annotated = next(iter(respelled.items()))
        warnings += (
            f"{len(respelled)} image names of the score file differ from the annotated ones in blanks around them or "
            f"in how accents are written ({name!r} for {annotated!r}), and are taken for these.",
        )
    # Files are mostly written image by image: then every row stays where it is, and nothing is copied.
    rows = slice(None) if np.array_equal(order, np.arange(len(image))) else order
    return WatchlistDetections(
        faces,
        image[rows],
        _column(parts, "scores")[rows],
        _column(parts, "boxes_xywh").reshape(-1, 4)[rows],
        _column(parts, "lines")[rows],
        elsewhere,
        inputs=inputs,
        warnings=warnings,
    )


def order_of(parts: Sequence[CheckedRows]) -> tuple[Array, Array]:
    """The image of every row, and the rows on annotated images sorted by image."""
    image = _column(parts, "image").astype(np.intp, copy=False)
    here = np.flatnonzero(image != NOT_ANNOTATED)
    return image, here[np.argsort(image[here], kind="stable")]


def write_detections(path: Path, answers: Iterable[tuple[str, ImageDetections]]) -> int:
    """Write a detection score file; returns the number of rows.

    Images in ascending byte order of their names, detections in the detector's order, every
    number with two decimals. An image without detections leaves no row.
    """
    rows = 0
    with_landmarks = True
    collected = sorted(answers, key=lambda pair: pair[0].encode())
    for _, answer in collected:
        with_landmarks &= answer.landmarks is not None or not len(answer.scores)
    header = (*LEADING_COLUMNS, *(LANDMARK_COLUMNS if with_landmarks else ()))
    with open_file(path) as file:
        file.write(",".join(header) + "\n")
        for name, answer in collected:
            columns = [np.asarray(answer.scores, dtype=np.float64).reshape(-1, 1), answer.boxes_xywh]
            if with_landmarks and answer.landmarks is not None:
                columns.append(answer.landmarks.reshape(len(answer.scores), 10))
            for row in np.concatenate(columns, axis=1) if len(answer.scores) else ():
                file.write(name + "," + ",".join([f"{value:.2f}" for value in row.tolist()]) + "\n")
                rows += 1
    return rows


def from_corners(scores: Array, corners_xyxy: Array, landmarks: Array | None) -> ImageDetections:
    """Detections from corners; width and height are differences taken in single precision."""
    boxes = extents(np.asarray(corners_xyxy, dtype=np.float32).reshape(-1, 4))
    return ImageDetections(np.asarray(scores, dtype=np.float32), boxes, landmarks)


def _column(parts: Sequence[CheckedRows], name: str) -> Array:
    columns = [getattr(part, name) for part in parts]
    return np.concatenate(columns) if columns else np.zeros(0)
