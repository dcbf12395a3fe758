"""Is it the group or its composition? Values of groups as if all had the same strata.

A group that is older than another may do worse because age is harder, not because of who it is. Direct
standardisation gives every group the composition of the whole data, stratum by stratum.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.measure import Tally
from evenhand.core.metric import Undefined
from evenhand.stats.checks import Floats, divide, floats, summed


@dataclass(frozen=True)
class StandardisedRates:
    """Crude and standardised values of the levels of one attribute, over the strata of another."""

    metric: str
    output: str
    attribute: str
    strata: str
    weights: dict[str, float]  # share of each stratum in the whole data
    crude: dict[str, float | Undefined]
    standardised: dict[str, float | Undefined]


def standardised_rates(
    tally: Tally, metric: str, attribute: str, strata: str, *, output: str | None = None
) -> StandardisedRates:
    """The values of an attribute's levels with the composition of the whole data over `strata`.

    For outputs that are proportions or means. Rows that belong to no level or no stratum are left out of both; a
    level without rows in a stratum that others have is undefined.
    """
    names = [one.name for one in tally.metrics]
    if metric not in names:
        raise UnknownNameError("metric", metric, names)
    position = names.index(metric)
    ratios = tally.metrics[position].ratios(tally.states[position])
    output = next(iter(ratios), None) if output is None else output
    if output is None or output not in ratios:
        raise OptionError(f"{metric}.{output}: only proportions and means can be standardised ({', '.join(ratios)}).")
    for name in (attribute, strata):
        if name not in tally.cells.attributes:
            raise UnknownNameError("attribute", name, tally.cells.attributes)
    levels, layers = tally.cells.attributes[attribute].levels, tally.cells.attributes[strata].levels
    inside, within = tally.cells.attributes[attribute].member, tally.cells.attributes[strata].member
    cell, level, layer = np.nonzero(inside[:, :, None] & within[:, None, :])
    place = level * len(layers) + layer
    shape = (len(levels), len(layers))
    sums, counts = (
        summed(place, column[cell], shape[0] * shape[1]).reshape(shape)
        for column in (ratios[output].top, ratios[output].bottom)
    )
    found = standardise(sums, counts)

    def rates_or_reason(values: Floats, reason: str) -> dict[str, float | Undefined]:
        return {
            name: Undefined(reason) if np.isnan(value) else float(value)
            for name, value in zip(levels, values, strict=True)
        }

    return StandardisedRates(
        metric,
        output,
        attribute,
        strata,
        {name: float(weight) for name, weight in zip(layers, found.weights, strict=True)},
        rates_or_reason(found.crude, "the group has no rows"),
        rates_or_reason(found.standardised, f"the group has no rows in some of {strata}"),
    )


class Standardised(NamedTuple):
    """Crude and directly standardised values of groups, and the strata's common weights."""

    crude: Floats  # (groups,)
    standardised: Floats  # (groups,); NaN where a needed cell is empty
    weights: Floats  # (strata,): their shares of the whole data


def standardise(sums: ArrayLike, counts: ArrayLike) -> Standardised:
    """Values of groups as if all had the composition of the whole data (groups × strata).

    A group without rows in a stratum that carries weight has no standardised value.

    >>> result = standardise([[9, 1], [1, 9]], [[10, 2], [2, 10]])
    >>> result.standardised.round(3), result.weights
    (array([0.7, 0.7]), array([0.5, 0.5]))
    """
    s, n = floats(sums), floats(counts)
    shares = divide(n.sum(axis=0), n.sum())
    needed = shares > 0
    standard = (divide(s, n)[:, needed] * shares[needed]).sum(axis=1)
    return Standardised(divide(s.sum(axis=1), n.sum(axis=1)), standard, shares)
