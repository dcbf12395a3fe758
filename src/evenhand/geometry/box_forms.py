"""Four numbers of a box as they may have been written, and the form in which they fit best.

A box in another form than the expected one is a box, only of somewhere else, so nothing fails. Which form was meant is
seen by what fits: each is tried, and the caller measures how well the boxes then cover what is annotated.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from evenhand.core.records import Array
from evenhand.geometry.boxes import corners

Form = Callable[[Array], Array]  # four numbers as they are written (…, 4) → x0, y0, x1, y1 (…, 4)
LARGEST_SHARE = 1.5  # of numbers that are shares of the image, with those of boxes that reach beyond it
FACTORS = (2, 4, 8, 0.5, 0.25, 0.125)  # of pictures of another size
CORNERS, EXTENTS = "x0, y0, x1, y1", "x, y, width, height"


class BoxFit(NamedTuple):
    """A form of boxes, and how well they fit in it."""

    form: str
    fit: float


def _ordered(*order: int) -> Form:
    return lambda written: np.asarray(written)[..., list(order)]


def _around_centre(written: Array) -> Array:
    written = np.asarray(written)
    half = written[..., 2:] / 2
    return np.concatenate([written[..., :2] - half, written[..., :2] + half], axis=-1)


def _extents_ordered(*order: int) -> Form:
    return lambda written: corners(np.asarray(written)[..., list(order)])


# By what to say of the numbers: "they look like …".
FORMS: Mapping[str, Form] = MappingProxyType(
    {
        CORNERS: np.asarray,
        EXTENTS: corners,
        "x0, x1, y0, y1": _ordered(0, 2, 1, 3),
        "y0, x0, y1, x1": _ordered(1, 0, 3, 2),
        "centre x, centre y, width, height": _around_centre,
        "y, x, height, width": _extents_ordered(1, 0, 3, 2),
        "y, x, width, height": _extents_ordered(1, 0, 2, 3),
        "x, y, height, width": _extents_ordered(0, 1, 3, 2),
    }
)


def other_forms(expected: str) -> dict[str, Form]:
    """All forms but the expected one, and that one in pictures of other sizes.

    >>> other_forms("x, y, width, height")["x, y, width, height, divided by 2"](np.array([1.0, 2.0, 3.0, 4.0])).tolist()
    [2.0, 4.0, 8.0, 12.0]
    """
    forms = {name: form for name, form in FORMS.items() if name != expected}
    for factor in FACTORS:
        change = f"divided by {factor:g}" if factor > 1 else f"multiplied by {1 / factor:g}"
        forms[f"{expected}, {change}"] = _scaled(FORMS[expected], factor)
    return forms


def better_form(fit: Callable[[Form], float], forms: Mapping[str, Form], now: float, margin: float) -> BoxFit | None:
    """The form in which boxes fit best, if that is better than now by more than a margin; of equal ones the first.

    `fit` reads boxes in a form and says how well they fit: the share of faces found, or a mean overlap.

    >>> truth = np.array([10.0, 20.0, 15.0, 28.0])
    >>> better_form(lambda form: float((form([10.0, 20.0, 5.0, 8.0]) == truth).mean()), FORMS, now=0.5, margin=0.1)
    BoxFit(form='x, y, width, height', fit=1.0)
    """
    best = max((BoxFit(name, fit(form)) for name, form in forms.items()), key=lambda found: found.fit, default=None)
    return best if best is not None and best.fit > now + margin else None


def are_shares(numbers: Array) -> bool:
    """Whether coordinates look like shares of the image from 0 to 1; numbers that are missing are not looked at.

    >>> are_shares(np.array([0.1, 0.2, 1.02, 0.9])), are_shares(np.array([0.0, 0.0, 20.0, 30.0]))
    (True, False)
    """
    return bool(np.nanmax(np.abs(numbers), initial=0.0) <= LARGEST_SHARE)


def _scaled(form: Form, factor: float) -> Form:
    return lambda written: form(np.asarray(written) * factor)
