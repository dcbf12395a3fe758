"""A command that is killed while it writes leaves the previous files or the new ones, and the next one cleans up.

`evaluate` and `predict` are killed in tests/run/test_survival.py.
"""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import evenhand as eh

KILLS = 20
EVENHAND = str(Path(sys.executable).with_name("evenhand"))


def outputs(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def check(command: list[str], folder: Path, kills: int) -> None:
    """Kill a command that writes below a folder at so many moments, over old outputs."""
    started = time.monotonic()
    subprocess.run(command, check=True, capture_output=True)
    took = time.monotonic() - started
    new = outputs(folder)
    assert new
    for path in folder.rglob("*"):
        if path.is_file():
            path.write_bytes(b"the previous one")
    rng, deaths = random.Random(1), 0
    for _ in range(kills):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(took * rng.uniform(0.4, 1.05))
        process.send_signal(signal.SIGKILL)
        was_killed = process.wait() == -signal.SIGKILL
        deaths += was_killed
        took *= 1.0 if was_killed else 0.9  # the machine is quicker than it was at first
        for name, content in outputs(folder).items():
            if ".partial" not in name:
                assert content in (b"the previous one", new[name]), name
    assert deaths > kills / 4
    subprocess.run(command, check=True, capture_output=True)
    assert outputs(folder) == new


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
