"""What people hand in for verification sets: embeddings of the pictures, or one score per pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.pairs.data import MIRRORED, PairSet
from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array
from evenhand.core.results import Coverage
from evenhand.core.task import Codec, Dataset, InputFact, Submitted
from evenhand.files.arrays import read_npy, read_npz
from evenhand.files.delimited import DelimitedTable, read_table
from evenhand.files.inputs import hash_of
from evenhand.files.outputs import write_csv, write_npy
from evenhand.files.writing import make_folder
from evenhand.search.sanity import embedding_warnings, score_warnings, separate_passes

_ROWS_AT_ONCE = 1 << 16
EMBEDDINGS, FLIPPED, PICTURES = "embeddings.npy", "embeddings_flip.npy", "pictures.csv"


# The squared distance of the two unit embeddings of every pair; not a number where one has none.
PairDistances = Submitted[NDArray[np.float64]]


@dataclass(frozen=True)
class _SubmittedArrays:
    """The arrays of a submission, and what says whose rows they are."""

    where: Path
    inputs: tuple[InputFact, ...]
    scores: Array | None = None
    vectors: Array | None = None
    flipped: Array | None = None
    names: tuple[str, ...] | None = None  # of the pictures, row by row; None: in the order of the set
    lines: Array | None = None  # of the scores, in a table


class PairSetCodec(Codec[NDArray[np.float32]]):
    """Embeddings of all pictures (two rows per pair, or with a list of their names), or one score per pair."""

    filename = "submission"
    example = (
        "embeddings.npy: rows 2i and 2i + 1 are pair i; embeddings_flip.npy beside it\n"
        "or embeddings.npy with pictures.csv:\nROW,PICTURE\n0,Aaron_Peirsol/Aaron_Peirsol_0001.jpg\n"
        "or scores.npy, or a table with a column of scores, in the order of the pairs\n"
    )

    def read(self, path: Path, dataset: Dataset[PairSet], options: PairSetOptions) -> PairDistances:
        truth, given = dataset.truth, _read(Path(path), options)
        if given.vectors is None:
            return _of_scores(given, truth, options)
        first, second = _rows(given, truth)
        vectors, flipped, warnings = separate_passes(
            given.vectors, given.flipped, given.where, halves=options.halves, is_mirror_used=options.flip != "none"
        )
        if options.flip == "sum" and flipped is None:
            beside = FLIPPED if given.where.is_dir() else f"{given.where.stem}_flip.npy"
            beside = "an entry embeddings_flip" if given.where.suffix == ".npz" else beside
            raise PredictionError(
                f"flip=sum adds the embeddings of the mirrored pictures, and {given.where} has none. Add {beside}, or "
                "set flip=none."
            )
        distance = _distances(_unit(vectors, flipped if options.flip == "sum" else None, given.where), first, second)
        lacking = np.flatnonzero(np.isnan(distance))
        examples = tuple(
            f"pair {row}: {truth.pictures[truth.first[row]]}, {truth.pictures[truth.second[row]]}"
            for row in lacking[:5]
        )
        if len(lacking):
            warnings = (*warnings, _missing_warning(len(lacking), len(truth), "embedding", options))
        person = _people(truth, first, second, len(vectors))
        return PairDistances(
            distance,
            _coverage(truth, len(lacking), "pair without an embedding", examples),
            given.inputs,
            (*warnings, *embedding_warnings(vectors, person, flipped=flipped, index=PICTURES)),
            {"flip": options.flip},
        )

    def write(self, path: Path, answers: Iterable[tuple[str, Any]], dataset: Dataset[PairSet], options: Any) -> None:
        given = {name: _vector(answer) for name, answer in answers if answer is not None}
        names = [name for name in dataset.truth.pictures if name in given]
        if not names:
            media = dataset.samples[0].media
            lost = f" {media[0]} does not exist: is --data the right folder?" if media and not media[0].exists() else ""
            raise PredictionError(f"The model embedded no picture: there is nothing to write.{lost}")
        _check_lengths(given)
        make_folder(path)
        write_npy(path / EMBEDDINGS, np.stack([given[name] for name in names]))
        mirrored = [name + MIRRORED for name in names if name + MIRRORED in given]
        if mirrored:
            if len(mirrored) < len(names):
                raise PredictionError(
                    f"{len(names) - len(mirrored)} pictures were embedded without their mirror image. Ask again with "
                    "--resume, or leave the mirrored pass out."
                )
            write_npy(path / FLIPPED, np.stack([given[name] for name in mirrored]))
        write_csv(path / PICTURES, ("ROW", "PICTURE"), enumerate(names))

    def to_plain(self, answer: Any) -> Any:
        return _vector(answer)

    def from_plain(self, plain: Any) -> NDArray[np.float32]:
        return _vector(plain)


def _read(where: Path, options: PairSetOptions) -> _SubmittedArrays:
    path, names = where, None
    if where.is_dir():
        known = [where / name for name in (EMBEDDINGS, "scores.csv", "scores.npy")]
        there = [file for file in known if file.is_file()]
        if not there:
            raise PredictionError(f"{where} has neither {EMBEDDINGS} nor scores.npy nor scores.csv.")
        path = there[0]
        where = where if path.name == EMBEDDINGS else path
    if path.suffix == ".csv":
        table = read_table(path, problem=PredictionError)
        return _SubmittedArrays(where, (table.fact,), _score_column(table, path, options), lines=table.lines)
    if path.suffix not in (".npy", ".npz"):
        raise PredictionError(f"{path}: a folder, a .npy, an .npz or a table of scores (.csv) was expected.")
    facts: tuple[InputFact, ...] = (hash_of(path, PredictionError),)
    if path.suffix == ".npz":
        arrays = read_npz(path, PredictionError)
        vectors, flipped = (
            next((arrays[name] for name in names if name in arrays), None)
            for names in (("embeddings", "embs"), ("embeddings_flip", "flip", "embs_f"))
        )
        if vectors is None and "scores" not in arrays:
            raise PredictionError(f"{path} holds {', '.join(arrays)}; embeddings or scores were expected.")
        return _SubmittedArrays(where, facts, arrays.get("scores"), vectors, flipped)
    array, flipped = read_npy(path, PredictionError), None
    if array.ndim == 1 and path == where:
        return _SubmittedArrays(where, facts, array)
    beside = path.with_name(f"{path.stem}_flip.npy")
    if beside.is_file():
        flipped = read_npy(beside, PredictionError)
        facts += (hash_of(beside, PredictionError),)
    if array.ndim == 2 and path != where and (where / PICTURES).is_file():
        names, fact = _picture_names(where / PICTURES, len(array))
        facts += (fact,)
    return _SubmittedArrays(where, facts, None, array, flipped, names)


def _picture_names(path: Path, rows: int) -> tuple[tuple[str, ...], InputFact]:
    """The picture of every row of the embeddings; lines may stand in any order where they have a ROW."""
    import polars as pl

    table = read_table(path, problem=PredictionError)
    frame = table.frame
    columns = {name.strip().upper(): name for name in frame.columns}
    picture = columns.get("PICTURE", frame.columns[-1])
    names = [str(name).strip() for name in frame[picture].to_list()]
    if len(names) != rows:
        raise PredictionError(f"{path}: {len(names):,} names, but {rows:,} rows of embeddings.")
    if columns.get("ROW", picture) != picture:
        numbers = frame[columns["ROW"]].str.strip_chars().cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
        if not np.array_equal(np.sort(numbers), np.arange(rows)):
            raise PredictionError(f"{path}: ROW must have every number from 0 to {rows - 1:,} once.")
        names = [names[line] for line in np.argsort(numbers)]
    again = next((name for name, count in Counter(names).items() if count > 1), None)
    if again is not None:
        raise PredictionError(f"{path}: picture {again!r} is named twice; which of its embeddings is meant?")
    return tuple(names), table.fact


def _rows(given: _SubmittedArrays, truth: PairSet) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows of both pictures of every pair; −1 where a picture has none."""
    vectors = given.vectors
    assert vectors is not None
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu":
        raise PredictionError(
            f"{given.where}: an array of {vectors.dtype} with shape {vectors.shape}; numbers, (pictures, dimensions), "
            "were expected."
        )
    if given.flipped is not None and given.flipped.shape != vectors.shape:
        raise PredictionError(
            f"{given.where}: the mirrored pass has the shape {given.flipped.shape}, the embeddings {vectors.shape}."
        )
    if given.names is not None:
        rows = {name: row for row, name in enumerate(given.names)}
        place = np.array([rows.get(name, -1) for name in truth.pictures], dtype=np.int64)
        if not (place >= 0).any():
            raise PredictionError(
                f"{given.where}: no picture of the set is named in {PICTURES}, which has {given.names[0]!r}; the set "
                f"has {truth.pictures[0]!r}."
            )
        return place[truth.first], place[truth.second]
    if len(vectors) != 2 * len(truth):
        raise PredictionError(
            f"{given.where} has {len(vectors):,} rows, but the set has {len(truth):,} pairs: write two rows per pair "
            f"({2 * len(truth):,}), in the order of the pictures, or add {PICTURES} (ROW, PICTURE)."
        )
    each = 2 * np.arange(len(truth))
    return each, each + 1


