"""The inception score: how sure a classifier is of each frame, and how many classes it sees in all of them.

    exp( mean over frames of Σ p (log p − log p̄) )

where p is the softmax of a frame's logits and p̄ the mean over the set. A probability that underflows to zero adds
nothing (0 log 0 = 0). The score says little about pictures of people: all of them are of one class, so what is left
is small and noisy. It can be taken whole, or by splits with the mean and the deviation between them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from evenhand.core.errors import DataError
from evenhand.core.metric import POSITIVE, Collected, Column, Direction, Metric, Numbers, Resampling, Scale
from evenhand.core.records import Array, Records, blocks
from evenhand.metrics.distances.frames import SIDE, Floats, Mask
from evenhand.metrics.means import defined_mean

_ROWS = 2048  # rows whose probabilities are in memory at once
_CELLS = 64


class InceptionValue(NamedTuple):
    """The mean over splits, the population deviation between them, and how many there were."""

    mean: float
    deviation: float
    splits: int


def inception_score(logits: Array, *, rows_per_split: int | None = None) -> InceptionValue:
    """The inception score of logits (rows, classes): over all rows, or by consecutive splits of so many rows.

    >>> certain = np.diag([50.0, 50.0, 50.0, 50.0])
    >>> round(inception_score(certain).mean, 6)
    4.0
    """
    logits = np.atleast_2d(np.asarray(logits))
    if not len(logits):
        raise DataError("an inception score needs at least one row of logits.")
    size = len(logits) if rows_per_split is None else rows_per_split
    split = np.arange(len(logits)) // size
    scores = _scores(logits, split, int(split[-1]) + 1, np.ones((1, len(logits))))[0]
    return InceptionValue(float(scores.mean()), float(scores.std()), len(scores))


@dataclass(frozen=True, eq=False)
class FrameLogits(Collected):
    """The logits of synthesised frames, the split of each, and whether it could be read."""

    logits: Array  # (rows, classes)
    split: Array  # (rows,)
    usable: Mask  # (rows,)


@dataclass(frozen=True)
class InceptionScore(Metric[FrameLogits]):
    """The inception score of the synthesised frames: sure of each, many classes in all; higher is better.

    `split` names a column with the split of each row; the score is then the mean over the `splits` that have rows,
    beside the deviation between them. Without it all rows are one split; with an empty `side` every row counts.
    """

    name: str
    logits: str
    side: str = SIDE
    split: str | None = None
    splits: int = 1
    resampling: ClassVar[Resampling] = Resampling.SUBSAMPLE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"score": Direction.HIGHER} | ({} if self.split is None else {"deviation": Direction.NEITHER})

    @property
    def scales(self) -> Mapping[str, Scale]:
        return {"score": Scale(1.0), "deviation": POSITIVE}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.logits, *(name for name in (self.side, self.split) if name))

    def measure(self, rows: Records, cells: Array | None = None, size: int = 1) -> FrameLogits:
        made = np.asarray(rows[self.side], dtype=np.bool_) if self.side else np.ones(len(rows), dtype=np.bool_)
        codes = np.zeros(len(rows), dtype=np.intp) if cells is None else np.asarray(cells)
        logits = np.asarray(rows[self.logits])[made]
        split = np.zeros(len(logits), dtype=np.intp) if self.split is None else np.asarray(rows[self.split])[made]
        if len(split) and not 0 <= int(split.min()) <= int(split.max()) < self.splits:
            raise ValueError(f"a split outside 0…{self.splits - 1}")
        usable = np.isfinite(logits).all(axis=1) if logits.size else np.zeros(len(logits), dtype=np.bool_)
        return FrameLogits(codes[made], size, None, logits, split.astype(np.intp), usable)

    def result(self, part: FrameLogits, whole: FrameLogits) -> Mapping[str, Column]:
        means, deviations = np.full(part.size, np.nan), np.full(part.size, np.nan)
        logits, split = part.logits[part.usable], part.split[part.usable]
        for span in blocks(part.size, _CELLS):
            weights = part.basis_weights(np.arange(span.start, span.stop))[:, part.codes[part.usable]]
            scores = _scores(logits, split, self.splits, weights.astype(np.float64))
            means[span] = defined_mean(scores, 1)
            deviations[span] = np.sqrt(defined_mean((scores - means[span, np.newaxis]) ** 2, 1))
        values = {"score": means, "deviation": deviations}
        return {output: Numbers(values[output], "there is no synthesised frame") for output in self.outputs}

    def missing(self, state: FrameLogits) -> Array:
        return state.per_cell(~state.usable).astype(np.int64)


def _scores(logits: Array, split: Array, splits: int, weights: Floats) -> Floats:
    """(cells, splits): the score of every split; NaN where it has no row. `weights` is (cells, rows)."""
    cells = len(weights)
    count, certainty = np.zeros((cells, splits)), np.zeros((cells, splits))
    marginal = np.zeros((cells, splits, logits.shape[1] if logits.ndim == 2 else 0))
    for span in blocks(len(logits), _ROWS):
        shifted = logits[span].astype(np.float64)
        shifted -= shifted.max(axis=1, keepdims=True)
        log_sum = np.log(np.exp(shifted).sum(axis=1, keepdims=True))
        log_p = shifted - log_sum
        p = np.exp(log_p)
        own = np.einsum("ij,ij->i", p, log_p)  # Σ p log p
        for chosen in np.unique(split[span]):
            inside = split[span] == chosen
            w = weights[:, span][:, inside]
            count[:, chosen] += w.sum(axis=1)
            certainty[:, chosen] += w @ own[inside]
            marginal[:, chosen] += w @ p[inside]
    there = count > 0
    n = np.where(there, count, 1.0)
    mean = marginal / n[:, :, np.newaxis]
    entropy = np.sum(mean * np.log(np.where(mean > 0, mean, 1.0)), axis=2)
    return np.where(there, np.exp(certainty / n - entropy), np.nan)
