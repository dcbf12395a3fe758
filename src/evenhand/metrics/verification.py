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
from typing import ClassVar

import numpy as np

from evenhand.core.metric import (
    UNIT_SCALE,
    Column,
    Curve,
    Direction,
    Metric,
    Numbers,
    OperatingPoint,
    Sampled,
    Scale,
    Undefined,
)
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import LazyCurves
from evenhand.metrics.operating_points import (
    Convention,
    Corners,
    RatePoint,
    SortedScores,
    area_under_roc,
    corner_points,
    crossing,
    det_of,
    exact_threshold,
    rates_at,
    roc_of,
)
from evenhand.metrics.verification_draws import ComparedGroups, resampled_rates, resampled_separation
from evenhand.metrics.verification_scores import CellReader, Comparisons, FailurePolicy

STANDARD_RATES = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 1e-1)
RULE_OF_THIRTY = 30  # fewer false accepts than this make a rate erratic

VERIFICATION_VALUES = (  # how reports write values: patterns of `metric: output`
    (r"[\w-]+: TAR@FAR=(\S+)", r"TAR at FAR \1"),
    (r"[\w-]+: FMR@overall FAR=(\S+)", r"FMR at the threshold of overall FAR \1"),
    (r"[\w-]+: FNMR@overall FAR=(\S+)", r"FNMR at the threshold of overall FAR \1"),
    (r"(?:ranking|separation): (AUC|EER|ROC|DET)", r"\1"),
)

_CURVES_KEPT = 256
_NO_GENUINE = "no genuine comparisons"
_NO_IMPOSTOR = "no impostor comparisons"


class _OfComparisons(Metric[Comparisons]):
    """What the metrics of comparisons share: the rows they read, and one state that keeps the scores."""

    failures: FailurePolicy
    collects: ClassVar[bool] = True
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def columns(self) -> tuple[str, ...]:
        return ("score", "same")

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Comparisons:
        return Comparisons.measured(rows, cells, size, self.failures)

    def missing(self, state: Comparisons) -> Array | None:
        return state.failed if self.failures == "exclude" else None

    @property
    def keeps(self) -> Hashable:
        return Comparisons, self.failures


