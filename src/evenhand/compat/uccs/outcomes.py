"""What the published evaluation draws and never writes down, from the rows and results of a run.

The complete curves in counts and rates, every denominator, the operating points of the competition with their sum and
intervals; as JSON (everything) and CSV (curves as a long table).

The two figures have the scales, limits, labels and colours of the published ones: limits of the horizontal axis run
from the smallest last value over all curves (0 when linear) to the largest first one. The operating points of the
challenge are marked on every curve, intervals are bands, and the legend is below the axes, so that it covers no curve.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from evenhand import api
from evenhand.benchmarks.uccs.sections import curve_at
from evenhand.core.metric import Curve, Undefined
from evenhand.core.page import Cell, Figure, Lines, Table
from evenhand.core.records import EVERYONE, Array
from evenhand.metrics.curves import Event, FreeResponse, OpenSet
from evenhand.metrics.free_response import FreeResponseCurve, FrocPoint, read_at, sum_of
from evenhand.reporting.curves import visible
from evenhand.store.runs import Run

# The colours that figures of the challenge have been drawn in; beyond the eighth system lines are dashed.
COLOURS = ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b", "#e377c2", "#7f7f7f")
SIZE = (7.0 * 96, 4.5 * 96)  # inches of 96 pixels


class Band(NamedTuple):
    """Limits of a curve's rate at some places of the horizontal axis."""

    x: Array
    low: Array
    high: Array


@dataclass(frozen=True)
class CurveReport:
    """One curve with its operating points, and its limits where they are drawn."""

    curve: FreeResponseCurve
    readings: tuple[FrocPoint, ...] = ()
    band: Band | None = None

    @property
    def sum(self) -> float | Undefined:
        """The competition's ranking: the rates at the targets, added."""
        return sum_of(self.readings)

    def heights(self, *, numbers: bool) -> Array:
        """The rate at every threshold, or the number of faces; nothing where it is undefined."""
        heights = self.curve.positives.astype(np.float64) if numbers else self.curve.rate
        return np.zeros(0) if isinstance(heights, Undefined) else heights


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


# The counts of a task in the words of the challenge: facts of the data, and events of the rows.
_COUNTS: Mapping[str, Mapping[str, str | Event]] = {
    "faces": {
        "images": "images",
        "faces_total": "faces",
        "exclusion_list_length": "exclusion list",
        "faces_evaluated": "evaluated",
        "true_detections": Event.FOUND,
        "missed_faces": Event.MISSED,
        "false_detections": Event.FALSE_ALARM,
        "ignored_detections": Event.IGNORED,
    },
    "known": {
        "images": "images",
        "known_faces_total": "known faces",
        "exclusion_list_length": "exclusion list",
        "known_faces_evaluated": "evaluated",
        "matched_known": Event.FOUND,
        "matched_unknown": Event.STRANGER,
        "missed_known": Event.MISSED,
        "misdetections": Event.FALSE_ALARM,
        "ignored_detections": Event.IGNORED,
        "subjects": "subjects",
    },
}


def outcome_of(run: Run) -> SystemOutcome:
    """The FROC curve of a run of `uccs/detection`, or the O-ROC curves of one of `uccs/identification`, with counts."""
    rows, results = run.records(), run.results
    ranks = results.options.get("ranks")

    def reports(*, every_score: bool) -> dict[int, CurveReport]:
        curves = {rank: curve_at(rows, rank, every_score=every_score) for rank in ranks or (0,)}
        return {rank: CurveReport(curve, read_at(curve, results.options["targets"])) for rank, curve in curves.items()}

    kind, counted = rows["kind"], "known" if ranks else "faces"
    events = np.bincount(kind[(kind != Event.MISSED) | (rows[counted] > 0)], minlength=len(Event))
    facts, coverage = {**results.facts, "evaluated": int(rows[counted].sum())}, results.coverage
    counts = {
        name: int(events[what]) if isinstance(what, Event) else facts[what] for name, what in _COUNTS[counted].items()
    } | {
        "images_with_ground_truth_and_detections": coverage.answered,
        "images_with_detections_but_no_ground_truth": coverage.extra,
        "detections_on_unannotated_images": coverage.reasons.get("rows on images that are not annotated", 0),
    }
    return SystemOutcome(run, counts, reports(every_score=False), reports(every_score=True) if ranks else {})


def as_plain(outcome: SystemOutcome) -> dict[str, Any]:
    """An outcome as JSON values: counts, complete curves, operating points and their sums."""
    is_detection = 0 in outcome.curves
    plain: dict[str, Any] = {
        "task": "detection" if is_detection else "recognition",
        "iou": outcome.run.results.options["iou"],
        "counts": dict(outcome.counts),
    }
    if is_detection:
        names = ("detection_rate", "false_detections_per_image", "detected_faces")
        plain |= {"curve": _plain_curve(outcome.curves[0], *names), **_plain_points(outcome.curves[0])}
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
    names = ("target", "rate", "threshold", "actual")
    points = [{name: getattr(reading, name) for name in names} for reading in report.readings]
    return {"operating_points": points, "sum": None if isinstance(report.sum, Undefined) else report.sum}


def _is_of_the_challenge(output: str) -> bool:
    return output != "curve" and not output.endswith(" shared")


def curve_figure(
    systems: Mapping[str, CurveReport], *, rank: int, faces: int, linear: bool = False, numbers: bool = False
) -> Figure:
    """Correct faces against false alarms per image, one line per system that has points; rank 0 is detection.

    A table that says the same is part of the figure.
    """
    title, x_label = (f"Rank {rank} O-ROC curve", "FPI Per Image") if rank else ("", "False Detection Per Image")
    rate_label, number_label = ("TPIR Per Face", "TPI") if rank else ("Detection Rate", "Number of Detections")
    y_label = number_label if numbers else rate_label
    rows: list[tuple[Cell, ...]] = []
    points: list[tuple[str, float, float]] = []
    ends: list[tuple[float, float]] = []
    for label, system in systems.items():
        x, y = system.curve.per_image, system.heights(numbers=numbers)
        if not len(y):
            continue
        factor = system.curve.faces if numbers else 1.0
        places = visible(Curve(x, y, x_label, y_label, log_x=not linear))
        rows += [(label, float(x[place]), float(y[place]), None, None) for place in places]
        if system.band is not None:
            limits = zip(*(side.tolist() for side in system.band), strict=True)
            rows += [(label, at, None, low * factor, high * factor) for at, low, high in limits]
        points += [
            (label, reading.actual, reading.rate * factor)
            for reading in system.readings
            if reading.rate is not None and reading.actual is not None
        ]
        ends.append((float(x[-1]), float(x[0])))
    low = 0.0 if linear else min((last for last, _ in ends), default=1e-3)
    high = max((first for _, first in ends), default=1.0)
    chart = Lines(
        log_x=not linear,
        low=3,
        high=4,
        points=tuple(points),
        framed=True,
        colours=COLOURS,
        x_domain=(low, high) if high > low else (low - 0.5 if linear else low / 2, high + 0.5 if linear else 2 * high),
        y_domain=(0.0, float(faces) if numbers else 1.0),
        size=SIZE,
    )
    columns = ("system", x_label, y_label, "low", "high")
    return Figure(title, chart, Table(title or y_label, columns, tuple(rows)))
