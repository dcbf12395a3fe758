"""A model in a Python file is asked for faces and videos; what it answers is evaluated as it was written."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Any

import cv2
import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.core.errors import PredictionError
from evenhand.models.python import ModelFile
from evenhand.run import evaluate, predict

MODEL = '''
"""Colours in the four quarters of a face's crop: enough to tell made-up people apart."""

import cv2
import numpy as np

from evenhand.instruments.faces import align
from evenhand.instruments.films import open_film
from evenhand.instruments.pictures import load


def embed(crop):
    crop = crop.astype(np.float32)
    half = crop.shape[0] // 2
    return np.concatenate([crop[a : a + half, b : b + half].mean(axis=(0, 1)) for a in (0, half) for b in (0, half)])


class Colours:
    name = "colours"

    def predict(self, samples):
        for sample in samples:
            crop = align(load(sample.media[0]).pixels, sample.given["landmarks"])
            yield sample.id, (embed(crop[:, ::-1] if sample.given["mirror"] else crop), 0.5)


class Tracker:
    name = "tracker"

    def predict(self, samples):
        for sample in samples:
            left, top, width, height = (int(value) for value in sample.given["box"])
            some = []
            first = sample.given["first_frame"]
            for frame in open_film(sample.media[0]).frames[first : first + 3]:
                picture = load(frame).pixels
                some.append(embed(cv2.resize(picture[top : top + height, left : left + width], (112, 112))))
            yield sample.id, np.stack(some)
