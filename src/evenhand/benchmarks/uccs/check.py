"""`check`: everything that is wrong with a data folder or a submission, with file and line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.uccs.data import (
    WatchlistFaces,
    dataset_of,
    exclusion_warnings,
)
from evenhand.benchmarks.uccs.detections import (
    KINDS,
    LEADING_COLUMNS,
    NOT_ANNOTATED,
    NameIndex,
    end_warning,
    gather,
    header_issues,
)
from evenhand.benchmarks.uccs.load import load
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
from evenhand.core.results import Coverage
from evenhand.core.task import CheckReport, Finding
from evenhand.files.delimited import BlockReader, Issue, missing_columns, parse


def check(predictions: Path | None, data: Path, options: WatchlistDetectionOptions) -> CheckReport:
    """All problems of a score file, or what a data folder holds when there is no file."""
    try:
        dataset = load(data, options)
        if predictions is None:
            return _check_data(dataset.truth, options)
        gallery = dataset.truth.gallery
        path = Path(predictions)
        work = _check_store if path.suffix == ".npy" else _check_text
        findings, image, elsewhere = work(path, dataset.truth, options, gallery)
    except InputError as error:
        return CheckReport((Finding("error", str(predictions or data), str(error)),))
    return CheckReport(tuple(findings), _coverage(dataset.truth, image, elsewhere))


def _check_data(faces: WatchlistFaces, options: WatchlistDetectionOptions) -> CheckReport:
    facts = dataset_of(faces, Path(), ()).facts
    table = (("what", "number"), *((name, value) for name, value in facts.items()))
    warnings = tuple(Finding("warning", "exclusion list", text) for text in exclusion_warnings(faces))
    published = {"validation": (7584, 17_689), "test": (20_534, 57_368)}.get(options.which_set)
    counts = (len(faces.images), len(faces))
    if published and counts != published:
        text = f"{counts[0]} images and {counts[1]} faces; the challenge published {published[0]} and {published[1]}"
        warnings += (Finding("note", options.which_set, text),)
    return CheckReport(warnings, None, {"data": table})


def _check_text(
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions, gallery: Sequence[int] | None
) -> tuple[list[Finding], Any, dict[str, int]]:
    lines = BlockReader(path, PredictionError)
    index = NameIndex(faces.images)
    findings: list[Finding] = []
    places: list[Any] = []
    elsewhere = Counter[str]()
    kinds = None
    for first_line, body in lines.blocks():
        if kinds is None:
            findings += _errors(path, _header_problems(lines, options, gallery))
            if missing_columns(lines.header, LEADING_COLUMNS):
                return findings, np.zeros(0, np.intp), {}
            kinds = score_kinds(lines.header) if _is_identification(options) else dict(KINDS)
        block = parse(body, lines.header, kinds, first_line)
        rows, issues = gather(block, index)
        findings += _errors(path, issues)
        places.append(rows.image)
        elsewhere += rows.elsewhere
    if kinds is None:
        findings += _errors(path, _header_problems(lines, options, gallery))
    findings += [Finding("warning", str(path), text) for text in end_warning(lines)]
    findings += _elsewhere(path, elsewhere)
    return findings, np.concatenate(places) if places else np.zeros(0, np.intp), elsewhere


def _check_store(
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions, gallery: Sequence[int] | None
) -> tuple[list[Finding], Any, dict[str, int]]:
    rows, _ = read_ids(path)
    findings = _errors(path, store_issues(rows), "row")
    wrong = gallery_issue(rows.subjects, gallery, challenge=_insists(options))
    findings += [Finding("error", str(path), wrong)] if wrong else []
    for start, block, _ in matrix_blocks(path, len(rows.files), len(rows.subjects)):
        bad = np.flatnonzero(~np.isfinite(block).all(axis=1))
        findings += [Finding("error", f"{path}, row {start + row + 1}", "a similarity is not finite") for row in bad]
    index = NameIndex(faces.images)
    gathered = index.gather(rows.files, rows.detection_scores, rows.boxes_xywh, np.arange(len(rows.files)))
    return [*findings, *_elsewhere(path, gathered.elsewhere)], gathered.image, gathered.elsewhere


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


def _errors(path: Path, issues: Iterator[Issue] | Sequence[Issue], unit: str = "line") -> list[Finding]:
    return [Finding("error", f"{path}, {unit} {issue.line}", issue.message) for issue in issues]


def _elsewhere(path: Path, elsewhere: dict[str, int]) -> list[Finding]:
    if not elsewhere:
        return []
    names = ", ".join(sorted(elsewhere)[:5]) + (", …" if len(elsewhere) > 5 else "")
    text = f"{sum(elsewhere.values())} detections are on {len(elsewhere)} images that are not annotated ({names})"
    return [Finding("warning", str(path), text)]


def _coverage(faces: WatchlistFaces, image: Any, elsewhere: dict[str, int]) -> Coverage:
    answered = len(np.unique(image[image != NOT_ANNOTATED]))
    asked = len(faces.images)
    reasons = {"images without a detection": asked - answered} if asked > answered else {}
    return Coverage(asked=asked, answered=answered, missing=asked - answered, extra=len(elsewhere), reasons=reasons)
