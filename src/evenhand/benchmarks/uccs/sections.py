"""The page of a watchlist run: the operating points of the challenge and their sum; the report draws the curves.

`evenhand explain` shows the same rows under every scoring convention in use, each with the code that it belongs to.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.core.metric import Undefined
from evenhand.core.page import Block, Cell, Interval, Section, Table, Text
from evenhand.core.records import EVERYONE, Array, Records
from evenhand.core.results import Estimate, Results
from evenhand.metrics.curves import Event
from evenhand.metrics.free_response import COMPETITION_TARGETS, free_response, read_at, sum_of


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


def explain_detection(run: Any) -> Section:
    """Detection: what the denominator counts, and which scores are thresholds."""
    rows: Records = run.records()
    kind, score = rows["kind"], rows["score"]
    return _conventions(
        rows, score[kind == Event.FOUND], score[kind == Event.FALSE_ALARM], "faces", run.results.options
    )


def explain_identification(run: Any) -> Section:
    """Identification at its first rank: the denominator, the thresholds, and ties."""
    rows: Records = run.records()
    kind, score = rows["kind"], rows["score"]
    rank = int(run.results.options.get("ranks", [1])[0])
    hits = score[(kind == Event.FOUND) & (rows["rank"] <= rank)]
    false = score[(kind == Event.FALSE_ALARM) | (kind == Event.STRANGER)]
    return _conventions(rows, hits, false, "known", run.results.options)


def _conventions(rows: Records, hits: Array, false: Array, counted: str, options: Any) -> Section:
    images = int(np.count_nonzero(rows["kind"] == Event.IMAGE))
    published = int(rows[counted].sum())
    annotated = int(np.count_nonzero(rows[counted] > 0))
    targets = tuple(options.get("targets", COMPETITION_TARGETS))

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
        curve = free_response(hits, false, faces=faces, images=images, every_score=every_score)
        points = read_at(curve, targets)
        total = sum_of(points)
        values: tuple[Cell, ...] = tuple("-" if point.rate is None else point.rate for point in points)
        table.append((name, *values, "-" if isinstance(total, Undefined) else total, faces, meaning, owner))
    columns = ("convention", *(f"at {target:g}" for target in targets), "sum", "faces", "what it means", "belongs to")
    note = "Rates at so many false alarms per image, from the rows of this run."
    return Section("Conventions", (Text(note), Table("Conventions", columns, tuple(table))), name="conventions")
