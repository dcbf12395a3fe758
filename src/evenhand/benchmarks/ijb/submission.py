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

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.ijb.embeddings import FORMATS, axes_of, holds_mirrored_pass, stored_array
from evenhand.benchmarks.ijb.files import ProtocolTable, read_table
from evenhand.benchmarks.ijb.lists import FaceList
from evenhand.benchmarks.ijb.options import PoolingOptions
from evenhand.benchmarks.ijb.templates import ProtocolFaces, TemplateSet, template_places
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.records import Array
from evenhand.core.task import InputFact
from evenhand.files.delimited import CellKind
from evenhand.files.inputs import hash_of, parse_toml, read
from evenhand.search.enrol import Membership, Templates, enrol
from evenhand.search.sanity import embedding_warnings, separate_passes

if TYPE_CHECKING:
    import polars as pl

_ARRAYS = {  # parts of a submission that are arrays, by what their files are called in a folder
    "embeddings": "embeddings",
    "flip": "embeddings_flip",
    "video_embeddings": "video_embeddings",
    "video_flip": "video_embeddings_flip",
}
_FILES = {part: tuple(stem + suffix for suffix in FORMATS) for part, stem in _ARRAYS.items()} | {
    "faces": ("faces.csv",),
    "rows": ("row_to_face_index.csv", "meta/row_to_face_index.csv"),
    "video_frames": ("video_frames.csv",),
    "scores": ("scores.csv", "scores.npy"),
    "candidates": (),
}
_MIRRORED = {"embeddings": "flip", "video_embeddings": "video_flip"}


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
        role = "embeddings" if path.suffix != ".csv" else "scores"
        if path.suffix == ".csv" and path.stem.startswith("candidates"):
            role = "candidates"
        roles = {role: path}
        axes = axes_of(path)
        if role == "embeddings" and holds_mirrored_pass(path):
            roles["flip"] = path
        elif (axes and 2 not in axes.values()) or (set(axes) & {"scores", "score"} and "embs" not in axes):
            role, roles = "scores", {"scores": path}  # one number per comparison, as the scripts store them
        mirrored = path.with_stem(f"{path.stem}_flip")
        if role == "embeddings" and "flip" not in roles and mirrored.is_file():
            roles["flip"] = mirrored
        if len(galleries) == 1 and role != "embeddings":
            return cls(path, {}, {role: {galleries[0]: path}})
        return cls(path, roles, {})

    @classmethod
    def _named(cls, path: Path, galleries: Sequence[str]) -> Parts:
        named = parse_toml(read(path, PredictionError).text(PredictionError), path, PredictionError)
        single: dict[str, Path] = {}
        tables: dict[str, dict[str, Path]] = {}
        for name, value in named.items():
            if name not in _FILES:
                raise PredictionError(f"{path}: unknown entry {name!r}. Known: {', '.join(_FILES)}.")
            if isinstance(value, str):
                single[name] = path.parent / value
            elif isinstance(value, dict) and name in ("scores", "candidates"):
                tables[name] = {gallery: path.parent / str(file) for gallery, file in value.items()}
                unknown = [gallery for gallery in value if gallery not in galleries]
                if unknown:
                    there = ", ".join(galleries)
                    raise PredictionError(f"{path}: no gallery {', '.join(unknown)}; the data have {there}.")
            else:
                raise PredictionError(f"{path}: {name} must name a file, or for scores and candidates one per gallery.")
        return cls(path, _with_mirrored(single), tables)

    @classmethod
    def _found(cls, folder: Path, galleries: Sequence[str]) -> Parts:
        single: dict[str, Path] = {}
        for name, files in _FILES.items():
            there = [folder / file for file in files if (folder / file).is_file()]
            if len(there) > 1 and name in _ARRAYS:
                raise PredictionError(f"{folder} has {', '.join(path.name for path in there)}: keep one.")
            if there:
                single[name] = there[0]
        tables: dict[str, dict[str, Path]] = {}
        for role, gallery, suffix in product(("scores", "candidates"), galleries, (".csv", ".npy")):
            path = folder / f"{role}_{gallery}{suffix}"
            if path.is_file():
                tables.setdefault(role, {})[gallery] = path
        if not single and not tables:
            alone = sorted(path for path in folder.iterdir() if path.suffix in FORMATS)
            if len(alone) == 1:  # ijbb.npy, or an archive of IJB_evals
                return cls.of(alone[0], galleries)
            names = ", ".join(path.name for path in alone[:5]) + (", …" if len(alone) > 5 else "")
            found = f" It has {names}: name one of them instead of the folder, or rename it." if alone else ""
            raise PredictionError(
                f"{folder} has neither embeddings ({', '.join(_FILES['embeddings'])}) "
                f"nor scores (scores.csv, scores_GALLERY.csv) nor candidates_GALLERY.csv.{found}"
            )
        return cls(folder, _with_mirrored(single), tables)


