"""`explain` computes every combination, and `--target` finds the one that was planted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.cli.main import main
from evenhand.search.enrol import Membership, enrol, enrol_every

FAR = 1e-3


@pytest.fixture(scope="module")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small IJB-C in list files: 60 people, templates of stills and videos, noisy faces with weak detections."""
    folder = tmp_path_factory.mktemp("IJBC")
    (folder / "meta").mkdir()
    rng = np.random.default_rng(5)
    people, dimensions = 60, 32
    centre = rng.normal(size=(people, dimensions))
    vectors, flipped, faces, points, owner = [], [], [], [], []
    for template in range(people * 12):
        owner.append(template % people)
        for medium in range(rng.integers(1, 4)):
            for _ in range(rng.integers(1, 7)):
                quality = rng.uniform(0.2, 1.0)
                face = centre[owner[-1]] * quality * rng.uniform(0.5, 2) + rng.normal(size=dimensions) * 1.5
                vectors.append(face + rng.normal(size=dimensions) * 0.8)
                flipped.append(face + rng.normal(size=dimensions) * 0.8)
                name = f"{len(vectors)}.jpg"
                faces.append(f"{name} {template} {template * 10 + medium}")
                points.append(f"{name} {' '.join(['1.5'] * 10)} {rng.uniform(0.3, 1.0):.4f}")
    pairs = [(a, b) for a in range(people * 3) for b in range(people * 3, people * 12)]
    lines = [f"{a} {b} {int(owner[a] == owner[b])}" for a, b in pairs if owner[a] == owner[b] or rng.random() < 0.3]
    for name, text in (("face_tid_mid", faces), ("name_5pts_score", points), ("template_pair_label", lines)):
        (folder / "meta" / f"ijbc_{name}.txt").write_text("\n".join(text) + "\n")
    np.save(folder / "embeddings.npy", np.array(vectors, dtype=np.float32))
    np.save(folder / "embeddings_flip.npy", np.array(flipped, dtype=np.float32))
    return folder


def as_a_script_does(
    folder: Path, *, norm: bool, detector: bool, unit_media: bool = False, flat: bool = False, flip: str = "sum"
) -> float:
    """TAR at the point of scikit-learn's ROC nearest to FAR, in double precision, as public scripts compute it."""
    faces = [line.split() for line in (folder / "meta" / "ijbc_face_tid_mid.txt").read_text().splitlines()]
    weight = [
        float(line.split()[-1]) for line in (folder / "meta" / "ijbc_name_5pts_score.txt").read_text().splitlines()
    ]
    vectors, mirrored = (np.load(folder / f"{name}.npy").astype(float) for name in ("embeddings", "embeddings_flip"))
    if flip != "none":
        vectors = vectors + mirrored if flip == "sum" else np.concatenate([vectors, mirrored], axis=1)
    if norm:
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    if detector:
        vectors *= np.array(weight)[:, None]
    template = np.array([int(face[1]) for face in faces])
    medium = np.array([int(face[2]) for face in faces])
    pooled = np.zeros((template.max() + 1, vectors.shape[1]))
    for one in np.unique(medium):
        mean = vectors[medium == one].sum(axis=0) if flat else vectors[medium == one].mean(axis=0)
        pooled[template[medium == one][0]] += mean / np.linalg.norm(mean) if unit_media else mean
    pooled /= np.linalg.norm(pooled, axis=1, keepdims=True)
    pairs = np.loadtxt(folder / "meta" / "ijbc_template_pair_label.txt", dtype=int)
    score = np.sum(pooled[pairs[:, 0]] * pooled[pairs[:, 1]], axis=1)
    order = np.argsort(-score, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(score[order])), len(score) - 1)
    true = np.cumsum(pairs[order, 2])[ends]
    false = 1 + ends - true
    kept = np.concatenate([[True], (np.diff(false, 2) != 0) | (np.diff(true, 2) != 0), [True]])  # as roc_curve thins
    true, false = np.append(0, true[kept])[::-1], np.append(0, false[kept])[::-1]
    return float(true[np.argmin(np.abs(false / false[0] - FAR))] / true[0])


def run_of(folder: Path, tmp_path: Path, task: str = "ijb/test1", *more: str, answers: Path | None = None) -> str:
    runs = tmp_path / "runs"
    arguments = ["--data", str(folder), "--draws", "0", "--runs", str(runs), *more]
    assert main(["evaluate", task, str(answers or folder), *arguments]) == 0
    return str(next(runs.glob(f"{task}/*/*")))


