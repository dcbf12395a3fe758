"""A command that is killed while it writes leaves the previous files or the new ones, and the next one cleans up.

`evaluate` and `predict` are killed in tests/run/test_survival.py.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from skimage import data as photographs

import evenhand as eh
from evenhand.benchmarks.uccs.data import FACE_COLUMNS, GALLERY_COLUMNS

KILLS = 20
EVENHAND = str(Path(sys.executable).with_name("evenhand"))


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def run(command: list[str]) -> float:
    """Run a command to its end; how many seconds that took."""
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    return time.monotonic() - started


def killed(command: list[str], took: float, kills: int) -> Iterator[bool]:
    """Start a command so often, and kill it at random moments; whether it was killed before it had ended."""
    rng, deaths = random.Random(1), 0
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * rng.uniform(0.4, 1.05))
        process.send_signal(signal.SIGKILL)
        was_killed = process.wait() == -signal.SIGKILL
        deaths += was_killed
        took *= 1.0 if was_killed else 0.9  # the machine is quicker than it was at first
        yield was_killed
    assert deaths > kills / 4


def check(command: list[str], folder: Path, kills: int) -> None:
    """Kill a command that writes below a folder at so many moments, over old outputs."""
    took = run(command)
    new = outputs(folder)
    assert new
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"the previous one")
    for _ in killed(command, took, kills):
        for name, content in outputs(folder).items():
            if ".partial" not in name:
                assert content in (b"the previous one", new[name]), name
    run(command)
    assert outputs(folder) == new


def check_resumed(command: list[str], folder: Path, following: list[str], result: Path, kills: int) -> None:
    """Kill a command that goes on where it was stopped at so many moments.

    After every kill, the command that follows it refuses what is there or gives the result of an undisturbed run. After
    some, the killed command is run to its end and must give the bytes of an undisturbed run; then all begins anew.
    """
    took = run(command)
    new = outputs(folder)
    run(following)
    expected = result.read_bytes()
    shutil.rmtree(folder)
    for kill, was_killed in enumerate(killed(command, took, kills), 1):
        result.unlink()
        ended = subprocess.run(following, capture_output=True, text=True)
        assert ended.returncode in (0, 2), ended.stderr
        assert was_killed or ended.returncode == 0
        if result.exists():
            assert ended.returncode == 0
            assert result.read_bytes() == expected
        else:
            result.touch()
            assert ended.returncode == 2
        if not was_killed or kill % 4 == 0:
            run(command)
            assert outputs(folder) == new
            shutil.rmtree(folder)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["html", "csv"])
def test_a_report_that_is_killed(form: str, tmp_path: Path):
    made = eh.demo("fairface", tmp_path / "data")[0]
    run = eh.evaluate(made.task, made.predictions, data=made.data, runs=tmp_path / "runs", draws=50, permutations=50)
    target = tmp_path / "out" / f"report.{form}"
    check([EVENHAND, "report", str(run.folder), "--format", form, "-o", str(target)], target.parent, KILLS)


@pytest.mark.slow
def test_a_watchlist_evaluation_that_is_killed(tmp_path: Path):
    eh.demo("uccs", tmp_path / "data")
    data, out = tmp_path / "data", tmp_path / "out"
    command = [EVENHAND, "uccs", "evaluation", "--data_directory", str(data), "--result_directory", str(out)]
    command += ["--eval.detection.files", str(data / "detections.txt"), "--draws", "0", "--no-figure"]
    command += ["--eval.recognition.files", str(data / "scores.txt")]
    command += ["--eval.detection.froc", str(out / "froc.svg"), "--eval.recognition.oroc", str(out / "oroc.svg")]
    check(command, out, KILLS)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scores.txt", "scores.npy"])
def test_a_watchlist_scoring_that_is_killed(name: str, tmp_path: Path):
    data, out = tmp_path / "data", tmp_path / "out"
    data.mkdir()
    out.mkdir()
    (data / "gallery.csv").write_text("SUBJECT_ID\n" + "".join(f"{n}\n" for n in range(1, 301)))
    rng = np.random.default_rng(5)
    np.save(data / "gallery.npy", rng.normal(size=(300, 64)).astype(np.float32))
    np.savez(data / "gallery.ids.npz", subjects=np.arange(1, 301))
    np.save(data / "probes.npy", rng.normal(size=(9000, 64)).astype(np.float32))
    ids = {"detection_scores": rng.random(9000), "bboxes": rng.random((9000, 4))}
    np.savez(data / "probes.ids.npz", files=np.array([f"{n // 9:04d}" for n in range(9000)]), **ids)
    command = [EVENHAND, "uccs", "scoring", "--data_directory", str(data), "--scoring.results", str(out / name)]
    command += ["--scoring.gallery", str(data / "gallery.npy"), "--scoring.probe", str(data / "probes.npy")]
    check(command, out, KILLS)


@pytest.mark.slow
def test_rows_that_are_killed(tmp_path: Path):
    made = eh.demo("fairface", tmp_path / "data")[0]
    run = eh.evaluate(made.task, made.predictions, data=made.data, runs=tmp_path / "runs", draws=0, permutations=0)
    target = tmp_path / "out" / "rows.csv"
    check([EVENHAND, "rows", str(run.folder), "--format", "csv", "-o", str(target)], target.parent, KILLS)


PICTURES = 60
LANDMARKS = "98,121,139,123,118,149,94,159,138,161"


@pytest.fixture
def photographed(tmp_path: Path) -> Path:
    """A data folder with photographs of one face, as probes and as a gallery of as many subjects."""
    data = tmp_path / "data"
    rng = np.random.default_rng(3)
    portrait = photographs.astronaut()[:240, 100:340]
    probes, gallery = [",".join(FACE_COLUMNS)], [",".join(GALLERY_COLUMNS)]
    for number in range(1, PICTURES + 1):
        name = f"{number:04d}_0.png"
        for path in (data / "validation_images" / name, data / "gallery_images" / f"{number:04d}" / name):
            path.parent.mkdir(parents=True, exist_ok=True)
            noisy = portrait + rng.normal(0, 4, portrait.shape)
            Image.fromarray(noisy.clip(0, 255).astype(np.uint8)).save(path, compress_level=1)
        probes.append(f"{name},{number},{number},80,60,88,111")
        gallery.append(f"{name},{number},{LANDMARKS}")
    (data / "validation.csv").write_text("\n".join(probes) + "\n")
    (data / "gallery.csv").write_text("\n".join(gallery) + "\n")
    (data / "exclude_gallery_validation.txt").touch()
    return data


@pytest.mark.slow
def test_a_baseline_detection_that_is_killed(photographed: Path, tmp_path: Path):
    places = ["--data_directory", str(photographed), "--result_directory", str(tmp_path / "out"), "--gpu", "-1"]
    command = [EVENHAND, "uccs", "baseline_detection", *places, "--detector", "yunet"]
    froc = ["--eval.detection.froc", str(tmp_path / "froc.svg"), "--draws", "0", "--no-figure"]
    following = [EVENHAND, "uccs", "evaluation", *places, "--tasks", "detection", *froc]
    check_resumed(command, tmp_path / "out", following, tmp_path / "froc.csv", KILLS)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["npz", "pth"])
def test_a_baseline_recognition_that_is_killed(form: str, photographed: Path, tmp_path: Path):
    faces = "".join(f"{n:04d}_0.png,0.9,80,60,88,111,{LANDMARKS}\n" for n in range(1, PICTURES + 1))
    columns = ("FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT", *GALLERY_COLUMNS[2:])
    (tmp_path / "found.txt").write_text(f"{','.join(columns)}\n{faces}")
    places = ["--data_directory", str(photographed), "--result_directory", str(tmp_path / "out"), "--gpu", "-1"]
    command = [EVENHAND, "uccs", "baseline_recognition", *places, "--network", "sface", "--recognition.format", form]
    command += ["--recognition.detection_file", str(tmp_path / "found.txt"), "--recognition.embedding_size", "128"]
    following = [EVENHAND, "uccs", "scoring", *places, "--scoring.results", str(tmp_path / "scores.txt")]
    check_resumed(command, tmp_path / "out", following, tmp_path / "scores.txt", KILLS)
