"""Tests 7 and 8: clusters of faces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.baseline import cluster_detections, cluster_faces, cluster_submission
from evenhand.benchmarks.ijb.cluster_reports import report_association, report_clusters
from evenhand.core.errors import DataError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.run import evaluate

CLUSTERS = ("TEMPLATE_ID", "FILENAME", "CLUSTER_INDEX", "CONFIDENCE")
TRUTH = ("TEMPLATE_ID", "SUBJECT_ID", "FILENAME")
BOX = ("FACE_X", "FACE_Y", "FACE_WIDTH", "FACE_HEIGHT")


def clusters(tmp_path: Path, official: Any, rows: list[tuple[object, ...]]) -> Path:
    return official.write(tmp_path / "clusters.csv", [CLUSTERS, *rows])


def truth(tmp_path: Path, official: Any, people: list[int]) -> Path:
    rows = [(number, person, f"img/{number}.jpg") for number, person in enumerate(people)]
    return official.write(tmp_path / "truth.csv", [TRUTH, *rows])


def test_templates_without_a_line_are_no_events_of_the_file(tmp_path: Path, official: Any) -> None:
    found = report_clusters(
        clusters(tmp_path, official, [(0, "img/0.jpg", 4, 1), (1, "img/1.jpg", 4, 1)]),
        truth(tmp_path, official, [7, 7, 7]),
    )
    assert (found.precision, found.recall, found.n_events) == (1.0, 1.0, 2)


def test_only_failures_are_zero_or_undefined_without_them(tmp_path: Path, official: Any) -> None:
    files = clusters(tmp_path, official, [(0, "img/0.jpg", -1, 1)]), truth(tmp_path, official, [7])
    assert report_clusters(*files).f == 0.0
    assert isinstance(report_clusters(*files, no_fte=True).precision, Undefined)


@pytest.mark.parametrize(
    ("rows", "mentions"),
    [
        ([(0, "img/0.jpg", 1, 1), (0, "img/0.jpg", 2, 1)], "line 3: template 0 is there twice"),
        ([(5, "img/5.jpg", 1, 1)], "line 2: template 5 is not in"),
        ([(0, "img/9.jpg", 1, 1)], "column FILENAME"),
        ([(0, "img/0.jpg", -2, 1)], "column CLUSTER_INDEX"),
        ([(0, "img/0.jpg", "x", 1)], "line 2, column CLUSTER_INDEX"),
    ],
)
def test_malformed_cluster_files_are_named_by_line(
    tmp_path: Path, official: Any, rows: list[tuple[object, ...]], mentions: str
) -> None:
    with pytest.raises(PredictionError, match=mentions):
        report_clusters(clusters(tmp_path, official, rows), truth(tmp_path, official, [7]))


def test_a_listed_template_without_a_line_is_a_failure_to_enrol(tmp_path: Path, official: Any) -> None:
    place = tmp_path / "protocol" / "cluster" / "test7"
    official.write(place / "x_clustering_ground_truth.csv", [TRUTH, (1, 7, "a"), (2, 7, "b"), (3, 8, "c")])
    official.write(place / "x_clustering_1_hint_10.csv", [("TEMPLATE_ID", "FILENAME"), (1, "a"), (2, "b")])
    path = clusters(tmp_path, official, [(1, "a", 0, 1)])
    task = benchmark.find("ijb/clustering")
    results = evaluate(task, path, tmp_path, draws=0, permutations=0).results
    assert results.get("BCubed", "recall").value == 0.25
    assert results.get("BCubed without FTE", "recall").value == 1.0
    assert results.get("faces", "failures to enrol").value == 1
    assert results.coverage.missing == 1
    assert results.facts["hint"] == 10
    with pytest.raises(DataError, match="no clustering of 5 subjects"):
        evaluate(task, path, tmp_path, options={"subjects": 5}, draws=0, permutations=0)
    clusters(tmp_path, official, [(3, "c", 0, 1)])
    with pytest.raises(PredictionError, match="does not belong"):
        evaluate(task, path, tmp_path, draws=0, permutations=0)


def test_surplus_detections_of_a_face_are_background(tmp_path: Path, official: Any) -> None:
    faces = official.write(tmp_path / "t.csv", [("SUBJECT_ID", "FILENAME", *BOX), (7, "a", 0, 0, 10, 10)])
    rows = [(1, "a", 3, 1, 0, 0, 10, 10), (2, "a", 3, 1, 1, 0, 10, 10), (3, "b", 3, 1, 0, 0, 10, 10)]
    found = report_association(official.write(tmp_path / "d.csv", [(*CLUSTERS, *BOX), *rows]), faces)
    assert found.association == ((0, 0),)
    assert (found.n_background, found.precision, found.recall) == (2, 1 / 3, 1.0)


def test_the_baseline_separates_people_that_are_far_apart() -> None:
    rng = np.random.default_rng(2)
    vectors = (np.repeat(np.eye(6, 16), 8, axis=0) + rng.normal(size=(48, 16)) * 0.05).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    enrolled = np.ones(48, np.bool_)
    enrolled[5] = False
    found = cluster_faces(vectors, enrolled, hint=10)
    assert found.failures == 1
    people = np.repeat(np.arange(6), 8)
    assert all(len(set(people[found.cluster == cluster])) == 1 for cluster in set(found.cluster) - {-1})
    assert found.clusters <= 10


def test_the_baseline_writes_a_file_that_can_be_evaluated(folder: Path, official: Any) -> None:
    place = folder / "protocol" / "cluster" / "test7"
    people = [50 + number // 3 for number in range(12)]
    rows = [(100 + number, person, f"img/{number}.jpg") for number, person in enumerate(people)]
    official.write(place / "tiny_clustering_ground_truth.csv", [TRUTH, *rows])
    inputs = [(template, name, *official.place[:4]) for template, _, name in rows]
    official.write(place / "tiny_clustering_4_hint_10.csv", [("TEMPLATE_ID", "FILENAME", *BOX), *inputs])
    found = cluster_submission(folder, folder, folder / "out" / "clusters.csv")
    assert (found.faces, found.failures, found.hint) == (12, 0, 10)
    task = benchmark.find("ijb/test7")
    results = evaluate(task, folder / "out" / "clusters.csv", folder, draws=0, permutations=0).results
    assert results.get("BCubed", "precision").value == 1.0


def test_the_baseline_clusters_detections_into_a_file_of_test_8(tmp_path: Path, official: Any) -> None:
    place = tmp_path / "protocol" / "cluster" / "test8"
    rng = np.random.default_rng(4)
    boxes = [(10.0 + 100 * (number % 2), 20.0, 40.0, 50.0) for number in range(12)]
    files = [f"img/{number // 2}.jpg" for number in range(12)]
    rows = [(1 + number % 3, name, *box) for number, (name, box) in enumerate(zip(files, boxes, strict=True))]
    official.write(place / "tiny_detection_clustering_ground_truth.csv", [("SUBJECT_ID", "FILENAME", *BOX), *rows])
    listed = [("FILENAME",), *((name,) for name in sorted(set(files)))]
    official.write(place / "tiny_detection_clustering_hint_100000.csv", listed)
    found = [(name, *box, 0.9) for name, box in zip(files, boxes, strict=True)]
    official.write(tmp_path / "sub" / "detections.csv", [("FILENAME", *BOX, "CONFIDENCE"), *found])
    vectors = np.eye(3, 8)[np.arange(12) % 3] + rng.normal(size=(12, 8)) * 0.02
    vectors[11] = 0.0
    np.save(tmp_path / "sub" / "detection_embeddings.npy", vectors.astype(np.float32))
    made = cluster_detections(tmp_path / "sub", tmp_path, tmp_path / "out.csv", threshold=0.5)
    assert (made.faces, made.clusters, made.failures, made.threshold) == (12, 3, 1, 0.5)
    task = benchmark.find("ijb/test8")
    results = evaluate(task, tmp_path / "out.csv", tmp_path, draws=0, permutations=0).results
    assert results.get("BCubed without FTE", "F").value == 1.0
    assert results.get("BCubed", "precision").value == pytest.approx(11 / 12)
    np.save(tmp_path / "sub" / "detection_embeddings.npy", vectors[:3].astype(np.float32))
    with pytest.raises(PredictionError, match=r"3 rows, but .* lists 12 detections"):
        cluster_detections(tmp_path / "sub", tmp_path, tmp_path / "out.csv")


def test_the_hint_bounds_the_number_of_clusters_and_a_threshold_takes_its_place() -> None:
    rng = np.random.default_rng(5)
    vectors = (np.repeat(np.eye(9, 16), 5, axis=0) + rng.normal(size=(45, 16)) * 0.02).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    everyone = np.ones(45, np.bool_)
    assert cluster_faces(vectors, everyone, hint=20).clusters <= 20
    assert cluster_faces(vectors, everyone, hint=20, threshold=0.9).clusters == 9
    assert cluster_faces(vectors, everyone, hint=20, threshold=1.0).clusters > 20
