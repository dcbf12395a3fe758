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
from evenhand.benchmarks.fhibe.codec import encode_mask, write_outputs
from evenhand.benchmarks.fhibe.synthetic import BodyRow, make_subjects, write_bodies
from evenhand.core.streams import stream
from evenhand.core.task import Demo
from evenhand.scenes.figures import PersonFigure

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
    answers: dict[str, dict[str, Any]] = {
        task: {} for task in ("person_localization", "person_parsing", "keypoint_estimation")
    }
    for row in rows:
        figure = _seen(row, rng)
        points = figure.keypoints()
        detections = (
            (list(figure.box()), 0.9),
            (encode_mask(figure.mask(*row.size)), 0.9),
            ([list(points[name]) for name in vocabulary.KEYPOINTS], [0.9] * len(vocabulary.KEYPOINTS)),
        )
        for by_image, (detection, score) in zip(answers.values(), detections, strict=True):
            entry = by_image.setdefault(row.image, {"detections": [], "scores": []})
            entry["detections"].append(detection)
            entry["scores"].append(score)
    story = (
        f"{len(rows)} made-up people. A model's boxes, masks and keypoints are off by {_ERROR:.0%} of a person's "
        f"height, by {_PLANTED_ERROR:.1%} for the darkest skin. People over 60 are few; they have the same errors "
        "as everyone else."
    )
    demos = []
    for task, by_image in answers.items():
        path = write_outputs(task, by_image, folder / "answers" / task / "model_outputs.json")
        demos.append(Demo(f"fhibe/{task}", folder, path, PLANTED, CHANCE, story))
    return demos


def _seen(row: BodyRow, rng: np.random.Generator) -> PersonFigure:
    """The figure as the model sees it: moved and scaled by its error."""
    planted = row.subject.attributes["apparent_skin_color"] == PLANTED_SKIN
    error = (_PLANTED_ERROR if planted else _ERROR) * row.figure.height
    sideways, up, taller = (float(value) for value in rng.normal(0, error, 3))
    return replace(
        row.figure,
        centre=row.figure.centre + sideways,
        ground=row.figure.ground + up,
        height=max(row.figure.height + taller, 20.0),
    )
