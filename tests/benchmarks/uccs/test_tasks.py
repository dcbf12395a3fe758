"""The two tasks: what they declare, what `check` says, what the demonstration plants."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

import evenhand
from evenhand.benchmarks.uccs import benchmark
from evenhand.benchmarks.uccs.codec import WatchlistDetectionCodec, WatchlistIdentificationCodec, checked_answer
from evenhand.benchmarks.uccs.demo import IMAGES, write_demo
from evenhand.benchmarks.uccs.detections import ImageDetections
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, WatchlistIdentificationOptions
from evenhand.benchmarks.uccs.sections import points_section
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.measure import measure
from evenhand.core.records import EVERYONE, Group
from evenhand.core.results import Results
from evenhand.core.task import Demo, Tools

FOUND = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT"
SCORES = f"{FOUND},S_0007,S_0009"


@pytest.fixture(scope="module")
def demo(demos_of: Callable[[str], Sequence[Demo]]) -> Path:
    return demos_of("uccs")[0].data


@pytest.mark.parametrize("name", ["detection", "identification"])
def test_the_planted_group_is_worse_off_and_rows_have_what_everyone_needs(demo: Path, name: str) -> None:
    task = benchmark.find(f"uccs/{name}")
    options = task.options()
    dataset = task.load(demo, options)
    path = demo / ("detections.txt" if name == "detection" else "scores.txt")
    predictions = task.codec.read(path, dataset, options)
    (rows,) = task.record(dataset, predictions, options, Tools())
    assert {"item", "unit", "kind"} <= set(rows.columns)
    assert len(np.unique(rows["unit"])) == IMAGES
    metric, output = task.headline
    found = {
        e.group: e.number
        for e in measure(rows, task.metrics(options), ["lighting"])
        if (e.metric, e.output) == (metric, output)
    }
    assert found[Group.of(lighting="shade")] < found[EVERYONE] - 0.1
    assert task.check(path, demo, options).ok


def test_the_demonstration_is_the_same_every_time(demo: Path, tmp_path: Path) -> None:
    write_demo(tmp_path)
    for path in demo.rglob("*"):
        assert path.is_dir() or path.read_bytes() == (tmp_path / path.relative_to(demo)).read_bytes()


def test_check_lists_every_problem_with_its_line(data: Path, write) -> None:
    path = write("d.txt", FOUND, "a.jpg,0.9,0,0,10,10", "a.jpg,0.9,0,0,10", "zzz.jpg,0.9,0,0,1,1", "b.jpg,x,0,0,nan,10")
    report = benchmark.find("uccs/detection").check(path, data, WatchlistDetectionOptions())
    assert not report.ok
    errors = [
        (finding.where.rpartition(" ")[2], finding.message) for finding in report.findings if finding.level == "error"
    ]
    assert errors == [
        ("3", "5 fields, but the header has 6 columns"),
        ("5", "DETECTION_SCORE is 'x', not a number"),
        ("5", "BB_WIDTH is 'nan', not a finite number"),
    ]
    assert any("1 detections are on 1 images that are not annotated (zzz.jpg)" in f.message for f in report.findings)
    assert report.coverage is not None
    assert (report.coverage.asked, report.coverage.answered) == (2, 1)


def test_check_of_a_recognition_file_looks_at_its_subjects(data: Path, write) -> None:
    path = write("s.txt", SCORES, "a,0.9,0,0,10,10,0.5,0.6", "b,0.9,0,0,10,10,0.5")
    check = benchmark.find("uccs/identification").check
    found = [finding.message for finding in check(path, data, WatchlistIdentificationOptions(challenge=True)).findings]
    assert "the file has 2 subjects; a submission to the challenge has 1000" in found
    assert "7 fields, but the header has 8 columns" in found


def test_check_of_a_recognition_file_with_a_subject_twice_finds_it(data: Path, write) -> None:
    path = write("s.txt", FOUND + ",S_0007,S_0009,S_0009", "a,0.9,0,0,10,10,0.5,0.6,0.7", "b,0.9,0,0,10,10,0.5,0.6,0.7")
    report = benchmark.find("uccs/identification").check(path, data, WatchlistIdentificationOptions())
    assert not report.ok
    assert any("S_0009" in f.message or "the same subject" in f.message for f in report.findings)


def test_check_of_a_data_folder_says_what_is_in_it(data: Path) -> None:
    report = benchmark.find("uccs/detection").check(None, data, WatchlistDetectionOptions())
    assert ("known faces", 2) in report.tables["data"]
    assert any("the challenge published 7584" in finding.message for finding in report.findings)
    assert not benchmark.find("uccs/detection").check(None, data / "nowhere", WatchlistDetectionOptions()).ok


def test_answers_are_written_and_read_back(data: Path, tmp_path: Path) -> None:
    task = benchmark.find("uccs/detection")
    dataset = task.load(data, WatchlistDetectionOptions())
    codec = WatchlistDetectionCodec()
    answer = codec.from_plain({"scores": [0.9], "boxes_xywh": [[0, 0, 10, 10]], "landmarks": np.zeros((1, 5, 2))})
    codec.write(tmp_path / "d.txt", [("b.jpg", answer), ("a.jpg", answer)], dataset, WatchlistDetectionOptions())
    found = codec.read(tmp_path / "d.txt", dataset, WatchlistDetectionOptions())
    assert [dataset.truth.images[place] for place in found.image] == ["a.jpg", "b.jpg"]
    assert found.boxes_xywh.tolist() == [[0, 0, 10, 10]] * 2


def test_a_model_may_answer_with_a_plain_mapping(data: Path, tmp_path: Path) -> None:
    dataset = benchmark.find("uccs/detection").load(data, WatchlistDetectionOptions())
    plain = {"scores": [0.9], "boxes_xywh": [[0, 0, 10, 10]]}
    assert set(WatchlistDetectionCodec().to_plain(plain)) == {"scores", "boxes_xywh"}
    WatchlistDetectionCodec().write(tmp_path / "d.txt", [("a.jpg", plain)], dataset, WatchlistDetectionOptions())
    assert (tmp_path / "d.txt").read_text().splitlines()[1] == "a.jpg,0.90,0.00,0.00,10.00,10.00"


@pytest.mark.parametrize(
    "plain",
    [{}, {"scores": [1, 2], "boxes_xywh": [[0, 0, 1, 1]]}, {"scores": [float("nan")], "boxes_xywh": [[0, 0, 1, 1]]}, 5],
)
def test_answers_that_are_none_are_refused(plain: object) -> None:
    with pytest.raises(PredictionError, match="An answer has"):
        WatchlistDetectionCodec().from_plain(plain)


def test_identification_answers_need_similarities_to_the_gallery(demo: Path, tmp_path: Path) -> None:
    codec = WatchlistIdentificationCodec()
    with pytest.raises(PredictionError, match="needs `similarities`"):
        codec.from_plain({"scores": [1.0], "boxes_xywh": [[0, 0, 1, 1]]})
    dataset = benchmark.find("uccs/identification").load(demo, WatchlistIdentificationOptions())
    answer = ImageDetections(np.ones(1), np.ones((1, 4)), None, np.ones((1, 3), np.float32))
    with pytest.raises(PredictionError, match=r"similarities are \(1, 3\); \(1, 40\) are needed"):
        codec.write(tmp_path / "s.txt", [("picture_0000.jpg", answer)], dataset, WatchlistIdentificationOptions())


def test_a_toml_that_names_no_stores_is_refused(demo: Path, tmp_path: Path) -> None:
    dataset = benchmark.find("uccs/identification").load(demo, WatchlistIdentificationOptions())
    (tmp_path / "x.toml").write_text("gallery = 'g'\n")
    with pytest.raises(PredictionError, match="lacks probe"):
        WatchlistIdentificationCodec().read(tmp_path / "x.toml", dataset, WatchlistIdentificationOptions())


def test_a_set_without_annotations_is_not_evaluated(write, tmp_path: Path) -> None:
    write("data/test.csv", "FILE", "a.jpg")
    options = WatchlistDetectionOptions(which_set="test")
    task = benchmark.find("uccs/detection")
    dataset = task.load(tmp_path / "data", options)
    found = task.codec.read(write("d.txt", FOUND, "a.jpg,0.9,0,0,10,10"), dataset, options)
    with pytest.raises(DataError, match="no annotated faces"):
        list(task.record(dataset, found, options, Tools()))


def test_explain_shows_every_reading_of_the_same_rows(data: Path, write) -> None:
    (data / "exclude_gallery_validation.txt").write_text("99\n")
    path = write("d.txt", FOUND, "a.jpg,0.9,0,0,10,10", "b.jpg,0.5,0,0,10,10", "b.jpg,0.8,500,0,10,10")
    task = benchmark.find("uccs/detection")
    dataset = task.load(data, WatchlistDetectionOptions())
    (rows,) = task.record(
        dataset, task.codec.read(path, dataset, WatchlistDetectionOptions()), WatchlistDetectionOptions(), Tools()
    )
    run = SimpleNamespace(records=lambda: rows, results=SimpleNamespace(options={"targets": [1.0]}))
    table = task.explain(run).blocks[1]
    assert {row[0]: row[1] for row in table.rows} == {
        "published": 1 / 2,
        "every score": 2 / 2,
        "faces that are there": 1 / 3,
    }


def test_curves_and_points_are_a_section_of_the_report(demo: Path) -> None:
    task = benchmark.find("uccs/detection")
    dataset = task.load(demo, WatchlistDetectionOptions())
    predictions = task.codec.read(demo / "detections.txt", dataset, WatchlistDetectionOptions())
    rows = list(task.record(dataset, predictions, WatchlistDetectionOptions(), Tools()))
    estimates = measure(rows, task.metrics(WatchlistDetectionOptions()), ["lighting"])
    results = Results("uccs/detection", "m", "d", {}, (), estimates, predictions.coverage)
    section = points_section(results)
    assert section is not None
    table, points = section.blocks
    assert table.columns[1:] == ("froc: DR@0.001", "froc: DR@0.01", "froc: DR@0.1", "froc: DR@1", "froc: sum")
    assert table.rows[0][-1] == results.get("froc", "sum").number
    assert [row[0] for row in points.rows] == ["DR@0.001", "DR@0.01", "DR@0.1", "DR@1"]
    assert points_section(replace(results, estimates=())) is None


def test_boxes_and_similarities_of_an_answer_are_rows_of_a_detection_each() -> None:
    boxes = np.arange(12.0).reshape(3, 4)
    assert checked_answer({"scores": [1, 1, 1], "boxes_xywh": boxes}).boxes_xywh.shape == (3, 4)
    with pytest.raises(PredictionError, match=r"boxes_xywh has the shape \(4, 3\)"):
        checked_answer({"scores": [1, 1, 1], "boxes_xywh": boxes.T})
    with pytest.raises(PredictionError, match=r"similarities have the shape \(5, 3\) for 3 scores"):
        checked_answer({"scores": [1, 1, 1], "boxes_xywh": boxes, "similarities": np.zeros((5, 3))})
    with pytest.raises(PredictionError, match="a similarity is not finite"):
        checked_answer({"scores": [1, 1, 1], "boxes_xywh": boxes, "similarities": np.full((3, 2), np.nan)})
    with pytest.raises(PredictionError, match="negative width"):
        checked_answer({"scores": [1], "boxes_xywh": [[0, 0, -1, 2]]})


def test_check_and_evaluation_say_the_same_of_boxes_in_another_form(demo: Path, tmp_path: Path) -> None:
    header, *rows = (demo / "detections.txt").read_text().splitlines()
    lines = [header]
    for name, score, *box in (row.split(",") for row in rows[:200]):
        x, y, width, height = map(float, box)
        lines.append(f"{name},{score},{x},{y},{x + width},{y + height}")
    path = tmp_path / "corners.txt"
    path.write_text("\n".join(lines) + "\n")
    (finding,) = benchmark.find("uccs/detection").check(path, demo, WatchlistDetectionOptions()).findings
    run = evenhand.evaluate("uccs/detection", path, data=demo, draws=0, permutations=0)
    assert "read as x0, y0, x1, y1" in finding.message
    assert finding.message in run.results.warnings
