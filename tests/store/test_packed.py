"""Outcomes of parts come back from disk as they were."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pytest

from evenhand.store.packed import MOST_BYTES, from_bytes, to_bytes


class Found(NamedTuple):
    rank: np.ndarray
    name: str


@dataclass(frozen=True)
class Tallied:
    counts: np.ndarray
    inner: Found


def test_tuples_dataclasses_arrays_and_numbers_come_back():
    found = Found(np.arange(6, dtype=np.int32).reshape(2, 3), "é")
    value = {"a": [1, 2.5, None, True], 3: (Tallied(np.array([0.1, -0.0]), found), np.float32(0.1))}
    back = from_bytes(to_bytes(value))
    assert back["a"] == [1, 2.5, None, True]
    tallied, number = back[3]
    assert isinstance(tallied, Tallied)
    assert isinstance(tallied.inner, Found)
    assert type(number) is np.float32
    assert tallied.counts.tobytes() == np.array([0.1, -0.0]).tobytes()
    assert tallied.inner.rank.dtype == np.int32
    tallied.counts[0] = 5  # it may be worked on


@pytest.mark.parametrize(
    "value",
    [
        lambda: None,
        object(),
        np.array([object()]),
        np.asfortranarray(np.ones((3, 4))),
        np.zeros(MOST_BYTES + 1, np.uint8),
        2**70,
        {1, 2},
    ],
)
def test_what_is_no_plain_value_or_too_large_is_not_kept(value):
    assert to_bytes(value) is None


def test_a_class_that_is_not_plain_or_not_loaded_is_refused():
    import msgspec

    for name in ("subprocess:Popen", "never_loaded:Thing", "os:system"):
        with pytest.raises(ValueError, match="not a plain class"):
            from_bytes(msgspec.msgpack.encode([name, ["true"]]))


@pytest.mark.parametrize("data", [b"", b"\xc1", to_bytes((1, "two"))[:-1]])
def test_bytes_that_hold_no_outcome_are_a_value_error(data: bytes):
    with pytest.raises(ValueError):
        from_bytes(data)
