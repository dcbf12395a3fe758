"""Answers in any words, turned into FairFace's vocabulary."""

from evenhand.benchmarks.fairface.normalise.normaliser import NORMALISER_VERSION, Normaliser
from evenhand.benchmarks.fairface.normalise.readings import FaceAnswer, Mode, Reason, nothing, unknown

__all__ = ["NORMALISER_VERSION", "FaceAnswer", "Mode", "Normaliser", "Reason", "nothing", "unknown"]
