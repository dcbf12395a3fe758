"""Runs that are killed, at any moment, and started again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tiny

from evenhand.run import evaluate, find_model, predict

DRIVE = Path(__file__).parent / "drive.py"
SLOWLY = ("trouble=slow", "size=20")


def start(*arguments: object, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(DRIVE), *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, **environment},
    )


def finish(process: subprocess.Popen[str]) -> str:
    out, problem = process.communicate(timeout=600)
    assert process.returncode == 0, problem
    return out.strip()


def content(runs: Path) -> dict[str, bytes]:
    """Every file below a folder of runs, `run.json` without its clock; hidden folders are not runs."""
    found = {}
    for path in sorted(runs.rglob("*")):
        name = path.relative_to(runs)
        if path.is_file() and not any(part.startswith(".") for part in name.parts[:-1]):
            found[name.as_posix()] = path.read_bytes()
            if path.name == "run.json":
                plain = json.loads(path.read_bytes())
                del plain["clock"]
                found[name.as_posix()] = json.dumps(plain).encode()
    return found


def evaluated(data: Path, predictions: Path, runs: Path, **options: object) -> dict[str, bytes]:
    """What an undisturbed evaluation in this process leaves."""
    draws = int(options.pop("draws", 50))
    evaluate(tiny.task, predictions, data, runs=runs, options=options, draws=draws, permutations=draws)
    return content(runs)


def unfinished(runs: Path) -> list[str]:
    return [path.name for path in runs.rglob(".*") if path.is_dir() and path.name != ".cache"]


def killed_at_moments(command: tuple[object, ...], runs: Path, whole: float, moments: int, seed: int) -> int:
    """Kill the command at so many moments, each drawn from how long it takes; how many were really killed."""
    rng = np.random.default_rng(seed)
    deaths = 0
    for _ in range(moments):
        process = start(*command)
        time.sleep(float(rng.uniform(0.3, 1.0)) * whole)
        process.send_signal(signal.SIGKILL)
        process.communicate()
        deaths += process.returncode == -signal.SIGKILL
        assert_nothing_half(runs)
    return deaths


def assert_nothing_half(runs: Path) -> None:
    for manifest in runs.rglob("run.json"):
        if not any(part.startswith(".") for part in manifest.relative_to(runs).parts):
            json.loads(manifest.read_bytes())
            kind = json.loads(manifest.read_bytes())["kind"]
            needed = "results.json" if kind == "evaluation" else "predictions/scores.json"
            assert (manifest.parent / needed).exists()


@pytest.mark.parametrize("moments", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_an_evaluation_that_is_killed_ends_in_the_same_bytes(
    tmp_path: Path, tiny_data: tuple[Path, Path], moments: int
):
    data, predictions = tiny_data
    calm, rough = tmp_path / "calm", tmp_path / "rough"
    begin = time.monotonic()
    finish(start("evaluate", data, predictions, calm, *SLOWLY))
    whole = time.monotonic() - begin
    command = ("evaluate", data, predictions, rough, *SLOWLY)
    killed_at_moments(command, rough, whole, moments, seed=1)
    assert evaluated(data, predictions, rough, trouble="slow", size=20) == content(calm)
    assert unfinished(rough) == []


@pytest.mark.parametrize("step", [30, *[pytest.param(step, marks=pytest.mark.slow) for step in range(1, 100, 3)]])
def test_an_evaluation_that_dies_at_any_step_of_writing_ends_in_the_same_bytes(
    tmp_path: Path, tiny_data: tuple[Path, Path], step: int
):
    data, predictions = tiny_data
    command = ("evaluate", data, predictions, tmp_path / "rough", "size=50", "draws=0")
    process = start(*command, DIE_AT=str(step))
    process.communicate()
    assert_nothing_half(tmp_path / "rough")
    after = evaluated(data, predictions, tmp_path / "rough", size=50, draws=0)
    assert after == evaluated(data, predictions, tmp_path / "calm", size=50, draws=0)
    assert unfinished(tmp_path / "rough") == []


def test_finished_parts_are_not_computed_again(
    tmp_path: Path, tiny_data: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    data, predictions = tiny_data
    command = ("evaluate", data, predictions, tmp_path / "runs", "trouble=raise", "draws=0")
    log = tmp_path / "log"
    process = start(*command, TINY_LOG=str(log))
    _, problem = process.communicate()
    assert process.returncode == 3
    assert "part 2: ValueError: the picture 0117.jpg is damaged" in problem
    assert "7 finished parts are kept" in problem
    assert log.read_text().split() == list("01234567")
    log.unlink()
    monkeypatch.setenv("TINY_LOG", str(log))
    monkeypatch.setenv("TINY_HEALED", "1")
    evaluated(data, predictions, tmp_path / "runs", trouble="raise", draws=0)
    assert log.read_text().split() == ["2"]


def test_a_worker_killed_by_the_system_is_told_by_its_part_and_the_others_are_kept(
    tmp_path: Path, tiny_data: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
):
    data, predictions = tiny_data
    command = ("evaluate", data, predictions, tmp_path / "runs", "trouble=kill", "engine=processes:2", "draws=0")
    process = start(*command)
    _, problem = process.communicate()
    assert process.returncode == 3
    assert "part 2: its worker process was lost (ended by SIGKILL" in problem
    assert "7 finished parts are kept" in problem
    monkeypatch.setenv("TINY_HEALED", "1")
    after = evaluated(data, predictions, tmp_path / "runs", trouble="kill", draws=0)
    assert after == evaluated(data, predictions, tmp_path / "calm", trouble="kill", draws=0)


def test_workers_end_with_a_driver_that_is_killed(tmp_path: Path, tiny_data: tuple[Path, Path]):
    data, predictions = tiny_data
    log = tmp_path / "log"
    process = start(
        "evaluate", data, predictions, tmp_path / "runs", "trouble=hang", "engine=processes:2", "draws=0",
        TINY_LOG=str(log), TINY_PIDS=str(tmp_path / "pids"),
    )  # fmt: skip
    pids = tmp_path / "pids"
    while not (pids.exists() and pids.read_text().strip()):
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.kill()
    process.communicate()
    worker = int(pids.read_text().split()[0])
    for _ in range(500):
        if not is_running(worker):
            return
        time.sleep(0.02)
    raise AssertionError("the worker outlives its driver")


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def test_two_processes_that_evaluate_the_same_at_the_same_moment_end_well_with_one_result(
    tmp_path: Path, tiny_data: tuple[Path, Path]
):
    data, predictions = tiny_data
    command = ("evaluate", data, predictions, tmp_path / "runs", *SLOWLY)
    first, second = start(*command), start(*command)
    assert finish(first) == finish(second)
    calm = evaluated(data, predictions, tmp_path / "calm", trouble="slow", size=20)
    assert content(tmp_path / "runs") == calm
    assert unfinished(tmp_path / "runs") == []


MODEL = """
import os, time

