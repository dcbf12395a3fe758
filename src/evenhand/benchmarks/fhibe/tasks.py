"""The nine tasks of FHIBE: what each loads, reads, records and measures."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fhibe import codec, data, pictures, record, view, vocabulary
from evenhand.benchmarks.fhibe.check import inspect_answers, inspect_data
from evenhand.benchmarks.fhibe.metrics import AverageRecall, PartMeans, TarAtFar, TarAtOwnFar, ValidationRate
from evenhand.benchmarks.fhibe.names import NAMES
from evenhand.benchmarks.fhibe.options import (
    FacePictureOptions,
    FaceVerificationOptions,
    KeypointOptions,
    ParsingOptions,
    PartOptions,
    RecallOptions,
)
from evenhand.benchmarks.fhibe.sections import published_disparities, published_section
from evenhand.benchmarks.fhibe.wrapped import adapt_wrapper
from evenhand.core.errors import UnknownNameError
from evenhand.core.metric import POSITIVE, UNIT_SCALE, Direction, Metric, Scale
from evenhand.core.task import About, Benchmark, Dataset, Demo, Task, check_with
from evenhand.metrics.means import Mean

Metrics = tuple[Metric[Any], ...]
FAMILY = "fhibe"
_UNTESTED = ("face_verification", "body_parts_detection")  # no score per row: no published pair table in a run
_BODY_DATA = "<data>/data/processed/fhibe_downsampled/fhibe_downsampled.csv, and data/raw/… where a model needs pixels"
_FACE_DATA = (
    "<data>/data/processed/fhibe_face_crop_align/fhibe_face_crop_align.csv, and data/raw/… for the face pictures"
)
_LICENCE = (
    "FHIBE is shared under terms that let subjects withdraw consent: use the current release, delete withdrawn "
    "pictures, and put no subject's picture into a report."
)
_CAUTIONS = (
    "A row is one subject in one image; images of one subject are not independent, and intervals count subjects.",
    "Groups overlap: a subject may select several pronouns, ancestries and nationalities.",
    "Skin colours are numbered from the darkest (0, type VI) to the lightest (5, type I).",
)


def _recall(name: str, options: RecallOptions) -> Metrics:
    return (
        AverageRecall(name, "overlap", options.thresholds),
        AverageRecall(f"{name}_strict", "overlap", options.thresholds, strict=True),
    )


def _keypoint_metrics(options: KeypointOptions) -> Metrics:
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


def _part_metrics(options: PartOptions) -> Metrics:
    return (
        PartMeans("AR_DET", "recall", record.PARTS),
        PartMeans("ACC_DET", "accuracy", record.PARTS),
        PartMeans("AR_DET_legs", "recall_legs", record.PARTS),
        PartMeans("ACC_DET_legs", "accuracy_legs", record.PARTS),
    )


def _parsing_metrics(options: ParsingOptions) -> Metrics:
    return (Mean("F1", "f1", scale=UNIT_SCALE), Mean("F1_ears_ignored", "f1_ears_ignored", scale=UNIT_SCALE))


def _verification_metrics(options: FaceVerificationOptions) -> Metrics:
    return (ValidationRate(), TarAtFar(far=options.far), TarAtOwnFar(far=options.far))


def _picture_metrics(names: tuple[str, ...], options: FacePictureOptions) -> Metrics:
    chosen = [name for name in names if not options.metrics or name in options.metrics]
    return tuple(
        Mean(
            name,
            name.lower(),
            Direction.LOWER if name == "LPIPS" else Direction.HIGHER,
            nothing="no picture was measured",
            scale=POSITIVE if name in ("LPIPS", "PSNR") else Scale(-1.0, 1.0),  # structural similarity and cosines
        )
        for name in chosen
    )


def load_for(
    task: str, load: Callable[..., Dataset[Any]], folder: Path, options: Any, cache: Path | None = None
) -> Dataset[Any]:
    """The data of a task; every sample says which task it is asked for, as a wrapped model must know."""
    dataset = load(folder, options, cache)
    asked = {"task": task, "custom_keypoints": getattr(options, "custom_keypoints", None)}
    samples = tuple(replace(sample, given={**sample.given, **asked}) for sample in dataset.samples)
    return replace(dataset, samples=samples)


def _task(
    name: str,
    summary: str,
    codec_: Any,
    *,
    load: Callable[..., Dataset[Any]],
    metrics: Callable[[Any], Metrics],
    rows: str,
    conventions: tuple[str, ...],
    **more: Any,
) -> Task[Any, Any]:
    load = partial(load_for, name, load)
    published = partial(published_disparities, vocabulary.DEFAULT_METRICS[name], metrics)
    return Task(
        name=f"{FAMILY}/{name}",
        summary=summary,
        load=load,
        load_kept=load,
        adapt=adapt_wrapper,
        codec=codec_,
        metrics=metrics,
        about=About(
            data=_FACE_DATA if name in vocabulary.FACE_TASKS else _BODY_DATA,
            predictions=codec_.about,
            rows=rows,
            unit="a subject",
            conventions=conventions,
            licence=_LICENCE,
            cautions=_CAUTIONS,
        ),
        attributes=vocabulary.DEFAULT_ATTRIBUTES,
        check=check_with(load, codec_, inspect_data, inspect_answers),
        extras=None if name in _UNTESTED else published,
        sections=(published_section,),
        **more,
    )


def _pictures(task: str) -> dict[str, Any]:
    names = vocabulary.DEFAULT_METRICS[task]
    return {
        "load": data.load_faces,
        "record": partial(record.record_pictures, names),
        "metrics": partial(_picture_metrics, names),
        "instruments": lambda options: pictures.instrument_names(names, options.metrics),
        "options": FacePictureOptions,
        "rows": "a face picture",
        "conventions": ("both pictures at 256 × 256 by Pillow's bilinear filter",),
    }


def _localization(metric: str, row: str, rule: str) -> dict[str, Any]:
    """What the tasks share that find a box or a mask of every row."""
    return {
        "metrics": partial(_recall, metric),
        "options": RecallOptions,
        "headline": (metric, "recall"),
        "rows": row,
        "conventions": (rule, "accept when score ≥ threshold; `…_strict` uses the documented >"),
    }


_BEST_BOX = "best overlap over all boxes of the image, without assignment"
TASKS: tuple[Task[Any, Any], ...] = (
    _task(
        "person_localization",
        "Find the box of every annotated person.",
        codec.PersonBoxCodec(),
        load=data.load_person_boxes,
        record=record.record_boxes,
        view=view.view_boxes,
        **_localization("AR_IOU", "an annotated person", _BEST_BOX),
    ),
    _task(
        "person_parsing",
        "Find the mask of every annotated person.",
        codec.MaskCodec(),
        load=data.load_masks,
        record=record.record_masks,
        view=view.view_masks,
        **_localization(
            "AR_MASK", "an annotated person", "the person is the union of all its polygons, filled by OpenCV"
        ),
    ),
    _task(
        "keypoint_estimation",
        "Find the keypoints of every annotated person.",
        codec.PoseCodec(),
        load=data.load_poses,
        record=record.record_poses,
        view=view.view_poses,
        metrics=_keypoint_metrics,
        options=KeypointOptions,
        headline=("PCK", "mean"),
        rows="an annotated person",
        conventions=(
            "PCK matches predictions to people by index, AR_OKS takes the best prediction of the image",
            "one prediction for two people counts for both in PCK, for one in PCK_missing_zero",
            "without visible keypoints a row is left out of PCK and counts as missed in AR_OKS",
        ),
    ),
    _task(
        "face_localization",
        "Find the box of every annotated face.",
        codec.BoxCodec(),
        load=data.load_face_boxes,
        record=record.record_boxes,
        view=view.view_boxes,
        **_localization("AR_IOU", "an annotated face", _BEST_BOX),
    ),
    _task(
        "body_parts_detection",
        "Say which parts of every annotated person are visible.",
        codec.PartCodec(),
        load=data.load_parts,
        record=record.record_parts,
        metrics=_part_metrics,
        options=PartOptions,
        headline=("AR_DET", "mean_over_parts"),
        rows="an annotated person and a predicted part",
        conventions=("legs are known by heel, foot and shoe; `…_legs` counts knees and ankles too",),
    ),
    _task(
        "face_parsing",
        "Label every pixel of a face picture.",
        codec.FaceMapCodec(),
        load=data.load_face_maps,
        record=record.record_faces,
        metrics=_parsing_metrics,
        options=ParsingOptions,
        headline=("F1", "mean"),
        rows="a face picture",
        conventions=("mean over the labels that the truth has, background included",),
    ),
    _task(
        "face_verification",
        "Tell whether two face pictures show the same person.",
        codec.EmbeddingCodec(),
        load=data.load_identities,
        record=record.record_embeddings,
        metrics=_verification_metrics,
        options=FaceVerificationOptions,
        headline=("TAR_AT_FAR", "shared"),
        rows="a face picture of a subject with several",
        conventions=("VAL draws pairs inside each group; TAR_AT_FAR uses all pairs",),
    ),
    _task(
        "face_encoding",
        "Encode a face picture so that it can be recovered.",
        pictures.EncodingCodec(),
        headline=("PSNR", "mean"),
        **_pictures("face_encoding"),
    ),
    _task(
        "face_super_resolution",
        "Restore a face picture in full resolution.",
        pictures.SuperResolutionCodec(),
        headline=("LPIPS", "mean"),
        **_pictures("face_super_resolution"),
    ),
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
