"""The files of a published results folder, from scores; byte for byte where the published tool writes JSON.

Undefined numbers are `null` here, where the published tool writes the bare token NaN. Score files are
written and never read: a second run with another model, thresholds or data gives the second's numbers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from evenhand.benchmarks.fhibe import grouping
from evenhand.benchmarks.fhibe.data import People
from evenhand.benchmarks.fhibe.disparity import Scored
from evenhand.benchmarks.fhibe.face_segmentation import FaceScore
from evenhand.benchmarks.fhibe.metrics import accepted
from evenhand.benchmarks.fhibe.options import threshold_keys
from evenhand.benchmarks.fhibe.scores import PartScores, PoseScores
from evenhand.benchmarks.fhibe.verification import (
    GroupValidation,
    drawn_pairs,
    group_validation,
    paired,
    shuffled_labels,
)
from evenhand.core.records import Array


def write_json(path: Path, content: Any, *, indent: int | None = None) -> None:
    """Write a value whole or not at all; what is not a number becomes null."""
    unfinished = path.with_name(path.name + ".partial")
    unfinished.write_text(json.dumps(_plain(content), indent=indent, allow_nan=False), encoding="utf-8")
    unfinished.replace(path)


def write_thresholded(
    folder: Path, kind: str, people: People, scores: Array, thresholds: Sequence[float], score_file: str
) -> Array:
    """Score, threshold and detail files of an average recall (`kind` is iou or oks); each row's value comes back."""
    taken = accepted(scores, thresholds)
    keys = list(threshold_keys(tuple(thresholds)))
    write_json(folder / score_file, scores.tolist())
    # Built as text: the indenting encoder takes ten times as long, and there are 100,000 entries.
    decided = np.array([f'\n        "{row}": 0' for row in range(len(people))], dtype=object)
    decided_yes = np.array([f'\n        "{row}": 1' for row in range(len(people))], dtype=object)
    with _replacing(folder / f"results_{kind}_threshold.json") as file:
        entries = (",".join(np.where(taken[:, place], decided_yes, decided).tolist()) for place in range(len(keys)))
        file.write(_joined((f'"{key}": {{{entry}\n    }}' for key, entry in zip(keys, entries, strict=True))))
    before, after = _detail_texts(people, scores)
    with _replacing(folder / f"detailed_results_{kind}_threshold.json") as file:
        yes, no = (np.array([f"{text}{hit}" for text in before], dtype=object) + after for hit in (1, 0))
        parts = (
            f'"{key}": {{\n        "summary": "{summary(taken[:, place])}",\n        "individual_results": ['
            + ",".join(np.where(taken[:, place], yes, no).tolist())
            + "\n        ]\n    }"
            for place, key in enumerate(keys)
        )
        file.write(_joined(parts))
    return np.asarray(taken.mean(axis=1))


def summary(hits: Array) -> str:
    """The accepted share as the published files write it.

    >>> summary(np.array([True, False, False]))
    '0.33'
    """
    return f"{float(np.mean(hits)):.2f}"


def write_pck(folder: Path, people: People, found: PoseScores, thresholds: Sequence[float]) -> None:
    """Share of keypoints found per row and threshold."""
    entries = {
        str(row): {"mean_percentage_correct_keypoints": mean, "pcks@thresholds": shares, **who}
        for row, (mean, shares, who) in enumerate(
            zip(found.pck_mean.tolist(), found.pck.tolist(), _whose(people), strict=True)
        )
    }
    write_json(folder / "pck_scores_threshold.json", {"thresholds": list(thresholds), "results": entries}, indent=4)


def write_parts(folder: Path, metric: str, people: People, found: PartScores, thresholds: Sequence[float]) -> None:
    """Probabilities, decisions and details of body parts."""
    rows = found.probability.tolist()
    write_json(folder / "body_part_detections.json", [dict(zip(found.parts, row, strict=True)) for row in rows])
    whose = _whose(people)
    summaries = part_summaries(found, thresholds)
    plain, detailed = {}, {}
    for key, threshold in threshold_keys(tuple(thresholds)).items():
        hits = found.probability >= threshold
        decided = hits.astype(int).tolist()
        plain[key] = {str(row): dict(zip(found.parts, row_hits, strict=True)) for row, row_hits in enumerate(decided)}
        detailed[key] = {
            "summary": summaries[key],
            "individual_results": [
                {
                    "idx": row,
                    **{
                        part: {"val": value, f"accept_{part}": hit}
                        for part, value, hit in zip(found.parts, rows[row], decided[row], strict=True)
                    },
                    **whose[row],
                }
                for row in range(len(rows))
            ],
        }
    write_json(folder / f"results_body_parts_{metric}_threshold.json", plain, indent=4)
    write_json(folder / f"detailed_results_body_parts_{metric}_threshold.json", detailed, indent=4)


def part_summaries(found: PartScores, thresholds: Sequence[float]) -> dict[str, dict[str, str]]:
    """Threshold → part → share of all rows at or above it; whether the part is visible does not matter."""
    return {
        key: {part: summary(found.probability[:, place] >= threshold) for place, part in enumerate(found.parts)}
        for key, threshold in threshold_keys(tuple(thresholds)).items()
    }


def write_f1(folder: Path, people: People, found: Iterable[FaceScore | None]) -> None:
    """F1 of every label of every face that could be read."""
    known = {path: one for path, one in zip(_paths(people), found, strict=True) if one is not None}
    write_json(folder / "F1_scores.json", {path: dict(one.by_label) for path, one in known.items()})


def write_picture_scores(folder: Path, metric: str, people: People, scores: Array) -> None:
    """One number per picture."""
    name = f"{metric.lower()}_scores.json"
    write_json(folder / name, dict(zip(_paths(people), scores.tolist(), strict=True)))


