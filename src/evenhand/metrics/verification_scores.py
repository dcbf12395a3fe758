"""The scores of comparisons, sorted once, with the cell of each; groups and draws are weights on cells.

Genuine and impostor scores are kept apart. What is weighed anew shares the sorted scores with what it came from, and
large products of weights are not multiplied out: only some of their rows are ever read.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from evenhand.core.metric import Collected, Matrix, tally
from evenhand.core.records import Array, Records, blocks
from evenhand.core.sparse import Product
from evenhand.metrics.operating_points import SortedScores

FailurePolicy = Literal["penalise", "exclude"]
AT_ONCE = 1 << 17  # scores whose halves stay in a core's cache
_HALVES = (0, 1) if sys.byteorder == "little" else (1, 0)  # of a word: where the lower and the upper one lie


@dataclass(frozen=True, eq=False)
class Scores(Collected):
    """The scores of one class, with the cell of each; sorted once, when they are first looked at."""

    score: Array  # (rows,)

    @classmethod
    def of_one_cell(cls, score: Array) -> Self:
        """Scores that all belong to one cell; the given array is theirs, and is sorted in place."""
        score.sort()
        return cls(_one_cell(len(score)), 1, None, score)._mark()

    def place(self, index: Array, size: int) -> Self:
        if self.mixture is not None:
            return super().place(index, size)
        narrow = np.asarray(index).astype(_codes_of(size), copy=False)
        codes = _one_cell(len(self.score)) if size == 1 else taken(narrow, self.codes)
        moved = type(self)(codes, size, None, self.score)
        moved.__dict__["_moved_from"] = (self, narrow)  # sorted once for both
        return moved

    def weigh(self, weights: Matrix) -> Self:
        return self.mixed(weights if self.mixture is None else weights @ self.mixture)

    def mixed(self, mixture: Matrix) -> Self:
        """The same scores under another mixture of their basis cells."""
        ordered = self.ordered()
        made = type(self)(ordered.codes, ordered.basis, mixture, ordered.score)._mark()
        made.__dict__["_counts"] = ordered.per_basis()
        return made

    def ordered(self) -> Self:
        """The same with ascending scores; what was sorted is kept for the next time."""
        found: Self | None = self.__dict__.get("_ordered")
        if found is None:
            found = self._sorted()._mark()
            self.__dict__["_ordered"] = found
            self.__dict__.pop("_moved_from", None)
        return found

    def per_basis(self) -> Array:
        """(basis,): how many scores each basis cell has; counted once, in double precision."""
        counts: Array | None = self.__dict__.get("_counts")
        if counts is None:
            counts = np.zeros(self.basis)
            if self.basis == 1:
                counts[0] = len(self.score)
            else:
                parts = blocks(len(self.codes), AT_ONCE if self.basis <= AT_ONCE else max(len(self.codes), 1))
                for part in parts:  # of many cells all at once: each sum has as many numbers as there are cells
                    counts += np.bincount(self.codes[part], minlength=self.basis)
            self.__dict__["_counts"] = counts
        return counts

    def _mark(self) -> Self:
        self.__dict__["_ordered"] = self
        return self

    def _sorted(self) -> Self:
        moved: tuple[Self, Array] | None = self.__dict__.get("_moved_from")
        if moved is not None:
            source = moved[0].ordered()
            codes = taken(moved[1], source.codes) if self.basis > 1 else self.codes  # one cell needs no new codes
            return type(self)(codes, self.basis, self.mixture, source.score)
        if self.basis == 1:
            return type(self)(self.codes, 1, self.mixture, np.sort(self.score))
        if self.score.dtype == np.float32 and self.basis < 2**32:
            return self._sorted_packed()
        order = np.argsort(self.score)  # equal scores are counted together: their order does not matter
        return type(self)(self.codes[order], self.basis, self.mixture, self.score[order])

    def _sorted_packed(self) -> Self:
        # Score and cell travel in one word, so that a single sort moves both; block by block, to spare memory.
        words = np.empty(len(self.score), dtype=np.uint64)
        lower, upper = (words.view(np.uint32)[place::2] for place in _HALVES)
        for block in blocks(len(words), AT_ONCE):
            bits = np.ascontiguousarray(self.score[block]).view(np.uint32)
            upper[block] = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(0x80000000))
            lower[block] = self.codes[block]
        words.sort()
        codes, score = np.empty(len(words), dtype=_codes_of(self.basis)), np.empty(len(words), dtype=np.float32)
        for block in blocks(len(words), AT_ONCE):
            high = upper[block]
            codes[block] = lower[block]
            score.view(np.uint32)[block] = np.where(high >> np.uint32(31), high & np.uint32(0x7FFFFFFF), ~high)
        return type(self)(codes, self.basis, self.mixture, score)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Genuine and impostor scores, and how many comparisons had a failure to enrol."""

    genuine: Scores
    impostor: Scores
    failed: Array  # (cells,)

    @property
    def size(self) -> int:
        return self.genuine.size

    def __add__(self, other: Self, /) -> Self:
        return type(self)(self.genuine + other.genuine, self.impostor + other.impostor, self.failed + other.failed)

    def place(self, index: Array, size: int) -> Self:
        failed = tally(self.failed, np.asarray(index), size)
        return type(self)(self.genuine.place(index, size), self.impostor.place(index, size), failed)

    def weigh(self, weights: Matrix) -> Self:
        failed = np.asarray(weights @ self.failed)
        known = self.genuine.mixture  # both sides have the same cells
        mixture = weights if known is None else weights @ known
        return type(self)(self.genuine.mixed(mixture), self.impostor.mixed(mixture), failed)

    @classmethod
    def measured(cls, rows: Records, cells: Array | None, size: int, failures: FailurePolicy) -> Self:
        """The sorted scores of the rows; failures to enrol are kept at −∞, or left out and counted."""
        score, same = np.asarray(rows["score"]), np.asarray(rows["same"], dtype=np.bool_)
        if score.dtype.kind != "f":
            score = score.astype(np.float64)
        lowest = np.min(score, initial=np.inf)
        if np.isnan(lowest):
            raise ValueError("a score is not a number")
        failed = score == -np.inf if lowest == -np.inf else None

        def side(inside: Array) -> Scores:
            kept = inside & ~failed if failures == "exclude" and failed is not None else inside
            if size == 1:
                return Scores.of_one_cell(score[kept])
            return _scores(score[kept], None if cells is None else np.asarray(cells)[kept], size)

        failures_of_cells = np.zeros(size, dtype=np.int64)
        if failed is not None:
            failures_of_cells = tally(failed, None if size == 1 else cells, size)
        return cls(side(same), side(~same), failures_of_cells)

    def side(self, cell: int) -> tuple[SortedScores, SortedScores]:
        """Genuine and impostor scores of a cell."""
        return CellReader(self.genuine).whole(cell), CellReader(self.impostor).whole(cell)


