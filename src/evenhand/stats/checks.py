"""The arrays of this package, and the arithmetic that all of it shares.

Inside the arrays NaN means "not defined"; it never leaves the package: the layer over it says `Undefined(reason)` or
None instead.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.core.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class StatisticsError(InputError):
    """Numbers that no statistic can be made of, such as more events than rows."""


def floats(values: ArrayLike) -> Floats:
    """The values as an array of double precision."""
    return np.asarray(values, dtype=np.float64)


def checked_counts(events: ArrayLike, rows: ArrayLike) -> tuple[Floats, Floats]:
    """Events and rows, broadcast against each other, with 0 ≤ events ≤ rows.

    Fractions are allowed: an effective size is seldom whole.

    >>> checked_counts(3, [10, 20])
    (array([3., 3.]), array([10., 20.]))
    """
    k, n = np.broadcast_arrays(floats(events), floats(rows))
    slack = 1e-9 * np.maximum(1.0, np.abs(n))
    bad = (k < 0) | (n < 0) | (k > n + slack)
    if np.any(bad):
        where = tuple(int(axis[0]) for axis in np.nonzero(np.atleast_1d(bad)))
        raise StatisticsError(
            f"{np.atleast_1d(k)[where]:g} events of {np.atleast_1d(n)[where]:g} rows at position {where}: "
            "expected 0 ≤ events ≤ rows. Count each row once, and an event only where there is a row."
        )
    return np.minimum(k, n), n.copy()


def checked_confidence(confidence: float) -> float:
    """A confidence between 0 and 1, exclusive."""
    if not 0.0 < confidence < 1.0:
        raise StatisticsError(f"confidence {confidence}: expected a number between 0 and 1, such as 0.95 (not 95).")
    return float(confidence)


def number_or_none(value: ArrayLike) -> float | None:
    """The number, or None where it is not finite."""
    number = float(np.asarray(value))
    return number if np.isfinite(number) else None


def numbers_or_nan(values: Iterable[float | None]) -> Floats:
    """Numbers as an array, NaN for None."""
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def mean_of(draws: Floats) -> Floats:
    """The mean of each column, skipping NaN."""
    there = ~np.isnan(draws)
    return divide(np.where(there, draws, 0.0).sum(axis=0), there.sum(axis=0))


def deviation_of(draws: Floats) -> Floats:
    """The standard deviation of each column (n − 1), skipping NaN."""
    there = ~np.isnan(draws)
    squares = np.where(there, (draws - mean_of(draws)) ** 2, 0.0).sum(axis=0)
    return np.sqrt(divide(squares, (there.sum(axis=0) - 1.0).clip(0)))


def summed(codes: Integers, values: ArrayLike, size: int) -> Floats:
    """Sums of the values by code.

    >>> summed(np.array([0, 0, 2]), [1.0, 2.0, 3.0], 3)
    array([3., 0., 3.])
    """
    return floats(np.bincount(codes, floats(values), minlength=size))


def divide(above: ArrayLike, below: ArrayLike) -> Floats:
    """above / below, NaN where below is zero.

    >>> divide([1.0, 1.0], [2.0, 0.0])
    array([0.5, nan])
    """
    a, b = floats(above), floats(below)
    some = np.where(b == 0, np.nan, b)  # quicker than to leave places out
    return np.asarray(np.divide(a, some, out=some if a.shape == b.shape else None))
