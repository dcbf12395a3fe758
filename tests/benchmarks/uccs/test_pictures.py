"""From pictures to curves with real networks: a face is planted, and must be found and named.

The one good photograph that is free to use (an astronaut's portrait, in scikit-image) is pasted, changed a little each
time, onto made-up backgrounds; upscaled patches of other faces are the rest of the watchlist.
"""

from __future__ import annotations

import json
from pathlib import Path

import cv2
import numpy as np
import pytest
from PIL import Image
from skimage import data as pictures

from evenhand.benchmarks.uccs.data import GALLERY_COLUMNS
from evenhand.benchmarks.uccs.stores import load_arrays
from evenhand.compat.uccs import command

FACE = (180.3, 60.7, 88.1, 111.5)  # left, top, width, height in the portrait
MARKS = np.array([[205.4, 101.5], [246.9, 103.1], [225.1, 129.2], [201.2, 139.6], [245.1, 141.1]])
CUT = (140, 20, 310, 220)  # the part of the portrait that is pasted
AT = ((40, 30), (240, 110))  # where it goes in each picture
PATCH_MARKS = np.array([[8.0, 9.0], [16.5, 9.0], [12.3, 13.5], [9.0, 18.0], [15.7, 18.0]])


def changed(pixels: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Another exposure, a little noise and blur."""
    moved = pixels.astype(np.float32) * rng.uniform(0.8, 1.15) + rng.uniform(-12, 12)
    moved = moved + rng.normal(0, 4, pixels.shape)
    blurred = cv2.GaussianBlur(moved, (0, 0), float(rng.uniform(0.4, 0.9)))
    return np.clip(blurred, 0, 255).astype(np.uint8)


def background(rng: np.random.Generator, height: int = 360, width: int = 480) -> np.ndarray:
    """Soft blotches of colour: nothing that looks like a face."""
    small = rng.integers(40, 200, (6, 8, 3)).astype(np.uint8)
    return cv2.resize(small, (width, height), interpolation=cv2.INTER_CUBIC)


def save(path: Path, pixels: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path, quality=95)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two pictures with the portrait, one without anybody, one that can't be read; a watchlist of three."""
    root = tmp_path_factory.mktemp("watchlist")
    rng = np.random.default_rng(11)
    x0, y0, x1, y1 = CUT
    portrait = pictures.astronaut()[y0:y1, x0:x1]
    rows = ["FILE,FACE_ID,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"]
    for number, (left, top) in enumerate(AT):
        picture = background(rng)
        picture[top : top + y1 - y0, left : left + x1 - x0] = changed(portrait, rng)
        name = f"probe{number}.jpg"
        save(root / "data" / "validation_images" / name, picture)
        x, y, width, height = FACE
        rows.append(f"{name},{number + 1},1,{x - x0 + left},{y - y0 + top},{width},{height}")
    save(root / "data" / "validation_images" / "nobody.jpg", background(rng))
    (root / "data" / "validation_images" / "broken.jpg").write_bytes(b"no picture")
    rows += ["nobody.jpg,8,-1,5,5,20,20", "broken.jpg,9,-1,5,5,20,20"]
    (root / "data" / "validation.csv").write_text("\n".join(rows) + "\n")
    (root / "data" / "exclude_gallery_validation.txt").touch()
    lines = [",".join(GALLERY_COLUMNS)]
    patches = pictures.lfw_subset()
    for subject in (1, 2, 3):
        for number in range(3):  # fewer than ten: subjects are grouped by their number
            if subject == 1:
                face, marks = changed(portrait, rng), MARKS - (x0, y0)
            else:
                grey = (np.clip(patches[10 * subject], 0, 1) * 255).astype(np.uint8)
                large = cv2.resize(grey, (150, 150), interpolation=cv2.INTER_CUBIC)
                face, marks = changed(np.repeat(large[:, :, None], 3, axis=2), rng), PATCH_MARKS * 6
            name = f"{subject:04d}_{number}.png"
            save(root / "data" / "gallery_images" / f"{subject:04d}" / name, face)
            lines.append(f"{name},{subject}," + ",".join(f"{value:.2f}" for value in marks.ravel()))
    (root / "data" / "gallery.csv").write_text("\n".join(lines) + "\n")
    return root


def run(folder: Path, name: str, *options: str) -> int:
    places = ["--data_directory", str(folder / "data"), "--result_directory", str(folder / "results")]
    return command.main([name, *places, *options])


@pytest.fixture(scope="module")
def done(folder: Path) -> Path:
    """All four commands, one after the other."""
    assert run(folder, "baseline_detection", "--detection.thresholds", "0.5", "0.5", "0.6") == 0
    assert run(folder, "baseline_recognition", "--network", "dlib", "--recognition.workers", "2") == 0
    assert run(folder, "scoring") == 0
    assert run(folder, "evaluation", "--draws", "20", "--eval.recognition.labels", "dlib") == 0
    return folder / "results"


def test_the_planted_faces_are_found_and_named(done: Path) -> None:
    found = json.loads((done / "UCCS-FROC-validation.json").read_text())["systems"]["mtcnn"]
    assert found["counts"]["true_detections"] == 2
    named = json.loads((done / "UCCS-OROC-validation.json").read_text())["systems"]["dlib"]
    assert named["counts"]["matched_known"] == 2
    scores = [line.split(",") for line in (done / "UCCS-scoring-baseline-validation.txt").read_text().splitlines()]
    first = {row[0]: [float(value) for value in row[6:]] for row in reversed(scores[1:])}
    for image in ("probe0", "probe1"):
        assert first[image].index(max(first[image])) == 0, image


def test_a_picture_that_cannot_be_read_is_named_and_the_others_go_on(
    folder: Path, done: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = folder / "again.txt"
    assert run(folder, "baseline_detection", "--detector", "yunet", "--detection.results", str(out)) == 0
    said = capsys.readouterr().out
    assert "1 of 4 pictures could not be used" in said
    assert "broken.jpg" in said
    assert "probe0.jpg" in out.read_text()


def test_stores_have_what_the_challenge_describes(done: Path) -> None:
    probe, _ = load_arrays(done / "validation_embeddings" / "probe0.npz")
    count = len(probe["embeddings"])
    assert probe["detection_scores"].shape == (count, 1)
    assert probe["bboxes"].shape == (count, 4)
    assert probe["landmarks"].shape == (count, 5, 2)
    gallery, _ = load_arrays(done / "gallery_embeddings" / "0001.npz")
    assert gallery["embeddings"].shape == (3, 128)
    assert gallery["landmarks"].shape == (3, 5, 2)


def test_overrides_reach_the_gallery_too_and_the_published_form_can_be_written(folder: Path, done: Path) -> None:
    options = ["--network", "sface", "--recognition.format", "pth"]
    options += ["--recognition.result_dir", str(folder / "probes"), "--scoring.gallery", str(folder / "gallery")]
    assert run(folder, "baseline_recognition", *options) == 0
    stored, _ = load_arrays(folder / "gallery" / "0001.pth")
    assert stored["landmarks"].shape == (3, 5, 2)
    assert stored["embeddings"].dtype == np.float32
    out = folder / "sface.npy"
    places = ["--scoring.probe", str(folder / "probes"), "--scoring.gallery", str(folder / "gallery")]
    assert run(folder, "scoring", *places, "--scoring.results", str(out)) == 0
    assert np.load(out).shape[1] == 3


def test_the_gallery_can_be_left_out(folder: Path, done: Path) -> None:
    gallery = folder / "untouched"
    options = ["--network", "sface", "--disable-gallery", "--scoring.gallery", str(gallery)]
    assert run(folder, "baseline_recognition", *options, "--recognition.result_dir", str(folder / "more")) == 0
    assert not gallery.exists()


def test_several_processes_find_the_same(folder: Path, done: Path) -> None:
    one, two = folder / "one.txt", folder / "two.txt"
    assert run(folder, "baseline_detection", "--detector", "yunet", "--detection.results", str(one)) == 0
    options = ["--detector", "yunet", "--detection.results", str(two), "--detection.parallel", "2"]
    assert run(folder, "baseline_detection", *options) == 0
    assert one.read_bytes() == two.read_bytes()


def test_magface_asks_for_its_checkpoint(folder: Path, done: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(folder, "baseline_recognition", "--gpu", "-1") == 2
    assert "magface" in capsys.readouterr().err


@pytest.mark.slow
def test_magface_embeds_from_a_checkpoint_that_the_user_names(folder: Path, done: Path) -> None:
    import torch
    from filled import filled_tensors

    from evenhand.instruments.checkpoints import shapes_of
    from evenhand.instruments.networks.iresnet import IResNet

    checkpoint = folder / "magface.pth"
    torch.save({"state_dict": filled_tensors(shapes_of(IResNet()), 0.5)}, checkpoint)
    options = ["--checkpoint", str(checkpoint), "--gpu", "-1", "--scoring.gallery", str(folder / "magface")]
    assert run(folder, "baseline_recognition", *options, "--recognition.result_dir", str(folder / "magprobes")) == 0
    assert load_arrays(folder / "magface" / "0001.npz")[0]["embeddings"].shape == (3, 512)


def test_a_gpu_that_is_asked_for_and_absent_is_an_error(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import torch

    absent = str(torch.cuda.device_count() if torch.cuda.is_available() else 0)
    assert run(folder, "baseline_detection", "--gpu", absent) == 2
    assert f"--gpu {absent} was asked for" in capsys.readouterr().err
