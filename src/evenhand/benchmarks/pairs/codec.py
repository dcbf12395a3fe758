"""What people hand in for verification sets: embeddings of the pictures, or one score per pair."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.pairs.data import (
    MIRRORED,
    PairSet,
    columns_of,
    keys_of,
    label_codes,
    pair_keys,
    places_in,
    stripped_cells,
)
from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.core.errors import PredictionError
from evenhand.core.optional import polars as pl
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
_ROUNDING = 1e-6  # of scores that somebody computed and wrote
_SMALL = 1e-150  # the square of a smaller value may be zero
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
    table: DelimitedTable | None = None  # of the scores
    warnings: tuple[str, ...] = ()


class PairSetCodec(Codec[NDArray[np.float32]]):
    """Embeddings of all pictures (two rows per pair, or with a list of their names), or one score per pair."""

    filename = "submission"
    example = (
        "embeddings.npy: rows 2i and 2i + 1 are pair i; embeddings_flip.npy beside it\n"
        "or embeddings.npy with pictures.csv:\nROW,PICTURE\n0,Aaron_Peirsol/Aaron_Peirsol_0001.jpg\n"
        "or scores.npy, in the order of the pairs\n"
        "or a table with a column of scores, in the order of the pairs or with p1 and p2:\np1,p2,score\n"
        "Abel_Pacheco/Abel_Pacheco_0001.jpg,Abel_Pacheco/Abel_Pacheco_0004.jpg,0.71\n"
    )

    def read(self, path: Path, dataset: Dataset[PairSet], options: PairSetOptions) -> PairDistances:
        truth, given = dataset.truth, _read(Path(path), len(dataset.truth), options)
        given = _column_as_scores(given, len(truth))
        if given.vectors is None:
            return _of_scores(given, truth, options)
        first, second, warnings = _rows(given, truth)
        vectors, flipped, notes = separate_passes(
            given.vectors, given.flipped, given.where, halves=options.halves, is_mirror_used=options.flip != "none"
        )
        warnings = (*given.warnings, *warnings, *notes)
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
            {"flip": options.flip, **_unused(given.names, truth)},
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


def _read(where: Path, pairs: int, options: PairSetOptions) -> _SubmittedArrays:
    path = where
    warnings: tuple[str, ...] = ()
    if where.is_dir():
        known = [where / name for name in (EMBEDDINGS, "scores.csv", "scores.npy")]
        there = [file for file in known if file.is_file()]
        if not there:
            archives = ", ".join(sorted(file.name for file in where.glob("*.np[yz]")))
            advice = f" It has {archives}: name the file itself." if archives else ""
            raise PredictionError(f"{where} has neither {EMBEDDINGS} nor scores.npy nor scores.csv.{advice}")
        path = there[0]
        if len(there) > 1:
            unused = ", ".join(file.name for file in there[1:])
            warnings = (f"{where}: {path.name} is evaluated, {unused} beside it is not.",)
        where = where if path.name == EMBEDDINGS else path
    if path.suffix.lower() == ".csv":
        table = read_table(path, problem=PredictionError, separator=None)
        if not len(table):
            raise PredictionError(f"{path} has a header but no rows: one line for every pair was expected.")
        return _SubmittedArrays(
            where, (table.fact,), _score_column(table, path, options), table=table, warnings=warnings
        )
    if path.suffix not in (".npy", ".npz"):
        raise PredictionError(f"{path}: a folder, a .npy, an .npz or a table of scores (.csv) was expected.")
    if path.suffix == ".npz":
        return _read_archive(path, pairs)
    facts: tuple[InputFact, ...] = (hash_of(path, PredictionError),)
    array, flipped, names = read_npy(path, PredictionError), None, None
    if array.ndim == 1 and path == where:
        return _SubmittedArrays(where, facts, array, warnings=warnings)
    beside = path.with_name(f"{path.stem}_flip.npy")
    if beside.is_file():
        flipped = read_npy(beside, PredictionError)
        facts += (hash_of(beside, PredictionError),)
    if array.ndim == 2 and path.with_name(PICTURES).is_file():
        names, listed, notes = _names_beside(path, len(array), pairs)
        facts += listed
        warnings += notes
    return _SubmittedArrays(where, facts, None, array, flipped, names, warnings=warnings)


def _read_archive(path: Path, pairs: int) -> _SubmittedArrays:
    fact, arrays = hash_of(path, PredictionError), read_npz(path, PredictionError)
    vectors, flipped, pictures = (
        next((arrays[name] for name in names if name in arrays), None)
        for names in (("embeddings", "embs"), ("embeddings_flip", "flip", "embs_f"), ("pictures",))
    )
    if vectors is None and "scores" not in arrays:
        raise PredictionError(f"{path} holds {', '.join(arrays)}; embeddings or scores were expected.")
    if vectors is None:
        return _SubmittedArrays(path, (fact,), arrays["scores"])
    names: tuple[str, ...] | None = None
    facts: tuple[InputFact, ...] = (fact,)
    warnings: tuple[str, ...] = ()
    if pictures is not None:
        if pictures.shape != (len(vectors),) or pictures.dtype.kind != "U":
            raise PredictionError(
                f"{path}: pictures is an array of {pictures.dtype} with shape {pictures.shape}; the name of each of "
                f"the {len(vectors):,} rows of embeddings was expected."
            )
        names = tuple(map(str, pictures))
    elif vectors.ndim == 2 and path.with_name(PICTURES).is_file():
        names, listed, warnings = _names_beside(path, len(vectors), pairs)
        facts += listed
    if "scores" in arrays:
        warnings += (f"{path}: its embeddings are evaluated, its scores are not.",)
    return _SubmittedArrays(path, facts, None, vectors, flipped, names, warnings=warnings)


def _column_as_scores(given: _SubmittedArrays, pairs: int) -> _SubmittedArrays:
    """One number for each pair in a column is scores, which embeddings of two pictures for each pair can't be."""
    if given.vectors is None or given.names is not None or given.vectors.shape != (pairs, 1):
        return given
    return replace(given, scores=given.vectors, vectors=None)


