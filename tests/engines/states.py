"""The listed metrics as work for engines."""

from __future__ import annotations

import importlib
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.engine import Workplace
from evenhand.core.measure import Tally, estimates, tally
from evenhand.core.membership import groups_of
from evenhand.core.records import Attribute, Records
from evenhand.store.plain import dumps

LAWS = Path(__file__).parents[1] / "laws"
ROWS = 40


@lru_cache(maxsize=1)
def listed() -> list[Any]:
    """Every metric in the lists of the laws, in order."""
    sys.path.insert(0, str(LAWS))
    found: list[Any] = []
    for path in sorted(LAWS.glob("listed*.py")):
        found.extend(importlib.import_module(path.stem).LISTED)  # by its name, so that functions in it can be sent
    return found


def tally_part(part: tuple[int, int], place: Workplace) -> Tally:
    """The tally of one part of one metric's rows."""
    number, at = part
    entry = listed()[number]
    rng = np.random.default_rng([number, at])
    rows = entry.make_rows(rng, ROWS)
    columns = dict(rows.columns)
    columns.setdefault("unit", rng.integers(0, 12, len(rows)))
    tone = Attribute.coded(rng.integers(0, 3, len(rows)), ("light", "dark"))
    return tally(Records(columns, {**rows.attributes, "tone": tone}), [entry.metric], ["tone"])


def as_bytes(whole: Tally | None) -> bytes:
    """All that a tally says, to the last bit."""
    assert whole is not None
    found = estimates(whole, groups_of(whole.cells, ["tone"]))
    return dumps([found, whole.cells.columns])
