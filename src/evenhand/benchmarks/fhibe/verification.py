"""VAL: the published validation rate at a false accept rate of 0.001, and an unbiased rate beside it.

**VAL** draws up to 3,000 pairs of one identity and up to 3,000 of different identities inside a group,
shuffles them with a fixed seed, and takes the rate over ten folds. Two things make it small where a
model is good: with fewer than about 3,000 impostor pairs the threshold is interpolated towards −1, and
the grid of thresholds that one fold thins out is used by the next (Q1). Both are kept, because published
numbers depend on them. ImagePairs are drawn by rank and found by arithmetic; they are never listed.

**The unbiased rate** takes the threshold from the quantile of all impostor pairs, counts all genuine
pairs, and gives an interval in which a subject counts once. When subjects are resampled, the threshold is found anew
on everyone's impostor pairs, so the interval and the difference of two groups take its uncertainty into account.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import Sampled
from evenhand.core.records import Array
from evenhand.core.sparse import SparseMatrix
from evenhand.metrics.verification_tails import ComparedUnits, ImpostorTail, WeightedTail

TARGET = 0.001
MOST_PAIRS = 3000
PAIR_SEED, SHUFFLE_SEED = 7789, 11
FOLDS = 10
FEW_EVENTS = 30  # a rate based on fewer false accepts is flagged

_SPARE = 4  # so many times the allowed impostors are kept, since draws differ
_FEWEST = 2_000
_GRID = np.arange(-1, 1, 0.001)
_ACCURACY_GRID = np.arange(-1, 1, 0.01)
_BLOCK = 2048


class ImagePairs(NamedTuple):
    """Positions of the two images of each pair, in drawing order."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]


@dataclass(frozen=True)
class Validation:
    """The published rates over folds, unrounded."""

    folds: int
    val: float | None  # None: undefined in every fold, or the published code fails
    val_std: float | None
    far: float | None
    accuracy: tuple[float, ...]


@dataclass(frozen=True)
class GroupValidation:
    """VAL of one group, with the counts it is based on."""

    validation: Validation
    images: int
    identities: int
    same: int  # pairs drawn
    different: int


@dataclass(frozen=True)
class AcceptRate:
    """Share of genuine pairs accepted at a threshold set on impostor pairs."""

    rate: float | None
    low: float | None
    high: float | None
    threshold: float | None
    realised: float | None  # false accept rate at the threshold
    genuine: int
    impostor: int


def group_validation(embeddings: Array, identities: Array) -> GroupValidation | None:
    """VAL of images given in the order of their paths; None when the published tool leaves the group out.

    Identities with one image are dropped first; at least two must remain. `identities` are codes.
    """
    keep = paired(identities)
    embeddings, identities = np.asarray(embeddings)[keep], np.asarray(identities)[keep]
    people = len(np.unique(identities))
    if people < 2:
        return None
    same, different = drawn_pairs(identities)
    if not len(same.first) or not len(different.first):
        return None
    distance, is_same = shuffled_distances(embeddings, same, different)
    return GroupValidation(
        validation(distance, is_same), int(keep.sum()), people, len(same.first), len(different.first)
    )


def paired(identities: Array) -> NDArray[np.bool_]:
    """(images,): whether another image of the same identity is there.

    >>> paired(np.array([3, 5, 3])).tolist()
    [True, False, True]
    """
    _, codes, counts = np.unique(identities, return_inverse=True, return_counts=True)
    return np.asarray(counts[codes.reshape(-1)] >= 2)


def drawn_pairs(identities: Array) -> tuple[ImagePairs, ImagePairs]:
    """The pairs that the published tool draws: of one identity, and of different ones.

    Images are in the order of their paths, so the sorted list of pairs is the lexicographic list of
    positions, and the pair of a rank follows from counts.

    >>> same, different = drawn_pairs(np.array([0, 1, 0, 1]))
    >>> sorted(zip(same.first.tolist(), same.second.tolist()))
    [(0, 2), (1, 3)]
    """
    own = _OwnImages.of(_codes(identities))
    generator = random.Random(PAIR_SEED)

    def drawn(partners: Array) -> Array:
        total = int(partners.sum())
        return np.array(generator.sample(range(total), min(MOST_PAIRS, total)), dtype=np.int64)

    same = own.pairs(drawn(own.later))
    others = np.arange(len(own.later))[::-1] - own.later  # images of other identities that come after each
    first, within = _unranked(others, drawn(others))
    second = np.asarray(first + 1 + within, dtype=np.int64)
    # Skip the images of the same identity, in order, as long as one lies at or before the place reached.
    for step in range(1, int(own.later[first].max(initial=0)) + 1):
        there = own.later[first] >= step
        mate = own.order[np.where(there, own.place[first] + step, 0)]
        second += there & (mate <= second)
    return same, ImagePairs(first, second)