def _unit(vectors: Array, flipped: Array | None, where: Path) -> NDArray[np.float64]:
    """The sum of both passes in double precision, divided by its length; a zero vector stays zero."""
    total = np.array(vectors, dtype=np.float64)
    if flipped is not None:
        total += flipped
    if not np.isfinite(total).all():
        row = int(np.flatnonzero(~np.isfinite(total).all(axis=1))[0])
        raise PredictionError(f"{where}, row {row}: a value that is not a finite number.")
    lengths = np.sqrt(np.einsum("ij,ij->i", total, total))
    total /= np.where(lengths == 0, 1.0, lengths)[:, np.newaxis]
    return total


def _distances(vectors: NDArray[np.float64], first: Array, second: Array) -> NDArray[np.float64]:
    distance = np.full(len(first), np.nan)
    for start in range(0, len(first), _ROWS_AT_ONCE):
        some = slice(start, start + _ROWS_AT_ONCE)
        both = np.flatnonzero((first[some] >= 0) & (second[some] >= 0)) + start
        apart = np.subtract(vectors[first[both]], vectors[second[both]])
        distance[both] = np.sum(np.square(apart), 1)
    return distance


def _of_scores(given: _SubmittedArrays, truth: PairSet, options: PairSetOptions) -> PairDistances:
    table = np.asarray(given.scores)
    if table.dtype.kind not in "fiu" or table.size != max(table.shape, default=0):
        raise PredictionError(
            f"{given.where}: an array of {table.dtype} with shape {table.shape}; one number per pair was expected."
        )
    scores = table.astype(np.float64).reshape(-1)
    if len(scores) != len(truth):
        raise PredictionError(f"{given.where} has {len(scores):,} scores, but the set has {len(truth):,} pairs.")

    def place(row: int) -> str:
        return f"{given.where}, " + (f"entry {row}" if given.lines is None else f"line {given.lines[row]}")

    if np.isinf(scores).any():
        row = int(np.flatnonzero(np.isinf(scores))[0])
        raise PredictionError(f"{place(row)}: a score is infinite.")
    low, high = (-1.0, 1.0) if options.scores == "cosine" else (0.0, 4.0)
    margin = 1e-6
    wrong = np.flatnonzero((scores < low - margin) | (scores > high + margin))
    if len(wrong):
        raise PredictionError(
            f"{place(int(wrong[0]))}: {scores[wrong[0]]:g} lies outside {low:g} to {high:g}. "
            "Scores are cosines (higher means more alike), or with scores=distance squared distances of unit vectors."
        )
    distance = np.clip(2.0 - 2.0 * scores if options.scores == "cosine" else scores, 0.0, 4.0)
    coverage = _coverage(truth, int(np.isnan(scores).sum()), "pair without a score")
    warnings = _direction_warnings(distance, truth, options)
    if coverage.missing:
        warnings += (_missing_warning(coverage.missing, len(truth), "score", options),)
    return PairDistances(distance, coverage, given.inputs, warnings, {"scores": options.scores})


