"""What a page shows of a row: the face or the false alarm that it is about, among all others of its picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces
from evenhand.benchmarks.uccs.detections import WatchlistDetections
from evenhand.core.records import Array, Records
from evenhand.core.task import Dataset
from evenhand.core.view import SampleView, box_mark
from evenhand.metrics.curves import Event

_SAID = {
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
    answer, score, rank = _SAID[event], float(row["score"]), float(row.get("rank", 0))
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
