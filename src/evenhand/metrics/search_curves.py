"""The trade-off of open-set search as one curve: false negatives against false positives (IET).

At each false positive identification rate stands the lowest false negative rate that does not exceed it, in every
gallery by itself, combined over galleries as the rates at single operating points are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.metric import Curve, Undefined
from evenhand.core.records import Array


class GallerySides(NamedTuple):
    """The searches of one gallery: best scores of strangers, scores of mates within the rank, and all mates' weight."""

    top: Array  # (non-mated,), descending
    top_weight: Array
    mate: Array  # (mated,), descending
    mate_weight: Array  # 0 where the mate stands too low in the list, or could not be compared
    mated: float


def trade_off(galleries: Sequence[GallerySides], *, pooled: bool = False) -> Curve | Undefined:
    """FNIR over FPIR, combined over the galleries that have mated and non-mated searches.

    A point for every rate at which something changes, from 0 on; thresholds where there is one gallery.

    >>> some = GallerySides(np.array([0.5, 0.2]), np.ones(2), np.array([0.9, 0.4]), np.ones(2), 2.0)
    >>> curve = trade_off([some])
    >>> curve.x.tolist(), curve.y.tolist()
    ([0.0, 0.5], [0.5, 0.0])
    """
    steps = [_steps(one) for one in galleries if one.top_weight.sum() > 0 and one.mated > 0]
    if not steps:
        return Undefined("no mated probe, or no non-mated probe")
    grid = np.unique(np.concatenate([step.fpir for step in steps]))
    places = [np.searchsorted(step.fpir, grid, side="right") - 1 for step in steps]
    rates = np.stack([step.fnir[place] for step, place in zip(steps, places, strict=True)])
    share = np.array([step.mated for step in steps]) if pooled else np.ones(len(steps))
    fnir = share @ rates / share.sum()
    threshold = steps[0].threshold[places[0]] if len(steps) == 1 else None
    changes = np.concatenate([[True], np.diff(fnir) != 0])
    return Curve(
        grid[changes], fnir[changes], "FPIR", "FNIR", None if threshold is None else threshold[changes], log_x=True
    )


class _Steps(NamedTuple):
    """From each FPIR on: the FNIR, and the threshold."""

    fpir: Array
    fnir: Array
    threshold: Array
    mated: float


def _steps(side: GallerySides) -> _Steps:
    counted = side.top_weight > 0
    top, weight = side.top[counted], side.top_weight[counted]
    ends = np.flatnonzero(np.append(top[1:] != top[:-1], True))
    reached = np.cumsum(weight)[ends]
    refused = np.append(top[ends], -np.inf)  # from k false positives on, this score is the first too many
    start = np.concatenate([[0.0], reached]) / reached[-1]
    hits = np.concatenate([[0.0], np.cumsum(side.mate_weight)])
    above = np.searchsorted(-side.mate, -refused, side="left")
    observed = np.sort(np.concatenate([top, side.mate[side.mate_weight > 0]]))
    observed = observed[observed > -np.inf]
    next_above = np.append(observed, np.inf)[np.searchsorted(observed, refused, side="right")]
    return _Steps(start, 1.0 - hits[above] / side.mated, next_above, side.mated)
