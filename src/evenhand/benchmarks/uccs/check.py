"""`check`: everything that is wrong with a data folder or a submission, with file and line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evenhand.benchmarks.uccs.codec import WatchlistIdentificationCodec
from evenhand.benchmarks.uccs.data import WatchlistFaces, annotation_warnings, exclusion_warnings, load
from evenhand.benchmarks.uccs.detections import (
    Report,
    WatchlistDetections,
    assemble,
    end_warning,
    leading_columns,
    score_rows,
)
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, WatchlistIdentificationOptions, check_ranks
from evenhand.benchmarks.uccs.plausibility import warnings_of
from evenhand.benchmarks.uccs.record import match
from evenhand.benchmarks.uccs.scores import (
    Reducer,
    evaluate_blocks,
    gallery_issue,
    read_ids,
    similarity_columns,
    store_issues,
    stored_blocks,
)
from evenhand.core.errors import InputError, PredictionError
from evenhand.core.task import CheckReport, Dataset, Finding
from evenhand.files.delimited import BlockReader, CellKind, Issue


def check(predictions: Path | None, data: Path, options: WatchlistDetectionOptions) -> CheckReport:
    """All problems of a score file, or what a data folder holds when there is no file."""
    findings: list[Finding] = []
    named = isinstance(options, WatchlistIdentificationOptions)
    try:
        if isinstance(options, WatchlistIdentificationOptions):
            check_ranks(options.ranks)
        dataset = load(data, options)
        if predictions is None:
            return _check_data(dataset, options)
        path, faces = Path(predictions), dataset.truth
        if path.suffix == ".toml" and isinstance(options, WatchlistIdentificationOptions):
            detections = WatchlistIdentificationCodec().read(path, dataset, options)
        else:
            detections = (_check_store if path.suffix == ".npy" else _check_text)(path, faces, options, findings)
    except InputError as error:
        return CheckReport((*findings, Finding("error", str(predictions or data), str(error))))
    warnings = list(detections.warnings)
    if detections.largest is not None or not named:
        matches = match(faces, detections, options.iou)
        warnings += warnings_of(faces, detections, matches, options.iou, named=named)
    elsewhere = detections.elsewhere
    if elsewhere:
        names = ", ".join(sorted(elsewhere)[:5]) + (", …" if len(elsewhere) > 5 else "")
        warnings.append(
            f"{sum(elsewhere.values())} detections are on {len(elsewhere)} images that are not annotated ({names})"
        )
    findings += [Finding("warning", str(path), text) for text in warnings]
    return CheckReport(tuple(findings), detections.coverage)


def _check_data(dataset: Dataset[WatchlistFaces], options: WatchlistDetectionOptions) -> CheckReport:
    table = (("what", "number"), *dataset.facts.items())
    faces = dataset.truth
    people = [pair for pair in zip(faces.image.tolist(), faces.subject.tolist(), strict=True) if pair[1] > 0]
    findings = [Finding("warning", "exclusion list", text) for text in exclusion_warnings(dataset.truth)]
    findings += [Finding("warning", f"{options.which_set}.csv", text) for text in annotation_warnings(dataset.truth)]
    if len(set(people)) < len(people):
        image, subject = next(pair for pair, count in Counter(people).items() if count > 1)
        text = (
            f"{len(people) - len(set(people))} known faces are of a subject who is in the same image already, such as "
            f"subject {subject} in {faces.images[image]}."
        )
        findings.append(Finding("note", f"{options.which_set}.csv", text))
    published = {"validation": (7584, 17_689), "test": (20_534, 57_368)}.get(options.which_set)
    counts = (len(dataset.truth.images), len(dataset.truth))
    if published and counts != published:
        text = f"{counts[0]} images and {counts[1]} faces; the challenge published {published[0]} and {published[1]}"
        findings.append(Finding("note", options.which_set, text))
    return CheckReport(tuple(findings), None, {"data": table})


def _check_text(
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions, findings: list[Finding]
) -> WatchlistDetections:
    lines, report = BlockReader(path, PredictionError), _collecting(path, "line", findings)
    reducers: list[Reducer] = []

    def columns() -> Mapping[str, CellKind]:
        if not isinstance(options, WatchlistIdentificationOptions):
            return leading_columns(lines, report)
        subjects, kinds = similarity_columns(lines, report, faces.gallery, challenge=options.challenge)
        if subjects and len(set(subjects)) == len(subjects):  # else it is reported, and rows alone are looked at
            reducers.append(Reducer(faces, subjects, options.iou))
        return kinds

    parts = []
    for rows, frame in score_rows(lines, faces, columns, report):
        if reducers:
            reducers[0].add_frame(rows, frame)
        else:
            parts.append(rows)
    about: dict[str, Any] = {"inputs": (lines.fact,), "warnings": end_warning(lines)}
    return reducers[0].finish(**about) if reducers else assemble(parts, faces, **about)


def _check_store(
    path: Path, faces: WatchlistFaces, options: WatchlistDetectionOptions, findings: list[Finding]
) -> WatchlistDetections:
    (rows, fact), report = read_ids(path), _collecting(path, "row", findings)
    report(store_issues(rows))
    insists = isinstance(options, WatchlistIdentificationOptions) and options.challenge
    wrong = gallery_issue(rows.subjects, faces.gallery, challenge=insists)
    findings += [Finding("error", str(path), wrong)] if wrong else []
    similar = stored_blocks(path, rows, report, [])
    return evaluate_blocks(similar, rows.subjects, faces, iou=options.iou, inputs=(fact,))


def _collecting(path: Path, unit: str, findings: list[Finding]) -> Report:
    def report(issues: Sequence[Issue]) -> None:
        findings.extend(Finding("error", f"{path}, {unit} {issue.line}", issue.message) for issue in issues)

    return report
