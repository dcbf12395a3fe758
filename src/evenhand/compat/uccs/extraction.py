"""The two baselines: find faces in pictures, and turn found faces into embeddings.

Detection as published is MTCNN with deliberately low thresholds, faces from 40 pixels on and at
most fifty per image; YuNet is the modern second. Recognition aligns faces by five landmarks to
112 × 112 and embeds them by MagFace's iResNet-100, from a checkpoint that the user names; dlib's
128 numbers and SFace run out of the box. Embeddings are kept as they come, not scaled.

A picture that can't be read is named and counted, and the work goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

import numpy as np

from evenhand.benchmarks.uccs.data import GalleryPicture, subject_name
from evenhand.benchmarks.uccs.detections import ImageDetections, from_corners
from evenhand.benchmarks.uccs.stores import save_store
from evenhand.core.engine import Engine, Failed, Workplace
from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.records import Array

if TYPE_CHECKING:
    from evenhand.instruments.detectors import FaceDetector
    from evenhand.instruments.embedders import FaceEmbedder
    from evenhand.instruments.faces import Face
    from evenhand.instruments.pictures import Pixels

Tell = Callable[[int, int], None]  # done, of how many
PUBLISHED_THRESHOLDS = (0.2, 0.2, 0.2)
LEAST_FACE = 40  # pixels
FACTOR = 0.709
MOST = 50
LONGEST_LOOK = 300.0  # seconds for one picture, where the engine can stop it: some damaged ones never end


@dataclass(frozen=True)
class DetectorSetting:
    """Which detector, with what settings; small enough to be sent to another process."""

    name: Literal["mtcnn", "yunet"] = "mtcnn"
    thresholds: tuple[float, ...] = PUBLISHED_THRESHOLDS
    folder: Path | None = None  # of weights
    device: str = "cpu"

    def build(self) -> FaceDetector:
        """The detector, with its weights."""
        from evenhand.instruments.detectors import mtcnn_detector, yunet_detector

        if self.name == "yunet":
            # The last threshold is YuNet's only one.
            return yunet_detector(least_score=self.thresholds[-1], folder=self.folder)
        if len(self.thresholds) != 3:
            raise DataError(f"MTCNN has three thresholds, one per network; {len(self.thresholds)} were given.")
        first, second, third = self.thresholds
        return mtcnn_detector(
            least_face=LEAST_FACE,
            thresholds=(first, second, third),
            factor=FACTOR,
            folder=self.folder,
            device=self.device,
        )


class Detected(NamedTuple):
    """What was found in every picture that could be read, and why the others could not."""

    answers: tuple[tuple[str, ImageDetections], ...]
    unreadable: Mapping[str, str]
    failed: Mapping[str, str]  # pictures at which the detector itself broke


def detect(
    images: Sequence[str],
    pictures: Path,
    setting: DetectorSetting,
    engine: Engine,
    *,
    most: int = MOST,
    tell: Tell | None = None,
) -> Detected:
    """Look for faces in pictures; the surest `most` of each are kept, best first."""
    answers: list[tuple[str, ImageDetections]] = []
    unreadable: dict[str, str] = {}
    failed: dict[str, str] = {}
    parts = [(str(pictures / name), most) for name in images]
    outcomes = engine.map(_detect_one, parts, setup=setting.build, time_limit=LONGEST_LOOK)
    for number, (name, outcome) in enumerate(zip(images, outcomes, strict=True), 1):
        if isinstance(outcome, Failed):
            failed[name] = outcome.cause
        elif isinstance(outcome.value, str):
            unreadable[name] = outcome.value
        else:
            answers.append((name, outcome.value))
        if tell is not None:
            tell(number, len(images))
    return Detected(tuple(answers), unreadable, failed)


def _detect_one(part: tuple[str, int], place: Workplace) -> ImageDetections | str:
    """The detections of one picture, or why it can't be read."""
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pictures import load

    path, most = part
    detector: FaceDetector = place.kept
    try:
        pixels = load(Path(path)).pixels
    except PictureError as error:
        return str(error)
    faces = detector.faces(pixels)[:most]
    marks = [face.landmarks for face in faces]
    complete = all(mark is not None for mark in marks)
    landmarks = np.array(marks, dtype=np.float32).reshape(-1, 5, 2) if complete else None
    corners = np.array([face.box for face in faces], dtype=np.float32).reshape(-1, 4)
    return from_corners(np.array([face.score for face in faces], dtype=np.float32), corners, landmarks)


def build_embedder(
    name: str, *, checkpoint: Path | None = None, folder: Path | None = None, device: str = "cpu"
) -> FaceEmbedder:
    """The embedding network of that name; `checkpoint` is its file."""
    from evenhand.instruments.embedders import face_embedder

    places = {"dlib": "dlib-embedding"}
    paths = {places.get(name, name): checkpoint} if checkpoint is not None else {}
    return face_embedder(name, paths=paths, folder=folder, device=device)


class Embedded(NamedTuple):
    """How many stores were written, with how many faces, and what could not be used."""

    stores: int
    faces: int
    unreadable: Mapping[str, str]


