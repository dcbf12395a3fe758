"""The page of a watchlist run: the operating points of the challenge and their sum; the report draws the curves."""

from __future__ import annotations

from evenhand.core.page import Block, Cell, Interval, Section, Table
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results


def points_section(results: Results) -> Section | None:
    """A table of operating points for every curve, the sum of their rates last; nothing without curves."""
    curves = dict.fromkeys(e.metric for e in results.estimates if e.output == "curve")
    tables: list[Block] = [_points(results, metric) for metric in curves]
    return Section("Operating points", tables, name="operating-points") if tables else None


def _points(results: Results, metric: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    total: list[tuple[Cell, ...]] = []
    for estimate in results.estimates:
        if estimate.metric != metric or estimate.group != EVERYONE:
            continue
        value = Interval(estimate.number, estimate.low, estimate.high, "" if estimate.number is not None else "-")
        at = estimate.at
        if at is not None:
            rows.append((estimate.output, value, at.asked, at.realised, at.threshold, at.events))
        elif estimate.output == "sum":
            total.append(("sum", value, None, None, None, None))
    columns = ("output", "rate", "false alarms per image: target", "reached", "threshold", "false alarms")
    return Table(f"{metric}: operating points", columns, (*rows, *total))
