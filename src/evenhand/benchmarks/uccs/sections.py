"""The page of a watchlist run: the operating points of the challenge and their sum; the report draws the curves.

Of a row a page shows the face or the false alarm that it is about, among all others of its picture.

`evenhand explain` shows the same rows under every scoring convention in use, each with the code that it belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces
from evenhand.benchmarks.uccs.detections import WatchlistDetections
from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE, Array, Records
from evenhand.core.results import Estimate, Results
from evenhand.core.task import Dataset
from evenhand.core.view import SampleView, box_mark
from evenhand.metrics.curves import Event
from evenhand.metrics.free_response import COMPETITION_TARGETS, FreeResponseCurve, free_response, read_at, sum_of


def points_section(results: Results) -> Section | None:
    """The competition's table, and the operating points of every curve with thresholds; nothing without curves."""
    curves = list(dict.fromkeys(e.metric for e in results.estimates if e.output == "curve"))
    published = [metric for metric in curves if "documented" not in metric]
    tables: list[Block] = [_competition(results, metric) for metric in published]
    tables += [_points(results, metric) for metric in curves]
    return Section("Operating points", tables, name="operating-points") if tables else None


def _competition(results: Results, metric: str) -> Table:
    """One line per system: the rate at each number of false alarms per image, and their sum, by which systems rank."""
    points = [e for e in _of_everyone(results, metric) if e.at is not None]
    total = [e for e in _of_everyone(results, metric) if e.output == "sum"]
    row: tuple[Cell, ...] = (results.model, *(e.number for e in (*points, *total)))
    columns = ("system", *(f"{metric}: {e.output}" for e in points), f"{metric}: sum")
    title = f"{metric}: rates at the challenge's false alarms per image"
    return Table(title, columns, (row,), form="paper", better=("", *["higher"] * (len(columns) - 1)))


def _points(results: Results, metric: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for estimate in _of_everyone(results, metric):
        at = estimate.at
        if at is not None:
            value = Interval(estimate.number, estimate.low, estimate.high, "" if estimate.number is not None else "-")
            rows.append((estimate.output, value, at.asked, at.realised, at.threshold, at.events))
    columns = ("output", "rate", "false alarms per image: target", "reached", "threshold", "false alarms")
    return Table(f"{metric}: operating points", columns, tuple(rows))


def _of_everyone(results: Results, metric: str) -> list[Estimate]:
    return [e for e in results.estimates if e.metric == metric and e.group == EVERYONE]


def curve_at(rows: Records, rank: int, *, every_score: bool = False) -> FreeResponseCurve:
    """The curve of the rows of a run: of identification at a rank, or of detection, which has the "rank" 0."""
    kind, score = rows["kind"], rows["score"]
    return free_response(
        score[(kind == Event.FOUND) & (rows["rank"] <= rank)],
        score[(kind == Event.FALSE_ALARM) | (kind == Event.STRANGER)],
        faces=int(rows["known" if rank else "faces"].sum()),
        images=int(np.count_nonzero(kind == Event.IMAGE)),
        every_score=every_score,
    )


def explain_curve(run: Any) -> Section:
    """What the denominator counts, and which scores are thresholds; identification at its first rank."""
    rows, options = run.records(), run.results.options
    rank, targets = int(options.get("ranks", [0])[0]), tuple(options.get("targets", COMPETITION_TARGETS))
    published, documented = (curve_at(rows, rank, every_score=every) for every in (False, True))
    annotated = published._replace(faces=int(np.count_nonzero(rows["known" if rank else "faces"] > 0)))

    by_list = "thresholds are scores of false alarms; faces are lowered by the list's length"
    by_faces = "exclusions that name nobody do not lower the number of faces"
    every = "scores of correct faces are thresholds too"
    conventions = (
        ("published", by_list, published, "the challenge's code; our headline"),
        ("every score", every, documented, "the challenge's documentation"),
        ("faces that are there", by_faces, annotated, "nobody's; for comparison"),
    )
    table: list[tuple[Cell, ...]] = []
    for name, meaning, curve, owner in conventions:
        points = read_at(curve, targets)
        total = sum_of(points)
        values: tuple[Cell, ...] = tuple("-" if point.rate is None else point.rate for point in points)
        table.append((name, *values, "-" if isinstance(total, Undefined) else total, curve.faces, meaning, owner))
    columns = ("convention", *(f"at {target:g}" for target in targets), "sum", "faces", "what it means", "belongs to")
    note = "Rates at so many false alarms per image, from the rows of this run."
    return Section("Conventions", (Text(note), Table("Conventions", columns, tuple(table))), name="conventions")


_OUTCOMES = {
    Event.IMAGE: "a picture",
    Event.FOUND: "found",
    Event.MISSED: "missed",
    Event.FALSE_ALARM: "false alarm",
    Event.STRANGER: "stranger, found",
    Event.IGNORED: "detection on an excluded face: not counted",
    Event.EXCLUDED: "excluded: not counted",
    Event.ABSENT: "excluded face that the data do not have",
}


def view_watchlist(
    dataset: Dataset[WatchlistFaces], answers: WatchlistDetections | None, row: Mapping[str, Any]
) -> SampleView:
    """All faces and detections of the picture; the part around the one that the row is about."""
    faces, event, image = dataset.truth, Event(int(row["kind"])), int(row["unit"])
    _, _, part = str(row["item"]).partition(":")
    marks, focus = [], None
    for place in np.flatnonzero(faces.image == image):
        subject, corners = int(faces.subject[place]), _corners(faces.boxes_xywh[place])
        marks.append(box_mark(corners, label=f"person {subject}" if subject > 0 else "somebody unknown"))
        focus = corners if part == f"face {faces.face_id[place]}" else focus
    if answers is not None:
        for number, place in enumerate(np.flatnonzero(answers.image == image)):
            corners = _corners(answers.boxes_xywh[place])
            marks.append(box_mark(corners, is_answer=True, label=f"score {answers.scores[place]:.2f}"))
            focus = corners if part == f"detection {number}" else focus
    answer, score, rank = _OUTCOMES[event], float(row["score"]), float(row.get("rank", 0))
    if np.isfinite(score):
        answer += f", score {score:.2f}"
    if event is Event.FOUND and rank > 0:
        answer = f"named at rank {rank:,.0f}, similarity {score:.2f}"
    is_wrong = event in (Event.MISSED, Event.FALSE_ALARM) or rank > 1
    return SampleView(marks=tuple(marks), answer=answer, is_wrong=is_wrong, focus=focus)


def badness(rows: Records) -> Array:
    """False alarms and missed faces first, then faces that are named late, then by how low the score is."""
    kind, score, rank = rows["kind"], np.nan_to_num(rows["score"]), rows["rank"]
    of_found = np.where(rank > 1, 2 + np.minimum(rank, 1e6) / 1e6, 1 / (1 + np.exp(score)))
    worse = {Event.MISSED: 4.0, Event.FALSE_ALARM: 3 + 1 / (1 + np.exp(-score)), Event.FOUND: of_found}
    order = np.full(len(rows), np.nan)
    for event, value in worse.items():
        order = np.where(kind == event, value, order)
    return order


def _corners(box: Sequence[float]) -> tuple[float, float, float, float]:
    x, y, width, height = map(float, box)
    return x, y, x + width, y + height
