"""Faces and videos put to a model, and its embeddings written as a submission."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.layout import KINDS, ProtocolFiles, release_of
from evenhand.benchmarks.ijb.lists import read_face_list
from evenhand.benchmarks.ijb.options import FaceQuestionOptions
from evenhand.benchmarks.ijb.submission import Parts, read_embedded
from evenhand.benchmarks.ijb.templates import FacePlaces, ProtocolFaces, join_faces, read_faces
from evenhand.core.errors import DataError, OptionError, PredictionError
from evenhand.core.records import Array
from evenhand.core.task import Codec, Dataset, InputFact, P, Sample, Submitted
from evenhand.files.outputs import write_csv, write_npy
from evenhand.files.writing import make_folder

MIRRORED = "/mirrored"  # at the end of a sample's id


@dataclass(frozen=True)
class EmbeddedFace:
    """The embedding of a face, and the score of the detector that found it, if there was one."""

    vector: NDArray[np.float32]
    score: float | None = None


@dataclass(frozen=True)
class AskedFaces:
    """The faces that a model is asked about, and their detector scores where list files have them."""

    faces: ProtocolFaces
    scores: NDArray[np.float64] | None = None
    is_listed: bool = False  # names are those of list files, which name no subjects

    def __len__(self) -> int:
        return len(self.faces)


LOOSE_CROPS = "loose_crop"
_TESTS_OF_CROPS = {1, 4}
_KINDS = {  # files with the faces of a test
    1: ("gallery", "mixed_probes"),
    2: ("covariate_templates",),
    3: ("gallery", "image_probes"),
    4: ("gallery", "mixed_probes"),
    5: ("gallery", "video_probes"),
}


def load_faces(folder: Path, options: FaceQuestionOptions) -> Dataset[AskedFaces]:
    """Every distinct face of the asked tests, as a sample with its box and landmarks.

    The community's release has loose crops, named in list files with five landmarks each, which serve tests 1 and 4.
    """
    folder = Path(folder)
    layout = ProtocolFiles.of(folder)
    is_listed, has_crops = bool(layout.all("face_list")), (folder / LOOSE_CROPS).is_dir()
    can_serve = bool(_TESTS_OF_CROPS & set(options.tests))
    if options.crops == "loose" and not can_serve:
        raise OptionError(
            f"Loose crops serve the tests 1 and 4, but tests={','.join(map(str, options.tests))} was asked. Leave out "
            "tests, or crops=loose."
        )
    if options.crops == "loose" or (options.crops == "auto" and is_listed and has_crops and can_serve):
        return _load_crops(folder, layout, options)
    kinds = [kind for test in sorted(set(options.tests)) for kind in _KINDS.get(test, ())]
    if not kinds:
        raise OptionError("tests=7: test 7 has no templates of its own. Name the tests that share its faces, too.")
    if {1, 4} & set(options.tests):
        kinds += ["split_templates", "split_gallery", "split_probes"]
    paths = list(dict.fromkeys(layout.paths(*kinds)))
    if not paths:
        raise DataError(
            f"{folder} has no template files for the tests {', '.join(map(str, options.tests))}: no file like "
            f"{KINDS[kinds[0]].example}. {_advice(folder, is_listed, has_crops)}"
        )
    read = [read_faces(path) for path in paths]
    faces = _distinct(join_faces([part for part, _ in read]))
    return _asked(folder, release_of(paths[0]), AskedFaces(faces), tuple(fact for _, fact in read), options)


def _advice(folder: Path, is_listed: bool, has_crops: bool) -> str:
    if is_listed and has_crops:
        return f"Its list files and {LOOSE_CROPS}/ serve the tests 1 and 4: leave out crops and tests."
    if is_listed:
        return f"It has list files, whose pictures are expected in {folder / LOOSE_CROPS}."
    return "Give the folder that holds `protocol/`, or `meta/` and `loose_crop/`."


def _load_crops(folder: Path, layout: ProtocolFiles, options: FaceQuestionOptions) -> Dataset[AskedFaces]:
    import polars as pl

    path = layout.one("face_list")
    listed = read_face_list(path, layout.one("landmark_list"))
    assert listed.landmarks is not None
    _, first, image = np.unique(listed.name.astype(str), return_index=True, return_inverse=True)
    is_like = np.isclose(listed.landmarks, listed.landmarks[first[image]], rtol=0, atol=0, equal_nan=True)
    wrong = np.flatnonzero(~is_like.all(axis=1))
    if len(wrong):
        name = listed.name[wrong[0]]
        raise DataError(
            f"{listed.inputs[-1].path}: image {name!r} stands there with different landmarks ({len(wrong):,} such "
            f"lines). Embeddings are joined to templates by the image's name, so each face needs a crop of its own: "
            f"give one of them another name in this file and in {path}."
        )
    problem = listed.unusable_score(np.ones(len(listed), dtype=np.bool_))
    if problem is not None:  # before a model works for hours: faces.csv would get it, and could not be read
        raise DataError(f"{problem} Correct it; 1 on every line weighs all faces the same.")
    rows = np.sort(first)  # an image that is in several templates is asked once
    nobody = np.full(len(rows), -1, dtype=np.int64)
    places = FacePlaces.unknown(len(rows), listed.landmarks[rows])
    names = pl.Series(listed.name[rows], dtype=pl.String)
    faces = ProtocolFaces(listed.template[rows], nobody, names, nobody, listed.medium[rows], lambda: places)
    asked = AskedFaces(faces, None if listed.score is None else listed.score[rows], is_listed=True)
    return _asked(folder / LOOSE_CROPS, release_of(path), asked, listed.inputs, options)


def _asked(
    folder: Path, version: str, asked: AskedFaces, inputs: tuple[InputFact, ...], options: FaceQuestionOptions
) -> Dataset[AskedFaces]:
    """One sample per face, and one for its mirror image where that is asked for."""
    faces, samples = asked.faces, []
    rows = zip(faces.filename.to_list(), faces.places.box, faces.places.landmarks, strict=True)
    for row, (name, box, landmarks) in enumerate(rows):
        media = (folder / str(name),)
        given = {"box": None if asked.is_listed else tuple(box.tolist()), "landmarks": _points(landmarks)}
        samples.append(Sample(str(row), media, {**given, "mirror": False}))
        if options.mirror:
            samples.append(Sample(f"{row}{MIRRORED}", media, {**given, "mirror": True}))
    return Dataset(version=version, samples=samples, truth=asked, inputs=inputs, facts={"faces": len(faces)})


def load_videos(folder: Path, options: Any) -> Dataset[ProtocolFaces]:
    """Every video probe of test 5: the video, and frame and box of the first occurrence."""
    folder = Path(folder)
    path = ProtocolFiles.of(folder).one("video_probes")
    faces, fact = read_faces(path)
    box, landmarks, frame = faces.places
    video = np.full(len(faces), "") if faces.video is None else faces.video
    samples = [
        Sample(
            str(faces.template[row]),
            (folder / str(video[row]),),
            {
                "first_frame": 0 if np.isnan(frame[row]) else int(frame[row]),
                "box": tuple(box[row].tolist()),
                "landmarks": _points(landmarks[row]),
            },
        )
        for row in range(len(faces))
    ]
    return Dataset(version=release_of(path), samples=samples, truth=faces, inputs=(fact,), facts={"videos": len(faces)})


class _FolderCodec(Codec[P]):
    """A folder with embeddings, and a table that says whose they are."""

    filename = "submission"

    def read(self, path: Path, dataset: Dataset[Any], options: Any) -> Submitted[Any]:
        content, files = read_embedded(Parts.of(path))
        return Submitted(content, inputs=files())


class FaceFolderCodec(_FolderCodec[EmbeddedFace]):
    """A folder with embeddings.npy, faces.csv and, with mirrored faces, embeddings_flip.npy."""

    example = "embeddings.npy (faces, dimensions), embeddings_flip.npy, faces.csv"

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[AskedFaces], options: Any) -> None:
        given = {name: self._answer(answer) for name, answer in answers if answer is not None}
        plain = [row for row in range(len(dataset.truth)) if str(row) in given]
        if not plain:
            raise PredictionError("The model embedded no face: there is nothing to write.")
        _refuse_other_lengths({name: face.vector for name, face in given.items()})
        make_folder(path)
        vectors = np.stack([given[str(row)].vector for row in plain])
        write_npy(path / "embeddings.npy", vectors)
        if options.mirror:
            lacking = [row for row in plain if f"{row}{MIRRORED}" not in given]
            if lacking:
                raise PredictionError(
                    f"{len(lacking)} faces were embedded without their mirrored picture. Ask again with --resume, or "
                    "leave the mirrored pass out with mirror=false."
                )
            write_npy(path / "embeddings_flip.npy", np.stack([given[f"{row}{MIRRORED}"].vector for row in plain]))
        asked, faces = dataset.truth, dataset.truth.faces
        columns: dict[str, Sequence[Any]] = {
            "FACE_INDEX": range(len(plain)),
            "FILENAME": faces.filename[plain].to_list(),
        }
        if not asked.is_listed:
            columns |= {"SUBJECT_ID": faces.subject[plain].tolist(), "SIGHTING_ID": faces.sighting[plain].tolist()}
        scores = [given[str(row)].score for row in plain]
        if None in scores and asked.scores is not None:
            scores = asked.scores[plain].tolist()
        if None not in scores:
            columns["FACE_SCORE"] = scores
        write_csv(path / "faces.csv", list(columns), zip(*columns.values(), strict=True))

    def to_plain(self, answer: Any) -> Any:
        face = self._answer(answer)
        return {"vector": face.vector, "score": face.score}

    def from_plain(self, plain: Any) -> EmbeddedFace:
        return self._answer(EmbeddedFace(np.asarray(plain["vector"], dtype=np.float32), plain["score"]))

    def _answer(self, answer: Any) -> EmbeddedFace:
        """A vector, or a vector with a detector score."""
        if isinstance(answer, EmbeddedFace):
            face = answer
        else:
            vector, score = answer if isinstance(answer, tuple) and len(answer) == 2 else (answer, None)
            face = EmbeddedFace(np.asarray(vector, dtype=np.float32), None if score is None else float(score))
        if face.vector.ndim != 1 or not len(face.vector) or not np.isfinite(face.vector).all():
            raise PredictionError(
                f"An embedding has the shape {face.vector.shape} or a value that is not finite; "
                "one vector of finite numbers per face was expected."
            )
        if face.score is not None and not np.isfinite(face.score):
            raise PredictionError(
                f"A detector score is {face.score}; a finite number was expected, or the vector alone without a score."
            )
        return face


class VideoCodec(_FolderCodec[NDArray[np.float32]]):
    """A folder with video_embeddings.npy and video_frames.csv (TEMPLATE_ID, FACE_INDEX)."""

    example = "video_embeddings.npy (frames, dimensions), video_frames.csv"

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[Any], options: Any) -> None:
        every = [(name, self._vectors(vectors)) for name, vectors in answers if vectors is not None]
        listed = [(name, vectors) for name, vectors in every if len(vectors)]  # without frames: a failure to enrol
        if not listed:
            raise PredictionError("The model embedded no video: there is nothing to write.")
        _refuse_other_lengths({name: vectors[0] for name, vectors in listed})
        make_folder(path)
        write_npy(path / "video_embeddings.npy", np.concatenate([vectors for _, vectors in listed]))
        templates = (name for name, vectors in listed for _ in vectors)
        rows = ((name, place) for place, name in enumerate(templates))
        write_csv(path / "video_frames.csv", ("TEMPLATE_ID", "FACE_INDEX"), rows)

    def to_plain(self, answer: Any) -> Any:
        return self._vectors(answer)

    def from_plain(self, plain: Any) -> NDArray[np.float32]:
        return self._vectors(plain)

    def _vectors(self, answer: Any) -> NDArray[np.float32]:
        vectors = np.asarray(answer, dtype=np.float32)
        if not vectors.size:
            return vectors.reshape(0, 0)  # nobody was found in the video
        vectors = vectors[np.newaxis] if vectors.ndim == 1 else vectors
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise PredictionError(
                f"Embeddings of a video have the shape {vectors.shape}; (frames, dimensions) expected."
            )
        return vectors


def _refuse_other_lengths(vectors: Mapping[str, Array]) -> None:
    """Raise when the embeddings of two samples have different lengths."""
    lengths = {len(vector): name for name, vector in reversed(list(vectors.items()))}
    if len(lengths) > 1:
        (one, first), (other, second) = sorted(lengths.items())[:2]
        raise PredictionError(
            f"The model gave embeddings of {one} numbers (sample {first}) and of {other} (sample {second}). All must "
            "have the same length: correct the model and ask it again, without --resume."
        )


def _distinct(faces: ProtocolFaces) -> ProtocolFaces:
    """Each face once, in the order in which it is first met."""
    keys = zip(faces.filename.to_list(), faces.subject.tolist(), faces.sighting.tolist(), strict=True)
    first: dict[tuple[Any, ...], int] = {}
    for row, key in enumerate(keys):
        first.setdefault(key, row)
    return faces.take(np.array(list(first.values()), dtype=np.int64))


def _points(landmarks: NDArray[np.float64]) -> tuple[tuple[float, float], ...] | None:
    if np.isnan(landmarks).any():
        return None
    return tuple((float(x), float(y)) for x, y in landmarks.reshape(-1, 2))