def shuffled_distances(embeddings: Array, same: ImagePairs, different: ImagePairs) -> tuple[NDArray[np.float64], Array]:
    """Minus the dot product of every drawn pair, and whether it is of one identity, in the published order."""
    pairs = ImagePairs(*(np.concatenate(ends) for ends in zip(same, different, strict=True)))
    distance = -pair_scores(embeddings, pairs, np.float64)
    is_same = np.repeat([True, False], [len(same.first), len(different.first)])
    order = shuffled(len(distance))
    return distance[order], is_same[order]


def validation(distance: Array, is_same: Array) -> Validation:
    """The published rates from distances (minus dot products) and labels, in the order of folds.

    A distance that is not a number is never accepted. Impostor distances below −1 (embeddings that are
    not normalised) can make the published code read beyond its grid; the rates are then undefined.
    """
    distance, is_same = np.asarray(distance, dtype=np.float64), np.asarray(is_same, dtype=np.bool_)
    folds = min(FOLDS, len(distance))
    grid = _GRID
    rates, fars, accuracies = [], [], []
    failed = False
    for held_out in np.array_split(np.arange(len(distance)), folds):
        training = np.ones(len(distance), dtype=np.bool_)
        training[held_out] = False
        threshold = 0.0
        if not failed:
            at_target = _threshold(np.sort(distance[training & ~is_same]), grid)
            failed = at_target is None
            if at_target is not None:
                threshold, grid = at_target
        test, label = distance[held_out], is_same[held_out]
        rates.append(_share(test[label], threshold))
        fars.append(_share(test[~label], threshold))
        accuracies.append(_accuracy(distance[training], is_same[training], test, label))
    known, known_fars = ([value for value in values if not np.isnan(value) and not failed] for values in (rates, fars))
    return Validation(
        folds,
        float(np.mean(known)) if known else None,
        float(np.std(known)) if known else None,
        float(np.mean(known_fars)) if known_fars else None,
        tuple(accuracies),
    )


def accept_rate(embeddings: Array, identities: Array, far: float = TARGET) -> AcceptRate:
    """Share of genuine pairs accepted (score ≥ threshold), with an interval by subjects.

    The threshold is the smallest score at which at most a share `far` of all impostor pairs is
    accepted. The interval is Wilson's with the effective number of pairs: subjects, not pairs, are
    independent.
    """
    embeddings, codes = np.asarray(embeddings, dtype=np.float32), _codes(identities)
    total = _impostor_count(codes)
    allowed = int(np.floor(far * total))
    top = highest_impostors(embeddings, codes, allowed + 1).score if total else np.zeros(0, dtype=np.float32)
    threshold, accepted = None, 0
    if len(top):
        limit = top[min(allowed, len(top) - 1)]  # the first score that must be refused
        above = top[top > limit]
        threshold, accepted = float(above.min() if len(above) else np.nextafter(limit, np.float32(np.inf))), len(above)
    rate = accept_rate_at(embeddings, codes, threshold)
    return rate if rate.rate is None else replace(rate, realised=accepted / total)


def accept_rate_at(embeddings: Array, identities: Array, threshold: float | None) -> AcceptRate:
    """Share of genuine pairs accepted at a threshold that was set elsewhere."""
    embeddings, codes = np.asarray(embeddings, dtype=np.float32), _codes(identities)
    pairs = genuine_pairs(codes)
    genuine, subject, total = pair_scores(embeddings, pairs), codes[pairs.first], _impostor_count(codes)
    if not len(genuine) or threshold is None:
        return AcceptRate(None, None, None, threshold, None, len(genuine), total)
    accepted = genuine >= threshold
    low, high = _interval(accepted, subject)
    return AcceptRate(float(accepted.mean()), low, high, float(threshold), None, len(genuine), total)


