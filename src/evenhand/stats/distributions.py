"""Tails and quantiles of the distributions that intervals and tests are made with.

Quantiles of the normal distribution are the standard library's. The others are SciPy's, which takes a third of a second
to load and is loaded by the first call that needs it: intervals without tests mostly pay nothing.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

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


def normal_two_sided(statistic: ArrayLike) -> Floats:
    """The two-sided p-value of a normal statistic; NaN where there is none. As SciPy's tests have it, to the last bit.

    >>> normal_two_sided([0.0, -1.96]).round(4)
    array([1.  , 0.05])
    """
    from scipy import special

    return floats(2 * special.ndtr(-np.abs(floats(statistic))))


def t_quantile(confidence: float, degrees: ArrayLike) -> Floats:
    """t with the given mass between −t and t; NaN where there is no degree of freedom.

    >>> t_quantile(0.95, [0, 14]).round(4)
    array([   nan, 2.1448])
    """
    from scipy import special

    df = floats(degrees)
    mass = 0.5 + checked_confidence(confidence) / 2
    # A quantile is searched for, and degrees of freedom are often the same: each is looked up once.
    distinct, place = np.unique(np.where(df > 0, df, 1.0), return_inverse=True)
    return floats(np.where(df > 0, special.stdtrit(distinct, mass)[place.reshape(df.shape)], np.nan))


def t_two_sided(statistic: ArrayLike, degrees: ArrayLike) -> Floats:
    """The two-sided p-value of a t statistic; NaN where there is no degree of freedom."""
    from scipy import special

    df = floats(degrees)
    safe = np.where(df > 0, df, 1.0)
    return floats(np.where(df > 0, 2 * special.stdtr(safe, -np.abs(floats(statistic))), np.nan))


def chi_square_above(statistic: float, degrees: int) -> float:
    """The chance that χ² exceeds a statistic."""
    from scipy import special

    return float(special.chdtrc(degrees, statistic))


def f_above(statistic: float, degrees: int, free: int) -> float:
    """The chance that F exceeds a statistic."""
    from scipy import special

    return float(special.fdtrc(degrees, free, statistic))


def log_choose(total: Floats, taken: Floats) -> Floats:
    """The logarithm of the number of ways to take some of a total."""
    from scipy import special

    return floats(special.gammaln(total + 1) - special.gammaln(taken + 1) - special.gammaln(total - taken + 1))


def fair_coin(heads: Floats, tosses: Floats) -> Floats:
    """The chance of at most so many heads, fewer than the tosses."""
    from scipy import special

    return floats(special.betainc(np.maximum(tosses - heads, 1.0), np.maximum(heads, 0.0) + 1.0, 0.5))


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