class Slow:
    name = "slow"

    def predict(self, samples):
        batch = []
        for sample in samples:
            with open(os.environ["ASKED"], "a") as file:
                file.write(sample.id + "\\n")
            time.sleep(0.004)
            batch.append(sample)
            if len(batch) == 8:
                yield from self.answer(batch)
                batch = []
        yield from self.answer(batch)

    def answer(self, batch):
        return [(sample.id, int(sample.id[:5]) * 37 % 100 / 100) for sample in reversed(batch)]
"""


@pytest.mark.parametrize("moments", [3, pytest.param(20, marks=pytest.mark.slow)])
def test_predictions_that_are_killed_end_in_the_same_bytes_and_ask_little_again(
    tmp_path: Path, tiny_data: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch, moments: int
):
    data, _ = tiny_data
    (tmp_path / "model.py").write_text(MODEL)
    model = f"{tmp_path / 'model.py'}:Slow"
    asked = tmp_path / "asked"
    begin = time.monotonic()
    finish(start("predict", data, model, tmp_path / "calm", ASKED=str(tmp_path / "calmly")))
    whole = time.monotonic() - begin
    rng = np.random.default_rng(moments)
    for _ in range(moments):
        process = start("predict", data, model, tmp_path / "rough", ASKED=str(asked))
        time.sleep(float(rng.uniform(0.4, 1.0)) * whole)
        process.kill()
        process.communicate()
        assert_nothing_half(tmp_path / "rough")
    monkeypatch.setenv("ASKED", str(asked))
    outcome = predict(tiny.task, find_model(model), data, runs=tmp_path / "rough", resume=True)
    assert (outcome.answered, outcome.unanswered) == (400, {})
    calm, rough = content(tmp_path / "calm"), content(tmp_path / "rough")
    without_journal = [name for name in calm if "/journal/" not in name]
    assert {name: rough[name] for name in without_journal} == {name: calm[name] for name in without_journal}
    again = len(asked.read_text().split()) - 400
    assert again <= moments * (256 + 8)  # at most one open shard and one batch of the model per death


@pytest.mark.slow
@pytest.mark.parametrize("step", range(1, 40, 4))
def test_predictions_that_die_at_any_step_of_writing_end_in_the_same_bytes(
    tmp_path: Path, tiny_data: tuple[Path, Path], step: int
):
    data, _ = tiny_data
    (tmp_path / "model.py").write_text("def half(sample):\n    return int(sample.id[:5]) / 1000\n")
    model = f"{tmp_path / 'model.py'}:half"
    start("predict", data, model, tmp_path / "rough", DIE_AT=str(step)).communicate()
    assert_nothing_half(tmp_path / "rough")
    rough = predict(tiny.task, find_model(model), data, runs=tmp_path / "rough", resume=True)
    calm = predict(tiny.task, find_model(model), data, runs=tmp_path / "calm")
    assert rough.answered == calm.answered == 400
    assert rough.file.read_bytes() == calm.file.read_bytes()
    assert unfinished(tmp_path / "rough") == []
