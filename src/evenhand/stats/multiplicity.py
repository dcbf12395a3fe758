"""What is left of a p-value when many were looked at, and what may be said about a difference.

Bonferroni and Holm hold the chance of a single false alarm in a family of tests;
Benjamini and Hochberg hold the expected share of false alarms among the findings.
A test that could not be made (NaN) stays NaN and does not count in the family.

A difference is large, different, equivalent or undecided. The margin is set before looking. "Not significant" is no
verdict: data that cannot tell a difference from none are undecided, and say how large a difference they could have
shown.
"""

from collections.abc import Callable
from enum import Enum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.core.results import Verdict
from evenhand.stats.checks import Floats, floats

DEFAULT_MARGIN = 0.05


class Correction(Enum):
    """How p-values of one family are adjusted."""

    HOLM = "holm"
    BENJAMINI_HOCHBERG = "benjamini_hochberg"
    BONFERRONI = "bonferroni"
    NONE = "none"

    def __call__(self, p_values: ArrayLike) -> Floats:
        """The adjusted p-values, in the order given.

        Bonferroni: times the size of the family, at most 1. Holm steps down: adj₍ᵢ₎ = max over j ≤ i of
        min(1, (m − j + 1) p₍ⱼ₎). Benjamini and Hochberg step up: adj₍ᵢ₎ = min over j ≥ i of min(1, m p₍ⱼ₎ / j).

        >>> Correction.BONFERRONI([0.01, 0.5, float("nan")])
        array([0.02, 1.  ,  nan])
        >>> Correction.HOLM([0.01, 0.02, 0.03, 0.04, 0.05])
        array([0.05, 0.08, 0.09, 0.09, 0.09])
        >>> Correction.BENJAMINI_HOCHBERG([0.0, 0.5, 0.05]).round(3)
        array([0.   , 0.5  , 0.075])
        """
        p = floats(p_values)
        if self is not Correction.BENJAMINI_HOCHBERG:
            return self.of_smallest(p, int(np.count_nonzero(~np.isnan(p))))

        def step_up(low: Floats) -> Floats:
            scaled = low * (len(low) / np.arange(1, len(low) + 1))
            return np.minimum(1.0, np.minimum.accumulate(scaled[::-1])[::-1])

        return _in_order(p, step_up)

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


def _in_order(p_values: ArrayLike, adjust: Callable[[Floats], Floats]) -> Floats:
    """Apply an adjustment of sorted p-values, and put the results back where they came from."""
    p = floats(p_values)
    out = np.full(p.shape, np.nan)
    there = np.flatnonzero(~np.isnan(p))
    order = there[np.argsort(p[there])]  # equal p-values get the same, whichever comes first
    out[order] = adjust(p[order])
    return out


def family_name(metric: str, output: str, order: int) -> str:
    """What the tests of one output and one order of intersections are called, which are adjusted together.

    >>> family_name("gender", "accuracy", 2)
    'gender.accuracy, intersections of 2'
    """
    groups = {0: "everyone", 1: "single attributes"}.get(order, f"intersections of {order}")
    return f"{metric}.{output}, {groups}"


def verdicts(
    low: ArrayLike,
    high: ArrayLike,
    low90: ArrayLike,
    high90: ArrayLike,
    adjusted_p: ArrayLike,
    *,
    margin: float | None = DEFAULT_MARGIN,
    alpha: float = 0.05,
) -> NDArray[np.object_]:
    """The verdict of each pair from the 95 % and 90 % limits of its difference and its adjusted p-value.

    Large: the interval lies entirely beyond the margin and p < α. Different: p < α. Equivalent: the 90 %
    interval lies inside the margin. Without a margin nothing is large or equivalent; a pair without interval or p-value
    cannot be large, different or equivalent.

    >>> [v.value for v in verdicts([0.06, 0.01, -0.01, -0.2], [0.2, 0.2, 0.02, 0.2], [0, 0, -0.01, -0.2],
    ...                            [0, 0, 0.02, 0.2], [0.001, 0.02, 0.9, 0.9])]
    ['large', 'different', 'equivalent', 'undecided']
    """
    lo, hi, lo90, hi90, p = np.broadcast_arrays(*(floats(x) for x in (low, high, low90, high90, adjusted_p)))
    out = np.full(lo.shape, Verdict.UNDECIDED, dtype=object)
    if margin is not None:
        out[(lo90 > -margin) & (hi90 < margin)] = Verdict.EQUIVALENT
    out[p < alpha] = Verdict.DIFFERENT
    if margin is not None:
        out[(p < alpha) & ((lo > margin) | (hi < -margin))] = Verdict.LARGE
    return out
