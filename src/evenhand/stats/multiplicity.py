"""What is left of a p-value when many were looked at.

Bonferroni and Holm hold the chance of a single false alarm in a family of tests;
Benjamini and Hochberg hold the expected share of false alarms among the findings.
A test that could not be made (NaN) stays NaN and does not count in the family.
"""

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike

from evenhand.stats.checks import Booleans, Floats, floats


class Correction(Enum):
    """How p-values of one family are adjusted."""

    HOLM = "holm"
    BENJAMINI_HOCHBERG = "benjamini_hochberg"
    BONFERRONI = "bonferroni"
    NONE = "none"

    def __call__(self, p_values: ArrayLike) -> Floats:
        """The adjusted p-values, in the order given."""
        return _ADJUST[self](p_values)

    def of_smallest(self, p_values: ArrayLike, tested: int) -> Floats:
        """The adjusted p-values of the smallest of a family of so many; not for adjustments that step up."""
        if self is Correction.BENJAMINI_HOCHBERG:
            raise ValueError("a step-up adjustment needs all p-values")
        p = floats(p_values)
        if self is Correction.NONE:
            return p.copy()
        if self is Correction.BONFERRONI:
            return np.minimum(1.0, p * tested)
        return _in_order(p, lambda low: np.minimum(1.0, np.maximum.accumulate(low * (tested - np.arange(len(low))))))


def bonferroni(p_values: ArrayLike) -> Floats:
    """p-values times the size of the family, at most 1.

    >>> bonferroni([0.01, 0.5, float("nan")])
    array([0.02, 1.  ,  nan])
    """
    p = floats(p_values)
    return np.minimum(1.0, p * np.count_nonzero(~np.isnan(p)))


def holm(p_values: ArrayLike) -> Floats:
    """Holm's step-down adjustment: adj₍ᵢ₎ = max over j ≤ i of min(1, (m − j + 1) p₍ⱼ₎).

    >>> holm([0.01, 0.02, 0.03, 0.04, 0.05])
    array([0.05, 0.08, 0.09, 0.09, 0.09])
    """

    def step_down(p: Floats) -> Floats:
        return np.minimum(1.0, np.maximum.accumulate(p * np.arange(len(p), 0, -1)))

    return _in_order(p_values, step_down)


def benjamini_hochberg(p_values: ArrayLike) -> Floats:
    """Benjamini and Hochberg's step-up adjustment: adj₍ᵢ₎ = min over j ≥ i of min(1, m p₍ⱼ₎ / j).

    >>> benjamini_hochberg([0.0, 0.5, 0.05]).round(3)
    array([0.   , 0.5  , 0.075])
    """

    def step_up(p: Floats) -> Floats:
        scaled = p * (len(p) / np.arange(1, len(p) + 1))
        return np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])

    return _in_order(p_values, step_up)


def rejected(adjusted: ArrayLike, alpha: float = 0.05) -> Booleans:
    """Which adjusted p-values reach the level; one exactly on it does, whatever the last bit says.

    >>> rejected([0.05, 0.051, float("nan")])
    array([ True, False, False])
    """
    return floats(adjusted) <= alpha * (1 + 1e-12)


def _in_order(p_values: ArrayLike, adjust: Callable[[Floats], Floats]) -> Floats:
    """Apply an adjustment of sorted p-values, and put the results back where they came from."""
    p = floats(p_values)
    out = np.full(p.shape, np.nan)
    there = np.flatnonzero(~np.isnan(p))
    order = there[np.argsort(p[there])]  # equal p-values get the same, whichever comes first
    out[order] = adjust(p[order])
    return out


def _unadjusted(p_values: ArrayLike) -> Floats:
    return floats(p_values).copy()


_ADJUST: dict[Correction, Callable[[ArrayLike], Floats]] = {
    Correction.HOLM: holm,
    Correction.BENJAMINI_HOCHBERG: benjamini_hochberg,
    Correction.BONFERRONI: bonferroni,
    Correction.NONE: _unadjusted,
}
