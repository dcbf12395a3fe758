"""Every listed metric goes through the whole layer: intervals, comparisons, summaries."""

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.core.measure import tally
from evenhand.core.metric import UNIT_SCALE, Kind, Numbers, Resampling
from evenhand.core.records import Attribute, Records
from evenhand.stats.analysis import analyse
from evenhand.stats.comparison import compare
from evenhand.stats.settings import Settings

LAWS = Path(__file__).parents[1] / "laws"


def _listed() -> list[Any]:
    sys.path.insert(0, str(LAWS))
    try:
        found: list[Any] = []
        for path in sorted(LAWS.glob("listed*.py")):
            spec = importlib.util.spec_from_file_location(f"stats_{path.stem}", path)
            assert spec is not None
            assert spec.loader is not None
            module = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(module)
            found.extend(module.LISTED)
        return found
    finally:
        sys.path.remove(str(LAWS))


LISTED = _listed()
QUICK = Settings(draws=6, permutations=10, set_draws=4, min_rows=5, min_units=3)


def _with_groups(rows: Records) -> Records:
    n = len(rows)
    columns = dict(rows.columns)
    columns.setdefault("unit", np.arange(n) // 2)
    return Records(columns, {"half": Attribute.coded(np.arange(n) // 2 % 2, ("even", "odd"))})


@pytest.mark.parametrize("listed", LISTED, ids=[str(entry.name) for entry in LISTED])
def test_a_metric_can_be_judged_by_group_and_between_models(listed: Any) -> None:
    rows = _with_groups(listed.make_rows(np.random.default_rng(5), 60))
    found = analyse(tally(rows, [listed.metric], ["half"]), ["half"], 1, QUICK)
    assert len(found.estimates) == 3 * len(listed.metric.outputs)
    for estimate in found.estimates:
        for limit in (estimate.low, estimate.high):
            assert limit is None or math.isfinite(limit)
        assert (estimate.low is None) == (estimate.high is None)
        if estimate.low is not None:
            assert estimate.method
    for contrast in found.contrasts:
        assert contrast.p is None or 0 <= contrast.p <= 1
    same = compare(rows, rows, [listed.metric], ["half"], 1, QUICK)
    assert all(contrast.difference in (0.0, None) for contrast in same.contrasts)


@pytest.mark.parametrize("listed", LISTED, ids=[str(entry.name) for entry in LISTED])
def test_no_limit_of_a_bounded_output_leaves_its_scale(listed: Any) -> None:
    scales = listed.metric.scales
    rows = _with_groups(listed.make_rows(np.random.default_rng(8), 24))
    found = analyse(tally(rows, [listed.metric], ["half"]), ["half"], 1, QUICK)
    for estimate in found.estimates:
        if estimate.output in scales and estimate.low is not None and estimate.number is not None:
            low, high = scales[estimate.output]
            assert low <= estimate.low <= estimate.high <= high, estimate
            assert low - 1e-12 <= estimate.number <= high + 1e-12, estimate
    for contrast in found.contrasts:
        if contrast.output in scales and contrast.low is not None:
            span = scales[contrast.output].span
            assert -span <= contrast.low <= contrast.high <= span, contrast
    for output, ratio in listed.metric.ratios(listed.metric.measure(rows)).items():
        assert ratio.kind is not Kind.PROPORTION or scales.get(output) == UNIT_SCALE, output


@pytest.mark.parametrize("listed", LISTED, ids=[str(entry.name) for entry in LISTED])
def test_an_output_that_never_leaves_zero_to_one_says_so(listed: Any) -> None:
    metric = listed.metric
    if metric.resampling is Resampling.NONE:
        return
    seen: dict[str, list[float]] = {}
    for seed in range(12):
        state = metric.measure(listed.make_rows(np.random.default_rng(seed), 20))
        for output, column in metric.result(state, state).items():
            if isinstance(column, Numbers):
                seen.setdefault(output, []).extend(column.values[np.isfinite(column.values)].tolist())
    for output, values in seen.items():
        if len(values) > 6 and 0 <= min(values) <= max(values) <= 1:
            assert output in metric.scales, output
