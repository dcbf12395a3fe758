"""`check`: is this the published data, and how much of this answer file was understood?"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import numpy as np

from evenhand.benchmarks.fairface.codec import FaceCodec
from evenhand.benchmarks.fairface.data import Faces, balance, load
from evenhand.benchmarks.fairface.image_answers import ImageAnswer
from evenhand.benchmarks.fairface.normalise import Reason
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.sections import TEXTS
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, ATTRIBUTES, FINE_RACES, GENDERS
from evenhand.core.errors import InputError
from evenhand.core.task import CheckReport, Dataset, Finding

MOST_SHOWN: Final = 50


def check(predictions: Path | None, data: Path, options: FaceOptions) -> CheckReport:
    """What is found in the label file, or in an answer file for it."""
    try:
        dataset = load(data, options)
        if predictions is None:
            return _check_data(dataset, options)
        return _check_answers(predictions, dataset, options)
    except InputError as error:
        return CheckReport((Finding("error", str(predictions or data), str(error)),))


def understood(replies: Mapping[str, ImageAnswer]) -> tuple[tuple[Any, ...], ...]:
    """How many answers were understood, and why the others were not; the first row is the header."""
    counts = {
        attribute: Counter(getattr(reply.answer, attribute).reason for reply in replies.values())
        for attribute in ATTRIBUTES
    }
    table: list[tuple[Any, ...]] = [("", *counts)]
    for reason in (None, *Reason):
        row = tuple(counts[attribute][reason] for attribute in counts)
        if any(row):
            table.append(("understood" if reason is None else reason.value, *row))
    return tuple(table)


def not_understood(replies: Mapping[str, ImageAnswer], attribute: str) -> tuple[tuple[Any, ...], ...]:
    """The most frequent answers that gave no label, how often, and why; the first row is the header."""
    counts: Counter[tuple[str, str]] = Counter()
    for reply in replies.values():
        reading = getattr(reply.answer, attribute)
        if reading.reason is not None and not reply.error:
            counts[reply.about(attribute)[:200], reading.reason.value] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:MOST_SHOWN]
    return (("answer", "times", "why"), *((raw, times, why) for (raw, why), times in ordered))


def _check_answers(path: Path, dataset: Dataset[Faces], options: FaceOptions) -> CheckReport:
    answers = FaceCodec().read(path, dataset, options)
    findings = [Finding("warning", str(path), text) for text in (*dataset.warnings, *answers.warnings)]
    coverage = answers.coverage
    for count, text in (
        (coverage.missing, "images have no answer; they count as wrong"),
        (coverage.unusable, "images have an error record instead of an answer; they count as wrong"),
        (answers.facts["multi_face_images"], "images have several faces; the protocol's choice counts"),
        (answers.facts["zero_face_confidence"], "answers come without a detected face; they count"),
        (answers.facts["identical_duplicates_collapsed"], "identical repeated answers were collapsed"),
    ):
        if count:
            findings.append(Finding("note", str(path), f"{count} {text}"))
    tables = {
        "kinds of records": (("kind", "records"), *answers.facts["families"].items()),
        "understood": understood(answers.by_id),
        **{f"not understood: {name}": not_understood(answers.by_id, name) for name in ATTRIBUTES},
    }
    return CheckReport(tuple(findings), coverage, tables)


def _check_data(dataset: Dataset[Faces], options: FaceOptions) -> CheckReport:
    faces = dataset.truth
    where = str(dataset.facts["label_file"])
    findings = [Finding("warning", where, text) for text in dataset.warnings]
    findings.extend(Finding("note", where, text) for text in _unlike_published(faces, options))
    absent = [sample.id for sample in dataset.samples if not (sample.media and sample.media[0].is_file())]
    if absent:
        shown = ", ".join(absent[:5])
        findings.append(
            Finding("note", where, f"{len(absent)} labelled images are not in the folder (such as {shown})")
        )
    tables: dict[str, tuple[tuple[Any, ...], ...]] = {
        "labels": (("attribute", "class", "images", "published validation file"), *_counted(faces)),
        "balance of race and gender inside each age": (
            ("age", "images", "smallest cell", "largest cell", "largest / smallest"),
            *balance(faces),
        ),
    }
    return CheckReport(tuple(findings), None, tables)


def _counted(faces: Faces) -> Iterator[tuple[str, str, int, int]]:
    for attribute, codes, names in (
        ("gender", faces.gender, GENDERS),
        ("race", faces.fine_race, FINE_RACES),
        ("age", faces.age, AGE_BINS),
    ):
        counts = np.bincount(codes[faces.chosen], minlength=len(names))
        for name, count in zip(names, counts, strict=True):
            yield attribute, name, int(count), TEXTS["published"][attribute][name]


def _unlike_published(faces: Faces, options: FaceOptions) -> Iterator[str]:
    published = TEXTS["published"]["images"][options.split]
    if len(faces.files) != published:
        yield f"{len(faces.files)} labels; the published {options.split} file has {published}"
        return
    if options.split == "val":
        if any(count != known for _, _, count, known in _counted(faces)) and len(faces.chosen) == published:
            yield "as many labels as published, but other counts of classes: see the table"
        rows = None if faces.service_test is None else int(faces.service_test.sum())
        if rows is not None and rows != (expected := TEXTS["published"]["service_test"]):
            yield f"{rows} service_test rows; the published file has {expected}"
