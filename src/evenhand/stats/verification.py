"""Verification by group, from rows that are comparisons: rates, their uncertainty, and how uneven they are.

Rows have `unit`, `unit_b` and `score`. The group of a person is given either by one attribute of each side (the
first and the second person), which also gives the matrix of cross-group false matches, or by an attribute
of the pair. The threshold is set once, on everyone.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.metric import Undefined
from evenhand.core.records import Records, unique_codes
from evenhand.core.streams import stream
from evenhand.stats.checks import Booleans, Floats, Integers, floats, number_or_none
from evenhand.stats.differentials import (
    TARGETS,
    Differentials,
    ErrorRates,
    RateDraws,
    SmoothedDifferentials,
    TradeOff,
    differentials,
    fmr_matrix,
    naive_intervals,
    rate_draws,
    rate_intervals,
    rates,
    shared_threshold,
    smoothed,
    trade_off,
)
from evenhand.stats.intervals import IntervalArrays
from evenhand.stats.resample import Weights, pair_counts, unit_weights
from evenhand.stats.settings import Settings


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
    absent = (membership & _never_scored(a, b, score, len(people))[:, None]).sum(axis=0)
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
    for name in (first, second or first):
        if name not in rows.attributes:
            raise UnknownNameError("attribute", name, rows.attributes)
    levels = rows.attributes[first].levels
    second = second or first
    if rows.attributes[second].levels != levels:
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
) -> tuple[ErrorRates, RateDraws]:
    """ErrorRates and draws of every level of an attribute of pairs (rows × levels)."""
    everyone = np.ones((people, 1), dtype=np.bool_)
    seen, drawn = [], []
    for level in range(member.shape[1]):
        inside = np.asarray(member[:, level])
        counts = pair_counts(a[inside], b[inside], score[inside], [threshold], people)
        seen.append(rates(counts, everyone))
        drawn.append(rate_draws(counts, everyone, weights))
    return (
        ErrorRates(*(np.concatenate(columns) for columns in zip(*seen, strict=True))),
        RateDraws(*(np.hstack(columns) for columns in zip(*drawn, strict=True))),
    )


def _never_scored(a: Integers, b: Integers, score: Floats, people: int) -> Booleans:
    """(people,): who was compared but never got a score: failures to enrol."""
    compared, scored = np.zeros(people, dtype=np.bool_), np.zeros(people, dtype=np.bool_)
    there = ~np.isnan(score)
    for side in (a, b):
        compared[side] = True
        scored[side[there]] = True
    return compared & ~scored


def _group_rates(
    levels: Sequence[str], seen: ErrorRates, drawn: RateDraws, large: Booleans, absent: Sequence[int], confidence: float
) -> tuple[GroupRates, ...]:
    """Every group with its counts, rates and intervals; an error rate of zero with its upper limit."""
    limits = rate_intervals(seen, drawn, confidence=confidence)
    naive_fmr, naive_fnmr = naive_intervals(seen, confidence=confidence)
    sheet = []
    for at, level in enumerate(levels):
        notes = [
            f"no {what} was seen: the upper limit stands for the rate"
            for what, is_limit in (("false match", limits.fmr_is_limit), ("false non-match", limits.fnmr_is_limit))
            if is_limit[at]
        ]
        sheet.append(
            GroupRates(
                group=level,
                subjects=int(seen.subjects[at]),
                impostor_pairs=int(seen.impostor_pairs[at]),
                false_matches=int(seen.false_matches[at]),
                fmr=_rate(seen.fmr[at], "the group has no impostor comparisons"),
                fmr_low=number_or_none(limits.fmr.low[at]),
                fmr_high=number_or_none(limits.fmr.high[at]),
                fmr_naive=_both(naive_fmr, at),
                genuine_pairs=int(seen.genuine_pairs[at]),
                false_non_matches=int(seen.false_non_matches[at]),
                fnmr=_rate(seen.fnmr[at], "the group has no genuine comparisons"),
                fnmr_low=number_or_none(limits.fnmr.low[at]),
                fnmr_high=number_or_none(limits.fnmr.high[at]),
                fnmr_naive=_both(naive_fnmr, at),
                failures_to_enrol=absent[at],
                eligible=bool(large[at]),
                notes=tuple(notes),
            )
        )
    return tuple(sheet)


def _rate(value: float, reason: str) -> float | Undefined:
    return Undefined(reason) if np.isnan(value) else float(value)


def _both(interval: IntervalArrays, at: int) -> tuple[float, float] | None:
    low, high = float(interval.low[at]), float(interval.high[at])
    return None if np.isnan(low) or np.isnan(high) else (low, high)
