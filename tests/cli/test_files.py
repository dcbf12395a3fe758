"""Files that can't be what was meant: each gets a message that says what was found and what to do."""

from __future__ import annotations

from pathlib import Path

import pytest
from saying import CASE, PREDICTIONS, Command

GOOD = (PREDICTIONS).read_bytes()
LABELS = (CASE / "labels.csv").read_bytes()


def evaluate(evenhand: Command, predictions: Path, data: Path, tmp_path: Path) -> tuple[int, str]:
    said = evenhand(
        "evaluate", "fairface/gender", predictions, "--data", data, "--draws", 0, "--runs", tmp_path / "runs"
    )
    return said.code, " ".join(said.err.split())


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR", "is not UTF-8"),
        ("file,gender,race,age\nval/1.jpg,Männlich,White,3-9".encode("latin-1"), "is not UTF-8"),
        ("file,gender\n".encode("utf-16"), "UTF-16"),
        (b"a,b,c\n1,2,3\n", "a"),
        (b'{"images": []}', ""),
    ],
)
def test_predictions_that_are_none(evenhand: Command, tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(content)
    code, said = evaluate(evenhand, path, CASE, tmp_path)
    assert code == 2
    assert "predictions.csv" in said
    assert message in said


def test_a_missing_file_and_a_folder_in_its_place(evenhand: Command, tmp_path: Path) -> None:
    code, said = evaluate(evenhand, tmp_path / "none.csv", CASE, tmp_path)
    assert (code, "does not exist" in said) == (2, True)
    (tmp_path / "folder.csv").mkdir()
    code, said = evaluate(evenhand, tmp_path / "folder.csv", CASE, tmp_path)
    assert code == 2
    assert "folder" in said


def test_a_data_folder_without_labels(evenhand: Command, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    code, said = evaluate(evenhand, PREDICTIONS, tmp_path / "empty", tmp_path)
    assert code == 2
    assert "empty" in said
    code, said = evaluate(evenhand, PREDICTIONS, tmp_path / "nowhere", tmp_path)
    assert code == 2
    assert "nowhere" in said


@pytest.mark.parametrize("damage", ["mark", "windows"])
def test_a_byte_order_mark_and_windows_line_ends_do_no_harm(evenhand: Command, tmp_path: Path, damage: str) -> None:
    changed = b"\xef\xbb\xbf" + GOOD if damage == "mark" else GOOD.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    path = tmp_path / "predictions.csv"
    path.write_bytes(changed)
    code, _ = evaluate(evenhand, path, CASE, tmp_path)
    assert code == 0


def test_duplicated_ids_are_named(evenhand: Command, tmp_path: Path) -> None:
    lines = GOOD.splitlines()
    other = lines[1].replace(b"Female", b"X").replace(b"Male", b"Female").replace(b"X", b"Male")
    path = tmp_path / "predictions.csv"
    path.write_bytes(b"\n".join([*lines, other]) + b"\n")
    code, said = evaluate(evenhand, path, CASE, tmp_path)
    assert code == 2
    assert lines[1].split(b",")[0].decode() in said


def test_ids_that_match_no_sample_are_an_error_when_none_matches(evenhand: Command, tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_text("file,gender,race,age\ntrain/999999.jpg,Male,White,20-29\n")
    code, said = evaluate(evenhand, path, CASE, tmp_path)
    assert code == 2
    assert "train/999999.jpg" in said


def test_a_file_of_another_family_is_refused(evenhand: Command, tmp_path: Path) -> None:
    path = tmp_path / "detections.txt"
    path.write_text("FILE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT,DETECTION_SCORE\n0001.jpg,1,2,3,4,0.5\n")
    code, said = evaluate(evenhand, path, CASE, tmp_path)
    assert code == 2
    assert "detections.txt" in said


def test_a_truncated_json_line_is_named_with_its_line(evenhand: Command, tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text('{"image_path": "val/1.jpg", "raw_output": "male"}\n{"image_path": "val/2.jpg", "raw_ou')
    code, said = evaluate(evenhand, path, CASE, tmp_path)
    assert code == 2
    assert "line 2" in said


def test_check_says_the_same_without_evaluating(evenhand: Command, tmp_path: Path) -> None:
    path = tmp_path / "predictions.csv"
    path.write_bytes(b"")
    said = evenhand("check", "fairface/gender", path, "--data", CASE)
    assert said.code == 2
    assert "not fit for evaluation" in said.out
    good = evenhand("check", "fairface/gender", PREDICTIONS, "--data", CASE)
    assert good.code == 0
    assert "fit for evaluation" in good.out
    assert evenhand("check", "fairface/gender", "--data", CASE).code == 0
