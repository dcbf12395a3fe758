"""The published FHIBE pair procedure, number for number (mode `fhibe`).

For reproducing published reports, not for judging models. What to say beside it is in `CAUTIONS`.
Scores are pooled over images; groups with fewer than twenty are left out; every attribute is
corrected for its own pairs only.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evenhand.stats.checks import Floats
from evenhand.stats.ranks import exact_mann_whitney, mann_whitney, rank_sums

MIN_SCORES = 20
MOST_LISTED = 50
ALPHA = 0.05


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
            p = exact_mann_whitney(u, n1, n2)  # as SciPy's `auto` rule has it for very small groups
        else:
            p = float(mann_whitney(u, n1, n2, sums.ties[i, j]))
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
