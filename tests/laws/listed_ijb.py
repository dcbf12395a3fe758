"""The metrics of verification, search and clustering."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.benchmarks.ijb.metrics import NON_MATE_SCORE, DetectionRates, ListStyleSearch, MergedGallerySearch
from evenhand.core.records import Records
from evenhand.metrics.clustering import BCubed
from evenhand.metrics.curves import Event
from evenhand.metrics.means import Counts
from evenhand.metrics.operating_points import Convention
from evenhand.metrics.search import Cmc, OpenSetSearch
from evenhand.metrics.search_rates import ANY_RANK
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


def detections(rng: np.random.Generator, n: int) -> Records:
    kind = rng.choice([Event.IMAGE, Event.FOUND, Event.MISSED, Event.FALSE_ALARM], n).astype(np.int8)
    scored = (kind == Event.FOUND) | (kind == Event.FALSE_ALARM)
    score = np.where(scored, np.round(rng.random(n), 1), np.nan)
    return Records({"kind": kind, "score": score}, {})


def merged(rng: np.random.Generator, n: int) -> Records:
    """Searches of which some are in the merged gallery, and some rows only carry a non-mate score."""
    rows = searches(rng, n)
    gallery = np.where(rng.random(n) < 0.6, -1, rows["gallery"])
    above = np.where((gallery == -1) & (rng.random(n) < 0.4), NON_MATE_SCORE, rows["above"])
    mate = np.where(above == NON_MATE_SCORE, -np.inf, rows["mate"])
    return Records({**rows.columns, "gallery": gallery, "above": above, "mate": mate}, {})


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
    Listed("search as a public script reads it", ListStyleSearch("script", (0.1, 0.3)), searches, repeats=False),
    Listed("merged gallery", MergedGallerySearch("merged", (0.1, 0.3), (1, 2)), merged),
    Listed("detection rates", DetectionRates("detection", (0.1, 0.5, 2.0)), detections),
    Listed("counts", Counts("counts", (("mated", "mated", True), ("others", "mated", False))), searches),
    Listed("bcubed", BCubed("BCubed"), clustered, exact=False),
    Listed("bcubed without failures to enrol", BCubed("BCubed", among="enrolled"), clustered, exact=False),
]
