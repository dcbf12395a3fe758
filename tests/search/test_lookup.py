"""Entries of a table at many places."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.search import lookup
from evenhand.search.lookup import looked_up


@pytest.mark.parametrize("kind", [np.bool_, np.int8, np.float32])
def test_many_blocks_of_places_find_what_indexing_finds(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "AT_ONCE", 7)
    rng = np.random.default_rng(1)
    table, place = rng.integers(0, 2, 20).astype(kind), rng.integers(0, 20, 100).astype(np.int32)
    found = looked_up(table, place)
    assert found.dtype == table.dtype
    np.testing.assert_array_equal(found, table[place])


def test_no_places_are_looked_up_even_in_an_empty_table() -> None:
    assert len(looked_up(np.zeros(0, np.int8), np.zeros(0, np.int32))) == 0
