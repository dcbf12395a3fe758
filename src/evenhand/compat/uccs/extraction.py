"""The two baselines: find faces in pictures, and turn found faces into embeddings.

Detection as published is MTCNN with deliberately low thresholds, faces from 40 pixels on and at most fifty per image;
YuNet is the modern second. Recognition aligns faces by five landmarks to 112 × 112 and embeds them by MagFace's
iResNet, from a checkpoint that the user names; dlib's 128 numbers and SFace run out of the box. Embeddings are
kept as they come, not scaled.

Both go on where they were stopped: what was found in a picture is in a journal beside the detection file until that is
written, and a store is whole or absent. Pictures are read ahead by threads while the network works. One that can't be
read is named and counted, and the work goes on; so is a face that can't be cut out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from evenhand.benchmarks.uccs.data import GalleryPicture, subject_name
from evenhand.benchmarks.uccs.detections import ImageDetections, from_corners
from evenhand.benchmarks.uccs.stores import StoreOrigin, begin_stores, save_store, write_origin
from evenhand.core.engine import Engine, Failed, Workplace
from evenhand.core.errors import DataError, EvenhandError
from evenhand.core.records import Array
from evenhand.core.task import InputFact, Unanswered
from evenhand.files import inputs
from evenhand.files.writing import make_folder, remove, write_file
from evenhand.store.journal import Journal, read_journal

if TYPE_CHECKING:
    from evenhand.instruments.detectors import FaceDetector
    from evenhand.instruments.embedders import FaceEmbedder
    from evenhand.instruments.faces import Face
    from evenhand.instruments.pictures import Pixels

Progress = Callable[[int, int], None]  # done, of how many
LEAST_FACE = 40  # pixels
FACTOR = 0.709
LONGEST_LOOK = 300.0  # seconds for one picture, where the engine can stop it: some damaged ones never end
_SETTINGS = "settings"


@dataclass(frozen=True)
class DetectorSetting:
    """Which detector, with what settings; small enough to be sent to another process."""

    name: Literal["mtcnn", "yunet"]
    thresholds: tuple[float, float, float]
    folder: Path | None  # of weights
    device: str

    def build(self) -> FaceDetector:
        """The detector, with its weights."""
        from evenhand.instruments.detectors import mtcnn_detector, yunet_detector

        if self.name == "yunet":
            # The last threshold is YuNet's only one.
            return yunet_detector(least_score=self.thresholds[-1], folder=self.folder)
        return mtcnn_detector(
            least_face=LEAST_FACE,
            thresholds=self.thresholds,
            factor=FACTOR,
            folder=self.folder,
            device=self.device,
        )


class Detected(NamedTuple):
    """What was found in every picture that could be read, and why the others could not."""

    answers: tuple[tuple[str, ImageDetections], ...]
    unreadable: Mapping[str, str]
    failed: Mapping[str, str]  # pictures at which the detector itself broke


class DetectionJournal:
    """What was found so far, in a hidden folder beside the detection file.

    It belongs to one list of images and one setting; what another left is removed.
    """

    def __init__(self, results: Path, settings: str) -> None:
        self._parent = make_folder(results.parent)
        self.folder = self._parent / f".{results.name}.journal"
        note = self.folder / _SETTINGS
        if self.folder.exists() and not (note.is_file() and note.read_text(encoding="utf-8") == settings):
            remove(self.folder, below=self._parent)
        self.done: dict[str, Any] = read_journal(self.folder) if self.folder.exists() else {}
        self._journal = Journal(self.folder, most_answers=1)
        write_file(note, settings)

    def add(self, name: str, answer: ImageDetections | str) -> None:
        """Note what was found in a picture, or why it can't be read."""
        if isinstance(answer, str):
            self._journal.add(name, Unanswered(answer))
        else:
            self._journal.add(name, {key: part for key, part in answer._asdict().items() if part is not None})

    def close(self) -> None:
        """Let go of the files; the next start goes on from here."""
        self._journal.close()

    def discard(self) -> None:
        """Remove the journal: the detection file is written."""
        remove(self.folder, below=self._parent)


def detect(
    images: Sequence[str],
    pictures: Path,
    setting: DetectorSetting,
    engine: Engine | None,
    results: Path,
    *,
    most: int,
    upright: bool,
    say: Callable[[str], None],
    progress: Progress,
) -> tuple[Detected, DetectionJournal]:
    """Look for faces in pictures; the surest `most` of each are kept, best first.

    Without an engine the network works here, and threads read pictures ahead. The caller discards the journal when the
    detections are written.
    """
    detector = setting.build()
    names = inputs.hash_text("\n".join(images))
    journal = DetectionJournal(results, f"{detector.fingerprint}\n{pictures}\n{most}\n{upright}\n{names}\n")
    answers_by_name: dict[str, ImageDetections | str] = {}
    for name, answer in journal.done.items():
        answers_by_name[name] = answer.reason if isinstance(answer, Unanswered) else ImageDetections(**answer)
    todo = [name for name in images if name not in answers_by_name]
    if answers_by_name:
        say(f"continuing: {len(answers_by_name)} of {len(images)} pictures are done")
    failed: dict[str, str] = {}
    parts = [(str(pictures / name), most, upright) for name in todo]
    outcomes = _detect_here(parts, detector) if engine is None else _detect_by(engine, parts, setting)
    try:
        for name, outcome in zip(todo, outcomes, strict=True):
            if isinstance(outcome, Failed):
                failed[name] = outcome.cause
            else:
                journal.add(name, outcome)
                answers_by_name[name] = outcome
            progress(len(answers_by_name) + len(failed), len(images))
    finally:
        journal.close()
    answers = tuple((name, answer) for name in images if not isinstance(answer := answers_by_name.get(name, ""), str))
    unreadable = {name: answer for name in images if isinstance(answer := answers_by_name.get(name), str)}
    return Detected(answers, unreadable, failed), journal


