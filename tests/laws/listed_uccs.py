"""The curves of detection and of the watchlist."""

from __future__ import annotations

import numpy as np
from laws import Listed

from evenhand.core.records import Records
from evenhand.metrics.curves import Event, FreeResponse, OpenSet


def events(rng: np.random.Generator, n: int) -> Records:
    kind = rng.choice(list(Event), n)
    score = np.where(np.isin(kind, (Event.FOUND, Event.FALSE_ALARM, Event.STRANGER)), rng.integers(0, 8, n) / 8, np.nan)
    faces = np.select([np.isin(kind, (Event.FOUND, Event.MISSED)), kind == Event.ABSENT], [1, -1], 0)
    return Records({"kind": kind, "score": score, "faces": faces, "known": faces, "rank": rng.integers(1, 5, n)}, {})


LISTED = [
    Listed("free response", FreeResponse("froc"), events),
    Listed("open set", OpenSet("oroc", rank=2), events),
    Listed("open set, every score a threshold", OpenSet("oroc", rank=2, every_score=True, targets=(0.5, 2.0)), events),
]
