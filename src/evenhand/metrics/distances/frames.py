"""Frames with their feature vectors, on two sides: what every distance between sets keeps.

A frame whose features could not be read holds NaN in its row. It is kept as a row without features: left out of the
distance, and counted as missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Collected, Direction, Metric, Numbers, Resampling
from evenhand.core.records import Array, Records

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIDE = "synthesised"
"""The column that says on which side a frame stands: true for the model's, false for the real ones."""

PARTNER = "real_"
"""Before the name of a feature: the column of the real frame in rows that are pairs of frames, which have no side."""


def columns_of(feature: str, side: str, *others: str | None) -> tuple[str, ...]:
    """The columns that a distance reads; an empty `side` means rows that are pairs."""
    return (feature, side or PARTNER + feature, *(name for name in others if name))


@dataclass(frozen=True, eq=False)
class Frames(Collected):
    """Feature vectors, the side of each frame, and whether its features could be read."""

    features: Array  # (rows, dimensions)
    synthesised: Mask  # (rows,)
    usable: Mask  # (rows,)


class Sides(NamedTuple):
    """The rows of one cell on both sides: which, and how often each counts."""

    synthesised: Array  # positions
    real: Array
    synthesised_weights: Floats
    real_weights: Floats

    @property
    def counts(self) -> tuple[int, int]:
        """Frames on either side, repeated ones as often as they count."""
        return round(float(self.synthesised_weights.sum())), round(float(self.real_weights.sum()))


def collect(rows: Records, feature: str, side: str, cells: Array | None, size: int, among: str | None = None) -> Frames:
    """The state of the rows; `among` names a column that must be true for a row to be used at all.

    A row that `among` leaves out is not kept, and not counted as missing: the distance is not about it. Without a
    `side`, a row is a pair: its synthesised frame is missing when it has no features, its real one is just not there.
    """
    codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
    keep = slice(None) if among is None else np.asarray(rows[among], dtype=np.bool_)
    codes, features = codes[keep], _matrix(rows[feature])[keep]
    usable = _finite(features)
    if side:
        return Frames(codes, size, None, features, np.asarray(rows[side], dtype=np.bool_)[keep], usable)
    real = _matrix(rows[PARTNER + feature])[keep]
    there = _finite(real)
    return Frames(
        np.concatenate([codes, codes[there]]),
        size,
        None,
        np.concatenate([features, real[there]]),
        np.repeat([True, False], [len(features), int(there.sum())]),
        np.concatenate([usable, there[there]]),
    )


def _matrix(column: Array) -> Array:
    values = np.asarray(column)
    return values[:, np.newaxis] if values.ndim == 1 else values


def _finite(features: Array) -> Mask:
    return np.asarray(np.isfinite(features).all(axis=1)) if features.size else np.zeros(len(features), dtype=np.bool_)


def sides(state: Frames) -> Iterator[Sides]:
    """The usable rows of every cell, by side."""
    for cell in range(state.size):
        weights = np.where(state.usable, state.weights_of(cell), 0).astype(np.float64)
        made = np.flatnonzero((weights > 0) & state.synthesised)
        real = np.flatnonzero((weights > 0) & ~state.synthesised)
        yield Sides(made, real, weights[made], weights[real])


def too_few(what: str, counts: tuple[int, int], least: int) -> str:
    """Why a distance is undefined for want of frames."""
    if counts == (0, 0):
        return f"{what} has nothing to compare: no frame on either side has these features"
    return f"{what} needs at least {least} frames on each side; there are {counts[0]} synthesised and {counts[1]} real"


def cell_by_cell(
    cells: Iterable[Sides], outputs: Collection[str], what: str, least: int, value: Callable[[Sides], Any]
) -> dict[str, Numbers]:
    """The outputs of cells that have at least so many frames on each side, and why the others have none."""
    values, reasons = [], []
    for both in cells:
        enough = min(both.counts) >= least
        values.append(np.full(len(outputs), value(both) if enough else np.nan))
        reasons.append("" if enough else too_few(what, both.counts, least))
    table = np.reshape(values, (-1, len(outputs))).T.copy()
    return {name: Numbers(row, reasons) for name, row in zip(outputs, table, strict=True)}


class FrameMetric(Metric[Frames]):
    """What the distances between two sets of frames share: the rows they read, and a state that keeps the features."""

    feature: str
    side: str
    among: str | None = None  # a column that is true of the rows on either side
    resampling: ClassVar[Resampling] = Resampling.SUBSAMPLE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"distance": Direction.LOWER}

    @property
    def columns(self) -> tuple[str, ...]:
        return columns_of(self.feature, self.side, self.among)

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> Frames:
        return collect(rows, self.feature, self.side, cells, size, self.among)

    def missing(self, state: Frames) -> Array:
        return state.per_cell(~state.usable).astype(np.int64)