def _with_mirrored(files: Mapping[str, Path]) -> dict[str, Path]:
    """Files by their part; a mirrored pass that has no file of its own may be in that of the embeddings."""
    inside = {
        mirrored: files[part]
        for part, mirrored in _MIRRORED.items()
        if part in files and mirrored not in files and holds_mirrored_pass(files[part])
    }
    return {**files, **inside}


class TemplateEntries(NamedTuple):
    """Which row of the embeddings is part of which template, by the template's id: what list files say."""

    template: NDArray[np.int64]
    medium: NDArray[np.int64]
    row: NDArray[np.int64]  # −1 for a face without embedding


@dataclass(frozen=True)
class SubmittedEmbeddings:
    """Embeddings of faces, and which row belongs to which face: by an index, by list files, or by their order."""

    vectors: Array  # (faces, dimensions); those of `.npy` files are read as they are asked for
    flipped: Array | None
    index: FaceIndex | None
    rows: NDArray[np.int64] | None  # row of the embeddings for each face, in the order of the protocol's files
    row_names: NDArray[np.object_] | None  # the image of each entry of `rows`, as list files name it
    video: tuple[NDArray[np.int64], NDArray[np.int64]] | None  # template id, row of the embeddings
    scores: NDArray[np.float64] | None  # the detector's, by row of the embeddings
    where: Path
    video_vectors: Array | None = None  # of the frames of video probes, when they are not among the faces
    video_flipped: Array | None = None
    video_where: Path | None = None
    entries: TemplateEntries | None = None
    unusable_scores: str = ""  # why the detector scores of list files are left out

    def membership(self, templates: TemplateSet) -> Membership:
        """Which rows of the embeddings make up which template; raises when no template has any."""
        faces = templates.faces
        if self.entries is not None:
            place = template_places(templates.ids, self.entries.template)
            inside = np.flatnonzero(place >= 0)
            row, medium = self.entries.row[inside], self.entries.medium[inside]
            members = Membership(place[inside], row, medium, len(templates))
        elif self.index is not None:
            members = Membership(templates.of_face, self.index.find(faces), faces.medium, len(templates))
        else:
            assert self.rows is not None
            assert len(self.rows) == len(faces)
            members = Membership(templates.of_face, self.rows, faces.medium, len(templates))
        if not (members.face >= 0).any():
            raise PredictionError(self._nothing_matches(faces))
        return members

    def enrol(self, templates: TemplateSet, options: PoolingOptions, members: Membership | None = None) -> Templates:
        """The templates, pooled as the options say."""
        return self.pooled(self.membership(templates) if members is None else members, options)

    def pooled(self, members: Membership, options: PoolingOptions, *, of_frames: bool = False) -> Templates:
        """Templates of the given members; `of_frames`: those of a tracker, which have embeddings of their own."""
        vectors, flipped, scores, where = self.vectors, self.flipped, self.scores, self.where
        if of_frames and self.video_vectors is not None:
            # Frames that a tracker found have no detector score of the protocol's faces: all weigh the same.
            vectors, flipped, scores = self.video_vectors, self.video_flipped, np.ones(len(self.video_vectors))
            where = self.video_where or where
        try:
            templates = enrol(vectors, members, options.pooling, flipped=flipped, detector_scores=scores)
        except PredictionError as error:
            raise PredictionError(f"{where}: {error}") from None
        if not templates.enrolled.any():
            weights = " or detector scores" if options.detector == "on" else ""
            raise PredictionError(
                f"{where}: none of the {members.templates:,} templates can be enrolled: the embeddings{weights} "
                "of all their faces are zero."
            )
        return templates

    def warnings(self, sets: Sequence[tuple[TemplateSet, Membership]], options: PoolingOptions) -> tuple[str, ...]:
        """What looks wrong about the embeddings, given the templates that they make up."""
        person = _people(sets, len(self.vectors))
        keeps = options.norm == "keep"
        found = embedding_warnings(self.vectors, person, flipped=self.flipped, keeps_lengths=keeps)
        return found + (self._negative_scores() if options.detector == "on" else ())

    def frame_warnings(self, probes: TemplateSet, members: Membership) -> tuple[str, ...]:
        """What looks wrong about the embeddings of frames that are not among the faces."""
        if self.video_vectors is None or self.video_where is None:
            return ()
        person = _people([(probes, members)], len(self.video_vectors))
        found = embedding_warnings(
            self.video_vectors, person, flipped=self.video_flipped, index="video_frames.csv with the right lines"
        )
        return tuple(f"{self.video_where.name}: {warning}" for warning in found)

    def _negative_scores(self) -> tuple[str, ...]:
        negative = 0 if self.scores is None else int((self.scores < 0).sum())
        if not negative:
            return ()
        return (
            f"{negative:,} of {len(self.vectors):,} detector scores are below 0, and faces are weighed by them: a face "
            "with a negative weight is subtracted from its template. Give probabilities, or set detector=off.",
        )

    def separated(self, options: PoolingOptions) -> tuple[SubmittedEmbeddings, tuple[str, ...]]:
        """Rows that hold a pass and its mirrored pass side by side, taken apart where the options ask for it."""
        vectors, flipped, notes = separate_passes(
            self.vectors, self.flipped, self.where, halves=options.halves, is_mirror_used=options.flip != "none"
        )
        content = replace(self, vectors=vectors, flipped=flipped) if notes else self
        if self.video_vectors is not None and self.video_where is not None:
            halves = options.halves  # faces tell better than the frames of a few people whether they hold both passes
            if self.video_vectors.shape[1] == self.vectors.shape[1]:
                halves = "split" if vectors.shape[1] < self.vectors.shape[1] else "keep"
            frames, mirrored, more = separate_passes(
                self.video_vectors,
                self.video_flipped,
                self.video_where,
                halves=halves,
                is_mirror_used=options.flip != "none",
            )
            content, notes = replace(content, video_vectors=frames, video_flipped=mirrored), notes + more
            if frames.shape[1] != vectors.shape[1]:
                raise PredictionError(
                    f"{self.video_where} has embeddings of {frames.shape[1]} numbers, {self.where} of "
                    f"{vectors.shape[1]}: frames and faces are compared, so both must come from one model."
                )
        return content, notes

    def _nothing_matches(self, faces: ProtocolFaces) -> str:
        if faces.video is not None:
            return (
                f"{self.where} has no embedding of the {len(faces):,} video probes, neither of frames nor of their "
                "first occurrence. Add video_frames.csv (TEMPLATE_ID, FACE_INDEX), which says which rows are frames of "
                "which probe; `evenhand predict ijb/videos` writes it."
            )
        if self.entries is not None:
            return (
                f"None of the {len(faces):,} faces of the protocol belongs to a template of the list files, which have "
                "the galleries and mixed probes of tests 1 and 4. For another test add faces.csv (FACE_INDEX, "
                "FILENAME, SUBJECT_ID, SIGHTING_ID, FACE_SCORE) with the names of the protocol files; for tests 1 and "
                "4, are both of one release?"
            )
        assert self.index is not None
        given, wanted = self.index.example(), FaceIndex.of_faces(faces, self.index.path).example()
        return (
            f"{self.index.path} names none of the {len(faces):,} faces of the protocol: it has {given}, the protocol "
            f"{wanted}. FILENAME, SUBJECT_ID and SIGHTING_ID must be those of the protocol files."
        )


