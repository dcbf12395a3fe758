"""What reports and `describe` say about FHIBE, and how they write its keys."""

from __future__ import annotations

from dataclasses import replace

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.files.packaged import FamilyTexts

TEXTS = FamilyTexts(__package__)
_WORDS = ("darkest", "dark", "medium dark", "medium light", "light", "lightest")
_TONES = vocabulary.VALUES["apparent_skin_color"]  # darkest first, each with its colour: `0. [102, 78, 65]`
SKIN_WORDS = dict(zip(_TONES, _WORDS, strict=True))
_SKIN = {tone: f"{words} ({place} of 6)" for place, (tone, words) in enumerate(SKIN_WORDS.items(), start=1)}
_COLOURS = {
    tone: "#" + "".join(f"{int(part):02x}" for part in tone.partition(". ")[2].strip("[]").split(","))
    for tone in _TONES
}
NAMES = replace(
    TEXTS.names(),
    levels=dict.fromkeys(vocabulary.SKIN_COLOURS, _SKIN),
    swatches=dict.fromkeys(vocabulary.SKIN_COLOURS, _COLOURS),
)
