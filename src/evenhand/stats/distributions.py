"""Tails and quantiles of the distributions that intervals and tests are made with, for arrays, in double precision.

The normal quantile is the standard library's. Tails keep their relative accuracy far out (1e-13 or better; the tests
compare with SciPy), so that a p-value of 1e-200 is as good as one of 0.05. Powers are never multiplied out: a density
is its Stirling approximation, the rest of Stirling's series, and the exponential of a deviance, which stays accurate
for millions of rows.
"""

from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from evenhand.stats.checks import Floats, checked_confidence, floats

_STANDARD = NormalDist()
_AT_ONCE = 1 << 14  # numbers whose intermediate results stay in the cache
_MOST_STEPS = 100_000
_TINY = 1e-300
_ENOUGH = 2.0**-52
_HALF_LOG_2PI = 0.5 * np.log(2 * np.pi)

# (1 + 2x)·exp(x²)·erfc(x) as a polynomial in (x − 3.75)/(x + 3.75) for x ≥ 0: Chebyshev's series cut off below 1e-17.
_ERFC = (
    1.2375126308378276, -0.14024059858554702, 0.0035854154854644294, 0.082276738490151024, -0.10880393014174886,
    0.092304321160198335, -0.058693398589636775, 0.028362277421515591, -0.0097465795580292616, 0.0017556258324218081,
    0.00029371366559126241, -0.00029015397929015608, 5.1649098892988183e-5, 2.2383912037527523e-5,
    -1.1444146238442146e-5, -9.7284958442067381e-7, 1.7516376500411583e-6, -5.8262807423110102e-8,
    -2.5866850841974795e-7, 2.4289759520522473e-8, 3.86753350799198e-8, -4.3892819663620563e-9,
    -5.1739905329227733e-9, 5.4571491649845907e-10, 4.2514719738256353e-10, -3.7531450403974734e-11,
)  # fmt: skip

# √((r/2)/sinh(r/2)) in powers of r².
_T_SERIES = (1.0, -1 / 48, 1 / 2560, -7.87967096560846561e-6, 1.69676657917217813e-7, -3.80506419172190657e-9,
             8.7483775963154073e-11, -2.04452335941197382e-12)  # fmt: skip

# The rest of Stirling's series in powers of 1/x², times 1/x.
_STIRLING = (1 / 12, -1 / 360, 1 / 1260, -1 / 1680, 1 / 1188, -691 / 360360, 1 / 156, -3617 / 122400)


def normal_quantile(confidence: float) -> float:
    """z with the given mass between −z and z.

    >>> round(normal_quantile(0.95), 6)
    1.959964
    """
    return normal_point(0.5 + checked_confidence(confidence) / 2)


def normal_point(mass: float) -> float:
    """z with the given mass below it; NaN where there is none.

    >>> round(normal_point(0.8), 6)
    0.841621
    """
    return _STANDARD.inv_cdf(mass) if 0 < mass < 1 else float("nan")


def normal_two_sided(statistic: ArrayLike) -> Floats:
    """The two-sided p-value of a normal statistic; NaN where there is none.

    >>> normal_two_sided([0.0, -1.96]).round(4)
    array([1.  , 0.05])
    """
    return floats(2 * normal_above(np.abs(floats(statistic))))


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
        own = t_outside(t, distinct)
        step = np.log(own / outside) * own / t_slope(t, distinct)
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
    return floats(np.where(df > 0, t_outside(statistic, np.where(df > 0, df, 1.0)), np.nan))


def chi_square_above(statistic: float, degrees: int) -> float:
    """The chance that χ² exceeds a statistic."""
    return gamma_above(degrees / 2, statistic / 2)


def f_above(statistic: float, degrees: int, free: int) -> float:
    """The chance that F exceeds a statistic."""
    seen = degrees * statistic
    return float(beta_below(free / 2, degrees / 2, free / (free + seen), seen / (free + seen)))


