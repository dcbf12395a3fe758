"""The phrases that name a race or ethnicity (rule R1), as the race reader looks them up.

Each phrase is listed in the singular; `Indians`, `East Asians` and the like are read as their singular.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from evenhand.benchmarks.fairface.normalise.lexicon import by_first_word, demonyms, phrases, table, words

ASIAN: Final = "Asian"  # unspecified: neither East, Southeast nor South
MIXED: Final = "mixed"
OUTSIDE: Final = "outside"
NEUTRAL: Final = "neutral"

_TABLE: Final = table("race.toml")
PHRASES: Final[Mapping[str, tuple[str, ...]]] = MappingProxyType(
    {label: phrases(text) for label, text in _TABLE["phrases"].items()}
)
COLOURS: Final = words(_TABLE["colours"]["race"])
_BLACK_AND_WHITE: Final = ("black", "and", "white")


def _labels() -> dict[tuple[str, ...], str]:
    """What each phrase stands for; the protocol's own words come before the adjectives of countries."""
    labels = {tuple(text.split()): label for label, texts in PHRASES.items() for text in texts}
    for _, adjective, label in demonyms():
        labels.setdefault(tuple(adjective.split()), label)
    for phrase, label in list(labels.items()):
        if phrase != _BLACK_AND_WHITE and not phrase[-1].endswith(("s", "ese", "ish", "ch")):
            labels.setdefault((*phrase[:-1], phrase[-1] + "s"), label)
    return labels


_LABELS: Final = _labels()
LEXICON: Final = by_first_word(_LABELS)  # first word → its phrases, longest first
RACE_WORDS: Final = frozenset(
    word for phrase, label in _LABELS.items() if label not in (NEUTRAL, MIXED) for word in phrase
) - {"man", "woman", "person", "male", "female", "new", "first"}
ALONE: Final = {phrase[0]: label for phrase, label in _LABELS.items() if len(phrase) == 1}  # phrases of one word
SECOND_WORDS: Final = {  # first word → second words of all the other phrases that begin with it
    first: frozenset(phrase.words[1] for phrase in entries if len(phrase.words) > 1)
    for first, entries in LEXICON.items()
}
