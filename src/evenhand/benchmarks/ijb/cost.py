"""How many multiply-adds it takes to compare templates, estimated beforehand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb.data import PairTruth, SearchTruth
from evenhand.core.errors import PredictionError
from evenhand.core.task import Dataset
from evenhand.files.arrays import array_headers

_WORTH_A_PRODUCT = 64  # as in search.compare: one listed pair in so many makes the whole product cheaper


def pair_cost(dataset: Dataset[PairTruth], predictions: Path, options: Any) -> int:
    """Multiply-adds of the listed pairs; 0 when scores are given."""
    truth, width = dataset.truth, dimensions(predictions)
    area = len(np.unique(truth.first)) * len(np.unique(truth.second))
    pairs = len(truth.first)
    return width * (area if pairs * _WORTH_A_PRODUCT >= area else pairs)


def search_cost(dataset: Dataset[SearchTruth], predictions: Path, options: Any) -> int:
    """Multiply-adds of every probe with every template of every gallery; 0 when scores are given."""
    width = dimensions(predictions)
    return sum(width * len(gallery.ids) * len(gallery.probes.ids) for gallery in dataset.truth.galleries)


def dimensions(predictions: Path) -> int:
    """The length of the embeddings in a submission, from the header of its array; 0 when it has none."""
    files = [predictions] if predictions.suffix == ".npy" else sorted(predictions.glob("*.npy"))
    for file in files:
        try:
            shape = array_headers(file, PredictionError)[""].shape
        except PredictionError:  # whoever reads it says what is wrong
            continue
        if len(shape) == 2:
            return shape[1]
    return 0
