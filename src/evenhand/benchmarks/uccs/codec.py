"""The challenge's score files as predictions: read by `evaluate`, written by `predict`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces, read_subjects
from evenhand.benchmarks.uccs.detections import ImageDetections, WatchlistDetections, read_detections, write_detections
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, WatchlistIdentificationOptions
from evenhand.benchmarks.uccs.scores import ScoredBlock, evaluate_blocks, read_scores
from evenhand.benchmarks.uccs.scoring import score_stores, write_text
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.task import Codec, Dataset
from evenhand.files.inputs import parse_toml, read


class _DetectionsCodec(Codec[ImageDetections]):
    """What the answers of both tasks share."""

    def to_plain(self, answer: ImageDetections) -> Any:
        return {name: value for name, value in checked_answer(answer)._asdict().items() if value is not None}

    def from_plain(self, plain: Any) -> ImageDetections:
        return checked_answer(plain)


class WatchlistDetectionCodec(_DetectionsCodec):
    """The detection score file; a recognition file, text or binary, will do as well."""

    filename = "detections.txt"
    example = (
        "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,REYE_X,REYE_Y,…,LMOUTH_Y\n"
        "a01.jpg,0.99,4391.66,2811.00,109.38,149.45,4446.41,2856.47,…,2830.76\n"
    )

    def read(
        self, path: Path, dataset: Dataset[WatchlistFaces], options: WatchlistDetectionOptions
    ) -> WatchlistDetections:
        """The detections in a score file."""
        if Path(path).suffix == ".npy":
            return read_scores(path, dataset.truth, iou=options.iou)
        return read_detections(path, dataset.truth)

    def write(
        self, path: Path, answers: Iterable[tuple[str, ImageDetections]], dataset: Dataset[WatchlistFaces], options: Any
    ) -> None:
        """Write a detection score file."""
        write_detections(path, ((name, checked_answer(answer)) for name, answer in answers))


class WatchlistIdentificationCodec(_DetectionsCodec):
    """The recognition score file, the binary store, or a TOML that names embedding stores.

    The TOML has `gallery` and `probe`, paths beside it or absolute; similarities are then made
    block by block and never stored.
    """

    filename = "scores.txt"
    example = (
        "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,S_0001,S_0002,…,S_1000\n"
        "a01,0.9,4391.66,2811.0,109.38,149.45,0.35412353,-0.04,…,1.2e-05\n"
    )

    def read(
        self, path: Path, dataset: Dataset[WatchlistFaces], options: WatchlistIdentificationOptions
    ) -> WatchlistDetections:
        """The detections with what is kept of their similarities."""
        gallery = dataset.truth.gallery
        if Path(path).suffix == ".toml":
            return _from_stores(Path(path), dataset, options)
        return read_scores(path, dataset.truth, iou=options.iou, gallery=gallery, challenge=options.challenge)

    def write(
        self, path: Path, answers: Iterable[tuple[str, ImageDetections]], dataset: Dataset[WatchlistFaces], options: Any
    ) -> None:
        """Write a recognition score file; every answer has similarities, in the order of the gallery's names."""
        subjects = dataset.truth.gallery
        if subjects is None:
            raise PredictionError("Identification needs gallery.csv in the data folder, to name its columns.")
        ordered = sorted(answers, key=lambda pair: pair[0].encode())
        write_text(
            path, (scored_block(name, checked_answer(answer), len(subjects)) for name, answer in ordered), subjects
        )

    def from_plain(self, plain: Any) -> ImageDetections:
        answer = checked_answer(plain)
        if answer.similarities is None and len(answer.scores):
            raise PredictionError("An answer of identification needs `similarities` (detections, subjects).")
        return answer