def _names_beside(
    path: Path, rows: int, pairs: int
) -> tuple[tuple[str, ...] | None, tuple[InputFact, ...], tuple[str, ...]]:
    """The pictures of the rows by the list beside a file, None where it is about another; its fact, and a note.

    The list belongs to `embeddings.npy`. Another file beside it may have two rows per pair, which need no names.
    """
    listed = path.with_name(PICTURES)
    table = read_table(listed, problem=PredictionError, separator=None)
    if path.stem != Path(EMBEDDINGS).stem and rows == 2 * pairs != len(table):
        note = (
            f"{listed} has {len(table):,} names and is not used: the {rows:,} rows of {path.name} are read as two per "
            "pair, in the order of the pairs."
        )
        return None, (), (note,)
    return _picture_names(table, rows), (table.fact,), ()


def _picture_names(table: DelimitedTable, rows: int) -> tuple[str, ...]:
    """The picture of every row of the embeddings; lines may stand in any order where they have a ROW."""
    path, frame, columns = table.path, table.frame, columns_of(table)
    if "row" not in columns and "picture" not in columns and len(columns) > 1:
        raise PredictionError(
            f"{path}: its columns are {', '.join(frame.columns)}; ROW and PICTURE, or one column with the picture of "
            "every row, were expected."
        )
    others = [column for name, column in columns.items() if name != "row"]
    picture = columns.get("picture", others[-1] if others else frame.columns[-1])
    names: list[str] = stripped_cells(table, picture).to_list()
    if len(names) != rows:
        raise PredictionError(f"{path}: {len(names):,} names, but {rows:,} rows of embeddings.")
    if columns.get("row", picture) != picture:
        numbers = stripped_cells(table, columns["row"]).cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
        if not np.array_equal(np.sort(numbers), np.arange(rows)):
            raise PredictionError(f"{path}: ROW must have every number from 0 to {rows - 1:,} once.")
        names = [names[line] for line in np.argsort(numbers)]
    return tuple(names)


