"""Test 6: faces found in images, and false alarms in images without any.

The list of images is that of the ground truth; images without faces or detections count for
false alarms per image. Rows are images, found faces, missed faces and false alarms.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.files import ProtocolTable, file_of, read_table
from evenhand.benchmarks.ijb.layout import ProtocolFiles, release_of
from evenhand.benchmarks.ijb.options import FaceDetectionOptions
from evenhand.benchmarks.ijb.templates import BOX
from evenhand.core.errors import PredictionError
from evenhand.core.records import NOT_APPLICABLE, Array, Attribute, Records
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, InputFact, Sample, Submitted, Tools
from evenhand.files.delimited import shown_names
from evenhand.files.outputs import write_csv
from evenhand.geometry.assignment import assign_by_score
from evenhand.geometry.boxes import corners, offsets_of, overlaps_by_image
from evenhand.metrics.curves import Event

MEDIA = ("still", "frame", "non-face")


@dataclass(frozen=True)
class AnnotatedFaces:
    """Images and the faces annotated in them, sorted by image; row numbers are those of the file."""

    images: tuple[str, ...]
    boxes_xywh: NDArray[np.float64]  # (faces, 4)
    image: NDArray[np.int64]  # (faces,)
    flagged: NDArray[np.bool_]  # (faces,): an annotator reported an error
    flagged_images: NDArray[np.bool_]  # (images,)

    @property
    def without_faces(self) -> int:
        """How many images show no face."""
        return len(self.images) - len(np.unique(self.image))


@dataclass(frozen=True)
class FaceDetections:
    """Detections sorted by image, in file order within one."""

    boxes_xywh: NDArray[np.float64]
    image: NDArray[np.int64]
    score: NDArray[np.float64]


class Matched(NamedTuple):
    """What became of faces and detections that count."""

    images: NDArray[np.bool_]  # (images,): which count
    faces: NDArray[np.bool_]  # (faces,): which count
    counted: NDArray[np.bool_]  # (detections,): neither on a dropped image nor on "don't care"
    face_of: NDArray[np.int64]  # (detections,): the face that was hit, −1 for none
    detection_of: NDArray[np.int64]  # (faces,)


def read_annotated(path: Path) -> tuple[AnnotatedFaces, InputFact]:
    """The ground truth of test 6; a row with an empty box is an image without faces."""
    table = read_table(path)
    return _annotated(table), table.fact


def _annotated(table: ProtocolTable) -> AnnotatedFaces:
    table.require("FILENAME", *BOX)
    places: dict[str, int] = {}  # of images, in the order of the file
    image = np.array([places.setdefault(name, len(places)) for name in table.text("FILENAME").tolist()], dtype=np.int64)
    boxes = table.matrix(BOX)
    flag = table.whole("IGNORE_FLAG", missing=0) if "IGNORE_FLAG" in table else np.zeros(table.rows, np.int64)
    table.refuse((flag != 0) & (flag != 1), lambda row: f"{flag[row]}, but 0 or 1 expected.", "IGNORE_FLAG")
    lacking = np.isnan(boxes).sum(axis=1)
    table.refuse(
        (lacking > 0) & (lacking < len(BOX)),
        lambda row: (
            f"a box that lacks a number ({boxes[row].tolist()}). Write {', '.join(BOX)}, or leave all of them empty "
            "when the image shows no face."
        ),
    )
    shown = lacking == 0
    flagged_images = np.zeros(len(places), dtype=np.bool_)
    flagged_images[image[flag == 1]] = True
    order = np.flatnonzero(shown)[np.argsort(image[shown], kind="stable")]
    return AnnotatedFaces(tuple(places), boxes[order], image[order], flag[order] == 1, flagged_images)


def _warnings(table: ProtocolTable, options: FaceDetectionOptions) -> tuple[str, ...]:
    """What is odd about a ground truth."""
    warnings: tuple[str, ...] = ()
    if options.ignore != "none" and "IGNORE_FLAG" not in table:
        warnings += (
            f"{table.path.name} has no column IGNORE_FLAG ({shown_names(table.columns)}), so no image and no box is "
            "ignored. If one of its columns has these flags, call it IGNORE_FLAG.",
        )
    sizeless = np.flatnonzero((table.matrix(BOX)[:, 2:] <= 0).any(axis=1))
    if len(sizeless):
        warnings += (
            f"{len(sizeless):,} {'box' if len(sizeless) == 1 else 'boxes'} in {table.path.name} without size (the "
            f"first in line {table.lines[sizeless[0]]}): no detection can hit them.",
        )
    return warnings


def load_detection(folder: Path, options: FaceDetectionOptions) -> Dataset[AnnotatedFaces]:
    """Test 6: the images and their annotated faces."""
    folder = Path(folder)
    path = ProtocolFiles.of(folder).one("detection")
    table = read_table(path)
    truth = _annotated(table)
    has_media = any((folder / name).is_file() for name in truth.images[:1])
    samples = [Sample(name, (folder / name,) if has_media else ()) for name in truth.images]
    return Dataset(
        version=release_of(path),
        samples=samples,
        truth=truth,
        levels={"medium": MEDIA},
        inputs=(table.fact,),
        facts={
            "images": len(truth.images),
            "faces": len(truth.boxes_xywh),
            "images_without_faces": truth.without_faces,
            "flagged_images": int(truth.flagged_images.sum()),
        },
        warnings=_warnings(table, options),
    )


class FaceDetectionCodec(Codec[Any]):
    """`FILENAME, FACE_X, FACE_Y, FACE_WIDTH, FACE_HEIGHT, CONFIDENCE`, one line per detection."""

    filename = "detections.csv"
    example = "FILENAME,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT,CONFIDENCE\nimg/1.jpg,62,189,89,98,0.997\n"

    def read(self, path: Path, dataset: Dataset[AnnotatedFaces], options: Any) -> Submitted[FaceDetections]:
        table = read_table(file_of(path, self.filename), PredictionError)
        table.require("FILENAME", *BOX, "CONFIDENCE")
        places = {name: place for place, name in enumerate(dataset.truth.images)}
        names = table.text("FILENAME").tolist()
        image = np.array([places.get(name, -1) for name in names], dtype=np.int64)
        count = int((image < 0).sum())
        table.refuse(
            image < 0,
            lambda row: (
                f"{names[row]!r} is no image of the protocol ({count} such lines). Write names as the protocol does, "
                f"such as {dataset.truth.images[0]!r}, and leave other images out."
            ),
        )
        boxes, score = complete_boxes(table), table.numbers("CONFIDENCE")
        table.refuse(np.isnan(score), lambda row: "a number is missing.", "CONFIDENCE")
        order = np.argsort(image, kind="stable")
        answered = len(np.unique(image))
        return Submitted(
            FaceDetections(boxes[order], image[order], score[order]),
            Coverage(asked=len(places), answered=len(places), empty=len(places) - answered),
            (table.fact,),
            facts={"detections": len(score)},
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        """Answers are sequences of (left, top, width, height, confidence)."""
        rows = (
            (name, *(float(value) for value in detection)) for name, detections in answers for detection in detections
        )
        write_csv(Path(path), ("FILENAME", *BOX, "CONFIDENCE"), rows)


def match_detections(truth: AnnotatedFaces, answer: FaceDetections, options: FaceDetectionOptions) -> Matched:
    """Which detection hits which face, by decreasing confidence (file order on ties).

    A flagged image drops out (`ignore=media`); or a flagged box is no face, and detections that
    overlap it after failing to match a real one are neither hit nor false alarm (`box`); or flags are
    ignored (`none`).
    """
    images = np.ones(len(truth.images), dtype=np.bool_)
    if options.ignore == "media":
        images = ~truth.flagged_images
    faces = images[truth.image]
    if options.ignore == "box":
        faces = ~truth.flagged
    detections = images[answer.image]
    kept_faces, kept_detections = np.flatnonzero(faces), np.flatnonzero(detections)
    pairs = _overlaps(truth, kept_faces, answer, kept_detections, options.iou)
    assigned = assign_by_score(
        pairs,
        len(kept_faces),
        answer.score[kept_detections],
        threshold=options.iou,
        only_available=options.match == "available",
    )
    face_of = np.full(len(answer.score), -1, dtype=np.int64)
    hit = np.flatnonzero(assigned.face_of >= 0)
    face_of[kept_detections[hit]] = kept_faces[assigned.face_of[hit]]
    detection_of = np.full(len(truth.image), -1, dtype=np.int64)
    seen = np.flatnonzero(assigned.detection_of >= 0)
    detection_of[kept_faces[seen]] = kept_detections[assigned.detection_of[seen]]
    counted = detections.copy()
    if options.ignore == "box":
        spared = _overlaps(
            truth, np.flatnonzero(truth.flagged), answer, np.arange(len(answer.score)), options.iou
        ).second
        counted[spared[face_of[spared] < 0]] = False
    return Matched(images, faces, counted, face_of, detection_of)


def record_detections(
    dataset: Dataset[AnnotatedFaces],
    predictions: Submitted[FaceDetections],
    options: FaceDetectionOptions,
    tools: Tools,
) -> Iterator[Records]:
    """Rows: every image that counts, every face found or missed, every false alarm."""
    truth = dataset.truth
    detections = predictions.content
    yield rows_of(truth, detections, match_detections(truth, detections, options))


def rows_of(truth: AnnotatedFaces, answer: FaceDetections, matched: Matched) -> Records:
    """The rows of matched detections."""
    images = np.flatnonzero(matched.images)
    hits = np.flatnonzero(matched.faces & (matched.detection_of >= 0))
    missed = np.flatnonzero(matched.faces & (matched.detection_of < 0))
    alarms = np.flatnonzero(matched.counted & (matched.face_of < 0))
    kinds = np.repeat(
        np.array([Event.IMAGE, Event.FOUND, Event.MISSED, Event.FALSE_ALARM], dtype=np.int8),
        [len(images), len(hits), len(missed), len(alarms)],
    )
    score = np.full(len(kinds), np.nan)
    score[kinds == Event.FOUND] = answer.score[matched.detection_of[hits]]
    score[kinds == Event.FALSE_ALARM] = answer.score[alarms]
    image = np.concatenate([images, truth.image[hits], truth.image[missed], answer.image[alarms]])
    number = np.concatenate([images, hits, missed, alarms])
    return Records(
        {
            "item": number.astype(np.int64),
            "unit": image.astype(np.int64),
            "kind": kinds,
            "score": score,
            "faces": ((kinds == Event.FOUND) | (kinds == Event.MISSED)).astype(np.int8),
            "detections": ((kinds == Event.FOUND) | (kinds == Event.FALSE_ALARM)).astype(np.int8),
        },
        {"medium": Attribute.coded(_media(truth.images)[image], MEDIA)},
    )


def complete_boxes(table: ProtocolTable) -> NDArray[np.float64]:
    """(rows, 4): boxes without a missing number and with a size."""
    boxes = table.matrix(BOX)
    wrong = np.isnan(boxes).any(axis=1) | (boxes[:, 2:] <= 0).any(axis=1)
    table.refuse(
        np.asarray(wrong),
        lambda row: (
            f"a box without position or size ({boxes[row].tolist()}). Write {', '.join(BOX)} as numbers, the last two "
            "above 0, or leave the line out when there is no face."
        ),
    )
    return boxes


def _overlaps(truth: AnnotatedFaces, faces: Array, answer: FaceDetections, detections: Array, at_least: float) -> Any:
    images = len(truth.images)
    return overlaps_by_image(
        corners(truth.boxes_xywh[faces]),
        offsets_of(truth.image[faces], images),
        corners(answer.boxes_xywh[detections]),
        offsets_of(answer.image[detections], images),
        at_least=at_least,
    )


def _media(images: Sequence[str]) -> NDArray[np.int8]:
    """Still, frame or non-face by the folder of the file; an unknown folder says nothing."""
    folders = {"img": 0, "frames": 1, "frame": 1, "nonfaces": 2, "nonface": 2}
    return np.array([folders.get(name.partition("/")[0].lower(), NOT_APPLICABLE) for name in images], dtype=np.int8)
