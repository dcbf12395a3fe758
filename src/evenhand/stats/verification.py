"""Verification by group, from rows that are comparisons: rates, their uncertainty, and how uneven they are.

Rows have `unit`, `unit_b` and `score`. The group of a person is given either by one attribute of each side (the
first and the second person), which also gives the matrix of cross-group false matches, or by an attribute
of the pair. The threshold is set once, on everyone; comparisons are accepted when their score reaches it.

A false match rate of a group is that of impostor comparisons with *both* people in it; comparisons across groups fill
a matrix. A person who could not be enrolled matches nobody. Comparisons share people, so uncertainty comes from
resampling subjects, never from counting pairs as independent. Everything follows from comparisons counted by pair
of subjects (`resample.PairCounts`), however many there are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import Undefined
from evenhand.core.records import Records, unique_codes
from evenhand.core.sparse import SparseMatrix
from evenhand.core.streams import stream
from evenhand.stats.checks import Booleans, Floats, Integers, StatisticsError, divide, floats, number_or_none
from evenhand.stats.intervals import IntervalArrays, percentile, wilson
from evenhand.stats.resample import PairCounts, Weights, dyadic_totals, pair_counts, unit_weights
from evenhand.stats.settings import Settings
from evenhand.stats.summaries import TOO_FEW, gini, max_over_geometric_mean, max_over_min

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


@dataclass(frozen=True)
class TradeOff:
    """The numbers of unevenness at one target of the overall false match rate."""

    target: float
    threshold: float
    realised_fmr: float
    overall_fnmr: float | Undefined
    rates: ErrorRates
    numbers: Differentials | Undefined  # "not estimable" when a group expects fewer than thirty false matches


@dataclass(frozen=True)
class GroupRates:
    """Both error rates of one group at the shared threshold, with the counts they are based on."""

    group: str
    subjects: int
    impostor_pairs: int
    false_matches: int
    fmr: float | Undefined
    fmr_low: float | None
    fmr_high: float | None
    fmr_naive: tuple[float, float] | None  # comparisons as if independent: too narrow
    genuine_pairs: int
    false_non_matches: int
    fnmr: float | Undefined
    fnmr_low: float | None
    fnmr_high: float | None
    fnmr_naive: tuple[float, float] | None
    failures_to_enrol: int  # people none of whose comparisons has a score
    eligible: bool
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class VerificationSheet:
    """Verification by group at one threshold for all."""

    attribute: str
    target: float
    threshold: float
    realised_fmr: float
    overall_fnmr: float | Undefined
    groups: tuple[GroupRates, ...]
    matrix: Floats  # (groups, groups); NaN where nobody was compared
    numbers: Differentials
    smoothed: SmoothedDifferentials
    trade_off: tuple[TradeOff, ...]
    draws: int


def verification_sheet(
    rows: Records,
    attribute: str,
    attribute_b: str | None = None,
    *,
    target: float = 1e-3,
    targets: Sequence[float] = TARGETS,
    alpha: float = 0.5,
    settings: Settings | None = None,
    reference: str | None = None,
) -> VerificationSheet:
    """Error rates by group at a threshold set on all impostor comparisons, or on those of one reference group.

    Without `attribute_b` the attribute is one of pairs (both women, both men, mixed): rates by level, but no matrix of
    groups and no trade-off sheet.
    """
    chosen = settings or Settings()
    for column in ("unit", "unit_b", "score"):
        if column not in rows:
            raise UnknownNameError("column", column, rows.columns, "Verification needs rows that are comparisons.")
    people, codes = unique_codes(np.concatenate([rows["unit"], rows["unit_b"]]))
    a, b = codes[: len(rows)].astype(np.int64), codes[len(rows) :].astype(np.int64)
    levels, membership = _membership(rows, attribute, attribute_b, a, b, len(people))
    score = floats(rows["score"])
    score = np.where(score == -np.inf, np.nan, score)  # both ways to say "could not be enrolled"
    impostor = a != b
    base = impostor
    if reference is not None:
        if reference not in levels:
            raise UnknownNameError("level", reference, levels)
        inside = membership[:, levels.index(reference)]
        base = impostor & inside[a] & inside[b]
    threshold = shared_threshold(score[base], target, score[~impostor])
    counts = pair_counts(a, b, score, [threshold], len(people))
    everyone = rates(counts, np.ones((len(people), 1), dtype=np.bool_))
    weights = unit_weights(len(people), chosen.draws, stream("verification", *chosen.stream_names, len(people)))
    if attribute_b is None:
        seen, drawn = _of_pairs(rows.attributes[attribute].member, a, b, score, threshold, len(people), weights)
    else:
        seen, drawn = rates(counts, membership), rate_draws(counts, membership, weights)
    fewest = np.minimum(seen.impostor_pairs, seen.genuine_pairs)
    large = (fewest >= chosen.min_rows) & (seen.subjects >= chosen.min_units)
    scored = np.isin(np.arange(len(people)), codes.reshape(2, -1)[:, ~np.isnan(score)])
    absent = (membership & ~scored[:, None]).sum(axis=0)  # were compared, but never got a score
    overall = float(everyone.fnmr[0])
    kept = ErrorRates(seen.subjects[large], *(column[large] for column in seen[1:]))
    crossed = attribute_b is not None
    nobody = np.full((len(levels), len(levels)), np.nan)
    return VerificationSheet(
        attribute=attribute,
        target=target,
        threshold=threshold,
        realised_fmr=float(everyone.fmr[0]),
        overall_fnmr=Undefined("there are no genuine comparisons") if np.isnan(overall) else overall,
        groups=_group_rates(levels, seen, drawn, large, absent.tolist(), chosen.confidence),
        matrix=fmr_matrix(counts, membership) if crossed else nobody,
        numbers=differentials(kept.fmr, kept.fnmr, alpha=alpha),
        smoothed=smoothed(kept),
        trade_off=trade_off(a, b, score, membership[:, large], targets=targets, alpha=alpha) if crossed else (),
        draws=chosen.draws,
    )


def _membership(
    rows: Records, first: str, second: str | None, a: Integers, b: Integers, people: int
) -> tuple[tuple[str, ...], Booleans]:
    """(people, levels): who belongs where, as the rows say of each side."""
    second = second or first
    levels = rows.attribute(first).levels
    if rows.attribute(second).levels != levels:
        raise OptionError(
            f"The attributes {first!r} and {second!r} have different levels: they must say the same of both people."
        )
    membership = np.zeros((people, len(levels)), dtype=np.bool_)
    for side, name in ((a, first), (b, second)):
        for level, inside in enumerate(rows.attributes[name].member.T):
            membership[side[inside], level] = True
    return levels, membership


def _of_pairs(
    member: Booleans, a: Integers, b: Integers, score: Floats, threshold: float, people: int, weights: Weights
) -> tuple[ErrorRates, tuple[Floats, Floats]]:
    """ErrorRates and draws of every level of an attribute of pairs (rows × levels)."""
    everyone = np.ones((people, 1), dtype=np.bool_)
    seen, drawn = [], []
    for inside in member.T:
        counts = pair_counts(a[inside], b[inside], score[inside], [threshold], people)
        seen.append(rates(counts, everyone))
        drawn.append(rate_draws(counts, everyone, weights))
    fmr, fnmr = (np.hstack(columns) for columns in zip(*drawn, strict=True))
    return ErrorRates(*(np.concatenate(columns) for columns in zip(*seen, strict=True))), (fmr, fnmr)


def _group_rates(
    levels: Sequence[str],
    seen: ErrorRates,
    drawn: Sequence[Floats],
    large: Booleans,
    absent: Sequence[int],
    confidence: float,
) -> tuple[GroupRates, ...]:
    """Every group with its counts, rates and intervals; an error rate of zero with its upper limit."""
    fmr, fnmr = rate_intervals(seen, drawn, confidence=confidence)

    def of_rate(rate: float, limits: RateInterval, at: int, comparisons: str) -> tuple[Any, ...]:
        naive = float(limits.naive.low[at]), float(limits.naive.high[at])
        return (
            Undefined(f"the group has no {comparisons} comparisons") if np.isnan(rate) else float(rate),
            *(number_or_none(limit[at]) for limit in limits.interval),
            None if np.isnan(naive).any() else naive,
        )

    sheet = []
    for at, level in enumerate(levels):
        subjects, impostors, matches, genuine, misses = (int(column[at]) for column in seen)
        notes = tuple(
            f"no {what} was seen: the upper limit stands for the rate"
            for what, limits in (("false match", fmr), ("false non-match", fnmr))
            if limits.is_limit[at]
        )
        of_impostors = of_rate(seen.fmr[at], fmr, at, "impostor")
        of_genuine = of_rate(seen.fnmr[at], fnmr, at, "genuine")
        columns: list[Any] = [level, subjects, impostors, matches, *of_impostors, genuine, misses, *of_genuine]
        columns += [absent[at], bool(large[at]), notes]
        sheet.append(GroupRates(*columns))
    return tuple(sheet)


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


def rate_draws(counts: PairCounts, membership: Booleans, weights: Weights, threshold: int = 0) -> tuple[Floats, Floats]:
    """FMR and FNMR of every group when subjects are resampled, the threshold fixed (draws × groups).

    A genuine comparison weighs as its person, an impostor comparison as the product of its two.
    """
    inside = membership.astype(np.float64)
    wide = weights.astype(np.float64)
    fnmr = divide((wide * counts.genuine_errors[threshold]) @ inside, (wide * counts.genuine) @ inside)
    matches, pairs = (
        np.stack([dyadic_totals(weights, table, inside) for inside in membership.T], axis=1)
        for table in (counts.impostor_errors[threshold], counts.impostor)
    )
    return divide(matches, pairs), fnmr


class RateInterval(NamedTuple):
    """The interval of one rate of every group, from redrawn subjects, with a limit where no error was seen."""

    interval: IntervalArrays
    is_limit: Booleans  # no error seen: the upper limit is Wilson's with one comparison per subject
    naive: IntervalArrays  # Wilson's, comparisons as if independent: too narrow


def rate_intervals(seen: ErrorRates, draws: Sequence[Floats], *, confidence: float = 0.95) -> Iterator[RateInterval]:
    """Percentile intervals of redrawn FMR and FNMR.

    Without a single error the draws show no spread; then the upper limit is what Wilson's interval gives for
    as many independent rows as there are subjects: an honest bound rather than "0 %".
    """
    counts = (seen.false_matches, seen.impostor_pairs), (seen.false_non_matches, seen.genuine_pairs)
    for (errors, pairs), drawn in zip(counts, draws, strict=True):
        limits = percentile(drawn, confidence=confidence)
        none = (errors == 0) & (pairs > 0)
        size = np.where(none, np.minimum(seen.subjects, pairs), 0.0)
        bound = wilson(np.zeros_like(size), size, confidence=confidence)
        interval = IntervalArrays(np.where(none, 0.0, limits.low), np.where(none, bound.high, limits.high))
        yield RateInterval(interval, none, wilson(errors, pairs, confidence=confidence))


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
    for side, comparisons in ((f, "impostor"), (r, "genuine")):
        if len(side) < 2 or np.any(np.isnan(side)):
            reason = TOO_FEW if len(side) < 2 else Undefined(f"a group has no {comparisons} comparisons")
            return Differentials(reason, reason, reason, reason, reason, reason, reason, alpha)
    (gini_f, ratio_f), (gini_r, ratio_r) = ((gini(side), max_over_min(side)) for side in (f, r))
    assert not isinstance(gini_f, Undefined)
    assert not isinstance(gini_r, Undefined)
    inequity: float | Undefined = Undefined("a rate is 0")
    if not isinstance(ratio_f, Undefined) and not isinstance(ratio_r, Undefined):
        inequity = float(ratio_f**alpha * ratio_r ** (1 - alpha))
    return Differentials(
        float(1 - (alpha * np.ptp(f) + (1 - alpha) * np.ptp(r))),
        alpha * gini_f + (1 - alpha) * gini_r,
        gini_f,
        gini_r,
        inequity,
        max_over_geometric_mean(f),
        max_over_geometric_mean(r),
        alpha,
    )


def smoothed(seen: ErrorRates) -> SmoothedDifferentials:
    """The ratio forms of smoothed rates (k + ½)/(n + 1)."""
    f = (seen.false_matches + 0.5) / (seen.impostor_pairs + 1)
    r = (seen.false_non_matches + 0.5) / (seen.genuine_pairs + 1)
    return SmoothedDifferentials(*(ratio(side) for side in (f, r) for ratio in (max_over_geometric_mean, max_over_min)))


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