def _rows(given: _SubmittedArrays, truth: PairSet) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """The rows of both pictures of every pair, −1 where a picture has none; and what is not used, in words."""
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
    each = 2 * np.arange(len(truth))
    if given.names is not None:
        if len(given.names) == 2 * len(truth) and _is_pair_by_pair(given.names, truth):
            return each, each + 1, ()
        return _named_rows(given.names, truth, given.where)
    if len(vectors) != 2 * len(truth):
        raise PredictionError(
            f"{given.where} has {len(vectors):,} rows, but the set has {len(truth):,} pairs: write two rows per pair "
            f"({2 * len(truth):,}), in the order of the pictures, or add {PICTURES} (ROW, PICTURE)."
        )
    return each, each + 1, ()


def _is_pair_by_pair(names: tuple[str, ...], truth: PairSet) -> bool:
    """Whether names are those of both pictures of every pair, in the order of the pairs."""
    in_order = np.stack([truth.first, truth.second], axis=1).reshape(-1)
    return all(truth.pictures[place] == name for place, name in zip(in_order, names, strict=True))


def _named_rows(
    names: tuple[str, ...], truth: PairSet, where: Path
) -> tuple[NDArray[np.int64], NDArray[np.int64], tuple[str, ...]]:
    """As `_rows`, of embeddings whose pictures are named."""
    rows = {name: row for row, name in enumerate(names)}
    if len(rows) < len(names):
        again = next(name for name, count in Counter(names).items() if count > 1)
        raise PredictionError(f"{where}: picture {again!r} is named twice; which of its embeddings is meant?")
    place = np.array([rows.get(name, -1) for name in truth.pictures], dtype=np.int64)
    used = int((place >= 0).sum())
    if not used:
        raise PredictionError(
            f"{where}: no picture of the set is named in {PICTURES}, which has {names[0]!r}; the set has "
            f"{truth.pictures[0]!r}."
        )
    warnings: tuple[str, ...] = ()
    if used < min(len(names), len(truth.pictures)):  # surplus pictures alone are no sign of wrong names
        known = set(truth.pictures)
        other = next(name for name in names if name not in known)
        warnings = (
            f"{len(names) - used:,} of {len(names):,} embeddings are of pictures that the set does not have, such as "
            f"{other!r}, and are not used.",
        )
    return place[truth.first], place[truth.second], warnings


def _unused(names: tuple[str, ...] | None, truth: PairSet) -> dict[str, int]:
    """How many embeddings are of pictures that no pair has; nothing when there are none."""
    unused = 0 if names is None else len(set(names).difference(truth.pictures))
    return {"unused_embeddings": unused} if unused else {}


def _unit(vectors: Array, flipped: Array | None, where: Path) -> NDArray[np.float64]:
    """The sum of both passes in double precision, divided by its length; a zero vector stays zero."""
    total = np.array(vectors, dtype=np.float64)
    if flipped is not None:
        total += flipped
    if not np.isfinite(total).all():
        row = int(np.flatnonzero(~np.isfinite(total).all(axis=1))[0])
        raise PredictionError(f"{where}, row {row}: a value that is not a finite number.")
    with np.errstate(over="ignore", under="ignore"):
        lengths = np.sqrt(np.einsum("ij,ij->i", total, total))
    largest = np.abs(total).max(axis=1, initial=0.0)
    extreme = np.isinf(lengths) | ((largest > 0) & (largest < _SMALL))
    if extreme.any():  # all other rows keep the bits of the published way
        total[extreme] /= largest[extreme, np.newaxis]
        lengths[extreme] = np.sqrt(np.einsum("ij,ij->i", total[extreme], total[extreme]))
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
    warnings = given.warnings
    rows = np.arange(len(scores))
    if given.table is not None:
        rows, notes = _rows_of_pairs(given.table, scores, truth)
        warnings += notes
    elif len(scores) != len(truth):
        raise PredictionError(f"{given.where} has {len(scores):,} scores, but the set has {len(truth):,} pairs.")
    scores = np.where(rows >= 0, scores[rows], np.nan)

    def place(pair: int) -> str:
        where = f"entry {pair}" if given.table is None else f"line {given.table.lines[rows[pair]]}"
        return f"{given.where}, {where}"

    if np.isinf(scores).any():
        row = int(np.flatnonzero(np.isinf(scores))[0])
        raise PredictionError(f"{place(row)}: a score is infinite.")
    low, high = (-1.0, 1.0) if options.scores == "cosine" else (0.0, 4.0)
    wrong = np.flatnonzero((scores < low - _ROUNDING) | (scores > high + _ROUNDING))
    if len(wrong):
        raise PredictionError(
            f"{place(int(wrong[0]))}: {scores[wrong[0]]:g} lies outside {low:g} to {high:g}. "
            "Scores are cosines (higher means more alike), or with scores=distance squared distances of unit vectors."
        )
    distance = np.clip(2.0 - 2.0 * scores if options.scores == "cosine" else scores, 0.0, 4.0)
    coverage = _coverage(truth, int(np.isnan(scores).sum()), "pair without a score")
    order = "They are read in the order of the pairs; a table with p1 and p2 names them."
    if given.table is not None and {"p1", "p2"} <= columns_of(given.table).keys():
        order = "Its columns p1 and p2 say which pair a line is about."
    warnings += _direction_warnings(distance, truth, options, order)
    if coverage.missing:
        warnings += (_missing_warning(coverage.missing, len(truth), "score", options),)
    return PairDistances(distance, coverage, given.inputs, warnings, {"scores": options.scores})


