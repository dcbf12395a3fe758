"""`check`: everything that is wrong with a data folder or a submission, with file and line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces, exclusion_warnings, load
from evenhand.benchmarks.uccs.detections import (
    CheckedRows,
    NameIndex,
    Report,
    assemble,
    end_warning,
    leading_columns,
    score_rows,
)
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, WatchlistIdentificationOptions
from evenhand.benchmarks.uccs.scores import gallery_issue, read_ids, similarity_columns, store_issues, stored_blocks
from evenhand.core.errors import InputError, PredictionError
from evenhand.core.task import CheckReport, Dataset, Finding
from evenhand.files.delimited import BlockReader, CellKind, Issue


def check(predictions: Path | None, data: Path, options: WatchlistDetectionOptions) -> CheckReport:
    """All problems of a score file, or what a data folder holds when there is no file."""
    findings: list[Finding] = []
    try:
        dataset = load(data, options)
        if predictions is None:
            return _check_data(dataset, options)
        path = Path(predictions)
        work = _check_store if path.suffix == ".npy" else _check_text
        detections = assemble(work(path, dataset.truth, options, findings), dataset.truth)
    except InputError as error:
        return CheckReport((*findings, Finding("error", str(predictions or data), str(error))))
    elsewhere = detections.elsewhere
    if elsewhere:
        names = ", ".join(sorted(elsewhere)[:5]) + (", …" if len(elsewhere) > 5 else "")
        text = f"{sum(elsewhere.values())} detections are on {len(elsewhere)} images that are not annotated ({names})"
        findings.append(Finding("warning", str(path), text))
    return CheckReport(tuple(findings), detections.coverage)


def _check_data(dataset: Dataset[WatchlistFaces], options: WatchlistDetectionOptions) -> CheckReport:
    table = (("what", "number"), *dataset.facts.items())
    findings = [Finding("warning", "exclusion list", text) for text in exclusion_warnings(dataset.truth)]
    published = {"validation": (7584, 17_689), "test": (20_534, 57_368)}.get(options.which_set)
    counts = (len(dataset.truth.images), len(dataset.truth))
    if published and counts != published:
        text = f"{counts[0]} images and {counts[1]} faces; the challenge published {published[0]} and {published[1]}"
        findings.append(Finding("note", options.which_set, text))
    return CheckReport(tuple(findings), None, {"data": table})


def _check_text(
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions, findings: list[Finding]
) -> list[CheckedRows]:
    lines, report = BlockReader(path, PredictionError), _collecting(path, "line", findings)

    def columns() -> Mapping[str, CellKind]:
        if isinstance(options, WatchlistIdentificationOptions):
            return similarity_columns(lines, report, faces.gallery, challenge=options.challenge)[1]
        return leading_columns(lines, report)

    parts = [part for part, _ in score_rows(lines, faces, columns, report)]
    findings += [Finding("warning", str(path), text) for text in end_warning(lines)]
    return parts


def _check_store(
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions, findings: list[Finding]
) -> list[CheckedRows]:
    (rows, _), report = read_ids(path), _collecting(path, "row", findings)
    report(store_issues(rows))
    insists = isinstance(options, WatchlistIdentificationOptions) and options.challenge
    wrong = gallery_issue(rows.subjects, faces.gallery, challenge=insists)
    findings += [Finding("error", str(path), wrong)] if wrong else []
    for _ in stored_blocks(path, rows, report, []):
        pass
    numbers = np.arange(len(rows.files))
    return [NameIndex(faces.images).gather(rows.files, rows.detection_scores, rows.boxes_xywh, numbers)]


def _collecting(path: Path, unit: str, findings: list[Finding]) -> Report:
    def report(issues: Sequence[Issue]) -> None:
        findings.extend(Finding("error", f"{path}, {unit} {issue.line}", issue.message) for issue in issues)

    return report