def _people(sets: Sequence[tuple[TemplateSet, Membership]], rows: int) -> NDArray[np.int64]:
    """(rows,): whose face each row of the embeddings is; −1 where no template has it."""
    person = np.full(rows, -1, dtype=np.int64)
    for templates, members in sets:
        there = members.face >= 0
        person[members.face[there]] = templates.subject[members.template[there]]
    return person


@dataclass(frozen=True)
class FaceIndex:
    """Which row of the embeddings shows which face; key columns that are not given are None."""

    row: NDArray[np.int64]
    filename: pl.Series
    subject: NDArray[np.int64] | None
    sighting: NDArray[np.int64] | None
    path: Path
    lines: Array | None = None  # of the entries in the file

    @classmethod
    def of_table(cls, table: ProtocolTable, row: NDArray[np.int64]) -> FaceIndex:
        """The faces of `faces.csv`."""
        subject, sighting = (table.whole(name) if name in table else None for name in ("SUBJECT_ID", "SIGHTING_ID"))
        return cls(row, table.names("FILENAME"), subject, sighting, table.path, table.lines)

    @classmethod
    def of_faces(cls, faces: ProtocolFaces, path: Path) -> FaceIndex:
        """The faces of a protocol, in their order."""
        subject = faces.subject if faces.names_people else None
        return cls(np.arange(len(faces)), faces.filename, subject, faces.sighting, path)

    def example(self) -> str:
        """The first face, for messages."""
        if not len(self.filename):
            return "no face"
        keys = {"subject": self.subject, "sighting": self.sighting}
        known = [f"{name} {column[0]}" for name, column in keys.items() if column is not None]
        return ", ".join([repr(str(self.filename[0])), *known])

    def shares_names(self, faces: ProtocolFaces) -> bool:
        """Whether any file name is one of a protocol."""
        if len(faces) and len(self.filename) and self.filename[0] == faces.filename[0]:
            return True  # mostly; it spares a set of all names
        return not set(self.filename.to_list()).isdisjoint(faces.filename.to_list())

    def named(self, names: NDArray[np.object_]) -> NDArray[np.int64]:
        """(names,): the row of each image by its name alone, −1 where there is none; raises when it has several."""
        asked = set(names.tolist())
        rows: dict[str, int] = {}
        for place, (name, row) in enumerate(zip(self.filename.to_list(), self.row.tolist(), strict=True)):
            if name in asked and rows.setdefault(name, row) != row:
                raise PredictionError(
                    f"{self._line(place)}: the image {name} is there twice with different embeddings. The list files "
                    "name a face by its image alone, so each name must be there once."
                )
        return np.array([rows.get(name, -1) for name in names.tolist()], dtype=np.int64)

    def _line(self, place: int) -> str:
        """Where an entry stands, for messages."""
        return f"{self.path}, line {place + 2 if self.lines is None else self.lines[place]}"

    def find(self, faces: ProtocolFaces) -> NDArray[np.int64]:
        """(faces,): the row of each face of a protocol, −1 where there is none.

        A face is identified by its file and what else both sides know of it: subject, sighting. List files that stand
        alone name no subjects.
        """
        import polars as pl

        if self._lists_just(faces):
            return self.row
        mine: dict[str, Any] = {"file": self.filename}
        theirs: dict[str, Any] = {"file": faces.filename}
        for name, column, other in self._beside(faces):
            if column is not None and len(other) and other.min() >= 0:
                mine[name], theirs[name] = column, other
        keys = list(mine)
        index = pl.DataFrame({**mine, "row": self.row})
        again = np.flatnonzero(index.select(pl.struct(keys).is_duplicated()).to_series().to_numpy())
        if len(again):
            key = " / ".join(str(value) for value in index.row(int(again[-1]))[:-1])
            lacking = [f"{name}_ID" for name, column, _ in self._beside(faces) if column is None]
            tell_apart = f"Add {' and '.join(lacking).upper()} so that faces can be told apart"
            advice = tell_apart if lacking else "List each face once"
            raise PredictionError(
                f"{self._line(int(again[-1]))}: the face {key} is there twice with different embeddings. {advice}."
            )
        joined = pl.DataFrame(theirs).join(index, on=keys, how="left", maintain_order="left")
        return np.asarray(joined["row"].fill_null(-1).to_numpy(), dtype=np.int64)

    def _beside(self, faces: ProtocolFaces) -> list[tuple[str, NDArray[np.int64] | None, NDArray[np.int64]]]:
        """What can identify a face beside its file: a name, what is said here, and what the protocol says."""
        subject = [("subject", self.subject, faces.subject)] if faces.names_people else []
        return [*subject, ("sighting", self.sighting, faces.sighting)]

    def _lists_just(self, faces: ProtocolFaces) -> bool:
        """Whether the index has the faces of a protocol in their order, each once: then nothing has to be joined."""
        if len(self.filename) != len(faces) or not self.filename.equals(faces.filename):
            return False
        same = all(mine is None or np.array_equal(mine, theirs) for _, mine, theirs in self._beside(faces))
        # Different hashes are different names; two names of one hash, which is rare, are left to the join.
        return same and self.filename.hash().n_unique() == len(faces)


