"""Is this data folder what was published, and are these predictions complete? Answered without measuring anything."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from evenhand.benchmarks.synthesis.data import PUBLISHED_COUNTS, ProtocolTruth, frame_count
from evenhand.core.task import CheckReport, Dataset, Finding


def unanswered(dataset: Dataset[Any], answers: Any, predictions: Path) -> Iterator[Finding]:
    """An error when something is not answered."""
    coverage = answers.coverage
    if coverage.missing:
        yield Finding("error", str(predictions), f"{coverage.missing} of {coverage.asked} are not answered.")


def against_published(dataset: Dataset[ProtocolTruth], data: Path, options: Any) -> CheckReport:
    """The counts of a task with a protocol file, compared with the published ones."""
    truth = dataset.truth
    videos = len({item.video for item in truth.items.values()})
    frames = frame_count(list(truth.items.values()))
    table = {"counts": (("", "items", "videos", "real frames"), ("found", len(truth.items), videos, frames))}
    published = PUBLISHED_COUNTS.get(options.dataset)
    if published is None or truth.folder != "self_imitation" or (videos, frames) == published:
        return CheckReport(tables=table)
    message = (
        f"{videos} videos with {frames} frames; the published {options.dataset} protocol has {published[0]} "
        f"with {published[1]}."
    )
    return CheckReport((Finding("note", str(data), message),), tables=table)
