"""The report's figures as Vega-Lite documents, drawn without a browser."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.disparity import Bars

Limits = Mapping[str, tuple[float, float]]  # group value → interval
_BLUE = "#3b6ea5"


def curve(thresholds: Sequence[float], shares: Sequence[float], metric: str) -> dict[str, Any]:
    """Accepted share against threshold."""
    values = [{"threshold": x, "share": y} for x, y in zip(thresholds, shares, strict=True)]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 360,
        "height": 180,
        "data": {"values": values},
        "mark": {"type": "line", "point": True, "color": _BLUE},
        "encoding": {
            "x": {"field": "threshold", "type": "quantitative", "title": "threshold", "scale": {"zero": False}},
            "y": {
                "field": "share",
                "type": "quantitative",
                "title": "mean PCK" if metric == "PCK" else "recall",
                "scale": {"domain": [-0.05, 1.05]},
            },
        },
    }


def groups(
    found: Bars,
    metric: str,
    attribute: str,
    limits: Limits,
    *,
    everyone: float | None = None,
    domain: tuple[float, float] | None = None,
) -> dict[str, Any]:
    """One attribute: the mean of each group, with its 95 % interval where there is one.

    A dashed line stands at everyone's value; `domain` gives all attributes of a metric the same scale.
    """
    scale: dict[str, Any] = {"zero": False} if domain is None else {"domain": list(domain), "zero": False}
    line: list[dict[str, Any]] = []
    if everyone is not None:
        line = [
            {
                "data": {"values": [{"everyone": everyone}]},
                "mark": {"type": "rule", "strokeDash": [4, 3], "color": "#999999"},
                "encoding": {"x": {"field": "everyone", "type": "quantitative", "scale": scale}, "y": None},
            }
        ]
    values: list[dict[str, Any]] = []
    for label, height, group in zip(found.labels, found.heights, found.groups, strict=True):
        low, high = limits.get(group, (None, None))
        values.append(
            {
                "group": label.replace("\n", " "),
                "value": height,
                "low": low,
                "high": high,
                "fill": _fill(attribute, group),
            }
        )
    axis = {"field": "group", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 260}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 300,
        "height": {"step": 18},
        "data": {"values": values},
        "encoding": {"y": axis},
        "layer": [
            *line,
            {
                "mark": {"type": "rule", "color": "#555555", "clip": True},
                "encoding": {
                    "x": {"field": "low", "type": "quantitative", "title": metric, "scale": scale},
                    "x2": {"field": "high"},
                },
            },
            {
                "mark": {"type": "point", "filled": True, "size": 70, "stroke": "#222222", "strokeWidth": 0.6},
                "encoding": {
                    "x": {"field": "value", "type": "quantitative", "scale": scale},
                    "color": {"field": "fill", "type": "nominal", "scale": None},
                },
            },
        ],
    }


def parts(found: Mapping[str, tuple[Bars, Limits]], metric: str) -> dict[str, Any]:
    """One attribute of a metric of body parts: the mean of each group and part, a colour for each part."""
    values = [
        {
            "group": label.replace("\n", " ").rpartition(" (")[0],
            "part": part,
            "value": height if np.isfinite(height) else None,
            "low": limits.get(group, (None, None))[0],
            "high": limits.get(group, (None, None))[1],
        }
        for part, (shown, limits) in found.items()
        for label, height, group in zip(shown.labels, shown.heights, shown.groups, strict=True)
    ]
    x = {"type": "quantitative", "title": metric, "scale": {"domain": [0, 1]}}
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "width": 300,
        "height": {"step": 10 if len(found) > 4 else 14},
        "data": {"values": values},
        "encoding": {
            "y": {"field": "group", "type": "nominal", "sort": None, "title": None, "axis": {"labelLimit": 260}},
            "yOffset": {"field": "part", "type": "nominal", "sort": list(found)},
            "color": {"field": "part", "type": "nominal", "sort": list(found), "title": "part"},
        },
        "layer": [
            {"mark": {"type": "rule"}, "encoding": {"x": {**x, "field": "low"}, "x2": {"field": "high"}}},
            {"mark": {"type": "point", "filled": True, "size": 45}, "encoding": {"x": {**x, "field": "value"}}},
        ],
    }


def save(spec: Mapping[str, Any], path: Path) -> None:
    """Draw a document as PNG or SVG, by the name of the file."""
    import vl_convert

    if path.suffix == ".svg":
        path.write_text(vl_convert.vegalite_to_svg(dict(spec)), encoding="utf-8")
    else:
        path.write_bytes(vl_convert.vegalite_to_png(dict(spec), scale=2))


def _fill(attribute: str, group: str) -> str:
    if attribute not in vocabulary.SKIN_COLOURS or group not in vocabulary.SKIN_TYPES:
        return _BLUE
    red, green, blue = (int(part) for part in group.partition(". ")[2].strip("[]").split(","))
    return f"#{red:02x}{green:02x}{blue:02x}"
