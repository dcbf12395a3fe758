"""One row per labelled face: the truth, the answer, how it was interpreted and by which rule.

A face without a usable answer is a row with the answer `unknown`. The rows of all
three tasks carry the whole normalised answer, so that any of them can be re-scored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.benchmarks.fairface.data import Faces
from evenhand.benchmarks.fairface.image_answers import ImageAnswer
from evenhand.benchmarks.fairface.normalise import Reason, nothing
from evenhand.benchmarks.fairface.normalise.readings import Reading
from evenhand.benchmarks.fairface.options import FaceOptions, RaceTaskOptions
from evenhand.benchmarks.fairface.taxonomy import (
    AGE_BINS,
    ATTRIBUTES,
    CLASSES,
    FINE_RACES,
    AgeInterval,
    AgeKind,
    bins_beyond_touch,
    bins_overlapped,
    single_bin,
)
from evenhand.core.records import Array, Attribute, Records, blocks
from evenhand.core.task import Answers, Dataset, Tools

_BLOCK: Final = 4096
_LARGE_BLOCK: Final = 1 << 15  # of large data: sums are added along fewer steps
_LONGEST_SHOWN: Final = 400
_MISSING: Final = ImageAnswer("", nothing(Reason.MISSING))


class _Block(NamedTuple):
    """The faces of a block: their label rows, the distinct answers about them, and which answer each face has."""

    rows: NDArray[np.intp]
    distinct: Sequence[ImageAnswer]
    codes: NDArray[np.intp]

    def spread(self, values: Sequence[Any], dtype: Any = None) -> Array:
        """A value per distinct answer as a value per face."""
        return np.asarray(values, dtype=dtype)[self.codes]


def record(
    attribute: str, dataset: Dataset[Faces], predictions: Answers[ImageAnswer], options: FaceOptions, tools: Tools
) -> Iterator[Records]:
    """One row per face with its true and its stated class; each distinct answer of a block is looked at once."""
    truth = dataset.truth
    own_columns = _age_columns if attribute == "age" else partial(_label_columns, attribute, options)
    faces = len(truth.chosen)
    for part in blocks(faces, _BLOCK if faces <= 2 * _LARGE_BLOCK else _LARGE_BLOCK):
        chosen = truth.chosen[part]
        files = [truth.files[row] for row in chosen.tolist()]
        block = _distinct(chosen, [predictions.get(file) or _MISSING for file in files])
        readings = [reply.answer[ATTRIBUTES.index(attribute)] for reply in block.distinct]
        own = own_columns(truth, block, readings)
        yield Records(
            {
                "item": np.array(files),
                "unit": chosen.astype(np.int64),
                **own,
                **_explained(block, readings),
                **(_confidence(block, attribute, own) if options.confidence == "on" else {}),
                **(_agreement(block, attribute) if options.repeats == "on" else {}),
                **_normalised(block),
                "said": block.spread([_shown(reply) for reply in block.distinct]),
            },
            {name: Attribute.coded(getattr(truth, name)[chosen], classes) for name, classes in CLASSES.items()},
        )


def _label_columns(
    attribute: str, options: FaceOptions, truth: Faces, block: _Block, readings: Sequence[Reading]
) -> dict[str, Array]:
    """The true and the stated gender or race, a race in six or seven classes."""
    fine = isinstance(options, RaceTaskOptions) and options.taxonomy == "fine"
    labels = FINE_RACES if fine else CLASSES[attribute]
    codes = {label: code for code, label in enumerate(labels)}
    named = [reading.fine if fine else reading.label for reading in readings]
    columns = {
        "truth": (truth.fine_race if fine else getattr(truth, attribute))[block.rows].astype(np.int64),
        "answer": block.spread([codes.get(label, len(labels)) for label in named], np.int64),
    }
    if attribute == "race":
        columns["asian_unspecified"] = block.spread([reading.unspecified for reading in readings], np.bool_)
    return columns


def _age_columns(truth: Faces, block: _Block, readings: Sequence[Reading]) -> dict[str, Array]:
    """The true bin and how the stated age meets it, in the three scoring conventions."""
    ages = [reading.interval for reading in readings]
    true_bin = truth.age[block.rows].astype(np.int64)
    first, end, end_beyond_touch, single = block.spread([_stated_bins(age) for age in ages], np.int64).T
    answered = block.spread([age is not None for age in ages], np.bool_)
    distance = np.where(single < len(AGE_BINS), np.abs(single - true_bin), np.nan)
    open_ended = [age is not None and (age.high is None or age.kind is AgeKind.OPEN) for age in ages]
    return {
        "truth": true_bin,
        "answer": single.copy(),
        "overlaps": (first <= true_bin) & (true_bin < end),
        "overlaps_beyond_touch": (first <= true_bin) & (true_bin < end_beyond_touch),
        "bins_covered": np.where(answered, end - first, np.nan),
        "bin_distance": distance,
        "within_one_bin": distance <= 1,
        "answered": answered,
        "open_ended": block.spread(open_ended, np.bool_),
        "unknown": ~answered,
    }


def _stated_bins(age: AgeInterval | None) -> tuple[int, int, int, int]:
    """The first bin that an answer overlaps, the end of all, the end of those beyond a touch, and its single bin.

    Where there is no single bin, it is the number of bins.
    """
    if age is None:
        return 0, 0, 0, len(AGE_BINS)
    bins, single = bins_overlapped(age), single_bin(age)
    return bins.start, bins.stop, bins_beyond_touch(age).stop, len(AGE_BINS) if single is None else single


def _distinct(rows: NDArray[np.intp], answers: Sequence[ImageAnswer]) -> _Block:
    distinct = {id(answer): answer for answer in answers}
    codes = {key: code for code, key in enumerate(distinct)}
    return _Block(rows, list(distinct.values()), np.array([codes[id(answer)] for answer in answers], dtype=np.intp))


def _confidence(block: _Block, attribute: str, columns: Mapping[str, Array]) -> dict[str, Array]:
    """What was stated, and whether it was right; an unknown answer states nothing."""
    stated = [
        np.nan if getattr(reply.answer, attribute).reason is not None else getattr(reply.confidences, attribute)
        for reply in block.distinct
    ]
    right = columns["overlaps"] if attribute == "age" else columns["truth"] == columns["answer"]
    return {"confidence": block.spread(stated, np.float64), "right": np.asarray(right, dtype=np.bool_)}


def _agreement(block: _Block, attribute: str) -> dict[str, Array]:
    """The share of pairs of repeated answers that give the same value; undefined for a question asked once."""
    return {"repeat_agreement": block.spread([_agreeing_pairs(reply, attribute) for reply in block.distinct], float)}


def _agreeing_pairs(reply: ImageAnswer, attribute: str) -> float:
    values = [answer.value(attribute) for answer in (reply.answer, *reply.repeats)]
    pairs = [first == second for first, second in combinations(values, 2)]
    return sum(pairs) / len(pairs) if pairs else np.nan


def _normalised(block: _Block) -> dict[str, Array]:
    """The whole normalised answer, the same in the rows of every task."""
    answers = [reply.answer for reply in block.distinct]
    ages = [answer.age.interval for answer in answers]
    return {
        "said_gender": block.spread([answer.gender.label for answer in answers]),
        "said_race": block.spread([answer.race.label for answer in answers]),
        "said_race7": block.spread([answer.race.fine for answer in answers]),
        "said_age_low": block.spread([np.nan if age is None else age.low for age in ages], np.float64),
        "said_age_high": block.spread(
            [np.nan if age is None else np.inf if age.high is None else age.high for age in ages], np.float64
        ),
    }


def _explained(block: _Block, readings: Sequence[Reading]) -> dict[str, Array]:
    reasons = [reading.reason for reading in readings]
    return {
        "refused": block.spread([reason is Reason.REFUSAL for reason in reasons], np.bool_),
        "rule": block.spread([" ".join(reading.rules) for reading in readings]),
        "reason": block.spread(["" if reason is None else reason.value for reason in reasons]),
    }


def _shown(reply: ImageAnswer) -> str:
    """The raw answer for people to read; very long ones are cut, with their length."""
    raw = reply.error or reply.raw
    if len(raw) > _LONGEST_SHOWN:
        raw = f"{raw[:_LONGEST_SHOWN]}… ({len(raw)} characters)"
    return raw.encode("utf-8", "replace").decode("utf-8").replace("\x00", "\ufffd")
