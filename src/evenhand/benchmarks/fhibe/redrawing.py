"""The accept rate at a shared threshold when subjects are resampled.

A genuine pair is weighted by its subject's weight, an impostor pair by the product of both subjects' weights. In every
draw the threshold is found anew on everyone's impostor pairs, so the interval and the difference of two groups take
its uncertainty into account. Only the highest impostors can decide about it; they are found once.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe.verification import HighImpostors, genuine_pairs, highest_impostors, pair_scores
from evenhand.core.metric import Sampled
from evenhand.core.records import Array

_SPARE = 4  # so many times the allowed impostors are kept, since draws differ
_FEWEST = 2_000


@dataclass(frozen=True)
class Redrawing:
    """All that the draws of an accept rate need; rows are images, units their subjects."""

    units: int
    images_of_unit: NDArray[np.float64]  # (units,)
    genuine_unit: Array  # (genuine pairs,), highest score first
    genuine_score: NDArray[np.float32]
    inside: Any  # (groups, genuine pairs), sparse: both images are in the group
    impostors: HighImpostors
    first_unit: Array  # (kept impostors,)
    second_unit: Array
    ends: Array  # positions of the last of each run of equal impostor scores
    far: float

    def rates(self, weights: Iterable[Array]) -> NDArray[np.float64]:
        """(draws, groups): the share of genuine pairs accepted; not a number where a draw has none."""
        rows = [self._rate(row) for many in weights for row in np.asarray(many, dtype=np.float64)]
        return np.array(rows).reshape(len(rows), self.inside.shape[0])

    def _rate(self, weight: NDArray[np.float64]) -> NDArray[np.float64]:
        threshold = self.threshold(weight)
        counted = weight[self.genuine_unit]
        below = self.inside @ counted
        above = self.inside @ np.where(self.genuine_score >= threshold, counted, 0.0)
        there = (below > 0) & ~np.isnan(threshold)
        return np.asarray(np.divide(above, below, out=np.full(len(below), np.nan), where=there))

    def threshold(self, weight: NDArray[np.float64]) -> float:
        """The smallest score that at most the share `far` of impostor pairs reach; NaN when too few were kept."""
        images = weight * self.images_of_unit
        allowed = self.far * (images.sum() ** 2 - (images**2).sum()) / 2
        if not len(self.ends):
            return float("nan")
        reached = np.cumsum(weight[self.first_unit] * weight[self.second_unit])[self.ends]
        place = int(np.searchsorted(reached, allowed, side="right")) - 1
        if place < 0:
            return float(np.nextafter(self.impostors.score[0], np.float32(np.inf)))
        if place == len(self.ends) - 1 and len(self.impostors.score) < self.impostors.total:
            return float("nan")
        return float(self.impostors.score[self.ends[place]])


def redrawing(embeddings: Array, codes: Array, cells: Sampled, far: float) -> Redrawing:
    """What draws need, from the embedding and the cell of every image."""
    from scipy import sparse

    embeddings = np.asarray(embeddings, dtype=np.float32)
    unit = np.asarray(cells.unit)[codes]
    pattern = np.asarray(cells.pattern)[codes]
    pairs = genuine_pairs(unit)
    score = pair_scores(embeddings, pairs)
    order = np.argsort(-score, kind="stable")
    first, second = pairs.first[order], pairs.second[order]
    kept = sparse.csc_array(np.asarray(cells.kept, dtype=np.float64))
    inside = kept[:, pattern[first]].multiply(kept[:, pattern[second]]).tocsr()
    total = len(unit) * (len(unit) - 1) // 2
    impostors = highest_impostors(embeddings, unit, max(int(_SPARE * far * total), _FEWEST))
    last = np.append(np.flatnonzero(np.diff(impostors.score) != 0), len(impostors.score) - 1)
    return Redrawing(
        cells.units,
        np.bincount(unit, minlength=cells.units).astype(np.float64),
        unit[first],
        score[order],
        inside,
        impostors,
        unit[impostors.pairs.first],
        unit[impostors.pairs.second],
        last if len(impostors.score) else np.zeros(0, dtype=np.int64),
        far,
    )
