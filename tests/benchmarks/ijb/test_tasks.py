"""The family as a whole: names, questions, checks, demonstration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.demo import IMPOSTORS, PEOPLE, PROBES
from evenhand.benchmarks.ijb.faces import FaceFolderCodec, VideoCodec
from evenhand.benchmarks.ijb.options import FaceQuestionOptions, SearchOptions, VerificationOptions
from evenhand.core.errors import PredictionError
from evenhand.core.options import Options
from evenhand.core.task import Demo, Sample
from evenhand.instruments.faces import align, similarity
from evenhand.run import evaluate

NAMES = (
    "verification", "covariates", "search_image", "search_mixed", "search_video", "detection", "clustering",
    "detection_clustering",
)  # fmt: skip


@pytest.mark.parametrize(("number", "name"), list(enumerate(NAMES, start=1)))
def test_every_test_has_a_number_and_a_name(number: int, name: str) -> None:
    assert benchmark.find(f"ijb/{name}") is benchmark.find(f"ijb/test{number}")


@pytest.mark.parametrize("task", benchmark.tasks, ids=[task.name for task in benchmark.tasks])
def test_every_task_describes_itself_with_the_duties_of_the_licence(task: Any) -> None:
    assert "attribution" in task.about.licence
    assert task.about.data
    assert task.about.predictions
    assert task.about.rows
    outputs = {metric.name: metric.outputs for metric in task.metrics(task.options())}
    assert task.headline[1] in outputs[task.headline[0]]


class Pixels:
    """A model that embeds a face by where its box lies."""

    name = "pixels"

    def predict(self, samples: Iterable[Sample]) -> Iterator[tuple[str, Any]]:
        for sample in samples:
            number = float(sample.media[0].stem)
            yield sample.id, (np.array([number, -1.0 if sample.given["mirror"] else 1.0, 2.0]), 0.8)


def test_faces_are_put_to_a_model_once_each_and_mirrored(folder: Path) -> None:
    question = benchmark.find("ijb/faces")
    dataset = question.load(folder, FaceQuestionOptions())
    assert len(dataset.samples) == 24
    assert dataset.samples[0].given["box"] == (10.0, 20.0, 30.0, 40.0)
    assert len(dataset.samples[0].given["landmarks"]) == 3
    assert "subject" not in str(dataset.samples[0].given).lower()
    codec = FaceFolderCodec()
    answers = [(name, codec.from_plain(codec.to_plain(answer))) for name, answer in Pixels().predict(dataset.samples)]
    codec.write(folder / "out", answers, dataset, FaceQuestionOptions())
    results = evaluate(benchmark.find("ijb/test1"), folder / "out", folder, draws=0, permutations=0, by=()).results
    assert results.coverage.answered == 12


def test_a_face_without_its_mirrored_picture_is_refused(folder: Path) -> None:
    dataset = benchmark.find("ijb/faces").load(folder, FaceQuestionOptions())
    with pytest.raises(PredictionError, match="mirror=false"):
        FaceFolderCodec().write(folder / "out", [("0", np.ones(3))], dataset, FaceQuestionOptions())
    with pytest.raises(PredictionError, match="finite"):
        FaceFolderCodec().to_plain(np.array([np.nan]))


def test_videos_are_put_to_a_model_with_their_first_box(folder: Path, official: Any) -> None:
    header = [*official.header[:3], "VIDEO_FILENAME", *official.header[3:]]
    path = folder / "protocol" / "tiny_1N_probe_video.csv"
    official.write(path, [header, (77, 51, "frames/9_0.png", "video/9.mp4", 904, *official.place[:-1], 30)])
    dataset = benchmark.find("ijb/videos").load(folder, Options())
    (sample,) = dataset.samples
    assert sample.given["first_frame"] == 30
    assert sample.media == (folder / "video/9.mp4",)
    vectors = np.load(folder / "embeddings.npy")[4:6]
    VideoCodec().write(folder, [(sample.id, vectors)], dataset, Options())
    options = {"flip": "none", "fpir": "0.5"}
    task = benchmark.find("ijb/test5")
    results = evaluate(task, folder, folder, options=options, draws=0, permutations=0, by=("gallery",)).results
    assert results.get("CMC", "rank 1").value == 1.0


def test_a_crop_puts_the_landmarks_where_they_belong() -> None:
    picture = np.zeros((300, 300, 3), np.uint8)
    eyes_and_nose = np.array([[100, 120], [170, 120], [135, 160]])
    assert align(picture, eyes_and_nose).shape == (112, 112, 3)
    matrix = similarity(eyes_and_nose, eyes_and_nose * 2.0 + 5)
    np.testing.assert_allclose(matrix, [[2, 0, 5], [0, 2, 5]], atol=1e-9)


def test_a_check_compares_the_folder_with_what_was_published(folder: Path) -> None:
    task: Any = benchmark.find("ijb/test1")
    report = task.check(folder, folder, VerificationOptions(flip="none"))
    assert report.ok
    assert report.coverage.answered == 12
    assert "No published counts" in report.findings[0].message
    for path in (folder / "protocol").glob("tiny_1N_*"):
        path.rename(path.with_name(path.name.replace("tiny", "ijbb")))
    search: Any = benchmark.find("ijb/test4")
    warned = search.check(None, folder, SearchOptions())
    assert any("931" in finding.message for finding in warned.findings)
    (folder / "protocol" / "tiny_11_A_B_matches.csv").unlink()
    assert not task.check(None, folder, VerificationOptions()).ok


def test_subject_names_are_never_read(folder: Path) -> None:
    (folder / "protocol" / "tiny_subject_names.csv").write_text("SUBJECT_ID,SUBJECT_NAME\n50,Nobody Inparticular\n")
    run = evaluate(benchmark.find("ijb/test4"), folder, folder, options={"flip": "none"}, draws=0, permutations=0)
    assert not any("subject_names" in entry.name for entry in run.manifest.inputs)
    assert "Nobody" not in str(run.results)


def test_the_demonstration_serves_test_1_as_well(demos_of: Callable[[str], Sequence[Demo]]) -> None:
    (demo,) = demos_of("ijb")
    task: Any = benchmark.find("ijb/test1")
    results = evaluate(task, demo.predictions, demo.data, options=demo.options, draws=0, permutations=0).results
    assert results.get("comparisons", "genuine").value == PEOPLE * PROBES
    assert results.get("comparisons", "impostor").value == PEOPLE * PROBES * IMPOSTORS
    assert 0.9 < (results.get("separation", "AUC").number or 0.0) < 1.0


def test_the_demonstration_can_be_evaluated(demos_of: Callable[[str], Sequence[Demo]]) -> None:
    (demo,) = demos_of("ijb")
    task: Any = benchmark.find(demo.task)
    results = evaluate(
        task, demo.predictions, demo.data, options=demo.options, draws=0, permutations=0, depth=1
    ).results
    rates = {str(estimate.group): estimate.number for estimate in results.of("search", "FNIR@overall FPIR=0.1")}
    tones = {group: rate for group, rate in rates.items() if group.startswith("skin_tone")}
    assert max(tones, key=lambda group: tones[group] or 0) == demo.planted
    assert sorted(tones, key=lambda group: tones[group] or 0)[-2] == demo.chance
