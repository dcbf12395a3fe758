"""The arguments of `evaluate_task`, checked in the published order with the published exceptions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fhibe import attributes, data, vocabulary
from evenhand.benchmarks.fhibe.options import ACCURACY_GRID, PCK_GRID, RECALL_GRID
from evenhand.benchmarks.fhibe.table import MINI_ROWS, table_path
from evenhand.compat.fhibe.errors import ArgumentKeyError, ArgumentValueError, TableMissingError
from evenhand.core.errors import OptionError

DATASETS: Mapping[str, tuple[str, ...]] = {
    "fhibe": vocabulary.BODY_TASKS,
    "fhibe_face_crop_align": vocabulary.FACE_TASKS,
    "fhibe_face_crop": vocabulary.FACE_TASKS,
}
_GRIDS: Mapping[str, tuple[float, ...]] = {"PCK": PCK_GRID, "ACC_DET": ACCURACY_GRID}
_WITH_THRESHOLDS = frozenset({"AR_IOU", "AR_MASK", "AR_OKS", "AR_DET", "ACC_DET", "PCK"})


@dataclass(frozen=True)
class Asked:
    """What `evaluate_task` was asked to do, checked."""

    root: Path
    dataset: str  # as a folder: with `_downsampled`
    task: str
    attributes: tuple[str, ...]  # canonical order
    thresholds: Mapping[str, tuple[float, ...]]  # metric → its grid; empty for metrics without one
    mini: int | None
    custom_keypoints: tuple[str, ...] | None
    results: Path
    named: bool = False  # the metrics were named, so one that can't be computed is an error

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, in order."""
        return tuple(self.thresholds)


def check_arguments(
    *,
    data_rootdir: Any,
    dataset_name: Any,
    model: Any,
    model_name: str,
    task_name: Any,
    metrics: Any,
    attributes_: Any,
    use_mini_dataset: bool,
    mini_dataset_size: int | None,
    downsampled: bool,
    reuse_model_outputs: bool,
    results_rootdir: Any,
    task_kwargs: Mapping[str, Any],
) -> Asked:
    """The arguments, checked in the order in which the published tool does."""
    if model is None and not reuse_model_outputs:
        raise ArgumentValueError("No model was given. Give one, or set reuse_model_outputs=True to use stored outputs.")
    if dataset_name not in DATASETS:
        raise ArgumentValueError(f"There is no data set {dataset_name!r}. Known: {', '.join(DATASETS)}.")
    if task_name not in DATASETS[dataset_name]:
        raise ArgumentKeyError(
            f"The data set {dataset_name!r} has no task {task_name!r}. It has: {', '.join(DATASETS[dataset_name])}."
        )
    chosen = check_attributes(attributes_, task_name)
    thresholds = check_metrics(metrics, task_name)
    folder = dataset_folder(dataset_name, downsampled=downsampled)
    root = Path(data_rootdir)
    if not table_path(root, folder).is_file():
        raise TableMissingError(
            f"{table_path(root, folder)} does not exist. data_rootdir is the folder that holds `data/processed`."
        )
    unknown = set(task_kwargs) - {"custom_keypoints"}
    if unknown:
        raise TypeError(f"evaluate_task() got an unexpected keyword argument {sorted(unknown)[0]!r}")
    custom = task_kwargs.get("custom_keypoints")
    if custom is not None:
        custom = _checked_keypoints(custom)
    mini = (mini_dataset_size or MINI_ROWS) if use_mini_dataset else None
    place = results_folder(results_rootdir, task_name, folder, model_name, mini=use_mini_dataset)
    return Asked(root, folder, task_name, chosen, thresholds, mini, custom, place, named=bool(metrics))


def check_attributes(asked: Any, task: str) -> tuple[str, ...]:
    """The attributes in canonical order."""
    if not isinstance(asked, list):
        raise ArgumentValueError(f"attributes must be a list of names, not {type(asked).__name__}.")
    known = vocabulary.attributes_of(task)
    for name in asked:
        if not isinstance(name, str):
            raise ArgumentValueError(f"attributes must be a list of names; {name!r} is a {type(name).__name__}.")
        if name not in known:
            raise ArgumentValueError(f"There is no attribute {name!r}. Known: {', '.join(known)}.")
    return attributes.canonical(asked)


def check_metrics(asked: Any, task: str) -> dict[str, tuple[float, ...]]:
    """Metric → thresholds; `None` or nothing means all metrics of the task with their own grids."""
    known = vocabulary.DEFAULT_METRICS[task]
    if asked is not None and not isinstance(asked, list | dict):
        raise ArgumentValueError(f"metrics must be a list or a mapping, not {type(asked).__name__}.")
    if not asked:
        return {name: default_thresholds(name) for name in known}
    if isinstance(asked, list):
        return {_metric(name, known): default_thresholds(_metric(name, known)) for name in asked}
    found = {}
    for name, settings in asked.items():
        if not isinstance(settings, dict):
            raise ArgumentValueError(f"metrics[{name!r}] must be a mapping with 'thresholds'.")
        if set(settings) != {"thresholds"}:
            raise ArgumentKeyError(
                f"metrics[{name!r}] must have exactly the key 'thresholds'; it has {list(settings)}."
            )
        if not isinstance(settings["thresholds"], list):
            raise ArgumentValueError(f"metrics[{name!r}]['thresholds'] must be a list of numbers.")
        metric = _metric(name, known)
        grid = _numbers(metric, settings["thresholds"])
        found[metric] = grid or default_thresholds(metric)
    return found


def default_thresholds(metric: str) -> tuple[float, ...]:
    """The published grid of a metric; nothing for metrics without thresholds."""
    return _GRIDS.get(metric, RECALL_GRID) if metric in _WITH_THRESHOLDS else ()


def dataset_folder(dataset: str, *, downsampled: bool) -> str:
    """The data set's name as a folder: body pictures exist downsampled only."""
    return dataset if "_crop" in dataset or "_align" in dataset or not downsampled else f"{dataset}_downsampled"


def results_folder(root: Any, task: str, dataset: str, model: str, *, mini: bool) -> Path:
    """`<results>[/mini]/<task>/<data set>/<model>`; results lie below the working folder unless a place is named."""
    base = Path("results") if root is None else Path(root)
    return (base / "mini" if mini else base) / task / dataset / model


def _metric(name: Any, known: Sequence[str]) -> str:
    found = name.upper() if isinstance(name, str) else name
    if found not in known:
        raise ArgumentValueError(f"There is no metric {name!r} for this task. It has: {', '.join(known)}.")
    return str(found)


def _numbers(metric: str, thresholds: Sequence[Any]) -> tuple[float, ...]:
    try:
        return tuple(float(threshold) for threshold in thresholds)
    except (TypeError, ValueError):
        raise ArgumentValueError(f"The thresholds of {metric} must be numbers; found {thresholds!r}.") from None


def _checked_keypoints(custom: Any) -> tuple[str, ...]:
    if not isinstance(custom, list | tuple):
        raise ArgumentValueError("custom_keypoints must be a list of keypoint names.")
    try:
        return data.checked_keypoints(list(custom))
    except OptionError as error:
        raise ArgumentValueError(str(error)) from None
