"""What was understood of an answer: the label, the rules that fired, and why not when it is unknown."""

from __future__ import annotations

from enum import StrEnum
from typing import NamedTuple

from evenhand.benchmarks.fairface.taxonomy import UNKNOWN, AgeInterval


class Mode(StrEnum):
    """What is known about a text: it states one attribute, or it describes a person."""

    FIELD = "field"
    PROSE = "prose"


class Reason(StrEnum):
    """Why an answer is `unknown`. Informative only: every reason counts as wrong."""

    MISSING = "missing"
    ERROR = "error"
    EMPTY = "empty"
    REFUSAL = "refusal"
    SEVERAL = "several classes"
    OUTSIDE = "outside taxonomy"
    NEGATED = "negated"
    VAGUE = "too vague"
    RANGE = "out of range"
    NOT_UNDERSTOOD = "not understood"
    CUT_OFF = "cut off"
    LANGUAGE = "language"
    CONFLICT = "conflicting duplicates"


class GenderReading(NamedTuple):
    """`Male`, `Female` or `unknown`."""

    label: str
    rules: tuple[str, ...]
    reason: Reason | None = None
    words: tuple[str, ...] = ()  # that the rules fired on


class RaceReading(NamedTuple):
    """The coarse class and the fine one; either may be `unknown`, and `fine` often is.

    `unspecified` says that the answer was "Asian" without East, Southeast or South.
    """

    label: str
    fine: str
    rules: tuple[str, ...]
    reason: Reason | None = None
    unspecified: bool = False
    words: tuple[str, ...] = ()


class AgeReading(NamedTuple):
    """The age as an interval of completed years, or None for unknown."""

    interval: AgeInterval | None
    rules: tuple[str, ...]
    reason: Reason | None = None
    words: tuple[str, ...] = ()


class FaceAnswer(NamedTuple):
    """One model's answer about one face."""

    gender: GenderReading
    race: RaceReading
    age: AgeReading

    def value(self, attribute: str) -> str | AgeInterval | None:
        """What is compared of an attribute: the label, or the interval of an age."""
        return self.age.interval if attribute == "age" else str(getattr(self, attribute).label)


def no_gender(reason: Reason, *rules: str) -> GenderReading:
    """An unknown gender with its reason."""
    return GenderReading(UNKNOWN, rules, reason)


def no_race(reason: Reason, *rules: str) -> RaceReading:
    """An unknown race with its reason."""
    return RaceReading(UNKNOWN, UNKNOWN, rules, reason)


def no_age(reason: Reason, *rules: str) -> AgeReading:
    """An unknown age with its reason."""
    return AgeReading(None, rules, reason)


def nothing(reason: Reason) -> FaceAnswer:
    """An answer in which all three attributes are unknown for one reason."""
    return FaceAnswer(no_gender(reason), no_race(reason), no_age(reason))
