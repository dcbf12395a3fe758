"""The rows of each group, kept by the places that are filled."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.core import measure
from evenhand.core.measure import count_units, estimates, tally
from evenhand.core.membership import Memberships, groups_of, inside
from evenhand.core.records import Attribute, Records
from evenhand.metrics.means import Mean

LEVELS = ("l0", "l1", "l2", "l3")


def made(rows: int = 300, *, silent: bool = False) -> Records:
    """Rows with an attribute of several levels and one that says nothing about every fifth row."""
    rng = np.random.default_rng(0)
    several = [tuple(level for level in LEVELS if rng.random() < 0.4) for _ in range(rows)]
    codes = rng.integers(0, 3, rows)
    if silent:
        codes[::5] = -1
    return Records(
        {"value": rng.integers(0, 11, rows) / 10, "unit": rng.integers(0, 50, rows), "item": np.arange(rows)},
        {"several": Attribute.many(several, levels=LEVELS), "single": Attribute.coded(codes, ("s0", "s1", "s2"))},
    )


@pytest.mark.parametrize("silent", [False, True])
def test_memberships_of_many_groups_are_those_of_each(silent: bool) -> None:
    rows = made(silent=silent)
    groups = groups_of(rows, ["several", "single"], 2)
    kept, members = inside(rows, groups)
    assert (kept is members) is not silent
    for position, group in enumerate(groups):
        assert kept.dense()[position].tolist() == rows.kept(group).tolist()
        assert members.dense()[position].tolist() == rows.members(group).tolist()
        assert members.of_group(position).tolist() == np.flatnonzero(rows.members(group)).tolist()


def test_a_product_adds_the_rows_of_each_group() -> None:
    rows = made()
    members = inside(rows, groups_of(rows, ["several", "single"], 2)).members
    values = np.random.default_rng(1).normal(size=(len(rows), 2, 3))
    np.testing.assert_allclose(members @ values, np.tensordot(members.dense(), values, 1), atol=1e-12)
    counts = members @ np.arange(len(rows))
    assert counts.dtype == np.int64
    assert counts.tolist() == (members.dense().astype(np.int64) @ np.arange(len(rows))).tolist()


def test_some_groups_are_taken_in_the_order_asked() -> None:
    parts = [np.array([0, 3]), np.array([], dtype=np.int64), np.array([1, 2, 3])]
    some = Memberships.of(parts, 4).take(np.array([2, 0, 1, 2]))
    assert [some.of_group(group).tolist() for group in range(4)] == [[1, 2, 3], [0, 3], [], [1, 2, 3]]
    assert some.shape == (4, 4)


def test_no_groups_have_no_rows() -> None:
    none = Memberships.of([], 5)
    assert none.shape == (0, 5)
    assert (none @ np.arange(5)).tolist() == []


@pytest.mark.parametrize("silent", [False, True])
def test_estimates_do_not_depend_on_how_memberships_are_kept(silent: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = tally(made(silent=silent), [Mean("m", "value")], ["several", "single"])
    groups = groups_of(whole.cells, ["several", "single"], 2)
    plain = estimates(whole, groups)
    units = count_units(whole.cells, groups)
    monkeypatch.setattr(measure, "_MOST_DENSE", 0)
    monkeypatch.setattr(measure, "_MOST_LISTED", 0)
    other = estimates(whole, groups)
    sizes = [[(e.group, e.rows, e.units, e.status) for e in found] for found in (plain, other)]
    assert sizes[0] == sizes[1]
    assert [e.number for e in other] == pytest.approx([e.number for e in plain], rel=1e-12)
    assert count_units(whole.cells, groups).tolist() == units.tolist()