def log_choose(total: Floats, taken: Floats) -> Floats:
    """The logarithm of the number of ways to take some of a total, both whole numbers."""
    sides = total, taken, total - taken
    largest = int(np.max(total, initial=0))
    if largest < np.size(taken):  # the same counts come again and again
        known = log_factorial(np.arange(largest + 1.0))
        of_all, of_some, of_rest = (known[side.astype(np.int64)] for side in sides)
    else:
        of_all, of_some, of_rest = map(log_factorial, sides)
    return floats(of_all - of_some - of_rest)


def fair_coin(heads: Floats, tosses: Floats) -> Floats:
    """The chance of at most so many heads, fewer than the tosses."""
    return beta_below(np.maximum(tosses - heads, 1.0), np.maximum(heads, 0.0) + 1.0, 0.5)


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


def normal_above(z: ArrayLike) -> Floats:
    """The mass of the normal distribution above z.

    >>> normal_above([0.0, 1.959963984540054, np.inf]).round(12)
    array([0.5  , 0.025, 0.   ])
    """
    values = floats(z)
    out = np.empty(values.size)
    flat = values.ravel()
    for start in range(0, len(flat), _AT_ONCE):
        part = flat[start : start + _AT_ONCE]
        away = np.minimum(np.abs(part), 40.0)  # nothing is left beyond
        x = away / np.sqrt(2.0)
        # exp(−z²/2) of a rounded z and of the rest, as the square of a number loses its last bits.
        near = np.rint(away * 16) / 16
        density = np.exp(-0.5 * near * near) * np.exp(-0.5 * (away - near) * (away + near))
        tail = 0.5 * density * _polynomial(_ERFC, (x - 3.75) / (x + 3.75)) / (1 + 2 * x)
        out[start : start + _AT_ONCE] = np.where(part < 0, 1.0 - tail, tail)
    return out.reshape(values.shape)


def log_factorial(count: ArrayLike) -> Floats:
    """log(n!), which is log Γ(n + 1).

    >>> np.exp(log_factorial([0, 4])).round(9)
    array([ 1., 24.])
    """
    x = floats(count) + 1.0
    return floats((x - 0.5) * np.log(x) - x + _HALF_LOG_2PI + _stirling_rest(x))


def beta_below(a: ArrayLike, b: ArrayLike, x: ArrayLike, y: ArrayLike | None = None) -> Floats:
    """The mass of the beta distribution below x; `y` is 1 − x, where it is known better than the difference.

    >>> beta_below([1, 2], [1, 2], 0.25)
    array([0.25   , 0.15625])
    """
    values = np.broadcast_arrays(floats(a), floats(b), floats(x), 1.0 - floats(x) if y is None else floats(y))
    a_, b_, x_, y_ = (side.ravel() for side in values)
    upper = x_ * (a_ + b_ + 2) > a_ + 1  # there the fraction of the other side converges quickly
    mass = _beta_side(*(np.where(upper, *sides) for sides in ((b_, a_), (a_, b_), (y_, x_), (x_, y_))))
    return np.where(upper, 1.0 - mass, mass).reshape(values[0].shape)


def beta_quantile(a: ArrayLike, b: ArrayLike, below: ArrayLike, above: ArrayLike) -> Floats:
    """x with the mass `below` under it and `above` over it, which add to 1; the smaller of them is met.

    Newton's steps inside a bracket that halves where they leave it.
    """
    a_, b_, p, q = (side.astype(np.float64) for side in np.broadcast_arrays(a, b, below, above))
    low, high = np.zeros(a_.shape), np.ones(a_.shape)
    x = (a_ / (a_ + b_)).clip(1e-300, 1 - 1e-16)
    from_below, done = p <= q, np.zeros(a_.shape, dtype=np.bool_)
    for _ in range(200):
        y = 1.0 - x
        own = np.where(from_below, beta_below(a_, b_, x, y), beta_below(b_, a_, y, x))
        aim = np.where(from_below, p, q)
        is_low = np.where(from_below, own < aim, own > aim)
        low, high = np.where(is_low, x, low), np.where(is_low, high, x)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            # A step for the logarithm of the mass, which is nearly straight where a step for the mass is not.
            slope = _beta_density(a_, b_, x, y) / (x * y)
            step = own * np.log(aim / own) / slope
            moved = x + np.where(from_below, step, -step)
        good = np.isfinite(moved) & (moved > low) & (moved < high)
        settled = np.abs(step) <= 1e-14 * x  # rounding may step out of the bracket
        moved = np.where(good | settled, moved, 0.5 * (low + high))
        near = settled | (np.abs(moved - x) <= 4 * np.finfo(np.float64).eps * x)
        x = np.where(done, x, moved)  # what is found does not depend on its neighbours
        done |= near
        if done.all():
            break
    return x


