"""From pictures and a model in a file to results, by the commands that people type."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from evenhand.cli.main import main

MODEL = '''
"""Colours of the quarters of a face: enough to tell made-up people apart."""

import cv2
import numpy as np

from evenhand.instruments.faces import align
from evenhand.instruments.films import open_film
from evenhand.instruments.pictures import load


def embed(crop):
    return cv2.resize(crop, (2, 2), interpolation=cv2.INTER_AREA).astype(np.float32).reshape(-1) - 128.0


class Colours:
    name = "colours"

    def predict(self, samples):
        for sample in samples:
            crop = align(load(sample.media[0]).pixels, sample.given["landmarks"])
            yield sample.id, (embed(crop[:, ::-1] if sample.given["mirror"] else crop), 0.9)


class Tracker:
    name = "tracker"

    def predict(self, samples):
        for sample in samples:
            left, top, width, height = (int(value) for value in sample.given["box"])
            seen = open_film(sample.media[0]).frames[sample.given["first_frame"] :: 2]
            faces = [load(frame).pixels[top : top + height, left : left + width] for frame in seen]
            yield sample.id, np.stack([embed(face) for face in faces])
'''
Commands = Callable[..., Any]


def portrait(person: int, side: int) -> Any:
    """A square picture in which a person is four colours."""
    colours = np.random.default_rng(20 + person).integers(0, 255, (2, 2, 3)).astype(np.uint8)
    return cv2.resize(colours, (side, side), interpolation=cv2.INTER_NEAREST)


@pytest.fixture
def pictured(folder: Path, official: Any) -> Path:
    """The tiny data set with a picture of every face and four videos, and without ready embeddings."""
    for name in ("img", "video"):
        (folder / name).mkdir()
    rows = []
    for person in range(4):
        for place in range(3):
            cv2.imwrite(str(folder / "img" / f"{3 * person + place}.jpg"), portrait(person, 64))
        video = cv2.VideoWriter(str(folder / "video" / f"{person}.avi"), cv2.VideoWriter.fourcc(*"MJPG"), 10, (96, 96))
        for number in range(6):
            picture = np.full((96, 96, 3), 90, np.uint8)
            if number:  # the person is seen from the second frame on
                picture[16:80, 16:80] = portrait(person, 64)
            video.write(picture)
        video.release()
        where = (16, 16, 64, 64, *official.place[4:-1], 1)
        rows.append((700 + person, 50 + person, f"img/{3 * person}.jpg", f"video/{person}.avi", 30 + person, *where))
    header = [*official.header[:3], "VIDEO_FILENAME", *official.header[3:]]
    official.write(folder / "protocol" / "tiny_1N_probe_video.csv", [header, *rows])
    for name in ("embeddings.npy", "faces.csv"):
        (folder / name).unlink()
    (folder / "model.py").write_text(MODEL)
    return folder


@pytest.fixture
def evenhand(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    """Run a command that succeeds; what it prints comes back, read as JSON where that was asked for."""
    monkeypatch.setenv("COLUMNS", "400")

    def run(*arguments: object) -> Any:
        capfd.readouterr()
        assert main([str(argument) for argument in arguments]) == 0, capfd.readouterr().err
        printed = capfd.readouterr().out
        return json.loads(printed) if "--json" in arguments else printed

    return run


def value_of(shown: Any, metric: str, output: str) -> float:
    (run,) = shown["runs"]
    found = [one for one in run["results"]["estimates"] if (one["metric"], one["output"]) == (metric, output)]
    return next(one["value"] for one in found if not one["group"])


def test_a_model_is_asked_for_faces_and_what_it_wrote_is_evaluated_as_the_command_says(
    pictured: Path, evenhand: Commands
) -> None:
    runs = pictured / "runs"
    asked = evenhand(
        "predict", "ijb/faces", "--model", f"{pictured / 'model.py'}:Colours", "--data", pictured, "--runs", runs,
        "--set", "tests=1,4",
    )  # fmt: skip
    assert "24 answered, 0 not" in asked
    advice = next(line for line in asked.splitlines() if line.startswith("next: evenhand "))
    verb, task, submission, *rest = shlex.split(advice.removeprefix("next: evenhand "))
    assert (verb, task) == ("evaluate", "ijb/test1")
    assert sorted(path.name for path in Path(submission).iterdir()) == [
        "embeddings.npy", "embeddings_flip.npy", "faces.csv",
    ]  # fmt: skip
    plain, mirrored = (np.load(Path(submission) / f"embeddings{part}.npy") for part in ("", "_flip"))
    halves = mirrored.reshape(-1, 2, 2, 3)[:, :, ::-1].reshape(-1, 12)
    np.testing.assert_allclose(plain, halves, atol=12)  # left and right change places
    told = [*rest, "--runs", runs, "--draws", "0", "--set", "far=0.1", "--json"]
    assert value_of(evenhand(verb, task, submission, *told), "verification", "TAR@FAR=0.1") == 1.0
    assert value_of(evenhand(verb, "ijb/test4", submission, *rest, *told[2:-3], "--json"), "CMC", "rank 1") == 1.0


def test_video_probes_are_tracked_and_searched_beside_the_embeddings_of_the_galleries(
    pictured: Path, evenhand: Commands
) -> None:
    runs, model = pictured / "runs", pictured / "model.py"
    where = ("--data", pictured, "--runs", runs, "--json")
    faces = evenhand(
        "predict", "ijb/faces", "--model", f"{model}:Colours", "--set", "mirror=false", "--set", "tests=4", *where
    )["predictions"][0]["file"]
    videos = evenhand("predict", "ijb/videos", "--model", f"{model}:Tracker", *where)["predictions"][0]["file"]
    assert np.load(Path(videos) / "video_embeddings.npy").shape == (4 * 3, 12)  # frames 1, 3 and 5
    both = pictured / "both.toml"
    names = {
        "embeddings": f"{faces}/embeddings.npy",
        "faces": f"{faces}/faces.csv",
        "video_embeddings": f"{videos}/video_embeddings.npy",
        "video_frames": f"{videos}/video_frames.csv",
    }
    both.write_text("".join(f'{name} = "{path}"\n' for name, path in names.items()))
    shown = evenhand("evaluate", "ijb/test5", both, "--set", "flip=none", "--set", "fpir=0.5", "--draws", "0", *where)
    assert value_of(shown, "CMC", "rank 1") == 1.0


def test_a_folder_with_videos_alone_is_told_what_else_it_needs(
    pictured: Path, evenhand: Commands, capfd: pytest.CaptureFixture[str]
) -> None:
    model = f"{pictured / 'model.py'}:Tracker"
    where = ("--data", str(pictured), "--runs", str(pictured / "runs"))
    made = evenhand("predict", "ijb/videos", "--model", model, *where, "--json")["predictions"][0]["file"]
    assert main(["evaluate", "ijb/test5", made, *where]) == 2
    assert "name both in a TOML file" in " ".join(capfd.readouterr().err.split())
