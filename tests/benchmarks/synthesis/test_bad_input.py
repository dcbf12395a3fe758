"""What is wrong with somebody's files is named, or counted, or has the value that the specification gives it."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.synthesis import benchmark
from evenhand.benchmarks.synthesis.demo import cast_of_videos
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.core.results import Results
from evenhand.run.evaluation import evaluate

PIXELS: dict[str, Any] = {"metrics": "ssim", "image_size": 32}
SETS = "fid,kid,neighbours,is"


def results(task: str, predictions: Path, data: Path, **options: Any) -> Results:
    return evaluate(benchmark.find(task), predictions, data, options=options, by=(), draws=20, permutations=0).results


@pytest.fixture
def data(videos: Path, tmp_path: Path) -> Path:
    """A copy of the drawn videos that a test may spoil."""
    shutil.copytree(videos, tmp_path / "data")
    return tmp_path / "data"


def perfect(data: Path) -> dict[str, list[str]]:
    """The reference frames themselves, as answers to all items."""
    return {
        video.name: [str(data / "images_HD" / video.name / f"{frame:04d}.png") for frame in range(3)]
        for video in cast_of_videos(4)
    }


def written(folder: Path, answers: Mapping[str, Sequence[str]]) -> Path:
    path = folder / "predictions.json"
    path.write_text(json.dumps({"predictions": answers}))
    return path


@pytest.mark.parametrize(("pictures", "compared"), [(2, 11), (4, 12)])
def test_too_few_or_too_many_pictures_of_an_item_are_cut_with_a_warning_or_refused(
    videos: Path, tmp_path: Path, pictures: int, compared: int
) -> None:
    answers = perfect(videos)
    answers["001/1/1"] = (answers["001/1/1"] * 2)[:pictures]
    file = written(tmp_path, answers)
    found = results("synthesis/self_imitation", file, videos, **PIXELS)
    assert found.rows == compared
    assert found.get("ssim").number == pytest.approx(1.0)
    assert any(f"001/1/1: {pictures} pictures for 3 frames" in text for text in found.warnings)
    with pytest.raises(PredictionError, match=rf"001/1/1: {pictures} pictures for 3 frames\. Write one picture per"):
        results("synthesis/self_imitation", file, videos, rules="strict", **PIXELS)


def test_another_file_in_a_video_s_folder_takes_a_place_in_the_listing_and_is_named(data: Path, tmp_path: Path) -> None:
    """Windows count every entry that is not hidden, as published; one that is no picture can't be measured."""
    answers = perfect(data)
    (data / "images_HD/001/1/1/0000a.txt").write_text("notes")
    file = written(tmp_path, answers)
    with pytest.raises(
        PredictionError, match=r"001/1/1:0001 can't be measured: .*0000a\.txt: is no picture of any kind"
    ):
        results("synthesis/self_imitation", file, data, **PIXELS)
    found = results("synthesis/self_imitation", file, data, rules="strict", on_missing="skip", **PIXELS)
    assert (found.rows, found.get("ssim/strict").missing) == (12, 1)


def test_a_real_frame_that_is_gone_from_the_middle_of_a_video_shifts_the_window_which_is_said_or_refused(
    data: Path, tmp_path: Path
) -> None:
    answers = {name: [path for path in paths if "001/1/1/0001" not in path] for name, paths in perfect(data).items()}
    (data / "images_HD/001/1/1/0001.png").unlink()
    file = written(tmp_path, answers)
    found = results("synthesis/self_imitation", file, data, **PIXELS)
    assert found.rows == 11
    assert any("window 0–2 reaches past the end of a video of 2 frames" in text for text in found.warnings)
    with pytest.raises(DataError, match=r"window 0–2 reaches past the end of .*001/1/1, which has 2 entries"):
        results("synthesis/self_imitation", file, data, rules="strict", **PIXELS)


def test_a_picture_whose_truth_is_gone_is_counted_as_not_asked_for(data: Path, tmp_path: Path) -> None:
    real = tmp_path / "real"
    shutil.copytree(data / "images_HD", real)
    (real / "001/1/1/0001.png").unlink()
    found = results("synthesis/paired", data / "images_HD", real, **PIXELS)
    assert found.rows == 11
    assert found.coverage.reasons == {"not asked for": 1}


@pytest.mark.parametrize(("task", "metrics"), [("paired", "ssim"), ("unpaired", "kid:pytorch-fid")])
@pytest.mark.torch
def test_an_empty_folder_is_refused_on_either_side(data: Path, tmp_path: Path, task: str, metrics: str) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    frames = data / "images_HD"
    with pytest.raises(PredictionError, match=r"empty holds no picture or film .* and no features\.npz"):
        results(f"synthesis/{task}", empty, frames, metrics=metrics)
    with pytest.raises(DataError, match=r"empty holds no picture or film .* and no features\.npz"):
        results(f"synthesis/{task}", frames, empty, metrics=metrics)
    with pytest.raises(PredictionError, match=r"holds no picture, and .* no predictions\.json"):
        results("synthesis/self_imitation", empty, data, **PIXELS)


def features(path: Path, count: int) -> Path:
    """Features of so many frames that are all the same."""
    ids = [f"video{number}/{number}" for number in range(count)]
    np.savez(path, ids=ids, inception=np.ones((count, 6)), logits=np.ones((count, 4)))
    return path


def test_one_frame_has_no_distance_to_any_set_and_says_so(tmp_path: Path) -> None:
    one, many = features(tmp_path / "one.npz", 1), features(tmp_path / "many.npz", 12)
    found = results("synthesis/unpaired", one, many, metrics=SETS)
    for metric, output in (("fid", "distance"), ("kid", "distance"), ("neighbours", "recall")):
        value = found.get(metric, output).value
        assert isinstance(value, Undefined)
        assert "there are 1 synthesised and 12 real" in value.reason
    assert found.get("is", "score").number == pytest.approx(1.0)  # it needs no other frame


def test_identical_features_are_at_no_distance_and_fill_the_same_space(tmp_path: Path) -> None:
    same = features(tmp_path / "same.npz", 12)
    found = results("synthesis/unpaired", same, same, metrics=SETS)
    assert (found.get("fid").number, found.get("kid").number) == (0.0, 0.0)
    for output in ("precision", "recall", "coverage"):
        assert found.get("neighbours", output).number == 1.0
    assert found.get("is", "score").number == pytest.approx(1.0)


def test_a_checkpoint_of_another_architecture_is_told_apart_by_its_tensors(data: Path, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    weights = tmp_path / "weights"
    weights.mkdir()
    torch.save({"some.layer": torch.zeros(3)}, weights / "20180402-114759-vggface2.pt")
    frames = data / "images_HD"
    found = results("synthesis/paired", frames, frames, metrics="l1,face-CS", image_size=32, weights=str(weights))
    assert isinstance(found.get("face-CS").value, Undefined)
    assert "does not belong to Inception-ResNet v1" in found.facts["not_available"]["face-CS"]
    assert "1 unknown (some.layer)" in found.facts["not_available"]["face-CS"]
