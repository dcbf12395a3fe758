"""BCubed from two files, as the dataset's own scripts are called.

The same reading, rows and metrics as tests 7 and 8; only the files are named one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.ijb.clusters import (
    ALL,
    WITHOUT_ASSIGNED,
    WITHOUT_FAILURES,
    ClusterCodec,
    ClusterTruth,
    DetectionClusterCodec,
    FacesOfInterest,
    associate,
    record_clusters,
    record_detection_clusters,
)
from evenhand.benchmarks.ijb.options import ClusteringOptions, DetectionClusteringOptions
from evenhand.core.metric import Undefined
from evenhand.core.records import Records
from evenhand.core.task import Dataset, Tools
from evenhand.metrics.clustering import FAILED_TO_ENROL, BCubed


@dataclass(frozen=True)
class ClusterReport:
    """BCubed of a clustering, with the counts it is based on."""

    precision: float | Undefined
    recall: float | Undefined
    f: float | Undefined
    n_events: int
    n_fte: int


@dataclass(frozen=True)
class AssociationReport(ClusterReport):
    """The same with what became of detections; `association` are rows of the two files, from 0."""

    n_associated: int
    n_undetected: int
    n_background: int
    n_background_clustered: int
    association: tuple[tuple[int, int], ...]
    warnings: tuple[str, ...] = ()


def report_clusters(cluster_file: Path, ground_truth: Path, *, no_fte: bool = False) -> ClusterReport:
    """Modified BCubed of test 7 from a cluster file and a ground truth.

    Events are the lines of the cluster file: one ground truth may serve all sub-protocols.
    """
    truth, fact = ClusterTruth.read(ground_truth)
    dataset = Dataset(version="", samples=(), truth=truth, inputs=(fact,))
    answers = ClusterCodec().read(cluster_file, dataset, ClusteringOptions())
    (rows,) = record_clusters(dataset, answers, ClusteringOptions(), Tools())
    return ClusterReport(**_values(rows, WITHOUT_FAILURES if no_fte else ALL))


def report_association(
    detection_cluster_file: Path,
    ground_truth: Path,
    *,
    no_fte: bool = False,
    assigned_only: bool = False,
    iou: float = 0.5,
) -> AssociationReport:
    """Modified BCubed of test 8 from a file of clustered detections and a ground truth.

    `no_fte` leaves failures to enrol out, faces without a detection too unless `assigned_only`.
    """
    truth, fact = FacesOfInterest.read(ground_truth)
    dataset = Dataset(version="", samples=(), truth=truth, inputs=(fact,))
    options = DetectionClusteringOptions(iou=iou)
    answers = DetectionClusterCodec().read(detection_cluster_file, dataset, options)
    (rows,) = record_detection_clusters(dataset, answers, options, Tools())
    attached = associate(truth, answers.content, iou)
    background = answers.content.cluster[attached.background]
    return AssociationReport(
        **_values(rows, ALL if not no_fte else WITHOUT_ASSIGNED if assigned_only else WITHOUT_FAILURES),
        n_associated=len(attached.face),
        n_undetected=len(truth.subject) - len(attached.face),
        n_background=len(background),
        n_background_clustered=int((background != FAILED_TO_ENROL).sum()),
        association=tuple(zip(attached.face.tolist(), attached.detection.tolist(), strict=True)),
        warnings=answers.warnings,
    )


def _values(rows: Records, metric: BCubed) -> dict[str, Any]:
    state = metric.measure(rows)
    values = metric.result(state, state)
    counted = np.ones(len(rows), np.bool_) if metric.among is None else np.asarray(rows[metric.among])
    return {
        "precision": values["precision"][0],
        "recall": values["recall"][0],
        "f": values["F"][0],
        "n_events": int(counted.sum()),
        "n_fte": int((counted & ~np.asarray(rows["enrolled"])).sum()),
    }
