"""The metrics of verification, search and clustering."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.core.records import Records
from evenhand.metrics.clustering import BCubed
from evenhand.metrics.operating_points import Convention
from evenhand.metrics.search import ANY_RANK, Cmc, OpenSetSearch
from evenhand.metrics.verification import Separation, Verification


def comparisons(rng: np.random.Generator, n: int) -> Records:
    same = rng.random(n) < 0.4
    score = np.round(rng.normal(size=n) + same, 1).astype(np.float32)  # many ties
    score[rng.random(n) < 0.05] = -np.inf
    return Records({"score": score, "same": same}, {})


def precise_comparisons(rng: np.random.Generator, n: int) -> Records:
    rows = comparisons(rng, n)
    return Records({**rows.columns, "score": rows["score"].astype(np.float64)}, {})


def searches(rng: np.random.Generator, n: int) -> Records:
    mated = rng.random(n) < 0.5
    mate = np.where(mated, np.round(rng.normal(size=n) + 1, 1), -np.inf)
    mate[rng.random(n) < 0.05] = -np.inf
    top = np.round(rng.normal(size=n), 1)
    top[rng.random(n) < 0.05] = -np.inf
    above = rng.integers(0, 4, n) * (mate > -np.inf)
    tied = rng.integers(0, 2, n) * (mate > -np.inf)
    columns = {"gallery": rng.integers(0, 2, n), "mated": mated, "mate": mate, "above": above, "tied": tied, "top": top}
    return Records(columns, {})


def clustered(rng: np.random.Generator, n: int) -> Records:
    enrolled = rng.random(n) < 0.9
    precision, recall = rng.random(n) * enrolled, rng.random(n) * enrolled
    return Records({"precision": precision, "recall": recall, "enrolled": enrolled}, {})


RATES = (0.0, 0.05, 0.1, 0.3, 1.0)
LISTED = [
    Listed("verification", Verification("1:1", far=RATES), comparisons),
    Listed("verification, double precision", Verification("1:1", far=RATES), precise_comparisons),
    Listed("verification, every convention", Verification("1:1", RATES, tuple(Convention)), comparisons),
    Listed("verification, failures excluded", Verification("1:1", RATES, failures="exclude"), comparisons),
    Listed("separation", Separation("1:1"), comparisons),
    Listed("separation, failures excluded", Separation("1:1", failures="exclude"), comparisons),
    Listed("cmc", Cmc("CMC", ranks=(1, 3), depth=5), searches),
    Listed("cmc, pooled and optimistic", Cmc("CMC", (1, 3), "optimistic", "pooled", 5), searches),
    Listed("open-set search", OpenSetSearch("1:N", RATES, (1, 3, ANY_RANK)), searches),
    Listed("open-set search, pooled", OpenSetSearch("1:N", RATES, (1,), combination="pooled"), searches),
    Listed("bcubed", BCubed("BCubed"), clustered, exact=False),
    Listed("bcubed without failures to enrol", BCubed("BCubed", among="enrolled"), clustered, exact=False),
]
