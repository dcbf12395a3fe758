"""`evaluate_task`: the published entry point over the house's verbs.

Same arguments, folders, files and exceptions. What it does not keep: score files are no caches, an
alignment is not asked for when outputs are reused, and nothing is written into the installation.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import engines
from evenhand.benchmarks.fhibe import grouping, scores, vocabulary
from evenhand.benchmarks.fhibe.codec import OUTPUTS
from evenhand.benchmarks.fhibe.disparity import Scored
from evenhand.benchmarks.fhibe.face_segmentation import score_faces
from evenhand.benchmarks.fhibe.options import FhibeOptions
from evenhand.benchmarks.fhibe.pictures import ENCODINGS, compare
from evenhand.benchmarks.fhibe.record import embedding_table
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.benchmarks.fhibe.wrapped import WrappedModel
from evenhand.compat.fhibe import files
from evenhand.compat.fhibe.arguments import Asked, check_arguments
from evenhand.compat.fhibe.errors import ColumnMissingError, ImageMissingError, OutputsMissingError
from evenhand.core.errors import PredictionError
from evenhand.core.options import parse
from evenhand.core.task import Dataset, Task, Tools

_LOG = logging.getLogger(__name__)
_MANY = 1_000_000  # entries of a results file that are worth a word before
_OPTIONS: Mapping[str, str] = {  # metric → the option that holds its thresholds
    "AR_IOU": "thresholds",
    "AR_MASK": "thresholds",
    "PCK": "pck_thresholds",
    "AR_OKS": "oks_thresholds",
    "AR_DET": "recall_thresholds",
    "ACC_DET": "accuracy_thresholds",
}
_DEFAULT_ATTRIBUTES = list(vocabulary.DEFAULT_ATTRIBUTES)  # a list, as published; never changed


def evaluate_task(
    data_rootdir: str | Path,
    dataset_name: str,
    model: Any,
    model_name: str,
    task_name: str,
    metrics: Sequence[str] | Mapping[str, Mapping[str, Sequence[float]]] | None = None,
    attributes: list[str] = _DEFAULT_ATTRIBUTES,
    use_mini_dataset: bool = False,
    mini_dataset_size: int | None = 50,
    downsampled: bool = True,
    reuse_model_outputs: bool = False,
    results_rootdir: str | Path | None = None,
    cuda: bool = True,
    **task_kwargs: Any,
) -> None:
    """Evaluate a wrapped model, or its stored outputs, and write the published results folder.

    `<results>[/mini]/<task>/<data set>/<model>/` gets `model_outputs.json`, the score files and
    `intersectional_results_<METRIC>.json`. Without `results_rootdir`, results lie in `results` below
    the working folder. Default attributes: pronoun, age, apparent skin colour, ancestry.
    """
    asked = check_arguments(
        data_rootdir=data_rootdir,
        dataset_name=dataset_name,
        model=model,
        model_name=model_name,
        task_name=task_name,
        metrics=metrics,
        attributes_=attributes,
        use_mini_dataset=use_mini_dataset,
        mini_dataset_size=mini_dataset_size,
        downsampled=downsampled,
        reuse_model_outputs=reuse_model_outputs,
        results_rootdir=results_rootdir,
        task_kwargs=task_kwargs,
    )
    task = task_named(task_name)
    options = options_for(task, asked)
    dataset = task.load(asked.root, options)
    lacking = [name for name in asked.attributes if name not in dataset.levels]
    if lacking:
        raise ColumnMissingError(f"The table has no column {lacking[0]!r}, which was asked for as an attribute.")
    _say_cost(dataset, asked)
    obtain_outputs(task, dataset, options, asked, model, model_name, reuse=reuse_model_outputs, cuda=cuda)
    device = "cuda" if cuda and _has_cuda() else "cpu"
    tools = Tools(engine=engines.parse("serial"), device=device, warn=_LOG.warning)
    score_outputs(task, dataset, options, asked, tools)


def _say_cost(dataset: Dataset[Any], asked: Asked) -> None:
    """Say before the work how much all intersections are, when that is much."""
    repeated = grouping.count_memberships(dataset.truth.people.attributes, asked.attributes)
    if repeated > _MANY:
        _LOG.warning(
            "%d attributes have %d combinations; every score will be written %d times over (%d entries in all).",
            len(asked.attributes),
            2 ** len(asked.attributes) - 1,
            repeated // max(len(dataset.truth.people), 1),
            repeated,
        )


def options_for(task: Task[Any, Any], asked: Asked) -> Any:
    """The task's options for what was asked."""
    given: dict[str, Any] = {
        _OPTIONS[metric]: grid for metric, grid in asked.thresholds.items() if metric in _OPTIONS and grid
    }
    if asked.custom_keypoints is not None:
        given["custom_keypoints"] = asked.custom_keypoints
    if asked.mini is not None:
        given["mini"] = asked.mini
    return parse(task.options, given)


def obtain_outputs(
    task: Task[Any, Any],
    dataset: Dataset[Any],
    options: Any,
    asked: Asked,
    model: Any,
    model_name: str,
    *,
    reuse: bool,
    cuda: bool,
) -> None:
    """Stored outputs where they are to be reused, else those of the wrapped model, written as published."""
    stored = asked.results / (ENCODINGS if asked.task == "face_encoding" else OUTPUTS)
    if reuse and (stored.is_file() or _all_encoded(task, dataset, options, asked.results)):
        return
    if reuse and (asked.task != "face_encoding" or model is None):
        raise OutputsMissingError(
            f"{stored} does not exist, but stored outputs were to be reused. Run the model first "
            "(reuse_model_outputs=False), or put its outputs there."
        )
    wrapped = WrappedModel(model_name, model, asked.task, asked.root, asked.custom_keypoints, cuda)
    asked.results.mkdir(parents=True, exist_ok=True)
    answers = list(wrapped.predict(dataset.samples))
    task.codec.write(stored, answers, dataset, options)


