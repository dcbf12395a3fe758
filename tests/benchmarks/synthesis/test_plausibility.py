"""What looks wrong about pictures and features is said, whatever the numbers are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

import evenhand
from evenhand.benchmarks.synthesis import plausibility
from evenhand.benchmarks.synthesis.features import natural_order, read_features
from evenhand.benchmarks.synthesis.plausibility import (
    FramesBeside,
    feature_order_warnings,
    feature_warnings,
    picture_warnings,
)
from evenhand.benchmarks.synthesis.tasks import benchmark
from evenhand.core.errors import PredictionError

FRAMES = 12
Pixels = np.ndarray[Any, Any]


def frames() -> list[Pixels]:
    """A bright square that moves over a background of its own, and a second one that stands still."""
    rng = np.random.default_rng(4)
    background = cv2.resize(rng.integers(0, 120, (4, 4, 3), dtype=np.uint8), (48, 48), interpolation=cv2.INTER_LINEAR)
    pictures = []
    for number in range(FRAMES):
        picture = background.copy()
        picture[10:20, 3 * number : 3 * number + 10] = (30, 120, 240)
        picture[30:36, 2:14] = (250, 200, 20)
        pictures.append(picture)
    return pictures


def noisy(pictures: list[Pixels]) -> list[Pixels]:
    rng = np.random.default_rng(5)
    return [np.clip(one + rng.normal(0, 4, one.shape), 0, 255).astype(np.uint8) for one in pictures]


def write(folder: Path, pictures: list[Pixels], name: str = "{:04d}.png") -> Path:
    (folder / "v").mkdir(parents=True)
    for number, picture in enumerate(pictures):
        cv2.imwrite(str(folder / "v" / name.format(number)), picture)
    return folder


def beside(made: Path, real: Path) -> list[FramesBeside]:
    sides = (sorted((folder / "v").iterdir(), key=natural_order) for folder in (made, real))
    return [FramesBeside("v", one, other) for one, other in zip(*sides, strict=True)]


def measured(made: Path, real: Path, **options: Any) -> Any:
    chosen = {"metrics": ("l1",), **options}
    return evenhand.evaluate("synthesis", made, data=real, options=chosen, draws=0, permutations=0).results


def test_nothing_is_said_of_pictures_beside_their_own(tmp_path: Path) -> None:
    pairs = beside(write(tmp_path / "made", noisy(frames())), write(tmp_path / "real", frames()))
    assert picture_warnings(pairs, 10**6) == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda made: made[1:] + made[-1:], "one frame too early"),
        (lambda made: made[:1] + made[:-1], "one frame too late"),
        (lambda made: [made[0]] * FRAMES, "are the same picture"),
        (lambda made: [one[:, :, ::-1] for one in made], "if red and blue change places"),
        (lambda made: [one[::-1] for one in made], "if they are turned upside down"),
        (lambda made: [one[:, ::-1] for one in made], "if left and right change places"),
        (lambda made: [255 - one for one in made], "if dark and light change places"),
    ],
)
def test_pictures_beside_others_or_written_otherwise_are_recognised(
    tmp_path: Path, change: Callable[[list[Pixels]], list[Pixels]], said: str
) -> None:
    pairs = beside(write(tmp_path / "made", change(noisy(frames()))), write(tmp_path / "real", frames()))
    assert said in " ".join(picture_warnings(pairs, 10**6))


def brightening(step: float, offset: float, *, gain: float = 0.0) -> list[Pixels]:
    """A scene in which nothing moves, that becomes brighter from frame to frame."""
    rng = np.random.default_rng(8)
    scene = cv2.resize(rng.integers(30, 150, (6, 6, 3), dtype=np.uint8), (48, 48), interpolation=cv2.INTER_LINEAR)
    lights = (step * number + offset for number in range(4 * FRAMES))
    return [
        np.clip(scene * (1 + gain * light) + (light if not gain else 0) + rng.normal(0, 2, scene.shape), 0, 255).astype(
            np.uint8
        )
        for light in lights
    ]


@pytest.mark.parametrize("gain", [0.0, 0.01])
def test_a_scene_that_becomes_brighter_may_be_synthesised_brighter(tmp_path: Path, gain: float) -> None:
    made = write(tmp_path / "made", brightening(2, 6, gain=gain))
    pairs = beside(made, write(tmp_path / "real", brightening(2, 0, gain=gain)))
    assert picture_warnings(pairs, 10**6) == ()


def test_a_head_that_hardly_moves_may_be_synthesised_in_another_range(tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    head = cv2.resize(rng.integers(0, 255, (6, 6, 3), dtype=np.uint8), (48, 48), interpolation=cv2.INTER_LINEAR)
    lights = rng.normal(0, 2, 4 * FRAMES)  # of a lamp that flickers
    real = [np.clip(0.8 * head + 20 + light, 0, 255).astype(np.uint8) for light in lights]
    for number, one in enumerate(real):
        one[24:28, 20 + number % 3 : 26 + number % 3] = 10  # a mouth
    made = [(0.92 * one + 20).astype(np.uint8) for one in real]
    pairs = beside(write(tmp_path / "made", made), write(tmp_path / "real", real))
    assert picture_warnings(pairs, 10**6) == ()
    blurred = [cv2.GaussianBlur(one, (0, 0), 3) for one in made]
    pairs = beside(write(tmp_path / "blurred", blurred), tmp_path / "real")
    assert picture_warnings(pairs, 10**6) == ()


def test_of_films_the_beginning_alone_is_looked_at(tmp_path: Path) -> None:
    for side in ("made", "real"):
        (tmp_path / f"{side}.mp4").touch()
    pairs = [
        FramesBeside("v", tmp_path / "made.mp4" / f"{number:08d}", tmp_path / "real.mp4" / f"{number:08d}")
        for number in range(1000)
    ]
    looked_at = [int(pair.made.name) for run in plausibility._runs(pairs) for pair in run]
    assert looked_at == list(range(48))


def test_pictures_are_not_looked_at_when_features_are_all_that_is_needed(tmp_path: Path) -> None:
    real = write(tmp_path / "real", frames())
    made = write(tmp_path / "made", [one[::-1] for one in frames()])
    rng = np.random.default_rng(10)
    for side in (real, made):
        np.savez(side / "features.npz", ids=[f"v/{n:04d}" for n in range(FRAMES)], own=rng.normal(size=(FRAMES, 4)))
    assert "upside down" not in " ".join(measured(made, real, metrics=("CS:own",)).warnings)
    assert "upside down" in " ".join(measured(made, real, metrics=("CS:own", "l1")).warnings)


def test_the_real_pictures_themselves_are_recognised(tmp_path: Path) -> None:
    real = write(tmp_path / "real", frames())
    assert "equal to their real ones" in " ".join(measured(real, real).warnings)


@pytest.mark.parametrize("change", [lambda rows: np.roll(rows, 1, axis=0), lambda rows: rows[::-1]])
def test_features_beside_those_of_other_frames_are_recognised(tmp_path: Path, change: Any) -> None:
    rng = np.random.default_rng(6)
    real = rng.normal(size=(24, 512)).astype(np.float32)
    made = change(real + 0.3 * rng.normal(size=real.shape).astype(np.float32))
    ids = [f"{number:02d}" for number in range(24)]
    for name, rows in (("real", real), ("made", made)):
        np.savez(tmp_path / f"{name}.npz", ids=ids, face=rows)
    tables = {name: read_features(tmp_path / f"{name}.npz", tmp_path, PredictionError) for name in ("real", "made")}
    pairs = [FramesBeside(name, tmp_path / name, tmp_path / name) for name in ids]
    assert "of synthesised frames seem to stand" in " ".join(
        feature_order_warnings(pairs, tables["made"], tables["real"])
    )
    assert feature_order_warnings(pairs, tables["real"], tables["real"]) == ()


def test_constant_features_and_those_of_another_network_are_recognised(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", ids=[f"{number}" for number in range(9)], face=np.ones((9, 128)))
    said = " ".join(feature_warnings("real", read_features(tmp_path / "f.npz", tmp_path, PredictionError)))
    assert "The features 'face' of real frames have 128 values, but the network of that name gives 512" in said
    assert "In the features 'face' of real frames, all 9 sampled rows are the same vector" in said


def test_numbers_in_names_count_when_pictures_are_matched_by_order(tmp_path: Path) -> None:
    real = write(tmp_path / "real", frames())
    padded = measured(write(tmp_path / "padded", noisy(frames())), real)
    for name in ("frame_{}.png", "{}.png"):
        folder = write(tmp_path / name[:5], noisy(frames()), name)
        assert measured(folder, real, match="order").get("l1", "mean") == padded.get("l1", "mean")


def test_numbers_in_names_count_for_what_is_about_motion(tmp_path: Path) -> None:
    pictures = frames()
    runs = [
        measured(
            write(tmp_path / f"m{n}", noisy(pictures), name),
            write(tmp_path / f"r{n}", pictures, name),
            metrics=("flicker",),
        )
        for n, name in enumerate(("{:04d}.png", "{}.png"))
    ]
    assert runs[0].get("flicker", "mean") == runs[1].get("flicker", "mean")


def test_sides_of_unequal_length_are_not_matched_by_order(tmp_path: Path) -> None:
    real = write(tmp_path / "real", frames())
    for name, pictures in (("fewer", frames()[1:]), ("more", [frames()[0], *frames()])):
        with pytest.raises(PredictionError, match=f"{len(pictures)} synthesised frames for 12 real ones"):
            measured(write(tmp_path / name, pictures), real, match="order")


def test_how_names_without_a_partner_differ_is_said(tmp_path: Path) -> None:
    real = write(tmp_path / "real", frames(), "f{:04d}.png")
    for name, difference in (("F{:04d}.png", "upper and lower case"), ("f{}.png", "the zeros before their numbers")):
        with pytest.raises(PredictionError, match=f"They differ in {difference}.*--set match=order"):
            measured(write(tmp_path / difference, frames(), name), real)


def test_a_first_frame_that_is_missing_while_one_is_left_over_is_explained(tmp_path: Path) -> None:
    real = write(tmp_path / "real", frames())
    made = write(tmp_path / "made", noisy(frames()))
    (made / "v" / "0000.png").rename(made / "v" / "0012.png")
    with pytest.raises(PredictionError, match=r"v/0012\. Do both sides begin with the same number"):
        measured(made, real)


def test_two_sets_need_no_names_in_common_to_be_fit_for_evaluation(tmp_path: Path) -> None:
    rng = np.random.default_rng(7)
    for side in ("made", "real"):
        np.savez(tmp_path / f"{side}.npz", ids=[f"{side}{n}" for n in range(6)], own=rng.normal(size=(6, 4)))
    task = benchmark.find("synthesis/unpaired")
    report = task.check(tmp_path / "made.npz", tmp_path / "real.npz", task.options(metrics=("fid:own",)))
    assert report.ok
    assert report.coverage is not None
    assert (report.coverage.asked, report.coverage.missing, report.coverage.extra) == (6, 0, 0)


@pytest.mark.parametrize("ids", [[b"v/0", b"v/1"], ["v\\0", "v\\1"], ["v/0 ", "v/1  "], [["v/0"], ["v/1"]]])
def test_ids_are_read_in_whatever_form_they_were_written(tmp_path: Path, ids: list[Any]) -> None:
    np.savez(tmp_path / "f.npz", ids=np.array(ids), own=np.eye(2))
    assert read_features(tmp_path / "f.npz", tmp_path, PredictionError).ids == ("v/0", "v/1")


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (np.ones((2, 2)), r"shape \(2, 2\)"),
        (-np.ones(2), r"2 of 2 values of 'dists' are below 0 \(-1\)"),
        (np.array([-0.2, 0.1]), r"1 of 2 values of 'dists' is below 0 \(-0\.2\)"),
    ],
)
def test_a_comparison_is_one_distance_per_frame(tmp_path: Path, values: Any, said: str) -> None:
    np.savez(tmp_path / "f.npz", ids=["a", "b"], dists=values)
    with pytest.raises(PredictionError, match=said):
        read_features(tmp_path / "f.npz", tmp_path, PredictionError)


def test_a_distance_of_equal_pictures_may_be_below_zero_by_rounding(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", ids=["a", "b"], dists=np.float32([-1.2e-7, 0.1]))
    assert "dists" in read_features(tmp_path / "f.npz", tmp_path, PredictionError)


def test_features_without_a_row_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "f.npz", ids=np.zeros(0, "U1"), own=np.zeros((0, 4)))
    with pytest.raises(PredictionError, match="names no frame"):
        read_features(tmp_path / "f.npz", tmp_path, PredictionError)
