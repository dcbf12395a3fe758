"""The baselines go on where they were killed, and give the bytes of an undisturbed run."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from evenhand.benchmarks.uccs.data import GALLERY_COLUMNS
from evenhand.compat.uccs import baselines, command
from evenhand.instruments.embedders import FaceEmbedder

PICTURES = 30
MARKS = ",".join(map(str, range(1, 11)))
FOUND = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT," + ",".join(GALLERY_COLUMNS[2:])
# The networks are replaced by ones that take a moment and write down every picture that they are shown.
SCRIPT = """
import sys, time
from pathlib import Path
import numpy as np
from evenhand.compat.uccs import baselines, command
from evenhand.instruments.detectors import FaceDetector
from evenhand.instruments.embedders import FaceEmbedder
from evenhand.instruments.faces import Face

log = Path(sys.argv[1])

def seen(pixels):
    with log.open("a") as file:
        file.write(f"{int(pixels[0, 0, 0])}\\n")
    time.sleep(0.05)

def find(pixels):
    seen(pixels)
    marks = np.array([[5.0, 5], [15, 5], [10, 10], [6, 15], [14, 15]]) + pixels[0, 0, 0] / 100
    return (Face((1.0, 2.0, 20.0, 25.0), 0.9, marks),)

def run(crops):
    for crop in crops:
        seen(crop)
    return np.stack([crop.reshape(-1)[:8].astype(np.float32) for crop in crops])

baselines.build_detector = lambda *a: FaceDetector("fake", find)
baselines.build_embedder = lambda *a, **k: FaceEmbedder("fake|0|none", 8, lambda pixels, face: pixels, run)
sys.exit(command.main(sys.argv[2:]))
"""


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Thirty pictures and thirty subjects, each of one grey."""
    folder = tmp_path / "data"
    lines = [",".join(GALLERY_COLUMNS)]
    for number in range(PICTURES):
        subject = f"{number + 1:04d}"
        for path in (f"validation_images/{number:02d}.png", f"gallery_images/{subject}/{subject}_0.png"):
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            Image.fromarray(np.full((30, 30, 3), number, np.uint8)).save(folder / path)
        lines.append(f"{subject}_0.png,{number + 1},{MARKS}")
    (folder / "gallery.csv").write_text("\n".join(lines) + "\n")
    (folder / "validation.csv").write_text("FILE\n" + "".join(f"{n:02d}.png\n" for n in range(PICTURES)))
    return folder


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


