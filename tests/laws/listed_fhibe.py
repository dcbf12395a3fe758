"""FHIBE's own metrics: average recall, means over parts, verification."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.benchmarks.fhibe.metrics import AverageRecall, PartMeans, TarAtFar, TarAtOwnFar, ValidationRate
from evenhand.core.records import Records

PARTS = ("Face", "Hand", "Leg")


def overlaps(rng: np.random.Generator, n: int) -> Records:
    score = np.where(rng.random(n) < 0.1, np.nan, rng.integers(0, 11, n) / 10)
    return Records({"overlap": score}, {})


def parts(rng: np.random.Generator, n: int) -> Records:
    value = np.where(rng.random(n) < 0.2, np.nan, rng.integers(0, 9, n) / 8)
    return Records({"value": value, "part": rng.integers(0, len(PARTS), n)}, {})


def faces(rng: np.random.Generator, n: int) -> Records:
    vectors = rng.integers(-3, 4, (n, 4)).astype(np.float64)
    vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
    names = np.array([f"image{number:06d}" for number in rng.choice(10**6, n, replace=False)])
    return Records({"item": names, "unit": rng.integers(0, max(n // 3, 1), n), "embedding": vectors}, {})


LISTED = [
    Listed("average recall", AverageRecall("AR_IOU", "overlap", (0.5, 0.75, 0.9)), overlaps),
    Listed("average recall, strict", AverageRecall("AR_IOU_strict", "overlap", (0.5, 0.9), strict=True), overlaps),
    Listed("average recall, missing left out", AverageRecall("AR", "overlap", (0.5,), skip_missing=True), overlaps),
    Listed("means over parts", PartMeans("AR_DET", "value", PARTS), parts),
    # Pairs are drawn from the images that are there; an image that counts twice is no second image.
    Listed("VAL", ValidationRate(), faces, repeats=False),
    Listed("TAR at FAR", TarAtFar(far=0.1), faces, repeats=False),
    Listed("TAR at own FAR", TarAtOwnFar(far=0.1), faces, repeats=False),
]
