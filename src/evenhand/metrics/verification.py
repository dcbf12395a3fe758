"""One-to-one verification: rates at operating points, and the curves behind them.

A row is a comparison of two templates: its `score` (−∞ when one of them could not be
enrolled) and whether both show the `same` person. The state keeps the scores of both
classes, sorted once, with the cell of each; groups and draws are weights on cells.

`Verification` reads only the upper end of the impostors, which is all that operating points
need, so that drawing subjects again costs little. `Separation` reads everything.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, Self

import numpy as np

from evenhand.core.metric import (
    Collected,
    Column,
    Curve,
    Direction,
    Matrix,
    Metric,
    Numbers,
    OperatingPoint,
    Sampled,
    Undefined,
    tally,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import Lazily
from evenhand.metrics.operating_points import (
    Convention,
    Corners,
    Reading,
    Side,
    area_under_roc,
    corner_points,
    det_of,
    exact_threshold,
    readings,
    roc_of,
    where_errors_meet,
)
from evenhand.metrics.verification_draws import redrawn_rates, redrawn_separation

STANDARD_RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
RULE_OF_THIRTY = 30  # fewer false accepts than this make a rate erratic
FailurePolicy = Literal["penalise", "exclude"]

_CURVES_KEPT = 256
_NO_GENUINE = "no genuine comparisons"
_NO_IMPOSTOR = "no impostor comparisons"


class Product:
    """A product of two large sparse matrices of which only some rows are ever read, so it is not multiplied out."""

    def __init__(self, left: Matrix, right: Matrix) -> None:
        self.left, self.right = left, right
        self.shape = (int(left.shape[0]), int(right.shape[1]))
        self._latest: tuple[int, Array] | None = None  # both classes ask for the same row

    def row(self, place: int) -> Array:
        """One row as single-precision numbers: whole weights stay exact."""
        if self._latest is None or self._latest[0] != place:
            self._latest = (place, self._row(place))
        return self._latest[1]

    def _row(self, place: int) -> Array:
        out = np.zeros(self.shape[1], dtype=np.float32)
        first, last = self.left.indptr[place], self.left.indptr[place + 1]
        for factor, inner in zip(self.left.data[first:last], self.left.indices[first:last], strict=True):
            part = slice(self.right.indptr[inner], self.right.indptr[inner + 1])
            out[self.right.indices[part]] += factor * self.right.data[part]
        return out

    def toarray(self) -> Array:
        """The whole product."""
        return np.asarray((self.left @ self.right).toarray())


_WORTH_WAITING = 1 << 19  # entries of a sparse matrix from which on products are not multiplied out


def _multiplied(weights: Matrix, mixture: Matrix | Product | None) -> Matrix | Product:
    """New cells from old: `weights @ mixture`, at once or when a row is asked for."""
    if mixture is None:
        return weights
    if isinstance(mixture, Product):
        return Product((weights @ mixture.left).tocsr(), mixture.right)
    both_rows = getattr(weights, "format", "") == getattr(mixture, "format", "") == "csr"
    if both_rows and mixture.nnz > _WORTH_WAITING and mixture.has_canonical_format:
        return Product(weights, mixture)
    return weights @ mixture


@dataclass(frozen=True, eq=False)
class Scores(Collected):
    """The scores of one class, with the cell of each; sorted once, when they are first looked at."""

    score: Array  # (rows,)

    def place(self, index: Array, size: int) -> Self:
        moved = super().place(index, size)
        if self.mixture is None:
            moved.__dict__["_moved_from"] = (self, np.asarray(index))  # sorted once for both
        return moved

    def weigh(self, weights: Matrix) -> Self:
        return self.mixed(_multiplied(weights, self.mixture))

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
        found: Array | None = self.__dict__.get("_counts")
        if found is None:
            found = self.__dict__["_counts"] = np.bincount(self.codes, minlength=self.basis).astype(np.float64)
        return found

    def _mark(self) -> Self:
        self.__dict__["_ordered"] = self
        return self

    def _sorted(self) -> Self:
        moved: tuple[Self, Array] | None = self.__dict__.get("_moved_from")
        if moved is not None:
            source, index = moved[0].ordered(), moved[1].astype(_codes_of(self.basis), copy=False)
            codes = index[source.codes] if self.basis > 1 else self.codes  # in one cell there is nothing to tell apart
            return type(self)(codes, self.basis, self.mixture, source.score)
        if self.basis == 1:
            return type(self)(self.codes, 1, self.mixture, np.sort(self.score))
        if self.score.dtype == np.float32 and self.basis < 2**32:
            return self._sorted_packed()
        order = np.argsort(self.score, kind="stable")
        return type(self)(self.codes[order], self.basis, self.mixture, self.score[order])

    def _sorted_packed(self) -> Self:
        # Score and cell travel in one word, so that a single sort moves both.
        bits = np.ascontiguousarray(self.score).view(np.uint32)
        keys = np.where(bits >> np.uint32(31), ~bits, bits | np.uint32(0x80000000)).astype(np.uint64)
        keys <<= np.uint64(32)
        keys |= self.codes.astype(np.uint64)
        keys.sort()
        codes = (keys & np.uint64(0xFFFFFFFF)).astype(_codes_of(self.basis))
        keys >>= np.uint64(32)
        high = keys.astype(np.uint32)
        bits = np.where(high >> np.uint32(31), high & np.uint32(0x7FFFFFFF), ~high)
        return type(self)(codes, self.basis, self.mixture, bits.view(np.float32))


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
        mixture = _multiplied(weights, self.genuine.mixture)  # both sides have the same cells
        return type(self)(self.genuine.mixed(mixture), self.impostor.mixed(mixture), failed)

    @classmethod
    def measured(cls, rows: Records, cells: Array | None, size: int, failures: FailurePolicy) -> Self:
        """The sorted scores of the rows; failures to enrol are kept at −∞, or left out and counted."""
        score, same = np.asarray(rows["score"]), np.asarray(rows["same"], dtype=np.bool_)
        if score.dtype.kind != "f":
            score = score.astype(np.float64)
        if np.isnan(score).any():
            raise ValueError("a score is not a number")
        failed = score == -np.inf

        def side(inside: Array) -> Scores:
            kept = inside & ~failed if failures == "exclude" else inside
            return _scores(score[kept], None if cells is None else np.asarray(cells)[kept], size)

        return cls(side(same), side(~same), tally(failed, cells, size))

    def side(self, cell: int) -> tuple[Side, Side]:
        """Genuine and impostor scores of a cell."""
        return _Cells(self.genuine).whole(cell), _Cells(self.impostor).whole(cell)

    def sides(self) -> Iterator[tuple[Side, Side]]:
        """Genuine and impostor scores of every cell."""
        readers = [_Cells(self.genuine), _Cells(self.impostor)]
        for cell in range(self.size):
            yield readers[0].whole(cell), readers[1].whole(cell)


class _Cells:
    """Reads the sorted scores of one cell after the other."""

    def __init__(self, scores: Scores) -> None:
        self.scores = scores.ordered()
        self.plain = scores.mixture is None and scores.basis == 1
        self.counts = np.zeros(1) if self.plain else self.scores.per_basis()

    def whole(self, cell: int) -> Side:
        """All scores of a cell."""
        state = self.scores
        if self.plain:
            return Side(state.score, None, len(state.score))
        weights = self._weights(cell)
        if (weights == 1).all():  # everyone, each once
            return Side(state.score, None, len(state.score))
        if ((weights == 0) | (weights == 1)).all():  # some, each once
            inside = state.score[(weights == 1)[state.codes]]
            return Side(inside, None, len(inside))
        return Side.weighted(state.score, weights[state.codes])

    def top(self, cell: int, share: float, floor: float) -> Side:
        """So many of the highest scores that more than `share` of the cell's weight is among them, and all ≥ floor."""
        state = self.scores
        if self.plain:
            return Side(state.score, None, len(state.score))
        weights = self._weights(cell)
        if (weights == 1).all():
            return Side(state.score, None, len(state.score))
        total = float(np.dot(self.counts, weights))
        n = len(state.score)
        reach = n - int(np.searchsorted(state.score, state.score.dtype.type(floor), side="left"))
        taken = min(n, max(reach, int(1.1 * share * n) + 1024))
        while True:
            part = Side.weighted(
                state.score[n - taken :], weights[state.codes[n - taken :]], total, complete=taken == n
            )
            if part.complete or (part.tail is not None and part.tail[0] / max(total, 1.0) > share):
                return part
            taken = min(n, 4 * taken)

    def _weights(self, cell: int) -> Array:
        state = self.scores
        if state.mixture is None:
            weights = np.zeros(state.basis)
            weights[cell] = 1.0
            return weights
        if isinstance(state.mixture, Product):
            return state.mixture.row(cell)
        row = state.mixture[[cell]]
        dense = row.toarray() if hasattr(row, "toarray") else np.asarray(row)
        return np.asarray(dense.reshape(-1))


