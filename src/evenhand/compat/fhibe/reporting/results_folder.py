"""A published results folder, opened: group scores, thresholds and summaries from its files.

Only the attribute combinations that are asked for are decoded, so a file of hundreds of megabytes
opens quickly. Score caches in the folder are not used.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import attributes, vocabulary
from evenhand.benchmarks.fhibe.output_file import parse, read_stored, top_level
from evenhand.compat.fhibe.errors import ArgumentKeyError
from evenhand.compat.fhibe.evaluate.arguments import THRESHOLDED
from evenhand.compat.fhibe.evaluate.utils import format_threshold_results
from evenhand.core.errors import RunError
from evenhand.core.records import Array
from evenhand.files import inputs

_PREFIX = "intersectional_results_"


@dataclass(frozen=True)
class StoredScores:
    """`intersectional_results_<METRIC>.json`: attribute combination → group → scores."""

    metric: str
    content: Mapping[str, Any]
    parts: tuple[str, ...] | None

    def groups(self, by: Sequence[str], part: str | None) -> dict[str, Array]:
        """Every group of an attribute combination with its scores, in file order; undefined ones left out."""
        entries = self.entries(by)
        if part is not None:
            entries = {key: entry[part] for key, entry in entries.items()}
        scores = {key: np.array(entry["scores"], dtype=np.float64) for key, entry in entries.items()}
        return {key: values[~np.isnan(values)] for key, values in scores.items()}

    def entries(self, by: Sequence[str]) -> dict[str, Any]:
        """The raw entries of an attribute combination."""
        key = attributes.group_key(by)
        if key not in self.content:
            known = [attributes.parse_key(name) for name in self.content if name.startswith("[")]
            single = [names[0] for names in known if len(names) == 1]
            raise ArgumentKeyError(f"{key} was not evaluated. Evaluated attributes: {', '.join(single)}.")
        content = self.content[key]
        return dict(content if isinstance(content, dict) else parse(bytes(content)))

    def by_group(self, attribute: str, *, regions: bool = False) -> dict[str, Any]:
        """The raw entries of one attribute by the value of each group; with `regions`, of its largest regions only."""
        entries = {attributes.parse_key(key)[0]: entry for key, entry in self.entries((attribute,)).items()}
        kept = vocabulary.REGIONS.get(attribute, entries) if regions else entries
        return {group: entry for group, entry in entries.items() if group in kept}


def stored_metrics(folder: Path) -> tuple[str, ...]:
    """The metrics that a results folder has, sorted; files of metrics that no task has are not looked at."""
    known = {metric for metrics in vocabulary.DEFAULT_METRICS.values() for metric in metrics}
    return tuple(sorted(metric for metric in known if (folder / f"{_PREFIX}{metric}.json").is_file()))


def open_scores(folder: Path, metric: str) -> StoredScores:
    """The group scores of a metric."""
    path = folder / f"{_PREFIX}{metric}.json"
    content = top_level(inputs.read(path, RunError).data, path)
    return from_content(metric, content)


def from_content(metric: str, content: Mapping[str, Any]) -> StoredScores:
    """The same from values that are already read."""
    parts = None
    for key, value in content.items():
        if key.startswith("["):
            groups = value if isinstance(value, dict) else parse(bytes(value))
            entry: dict[str, Any] = next(iter(groups.values()), {})
            parts = None if "Class_Size" in entry or not entry else tuple(entry)
            break
    return StoredScores(metric, content, parts)


def _threshold_file(folder: Path, metric: str) -> Any:
    """The content of the file that has the thresholds of a metric; None for metrics without any."""
    path = folder / THRESHOLDED[metric].file if metric in THRESHOLDED else None
    return read_stored(path) if path is not None and path.is_file() else None


def stored_thresholds(folder: Path, metric: str) -> list[str]:
    """The thresholds of a metric with two decimals, as its file keeps them; nothing for metrics without any."""
    content = _threshold_file(folder, metric) or {}
    return [f"{level:.2f}" for level in content["thresholds"]] if "thresholds" in content else list(content)


def threshold_curve(folder: Path, metric: str) -> tuple[list[float], list[float]]:
    """Thresholds and accepted shares for the curve; nothing for metrics without one."""
    content = _threshold_file(folder, metric)
    if content is None or not THRESHOLDED[metric].curve:
        return [], []
    curve = format_threshold_results(content, THRESHOLDED[metric].kind)
    levels = sorted(curve)
    return levels, [curve[level] for level in levels]


def scored_rows(folder: Path) -> int | None:
    """How many rows a results folder is about, by its score files; None when it has none (verification)."""
    for name in ("gt_*_iou_scores.json", "oks_scores.json", "body_part_detections.json", "*_scores.json"):
        for path in sorted(folder.glob(name)):
            content = read_stored(path)
            if isinstance(content, list | dict):
                return len(content)
    path = folder / "pck_scores_threshold.json"
    return len(read_stored(path)["results"]) if path.is_file() else None


def custom_keypoints(folder: Path) -> tuple[str, ...]:
    """The keypoints that were evaluated, when they were a subset."""
    for metric in stored_metrics(folder):
        content = open_scores(folder, metric).content
        if "custom_keypoints" in content:
            names = content["custom_keypoints"]
            return tuple(names if isinstance(names, list) else parse(bytes(names)))
    return ()
