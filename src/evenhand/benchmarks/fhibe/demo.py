"""Small made-up data with a planted truth: people of one skin colour are found less well, older people only seem to be.

Pictures of drawn people, whose boxes, masks and keypoints are known; the answers of a model are the truth with errors
that are larger for the planted group.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.benchmarks.fhibe import vocabulary
from evenhand.benchmarks.fhibe.outputs import encode_mask, write_outputs
from evenhand.benchmarks.fhibe.synthetic import BodyRow, make_subjects, write_bodies
from evenhand.core.streams import stream
from evenhand.core.task import Demo

SUBJECTS = 240
IMAGES = 2
PLANTED_SKIN = vocabulary.VALUES["apparent_skin_color"][0]
PLANTED = f"apparent_skin_color={PLANTED_SKIN}"
CHANCE = "age=[60, +]"
_DRAW = 0
_ERROR, _PLANTED_ERROR = 0.02, 0.075  # of the figure's height


def write_demo(folder: Path) -> Sequence[Demo]:
    """Write a table and three models' answers below a folder, and say what is in them."""
    rows = write_bodies(folder, make_subjects(SUBJECTS, "demo"), images=IMAGES, together=0.05, pixels=True)
    rng = stream("fhibe", "demo", "answers", _DRAW)
    boxes: dict[str, Any] = {}
    masks: dict[str, Any] = {}
    poses: dict[str, Any] = {}
    for row in rows:
        seen = _seen(row, rng)
        entry = boxes.setdefault(row.image, {"detections": [], "scores": []})
        entry["detections"].append(list(seen.figure.box()))
        entry["scores"].append(0.9)
        entry = masks.setdefault(row.image, {"detections": [], "scores": []})
        entry["detections"].append(encode_mask(seen.figure.mask(*row.size)))
        entry["scores"].append(0.9)
        entry = poses.setdefault(row.image, {"detections": [], "scores": []})
        points = seen.figure.keypoints()
        entry["detections"].append([list(points[name]) for name in vocabulary.KEYPOINTS])
        entry["scores"].append([0.9] * len(vocabulary.KEYPOINTS))
    story = (
        f"{len(rows)} made-up people. A model's boxes, masks and keypoints are off by {_ERROR:.0%} of a person's "
        f"height, by {_PLANTED_ERROR:.1%} for the darkest skin. People over 60 are few; they have the same errors "
        "as everyone else."
    )
    demos = []
    for task, answers in (("person_localization", boxes), ("person_parsing", masks), ("keypoint_estimation", poses)):
        path = write_outputs(task, answers, folder / "answers" / task / "model_outputs.json")
        demos.append(Demo(f"fhibe/{task}", folder, path, PLANTED, CHANCE, story))
    return demos


def _seen(row: BodyRow, rng: np.random.Generator) -> BodyRow:
    """The row as the model sees it: moved and scaled by its error."""
    planted = row.subject.attributes["apparent_skin_color"] == PLANTED_SKIN
    error = (_PLANTED_ERROR if planted else _ERROR) * row.figure.height
    sideways, up, taller = (float(value) for value in rng.normal(0, error, 3))
    figure = replace(
        row.figure,
        centre=row.figure.centre + sideways,
        ground=row.figure.ground + up,
        height=max(row.figure.height + taller, 20.0),
    )
    return replace(row, figure=figure)
