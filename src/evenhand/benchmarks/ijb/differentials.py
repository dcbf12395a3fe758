"""How unevenly errors fall on groups of comparisons within one cohort.

Over the groups "both = v" at a threshold that was set on all comparisons: the largest rate
over the smallest, and over the geometric mean, for false matches and for false non-matches
(NIST practice). A rate of zero leaves the ratios undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.benchmarks.ijb.covariates import ENUMERATIONS
from evenhand.core.metric import Undefined
from evenhand.core.page import Interval, Section, Table, Text
from evenhand.core.records import Group
from evenhand.core.results import Estimate, Results
from evenhand.metrics.verification import fmr_name, fnmr_name


class Differential(NamedTuple):
    """The spread of one error rate over the cohorts of a covariate."""

    max_over_min: float | Undefined
    max_over_geometric_mean: float | Undefined


def differential(results: Results, attribute: str, output: str, metric: str = "verification") -> Differential:
    """The spread of an error rate over the groups "both = v" of an attribute."""
    rates = []
    for estimate in cohorts(results, attribute, output, metric):
        if estimate.number is not None:
            rates.append(estimate.number)
    if len(rates) < 2:
        reason = Undefined("fewer than two groups have a rate")
        return Differential(reason, reason)
    if min(rates) == 0:
        reason = Undefined("a group has a rate of zero")
        return Differential(reason, reason)
    largest = max(rates)
    return Differential(largest / min(rates), largest / float(np.exp(np.mean(np.log(rates)))))


def cohorts(results: Results, attribute: str, output: str, metric: str = "verification") -> list[Estimate]:
    """The estimates of the groups "both = v", in declared order."""
    levels = [level for level in results.levels.get(attribute, ()) if level.startswith("both ")]
    found = {estimate.group: estimate for estimate in results.of(metric, output)}
    groups = [Group(((attribute, level),)) for level in levels]
    return [found[group] for group in groups if group in found]


def differentials_section(results: Results) -> Section | None:
    """Differentials of every covariate that the run was grouped by; nothing when there are none."""
    rates = [float(far) for far in results.options.get("far", ())]
    rows: list[tuple[str, str, str, Interval, Interval]] = []
    grouped = [covariate.name for covariate in ENUMERATIONS if covariate.name in results.by]
    for attribute in grouped:
        for far in rates:
            for what, output in (("FMR", fmr_name(far)), ("FNMR", fnmr_name(far))):
                found = differential(results, attribute, output)
                rows.append((attribute, f"{far:g}", what, _cell(found.max_over_min), _cell(found[1])))
    if not rows:
        return None
    return Section(
        "Differentials",
        [
            Text("Over comparisons within one cohort, at the threshold that was set on all comparisons.", "lead"),
            Table("Differentials", ("attribute", "overall FAR", "rate", "max/min", "max/geometric mean"), tuple(rows)),
            _counts(results, grouped),
        ],
        name="differentials",
    )


def _counts(results: Results, grouped: Sequence[str]) -> Table:
    rows = []
    for attribute in grouped:
        pairs = zip(
            cohorts(results, attribute, "genuine", "comparisons"),
            cohorts(results, attribute, "impostor", "comparisons"),
            strict=True,
        )
        rows += [(str(one.group), one.number, other.number) for one, other in pairs]
    return Table("Comparisons behind the rates", ("cohort", "genuine", "impostor"), tuple(rows))


def _cell(value: float | Undefined) -> Interval:
    return Interval(None, reason=value.reason) if isinstance(value, Undefined) else Interval(value)