def score_outputs(task: Task[Any, Any], dataset: Dataset[Any], options: Any, asked: Asked, tools: Tools) -> None:
    """Read the stored outputs, score every row, and write the published files."""
    try:
        answers = task.codec.read(asked.results, dataset, options)
    except PredictionError as error:
        if "has no answer for" in str(error):
            raise ImageMissingError(str(error)) from None
        raise
    _SCORERS[asked.task](dataset, answers, asked, options, tools)


def _boxes(dataset: Dataset[Any], answers: Any, asked: Asked, options: Any, tools: Tools) -> None:
    found = scores.box_overlaps(dataset.truth, answers)
    _recall(dataset, asked, "AR_IOU", "iou", found, "gt_bbox_iou_scores.json")


def _masks(dataset: Dataset[Any], answers: Any, asked: Asked, options: Any, tools: Tools) -> None:
    found = scores.mask_scores(dataset.truth, answers, tools.engine)
    _recall(dataset, asked, "AR_MASK", "iou", found.overlap, "gt_mask_iou_scores.json")


def _poses(dataset: Dataset[Any], answers: Any, asked: Asked, options: Any, tools: Tools) -> None:
    grid = tuple(asked.thresholds.get("PCK", options.pck_thresholds))
    found = scores.pose_scores(dataset.truth, answers, grid, tools.engine)
    if "PCK" in asked.metrics:
        files.write_pck(asked.results, dataset.truth.people, found, grid)
        _write(dataset, asked, Scored("PCK", dataset.truth.people.attributes, found.pck_mean))
    if "AR_OKS" in asked.metrics:
        _recall(dataset, asked, "AR_OKS", "oks", found.oks, "oks_scores.json")


def _parts(dataset: Dataset[Any], answers: Any, asked: Asked, options: Any, tools: Tools) -> None:
    found = scores.part_scores(dataset.truth, answers)
    people = dataset.truth.people
    for metric, grid in asked.thresholds.items():
        files.write_parts(asked.results, metric, people, found, grid)
        values = found.recall(grid) if metric == "AR_DET" else found.accuracy(grid)
        _write(dataset, asked, Scored(metric, people.attributes, values, found.parts))


def _faces(dataset: Dataset[Any], answers: Any, asked: Asked, options: Any, tools: Tools) -> None:
    people = dataset.truth.people
    found = [one for part in score_faces(dataset.truth, answers, tools.engine, warn=tools.warn) for one in part]
    files.write_f1(asked.results, people, found)
    means = np.array([np.nan if one is None else one.mean for one in found])
    _write(dataset, asked, Scored("F1", people.attributes, means))


def _verification(dataset: Dataset[Any], answers: Any, asked: Asked, options: Any, tools: Tools) -> None:
    people = dataset.truth.people
    rows, table = embedding_table([answers.get(image) for image in people.images])
    groups = files.validations(people, rows, table, asked.attributes)
    content = {
        key: {group: files.validation_entry(found) for group, found in entries.items()}
        for key, entries in groups.items()
    }
    files.write_json(asked.results / "intersectional_results_VAL.json", content, indent=4)


def _pictures(dataset: Dataset[Any], answers: Any, asked: Asked, options: Any, tools: Tools) -> None:
    people = dataset.truth.people
    made = [Path(answers.get(image)) for image in people.images]
    originals = [people.root / image for image in people.images]
    for metric in asked.metrics:
        found = compare(metric, made, originals, tools, required=asked.named or len(asked.metrics) == 1)
        if np.isnan(found).all():
            continue
        files.write_picture_scores(asked.results, metric, people, found)
        _write(dataset, asked, Scored(metric, people.attributes, found))


def _recall(dataset: Dataset[Any], asked: Asked, metric: str, kind: str, found: Any, score_file: str) -> None:
    people = dataset.truth.people
    values = files.write_thresholded(asked.results, kind, people, found, asked.thresholds[metric], score_file)
    _write(dataset, asked, Scored(metric, people.attributes, values))


def _write(dataset: Dataset[Any], asked: Asked, scored: Scored) -> None:
    extra = None if asked.custom_keypoints is None else {"custom_keypoints": list(asked.custom_keypoints)}
    files.write_scored(asked.results, scored, asked.attributes, extra)


_SCORERS: Mapping[str, Any] = {
    "person_localization": _boxes,
    "face_localization": _boxes,
    "person_parsing": _masks,
    "keypoint_estimation": _poses,
    "body_parts_detection": _parts,
    "face_parsing": _faces,
    "face_verification": _verification,
    "face_encoding": _pictures,
    "face_super_resolution": _pictures,
}


def _all_encoded(task: Task[Any, Any], dataset: Dataset[Any], options: FhibeOptions, folder: Path) -> bool:
    if not (folder / ENCODINGS).is_dir():
        return False
    try:
        task.codec.read(folder, dataset, options)
    except PredictionError:
        return False
    return True


def _has_cuda() -> bool:
    try:
        import torch
    except ImportError:
        return False
    return bool(torch.cuda.is_available())
