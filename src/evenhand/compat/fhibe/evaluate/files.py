"""The files of a published results folder, from rows; byte for byte where the published tool writes JSON.

Undefined numbers are `null` here, where the published tool writes the bare token NaN. Score files are
written and not read again: a second run with another model, thresholds or data gives the second's numbers. The one
exception is `F1_scores.json` where the label maps of the data are gone. `intersectional_results_<METRIC>.json` repeats
every score in every combination of attributes, so it is written as a stream and read back in parts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.data import FaceMapTruth, People
from evenhand.benchmarks.fhibe.disparity import ScoredRows
from evenhand.benchmarks.fhibe.grouping import Subset, subsets
from evenhand.benchmarks.fhibe.metrics import accepted
from evenhand.benchmarks.fhibe.options import threshold_keys
from evenhand.benchmarks.fhibe.output_file import read_stored
from evenhand.benchmarks.fhibe.verification import GroupValidation, group_validation
from evenhand.core.records import Array, Attribute, Records
from evenhand.files.writing import open_file, write_file

F1_FILE = "F1_scores.json"
_WHOLE_NUMBER = re.compile(r"\s*[+-]?\d{1,18}\s*")


def write_json(path: Path, content: Any, *, indent: int | None = None) -> None:
    """Write a value; what is not a number becomes null."""
    write_file(path, json.dumps(_plain(content), indent=indent, allow_nan=False), flush=False)


def write_thresholded(
    folder: Path, kind: str, people: People, scores: Array, thresholds: Sequence[float], score_file: str
) -> None:
    """Score, threshold and detail files of an average recall (`kind` is iou or oks)."""
    taken = accepted(scores, thresholds)
    keys = list(threshold_keys(tuple(thresholds)))
    write_json(folder / score_file, scores.tolist())
    # Built as text: the indenting encoder takes ten times as long, and there are 100,000 entries.
    rejected = np.array([f'\n        "{row}": 0' for row in range(len(people))], dtype=object)
    reached = np.array([f'\n        "{row}": 1' for row in range(len(people))], dtype=object)
    with open_file(folder / f"results_{kind}_threshold.json", flush=False) as file:
        entries = (",".join(np.where(taken[:, place], reached, rejected).tolist()) for place in range(len(keys)))
        file.write(_joined((f'"{key}": {{{entry}\n    }}' for key, entry in zip(keys, entries, strict=True))))
    before, after = _detail_texts(people, scores)
    with open_file(folder / f"detailed_results_{kind}_threshold.json", flush=False) as file:
        yes, no = (np.array([f"{text}{hit}" for text in before], dtype=object) + after for hit in (1, 0))
        parts = (
            f'"{key}": {{\n        "summary": "{summary(taken[:, place])}",\n        "individual_results": ['
            + ",".join(np.where(taken[:, place], yes, no).tolist())
            + "\n        ]\n    }"
            for place, key in enumerate(keys)
        )
        file.write(_joined(parts))


def summary(hits: Array) -> str:
    """The accepted share as the published files write it.

    >>> summary(np.array([True, False, False]))
    '0.33'
    """
    return f"{float(np.mean(hits)):.2f}"


def write_pck(folder: Path, people: People, rows: Records, thresholds: Sequence[float]) -> None:
    """Share of keypoints found per row and threshold."""
    means, shares = rows["pck"].tolist(), rows["pck_at_thresholds"].tolist()
    entries = {
        str(row): {"mean_percentage_correct_keypoints": mean, "pcks@thresholds": at_thresholds, **ids}
        for row, (mean, at_thresholds, ids) in enumerate(zip(means, shares, row_ids(people), strict=True))
    }
    write_json(folder / "pck_scores_threshold.json", {"thresholds": list(thresholds), "results": entries}, indent=4)


def part_summaries(parts: Sequence[str], probability: Array, thresholds: Sequence[float]) -> dict[str, dict[str, str]]:
    """Threshold → part → share of all rows at or above it; whether the part is visible does not matter."""
    return {
        key: {part: summary(probability[:, place] >= threshold) for place, part in enumerate(parts)}
        for key, threshold in threshold_keys(tuple(thresholds)).items()
    }


def write_parts(
    folder: Path, metric: str, people: People, parts: Sequence[str], probability: Array, thresholds: Sequence[float]
) -> None:
    """Probabilities, decisions and details of body parts; `probability` has a row per person, a column per part."""
    rows, ids = probability.tolist(), row_ids(people)
    write_json(folder / "body_part_detections.json", [dict(zip(parts, row, strict=True)) for row in rows])
    summaries = part_summaries(parts, probability, thresholds)
    plain, detailed = {}, {}
    for key, threshold in threshold_keys(tuple(thresholds)).items():
        decided = (probability >= threshold).astype(int).tolist()
        plain[key] = {str(row): dict(zip(parts, hits, strict=True)) for row, hits in enumerate(decided)}
        detailed[key] = {
            "summary": summaries[key],
            "individual_results": [
                {
                    "idx": row,
                    **{
                        part: {"val": value, f"accept_{part}": hit}
                        for part, value, hit in zip(parts, rows[row], decided[row], strict=True)
                    },
                    **ids[row],
                }
                for row in range(len(rows))
            ],
        }
    write_json(folder / f"results_body_parts_{metric}_threshold.json", plain, indent=4)
    write_json(folder / f"detailed_results_body_parts_{metric}_threshold.json", detailed, indent=4)


def write_f1(folder: Path, people: People, rows: Records) -> None:
    """F1 of every label of every face that could be read."""
    entries = {}
    for path, scores in zip(_paths(people), rows["f1_of_label"].tolist(), strict=True):
        of_label = {
            name: score for name, score in zip(vocabulary.FACE_LABELS, scores, strict=True) if not np.isnan(score)
        }
        if of_label:
            entries[path] = of_label
    write_json(folder / F1_FILE, entries)


def stored_face_scores(folder: Path, truth: FaceMapTruth) -> Array | None:
    """Each row's mean F1 by the scores that an earlier evaluation stored, when its label maps are gone; None otherwise.

    Rows are found by path, by file name, or by the image's id in the name; never by their place.
    """
    path, people = folder / F1_FILE, truth.people
    if not path.is_file() or all(place.is_file() for place in truth.maps):
        return None
    content = read_stored(path)
    stored = {str(key): float(np.mean(list(entry.values()))) for key, entry in content.items() if entry}
    by_name = {Path(key).name: score for key, score in stored.items()}
    lengths = {len(name) for name in people.image_ids if name}
    by_id = {Path(key).stem[-length:]: score for key, score in stored.items() for length in lengths}
    scores = [
        stored.get(place, by_name.get(Path(place).name, by_id.get(name or "")))
        for place, name in zip(_paths(people), people.image_ids, strict=True)
    ]
    return None if None in scores else np.array(scores, dtype=np.float64)


def write_picture_scores(folder: Path, metric: str, people: People, scores: Array) -> None:
    """One number per picture."""
    write_json(folder / f"{metric.lower()}_scores.json", dict(zip(_paths(people), scores.tolist(), strict=True)))


def write_scored(
    folder: Path, scored: ScoredRows, asked: Sequence[str], extra: Mapping[str, Any] | None = None
) -> None:
    """`intersectional_results_<METRIC>.json`; with one level more for body parts."""
    path = folder / f"intersectional_results_{scored.metric}.json"
    if scored.parts is None:
        write_intersections(path, scored.metric, scored.people, asked, scored.scores, extra=extra)
    else:
        write_json(path, {**nested_parts(scored, asked), **(extra or {})}, indent=4)


def write_intersections(
    path: Path,
    metric: str,
    people: Mapping[str, Attribute],
    asked: Sequence[str],
    scores: Array,
    *,
    extra: Mapping[str, Any] | None = None,
) -> None:
    """Write the published `intersectional_results_<METRIC>.json`.

    Scores that are not a number are left out, and so are groups that have no other. The file is
    streamed and appears when it is whole.
    """
    shown = ["null" if score != score else repr(score) for score in scores.tolist()]
    lines = [f"\n                {score}" for score in shown]
    alone = [_entry(line, metric, score, 1) for line, score in zip(lines, shown, strict=True)]  # groups of one row
    texts = np.array(lines, dtype=object), np.array(alone, dtype=object)
    with open_file(path, flush=False) as file:
        separator = "{\n    "
        for subset in subsets(people, asked, np.flatnonzero(~np.isnan(scores))):
            entries = _joined(_group_entries(metric, subset, subset.means(scores), *texts), depth=2)
            file.write(f"{separator}{json.dumps(subset.key)}: ")
            file.write(entries)
            separator = ",\n    "
        for name, value in (extra or {}).items():
            indented = json.dumps(value, indent=4).replace("\n", "\n    ")
            file.write(f"{separator}{json.dumps(name)}: {indented}")
            separator = ",\n    "
        file.write("{}" if separator == "{\n    " else "\n}")


def _group_entries(metric: str, subset: Subset, means: Array, lines: Array, alone: Array) -> list[str]:
    """The groups of a combination in the indented form of the published tool, from the texts of all rows."""
    of_rows, single = lines[subset.rows].tolist(), alone[subset.rows[subset.starts]].tolist()
    numbers = (subset.starts.tolist(), subset.sizes.tolist(), means.tolist())
    return [
        key + (entry if size == 1 else _entry(",".join(of_rows[start : start + size]), metric, repr(mean), size))
        for key, entry, start, size, mean in zip(subset.quoted_keys(), single, *numbers, strict=True)
    ]


def _entry(lines: str, metric: str, mean: str, size: int) -> str:
    return (
        f': {{\n            "scores": [{lines}\n            ],'
        f'\n            "{metric}": {mean},\n            "Class_Size": {size}\n        }}'
    )


def nested_parts(scored: ScoredRows, asked: Sequence[str]) -> dict[str, Any]:
    """Attribute combination → group → part → scores, mean, size."""

    def of_rows(rows: Array) -> dict[str, Any]:
        entries: dict[str, Any] = {}
        for place, part in enumerate(scored.parts or ()):
            scores = scored.scores[rows, place]
            scores = scores[~np.isnan(scores)]
            mean = float(scores.mean()) if len(scores) else None
            entries[part] = {"scores": scores.tolist(), scored.metric: mean, "Class_Size": len(scores)}
        return entries

    return {
        subset.key: {key: of_rows(subset.members(group)) for group, key in enumerate(subset.keys())}
        for subset in subsets(scored.people, asked)
    }


def write_validations(folder: Path, people: People, rows: Records, asked: Sequence[str]) -> None:
    """`intersectional_results_VAL.json`: VAL of every group, rounded to two decimals."""
    groups = validations(people, rows["row"], rows["embedding"], asked)
    content = {
        key: {group: _validation_entry(result) for group, result in entries.items()} for key, entries in groups.items()
    }
    write_json(folder / "intersectional_results_VAL.json", content, indent=4)


def validations(
    people: People, rows: Array, embeddings: Array, asked: Sequence[str]
) -> dict[str, dict[str, GroupValidation]]:
    """VAL of every group of every attribute combination; groups that the published tool leaves out are not there.

    `rows` are the rows that have an embedding, in the order of `embeddings`.
    """
    position = np.full(len(people), -1)
    position[rows] = np.arange(len(rows))
    identity = np.unique(people.units, return_inverse=True)[1].reshape(-1)
    by_combination: dict[str, dict[str, GroupValidation]] = {}
    for subset, groups in groups_by_path(people, rows, asked):
        entries = by_combination.setdefault(subset.key, {})
        for key, members in zip(subset.keys(), groups, strict=True):
            result = group_validation(embeddings[position[members]], identity[members])
            if result is not None:
                entries[key] = result
    return by_combination


def groups_by_path(people: People, rows: Array, asked: Sequence[str]) -> Iterator[tuple[Subset, list[Array]]]:
    """Every combination, and for each of its groups the rows in the order of their paths."""
    rank = np.argsort(np.argsort(np.array(people.images), kind="stable"))
    for subset in subsets(people.attributes, asked, rows):
        every = map(subset.members, range(len(subset)))
        yield subset, [members[np.argsort(rank[members])] for members in every]


def _validation_entry(result: GroupValidation) -> dict[str, Any]:
    val, error = result.validation.val, result.validation.val_std
    return {
        "VAL": None if val is None else float(np.round(val, 2)),
        "VAL_Error": None if error is None else float(np.round(error, 2)),
        "Class_Size": result.images,
        "Identities": result.identities,
        "Same / Different Pairs": f"{result.same}/{result.different}",
    }


def _paths(people: People) -> list[str]:
    return [str(people.root / image) for image in people.images]


def row_ids(people: People) -> list[dict[str, Any]]:
    """Image, subject and path of every row; ids that are whole numbers throughout their column stay numbers."""
    columns = {"image_id": _typed(people.image_ids), "subject_id": _typed(people.subjects), "filepath": _paths(people)}
    return [
        {name: value for name, value in zip(columns, values, strict=True) if value is not None}
        for values in zip(*columns.values(), strict=True)
    ]


def _typed(ids: Sequence[str | None]) -> Sequence[Any]:
    if all(text is not None and _WHOLE_NUMBER.fullmatch(text) for text in ids):
        return [int(text) for text in ids if text is not None]
    return ids


def _detail_texts(people: People, scores: Array) -> tuple[list[str], Array]:
    """What stands before and after the decision in each row's detail entry, as the published tool indents it."""
    before, after = [], []
    for row, (score, ids) in enumerate(zip(scores.tolist(), row_ids(people), strict=True)):
        value = "null" if score != score else repr(score)
        inside = "\n                "
        before.append(f'\n            {{{inside}"idx": {row},{inside}"val": {value},{inside}"accept": ')
        fields = "".join(f',\n                "{name}": {json.dumps(value)}' for name, value in ids.items())
        after.append(f"{fields}\n            }}")
    return before, np.array(after, dtype=object)


def _joined(entries: Iterable[str], depth: int = 1) -> str:
    """An object with these entries, indented so many times."""
    content = f",\n{'    ' * depth}".join(entries)
    return f"{{\n{'    ' * depth}{content}\n{'    ' * (depth - 1)}}}" if content else "{}"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if np.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _plain(part) for key, part in value.items()}
    return [_plain(part) for part in value] if isinstance(value, list | tuple) else value