class CellReader:
    """Reads the sorted scores of one cell after the other."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores.ordered()
        self.everyone = SortedScores(self.scores.score, None, len(self.scores.score))

    def whole(self, cell: int) -> SortedScores:
        """All scores of a cell."""
        state, weights = self.scores, self._weights(cell)
        if weights is None:
            return self.everyone
        if ((weights == 0) | (weights == 1)).all():  # some, each once
            inside = state.score[taken(weights == 1, state.codes)]
            return SortedScores(inside, None, len(inside))
        return SortedScores.weighted(state.score, weights[state.codes])

    def top(self, cell: int, share: float, floor: float) -> SortedScores:
        """So many of the highest scores that more than `share` of the cell's weight is among them, and all ≥ floor."""
        state, weights = self.scores, self._weights(cell)
        if weights is None:
            return self.everyone
        total = float(np.dot(state.per_basis(), weights))
        n = len(state.score)
        reach = n - int(np.searchsorted(state.score, state.score.dtype.type(floor), side="left"))
        taken = min(n, max(reach, int(1.1 * share * n) + 1024))
        while True:
            part = SortedScores.weighted(
                state.score[n - taken :], weights[state.codes[n - taken :]], total, is_whole=taken == n
            )
            if part.is_whole or (part.tail is not None and part.tail[0] / max(total, 1.0) > share):
                return part
            taken = min(n, 4 * taken)

    def _weights(self, cell: int) -> Array | None:
        """(basis,): how often the scores of each basis cell count; None when all count once."""
        mixture = self.scores.mixture
        if mixture is None and self.scores.basis == 1:
            return None
        weights = mixture.row(cell) if isinstance(mixture, Product) else self.scores.basis_weights(np.array([cell]))[0]
        return None if (weights == 1).all() else weights


def _one_cell(rows: int) -> Array:
    """(rows,): zero for every row, without the memory."""
    return np.broadcast_to(np.int8(0), (rows,))


def _scores(score: Array, cells: Array | None, size: int) -> Scores:
    codes = np.zeros(len(score), dtype=np.int32) if cells is None else cells.astype(_codes_of(size), copy=False)
    return Scores(codes, size, None, score)


def _codes_of(size: int) -> type[np.signedinteger]:
    return np.int8 if size <= 2**7 else np.int32 if size < 2**31 else np.int64


def taken(table: Array, place: Array) -> Array:
    """The entries of a table at millions of places, some at a time: places are widened on the way."""
    entries = np.empty(len(place), dtype=table.dtype)
    for block in blocks(len(place), AT_ONCE):
        np.take(table, place[block], out=entries[block], mode="clip")
    return entries
