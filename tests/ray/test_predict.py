"""A real network in actors: loaded once, its answers in shards, nothing lost when the driver is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import pictures
import pytest
from cluster import Cluster

from evenhand.core.errors import OptionError
from evenhand.engines import parse
from evenhand.models.batched import Batched
from evenhand.run import predict
from evenhand.run.inference import AT_ONCE
from evenhand.run.prediction import CHUNK_OF_A_CLUSTER
from evenhand.store.journal import asked_before, read_journal
from evenhand.store.manifest import read_manifest

pytestmark = pytest.mark.ray


def test_a_network_on_a_cluster_says_what_it_says_here_and_how_long_it_waited(cluster: Cluster, tmp_path: Path):
    pictures.write_pictures(tmp_path / "pictures", 100)
    there = pictures.run(tmp_path, "ray", workers=2)
    assert there.answered == 100
    assert there.utilisation is not None
    assert 0 < there.utilisation <= 1
    assert read_manifest(there.folder).engine == "ray:2"
    assert set(read_manifest(there.folder).clock.seconds) == {"model working", "model waiting"}
    here = predict(pictures.QUESTION, pictures.FaceCounter, tmp_path / "pictures", runs=tmp_path / "here")
    assert there.file.read_bytes() == here.file.read_bytes()
    assert "[0." in here.file.read_text()  # it does find faces


def test_a_driver_that_is_killed_while_it_asks_loses_nothing_that_was_answered(cluster: Cluster, tmp_path: Path):
    pictures.write_pictures(tmp_path / "pictures", 1200)
    command = [sys.executable, str(Path(pictures.__file__)), str(tmp_path)]
    environment = {**cluster.environment, "RAY_ADDRESS": cluster.address}
    first = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 180
    while len(list((tmp_path / "runs").rglob("shard-*.msgpack"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    first.send_signal(signal.SIGKILL)
    first.wait()
    (journal,) = (tmp_path / "runs").rglob("journal")
    answered, asked = read_journal(journal), asked_before(journal)
    assert 0 < len(answered) < 1200
    outcome = pictures.run(tmp_path, "ray", resume=True)
    assert outcome.answered == 1200
    assert outcome.asked_now == 1200 - len(answered)
    assert set(outcome.asked_again) == asked - set(answered)
    assert len(outcome.asked_again) <= CHUNK_OF_A_CLUSTER * 2 * max(4, 2 * AT_ONCE)  # the chunks on their way


def test_gpus_are_dealt_out_by_clusters_only(tmp_path: Path):
    (tmp_path / "pictures").mkdir()
    with pytest.raises(OptionError, match="--engine ray"):
        predict(
            pictures.QUESTION,
            pictures.FaceCounter,
            tmp_path / "pictures",
            runs=tmp_path,
            engine=parse("threads:2"),
            gpus_per_worker=1,
        )


def test_a_picture_that_cannot_be_decoded_is_unanswered_with_the_reason(tmp_path: Path):
    pictures.write_pictures(tmp_path / "pictures", 3)
    (tmp_path / "pictures" / "000001.jpg").write_bytes(b"no picture")
    outcome = predict(pictures.QUESTION, pictures.FaceCounter, tmp_path / "pictures", runs=tmp_path / "runs")
    assert outcome.answered == 2
    assert list(outcome.unanswered) == ["000001.jpg"]
    assert "UnidentifiedImageError" in outcome.unanswered["000001.jpg"]


def test_decoding_runs_ahead_of_the_network(tmp_path: Path):
    class Slow(Batched):
        name, batch = "slow", 2
        decoded = 0
        seen: list[int] = []  # noqa: RUF012

        def decode(self, sample):
            Slow.decoded += 1

        def infer(self, samples, decoded):
            deadline = time.monotonic() + 30
            while not Slow.seen and Slow.decoded < 4 and time.monotonic() < deadline:
                time.sleep(0.01)
            Slow.seen.append(Slow.decoded)
            return [1.0 for _ in samples]

    pictures.write_pictures(tmp_path / "pictures", 12)
    predict(pictures.QUESTION, Slow, tmp_path / "pictures", runs=tmp_path / "runs")
    assert Slow.seen[0] >= 4  # while the first two were with the network
