"""One row per pair of pictures: how far apart their embeddings are, and whether both show one person."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

from evenhand.benchmarks.pairs.codec import PairDistances
from evenhand.benchmarks.pairs.data import PairSet
from evenhand.benchmarks.pairs.metrics import (
    THRESHOLDS,
    Counter,
    TenFoldAccuracy,
    folded_accuracy,
    is_of_one_kind,
    shared_threshold,
)
from evenhand.benchmarks.pairs.options import PairSetOptions
from evenhand.core.records import Array, LazyColumns, Records
from evenhand.core.task import Dataset, Tools
from evenhand.core.view import SampleView

FOLDS = "folds"
_MOST_WITH_NAMES = 1_000_000  # pairs: names are five times as large as all else in a row


def record_pairs(
    dataset: Dataset[PairSet], predictions: PairDistances, options: PairSetOptions, tools: Tools
) -> Iterator[Records]:
    """Rows in the order of the set; `unit` and `unit_b` are the people, or the pair itself where they are not known.

    `score` is the negated distance, −∞ for a pair without an embedding: it is never accepted. `picture` and
    `picture_b` are the names of the pictures, in a `.bin` their numbers; of more than a million pairs, `item` alone
    says which pair of the set a row is about.
    """
    truth = dataset.truth
    distance = predictions.content
    missing = np.isnan(distance)
    units = (
        {"unit": np.arange(len(truth))}
        if truth.people is None
        else dict(zip(("unit", "unit_b"), truth.people, strict=True))
    )
    sides = {"picture": truth.first, "picture_b": truth.second} if len(truth) <= _MOST_WITH_NAMES else {}
    columns = LazyColumns(
        len(truth),
        {
            "item": np.arange(len(truth)),
            **{name: partial(_names, truth, pictures) for name, pictures in sides.items()},
            **units,
            "fold": truth.fold,
            "same": truth.same,
            "distance": distance,
            "score": np.where(missing, -np.inf, -distance),
            "failed": missing,
            "left_out": missing & (options.missing == "exclude"),
        },
    )
    yield Records(columns, dict(truth.attributes))


def _names(truth: PairSet, pictures: Array) -> Array:
    return np.asarray(np.array(truth.pictures)[pictures])


def fold_facts(rows: Records, options: PairSetOptions) -> Mapping[str, Any]:
    """Accuracy and threshold of every fold, of everyone and of every group that has both kinds of pairs; and the
    threshold for all."""
    tables = {"everyone": rows}
    for name, attribute in rows.attributes.items():
        for level in attribute.levels:
            tables[f"{name}={level}"] = rows.take(np.flatnonzero(attribute.belongs(level)))
    measure = TenFoldAccuracy("folds").measure
    counts = {name: Counter(measure(some), THRESHOLDS).counts(None) for name, some in tables.items()}
    facts = []
    for name, some in counts.items():
        if is_of_one_kind(some, counts["everyone"]):
            continue
        accuracy, threshold = folded_accuracy(some)
        facts.append({"group": name, "accuracy": accuracy.tolist(), "threshold": threshold.tolist()})
    return {FOLDS: facts, "shared_threshold": float(THRESHOLDS[shared_threshold(counts["everyone"])])}


def view_pair(dataset: Dataset[PairSet], answers: object, row: Mapping[str, Any]) -> SampleView:
    """Both pictures of a pair, with their distance."""
    truth, place = dataset.truth, int(row["item"])
    samples = dataset.samples
    passes = max(len(samples) // max(len(truth.pictures), 1), 1)  # a picture, and its mirror image where it is used
    pictures = [path for side in (truth.first, truth.second) for path in samples[passes * int(side[place])].media]
    answer_text = "no embedding" if row["failed"] else f"distance {float(row['distance']):.3f}"
    words = "same person" if truth.same[place] else "different people"
    return SampleView(tuple(pictures), truth=words, answer=answer_text, is_wrong=bool(row["failed"]))