def embed_probes(
    detections: Mapping[str, ImageDetections],
    pictures: Path,
    embedder: FaceEmbedder,
    out: Path,
    *,
    form: str = "npz",
    workers: int = 4,
    tell: Tell | None = None,
) -> Embedded:
    """Write one store per image with detections; `workers` threads read and cut pictures meanwhile."""
    out.mkdir(parents=True, exist_ok=True)
    unreadable: dict[str, str] = {}
    stores = faces = 0
    names = sorted(name for name, found in detections.items() if len(found.scores))
    jobs = [(name, pictures / name, _faces_of(detections[name])) for name in names]
    for number, (name, crops) in enumerate(_cut_ahead(jobs, embedder, workers), 1):
        if isinstance(crops, str):
            unreadable[name] = crops
        else:
            found = detections[name]
            arrays: dict[str, Array] = {
                "detection_scores": np.asarray(found.scores, dtype=np.float64).reshape(-1, 1),
                "bboxes": np.asarray(found.boxes_xywh, dtype=np.float64),
                "embeddings": embedder.embed_crops(crops),
            }
            if found.landmarks is not None:
                arrays["landmarks"] = np.asarray(found.landmarks, dtype=np.float64)
            save_store(out, Path(name).stem, arrays, form)
            stores, faces = stores + 1, faces + len(crops)
        if tell is not None:
            tell(number, len(names))
    return Embedded(stores, faces, unreadable)


def embed_gallery(
    gallery: Sequence[GalleryPicture],
    pictures: Path,
    embedder: FaceEmbedder,
    out: Path,
    *,
    form: str = "npz",
    workers: int = 4,
    batch: int = 10,
    tell: Tell | None = None,
) -> Embedded:
    """Write one store per subject, grouped by its number, however many pictures it has."""
    out.mkdir(parents=True, exist_ok=True)
    embedder = replace(embedder, batch=max(10, batch // 10 * 10))
    ordered = sorted(gallery, key=lambda picture: picture.subject)
    jobs = [(one.file, _gallery_path(pictures, one.file), [_face_of(one.landmarks)]) for one in ordered]
    cut = zip(ordered, _cut_ahead(jobs, embedder, workers), strict=True)
    unreadable: dict[str, str] = {}
    stores = faces = 0
    subjects = len({one.subject for one in ordered})
    for number, (subject, members) in enumerate(groupby(cut, key=lambda pair: pair[0].subject), 1):
        crops, landmarks = [], []
        for picture, (name, made) in members:
            if isinstance(made, str):
                unreadable[name] = made
            else:
                crops += made
                landmarks.append(picture.landmarks)
        if not crops:
            raise DataError(f"No gallery picture of subject {subject_name(subject)} could be read: {unreadable[name]}")
        arrays = {"embeddings": embedder.embed_crops(crops), "landmarks": np.array(landmarks)}
        save_store(out, subject_name(subject), arrays, form)
        stores, faces = stores + 1, faces + len(crops)
        if tell is not None:
            tell(number, subjects)
    return Embedded(stores, faces, unreadable)


_Job = tuple[str, Path, "Sequence[Face]"]


def _cut_ahead(jobs: Iterable[_Job], embedder: FaceEmbedder, workers: int) -> Iterator[tuple[str, list[Pixels] | str]]:
    """The crops of every picture, in order; a few pictures are read and cut ahead by other threads."""
    if workers < 1:
        yield from ((job[0], _cut(job, embedder)) for job in jobs)
        return
    waiting = iter(jobs)
    with ThreadPoolExecutor(workers) as pool:
        work = partial(_cut, embedder=embedder)
        running = [(job[0], pool.submit(work, job)) for job in islice(waiting, 2 * workers)]
        while running:
            name, first = running.pop(0)
            yield name, first.result()
            for job in islice(waiting, 1):
                running.append((job[0], pool.submit(work, job)))


def _cut(job: _Job, embedder: FaceEmbedder) -> list[Pixels] | str:
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pictures import load

    _, path, faces = job
    try:
        pixels = load(path).pixels
    except PictureError as error:
        return str(error)
    try:
        return [embedder.cut(pixels, face) for face in faces]
    except EvenhandError as error:
        raise DataError(f"{path}: {error}") from None


def _faces_of(found: ImageDetections) -> list[Face]:
    from evenhand.instruments.faces import Face

    if found.landmarks is not None:
        return [_face_of(points, float(score)) for points, score in zip(found.landmarks, found.scores, strict=True)]
    x, y, width, height = np.asarray(found.boxes_xywh, dtype=np.float64).reshape(-1, 4).T.tolist()
    boxes = zip(x, y, width, height, strict=True)
    return [Face((a, b, a + c, b + d), float(s)) for (a, b, c, d), s in zip(boxes, found.scores, strict=True)]


def _face_of(landmarks: Array, score: float = 1.0) -> Face:
    """A face from its landmarks, with the box that networks without landmarks of their own want.

    The same rule for gallery and probes: a square of 80 in the 112-pixel template around (56, 70),
    carried back to the picture.
    """
    from evenhand.instruments.faces import TEMPLATE_112, Face

    points = np.asarray(landmarks, dtype=np.float64)
    spread = float(np.sqrt(((points - points.mean(axis=0)) ** 2).sum()))
    ours = float(np.sqrt(((TEMPLATE_112 - TEMPLATE_112.mean(axis=0)) ** 2).sum()))
    scale = spread / ours
    x, y = points.mean(axis=0) + (np.array([56.0, 70.0]) - TEMPLATE_112.mean(axis=0)) * scale
    half = 40.0 * scale
    return Face((float(x - half), float(y - half), float(x + half), float(y + half)), score, points)


def _gallery_path(pictures: Path, file: str) -> Path:
    """The picture lies in the subfolder named by the text before the first underscore."""
    return pictures / file.partition("_")[0] / file