def _direction_warnings(distance: NDArray[np.float64], truth: PairSet, options: PairSetOptions) -> tuple[str, ...]:
    """Whether scores say the opposite of what they should, or nothing about who is shown."""
    known = ~np.isnan(distance)
    opposite = {
        "cosine": "Higher must mean more alike: set scores=distance for squared distances.",
        "distance": "With scores=distance lower must mean more alike: set scores=cosine for cosines.",
    }
    order = "They are read in the order of the pairs."
    return score_warnings(-distance[known], truth.same[known], order, opposite[options.scores])


def _missing_warning(missing: int, pairs: int, lacking: str, options: PairSetOptions) -> str:
    treated = (
        "left out of all rates" if options.missing == "exclude" else "judged wrong; missing=exclude leaves them out"
    )
    return f"{missing:,} of {pairs:,} pairs have no {lacking} and are {treated}."


def _coverage(truth: PairSet, missing: int, reason: str, examples: tuple[str, ...] = ()) -> Coverage:
    return Coverage(
        asked=len(truth),
        answered=len(truth) - missing,
        missing=missing,
        reasons={reason: missing} if missing else {},
        examples={reason: examples} if examples else {},
    )


def _score_column(table: DelimitedTable, path: Path, options: PairSetOptions) -> Array:
    import polars as pl

    frame = table.frame
    names = {name.strip().lower(): name for name in frame.columns}
    wanted = options.column.strip().lower() or ("score" if "score" in names else "")
    if not wanted and len(names) == 1:
        wanted = next(iter(names))
    if wanted not in names:
        there = ", ".join(frame.columns)
        if wanted:
            raise PredictionError(f"{path} has no column {options.column.strip()!r}: it has {there}.")
        raise PredictionError(f"{path}: which column holds the scores? It has {there}; set column=NAME.")
    cells = frame[names[wanted]].cast(pl.String).fill_null("").str.strip_chars()
    values = cells.cast(pl.Float64, strict=False)
    wrong = np.flatnonzero((values.is_null() & (cells != "")).to_numpy())
    if len(wrong):
        raise PredictionError(
            f"{path}, line {table.lines[wrong[0]]}, column {names[wanted]}: {cells[int(wrong[0])]!r} is no score."
        )
    return np.asarray(values.fill_null(float("nan")).to_numpy())