@pytest.mark.parametrize(
    ("switches", "words"),
    [
        ({"norm": False, "detector": True}, "flip=sum, norm=keep, detector=on, media=mean"),
        ({"norm": True, "detector": False, "unit_media": True}, "flip=sum, norm=unit, detector=off, media=mean_unit"),
        ({"norm": True, "detector": True}, "flip=sum, norm=unit, detector=on, media=mean"),
        (
            {"norm": True, "detector": False, "flat": True, "flip": "none"},
            "flip=none, norm=unit, detector=off, media=flat",
        ),
        ({"norm": False, "detector": True, "flip": "concat"}, "flip=concat, norm=keep, detector=on, media=mean"),
    ],
)
def test_a_target_finds_the_planted_combination_among_all(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], switches: dict[str, Any], words: str
) -> None:
    planted = as_a_script_does(synthetic, **switches)
    run = run_of(synthetic, tmp_path, "ijb/test1", "--set", f"far={FAR},0.01,0.1")
    capsys.readouterr()
    assert main(["explain", run, "--target", f"{100 * planted:.6f}", "--quantity", "TAR@FAR=1e-3", "--json"]) == 0
    table = json.loads(capsys.readouterr().out)["blocks"][1]
    nearest = [dict(zip(table["columns"], row, strict=True)) for row in table["rows"]]
    exact = [row for row in nearest if row["off by"] in ("+0.000000", "-0.000000")]
    assert any(row["combination"] == words and "nearest" in row["convention"] for row in exact), nearest[:5]
    assert len({row["combination"] for row in exact}) <= 3


def test_all_poolings_together_are_the_poolings_one_by_one() -> None:
    rng = np.random.default_rng(2)
    vectors, flipped = rng.normal(size=(2, 80, 16)).astype(np.float32)
    scores, face = rng.random(80), np.arange(80)
    face[7] = -1
    members = Membership(rng.integers(0, 9, 80), face, rng.integers(0, 3, 80), 10)
    seen = set()
    for pooling, made in enrol_every(vectors, members, flipped=flipped, detector_scores=scores):
        one = enrol(vectors, members, pooling, flipped=flipped, detector_scores=scores)
        np.testing.assert_allclose(made.vectors, one.vectors, atol=2e-6)
        assert made.enrolled.tolist() == one.enrolled.tolist()
        assert made.skipped == one.skipped
        seen.add(pooling)
    assert len(seen) == 36


@pytest.mark.parametrize("task", ["ijb/test4", "ijb/test6", "ijb/test7", "ijb/test8"])
def test_searches_detections_and_clusterings_are_explained_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], task: str
) -> None:
    mini = Path(__file__).parents[2] / "golden" / "cases" / "ijb" / "mini_ijbb"
    answers = {"ijb/test6": "detections", "ijb/test7": "clusters_40", "ijb/test8": "detection_clusters"}
    run = run_of(mini, tmp_path, task, answers=mini / f"{answers[task]}.csv" if task in answers else mini)
    capsys.readouterr()
    assert main(["explain", run, "--target", "0.9", "--most", "1000000", "--json"]) == 0
    table: Any = json.loads(capsys.readouterr().out)["blocks"][1]
    combinations = {(row[3], row[4]) for row in table["rows"]}
    assert len(combinations) > {"ijb/test4": 287, "ijb/test6": 11, "ijb/test7": 1, "ijb/test8": 8}[task]
    assert all(row[5] for row in table["rows"])
    assert all(re.fullmatch(r"-?\d\.\d{6}", row[1]) for row in table["rows"])
    if task != "ijb/test4":
        assert any("default" in row[5] for row in table["rows"])
    distances = [abs(float(row[2])) for row in table["rows"]]
    assert distances == sorted(distances)
    assert main(["explain", run]) == 0
    assert "under every combination" in " ".join(capsys.readouterr().out.split())


def test_a_run_whose_files_are_gone_says_so(
    synthetic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_of(synthetic, tmp_path)
    manifest = Path(run) / "run.json"
    manifest.write_text(manifest.read_text().replace("embeddings.npy", "elsewhere.npy"))
    assert main(["explain", run, "--target", "0.9"]) != 0
    assert "--predictions" in capsys.readouterr().err
    assert main(["explain", run, "--target", "0.9", "--predictions", str(synthetic)]) == 0
