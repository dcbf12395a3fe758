"""The metrics of verification sets."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.benchmarks.pairs.metrics import FoldedTar, TenFoldAccuracy
from evenhand.core.records import Records


def pairs(rng: np.random.Generator, n: int) -> Records:
    same = rng.random(n) < 0.5
    distance = np.round(np.clip(rng.normal(size=n) * 0.5 + np.where(same, 1.0, 2.0), 0, 4), 1)  # many ties
    distance[rng.random(n) < 0.05] = np.nan
    return Records({"distance": distance, "same": same, "fold": rng.integers(0, 4, n)}, {})


LISTED = [
    Listed("ten-fold accuracy", TenFoldAccuracy("ten-fold"), pairs),
    Listed("interpolated over folds", FoldedTar("folds", far=0.1), pairs),
]
