"""One number for many groups: gaps, ratios, spreads, and what they are worth.

All over the groups that are large enough to be compared. Which end is the worse one
follows from the metric's direction: of error rates and distances, the largest is the worst.
Ties go to the group declared first. A number that does not exist says why.
"""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.metric import Direction, Undefined
from evenhand.stats.checks import Floats, StatisticsError, checked_counts, checked_weights, divide, floats

TOO_FEW = Undefined("fewer than two groups are large enough to be compared")


class Extremes(NamedTuple):
    """Positions of the worst and the best of the values; the first of equals."""

    worst: int
    best: int


class Against(Enum):
    """What groups are compared with in `difference` and `ratio`."""

    BETWEEN_GROUPS = "between_groups"
    TO_OVERALL = "to_overall"


def extremes(values: ArrayLike, direction: Direction) -> Extremes | Undefined:
    """Where the worst and the best value are.

    >>> extremes([0.2, 0.1, 0.2], Direction.LOWER)
    Extremes(worst=0, best=1)
    """
    x = floats(values)
    if len(x) < 2:
        return TOO_FEW
    if direction is Direction.NEITHER:
        return Undefined("neither way is better for this number")
    lowest, highest = int(x.argmin()), int(x.argmax())
    return Extremes(lowest, highest) if direction is Direction.HIGHER else Extremes(highest, lowest)


def summarise(values: ArrayLike, overall: float | None = None) -> Mapping[str, float | Undefined]:
    """Every summary number of the values of eligible groups, in the order of display.

    >>> numbers = summarise([0.9, 0.8, 0.7], overall=0.81)
    >>> round(numbers["max_gap"], 3), round(numbers["gini_corrected"], 4)
    (0.2, 0.0833)
    """
    x = floats(values)
    if np.any(np.isnan(x)):
        raise StatisticsError("a group without a value can't be summarised: leave it out, and say so.")
    names = (
        "max_gap",
        "min_over_max_ratio",
        "max_gap_to_overall",
        "std_population",
        "equal_weight_mean",
        "gini_corrected",
        "max_over_geometric_mean",
        "max_over_min_ratio",
    )
    if len(x) < 2:
        return dict.fromkeys(names, TOO_FEW)
    numbers = (
        float(x.max() - x.min()),
        min_over_max(x),
        Undefined("there is no overall value") if overall is None else float(np.abs(x - overall).max()),
        float(x.std()),
        float(x.mean()),
        gini(x),
        max_over_geometric_mean(x),
        max_over_min(x),
    )
    return dict(zip(names, numbers, strict=True))


def gini(values: ArrayLike) -> float | Undefined:
    """The Gini coefficient with the small-sample correction K/(K−1); 0 when all values are 0.

    >>> gini([1.0, 0.0])
    1.0
    """
    x = floats(values)
    if len(x) < 2:
        return TOO_FEW
    return float(gini_of(x))


def gini_of(values: ArrayLike) -> Floats:
    """Corrected Gini coefficients along the last axis, for tables of at least two columns."""
    x = np.sort(floats(values), axis=-1)
    count = x.shape[-1]
    # Σᵢⱼ|xᵢ−xⱼ| of sorted values is 2·Σ(2i − K + 1)·xᵢ.
    apart = 2 * (x * (2 * np.arange(count) - count + 1)).sum(axis=-1)
    mean = x.mean(axis=-1)
    raw = divide(apart, 2.0 * count**2 * mean) * count / (count - 1)
    return floats(np.where(mean == 0, 0.0, raw))


def min_over_max(values: ArrayLike) -> float | Undefined:
    """Smallest over largest value; undefined when the largest is 0."""
    x = floats(values)
    if len(x) < 2:
        return TOO_FEW
    return Undefined("the largest value is 0") if x.max() == 0 else float(x.min() / x.max())


def max_over_min(values: ArrayLike) -> float | Undefined:
    """Largest over smallest value, for error rates; undefined when the smallest is 0."""
    x = floats(values)
    if len(x) < 2:
        return TOO_FEW
    return Undefined("the smallest value is 0") if x.min() == 0 else float(x.max() / x.min())


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


def difference(
    values: ArrayLike, overall: float | None = None, against: Against = Against.BETWEEN_GROUPS
) -> float | Undefined:
    """The widest difference between two groups, or between a group and the overall value.

    >>> round(difference([0.74, 0.84], overall=0.79, against=Against.TO_OVERALL), 4)
    0.05
    """
    x = floats(values)
    if against is Against.BETWEEN_GROUPS:
        return float(x.max() - x.min()) if len(x) >= 2 else TOO_FEW
    if overall is None or not len(x):
        return Undefined("there is no overall value to compare with" if overall is None else "there are no groups")
    return float(np.abs(x - overall).max())


def ratio(
    values: ArrayLike, overall: float | None = None, against: Against = Against.BETWEEN_GROUPS
) -> float | Undefined:
    """The most uneven ratio of two groups, or of a group and the overall value, folded to at most 1.

    >>> round(ratio([0.5, 1.0], overall=0.8, against=Against.TO_OVERALL), 4)
    0.625
    """
    x = floats(values)
    if against is Against.BETWEEN_GROUPS:
        return min_over_max(x)
    if overall is None or not len(x):
        return Undefined("there is no overall value to compare with" if overall is None else "there are no groups")
    if overall == 0:
        return Undefined("the overall value is 0")
    shares = x / overall
    folded = np.where(shares > 1, divide(1.0, shares), shares)
    return float(folded.min())


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
    room = total - float((nn**2).sum()) / total - (groups - 1)
    correlation = (between / spread - (groups - 1)) / room if spread > 0 and room > 0 else 0.0
    if correlation <= 0:
        return np.where(some, centre, np.nan)
    strength = max(1 / min(correlation, 1.0) - 1, 0.0)
    return np.where(some, (k + strength * centre) / (n + strength), np.nan)


class Standardised(NamedTuple):
    """Crude and directly standardised values of groups, and the strata's common weights."""

    crude: Floats  # (groups,)
    standardised: Floats  # (groups,); NaN where a needed cell is empty
    weights: Floats  # (strata,)


def standardise(sums: ArrayLike, counts: ArrayLike, weights: ArrayLike | None = None) -> Standardised:
    """Values of groups as if all had the composition of the whole data (groups × strata).

    Weights are the strata's shares of the whole data unless given. A group without rows in a
    stratum that carries weight has no standardised value.

    >>> result = standardise([[9, 1], [1, 9]], [[10, 2], [2, 10]])
    >>> result.standardised.round(3), result.weights
    (array([0.7, 0.7]), array([0.5, 0.5]))
    """
    s, n = floats(sums), checked_weights(counts, "counts")
    shares = n.sum(axis=0) if weights is None else checked_weights(weights)
    if shares.sum() <= 0:
        raise StatisticsError("the strata have no weight: give a positive weight to at least one.")
    shares = shares / shares.sum()
    cells = divide(s, n)
    needed = shares > 0
    standard = (cells[:, needed] * shares[needed]).sum(axis=1)
    return Standardised(divide(s.sum(axis=1), n.sum(axis=1)), standard, shares)


def eligible(
    rows: Sequence[int], units: Sequence[int] | None, *, min_rows: int = 20, min_units: int = 10
) -> list[bool]:
    """Which groups are large enough to be compared: enough rows and, where subjects are known, enough of them.

    >>> eligible([100, 19, 40], [30, 19, 9])
    [True, False, False]
    """
    enough = [count >= min_rows for count in rows]
    if units is None:
        return enough
    return [big and count >= min_units for big, count in zip(enough, units, strict=True)]