def write_scored(folder: Path, scored: Scored, asked: Sequence[str], extra: Mapping[str, Any] | None = None) -> None:
    """`intersectional_results_<METRIC>.json`; with one level more for body parts."""
    path = folder / f"intersectional_results_{scored.metric}.json"
    if scored.parts is None:
        grouping.write_intersections(path, scored.metric, scored.people, asked, scored.scores, extra=extra)
    else:
        write_json(path, {**nested_parts(scored, asked), **(extra or {})}, indent=4)


def nested_parts(scored: Scored, asked: Sequence[str]) -> dict[str, Any]:
    """Attribute combination → group → part → scores, mean, size."""
    found: dict[str, Any] = {}
    columns = list(scored.columns())
    for subset in grouping.subsets(scored.people, asked):
        entry = found.setdefault(subset.key, {})
        for group, key in enumerate(subset.keys()):
            members = subset.members(group)
            entry[key] = {
                str(part): _part_entry(scored.metric, scores[members][~np.isnan(scores[members])])
                for part, scores in columns
            }
    return found


@dataclass(frozen=True)
class Draw:
    """The pairs that VAL of one group rests on: table rows in drawing order, and labels after shuffling."""

    images: int
    same: tuple[tuple[int, int], ...]
    different: tuple[tuple[int, int], ...]
    is_same: tuple[int, ...]


def validations(
    people: People, rows: Array, embeddings: Array, asked: Sequence[str]
) -> dict[str, dict[str, GroupValidation]]:
    """VAL of every group of every attribute combination; groups that the published tool leaves out are not there.

    `rows` are the rows that have an embedding, in the order of `embeddings`.
    """
    position = np.full(len(people), -1)
    position[rows] = np.arange(len(rows))
    identity = np.unique(people.units, return_inverse=True)[1].reshape(-1)
    found: dict[str, dict[str, GroupValidation]] = {}
    for subset, group, members in _groups_by_path(people, rows, asked):
        result = group_validation(embeddings[position[members]], identity[members])
        if result is not None:
            found.setdefault(subset.key, {})[subset.keys()[group]] = result
    return found


def draws(people: People, rows: Array, asked: Sequence[str]) -> Iterator[Draw]:
    """The drawn pairs of every group, for whoever wants to check them."""
    identity = np.unique(people.units, return_inverse=True)[1].reshape(-1)
    for _, _, members in _groups_by_path(people, rows, asked):
        kept = members[paired(identity[members])]
        if len(np.unique(identity[kept])) < 2:
            continue
        same, different = drawn_pairs(identity[kept])
        numbers = people.numbers[kept]
        yield Draw(
            len(kept),
            tuple(zip(numbers[same.first].tolist(), numbers[same.second].tolist(), strict=True)),
            tuple(zip(numbers[different.first].tolist(), numbers[different.second].tolist(), strict=True)),
            tuple(shuffled_labels(len(same.first), len(different.first))),
        )


def _groups_by_path(people: People, rows: Array, asked: Sequence[str]) -> Iterator[tuple[grouping.Subset, int, Array]]:
    """Every group with its rows in the order of their paths."""
    by_path = np.argsort(np.array(people.images), kind="stable")
    rank = np.empty(len(people), dtype=np.int64)
    rank[by_path] = np.arange(len(people))
    for subset in grouping.subsets(people.attributes, asked, rows):
        for group in range(len(subset)):
            yield subset, group, by_path[np.sort(rank[subset.members(group)])]


def validation_entry(found: GroupValidation) -> dict[str, Any]:
    """A group's VAL as the published file writes it: rounded to two decimals."""
    val, error = found.validation.val, found.validation.val_std
    return {
        "VAL": None if val is None else float(np.round(val, 2)),
        "VAL_Error": None if error is None else float(np.round(error, 2)),
        "Class_Size": found.images,
        "Identities": found.identities,
        "Same / Different Pairs": f"{found.same}/{found.different}",
    }


def _part_entry(metric: str, scores: Array) -> dict[str, Any]:
    mean = float(scores.mean()) if len(scores) else None
    return {"scores": scores.tolist(), metric: mean, "Class_Size": len(scores)}


def _paths(people: People) -> list[str]:
    return [str(people.root / image) for image in people.images]


def _whose(people: People) -> list[dict[str, Any]]:
    found = []
    for path, image, subject in zip(_paths(people), people.image_ids, people.subjects, strict=True):
        ids = {"image_id": image, "subject_id": subject}
        found.append({**{name: value for name, value in ids.items() if value is not None}, "filepath": path})
    return found


def _detail_texts(people: People, scores: Array) -> tuple[list[str], Array]:
    """What stands before and after the decision in each row's detail entry, as the published tool indents it."""
    before, after = [], []
    for row, (score, who) in enumerate(zip(scores.tolist(), _whose(people), strict=True)):
        value = "null" if score != score else repr(score)
        inside = "\n                "
        before.append(f'\n            {{{inside}"idx": {row},{inside}"val": {value},{inside}"accept": ')
        fields = "".join(f',\n                "{name}": {json.dumps(value)}' for name, value in who.items())
        after.append(f"{fields}\n            }}")
    return before, np.array(after, dtype=object)


def _joined(entries: Iterable[str]) -> str:
    content = ",\n    ".join(entries)
    return f"{{\n    {content}\n}}" if content else "{}"


@contextmanager
def _replacing(path: Path) -> Iterator[TextIO]:
    """A file that takes the place of another when it is whole."""
    unfinished = path.with_name(path.name + ".partial")
    with unfinished.open("w", encoding="utf-8") as file:
        yield file
    unfinished.replace(path)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
