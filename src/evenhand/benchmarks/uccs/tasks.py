"""The table of contents: detection and identification on a watchlist."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from evenhand.benchmarks.uccs.check import check
from evenhand.benchmarks.uccs.codec import WatchlistDetectionCodec, WatchlistIdentificationCodec
from evenhand.benchmarks.uccs.data import WatchlistFaces, load
from evenhand.benchmarks.uccs.detections import WatchlistDetections
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, WatchlistIdentificationOptions, check_ranks
from evenhand.benchmarks.uccs.plausibility import warnings_of
from evenhand.benchmarks.uccs.record import match, record_detection, record_identification
from evenhand.benchmarks.uccs.sections import badness, explain_curve, points_section, view_watchlist
from evenhand.core.errors import DataError
from evenhand.core.metric import Metric
from evenhand.core.records import Records
from evenhand.core.task import Benchmark, Dataset, Demo, Task, Tools
from evenhand.files.packaged import FamilyTexts
from evenhand.metrics.curves import FreeResponse, OpenSet
from evenhand.metrics.means import Rate

TEXTS = FamilyTexts(__package__)
ATTRIBUTES = ("lighting", "weather")  # columns that people add to the table; grouped by when they are there


def _record(
    record: Callable[..., Records],
    dataset: Dataset[WatchlistFaces],
    predictions: WatchlistDetections,
    options: WatchlistDetectionOptions,
    tools: Tools,
    *,
    items: bool = True,
) -> Iterator[Records]:
    if not len(dataset.truth):
        raise DataError("The set has no annotated faces, so nothing can be evaluated. Use validation.")
    matches = match(dataset.truth, predictions, options.iou)
    named = isinstance(options, WatchlistIdentificationOptions)
    for warning in warnings_of(dataset.truth, predictions, matches, options.iou, named=named):
        tools.warn(warning)
    if isinstance(options, WatchlistIdentificationOptions) and max(options.ranks) >= len(predictions.subjects):
        tools.warn(
            f"Rank {max(options.ranks)} of {len(predictions.subjects)} subjects: every known face that is found counts "
            "as named."
        )
    yield record(dataset.truth, predictions, options, items=items, matches=matches)


def _detection_metrics(options: WatchlistDetectionOptions) -> tuple[Metric[Any], ...]:
    return (
        FreeResponse("froc", options.targets),
        Rate("found", "found", among="is_face", nothing="there is no face to be found"),
    )


def _identification_metrics(options: WatchlistIdentificationOptions) -> tuple[Metric[Any], ...]:
    check_ranks(options.ranks)
    published = [OpenSet(f"oroc_rank{rank}", rank, options.targets) for rank in options.ranks]
    documented = [OpenSet(f"oroc_documented_rank{r}", r, options.targets, every_score=True) for r in options.ranks]
    first = Rate("named first", "first", among="is_known", nothing="there is no known face")
    return (*published, first, *documented)


def _demo(folder: Path) -> Sequence[Demo]:
    from evenhand.benchmarks.uccs.demo import write_demo

    return write_demo(folder)


detection = Task(
    **TEXTS.task("detection"),
    load=load,
    codec=WatchlistDetectionCodec(),
    options=WatchlistDetectionOptions,
    record=partial(_record, record_detection),
    view=view_watchlist,
    badness=badness,
    metrics=_detection_metrics,
    attributes=ATTRIBUTES,
    headline=("froc", "DR@0.1 shared"),
    sections=(points_section,),
    check=check,
    explain=explain_curve,
)

identification = replace(
    detection,
    **TEXTS.task("identification"),
    codec=WatchlistIdentificationCodec(),
    options=WatchlistIdentificationOptions,
    record=partial(_record, record_identification),
    metrics=_identification_metrics,
    headline=("oroc_rank1", "TPIR@0.1 shared"),
)

benchmark = Benchmark(
    "uccs",
    "UCCS watchlist challenge: open-set face detection and identification in the wild",
    (detection, identification),
    demo=_demo,
    names=TEXTS.names(),
)
