"""Helpers of the published evaluation that scripts import: checks of arguments, rows of a task, label maps, curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.codec import FaceMapCodec, face_map, label_map
from evenhand.compat.fhibe.evaluate.arguments import check_attributes, check_metrics
from evenhand.compat.fhibe.evaluate.arguments import check_task as validate_dataset_and_task
from evenhand.compat.fhibe.evaluate.preparation import get_eval_api, prepare_evaluation

__all__ = [
    "format_threshold_results",
    "get_eval_api",
    "prepare_evaluation",
    "validate_attributes",
    "validate_dataset_and_task",
    "validate_metrics",
]


def validate_metrics(task_name: str, metrics: Any = None) -> Any:
    """The metrics of a task where none are asked for; else metric → its thresholds, None for the published ones.

    >>> validate_metrics("keypoint_estimation"), validate_metrics("face_parsing", ["f1"])
    (['PCK', 'AR_OKS'], {'F1': {'thresholds': None}})
    """
    check_metrics(metrics, task_name)
    if not metrics:
        return list(vocabulary.DEFAULT_METRICS[task_name])
    if isinstance(metrics, list):
        return {name.upper(): {"thresholds": None} for name in metrics}
    return {name.upper(): settings for name, settings in metrics.items()}


def validate_attributes(dataset_base: str, attributes: Any) -> list[str]:
    """The attributes in canonical order; raises ValueError for one that the data set does not have."""
    tasks = vocabulary.BODY_TASKS if dataset_base == "fhibe" else vocabulary.FACE_TASKS
    return list(check_attributes(attributes, tasks[0]))


def _encode_mask(decoded_mask: Any) -> dict[int, dict[str, Any]]:
    """A label map as one run-length mask per label that occurs.

    >>> _encode_mask(np.array([[0, 3], [0, 3]]))[3]
    {'size': [2, 2], 'counts': '22'}
    """
    return {label: runs.plain for label, runs in face_map(np.asarray(decoded_mask)).masks.items()}


def _decode_mask(encoded_mask: Mapping[Any, Any]) -> list[list[int]] | None:
    """The label map, as nested lists, that run-length masks by label stand for; None when there are none.

    >>> _decode_mask({"3": {"size": [2, 2], "counts": "22"}})
    [[0, 3], [0, 3]]
    """
    answer = FaceMapCodec().from_plain({"detections_rle": dict(encoded_mask)})
    if not answer.masks:
        return None
    first = next(iter(answer.masks.values()))
    labels: list[list[int]] = label_map(answer, first.height, first.width).tolist()
    return labels


def format_threshold_results(in_results: Mapping[str, Any], metric_name: str) -> dict[float, float]:
    """Threshold → value over all images, from the content of a threshold file (`iou`, `oks` or `pck`).

    >>> format_threshold_results({"0.50": {"summary": "0.91"}}, "iou")
    {0.5: 0.91}
    """
    if metric_name in ("iou", "oks"):
        return {float(key): float(entry["summary"]) for key, entry in in_results.items()}
    if metric_name != "pck":
        raise NotImplementedError(f"This function is not implemented for metric: {metric_name}")
    shares = [entry["pcks@thresholds"] for entry in in_results["results"].values()]
    rows = np.array(shares, dtype=np.float64).reshape(len(shares), -1)
    known = ~np.isnan(rows)
    means = [
        float(rows[known[:, at], at].mean()) if known[:, at].any() else float("nan") for at in range(rows.shape[1])
    ]
    return dict(zip(in_results["thresholds"], means, strict=True))
