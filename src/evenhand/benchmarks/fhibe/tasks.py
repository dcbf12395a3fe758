"""The nine tasks of FHIBE: what each loads, reads, records and measures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fhibe import codec, data, pictures, record, scores, view, vocabulary
from evenhand.benchmarks.fhibe.check import inspect_answers, inspect_data
from evenhand.benchmarks.fhibe.metrics import AverageRecall, PartMeans, TarAtFar, TarAtOwnFar, ValidationRate
from evenhand.benchmarks.fhibe.names import NAMES, TEXTS
from evenhand.benchmarks.fhibe.options import (
    FacePictureOptions,
    FaceVerificationOptions,
    FhibeOptions,
    KeypointOptions,
    ParsingOptions,
    PartOptions,
    RecallOptions,
)
from evenhand.benchmarks.fhibe.sections import published_disparities, published_section
from evenhand.benchmarks.fhibe.wrapped import adapt_wrapper
from evenhand.core.errors import UnknownNameError
from evenhand.core.metric import POSITIVE, UNIT_SCALE, Direction, Metric, Scale
from evenhand.core.task import Benchmark, Codec, Demo, Task, check_with
from evenhand.files.packaged import packaged_table
from evenhand.metrics.means import Mean

Metrics = tuple[Metric[Any], ...]
FAMILY = "fhibe"
_UNTESTED = ("face_verification", "body_parts_detection")  # no score per row: no published pair table in a run
_HEADLINES: Mapping[str, tuple[str, str]] = {
    task: (metric, output) for task, (metric, output) in packaged_table(__package__, "texts.toml")["headlines"].items()
}


def _recall(names: Sequence[str], options: RecallOptions) -> Metrics:
    return tuple(
        AverageRecall(f"{names[0]}{ending}", "overlap", options.thresholds, strict=bool(ending))
        for ending in ("", "_strict")
    )


def _keypoint_metrics(names: Sequence[str], options: KeypointOptions) -> Metrics:
    levels = options.oks_thresholds
    share = partial(Mean, nothing="no row has a visible keypoint", scale=UNIT_SCALE)
    return (
        share("PCK", "pck"),
        AverageRecall("AR_OKS", "oks", levels),
        share("PCK_missing_zero", "pck_missing_zero"),
        share("PCK_documented", "pck_documented"),
        AverageRecall("AR_OKS_visible", "oks", levels, skip_missing=True),
        AverageRecall("AR_OKS_strict", "oks", levels, strict=True),
    )


def _part_metrics(names: Sequence[str], options: PartOptions) -> Metrics:
    measured = {"AR_DET": "recall", "ACC_DET": "accuracy"}
    return tuple(
        PartMeans(f"{name}{ending}", f"{column}{ending}", record.PARTS)
        for ending in ("", "_legs")
        for name, column in measured.items()
    )


def _parsing_metrics(names: Sequence[str], options: ParsingOptions) -> Metrics:
    return tuple(Mean(name, name.lower(), scale=UNIT_SCALE) for name in ("F1", "F1_ears_ignored"))


def _pair_metrics(names: Sequence[str], options: FaceVerificationOptions) -> Metrics:
    return (ValidationRate(), TarAtFar(far=options.far), TarAtOwnFar(far=options.far))


def _picture_metrics(names: Sequence[str], options: FacePictureOptions) -> Metrics:
    return tuple(
        Mean(
            name,
            name.lower(),
            Direction.LOWER if name == "LPIPS" else Direction.HIGHER,
            nothing="no picture was measured",
            scale=POSITIVE if name in ("LPIPS", "PSNR") else Scale(-1.0, 1.0),  # structural similarity and cosines
        )
        for name in names
        if not options.metrics or name in options.metrics
    )


def _task(
    name: str,
    codec_: Codec[Any],
    record_: Callable[..., Any],
    metrics: Callable[[Sequence[str], Any], Metrics],
    options: type[FhibeOptions],
    **more: Any,
) -> Task[Any, Any]:
    names, load = vocabulary.DEFAULT_METRICS[name], partial(data.load, name)
    chosen = partial(metrics, names)
    return Task(
        **TEXTS.task(name),
        load=load,
        load_kept=load,
        adapt=adapt_wrapper,
        codec=codec_,
        record=record_,
        metrics=chosen,
        options=options,
        headline=_HEADLINES[name],
        attributes=vocabulary.DEFAULT_ATTRIBUTES,
        check=check_with(load, codec_, inspect_data, inspect_answers),
        extras=None if name in _UNTESTED else partial(published_disparities, names, chosen),
        sections=(published_section,),
        **more,
    )


def _picture_task(name: str, codec_: Codec[Any]) -> Task[Any, Any]:
    names = vocabulary.DEFAULT_METRICS[name]
    return _task(
        name,
        codec_,
        partial(record.record_people, partial(record.picture_columns, names)),
        _picture_metrics,
        FacePictureOptions,
        instruments=lambda options: pictures.instrument_names(names, options.metrics),
    )


_of_boxes, _of_masks, _of_poses = (
    partial(record.record_people, columns) for columns in (record.box_columns, scores.mask_columns, record.pose_columns)
)
TASKS: tuple[Task[Any, Any], ...] = (
    _task("person_localization", codec.PersonBoxCodec(), _of_boxes, _recall, RecallOptions, view=view.view_boxes),
    _task("person_parsing", codec.MaskCodec(), _of_masks, _recall, RecallOptions, view=view.view_masks),
    _task(
        "keypoint_estimation", codec.PoseCodec(), _of_poses, _keypoint_metrics, KeypointOptions, view=view.view_poses
    ),
    _task("face_localization", codec.BoxCodec(), _of_boxes, _recall, RecallOptions, view=view.view_boxes),
    _task("body_parts_detection", codec.PartCodec(), record.record_parts, _part_metrics, PartOptions),
    _task("face_parsing", codec.FaceMapCodec(), record.record_faces, _parsing_metrics, ParsingOptions),
    _task(
        "face_verification", codec.EmbeddingCodec(), record.record_embeddings, _pair_metrics, FaceVerificationOptions
    ),
    _picture_task("face_encoding", pictures.EncodingCodec()),
    _picture_task("face_super_resolution", pictures.SuperResolutionCodec()),
)


def task_named(name: str) -> Task[Any, Any]:
    """The task of that name, with or without the family's."""
    for task in TASKS:
        if name in (task.name, task.name.partition("/")[2]):
            return task
    raise UnknownNameError("task", name, [task.name.partition("/")[2] for task in TASKS])


def _demo(folder: Path) -> Sequence[Demo]:
    from evenhand.benchmarks.fhibe.demo import write_demo

    return write_demo(folder)


benchmark = Benchmark(
    name=FAMILY,
    summary="Nine tasks on people who consented: boxes, masks, keypoints, parts, faces; with the bias report.",
    tasks=TASKS,
    demo=_demo,
    names=NAMES,
)
