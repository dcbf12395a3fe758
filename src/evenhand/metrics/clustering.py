"""Modified BCubed: how pure the clusters are, and how whole the people.

A face's precision is the share of its cluster that shows the same person, its recall the
share of its person's faces that are in the same cluster. Both depend on the whole
clustering, so they are computed once, by `bcubed`, and written into one row per face; the
metric only averages them. F is computed from the averages.

A failure to enrol (cluster −1) has precision 0 and recall 0, joins no cluster, and stays in
the recall denominator of its person. Background faces dilute the precision of a cluster and
are no events themselves (IJB-B README, 4.2.7, 4.2.8 and 5).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.core.metric import UNIT_SCALE, Column, Direction, Numbers, Scale, ratio
from evenhand.core.records import Array, Records
from evenhand.metrics.means import RatioMetric, Sums

FAILED_TO_ENROL = -1


class FaceScores(NamedTuple):
    """Precision and recall of every face."""

    precision: NDArray[np.float64]  # (faces,)
    recall: NDArray[np.float64]  # (faces,)


def bcubed(subjects: Array, clusters: Array, background: Array | None = None) -> FaceScores:
    """Precision and recall of every face, in the order given.

    `subjects` and `clusters` are whole numbers per face; a cluster of −1 is a failure to enrol.
    `background` holds the clusters of background faces; −1 among them is ignored.

    The example of the dataset guide: cluster 1 is α α β and one background face, cluster 2 is
    α β and two background faces.

    >>> scores = bcubed(np.array([0, 0, 1, 0, 1]), np.array([1, 1, 1, 2, 2]), np.array([1, 2, 2]))
    >>> scores.precision.mean().round(4).item(), scores.recall.mean().round(4).item()
    (0.35, 0.5333)
    """
    subjects, clusters = np.asarray(subjects), np.asarray(clusters)
    enrolled = np.flatnonzero(clusters != FAILED_TO_ENROL)
    _, subject = np.unique(subjects, return_inverse=True)
    names, cluster = np.unique(clusters[enrolled], return_inverse=True)
    of_subject = np.bincount(subject)
    of_cluster = np.bincount(cluster, minlength=len(names))
    if background is not None:
        known = np.asarray(background)[np.isin(background, names)]  # not in clusters of background only, nor −1
        of_cluster = of_cluster + np.bincount(np.searchsorted(names, known), minlength=len(names))
    together = _cell_sizes(subject[enrolled], cluster, len(names))
    precision, recall = np.zeros(len(subjects)), np.zeros(len(subjects))
    precision[enrolled] = together / of_cluster[cluster]
    recall[enrolled] = together / of_subject[subject[enrolled]]
    return FaceScores(precision, recall)


@dataclass(frozen=True)
class BCubed(RatioMetric):
    """Mean precision and recall of faces in their clusters, and F = 2PR/(P+R) of the two means.

    `among` names a column that is true of the faces that are events here; failures
    to enrol are events unless it says otherwise. Draws of subjects are conditional on the
    clustering: no face is clustered again.
    """

    name: str
    precision: str = "precision"
    recall: str = "recall"
    among: str | None = None
    nothing: ClassVar[str] = "no faces to be clustered"  # type: ignore[misc]  # not a parameter
    output_scale: ClassVar[Scale] = UNIT_SCALE

    @property
    def outputs(self) -> Mapping[str, Direction]:
        return {"precision": Direction.HIGHER, "recall": Direction.HIGHER, "F": Direction.HIGHER}

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.precision, self.recall) if self.among is None else (self.precision, self.recall, self.among)

    def values(self, rows: Records) -> Array:
        return np.stack([np.asarray(rows[name], dtype=np.float64) for name in (self.precision, self.recall)], axis=1)

    def counts(self, rows: Records) -> Array | None:
        return None if self.among is None else np.asarray(rows[self.among], dtype=np.bool_)

    def numerators(self, state: Sums) -> Mapping[str, Array]:
        return {"precision": state.top[:, 0], "recall": state.top[:, 1]}

    def result(self, part: Sums, whole: Sums) -> Mapping[str, Column]:
        means = {name: ratio(top, part.count, self.nothing) for name, top in self.numerators(part).items()}
        precision, recall = means["precision"].values, means["recall"].values
        both = precision + recall
        f = np.divide(2 * precision * recall, both, out=np.zeros_like(both), where=both != 0)
        f[np.isnan(both)] = np.nan
        return {**means, "F": Numbers(f, self.nothing)}

    def row_scores(self, rows: Records) -> None:
        return None


def _cell_sizes(subject: Array, cluster: Array, clusters: int) -> Array:
    """(faces,): how many faces share both subject and cluster with each."""
    key = subject.astype(np.int64) * max(clusters, 1) + cluster
    span = int(key.max(initial=-1)) + 1
    if span <= 64 * len(key) + 4096:
        return np.bincount(key, minlength=span)[key]
    _, inverse, counts = np.unique(key, return_inverse=True, return_counts=True)
    return np.asarray(counts[inverse])