def t_outside(t: ArrayLike, degrees: ArrayLike) -> Floats:
    """The mass of Student's distribution outside ±t.

    With many degrees of freedom and t not too far out, it is nearly normal in s = √(ν·log(1 + t²/ν)): the density is
    exp(−s²/2·(1 − 1/2ν)) times a series in (s²/ν)², of which every term has an integral. Else it is a beta tail.
    """
    size, df = (side.ravel() for side in np.broadcast_arrays(np.abs(floats(t)), floats(degrees)))
    with np.errstate(over="ignore"):
        square = np.minimum(size * size / df, 1e300)
    ratio = np.log1p(square)
    out = np.full(len(df), np.nan)
    series = (df >= 30) & (ratio < 0.5)
    out[series] = _t_series(ratio[series], df[series])
    rest = ~series & ~np.isnan(ratio)
    x = 1.0 / (1.0 + square[rest])
    out[rest] = beta_below(df[rest] / 2, 0.5, x, square[rest] * x)
    out[np.isinf(size)] = 0.0
    return out.reshape(np.broadcast_shapes(np.shape(t), np.shape(degrees)))


def t_slope(t: Floats, degrees: Floats) -> Floats:
    """How fast `t_outside` falls with log t, t > 0."""
    square = t * t / degrees
    x = 1.0 / (1.0 + square)
    return 2 * _beta_density(degrees / 2, np.full(np.shape(degrees), 0.5), x, square * x)


def gamma_above(a: float, x: float) -> float:
    """The mass of the gamma distribution of shape a above x."""
    if np.isnan(x):
        return float("nan")
    if x <= 0:
        return 1.0
    if np.isinf(x):
        return 0.0
    shape = floats(a)
    density = float(
        np.sqrt(a / (2 * np.pi)) * np.exp(-a * _deviance(floats((x - a) / a), floats(x / a)) - _stirling_rest(shape))
    )
    if x < a + 1:
        term = total = 1.0 / a
        step = 0
        while term > total * _ENOUGH:
            step += 1
            term *= x / (a + step)
            total += term
        return 1.0 - density * total
    top, bottom = 1.0 / _TINY, 1.0 / (x + 1 - a)
    fraction = bottom
    for step in range(1, _MOST_STEPS):
        numerator, denominator = -step * (step - a), x + 2 * step + 1 - a
        bottom = 1.0 / (denominator + numerator * bottom)
        top = denominator + numerator / top
        fraction *= top * bottom
        if abs(top * bottom - 1) < _ENOUGH:
            break
    return density * fraction


def _t_series(ratio: Floats, df: Floats) -> Floats:
    """The mass outside, from log(1 + t²/ν): the integrals of the series beyond s over those of the whole."""
    narrow = 1.0 - 0.5 / df
    square = ratio * df * narrow  # of s, scaled to the normal distribution
    s = np.sqrt(square)
    unit = 1.0 / (df * narrow)
    density = np.exp(-0.5 * square) / np.sqrt(2 * np.pi)
    moment, whole = 2 * normal_above(s), np.ones(len(df))  # ∫ s^4k φ, beyond ±s and over everything
    power = 2 * s * density  # the boundary term of the recurrence, 2·s^(n−1)·φ
    outside, everything = moment.copy(), whole.copy()
    scale = np.ones(len(df))
    for k, coefficient in enumerate(_T_SERIES[1:], 1):
        for n in (4 * k - 2, 4 * k):
            moment = (n - 1) * moment + power
            whole = (n - 1) * whole
            power = power * square
        scale = scale * unit * unit
        outside += coefficient * scale * moment
        everything += coefficient * scale * whole
    return floats(outside / everything)


