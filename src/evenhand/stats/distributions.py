"""Tails and quantiles of the distributions that intervals and tests are made with.

The normal quantile is the standard library's; what it lacks is in `special`.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from evenhand.stats import special
from evenhand.stats.checks import Floats, checked_confidence, floats

_STANDARD = NormalDist()


def normal_quantile(confidence: float) -> float:
    """z with the given mass between −z and z.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return normal_point(0.5 + checked_confidence(confidence) / 2)


def normal_point(mass: float) -> float:
    """z with the given mass below it.

    >>> round(normal_point(0.8), 6)
    0.841621
    """
    return _STANDARD.inv_cdf(mass)


def normal_points(masses: ArrayLike) -> Floats:
    """`normal_point` of an array of masses; NaN where a mass is NaN."""
    values = floats(masses)
    points = [_STANDARD.inv_cdf(mass) if 0 < mass < 1 else np.nan for mass in values.ravel().tolist()]
    return floats(points).reshape(values.shape)


def normal_below(z: ArrayLike) -> Floats:
    """The mass of the normal distribution below z."""
    return special.normal_above(-floats(z))


def normal_two_sided(statistic: ArrayLike) -> Floats:
    """The two-sided p-value of a normal statistic; NaN where there is none.

    >>> normal_two_sided([0.0, -1.96]).round(4)
    array([1.  , 0.05])
    """
    return floats(2 * special.normal_above(np.abs(floats(statistic))))


def t_quantile(confidence: float, degrees: ArrayLike) -> Floats:
    """t with the given mass between −t and t; NaN where there is no degree of freedom.

    >>> t_quantile(0.95, [0, 14]).round(4)
    array([   nan, 2.1448])
    """
    df = floats(degrees)
    outside = 2 * (1 - (0.5 + checked_confidence(confidence) / 2))
    # A quantile is searched for, and degrees of freedom are often the same: each is looked up once.
    distinct, place = np.unique(np.where(df > 0, df, 1.0), return_inverse=True)
    # The logarithm of the mass outside falls ever faster with log t, so that Newton's steps don't go astray.
    t, done = np.full(len(distinct), normal_quantile(confidence)), np.zeros(len(distinct), dtype=np.bool_)
    most = 1e150 * np.sqrt(np.minimum(distinct, 1.0))  # beyond, its square is no number
    for _ in range(100):
        own = special.t_outside(t, distinct)
        step = np.log(own / outside) * own / special.t_slope(t, distinct)
        with np.errstate(over="ignore"):
            moved = np.minimum(t * np.exp(step), most)
        done |= (np.abs(step) < 1e-15) | (moved == t)
        if done.all():
            break
        t = np.where(done, t, moved)  # what is found does not depend on its neighbours
    return floats(np.where(df > 0, t[place.reshape(df.shape)], np.nan))


def t_two_sided(statistic: ArrayLike, degrees: ArrayLike) -> Floats:
    """The two-sided p-value of a t statistic; NaN where there is no degree of freedom."""
    df = floats(degrees)
    return floats(np.where(df > 0, special.t_outside(statistic, np.where(df > 0, df, 1.0)), np.nan))


def chi_square_above(statistic: float, degrees: int) -> float:
    """The chance that χ² exceeds a statistic."""
    return special.gamma_above(degrees / 2, statistic / 2)


def f_above(statistic: float, degrees: int, free: int) -> float:
    """The chance that F exceeds a statistic."""
    seen = degrees * statistic
    return float(special.beta_below(free / 2, degrees / 2, free / (free + seen), seen / (free + seen)))


def log_choose(total: Floats, taken: Floats) -> Floats:
    """The logarithm of the number of ways to take some of a total, both whole numbers."""
    sides = total, taken, total - taken
    largest = int(np.max(total, initial=0))
    if largest < np.size(taken):  # the same counts come again and again
        known = special.log_factorial(np.arange(largest + 1.0))
        of_all, of_some, of_rest = (known[side.astype(np.int64)] for side in sides)
    else:
        of_all, of_some, of_rest = map(special.log_factorial, sides)
    return floats(of_all - of_some - of_rest)


def fair_coin(heads: Floats, tosses: Floats) -> Floats:
    """The chance of at most so many heads, fewer than the tosses."""
    return special.beta_below(np.maximum(tosses - heads, 1.0), np.maximum(heads, 0.0) + 1.0, 0.5)


def logit(share: Floats) -> Floats:
    """The logarithm of the odds of a share between 0 and 1."""
    return np.log(share) - np.log1p(-share)


def logistic(odds: Floats) -> Floats:
    """The share with these logarithms of odds: the inverse of `logit`.

    >>> logistic(np.array([-800.0, 0.0, 800.0]))
    array([0. , 0.5, 1. ])
    """
    falling = np.exp(-np.abs(odds))
    return np.where(odds < 0, falling, 1.0) / (1.0 + falling)
