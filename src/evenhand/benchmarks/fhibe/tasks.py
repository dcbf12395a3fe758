"""The nine tasks of FHIBE: what each loads, reads, records and measures."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.fhibe import codec, data, pictures, record, view, vocabulary
from evenhand.benchmarks.fhibe.check import inspect_answers, inspect_data
from evenhand.benchmarks.fhibe.embeddings import EmbeddingCodec
from evenhand.benchmarks.fhibe.metrics import AverageRecall, PartMeans, TarAtFar, TarAtOwnFar, ValidationRate
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
from evenhand.core.metric import POSITIVE, UNIT_SCALE, Direction, Metric, Scale
from evenhand.core.task import About, Dataset, Sample, Task, check_with
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
    return (
        Mean("PCK", "pck", nothing="no row has a visible keypoint", scale=UNIT_SCALE),
        AverageRecall("AR_OKS", "oks", levels),
        Mean("PCK_missing_zero", "pck_missing_zero", nothing="no row has a visible keypoint", scale=UNIT_SCALE),
        Mean("PCK_documented", "pck_documented", nothing="no row has a visible keypoint", scale=UNIT_SCALE),
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
    samples = tuple(Sample(one.id, one.media, {**one.given, **asked}) for one in dataset.samples)
    return replace(dataset, samples=samples)


def _task(name: str, summary: str, load: Any, codec_: Any, **more: Any) -> Task[Any, Any]:
    face = name in vocabulary.FACE_TASKS
    load = partial(load_for, name, load)
    published = vocabulary.DEFAULT_METRICS[name]
    about = About(
        data=_FACE_DATA if face else _BODY_DATA,
        predictions=codec_.about,
        rows=more.pop("rows"),
        unit="a subject",
        conventions=more.pop("conventions"),
        licence=_LICENCE,
        cautions=_CAUTIONS,
    )
    return Task(
        name=f"{FAMILY}/{name}",
        summary=summary,
        load=load,
        load_kept=load,
        adapt=adapt_wrapper,
        codec=codec_,
        about=about,
        attributes=vocabulary.DEFAULT_ATTRIBUTES,
        check=check_with(load, codec_, inspect_data, inspect_answers),
        extras=None if name in _UNTESTED else partial(published_disparities, published, more["metrics"]),
        sections=(published_section,),
        **more,
    )


def _pictures(task: str) -> dict[str, Any]:
    names = vocabulary.DEFAULT_METRICS[task]
    return {
        "record": partial(record.record_pictures, names),
        "metrics": partial(_picture_metrics, names),
        "instruments": _instruments(names),
        "options": FacePictureOptions,
        "rows": "a face picture",
    }


def _instruments(names: tuple[str, ...]) -> Callable[[FacePictureOptions], tuple[str, ...]]:
    return lambda options: pictures.instrument_names(names, options.metrics)


_SCORED = "accept when score ≥ threshold; `…_strict` uses the documented >"
TASKS: tuple[Task[Any, Any], ...] = (
    _task(
        "person_localization",
        "Find the box of every annotated person.",
        data.load_person_boxes,
        codec.PersonBoxCodec(),
        record=record.record_boxes,
        view=view.view_boxes,
        metrics=partial(_recall, "AR_IOU"),
        options=RecallOptions,
        headline=("AR_IOU", "recall"),
        rows="an annotated person",
        conventions=("best overlap over all boxes of the image, without assignment", _SCORED),
    ),
    _task(
        "person_parsing",
        "Find the mask of every annotated person.",
        data.load_masks,
        codec.MaskCodec(),
        record=record.record_masks,
        view=view.view_masks,
        metrics=partial(_recall, "AR_MASK"),
        options=RecallOptions,
        headline=("AR_MASK", "recall"),
        rows="an annotated person",
        conventions=("the person is the union of all its polygons, filled by OpenCV", _SCORED),
    ),
    _task(
        "keypoint_estimation",
        "Find the keypoints of every annotated person.",
        data.load_poses,
        codec.PoseCodec(),
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
        data.load_face_boxes,
        codec.BoxCodec(),
        record=record.record_boxes,
        view=view.view_boxes,
        metrics=partial(_recall, "AR_IOU"),
        options=RecallOptions,
        headline=("AR_IOU", "recall"),
        rows="an annotated face",
        conventions=("best overlap over all boxes of the image, without assignment", _SCORED),
    ),
    _task(
        "body_parts_detection",
        "Say which parts of every annotated person are visible.",
        data.load_parts,
        codec.PartCodec(),
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
        data.load_face_maps,
        codec.FaceMapCodec(),
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
        data.load_identities,
        EmbeddingCodec(),
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
        data.load_faces,
        pictures.EncodingCodec(),
        headline=("PSNR", "mean"),
        conventions=("both pictures at 256 × 256 by Pillow's bilinear filter",),
        **_pictures("face_encoding"),
    ),
    _task(
        "face_super_resolution",
        "Restore a face picture in full resolution.",
        data.load_faces,
        pictures.SuperResolutionCodec(),
        headline=("LPIPS", "mean"),
        conventions=("both pictures at 256 × 256 by Pillow's bilinear filter",),
        **_pictures("face_super_resolution"),
    ),
)


def task_named(name: str) -> Task[Any, Any]:
    """The task of that name, with or without the family's."""
    from evenhand.core.errors import UnknownNameError

    for task in TASKS:
        if name in (task.name, task.name.partition("/")[2]):
            return task
    raise UnknownNameError("task", name, [task.name.partition("/")[2] for task in TASKS])
