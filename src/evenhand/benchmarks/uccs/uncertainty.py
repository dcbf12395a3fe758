"""How sure the operating points are: images drawn again, all systems on the same draws.

A draw takes as many images as there are, with replacement; thresholds are found anew in every
draw. Systems that are evaluated together see the same draws, so their difference is paired: what
makes an image hard for all of them cancels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from evenhand.core.metric import Metric, Numbers
from evenhand.core.records import Array, Records
from evenhand.core.streams import stream
from evenhand.stats.intervals import percentile
from evenhand.stats.resample import weight_blocks

DRAWS = 2000


class Spread(NamedTuple):
    """A value with its interval; None where it is undefined or rests on too few draws."""

    value: float | None
    low: float | None
    high: float | None


class Difference(NamedTuple):
    """Two systems on the same images: first − second, paired."""

    output: str
    first: str
    second: str
    difference: Spread

    @property
    def differ(self) -> bool | None:
        """Whether the interval lies on one side of 0."""
        if self.difference.low is None or self.difference.high is None:
            return None
        return self.difference.low > 0 or self.difference.high < 0


def spreads(
    systems: Mapping[str, Records], metric: Metric[Any], *, images: int, draws: int = DRAWS, confidence: float = 0.95
) -> tuple[dict[str, dict[str, Spread]], tuple[Difference, ...]]:
    """Intervals of every output of every system, and paired differences of all pairs of systems."""
    outputs = [output for output in metric.outputs if output != "curve" and not output.endswith(" shared")]
    values = {label: _values(metric, rows, outputs) for label, rows in systems.items()}
    drawn = _drawn(systems, metric, outputs, images, draws)
    found = {
        label: {
            output: _spread(values[label][place], drawn[label][:, place], confidence)
            for place, output in enumerate(outputs)
        }
        for label in systems
    }
    labels = list(systems)
    pairs = [(first, second) for place, first in enumerate(labels) for second in labels[place + 1 :]]
    differences = tuple(
        Difference(
            output,
            first,
            second,
            _spread(
                values[first][place] - values[second][place],
                drawn[first][:, place] - drawn[second][:, place],
                confidence,
            ),
        )
        for first, second in pairs
        for place, output in enumerate(outputs)
    )
    return found, differences


def _values(metric: Metric[Any], rows: Records, outputs: Sequence[str]) -> Array:
    state = metric.measure(rows)
    return np.asarray(_table(metric.result(state, state), outputs)[0])


def _drawn(
    systems: Mapping[str, Records], metric: Metric[Any], outputs: Sequence[str], images: int, draws: int
) -> dict[str, Array]:
    """(draws, outputs) of every system."""
    if draws < 1 or images < 1:
        return {label: np.zeros((0, len(outputs))) for label in systems}
    states = {label: metric.measure(rows, rows["unit"], images) for label, rows in systems.items()}
    wholes = {label: metric.measure(rows) for label, rows in systems.items()}
    blocks: dict[str, list[Array]] = {label: [] for label in systems}
    for weights in weight_blocks(images, draws, stream("uccs", metric.name, "images", images, draws)):
        for label, state in states.items():
            blocks[label].append(_table(metric.result(state.weigh(weights), wholes[label]), outputs))
    return {label: np.concatenate(parts) for label, parts in blocks.items()}


def _table(result: Mapping[str, Any], outputs: Sequence[str]) -> Array:
    columns = []
    for output in outputs:
        column = result[output]
        assert isinstance(column, Numbers)
        columns.append(column.values)
    return np.stack(columns, axis=1)


def _spread(value: float, drawn: Array, confidence: float) -> Spread:
    if np.isnan(value):
        return Spread(None, None, None)
    if not len(drawn):
        return Spread(float(value), None, None)
    found = percentile(drawn, confidence=confidence)
    low, high = float(found.low[0]), float(found.high[0])
    return Spread(float(value), None if np.isnan(low) else low, None if np.isnan(high) else high)
