"""Helpers of the published evaluation that scripts import: label maps as run lengths, and threshold curves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe.codec import FaceMapCodec, face_map, label_map


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
        raise NotImplementedError(f"There is no threshold curve for {metric_name!r}; known: iou, oks, pck.")
    shares = [entry["pcks@thresholds"] for entry in in_results["results"].values()]
    rows = np.array(shares, dtype=np.float64).reshape(len(shares), -1)
    known = rows[~np.isnan(rows).any(axis=1)]
    means = known.mean(axis=0).tolist() if len(known) else [float("nan")] * len(in_results["thresholds"])
    return dict(zip(in_results["thresholds"], means, strict=True))
