"""No command writes over one of its inputs, over the data, or over another of its outputs."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import msgspec
import numpy as np
import pytest
from PIL import Image

from evenhand.benchmarks.uccs.data import GALLERY_COLUMNS
from evenhand.benchmarks.uccs.stores import StoreOrigin, save_npz
from evenhand.compat.uccs import baselines, command
from evenhand.instruments.detectors import FaceDetector
from evenhand.instruments.embedders import FaceEmbedder
from evenhand.instruments.faces import Face

MARKS = np.array([[5.0, 5], [15, 5], [10, 10], [6, 15], [14, 15]])
INPUTS = {  # beside the configuration and the data folder
    "evaluation": ("results/found.csv", "results/named.csv"),
    "scoring": ("results/gallery/*", "results/rows.*", "section.yaml"),
    "baseline_detection": (),
    "baseline_recognition": ("results/found.csv", "weights.pth"),
}
OUTPUTS = {
    "evaluation": ("--eval.detection.froc", "--eval.recognition.oroc"),
    "scoring": ("--scoring.results",),
    "baseline_detection": ("--detection.results",),
    "baseline_recognition": ("--recognition.result_dir", "--scoring.gallery"),
}


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with everything that the commands read: two pictures, two subjects, score files, stores, a list."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        baselines,
        "build_detector",
        lambda *_: FaceDetector("fake", lambda pixels: (Face((1.0, 2.0, 20.0, 25.0), 0.9, MARKS),)),
    )

    def embedder(*_: object, **__: object) -> FaceEmbedder:
        return FaceEmbedder(
            "fake|0|none", 4, lambda pixels, face: pixels, lambda crops: np.ones((len(crops), 4), np.float32)
        )

    monkeypatch.setattr(baselines, "build_embedder", embedder)
    data, results = tmp_path / "data", tmp_path / "results"
    for name in ("validation_images/a.png", "validation_images/b.png", *(f"gallery_images/{s}/{s}_0.png" for s in IDS)):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(np.zeros((30, 30, 3), np.uint8)).save(data / name)
    marks = ",".join(map(str, MARKS.ravel()))
    gallery = [",".join(GALLERY_COLUMNS), *(f"{s}_0.png,{int(s)},{marks}" for s in IDS)]
    (data / "gallery.csv").write_text("\n".join(gallery) + "\n")
    faces = ["a.png,1,1,0,0,10,10", "b.png,2,2,0,0,10,10"]
    (data / "validation.csv").write_text(
        "\n".join(["FILE,FACE_ID,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT", *faces]) + "\n"
    )
    (data / "exclude_gallery_validation.txt").write_text("")
    (data / "notes.json").write_text("{}\n")
    results.mkdir()
    head = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT"
    rows = [("a", 0.9, 0), ("a", 0.2, 500), ("b", 0.8, 0)]
    found = "".join(f"{name}.png,{score},{x},0,10,10,{marks}\n" for name, score, x in rows)
    (results / "found.csv").write_text(f"{head},{','.join(GALLERY_COLUMNS[2:])}\n{found}")
    named = "".join(f"{name},{score},{x},0,10,10,0.5,0.1\n" for name, score, x in rows)
    (results / "named.csv").write_text(f"{head},S_0001,S_0002\n{named}")
    for subject in IDS:
        (results / "gallery").mkdir(exist_ok=True)
        save_npz(results / "gallery" / f"{subject}.npz", {"embeddings": np.ones((1, 4), np.float32)})
    probe = {"detection_scores": np.ones((1, 1)), "bboxes": np.ones((1, 4)), "embeddings": np.ones((1, 4), np.float32)}
    (results / "probes").mkdir()
    save_npz(results / "probes" / "a.npz", probe)
    np.save(results / "rows.npy", np.ones((1, 4), np.float32))
    ids = {"files": np.array(["a"]), "detection_scores": np.ones(1), "bboxes": np.ones((1, 4))}
    save_npz(results / "rows.ids.npz", ids)
    origin = StoreOrigin("fake|0|none", "as stored", "found.csv", "0", "npy", 1)
    (results / "rows.origin.json").write_bytes(msgspec.json.encode(origin))
    (tmp_path / "weights.pth").write_bytes(b"weights")
    return tmp_path


IDS = ("0001", "0002")


def lines(name: str) -> list[str]:
    """A command line that reads everything that the command can read."""
    line = [name, "config.yaml", "--data_directory", "data", "--result_directory", "results"]
    if name == "evaluation":
        line += ["--eval.detection.files", "results/found.csv", "--eval.recognition.files", "results/named.csv"]
        line += ["--draws", "0", "--eval.detection.froc", "out/froc.svg", "--eval.recognition.oroc", "out/oroc.svg"]
    elif name == "scoring":
        line += ["--scoring.gallery", "results/gallery", "--scoring.probe", "results/rows.npy"]
    elif name == "baseline_recognition":
        line += ["--recognition.detection_file", "results/found.csv", "--checkpoint", "weights.pth", "--gpu", "-1"]
        line += ["--recognition.embedding_size", "4", "--recognition.workers", "0"]
    else:
        line += ["--gpu", "-1"]
    return line


def contents(place: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file() and not path.is_symlink()}


def variants(path: Path, place: Path) -> Iterator[Path]:
    """The path, names that share its stem, and other names of the same file."""
    yield path
    yield path.with_suffix(".svg")  # its table and its numbers go beside a figure
    link, twin = place / "link.svg", place / f"twin{path.suffix}"
    for other in (link, twin):
        other.unlink(missing_ok=True)
    link.symlink_to(path)
    yield link
    os.link(path, twin)
    yield twin
    twin.unlink(missing_ok=True)
    link.unlink(missing_ok=True)
    yield path.parent


@pytest.mark.parametrize("name", OUTPUTS)
def test_no_pair_of_an_input_and_an_output_changes_the_input(
    place: Path, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from evenhand.compat.uccs.config import default_text

    head, _, rest = default_text().partition("\nscoring:")
    section, _, tail = rest.partition("\neval:")
    (place / "config.yaml").write_text(f"{head}\nscoring:\n  yaml: section.yaml\neval:{tail}")
    (place / "section.yaml").write_text(f"scoring:{section}\n")
    read = {
        path: path.read_bytes()
        for pattern in ("config.yaml", "data/**/*", *INPUTS[name])
        for path in place.glob(pattern)
        if path.is_file()
    }
    others = contents(place)
    refused = 0
    for option in OUTPUTS[name]:
        for given in read:
            for output in variants(given, place):
                line = [*lines(name), option, str(output)]
                code = command.main(line)
                refused += code == 2
                now = contents(place)
                changed = [str(one) for one in read if now.get(one) != read[one]]
                assert not changed, f"{' '.join(line)} changed {changed}"
                for path in set(now) - set(others):
                    path.unlink()
                for path in others:  # what is no input of this command may be its output
                    if now.get(path) != others[path]:
                        path.write_bytes(others[path])
    assert refused > len(read) * len(OUTPUTS[name])
    capsys.readouterr()


@pytest.mark.parametrize(
    ("froc", "oroc"),
    [("out/c.pdf", "out/c.pdf"), ("out/c.pdf", "out/c.png"), ("out/c.pdf", "out/../out/c.svg")],
)
def test_two_outputs_may_not_be_one_file(place: Path, froc: str, oroc: str, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "config.yaml").write_text((Path(baselines.__file__).parent / "baseline_config.yaml").read_text())
    line = [*lines("evaluation"), "--eval.detection.froc", froc, "--eval.recognition.oroc", oroc]
    assert command.main(line) == 2
    assert "is named twice" in capsys.readouterr().err
    assert not (place / "out").exists()


def test_the_two_stores_may_not_share_a_folder(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (place / "config.yaml").write_text((Path(baselines.__file__).parent / "baseline_config.yaml").read_text())
    line = [*lines("baseline_recognition"), "--recognition.result_dir", "new", "--scoring.gallery", "new/../new"]
    assert command.main(line) == 2
    assert "is named twice" in capsys.readouterr().err
    assert not (place / "new").exists()


def test_what_a_killed_start_left_half_written_is_removed(place: Path) -> None:
    (place / "config.yaml").write_text((Path(baselines.__file__).parent / "baseline_config.yaml").read_text())
    half = place / "results" / ".scores.0123abcd.partial.txt"
    half.write_text("half")
    assert command.main([*lines("scoring"), "--scoring.results", "results/scores.txt"]) == 0
    assert not half.exists()
    assert not list(place.rglob("*.partial*"))
