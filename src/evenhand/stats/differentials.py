"""Verification at one threshold for all: error rates by group, and how uneven they are.

Comparisons are accepted when their score reaches the threshold. A false match rate of a group is that of
impostor comparisons with *both* people in it; comparisons across groups fill a matrix. A person who
could not be enrolled matches nobody. Comparisons share people, so uncertainty comes from
resampling subjects, never from counting pairs as independent.

Everything follows from comparisons counted by pair of subjects (`resample.PairCounts`), however many there are.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.metric import Undefined
from evenhand.core.sparse import SparseMatrix
from evenhand.stats.checks import Booleans, Floats, Integers, StatisticsError, divide, floats
from evenhand.stats.intervals import IntervalArrays, percentile, wilson
from evenhand.stats.resample import PairCounts, Weights, dyadic_totals, pair_counts
from evenhand.stats.summaries import gini, max_over_geometric_mean, max_over_min

FEWEST_EXPECTED_ERRORS = 30
TARGETS = (1e-2, 1e-3, 1e-4, 1e-5, 1e-6)


class ErrorRates(NamedTuple):
    """Comparisons and errors of every group at one threshold."""

    subjects: Integers  # (groups,); people with at least one comparison
    impostor_pairs: Floats
    false_matches: Floats
    genuine_pairs: Floats
    false_non_matches: Floats

    @property
    def fmr(self) -> Floats:
        """False match rates; NaN without impostor comparisons."""
        return divide(self.false_matches, self.impostor_pairs)

    @property
    def fnmr(self) -> Floats:
        """False non-match rates; NaN without genuine comparisons."""
        return divide(self.false_non_matches, self.genuine_pairs)


class RateDraws(NamedTuple):
    """Redrawn rates of every group (draws × groups)."""

    fmr: Floats
    fnmr: Floats


@dataclass(frozen=True)
class Differentials:
    """How unevenly errors fall on groups, in the four published ways."""

    fairness_discrepancy_rate: float | Undefined  # 1 is best
    garbe: float | Undefined  # 0 is best
    gini_fmr: float | Undefined
    gini_fnmr: float | Undefined
    inequity_rate: float | Undefined  # 1 is best
    max_over_geometric_mean_fmr: float | Undefined
    max_over_geometric_mean_fnmr: float | Undefined
    alpha: float


@dataclass(frozen=True)
class SmoothedDifferentials:
    """Ratio forms with (k + ½)/(n + 1) in place of k/n, which exist with zero counts too."""

    smoothed_max_over_geometric_mean_fmr: float | Undefined
    smoothed_max_over_min_fmr: float | Undefined
    smoothed_max_over_geometric_mean_fnmr: float | Undefined
    smoothed_max_over_min_fnmr: float | Undefined


def shared_threshold(impostor_scores: ArrayLike, target: float, other_scores: ArrayLike = ()) -> float:
    """The smallest observed score at which the false match rate is at most the target; +∞ when none is.

    `other_scores` (of genuine comparisons) may be the threshold too, without counting in the rate.
    Scores that are not a number belong to people who could not be enrolled: never accepted, but in the denominator.

    >>> shared_threshold([0.1, 0.2, 0.3, 0.9], 0.25, other_scores=[0.5])
    0.5
    """
    if not 0 <= target <= 1:
        raise StatisticsError(f"target false match rate {target}: expected a number from 0 to 1.")
    impostors = floats(impostor_scores).ravel()
    if not len(impostors):
        raise StatisticsError("there are no impostor comparisons to set a threshold on.")
    allowed = int(np.floor(target * len(impostors) * (1 + 1e-12)))
    real = impostors[~np.isnan(impostors)]
    others = floats(other_scores).ravel()
    observed = np.concatenate([real, others[~np.isnan(others)]])
    if allowed < len(real):
        # Any threshold at or under the first score that may not be accepted lets too many in.
        refused = np.partition(real, len(real) - 1 - allowed)[len(real) - 1 - allowed]
        observed = observed[observed > refused]
    return float(observed.min()) if len(observed) else float("inf")


def rates(counts: PairCounts, membership: Booleans, threshold: int = 0) -> ErrorRates:
    """Counts of every group at one of the thresholds; `membership` is (units × groups)."""
    inside = membership.astype(np.float64)
    compared = counts.genuine > 0
    compared[counts.impostor.row_of] = compared[counts.impostor.columns] = True
    return ErrorRates(
        (membership & compared[:, None]).sum(axis=0).astype(np.int64),
        np.diagonal(_between(counts.impostor, inside)).copy(),
        np.diagonal(_between(counts.impostor_errors[threshold], inside)).copy(),
        counts.genuine @ inside,
        counts.genuine_errors[threshold] @ inside,
    )


def fmr_matrix(counts: PairCounts, membership: Booleans, threshold: int = 0) -> Floats:
    """False match rates of comparisons between every two groups (groups × groups), symmetric."""
    return divide(
        cross_counts(counts.impostor_errors[threshold], membership), cross_counts(counts.impostor, membership)
    )


def cross_counts(pairs: SparseMatrix, membership: Booleans) -> Floats:
    """Comparisons with one person in each of two groups (groups × groups); a comparison counts once."""
    inside = membership.astype(np.float64)
    one_way = _between(pairs, inside)
    table = one_way + one_way.T
    np.fill_diagonal(table, np.diagonal(one_way))
    for d, e in np.argwhere(np.triu(inside.T @ inside, 1) > 0):  # people in two groups
        both = (membership[:, d] & membership[:, e]).astype(np.float64)
        twice = float(both @ (pairs @ both))
        table[d, e] -= twice
        table[e, d] -= twice
    return table


def rate_draws(counts: PairCounts, membership: Booleans, weights: Weights, threshold: int = 0) -> RateDraws:
    """ErrorRates of every group when subjects are resampled, the threshold fixed (draws × groups).

    A genuine comparison weighs as its person, an impostor comparison as the product of its two.
    """
    inside = membership.astype(np.float64)
    wide = weights.astype(np.float64)
    fnmr = divide((wide * counts.genuine_errors[threshold]) @ inside, (wide * counts.genuine) @ inside)
    matches, pairs = (
        np.stack([dyadic_totals(weights, table, inside) for inside in membership.T], axis=1)
        for table in (counts.impostor_errors[threshold], counts.impostor)
    )
    return RateDraws(divide(matches, pairs), fnmr)


class RateIntervals(NamedTuple):
    """Intervals of both rates of every group, from redrawn subjects, with a limit where no error was seen."""

    fmr: IntervalArrays
    fnmr: IntervalArrays
    fmr_is_limit: Booleans  # no error seen: the upper limit is Wilson's with one comparison per subject
    fnmr_is_limit: Booleans


def rate_intervals(seen: ErrorRates, draws: RateDraws, *, confidence: float = 0.95) -> RateIntervals:
    """Percentile intervals of redrawn rates.

    Without a single error the draws show no spread; then the upper limit is what Wilson's interval gives for
    as many independent rows as there are subjects: an honest bound rather than "0 %".
    """
    found = []
    for errors, pairs, drawn in (
        (seen.false_matches, seen.impostor_pairs, draws.fmr),
        (seen.false_non_matches, seen.genuine_pairs, draws.fnmr),
    ):
        limits = percentile(drawn, confidence=confidence)
        none = (errors == 0) & (pairs > 0)
        size = np.where(none, np.minimum(seen.subjects, pairs), 0.0)
        bound = wilson(np.zeros_like(size), size, confidence=confidence)
        found.append(
            (IntervalArrays(np.where(none, 0.0, limits.low), np.where(none, bound.high, limits.high)), np.asarray(none))
        )
    return RateIntervals(found[0][0], found[1][0], found[0][1], found[1][1])


def naive_intervals(seen: ErrorRates, *, confidence: float = 0.95) -> tuple[IntervalArrays, IntervalArrays]:
    """Wilson intervals that count comparisons as independent, of FMR and FNMR: too narrow, label them "naive"."""
    return (
        wilson(seen.false_matches, seen.impostor_pairs, confidence=confidence),
        wilson(seen.false_non_matches, seen.genuine_pairs, confidence=confidence),
    )


def differentials(fmr: ArrayLike, fnmr: ArrayLike, *, alpha: float = 0.5) -> Differentials:
    """The published numbers of unevenness from the rates of eligible groups.

    Ratio forms are undefined with a zero rate; all are with fewer than two groups, or where a group has no rate.

    >>> found = differentials([0.01, 0.02], [0.1, 0.3])
    >>> round(found.fairness_discrepancy_rate, 4), round(found.garbe, 4), round(found.inequity_rate, 4)
    (0.895, 0.4167, 2.4495)
    """
    if not 0 <= alpha <= 1:
        raise StatisticsError(f"alpha {alpha}: the weight of false matches is a number from 0 to 1.")
    f, r = floats(fmr), floats(fnmr)
    reason = _unusable(f, r)
    if reason is not None:
        return Differentials(reason, reason, reason, reason, reason, reason, reason, alpha)
    gini_f, gini_r = gini(f), gini(r)
    garbe = (
        Undefined("no rates")
        if isinstance(gini_f, Undefined) or isinstance(gini_r, Undefined)
        else (alpha * gini_f + (1 - alpha) * gini_r)
    )
    return Differentials(
        float(1 - (alpha * np.ptp(f) + (1 - alpha) * np.ptp(r))),
        garbe,
        gini_f,
        gini_r,
        _inequity(f, r, alpha),
        max_over_geometric_mean(f),
        max_over_geometric_mean(r),
        alpha,
    )


def smoothed(seen: ErrorRates) -> SmoothedDifferentials:
    """The ratio forms of smoothed rates (k + ½)/(n + 1)."""
    f = (seen.false_matches + 0.5) / (seen.impostor_pairs + 1)
    r = (seen.false_non_matches + 0.5) / (seen.genuine_pairs + 1)
    return SmoothedDifferentials(
        max_over_geometric_mean(f), max_over_min(f), max_over_geometric_mean(r), max_over_min(r)
    )


@dataclass(frozen=True)
class TradeOff:
    """The numbers of unevenness at one target of the overall false match rate."""

    target: float
    threshold: float
    realised_fmr: float
    overall_fnmr: float | Undefined
    rates: ErrorRates
    numbers: Differentials | Undefined  # "not estimable" when a group expects fewer than thirty false matches


def trade_off(
    unit_a: ArrayLike,
    unit_b: ArrayLike,
    scores: ArrayLike,
    membership: Booleans,
    *,
    targets: Sequence[float] = TARGETS,
    alpha: float = 0.5,
) -> tuple[TradeOff, ...]:
    """Unevenness at falling false match rates, as far as the comparisons carry.

    Beyond the first target for which a group expects fewer than thirty false matches at the overall rate,
    rates are marked as not estimable.
    """
    a, b, s = np.asarray(unit_a), np.asarray(unit_b), floats(scores)
    impostor = a != b
    thresholds = [shared_threshold(s[impostor], target, s[~impostor]) for target in targets]
    counts = pair_counts(a, b, s, thresholds, len(membership))
    everyone = np.ones((len(membership), 1), dtype=np.bool_)
    rows = []
    carried = True
    for position, (target, limit) in enumerate(zip(targets, thresholds, strict=True)):
        overall = rates(counts, everyone, position)
        seen = rates(counts, membership, position)
        realised, misses = float(overall.fmr[0]), float(overall.fnmr[0])
        fewest = float((seen.impostor_pairs * realised).min(initial=np.inf))
        carried = carried and fewest >= FEWEST_EXPECTED_ERRORS
        numbers: Differentials | Undefined = Undefined(
            f"not estimable: a group expects {fewest:.3g} false matches, fewer than {FEWEST_EXPECTED_ERRORS}"
        )
        if carried:
            numbers = differentials(seen.fmr, seen.fnmr, alpha=alpha)
        missed = Undefined("no genuine comparisons") if np.isnan(misses) else misses
        rows.append(TradeOff(float(target), limit, realised, missed, seen, numbers))
    return tuple(rows)


def _between(pairs: SparseMatrix, inside: Floats) -> Floats:
    """Comparisons whose first person is in the row's group and the second in the column's."""
    return floats(inside.T @ (pairs @ inside))


def _inequity(f: Floats, r: Floats, alpha: float) -> float | Undefined:
    ratio_f, ratio_r = max_over_min(f), max_over_min(r)
    if isinstance(ratio_f, Undefined) or isinstance(ratio_r, Undefined):
        return Undefined("a rate is 0")
    return float(ratio_f**alpha * ratio_r ** (1 - alpha))


def _unusable(f: Floats, r: Floats) -> Undefined | None:
    if len(f) < 2 or len(r) < 2:
        return Undefined("fewer than two groups are large enough to be compared")
    if np.any(np.isnan(f)):
        return Undefined("a group has no impostor comparisons")
    if np.any(np.isnan(r)):
        return Undefined("a group has no genuine comparisons")
    return None
