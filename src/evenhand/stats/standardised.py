"""Is it the group or its composition? Values of groups as if all had the same strata.

A group that is older than another may do worse because age is harder, not because of who it is. Direct
standardisation gives every group the composition of the whole data, stratum by stratum.
"""

from dataclasses import dataclass

import numpy as np

from evenhand.core.errors import OptionError, UnknownNameError
from evenhand.core.measure import Tally
from evenhand.core.metric import Undefined
from evenhand.stats.checks import summed
from evenhand.stats.summaries import standardise


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

    def rates_or_reason(
        values: np.ndarray[tuple[int, ...], np.dtype[np.float64]], reason: str
    ) -> dict[str, float | Undefined]:
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
