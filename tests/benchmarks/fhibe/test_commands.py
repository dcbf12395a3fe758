"""What `evenhand evaluate` says of boxes and files that are not what the task expects."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from evenhand.cli.main import main
from evenhand.core.task import Demo

Answer = dict[str, Any]


def corners_and_sizes(answer: Answer) -> Answer:
    return {**answer, "detections": [[x0, y0, x1 - x0, y1 - y0] for x0, y0, x1, y1 in answer["detections"]]}


def shares(answer: Answer) -> Answer:
    return {**answer, "detections": [[number / 4000 for number in box] for box in answer["detections"]]}


def flat(answer: Answer) -> Answer:
    return {**answer, "detections": answer["detections"][0] if answer["detections"] else []}


def of_another_task(answer: Answer) -> Answer:
    return {"masks": [], "scores": []}


@pytest.fixture(scope="module")
def demo(demos_of: Callable[[str], Sequence[Demo]]) -> Demo:
    return demos_of("fhibe")[0]


@pytest.mark.parametrize(
    ("change", "code", "words"),
    [
        (corners_and_sizes, 0, "Boxes look like x, y, width, height"),
        (shares, 0, "Boxes look like shares of the image from 0 to 1"),
        (flat, 2, "a list of boxes was expected"),
        (of_another_task, 2, "Is it the file of another task?"),
    ],
)
def test_boxes_of_another_form_are_reported_when_they_are_evaluated(
    demo: Any,
    change: Callable[[Answer], Answer],
    code: int,
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    answers = json.loads(demo.predictions.read_text(encoding="utf-8"))
    changed = tmp_path / "model_outputs.json"
    changed.write_text(json.dumps({image: change(answer) for image, answer in answers.items()}), encoding="utf-8")
    arguments = ["evaluate", demo.task, changed, "--data", demo.data, "--runs", tmp_path / "runs"]
    arguments += ["--draws", 0, "--permutations", 0, "--depth", 1]  # what is said of boxes does not depend on them
    assert main([str(argument) for argument in arguments]) == code
    assert words in " ".join(capsys.readouterr().err.split())


def test_a_table_and_a_mini_data_set_of_minus_one_row_are_refused(
    demo: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table = tmp_path / "answers.csv"
    table.write_text("image,box\na.png,1\n", encoding="utf-8")
    places = ["--data", str(demo.data), "--runs", str(tmp_path / "runs")]
    assert main(["evaluate", demo.task, str(table), *places]) == 2
    assert "is not JSON" in capsys.readouterr().err
    assert main(["evaluate", demo.task, str(demo.predictions), *places, "--set", "mini=-1"]) == 2
    assert "a mini data set has one row or more" in " ".join(capsys.readouterr().err.split())
    assert not list(tmp_path.rglob("results.json"))


def test_describe_prints_its_example_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["describe", "fhibe/person_localization"]) == 0
    assert capsys.readouterr().out.count('"detections"') == 1


def evaluated(demo: Any, text: str, folder: Path, *more: str, task: str = "") -> int:
    changed = folder / "model_outputs.json"
    changed.write_text(text, encoding="utf-8")
    arguments = ["evaluate", task or demo.task, changed, "--data", demo.data, "--runs", folder / "runs", *more]
    return main(list(map(str, [*arguments, "--draws", 0, "--permutations", 0, "--depth", 1])))


@pytest.mark.parametrize("root", ["", "/other/"])
def test_two_answers_to_one_image_are_refused(
    demo: Any, root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = json.loads(demo.predictions.read_text(encoding="utf-8"))
    other = {"detections": [[0, 0, 9, 9]], "scores": [1]}
    entries = [*answers.items(), *((f"{root}{image}", other) for image in list(answers)[:2])]
    text = "{" + ", ".join(f"{json.dumps(image)}: {json.dumps(answer)}" for image, answer in entries) + "}"
    assert evaluated(demo, text, tmp_path) == 2
    said = capsys.readouterr().err
    assert ("two answers to one image" if root else "has 2 images twice") in " ".join(said.split())


@pytest.mark.parametrize("thresholds", ["50", "-1", ""])
def test_thresholds_that_are_no_shares_are_refused(
    demo: Any, thresholds: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = demo.predictions.read_text(encoding="utf-8")
    assert evaluated(demo, text, tmp_path, "--set", f"thresholds={thresholds}") == 2
    assert "thresholds" in capsys.readouterr().err


def shrunk(answer: Answer) -> Answer:
    return {**answer, "detections": [[number / 30 + 2 for number in box] for box in answer["detections"]]}


@pytest.mark.parametrize(("thresholds", "code"), [("0.5,1.5", 0), ("0.01", 0), ("-1", 2), ("inf", 2)])
def test_thresholds_of_keypoints_are_multiples_of_a_diagonal(
    demos_of: Callable[[str], Sequence[Demo]],
    thresholds: str,
    code: int,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    posed = next(one for one in demos_of("fhibe") if "keypoint" in str(one.task))
    text = posed.predictions.read_text(encoding="utf-8")
    assert evaluated(posed, text, tmp_path, "--set", f"pck_thresholds={thresholds}") == code
    assert "are far from" not in capsys.readouterr().err


def without_numbers(answer: Answer) -> Answer:
    return {**answer, "detections": [[0, 0, float("inf"), 5] for _ in answer["detections"]]}


@pytest.mark.parametrize(
    ("change", "words"),
    [(shrunk, "Boxes hardly overlap the annotated ones"), (without_numbers, "boxes hold a value that is no number")],
)
def test_boxes_that_are_of_no_person_are_reported(
    demo: Any, change: Callable[[Answer], Answer], words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = json.loads(demo.predictions.read_text(encoding="utf-8"))
    text = json.dumps({image: change(answer) for image, answer in answers.items()})
    assert evaluated(demo, text, tmp_path) == 0
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda pose: [point[::-1] for point in pose], "Keypoints look like y, x"),
        (lambda pose: [[x / 999, y / 999] for x, y in pose], "Keypoints look like shares of the image"),
        (lambda pose: pose[::-1], "Keypoints are far from the annotated ones"),
    ],
)
def test_keypoints_of_another_form_are_reported(
    demos_of: Callable[[str], Sequence[Demo]],
    change: Callable[[Any], Any],
    words: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    posed = next(one for one in demos_of("fhibe") if "keypoint" in str(one.task))
    answers = json.loads(posed.predictions.read_text(encoding="utf-8"))
    for answer in answers.values():
        answer["detections"] = [change(pose) for pose in answer["detections"] or []]
    assert evaluated(posed, json.dumps(answers), tmp_path) == 0
    assert words in " ".join(capsys.readouterr().err.split())
