"""The same rows under every scoring convention in use, each with the code that it belongs to (`evenhand explain`)."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.metric import Undefined
from evenhand.core.page import Cell, Section, Table, Text
from evenhand.core.records import Array, Records
from evenhand.metrics.curves import Event
from evenhand.metrics.free_response import COMPETITION_TARGETS, FreeResponseCurve, free_response, read_at, sum_of


def explain_detection(run: Any) -> Section:
    """Detection: what the denominator counts, and which scores are thresholds."""
    rows: Records = run.records()
    kind, score = rows["kind"], rows["score"]
    return _section(rows, score[kind == Event.FOUND], score[kind == Event.FALSE_ALARM], "faces", run.results.options)


def explain_identification(run: Any) -> Section:
    """Identification at its first rank: the denominator, the thresholds, and ties."""
    rows: Records = run.records()
    kind, score = rows["kind"], rows["score"]
    rank = int(run.results.options.get("ranks", [1])[0])
    hits = score[(kind == Event.FOUND) & (rows["rank"] <= rank)]
    false = score[(kind == Event.FALSE_ALARM) | (kind == Event.STRANGER)]
    return _section(rows, hits, false, "known", run.results.options)


def _section(rows: Records, hits: Array, false: Array, counted: str, options: Any) -> Section:
    images = int(np.count_nonzero(rows["kind"] == Event.IMAGE))
    published = int(rows[counted].sum())
    annotated = int(np.count_nonzero(rows[counted] > 0))
    targets = tuple(options.get("targets", COMPETITION_TARGETS))

    def curve(faces: int, every_score: bool = False) -> FreeResponseCurve:
        return free_response(hits, false, faces=faces, images=images, every_score=every_score)

    by_list = "thresholds are scores of false alarms; faces are lowered by the list's length"
    by_faces = "exclusions that name nobody do not lower the number of faces"
    every = "scores of correct faces are thresholds too"
    conventions = (
        ("published", by_list, published, False, "the challenge's code; our headline"),
        ("every score", every, published, True, "the challenge's documentation"),
        ("faces that are there", by_faces, annotated, False, "nobody's; for comparison"),
    )
    table: list[tuple[Cell, ...]] = []
    for name, meaning, faces, every_score, owner in conventions:
        points = read_at(curve(faces, every_score), targets)
        total = sum_of(points)
        values: tuple[Cell, ...] = tuple("-" if point.rate is None else point.rate for point in points)
        table.append((name, *values, "-" if isinstance(total, Undefined) else total, faces, meaning, owner))
    columns = ("convention", *(f"at {target:g}" for target in targets), "sum", "faces", "what it means", "belongs to")
    note = "Rates at so many false alarms per image, from the rows of this run."
    return Section("Conventions", (Text(note), Table("Conventions", columns, tuple(table))), name="conventions")
