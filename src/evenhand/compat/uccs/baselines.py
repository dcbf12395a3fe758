"""The three commands before the evaluation: pictures in; a detection file, embedding stores and a score file out.

Detection as published is MTCNN with deliberately low thresholds, faces from 40 pixels on and at most fifty per image;
YuNet is the modern second. Recognition aligns faces by five landmarks to 112 × 112 and embeds them by MagFace's
iResNet, from a checkpoint that the user names; dlib's 128 numbers and SFace run out of the box. Embeddings are
kept as they come, not scaled.

Both go on where they were stopped: what was found in a picture is in a journal beside the detection file until that is
written, and a store is whole or absent. Pictures are read ahead by threads while the network works. One that can't be
read is named and counted, and the work goes on; so is a face that can't be cut out.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenhand.benchmarks.uccs.data import list_images, read_gallery, read_subjects, subject_name
from evenhand.benchmarks.uccs.detections import ImageDetections, from_corners, read_found, write_detections
from evenhand.benchmarks.uccs.scoring import score_stores, write_binary, write_text
from evenhand.benchmarks.uccs.stores import StoreOrigin, begin_stores, save_store, write_origin
from evenhand.compat.uccs.config import Configuration
from evenhand.core.engine import Failed, Workplace, cause_of
from evenhand.core.errors import DataError, EvenhandError, OptionError, PartError
from evenhand.core.printing import duration
from evenhand.core.records import Array
from evenhand.core.task import InputFact, Unanswered
from evenhand.files.writing import make_folder, remove, write_file
from evenhand.geometry.boxes import corners
from evenhand.store.journal import Journal, read_journal

if TYPE_CHECKING:
    from evenhand.instruments.detectors import FaceDetector
    from evenhand.instruments.embedders import FaceEmbedder
    from evenhand.instruments.faces import Face
    from evenhand.instruments.pictures import Pixels

Say = Callable[[str], None]
Answer = ImageDetections | Unanswered  # of a picture, or why it can't be read
LEAST_FACE = 40  # pixels
FACTOR = 0.709
LONGEST_LOOK = 300.0  # seconds for one picture, where the engine can stop it: some damaged ones never end


def baseline_detection(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Find the faces in all pictures of the set and write the detection score file."""
    from evenhand import engines

    folder, most = Path(config["image_directory"]), int(config["detection.max_detections"])
    names, _ = list_images(Path(config["data_directory"]) / f"{config['which_set']}.csv", folder)
    build = partial(
        build_detector,
        own.detector,
        tuple(config["detection.thresholds"]),
        Path(own.model_folder) if own.model_folder else None,
        device_of(config, say) if own.detector == "mtcnn" else "cpu",
    )
    detector, out, total = build(), Path(config["detection.results"]), len(names)
    listed = hashlib.sha256("\n".join(names).encode("utf-8", "surrogatepass")).hexdigest()  # as journals have it
    settings = f"{detector.fingerprint}\n{folder}\n{most}\n{own.upright}\n{listed}\n"
    journal, answers = open_journal(make_folder(out.parent) / f".{out.name}.journal", settings)
    failed, progress = dict[str, str](), RateOfProgress(say, "pictures")
    if answers:
        say(f"continuing: {len(answers)} of {total} pictures are done")
    pictures = [BaselinePicture(name, folder / name, (), {}) for name in names if name not in answers]
    parallel = int(config["detection.parallel"])
    outcomes: Iterator[Answer | Failed]
    if parallel:
        detect = partial(_detect, most, own.upright)
        parts = engines.parse(f"processes:{parallel}").map(detect, pictures, setup=build, time_limit=LONGEST_LOOK)
        outcomes = (part if isinstance(part, Failed) else part.value for part in parts)
    else:
        outcomes = _detect_here(pictures, detector, most, upright=own.upright)
    with closing(journal):
        for picture, outcome in zip(pictures, outcomes, strict=True):
            if isinstance(outcome, Failed):
                failed[picture.name] = outcome.cause
            else:
                answers[picture.name] = outcome
                journal.add(picture.name, _plain(outcome))
            progress(len(answers) + len(failed), total)
    ordered = [(name, answers[name]) for name in names if name in answers]
    unreadable = [answer.reason for _, answer in ordered if isinstance(answer, Unanswered)]
    detections = [(name, answer) for name, answer in ordered if not isinstance(answer, Unanswered)]
    _say_reasons(f"{len(unreadable)} of {total} pictures could not be used", unreadable, say)
    if not detections:
        if not failed:
            remove(journal.folder, below=journal.folder.parent)
        reason = next(iter((*failed.values(), *unreadable)))
        raise DataError(f"None of {total} pictures could be used, so {out} is left as it is: {reason}")
    rows = write_detections(out, detections)
    say(f"wrote {out}: {rows} detections in {len(detections)} pictures ({own.detector})")
    if failed:
        name, cause = next(iter(failed.items()))
        raise PartError(
            f"The detector failed at {len(failed)} of {total} pictures, first at {name}: {cause}. "
            f"{out} lacks them; the same command looks at these pictures only."
        )
    remove(journal.folder, below=journal.folder.parent)


