"""What may be said about a difference: large, different, equivalent, undecided.

The margin is set before looking. "Not significant" is no verdict: data that cannot
tell a difference from none are undecided, and say how large a difference they could have shown.
"""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from evenhand.core.results import Verdict
from evenhand.stats.checks import floats

DEFAULT_MARGIN = 0.05


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
