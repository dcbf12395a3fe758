"""Rates against false alarms per image: free-response and open-set curves.

A curve is made of *positives* (faces that were found, or named correctly) and *negatives*
(false alarms, strangers taken for somebody), each with a score. Its thresholds are the distinct
scores of the negatives; at each, the rate is the share of all faces whose positive reaches it,
and the abscissa the number of negatives that reach it, per image. Scores are sorted once, and
every count is a binary search in them.

An operating point asks for at most so many false alarms per image. It is read at the lowest
threshold that keeps the promise, without interpolation; a curve that ends earlier gives its
right-most value, and a curve that never gets so low gives none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, overload

import numpy as np

from evenhand.core.metric import (
    Collected,
    Column,
    Curve,
    Direction,
    Metric,
    Numbers,
    OperatingPoint,
    Undefined,
)
from evenhand.core.records import Array, Records

COMPETITION_TARGETS = (1e-3, 1e-2, 1e-1, 1.0)  # false alarms per image
CONVENTION = "lowest threshold with at most so many false alarms per image"


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


class FreeResponseCurve(NamedTuple):
    """A curve in counts: thresholds ascending, what reaches each, and the two denominators."""

    thresholds: Array
    positives: Array  # that reach the threshold
    negatives: Array  # that reach the threshold
    faces: float  # denominator of the rate
    images: float  # denominator of false alarms per image

    @property
    def rate(self) -> Array | Undefined:
        """Positives per face, at every threshold."""
        return self.positives / self.faces if self.faces > 0 else Undefined(_nobody(self.faces))

    @property
    def per_image(self) -> Array:
        """Negatives per image, at every threshold; none when there is no image."""
        return self.negatives / self.images if self.images > 0 else np.zeros(0)


class Reading(NamedTuple):
    """A curve read at an operating point; all is None where it does not get that low.

    When there is no face at all, the rate alone is None.
    """

    target: float
    rate: float | None
    threshold: float | None
    actual: float | None  # false alarms per image that were really reached
    negatives: int | None  # false alarms it rests on


def free_response(
    positives: Array, negatives: Array, *, faces: float, images: float, every_score: bool = False
) -> FreeResponseCurve:
    """The curve of scores of positives and negatives.

    Thresholds are the distinct scores of the negatives; with `every_score`, of the positives too.

    >>> curve = free_response(np.array([0.9, 0.4]), np.array([0.5, 0.3]), faces=4, images=2)
    >>> curve.thresholds.tolist(), curve.rate.tolist(), curve.per_image.tolist()
    ([0.3, 0.5], [0.5, 0.25], [1.0, 0.5])
    """
    return _curve(_Side.of(positives), _Side.of(negatives), faces, images, every_score)


def read_at(curve: FreeResponseCurve, targets: Sequence[float] = COMPETITION_TARGETS) -> tuple[Reading, ...]:
    """The curve at the lowest threshold whose false alarms per image do not exceed each target.

    >>> curve = free_response(np.array([0.9, 0.4]), np.array([0.5, 0.3]), faces=4, images=2)
    >>> [reading.rate for reading in read_at(curve, (0.1, 0.5, 10))]
    [None, 0.25, 0.5]
    """
    per_image, rate = curve.per_image, curve.rate
    found = []
    for target in targets:
        allowed = int(np.count_nonzero(per_image <= target))
        if not allowed:
            found.append(Reading(target, None, None, None, None))
            continue
        place = len(per_image) - allowed  # false alarms fall as the threshold rises
        found.append(
            Reading(
                target,
                None if isinstance(rate, Undefined) else float(rate[place]),
                float(curve.thresholds[place]),
                float(per_image[place]),
                int(curve.negatives[place]),
            )
        )
    return tuple(found)


def sum_of(readings: Sequence[Reading]) -> float | Undefined:
    """The sum of the rates that there are (the competition's ranking); a missing one adds nothing."""
    rates = [reading.rate for reading in readings if reading.rate is not None]
    return float(sum(rates)) if rates else Undefined("the curve gets as low as none of the targets")


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

    @property
    def _rate_name(self) -> str:
        raise NotImplementedError

    @property
    def _x_name(self) -> str:
        raise NotImplementedError

    @property
    def _every_score(self) -> bool:
        return False

    def _roles(self, rows: Records) -> tuple[Array, Array]:
        """(rows,) role of each row, and what it adds to the number of faces."""
        raise NotImplementedError

    @property
    def outputs(self) -> Mapping[str, Direction]:
        found = {"sum": Direction.HIGHER}
        found |= {f"{self._rate_name}@{target:g}": Direction.HIGHER for target in self.targets}
        found |= {f"{self._rate_name}@{target:g} shared": Direction.HIGHER for target in self.targets}
        return found | {"curve": Direction.NEITHER}

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Scored:
        role, faces = self._roles(rows)
        images = np.asarray(rows["kind"] == Event.IMAGE)
        keep = np.flatnonzero((role != NEITHER) | images | (faces != 0))
        codes = np.zeros(len(keep), dtype=np.int32) if cells is None else np.asarray(cells)[keep].astype(np.int32)
        score = np.asarray(rows["score"], dtype=np.float64)[keep]
        return Scored(codes, size, None, score, role[keep], images[keep].astype(np.int8), faces[keep])

    def result(self, part: Scored, whole: Scored) -> Mapping[str, Column]:
        own, everyone = _Cells(part), _Cells(whole)
        found = own.read(self.targets, self._every_score)
        limits = found.thresholds if whole is part else everyone.read(self.targets, self._every_score).thresholds
        shared = own.rates_at(np.broadcast_to(limits, found.rates.shape))
        there = ~np.isnan(found.rates)
        total = np.where(there.any(axis=1), np.where(there, found.rates, 0.0).sum(axis=1), np.nan)
        low = "the curve has more false alarms per image at every threshold"
        faces = own.faces
        reasons = low if (faces > 0).all() else [_nobody(count) if count <= 0 else low for count in faces]
        columns: dict[str, Column] = {"sum": Numbers(total, reasons)}
        for kind, table in (("", found.rates), (" shared", shared)):
            for place, target in enumerate(self.targets):
                columns[f"{self._rate_name}@{target:g}{kind}"] = Numbers(table[:, place], reasons)
        columns["curve"] = _Lazily(part.size, lambda cell: self._draw(own.view(cell)))
        return columns

    def points(self, part: Scored, whole: Scored) -> Mapping[str, Sequence[OperatingPoint | None]]:
        found = _Cells(part).read(self.targets, self._every_score)
        return {
            f"{self._rate_name}@{target:g}": [
                _point(target, *(float(table[cell, place]) for table in found[1:])) for cell in range(part.size)
            ]
            for place, target in enumerate(self.targets)
        }

    def _draw(self, view: _View) -> Curve | Undefined:
        curve = _curve(view.positives, view.negatives, view.faces, view.images, self._every_score)
        rate = curve.rate
        if isinstance(rate, Undefined):
            return rate
        if not len(curve.thresholds):
            return Undefined("there is no false alarm, so the curve has no point")
        return Curve(curve.per_image, rate, self._x_name, self._rate_name, curve.thresholds, log_x=True)


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

    @property
    def _rate_name(self) -> str:
        return self.rate_name

    @property
    def _x_name(self) -> str:
        return self.x_name

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

    @property
    def _rate_name(self) -> str:
        return self.rate_name

    @property
    def _x_name(self) -> str:
        return self.x_name

    @property
    def _every_score(self) -> bool:
        return self.every_score

    def _roles(self, rows: Records) -> tuple[Array, Array]:
        kind = rows["kind"]
        hit = (kind == Event.FOUND) & (rows["rank"] <= self.rank)
        false = (kind == Event.FALSE_ALARM) | (kind == Event.STRANGER)
        role = np.where(hit, POSITIVE, np.where(false, NEGATIVE, NEITHER))
        return role.astype(np.int8), np.asarray(rows["known"])


class _Side:
    """Scores from the highest down, each with its weight; counts of those that reach a threshold."""

    def __init__(self, scores: Array, weights: Array | None) -> None:
        self.scores, self._weights = scores, weights

    @classmethod
    def of(cls, scores: Array) -> _Side:
        return cls(-np.sort(-np.asarray(scores, dtype=np.float64)), None)

    def at_least(self, thresholds: Array) -> Array:
        """The weight of the scores that reach each threshold."""
        reached: Array = np.searchsorted(-self.scores, -thresholds, side="right")
        if self._weights is not None:
            reached = np.concatenate([[0], np.cumsum(self._weights, dtype=np.float64)])[reached]
        return reached

    def thresholds(self) -> Array:
        """The distinct scores that occur (with a weight above 0), ascending."""
        scores = self.scores if self._weights is None else self.scores[self._weights > 0]
        return scores[_last_of_ties(scores)][::-1]


class _View(NamedTuple):
    """One cell: its positives and negatives, sorted, and its denominators."""

    positives: _Side
    negatives: _Side
    faces: float
    images: float


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
        self._mixture = state.mixture
        self._positives = _SortedRows(state, (POSITIVE,))
        self._negatives = _SortedRows(state, (NEGATIVE,))
        self._state = state
        images = self._basis_images = np.bincount(state.codes, weights=state.images, minlength=state.basis)
        faces = np.bincount(state.codes, weights=state.faces, minlength=state.basis)
        weigh = (
            (lambda counts: counts) if state.mixture is None else (lambda counts: np.asarray(state.mixture @ counts))
        )
        self.images, self.faces = weigh(images).astype(np.float64), weigh(faces).astype(np.float64)

    def view(self, cell: int) -> _View:
        """The rows of one cell."""
        if self._mixture is None:
            sides = self._positives.of_basis(cell), self._negatives.of_basis(cell)
        else:
            weights = self._dense(slice(cell, cell + 1))[0]
            sides = self._positives.weighted(weights), self._negatives.weighted(weights)
        return _View(*sides, float(self.faces[cell]), float(self.images[cell]))

    def read(self, targets: Sequence[float], every_score: bool) -> _Readings:
        """The operating points of every cell."""
        found = _Readings(*np.full((4, self.size, len(targets)), np.nan))
        if self._mixture is None:
            for cell in range(self.size):
                view = self.view(cell)
                curve = _curve(view.positives, view.negatives, view.faces, view.images, every_score)
                for place, reading in enumerate(read_at(curve, targets)):
                    values = (reading.rate, reading.threshold, reading.actual, reading.negatives)
                    for table, value in zip(found, values, strict=True):
                        table[cell, place] = np.nan if value is None else value
            return found
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

    def rates_at(self, thresholds: Array) -> Array:
        """The rate of every cell at given thresholds (cells, targets); not a number where one is not."""
        reached = np.zeros(thresholds.shape)
        if self._mixture is None:
            for cell in range(self.size):
                reached[cell] = self._positives.of_basis(cell).at_least(thresholds[cell])
        else:
            for cell, weights in self._weights():
                reached[cell] = self._positives.at_least(weights, thresholds[cell])
        return self._shares(reached, thresholds)

    def _shares(self, reached: Array, thresholds: Array) -> Array:
        some = (self.faces > 0)[:, np.newaxis] & ~np.isnan(thresholds)
        return np.divide(reached, self.faces[:, np.newaxis], out=np.full(thresholds.shape, np.nan), where=some)

    def _weights(self) -> Iterator[tuple[int, Array]]:
        """Every cell with the weights of the basis cells; unpacked a few megabytes at a time."""
        step = max(1, _AT_ONCE // max(len(self._basis_images), 1))
        for start in range(0, self.size, step):
            for row, weights in enumerate(self._dense(slice(start, start + step))):
                yield start + row, weights

    def _dense(self, cells: slice) -> Array:
        assert self._mixture is not None
        rows = self._mixture[cells]
        return np.asarray(rows.toarray() if hasattr(rows, "toarray") else rows)


class _SortedRows:
    """The rows of some roles from the highest score down, with their basis cells."""

    def __init__(self, state: Scored, roles: tuple[int, ...]) -> None:
        rows = np.flatnonzero(np.isin(state.role, roles))
        order = rows[np.argsort(-state.score[rows], kind="stable")]
        self._scores, self._codes = state.score[order], state.codes[order]
        self._is_negative = state.role[order] == NEGATIVE
        self._only_negatives = bool(self._is_negative.all())
        self._ends = _last_of_ties(self._scores)
        self._basis = state.basis
        self._by_basis: tuple[Array, Array] | None = None

    @property
    def length(self) -> int:
        """How many rows there are."""
        return len(self._scores)

    def of_basis(self, cell: int) -> _Side:
        if self._by_basis is None:
            order = np.argsort(self._codes, kind="stable")
            starts = np.searchsorted(self._codes[order], np.arange(self._basis + 1))
            self._by_basis = (order, starts)
        order, starts = self._by_basis
        return _Side(self._scores[order[starts[cell] : starts[cell + 1]]], None)

    def weighted(self, weights: Array) -> _Side:
        return _Side(self._scores, weights[self._codes])

    def at_least(self, weights: Array, thresholds: Array) -> Array:
        """(targets,): the weight of the rows that reach each threshold; not a number for one that is not."""
        reached = np.empty(self.length + 1)
        reached[0] = 0
        np.cumsum(weights[self._codes], out=reached[1:])
        return np.asarray(reached[np.searchsorted(-self._scores, -thresholds, side="right")])

    def lowest_allowed(self, weights: Array, allowed: Array) -> tuple[Array, Array]:
        """(targets,): the lowest occurring score that at most `allowed` negatives reach, and how many do.

        Only as much of the list is looked at as the largest number allows.
        """
        most = allowed.max(initial=0.0)
        stop = min(self.length, int(1.25 * most) + 256)
        while True:
            own = weights[self._codes[:stop]]
            occurring = np.cumsum(own, dtype=np.float64)
            reached = occurring if self._only_negatives else np.cumsum(own * self._is_negative[:stop], dtype=np.float64)
            if stop == self.length or reached[-1] > most:
                break
            stop = min(self.length, 2 * stop)
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


class _Lazily(Sequence[Curve | Undefined]):
    """Curves that are made when they are asked for; a thousand draws ask for none."""

    def __init__(self, size: int, make: Callable[[int], Curve | Undefined]) -> None:
        self._size, self._make = size, make

    def __len__(self) -> int:
        return self._size

    @overload
    def __getitem__(self, cell: int) -> Curve | Undefined: ...
    @overload
    def __getitem__(self, cell: slice) -> Sequence[Curve | Undefined]: ...
    def __getitem__(self, cell: int | slice) -> Curve | Undefined | Sequence[Curve | Undefined]:
        if isinstance(cell, slice):
            return [self._make(one) for one in range(*cell.indices(self._size))]
        if not -self._size <= cell < self._size:
            raise IndexError(cell)
        return self._make(cell % self._size)


def _curve(positives: _Side, negatives: _Side, faces: float, images: float, every_score: bool) -> FreeResponseCurve:
    thresholds = negatives.thresholds()
    if every_score:
        thresholds = np.union1d(thresholds, positives.thresholds())
    if images <= 0:
        thresholds = thresholds[:0]
    return FreeResponseCurve(thresholds, positives.at_least(thresholds), negatives.at_least(thresholds), faces, images)


_AT_ONCE = 1 << 22


def _most_allowed(images: Array, targets: Sequence[float]) -> Array:
    """(cells, targets): the largest number of negatives that keeps to the target; −1 without images."""
    goal = np.asarray(targets, dtype=np.float64)[np.newaxis, :]
    some = np.maximum(images, 1e-300)[:, np.newaxis]
    most = np.floor(goal * some)
    most += (most + 1) / some <= goal
    most -= most / some > goal
    return np.where(images[:, np.newaxis] > 0, most, -1.0)


def _last_of_ties(scores: Array) -> Array:
    """Where runs of equal scores end."""
    last = np.ones(len(scores), dtype=np.bool_)
    last[:-1] = scores[1:] != scores[:-1]
    return np.flatnonzero(last)


def _point(target: float, threshold: float, actual: float, negatives: float) -> OperatingPoint:
    if np.isnan(threshold):
        return OperatingPoint(CONVENTION, target, None, None, None)
    return OperatingPoint(CONVENTION, target, actual, threshold, round(negatives))


def _nobody(faces: float) -> str:
    if faces < 0:
        return f"more faces are excluded than there are (by {-int(faces)})"
    return "there is no face to be counted"