class _OwnImages(NamedTuple):
    """Where the images of every identity are."""

    order: Array  # positions sorted by identity, then position
    place: Array  # where each position stands in `order`
    later: Array  # how many images of the same identity come after each position

    @classmethod
    def of(cls, codes: Array) -> _OwnImages:
        order = np.argsort(codes, kind="stable")
        place = np.empty(len(codes), dtype=np.int64)
        place[order] = np.arange(len(codes))
        return cls(order, place, np.cumsum(np.bincount(codes))[codes] - 1 - place)

    def pairs(self, ranks: Array) -> ImagePairs:
        """The pairs of one identity that stand at these places of their sorted list."""
        first, within = _unranked(self.later, ranks)
        return ImagePairs(first, self.order[self.place[first] + 1 + within])


def _unranked(partners: Array, ranks: Array) -> tuple[Array, Array]:
    """First image and number of its partner at places of a sorted list; `partners` says how many each image has."""
    ends = np.cumsum(partners)
    first = np.searchsorted(ends, ranks, side="right")
    return first, ranks - (ends[first] - partners[first])


def shuffled(count: int) -> list[int]:
    """The order of the pairs in the folds."""
    order = list(range(count))
    random.Random(SHUFFLE_SEED).shuffle(order)
    return order


def _threshold(impostors: Array, grid: Array) -> tuple[float, Array] | None:
    """The threshold of one fold and the grid for the next; None where the published code reads beyond the grid."""
    far = np.zeros(len(_GRID))
    if not len(impostors):
        return 0.0, grid
    known = impostors[~np.isnan(impostors)]
    far[: len(grid)] = np.searchsorted(known, grid, side="left") / len(impostors)
    if not (far.max() >= TARGET >= far.min()):
        return 0.0, grid
    values, first = np.unique(far, return_index=True)
    if first.max() >= len(grid):
        return None
    thinned = grid[first]
    return float(np.interp(TARGET, values, thinned)), thinned


def _accuracy(train: Array, train_same: Array, test: Array, test_same: Array) -> float:
    genuine, impostor = np.sort(train[train_same]), np.sort(train[~train_same])
    right = np.searchsorted(genuine, _ACCURACY_GRID, side="left") + (
        len(impostor) - np.searchsorted(impostor, _ACCURACY_GRID, side="left")
    )
    best = _ACCURACY_GRID[int(np.argmax(right))]
    return float(np.mean((test < best) == test_same))


def _share(distance: Array, threshold: float) -> float:
    return float(np.mean(distance < threshold)) if len(distance) else float("nan")


def genuine_pairs(codes: Array) -> ImagePairs:
    """Positions of all pairs of one identity.

    >>> pairs = genuine_pairs(np.array([1, 0, 1, 1]))
    >>> sorted(zip(pairs.first.tolist(), pairs.second.tolist()))
    [(0, 2), (0, 3), (2, 3)]
    """
    own = _OwnImages.of(codes)
    return own.pairs(np.arange(own.later.sum()))


def pair_scores(embeddings: Array, pairs: ImagePairs, precision: type[np.floating[Any]] = np.float32) -> Array:
    """Dot products of pairs, in single precision unless another is asked for."""
    scores = np.empty(len(pairs.first), dtype=precision)
    for start in range(0, len(scores), _BLOCK):
        part = slice(start, start + _BLOCK)
        vectors = (np.asarray(embeddings[ends[part]], dtype=precision) for ends in pairs)
        scores[part] = np.einsum("ij,ij->i", *vectors)
    return scores


class HighImpostors(NamedTuple):
    """The impostor pairs with the highest scores, highest first, and how many there are in all."""

    pairs: ImagePairs
    score: NDArray[np.float32]
    total: int


def highest_impostors(embeddings: Array, codes: Array, most: int) -> HighImpostors:
    """The `most` impostor pairs with the highest scores; pairs whose score is not a number are never among them."""
    n, total = len(codes), _impostor_count(codes)
    first, second = np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    highest = np.zeros(0, dtype=np.float32)
    floor = np.float32(-np.inf)  # nothing at or below it can be among the highest
    for start in range(0, n, _BLOCK):
        stop = min(start + _BLOCK, n)
        scores = embeddings[start:stop] @ embeddings[start:].T
        rows, columns = np.nonzero(scores > floor)
        apart = (columns > rows) & (codes[start + rows] != codes[start + columns])
        rows, columns = rows[apart], columns[apart]
        highest = np.concatenate([highest, scores[rows, columns]])
        first, second = np.concatenate([first, start + rows]), np.concatenate([second, start + columns])
        if len(highest) > most:
            best = np.argpartition(highest, len(highest) - most)[len(highest) - most :]
            highest, first, second = highest[best], first[best], second[best]
            floor = np.nextafter(highest.min(), np.float32(-np.inf))
    order = np.lexsort((second, first, -highest))
    return HighImpostors(ImagePairs(first[order], second[order]), highest[order], total)


