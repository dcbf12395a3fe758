"""The metrics that tables of users bring: weights, rates of classes and scores, functions, selections."""

from __future__ import annotations

from typing import Any

import numpy as np
from laws import Listed

from evenhand.core.metric import POSITIVE, UNIT_SCALE, Direction
from evenhand.core.records import Records
from evenhand.metrics.average_precision import AveragePrecision
from evenhand.metrics.custom import FunctionMetric, Selected
from evenhand.metrics.labels import ClassRates, Confusion
from evenhand.metrics.means import Mean, Rate, RootMeanSquareError
from evenhand.metrics.reliability import Reliability
from evenhand.metrics.scores import ScoreRates, WeightedSeparation

CLASSES = ("a", "b", "c")


def rows(rng: np.random.Generator, n: int) -> Records:
    score = np.round(rng.random(n), 2)
    score[rng.random(n) < 0.05] = np.nan
    return Records(
        {
            "truth": rng.integers(0, 3, n),
            "answer": rng.integers(-1, 4, n),
            "score": score,
            "score_at": np.stack([score, np.where(rng.random(n) < 0.5, score, np.nan)], axis=1),
            "category": rng.integers(0, 2, n),
            "same": rng.random(n) < 0.5,
            "error": rng.normal(size=n),
            "weight": rng.random(n) * (rng.random(n) < 0.9),
        },
        {},
    )


def agreement(truth: np.ndarray[Any, Any], prediction: np.ndarray[Any, Any]) -> float:
    return float((truth == prediction).mean())


FUNCTION = FunctionMetric("agreement", agreement, "truth", "answer", scale=UNIT_SCALE)
RATES = ClassRates("rates", CLASSES)
LISTED = [
    Listed("weighted mean", Mean("mean", "score", scale=UNIT_SCALE, weight="weight"), rows, exact=False),
    Listed("absolute mean", Mean("mae", "error", scale=POSITIVE, absolute=True), rows, exact=False),
    Listed("weighted rate", Rate("rate", "same", weight="weight"), rows, exact=False),
    Listed("weighted confusion", Confusion("labels", CLASSES, weight="weight"), rows, exact=False),
    Listed("root mean square", RootMeanSquareError("rmse", "error", direction=Direction.LOWER), rows, exact=False),
    Listed("class rates", RATES, rows),
    Listed("rates of one class", ClassRates("rates", CLASSES, positive="b"), rows),
    Listed("score rates", ScoreRates("rates", (0.1,), (0.9,), (0.5,)), rows),
    Listed("weighted score rates", ScoreRates("rates", (0.1,), (), weight="weight"), rows, exact=False),
    Listed("weighted separation", WeightedSeparation("ranking", "weight"), rows, exact=False),
    Listed("weighted reliability", Reliability("confidence", "score", "same", weight="weight"), rows, exact=False),
    Listed("average precision", AveragePrecision("AP", (0.5, 0.75), is_object="same"), rows),
    Listed("function", FUNCTION, rows),
    Listed("selected", Selected("rates", RATES, ("selection_rate:b",)), rows),
]
