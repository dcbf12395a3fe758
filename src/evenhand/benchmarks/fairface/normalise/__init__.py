"""Answers in any words, turned into FairFace's vocabulary."""

from evenhand.benchmarks.fairface.normalise.normaliser import NORMALISER_VERSION, Normaliser
from evenhand.benchmarks.fairface.normalise.readings import (
    AgeReading,
    FaceAnswer,
    GenderReading,
    Mode,
    RaceReading,
    Reason,
    nothing,
)

__all__ = [
    "NORMALISER_VERSION",
    "AgeReading",
    "FaceAnswer",
    "GenderReading",
    "Mode",
    "Normaliser",
    "RaceReading",
    "Reason",
    "nothing",
]