_DetectionPart = tuple[str, int, bool]  # path, most detections, whether turned upright


def _detect_here(parts: Sequence[_DetectionPart], detector: FaceDetector) -> Iterator[ImageDetections | str | Failed]:
    from evenhand.instruments.ahead import TIME_LIMIT, ahead

    outcomes = ahead([(Path(path), upright) for path, _, upright in parts], _read, workers=2, depth=2)
    for index, ((path, most, _), outcome) in enumerate(zip(parts, outcomes, strict=True)):
        if outcome.done is None:
            yield f"{path}: was not read within {TIME_LIMIT:.0f} seconds."
        elif isinstance(outcome.done, str):
            yield outcome.done
        else:
            try:
                yield _detections(detector, outcome.done, most)
            except Exception as error:  # the others are looked at all the same
                yield Failed(index, f"{type(error).__name__}: {error}")


def _detect_by(
    engine: Engine, parts: Sequence[_DetectionPart], setting: DetectorSetting
) -> Iterator[ImageDetections | str | Failed]:
    for outcome in engine.map(_detect_part, parts, setup=setting.build, time_limit=LONGEST_LOOK):
        yield outcome if isinstance(outcome, Failed) else outcome.value


def _detect_part(part: _DetectionPart, place: Workplace) -> ImageDetections | str:
    """The detections of one picture, or why it can't be read."""
    path, most, upright = part
    pixels = _read((Path(path), upright))
    return pixels if isinstance(pixels, str) else _detections(place.kept, pixels, most)


def _read(part: tuple[Path, bool]) -> Pixels | str:
    """The pixels of a picture, or why it can't be read."""
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pictures import AS_IT_IS, AS_STORED, load

    path, upright = part
    try:
        return load(path, AS_IT_IS if upright else AS_STORED).pixels
    except PictureError as error:
        return str(error)


def _detections(detector: FaceDetector, pixels: Pixels, most: int) -> ImageDetections:
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

    weights = {"dlib": "dlib-embedding"}.get(name, "magface" if name.startswith("magface") else name)
    paths = {weights: checkpoint} if checkpoint is not None else {}
    return face_embedder(name, paths=paths, folder=folder, device=device)


class ExtractionSummary(NamedTuple):
    """How many stores are there, with how many faces, and what could not be used."""

    stores: int
    faces: int
    unreadable: Mapping[str, str]
    skipped: tuple[str, ...]  # faces that could not be cut out, with the reason


@dataclass(frozen=True)
class Extraction:
    """How and where stores are written."""

    embedder: FaceEmbedder
    folder: Path
    option: str  # that names the folder
    form: str
    workers: int
    upright: bool
    replace: bool
    progress: Progress


class _PictureToCut(NamedTuple):
    """A picture, the faces to cut out of it, and what a store has of each beside its embedding."""

    name: str
    path: Path
    faces: Sequence[Face]
    entries: Mapping[str, Array]


def embed_probes(
    detections: Mapping[str, ImageDetections], source: InputFact, pictures: Path, how: Extraction
) -> ExtractionSummary:
    """Write one store per image with detections."""
    stores = {
        Path(name).stem: [_PictureToCut(name, pictures / name, _faces_of(answer), _entries_of(answer))]
        for name, answer in sorted(detections.items())
        if len(answer.scores)
    }
    if not stores:
        raise DataError(f"{source.path} has no detection, so there is no face to embed. Nothing was written.")
    return _embed(stores, source, how)


