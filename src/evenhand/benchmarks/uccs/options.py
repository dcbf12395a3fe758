"""The protocol's named switches."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from evenhand.core.errors import OptionError
from evenhand.core.options import Options, option
from evenhand.metrics.free_response import COMPETITION_TARGETS

Ties = Literal["pessimistic", "middle", "optimistic"]


@dataclass(frozen=True)
class WatchlistDetectionOptions(Options):
    """Switches of detection."""

    which_set: str = option("validation", "the set: the name of its table in the data folder")
    exclude: str = option("auto", "exclusion list: auto (exclude_gallery_SET.txt when there), none, or a path")
    iou: float = option(0.5, "overlap from which on a detection belongs to a face, above 0 and at most 1")
    targets: tuple[float, ...] = option(COMPETITION_TARGETS, "false alarms per image at which rates are read")


@dataclass(frozen=True)
class WatchlistIdentificationOptions(WatchlistDetectionOptions):
    """Switches of identification."""

    ranks: tuple[int, ...] = option((1,), "the true name must be among the so many most similar; any number of ranks")
    ties: Ties = option("pessimistic", "rank of a true name that ties with others: behind, amid or before them")
    challenge: bool = option(False, "insist on the challenge's 1000 subjects")


def check_targets(targets: Sequence[float], option: str = "targets") -> None:
    """Raise when there is no target, one that is no number above 0, or two that are the same."""
    shown = ", ".join(f"{target:g}" for target in targets)
    expected = "Each is a number of false alarms per image above 0, such as 0.001, 0.01, 0.1, 1."
    if not targets or not all(0 < target < float("inf") for target in targets):
        raise OptionError(f"{option} is {shown or 'empty'}. {expected}")
    if len({f"{target:g}" for target in targets}) < len(targets):
        raise OptionError(f"{option} is {shown}: one of them is there twice and would count twice in the sum.")


def check_ranks(ranks: Sequence[int]) -> None:
    """Raise when there is no rank, or one below 1."""
    if not ranks or any(rank < 1 for rank in ranks):
        raise OptionError(f"Ranks are {', '.join(map(str, ranks)) or 'none'}; a rank is a whole number from 1 on.")
