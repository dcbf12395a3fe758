"""One number for many groups: gaps, ratios, spreads, and what they are worth.

All over the groups that are large enough to be compared. Which end is the worse one
follows from the metric's direction: of error rates and distances, the largest is the worst.
Ties go to the group declared first. A number that does not exist says why.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.metric import Direction, Undefined
from evenhand.stats.checks import Floats, checked_counts, divide, floats

TOO_FEW = Undefined("fewer than two groups are large enough to be compared")


def extremes(values: ArrayLike, direction: Direction) -> tuple[int, int] | None:
    """Positions of the worst and the best value, the first of equals; None where there are none.

    >>> extremes([0.2, 0.1, 0.2], Direction.LOWER)
    (0, 1)
    """
    x = floats(values)
    if len(x) < 2 or direction is Direction.NEITHER:
        return None
    lowest, highest = int(x.argmin()), int(x.argmax())
    return (lowest, highest) if direction is Direction.HIGHER else (highest, lowest)


def summarise(values: ArrayLike, overall: float | None = None) -> Mapping[str, float | Undefined]:
    """Every summary number of the values of eligible groups, in the order of display.

    >>> numbers = summarise([0.9, 0.8, 0.7], overall=0.81)
    >>> round(numbers["max_gap"], 3), round(numbers["gini_corrected"], 4)
    (0.2, 0.0833)
    """
    x = floats(values)
    several = len(x) >= 2
    to_overall = (
        Undefined("there is no overall value") if overall is None else float(np.abs(x - overall).max(initial=0))
    )
    return {
        "max_gap": float(np.ptp(x)) if several else TOO_FEW,
        "min_over_max_ratio": _ratio(x, np.min, np.max, "the largest value is 0"),
        "max_gap_to_overall": to_overall if several else TOO_FEW,
        "std_population": float(x.std()) if several else TOO_FEW,
        "equal_weight_mean": float(x.mean()) if several else TOO_FEW,
        "gini_corrected": gini(x),
        "max_over_geometric_mean": max_over_geometric_mean(x),
        "max_over_min_ratio": max_over_min(x),
    }


def gini(values: ArrayLike) -> float | Undefined:
    """The Gini coefficient with the small-sample correction K/(K−1); 0 when all values are 0.

    >>> gini([1.0, 0.0])
    1.0
    """
    x = np.sort(floats(values))
    count, mean = len(x), x.mean() if len(x) else 0.0
    if count < 2:
        return TOO_FEW
    # Σᵢⱼ|xᵢ−xⱼ| of sorted values is 2·Σ(2i − K + 1)·xᵢ.
    apart = 2 * float((x * (2 * np.arange(count) - count + 1)).sum())
    return float(apart / (2.0 * count**2 * mean) * count / (count - 1)) if mean else 0.0


def max_over_min(values: ArrayLike) -> float | Undefined:
    """Largest over smallest value, for error rates; undefined when the smallest is 0."""
    return _ratio(floats(values), np.max, np.min, "the smallest value is 0")


def _ratio(x: Floats, above: Callable[[Floats], Any], below: Callable[[Floats], Any], reason: str) -> float | Undefined:
    if len(x) < 2:
        return TOO_FEW
    return Undefined(reason) if below(x) == 0 else float(above(x) / below(x))


def max_over_geometric_mean(values: ArrayLike) -> float | Undefined:
    """Largest value over the geometric mean of all, for error rates; undefined when a value is 0 or less.

    >>> max_over_geometric_mean([0.2, 0.0])
    Undefined(reason='a value is 0')
    """
    x = floats(values)
    if len(x) < 2:
        return TOO_FEW
    if x.min() <= 0:
        return Undefined("a value is 0" if x.min() == 0 else "a value is negative")
    return float(x.max() / np.exp(np.log(x).mean()))


def shrink(events: ArrayLike, rows: ArrayLike) -> Floats:
    """Proportions pulled towards their common mean, the more the smaller the group (beta–binomial, by moments).

    Prior mean and strength are those of the groups given. When the groups differ no more than
    chance would make them, all get the common mean. Use effective counts for clustered rows.

    >>> shrink([9, 90, 10], [10, 100, 20]).round(3)
    array([0.891, 0.899, 0.525])
    """
    k, n = checked_counts(events, rows)
    some = n > 0
    if int(some.sum()) < 2:
        return divide(k, n)
    kk, nn = k[some], n[some]
    centre = float(kk.sum() / nn.sum())
    spread = centre * (1 - centre)
    p = kk / nn
    total = float(nn.sum())
    between = float((nn * (p - centre) ** 2).sum())
    groups = len(nn)
    # Moments of weighted squares (Kleinman): E = spread·[(K−1)(1−ρ) + ρ(N − Σn²/N)], ρ = 1/(strength + 1).
    largest = total - float((nn**2).sum()) / total - (groups - 1)
    correlation = (between / spread - (groups - 1)) / largest if spread > 0 and largest > 0 else 0.0
    if correlation <= 0:
        return np.where(some, centre, np.nan)
    strength = max(1 / min(correlation, 1.0) - 1, 0.0)
    return np.where(some, (k + strength * centre) / (n + strength), np.nan)
