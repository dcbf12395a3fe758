"""Accuracy over folds, as papers on face recognition report it.

Two faces are called the same person when the squared distance of their unit embeddings is below a threshold. The
threshold is chosen from 400 on the other folds, the lowest of the best, and judged on the fold that was left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import (
    UNIT_SCALE,
    Collected,
    Column,
    Curve,
    Direction,
    Metric,
    Numbers,
    Resampling,
    Sampled,
    Scale,
    Undefined,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.verification_tails import ComparedUnits

THRESHOLDS = np.arange(0, 4, 0.01)
FINE_THRESHOLDS = np.arange(0, 4, 0.001)
SHARED = "accuracy at one threshold"
_NO_PAIRS = "no pairs"
_ONE_FOLD = "pairs in fewer than two folds"
_ONE_KIND = "pairs of one kind only, where other groups have both: compare FMR or FNMR"


@dataclass(frozen=True, eq=False)
class Distances(Collected):
    """The pairs, with the cell of each."""

    fold: Array
    distance: Array  # not a number where one side has no embedding: such a pair is always judged wrong
    same: Array

    @property
    def folds(self) -> int:
        return int(self.fold.max(initial=-1)) + 1


class FoldCounts(NamedTuple):
    """Pairs of each fold that are accepted at each threshold, and how many there are."""

    accepted_same: NDArray[np.float64]  # (folds, thresholds)
    accepted_different: NDArray[np.float64]
    same: NDArray[np.float64]  # (folds,), with those that have no distance
    different: NDArray[np.float64]
    different_scored: NDArray[np.float64]  # (folds,), without those

    @property
    def pairs(self) -> NDArray[np.float64]:
        return self.same + self.different

    @property
    def has_both_kinds(self) -> bool:
        """Whether there are pairs of one person and pairs of two."""
        return bool(self.same.any() and self.different.any())

    @property
    def right(self) -> NDArray[np.float64]:
        """(folds, thresholds): pairs that are judged right."""
        return self.accepted_same + (self.different_scored[:, None] - self.accepted_different)


class Counter:
    """Counts pairs by fold and threshold; which bin a pair falls into is looked up once."""

    def __init__(self, state: Distances, thresholds: NDArray[np.float64]) -> None:
        self.folds, self.thresholds = state.folds, thresholds
        scored = ~np.isnan(state.distance)
        place = np.searchsorted(thresholds, np.where(scored, state.distance, np.inf), side="right")
        place[~scored] = len(thresholds) + 1
        self._width = len(thresholds) + 2
        self.key = (state.fold.astype(np.int64) * 2 + state.same.astype(np.int64)) * self._width + place

    def counts(self, weights: Array | None, rows: Array | None = None) -> FoldCounts:
        """The counts of some rows, all by default, each as often as its weight says."""
        key = self.key if rows is None else self.key[rows]
        table = np.bincount(key, weights, minlength=self.folds * 2 * self._width)
        table = table.reshape(self.folds, 2, self._width).astype(np.float64)
        accepted = np.cumsum(table[:, :, : len(self.thresholds)], axis=2, dtype=np.float64)
        total = table.sum(axis=2)
        return FoldCounts(accepted[:, 1], accepted[:, 0], total[:, 1], total[:, 0], total[:, 0] - table[:, 0, -1])


def folded_accuracy(counts: FoldCounts) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """(folds,): accuracy and threshold of every fold that has pairs; nothing when there is no other to choose it on."""
    there = np.flatnonzero(counts.pairs > 0)
    if len(there) < 2:
        return np.zeros(0), np.zeros(0)
    right = counts.right[there]
    best = (right.sum(axis=0) - right).argmax(axis=1)  # the first, and so the lowest, of equally good ones
    return right[np.arange(len(there)), best] / counts.pairs[there], THRESHOLDS[best]


def shared_threshold(counts: FoldCounts) -> int:
    """The place of the threshold that judges most pairs of all folds right, the lowest of equally good ones."""
    return int(counts.right.sum(axis=0).argmax())


def is_of_one_kind(counts: FoldCounts, everyone: FoldCounts) -> bool:
    """Whether a group has pairs, but of one kind only, while the set has both."""
    return bool(counts.pairs.any()) and not counts.has_both_kinds and everyone.has_both_kinds


class _OfFolds(Metric[Distances]):
    """What the metrics over folds share: the pairs that rows tell of; those that were left out count nowhere."""

    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def columns(self) -> tuple[str, ...]:
        return ("distance", "same", "fold")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Distances:
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        counted = ~np.asarray(rows["left_out"]) if "left_out" in rows else np.ones(len(rows), dtype=np.bool_)
        columns = (np.asarray(rows["fold"]), np.asarray(rows["distance"]), np.asarray(rows["same"], dtype=np.bool_))
        return Distances(codes[counted], size, None, *(column[counted] for column in columns))


@dataclass(frozen=True)
class TenFoldAccuracy(_OfFolds):
    """Share of pairs judged right at thresholds chosen on the other folds, averaged over folds.

    `std` is the standard deviation over folds, as published. A group is judged at thresholds of its own, and at one
    threshold for everyone that is chosen on all pairs, which is what a deployed system has. A group with pairs of one
    kind only (in BFW, pairs across groups) has no accuracy that could be compared with that of the other groups.
    """

    name: str

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {
            "accuracy": Direction.HIGHER,
            SHARED: Direction.HIGHER,
            "std": Direction.NEITHER,
            "ROC over folds": Direction.NEITHER,
        }

    def result(self, part: Distances, whole: Distances) -> Mapping[str, Column]:
        counter = Counter(part, THRESHOLDS)
        every = Counter(whole, THRESHOLDS)
        wholes = [every.counts(whole.weights_of(cell)) for cell in range(whole.size)]
        values = np.full((part.size, 3), np.nan)
        of_folds, of_pairs = [_ONE_FOLD] * part.size, [_NO_PAIRS] * part.size  # why there is no value
        curves: list[Curve | Undefined] = []
        for cell in range(part.size):
            counts = counter.counts(part.weights_of(cell))
            everyone = wholes[cell if len(wholes) > 1 else 0]
            if is_of_one_kind(counts, everyone):
                of_folds[cell] = of_pairs[cell] = _ONE_KIND
            else:
                values[cell] = _values(counts, shared_threshold(everyone))
            curves.append(_curve(counts) if part.size <= 1024 else Undefined("not kept"))
        return {
            "accuracy": Numbers(values[:, 0], of_folds),
            SHARED: Numbers(values[:, 1], of_pairs),
            "std": Numbers(values[:, 2], of_folds),
            "ROC over folds": curves,
        }

    def redrawn(
        self, state: Distances, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        if state.mixture is not None:
            return None
        people = ComparedUnits.of(cells)
        counter = Counter(state, THRESHOLDS)
        first, second = people.first[state.codes], people.second[state.codes]
        pattern = np.asarray(cells.pattern)[state.codes]
        groups = [np.flatnonzero(np.asarray(keeps, dtype=np.bool_)[pattern]) for keeps in cells.kept]
        everyone = counter.counts(None)
        compared = [not is_of_one_kind(counter.counts(None, rows), everyone) for rows in groups]
        parts = []
        for many in weights:
            values = np.full((len(many), len(groups), 3), np.nan)
            for draw, weight in enumerate(people.with_nobody(many)):
                times = weight[first] * weight[second]
                shared = shared_threshold(counter.counts(times))
                for place, rows in enumerate(groups):
                    if not compared[place]:
                        continue
                    values[draw, place] = _values(counter.counts(times[rows], rows), shared)
            parts.append(values)
        table = np.concatenate(parts) if parts else np.zeros((0, len(groups), 3))
        named = {name: table[:, :, place] for place, name in enumerate(("accuracy", SHARED, "std"))}
        return {output: named[output] for output in wanted if output in named}


@dataclass(frozen=True)
class FoldedTar(_OfFolds):
    """True accept rate at thresholds interpolated over false accept rates of the other folds, averaged over folds.

    The published way, with the largest threshold of each distinct false accept rate kept: without that the
    interpolation has no answer, and current SciPy stops. TAR is averaged over the folds that have genuine pairs, FAR
    over those that have impostor pairs.
    """

    name: str
    far: float = 1e-3
    resampling: ClassVar[Resampling] = Resampling.NONE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"TAR": Direction.HIGHER, "FAR": Direction.NEITHER}

    def result(self, part: Distances, whole: Distances) -> Mapping[str, Column]:
        counter = Counter(part, FINE_THRESHOLDS)
        values = np.full((part.size, 2), np.nan)
        for cell in range(part.size):
            weights = part.weights_of(cell)
            counts = counter.counts(weights)
            rates = np.array([self._fold(part, counts, fold, weights) for fold in range(part.folds)]).reshape(-1, 2)
            for place in (0, 1):
                known = rates[~np.isnan(rates[:, place]), place]
                values[cell, place] = known.mean() if len(known) else np.nan
        reason = "no fold with {} pairs that has impostor pairs in the others"
        names = {"TAR": "genuine", "FAR": "impostor"}
        return {
            name: Numbers(values[:, place], reason.format(kind)) for place, (name, kind) in enumerate(names.items())
        }

    def _fold(self, state: Distances, counts: FoldCounts, fold: int, weights: Array) -> tuple[float, float]:
        """TAR and FAR of a fold; not a number where it has no such pairs, or the others no impostors."""
        others = np.delete(np.arange(len(counts.pairs)), fold)
        impostors = counts.different[others].sum()
        if not impostors:
            return np.nan, np.nan
        false = counts.accepted_different[others].sum(axis=0) / impostors
        threshold = 0.0
        if false.max() >= self.far:
            last = np.append(np.flatnonzero(np.diff(false)), len(false) - 1)  # of equal rates, the largest threshold
            threshold = float(np.interp(self.far, false[last], FINE_THRESHOLDS[last]))
        inside = (state.fold == fold) & (state.distance < threshold)
        accepted = [float(weights[inside & (state.same == kind)].sum()) for kind in (True, False)]
        totals = (float(counts.same[fold]), float(counts.different[fold]))
        tar, far = (count / total if total else np.nan for count, total in zip(accepted, totals, strict=True))
        return tar, far


def _values(counts: FoldCounts, shared: int) -> tuple[float, float, float]:
    """Accuracy over folds, accuracy at the threshold for all, and the standard deviation over folds."""
    folded, _ = folded_accuracy(counts)
    total = counts.pairs.sum()
    own = (float(np.mean(folded)), float(np.std(folded))) if len(folded) else (np.nan, np.nan)
    return own[0], float(counts.right[:, shared].sum() / total) if total else np.nan, own[1]


def _curve(counts: FoldCounts) -> Curve | Undefined:
    """TPR and FPR of every threshold, averaged over folds; 0 in a fold that has no such pairs."""
    there = np.flatnonzero(counts.pairs > 0)
    if not len(there):
        return Undefined(_NO_PAIRS)
    rates = []
    for accepted, total in ((counts.accepted_different, counts.different), (counts.accepted_same, counts.same)):
        pairs = total[there, None]
        rates.append(np.mean(accepted[there] / np.where(pairs > 0, pairs, 1.0), 0))
    return Curve(rates[0], rates[1], "false match rate", "true accept rate", THRESHOLDS)