def _rows_of_pairs(
    table: DelimitedTable, scores: NDArray[np.float64], truth: PairSet
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """(pairs,): the row of every pair in a table, −1 where it has none; and what is not used, in words.

    Rows are found by the two pictures (p1 and p2, in either order), or by the number of the pair (pair, from 0, or
    where it has exactly 1 to n, from 1); a table with neither is in the order of the pairs. Labels in it must be those
    of the set.
    """
    columns, path = columns_of(table), table.path
    numbers = stripped_cells(table, columns["pair"]) if "pair" in columns else None
    warnings: tuple[str, ...] = ()
    if "p1" in columns and "p2" in columns:
        rows, warnings = _rows_by_pictures(table, scores, truth)
    elif numbers is not None and numbers.cast(pl.Float64, strict=False).is_not_null().any():  # else they are names
        rows, warnings = _rows_by_number(table, numbers, len(truth))
    elif len(scores) != len(truth):
        raise PredictionError(
            f"{path} has {len(scores):,} scores, but the set has {len(truth):,} pairs. Columns p1 and p2 would say "
            "which pair a line is about."
        )
    else:
        rows = np.arange(len(truth))
    if "label" in columns:
        labels = label_codes(stripped_cells(table, columns["label"]))
        clash = np.flatnonzero((rows >= 0) & (labels[rows] == ~truth.same))
        if len(clash):
            wrong = int(clash[0])
            raise PredictionError(
                f"{path}, line {table.lines[rows[wrong]]}, column label: "
                f"{table.frame[columns['label']][int(rows[wrong])]}, but pair {wrong} of the set "
                f"({truth.pictures[truth.first[wrong]]}, {truth.pictures[truth.second[wrong]]}) shows "
                f"{'one person' if truth.same[wrong] else 'two people'}. Are the lines in another order?"
            )
    return rows, warnings


def _rows_by_pictures(
    table: DelimitedTable, scores: NDArray[np.float64], truth: PairSet
) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    columns, path = columns_of(table), table.path
    written = [table.frame[columns[side]] for side in ("p1", "p2")]
    first, second = (places_in(truth.pictures, side.str.strip_chars()) for side in written)
    if len(first) == len(truth) and np.array_equal(first, truth.first) and np.array_equal(second, truth.second):
        return np.arange(len(truth)), ()
    keys = np.where((first < 0) | (second < 0), -1, keys_of(first, second, len(truth.pictures)))
    lines = pl.DataFrame({"key": keys, "row": np.arange(len(keys)), "score": scores}).filter(pl.col("key") >= 0)
    first_lines = lines.unique("key", keep="first", maintain_order=True)
    pairs = pl.DataFrame({"key": pair_keys(truth)})
    found = pairs.join(first_lines, on="key", how="left", maintain_order="left")["row"]
    rows = np.asarray(found.fill_null(-1).to_numpy())
    if (rows < 0).all():
        raise PredictionError(
            f"{path}: no line names a pair of the set: the first is {written[0][0]!r}, {written[1][0]!r}; the set has "
            f"{truth.pictures[truth.first[0]]!r}, {truth.pictures[truth.second[0]]!r}."
        )
    if len(first_lines) < len(lines):
        _check_repeated(table, lines.join(first_lines, on="key", how="left", maintain_order="left"), written)
    if (rows >= 0).all():  # surplus lines alone are no sign of wrong names
        return rows, ()
    every = pl.DataFrame({"key": keys, "row": np.arange(len(keys))})
    unknown = every.join(pairs, on="key", how="anti", maintain_order="left")["row"]
    if not len(unknown):
        return rows, ()
    row = int(unknown[0])
    return rows, (
        f"{path}: {len(unknown):,} of {len(keys):,} lines are of pairs that the set does not have, such as line "
        f"{table.lines[row]} ({written[0][row]}, {written[1][row]}), and are not used.",
    )


def _check_repeated(table: DelimitedTable, lines: pl.DataFrame, written: Sequence[pl.Series]) -> None:
    """Lines of one pair have one score; every line stands beside the first one of its pair."""
    score, before = lines["score"].to_numpy(), lines["score_right"].to_numpy()
    differs = np.flatnonzero(~np.isclose(score, before, rtol=0, atol=_ROUNDING, equal_nan=True))
    if len(differs):
        one, other = (lines[name][int(differs[0])] for name in ("row_right", "row"))
        raise PredictionError(
            f"{table.path}, lines {table.lines[one]} and {table.lines[other]}: one pair, {written[0][one]}, "
            f"{written[1][one]}, has two scores, {before[differs[0]]:g} and {score[differs[0]]:g}."
        )


def _rows_by_number(table: DelimitedTable, cells: pl.Series, pairs: int) -> tuple[NDArray[np.int64], tuple[str, ...]]:
    """As `_rows_of_pairs`, by numbers of pairs; those of all from 1 on are taken as such, with a note."""
    numbers = cells.cast(pl.Int64, strict=False).fill_null(-1).to_numpy()
    notes: tuple[str, ...] = ()
    if len(numbers) == pairs and np.array_equal(np.sort(numbers), np.arange(1, pairs + 1)):
        numbers = numbers - 1
        notes = (f"{table.path}: the column pair has the numbers 1 to {pairs:,}: pairs are taken as numbered from 1.",)
    is_known = (numbers >= 0) & (numbers < pairs)
    lines = np.flatnonzero(is_known)
    rows = np.full(pairs, -1, dtype=np.int64)
    rows[numbers[lines[::-1]]] = lines[::-1]  # of lines about one pair, the first
    is_wrong = ~is_known
    is_wrong[lines] = rows[numbers[lines]] != lines
    wrong = np.flatnonzero(is_wrong)
    if len(wrong):
        row = int(wrong[0])
        problem = (
            f"is named twice, first in line {table.lines[rows[numbers[row]]]}"
            if is_known[row]
            else f"is no pair of the set, which are numbered from 0 to {pairs - 1:,}"
        )
        raise PredictionError(f"{table.path}, line {table.lines[row]}, column pair: {cells[row]!r} {problem}.")
    return rows, notes


def _direction_warnings(
    distance: NDArray[np.float64], truth: PairSet, options: PairSetOptions, order: str
) -> tuple[str, ...]:
    """Whether scores say the opposite of what they should, or nothing about who is shown."""
    known = ~np.isnan(distance)
    opposite = {
        "cosine": "Higher must mean more alike: set scores=distance for squared distances.",
        "distance": "With scores=distance lower must mean more alike: set scores=cosine for cosines.",
    }
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
    frame = table.frame
    names = columns_of(table)
    wanted = options.column.strip().lower() or ("score" if "score" in names else "")
    if not wanted and len(names) == 1 and not _is_number(next(iter(names))):
        wanted = next(iter(names))
    if len(names) == 1 and wanted not in names and _is_number(next(iter(names))):
        raise PredictionError(
            f"{path}, line 1: {frame.columns[0]} is a score, but the name of the column was expected. Add a first "
            "line: score."
        )
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


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


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
