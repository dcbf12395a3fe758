"""Is this data folder what was published, and are these predictions complete? Answered without measuring anything."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from evenhand.benchmarks.synthesis.data import PUBLISHED_COUNTS, ProtocolTruth, frame_count
from evenhand.core.errors import InputError
from evenhand.core.results import Coverage
from evenhand.core.task import CheckReport, Codec, Dataset, Finding

Load = Callable[[Path, Any], Dataset[Any]]
Check = Callable[[Path | None, Path, Any], CheckReport]


def check_folder(load: Load, codec: Codec[Any]) -> Check:
    """What `check` does for a task with folders of frames."""

    def check(predictions: Path | None, data: Path, options: Any) -> CheckReport:
        return _check(load, codec, predictions, data, options)

    return check


def check_protocol(load: Load, codec: Codec[Any]) -> Check:
    """What `check` does for a task with a protocol file; counts are compared with the published ones."""

    def check(predictions: Path | None, data: Path, options: Any) -> CheckReport:
        report = _check(load, codec, predictions, data, options)
        if not report.ok:
            return report
        truth = load(data, options).truth
        assert isinstance(truth, ProtocolTruth)  # loaded by a task with a protocol
        videos = len({item.video for item in truth.items.values()})
        found = frame_count(list(truth.items.values()))
        table = {"counts": (("", "items", "videos", "real frames"), ("found", len(truth.items), videos, found))}
        notes = []
        known = PUBLISHED_COUNTS.get(options.dataset)
        if known is not None and truth.folder == "self_imitation" and (videos, found) != known:
            notes.append(
                Finding(
                    "note",
                    str(data),
                    f"{videos} videos with {found} frames; the published {options.dataset} protocol has {known[0]} "
                    f"with {known[1]}.",
                )
            )
        return CheckReport((*report.findings, *notes), report.coverage, table)

    return check


def _check(load: Load, codec: Codec[Any], predictions: Path | None, data: Path, options: Any) -> CheckReport:
    findings: list[Finding] = []
    coverage: Coverage | None = None
    try:
        dataset = load(data, options)
        findings += [Finding("warning", str(data), message) for message in dataset.warnings]
        if predictions is not None:
            answers = codec.read(predictions, dataset, options)
            coverage = answers.coverage
            findings += [Finding("warning", str(predictions), message) for message in answers.warnings]
            if coverage.missing:
                findings.append(
                    Finding("error", str(predictions), f"{coverage.missing} of {coverage.asked} are not answered.")
                )
    except InputError as error:
        findings.append(Finding("error", str(predictions or data), str(error)))
    return CheckReport(tuple(findings), coverage)