def _beta_side(a: Floats, b: Floats, x: Floats, y: Floats) -> Floats:
    """The mass below x where it lies under the mean or not far over it.

    By every second convergent of the continued fraction DLMF 8.17.22, whose terms need no difference of large numbers.
    """
    out = np.full(len(a), np.nan)
    out[x <= 0] = 0.0
    left = np.flatnonzero((x > 0) & (a > 0) & (b > 0))
    a_, b_, x_, y_ = a[left], b[left], x[left], y[left]
    under = a_ * y_ - b_ * x_
    bottom = a_ / (a_ + 1) * (under + 1)
    fraction, ahead, behind = bottom, bottom, np.zeros(len(left))
    for n in range(1, _MOST_STEPS):
        if not len(left):
            break
        step, rest = a_ + (2 * n - 1), n * (b_ - n) * x_
        numerator = (a_ + (n - 1)) * (a_ + b_ + (n - 1)) * rest * x_ / (step * step)
        denominator = n + rest / step + (a_ + n) / (step + 2) * (under + 1 + n * (1 + y_))
        behind = 1.0 / _away(denominator + numerator * behind)
        ahead = _away(denominator + numerator / ahead)
        change = ahead * behind
        fraction = fraction * change
        is_open = np.abs(change - 1.0) > _ENOUGH
        if not is_open.all():
            done = left[~is_open]
            out[done] = _beta_density(a[done], b[done], x[done], y[done]) / fraction[~is_open]
            left = left[is_open]
            a_, b_, x_, y_, under = a_[is_open], b_[is_open], x_[is_open], y_[is_open], under[is_open]
            ahead, behind, fraction = ahead[is_open], behind[is_open], fraction[is_open]
    return out


def _beta_density(a: Floats, b: Floats, x: Floats, y: Floats) -> Floats:
    """x^a·y^b/B(a, b)."""
    apart, total = b * x - a * y, a + b
    deviance = a * _deviance(apart / a, x * total / a) + b * _deviance(-apart / b, y * total / b)
    rest = _stirling_rest(total) - _stirling_rest(a) - _stirling_rest(b)
    return floats(np.sqrt(a * b / (2 * np.pi * total)) * np.exp(rest - deviance))


def _deviance(e: Floats, ratio: Floats) -> Floats:
    """e − log(1 + e) without losing what they have in common; `ratio` is 1 + e."""
    near = np.where(np.abs(e) < 0.3, e, 0.0)
    s = near / (2.0 + near)
    series = near * s - 2 * s**3 * _polynomial([1 / (2 * k + 3) for k in range(12)], s * s)
    with np.errstate(divide="ignore"):
        return floats(np.where(np.abs(e) < 0.3, series, e - np.log(ratio)))


def _stirling_rest(x: Floats) -> Floats:
    """log Γ(x) without Stirling's (x − ½)·log x − x + ½·log 2π."""
    high = np.array(x, dtype=np.float64).ravel()
    rest = np.zeros(len(high))
    small = np.flatnonzero(high < 10)
    while len(small):
        low = high[small]
        rest[small] += (low + 0.5) * np.log1p(1.0 / low) - 1.0
        high[small] = low + 1
        small = small[low + 1 < 10]
    return (rest + _polynomial(_STIRLING, 1.0 / (high * high)) / high).reshape(np.shape(x))


def _polynomial(coefficients: ArrayLike, x: Floats) -> Floats:
    *rest, last = np.asarray(coefficients).tolist()
    total = np.full(x.shape, last)
    for coefficient in reversed(rest):
        total *= x
        total += coefficient
    return total


def _away(values: Floats) -> Floats:
    """The values, with a tiny number in place of zero, by which one can divide."""
    return np.where(values == 0, _TINY, values)
