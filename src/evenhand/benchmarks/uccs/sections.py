"""The page of a watchlist run: its curves and its operating points."""

from __future__ import annotations

from evenhand.benchmarks.uccs.figures import COLOURS, CurveFigure, Line, page_figure
from evenhand.core.metric import Curve
from evenhand.core.page import Block, Cell, Interval, Section, Table
from evenhand.core.records import EVERYONE
from evenhand.core.results import Results


def curve_section(results: Results) -> Section | None:
    """Every group's curve in one figure per metric, and a table of operating points; nothing without curves."""
    metrics = list(dict.fromkeys(e.metric for e in results.estimates if isinstance(e.value, Curve)))
    if not metrics:
        return None
    blocks: list[Block] = []
    for metric in metrics:
        found = [(str(e.group), e.value) for e in results.of(metric, "curve") if isinstance(e.value, Curve)]
        curves = [(name, curve) for name, curve in found if len(curve.x)][: len(COLOURS)]
        first = curves[0][1]
        lines = tuple(Line(name, curve.x, curve.y, COLOURS[place]) for place, (name, curve) in enumerate(curves))
        low, high = min(float(line.x[-1]) for line in lines), max(float(line.x[0]) for line in lines)
        figure = CurveFigure(
            metric, first.x_name, first.y_name, "log", (low, max(high, low * 10)), (0.0, 1.0), lines, "upper left"
        )
        blocks += [page_figure(figure, metric), _points(results, metric)]
    return Section("Curves", tuple(blocks), name="curves")


def _points(results: Results, metric: str) -> Table:
    rows: list[tuple[Cell, ...]] = []
    for estimate in results.estimates:
        if estimate.metric != metric or estimate.group != EVERYONE or estimate.at is None:
            continue
        at = estimate.at
        value = Interval(estimate.number, estimate.low, estimate.high, "" if estimate.number is not None else "-")
        rows.append((estimate.output, value, at.asked, at.realised, at.threshold, at.events))
    columns = ("output", "rate", "false alarms per image asked", "reached", "threshold", "false alarms")
    return Table(f"{metric}: operating points", columns, tuple(rows))
