"""The strict-vocabulary profile: only the labels themselves are understood.

A run under this profile shows how much of a result depends on the normaliser's
generosity. Objects and labelled values are located by the same rules; what they
contain must be one of FairFace's own labels, or for age a plain number.
"""

from __future__ import annotations

import re
from typing import Final

from evenhand.benchmarks.fairface.normalise.age import read_age_range
from evenhand.benchmarks.fairface.normalise.readings import (
    AgeReading,
    GenderReading,
    Mode,
    RaceReading,
    Reason,
    no_age,
    no_gender,
    no_race,
)
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
from evenhand.benchmarks.fairface.taxonomy import (
    AGE_BINS,
    BIN_STARTS,
    COARSE_OF,
    FINE_RACES,
    GENDERS,
    RACES,
    UNKNOWN,
    AgeInterval,
    AgeKind,
)


def _plain(label: str) -> str:
    return label.lower().replace("_", " ").replace("-", " ")


_GENDERS: Final = {label.lower(): label for label in GENDERS}
_FINE: Final = {_plain(label): label for label in FINE_RACES}
_COARSE: Final = {_plain(label): label for label in RACES}
_BIN_LABELS: Final = {label: index for index, label in enumerate(AGE_BINS)} | {"more than 70": len(AGE_BINS) - 1}
_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{1,20})?")


def strict_gender(text: TokenizedText, mode: Mode) -> GenderReading:
    """The gender of a prepared text that is nothing but its name.

    >>> [strict_gender(TokenizedText(text), Mode.FIELD).label for text in ("female.", "a woman")]
    ['Female', 'unknown']
    """
    label = _GENDERS.get(text.text.rstrip(".").strip())
    return GenderReading(label, ("strict",)) if label else no_gender(_why(text), "strict")


def strict_race(text: TokenizedText, mode: Mode) -> RaceReading:
    """The race of a prepared text that is nothing but one of the six or seven names."""
    name = _plain(text.text.rstrip(".").strip())
    if name in _FINE:
        fine = _FINE[name]
        return RaceReading(COARSE_OF[fine], fine, ("strict",))
    if name in _COARSE:
        return RaceReading(_COARSE[name], UNKNOWN, ("strict",), None, unspecified=True)
    return no_race(_why(text), "strict")


def strict_age(text: TokenizedText, mode: Mode) -> AgeReading:
    """The age of a prepared text that is nothing but a bin's name or a number."""
    name = text.text.rstrip(".")
    if not name.startswith("more"):
        name = name.replace(" ", "")
    if name in _BIN_LABELS:
        index = _BIN_LABELS[name]
        if index == len(AGE_BINS) - 1:
            return AgeReading(AgeInterval(BIN_STARTS[index], None, AgeKind.OPEN), ("strict",))
        return AgeReading(AgeInterval(BIN_STARTS[index], BIN_STARTS[index + 1] - 1, AgeKind.RANGE), ("strict",))
    if _NUMBER.fullmatch(name):
        return read_age_range(float(name), float(name))._replace(rules=("strict",))
    return no_age(_why(text), "strict")


def _why(text: TokenizedText) -> Reason:
    return Reason.NOT_UNDERSTOOD if text.text else Reason.EMPTY
