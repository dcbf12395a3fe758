"""Every listed metric goes through the whole layer: intervals, comparisons, summaries."""

import importlib.util
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.core.measure import tally
from evenhand.core.records import Attribute, Records
from evenhand.stats import Settings, analyse, compare

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