@pytest.mark.parametrize("kills", [1, pytest.param(20, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["baseline_detection", "baseline_recognition"])
def test_a_killed_baseline_goes_on_and_gives_the_same_bytes(data: Path, tmp_path: Path, name: str, kills: int) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    log = tmp_path / "killed.log"
    rows = "".join(f"{n:02d}.png,0.9,1,2,20,25,{MARKS}\n" for n in range(PICTURES))
    (tmp_path / "found.txt").write_text(f"{FOUND}\n{rows}")
    more = ["--recognition.detection_file", str(tmp_path / "found.txt"), "--recognition.embedding_size", "8"]

    def line(results: Path) -> list[str]:
        places = ["--data_directory", str(data), "--result_directory", str(results), "--gpu", "-1"]
        return [sys.executable, "-c", SCRIPT, f"{results}.log", name, *places, *more]

    subprocess.run(line(whole), check=True, stdout=subprocess.DEVNULL)
    log.touch()
    last = 12 if name == "baseline_detection" else PICTURES + 12  # the last kill, in the gallery
    for kill in range(1, kills + 1):
        process = subprocess.Popen(line(killed), stdout=subprocess.DEVNULL)
        until = time.monotonic() + 300
        asked = last * kill // kills + kill - 1
        while len(log.read_text().splitlines()) < asked:
            assert process.poll() is None
            assert time.monotonic() < until
            time.sleep(0.01)
        process.kill()
        process.wait()
    before = len(log.read_text().splitlines())
    again = subprocess.run(line(killed), check=True, capture_output=True, text=True)
    after, total = (len(Path(f"{results}.log").read_text().splitlines()) for results in (killed, whole))
    assert before < total + kills
    assert after - total <= kills, "more than one picture was asked again after a kill"
    assert files(killed) == files(whole)
    assert f"{PICTURES} of {PICTURES}" in again.stdout
    if name == "baseline_detection":
        assert "continuing: " in again.stdout


def test_stores_of_another_network_or_list_are_refused(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def embedder(name: str, **_: object) -> FaceEmbedder:
        def run(crops):
            return np.ones((len(crops), 4), np.float32)

        return FaceEmbedder(f"{name}|1|none", 4, lambda pixels, face: pixels, run)

    monkeypatch.setattr(baselines, "build_embedder", embedder)
    found, results = tmp_path / "found.txt", tmp_path / "results"
    found.write_text(f"{FOUND}\n00.png,0.9,1,2,20,25,{MARKS}\n")
    places = ["--data_directory", str(data), "--result_directory", str(results)]
    places += ["--recognition.detection_file", str(found)]
    assert command.main(["baseline_recognition", *places, "--network", "dlib"]) == 0
    before = files(results)
    assert command.main(["baseline_recognition", *places, "--network", "dlib"]) == 0  # nothing is left to do
    assert command.main(["baseline_recognition", *places, "--network", "sface"]) == 2
    assert "differ in the network (dlib|1|none, not sface|1|none)" in capsys.readouterr().err
    found.write_text(f"{FOUND}\n01.png,0.9,1,2,20,25,{MARKS}\n")
    assert command.main(["baseline_recognition", *places, "--network", "dlib"]) == 2
    assert "made from another list" in capsys.readouterr().err
    assert files(results) == before
    assert command.main(["scoring", *places]) == 0
    only_probes = ["--network", "sface", "--replace", "--disable-gallery"]
    assert command.main(["baseline_recognition", *places, *only_probes]) == 0
    stores = results / "validation_embeddings"
    assert sorted(path.name for path in stores.iterdir()) == ["01.npz", "origin.json"]
    scores = results / "UCCS-scoring-baseline-validation.txt"
    good = scores.read_bytes()
    assert command.main(["scoring", *places]) == 2
    assert "can't be compared: they differ in the network" in capsys.readouterr().err
    assert scores.read_bytes() == good


def test_nothing_to_embed_or_to_look_at_leaves_the_good_file(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results = tmp_path / "results"
    results.mkdir()
    good = results / "UCCS-detection-baseline-validation.txt"
    good.write_text("good\n")
    for path in (data / "validation_images").iterdir():
        path.write_bytes(b"no picture")
    places = ["--data_directory", str(data), "--result_directory", str(results)]
    assert command.main(["baseline_detection", *places, "--detector", "yunet"]) == 2
    assert files(results) == {good.name: b"good\n"}
    good.write_text("FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT\n")
    assert command.main(["baseline_recognition", *places, "--network", "sface"]) == 2
    assert f"{good.name} has no detection, so there is no face to embed." in capsys.readouterr().err
    assert list(files(results)) == [good.name]


def test_a_gallery_without_pictures_is_said(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(crops):
        return np.ones((len(crops), 4), np.float32)

    embedder = FaceEmbedder("fake|1|none", 4, lambda pixels, face: pixels, run)
    monkeypatch.setattr(baselines, "build_embedder", lambda *_, **__: embedder)
    (tmp_path / "found.txt").write_text(f"{FOUND}\n00.png,0.9,1,2,20,25,{MARKS}\n")
    (data / "gallery.csv").write_text(",".join(GALLERY_COLUMNS) + "\n")
    places = ["--data_directory", str(data), "--result_directory", str(tmp_path / "results"), "--network", "dlib"]
    found = ["--recognition.detection_file", str(tmp_path / "found.txt")]
    assert command.main(["baseline_recognition", *places, *found]) == 2
    assert "gallery.csv names no picture, so there is no face to embed." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "left"),
    [(50, "50 s"), (1800, "30 min"), (3570, "1 h"), (5000, "1 h 23 min"), (7300, "2 h 2 min"), (90_000, "25 h")],
)
def test_the_remaining_time_is_told_in_hours_and_minutes(seconds: float, left: str) -> None:
    now, said = [0.0], []
    progress = baselines.RateOfProgress(said.append, "pictures", clock=lambda: now[0])
    now[0] = seconds
    progress(1, 2)
    assert said[0].endswith(f", {left} left")


def test_a_face_whose_landmarks_coincide_is_skipped_and_counted(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = tmp_path / "found.txt"
    same = ",".join(["7"] * 10)
    found.write_text(f"{FOUND}\n00.png,0.9,1,2,20,25,{same}\n00.png,0.8,1,2,20,25,{MARKS}\n")
    places = ["--data_directory", str(data), "--result_directory", str(tmp_path), "--disable-gallery"]
    line = ["baseline_recognition", *places, "--recognition.detection_file", str(found), "--network", "sface"]
    assert command.main(line) == 0
    assert "1 faces were skipped:\n  00.png, detection 0: all landmarks coincide." in capsys.readouterr().out
    store = np.load(tmp_path / "validation_embeddings" / "00.npz")
    assert store["detection_scores"].tolist() == [[0.8]]
    assert len(store["embeddings"]) == 1


@pytest.mark.parametrize(("more", "width"), [((), 40), (("--upright",), 30)])
def test_pictures_are_looked_at_as_they_are_stored_unless_asked_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, more: tuple[str, ...], width: int
) -> None:
    from evenhand.compat.uccs import baselines
    from evenhand.instruments.detectors import FaceDetector

    shapes = []

    def find(pixels):
        shapes.append(pixels.shape)
        return ()

    monkeypatch.setattr(baselines, "build_detector", lambda *_: FaceDetector("fake", find))
    (tmp_path / "data" / "validation_images").mkdir(parents=True)
    picture = Image.fromarray(np.zeros((30, 40, 3), np.uint8))
    exif = picture.getexif()
    exif[0x0112] = 6  # to be turned by 90 degrees
    picture.save(tmp_path / "data" / "validation_images" / "a.jpg", exif=exif)
    places = ["--data_directory", str(tmp_path / "data"), "--result_directory", str(tmp_path), "--gpu", "-1"]
    assert command.main(["baseline_detection", *places, *more]) == 0
    assert [shape[1] for shape in shapes] == [width]
