"""The strict-vocabulary profile: only the labels themselves are understood.

A run under this profile shows how much of a result depends on the normaliser's
generosity. Objects and labelled values are located by the same rules; what they
contain must be one of FairFace's own labels, or for age a plain number.
"""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Final

from evenhand.benchmarks.fairface.normalise.age import read_age_range
from evenhand.benchmarks.fairface.normalise.readings import Mode, Reading, Reason, unknown
from evenhand.benchmarks.fairface.normalise.tokenized import TokenizedText
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, BIN_STARTS, COARSE_OF, GENDERS, AgeInterval, AgeKind

_RULES: Final = ("strict",)
_LAST_BIN: Final = Reading(rules=_RULES, interval=AgeInterval(BIN_STARTS[-1], None, AgeKind.OPEN))
_READINGS: Final = {
    "gender": {label.lower(): Reading(label, rules=_RULES) for label in GENDERS},
    "race": {
        "asian": Reading("Asian", rules=_RULES, unspecified=True),
        **{fine.lower().replace("_", " "): Reading(coarse, fine, _RULES) for fine, coarse in COARSE_OF.items()},
    },
    "age": {
        **dict.fromkeys((AGE_BINS[-1], "more than 70"), _LAST_BIN),
        **{
            name: Reading(rules=_RULES, interval=AgeInterval(start, following - 1, AgeKind.RANGE))
            for name, (start, following) in zip(AGE_BINS[:-1], pairwise(BIN_STARTS), strict=True)
        },
    },
}
_NUMBER: Final = re.compile(r"\d{1,3}(?:\.\d{1,20})?")


def read_strictly(text: TokenizedText, mode: Mode, *, attribute: str) -> Reading:
    """The class of a prepared text that is nothing but its name; for age, also a number.

    >>> [read_strictly(TokenizedText(text), Mode.FIELD, attribute="gender").label for text in ("female.", "a woman")]
    ['Female', 'unknown']
    """
    name = text.text.rstrip(".")
    if attribute != "age":
        name = name.strip().replace("-", " ")
    elif not name.startswith("more"):
        name = name.replace(" ", "")
        if _NUMBER.fullmatch(name):
            return read_age_range(float(name), float(name))._replace(rules=_RULES)
    reading = _READINGS[attribute].get(name)
    return reading or unknown(Reason.NOT_UNDERSTOOD if text.text else Reason.EMPTY, *_RULES)
