"""The metrics of `metrics/` that belong to no family."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.core.metric import Direction
from evenhand.core.records import Records
from evenhand.metrics.labels import Confusion
from evenhand.metrics.means import Mean, Missing, Rate
from evenhand.metrics.reliability import Reliability
from evenhand.metrics.strata import Stratified


def numbers(rng: np.random.Generator, n: int) -> Records:
    values = rng.normal(size=n)
    values[rng.random(n) < 0.1] = np.nan
    return Records({"value": values, "part": rng.integers(0, 3, n)}, {})


def hits(rng: np.random.Generator, n: int) -> Records:
    return Records({"hit": rng.random(n) < 0.7, "asked": rng.random(n) < 0.8, "part": rng.integers(0, 3, n)}, {})


def labels(rng: np.random.Generator, n: int) -> Records:
    return Records(
        {"truth": rng.integers(0, 4, n), "answer": rng.integers(-1, 5, n), "part": rng.integers(0, 3, n)}, {}
    )


def stated(rng: np.random.Generator, n: int) -> Records:
    confidence = rng.random(n)
    confidence[rng.random(n) < 0.1] = np.nan
    return Records({"confidence": confidence, "right": rng.random(n) < 0.7}, {})


CONFUSION = Confusion("confusion", ("a", "b", "c", "d"))
LISTED = [
    Listed("mean", Mean("mean", "value"), numbers, exact=False),
    Listed("mean, missing fails", Mean("mean", "value", missing_policy=Missing.FAIL), numbers, exact=False),
    Listed("mean, missing is zero", Mean("mean", "value", Direction.LOWER, 0.0), numbers, exact=False),
    Listed("rate", Rate("rate", "hit"), hits),
    Listed("rate among", Rate("rate", "hit", among="asked"), hits),
    Listed("confusion", CONFUSION, labels),
    Listed("reliability", Reliability("confidence"), stated, exact=False),
    Listed("stratified mean", Stratified("mean", Mean("mean", "value"), "part", ("x", "y", "z")), numbers, exact=False),
    Listed("stratified confusion", Stratified("confusion", CONFUSION, "part", ("x", "y", "z")), labels),
]
