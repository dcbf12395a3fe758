"""How reports write IJB's keys."""

from __future__ import annotations

from evenhand.core.names import DisplayNames
from evenhand.metrics.names import VERIFICATION_VALUES

NAMES = DisplayNames(
    family="IJB",
    values=(
        (r"\w+: TPIR@FPIR=(\S+), rank (\d+)", r"TPIR at FPIR \1, rank \2"),
        (r"\w+: TPIR@FPIR=(\S+), top (\d+)", r"TPIR at FPIR \1, among the first \2"),
        *VERIFICATION_VALUES,
        (r"CMC: rank (\d+)", r"Rank-\1 identification rate"),
        ("CMC: curve", "Identification rate by rank (CMC)"),
        (r"search: TPIR@FPIR=(\S+), any rank", r"TPIR at FPIR \1, any rank"),
        (r"search: (FNIR|FPIR)@overall FPIR=(\S+)", r"\1 at the threshold of FPIR \2"),
        (r"searches: (.*)", r"Searches, \1"),
    ),
    shares=(r".*: (TPIR|TAR|rank|FNIR|FPIR|TMR|FMR|FNMR)\b.*",),
    tasks={
        "ijb/test1": "IJB: 1:1 verification (test 1)",
        "ijb/test2": "IJB: verification by covariate (test 2)",
        "ijb/test3": "IJB: search of still images (test 3)",
        "ijb/test4": "IJB: search of mixed media (test 4)",
        "ijb/test5": "IJB: search of video (test 5)",
        "ijb/test6": "IJB: face detection (test 6)",
        "ijb/test7": "IJB: clustering (test 7)",
        "ijb/test8": "IJB: detection and clustering (test 8)",
    },
    items="comparisons",
)
