"""Figures as Vega-Lite documents: what is drawn, in which colours, and how it is drawn without a browser.

Colours are told apart by people who see red and green alike, and reach a contrast of 3 to 1 against
the paper they stand on, light or dark; from the ninth line on dashes tell them apart as well. A
document names *styles* (`estimate`, `faint`, …), so that the same one is drawn on light and dark paper.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.core.metric import Grid
from evenhand.core.page import FROM_TABLE, Figure, Interval, Table

Spec = dict[str, Any]

SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
LINES_ON_LIGHT = ("#308fc4", "#803403", "#24905f", "#451249", "#2717d5", "#9f8125", "#230a12", "#24768f")
LINES_ON_DARK = ("#2a9df9", "#e29366", "#49d4b6", "#d829a3", "#8156e1", "#eaeba0", "#f43944", "#29efe3")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3])
MOST_LABELLED = 60  # groups beyond which rows get no labels
_DECLARED = {"field": "place", "op": "min"}  # the order of the table
FONT = "ui-sans-serif, system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def theme(*, dark: bool = False) -> Spec:
    """The configuration that every figure is drawn with, for light or dark paper."""
    lines = LINES_ON_DARK if dark else LINES_ON_LIGHT
    ink, soft, rule = ("#e8ecef", "#a8b3bb", "#313a41") if dark else ("#1d2429", "#55616a", "#e3e7ea")
    axis: Spec = {"labelColor": soft, "titleColor": ink, "gridColor": rule, "domainColor": rule, "tickColor": rule}
    axis |= {"labelFontSize": 12, "titleFontSize": 12, "titleFontWeight": 500, "labelPadding": 6, "titlePadding": 10}
    accent, worse, better = ("#62aef7", "#ff9d5c", "#46c9a0") if dark else ("#0b5fa5", "#b5480a", "#0a7a5c")
    near, far = ("#16222c", "#62aef7") if dark else ("#eef4fa", "#0b4f8a")
    return {
        "background": None,
        "font": FONT,
        "view": {"stroke": None},
        "axis": axis,
        "axisY": {"labelLimit": 320},
        "legend": {"labelColor": ink, "titleColor": soft, "labelFontSize": 12, "labelLimit": 320, "orient": "bottom"}
        | {"columns": 2, "symbolStrokeWidth": 2.5, "symbolSize": 160},
        "range": {"category": list(lines), "heatmap": [near, far], "ramp": [near, far]},
        "text": {"color": ink, "fontSize": 12},
        "style": {
            "estimate": {"color": accent, "fill": accent, "stroke": accent},
            "faint": {"color": soft, "fill": soft, "stroke": soft, "opacity": 0.75},
            "reference": {"color": soft, "stroke": soft, "strokeDash": [4, 3]},
            "worse": {"color": worse, "fill": worse, "stroke": worse},
            "better": {"color": better, "fill": better, "stroke": better},
            "band": {"color": soft, "fill": soft, "opacity": 0.13},
            "on_near": {"color": ink, "fill": ink},
            "on_far": {"color": "#0c141a" if dark else "#ffffff", "fill": "#0c141a" if dark else "#ffffff"},
        },
    }


def points_with_intervals(table: Table, *, value: int, rows: int | None, label: str, whole: float | None) -> Spec:
    """One point and interval per row of the table, in its order, the number of rows in the label.

    `value` and `rows` are places of columns; a line marks the value of everyone.
    """
    name = f"c{value}"
    many = len(table.rows) > MOST_LABELLED
    size = "" if rows is None else f" + '  (n = ' + format(datum.c{rows}, ',') + ')'"
    x = {"type": "quantitative", "title": label, "scale": {"zero": False, "nice": True}, "axis": {"tickCount": 6}}
    y: Spec = {"field": "label", "type": "nominal", "sort": _DECLARED, "title": None, "axis": {"ticks": False}}
    if many:
        y["axis"] = None
    tooltip = [{"field": "c0", "title": table.columns[0]}, {"field": "told", "title": label}]
    if rows is not None:
        tooltip.append({"field": f"c{rows}", "type": "quantitative", "format": ",", "title": table.columns[rows]})
    thick = 1.0 if many else 2.5
    layers: list[Spec] = []
    if whole is not None:
        mark: Spec = {"type": "rule", "style": "reference", "tooltip": "everyone"}
        datum = {"x": {"datum": whole, "type": "quantitative", "title": label}}
        layers.append({"data": {"values": [{}]}, "mark": mark, "encoding": datum})
    for style, test in (("estimate", "!datum.muted"), ("faint", "datum.muted")):
        ends = {"x": {**x, "field": f"{name}_low"}, "x2": {"field": f"{name}_high"}}
        rule: Spec = {"type": "rule", "style": style, "strokeWidth": thick}
        seen = [{"filter": f"{test} && isValid(datum.{name})"}]
        has_limits = f"isValid(datum.{name}_low) && isValid(datum.{name}_high)"
        shared = {"y": y, "tooltip": tooltip}
        layers.append({"transform": [*seen, {"filter": has_limits}], "mark": rule, "encoding": {**shared, **ends}})
        point: Spec = {"type": "point", "style": style, "filled": True, "size": 14 if many else 70, "opacity": 1}
        if style == "faint":
            point |= {"filled": False, "strokeWidth": 2}
        layers.append({"transform": seen, "mark": point, "encoding": {**shared, "x": {**x, "field": name}}})
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": 460 if many else _height(len(table.rows)),
        "data": dict(FROM_TABLE),
        "transform": [
            {"calculate": f"datum.c0{size}", "as": "label"},
            {"calculate": _told(name), "as": "told"},
        ],
        "layer": layers,
    }


def differences(table: Table, *, names: Sequence[int], value: int, label: str, margin: float | None) -> Spec:
    """Differences with their intervals against zero, the margin as a band; `names` are the columns of the label.

    A row is drawn as better or worse by its field `tone`, the table's last column: better, worse or neither.
    """
    name, tone = f"c{value}", f"c{len(table.columns) - 1}"
    joined = " + '  −  ' + ".join(f"datum.c{place}" for place in names)
    x: Spec = {"type": "quantitative", "title": label, "axis": {"tickCount": 6}, "scale": {"zero": True, "nice": True}}
    y: Spec = {"field": "label", "type": "nominal", "sort": _DECLARED, "title": None, "axis": {"ticks": False}}
    tooltip = [{"field": "label", "title": "difference"}, {"field": "told", "title": label}]
    layers: list[Spec] = []
    if margin is not None:
        band = {"x": {"datum": -margin, "type": "quantitative"}, "x2": {"datum": margin}}
        mark: Spec = {"type": "rect", "style": "band", "tooltip": f"margin ±{margin:g}"}
        layers.append({"data": {"values": [{}]}, "mark": mark, "encoding": band})
    zero: Spec = {"type": "rule", "style": "reference"}
    layers.append({"data": {"values": [{}]}, "mark": zero, "encoding": {"x": {"datum": 0, "type": "quantitative"}}})
    for style, said in (("better", "better"), ("worse", "worse"), ("faint", "neither")):
        seen = [{"filter": f"datum.{tone} == '{said}' && isValid(datum.{name})"}]
        ends = {"x": {**x, "field": f"{name}_low"}, "x2": {"field": f"{name}_high"}}
        shared = {"y": y, "tooltip": tooltip}
        rule = {"type": "rule", "style": style, "strokeWidth": 2.5}
        has_limits = {"filter": f"isValid(datum.{name}_low) && isValid(datum.{name}_high)"}
        layers.append({"transform": [*seen, has_limits], "mark": rule, "encoding": {**shared, **ends}})
        shape = {"better": "triangle-up", "worse": "triangle-down", "neither": "circle"}[said]
        point = {"type": "point", "style": style, "filled": said != "neither", "shape": shape, "size": 80, "opacity": 1}
        layers.append({"transform": seen, "mark": point, "encoding": {**shared, "x": {**x, "field": name}}})
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": _height(len(table.rows)),
        "data": dict(FROM_TABLE),
        "transform": [{"calculate": joined, "as": "label"}, {"calculate": _told(name), "as": "told"}],
        "layer": layers,
    }


def curves(table: Table, *, names: Sequence[str], log_x: bool, log_y: bool) -> Spec:
    """Lines (name, x, y, threshold) over axes that are logarithmic or not; `names` in the order of colours."""
    x_domain = _domain((row[1] for row in table.rows), log_x)
    y_domain = (0.0, 1.0)
    values = [row[2] for row in table.rows if isinstance(row[2], float)]
    if log_y or not values or max(values) > 1 or min(values) < 0:
        y_domain = _domain(iter(values), log_y)
    colours = len(LINES_ON_LIGHT)
    dashes = [list(DASHES[(place // colours) % len(DASHES)]) for place in range(len(names))]
    legend = {"title": None, "symbolType": "stroke"}
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": 360,
        "params": [
            {"name": name, "value": value}
            for name, value in zip(("x0", "x1", "y0", "y1"), (*x_domain, *y_domain), strict=True)
        ],
        "data": dict(FROM_TABLE),
        "mark": {"type": "line", "strokeWidth": 2, "clip": True, "strokeJoin": "round"},
        "encoding": {
            "x": _axis("c1", table.columns[1], "x", log_x),
            "y": _axis("c2", table.columns[2], "y", log_y),
            "order": {"field": "place", "type": "quantitative"},
            "color": {"field": "c0", "type": "nominal", "scale": {"domain": list(names)}, "legend": legend},
            "strokeDash": {
                "field": "c0",
                "type": "nominal",
                "scale": {"domain": list(names), "range": dashes},
                "legend": legend,
            },
        },
    }


def matrix(table: Table, grid: Grid) -> Spec:
    """Who is taken for whom: the share of each row as colour, share and count in the cell.

    The table is long: row, column, share, count.
    """
    x: Spec = {"field": "c1", "type": "nominal", "sort": None, "title": grid.column_name or None}
    x["axis"] = {"orient": "top", "labelAngle": -30 if len(grid.columns) > 4 else 0, "ticks": False, "domain": False}
    y: Spec = {"field": "c0", "type": "nominal", "sort": None, "title": grid.row_name or None}
    y["axis"] = {"ticks": False, "domain": False}
    share: Spec = {"field": "c2", "type": "quantitative", "scale": {"domain": [0, 1]}, "legend": None}
    tooltip = [
        {"field": "c0", "title": table.columns[0]},
        {"field": "c1", "title": table.columns[1]},
        {"field": "c2", "type": "quantitative", "format": ".4f", "title": table.columns[2]},
        {"field": "c3", "type": "quantitative", "format": ",", "title": table.columns[3]},
    ]
    said: Spec = {"field": "c2", "type": "quantitative", "format": ".2f"}
    place: Spec = {"x": x, "y": y}
    texts: list[Spec] = [
        {"transform": [{"filter": test}], "mark": {"type": "text", "style": style}, "encoding": {**place, "text": said}}
        for style, test in (("on_near", "datum.c2 <= 0.5"), ("on_far", "datum.c2 > 0.5"))
    ]
    cells: Spec = {"mark": {"type": "rect", "cornerRadius": 3}, "encoding": {**place, "color": share}}
    cells["encoding"]["tooltip"] = tooltip
    step = 44 if len(grid.rows) <= 8 else 32
    return {
        "$schema": SCHEMA,
        "width": "container",
        "height": step * max(len(grid.rows), 1),
        "data": dict(FROM_TABLE),
        "layer": [cells, *texts],
        "config": {"scale": {"bandPaddingInner": 0.06}},
    }


def values_of(table: Table) -> list[dict[str, Any]]:
    """The rows of a table as a figure reads them: columns by place."""
    found = []
    for place, row in enumerate(table.rows):
        datum: dict[str, Any] = {"place": place, "muted": place in table.muted}
        for at, cell in enumerate(row):
            if isinstance(cell, Interval):
                datum[f"c{at}"], datum[f"c{at}_low"], datum[f"c{at}_high"] = map(
                    _finite, (cell.value, cell.low, cell.high)
                )
            else:
                datum[f"c{at}"] = _finite(cell) if isinstance(cell, float) else cell
        found.append(datum)
    return found


def complete(figure: Figure, width: int | None = None) -> Spec:
    """The document with its data in it, as whoever draws it without a page needs it."""
    spec = dict(figure.spec)
    if spec.get("data") == FROM_TABLE:
        spec["data"] = {"name": "table", "values": [row for row in values_of(figure.data) if _on_axes(row, spec)]}
    if spec.get("width") == "container":
        spec["width"] = width or 560
    return spec


def svg(figure: Figure, width: int | None = None) -> str:
    """The figure as SVG on light paper, drawn without a browser."""
    import vl_convert

    drawn = vl_convert.vegalite_to_svg(complete(figure, width), config=_printable(figure.spec))
    return _renumbered(str(drawn))


def _on_axes(row: Mapping[str, Any], spec: Mapping[str, Any]) -> bool:
    """Whether a point of a curve has a place on its axes: a logarithmic one has none for 0."""
    for channel, name in (("x", "c1"), ("y", "c2")):
        axis = spec.get("encoding", {}).get(channel, {})
        logarithmic = axis.get("field") == name and axis.get("scale", {}).get("type") == "log"
        if logarithmic and not (row[name] is not None and row[name] > 0):
            return False
    return True


def _renumbered(drawn: str) -> str:
    """An SVG whose clips count from 0: Vega counts on from one drawing to the next."""
    numbers: dict[str, str] = {}
    return re.sub(r"(clip|gradient_)(\d+)", lambda m: numbers.setdefault(m[0], f"{m[1]}{len(numbers)}"), drawn)


def _height(rows: int) -> int:
    return 26 * max(rows, 1) + 8


def _printable(spec: Mapping[str, Any]) -> Spec:
    config = theme() | {"background": "white", "font": "DejaVu Sans, Liberation Sans, Arial, sans-serif"}
    return config | dict(spec.get("config", {}))


def _axis(field: str, title: str, channel: str, log: bool) -> Spec:
    domain = [{"expr": f"{channel}0"}, {"expr": f"{channel}1"}]
    scale: Spec = {"type": "log" if log else "linear", "domain": domain, "nice": False}
    axis = {"tickCount": 6, "format": "~g", "labelOverlap": True}
    return {"field": field, "type": "quantitative", "title": title, "scale": scale, "axis": axis}


def _domain(values: Any, log: bool) -> tuple[float, float]:
    usable = [value for value in values if isinstance(value, float) and math.isfinite(value) and (value > 0 or not log)]
    if not usable:
        return (0.001, 1.0) if log else (0.0, 1.0)
    low, high = min(usable), max(usable)
    if log:
        low = max(low, high * 1e-8)
        return (low / 10, high) if low == high else (low, high)
    return (min(low, 0.0), high) if high > min(low, 0.0) else (low - 0.5, low + 0.5)


def _told(name: str) -> str:
    low, high = f"datum.{name}_low", f"datum.{name}_high"
    limits = f"(isValid({low}) ? ' [' + format({low}, '.5~g') + ', ' + format({high}, '.5~g') + ']' : '')"
    return f"format(datum.{name}, '.5~g') + {limits}"


def _finite(value: float | None) -> float | None:
    return value if value is None or math.isfinite(value) else None
