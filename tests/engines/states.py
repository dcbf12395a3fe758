"""The listed metrics as work for engines."""

from __future__ import annotations

import importlib.util
import sys
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.core.engine import Workplace
from evenhand.core.measure import Tally, estimates, tally
from evenhand.core.records import Attribute, Records, groups_of
from evenhand.store.plain import dumps

LAWS = Path(__file__).parents[1] / "laws"
ROWS = 40


@lru_cache(maxsize=1)
def listed() -> list[Any]:
    """Every metric in the lists of the laws, in order."""
    sys.path.insert(0, str(LAWS))
    found: list[Any] = []
    for path in sorted(LAWS.glob("listed*.py")):
        spec = importlib.util.spec_from_file_location(f"laws_{path.stem}", path)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        found.extend(module.LISTED)
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
