"""The arguments of `evaluate_task`, checked in the published order with the published exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.data import checked_keypoints
from evenhand.benchmarks.fhibe.options import ACCURACY_GRID, PCK_GRID, RECALL_GRID
from evenhand.benchmarks.fhibe.table import BODY_TABLE, FACE_TABLE, table_path
from evenhand.compat.fhibe.errors import ArgumentKeyError, ArgumentValueError, TableMissingError, logger
from evenhand.core.errors import OptionError

_LOG = logger(__name__)
DATASETS: Mapping[str, tuple[str, ...]] = {
    "fhibe": vocabulary.BODY_TASKS,
    "fhibe_face_crop_align": vocabulary.FACE_TASKS,
    "fhibe_face_crop": vocabulary.FACE_TASKS,
}


class ThresholdMetric(NamedTuple):
    """A metric with thresholds: the published ones, and where the task and a results folder have them."""

    grid: tuple[float, ...]
    option: str  # of the task
    kind: str  # in the names of its threshold files
    column: str = ""  # of the rows: the score that reaches a threshold or not
    scores: str = ""  # the file of these scores
    curve: str = ""  # what its curve over thresholds shows

    @property
    def file(self) -> str:
        """The file of a results folder that has its thresholds."""
        return "pck_scores_threshold.json" if self.kind == "pck" else f"detailed_results_{self.kind}_threshold.json"


_IOU, _OKS = "Share with IoU ≥ threshold", "Share with OKS ≥ threshold"
THRESHOLDED: Mapping[str, ThresholdMetric] = {
    "AR_IOU": ThresholdMetric(RECALL_GRID, "thresholds", "iou", "overlap", "gt_bbox_iou_scores.json", _IOU),
    "AR_MASK": ThresholdMetric(RECALL_GRID, "thresholds", "iou", "overlap", "gt_mask_iou_scores.json", _IOU),
    "AR_OKS": ThresholdMetric(RECALL_GRID, "oks_thresholds", "oks", "oks", "oks_scores.json", _OKS),
    "PCK": ThresholdMetric(PCK_GRID, "pck_thresholds", "pck", curve="Mean PCK"),
    "AR_DET": ThresholdMetric(RECALL_GRID, "recall_thresholds", "body_parts_AR_DET"),
    "ACC_DET": ThresholdMetric(ACCURACY_GRID, "accuracy_thresholds", "body_parts_ACC_DET"),
}


@dataclass(frozen=True)
class EvaluationArguments:
    """What `evaluate_task` was asked to do, checked."""

    root: Path
    task: str
    attributes: tuple[str, ...]  # canonical order
    thresholds: Mapping[str, tuple[float, ...]]  # metric → its grid; empty for metrics without one
    mini: int | None
    custom_keypoints: tuple[str, ...] | None
    results: Path
    named: bool = False  # the metrics were named, so one that can't be computed is an error


def check_table(root: Path, dataset: str, *, downsampled: bool) -> str:
    """The folder of the data set's table; raises when there is none, or one that can't be evaluated."""
    folder = dataset_folder(dataset, downsampled=downsampled)
    if not table_path(root, folder).is_file():
        raise TableMissingError(
            f"Combined annotation file not found: {table_path(root, folder)}. data_rootdir is the folder that holds "
            "`data/processed`."
        )
    if folder not in (BODY_TABLE, FACE_TABLE):
        raise TableMissingError(
            f"{folder} can't be evaluated; {BODY_TABLE} and {FACE_TABLE} can. Set downsampled=True."
        )
    return folder


def check_task(task_name: Any, dataset_name: Any, dataset_base: Any) -> None:
    """Raises ValueError for a data set that does not exist, KeyError for a task that it does not have.

    `dataset_base` is the data set whose tasks count: itself, or the name without what its pictures were made of.
    """
    if dataset_name not in DATASETS:
        raise ArgumentValueError(f"dataset: {dataset_name} must be one of {list(DATASETS)}")
    tasks = list(DATASETS[FACE_TABLE if dataset_base == "fhibe_face" else dataset_base])
    if task_name not in tasks:
        raise ArgumentKeyError(
            f"Task name: {task_name} not found in list of available tasks for dataset: {dataset_name}: {tasks}"
        )


def check_attributes(asked: Any, task: str) -> tuple[str, ...]:
    """The attributes in canonical order."""
    if not isinstance(asked, list):
        raise ArgumentValueError(f"Attributes must be a list of names, not {type(asked).__name__}.")
    known = vocabulary.attributes_of(task)
    for name in asked:
        if not isinstance(name, str):
            raise ArgumentValueError(f"Attributes must be strings; {name!r} is a {type(name).__name__}.")
        if name not in known:
            raise ArgumentValueError(f"{name} is not a valid attribute. It must be one of {list(known)}.")
    return names.canonical(asked)


def check_metrics(asked: Any, task: str) -> dict[str, tuple[float, ...]]:
    """Metric → thresholds; `None` or nothing means all metrics of the task with their own grids."""
    known = vocabulary.DEFAULT_METRICS[task]
    if asked is not None and not isinstance(asked, list | dict):
        raise ArgumentValueError("metrics must be a dictionary, list, or None")
    if not asked or isinstance(asked, list):
        return {name: _grid(name) for name in (_metric(name, task) for name in asked or known)}
    chosen = {}
    for name, settings in asked.items():
        if not isinstance(settings, dict):
            raise ArgumentValueError(f"Metric key: {name} must map to a dict.")
        if "thresholds" not in settings:
            raise ArgumentKeyError(f"metrics[{name!r}] dict must have a 'thresholds' key.")
        if not isinstance(settings["thresholds"], list):
            raise ArgumentValueError(f"metrics[{name!r}]['thresholds'] must map to a list.")
        for key in settings:
            if key != "thresholds":
                raise ArgumentKeyError(f"Key: {key} should not be present in metrics[{name!r}] dict.")
    for name, settings in asked.items():
        metric = _metric(name, task)
        chosen[metric] = _numbers(metric, settings["thresholds"]) or _grid(metric)
    return chosen


def dataset_folder(dataset: str, *, downsampled: bool) -> str:
    """The data set's name as a folder: body pictures exist downsampled only."""
    return dataset if "_crop" in dataset or "_align" in dataset or not downsampled else f"{dataset}_downsampled"


