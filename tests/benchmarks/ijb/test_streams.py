"""Score files that are read in blocks give what sorting all scores gives, in little memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.ijb import streams
from evenhand.benchmarks.ijb.streams import report_stream
from evenhand.core.errors import PredictionError
from evenhand.metrics.operating_points import Convention, SortedScores, area_under_roc, equal_error_rate, rates_at

RATES = (1e-6, 1e-4, 1e-2, 1e-1)
MEASURED = """
import re, sys
from pathlib import Path
from evenhand.cli.main import main
code = main(sys.argv[1:])
print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
sys.exit(code)
"""  # not `ru_maxrss`: a process takes that over from the one that started it


def write_shards(folder: Path, shards: int, size: int) -> list[tuple[Path, Path]]:
    """Made-up scores, one in five thousand of them genuine."""
    listed = []
    for number in range(shards):
        rng = np.random.default_rng(number)
        score = rng.standard_normal(size, dtype=np.float32)
        label = np.zeros(size, dtype=np.int8)
        label[: size // 5000] = 1
        score[: size // 5000] += np.float32(4)
        files = folder / f"scores_{number}.npy", folder / f"labels_{number}.npy"
        for path, column in zip(files, (score, label), strict=True):
            np.save(path, column)
        listed.append(files)
    return listed


def assert_equal_to_sorting(report: dict[str, Any], shards: list[tuple[Path, Path]], convention: Convention) -> None:
    scores, labels = (np.concatenate([np.load(pair[side]) for pair in shards]) for side in (0, 1))
    genuine, impostor = SortedScores.of_own(scores[labels == 1]), SortedScores.of_own(scores[labels == 0])
    assert (report["genuine"], report["impostor"]) == (len(genuine.scores), len(impostor.scores))
    for entry, reading in zip(report["tar_at_far"], rates_at(genuine, impostor, RATES, convention), strict=True):
        assert (entry["tar"], entry["fmr"], entry["threshold"]) == (reading.tar, reading.fmr, reading.threshold)
    assert report["auc"] == area_under_roc(genuine, impostor)
    assert report["eer"] == equal_error_rate(genuine, impostor)


@pytest.mark.parametrize("convention", list(Convention))
def test_a_stream_in_blocks_is_read_as_all_scores_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, convention: Convention
) -> None:
    monkeypatch.setattr(streams, "_AT_ONCE", 7_000)
    shards = write_shards(tmp_path, 3, 20_000)
    assert_equal_to_sorting(report_stream(shards, RATES, convention), shards, convention)


def test_files_that_can_not_be_mapped_are_streamed_too(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, 1, 20_000)
    np.savez(tmp_path / "scores.npz", np.load(shards[0][0]))
    assert report_stream([(tmp_path / "scores.npz", shards[0][1])], RATES) == report_stream(shards, RATES)


def test_labels_may_be_true_and_false(tmp_path: Path) -> None:
    shards = write_shards(tmp_path, 1, 20_000)
    np.save(tmp_path / "same.npy", np.load(shards[0][1]).astype(np.bool_))
    assert report_stream([(shards[0][0], tmp_path / "same.npy")], RATES) == report_stream(shards, RATES)
    with pytest.raises(PredictionError, match="one number per comparison"):
        report_stream([(tmp_path / "same.npy", shards[0][1])], RATES)


def test_what_can_not_be_counted_is_named_by_file_and_entry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_AT_ONCE", 100)
    ((scores, labels),) = write_shards(tmp_path, 1, 1000)
    label = np.load(labels)
    label[456] = 2
    np.save(labels, label)
    with pytest.raises(PredictionError, match=r"scores_0\.npy, entry 456: a score that is no number, or a label but"):
        report_stream([(scores, labels)], RATES)


def streamed_by_command(shards: list[tuple[Path, Path]], convention: Convention) -> tuple[dict[str, Any], float]:
    """What the command says, and how many megabytes it took at most, in a process of its own."""
    files = [str(path) for pair in shards for path in pair]
    rates = ",".join(f"{rate:g}" for rate in RATES)
    command = ["ijb", "stream", *files, "--far", rates, "--convention", convention.value, "--json"]
    done = subprocess.run([sys.executable, "-c", MEASURED, *command], capture_output=True, text=True, check=True)
    return json.loads(done.stdout), float(done.stderr.split()[-1]) / 1024


@pytest.mark.slow
@pytest.mark.parametrize("convention", [Convention.EXACT, Convention.NEAREST])
def test_a_hundred_million_scores_are_read_exactly_in_less_than_500_mb(tmp_path: Path, convention: Convention) -> None:
    shards = write_shards(tmp_path, 10, 10_000_000)
    report, megabytes = streamed_by_command(shards, convention)
    assert megabytes < 500
    assert_equal_to_sorting(report, shards, convention)
