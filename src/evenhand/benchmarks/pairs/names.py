"""How reports write the keys of verification sets."""

from __future__ import annotations

from evenhand.core.names import DisplayNames
from evenhand.metrics.names import VERIFICATION_VALUES

NAMES = DisplayNames(
    family="Verification pairs",
    values=(
        ("ten-fold: accuracy", "Ten-fold accuracy"),
        ("ten-fold: accuracy at one threshold", "Accuracy at a shared threshold"),
        ("ten-fold: std", "Standard deviation over folds"),
        *VERIFICATION_VALUES,
        (r"folds_interpolated: (.*)", r"\1, interpolated over folds"),
        (r"pairs: (.*)", r"Pairs, \1"),
    ),
    tasks={
        "pairs/lfw": "LFW",
        "pairs/cfp_fp": "CFP frontal–profile",
        "pairs/cfp_ff": "CFP frontal–frontal",
        "pairs/agedb_30": "AgeDB-30",
        "pairs/calfw": "CALFW",
        "pairs/cplfw": "CPLFW",
        "pairs/vgg2_fp": "VGGFace2 frontal–profile",
        "pairs/rfw": "RFW",
        "pairs/bfw": "BFW",
    },
    shares=("ten-fold: (accuracy at one threshold|std)",),
    items="pairs",
)
