"""BCubed from two files, as the dataset's own scripts are called.

The same reading, rows and metrics as tests 7 and 8; only the files are named one by one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from evenhand.benchmarks.ijb.clusters import (
    ClusterCodec,
    ClusterTruth,
    FacesOfInterest,
    associate,
    read_cluster_truth,
    read_clustered_detections,
    record_clusters,
    record_detection_clusters,
)
from evenhand.benchmarks.ijb.detection import complete_boxes
from evenhand.benchmarks.ijb.files import read_table
from evenhand.benchmarks.ijb.options import ClusteringOptions, DetectionClusteringOptions
from evenhand.benchmarks.ijb.templates import BOX
from evenhand.core.metric import Undefined
from evenhand.core.records import Records
from evenhand.core.task import Dataset, Submitted, Tools
from evenhand.metrics.clustering import FAILED_TO_ENROL, BCubed

ALL = BCubed("BCubed")
WITHOUT_FAILURES = BCubed("BCubed without FTE", recall="recall_enrolled", among="enrolled")
WITHOUT_ASSIGNED = BCubed("BCubed without assigned FTE", recall="recall_assigned", among="not_assigned_failure")


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


def report_clusters(cluster_file: Path, ground_truth: Path, *, no_fte: bool = False) -> ClusterReport:
    """Modified BCubed of test 7 from a cluster file and a ground truth.

    Events are the lines of the cluster file: one ground truth may serve all sub-protocols.
    """
    table, template, subject, filename = read_cluster_truth(ground_truth)
    truth = ClusterTruth(template, subject, filename, Path(ground_truth), ())
    dataset = Dataset(version="", samples=(), truth=truth, inputs=(table.fact,))
    answers = ClusterCodec().read(cluster_file, dataset, ClusteringOptions())
    (rows,) = record_clusters(dataset, answers, ClusteringOptions(), Tools())
    return _report(rows, WITHOUT_FAILURES if no_fte else ALL)


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
    table = read_table(ground_truth)
    table.require("SUBJECT_ID", "FILENAME", *BOX)
    truth = FacesOfInterest(table.whole("SUBJECT_ID"), table.text("FILENAME"), complete_boxes(table))
    dataset = Dataset(version="", samples=(), truth=truth, inputs=(table.fact,))
    detections, fact = read_clustered_detections(detection_cluster_file)
    answers = Submitted(detections, inputs=(fact,))
    (rows,) = record_detection_clusters(dataset, answers, DetectionClusteringOptions(iou=iou), Tools())
    metric = ALL if not no_fte else WITHOUT_ASSIGNED if assigned_only else WITHOUT_FAILURES
    report = _report(rows, metric)
    found = associate(truth, detections, iou)
    background = detections.cluster[found.background]
    return AssociationReport(
        report.precision,
        report.recall,
        report.f,
        report.n_events,
        report.n_fte,
        n_associated=len(found.face),
        n_undetected=len(truth.subject) - len(found.face),
        n_background=len(background),
        n_background_clustered=int((background != FAILED_TO_ENROL).sum()),
        association=tuple(zip(found.face.tolist(), found.detection.tolist(), strict=True)),
    )


def _report(rows: Records, metric: BCubed) -> ClusterReport:
    state = metric.measure(rows)
    values = metric.result(state, state)
    counted = np.ones(len(rows), np.bool_) if metric.among is None else np.asarray(rows[metric.among])
    failures = int((counted & ~np.asarray(rows["enrolled"])).sum())
    precision, recall, f = (values[output][0] for output in ("precision", "recall", "F"))
    assert isinstance(precision, float | Undefined)
    assert isinstance(recall, float | Undefined)
    assert isinstance(f, float | Undefined)
    return ClusterReport(precision, recall, f, int(counted.sum()), failures)
