"""The switches of the FHIBE tasks; every default is the published protocol."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np

from evenhand.core.errors import OptionError
from evenhand.core.options import Options, option

# The grids are the doubles that `arange` gives, not decimal literals: a score of exactly 0.6 fails the
# default threshold 0.6000000000000001 and passes a literal 0.6.
RECALL_GRID: tuple[float, ...] = tuple(np.arange(0.5, 1, 0.05).tolist())
PCK_GRID: tuple[float, ...] = tuple(np.arange(0.1, 1, 0.1).tolist())
ACCURACY_GRID: tuple[float, ...] = (0.5,)


@dataclass(frozen=True)
class FhibeOptions(Options):
    """Options of every task."""

    mini: int | None = option(None, "evaluate this many rows only, drawn as the published mini data set is")
    missing: Literal["refuse", "missed"] = option(
        "refuse", "an image without an answer: refuse the file, or score its people as missed"
    )
    largest_regions: bool = option(False, "group ancestry and nationality by continent or region only")


@dataclass(frozen=True)
class RecallOptions(FhibeOptions):
    """Localization and person parsing."""

    thresholds: tuple[float, ...] = option(RECALL_GRID, "overlaps at which recall is taken")

    def __post_init__(self) -> None:
        _check_shares(thresholds=self.thresholds)


@dataclass(frozen=True)
class KeypointOptions(FhibeOptions):
    """Keypoint estimation."""

    pck_thresholds: tuple[float, ...] = option(PCK_GRID, "distances, as multiples of the face box's diagonal")
    oks_thresholds: tuple[float, ...] = option(RECALL_GRID, "similarities at which recall is taken")
    custom_keypoints: tuple[str, ...] | None = option(None, "some of the 17 COCO keypoints, in COCO's order")

    def __post_init__(self) -> None:
        _check(("pck_thresholds", self.pck_thresholds), inf, "multiples of a face's diagonal, 0 or more,", "0.1,0.5")
        _check_shares(oks_thresholds=self.oks_thresholds)


@dataclass(frozen=True)
class PartOptions(FhibeOptions):
    """Body parts detection."""

    recall_thresholds: tuple[float, ...] = option(RECALL_GRID, "probabilities at which a part counts as found (AR_DET)")
    accuracy_thresholds: tuple[float, ...] = option(ACCURACY_GRID, "the same for ACC_DET")

    def __post_init__(self) -> None:
        _check_shares(recall_thresholds=self.recall_thresholds, accuracy_thresholds=self.accuracy_thresholds)


@dataclass(frozen=True)
class ParsingOptions(FhibeOptions):
    """Face parsing."""

    ears_to_skin: bool = option(False, "merge stored ear labels into skin before scoring")


@dataclass(frozen=True)
class FaceVerificationOptions(FhibeOptions):
    """Face verification."""

    missing: Literal["refuse", "missed"] = option(
        "missed", "an image without an embedding is left out of every pair, as published, and counted"
    )
    far: float = option(0.001, "false accept rate at which the unbiased rate is read; VAL itself is always at 0.001")

    def __post_init__(self) -> None:
        if not 0 < self.far <= 1:
            raise OptionError(f"far={self.far:g}: a rate above 0 and up to 1 was expected, such as far=0.001.")


@dataclass(frozen=True)
class FacePictureOptions(FhibeOptions):
    """Face encoding and super resolution."""

    metrics: tuple[str, ...] = option((), "which of the task's metrics to compute; all that can be, by default")


def _check_shares(**thresholds: tuple[float, ...]) -> None:
    for option_named in thresholds.items():
        _check(option_named, 1, "shares from 0 to 1", "0.5,0.75 (not 50,75)")


def _check(thresholds: tuple[str, tuple[float, ...]], most: float, expected: str, example: str) -> None:
    """Refuses an empty list of thresholds, and one with a threshold that is negative, endless or too high."""
    name, values = thresholds
    if not values:
        raise OptionError(f"{name} is empty: name one threshold or more, or leave the option out.")
    if any(not 0 <= value <= most or value == inf for value in values):
        shown = ",".join(f"{value:g}" for value in values)
        raise OptionError(f"{name}={shown}: {expected} were expected, such as {name}={example}.")


def threshold_keys(thresholds: tuple[float, ...]) -> dict[str, float]:
    """Thresholds by their two-decimal key; of those that format alike the last one counts.

    >>> threshold_keys((0.9, 0.3, 0.301))
    {'0.90': 0.9, '0.30': 0.301}
    """
    return {f"{threshold:.2f}": float(threshold) for threshold in thresholds}
