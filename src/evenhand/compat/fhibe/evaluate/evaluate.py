"""`evaluate_task`: the published entry point over the tasks that `evenhand evaluate` runs.

Same arguments, folders, files and exceptions: the task loads the data, reads the stored outputs and records
rows, and the published files are written from these rows. What it does not keep: score files are no caches, an
alignment is not asked for when outputs are reused, and nothing is written into the installation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand import engines
from evenhand.benchmarks.fhibe import attributes as names
from evenhand.benchmarks.fhibe import grouping, vocabulary
from evenhand.benchmarks.fhibe.disparity import ScoredRows
from evenhand.benchmarks.fhibe.output_file import MissingAnswersError
from evenhand.benchmarks.fhibe.pictures import ENCODINGS, INSTRUMENTS
from evenhand.benchmarks.fhibe.table import MINI_ROWS
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.benchmarks.fhibe.wrapped import WrappedModel
from evenhand.compat.fhibe.errors import (
    ArgumentValueError,
    ColumnMissingError,
    ImageMissingError,
    OutputsMissingError,
    logger,
)
from evenhand.compat.fhibe.evaluate import files
from evenhand.compat.fhibe.evaluate.arguments import (
    THRESHOLDED,
    EvaluationArguments,
    check_attributes,
    check_metrics,
    check_table,
    check_task,
    check_task_arguments,
    results_folder,
)
from evenhand.compat.fhibe.evaluate.provenance import HASHES, Provenance, outputs_digest, write_provenance
from evenhand.core.errors import OptionError, PredictionError
from evenhand.core.options import parse
from evenhand.core.records import Records, concatenate
from evenhand.core.task import Dataset, ReadingCodec, Task, Tools
from evenhand.files.writing import make_folder

_LOG = logger(__name__)
_MANY = 1_000_000  # entries of a results file that are worth a word before
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
    if model is None and not reuse_model_outputs:
        error = ArgumentValueError("If reuse_model_outputs is not True, model cannot be None.")
        error.add_note("Give a wrapped model, or set reuse_model_outputs=True to use stored outputs.")
        raise error
    # Checked in the order in which the published tool does.
    check_task(task_name, dataset_name, dataset_name)
    chosen, thresholds = check_attributes(attributes, task_name), check_metrics(metrics, task_name)
    root = Path(data_rootdir)
    folder = check_table(root, dataset_name, downsampled=downsampled)
    keypoints = check_task_arguments(task_kwargs, task_name)
    mini = (mini_dataset_size or MINI_ROWS) if use_mini_dataset else None
    results = results_folder(results_rootdir, task_name, folder, model_name, mini=use_mini_dataset)
    asked = EvaluationArguments(root, task_name, chosen, thresholds, mini, keypoints, results, named=bool(metrics))
    _evaluate(asked, WrappedModel(model_name, model, cuda), reuse=reuse_model_outputs)


def _evaluate(asked: EvaluationArguments, wrapped: WrappedModel, *, reuse: bool) -> None:
    task = task_named(asked.task)
    options = options_for(task, asked)
    dataset = _load(task, asked, options)
    _obtain_outputs(task.codec, dataset, options, asked.results, wrapped, reuse=reuse)
    tools = Tools(engine=engines.parse("serial"), device=_device(asked, cuda=wrapped.cuda), warn=_LOG.warning)
    try:
        answers = task.codec.read(asked.results, dataset, options)
    except MissingAnswersError as error:
        lacking = OutputsMissingError if asked.task == "face_encoding" else ImageMissingError
        raise lacking(str(error)) from None
    if asked.task == "face_parsing" and (kept := files.stored_face_scores(asked.results, dataset.truth)) is not None:
        _LOG.warning(
            "Label maps are missing, such as %s. As published, the scores in F1_scores.json are used instead; nothing "
            "says that they are those of the present outputs.",
            next(path for path in dataset.truth.maps if not path.is_file()),
        )
        files.write_scored(asked.results, ScoredRows("F1", dataset.truth.people.attributes, kept), asked.attributes)
        return
    rows = concatenate(list(task.record(dataset, answers, options, tools)))
    written = write_results(task, dataset, rows, options, asked)
    outputs, table = outputs_digest(asked.results, asked.task), dataset.inputs[0].hash
    entries = {
        metric: Provenance(
            asked.attributes,
            asked.thresholds[metric],
            asked.custom_keypoints,
            asked.mini,
            outputs=outputs,
            table=table,
            hashes=HASHES,
        )
        for metric in written
    }
    write_provenance(asked.results, entries)


def options_for(task: Task[Any, Any], asked: EvaluationArguments) -> Any:
    """The task's options for what was asked."""
    given: dict[str, Any] = {
        THRESHOLDED[metric].option: grid for metric, grid in asked.thresholds.items() if metric in THRESHOLDED and grid
    }
    if asked.custom_keypoints is not None:
        given["custom_keypoints"] = asked.custom_keypoints
    if asked.mini is not None:
        given["mini"] = asked.mini
    if INSTRUMENTS.keys() & asked.thresholds and (asked.named or len(asked.thresholds) == 1):
        given["metrics"] = tuple(asked.thresholds)  # named ones must be computable
    return parse(task.options, given)


