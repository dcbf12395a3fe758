"""The table of the demonstrations: what was planted, and what was found."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from evenhand import api
from evenhand.cli import demonstration
from evenhand.core.page import Interval
from evenhand.core.task import Demo
from evenhand.reporting.display import shown


def test_a_demo_without_any_value_has_empty_rows_and_a_missed_group() -> None:
    table = {"y": [0, 1] * 20, "p": [0, 1] * 20, "race": ["A", "B"] * 20}
    results = api.evaluate_table(table, truth="y", prediction="p", by=["race"], draws=20, permutations=20).results
    nothing = shown(replace(results, estimates=(), contrasts=(), headline=None))
    example = Demo("table/labels", Path(), Path(), planted="race=A", chance="race=B")
    outcome, rows = demonstration._judged(nothing, example)
    assert [row[1] for row in rows] == [Interval(None)] * 3
    assert [row[3] for row in rows] == ["", "MISSED", "not proven"]
    assert (outcome["found"], outcome["over_read"]) == (False, False)


def test_pairs_are_shown_also_where_the_value_that_a_task_puts_first_was_left_out() -> None:
    table = {"y": [0, 1] * 40, "p": [0, 1] * 30 + [1, 0] * 10, "race": ["A"] * 40 + ["B"] * 40}
    results = api.evaluate_table(table, truth="y", prediction="p", by=["race"], draws=20, permutations=20).results
    other = shown(replace(results, headline=("fid", "distance")))
    assert list(other.first_pairs)
    assert {(pair.metric, pair.output) for pair in other.contrasts} == {other.first}
