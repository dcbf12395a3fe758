"""Nodes and drivers that are killed in the middle: the same numbers, and nothing finished is done again."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import surviving
from cluster import Cluster

from evenhand import engines
from evenhand.core.engine import finished
from evenhand.core.errors import PartError
from evenhand.run import evaluate
from evenhand.store.runs import results_json

pytestmark = pytest.mark.ray


def test_a_node_that_is_killed_in_the_middle_changes_nothing(cluster: Cluster, tmp_path: Path):
    (lost,) = cluster.add_nodes(1)
    parts = [surviving.Part(number, tmp_path / "done") for number in range(18)]
    (tmp_path / "done").mkdir()
    engine = engines.parse("ray:3")
    found = []
    for outcome in finished(engine.map(surviving.slow_product, parts, shared=[np.arange(100.0)])):
        found.append(outcome)
        if len(found) == 6:
            cluster.kill(lost)
    assert found == list(finished(engines.parse("serial").map(surviving.product, parts, shared=[np.arange(100.0)])))
    nodes = {path.read_text() for path in (tmp_path / "done").iterdir()}
    assert len(nodes) > 1


def test_a_poisoned_part_is_reported_and_the_next_start_computes_only_it(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("evenhand.run.evaluation.code_facts", lambda functions: {})
    task, done = surviving.task(tmp_path, poisoned=3), tmp_path / "done"
    engine = engines.parse("ray")
    with pytest.raises(PartError, match=r"part 3: ValueError: poisoned.*7 finished parts are kept"):
        evaluate(task, tmp_path / "none", tmp_path, engine=engine, runs=tmp_path / "runs", draws=0, permutations=0)
    assert surviving.computed(done) == [0, 1, 2, 3, 4, 5, 6, 7]
    (tmp_path / "antidote").touch()
    run = evaluate(task, tmp_path / "none", tmp_path, engine=engine, runs=tmp_path / "runs", draws=0, permutations=0)
    assert surviving.computed(done) == [0, 1, 2, 3, 3, 4, 5, 6, 7]
    serial = evaluate(task, tmp_path / "none", tmp_path, draws=0, permutations=0)
    assert results_json(run.results) == results_json(serial.results)


@pytest.mark.parametrize("rows", ["all", "none"])
def test_a_driver_that_is_killed_and_started_again_does_not_redo_finished_parts(
    cluster: Cluster, tmp_path: Path, rows: str
):
    surviving.task(tmp_path)
    command = [sys.executable, str(Path(surviving.__file__)), str(tmp_path), rows]
    environment = {**cluster.environment, "RAY_ADDRESS": cluster.address}
    first = subprocess.Popen(command, env={**environment, "SLOW": "0.4"}, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 180
    while len(surviving.kept(tmp_path / "runs")) < 3 and time.monotonic() < deadline and first.poll() is None:
        time.sleep(0.05)
    first.send_signal(signal.SIGKILL)
    first.wait()
    kept = surviving.kept(tmp_path / "runs")
    assert 3 <= len(kept) < 8
    before = surviving.computed(tmp_path / "done")
    again = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert again.returncode == 0, again.stderr
    after = surviving.computed(tmp_path / "done")
    assert [part for part in kept if after.count(part) != before.count(part)] == []
    serial = evaluate(surviving.task(tmp_path), tmp_path / "none", tmp_path, draws=0, permutations=0)
    assert again.stdout.encode() == results_json(serial.results)
