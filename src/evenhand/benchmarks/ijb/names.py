"""How reports write IJB's keys."""

from __future__ import annotations

from evenhand.core.names import DisplayNames

NAMES = DisplayNames(
    family="IJB",
    values=(
        (r"\w+: TPIR@FPIR=(\S+), rank (\d+)", r"TPIR at FPIR \1, rank \2"),
        (r"\w+: TPIR@FPIR=(\S+), top (\d+)", r"TPIR at FPIR \1, among the first \2"),
        (r"\w+: TAR@FAR=(\S+)", r"TAR at FAR \1"),
        (r"CMC: rank (\d+)", r"Rank-\1 identification rate"),
        ("CMC: curve", "Identification rate by rank (CMC)"),
        (r"searches: (.*)", r"Searches, \1"),
    ),
    shares=(r".*: (TPIR|TAR|rank|FNIR|FPIR|TMR|FMR|FNMR)\b.*",),
    items="comparisons",
)
