"""What the published evaluation draws and never writes down, from the rows and results of a run.

The complete curves in counts and rates, every denominator, the operating points of the competition with their sum and
intervals; as JSON (everything) and CSV (curves as a long table).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from evenhand import api
from evenhand.compat.uccs.figures import Band, CurveReport
from evenhand.core.metric import Undefined
from evenhand.core.records import EVERYONE, Array
from evenhand.core.results import Results
from evenhand.metrics.curves import Event, FreeResponse, OpenSet
from evenhand.metrics.free_response import FreeResponseCurve, free_response, read_at
from evenhand.store.runs import Run


@dataclass(frozen=True)
class SystemOutcome:
    """A run in the words of the challenge."""

    run: Run
    counts: Mapping[str, int]
    curves: Mapping[int, CurveReport]  # by rank; detection has the one "rank" 0
    documented: Mapping[int, CurveReport]  # every similarity a threshold, as the documentation says

    @property
    def warnings(self) -> tuple[str, ...]:
        """The warnings of the run, and what is to be known about its curves."""
        messages = list(self.run.results.warnings)
        left_out = self.counts["detections_on_unannotated_images"]
        if left_out:
            messages.append(
                f"{left_out} detections on {self.counts['images_with_detections_but_no_ground_truth']} images that are "
                "not annotated were left out, as in the published evaluation."
            )
        for rank, report in self.curves.items():
            at = f" at rank {rank}" if rank else ""
            if isinstance(report.curve.rate, Undefined):
                messages.append(f"The rate{at} is undefined: {report.curve.rate.reason}.")
            elif not len(report.curve.thresholds):
                messages.append(f"The curve{at} is empty: there is no false detection that could set a threshold.")
        return tuple(dict.fromkeys(messages))


def detection_outcome(run: Run) -> SystemOutcome:
    """The FROC curve, counts and operating points of a run of `uccs/detection`."""
    rows, results = run.records(), run.results
    kind, score = rows["kind"], rows["score"]
    faces = int(rows["faces"].sum())
    curve = free_response(
        score[kind == Event.FOUND], score[kind == Event.FALSE_ALARM], faces=faces, images=results.facts["images"]
    )
    counts = {
        "images": results.facts["images"],
        "faces_total": results.facts["faces"],
        "exclusion_list_length": results.facts["exclusion list"],
        "faces_evaluated": faces,
        "true_detections": _count(kind, Event.FOUND),
        "missed_faces": _count(kind, Event.MISSED),
        "false_detections": _count(kind, Event.FALSE_ALARM),
        "ignored_detections": _count(kind, Event.IGNORED),
        **_image_counts(results),
    }
    return SystemOutcome(run, counts, {0: CurveReport(curve, read_at(curve, results.options["targets"]))}, {})


def identification_outcome(run: Run) -> SystemOutcome:
    """The O-ROC curves, counts and operating points of a run of `uccs/identification`, at all its ranks."""
    rows, results = run.records(), run.results
    kind, score, rank = rows["kind"], rows["score"], rows["rank"]
    known, images = int(rows["known"].sum()), results.facts["images"]
    false = score[(kind == Event.FALSE_ALARM) | (kind == Event.STRANGER)]
    curves: dict[bool, dict[int, CurveReport]] = {False: {}, True: {}}
    for limit in results.options["ranks"]:
        hits = score[(kind == Event.FOUND) & (rank <= limit)]
        for every_score, reports in curves.items():
            curve = free_response(hits, false, faces=known, images=images, every_score=every_score)
            reports[limit] = CurveReport(curve, read_at(curve, results.options["targets"]))
    counts = {
        "images": images,
        "known_faces_total": results.facts["known faces"],
        "exclusion_list_length": results.facts["exclusion list"],
        "known_faces_evaluated": known,
        "matched_known": _count(kind, Event.FOUND),
        "matched_unknown": _count(kind, Event.STRANGER),
        "missed_known": int(((kind == Event.MISSED) & (rows["known"] > 0)).sum()),
        "misdetections": _count(kind, Event.FALSE_ALARM),
        "ignored_detections": _count(kind, Event.IGNORED),
        "subjects": results.facts["subjects"],
        **_image_counts(results),
    }
    return SystemOutcome(run, counts, curves[False], curves[True])


def as_plain(outcome: SystemOutcome) -> dict[str, Any]:
    """An outcome as JSON values: counts, complete curves, operating points and their sums."""
    is_detection = 0 in outcome.curves
    plain: dict[str, Any] = {
        "task": "detection" if is_detection else "recognition",
        "iou": outcome.run.results.options["iou"],
        "counts": dict(outcome.counts),
    }
    if is_detection:
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


def intervals(outcomes: Mapping[str, SystemOutcome], metric: str, draws: int) -> dict[str, Any]:
    """Intervals of every output of every system, and paired differences of all pairs: first minus second."""
    numbers: dict[str, Any] = {"draws": draws}
    if draws <= 0:
        return numbers
    numbers["intervals"] = {
        label: {
            estimate.output: {"value": estimate.number, "low": estimate.low, "high": estimate.high}
            for estimate in outcome.run.results.estimates
            if estimate.metric == metric and estimate.group == EVERYONE and _is_of_the_challenge(estimate.output)
        }
        for label, outcome in outcomes.items()
    }
    numbers["paired"] = [
        {
            "output": contrast.output,
            "first": first,
            "second": second,
            "value": contrast.difference,
            "low": contrast.low,
            "high": contrast.high,
        }
        for first, second in combinations(outcomes, 2)
        for contrast in api.compare(outcomes[second].run, outcomes[first].run, draws=draws)[0].contrasts
        if contrast.metric == metric and contrast.group == EVERYONE and _is_of_the_challenge(contrast.output)
    ]
    return numbers


BAND_DRAWS, BAND_PLACES = 400, 32


def band(outcome: SystemOutcome, rank: int, metric: str, draws: int) -> Band | None:
    """95 % limits of a curve's rate at places along its axis, images redrawn; None when there is no curve.

    Each place is an operating point of its own, read in every resample as the challenge reads its four.
    """
    from evenhand.core.measure import tally
    from evenhand.stats.analysis import analyse
    from evenhand.stats.settings import Settings

    x = outcome.curves[rank].curve.per_image
    if len(x) < 2 or isinstance(outcome.curves[rank].curve.rate, Undefined):
        return None
    places = tuple(np.geomspace(x[-1], x[0], BAND_PLACES).tolist())
    name = f"{metric} band"
    chosen = OpenSet(name, rank, places) if rank else FreeResponse(name, places)
    settings = Settings(draws=min(draws, BAND_DRAWS), permutations=0, scope=("uccs", name))
    estimates = analyse(tally(outcome.run.records(), [chosen], ()), settings=settings).estimates
    limits = [(e.at.asked, e.low, e.high) for e in estimates if e.at is not None]
    known = [(at, low, high) for at, low, high in limits if low is not None and high is not None]
    return Band(*(np.array(side, dtype=np.float64) for side in zip(*known, strict=True))) if known else None


def groups(outcome: SystemOutcome, metric: str) -> list[dict[str, Any]]:
    """Every number of a metric in every group."""
    return [
        {
            "group": str(estimate.group),
            "output": estimate.output,
            "value": estimate.number,
            "rows": estimate.rows,
            "images": estimate.units,
        }
        for estimate in outcome.run.results.estimates
        if estimate.metric == metric and estimate.output != "curve"
    ]


def report_json(outcomes: Mapping[str, SystemOutcome], extra: Mapping[str, Any]) -> bytes:
    """Everything about all systems."""
    import msgspec

    systems = {label: as_plain(outcome) for label, outcome in outcomes.items()}
    return msgspec.json.format(msgspec.json.encode({"systems": systems, **extra}), indent=1) + b"\n"


def curves_csv(outcomes: Mapping[str, SystemOutcome]) -> bytes:
    """The curves of all systems as one long table."""
    frames = [frame for label, outcome in outcomes.items() for frame in _curve_frames(label, outcome)]
    return pl.concat([pl.DataFrame(schema=_COLUMNS), *frames]).write_csv().encode()


_COLUMNS = {
    "system": pl.String,
    "convention": pl.String,
    "rank": pl.Int64,
    "threshold": pl.Float64,
    "rate": pl.Float64,
    "false_per_image": pl.Float64,
    "faces": pl.Int64,
}


def _curve_frames(label: str, outcome: SystemOutcome) -> Iterator[pl.DataFrame]:
    published = "froc" if 0 in outcome.curves else "oroc"
    for convention, reports in ((published, outcome.curves), ("oroc_documented", outcome.documented)):
        for rank, report in reports.items():
            curve, points = report.curve, len(report.curve.thresholds)
            names = ([label] * points, [convention] * points, [rank] * points)
            numbers = (curve.thresholds, _rates(curve), curve.per_image, curve.positives)
            yield pl.DataFrame(dict(zip(_COLUMNS, (*names, *numbers), strict=True)), schema=_COLUMNS)


def _rates(curve: FreeResponseCurve) -> Sequence[float | None]:
    return [None] * len(curve.thresholds) if isinstance(curve.rate, Undefined) else curve.rate.tolist()


def _plain_curve(report: CurveReport, rate_name: str, x_name: str, count_name: str) -> dict[str, Any]:
    return {
        "thresholds": report.curve.thresholds.tolist(),
        rate_name: _rates(report.curve),
        x_name: report.curve.per_image.tolist(),
        count_name: report.curve.positives.tolist(),
    }


def _plain_points(report: CurveReport) -> dict[str, Any]:
    points = [
        {"target": reading.target, "rate": reading.rate, "threshold": reading.threshold, "actual": reading.actual}
        for reading in report.readings
    ]
    return {"operating_points": points, "sum": None if isinstance(report.sum, Undefined) else report.sum}


def _is_of_the_challenge(output: str) -> bool:
    return output != "curve" and not output.endswith(" shared")


def _count(kind: Array, event: Event) -> int:
    return int(np.count_nonzero(kind == event))


def _image_counts(results: Results) -> dict[str, int]:
    coverage = results.coverage
    return {
        "images_with_ground_truth_and_detections": coverage.answered,
        "images_with_detections_but_no_ground_truth": coverage.extra,
        "detections_on_unannotated_images": coverage.reasons.get("rows on images that are not annotated", 0),
    }
