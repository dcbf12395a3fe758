"""The metrics of FairFace."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.benchmarks.fairface.metrics import LabelAgreement
from evenhand.core.records import Records


def answers(rng: np.random.Generator, n: int) -> Records:
    return Records({"truth": rng.integers(0, 3, n), "answer": rng.integers(0, 4, n)}, {})


LISTED = [
    Listed("label agreement", LabelAgreement("race", ("a", "b", "c")), answers),
    Listed("label agreement, brief", LabelAgreement("race", ("a", "b", "c"), brief=True), answers),
]
