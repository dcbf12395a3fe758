"""What looks wrong about a score file is said, whatever the numbers are."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import evenhand
from evenhand.benchmarks.uccs.data import WatchlistFaces
from evenhand.benchmarks.uccs.detections import WatchlistDetections
from evenhand.benchmarks.uccs.plausibility import warnings_of
from evenhand.benchmarks.uccs.record import match
from evenhand.benchmarks.uccs.scores import ScoredBlock, evaluate_blocks

IMAGES = 20
SUBJECTS = tuple(range(1, 11))


@pytest.fixture
def faces() -> WatchlistFaces:
    """Twenty images with a face of a known person each."""
    return annotated(IMAGES)


def annotated(images: int) -> WatchlistFaces:
    """Images with a face of a known person each."""
    places = np.arange(images)
    boxes = np.stack([100 + 40 * places, 300 - 10 * places, np.full(images, 30), np.full(images, 50)], axis=1)
    names = tuple(f"{place:02d}.jpg" for place in places)
    return WatchlistFaces(names, places, boxes.astype(np.float64), 1 + places % 10, places)


def found(faces: WatchlistFaces, **changes: Any) -> WatchlistDetections:
    """Every face found with a high score, and a false detection with a low one beside it, in every image."""
    images = len(faces.images)
    image = np.repeat(np.arange(images), 2)
    boxes = faces.boxes_xywh[image] + np.where(np.arange(2 * images) % 2, 2000.0, 0.0)[:, None] * [1, 0, 0, 0]
    rng = np.random.default_rng(1)
    similar = rng.normal(0, 0.1, (2 * images, len(SUBJECTS)))
    similar[np.arange(0, 2 * images, 2), faces.subject - 1] += 1
    parts = {
        "detection_scores": np.where(np.arange(2 * images) % 2, 0.2, 0.8) + 0.001 * np.arange(2 * images),
        "boxes_xywh": boxes,
        "similarities": similar.astype(np.float32),
    }
    names = [faces.images[place] for place in image]
    return evaluate_blocks([ScoredBlock(names, **{**parts, **changes})], SUBJECTS, faces)


def warned(faces: WatchlistFaces, detections: WatchlistDetections, *, named: bool = False, iou: float = 0.5) -> str:
    return " ".join(warnings_of(faces, detections, match(faces, detections, iou), iou, named=named))


def test_nothing_is_said_when_all_is_well(faces: WatchlistFaces) -> None:
    assert warned(faces, found(faces)) == ""
    assert warned(faces, found(faces), named=True) == ""


@pytest.mark.parametrize(
    ("form", "said"),
    [
        (lambda x, y, w, h: (x, y, x + w, y + h), "100 % if they are read as x0, y0, x1, y1"),
        (
            lambda x, y, w, h: (x + w / 2, y + h / 2, w, h),
            "100 % if they are read as centre x, centre y, width, height",
        ),
        (lambda x, y, w, h: (y, x, h, w), "100 % if they are read as y, x, height, width"),
        (
            lambda x, y, w, h: (x / 4, y / 4, w / 4, h / 4),
            "100 % if they are read as x, y, width, height, divided by 4",
        ),
        (lambda x, y, w, h: (x / 4000, y / 4000, w / 4000, h / 4000), "look like shares of the picture from 0 to 1"),
        (lambda x, y, w, h: (x + 5000, y, w, h), "as if by chance"),
    ],
)
def test_boxes_in_another_form_are_recognised(faces: WatchlistFaces, form: Any, said: str) -> None:
    boxes = np.stack(form(*found(faces).boxes_xywh.T), axis=1)
    assert said in warned(faces, found(faces, boxes_xywh=boxes))


def test_rows_that_name_the_image_beside_theirs_are_recognised(faces: WatchlistFaces) -> None:
    detections = found(faces)
    moved = replace(detections, image=np.minimum(detections.image + 1, IMAGES - 1))
    assert "if every row is moved one image back" in warned(faces, moved)


def test_repeated_rows_are_counted(faces: WatchlistFaces) -> None:
    detections = found(faces)
    twice = np.repeat(np.arange(len(detections)), 2)
    columns = {name: getattr(detections, name)[twice] for name in ("image", "scores", "boxes_xywh", "line")}
    assert "40 of 80 rows repeat an earlier one" in warned(faces, replace(detections, **columns))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda scores: 1 - scores, "detection scores say the opposite"),
        (lambda scores: np.roll(scores, 1), "detection scores say the opposite"),
        (np.zeros_like, "All 40 detection scores are 0"),
    ],
)
def test_detection_scores_that_do_not_belong_to_their_boxes_are_recognised(
    faces: WatchlistFaces, change: Any, said: str
) -> None:
    assert said in warned(faces, found(faces, detection_scores=change(found(faces).scores)))


def test_detection_scores_in_another_order_are_recognised_where_there_are_enough() -> None:
    faces = annotated(400)
    scores = np.random.default_rng(2).permutation(found(faces).scores)
    assert "in another order than the boxes" in warned(faces, found(faces, detection_scores=scores))


def test_few_scores_of_a_middling_detector_are_not_called_disordered() -> None:
    faces = annotated(12)
    rng = np.random.default_rng(3)
    for _ in range(100):  # a chance of 0.70 that a found face has the higher score
        scores = rng.normal(size=24) + np.where(np.arange(24) % 2, 0.0, 0.742)
        assert "in another order" not in warned(faces, found(faces, detection_scores=scores))


def test_an_exacting_overlap_limit_says_nothing_about_the_boxes() -> None:
    faces = annotated(100)
    rng = np.random.default_rng(4)
    detections = found(faces)
    jitter = rng.choice([-4, 4], detections.boxes_xywh.shape) * [1, 1, 0, 0]
    for named in (False, True):
        moved = found(faces, boxes_xywh=detections.boxes_xywh + jitter)
        assert len(match(faces, moved, 0.95).assignment.faces) == 0
        assert warned(faces, moved, named=named, iou=0.95) == ""


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: 1 - table, "similarities say the opposite"),
        (lambda table: np.roll(table, 3, axis=1), "in another order than the rows or the subjects"),
        (lambda table: np.roll(table, 1, axis=0), "in another order than the rows or the subjects"),
        (lambda table: np.zeros_like(table), "is the same number (0)"),
        (lambda table: table * (np.arange(len(table)) % 3 > 0)[:, None], "of 14 of 40 rows is exactly 0"),
    ],
)
def test_similarities_that_do_not_belong_to_their_rows_are_recognised(
    faces: WatchlistFaces, change: Any, said: str
) -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(0, 0.1, (2 * IMAGES, len(SUBJECTS)))
    table[np.arange(0, 2 * IMAGES, 2), faces.subject - 1] += 1
    similar = change(table).astype(np.float32)
    assert said in warned(faces, found(faces, similarities=similar), named=True)


def test_a_rank_that_everybody_reaches_is_pointed_out(write, data: Path) -> None:
    header = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,S_0007,S_0009"
    path = write("s.txt", header, "a,0.9,0,0,10,10,0.5,0.6", "b,0.9,500,0,10,10,0.5,0.6")
    run = evenhand.evaluate("uccs/identification", path, data=data, options={"ranks": (2,)}, draws=0, permutations=0)
    assert "Rank 2 of 2 subjects" in " ".join(run.results.warnings)
