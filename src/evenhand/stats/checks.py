"""What the functions of this package ask of the arrays they are given.

Counts, weights, confidences and codes are checked once, at the entry, with a
message that names what was found and what to do. Inside the arrays of this package
NaN means "not defined"; it never leaves the package: the layer over it says
`Undefined(reason)` or None instead.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.core.errors import InputError

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


class StatisticsError(InputError):
    """Numbers that no statistic can be made of: negative weights, more events than rows."""


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


def checked_weights(weights: ArrayLike, name: str = "weights") -> Floats:
    """The weights, all finite and none negative.

    >>> checked_weights([1, 2])
    array([1., 2.])
    """
    w = floats(weights)
    if np.any(~np.isfinite(w)):
        at = int(np.flatnonzero(~np.isfinite(w))[0])
        raise StatisticsError(
            f"{name}: {w.flat[at]} at position {at} is not a number. Give a finite weight to every row."
        )
    if np.any(w < 0):
        at = int(np.flatnonzero(w < 0)[0])
        raise StatisticsError(
            f"{name}: {w.flat[at]:g} at position {at} is negative. A row counts zero times or more; "
            "leave a row out by giving it the weight 0."
        )
    return w


def checked_confidence(confidence: float) -> float:
    """A confidence between 0 and 1, exclusive."""
    if not 0.0 < confidence < 1.0:
        raise StatisticsError(f"confidence {confidence}: expected a number between 0 and 1, such as 0.95 (not 95).")
    return float(confidence)


def checked_probabilities(p_values: ArrayLike) -> Floats:
    """p-values between 0 and 1; NaN stands for a test that could not be made."""
    p = floats(p_values)
    bad = (p < 0) | (p > 1)
    if np.any(bad):
        at = int(np.flatnonzero(bad)[0])
        raise StatisticsError(f"p-value {p.flat[at]:g} at position {at}: expected a number from 0 to 1.")
    return p


def checked_codes(codes: ArrayLike, size: int, length: int) -> Integers:
    """One group code from 0 to size − 1 for each of `length` entries."""
    c = np.asarray(codes)
    if c.shape != (length,):
        raise StatisticsError(f"{c.shape} group codes for {length} values: give one code for each value.")
    c = c.astype(np.int64, copy=False)
    if length and (int(c.min()) < 0 or int(c.max()) >= size):
        raise StatisticsError(f"group codes run from {int(c.min())} to {int(c.max())}: expected 0 to {size - 1}.")
    return c


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


def whole(value: Any) -> int:
    """An integer, refused when the value is not whole."""
    number = int(value)
    if number != value:
        raise StatisticsError(f"{value}: expected a whole number.")
    return number
