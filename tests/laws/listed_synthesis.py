"""Distances between sets of frames, and what the synthesis tasks measure."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.benchmarks.synthesis.metrics import DecibelsOfFrames, FrameMean, PublishedDecibels, PublishedMean
from evenhand.core.records import Records
from evenhand.metrics.distances import (
    Frechet,
    FrechetOfMoments,
    GaussianDistance,
    InceptionScore,
    KernelDistance,
    Neighbours,
)


def frames(rng: np.random.Generator, n: int) -> Records:
    """Frames on two sides, some without features, some without a face."""
    features = rng.normal(size=(n, 4)) * np.array([1.0, 2.0, 0.5, 1.5])
    wide = rng.normal(size=(n, 64)).astype(np.float32)
    synthesised = rng.random(n) < 0.5
    features[synthesised] += 0.5
    features[rng.random(n) < 0.05] = np.nan
    return Records(
        {
            "features": features,
            "wide": wide,
            "synthesised": synthesised,
            "has_face": rng.random(n) < 0.8,
            "split": rng.integers(0, 3, n),
        },
        {},
    )


def pairs(rng: np.random.Generator, n: int) -> Records:
    """Pairs in batches; some could not be measured, some are identical, some are not asked about."""
    values, error = rng.normal(size=n), rng.gamma(2.0, 0.01, size=n)
    values[rng.random(n) < 0.1] = np.nan
    error[rng.random(n) < 0.1] = np.nan
    error[rng.random(n) < 0.1] = 0.0
    decibels = np.where(rng.random(n) < 0.05, np.inf, values)
    weight = np.where(rng.random(n) < 0.1, 0.0, 1.0 / rng.integers(1, 5, n))
    return Records({"value": values, "psnr": decibels, "weight": weight, "squared_error": error}, {})


LISTED = [
    Listed("mean over frames", FrameMean("ssim", "value"), pairs, exact=False),
    Listed("mean of batch means", PublishedMean("ssim", "value"), pairs, exact=False),
    Listed("mean of batch means with infinities", PublishedDecibels("psnr", "psnr"), pairs, exact=False),
    Listed("decibels of frames", DecibelsOfFrames("psnr/strict"), pairs, exact=False),
    Listed("Fréchet, more rows than dimensions", Frechet("fd", "features"), frames, exact=False),
    Listed("Fréchet, fewer rows than dimensions", Frechet("fd", "wide"), frames, exact=False),
    Listed("Fréchet among faces", Frechet("fd", "features", among="has_face", nothing=0.0), frames, exact=False),
    Listed("Fréchet of moments", FrechetOfMoments("fd", "features"), frames, exact=False),
    Listed("kernel distance", KernelDistance("kid", "features"), frames, exact=False),
    Listed("gaussian distance", GaussianDistance("cmmd", "features"), frames, exact=False),
    Listed("inception score", InceptionScore("is", "features"), frames, exact=False),
    Listed("inception score by split", InceptionScore("is", "features", split="split", splits=3), frames, exact=False),
    Listed("neighbours", Neighbours("prdc", "features", nearest=2), frames, exact=False),
]
