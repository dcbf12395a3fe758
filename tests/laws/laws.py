"""What a metric must be listed with to be tested by the laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.core.metric import Metric
from evenhand.core.records import Records


@dataclass(frozen=True)
class Listed:
    """A metric, and how to make rows for it from a generator and a number of rows.

    `make_rows(rng, n)` gives n rows (n may be 0) with the columns that the metric reads.
    `exact`: counts only, so sums of parts are equal to the last bit.
    """

    name: str
    metric: Metric[Any]
    make_rows: Callable[[np.random.Generator, int], Records]
    exact: bool = True
    repeats: bool = True  # integer weights agree with repetition (not for metrics that draw without replacement)
