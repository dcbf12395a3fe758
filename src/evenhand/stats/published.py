"""The published FHIBE pair procedure, number for number (mode `fhibe`).

For reproducing published reports, not for judging models. What to say beside it is in `CAUTIONS`.
Scores are pooled over images; groups with fewer than twenty are left out; every attribute is
corrected for its own pairs only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike

from evenhand.stats.checks import Floats, StatisticsError, floats
from evenhand.stats.ranks import mann_whitney, rank_sums

MIN_SCORES = 20
MOST_LISTED = 50
ALPHA = 0.05

CAUTIONS = (
    "images of one subject count as independent",
    "equal medians give disparity 0 even for a highly significant pair; then the label 'worst' follows list order, "
    "not performance",
    "for metrics where lower is better 'worst' is inverted",
    "z grows with the root of the number of scores and is not an effect size",
    "each attribute has its own correction, so the whole report has no family-wise guarantee",
    "negative or missing scores are not supported",
    "verification results are not tested at all",
)


@dataclass(frozen=True)
class PublishedPair:
    """Two groups as the published report compares them."""

    first: str
    second: str
    worst: str
    worst_scores: int
    best: str
    best_scores: int
    disparity: float | None  # None where a median is negative
    p_value: float
    z: float  # signed, of the first group; the report prints its size as "effect size"
    u_first: float
    significant: bool

    @property
    def effect_size(self) -> float:
        """|z|, which the published report calls effect size."""
        return abs(self.z)


@dataclass(frozen=True)
class PublishedAttribute:
    """All pairs of one attribute, and those that the published report lists."""

    eligible: tuple[str, ...]
    excluded: tuple[str, ...]
    pairs: tuple[PublishedPair, ...]

    @property
    def listed(self) -> tuple[PublishedPair, ...]:
        """Significant pairs, widest disparity first, at most fifty."""
        found = [pair for pair in self.pairs if pair.significant]
        return tuple(sorted(found, key=lambda pair: 1.0 if pair.disparity is None else -pair.disparity)[:MOST_LISTED])


def published_pairs(scores: Mapping[str, ArrayLike], *, least: int = MIN_SCORES) -> PublishedAttribute:
    """Every pair of groups of one attribute by the published procedure; groups in declared order.

    Two-sided Mann–Whitney, exact when a group has at most eight values without ties; the group with the lower median is
    "worst", on equal medians the second; significant when p < 0.05 / number of pairs.

    >>> found = published_pairs({"a": [0.1 * (i % 3) for i in range(30)], "b": [0.5] * 30, "c": [1.0]})
    >>> found.excluded, found.pairs[0].worst, found.pairs[0].disparity
    (('c',), 'a', 0.8)
    """
    values = {name: _checked(name, group) for name, group in scores.items()}
    eligible = tuple(name for name, group in values.items() if len(group) >= least)
    excluded = tuple(name for name in values if name not in eligible)
    return PublishedAttribute(eligible, excluded, tested_pairs({name: values[name] for name in eligible}))


def tested_pairs(values: Mapping[str, Floats]) -> tuple[PublishedPair, ...]:
    """Every unordered pair of the groups, which are all compared, whatever their size; in declared order.

    >>> tested_pairs({"a": np.full(30, -0.5), "b": np.full(30, 0.5)})[0].disparity is None
    True
    """
    eligible = list(values)
    if len(eligible) < 2:
        return ()
    codes = np.repeat(np.arange(len(eligible)), [len(values[name]) for name in eligible])
    sums = rank_sums(np.concatenate([values[name] for name in eligible]), codes, len(eligible))
    medians = {name: float(np.median(values[name])) for name in eligible}
    tested = len(eligible) * (len(eligible) - 1) // 2
    found = []
    for i, j in combinations(range(len(eligible)), 2):
        first, second = eligible[i], eligible[j]
        n1, n2 = len(values[first]), len(values[second])
        u = float(sums.u[i, j])
        if min(n1, n2) <= 8 and sums.ties[i, j] == 0:
            p = _exact(values[first], values[second])
        else:
            p = float(mann_whitney(u, n1, n2, sums.ties[i, j]).p_value)
        worst, best = (first, second) if medians[first] < medians[second] else (second, first)
        z = (u - n1 * n2 / 2) / np.sqrt(n1 * n2 * (n1 + n2 + 1) / 12)
        found.append(
            PublishedPair(
                first,
                second,
                worst,
                len(values[worst]),
                best,
                len(values[best]),
                median_disparity(medians[first], medians[second]),
                p,
                float(z),
                u,
                p < ALPHA / tested,
            )
        )
    return tuple(found)


def _exact(first: Floats, second: Floats) -> float:
    """The exact p-value that SciPy's `auto` rule takes for very small groups."""
    from scipy import stats  # a second of import, for groups that the published limit leaves out

    return float(stats.mannwhitneyu(first, second, method="exact").pvalue)


def median_disparity(first: float, second: float) -> float | None:
    """1 − lower/higher median; 0 when both are 0, 1 when only the lower is; None when one is negative.

    >>> median_disparity(0.8, 0.4), median_disparity(0.0, 0.0), median_disparity(-0.1, 0.2)
    (0.5, 0.0, None)
    """
    low, high = min(first, second), max(first, second)
    if low < 0:
        return None
    if low == 0:
        return 0.0 if high == 0 else 1.0
    return 1.0 - low / high


def _checked(name: str, group: ArrayLike) -> Floats:
    scores = floats(group)
    if np.any(np.isnan(scores)) or np.any(scores < 0):
        raise StatisticsError(
            f"group {name!r} has missing or negative scores, which the published procedure does not support. "
            "Use the default comparison instead."
        )
    return scores
