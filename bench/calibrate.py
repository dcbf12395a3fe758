"""How often our intervals cover and our tests raise a false alarm, on data with a known truth.

    python -m bench.calibrate                 the whole table, to the screen and as a page of the documentation
    python -m bench.calibrate --scale 0.2     a fifth of the simulations, to the screen
    python -m bench.calibrate --only draws    one part

Truths are planted: equal groups, unequal groups, one to ten images per subject with correlation, rare errors, 108
uneven cells. Every simulated data set is a group (or a pair, or a family) of one large table, so that the very
functions that judge real groups judge thousands of simulated ones at once.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from evenhand.core.metric import UNIT_SCALE, Kind
from evenhand.core.results import Verdict
from evenhand.core.streams import stream
from evenhand.stats import contrasts, permutation, ranks
from evenhand.stats.evidence import FEW_DRAWN_UNITS, DrawnEvidence
from evenhand.stats.intervals import (
    IntervalArrays,
    bias_corrected,
    clopper_pearson,
    effective_size,
    mean_interval,
    percentile,
    proportion_interval,
    scaled_percentile,
    subsampled,
    wilson,
)
from evenhand.stats.multiplicity import Correction, verdicts
from evenhand.stats.pairing import table_limits, table_pairs
from evenhand.stats.resample import (
    dyadic_totals,
    pair_counts,
    subsample_weights,
    unit_weights,
)
from evenhand.stats.settings import Settings
from evenhand.stats.tables import UnitTable

PAGE = Path(__file__).parent.parent / "docs" / "calibration.md"
RATES = np.arange(0.05, 0.951, 0.05)
LOWEST, HIGHEST = 0.93, 0.97

# Sizes of the gender × race × age cells of the FairFace validation set: 108 filled cells of 126, very uneven.
UNEVEN = np.array(
    [3, 5, 7, 9, 11, 12, 14, 15, 16, 17, 18, 19, 8, 6, 4, 13, 10, 12, 15, 18, 9, 7, 11, 16, 19]
    + list(range(20, 62))
    + [100 + 7 * i for i in range(41)]
)


@dataclass(frozen=True)
class Line:
    """One line of the table."""

    part: str
    what: str
    setting: str
    nominal: float
    reached: float
    simulations: int
    required: tuple[float, float] | None  # where it must lie; None: shown, not required

    @property
    def bounds(self) -> tuple[float, float]:
        """What the simulation leaves open, with 99 % confidence."""
        found = wilson(round(self.reached * self.simulations), self.simulations, confidence=0.99)
        return float(found.low), float(found.high)

    @property
    def holds(self) -> bool:
        """Whether the simulation is compatible with the requirement."""
        if self.required is None:
            return True
        low, high = self.bounds
        return high >= self.required[0] and low <= self.required[1]


def independent(events: np.ndarray, rows: np.ndarray) -> UnitTable:
    """Simulated data sets of independent rows as groups of one table; for proportions their sums are enough."""
    groups = len(events)
    return UnitTable(
        np.arange(groups),
        np.arange(groups),
        events.astype(float),
        rows.astype(float),
        groups,
        groups,
        Kind.PROPORTION,
        True,
    )


def clustered(
    rng: np.random.Generator,
    sets: int,
    subjects: int,
    images: tuple[int, int],
    correlation: float,
    rate: float | np.ndarray,
    kind: Kind = Kind.PROPORTION,
) -> UnitTable:
    """Simulated data sets with several correlated images per subject: beta–binomial, or normal for means."""
    counts = rng.integers(images[0], images[1] + 1, size=(sets, subjects))
    p = np.broadcast_to(np.asarray(rate, dtype=float).reshape(-1, 1), (sets, subjects))
    if kind is Kind.MEAN:
        common = rng.normal(0, np.sqrt(correlation), (sets, subjects)) * counts
        sums = p * counts + common + rng.normal(0, np.sqrt((1 - correlation) * counts))
    else:
        own = p
        if correlation > 0:
            strength = (1 - correlation) / correlation
            own = rng.beta(p * strength, (1 - p) * strength)
        sums = rng.binomial(counts, own).astype(float)
    group = np.repeat(np.arange(sets), subjects)
    unit = np.arange(sets * subjects)
    alone = images == (1, 1)
    return UnitTable(group, unit, sums.ravel(), counts.ravel().astype(float), sets, sets * subjects, kind, alone)


def covered(interval: IntervalArrays, truth: float | np.ndarray) -> float:
    """The share of intervals that hold the truth; one that does not exist does not."""
    return float(np.mean((interval.low <= truth) & (truth <= interval.high)))


def intervals_of_proportions(scale: float) -> Iterator[Line]:
    """Wilson and Clopper–Pearson, independent rows."""
    rng = stream("calibrate", "proportions")
    sets = int(4000 * scale)
    for n in (20, 50, 100, 500):
        events = [rng.binomial(n, rate, sets) for rate in RATES]
        for name, make in (("wilson", wilson), ("clopper_pearson", clopper_pearson)):
            reached = np.mean([covered(make(k, n), rate) for k, rate in zip(events, RATES, strict=True)])
            must = (LOWEST, HIGHEST) if name == "wilson" and n >= 50 else None
            yield Line("interval", name, f"{n} rows, rates 0.05–0.95", 0.95, reached, sets * len(RATES), must)
    for n, rate in ((200, 0.01), (500, 0.01), (1000, 0.005)):
        reached = covered(wilson(rng.binomial(n, rate, sets * 4), n), rate)
        yield Line("interval", "wilson", f"{n} rows, rare events ({rate})", 0.95, reached, sets * 4, None)


def intervals_of_clusters(scale: float) -> Iterator[Line]:
    """Proportions and means with one to ten images per subject."""
    rng = stream("calibrate", "clusters")
    sets = int(1500 * scale)
    for subjects in (5, 10, 20, 50, 100, 300):
        for correlation in (0.1, 0.3, 0.7):
            tables = [clustered(rng, sets, subjects, (1, 10), correlation, rate) for rate in RATES]
            reached = np.mean([covered(table_limits(t, 0.95)[0], p) for t, p in zip(tables, RATES, strict=True)])
            plain = np.mean([covered(proportion_interval(t.means), p) for t, p in zip(tables, RATES, strict=True)])
            where = f"{subjects} subjects × 1–10 images, correlation {correlation}"
            name = str(table_limits(tables[0], 0.95)[1][0])
            must = (LOWEST, HIGHEST) if subjects >= 10 else None  # at least 50 rows
            yield Line("interval", name, where, 0.95, reached, sets * len(RATES), must)
            if name != "wilson_effective":
                yield Line("interval", "wilson_effective (not used here)", where, 0.95, plain, sets * len(RATES), None)
            naive = np.mean([covered(wilson(t.totals, t.means.rows), p) for t, p in zip(tables, RATES, strict=True)])
            if subjects == 50:
                yield Line(
                    "interval", "wilson, subjects ignored (not used)", where, 0.95, naive, sets * len(RATES), None
                )
    for subjects in (5, 10, 20, 50, 200):
        table = clustered(rng, sets * 8, subjects, (1, 10), 0.4, 0.0, Kind.MEAN)
        where = f"{subjects} subjects × 1–10 images, correlation 0.4"
        limits, names = table_limits(table, 0.95)
        must = (LOWEST, HIGHEST) if subjects >= 10 else None
        yield Line("interval", str(names[0]), where, 0.95, covered(limits, 0.0), sets * 8, must)
        if subjects >= 100:
            continue
        plain = covered(mean_interval(table.means), 0.0)
        yield Line("interval", "cluster_t (not used here)", where, 0.95, plain, sets * 8, None)


SKILLS = ((8, 2, 20), (5, 1, 20), (2, 0.5, 20), (0.5, 0.5, 10), (20, 1, 50), (2, 2, 10), (1, 9, 20))
"""Beta distributions of subjects, and how close the rows of one subject are to its mean."""


def skewed(
    rng: np.random.Generator, sets: int, subjects: int, skill: tuple[float, float, float], kind: Kind
) -> UnitTable:
    """Tables as people have them: subjects with beta-distributed means and 1 to 15 rows of values from 0 to 1 each."""
    first, second, close = skill
    counts = rng.integers(1, 16, size=(sets, subjects))
    own = rng.beta(first, second, (sets, subjects))
    if kind is Kind.PROPORTION:
        sums = rng.binomial(counts, own).astype(float)
    else:
        sums = np.zeros((sets, subjects))
        for row in range(15):
            value = rng.beta(np.maximum(own * close, 1e-9), np.maximum((1 - own) * close, 1e-9))
            sums += np.where(row < counts, value, 0.0)
    group, unit = np.repeat(np.arange(sets), subjects), np.arange(sets * subjects)
    flat = sums.ravel(), counts.ravel().astype(float)
    return UnitTable(group, unit, *flat, sets, sets * subjects, kind, False, UNIT_SCALE)


def intervals_of_tables(scale: float) -> Iterator[Line]:
    """Skewed subjects with unequal numbers of rows: proportions, means between 0 and 1, and differences of these."""
    rng = stream("calibrate", "tables")
    sets = int(1500 * scale)
    for subjects in (12, 20, 30, 60):
        where = f"{subjects} skewed subjects (beta) × 1–15 rows"
        for kind in (Kind.PROPORTION, Kind.MEAN):
            tables = [skewed(rng, sets, subjects, skill, kind) for skill in SKILLS]
            truths = [first / (first + second) for first, second, _ in SKILLS]
            both = list(zip(tables, truths, strict=True))
            reached = np.mean([covered(table_limits(table, 0.95)[0], truth) for table, truth in both])
            name = str(table_limits(tables[0], 0.95)[1][0])
            yield Line("interval", name, where, 0.95, reached, sets * len(both), (LOWEST, HIGHEST))
            if kind is Kind.MEAN:
                for label, limits in (
                    ("cluster_t_jackknife", lambda table: mean_interval(table.jackknife)),
                    ("cluster_t", lambda table: mean_interval(table.means)),
                ):
                    reached = np.mean([covered(limits(table), truth) for table, truth in both])
                    yield Line("interval", f"{label} (not used here)", where, 0.95, reached, sets * len(both), None)
                hits = [covered(_neighbours(table)[0], 0.0) for table in tables]
                must = (LOWEST, HIGHEST)
                yield Line(
                    "difference", "newcombe_means", where, 0.95, float(np.mean(hits)), sets // 2 * len(hits), must
                )


def intervals_of_draws(scale: float) -> Iterator[Line]:
    """Redrawn medians and macro-F1: percentile, drawn apart, BCa."""
    rng = stream("calibrate", "draws")
    sets, draws = int(1200 * scale), 600
    for units in (20, 50, 100, 200):
        plain, wide, corrected = [], [], []
        for _ in range(sets):
            x = rng.gamma(2.0, size=units)
            weights = unit_weights(units, draws, rng)
            drawn = np.array([[np.median(np.repeat(x, times.astype(np.int64)))] for times in weights])
            value = np.array([np.median(x)])
            left = np.array([[np.median(np.delete(x, i))] for i in range(units)])
            plain.append(percentile(drawn))
            wide.append(scaled_percentile(drawn, value, [units]))
            corrected.append(bias_corrected(drawn, value, left))
        yield from _drawn_lines("median of skewed values", units, (plain, wide, corrected), 1.6783469900166605, sets)
    for units in (20, 50, 100, 200):
        plain, wide, corrected = [], [], []
        truth = _macro_f1(_CONFUSION[None])[0]
        for _ in range(sets):
            cells = rng.multinomial(units, _CONFUSION.ravel())
            drawn = _macro_f1(rng.multinomial(units, cells / units, size=draws).reshape(-1, 3, 3))[:, None]
            value = _macro_f1(cells.reshape(1, 3, 3))
            left = np.repeat(np.eye(9, dtype=int), cells, axis=0)
            left_out = _macro_f1((cells - left).reshape(-1, 3, 3))[:, None]
            plain.append(percentile(drawn))
            wide.append(scaled_percentile(drawn, value, [units]))
            corrected.append(bias_corrected(drawn, value, left_out))
        yield from _drawn_lines("macro-F1, three classes", units, (plain, wide, corrected), float(truth), sets)


_CONFUSION = np.array([[0.32, 0.05, 0.03], [0.04, 0.24, 0.06], [0.02, 0.06, 0.18]])


def _macro_f1(counts: np.ndarray) -> np.ndarray:
    right = np.diagonal(counts, axis1=1, axis2=2)
    below = counts.sum(axis=1) + counts.sum(axis=2)
    return np.divide(2 * right, below, out=np.zeros(right.shape), where=below > 0).mean(axis=1)


def _drawn_lines(
    what: str, units: int, found: tuple[list[IntervalArrays], ...], truth: float, sets: int
) -> Iterator[Line]:
    used = 0 if units >= FEW_DRAWN_UNITS else 1
    for position, name in enumerate(("percentile", "percentile_t", "bca")):
        reached = float(np.mean([covered(one, truth) for one in found[position]]))
        must = (LOWEST, HIGHEST) if position == used and units >= 50 else None
        note = name if position == used or name == "bca" else f"{name} (not used here)"
        yield Line("interval", f"bootstrap {note}", f"{what}, {units} units", 0.95, reached, sets, must)


def intervals_of_pairs_of_people(scale: float) -> Iterator[Line]:
    """False match rates of comparisons that share people: dyadic draws against counting pairs."""
    rng = stream("calibrate", "dyadic")
    sets, rate = int(800 * scale), 0.05
    for people in (20, 50, 100):
        good, naive = [], []
        a, b = (side.astype(np.int64) for side in np.triu_indices(people, 1))
        for _ in range(sets):
            # A comparison matches falsely when the two people's own parts and a chance part add up high.
            own = rng.normal(0, 0.5, people)
            score = own[a] + own[b] + rng.normal(0, np.sqrt(0.5), len(a))
            limit = 1.6448536269514722  # of a standard normal: one in twenty
            counts = pair_counts(a, b, score, [limit], people)
            weights = unit_weights(people, 400, rng)
            drawn = dyadic_totals(weights, counts.impostor_errors[0]) / dyadic_totals(weights, counts.impostor)
            k = float((score >= limit).sum())
            value = np.array([k / len(a)])
            limits = scaled_percentile(drawn[:, None], value, [people])
            good.append(covered(limits, rate))
            naive.append(covered(wilson(k, len(a)), rate))
        must = (LOWEST, HIGHEST) if people >= 50 else None
        yield Line("interval", "dyadic bootstrap", f"FMR 0.05, {people} people", 0.95, float(np.mean(good)), sets, must)
        yield Line(
            "interval",
            "wilson on pairs (naive, not used)",
            f"FMR 0.05, {people} people",
            0.95,
            float(np.mean(naive)),
            sets,
            None,
        )


def intervals_of_sets(scale: float) -> Iterator[Line]:
    """A distance between sets, by subsampling half of the units."""
    rng = stream("calibrate", "sets")
    sets = int(1500 * scale)
    for units in (50, 200):
        found = []
        for _ in range(sets):
            x, y = rng.normal(size=units), rng.normal(1.0, 1.0, size=units)
            weights = subsample_weights(units, units // 2, 40, rng)
            drawn = (weights @ y - weights @ x) / (units // 2)
            value = np.array([y.mean() - x.mean()])
            found.append(covered(subsampled(drawn[:, None], value, [units // 2], [units]), 1.0))
        yield Line(
            "interval",
            "subsample",
            f"distance of means, {units} units",
            0.95,
            float(np.mean(found)),
            sets,
            (LOWEST, HIGHEST),
        )


def intervals_of_differences(scale: float) -> Iterator[Line]:
    """Newcombe, the same on effective sizes, Welch, Bonett–Price."""
    rng = stream("calibrate", "differences")
    sets = int(2000 * scale)
    for n in (50, 200):
        hits = []
        for p, q in combinations(RATES[::3], 2):
            k, m = rng.binomial(n, p, sets), rng.binomial(n, q, sets)
            found = contrasts.difference_of_limits(k / n, wilson(k, n), m / n, wilson(m, n))
            hits.append(covered(IntervalArrays(found.low, found.high), p - q))
        yield Line(
            "difference", "newcombe", f"{n} rows each", 0.95, float(np.mean(hits)), sets * len(hits), (LOWEST, HIGHEST)
        )
    for subjects in (20, 50, 200):
        hits = []
        for p, q in combinations(RATES[::3], 2):
            rates = np.tile([p, q], sets)
            table = clustered(rng, 2 * sets, subjects, (1, 10), 0.3, rates)
            hits.append(covered(_neighbours(table)[0], p - q))
        where = f"{subjects} subjects × 1–10 images each, correlation 0.3"
        yield Line(
            "difference", "newcombe_effective", where, 0.95, float(np.mean(hits)), sets * len(hits), (LOWEST, HIGHEST)
        )
    for subjects in (20, 50, 200):
        table = clustered(rng, 8 * sets, subjects, (1, 10), 0.4, np.tile([0.0, 0.5], 4 * sets), Kind.MEAN)
        where = f"{subjects} subjects × 1–10 images each, correlation 0.4"
        yield Line(
            "difference",
            "welch_clusters",
            where,
            0.95,
            covered(_neighbours(table)[0], -0.5),
            4 * sets,
            (LOWEST, HIGHEST),
        )
    for n in (50, 200):
        hits = []
        for both, only_a, only_b in (
            (0.6, 0.1, 0.1),
            (0.5, 0.2, 0.1),
            (0.8, 0.05, 0.02),
            (0.3, 0.3, 0.2),
            (0.2, 0.5, 0.1),
        ):
            drawn = rng.multinomial(n, [both, only_a, only_b, 1 - both - only_a - only_b], size=4 * sets)
            found = contrasts.bonett_price(drawn[:, 1], drawn[:, 2], n)
            hits.append(covered(IntervalArrays(found.low, found.high), only_a - only_b))
        yield Line(
            "difference",
            "bonett_price",
            f"two models, {n} rows",
            0.95,
            float(np.mean(hits)),
            12 * sets,
            (LOWEST, HIGHEST),
        )


def _neighbours(table: UnitTable) -> tuple[IntervalArrays, IntervalArrays, np.ndarray]:
    """Limits at 95 and 90 % and p-values of groups 0 and 1, 2 and 3, …, a few hundred at a time."""
    found = []
    for start in range(0, table.groups, 200):
        part = _between(table, start, min(start + 200, table.groups) - 1)
        first = np.arange(0, part.groups, 2)
        pairs = table_pairs(part, first, first + 1, Settings())
        found.append(pairs[1:6])
    low, high, low90, high90, p = (np.concatenate(column) for column in zip(*found, strict=True))
    return IntervalArrays(low, high), IntervalArrays(low90, high90), p


def false_alarms(scale: float) -> Iterator[Line]:
    """A model without differences: how many families of tests say "different" or "large" anywhere."""
    rng = stream("calibrate", "alarms")
    families = int(1500 * scale)
    must = (0.0, 0.05)
    for rate in (0.7, 0.95, 0.99):
        sizes = np.array([60, 90, 150, 300, 500, 800, 1200])
        table = independent(rng.binomial(np.tile(sizes, families), rate), np.tile(sizes, families))
        alarms, _ = _family_alarms(table, len(sizes), families)
        where = f"no difference, 7 groups of 60–1200 rows, rate {rate}"
        yield Line("family", "large or different", where, 0.05, alarms, families, must)
    large = UNEVEN[UNEVEN >= 20]
    for rate in (0.7, 0.95):
        some = max(families // 5, 1)
        table = independent(rng.binomial(np.tile(large, some), rate), np.tile(large, some))
        alarms, _ = _family_alarms(table, len(large), some)
        where = f"no difference, {len(UNEVEN)} uneven cells ({len(large)} of 20 rows or more), rate {rate}"
        yield Line("family", "large or different", where, 0.05, alarms, some, must)
    for subjects in (10, 20, 50, 150):
        for correlation in (0.1, 0.5):
            for rate in (0.7, 0.95):
                table = clustered(rng, 7 * families, subjects, (1, 10), correlation, rate)
                alarms, _ = _family_alarms(table, 7, families)
                where = (
                    f"no difference, 7 groups of {subjects} subjects × 1–10 images, "
                    f"correlation {correlation}, rate {rate}"
                )
                if correlation == 0.5:
                    wrong = _alarms_on_effective_sizes(table, 7, families)
                    name = "z test on effective sizes (not used)"
                    yield Line("family", name, where, 0.05, wrong, families, None)
                yield Line("family", "large or different", where, 0.05, alarms, families, must)
        table = clustered(rng, 7 * families, subjects, (1, 10), 0.4, 0.0, Kind.MEAN)
        alarms, _ = _family_alarms(table, 7, families)
        where = f"no difference, means, 7 groups of {subjects} subjects × 1–10 images"
        yield Line("family", "large or different", where, 0.05, alarms, families, must)
    numbers = np.array([12, 15, 20, 30, 60, 120, 400])
    for rate in (0.7, 0.95):
        table = _uneven(rng, families, numbers, rate)
        alarms, _ = _family_alarms(table, len(numbers), families)
        where = f"no difference, 7 groups of 12–400 subjects × 1–10 images, correlation 0.3, rate {rate}"
        yield Line("family", "large or different", where, 0.05, alarms, families, must)
    for subjects in (30, 100):
        table = _shared(rng, families, 4, subjects)
        alarms, _ = _family_alarms(table, 4, families)
        where = f"no difference, 4 conditions of the same {subjects} subjects × 2 images"
        yield Line("family", "large or different", where, 0.05, alarms, families, must)
    yield from _drawn_alarms(rng, int(400 * scale), must)
    yield from _margin_alarms(rng, int(4000 * scale))
    yield from _false_discoveries(rng, int(600 * scale))


def _family_alarms(table: UnitTable, groups: int, families: int) -> tuple[float, float]:
    """The share of families with a false "large" or "different", and of pairs called equivalent."""
    offset = np.arange(families)[:, None] * groups
    pairs = np.array(list(combinations(range(groups), 2)))
    alarms = equivalent = 0
    block = max(1, 60 // groups)  # the cost of rank tests grows with the cube of the groups in a block
    for start in range(0, families, block):
        here = offset[start : start + block]
        first, second = (here + pairs[:, 0]).ravel(), (here + pairs[:, 1]).ravel()
        found = table_pairs(
            _between(table, first.min(), second.max()), first - first.min(), second - first.min(), Settings()
        )
        p = found.p_value.reshape(len(here), -1)
        adjusted = np.stack([Correction.HOLM(row) for row in p])
        told = verdicts(
            *(x.reshape(p.shape) for x in found[1:5]),
            adjusted,
        )
        alarms += int(np.any((told == Verdict.LARGE) | (told == Verdict.DIFFERENT), axis=1).sum())
        equivalent += int((told == Verdict.EQUIVALENT).sum())
    return alarms / families, equivalent / (families * len(pairs))


def _alarms_on_effective_sizes(table: UnitTable, groups: int, families: int) -> float:
    """What the score z and Fisher tests would do with effective counts."""
    n = effective_size(table.means).rows
    k = np.clip(table.means.value * n, 0, n)
    first, second = (np.array(side) for side in zip(*combinations(range(groups), 2), strict=True))
    offset = np.arange(families)[:, None] * groups
    p = contrasts.proportion_test(k[offset + first], n[offset + first], k[offset + second], n[offset + second]).p_value
    return float(np.mean([np.any(Correction.HOLM(row) < 0.05) for row in p]))


def _between(table: UnitTable, first: int, last: int) -> UnitTable:
    """The groups from first to last alone, so that tables of pairs stay small."""
    inside = slice(*np.searchsorted(table.group, [first, last + 1]))
    unit = np.unique(table.unit[inside], return_inverse=True)[1].reshape(-1)
    return type(table)(
        table.group[inside] - first,
        unit,
        table.top[inside],
        table.bottom[inside],
        int(last - first + 1),
        int(unit.max()) + 1,
        table.kind,
        table.independent,
    )


def _uneven(rng: np.random.Generator, families: int, subjects: np.ndarray, rate: float) -> UnitTable:
    """Groups of very different numbers of subjects, one to ten images each."""
    group = np.repeat(np.arange(families * len(subjects)), np.tile(subjects, families))
    counts = rng.integers(1, 11, len(group))
    strength = 0.7 / 0.3
    sums = rng.binomial(counts, rng.beta(rate * strength, (1 - rate) * strength, len(group)))
    return UnitTable(
        group,
        np.arange(len(group)),
        sums.astype(float),
        counts.astype(float),
        families * len(subjects),
        len(group),
        Kind.PROPORTION,
        False,
    )


def _shared(rng: np.random.Generator, families: int, conditions: int, subjects: int) -> UnitTable:
    """The same subjects under several conditions, two images in each."""
    skill = rng.beta(3.5, 1.5, (families, 1, subjects))
    sums = rng.binomial(2, np.broadcast_to(skill, (families, conditions, subjects))).astype(float)
    group = np.repeat(np.arange(families * conditions), subjects)
    unit = np.broadcast_to(
        (np.arange(families)[:, None, None] * subjects + np.arange(subjects)), (families, conditions, subjects)
    ).ravel()
    return UnitTable(
        group,
        unit,
        sums.ravel(),
        np.full(sums.size, 2.0),
        families * conditions,
        families * subjects,
        Kind.PROPORTION,
        False,
    )


def _drawn_alarms(rng: np.random.Generator, families: int, must: tuple[float, float]) -> Iterator[Line]:
    """Redrawn macro-F1 of five even groups."""
    for units in (30, 100):
        alarms = 0
        for _ in range(families):
            cells = rng.multinomial(units, _CONFUSION.ravel(), size=5)
            drawn = np.stack(
                [_macro_f1(rng.multinomial(units, c / units, size=400).reshape(-1, 3, 3)) for c in cells], axis=1
            )
            apart: Any = SimpleNamespace(shared_pairs=lambda one, other: np.zeros(len(one), dtype=np.int64))
            evidence = DrawnEvidence(
                _macro_f1(cells.reshape(-1, 3, 3)), drawn, np.full(5, units), apart, "cluster_bootstrap"
            )
            first, second = (np.array(side) for side in zip(*combinations(range(5), 2), strict=True))
            found = evidence.pairs(first, second, Settings())
            alarms += bool(np.any(Correction.HOLM(found.p_value) < 0.05))
        where = f"no difference, macro-F1, 5 groups of {units} units"
        yield Line("family", "large or different", where, 0.05, alarms / families, families, must)


def _margin_alarms(rng: np.random.Generator, sets: int) -> Iterator[Line]:
    """Groups that differ by exactly the margin must not be called equivalent, nor large."""
    for n in (300, 1000, 3000):
        rates = np.tile([0.85, 0.80], sets)
        table = independent(rng.binomial(n, rates), np.full(2 * sets, n))
        wide, narrow, p = _neighbours(table)
        told = verdicts(*wide, *narrow, p, margin=0.05)
        where = f"true difference equal to the margin, {n} rows each"
        yield Line(
            "verdict", 'false "equivalent"', where, 0.05, float(np.mean(told == Verdict.EQUIVALENT)), sets, (0.0, 0.05)
        )
        yield Line("verdict", 'false "large"', where, 0.025, float(np.mean(told == Verdict.LARGE)), sets, (0.0, 0.03))


def _false_discoveries(rng: np.random.Generator, families: int) -> Iterator[Line]:
    """One group of eight is worse: the share of false findings among the findings."""
    groups, n = 8, 300
    rates = np.full(groups, 0.85)
    rates[0] = 0.70
    table = independent(rng.binomial(n, np.tile(rates, families)), np.full(groups * families, n))
    pairs = np.array(list(combinations(range(groups), 2)))
    null = pairs[:, 0] > 0
    shares, power = [], []
    for family in range(families):
        here = _between(table, family * groups, family * groups + groups - 1)
        p = table_pairs(here, pairs[:, 0], pairs[:, 1], Settings()).p_value
        found = Correction.BENJAMINI_HOCHBERG(p) <= 0.05
        shares.append(found[null].sum() / max(found.sum(), 1))
        power.append(np.mean(Correction.HOLM(p)[~null] < 0.05))
    yield Line(
        "family",
        "false discoveries (Benjamini–Hochberg)",
        "one of 8 groups is worse by 0.15",
        0.05,
        float(np.mean(shares)),
        families,
        (0.0, 0.05),
    )
    yield Line(
        "power",
        "true differences found (Holm)",
        f"one of 8 groups of {n} rows is worse by 0.15",
        np.nan,
        float(np.mean(power)),
        families,
        None,
    )


def omnibus_and_gaps(scale: float) -> Iterator[Line]:
    """Tests of all groups together, and permutation references of gaps, on models without differences."""
    rng = stream("calibrate", "omnibus")
    sets, must = int(1000 * scale), (0.0, 0.05)
    sizes = np.array([60, 90, 150, 300, 500])
    chi, gap, kruskal = [], [], []
    for _ in range(sets):
        k = rng.binomial(sizes, 0.8)
        chi.append(contrasts.chi_square(k, sizes).p_value < 0.05)
        labels = np.repeat(np.arange(5), sizes)
        values = np.concatenate([np.arange(n) < e for n, e in zip(sizes, k, strict=True)]).astype(float)
        dealt = permutation.permute_labels(values, np.ones(len(values)), labels, 5, 400, rng)
        gap.append(permutation.gap_reference(np.ptp(k / sizes), permutation.gap_of(dealt.means)).p < 0.05)
        x = rng.gamma(2.0, size=int(sizes.sum()))
        kruskal.append(ranks.kruskal_wallis(x, labels, 5).p_value < 0.05)
    where = "no difference, 5 groups of 60–500 rows"
    yield Line("test", "chi_square", where, 0.05, float(np.mean(chi)), sets, must)
    yield Line("test", "kruskal_wallis", where, 0.05, float(np.mean(kruskal)), sets, must)
    yield Line("test", "gap against permutations", where, 0.05, float(np.mean(gap)), sets, must)
    clustered_chi, clustered_gap = [], []
    for _ in range(sets):
        table = clustered(rng, 5, 40, (1, 10), 0.4, 0.8)
        dealt = permutation.permute_labels(table.top, table.bottom, table.group, 5, 400, rng)
        seen = float(np.ptp(table.means.value))
        clustered_gap.append(permutation.gap_reference(seen, permutation.gap_of(dealt.means)).p < 0.05)
        plain = contrasts.chi_square(table.totals, table.means.rows)
        null = contrasts.chi_square_statistic(dealt.sums, dealt.counts)
        clustered_chi.append(permutation.permuted_test(plain, null).p_value < 0.05)
    where = "no difference, 5 groups of 40 subjects × 1–10 images"
    yield Line("test", "chi_square_permutation over subjects", where, 0.05, float(np.mean(clustered_chi)), sets, must)
    yield Line("test", "gap against permutations over subjects", where, 0.05, float(np.mean(clustered_gap)), sets, must)
    flips, exact = [], []
    for _ in range(sets):
        difference = rng.normal(0, 1, 30) * rng.integers(1, 6, 30)
        flips.append(contrasts.sign_flip(difference, flips=400, rng=rng) < 0.05)
    drawn = rng.multinomial(200, [0.7, 0.08, 0.08, 0.14], size=8 * sets)
    exact = contrasts.mcnemar(drawn[:, 1], drawn[:, 2])
    yield Line(
        "test", "sign_flip over subjects", "two equal models, 30 subjects", 0.05, float(np.mean(flips)), sets, must
    )
    yield Line(
        "test", "mcnemar_exact", "two equal models, 200 rows", 0.05, float(np.mean(exact < 0.05)), 8 * sets, must
    )


PARTS: dict[str, Callable[[float], Iterator[Line]]] = {
    "proportions": intervals_of_proportions,
    "clusters": intervals_of_clusters,
    "tables": intervals_of_tables,
    "draws": intervals_of_draws,
    "people": intervals_of_pairs_of_people,
    "sets": intervals_of_sets,
    "differences": intervals_of_differences,
    "alarms": false_alarms,
    "omnibus": omnibus_and_gaps,
}


def page(lines: list[Line]) -> str:
    """The table as a page of the documentation."""
    titles = {
        "interval": "Coverage of intervals (nominal 95 %)",
        "difference": "Coverage of intervals of differences (nominal 95 %)",
        "family": "False alarms per family of tests",
        "verdict": "False verdicts at the margin",
        "test": "False alarms of single tests",
        "power": "What is found",
    }
    out = [
        "# Calibration",
        "",
        "Made by `make calibrate`: simulated data with a known truth, judged by the functions that judge real groups. "
        '"Required" says where a number must lie; lines without it show what is reached outside the domain of the '
        "promise, or what a form that we do not use would give. Bounds are what the number of "
        "simulations leaves open (99 %).",
        "",
    ]
    for part, title in titles.items():
        chosen = [line for line in lines if line.part == part]
        if not chosen:
            continue
        out += [
            f"## {title}",
            "",
            "| what | setting | reached | bounds | required | holds |",
            "|---|---|---|---|---|---|",
        ]
        for line in chosen:
            low, high = line.bounds
            must = "" if line.required is None else f"{line.required[0]:g}–{line.required[1]:g}"
            holds = "" if line.required is None else "yes" if line.holds else "**no**"
            out.append(
                f"| {line.what} | {line.setting} | {line.reached:.4f} | {low:.4f}–{high:.4f} | {must} | {holds} |"
            )
        out.append("")
    return "\n".join(out)


def main(arguments: list[str] | None = None) -> int:
    """Run the simulations; exit with 1 when a requirement does not hold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--scale", type=float, default=1.0, help="share of the simulations to run")
    parser.add_argument("--only", nargs="*", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--write", type=Path, default=None, help="write the page here; by default the documentation's")
    chosen = parser.parse_args(arguments)
    lines = []
    for name in chosen.only:
        for line in PARTS[name](chosen.scale):
            low, high = line.bounds
            mark = "  " if line.required is None else "ok" if line.holds else "NO"
            print(
                f"{mark} {line.part:10} {line.what:40} {line.setting:75} {line.reached:.4f} [{low:.4f}, {high:.4f}]",
                flush=True,
            )
            lines.append(line)
    whole = chosen.scale >= 0.5 and chosen.only == list(PARTS)
    place = chosen.write or (PAGE if whole else None)
    if place is not None:
        place.write_text(page(lines), encoding="utf-8")
    failed = [line for line in lines if not line.holds]
    print(f"{len(lines)} lines, {sum(line.required is not None for line in lines)} required, {len(failed)} do not hold")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
