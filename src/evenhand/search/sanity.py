"""Do embeddings or scores look like those of these faces? Looked at before hours are spent on them.

A sample of the rows is enough to notice rows in another order than the faces or a few places off, constant or repeated
rows, rows without length, a mirrored pass in another order or in the second half of the columns, lengths that were
normalised away, and scores that are in another order or are distances.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.blas import OneThread
from evenhand.core.errors import PredictionError
from evenhand.core.records import Array

Halves = Literal["auto", "split", "keep"]

_ROWS = 1024  # looked at, spread evenly over the array
_PEOPLE, _ROWS_OF_PERSON = 128, 4  # compared with each other
_FEWEST_PAIRS = 12  # of one person: fewer say nothing about the order of rows
_UNORDERED = 0.6  # chance that two rows of one person are more alike than two of different people; 0.5 by chance alone
_WELL_ORDERED = 0.95  # no need to look further
_SHIFTS = (1, -1, 2, -2, 3, -3)  # places by which all rows may be off
_SHIFTED = 0.9  # so much alike are rows in the right order, mostly
_BETTER_SHIFTED = 0.05  # so much more alike are rows that were moved to their faces
_FEW_PEOPLE = 16  # of fewer, only rows that are then in the right order say that they were moved
_BETTER_BY_CHANCE = 0.6  # of one person, and by its root less of more: rows that are less alike differ more by accident
_OPPOSITE = 0.2  # chance that a genuine comparison is rated more alike: below it, low scores mean alike
_COMPARISONS = 4096  # of each kind whose scores are looked at
_MOSTLY_REPEATED = 0.5
_UNIT = 1e-3  # a length so near to one is one


class HalvesLikeness(NamedTuple):
    """How alike the two halves of a row are (cosine), and those of different rows."""

    own: float
    other: float

    @property
    def are_two_passes(self) -> bool:
        """Whether the second half shows what the first one does: the mirrored pass beside the first."""
        return self.own > 0.5 and self.own > self.other + 0.3


def embedding_warnings(
    vectors: Array,
    person: Array | None = None,
    *,
    flipped: Array | None = None,
    keeps_lengths: bool = False,
    index: str = "faces.csv",
    skip: frozenset[str] = frozenset(),
) -> tuple[str, ...]:
    """What looks wrong about embeddings (rows, dimensions), in words; nothing when all is well.

    `person` (rows,) says whose face each row is, −1 where that is not known. `keeps_lengths`: lengths are used as
    weights, which says nothing when all are one. `index` is the file that can name the rows. `skip` names what is not
    looked for: "finite" (values that are not), "repeated" (rows that were written several times).

    >>> embedding_warnings(np.ones((20, 8)))
    ('All 20 sampled rows are the same vector: the embeddings are constant.',)
    """
    if not len(vectors):
        return ()
    rows = _sampled(np.arange(len(vectors)), _ROWS)
    sample = _double(vectors, rows)
    warnings = _of_values(sample, "", skip)
    if flipped is not None:
        warnings += _of_values(_double(flipped, rows), " of the mirrored pass", skip)
    if keeps_lengths and not warnings:
        with np.errstate(over="ignore"):
            lengths = np.sqrt((sample * sample).sum(axis=1))
        if len(rows) > 1 and np.abs(lengths - 1).max() < _UNIT:
            warnings.append(
                "The embeddings were normalised already (every length is 1): norm=keep and norm=unit give the same "
                "numbers, and published ones with norm=keep can't be reproduced from them."
            )
    if any("constant" in warning for warning in warnings):
        return tuple(warnings)
    if flipped is not None and flipped.shape == vectors.shape:
        warnings += _of_passes(sample, _double(flipped, rows))
    if person is not None:
        warnings += _of_order(vectors, np.asarray(person), index)
    return tuple(warnings)


def score_warnings(
    scores: Array, same: Array, order: str, opposite: str = "Higher must mean more alike: negate distances."
) -> tuple[str, ...]:
    """What looks wrong about the scores of comparisons, of which higher means more alike; nothing when all is well.

    `same` says which comparisons are genuine, `order` in which order scores are expected, `opposite` what to do when
    they say the opposite. Failures to enrol (−∞) are not looked at.

    >>> score_warnings(np.arange(100.0), np.arange(100) < 50, "")
    ('The scores say the opposite of what they should: a genuine comparison is rated more alike than an impostor \
comparison in only 0 % of cases. Higher must mean more alike: negate distances.',)
    """
    every = _sampled(np.arange(len(scores)), 2 * _COMPARISONS)
    sides = scores[_sampled(np.flatnonzero(same), _COMPARISONS)], scores[every[~same[every]]]
    genuine, impostor = (side[side > -np.inf] for side in sides)
    if len(genuine) < _FEWEST_PAIRS or len(impostor) < _FEWEST_PAIRS:
        return ()
    if np.ptp(np.concatenate([genuine, impostor])) == 0:
        return (f"All {len(genuine) + len(impostor):,} sampled scores are the same number: they are constant.",)
    higher = chance_of_higher(genuine, impostor)
    share = (
        f"a genuine comparison is rated more alike than an impostor comparison in only {100 * higher:.0f} % of cases"
    )
    if higher < _OPPOSITE:
        return (f"The scores say the opposite of what they should: {share}. {opposite}",)
    if higher < _UNORDERED:
        return (
            f"The scores seem to be in another order than the comparisons, and then no result means anything: {share} "
            f"(50 % is chance). {order}",
        )
    return ()


def separate_passes(
    vectors: Array, flipped: Array | None, where: Path, *, halves: Halves, is_mirror_used: bool
) -> tuple[Array, Array | None, tuple[str, ...]]:
    """Embeddings, their mirrored pass and notes for the user; rows that hold both side by side are split.

    `halves` says whether rows hold both; "auto" looks whether they seem to, and splits them if the mirrored
    pass is used.
    """
    if flipped is not None and halves == "split":
        raise PredictionError(
            f"halves=split takes the mirrored pass out of the columns of {where}, but it is given in another array, "
            "too. Leave halves out, or give the embeddings alone."
        )
    if flipped is not None or halves == "keep":
        return vectors, flipped, ()
    width = vectors.shape[1]
    if halves == "auto":
        likeness = halves_likeness(vectors)
        if likeness is None or not likeness.are_two_passes:
            return vectors, None, ()
        if not is_mirror_used:
            warning = (
                f"The two halves of the {width} columns are alike (cosine {likeness.own:.2f}): a pass and its mirrored "
                "pass side by side? flip=sum takes them apart and adds them, halves=split takes the first alone."
            )
            return vectors, None, (warning,)
    if width % 2:
        raise PredictionError(f"{where} has {width} columns, which have no two halves. Set halves=keep.")
    note = (
        f"The {width} columns of {where.name} were taken as {width // 2} of a pass and {width // 2} of its "
        "mirrored pass (halves=keep leaves them together)."
    )
    first, second = np.split(np.asarray(vectors), 2, axis=1)
    return first, second, (note,)


def halves_likeness(vectors: Array) -> HalvesLikeness | None:
    """How alike the halves of rows are; None where there is no second half."""
    if vectors.shape[1] % 2 or vectors.shape[1] < 4 or len(vectors) < 2:
        return None
    sample = _double(vectors, _sampled(np.arange(len(vectors)), 256))
    first, second = (_unit(half) for half in np.split(sample, 2, axis=1))
    own = float(np.einsum("ij,ij->", first, second))
    every = float(np.dot(first.sum(axis=0), second.sum(axis=0)))  # of all pairs of rows: a product of their sums
    rows = len(sample)
    return HalvesLikeness(own / rows, (every - own) / (rows * (rows - 1)))


def order_likeness(vectors: Array, person: Array) -> float | None:
    """The chance that two rows of one person are more alike than two rows of different people; None: too few to say."""
    rows = _rows_to_compare(person)
    return None if rows is None else _likeness(vectors, rows, person[rows])


def _of_order(vectors: Array, person: NDArray[np.int64], index: str) -> list[str]:
    """Whether rows are in another order than the faces, or a few places off."""
    rows = _rows_to_compare(person)
    alike = None if rows is None else _likeness(vectors, rows, person[rows])
    if rows is None or alike is None or alike >= _WELL_ORDERED:
        return []
    moved = {by: _likeness(vectors, np.clip(rows + by, 0, len(vectors) - 1), person[rows]) or 0.0 for by in _SHIFTS}
    highest = max(moved.values())
    best = next(by for by in _SHIFTS if moved[by] > highest - _BETTER_SHIFTED)  # the nearest of those that explain it
    people = len(np.unique(person[rows]))
    by_chance = _BETTER_BY_CHANCE / np.sqrt(people) if people >= _FEW_PEOPLE else np.inf
    if moved[best] > alike + _BETTER_SHIFTED + (0 if moved[best] > _SHIFTED else by_chance):
        places = "one row" if abs(best) == 1 else f"{abs(best)} rows"
        return [
            f"The embeddings seem to stand {places} too {'late' if best > 0 else 'early'}: two rows of one person are "
            f"more alike than two rows of different people in {100 * alike:.0f} % of cases, and in "
            f"{100 * moved[best]:.0f} % if every row is moved by {'one' if abs(best) == 1 else abs(best)}. Check the "
            f"first and the last row, or add {index}."
        ]
    if alike < _UNORDERED:
        return [
            "The rows seem to be in another order than the faces, and then no result means anything: two rows of one "
            f"person are more alike than two rows of different people in only {100 * alike:.0f} % of cases (50 % is "
            f"chance). Check the order of rows, or add {index}."
        ]
    return []


def _of_passes(first: NDArray[np.float64], second: NDArray[np.float64]) -> list[str]:
    """Whether the mirrored pass is in another order than the first one."""
    if len(first) < _FEWEST_PAIRS:
        return []
    first, second = _unit(first), _unit(second)
    own = np.einsum("ij,ij->i", first, second)
    other = np.einsum("ij,ij->i", first, np.roll(second, len(second) // 2, axis=0))
    alike = float(np.mean(own > other) + np.mean(own == other) / 2)
    if alike >= _UNORDERED:
        return []
    return [
        "The mirrored pass seems to be in another order than the embeddings: a row is more like its mirrored row than "
        f"like that of another face in only {100 * alike:.0f} % of cases (50 % is chance). Check its order."
    ]


def _rows_to_compare(person: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """Some rows of some people who have several; None without any."""
    known = np.flatnonzero(person >= 0)
    order = known[np.argsort(person[known], kind="stable")]
    people, starts, counts = np.unique(person[order], return_index=True, return_counts=True)
    several = _sampled(np.flatnonzero(counts > 1), _PEOPLE)
    if len(people) < 2 or not len(several):
        return None
    picked = [
        order[starts[one] + np.unique(np.linspace(0, counts[one] - 1, _ROWS_OF_PERSON).round().astype(np.int64))]
        for one in several
    ]
    return np.concatenate(picked)


def _likeness(vectors: Array, rows: NDArray[np.int64], person: NDArray[np.int64]) -> float | None:
    """As `order_likeness`, of some rows, given whose they are."""
    vectors = _unit(_double(vectors, rows))
    with OneThread().held():  # others would wait for work until long after
        cosine = vectors @ vectors.T
    upper = np.triu_indices(len(rows), 1)
    same = (person[:, None] == person[None, :])[upper]
    if int(same.sum()) < _FEWEST_PAIRS or same.all():
        return None
    scores = cosine[upper]
    return chance_of_higher(scores[same], scores[~same])


def chance_of_higher(some: Array, others: Array) -> float:
    """The chance that one of the first is higher than one of the others; a tie is half a chance."""
    others = np.sort(others)
    below = np.searchsorted(others, some, side="left") + np.searchsorted(others, some, side="right")
    return float(below.mean() / (2 * len(others)))


def _of_values(sample: NDArray[np.float64], name: str, skip: frozenset[str]) -> list[str]:
    warnings = []
    broken = int((~np.isfinite(sample).all(axis=1)).sum())
    if broken and "finite" not in skip:
        warnings.append(
            f"{broken:,} of {len(sample):,} rows{name} that were looked at have a value that is not finite."
        )
    empty = int((sample == 0).all(axis=1).sum())
    if empty:
        warnings.append(
            f"{empty:,} of {len(sample):,} sampled rows{name} are zero vectors: nothing was computed for "
            "them, and they are like no other row."
        )
    if len(sample) > 1:
        distinct = len(
            np.unique(np.ascontiguousarray(sample).view(np.dtype((np.void, sample.itemsize * sample.shape[1]))))
        )
        if distinct == 1:
            warnings.append(f"All {len(sample):,} sampled rows{name} are the same vector: the embeddings are constant.")
        elif distinct < _MOSTLY_REPEATED * len(sample) and "repeated" not in skip:
            warnings.append(
                f"Only {distinct:,} of {len(sample):,} sampled rows{name} are different vectors: were rows "
                "written several times?"
            )
    return warnings


def _sampled(rows: NDArray[np.int64], most: int) -> NDArray[np.int64]:
    return rows if len(rows) <= most else rows[np.linspace(0, len(rows) - 1, most).astype(np.int64)]


def _double(vectors: Array, rows: Array) -> NDArray[np.float64]:
    return np.asarray(vectors[rows], dtype=np.float64)


def _unit(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    vectors = np.where(np.isfinite(vectors), vectors, 0.0)
    largest = np.abs(vectors).max(axis=1, keepdims=True, initial=0.0)
    vectors = vectors / np.where(largest > 0, largest, 1.0)  # so that no square is too large or too small
    lengths = np.sqrt((vectors * vectors).sum(axis=1, keepdims=True))
    return np.asarray(vectors / np.where(lengths > 0, lengths, 1.0))
