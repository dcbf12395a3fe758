"""Test 6: faces found in images."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.run import evaluate

BOX = ("FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")


@pytest.fixture
def data(tmp_path: Path, official: Any) -> Path:
    rows = [
        ("FILENAME", *BOX, "IGNORE_FLAG"),
        ("img/1.jpg", 0, 0, 40, 40, 0),
        ("img/1.jpg", 100, 0, 40, 40, 0),
        ("img/2.jpg", 0, 0, 40, 40, 1),
        ("nonfaces/1.jpg", "", "", "", "", 0),
    ]
    official.write(tmp_path / "protocol" / "tiny_face_detection.csv", rows)
    return tmp_path


def run(data: Path, rows: list[tuple[object, ...]], official: Any, **options: Any) -> Any:
    path = official.write(data / "found.csv", [("FILENAME", *BOX, "CONFIDENCE"), *rows])
    task = benchmark.find("ijb/detection")
    return evaluate(task, path, data, options=options, by=(), draws=0, permutations=0).results


HIT, OTHER = ("img/1.jpg", 0, 0, 40, 40, 0.9), ("img/1.jpg", 100, 0, 40, 40, 0.8)


def test_an_image_without_faces_still_counts_for_false_positives_per_image(data: Path, official: Any) -> None:
    results = run(data, [HIT, ("nonfaces/1.jpg", 0, 0, 9, 9, 0.95)], official, fppi="0.1,0.5")
    assert results.get("events", "images").value == 2
    assert results.get("detection", "TPR@FPPI=0.1").value == 0.0
    assert results.get("detection", "TPR@FPPI=0.5").value == 0.5


def test_a_second_detection_of_a_face_is_a_false_alarm(data: Path, official: Any) -> None:
    results = run(data, [HIT, ("img/1.jpg", 1, 0, 40, 40, 0.5), OTHER], official)
    assert results.get("events", "false alarms").value == 1
    assert results.get("detection", "recall").value == 1.0


@pytest.mark.parametrize(
    ("ignore", "images", "faces", "alarms"), [("media", 2, 2, 0), ("box", 3, 2, 0), ("none", 3, 3, 0)]
)
def test_a_flag_drops_its_image_its_box_or_nothing(
    data: Path, official: Any, ignore: str, images: int, faces: int, alarms: int
) -> None:
    results = run(data, [HIT, OTHER, ("img/2.jpg", 0, 0, 40, 40, 0.7)], official, ignore=ignore)
    assert results.get("events", "images").value == images
    assert results.get("events", "faces").value == faces
    assert results.get("events", "false alarms").value == alarms


def test_no_detections_at_all_are_a_valid_answer(data: Path, official: Any) -> None:
    results = run(data, [], official)
    assert results.get("detection", "AP").value == 0.0
    assert results.coverage.empty == 3


def test_a_recall_of_seven_tenths_reaches_the_recall_of_70_percent(tmp_path: Path, official: Any) -> None:
    faces = [("img/1.jpg", 100 * place, 0, 40, 40) for place in range(10)]
    official.write(tmp_path / "protocol" / "tiny_face_detection.csv", [("FILENAME", *BOX), *faces])
    found = [(*face, 0.9) for face in faces[:7]]
    assert run(tmp_path, found, official).get("detection", "AP101").value == pytest.approx(71 / 101)


def test_without_faces_recall_is_undefined(tmp_path: Path, official: Any) -> None:
    rows = [("FILENAME", *BOX), ("nonfaces/1.jpg", "", "", "", "")]
    official.write(tmp_path / "protocol" / "tiny_face_detection.csv", rows)
    assert run(tmp_path, [], official).get("detection", "recall").value == Undefined("no annotated faces")


@pytest.mark.parametrize(
    ("row", "mentions"),
    [
        (("img/9.jpg", 0, 0, 1, 1, 0.5), "no image of the protocol .* such as 'img/"),
        (("img/1.jpg", 0, 0, 0, 1, 0.5), "without position or size .* above 0, or leave the line out"),
        (("img/1.jpg", 0, 0, 1, 1, ""), "CONFIDENCE"),
    ],
)
def test_detections_that_can_not_be_used_are_named(
    data: Path, official: Any, row: tuple[object, ...], mentions: str
) -> None:
    with pytest.raises(PredictionError, match=mentions):
        run(data, [HIT, row], official)


def test_a_flag_is_zero_or_one(tmp_path: Path, official: Any) -> None:
    rows = [("FILENAME", *BOX, "IGNORE_FLAG"), ("img/1.jpg", 0, 0, 1, 1, 2)]
    official.write(tmp_path / "protocol" / "tiny_face_detection.csv", rows)
    with pytest.raises(DataError, match="line 2, column IGNORE_FLAG"):
        run(tmp_path, [], official)


def test_flags_in_a_column_of_another_name_are_reported(data: Path, official: Any) -> None:
    (path,) = (data / "protocol").glob("*.csv")
    text = path.read_text()
    for name in ("Ignored", "ignore flag"):
        path.write_text(text.replace("IGNORE_FLAG", name))
        assert run(data, [HIT], official).get("events", "images").value == 2
    path.write_text(text.replace("IGNORE_FLAG", "FLAG"))
    results = run(data, [HIT], official)
    assert results.get("events", "images").value == 3
    assert any("no column IGNORE_FLAG (FILENAME, FACE_X," in warning for warning in results.warnings)
    assert not run(data, [HIT], official, ignore="none").warnings


def test_a_face_whose_box_lacks_a_number_is_not_taken_for_an_image_without_faces(data: Path, official: Any) -> None:
    (path,) = (data / "protocol").glob("*.csv")
    text = path.read_text()
    path.write_text(text.replace("100,0,40,40", "100,0,,40"))
    with pytest.raises(DataError, match=r"line 3: a box that lacks a number"):
        run(data, [HIT], official)
    path.write_text(text.replace("100,0,40,40", "100,0,-40,40"))
    (warning,) = run(data, [HIT], official).warnings
    assert "1 box in tiny_face_detection.csv without size (the first in line 3)" in warning
