"""Clusters that are not as they should be: other versions, no memory. Each is started for one test."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from cluster import WORK, Cluster

pytestmark = [pytest.mark.ray, pytest.mark.slow]


@contextmanager
def started(**settings: str) -> Iterator[Cluster]:
    made = Cluster(1, **settings)
    try:
        yield made
    finally:
        for host in list(made.nodes):
            made.kill(host)
        shutil.rmtree(made.folder, ignore_errors=True)


def driver(cluster: Cluster, program: str) -> subprocess.CompletedProcess[str]:
    """A program of its own that uses the cluster, with the versions of this environment."""
    environment = {**cluster.environment, "RAY_ADDRESS": cluster.address}
    environment["PYTHONPATH"] = os.pathsep.join(str(path) for path in WORK)
    return subprocess.run(
        [sys.executable, "-c", program], env=environment, capture_output=True, text=True, timeout=300, check=False
    )


def test_a_cluster_with_another_version_of_the_package_is_refused_before_anything_is_computed(tmp_path: Path):
    other = tmp_path / "evenhand-0.0.1.dist-info"
    other.mkdir()
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: evenhand\nVersion: 0.0.1\n")
    path = os.pathsep.join(str(folder) for folder in (tmp_path, *WORK))
    with started(PYTHONPATH=path) as cluster:
        said = driver(
            cluster, "import parts; from evenhand.engines import parse; list(parse('ray').map(parts.square, [1]))"
        )
    last = said.stderr.strip().splitlines()[-1]
    assert "EngineError" in last
    assert "and 0.0.1 there" in last
    assert "evenhand" in last


def test_workers_that_the_cluster_ends_for_their_memory_are_told_with_what_to_do():
    # The threshold is below what every process already takes, so that the monitor ends whatever works.
    with started(RAY_memory_usage_threshold="0.001", RAY_memory_monitor_refresh_ms="50") as cluster:
        said = driver(
            cluster, "import parts; from evenhand.engines import parse; list(parse('ray').map(parts.square, [1]))"
        )
    last = said.stderr.strip().splitlines()[-1]
    assert "PartError: Workers of the cluster end before they are ready: it ran out of memory" in last
    assert "smaller parts, fewer workers per machine, or more memory" in last