def _codes(identities: Array) -> Array:
    return np.unique(identities, return_inverse=True)[1].reshape(-1)


def _impostor_count(codes: Array) -> int:
    counts = np.bincount(codes) if len(codes) else np.zeros(0, dtype=np.int64)
    return len(codes) * (len(codes) - 1) // 2 - int((counts * (counts - 1) // 2).sum())


def _interval(accepted: Array, subject: Array) -> tuple[float | None, float | None]:
    """Wilson's interval with the number of pairs that subjects are worth; none for fewer than two subjects."""
    from evenhand.stats.intervals import cluster_means, proportion_interval

    codes = _codes(subject)
    if codes.max(initial=0) < 1:
        return None, None
    interval = proportion_interval(cluster_means(np.bincount(codes, accepted), np.bincount(codes)))
    return float(interval.low[0]), float(interval.high[0])


class _RisingScores(NamedTuple):
    score: Array
    codes: Array


def resampled_rates(
    embeddings: Array, codes: Array, cells: Sampled, far: float, weights: Iterable[Array]
) -> NDArray[np.float64]:
    """(draws, groups): the share of genuine pairs accepted; not a number where a draw has none.

    Rows are images with the cell of each, units their subjects. A genuine pair is weighted by its subject's weight, an
    impostor pair by the product of both subjects' weights. Only the highest impostors can decide about the threshold;
    they are found once.
    """
    embeddings = np.asarray(embeddings, dtype=np.float32)
    unit, pattern = np.asarray(cells.unit)[codes], np.asarray(cells.pattern)[codes]
    pairs = genuine_pairs(unit)
    score, subject = pair_scores(embeddings, pairs), unit[pairs.first]
    kept, patterns = np.asarray(cells.kept, dtype=np.bool_), np.int64(cells.kept.shape[1])
    both, of_pair = np.unique(pattern[pairs.first] * patterns + pattern[pairs.second], return_inverse=True)
    inside = SparseMatrix.of_table(kept[:, both // patterns] & kept[:, both % patterns])  # (groups, patterns of pairs)
    total = len(unit) * (len(unit) - 1) // 2
    impostors = highest_impostors(embeddings, unit, max(int(_SPARE * far * total), _FEWEST))
    first, second = (unit[end].astype(np.int32) for end in impostors.pairs)
    places = np.arange(len(first))[::-1]
    people = ComparedUnits(first, second, cells.units)
    tail = ImpostorTail(_RisingScores(impostors.score[::-1], places), None, people, 1.0)
    images_of_unit = np.bincount(unit, minlength=cells.units).astype(np.float64)
    rates = []
    for block in weights:
        with_nobody = people.with_nobody(block)
        for weight, own, bins in zip(block, with_nobody, tail.cumulated(with_nobody), strict=True):
            images = weight * images_of_unit
            drawn = WeightedTail(tail, own, float(images.sum() ** 2 - (images**2).sum()) / 2, bins)
            threshold = _resampled_threshold(drawn, far, has_others=len(first) < impostors.total)
            counted = weight[subject].astype(np.float64)
            accepted = np.where(score >= threshold, counted, 0.0)
            above, below = (inside @ np.bincount(of_pair, some, minlength=len(both)) for some in (accepted, counted))
            there = (below > 0) & ~np.isnan(threshold)
            rates.append(np.divide(above, below, out=np.full(len(below), np.nan), where=there))
    return np.array(rates).reshape(len(rates), inside.shape[0])


def _resampled_threshold(drawn: WeightedTail, far: float, *, has_others: bool) -> float:
    """The smallest score that at most the share `far` of impostor pairs reach; NaN when too few were kept."""
    rising = drawn.tail.rising
    refused = drawn.refused_at(far) if drawn.total > 0 else -np.inf
    above = drawn.places_above(refused)
    if not len(rising) or (above == len(rising) and has_others):
        return float("nan")
    return float(rising[len(rising) - above] if above else np.nextafter(rising[-1], np.float32(np.inf)))