def embed_gallery(
    gallery: Sequence[GalleryPicture], source: InputFact, pictures: Path, how: Extraction, *, batch: int
) -> ExtractionSummary:
    """Write one store per subject, grouped by its number, however many pictures it has."""
    if not gallery:
        raise DataError(f"{source.path} names no picture, so there is no face to embed. Nothing was written.")
    stores: dict[str, list[_PictureToCut]] = {}
    for picture in sorted(gallery, key=lambda picture: picture.subject):
        path = pictures / picture.file.partition("_")[0] / picture.file  # the folder is named before the underscore
        entries = {"landmarks": picture.landmarks[np.newaxis]}
        face = _face_of(picture.landmarks)
        stores.setdefault(subject_name(picture.subject), []).append(_PictureToCut(picture.file, path, [face], entries))
    how = replace(how, embedder=replace(how.embedder, batch=max(10, batch // 10 * 10)))
    return _embed(stores, source, how, every_subject=True)


def _embed(
    stores: Mapping[str, Sequence[_PictureToCut]], source: InputFact, how: Extraction, *, every_subject: bool = False
) -> ExtractionSummary:
    """Write every store that is not there, and note at the end that all are.

    Raises when there is none then; with `every_subject`, when nothing of a subject could be used.
    """
    read_as = "turned upright" if how.upright else "as stored"
    origin = StoreOrigin(how.embedder.fingerprint, read_as, source.path, source.sha256, how.form)
    there = begin_stores(how.folder, origin, how.option, replace=how.replace)
    todo = {name: pictures for name, pictures in stores.items() if name not in there}
    faces = sum(len(picture.faces) for name in stores.keys() - todo.keys() for picture in stores[name])
    unreadable: dict[str, str] = {}
    skipped: list[str] = []
    cut = _cut_ahead([picture for pictures in todo.values() for picture in pictures], how)
    for number, (name, pictures) in enumerate(todo.items(), len(stores) - len(todo) + 1):
        crops: list[Pixels] = []
        parts: list[dict[str, Array]] = []
        why = ""
        for picture, cuts in zip(pictures, cut, strict=False):  # the cuts of the other stores follow
            if isinstance(cuts, str):
                unreadable[picture.name] = why = cuts
                continue
            kept = [place for place, crop in enumerate(cuts) if not isinstance(crop, str)]
            crops += [crop for crop in cuts if not isinstance(crop, str)]
            parts.append({entry: array[kept] for entry, array in picture.entries.items()})
            for place, reason in enumerate(cuts):
                if isinstance(reason, str):
                    why = f"{picture.name}{'' if every_subject else f', detection {place}'}: {reason}"
                    skipped.append(why)
        if crops:
            entries = {entry: np.concatenate([part[entry] for part in parts]) for entry in parts[0]}
            save_store(how.folder, name, entries | {"embeddings": how.embedder.embed_crops(crops)}, how.form)
        elif every_subject:
            raise DataError(f"No gallery picture of subject {name} could be used: {why}")
        faces += len(crops)
        how.progress(number, len(stores))
    there_now = len(list(how.folder.glob(f"*.{how.form}")))
    if not there_now:
        reason = next(iter((*unreadable.values(), *skipped)), "")
        raise DataError(f"No face could be embedded, so there is no store: {reason}")
    write_origin(how.folder, replace(origin, stores=there_now))
    return ExtractionSummary(there_now, faces, unreadable, tuple(skipped))


def _entries_of(answer: ImageDetections) -> dict[str, Array]:
    entries = {
        "detection_scores": np.asarray(answer.scores, dtype=np.float64).reshape(-1, 1),
        "bboxes": np.asarray(answer.boxes_xywh, dtype=np.float64),
    }
    return entries if answer.landmarks is None else entries | {"landmarks": np.asarray(answer.landmarks, np.float64)}


_Cuts = list["Pixels | str"]  # per face its pixels, or why it can't be cut out


def _cut_ahead(pictures: Sequence[_PictureToCut], how: Extraction) -> Iterator[_Cuts | str]:
    """The faces of every picture, in order; a few pictures are read and cut ahead by other threads."""
    from evenhand.instruments.ahead import TIME_LIMIT, ahead

    work = partial(_cut, how=how)
    if how.workers < 1:
        yield from map(work, pictures)
        return
    outcomes = ahead(pictures, work, workers=how.workers, depth=2 * how.workers)
    for picture, outcome in zip(pictures, outcomes, strict=True):
        yield f"{picture.path}: was not read within {TIME_LIMIT:.0f} seconds." if outcome.done is None else outcome.done


def _cut(picture: _PictureToCut, how: Extraction) -> _Cuts | str:
    pixels = _read((picture.path, how.upright))
    return pixels if isinstance(pixels, str) else [_crop(pixels, face, how.embedder) for face in picture.faces]


def _crop(pixels: Pixels, face: Face, embedder: FaceEmbedder) -> Pixels | str:
    if face.landmarks is not None and np.ptp(face.landmarks, axis=0).max() < 1e-3:
        return "all landmarks coincide."
    try:
        return embedder.cut(pixels, face)
    except EvenhandError as error:
        return str(error)


def _faces_of(answer: ImageDetections) -> list[Face]:
    from evenhand.instruments.faces import Face

    if answer.landmarks is not None:
        return [_face_of(points, float(score)) for points, score in zip(answer.landmarks, answer.scores, strict=True)]
    x, y, width, height = np.asarray(answer.boxes_xywh, dtype=np.float64).reshape(-1, 4).T.tolist()
    boxes = zip(x, y, width, height, strict=True)
    return [Face((a, b, a + c, b + d), float(s)) for (a, b, c, d), s in zip(boxes, answer.scores, strict=True)]


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