@dataclass(frozen=True)
class Verification(_OfComparisons):
    """Share of genuine comparisons accepted at thresholds that accept few impostors (TAR at FAR).

    Every group is read at its own threshold (`TAR@FAR=…`) and at the threshold that was set on
    all comparisons (`FMR@…`, `FNMR@…`); only the latter supports statements on differentials.
    """

    name: str
    far: tuple[float, ...] = STANDARD_RATES
    conventions: tuple[Convention, ...] = (Convention.EXACT,)
    failures: FailurePolicy = "penalise"

    @property
    def outputs(self) -> Mapping[str, Direction]:
        found = {tar_name(far, convention): Direction.HIGHER for convention in self.conventions for far in self.far}
        found |= {fmr_name(far): Direction.LOWER for far in self.far}
        found |= {fnmr_name(far): Direction.LOWER for far in self.far}
        return found

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
                for reading in rates_at(genuine, impostor, self.far, convention)
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
                for far, reading in zip(self.far, rates_at(genuine, impostor, self.far, convention), strict=True):
                    found[tar_name(far, convention)].append(_point(convention.value, far, reading))
            for far, threshold in zip(self.far, thresholds, strict=True):
                point = _shared_point(far, float(threshold), impostor)
                found[fmr_name(far)].append(point)
                found[fnmr_name(far)].append(point)
        return found

    def redrawn(
        self, state: Comparisons, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        if state.genuine.mixture is not None:
            return None
        asked = [each for each in self.conventions if any(tar_name(far, each) in wanted for far in self.far)]
        drawn = resampled_rates(ComparedGroups.of(state, cells), weights, self.far, asked)
        found: dict[str, Array] = {}
        for place, far in enumerate(self.far):
            found |= {tar_name(far, each): table[:, :, place] for each, table in drawn.tar.items()}
            found |= {fmr_name(far): drawn.fmr[:, :, place], fnmr_name(far): drawn.fnmr[:, :, place]}
        return {output: found[output] for output in wanted}

    def _shared_thresholds(self, whole: Comparisons) -> Array:
        """(cells of the whole, rates)."""
        top = max(self.far, default=0.0)
        genuine, impostor = CellReader(whole.genuine), CellReader(whole.impostor)
        found = np.full((whole.size, len(self.far)), np.nan)
        for cell in range(whole.size):
            sides = genuine.whole(cell), impostor.top(cell, top, np.inf)
            found[cell] = [exact_threshold(*sides, far) for far in self.far]
        return found

    def _sides(self, part: Comparisons, shared: Array) -> Iterator[tuple[SortedScores, SortedScores]]:
        if set(self.conventions) - {Convention.EXACT, Convention.AT_IMPOSTOR}:
            yield from map(part.side, range(part.size))
            return
        genuine, impostor = CellReader(part.genuine), CellReader(part.impostor)
        top = max(self.far, default=0.0)
        floor = float(np.nanmin(shared)) if shared.size and not np.isnan(shared).all() else np.inf
        for cell in range(part.size):
            yield genuine.whole(cell), impostor.top(cell, top, floor)


@dataclass(frozen=True)
class Separation(_OfComparisons):
    """How well scores tell genuine from impostor comparisons over all thresholds: AUC, EER, ROC, DET.

    When subjects are resampled, the EER is found anew; the AUC, which looks at every comparison, moves to
    first order.
    """

    name: str
    failures: FailurePolicy = "penalise"

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {
            "AUC": Direction.HIGHER,
            "EER": Direction.LOWER,
            "ROC": Direction.NEITHER,
            "DET": Direction.NEITHER,
        }

    def result(self, part: Comparisons, whole: Comparisons) -> Mapping[str, Column]:
        return separation_of(part.size, part.side)

    def redrawn(
        self, state: Comparisons, cells: Sampled, weights: Iterable[Array], wanted: frozenset[str]
    ) -> Mapping[str, Array] | None:
        if state.genuine.mixture is not None:
            return None
        found = resampled_separation(ComparedGroups.of(state, cells), weights)
        return {output: found[output] for output in wanted}

    @property
    def linearised(self) -> frozenset[str]:
        return frozenset({"AUC"})


def separation_of(size: int, side: Callable[[int], tuple[SortedScores, SortedScores]]) -> Mapping[str, Column]:
    """AUC, EER, ROC and DET of every cell; `side` gives the genuine and the impostor scores of one."""
    areas, equal, reasons = np.full(size, np.nan), np.full(size, np.nan), []
    kept: dict[int, Corners] = {}  # of as many cells as a table has; thousands of draws ask for no curve
    for cell, (genuine, impostor) in enumerate(map(side, range(size))):
        reasons.append(_lacking(genuine, impostor))
        if reasons[cell]:
            continue
        corners = corner_points(genuine, impostor)
        areas[cell], equal[cell] = area_under_roc(genuine, impostor), crossing(*corners[:2])
        if cell < _CURVES_KEPT:
            kept[cell] = corners

    def drawn(curve: Callable[[Corners], Curve]) -> LazyCurves:
        def make(cell: int) -> Curve | Undefined:
            if reasons[cell]:
                return Undefined(reasons[cell])
            return curve(kept[cell] if cell in kept else corner_points(*side(cell)))

        return LazyCurves(size, make)

    return {
        "AUC": Numbers(areas, reasons),
        "EER": Numbers(equal, reasons),
        "ROC": drawn(roc_of),
        "DET": drawn(det_of),
    }


def misplacement(rows: Records) -> Array:
    """How far each comparison lies on the wrong side of the threshold at which both errors are equally frequent.

    Negative on the right side; infinite for a failure to enrol. What `rows --worst` sorts by.

    >>> rows = Records({"score": np.array([0.9, 0.2, 0.6, 0.1]), "same": np.array([True, True, False, False])}, {})
    >>> misplacement(rows).round(1).tolist()
    [-0.3, 0.4, 0.0, -0.5]
    """
    score, same = np.asarray(rows["score"], dtype=np.float64), np.asarray(rows["same"], dtype=np.bool_)
    genuine, impostor = SortedScores.of(score[same]), SortedScores.of(score[~same])
    threshold = np.nan
    if genuine.total and impostor.total:
        false, true, thresholds = corner_points(genuine, impostor)
        threshold = thresholds[int(np.searchsorted(false + true, 1.0, side="left"))]
    if not np.isfinite(threshold):
        finite = score[np.isfinite(score)]
        threshold = float(np.median(finite)) if len(finite) else 0.0
    failed = np.asarray(rows["failed"], dtype=np.bool_) if "failed" in rows else same & (score == -np.inf)
    return np.where(failed, np.inf, np.where(same, threshold - score, score - threshold))


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


def _rates_at(genuine: SortedScores, impostor: SortedScores, thresholds: Array) -> list[float]:
    """False match rates, then false non-match rates, at fixed thresholds; a failure to enrol never passes."""
    fmr, fnmr = [], []
    for threshold in thresholds:
        known = not np.isnan(threshold)
        fmr.append(float(impostor.reaching(threshold)) / impostor.total if known and impostor.total else np.nan)
        missed = genuine.total - float(genuine.reaching(threshold))
        fnmr.append(missed / genuine.total if known and genuine.total else np.nan)
    return [*fmr, *fnmr]


def _lacking(genuine: SortedScores, impostor: SortedScores) -> str:
    lacking = [reason for side, reason in ((genuine, _NO_GENUINE), (impostor, _NO_IMPOSTOR)) if not side.total]
    return " and ".join(lacking)


def _point(convention: str, far: float, reading: RatePoint) -> OperatingPoint | None:
    if np.isnan(reading.tar):
        return None
    return OperatingPoint(convention, far, reading.fmr, reading.threshold, round(reading.false_accepts))


def _shared_point(far: float, threshold: float, impostor: SortedScores) -> OperatingPoint | None:
    if np.isnan(threshold):
        return None
    accepted = float(impostor.reaching(threshold))
    realised = accepted / impostor.total if impostor.total else None
    return OperatingPoint("exact, set on all comparisons", far, realised, threshold, round(accepted))
