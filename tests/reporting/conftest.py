"""Small results that have everything a report shows, with plain names and with hostile ones."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core.metric import Curve, Grid, Undefined
from evenhand.core.records import EVERYONE, MISSING, Group
from evenhand.core.results import (
    Contrast,
    Coverage,
    Estimate,
    Method,
    MetricFact,
    Omnibus,
    Reference,
    Results,
    Status,
    Summary,
    Verdict,
)

HOSTILE = "</script><img src=x onerror=alert(1)>\"'&{{7*7}}"


def made_results(
    model: str = "a", *, task: str = "made/up", attribute: str = "tone", levels: tuple[str, ...] = ("light", "dark")
) -> Results:
    """Two groups that differ, one that is small, one that is not annotated, a curve and a matrix."""
    metric, output = "match", "rate"
    one, other = (Group(((attribute, level),)) for level in levels)
    small, missing = Group(((attribute, "few"),)), Group(((attribute, MISSING),))
    x = np.array([0.0, 0.001, 0.01, 0.1, 1.0])
    curve = Curve(x, np.array([0.0, 0.5, 0.7, 0.9, 1.0]), "false match rate", "true accept rate", -x, log_x=True)
    worse = Curve(x, np.array([0.0, 0.3, 0.5, 0.8, 1.0]), "false match rate", "true accept rate", -x, log_x=True)
    grid = Grid(("yes", "no"), ("yes", "no", "unknown"), np.array([[8, 1, 1], [2, 7, 1]]), "truth", "answer")
    estimates = (
        Estimate(metric, output, EVERYONE, 0.8125, 0.78, 0.84, 400, 200, "cluster_wilson"),
        Estimate(metric, output, one, 0.9, 0.86, 0.93, 200, 100, "cluster_wilson"),
        Estimate(metric, output, other, 0.725, 0.66, 0.78, 180, 90, "cluster_wilson", missing=3),
        Estimate(metric, output, small, 0.5, 0.2, 0.8, 12, 6, "cluster_wilson", Status.SMALL),
        Estimate(metric, output, missing, 0.75, 0.5, 0.9, 8, 4, "cluster_wilson", Status.SMALL),
        Estimate(metric, "ratio", EVERYONE, Undefined("no impostors"), rows=400, units=200),
        Estimate(metric, "ratio", one, 0.3, rows=200, units=100),
        Estimate(metric, "curve", EVERYONE, curve),
        Estimate(metric, "curve", one, curve, rows=200),
        Estimate(metric, "curve", other, worse, rows=180),
        Estimate(metric, "confusion", EVERYONE, grid),
    )
    contrast = Contrast(
        metric, output, one, other, 0.175, 0.09, 0.26, 1e-6, 2e-6, Verdict.LARGE, other,
        test="score_z", interval="newcombe", family="match.rate, single attributes", family_size=1,
        correction="holm", detectable=0.11, margin=0.05,
    )  # fmt: skip
    summary = Summary(
        metric, output, (attribute,), {"max_gap": 0.175, "equal_weight_mean": 0.8125, "gini_corrected": 0.1},
        other, one, (one, other), (small,), Reference(2000, 0.03, 0.07, 0.0005, 0.145),
    )  # fmt: skip
    return Results(
        task, model, "made up 1", {"split": "all"},
        (MetricFact(metric, "Share of faces that were matched.", {output: "higher", "ratio": "lower"}, {}),),
        estimates,
        Coverage(410, 400, 2, 3, 5, 1, {"not a number": 3}, {"not a number": ("img-1",)}),
        (contrast,),
        (Omnibus(metric, output, (attribute,), "chi2", 20.1, 1.0, 1e-5, 2),),
        (summary,),
        Method(draws=2000, permutations=2000, seed="made/up", generator="PCG64", unit="subject"),
        headline=(metric, output), by=(attribute,), rows=400, units=200,
        missing_attributes={attribute: 8}, warnings=("something to mind",), version="0.1.0",
    )  # fmt: skip


@pytest.fixture
def hostile_name() -> str:
    """A name that tries to be markup, script and template."""
    return HOSTILE


@pytest.fixture
def results() -> Results:
    """The results of a model named `a`."""
    return made_results()


@pytest.fixture
def hostile() -> Results:
    """The same with names that try to leave the page's markup, script or style."""
    return made_results(HOSTILE, task=f"t/{HOSTILE}", attribute=HOSTILE, levels=(f"l1{HOSTILE}", f"l2{HOSTILE}"))
