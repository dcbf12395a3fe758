"""The published disparity table in our own reports, beside the statistics to judge by.

`disparity` is imported when a table is made: commands that make none do not load the statistics.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.core.metric import Metric
from evenhand.core.page import Section, Table, Text
from evenhand.core.records import Records
from evenhand.core.results import Results

KEY = "published_disparities"
_CAUTION = (
    "As the published report computes it, for comparison: pictures of one subject count as independent, each attribute "
    "is corrected for its own pairs, 'worst' follows medians and list order, and the effect size is a z value that "
    "grows with the number of scores. Judge by the contrasts with intervals."
)


def published_disparities(
    names: Sequence[str], metrics: Callable[[Any], Sequence[Metric[Any]]], rows: Records, options: Any
) -> Mapping[str, Any]:
    """Metric → cells of the published table over the default attributes; metrics without row scores have none."""
    from evenhand.benchmarks.fhibe.disparity import ScoredRows, disparity_table

    asked = [name for name in vocabulary.DEFAULT_ATTRIBUTES if name in rows.attributes]
    tables = {}
    for metric in metrics(options):
        scores = metric.row_scores(rows) if metric.name in names else None
        if scores is not None:
            tables[metric.name] = disparity_table(ScoredRows(metric.name, rows.attributes, scores), asked) or []
    return {KEY: tables} if tables else {}


def published_section(results: Results) -> Section | None:
    """The published tables, when a run has them."""
    from evenhand.benchmarks.fhibe.disparity import plain_cell

    tables = results.facts.get(KEY)
    if not tables:
        return None
    blocks: list[Text | Table] = [Text(_CAUTION, "caution")]
    for metric, cells in tables.items():
        if cells:
            rows = tuple(tuple(plain_cell(cell) for cell in row) for row in cells[2:])
            blocks.append(Table(f"Published disparities in {metric}", tuple(cells[1]), rows))
        else:
            blocks.append(Text(f"{metric}: no pair of groups is significant by the published procedure."))
    return Section("Published disparity table", blocks, name="published-disparities")
