"""What people hand in for tests 1 to 5.

A submission is a folder with the files named below, a TOML file that says which file is
what, or one file alone. Most have embeddings; those who can't share them give scores,
matrices of scores or candidate lists.

```toml
embeddings = "embeddings.npy"      # one row per face
flip = "embeddings_flip.npy"       # the same of the mirrored faces
faces = "faces.csv"                # FACE_INDEX, FILENAME, SUBJECT_ID, SIGHTING_ID, FACE_SCORE
video_frames = "video_frames.csv"  # TEMPLATE_ID, FACE_INDEX: which faces make up a video probe
rows = "row_to_face_index.csv"     # FACE_INDEX of each row of the list files
```
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.embeddings import FORMATS, open_array
from evenhand.benchmarks.ijb.files import read_table, refuse_duplicates
from evenhand.benchmarks.ijb.templates import Faces
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.results import Coverage
from evenhand.core.task import InputFact
from evenhand.files.inputs import hash_of, read
from evenhand.search.enrol import Templates

C = TypeVar("C")

SINGLE = (
    "embeddings", "flip", "faces", "rows", "video_frames", "video_embeddings", "video_flip", "scores", "candidates",
)  # fmt: skip


@dataclass(frozen=True)
class Submitted(Generic[C]):
    """A submission that is read as a whole; answers by sample id make no sense for it."""

    content: C
    coverage: Coverage = field(default_factory=Coverage)
    inputs: tuple[InputFact, ...] = ()
    warnings: tuple[str, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ids(self) -> Sequence[str]:
        return ()

    def get(self, sample: str) -> None:
        return None

    def stream(self) -> Iterator[Sequence[tuple[str, Any]]]:
        return iter(())


@dataclass(frozen=True)
class Parts:
    """Which file of a submission is what; `by_gallery` holds matrices or lists named after a gallery."""

    where: Path
    single: Mapping[str, Path]
    by_gallery: Mapping[str, Mapping[str, Path]]  # "scores" or "candidates" → gallery → file

    def get(self, name: str) -> Path | None:
        return self.single.get(name)

    @classmethod
    def of(cls, path: Path, galleries: Sequence[str] = ()) -> Parts:
        """The parts of a folder, a TOML file, or a single file."""
        path = Path(path)
        if path.suffix == ".toml":
            return cls._named(path, galleries)
        if path.is_dir():
            return cls._found(path, galleries)
        if not path.exists():
            raise PredictionError(f"{path} does not exist. Check the path.")
        role = "scores" if path.suffix == ".csv" else "embeddings"
        if path.suffix == ".csv" and path.stem.startswith("candidates"):
            role = "candidates"
        if len(galleries) == 1 and role != "embeddings":
            return cls(path, {}, {role: {galleries[0]: path}})
        return cls(path, {role: path}, {})

    @classmethod
    def _named(cls, path: Path, galleries: Sequence[str]) -> Parts:
        try:
            named = tomllib.loads(read(path, PredictionError).text(PredictionError))
        except tomllib.TOMLDecodeError as error:
            raise PredictionError(f"{path} is no TOML: {error}.") from None
        single: dict[str, Path] = {}
        tables: dict[str, dict[str, Path]] = {}
        for name, value in named.items():
            if name not in SINGLE:
                raise PredictionError(f"{path}: unknown entry {name!r}. Known: {', '.join(SINGLE)}.")
            if isinstance(value, str):
                single[name] = path.parent / value
            elif isinstance(value, dict) and name in ("scores", "candidates"):
                tables[name] = {gallery: path.parent / str(file) for gallery, file in value.items()}
                _refuse_unknown_galleries(path, tables[name], galleries)
            else:
                raise PredictionError(f"{path}: {name} must name a file, or for scores and candidates one per gallery.")
        return cls(path, single, tables)

    @classmethod
    def _found(cls, folder: Path, galleries: Sequence[str]) -> Parts:
        single: dict[str, Path] = {}
        stems = {
            "embeddings": "embeddings",
            "flip": "embeddings_flip",
            "video_embeddings": "video_embeddings",
            "video_flip": "video_embeddings_flip",
        }
        for name, stem in stems.items():
            there = [folder / f"{stem}{suffix}" for suffix in FORMATS if (folder / f"{stem}{suffix}").is_file()]
            if len(there) > 1:
                raise PredictionError(f"{folder} has {', '.join(path.name for path in there)}: keep one.")
            if there:
                single[name] = there[0]
        files = {
            "faces": ("faces.csv",),
            "video_frames": ("video_frames.csv",),
            "rows": ("row_to_face_index.csv", "meta/row_to_face_index.csv"),
            "scores": ("scores.csv", "scores.npy"),
        }
        for name, known in files.items():
            found = [folder / file for file in known if (folder / file).is_file()]
            if found:
                single[name] = found[0]
        tables: dict[str, dict[str, Path]] = {}
        for role in ("scores", "candidates"):
            for gallery in galleries:
                for suffix in (".csv", ".npy"):
                    path = folder / f"{role}_{gallery}{suffix}"
                    if path.is_file():
                        tables.setdefault(role, {})[gallery] = path
        if not single and not tables:
            raise PredictionError(
                f"{folder} has neither embeddings ({', '.join('embeddings' + suffix for suffix in FORMATS)}) "
                "nor scores (scores.csv, scores_GALLERY.csv) nor candidates_GALLERY.csv."
            )
        return cls(folder, single, tables)


@dataclass(frozen=True)
class Embedded:
    """Embeddings of faces, and which row belongs to which face."""

    vectors: Array  # (faces, dimensions)
    flipped: Array | None
    index: FaceIndex | None
    rows: NDArray[np.int64] | None  # row of the embeddings for each row in list-file order
    video: tuple[NDArray[np.int64], NDArray[np.int64]] | None  # template id, row of the embeddings
    scores: NDArray[np.float64] | None  # the detector's, by row of the embeddings
    where: Path
    video_vectors: Array | None = None  # of the frames of video probes, when they are not among the faces
    video_flipped: Array | None = None
    templates: Templates | None = None  # of test 1 or 2, when they are pooled already


@dataclass(frozen=True)
class FaceIndex:
    """Which row of the embeddings shows which face; key columns that are not given are None."""

    row: NDArray[np.int64]
    filename: NDArray[np.object_]
    subject: NDArray[np.int64] | None
    sighting: NDArray[np.int64] | None
    path: Path

    def find(self, faces: Faces) -> NDArray[np.int64]:
        """(faces,): the row of each face of a protocol, −1 where there is none.

        A face is told by its file and what else both sides know of it: subject, sighting.
        """
        import polars as pl

        mine: dict[str, Any] = {"file": pl.Series(self.filename, dtype=pl.String)}
        theirs: dict[str, Any] = {"file": pl.Series(faces.filename, dtype=pl.String)}
        for name, column, other in (
            ("subject", self.subject, faces.subject),
            ("sighting", self.sighting, faces.sighting),
        ):
            if column is not None and len(other) and other.min() >= 0:
                mine[name], theirs[name] = column, other
        keys = list(mine)
        index = pl.DataFrame({**mine, "row": self.row})
        again = np.flatnonzero(index.select(pl.struct(keys).is_duplicated()).to_series().to_numpy())
        if len(again):
            key = " / ".join(str(value) for value in index.row(int(again[-1]))[:-1])
            raise PredictionError(
                f"{self.path}, line {int(again[-1]) + 2}: the face {key} is there twice with "
                "different embeddings. Add SUBJECT_ID and SIGHTING_ID so that faces can be told apart."
            )
        joined = pl.DataFrame(theirs).join(index, on=keys, how="left", maintain_order="left")
        return np.asarray(joined["row"].fill_null(-1).to_numpy(), dtype=np.int64)


def read_embedded(
    parts: Parts, meanwhile: Callable[[Embedded], Embedded] = lambda content: content
) -> tuple[Embedded, tuple[InputFact, ...]]:
    """The embeddings of a submission with what says whose they are.

    The large files are hashed on a thread beside; `meanwhile` is what can be made of the embeddings until then.
    """
    source = parts.get("embeddings")
    if source is None:
        beside = parts.get("video_embeddings")
        raise PredictionError(
            f"{parts.where} names no embeddings."
            if beside is None
            else f"{parts.where} has embeddings of videos, but none of the galleries they are searched in. Ask for "
            "those with `evenhand predict ijb/faces`, and name both in a TOML file: embeddings, faces, "
            "video_embeddings, video_frames."
        )
    with ThreadPoolExecutor(1) as thread:
        hashes: list[Future[InputFact]] = []

        def array(role: str) -> Array | None:
            path = parts.get(role)
            if path is None:
                return None
            found = open_array(path, name="flip" if path == source and role == "flip" else "")
            hashes.append(thread.submit(hash_of, path, PredictionError))
            return found

        vectors, flipped = array("embeddings"), array("flip")
        video_vectors, video_flipped = array("video_embeddings"), array("video_flip")
        assert vectors is not None
        facts: list[InputFact] = []
        index, scores = None, None
        if (path := parts.get("faces")) is not None:
            index, scores, fact = _read_index(path, len(vectors))
            facts.append(fact)
        rows, video = None, None
        if (path := parts.get("rows")) is not None:
            table = read_table(path, PredictionError)
            rows = _row_numbers(table.whole("FACE_INDEX"), len(vectors), path)
            facts.append(table.fact)
        if (path := parts.get("video_frames")) is not None:
            table = read_table(path, PredictionError)
            frames = len(vectors) if video_vectors is None else len(video_vectors)
            video = (table.whole("TEMPLATE_ID"), _row_numbers(table.whole("FACE_INDEX"), frames, path))
            facts.append(table.fact)
        made = Embedded(vectors, flipped, index, rows, video, scores, source, video_vectors, video_flipped)
        made = meanwhile(made)
        return made, (*(hashed.result() for hashed in hashes), *facts)


def _read_index(path: Path, rows: int) -> tuple[FaceIndex, NDArray[np.float64] | None, InputFact]:
    table = read_table(path, PredictionError)
    place = table.whole("FACE_INDEX") if "FACE_INDEX" in table else np.arange(table.rows)
    refuse_duplicates(path, place, "FACE_INDEX", PredictionError)
    place = _row_numbers(place, rows, path)
    scores = None
    if "FACE_SCORE" in table:
        scores = np.full(rows, np.nan)
        scores[place] = table.numbers("FACE_SCORE")
        wrong = np.flatnonzero(np.isnan(scores[place]))
        if len(wrong):
            raise PredictionError(f"{path}, line {int(wrong[0]) + 2}, column FACE_SCORE: a detector score is missing.")
        scores = np.nan_to_num(scores, nan=0.0)
    index = FaceIndex(
        place,
        table.text("FILENAME"),
        table.whole("SUBJECT_ID") if "SUBJECT_ID" in table else None,
        table.whole("SIGHTING_ID") if "SIGHTING_ID" in table else None,
        path,
    )
    return index, scores, table.fact


def _row_numbers(numbers: NDArray[np.int64], rows: int, path: Path) -> NDArray[np.int64]:
    wrong = np.flatnonzero((numbers < 0) | (numbers >= rows))
    if len(wrong):
        raise PredictionError(
            f"{path}, line {int(wrong[0]) + 2}, column FACE_INDEX: {numbers[wrong[0]]} found, "
            f"but the embeddings have rows 0 to {rows - 1}."
        )
    return numbers


def _refuse_unknown_galleries(path: Path, named: Mapping[str, Path], galleries: Sequence[str]) -> None:
    unknown = [name for name in named if name not in galleries]
    if unknown:
        raise PredictionError(f"{path}: no gallery {', '.join(unknown)}; the data have {', '.join(galleries)}.")
