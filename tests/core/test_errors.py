"""Errors travel between processes and name what is near."""

from __future__ import annotations

import pickle

import pytest

from evenhand.core.errors import EvenhandError, MissingExtraError, UnknownNameError, nearest


@pytest.mark.parametrize(
    "error", [UnknownNameError("task", "a", ["b"], "Try again."), MissingExtraError("LPIPS needs torch", "torch")]
)
def test_errors_survive_the_way_from_a_worker(error: EvenhandError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301  # our own bytes
    assert str(again) == str(error)
    assert type(again) is type(error)


def test_nothing_near_is_not_suggested() -> None:
    assert nearest("zebra", ["gender", "race"]) == ()
    assert "Did you mean" not in str(UnknownNameError("attribute", "zebra", ["gender"]))
    assert "No run is known" in str(UnknownNameError("run", "x", []))
