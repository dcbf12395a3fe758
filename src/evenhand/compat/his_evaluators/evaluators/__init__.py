"""Evaluators by task, under the names of the published package."""

from evenhand.compat.his_evaluators.evaluators.base import PairedMetricRunner, UnpairedMetricRunner
from evenhand.compat.his_evaluators.evaluators.motion_imitation import (
    AppearanceTransferEvaluator,
    FashionVideoMotionImitationEvaluator,
    IPERAppearanceTransferEvaluator,
    IPERMotionImitationEvaluator,
    IPERNovelViewEvaluator,
    MotionImitationEvaluator,
    MotionSyntheticMotionImitationEvaluator,
    NovelViewEvaluator,
    YoutubeDancer18MotionImitationEvaluator,
)

__all__ = [
    "AppearanceTransferEvaluator",
    "FashionVideoMotionImitationEvaluator",
    "IPERAppearanceTransferEvaluator",
    "IPERMotionImitationEvaluator",
    "IPERNovelViewEvaluator",
    "MotionImitationEvaluator",
    "MotionSyntheticMotionImitationEvaluator",
    "NovelViewEvaluator",
    "PairedMetricRunner",
    "UnpairedMetricRunner",
    "YoutubeDancer18MotionImitationEvaluator",
]
