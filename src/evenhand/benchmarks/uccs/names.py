"""How reports write the UCCS challenge's keys."""

from __future__ import annotations

from evenhand.core.names import DisplayNames

_AT = r"@(\S+)"
NAMES = DisplayNames(
    values=(
        (rf"froc: DR{_AT} shared", r"Detection rate at \1 false detections per image (one threshold for all groups)"),
        (rf"froc: DR{_AT}", r"Detection rate at \1 false detections per image (own threshold)"),
        (r"froc: sum", "Sum of detection rates"),
        (
            rf"oroc_rank(\d+): TPIR{_AT} shared",
            r"Rank-\1 TPIR at \2 false identifications per image (one threshold for all groups)",
        ),
        (rf"oroc_rank(\d+): TPIR{_AT}", r"Rank-\1 TPIR at \2 false identifications per image (own threshold)"),
        (rf"oroc_documented_rank(\d+): TPIR{_AT}( shared)?", r"Rank-\1 TPIR at \2 as documented\3"),
        (r"oroc_rank(\d+): sum", r"Sum of rank-\1 TPIR"),
        ("found: rate", "Faces found"),
        ("named first: rate", "Known faces named first"),
    ),
    shares=(r".*: (DR|TPIR)@.*", "found: rate", "named first: rate"),
    tasks={"uccs/detection": "UCCS: face detection", "uccs/identification": "UCCS: watchlist identification"},
    items="faces",
)
