"""Faces and videos put to a model, and its embeddings written as a submission."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb import layout as names
from evenhand.benchmarks.ijb.layout import Layout
from evenhand.benchmarks.ijb.options import FaceOptions
from evenhand.benchmarks.ijb.submission import Parts, Submitted, read_embedded
from evenhand.benchmarks.ijb.templates import Faces, join_faces, read_faces
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.task import Codec, Dataset, Sample

MIRRORED = "/mirrored"  # at the end of a sample's id


@dataclass(frozen=True)
class FaceAnswer:
    """The embedding of a face, and the score of the detector that found it, if there was one."""

    vector: NDArray[np.float32]
    score: float | None = None


def load_faces(folder: Path, options: FaceOptions) -> Dataset[Faces]:
    """Every distinct face of the asked tests, as a sample with its box and landmarks."""
    folder = Path(folder)
    layout = Layout.of(folder)
    paths = _files(layout, set(options.tests))
    if not paths:
        raise DataError(f"{folder} has no template files for the tests {', '.join(map(str, options.tests))}.")
    read = [read_faces(path) for path in paths]
    faces = _distinct(join_faces([found for found, _ in read]))
    samples = []
    for row in range(len(faces)):
        given = {"box": tuple(faces.box[row].tolist()), "landmarks": _points(faces.landmarks[row]), "mirror": False}
        media = (folder / str(faces.filename[row]),)
        samples.append(Sample(str(row), media, given))
        if options.mirror:
            samples.append(Sample(f"{row}{MIRRORED}", media, {**given, "mirror": True}))
    return Dataset(
        version=paths[0].name.partition("_")[0].upper(),
        samples=samples,
        truth=faces,
        inputs=tuple(fact for _, fact in read),
        facts={"faces": len(faces)},
    )


def load_videos(folder: Path, options: Any) -> Dataset[Faces]:
    """Every video probe of test 5: the video, and frame and box of the first occurrence."""
    folder = Path(folder)
    path = Layout.of(folder).one(names.PROBES["video"], "file of video probes")
    faces, fact = read_faces(path)
    samples = [
        Sample(
            str(faces.template[row]),
            (folder / str(faces.video[row]),),
            {
                "first_frame": 0 if np.isnan(faces.frame[row]) else int(faces.frame[row]),
                "box": tuple(faces.box[row].tolist()),
                "landmarks": _points(faces.landmarks[row]),
            },
        )
        for row in range(len(faces))
    ]
    version = path.name.partition("_")[0].upper()
    return Dataset(version=version, samples=samples, truth=faces, inputs=(fact,), facts={"videos": len(faces)})


class FaceCodec(Codec[FaceAnswer]):
    """A folder with embeddings.npy, faces.csv and, with mirrored faces, embeddings_flip.npy."""

    filename = "submission"
    example = "embeddings.npy (faces, dimensions), embeddings_flip.npy, faces.csv"

    def read(self, path: Path, dataset: Dataset[Faces], options: FaceOptions) -> Submitted[Any]:
        content, facts = read_embedded(Parts.of(path), lambda content: content)
        return Submitted(content, inputs=facts)

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Faces], options: Any) -> None:
        given = {name: self._answer(answer) for name, answer in answers if answer is not None}
        plain = [row for row in range(len(dataset.truth)) if str(row) in given]
        if not plain:
            raise PredictionError("The model embedded no face: there is nothing to write.")
        path.mkdir(parents=True, exist_ok=True)
        vectors = np.stack([given[str(row)].vector for row in plain])
        np.save(path / "embeddings.npy", vectors)
        if options.mirror:
            lacking = [row for row in plain if f"{row}{MIRRORED}" not in given]
            if lacking:
                raise PredictionError(
                    f"{len(lacking)} faces were embedded without their mirrored picture. Ask again with --resume, or "
                    "leave the mirrored pass out with mirror=false."
                )
            np.save(path / "embeddings_flip.npy", np.stack([given[f"{row}{MIRRORED}"].vector for row in plain]))
        faces = dataset.truth
        scored = all(given[str(row)].score is not None for row in plain)
        with (path / "faces.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            header = ["FACE_INDEX", "FILENAME", "SUBJECT_ID", "SIGHTING_ID"]
            writer.writerow([*header, "FACE_SCORE"] if scored else header)
            for place, row in enumerate(plain):
                line = [place, faces.filename[row], faces.subject[row], faces.sighting[row]]
                writer.writerow([*line, given[str(row)].score] if scored else line)

    def to_plain(self, answer: Any) -> Any:
        made = self._answer(answer)
        return {"vector": made.vector, "score": made.score}

    def from_plain(self, plain: Any) -> FaceAnswer:
        return self._answer(FaceAnswer(np.asarray(plain["vector"], dtype=np.float32), plain["score"]))

    def _answer(self, answer: Any) -> FaceAnswer:
        """A vector, or a vector with a detector score."""
        if isinstance(answer, FaceAnswer):
            made = answer
        else:
            vector, score = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
            made = FaceAnswer(np.asarray(vector, dtype=np.float32), None if score is None else float(score))
        if made.vector.ndim != 1 or not len(made.vector) or not np.isfinite(made.vector).all():
            raise PredictionError(
                f"An embedding has the shape {made.vector.shape} or a value that is not finite; "
                "one vector of finite numbers per face was expected."
            )
        return made


class VideoCodec(Codec[NDArray[np.float32]]):
    """A folder with video_embeddings.npy and video_frames.csv (TEMPLATE_ID, FACE_INDEX)."""

    filename = "submission"
    example = "video_embeddings.npy (frames, dimensions), video_frames.csv"

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Submitted[Any]:
        content, facts = read_embedded(Parts.of(path), lambda content: content)
        return Submitted(content, inputs=facts)

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        listed = [(name, self._vectors(vectors)) for name, vectors in answers if vectors is not None]
        if not listed:
            raise PredictionError("The model embedded no video: there is nothing to write.")
        path.mkdir(parents=True, exist_ok=True)
        np.save(path / "video_embeddings.npy", np.concatenate([vectors for _, vectors in listed]))
        with (path / "video_frames.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(("TEMPLATE_ID", "FACE_INDEX"))
            place = 0
            for name, vectors in listed:
                writer.writerows((name, place + frame) for frame in range(len(vectors)))
                place += len(vectors)

    def to_plain(self, answer: Any) -> Any:
        return self._vectors(answer)

    def from_plain(self, plain: Any) -> NDArray[np.float32]:
        return self._vectors(plain)

    def _vectors(self, answer: Any) -> NDArray[np.float32]:
        vectors = np.asarray(answer, dtype=np.float32)
        vectors = vectors[np.newaxis] if vectors.ndim == 1 else vectors
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise PredictionError(
                f"Embeddings of a video have the shape {vectors.shape}; (frames, dimensions) expected."
            )
        return vectors


def _files(layout: Layout, tests: set[int]) -> list[Path]:
    galleries = [entry.path for entry in layout.all(names.GALLERY)]
    wanted = {
        1: [*galleries, *(entry.path for entry in layout.all(names.PROBES["mixed"]))],
        2: [entry.path for entry in layout.all(names.COVARIATE_TEMPLATES)],
        3: [*galleries, *(entry.path for entry in layout.all(names.PROBES["image"]))],
        4: [*galleries, *(entry.path for entry in layout.all(names.PROBES["mixed"]))],
        5: [*galleries, *(entry.path for entry in layout.all(names.PROBES["video"]))],
    }
    found = [path for test in sorted(tests & set(wanted)) for path in wanted[test]]
    if 1 in tests or 4 in tests:
        for pattern in (names.SPLIT_TEMPLATES, names.SPLIT_GALLERY, names.SPLIT_PROBES):
            found += [entry.path for entry in layout.all(pattern)]
    return list(dict.fromkeys(found))


def _distinct(faces: Faces) -> Faces:
    """Each face once, in the order in which it is first met."""
    keys = zip(faces.filename.tolist(), faces.subject.tolist(), faces.sighting.tolist(), strict=True)
    first: dict[tuple[Any, ...], int] = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    rows = np.array(list(first.values()), dtype=np.int64)
    return Faces(
        faces.template[rows],
        faces.subject[rows],
        faces.filename[rows],
        faces.sighting[rows],
        faces.medium[rows],
        faces.box[rows],
        faces.landmarks[rows],
        faces.frame[rows],
        faces.video[rows],
    )


def _points(landmarks: NDArray[np.float64]) -> tuple[tuple[float, float], ...] | None:
    if np.isnan(landmarks).any():
        return None
    return tuple((float(x), float(y)) for x, y in landmarks.reshape(-1, 2))
