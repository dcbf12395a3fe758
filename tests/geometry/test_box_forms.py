"""Boxes in another form than the expected one, and the form in which they fit."""

from __future__ import annotations

import numpy as np
import pytest

from evenhand.geometry.box_forms import CORNERS, EXTENTS, FORMS, are_shares, better_form, other_forms

BOX = np.array([[10.0, 20.0, 16.0, 60.0]])  # left, top, right, bottom
WRITTEN = {
    CORNERS: [10, 20, 16, 60],
    EXTENTS: [10, 20, 6, 40],
    "x0, x1, y0, y1": [10, 16, 20, 60],
    "y0, x0, y1, x1": [20, 10, 60, 16],
    "centre x, centre y, width, height": [13, 40, 6, 40],
    "y, x, height, width": [20, 10, 40, 6],
    "y, x, width, height": [20, 10, 6, 40],
    "x, y, height, width": [10, 20, 40, 6],
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_corners(name: str) -> None:
    assert FORMS[name](np.array([WRITTEN[name]])).tolist() == BOX.tolist()


@pytest.mark.parametrize("name", [*WRITTEN, f"{EXTENTS}, divided by 8", f"{EXTENTS}, multiplied by 4"])
def test_the_form_that_was_written_is_found(name: str) -> None:
    factor = {f"{EXTENTS}, divided by 8": 1 / 8, f"{EXTENTS}, multiplied by 4": 4}.get(name, 1)
    written = np.array([WRITTEN.get(name, WRITTEN[EXTENTS])]) * factor
    forms = {EXTENTS: FORMS[EXTENTS], **other_forms(EXTENTS)}
    found = better_form(lambda form: float((form(written) == BOX).all()), forms, now=0.0, margin=0.1)
    assert found is not None
    assert found == (name, 1.0)


def test_a_form_that_is_hardly_better_is_none() -> None:
    assert better_form(lambda form: 0.55, other_forms(CORNERS), now=0.5, margin=0.1) is None
    assert better_form(lambda form: 1.0, {}, now=0.5, margin=0.1) is None


def test_numbers_that_are_missing_are_no_shares_and_no_pixels() -> None:
    assert are_shares(np.array([np.nan, 0.5]))
    assert not are_shares(np.array([np.nan, 50.0]))