def write_results(
    task: Task[Any, Any], dataset: Dataset[Any], rows: Records, options: Any, asked: EvaluationArguments
) -> list[str]:
    """Write the published files of every metric from rows; the metrics that could be computed come back."""
    people, folder = dataset.truth.people, asked.results
    measures = {metric.name: metric for metric in task.metrics(options)}
    extra = None if asked.custom_keypoints is None else {"custom_keypoints": list(asked.custom_keypoints)}
    written = []
    for metric, grid in asked.thresholds.items():
        if metric == "VAL":
            files.write_validations(folder, people, rows, asked.attributes)
            written.append(metric)
            continue
        if asked.task == "body_parts_detection":
            probability, of_parts = (
                np.asarray(rows[column]).reshape(len(people), -1)  # a row per person, a column per predicted part
                for column in ("probability", "recall" if metric == "AR_DET" else "accuracy")
            )
            parts = tuple(str(name) for name in rows["part_name"][: probability.shape[1]])
            files.write_parts(folder, metric, people, parts, probability, grid)
            scored = ScoredRows(metric, people.attributes, of_parts, parts)
        else:
            values = measures[metric].row_scores(rows)
            assert values is not None, "every other metric is a mean of rows"
            scored = ScoredRows(metric, people.attributes, values)
            if metric in THRESHOLDED and (of := THRESHOLDED[metric]).column:
                files.write_thresholded(folder, of.kind, people, np.asarray(rows[of.column]), grid, of.scores)
            elif metric == "PCK":
                files.write_pck(folder, people, rows, grid)
            elif metric == "F1":
                files.write_f1(folder, people, rows)
            elif np.isnan(values).all():
                continue  # its weights are not here, which was said
            else:
                files.write_picture_scores(folder, metric, people, values)
        files.write_scored(folder, scored, asked.attributes, extra)
        written.append(metric)
    return written


def _load(task: Task[Any, Any], asked: EvaluationArguments, options: Any) -> Dataset[Any]:
    """The data; says which rows an attribute misses, and how much all intersections are when that is much."""
    try:
        dataset = task.load(asked.root, options)
    except OptionError as error:
        raise ArgumentValueError(str(error)) from None
    lacking = [name for name in asked.attributes if name not in dataset.levels]
    if lacking:
        raise ColumnMissingError(f"The table has no column {lacking[0]!r}, which was asked for as an attribute.")
    people = dataset.truth.people
    for name in asked.attributes:
        missing = names.rows_without(people.attributes[name])
        if missing:
            _LOG.warning("%d of %d rows have no %s and are in none of its groups.", missing, len(people), name)
    repeated = grouping.count_memberships(people.attributes, asked.attributes)
    if repeated > _MANY:
        _LOG.warning(
            "%d attributes have %d combinations; every score will be written %d times over (%d entries in all).",
            len(asked.attributes),
            2 ** len(asked.attributes) - 1,
            repeated // max(len(people), 1),
            repeated,
        )
    return dataset


def _obtain_outputs(
    codec: ReadingCodec[Any], dataset: Dataset[Any], options: Any, results: Path, wrapped: WrappedModel, *, reuse: bool
) -> None:
    """Stored outputs where they are to be reused, else those of the wrapped model, written as published."""
    stored, encodes = results / codec.filename, codec.filename == ENCODINGS
    if reuse and encodes and wrapped.wrapper is not None:
        try:
            codec.read(results, dataset, options)
        except PredictionError:
            reuse = False  # as published: what is not there is encoded
    if reuse:
        if not (stored.is_dir() if encodes else stored.is_file()):
            raise OutputsMissingError(
                f"Model outputs file expected at: {stored}, but not found. Set reuse_model_outputs=False to recompute "
                "model outputs."
            )
        return
    answers = wrapped.predict(dataset.samples)
    make_folder(results)
    codec.write(stored, list(answers), dataset, options)


def _device(asked: EvaluationArguments, *, cuda: bool) -> str:
    """The GPU where it is asked for, there, and of use: torch is imported for the metrics that run a network alone."""
    if not cuda or not {"LPIPS", "CURRICULAR_FACE"} & set(asked.thresholds):
        return "cpu"
    try:
        import torch
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"
