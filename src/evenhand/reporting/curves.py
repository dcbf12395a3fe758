"""Curves and matrices as figures: ROC, DET, FROC, O-ROC, CMC, IET, confusion and whatever else a metric draws.

One figure per metric shows everyone and the groups of an attribute; where several systems answered the
same task, one figure shows them together. Lines can be switched on and off, zoomed and read.

A screen has so many columns of pixels. In each, a line is seen from its lowest to its highest point,
and it enters and leaves at its first and last: these four points are kept, all others fall on the
pixels between them. Where the axis is logarithmic, a linear one is served too, at a quarter, since a reader may switch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.core.metric import Curve, Grid
from evenhand.core.page import Block, Cell, Figure, Interval, Lines, Matrix, Section, Table, Text
from evenhand.core.records import EVERYONE, Array
from evenhand.core.results import Results, Status
from evenhand.reporting.display import ShownResults
from evenhand.reporting.phrases import WORDING, levels, value_name, words

COLUMNS = 600  # of pixels
MOST_FIGURES = 12
_FEWEST_RANKS = 11.0  # on an axis: with fewer, there are ticks between whole numbers
FEW = 8  # more lines than this are thinned to a third

_SMALL_IS_GOOD = ("non-match", "FNIR", "false negative", "miss")


def curve_section(results: ShownResults) -> Section:
    """Every curve: everyone beside the groups of each single attribute."""
    figures = []
    for metric, output in _with_curves(results):
        everyone = [e for e in results.of(metric, output) if e.group == EVERYONE]
        groups = [e for e in results.of(metric, output) if e.status is Status.OK and len(e.group.terms) == 1]
        for name in dict.fromkeys(e.group.by[0] for e in groups) or [""]:
            members = [e for e in groups if e.group.by == (name,) and not e.group.is_missing]
            lines = {levels(e.group): e.value for e in (*everyone, *members) if isinstance(e.value, Curve)}
            figures.append(curve_figure(lines, metric, output, f"by {name}" if name else ""))
    return _limited("Curves", figures, "curves")


def split_curves(section: Section, attribute: str) -> tuple[Section, Section]:
    """The curves by one attribute, at most two, and all others, folded."""
    first = [b for b in section.blocks if isinstance(b, Figure) and b.name.endswith(f"by {attribute}")]
    chosen = (first or [b for b in section.blocks if isinstance(b, Figure)])[:2]
    rest = [block for block in section.blocks if not any(block is one for one in chosen)]
    more = Section("More curves", rest, name="more-curves", folded=True)
    return Section(section.title, chosen, name=section.name), more


def curves_together(results: Sequence[ShownResults], names: Sequence[str]) -> Section:
    """The curves of everyone, all systems in one figure per metric."""
    figures = []
    for pair in dict.fromkeys(pair for system in results for pair in _with_curves(system)):
        lines = {
            name: estimate.value
            for name, system in zip(names, results, strict=True)
            for estimate in system.of(*pair)
            if estimate.group == EVERYONE and isinstance(estimate.value, Curve)
        }
        figures.append(curve_figure(lines, *pair, "all systems"))
    return _limited("Curves of all systems", figures, "systems-curves")


def curve_figure(lines: Mapping[str, Curve], metric: str, output: str = "curve", about: str = "") -> Figure | None:
    """Lines over common axes; None when none has two points."""
    drawn = {name: curve for name, curve in lines.items() if len(curve.x) > 1}
    if not drawn:
        return None
    first = next(iter(drawn.values()))
    columns = COLUMNS if len(drawn) <= FEW else COLUMNS // 3
    rows: list[tuple[Cell, ...]] = []
    for name, curve in drawn.items():
        places = visible(curve, columns)
        threshold = [None] * len(places) if curve.threshold is None else _plain(curve.threshold[places])
        rows.extend(zip([name] * len(places), _plain(curve.x[places]), _plain(curve.y[places]), threshold, strict=True))
    x_name, y_name = (WORDING["axes"].get(axis, axis) for axis in (first.x_name, first.y_name))
    other = "curve" if output in ("curve", metric) else words(output)
    kind = WORDING["curves"].get(f"{first.x_name}, {first.y_name}", other)
    title = f"{_curve_name(metric, output, kind)} {about}".strip()
    log_y = first.log_x and any(word in first.y_name for word in _SMALL_IS_GOOD)
    table = Table(title, ("line", x_name, y_name, "threshold"), tuple(rows))
    region = _region(rows, first.log_x, log_y)
    if first.x_name == "rank" and "x" in region:  # ranks are whole numbers, and begin with 1
        last = max(float(curve.x[-1]) for curve in drawn.values())
        region["x"] = (1.0, min(last, max(region["x"][1], _FEWEST_RANKS)))
    chart = Lines(threshold=3, log_x=first.log_x, log_y=log_y, x_domain=region.get("x"), y_domain=region.get("y"))
    total = sum(len(curve.x) for curve in drawn.values())
    thinned = f"{total:,} points, thinned to the {len(rows):,} that a screen can show; all are in the JSON and CSV."
    caption = thinned if total > len(rows) else ""
    return Figure(title, chart, table, caption, name=f"{metric}-{output}-{about}".strip("-"))


def _curve_name(metric: str, output: str, kind: str) -> str:
    """What a curve is called: its metric and its kind, without saying the same twice.

    >>> _curve_name("ROC", "ROC", "ROC curve"), _curve_name("search: IET", "IET", "IET curve")
    ('ROC curve', 'search: IET curve')
    >>> _curve_name("match", "curve", "ROC curve"), _curve_name("PR", "PR", "curve")
    ('match: ROC curve', 'PR')
    >>> _curve_name("Identification rate by rank (CMC)", "curve", "CMC curve")
    'Identification rate by rank (CMC)'
    """
    if (kind == "curve" and output == metric) or f"({kind.removesuffix(' curve')})" in metric:
        return metric
    before, _, last = metric.rpartition(": ")
    if kind.startswith(f"{last} "):
        return f"{before}: {kind}" if before else kind
    return f"{metric}: {kind}"


def confusion_section(results: ShownResults) -> Section:
    """The matrix of everyone for each output that is one."""
    blocks = [
        _matrix_figure(estimate.value, estimate.metric, estimate.output)
        for estimate in results.estimates
        if isinstance(estimate.value, Grid) and estimate.group == EVERYONE
    ]
    return Section("Confusion: what is taken for what", blocks, name="confusion")


def _matrix_figure(grid: Grid, metric: str, output: str) -> Figure:
    """One matrix: colour and number are the share of the row, the count is in the table behind it."""
    rows: list[tuple[Cell, ...]] = []
    for name, counts in zip(grid.rows, grid.values, strict=True):
        total = float(counts.sum())
        for column, count in zip(grid.columns, counts, strict=True):
            shown = int(count) if float(count).is_integer() else float(count)
            rows.append((name, column, Interval(float(count) / total if total else None, unit="%"), shown))
    columns = (grid.row_name or "row", grid.column_name or "column", "share of the row", "count")
    title = value_name(metric, output)
    table = Table(title, columns, tuple(rows))
    caption = f"Each row is one {grid.row_name or 'row'} and adds up to 100 %; the diagonal is what was right."
    return Figure(title, Matrix(), table, caption, name=f"{metric}-{output}")


def _region(rows: Sequence[tuple[Cell, ...]], log_x: bool, log_y: bool) -> dict[str, tuple[float, float]]:
    """The limits of the axes: where the lines still change and can be distinguished."""
    lines: dict[Cell, list[tuple[float, float]]] = {}
    for name, x, y, *_ in rows:
        if isinstance(x, float) and isinstance(y, float) and np.isfinite(x) and np.isfinite(y) and (x > 0 or not log_x):
            lines.setdefault(name, []).append((x, y))
    points = [point for line in lines.values() for point in line]
    if not points:
        return {}
    low, high = min(x for x, _ in points), max(x for x, _ in points)
    ends = [line[0][1] if line[0][0] > line[-1][0] else line[-1][1] for line in lines.values()]
    settled = max(
        min((x for x, y in line if abs(y - end) <= 0.005 * max(abs(end), 1e-9)), default=high)
        for line, end in zip(lines.values(), ends, strict=True)
    )
    region: dict[str, tuple[float, float]] = {}
    if log_x:
        top = high if high <= 1 else min(high, 10 ** np.ceil(np.log10(max(settled, low * 10))))
        region["x"] = (max(low, top * 1e-6), float(top))
    elif high > low:
        wide = settled - low if 0 < settled - low < 0.5 * (high - low) else high - low
        region["x"] = (0.0 if 0 <= low < 0.2 * high else low, low + 1.1 * wide if wide < high - low else high)
    if "x" not in region or region["x"][0] >= region["x"][1]:
        return {}
    shown = [y for x, y in points if region["x"][0] <= x <= region["x"][1] and (y > 0 or not log_y)]
    if not shown:
        return region
    bottom, top_y = min(shown), max(shown)
    if log_y:
        region["y"] = (max(bottom, top_y * 1e-4), top_y) if bottom < top_y else (bottom / 10, bottom)
    elif bottom >= 0 and top_y <= 1:
        region["y"] = (
            float(np.floor(bottom * 10 - 0.5) / 10) if bottom > 0.35 else 0.0,
            1.0 if top_y > 0.6 else float(np.ceil(top_y * 10) / 10) or 1.0,
        )
    return region


def _with_curves(results: Results) -> list[tuple[str, str]]:
    return list(dict.fromkeys((e.metric, e.output) for e in results.estimates if isinstance(e.value, Curve)))


def _limited(title: str, figures: Sequence[Figure | None], name: str) -> Section:
    blocks: list[Block] = [figure for figure in figures if figure is not None]
    if (left := len(blocks) - MOST_FIGURES) > 0:
        blocks[MOST_FIGURES:] = [Text(f"{left} more curves are in the JSON and CSV.", "small")]
    return Section(title, blocks, name=name)


def _plain(values: object) -> list[float]:
    return list(np.asarray(values, dtype=np.float64).tolist())


def visible(curve: Curve, columns: int = COLUMNS) -> Array:
    """The places of the points that can be distinguished on a screen, in order; the first and the last always.

    >>> x = np.arange(10_000) / 10_000
    >>> len(visible(Curve(x, x**2, "x", "y"), columns=100)) <= 4 * 2 * 101
    True
    """
    size = len(curve.x)
    if size <= 2 * columns:
        return np.arange(size)
    x, y = np.asarray(curve.x, dtype=np.float64), np.asarray(curve.y, dtype=np.float64)
    low, high = float(x.min()), float(x.max())
    kept = np.zeros(size, dtype=np.bool_)
    kept[[0, -1]] = True
    if not (np.isfinite(high - low) and high > low):
        return np.flatnonzero(kept)
    edges = [np.linspace(low, high, (columns // 4 if curve.log_x else columns) + 1)]
    if curve.log_x and high > 0:
        smallest = max(float(x[x > 0].min()), high * 1e-8)
        edges.append(np.geomspace(smallest, high, columns + 1))
    ordered = _is_sorted(y)
    for lines in edges:
        starts = _runs(x, lines[1:-1])
        ends = np.concatenate([starts[1:], [size]]) - 1
        kept[starts] = kept[ends] = True
        if not ordered:  # else the lowest and the highest are the first and the last
            _mark_extremes(kept, y, starts, ends)
    return np.flatnonzero(kept)


def _runs(x: Array, edges: Array) -> Array:
    """Where each run of points in one column of pixels begins; by bisection when the points are in order."""
    if _is_sorted(x):
        starts = np.searchsorted(x, edges) if x[0] <= x[-1] else len(x) - np.searchsorted(x[::-1], edges)
        return np.unique(np.concatenate([[0], starts[starts < len(x)]]))
    column = np.searchsorted(edges, x, side="right")
    return np.concatenate([[0], np.flatnonzero(np.diff(column)) + 1])


def _mark_extremes(kept: Array, y: Array, starts: Array, ends: Array) -> None:
    """Mark the lowest and the highest point of every run."""
    run = np.repeat(np.arange(len(starts)), ends - starts + 1)
    for extreme in (np.minimum, np.maximum):
        hits = np.flatnonzero(y == extreme.reduceat(y, starts)[run])
        _, first = np.unique(run[hits], return_index=True)
        kept[hits[first]] = True


def _is_sorted(values: Array) -> bool:
    return bool((values[1:] >= values[:-1]).all() or (values[1:] <= values[:-1]).all())
