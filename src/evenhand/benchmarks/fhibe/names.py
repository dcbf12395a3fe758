"""How reports write FHIBE's keys."""

from __future__ import annotations

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.core.names import DisplayNames

_WORDS = ("darkest", "dark", "medium dark", "medium light", "light", "lightest")
_TONES = vocabulary.VALUES["apparent_skin_color"]  # darkest first, each with its colour: `0. [102, 78, 65]`
SKIN_WORDS = dict(zip(_TONES, _WORDS, strict=True))
_SKIN = {tone: f"{words} ({place} of 6)" for place, (tone, words) in enumerate(SKIN_WORDS.items(), start=1)}
_COLOURS = {
    tone: "#" + "".join(f"{int(part):02x}" for part in tone.partition(". ")[2].strip("[]").split(","))
    for tone in _TONES
}
_WHAT = {"IOU": "boxes", "MASK": "masks", "OKS": "keypoints", "DET": "body parts"}

NAMES = DisplayNames(
    family="FHIBE",
    levels={"natural_skin_color": _SKIN, "apparent_skin_color": _SKIN},
    swatches={"natural_skin_color": _COLOURS, "apparent_skin_color": _COLOURS},
    values=(
        *((f"AR_{key}: recall", f"Average recall of {what} (AR_{key})") for key, what in _WHAT.items()),
        *((rf"AR_{key}_(\w+): recall", rf"Average recall of {what} (AR_{key}, \1)") for key, what in _WHAT.items()),
        *((rf"AR_{key}(\w*): curve", rf"Recall of {what} by threshold (AR_{key}\1)") for key, what in _WHAT.items()),
        ("PCK: mean", "Correct keypoints (PCK)"),
        (r"PCK_(\w+): mean", r"Correct keypoints (PCK, \1)"),
    ),
    shares=("PCK.*: mean", "AR_.*: recall"),
    items="people",
)
