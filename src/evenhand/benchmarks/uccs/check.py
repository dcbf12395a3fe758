"""`check`: everything that is wrong with a data folder or a submission, with file and line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from evenhand.benchmarks.uccs.data import WatchlistFaces, exclusion_warnings, load
from evenhand.benchmarks.uccs.detections import (
    KINDS,
    LEADING_COLUMNS,
    Gathered,
    NameIndex,
    assemble,
    end_warning,
    gather,
    header_issues,
)
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, WatchlistIdentificationOptions
from evenhand.benchmarks.uccs.scores import (
    gallery_issue,
    matrix_blocks,
    read_ids,
    score_kinds,
    store_issues,
    subjects_of,
)
from evenhand.core.errors import InputError, PredictionError
from evenhand.core.task import CheckReport, Dataset, Finding
from evenhand.files.delimited import BlockReader, Issue, missing_columns, parse


def check(predictions: Path | None, data: Path, options: WatchlistDetectionOptions) -> CheckReport:
    """All problems of a score file, or what a data folder holds when there is no file."""
    try:
        dataset = load(data, options)
        if predictions is None:
            return _check_data(dataset, options)
        path = Path(predictions)
        work = _check_store if path.suffix == ".npy" else _check_text
        findings, parts = work(path, dataset.truth, options)
    except InputError as error:
        return CheckReport((Finding("error", str(predictions or data), str(error)),))
    detections = assemble(parts, dataset.truth)
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
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions
) -> tuple[list[Finding], list[Gathered]]:
    lines = BlockReader(path, PredictionError)
    index = NameIndex(faces.images)
    findings: list[Finding] = []
    parts: list[Gathered] = []
    for first_line, body in lines.blocks():
        if first_line == 2:
            findings += _errors(path, _header_problems(lines, options, faces.gallery))
            if missing_columns(lines.header, LEADING_COLUMNS):
                return findings, []
        kinds = score_kinds(lines.header) if _is_identification(options) else KINDS
        part, issues = gather(parse(body, lines.header, kinds, first_line), index)
        findings += _errors(path, issues)
        parts.append(part)
    if not parts:
        findings += _errors(path, _header_problems(lines, options, faces.gallery))
    findings += [Finding("warning", str(path), text) for text in end_warning(lines)]
    return findings, parts


def _check_store(
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions
) -> tuple[list[Finding], list[Gathered]]:
    rows, _ = read_ids(path)
    findings = _errors(path, store_issues(rows), "row")
    wrong = gallery_issue(rows.subjects, faces.gallery, challenge=_insists(options))
    findings += [Finding("error", str(path), wrong)] if wrong else []
    for start, block, _ in matrix_blocks(path, len(rows.files), len(rows.subjects)):
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        findings += [Finding("error", f"{path}, row {start + row + 1}", "a similarity is not finite") for row in bad]
    numbers = np.arange(len(rows.files))
    gathered = NameIndex(faces.images).gather(rows.files, rows.detection_scores, rows.boxes_xywh, numbers)
    return findings, [gathered]


def _header_problems(
    lines: BlockReader, options: WatchlistDetectionOptions, gallery: Sequence[int] | None
) -> Iterator[Issue]:
    lacking = missing_columns(lines.header, LEADING_COLUMNS)
    if lacking:
        yield Issue(1, f"no column {', '.join(lacking)}")
    yield from header_issues(lines)
    if _is_identification(options):
        subjects, issues = subjects_of(lines.header)
        yield from issues
        wrong = gallery_issue(subjects, gallery, challenge=_insists(options)) if not issues else None
        if wrong:
            yield Issue(1, wrong)


def _is_identification(options: WatchlistDetectionOptions) -> bool:
    return isinstance(options, WatchlistIdentificationOptions)


def _insists(options: WatchlistDetectionOptions) -> bool:
    return isinstance(options, WatchlistIdentificationOptions) and options.challenge


def _errors(path: Path, issues: Iterable[Issue], unit: str = "line") -> list[Finding]:
    return [Finding("error", f"{path}, {unit} {issue.line}", issue.message) for issue in issues]