def placed(
    content: SubmittedEmbeddings,
    faces: ProtocolFaces,
    lists: Callable[[], FaceList | None],
    *,
    weighs: bool,
    beside: ProtocolFaces | None = None,
) -> tuple[SubmittedEmbeddings, tuple[InputFact, ...]]:
    """The embeddings with what says whose they are, and the list files that were read for it.

    An index of faces is matched by name, with the protocol's files or with the list files. Without an index, rows
    stand in the order of the list files where there are any (their columns say to which template and medium each
    belongs), and else in the order of the protocol's files. `weighs`: detector scores are needed. `beside`: where the
    protocol's faces are those of list files, the same in galleries and probes beside them, whose names serve as well.
    """
    index = content.index
    is_known = index is not None and index.shares_names(faces)
    if is_known and content.scores is not None:
        return replace(content, rows=None), ()
    listed = lists()
    if index is not None and listed is not None and ((rows := index.named(listed.name)) >= 0).any():
        if not is_known:
            content = replace(content, index=None, entries=TemplateEntries(listed.template, listed.medium, rows))
        return _with_scores(replace(content, rows=None), listed, rows, weighs=weighs), listed.inputs
    if index is not None and not is_known and beside is not None and index.shares_names(beside):
        entries = TemplateEntries(beside.template, beside.medium, index.find(beside))
        return replace(content, index=None, rows=None, entries=entries), ()
    if index is not None and (is_known or content.rows is None):
        return replace(content, rows=None), ()
    rows = np.arange(len(content.vectors)) if content.rows is None else content.rows
    if listed is not None and content.row_names is not None:
        by_name = dict(zip(content.row_names.tolist(), rows.tolist(), strict=True))
        if any(name in by_name for name in listed.name.tolist()):
            rows = np.array([by_name.get(name, -1) for name in listed.name.tolist()], dtype=np.int64)
    if listed is not None and len(rows) == len(listed):
        content = replace(content, index=None, rows=None, entries=TemplateEntries(listed.template, listed.medium, rows))
        return _with_scores(content, listed, rows, weighs=weighs), listed.inputs
    if len(rows) != len(faces):
        expected = f"{len(faces):,} faces" + ("" if listed is None else f" and the list files {len(listed):,} lines")
        raise PredictionError(
            f"{content.where} has {len(rows):,} rows, and nothing says whose they are: the protocol has {expected}. "
            "Give one row per line of the list files or per face (galleries first, then the probes), or add faces.csv "
            "(FACE_INDEX, FILENAME, SUBJECT_ID, SIGHTING_ID, FACE_SCORE)."
        )
    return replace(content, index=None, rows=rows), ()


