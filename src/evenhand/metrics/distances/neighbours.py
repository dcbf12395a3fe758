"""Precision, recall, density and coverage: do the two sets of features fill the same space?

Around every frame lies a ball that reaches to its k-th nearest neighbour on its own side.

- precision: the share of synthesised frames inside any ball of a real one (do they look real?);
- recall: the share of real frames inside any ball of a synthesised one (is everything real reached?);
- density: how many balls of real frames a synthesised one lies in, on average, divided by k; less bent by a single
  odd real frame than precision, and can exceed 1;
- coverage: the share of real frames with a synthesised one in their ball.

Precision and recall as Kynkäänniemi and others (2019), density and coverage as Naeem and others (2020) define them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.metric import POSITIVE, UNIT_SCALE, Column, Direction, Scale
from evenhand.core.records import Array, blocks
from evenhand.metrics.distances.frames import SIDE, Floats, FrameMetric, Frames, Sides, cell_by_cell, sides

_ROWS = 1024  # rows of a matrix of distances that are in memory at once


class Neighbourhood(NamedTuple):
    """The four shares of two sets."""

    precision: float
    recall: float
    density: float
    coverage: float


def neighbourhood(synthesised: Array, real: Array, nearest: int = 5) -> Neighbourhood:
    """Precision, recall, density and coverage of two sets of vectors, with balls to the `nearest`-th neighbour.

    >>> line = np.arange(8.0)[:, np.newaxis]
    >>> neighbourhood(line, line, nearest=2)
    Neighbourhood(precision=1.0, recall=1.0, density=1.5, coverage=1.0)
    >>> neighbourhood(line + 100, line, nearest=2)
    Neighbourhood(precision=0.0, recall=0.0, density=0.0, coverage=0.0)
    """
    made, true = (np.atleast_2d(np.asarray(side)).astype(np.float64, copy=False) for side in (synthesised, real))
    if min(len(made), len(true)) <= nearest:
        raise DataError(
            f"balls to the {nearest}th neighbour need at least {nearest + 1} rows on each side; "
            f"there are {len(made)} and {len(true)}."
        )
    origin = true.mean(axis=0)
    made, true = made - origin, true - origin
    radius_made, radius_true = _radii(made, nearest), _radii(true, nearest)
    inside_any, inside_count = np.zeros(len(made), dtype=np.bool_), np.zeros(len(made))
    reached, covered = np.zeros(len(true), dtype=np.bool_), np.zeros(len(true), dtype=np.bool_)
    for span in blocks(len(made), _ROWS):
        distance = _squared_distances(made[span], true)
        in_real_ball = distance <= radius_true
        inside_any[span], inside_count[span] = in_real_ball.any(axis=1), in_real_ball.sum(axis=1)
        covered |= in_real_ball.any(axis=0)
        reached |= (distance <= radius_made[span, np.newaxis]).any(axis=0)
    return Neighbourhood(
        float(inside_any.mean()), float(reached.mean()), float(inside_count.mean()) / nearest, float(covered.mean())
    )


@dataclass(frozen=True)
class Neighbours(FrameMetric):
    """Precision, recall, density and coverage of the features of synthesised frames among real ones.

    Balls reach to the `nearest`-th neighbour on a frame's own side, and are drawn anew in every group.
    """

    name: str
    feature: str
    nearest: int = 5
    side: str = SIDE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return dict.fromkeys(Neighbourhood._fields, Direction.HIGHER)

    @property
    def scales(self) -> Mapping[str, Scale]:
        return {**dict.fromkeys(self.outputs, UNIT_SCALE), "density": POSITIVE}  # k nearest may all hold a frame

    def result(self, part: Frames, whole: Frames) -> Mapping[str, Column]:
        def shares(both: Sides) -> Neighbourhood:
            made = part.features[np.repeat(both.synthesised, both.synthesised_weights.astype(np.intp))]
            real = part.features[np.repeat(both.real, both.real_weights.astype(np.intp))]
            return neighbourhood(made, real, self.nearest)

        what = f"a ball to the {self.nearest}th neighbour"
        return cell_by_cell(sides(part), self.outputs, what, self.nearest + 1, shares)


def _radii(rows: Floats, nearest: int) -> Floats:
    """The squared distance of every row to its `nearest`-th neighbour among the others."""
    radii = np.empty(len(rows))
    for span in blocks(len(rows), _ROWS):
        distance = _squared_distances(rows[span], rows)
        distance[np.arange(span.stop - span.start), np.arange(span.start, span.stop)] = -1.0  # itself comes first
        radii[span] = np.partition(distance, nearest, axis=1)[:, nearest]
    return radii


def _squared_distances(first: Floats, second: Floats) -> Floats:
    """(first, second), never below zero; the same two vectors give exactly the same number on every call."""
    squares = np.einsum("ij,ij->i", first, first)[:, np.newaxis] + np.einsum("ij,ij->i", second, second)
    return np.asarray(np.maximum(squares - 2.0 * (first @ second.T), 0.0), dtype=np.float64)
