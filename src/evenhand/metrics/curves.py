"""Rates against false alarms per image as metrics: free-response and open-set curves.

The state keeps the scores of positives and negatives with their cells, and what the denominators
count. A cell's curve and operating points are those of `free_response`; thousands of weighted cells
(groups, resampled images) are read from one sorted list, and only as much of it is looked at as the
highest target needs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.metric import (
    UNIT_SCALE,
    Collected,
    Column,
    Curve,
    Direction,
    Grid,
    Metric,
    Numbers,
    OperatingPoint,
    Scale,
    Undefined,
)
from evenhand.core.records import Array, Records, blocks
from evenhand.metrics.free_response import COMPETITION_TARGETS, FreeResponseCurve, curve_of, nobody
from evenhand.metrics.operating_points import SortedScores

CONVENTION = "lowest threshold with at most so many false alarms per image"
_TOO_MANY = "the curve has more false alarms per image at every threshold"
_NO_THRESHOLD = "there is no false alarm, and the curve has a point for each of them"


class Event(IntEnum):
    """What a row of a detection or watchlist task is about (the column `kind`)."""

    IMAGE = 0  # an image was looked at
    FOUND = 1  # a face with a detection; in identification, a known one
    MISSED = 2  # a face without a detection
    FALSE_ALARM = 3  # a detection without a face
    STRANGER = 4  # a face of somebody who is on no list, with a detection
    IGNORED = 5  # a detection on a face that must not count
    EXCLUDED = 6  # a face that must not count
    ABSENT = 7  # an exclusion that names nobody, and yet lowers the number of faces


@dataclass(frozen=True, eq=False)
class Scored(Collected):
    """Rows that a curve needs: scores of positives and negatives, and what the denominators count."""

    score: Array  # (rows,)
    role: Array  # (rows,): POSITIVE, NEGATIVE or NEITHER
    images: Array  # (rows,)
    faces: Array  # (rows,)


POSITIVE, NEGATIVE, NEITHER = 1, -1, 0


class _CurveMetric(Metric[Scored]):
    """What free-response and open-set curves share: the state, the curve and its operating points."""

    targets: tuple[float, ...]
    rate_name: str  # what the curve's height is called
    x_name: str  # what the curve runs over
    every_score: bool = False  # scores of positives are thresholds too

    @abstractmethod
    def _roles(self, rows: Records) -> tuple[Array, Array]:
        """(rows,) role of each row, and what it adds to the number of faces."""

    @property
    def outputs(self) -> Mapping[str, Direction]:
        rates = [f"{self.rate_name}@{target:g}{kind}" for kind in ("", " shared") for target in self.targets]
        return {**dict.fromkeys(("sum", *rates), Direction.HIGHER), "curve": Direction.NEITHER}

    @property
    def scales(self) -> Mapping[str, Scale]:
        return dict.fromkeys(self.outputs, UNIT_SCALE) | {"sum": Scale(0.0, float(len(self.targets)))}

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Scored:
        role, faces = self._roles(rows)
        images = np.asarray(rows["kind"] == Event.IMAGE)
        keep = np.flatnonzero((role != NEITHER) | images | (faces != 0))
        codes = np.zeros(len(keep), dtype=np.int32) if cells is None else np.asarray(cells)[keep].astype(np.int32)
        score = np.asarray(rows["score"], dtype=np.float64)[keep]
        return Scored(codes, size, None, score, role[keep], images[keep].astype(np.int8), faces[keep])

    def result(self, part: Scored, whole: Scored) -> Mapping[str, Column]:
        own, everyone = _Cells(part), _Cells(whole)
        found = own.read(self.targets, self.every_score)
        limits = found.thresholds if whole is part else everyone.read(self.targets, self.every_score).thresholds
        shared = own.rates_at(np.broadcast_to(limits, found.rates.shape))
        there = ~np.isnan(found.rates)
        total = np.where(there.any(axis=1), np.where(there, found.rates, 0.0).sum(axis=1), np.nan)
        reasons: str | list[str] = _TOO_MANY
        if np.isnan(total).any():
            counts = zip(own.faces.tolist(), own.false_alarms().tolist(), strict=True)
            reasons = [
                nobody(faces) if faces <= 0 else _TOO_MANY if false else _NO_THRESHOLD for faces, false in counts
            ]
        columns: dict[str, Column] = {"sum": Numbers(total, reasons)}
        for kind, table in (("", found.rates), (" shared", shared)):
            for place, target in enumerate(self.targets):
                columns[f"{self.rate_name}@{target:g}{kind}"] = Numbers(table[:, place], reasons)
        columns["curve"] = LazyCurves(part.size, lambda cell: self._draw(own.curve(cell, self.every_score)))
        return columns

    def points(self, part: Scored, whole: Scored) -> Mapping[str, Sequence[OperatingPoint | None]]:
        found = _Cells(part).read(self.targets, self.every_score)
        return {
            f"{self.rate_name}@{target:g}": [
                _point(target, *(float(table[cell, place]) for table in found[1:])) for cell in range(part.size)
            ]
            for place, target in enumerate(self.targets)
        }

    def _draw(self, curve: FreeResponseCurve) -> Curve | Undefined:
        rate = curve.rate
        if isinstance(rate, Undefined):
            return rate
        if not len(curve.thresholds):
            return Undefined(_NO_THRESHOLD)
        return Curve(curve.per_image, rate, self.x_name, self.rate_name, curve.thresholds, log_x=True)


@dataclass(frozen=True)
class FreeResponse(_CurveMetric):
    """Share of faces detected, at so many false detections per image (free-response ROC).

    Reads `kind`, `score` and `faces`: what a row adds to the number of faces.
    """

    name: str
    targets: tuple[float, ...] = COMPETITION_TARGETS
    rate_name: str = "DR"
    x_name: str = "FDPI"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("kind", "score", "faces")

    def _roles(self, rows: Records) -> tuple[Array, Array]:
        kind = rows["kind"]
        role = np.where(kind == Event.FOUND, POSITIVE, np.where(kind == Event.FALSE_ALARM, NEGATIVE, NEITHER))
        return role.astype(np.int8), np.asarray(rows["faces"])


@dataclass(frozen=True)
class OpenSet(_CurveMetric):
    """Share of known faces named within the first ranks, at so many false identifications per image (open-set ROC).

    Reads `kind`, `score`, `rank` and `known`: what a row adds to the number of known faces. A
    known face whose true name is not within the rank is only missed. With `every_score` the
    scores of positives are thresholds too.
    """

    name: str
    rank: int = 1
    targets: tuple[float, ...] = COMPETITION_TARGETS
    every_score: bool = False
    rate_name: str = "TPIR"
    x_name: str = "FPIPI"

    @property
    def columns(self) -> tuple[str, ...]:
        return ("kind", "score", "rank", "known")

    def _roles(self, rows: Records) -> tuple[Array, Array]:
        kind = rows["kind"]
        hit = (kind == Event.FOUND) & (rows["rank"] <= self.rank)
        false = (kind == Event.FALSE_ALARM) | (kind == Event.STRANGER)
        role = np.where(hit, POSITIVE, np.where(false, NEGATIVE, NEITHER))
        return role.astype(np.int8), np.asarray(rows["known"])


class _Readings(NamedTuple):
    """Operating points of many cells (cells, targets); not a number where there is none."""

    rates: Array
    thresholds: Array
    actual: Array
    negatives: Array


class _Cells:
    """All cells of a state, sorted once and read together."""

    def __init__(self, state: Scored) -> None:
        self.size = state.size
        self._positives = _SortedRows(state, (POSITIVE,))
        self._negatives = _SortedRows(state, (NEGATIVE,))
        self._state = state
        self.images, self.faces = (state.per_cell(counts).astype(np.float64) for counts in (state.images, state.faces))

    def curve(self, cell: int, every_score: bool) -> FreeResponseCurve:
        """The curve of one cell."""
        (weights,) = self._state.basis_weights(np.array([cell]))
        positives, negatives = self._positives.weighted(weights), self._negatives.weighted(weights)
        return curve_of(positives, negatives, float(self.faces[cell]), float(self.images[cell]), every_score)

    def read(self, targets: Sequence[float], every_score: bool) -> _Readings:
        """The operating points of every cell."""
        found = _Readings(*np.full((4, self.size, len(targets)), np.nan))
        rows = _SortedRows(self._state, (POSITIVE, NEGATIVE)) if every_score else self._negatives
        allowed = _most_allowed(self.images, targets)
        for cell, weights in self._weights():
            thresholds, negatives = rows.lowest_allowed(weights, allowed[cell])
            found.thresholds[cell], found.negatives[cell] = thresholds, negatives
            found.rates[cell] = self._positives.at_least(weights, thresholds)
        with np.errstate(invalid="ignore", divide="ignore"):
            found.actual[:] = found.negatives / self.images[:, np.newaxis]
        found.rates[:] = self._shares(found.rates, found.thresholds)
        return found

    def false_alarms(self) -> Array:
        """(cells,): how many there are."""
        return np.asarray(self._state.per_cell(self._state.role == NEGATIVE))

    def rates_at(self, thresholds: Array) -> Array:
        """The rate of every cell at given thresholds (cells, targets); not a number where one is not."""
        reached = np.zeros(thresholds.shape)
        for cell, weights in self._weights():
            reached[cell] = self._positives.at_least(weights, thresholds[cell])
        return self._shares(reached, thresholds)

    def _shares(self, reached: Array, thresholds: Array) -> Array:
        some = (self.faces > 0)[:, np.newaxis] & ~np.isnan(thresholds)
        shares = np.divide(reached, self.faces[:, np.newaxis], out=np.full(thresholds.shape, np.nan), where=some)
        return np.asarray(shares)

    def _weights(self) -> Iterator[tuple[int, Array]]:
        """Every cell with the weights of the basis cells; unpacked a few megabytes at a time."""
        for block in blocks(self.size, max(1, _AT_ONCE // max(self._state.basis, 1))):
            cells = np.arange(block.start, block.stop)
            yield from zip(cells.tolist(), self._state.basis_weights(cells), strict=True)


class _SortedRows:
    """The rows of some roles from the highest score down, with their basis cells."""

    def __init__(self, state: Scored, roles: tuple[int, ...]) -> None:
        rows = np.flatnonzero(np.isin(state.role, roles))
        order = rows[np.argsort(-state.score[rows], kind="stable")]
        self._scores, self._codes = state.score[order], state.codes[order]
        self._is_negative = state.role[order] == NEGATIVE
        self._only_negatives = bool(self._is_negative.all())
        self._ends = np.flatnonzero(np.append(self._scores[1:] != self._scores[:-1], True)[: len(order)])

    def weighted(self, weights: Array) -> SortedScores:
        return SortedScores.weighted(self._scores[::-1], weights[self._codes][::-1])

    def at_least(self, weights: Array, thresholds: Array) -> Array:
        """(targets,): the weight of the rows that reach each threshold; not a number for one that is not."""
        reached = np.empty(len(self._scores) + 1)
        reached[0] = 0
        np.cumsum(weights[self._codes], out=reached[1:])
        return np.asarray(reached[np.searchsorted(-self._scores, -thresholds, side="right")])

    def lowest_allowed(self, weights: Array, allowed: Array) -> tuple[Array, Array]:
        """(targets,): the lowest occurring score that at most `allowed` negatives reach, and how many do.

        Only as much of the list is looked at as the largest number allows.
        """
        most = allowed.max(initial=0.0)
        stop = min(len(self._scores), int(1.25 * most) + 256)
        while True:
            own = weights[self._codes[:stop]]
            occurring = np.cumsum(own, dtype=np.float64)
            reached = occurring if self._only_negatives else np.cumsum(own * self._is_negative[:stop], dtype=np.float64)
            if stop == len(self._scores) or reached[-1] > most:
                break
            stop = min(len(self._scores), 2 * stop)
        ends = self._ends[: int(np.searchsorted(self._ends, stop))]  # a run of ties that was cut does not count
        if len(ends) < stop:
            occurring, reached = occurring[ends], reached[ends]
        count = np.searchsorted(reached, allowed, side="right")
        last = np.where(count > 0, occurring[count - 1], 0.0) if len(ends) else np.zeros(len(allowed))
        place = np.searchsorted(occurring, last, side="left")  # where it was first reached: that score occurs
        fine = last > 0
        place = np.where(fine, place, 0)
        nothing = np.full(len(allowed), np.nan)
        if not fine.any():
            return nothing, nothing
        return np.where(fine, self._scores[ends[place]], np.nan), np.where(fine, reached[place], np.nan)


class LazyCurves(Sequence[Curve | Grid | Undefined]):
    """Curves and tables that are made when they are asked for; a thousand draws ask for none."""

    def __init__(self, size: int, make: Callable[[int], Curve | Grid | Undefined]) -> None:
        self._size, self._make = size, make

    def __len__(self) -> int:
        return self._size

    def __getitem__(self, cell: Any) -> Any:
        if isinstance(cell, slice):
            return [self._make(each) for each in range(*cell.indices(self._size))]
        if not -self._size <= cell < self._size:
            raise IndexError(cell)
        return self._make(cell % self._size)


_AT_ONCE = 1 << 22


def _most_allowed(images: Array, targets: Sequence[float]) -> Array:
    """(cells, targets): the largest number of negatives that keeps to the target; −1 without images."""
    goal = np.asarray(targets, dtype=np.float64)[np.newaxis, :]
    some = np.maximum(images, 1e-300)[:, np.newaxis]
    most = np.floor(goal * some)
    most += (most + 1) / some <= goal
    most -= most / some > goal
    return np.where(images[:, np.newaxis] > 0, most, -1.0)


def _point(target: float, threshold: float, actual: float, negatives: float) -> OperatingPoint:
    if np.isnan(threshold):
        return OperatingPoint(CONVENTION, target, None, None, None)
    return OperatingPoint(CONVENTION, target, actual, threshold, round(negatives))
