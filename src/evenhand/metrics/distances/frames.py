"""Frames with their feature vectors, on two sides: what every distance between sets keeps.

A frame whose features could not be read holds NaN in its row. It is kept as a row without features: left out of the
distance, and counted as missing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Collected
from evenhand.core.records import Array, Records

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

SIDE = "synthesised"
"""The column that says on which side a frame stands: true for the model's, false for the real ones."""


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

    A row that `among` leaves out is not kept, and not counted as missing: the distance is not about it.
    """
    codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
    features = np.asarray(rows[feature])
    if features.ndim == 1:
        features = features[:, np.newaxis]
    synthesised = np.asarray(rows[side], dtype=np.bool_)
    if among is not None:
        keep = np.asarray(rows[among], dtype=np.bool_)
        codes, features, synthesised = codes[keep], features[keep], synthesised[keep]
    usable = np.isfinite(features).all(axis=1) if features.size else np.zeros(len(features), dtype=np.bool_)
    return Frames(codes, size, None, features, synthesised, usable)


def sides(state: Frames, cell: int) -> Sides:
    """The usable rows of a cell, by side."""
    weights = np.where(state.usable, state.weights_of(cell), 0).astype(np.float64)
    made = np.flatnonzero((weights > 0) & state.synthesised)
    real = np.flatnonzero((weights > 0) & ~state.synthesised)
    return Sides(made, real, weights[made], weights[real])


def missing(state: Frames) -> Array:
    """(cells,): frames whose features could not be read."""
    lost = np.bincount(state.codes[~state.usable], minlength=state.basis)
    return lost if state.mixture is None else np.asarray(state.mixture @ lost).astype(np.int64)


def too_few(what: str, counts: tuple[int, int], least: int) -> str:
    """Why a distance is undefined for want of frames."""
    return f"{what} needs at least {least} frames on each side; there are {counts[0]} synthesised and {counts[1]} real"