def _with_scores(
    content: SubmittedEmbeddings, listed: FaceList, rows: NDArray[np.int64], *, weighs: bool
) -> SubmittedEmbeddings:
    """The detector scores of list files, where the submission has none of its own and all of them can be used.

    One that is not finite is an error where faces are weighed; otherwise there are no scores.
    """
    if content.scores is not None or listed.score is None:
        return content
    problem = listed.unusable_score(rows >= 0)
    if problem is not None:
        if weighs:
            raise DataError(f"{problem} Correct it, or set detector=off to weigh all faces the same.")
        return replace(content, unusable_scores=problem)
    scores = np.zeros(len(content.vectors))
    scores[rows[rows >= 0]] = listed.score[rows >= 0]
    return replace(content, scores=scores)


def read_embedded(
    parts: Parts, *, pools: bool = False
) -> tuple[SubmittedEmbeddings, Callable[[], tuple[InputFact, ...]]]:
    """The embeddings of a submission, and a function that tells which files were read.

    The large files are hashed on a thread beside all that is done until it is called; where that `pools` all rows, they
    are read once for both.
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
    hashes = []

    def array(role: str) -> Any:
        path = parts.get(role)
        if path is None:
            return None
        holds_both = role in _MIRRORED.values() and path in map(parts.get, _MIRRORED)
        entry = "flip" if holds_both else "embeddings"
        rows = stored_array(path, entry=entry, hashed=pools)
        following = getattr(rows, "hashing", None)
        hashes.append(following.fact if following else partial(hash_of, path, PredictionError))
        return rows

    vectors, flipped, video_vectors, video_flipped = map(array, _ARRAYS)
    for first, mirrored in ((vectors, flipped), (video_vectors, video_flipped)):
        if mirrored is not None and first is not None and mirrored.shape != first.shape:
            raise PredictionError(
                f"{parts.where}: the mirrored pass has the shape {mirrored.shape}, the embeddings {first.shape}: they "
                "must agree. Give one mirrored row for each row of the embeddings."
            )
    facts: list[InputFact] = []
    index, scores, rows, row_names, video = None, None, None, None, None
    if (path := parts.get("faces")) is not None:
        index, scores, fact = _read_index(path, len(vectors))
        facts.append(fact)
    if (path := parts.get("rows")) is not None:
        table = read_table(path, PredictionError)
        rows = _row_numbers(table, table.whole("FACE_INDEX"), len(vectors))
        row_names = table.text("ROW_NAME") if "ROW_NAME" in table else None
        facts.append(table.fact)
    if (path := parts.get("video_frames")) is not None:
        table = read_table(path, PredictionError)
        frames = len(vectors) if video_vectors is None else len(video_vectors)
        video = (table.whole("TEMPLATE_ID"), _row_numbers(table, table.whole("FACE_INDEX"), frames))
        facts.append(table.fact)
    of_frames = parts.get("video_embeddings")
    content = SubmittedEmbeddings(
        vectors, flipped, index, rows, row_names, video, scores, source, video_vectors, video_flipped, of_frames
    )
    return content, lambda: (*(fact() for fact in hashes), *facts)


_INDEX_COLUMNS = {
    "FACE_INDEX": CellKind.INTEGER,
    "FILENAME": CellKind.CELL,
    "SUBJECT_ID": CellKind.INTEGER,
    "SIGHTING_ID": CellKind.INTEGER,
    "FACE_SCORE": CellKind.NUMBER,
}


def _read_index(path: Path, rows: int) -> tuple[FaceIndex, NDArray[np.float64] | None, InputFact]:
    table = read_table(path, PredictionError, _INDEX_COLUMNS.get)
    place = table.whole("FACE_INDEX") if "FACE_INDEX" in table else np.arange(table.rows)
    table.refuse_repeated(place, "FACE_INDEX")
    place = _row_numbers(table, place, rows)
    scores = None
    if "FACE_SCORE" in table:
        scores = np.full(rows, np.nan)
        scores[place] = table.numbers("FACE_SCORE")
        table.refuse(np.isnan(scores[place]), lambda row: "a detector score is missing.", "FACE_SCORE")
        scores = np.nan_to_num(scores, nan=0.0)
    return FaceIndex.of_table(table, place), scores, table.fact


def _row_numbers(table: ProtocolTable, numbers: NDArray[np.int64], rows: int) -> NDArray[np.int64]:
    table.refuse(
        (numbers < 0) | (numbers >= rows),
        lambda row: f"{numbers[row]} found, but the embeddings have rows 0 to {rows - 1}.",
        "FACE_INDEX",
    )
    return numbers