def baseline_recognition(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Embed the detected faces of the set, then the gallery."""
    device = device_of(config, say) if own.network == "magface" else "cpu"
    detections, source = read_found(Path(config["recognition.detection_file"]))
    depth = config["recognition.arch"].removeprefix("iresnet")
    embedder = build_embedder(
        f"magface-{depth}" if own.network == "magface" and depth != "100" else own.network,
        checkpoint=Path(own.checkpoint) if own.checkpoint else None,
        folder=Path(own.model_folder) if own.model_folder else None,
        device=device,
    )
    wanted = int(config["recognition.embedding_size"])
    if embedder.dimensions != wanted:
        if "recognition.embedding_size" in config.given:
            given = embedder.dimensions
            raise OptionError(f"recognition.embedding_size is {wanted}; {own.network} gives {given} values.")
        say(f"note: {own.network} gives {embedder.dimensions} values per face, not {wanted}.")
    pictures, data = Path(config["image_directory"]), Path(config["data_directory"])
    stores = {
        Path(name).stem: [BaselinePicture(name, pictures / name, _faces_of(answer), _entries_of(answer))]
        for name, answer in sorted(detections.items())
    }
    how = _Extraction(embedder, config, own, say)
    how.embed(stores, source, "recognition.result_dir", f"stores ({own.network})")
    if own.disable_gallery:
        return
    gallery, source = read_gallery(data / "gallery.csv")
    stores = {}
    for picture in sorted(gallery, key=lambda picture: picture.subject):  # grouped, however many each has
        # The folder is named before the underscore.
        path = data / "gallery_images" / picture.file.partition("_")[0] / picture.file
        entries = {"landmarks": picture.landmarks[np.newaxis]}
        cut = BaselinePicture(picture.file, path, [_face_of(picture.landmarks)], entries)
        stores.setdefault(subject_name(picture.subject), []).append(cut)
    batch = max(10, int(config["recognition.batch_size_perImg"]) // 10 * 10)
    how = replace(how, embedder=replace(embedder, batch=batch))
    how.embed(stores, source, "scoring.gallery", "subjects")


def scoring(config: Configuration, own: argparse.Namespace, say: Say) -> None:
    """Enrol the gallery, compare all probe faces, and write text or, for a name in `.npy`, the binary store."""
    subjects, table = read_subjects(Path(config["data_directory"]) / "gallery.csv")
    out = Path(config["scoring.results"])
    enrolment, blocks, notes = score_stores(
        Path(config["scoring.gallery"]), Path(config["scoring.probe"]), subjects, table
    )
    for note in notes:
        say(f"note: {note}")
    write = write_binary if out.suffix == ".npy" else write_text
    rows = write(out, blocks, enrolment.subjects)
    say(f"wrote {out}: {rows} detections × {len(enrolment.subjects)} subjects")


def device_of(config: Configuration, say: Say) -> str:
    """The device that `gpu` means: that GPU when there is one; else the processor, unless it was asked for by hand."""
    index = int(config["gpu"])
    if index < 0:
        return "cpu"
    try:
        import torch
    except ImportError:
        return "cpu"  # whoever needs torch says so itself
    here = torch.cuda.device_count() if torch.cuda.is_available() else 0
    if index < here:
        return f"cuda:{index}"
    if "gpu" in config.given:
        raise OptionError(f"--gpu {index} was asked for, but torch sees {here or 'no'} GPU here. Use --gpu -1.")
    say("note: there is no GPU here; the processor is used.")
    return "cpu"


def build_detector(name: str, thresholds: tuple[float, float, float], folder: Path | None, device: str) -> FaceDetector:
    """The detector of that name with its weights, which are in `folder`."""
    from evenhand.instruments.detectors import mtcnn_detector, yunet_detector

    if name == "yunet":
        return yunet_detector(least_score=thresholds[-1], folder=folder)  # the last threshold is its only one
    return mtcnn_detector(least_face=LEAST_FACE, thresholds=thresholds, factor=FACTOR, folder=folder, device=device)


def open_journal(folder: Path, settings: str) -> tuple[Journal, dict[str, Answer]]:
    """The journal of a detection file, and what it has of each picture.

    It belongs to one list of images and one setting; what another left is removed.
    """
    note = folder / "settings"
    if folder.exists() and not (note.is_file() and note.read_text(encoding="utf-8") == settings):
        remove(folder, below=folder.parent)
    answers = {
        name: plain if isinstance(plain, Unanswered) else ImageDetections(**plain)
        for name, plain in read_journal(folder).items()
    }
    journal = Journal(folder, most_answers=1)
    write_file(note, settings)
    return journal, answers


def _plain(answer: Answer) -> Unanswered | dict[str, Array]:
    if isinstance(answer, Unanswered):
        return answer
    return {name: part for name, part in answer._asdict().items() if part is not None}


class BaselinePicture(NamedTuple):
    """A picture; the faces to cut out of it, and what a store has of each beside its embedding."""

    name: str
    path: Path
    faces: Sequence[Face]
    entries: Mapping[str, Array]


def _detect_here(
    pictures: Sequence[BaselinePicture], detector: FaceDetector, most: int, *, upright: bool
) -> Iterator[Answer | Failed]:
    """The detections of every picture, or why it can't be read; threads read pictures ahead of the network."""
    read = _ahead(pictures, partial(_read, upright=upright), workers=2, depth=2)
    for index, pixels in enumerate(read):
        try:
            yield pixels if isinstance(pixels, Unanswered) else _detections(detector, pixels, most)
        except Exception as error:  # the others are looked at all the same
            yield Failed(index, cause_of(error))


def _detect(most: int, upright: bool, picture: BaselinePicture, place: Workplace) -> Answer:
    """The same by a worker of an engine, which has a detector of its own."""
    pixels = _read(picture, upright=upright)
    return pixels if isinstance(pixels, Unanswered) else _detections(place.kept, pixels, most)


def _ahead(
    pictures: Sequence[BaselinePicture], work: Callable[[BaselinePicture], Any], *, workers: int, depth: int
) -> Iterator[Any]:
    """What threads make of every picture, in order and a few ahead; or why it can't be read."""
    from evenhand.instruments.ahead import TIME_LIMIT, ahead

    outcomes = ahead(pictures, work, workers=workers, depth=depth)
    for picture, (done, _) in zip(pictures, outcomes, strict=True):
        yield Unanswered(f"{picture.path}: was not read within {TIME_LIMIT:.0f} seconds.") if done is None else done


def _read(picture: BaselinePicture, *, upright: bool) -> Pixels | Unanswered:
    """The pixels of a picture, or why it can't be read."""
    from evenhand.instruments.errors import PictureError
    from evenhand.instruments.pictures import AS_IT_IS, AS_STORED, load

    try:
        return load(picture.path, AS_IT_IS if upright else AS_STORED).pixels
    except PictureError as error:
        return Unanswered(str(error))


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


@dataclass(frozen=True)
class _Extraction:
    """Faces into stores, by one network and the options of one call."""

    embedder: FaceEmbedder
    config: Configuration
    own: argparse.Namespace
    say: Say

    def embed(self, stores: Mapping[str, Sequence[BaselinePicture]], source: InputFact, option: str, what: str) -> None:
        """Write every store that is not there, and note at the end that all are.

        `option` names the folder. Raises when there is no store then; and when nothing of a subject could be used.
        """
        folder, form, is_gallery = Path(self.config[option]), self.own.form, what == "subjects"
        if not stores:
            lack = "names no picture" if is_gallery else "has no detection"
            raise DataError(f"{source.path} {lack}, so there is no face to embed. Nothing was written.")
        read_as = "turned upright" if self.own.upright else "as stored"
        origin = StoreOrigin(self.embedder.fingerprint, read_as, source.path, source.hash, form)
        there = begin_stores(folder, origin, option, replace=self.own.replace)
        todo = {name: pictures for name, pictures in stores.items() if name not in there}
        faces = sum(len(picture.faces) for name in stores.keys() - todo.keys() for picture in stores[name])
        unreadable: list[str] = []
        skipped: list[str] = []
        every = [picture for pictures in todo.values() for picture in pictures]
        workers = int(self.config["recognition.workers"])
        cut = _ahead(every, self._cut, workers=workers, depth=2 * workers)
        progress = RateOfProgress(self.say, "subjects" if is_gallery else "pictures")
        for number, (name, pictures) in enumerate(todo.items(), len(stores) - len(todo) + 1):
            crops: list[Pixels] = []
            parts: list[dict[str, Array]] = []
            why = ""
            for picture, cuts in zip(pictures, cut, strict=False):  # the cuts of the other stores follow
                if isinstance(cuts, Unanswered):
                    unreadable.append(why := cuts.reason)
                    continue
                kept = [place for place, crop in enumerate(cuts) if not isinstance(crop, str)]
                crops += [cuts[place] for place in kept]
                parts.append({entry: array[kept] for entry, array in picture.entries.items()})
                for place, reason in enumerate(cuts):
                    if isinstance(reason, str):
                        why = f"{picture.name}{'' if is_gallery else f', detection {place}'}: {reason}"
                        skipped.append(why)
            if crops:
                entries = {entry: np.concatenate([part[entry] for part in parts]) for entry in parts[0]}
                save_store(folder, name, entries | {"embeddings": self.embedder.embed_crops(crops)}, form)
            elif is_gallery:
                raise DataError(f"No gallery picture of subject {name} could be used: {why}")
            faces += len(crops)
            progress(number, len(stores))
        there_now = len(list(folder.glob(f"*.{form}")))
        if not there_now:
            reason = next(iter((*unreadable, *skipped)), "")
            raise DataError(f"No face could be embedded, so there is no store: {reason}")
        write_origin(folder, replace(origin, stores=there_now))
        total = sum(map(len, stores.values()))
        _say_reasons(f"{len(unreadable)} of {total} pictures could not be used", unreadable, self.say)
        _say_reasons(f"{len(skipped)} faces were skipped", skipped, self.say)
        self.say(f"wrote {folder}: {faces} faces {'of' if is_gallery else 'in'} {there_now} {what}")

    def _cut(self, picture: BaselinePicture) -> list[Pixels | str] | Unanswered:
        """Per face its pixels, or why it can't be cut out; or why the picture can't be read."""
        pixels = _read(picture, upright=self.own.upright)
        return (
            pixels if isinstance(pixels, Unanswered) else [_crop(pixels, face, self.embedder) for face in picture.faces]
        )


def _entries_of(answer: ImageDetections) -> dict[str, Array]:
    entries = {
        "detection_scores": np.asarray(answer.scores, dtype=np.float64).reshape(-1, 1),
        "bboxes": np.asarray(answer.boxes_xywh, dtype=np.float64),
    }
    return entries if answer.landmarks is None else entries | {"landmarks": np.asarray(answer.landmarks, np.float64)}


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
    boxes = corners(np.asarray(answer.boxes_xywh, dtype=np.float64).reshape(-1, 4)).tolist()
    return [Face((*box,), float(score)) for box, score in zip(boxes, answer.scores, strict=True)]


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


def _say_reasons(what: str, reasons: Sequence[str], say: Say, most: int = 20) -> None:
    if not reasons:
        return
    say(f"note: {what}:")
    for reason in reasons[:most]:
        say(f"  {reason}")
    if len(reasons) > most:
        say(f"  and {len(reasons) - most} more")


class RateOfProgress:
    """Says how far the work is, from the first piece on and then every ten seconds, with rate and remaining time."""

    def __init__(self, say: Say, what: str, clock: Callable[[], float] = monotonic, every: float = 10.0) -> None:
        self._say, self._what, self._clock, self._every = say, what, clock, every
        self._begun = self._said = clock()
        self._first = 0

    def __call__(self, done: int, total: int) -> None:
        now = self._clock()
        if not self._first:
            self._first = done
        elif now - self._said < self._every and done < total:
            return
        self._said = now
        here = done - self._first + 1
        rate = here / max(now - self._begun, 1e-9)
        speed = f"{rate:.1f} per second" if rate >= 1 else f"{1 / rate:.1f} seconds each"
        left = f", {duration((total - done) / rate)} left" if done < total else ""
        self._say(f"{done} of {total} {self._what}, {speed}{left}")
