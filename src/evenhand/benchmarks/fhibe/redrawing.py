"""The accept rate at a shared threshold when subjects are resampled.

A genuine pair is weighted by its subject's weight, an impostor pair by the product of both subjects' weights. In every
draw the threshold is found anew on everyone's impostor pairs, so the interval and the difference of two groups take
its uncertainty into account. Only the highest impostors can decide about it; they are found once.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fhibe.verification import genuine_pairs, highest_impostors, pair_scores
from evenhand.core.metric import Sampled
from evenhand.core.records import Array
from evenhand.metrics.verification_tails import ComparedUnits, Floats, ImpostorTail, WeightedTail

_SPARE = 4  # so many times the allowed impostors are kept, since draws differ
_FEWEST = 2_000


class _RisingScores(NamedTuple):
    score: Array
    codes: Array


def redrawn_rates(
    embeddings: Array, codes: Array, cells: Sampled, far: float, weights: Iterable[Array]
) -> NDArray[np.float64]:
    """(draws, groups): the share of genuine pairs accepted; not a number where a draw has none.

    Rows are images with the cell of each, units their subjects.
    """
    from scipy import sparse

    embeddings = np.asarray(embeddings, dtype=np.float32)
    unit, pattern = np.asarray(cells.unit)[codes], np.asarray(cells.pattern)[codes]
    pairs = genuine_pairs(unit)
    score, subject = pair_scores(embeddings, pairs), unit[pairs.first]
    kept = sparse.csc_array(np.asarray(cells.kept, dtype=np.float64))
    inside = kept[:, pattern[pairs.first]].multiply(kept[:, pattern[pairs.second]]).tocsr()
    total = len(unit) * (len(unit) - 1) // 2
    impostors = highest_impostors(embeddings, unit, max(int(_SPARE * far * total), _FEWEST))
    first, second = (unit[end].astype(np.int32) for end in impostors.pairs)
    places = np.arange(len(first))[::-1]
    people = ComparedUnits(first, second, cells.units)
    tail = ImpostorTail(_RisingScores(impostors.score[::-1], places), None, people, 1.0)
    images_of_unit = np.bincount(unit, minlength=cells.units).astype(np.float64)
    rates = []
    for weight, with_nobody, bins in (
        drawn for many in weights for drawn in zip(many, *_weighed(people, tail, many), strict=True)
    ):
        images = weight * images_of_unit
        drawn_pairs = float(images.sum() ** 2 - (images**2).sum()) / 2
        drawn = WeightedTail(tail, with_nobody, drawn_pairs, bins)
        threshold = _threshold(drawn, far, has_others=len(first) < impostors.total)
        counted = weight[subject].astype(np.float64)
        below = inside @ counted
        above = inside @ np.where(score >= threshold, counted, 0.0)
        there = (below > 0) & ~np.isnan(threshold)
        rates.append(np.divide(above, below, out=np.full(len(below), np.nan), where=there))
    return np.array(rates).reshape(len(rates), inside.shape[0])


def _weighed(people: ComparedUnits, tail: ImpostorTail, weights: Array) -> tuple[NDArray[np.float32], Floats]:
    with_nobody = people.with_nobody(weights)
    return with_nobody, tail.cumulated(with_nobody)


def _threshold(drawn: WeightedTail, far: float, *, has_others: bool) -> float:
    """The smallest score that at most the share `far` of impostor pairs reach; NaN when too few were kept."""
    rising = drawn.tail.rising
    refused = drawn.refused_at(far) if drawn.total > 0 else -np.inf
    above = drawn.places_above(refused)
    if not len(rising) or (above == len(rising) and has_others):
        return float("nan")
    return float(rising[len(rising) - above] if above else np.nextafter(rising[-1], np.float32(np.inf)))
