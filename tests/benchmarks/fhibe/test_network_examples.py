"""The example wrappers around small networks, on a real portrait: what they find is where it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.geometry.boxes import overlap
from evenhand.run import evaluate, find_model, predict

MODELS = Path(__file__).parents[3] / "examples" / "fhibe_networks.py"
FACE, PERSON = (175.0, 60.0, 95.0, 120.0), (0.0, 15.0, 500.0, 497.0)  # left, top, width, height; by eye
NOSE = (219.0, 120.0)


@pytest.fixture
def portrait(write: Any) -> Path:
    """A data root whose pictures are one portrait: as a body, and as two face pictures, the second mirrored."""
    from skimage.data import astronaut

    pixels = astronaut()
    size = {"image_height": "512", "image_width": "512"}
    body = {
        "filepath": "a.png",
        "person_bbox": str(list(PERSON)),
        "face_bbox": str(list(FACE)),
        "keypoints": str({"0. Nose": [*NOSE, 1]}),
        **size,
    }
    root: Path = write(body)
    cut = {"CelebA": "['combined.png']", **size}
    write({"filepath": "a.png", **cut}, {"filepath": "b.png", **cut}, face=True)
    Image.fromarray(pixels).save(root / "a.png")
    Image.fromarray(pixels[:, ::-1]).save(root / "b.png")
    Image.fromarray(np.zeros((512, 512), np.uint8)).save(root / "combined.png")
    return root


def answers(root: Path, tmp_path: Path, task: str, model: str) -> dict[str, Any]:
    outcome = predict(task_named(task), find_model(f"{MODELS}:{model}"), root, runs=tmp_path / "runs")
    assert not outcome.unanswered
    found: dict[str, Any] = json.loads(outcome.file.read_text())
    return found


def _overlap(box: list[float], truth: tuple[float, float, float, float]) -> float:
    x, y, width, height = truth
    return float(overlap(np.array(box), np.array([x, y, x + width, y + height])))


def test_yunet_finds_the_face(portrait: Path, tmp_path: Path) -> None:
    (found,) = answers(portrait, tmp_path, "face_localization", "YuNetFaces").values()
    assert _overlap(found["detections"][0], FACE) > 0.8


def test_the_person_mask_gives_the_box_and_the_mask_of_a_person(portrait: Path, tmp_path: Path) -> None:
    (found,) = answers(portrait, tmp_path, "person_localization", "MaskedPeople").values()
    assert _overlap(found["detections"][0], PERSON) > 0.9
    (mask,) = answers(portrait, tmp_path, "person_parsing", "PersonMasks").values()
    assert mask["detections"][0]["size"] == [512, 512]


def test_the_pose_has_its_nose_where_it_is_and_no_legs(portrait: Path, tmp_path: Path) -> None:
    (found,) = answers(portrait, tmp_path, "keypoint_estimation", "PosedPeople").values()
    assert np.hypot(*(np.array(found["detections"][0][0]) - NOSE)) < 20
    ((parts,),) = (
        entry["detections"] for entry in answers(portrait, tmp_path, "body_parts_detection", "PosedParts").values()
    )
    assert parts["Face"] > 0.9
    assert parts["Leg"] == 0.0


def test_a_face_has_skin_hair_eyes_and_a_mouth(portrait: Path, tmp_path: Path) -> None:
    found = answers(portrait, tmp_path, "face_parsing", "LabelledFaces")
    assert {"0", "1", "2", "4", "5", "10", "13", "17"} <= set(next(iter(found.values()))["detections_rle"])


def test_the_mirrored_face_is_the_same_persons(portrait: Path, tmp_path: Path) -> None:
    found = answers(portrait, tmp_path, "face_verification", "SFaceEmbeddings")
    first, second = (np.array(entry["detections"]) for entry in found.values())
    assert first @ second > 0.8


def test_a_number_comes_out_at_the_other_end(portrait: Path, tmp_path: Path) -> None:
    outcome = predict(
        task_named("face_localization"), find_model(f"{MODELS}:YuNetFaces"), portrait, runs=tmp_path / "runs"
    )
    run = evaluate(task_named("face_localization"), outcome.file, portrait, by=[], draws=0)
    assert run.results.estimates[0].number is not None
    assert run.results.estimates[0].number > 0.5
