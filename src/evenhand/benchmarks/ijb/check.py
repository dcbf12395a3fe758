"""Is the data folder what was published?"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from evenhand.core.task import CheckReport, Dataset, Finding, count_words, counts_of

# Counts of the published releases, by prefix of the files and test.
PUBLISHED: Mapping[tuple[str, int], Mapping[str, Any]] = {
    ("IJBB", 1): {
        "templates": 12115,
        "faces": 227630,
        "subjects": 1845,
        "comparisons": 8010270,
        "genuine": 10270,
        "impostor": 8000000,
    },
    ("IJBC", 1): {"templates": 23124, "faces": 469375, "subjects": 3531, "comparisons": 15658489},
    ("IJBC", 2): {"templates": 140739, "comparisons": 47404001},
    ("IJBB", 3): {"galleries": {"S1": 931, "S2": 914}, "probes": {"S1": 8104, "S2": 8104}},
    ("IJBB", 4): {"galleries": {"S1": 931, "S2": 914}, "probes": {"S1": 10270, "S2": 10270}},
    ("IJBB", 5): {"galleries": {"S1": 931, "S2": 914}, "probes": {"S1": 7110, "S2": 7110}},
    ("IJBC", 4): {"galleries": {"G1": 1772, "G2": 1759}, "probes": {"G1": 19593, "G2": 19593}},
    ("IJBB", 6): {"images": 76824, "images_without_faces": 10044},
    ("IJBB", 7): {"sub_protocols": [32, 64, 128, 256, 512, 1024, 1845]},
    ("IJBC", 7): {"sub_protocols": [32, 1021, 1839, 3531]},
    ("IJBB", 8): {"faces": 68195, "subjects": 1845},
}


def against_published(test: int, dataset: Dataset[Any], data: Path, options: Any) -> CheckReport:
    """How the counts of a data folder differ from those of the published release."""
    version = dataset.version
    expected = PUBLISHED.get((version, test))
    differences = [
        f"{name}: {count_words(dataset.facts.get(name))} here, {count_words(value)} in the published release."
        for name, value in (expected or {}).items()
        if dataset.facts.get(name) != value
    ]
    findings = [Finding("warning", str(data), message) for message in differences]
    if expected is None:
        findings.append(Finding("note", str(data), f"No published counts are known of {version}, test {test}."))
    elif not differences:
        findings.append(Finding("note", str(data), f"All counts are those of the published {version}, test {test}."))
    return CheckReport(tuple(findings), tables=counts_of(dataset))
