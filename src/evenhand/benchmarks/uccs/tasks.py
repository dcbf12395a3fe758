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
from evenhand.benchmarks.uccs.record import record_detection, record_identification
from evenhand.benchmarks.uccs.sections import badness, explain_curve, points_section, view_watchlist
from evenhand.core.errors import DataError
from evenhand.core.metric import Metric
from evenhand.core.names import DisplayNames
from evenhand.core.records import Records
from evenhand.core.task import About, Benchmark, Dataset, Demo, Task, Tools
from evenhand.metrics.curves import FreeResponse, OpenSet
from evenhand.metrics.means import Rate

ATTRIBUTES = ("lighting", "weather")  # columns that people add to the table; grouped by when they are there

DATA = """\
DATA/
  validation.csv                   FILE, FACE_ID, SUBJECT_ID, FACE_X, FACE_Y, FACE_WIDTH, FACE_HEIGHT
  exclude_gallery_validation.txt   one face id per line (optional)
  gallery.csv                      FILE, SUBJECT_ID, REYE_X … LMOUTH_Y (needed for baselines and scoring)
  validation_images/, gallery_images/NNNN/   (needed for baselines only)
Group by listed, face_height, or any further column of validation.csv (LIGHTING, …) in small letters."""

_AT = r"@(\S+)"
NAMES = DisplayNames(
    values=(
        (rf"froc: DR{_AT} shared", r"Detection rate at \1 false detections per image (one threshold for all groups)"),
        (rf"froc: DR{_AT}", r"Detection rate at \1 false detections per image (own threshold)"),
        (r"froc: sum", "Sum of detection rates"),
        (
            rf"oroc_rank(\d+): TPIR{_AT} shared",
            r"Rank-\1 TPIR at \2 false identifications per image (one threshold for all groups)",
        ),
        (rf"oroc_rank(\d+): TPIR{_AT}", r"Rank-\1 TPIR at \2 false identifications per image (own threshold)"),
        (rf"oroc_documented_rank(\d+): TPIR{_AT}( shared)?", r"Rank-\1 TPIR at \2 as documented\3"),
        (r"oroc_rank(\d+): sum", r"Sum of rank-\1 TPIR"),
        ("found: rate", "Faces found"),
        ("named first: rate", "Known faces named first"),
    ),
    shares=(r".*: (DR|TPIR)@.*", "found: rate", "named first: rate"),
    tasks={"uccs/detection": "UCCS: face detection", "uccs/identification": "UCCS: watchlist identification"},
    items="faces",
)

CONVENTIONS = (
    "Overlaps in single precision, best pair first; equal to the limit counts.",
    "The number of faces is lowered by the length of the exclusion list, whatever its ids are.",
    "Thresholds are the distinct scores of false alarms; a rate is read at the lowest threshold that allows it.",
    "`NAME shared`: the rate at the threshold that was set on everyone; compare groups by it.",
)


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
    yield record(dataset.truth, predictions, options, items=items)


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


def _about(predictions: str, faces: str, conventions: tuple[str, ...] = (), cautions: tuple[str, ...] = ()) -> About:
    return About(
        data=DATA,
        predictions=predictions,
        rows=f"an image, a face ({faces}), a false or ignored detection, an absent exclusion",
        unit="image",
        conventions=(*CONVENTIONS, *conventions),
        licence="The pictures show people who were not asked; the challenge's terms forbid passing them on.",
        cautions=cautions,
    )


detection = Task(
    name="uccs/detection",
    summary="Find the faces in surveillance pictures; false detections are counted per image.",
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
    about=_about(
        "A detection score file: one line per detection, box as left, top, width, height. "
        "A recognition score file will do.",
        "found, missed, excluded",
        cautions=("Detections on images without any annotated face are left out; they are counted in the coverage.",),
    ),
)

identification = replace(
    detection,
    name="uccs/identification",
    summary="Name the people of a watchlist in surveillance pictures, and nobody else.",
    codec=WatchlistIdentificationCodec(),
    options=WatchlistIdentificationOptions,
    record=partial(_record, record_identification),
    metrics=_identification_metrics,
    headline=("oroc_rank1", "TPIR@0.1 shared"),
    about=_about(
        "A recognition score file: one line per detection with one similarity per subject; "
        "its binary store (NAME.npy with NAME.ids.npz); or a TOML naming the stores of gallery and probes.",
        "known, unknown, missed, excluded",
        (
            "A known face whose true name is not within the rank is missed; it is no false identification.",
            "`oroc_documented_rankN`: every similarity is a threshold, as the challenge's documentation says.",
            "A true name that ties with others stands behind them (`ties`).",
        ),
    ),
)

benchmark = Benchmark(
    "uccs",
    "UCCS watchlist challenge: open-set face detection and identification in the wild",
    (detection, identification),
    demo=_demo,
    names=NAMES,
)
