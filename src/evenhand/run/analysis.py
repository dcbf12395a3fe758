"""From rows to what may be said about groups, at the cost that the settings ask for.

With draws, every metric is tallied per unit, so that units can be resampled. Without draws nothing is
resampled: metrics whose intervals follow from a formula still need units, the others are tallied without,
and pay nothing for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.core.engine import total
from evenhand.core.measure import AnyMetric, Tally, count_units, estimates, tally
from evenhand.core.membership import groups_of
from evenhand.core.metric import Metric
from evenhand.core.records import EVERYONE, MISSING, Group, Records
from evenhand.core.results import Estimate

UNCOUNTED = "units were not counted: without draws this value needs none"


@dataclass(frozen=True)
class RowTallies:
    """The tallies of all rows: with units for some metrics, without for the others."""

    by_unit: Tally | None
    plain: Tally | None

    def __add__(self, other: RowTallies, /) -> RowTallies:
        return RowTallies(_sum(self.by_unit, other.by_unit), _sum(self.plain, other.plain))

    @property
    def cells(self) -> Records:
        """The cells of all rows."""
        both = self.by_unit or self.plain
        assert both is not None
        return both.cells

    @property
    def rows(self) -> int:
        return int(self.cells["rows"].sum())

    @property
    def units(self) -> int:
        """How many units there are; 0 when they were not counted."""
        return int(count_units(self.cells, [EVERYONE])[0]) if self.by_unit is not None else 0

    def unannotated(self, by: Sequence[str]) -> dict[str, int]:
        """How many rows lack each attribute, of those it applies to; attributes without such rows are left out."""
        counts = {name: self.cells["rows"][self.cells.members(Group(((name, MISSING),)))].sum() for name in by}
        return {name: int(count) for name, count in counts.items() if count}


def tally_rows(
    parts: Iterable[Records], metrics: Sequence[AnyMetric], by: Sequence[str], *, draws: int
) -> RowTallies | None:
    """The tallies of all parts, added along the fixed tree; None when there are no parts."""
    resampled = [metric for metric in metrics if needs_units(metric, draws)]
    others = [metric for metric in metrics if not needs_units(metric, draws)]

    def tallied(rows: Records) -> RowTallies:
        return RowTallies(
            tally(rows, resampled, by) if resampled or not others else None,
            tally(rows, others, by, units=False) if others else None,
        )

    return total(tallied(rows) for rows in parts)


def needs_units(metric: AnyMetric, draws: int) -> bool:
    """Whether a metric is redrawn by units, or has an interval by formula that takes them into account."""
    return draws > 0 or type(metric).ratios is not Metric.ratios


def plain_estimates(tallied: Tally, by: Sequence[str], depth: int) -> tuple[Estimate, ...]:
    """Values without intervals, from cells without units."""
    groups = groups_of(tallied.cells, by, depth)
    return tuple(
        replace(estimate, units=0, notes=(*estimate.notes, UNCOUNTED)) for estimate in estimates(tallied, groups)
    )


def in_metric_order(found: Iterable[Estimate], metrics: Sequence[AnyMetric]) -> tuple[Estimate, ...]:
    """The estimates in the order in which the task names its metrics."""
    position = {metric.name: number for number, metric in enumerate(metrics)}
    listed = list(found)
    order = np.argsort([position[estimate.metric] for estimate in listed], kind="stable")
    return tuple(listed[at] for at in order)


def _sum(mine: Tally | None, theirs: Tally | None) -> Tally | None:
    return None if mine is None or theirs is None else mine + theirs