@dataclass(frozen=True)
class Verification(Metric[Comparisons]):
    """Share of genuine comparisons accepted at thresholds that accept few impostors (TAR at FAR).

    Every group is read at its own threshold (`TAR@FAR=…`) and at the threshold that was set on
    all comparisons (`FMR@…`, `FNMR@…`); only the latter supports statements on differentials.
    """

    name: str
    far: tuple[float, ...] = STANDARD_RATES
    conventions: tuple[Convention, ...] = (Convention.EXACT,)
    failures: FailurePolicy = "penalise"
    collects: ClassVar[bool] = True

    @property
    def outputs(self) -> Mapping[str, Direction]:
        found = {tar_name(far, convention): Direction.HIGHER for convention in self.conventions for far in self.far}
        found |= {fmr_name(far): Direction.LOWER for far in self.far}
        found |= {fnmr_name(far): Direction.LOWER for far in self.far}
        return found

    @property
    def columns(self) -> tuple[str, ...]:
        return ("score", "same")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Comparisons:
        return Comparisons.measured(rows, cells, size, self.failures)

    def result(self, part: Comparisons, whole: Comparisons) -> Mapping[str, Column]:
        outputs = list(self.outputs)
        values = np.full((part.size, len(outputs)), np.nan)
        reasons: list[str] = []
        shared = self._shared_thresholds(whole)
        for cell, (genuine, impostor) in enumerate(self._sides(part, shared)):
            reasons.append(_lacking(genuine, impostor) or "no threshold: there are no impostor comparisons at all")
            tars = [
                reading.tar
                for convention in self.conventions
                for reading in readings(genuine, impostor, self.far, convention)
            ]
            thresholds = shared[cell if len(shared) > 1 else 0]
            values[cell] = [*tars, *_rates_at(genuine, impostor, thresholds)]
        return {output: Numbers(values[:, column], reasons) for column, output in enumerate(outputs)}

    def points(self, part: Comparisons, whole: Comparisons) -> Mapping[str, Sequence[OperatingPoint | None]]:
        shared = self._shared_thresholds(whole)
        found: dict[str, list[OperatingPoint | None]] = {output: [] for output in self.outputs}
        for cell, (genuine, impostor) in enumerate(self._sides(part, shared)):
            thresholds = shared[cell if len(shared) > 1 else 0]
            for convention in self.conventions:
                for far, reading in zip(self.far, readings(genuine, impostor, self.far, convention), strict=True):
                    found[tar_name(far, convention)].append(_point(convention.value, far, reading))
            for far, threshold in zip(self.far, thresholds, strict=True):
                point = _shared_point(far, float(threshold), impostor)
                found[fmr_name(far)].append(point)
                found[fnmr_name(far)].append(point)
        return found

    def missing(self, state: Comparisons) -> Array | None:
        return state.failed if self.failures == "exclude" else None

    @property
    def keeps(self) -> Hashable:
        return Comparisons, self.failures

    def redrawn(
        self, state: Comparisons, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        if set(self.conventions) - {Convention.EXACT} or state.genuine.mixture is not None:
            return None
        tables = redrawn_rates(state.genuine.ordered(), state.impostor.ordered(), cells, weights, self.far)
        named = zip((tar_name, fmr_name, fnmr_name), tables, strict=True)
        found = {name(far): table[:, :, place] for name, table in named for place, far in enumerate(self.far)}
        return {output: found[output] for output in wanted}

    def _shared_thresholds(self, whole: Comparisons) -> Array:
        """(cells of the whole, rates)."""
        top = max(self.far, default=0.0)
        genuine, impostor = _Cells(whole.genuine), _Cells(whole.impostor)
        found = np.full((whole.size, len(self.far)), np.nan)
        for cell in range(whole.size):
            sides = genuine.whole(cell), impostor.top(cell, top, np.inf)
            found[cell] = [exact_threshold(*sides, far) for far in self.far]
        return found

    def _sides(self, part: Comparisons, shared: Array) -> Iterator[tuple[Side, Side]]:
        if set(self.conventions) - {Convention.EXACT, Convention.AT_IMPOSTOR}:
            yield from part.sides()
            return
        genuine, impostor = _Cells(part.genuine), _Cells(part.impostor)
        top = max(self.far, default=0.0)
        floor = float(np.nanmin(shared)) if shared.size and not np.isnan(shared).all() else np.inf
        for cell in range(part.size):
            yield genuine.whole(cell), impostor.top(cell, top, floor)


@dataclass(frozen=True)
class Separation(Metric[Comparisons]):
    """How well scores tell genuine from impostor comparisons over all thresholds: AUC, EER, ROC, DET.

    When subjects are drawn again, the EER is found anew; the AUC, which looks at every comparison, moves to
    first order.
    """

    name: str
    failures: FailurePolicy = "penalise"
    collects: ClassVar[bool] = True

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {
            "AUC": Direction.HIGHER,
            "EER": Direction.LOWER,
            "ROC": Direction.NEITHER,
            "DET": Direction.NEITHER,
        }

    @property
    def columns(self) -> tuple[str, ...]:
        return ("score", "same")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Comparisons:
        return Comparisons.measured(rows, cells, size, self.failures)

    def result(self, part: Comparisons, whole: Comparisons) -> Mapping[str, Column]:
        areas, equal, reasons = np.full(part.size, np.nan), np.full(part.size, np.nan), []
        kept: dict[int, Corners] = {}  # of as many cells as a table has; thousands of draws ask for no curve
        for cell, (genuine, impostor) in enumerate(part.sides()):
            reasons.append(_lacking(genuine, impostor))
            if reasons[cell]:
                continue
            corners = corner_points(genuine, impostor)
            areas[cell], equal[cell] = area_under_roc(genuine, impostor), where_errors_meet(corners)
            if cell < _CURVES_KEPT:
                kept[cell] = corners

        def drawn(curve: Callable[[Corners], Curve]) -> Lazily:
            def make(cell: int) -> Curve | Undefined:
                if reasons[cell]:
                    return Undefined(reasons[cell])
                return curve(kept[cell] if cell in kept else corner_points(*part.side(cell)))

            return Lazily(part.size, make)

        return {
            "AUC": Numbers(areas, reasons),
            "EER": Numbers(equal, reasons),
            "ROC": drawn(roc_of),
            "DET": drawn(det_of),
        }

    def missing(self, state: Comparisons) -> Array | None:
        return state.failed if self.failures == "exclude" else None

    @property
    def keeps(self) -> Hashable:
        return Comparisons, self.failures

    def redrawn(
        self, state: Comparisons, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        if state.genuine.mixture is not None:
            return None
        found = redrawn_separation(state.genuine.ordered(), state.impostor.ordered(), cells, weights)
        return {output: found[output] for output in wanted}

    @property
    def linearised(self) -> frozenset[str]:
        return frozenset({"AUC"})


def tar_name(far: float, convention: Convention = Convention.EXACT) -> str:
    """The name of the output that is the true accept rate at a false accept rate.

    >>> tar_name(1e-4), tar_name(0.01, Convention.NEAREST)
    ('TAR@FAR=0.0001', 'TAR@FAR=0.01 (nearest)')
    """
    return f"TAR@FAR={far:.12g}" if convention is Convention.EXACT else f"TAR@FAR={far:.12g} ({convention.value})"


def fmr_name(far: float) -> str:
    """The name of a group's false match rate at the threshold that was set on all comparisons."""
    return f"FMR@overall FAR={far:.12g}"


def fnmr_name(far: float) -> str:
    """The name of a group's false non-match rate at the threshold that was set on all comparisons."""
    return f"FNMR@overall FAR={far:.12g}"


def _rates_at(genuine: Side, impostor: Side, thresholds: Array) -> list[float]:
    """False match rates, then false non-match rates, at fixed thresholds; a failure to enrol never passes."""
    fmr, fnmr = [], []
    for threshold in thresholds:
        known = not np.isnan(threshold)
        fmr.append(float(impostor.reaching(threshold)) / impostor.total if known and impostor.total else np.nan)
        missed = genuine.total - float(genuine.reaching(threshold))
        fnmr.append(missed / genuine.total if known and genuine.total else np.nan)
    return [*fmr, *fnmr]


def _lacking(genuine: Side, impostor: Side) -> str:
    lacking = [reason for side, reason in ((genuine, _NO_GENUINE), (impostor, _NO_IMPOSTOR)) if not side.total]
    return " and ".join(lacking)


def _point(convention: str, far: float, reading: Reading) -> OperatingPoint | None:
    if np.isnan(reading.tar):
        return None
    return OperatingPoint(convention, far, reading.fmr, reading.threshold, round(reading.false_accepts))


def _shared_point(far: float, threshold: float, impostor: Side) -> OperatingPoint | None:
    if np.isnan(threshold):
        return None
    accepted = float(impostor.reaching(threshold))
    realised = accepted / impostor.total if impostor.total else None
    return OperatingPoint("exact, set on all comparisons", far, realised, threshold, round(accepted))


def _scores(score: Array, cells: Array | None, size: int) -> Scores:
    codes = np.zeros(len(score), dtype=np.int32) if cells is None else cells.astype(_codes_of(size), copy=False)
    return Scores(codes, size, None, score)


def _codes_of(size: int) -> type[np.signedinteger]:
    return np.int32 if size < 2**31 else np.int64