def _people(truth: PairSet, first: Array, second: Array, rows: int) -> NDArray[np.int64]:
    """(rows,): whose picture each row is; in a set without names, both sides of a genuine pair are one person."""
    person = np.full(rows, -1, dtype=np.int64)
    if truth.people is not None:
        sides = truth.people
    else:
        each = np.arange(len(truth), dtype=np.int64)
        sides = (2 * each, np.where(truth.same, 2 * each, 2 * each + 1))
    for place, who in ((first, sides[0]), (second, sides[1])):
        person[place[place >= 0]] = who[place >= 0]
    return person


def _check_lengths(given: Mapping[str, NDArray[np.float32]]) -> None:
    """All embeddings have one length; raises PredictionError with a picture of another."""
    lengths = Counter(len(vector) for vector in given.values())
    if len(lengths) > 1:
        usual = lengths.most_common(1)[0][0]
        name, vector = next((name, vector) for name, vector in given.items() if len(vector) != usual)
        raise PredictionError(
            f"The embedding of picture {name} has {len(vector)} numbers, others have {usual}: one length for all was "
            "expected."
        )


def _vector(answer: Any) -> NDArray[np.float32]:
    vector = np.asarray(answer, dtype=np.float32)
    if vector.ndim != 1 or not len(vector) or not np.isfinite(vector).all():
        raise PredictionError(
            f"An embedding has the shape {vector.shape} or a value that is not finite; one vector of finite numbers "
            "per picture was expected."
        )
    return vector
