"""Curves, counts and operating points of a system, from its rows.

What the published evaluation draws and never writes down: the complete curve in counts and
rates, every denominator, the four operating points of the competition and their sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.benchmarks.uccs.data import Faces
from evenhand.benchmarks.uccs.detections import Detections
from evenhand.benchmarks.uccs.matching import match
from evenhand.benchmarks.uccs.record import Ties, record_detection, record_identification
from evenhand.core.errors import OptionError
from evenhand.core.metric import Undefined
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import Event
from evenhand.metrics.free_response import (
    COMPETITION_TARGETS,
    FreeResponseCurve,
    Reading,
    free_response,
    read_at,
    sum_of,
)


@dataclass(frozen=True)
class CurveReport:
    """One curve with its operating points."""

    curve: FreeResponseCurve
    readings: tuple[Reading, ...]

    @property
    def sum(self) -> float | Undefined:
        """The competition's ranking: the rates at the targets, added."""
        return sum_of(self.readings)


@dataclass(frozen=True)
class Outcome:
    """Everything that an evaluation of one system found."""

    task: str  # "detection" or "recognition"
    iou: float
    counts: Mapping[str, int]
    curves: Mapping[int, CurveReport]  # by rank; detection has the one "rank" 0
    documented: Mapping[int, CurveReport]  # every similarity a threshold, as the documentation says
    rows: Records
    warnings: tuple[str, ...] = ()


def evaluate_detection(
    faces: Faces, detections: Detections, *, iou: float = 0.5, targets: Sequence[float] = COMPETITION_TARGETS
) -> Outcome:
    """The FROC curve, counts and operating points of a detector."""
    rows = record_detection(faces, detections, iou, items=False)
    kind, score = rows["kind"], rows["score"]
    curve = free_response(
        score[kind == Event.FOUND],
        score[kind == Event.FALSE_ALARM],
        faces=int(rows["faces"].sum()),
        images=len(faces.images),
    )
    counts = {
        "images": len(faces.images),
        "faces_total": len(faces),
        "exclusion_list_length": len(faces.exclusion),
        "faces_evaluated": int(rows["faces"].sum()),
        "true_detections": _count(kind, Event.FOUND),
        "missed_faces": _count(kind, Event.MISSED),
        "false_detections": _count(kind, Event.FALSE_ALARM),
        "ignored_detections": _count(kind, Event.IGNORED),
        **_image_counts(detections),
    }
    curves = {0: CurveReport(curve, read_at(curve, targets))}
    return Outcome("detection", iou, counts, curves, {}, rows, _warnings(faces, detections, curves))


def evaluate_identification(
    faces: Faces,
    detections: Detections,
    *,
    ranks: Sequence[int] = (1,),
    iou: float = 0.5,
    ties: Ties = "pessimistic",
    targets: Sequence[float] = COMPETITION_TARGETS,
) -> Outcome:
    """The O-ROC curves at any ranks, counts and operating points of a watchlist system."""
    check_ranks(ranks)
    rows = record_identification(faces, detections, iou, ties, items=False)
    kind, score, rank = rows["kind"], rows["score"], rows["rank"]
    known = int(rows["known"].sum())
    false = score[(kind == Event.FALSE_ALARM) | (kind == Event.STRANGER)]
    curves, documented = {}, {}
    for limit in ranks:
        hits = score[(kind == Event.FOUND) & (rank <= limit)]
        curve = free_response(hits, false, faces=known, images=len(faces.images))
        curves[limit] = CurveReport(curve, read_at(curve, targets))
        curve = free_response(hits, false, faces=known, images=len(faces.images), every_score=True)
        documented[limit] = CurveReport(curve, read_at(curve, targets))
    counts = {
        "images": len(faces.images),
        "known_faces_total": int(faces.is_known.sum()),
        "exclusion_list_length": len(faces.exclusion),
        "known_faces_evaluated": known,
        "matched_known": _count(kind, Event.FOUND),
        "matched_unknown": _count(kind, Event.STRANGER),
        "missed_known": int(((kind == Event.MISSED) & (rows["known"] > 0)).sum()),
        "misdetections": _count(kind, Event.FALSE_ALARM),
        "ignored_detections": _count(kind, Event.IGNORED),
        "subjects": len(detections.subjects),
        **_image_counts(detections),
    }
    return Outcome("recognition", iou, counts, curves, documented, rows, _warnings(faces, detections, curves))