def checked_answer(plain: Any) -> ImageDetections:
    """An answer from its parts: `scores` (n), `boxes_xywh` (n, 4), perhaps `landmarks` and `similarities`."""
    if isinstance(plain, ImageDetections):
        plain = plain._asdict()
    try:
        scores = np.asarray(plain["scores"], dtype=np.float64).reshape(-1)
        boxes = _rows_of_four(plain["boxes_xywh"])
        landmarks = plain.get("landmarks")
        points = None if landmarks is None else np.asarray(landmarks, dtype=np.float64).reshape(-1, 5, 2)
        similar = plain.get("similarities")
        table = None if similar is None else _similarity_rows(similar, len(scores))
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise PredictionError(
            "An answer has `scores` (n), `boxes_xywh` (n, 4) and perhaps `landmarks` (n, 5, 2) and `similarities` "
            f"(n, subjects); this one does not: {error}."
        ) from None
    if len(boxes) != len(scores) or (points is not None and len(points) != len(scores)):
        raise PredictionError(f"An answer has {len(scores)} scores and {len(boxes)} boxes; one box per score, please.")
    if not (np.isfinite(scores).all() and np.isfinite(boxes).all()):
        raise PredictionError("An answer has a score or a box that is not finite.")
    if (boxes[:, 2:] < 0).any():
        raise PredictionError(
            "An answer has a box with a negative width or height; boxes_xywh are left, top, width and height in pixels."
        )
    return ImageDetections(scores, boxes, points, table)


def _rows_of_four(boxes: Any) -> Array:
    """Boxes as rows; raises ValueError for columns, which another shape would turn into other boxes in silence."""
    array = np.asarray(boxes, dtype=np.float64)
    if array.size and (array.ndim != 2 or array.shape[1] != 4) and array.shape != (4,):
        raise ValueError(f"boxes_xywh has the shape {array.shape}")
    return array.reshape(-1, 4)


def _similarity_rows(similar: Any, detections: int) -> Array:
    """Similarities as one row per detection; raises ValueError for another shape."""
    array = np.asarray(similar, dtype=np.float32)
    if array.ndim == 1 and detections == 1:
        array = array[np.newaxis]
    if array.size and (array.ndim != 2 or len(array) != detections):
        raise ValueError(f"similarities have the shape {array.shape} for {detections} scores")
    if not np.isfinite(array).all():
        raise ValueError("a similarity is not finite")
    return array.reshape(detections, -1) if array.size else np.zeros((detections, 0), np.float32)


def scored_block(name: str, answer: ImageDetections, subjects: int) -> ScoredBlock:
    """The rows of an answer in a recognition score file; raises when it has another number of similarities."""
    similar = np.zeros((0, subjects), np.float32) if answer.similarities is None else answer.similarities
    if similar.shape != (len(answer.scores), subjects):
        needed = (len(answer.scores), subjects)
        raise PredictionError(
            f"{name}: similarities are {similar.shape}; {needed} are needed: one per detection and subject in "
            "gallery.csv."
        )
    stem = name.removesuffix(".jpg")
    return ScoredBlock([stem] * len(answer.scores), answer.scores, answer.boxes_xywh, similar.astype(np.float32))


def _from_stores(
    path: Path, dataset: Dataset[WatchlistFaces], options: WatchlistIdentificationOptions
) -> WatchlistDetections:
    source = read(path, PredictionError)
    named = parse_toml(source.text(PredictionError), path, PredictionError)
    lacking = [key for key in ("gallery", "probe") if not isinstance(named.get(key), str)]
    if lacking:
        raise PredictionError(f"{path} lacks {', '.join(lacking)}: it names the stores of gallery and probes.")
    subjects, table = dataset.truth.gallery, dataset.truth.gallery_table
    if subjects is None:
        if "gallery_table" not in named:
            raise PredictionError(f"{path}: there is no gallery.csv in the data folder; name one as gallery_table.")
        subjects, table = read_subjects(path.parent / named["gallery_table"])
    gallery, probes = path.parent / named["gallery"], path.parent / named["probe"]
    enrolment, blocks, notes = score_stores(gallery, probes, tuple(subjects), table)
    detections = evaluate_blocks(blocks, enrolment.subjects, dataset.truth, iou=options.iou, inputs=(source.fact,))
    return replace(detections, warnings=(*detections.warnings, *notes))