'''


def face_of(person: int) -> Any:
    """A picture of 64 × 64 pixels in which a person is four colours."""
    rng = np.random.default_rng(100 + person)
    return cv2.resize(rng.integers(0, 255, (2, 2, 3)).astype(np.uint8), (64, 64), interpolation=cv2.INTER_NEAREST)


@pytest.fixture
def pictured(folder: Path) -> Path:
    """The tiny data set with a picture for every face, and without its ready embeddings."""
    (folder / "img").mkdir()
    for number in range(12):
        cv2.imwrite(str(folder / "img" / f"{number}.jpg"), face_of(number // 3))
    for name in ("embeddings.npy", "faces.csv"):
        (folder / name).unlink()
    (folder / "model.py").write_text(MODEL)
    return folder


def test_a_model_is_asked_for_every_face_and_its_mirror_image_and_evaluated_from_what_it_wrote(pictured: Path) -> None:
    model = ModelFile.parse(f"{pictured / 'model.py'}:Colours")
    question: Any = benchmark.find("ijb/faces")
    outcome = predict(question, model, pictured, runs=pictured / "runs")
    assert (outcome.answered, outcome.unanswered) == (24, {})
    assert sorted(path.name for path in outcome.file.iterdir()) == [
        "embeddings.npy",
        "embeddings_flip.npy",
        "faces.csv",
    ]
    plain, mirrored = (np.load(outcome.file / f"embeddings{part}.npy") for part in ("", "_flip"))
    assert plain.shape == mirrored.shape == (12, 12)
    np.testing.assert_allclose(mirrored[:, :3], plain[:, 3:6], atol=12)  # left and right change places
    with (outcome.file / "faces.csv").open() as file:
        assert next(csv.DictReader(file)) == {
            "FACE_INDEX": "0", "FILENAME": "img/0.jpg", "SUBJECT_ID": "50", "SIGHTING_ID": "900", "FACE_SCORE": "0.5",
        }  # fmt: skip
    for test, metric, output in ((1, "verification", "TAR@FAR=0.1"), (4, "CMC", "rank 1")):
        task: Any = benchmark.find(f"ijb/test{test}")
        results = evaluate(task, outcome.file, pictured, draws=0, permutations=0).results
        assert results.get(metric, output).value == 1.0
        assert results.coverage.missing == 0


def test_without_the_mirrored_pass_every_face_is_asked_for_once(pictured: Path) -> None:
    question: Any = benchmark.find("ijb/faces")
    model = ModelFile.parse(f"{pictured / 'model.py'}:Colours")
    outcome = predict(question, model, pictured, runs=pictured / "runs", options={"mirror": "false"})
    assert outcome.answered == 12
    task: Any = benchmark.find("ijb/test1")
    results = evaluate(task, outcome.file, pictured, options={"flip": "none"}, draws=0, permutations=0).results
    assert results.get("verification", "TAR@FAR=0.1").value == 1.0


def test_a_tracker_reads_the_frames_it_wants_and_its_templates_are_searched(pictured: Path, official: Any) -> None:
    header = [*official.header[:3], "VIDEO_FILENAME", *official.header[3:]]
    rows = []
    (pictured / "video").mkdir()
    for person in range(4):
        path = pictured / "video" / f"{person}.avi"
        writer = cv2.VideoWriter(str(path), cv2.VideoWriter.fourcc(*"MJPG"), 10, (96, 96))
        for number in range(8):
            picture = np.zeros((96, 96, 3), np.uint8)
            if number >= 2:  # the person comes into view with the third frame
                picture[16:80, 16:80] = face_of(person)
            writer.write(picture)
        writer.release()
        place = (16, 16, 64, 64, *official.place[4:-1])
        rows.append((700 + person, 50 + person, f"frames/{person}.png", f"video/{person}.avi", 30 + person, *place, 2))
    official.write(pictured / "protocol" / "tiny_1N_probe_video.csv", [header, *rows])
    videos: Any = benchmark.find("ijb/videos")
    faces: Any = benchmark.find("ijb/faces")
    file, runs = pictured / "model.py", pictured / "runs"
    tracked = predict(videos, ModelFile.parse(f"{file}:Tracker"), pictured, runs=runs)
    embedded = predict(
        faces, ModelFile.parse(f"{file}:Colours"), pictured, runs=runs, options={"mirror": "false", "tests": "4"}
    )
    assert np.load(tracked.file / "video_embeddings.npy").shape == (12, 12)
    toml = pictured / "both.toml"
    entries = {
        "embeddings": embedded.file / "embeddings.npy",
        "faces": embedded.file / "faces.csv",
        "video_embeddings": tracked.file / "video_embeddings.npy",
        "video_frames": tracked.file / "video_frames.csv",
    }
    toml.write_text("".join(f'{name} = "{path.relative_to(pictured)}"\n' for name, path in entries.items()))
    task: Any = benchmark.find("ijb/test5")
    options = {"flip": "none", "detector": "off", "fpir": "0.5"}
    results = evaluate(task, toml, pictured, options=options, draws=0, permutations=0).results
    assert results.get("CMC", "rank 1").value == 1.0
    assert results.coverage.missing == 0


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ("embed(crop)[: 12 - (sample.id == '3')]", r"embeddings of 11 numbers \(sample 3\) and of 12 \(sample 0\)"),
        ("(embed(crop), float('nan'))", r"embedded no face.* Of 24 samples, 24 are this: .* A detector score is nan"),
    ],
)
def test_embeddings_that_can_not_be_evaluated_are_not_written(pictured: Path, answer: str, words: str) -> None:
    text = MODEL.replace('(embed(crop[:, ::-1] if sample.given["mirror"] else crop), 0.5)', answer)
    assert text != MODEL
    (pictured / "model.py").write_text(text)
    question: Any = benchmark.find("ijb/faces")
    with pytest.raises(PredictionError, match=words):
        predict(question, ModelFile.parse(f"{pictured / 'model.py'}:Colours"), pictured, runs=pictured / "runs")


def test_a_video_in_which_nobody_was_found_is_a_failure_to_enrol(folder: Path, official: Any, tmp_path: Path) -> None:
    header = [*official.header[:3], "VIDEO_FILENAME", *official.header[3:]]
    probes = [(70 + who, 50 + who, f"frames/{who}.png", f"video/{who}.mp4", 904, *official.place) for who in range(3)]
    official.write(folder / "protocol" / "tiny_1N_probe_video.csv", [header, *probes])
    question: Any = benchmark.find("ijb/videos")
    dataset = question.load(folder, question.options())
    answers = [("70", np.eye(8)[:2]), ("71", []), ("72", np.zeros((0, 8)))]
    kept = [(name, question.codec.from_plain(question.codec.to_plain(vectors))) for name, vectors in answers]
    question.codec.write(tmp_path / "out", iter(kept), dataset, question.options())
    assert np.load(tmp_path / "out" / "video_embeddings.npy").shape == (2, 8)
    assert (tmp_path / "out" / "video_frames.csv").read_text().split() == ["TEMPLATE_ID,FACE_INDEX", "70,0", "70,1"]
