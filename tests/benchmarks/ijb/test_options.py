"""Options out of range are usage errors, and never an internal one."""

from __future__ import annotations

from pathlib import Path

import pytest

from evenhand.benchmarks.ijb.options import (
    DetectionClusteringOptions,
    FaceDetectionOptions,
    FaceQuestionOptions,
    VerificationOptions,
)
from evenhand.cli.main import main
from evenhand.core.errors import OptionError

MINI = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"


@pytest.mark.parametrize(
    ("task", "answers", "option"),
    [
        ("ijb/test1", "", "conventions=exact,exact"),
        ("ijb/test1", "", "conventions="),
        ("ijb/test2", "", "conventions=nearest,exact,nearest"),
        ("ijb/test6", "detections.csv", "iou=0"),
        ("ijb/test6", "detections.csv", "fppi=inf"),
        ("ijb/test8", "detection_clusters.csv", "iou=0"),
    ],
)
def test_an_option_out_of_range_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str, answers: str, option: str
) -> None:
    arguments = ["--data", str(MINI), "--runs", str(tmp_path), "--set", option]
    assert main(["evaluate", task, str(MINI / answers), *arguments]) == 2
    assert f"Option {option.partition('=')[0]!r}" in capsys.readouterr().err


def test_boxes_that_do_not_overlap_can_never_match() -> None:
    for options in (FaceDetectionOptions, DetectionClusteringOptions):
        with pytest.raises(OptionError, match="above 0"):
            options(iou=0.0)
        assert options(iou=1.0).iou == 1.0


@pytest.mark.parametrize(("tests", "mentions"), [((1, 99), "can't be 99"), ((6,), "can't be 6"), ((), "names no test")])
def test_faces_are_asked_for_tests_that_have_some(tests: tuple[int, ...], mentions: str) -> None:
    with pytest.raises(OptionError, match=mentions):
        FaceQuestionOptions(tests=tests)


def test_fewer_than_no_changed_rows_can_not_be_shown(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diff", "first", "second", "--most", "-3"]) == 2
    assert "--most -3: how many changed rows to show" in capsys.readouterr().err


def test_several_conventions_may_be_asked_together() -> None:
    assert VerificationOptions(conventions=("exact", "nearest")).conventions == ("exact", "nearest")


def test_sub_protocols_and_splits_that_are_there_are_listed_in_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--data", str(MINI), "--runs", str(tmp_path), "--set", "subjects=7"]
    assert main(["evaluate", "ijb/test7", str(MINI / "clusters_40.csv"), *arguments]) == 2
    assert "no clustering of 7 subjects; there are 8, 40." in capsys.readouterr().err
