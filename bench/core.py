"""Grouping and drawing: the algebra itself."""

from __future__ import annotations

from typing import Any

import numpy as np

from bench.hot import Hot

ROWS = 10_000_000
LEVELS = {"gender": 2, "race": 6, "age": 9}  # 108 intersections


def rows() -> dict[str, Any]:
    rng = np.random.default_rng(7)
    data: dict[str, Any] = {name: rng.integers(0, count, ROWS).astype(np.int8) for name, count in LEVELS.items()}
    data["hit"] = (rng.random(ROWS) < 0.7).astype(np.float64)
    data["truth"] = rng.integers(0, 6, ROWS).astype(np.int8)
    data["answer"] = rng.integers(0, 7, ROWS).astype(np.int8)
    return data


def _records(data: dict[str, Any]) -> Any:
    from evenhand.core.records import Attribute, Records

    attributes = {
        name: Attribute.coded(data[name], tuple(f"{name}{level}" for level in range(count)))
        for name, count in LEVELS.items()
    }
    return Records({name: data[name] for name in ("hit", "truth", "answer")}, attributes)


def grouped_ours(data: dict[str, Any]) -> Any:
    from evenhand.core.measure import tally
    from evenhand.core.membership import groups_of, inside
    from evenhand.metrics.labels import Confusion
    from evenhand.metrics.means import Mean

    metrics = [Mean("mean", "hit"), Confusion("confusion", tuple("abcdef"))]
    whole = tally(_records(data), metrics, tuple(LEVELS), units=False)
    groups = groups_of(whole.cells, tuple(LEVELS), 3)
    weights = inside(whole.cells, groups).kept.dense().astype(np.int64)
    everyone = whole.everyone()
    return [
        metric.result(state.weigh(weights), total)
        for metric, state, total in zip(metrics, whole.states, everyone, strict=True)
    ]


def _cells(data: dict[str, Any]) -> Any:
    cell = np.zeros(ROWS, dtype=np.intp)
    for name, count in LEVELS.items():
        cell = cell * count + data[name]
    return cell


def grouped_prepared() -> dict[str, Any]:
    data = rows()
    data["cell"] = _cells(data)
    data["code"] = (data["cell"] * 6 + data["truth"]) * 7 + data["answer"]
    return data


def grouped_bound(data: dict[str, Any]) -> Any:
    """One bincount per metric, for the 108 cells alone, the codes made beforehand."""
    return np.bincount(data["cell"], weights=data["hit"]), np.bincount(data["code"])


def grouped_polars(data: dict[str, Any]) -> Any:
    import polars as pl

    frame = pl.DataFrame({name: data[name] for name in (*LEVELS, "hit", "truth", "answer")})
    names = list(LEVELS)
    return frame.group_by(names).agg(pl.col("hit").mean()), frame.group_by([*names, "truth", "answer"]).len()


def grouped_pandas(data: dict[str, Any]) -> Any:
    import pandas as pd

    frame = pd.DataFrame({name: data[name] for name in (*LEVELS, "hit", "truth", "answer")})
    names = list(LEVELS)
    return frame.groupby(names)["hit"].mean(), frame.groupby([*names, "truth", "answer"]).size()


UNITS, CELLS, DRAWS = 2_000, 108, 2_000


def units() -> dict[str, Any]:
    rng = np.random.default_rng(11)
    return {
        "unit": np.repeat(np.arange(UNITS), CELLS),
        "cell": np.tile(np.arange(CELLS), UNITS),
        "hit": rng.random(UNITS * CELLS) < 0.7,
    }


def draws_ours(data: dict[str, Any]) -> Any:
    """2,000 draws of 2,000 units, each with rows in all 108 cells."""
    from evenhand.core.measure import tally
    from evenhand.core.records import Attribute, Records
    from evenhand.core.streams import stream
    from evenhand.metrics.means import Rate

    attribute = Attribute.coded(data["cell"], tuple(str(level) for level in range(CELLS)))
    whole = tally(
        Records({"unit": data["unit"], "hit": data["hit"]}, {"cell": attribute}), [Rate("rate", "hit")], ["cell"]
    )
    weights = stream("bench", "draws").multinomial(UNITS, np.full(UNITS, 1 / UNITS), size=DRAWS)
    ratio = whole.metrics[0].ratios(whole.states[0])["rate"]
    tops, bottoms = ratio.top.reshape(UNITS, CELLS), ratio.bottom.reshape(UNITS, CELLS)
    weights = weights.astype(np.float64)
    return (weights @ tops) / (weights @ bottoms)


def draws_numpy(data: dict[str, Any]) -> Any:
    """Ten draws by taking rows again, as a loop over draws does."""
    rng = np.random.default_rng(3)
    hit, cell = data["hit"].reshape(UNITS, CELLS), data["cell"].reshape(UNITS, CELLS)
    for _ in range(10):
        drawn = rng.integers(0, UNITS, UNITS)
        codes = cell[drawn].ravel()
        np.bincount(codes, weights=hit[drawn].ravel()) / np.bincount(codes)


def draws_bound(data: dict[str, Any]) -> Any:
    weights = np.ones((DRAWS, UNITS))
    hit = data["hit"].reshape(UNITS, CELLS).astype(np.float64)
    return weights @ hit, weights @ np.ones_like(hit)


HOT = [
    Hot(
        "core/grouped_polars",
        "10 M rows, 3 attributes, 108 intersections, mean and confusion",
        grouped_prepared,
        grouped_ours,
        grouped_polars,
        "polars group_by",
        peer_here=True,
        bound=grouped_bound,
        bound_name="one np.bincount a metric",
        goal="within 3 times the bincounts",
    ),
    Hot(
        "core/grouped_pandas",
        "the same beside pandas",
        grouped_prepared,
        grouped_ours,
        grouped_pandas,
        "pandas groupby",
        bound=grouped_bound,
        bound_name="one np.bincount a metric",
        goal="within 3 times the bincounts",
    ),
    Hot(
        "core/draws",
        "2,000 draws over 2,000 units × 108 cells",
        units,
        draws_ours,
        draws_numpy,
        "NumPy, draw by draw",
        peer_here=True,
        peer_share=10 / DRAWS,
        bound=draws_bound,
        bound_name="the two products",
        goal="under 0.5 s",
    ),
]
