"""The page of a watchlist run: the operating points of the challenge and their sum; the report draws the curves."""

from __future__ import annotations

from evenhand.core.page import Block, Cell, Interval, Section, Table
from evenhand.core.records import EVERYONE
from evenhand.core.results import Estimate, Results


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
