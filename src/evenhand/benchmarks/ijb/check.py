"""Is the data folder what was published, and is a submission complete?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from evenhand.core.errors import InputError
from evenhand.core.results import Coverage
from evenhand.core.task import CheckReport, Finding

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


def check_data(test: int) -> Callable[[Path | None, Path, Any], CheckReport]:
    """The check of one test."""

    def check(predictions: Path | None, data: Path, options: Any) -> CheckReport:
        from evenhand.benchmarks.ijb.tasks import benchmark

        found: Any = benchmark.find(f"ijb/test{test}")
        try:
            dataset = found.load(data, options)
        except InputError as error:
            return CheckReport((Finding("error", str(data), str(error)),))
        findings = _against_published(dataset.version, test, dataset.facts, data)
        coverage: Coverage | None = None
        if predictions is not None:
            try:
                answers = found.codec.read(predictions, dataset, options)
            except InputError as error:
                return CheckReport((*findings, Finding("error", str(predictions), str(error))))
            coverage = answers.coverage
            findings += [Finding("warning", str(predictions), warning) for warning in answers.warnings]
        counts = (("count", "here"), *((name, _shown(value)) for name, value in dataset.facts.items()))
        return CheckReport(tuple(findings), coverage, {"data": counts})

    return check


def _against_published(version: str, test: int, facts: Mapping[str, Any], data: Path) -> list[Finding]:
    expected = PUBLISHED.get((version, test))
    if expected is None:
        return [Finding("note", str(data), f"No published counts are known of {version}, test {test}.")]
    findings = []
    for name, value in expected.items():
        here = facts.get(name)
        if here != value:
            message = f"{name}: {_shown(here)} here, {_shown(value)} in the published release."
            findings.append(Finding("warning", str(data), message))
    return findings or [Finding("note", str(data), f"All counts are those of the published {version}, test {test}.")]


def _shown(value: Any) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_shown(part)}" for name, part in value.items())
    if isinstance(value, list):
        return ", ".join(str(part) for part in value)
    return str(value)