def results_folder(root: Any, task: str, dataset: str, model: str, *, mini: bool) -> Path:
    """`<results>[/mini]/<task>/<data set>/<model>`; results lie below the working folder unless a place is named."""
    base = Path("results") if root is None else Path(root)
    return (base / "mini" if mini else base) / task / dataset / check_model_name(model)


def check_model_name(name: Any) -> str:
    """The name of a model, which is the name of its results folder: it may lead to no place outside of the results."""
    path = Path(name) if isinstance(name, str) else Path()
    if not path.parts or path.is_absolute() or ".." in path.parts or "\0" in str(name):
        raise ArgumentValueError(
            f"model_name: {name!r} can't be the name of a results folder. Name the model without '..' or a leading '/'."
        )
    return str(name)


def _metric(name: Any, task: str) -> str:
    known = vocabulary.DEFAULT_METRICS[task]
    if not isinstance(name, str) or name.upper() not in known:
        error = ArgumentValueError(f"Metric: {name} is not implemented for task: {task}.")
        error.add_note(f"It has: {', '.join(known)}.")
        raise error
    return name.upper()


def _grid(metric: str) -> tuple[float, ...]:
    return THRESHOLDED[metric].grid if metric in THRESHOLDED else ()


def _numbers(metric: str, thresholds: Sequence[Any]) -> tuple[float, ...]:
    try:
        return tuple(float(threshold) for threshold in thresholds)
    except (TypeError, ValueError):
        raise ArgumentValueError(f"The thresholds of {metric} must be numbers; found {thresholds!r}.") from None


def check_task_arguments(given: Mapping[str, Any], task: str) -> tuple[str, ...] | None:
    """The keypoints that were asked for, the one further argument that a task takes; others are said and ignored."""
    meant = {"custom_keypoints"} if task == "keypoint_estimation" else set()
    for name in sorted(given.keys() - meant):
        _LOG.warning("evaluate_task: %s has no meaning for %s and is ignored.", name, task)
    custom = given.get("custom_keypoints") if meant else None
    return None if custom is None else check_keypoints(custom)


def check_keypoints(custom: Any) -> tuple[str, ...]:
    """The keypoints that are evaluated: those that were asked for, else all."""
    try:
        return checked_keypoints(custom)
    except OptionError as error:
        raise ArgumentValueError(str(error)) from None
