"""`intersectional_results_<METRIC>.json`: the scores of every group of every combination of attributes.

The file repeats every score in every combination, so it is written as a stream and read back in parts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np

from evenhand.benchmarks.fhibe.disparity import ScoredRows
from evenhand.benchmarks.fhibe.grouping import Subset, subsets
from evenhand.core.records import Array, Attribute
from evenhand.files.writing import open_file


def write_intersections(
    path: Path,
    metric: str,
    people: Mapping[str, Attribute],
    asked: Sequence[str],
    scores: Array,
    *,
    extra: Mapping[str, Any] | None = None,
) -> int:
    """Write the published `intersectional_results_<METRIC>.json`; the number of groups comes back.

    Scores that are not a number are left out, and so are groups that have no other. The file is
    streamed and appears when it is whole.
    """
    rows = np.flatnonzero(~np.isnan(scores))
    texts = _Texts.of(metric, scores)
    groups = 0
    with open_file(path, flush=False) as file:
        separator = "{\n    "
        for subset in subsets(people, asked, rows):
            file.write(f"{separator}{json.dumps(subset.key)}: ")
            _write_subset(file, metric, subset, subset.means(scores), texts)
            groups += len(subset)
            separator = ",\n    "
        for name, value in (extra or {}).items():
            shown = json.dumps(value, indent=4).replace("\n", "\n    ")
            file.write(f"{separator}{json.dumps(name)}: {shown}")
            separator = ",\n    "
        file.write("{}" if separator == "{\n    " else "\n}")
    return groups


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


class _Texts(NamedTuple):
    """What the file repeats: the line of every score, and the whole entry of a group that is one row."""

    lines: Array  # (rows,) of texts
    alone: Array  # (rows,) of texts

    @classmethod
    def of(cls, metric: str, scores: Array) -> _Texts:
        shown = ["null" if score != score else repr(score) for score in scores.tolist()]
        lines = [f"\n                {score}" for score in shown]
        alone = [_entry(line, metric, score, 1) for line, score in zip(lines, shown, strict=True)]
        return cls(np.array(lines, dtype=object), np.array(alone, dtype=object))


def _entry(lines: str, metric: str, mean: str, size: int) -> str:
    return (
        f': {{\n            "scores": [{lines}\n            ],'
        f'\n            "{metric}": {mean},\n            "Class_Size": {size}\n        }}'
    )


def _write_subset(file: IO[str], metric: str, subset: Subset, means: Array, texts: _Texts) -> None:
    """One combination, in the indented form of the published tool."""
    if not len(subset):
        file.write("{}")
        return
    lines, alone = texts.lines[subset.rows].tolist(), texts.alone[subset.rows[subset.starts]].tolist()
    entries = [
        key + single if size == 1 else key + _entry(",".join(lines[start : start + size]), metric, repr(mean), size)
        for key, single, start, size, mean in zip(
            subset.quoted_keys(), alone, subset.starts.tolist(), subset.sizes.tolist(), means.tolist(), strict=True
        )
    ]
    file.write("{\n        ")
    file.write(",\n        ".join(entries))
    file.write("\n    }")
