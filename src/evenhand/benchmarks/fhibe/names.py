"""How reports write FHIBE's keys."""

from __future__ import annotations

from evenhand.core.names import DisplayNames

# The six skin colours of the data set's palette, darkest first.
_TONES = ("[102, 78, 65]", "[136, 105, 81]", "[164, 131, 103]", "[175, 148, 120]", "[189, 163, 137]", "[198, 180, 157]")
_WORDS = ("darkest", "dark", "medium dark", "medium light", "light", "lightest")
_SKIN = {
    f"{place}. {tone}": f"{words} ({place + 1} of 6)"
    for place, (tone, words) in enumerate(zip(_TONES, _WORDS, strict=True))
}
_COLOURS = {
    f"{place}. {tone}": "#" + "".join(f"{int(part):02x}" for part in tone.strip("[]").split(","))
    for place, tone in enumerate(_TONES)
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
