"""What a page shows of a pair: both pictures."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from evenhand.benchmarks.pairs.data import PairSet
from evenhand.core.task import Dataset
from evenhand.core.view import SampleView


def view_pair(dataset: Dataset[PairSet], answers: object, row: Mapping[str, Any]) -> SampleView:
    """Both pictures of a pair, with their distance."""
    truth, place = dataset.truth, int(row["item"])
    samples = dataset.samples
    passes = max(len(samples) // max(len(truth.pictures), 1), 1)  # a picture, and its mirror image where it is used
    pictures = [path for side in (truth.first, truth.second) for path in samples[passes * int(side[place])].media]
    answer_text = "no embedding" if row["failed"] else f"distance {float(row['distance']):.3f}"
    words = "same person" if truth.same[place] else "different people"
    return SampleView(tuple(pictures), truth=words, answer=answer_text, is_wrong=bool(row["failed"]))
