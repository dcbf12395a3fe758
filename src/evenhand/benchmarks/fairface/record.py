"""One row per labelled face: what is true, what was said, what was understood and by which rule.

A face without a usable answer is a row with the answer `unknown`. The rows of all
three tasks carry the whole normalised answer, so that any of them can be re-scored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

from evenhand.benchmarks.fairface.data import Faces
from evenhand.benchmarks.fairface.normalise import Answer, Reason, nothing
from evenhand.benchmarks.fairface.options import AgeOptions, FaceOptions, RaceOptions
from evenhand.benchmarks.fairface.replies import Reply
from evenhand.benchmarks.fairface.taxonomy import (
    AGE_BINS,
    FINE_RACES,
    GENDERS,
    RACES,
    AgeInterval,
    bins_beyond_touch,
    bins_overlapped,
    single_bin,
)
from evenhand.core.records import Array, Attribute, Records, blocks
from evenhand.core.task import Dataset, Predictions, Tools

_BLOCK: Final = 4096
_LONGEST_SHOWN: Final = 400
_MISSING: Final = Reply("", nothing(Reason.MISSING))


class Face(NamedTuple):
    """A face of the evaluation and the reply about it."""

    row: int
    reply: Reply


def record_gender(
    dataset: Dataset[Faces], predictions: Predictions[Reply], options: FaceOptions, tools: Tools
) -> Iterator[Records]:
    """One row per face with its true and its stated gender."""
    codes = {label: code for code, label in enumerate(GENDERS)}
    confident = options.confidence == "on"

    def columns(faces: Sequence[Face]) -> Mapping[str, Array]:
        answers = [face.reply.answer.gender for face in faces]
        return {
            "truth": dataset.truth.gender[[face.row for face in faces]].astype(np.int64),
            "answer": np.array([codes.get(answer.label, len(GENDERS)) for answer in answers], dtype=np.int64),
            "refused": _refused(answer.reason for answer in answers),
            **_explained([answer.rules for answer in answers], [answer.reason for answer in answers]),
        }

    return _rows(dataset, predictions, columns, "gender" if confident else None)


def record_race(
    dataset: Dataset[Faces], predictions: Predictions[Reply], options: RaceOptions, tools: Tools
) -> Iterator[Records]:
    """One row per face with its true and its stated race, in six or seven classes."""
    fine = options.taxonomy == "fine"
    labels = FINE_RACES if fine else RACES
    truth = dataset.truth.fine_race if fine else dataset.truth.race
    codes = {label: code for code, label in enumerate(labels)}

    def columns(faces: Sequence[Face]) -> Mapping[str, Array]:
        answers = [face.reply.answer.race for face in faces]
        said = [answer.fine if fine else answer.label for answer in answers]
        return {
            "truth": truth[[face.row for face in faces]].astype(np.int64),
            "answer": np.array([codes.get(label, len(labels)) for label in said], dtype=np.int64),
            "refused": _refused(answer.reason for answer in answers),
            "asian_unspecified": np.array([answer.unspecified for answer in answers], dtype=np.bool_),
            **_explained([answer.rules for answer in answers], [answer.reason for answer in answers]),
        }

    return _rows(dataset, predictions, columns, "race" if options.confidence == "on" else None)


def record_age(
    dataset: Dataset[Faces], predictions: Predictions[Reply], options: AgeOptions, tools: Tools
) -> Iterator[Records]:
    """One row per face with its true bin and how the stated age meets it, in the three readings."""

    def columns(faces: Sequence[Face]) -> Mapping[str, Array]:
        answers = [face.reply.answer.age for face in faces]
        truth = dataset.truth.age[[face.row for face in faces]].astype(np.int64)
        met = [_meet(answer.interval, int(bin_)) for answer, bin_ in zip(answers, truth, strict=True)]
        answered = np.array([answer.interval is not None for answer in answers], dtype=np.bool_)
        return {
            "truth": truth,
            "answer": np.array([meeting.single for meeting in met], dtype=np.int64),
            "overlaps": np.array([meeting.overlaps for meeting in met], dtype=np.bool_),
            "overlaps_beyond_touch": np.array([meeting.beyond_touch for meeting in met], dtype=np.bool_),
            "bins_covered": np.array([meeting.covered for meeting in met], dtype=np.float64),
            "bin_distance": np.array([meeting.distance for meeting in met], dtype=np.float64),
            "within_one_bin": np.array([meeting.distance <= 1 for meeting in met], dtype=np.bool_),
            "answered": answered,
            "open_ended": np.array([meeting.open_ended for meeting in met], dtype=np.bool_),
            "unknown": ~answered,
            "refused": _refused(answer.reason for answer in answers),
            **_explained([answer.rules for answer in answers], [answer.reason for answer in answers]),
        }

    return _rows(dataset, predictions, columns, "age" if options.confidence == "on" else None)


class _Meeting(NamedTuple):
    """How an age answer meets the true bin."""

    overlaps: bool
    beyond_touch: bool
    single: int  # the bin it is reduced to; the number of bins when there is none
    covered: float
    distance: float  # in bins, after the reduction
    open_ended: bool


def _meet(age: AgeInterval | None, truth: int) -> _Meeting:
    if age is None:
        return _Meeting(False, False, len(AGE_BINS), np.nan, np.nan, False)
    single = single_bin(age)
    return _Meeting(
        overlaps=truth in bins_overlapped(age),
        beyond_touch=truth in bins_beyond_touch(age),
        single=len(AGE_BINS) if single is None else single,
        covered=len(bins_overlapped(age)),
        distance=np.nan if single is None else abs(single - truth),
        open_ended=age.high is None or age.kind.value == "open",
    )


def _rows(
    dataset: Dataset[Faces],
    predictions: Predictions[Reply],
    columns: Callable[[Sequence[Face]], Mapping[str, Array]],
    confident: str | None,
) -> Iterator[Records]:
    """Rows in blocks; with the confidence in what is said of the attribute `confident`."""
    truth = dataset.truth
    for block in blocks(len(truth.chosen), _BLOCK):
        chosen = truth.chosen[block]
        faces = [Face(int(row), predictions.get(truth.files[row]) or _MISSING) for row in chosen]
        yield Records(
            {
                "item": np.array([truth.files[row] for row in chosen]),
                "unit": chosen.astype(np.int64),
                **(made := columns(faces)),
                **({} if confident is None else _confidence(faces, confident, made)),
                **_normalised([face.reply.answer for face in faces]),
                "said": np.array([_shown(face.reply) for face in faces]),
            },
            {
                "gender": Attribute.coded(truth.gender[chosen], GENDERS),
                "race": Attribute.coded(truth.race[chosen], RACES),
                "age": Attribute.coded(truth.age[chosen], AGE_BINS),
            },
        )


def _confidence(faces: Sequence[Face], attribute: str, columns: Mapping[str, Array]) -> dict[str, Array]:
    """What was stated, and whether it was right; an unknown answer states nothing."""
    stated = np.array([getattr(face.reply.confidences, attribute) for face in faces], dtype=np.float64)
    readings = [getattr(face.reply.answer, attribute) for face in faces]
    stated[[reading.reason is not None for reading in readings]] = np.nan
    right = columns["overlaps"] if attribute == "age" else columns["truth"] == columns["answer"]
    return {"confidence": stated, "right": np.asarray(right, dtype=np.bool_)}


def _normalised(answers: Sequence[Answer]) -> dict[str, Array]:
    """The whole normalised answer, the same in the rows of every task."""
    ages = [answer.age.interval for answer in answers]
    return {
        "said_gender": np.array([answer.gender.label for answer in answers]),
        "said_race": np.array([answer.race.label for answer in answers]),
        "said_race7": np.array([answer.race.fine for answer in answers]),
        "said_age_low": np.array([np.nan if age is None else age.low for age in ages], dtype=np.float64),
        "said_age_high": np.array(
            [np.nan if age is None else np.inf if age.high is None else age.high for age in ages], dtype=np.float64
        ),
    }


def _explained(rules: Sequence[tuple[str, ...]], reasons: Sequence[Reason | None]) -> dict[str, Array]:
    return {
        "rule": np.array([" ".join(fired) for fired in rules]),
        "reason": np.array(["" if reason is None else reason.value for reason in reasons]),
    }


def _refused(reasons: Iterator[Reason | None] | Any) -> Array:
    return np.array([reason is Reason.REFUSAL for reason in reasons], dtype=np.bool_)


def _shown(reply: Reply) -> str:
    """The raw answer for people to read; very long ones are cut, with their length."""
    raw = reply.error if reply.error else reply.raw
    if len(raw) > _LONGEST_SHOWN:
        raw = f"{raw[:_LONGEST_SHOWN]}… ({len(raw)} characters)"
    return raw.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
