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


class Reading(NamedTuple):
    """What an answer says of one attribute: a class, or the interval of an age."""

    label: str = UNKNOWN  # of a gender; of a race, the coarse one
    fine: str = UNKNOWN  # of a race; often unknown where the coarse one is not
    rules: tuple[str, ...] = ()
    reason: Reason | None = None
    words: tuple[str, ...] = ()  # that the rules fired on
    unspecified: bool = False  # the answer was "Asian" without East, Southeast or South
    interval: AgeInterval | None = None  # of an age, in completed years


class FaceAnswer(NamedTuple):
    """One model's answer about one face."""

    gender: Reading
    race: Reading
    age: Reading

    def value(self, attribute: str) -> str | AgeInterval | None:
        """What is compared of an attribute: the label, or the interval of an age."""
        return self.age.interval if attribute == "age" else str(getattr(self, attribute).label)


def unknown(reason: Reason, *rules: str, words: tuple[str, ...] = ()) -> Reading:
    """An attribute of which an answer says nothing that can be used, with the reason."""
    return Reading(UNKNOWN, UNKNOWN, rules, reason, words)


def nothing(reason: Reason) -> FaceAnswer:
    """An answer in which all three attributes are unknown for one reason."""
    return FaceAnswer(unknown(reason), unknown(reason), unknown(reason))
