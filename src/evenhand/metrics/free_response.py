"""A free-response curve from scores, and its operating points.

*Positives* are faces that were found (or named correctly), *negatives* are false alarms; both have
scores. Thresholds are the distinct scores of the negatives; at each, the rate is the share of all
faces whose positive reaches it, and the abscissa the number of negatives that reach it, per
image. Scores are sorted once, and every count is a binary search in them.

An operating point asks for at most so many false alarms per image. It is read at the lowest
threshold that keeps the promise, without interpolation; a curve that ends earlier gives its
right-most value, and a curve that never gets so low gives none.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evenhand.core.metric import Undefined
from evenhand.core.records import Array
from evenhand.metrics.operating_points import SortedScores

COMPETITION_TARGETS = (1e-3, 1e-2, 1e-1, 1.0)  # false alarms per image


class FreeResponseCurve(NamedTuple):
    """A curve in counts: thresholds ascending, what reaches each, and the two denominators."""

    thresholds: Array
    positives: Array  # that reach the threshold
    negatives: Array  # that reach the threshold
    faces: float  # denominator of the rate
    images: float  # denominator of false alarms per image

    @property
    def rate(self) -> Array | Undefined:
        """Positives per face, at every threshold."""
        return self.positives / self.faces if self.faces > 0 else Undefined(nobody(self.faces))

    @property
    def per_image(self) -> Array:
        """Negatives per image, at every threshold; none when there is no image."""
        return self.negatives / self.images if self.images > 0 else np.zeros(0)


class FrocPoint(NamedTuple):
    """A curve read at an operating point; all is None where it does not get that low.

    When there is no face at all, the rate alone is None.
    """

    target: float
    rate: float | None
    threshold: float | None
    actual: float | None  # false alarms per image that were really reached
    negatives: int | None  # false alarms it is based on


def free_response(
    positives: Array, negatives: Array, *, faces: float, images: float, every_score: bool = False
) -> FreeResponseCurve:
    """The curve of scores of positives and negatives.

    Thresholds are the distinct scores of the negatives; with `every_score`, of the positives too.

    >>> curve = free_response(np.array([0.9, 0.4]), np.array([0.5, 0.3]), faces=4, images=2)
    >>> curve.thresholds.tolist(), curve.rate.tolist(), curve.per_image.tolist()
    ([0.3, 0.5], [0.5, 0.25], [1.0, 0.5])
    """
    positives, negatives = np.asarray(positives, dtype=np.float64), np.asarray(negatives, dtype=np.float64)
    return curve_of(SortedScores.of(positives), SortedScores.of(negatives), faces, images, every_score)


def read_at(curve: FreeResponseCurve, targets: Sequence[float] = COMPETITION_TARGETS) -> tuple[FrocPoint, ...]:
    """The curve at the lowest threshold whose false alarms per image do not exceed each target.

    >>> curve = free_response(np.array([0.9, 0.4]), np.array([0.5, 0.3]), faces=4, images=2)
    >>> [reading.rate for reading in read_at(curve, (0.1, 0.5, 10))]
    [None, 0.25, 0.5]
    """
    per_image, rate = curve.per_image, curve.rate
    found = []
    for target in targets:
        allowed = int(np.count_nonzero(per_image <= target))
        if not allowed:
            found.append(FrocPoint(target, None, None, None, None))
            continue
        place = len(per_image) - allowed  # false alarms fall as the threshold rises
        found.append(
            FrocPoint(
                target,
                None if isinstance(rate, Undefined) else float(rate[place]),
                float(curve.thresholds[place]),
                float(per_image[place]),
                int(curve.negatives[place]),
            )
        )
    return tuple(found)


def sum_of(readings: Sequence[FrocPoint]) -> float | Undefined:
    """The sum of the rates that there are (the competition's ranking); a missing one adds nothing."""
    rates = [reading.rate for reading in readings if reading.rate is not None]
    return float(sum(rates)) if rates else Undefined("the curve gets as low as none of the targets")


def curve_of(
    positives: SortedScores, negatives: SortedScores, faces: float, images: float, every_score: bool
) -> FreeResponseCurve:
    thresholds = negatives.steps()[0][::-1]
    if every_score:
        thresholds = np.union1d(thresholds, positives.steps()[0])
    if images <= 0:
        thresholds = thresholds[:0]
    return FreeResponseCurve(thresholds, positives.reaching(thresholds), negatives.reaching(thresholds), faces, images)


def nobody(faces: float) -> str:
    if faces < 0:
        return f"more faces are excluded than there are (by {-int(faces)})"
    return "there is no face to be counted"