def assignments(faces: Faces, detections: Detections, iou: float = 0.5) -> dict[str, dict[str, list[Any]]]:
    """Per annotated image with detections: who was matched, which are false, which ignored.

    `matched` lists (detection, subject id) in the order of acceptance; detections count from 0
    within their image, in file order.
    """
    matches = match(faces, detections, iou)
    within = np.arange(len(detections)) - detections.offsets[detections.image]
    found: dict[str, dict[str, list[Any]]] = {
        faces.images[image]: {"matched": [], "false": [], "ignored": []} for image in np.unique(detections.image)
    }
    face, detection = matches.pairs
    for one, other in zip(face.tolist(), detection.tolist(), strict=True):
        found[faces.images[faces.image[one]]]["matched"].append([int(within[other]), int(faces.subject[one])])
    for name, some in (("false", matches.false), ("ignored", matches.ignored)):
        for other in some.tolist():
            found[faces.images[detections.image[other]]][name].append(int(within[other]))
    return found


def check_ranks(ranks: Sequence[int]) -> None:
    """Raise when there is no rank, or one below 1."""
    if not ranks or any(rank < 1 for rank in ranks):
        raise OptionError(f"Ranks are {', '.join(map(str, ranks)) or 'none'}; a rank is a whole number from 1 on.")


def as_plain(outcome: Outcome) -> dict[str, Any]:
    """An outcome as JSON values: counts, complete curves, operating points and their sums."""
    plain: dict[str, Any] = {"task": outcome.task, "iou": outcome.iou, "counts": dict(outcome.counts)}
    if outcome.task == "detection":
        report = outcome.curves[0]
        plain["curve"] = _plain_curve(report, "detection_rate", "false_detections_per_image", "detected_faces")
        plain |= _plain_points(report)
    else:
        for name, curves in (("ranks", outcome.curves), ("oroc_documented", outcome.documented)):
            plain[name] = {
                str(rank): _plain_curve(report, "tpir", "fpipi", "identified_faces") | _plain_points(report)
                for rank, report in curves.items()
            }
    plain["warnings"] = list(outcome.warnings)
    return plain


def _plain_curve(report: CurveReport, rate_name: str, x_name: str, count_name: str) -> dict[str, Any]:
    curve, rate = report.curve, report.curve.rate
    return {
        "thresholds": curve.thresholds.tolist(),
        rate_name: [None] * len(curve.thresholds) if isinstance(rate, Undefined) else rate.tolist(),
        x_name: curve.per_image.tolist(),
        count_name: curve.positives.tolist(),
    }


def _plain_points(report: CurveReport) -> dict[str, Any]:
    points = [
        {"target": reading.target, "rate": reading.rate, "threshold": reading.threshold, "actual": reading.actual}
        for reading in report.readings
    ]
    total = report.sum
    return {"operating_points": points, "sum": None if isinstance(total, Undefined) else total}


def _count(kind: Array, event: Event) -> int:
    return int(np.count_nonzero(kind == event))


def _image_counts(detections: Detections) -> dict[str, int]:
    return {
        "images_with_ground_truth_and_detections": len(np.unique(detections.image)),
        "images_with_detections_but_no_ground_truth": len(detections.elsewhere),
        "detections_on_unannotated_images": sum(detections.elsewhere.values()),
    }


def _warnings(faces: Faces, detections: Detections, curves: Mapping[int, CurveReport]) -> tuple[str, ...]:
    found = list(detections.warnings)
    if detections.elsewhere:
        found.append(
            f"{sum(detections.elsewhere.values())} detections on {len(detections.elsewhere)} images that are not "
            "annotated were left out, as in the published evaluation."
        )
    for rank, report in curves.items():
        at = f" at rank {rank}" if rank else ""
        if isinstance(report.curve.rate, Undefined):
            found.append(f"The rate{at} is undefined: {report.curve.rate.reason}.")
        elif not len(report.curve.thresholds):
            found.append(f"The curve{at} is empty: there is no false detection that could set a threshold.")
    return tuple(found)
