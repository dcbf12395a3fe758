"""Tests 7 and 8: clusters of faces."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.baseline import cluster_detections, cluster_faces, cluster_submission
from evenhand.benchmarks.ijb.cluster_reports import report_association, report_clusters
from evenhand.cli.main import main
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


def test_the_truth_of_test_8_is_found_in_the_metadata(tmp_path: Path, official: Any) -> None:
    place = tmp_path / "protocol" / "cluster" / "test8"
    faces = [(1 + number % 3, f"img/{number // 2}.jpg", 10 + 100 * (number % 2), 20, 40, 50) for number in range(12)]
    path = official.write(place / "x_detection_clustering_ground_truth.csv", [("SUBJECT_ID", "FILENAME", *BOX), *faces])
    beyond = (9, "img/other.jpg", 1, 2, 3, 4)
    people = [(*METADATA[:6], "GENDER"), *((*face, face[0] % 2) for face in (*faces, faces[0], beyond))]
    metadata = tmp_path / "protocol" / "x_metadata.csv"
    official.write(metadata, people)
    answers = [(number, name, number % 2, 0.9, *box) for number, (_, name, *box) in enumerate(faces)]
    submission = official.write(tmp_path / "d.csv", [(*CLUSTERS, *BOX), *answers])
    listed = place / "x_detection_clustering_hint_10.csv"
    official.write(listed, [("FILENAME",), *((f"img/{number}.jpg",) for number in range(6))])

    def values() -> Any:
        results = evaluate(benchmark.find("ijb/test8"), submission, tmp_path, draws=0, permutations=0).results
        return {(one.metric, one.output, one.group): one.value for one in results.estimates}

    expected = values()
    path.unlink()
    assert values() == expected
    official.write(metadata, [people[0], *((*row[:2], "", *row[3:]) for row in people[1:])])
    with pytest.raises(DataError, match=r"x_metadata\.csv, line 2: subject 1 has no box in img/0\.jpg"):
        values()
    official.write(metadata, [("SUBJECT_ID", "FILENAME", "GENDER"), (1, "img/0.jpg", 1)])
    with pytest.raises(DataError, match=r"can't serve as ground truth of test 8: it has no column FACE_X"):
        values()
    listed.unlink()
    with pytest.raises(DataError, match="serves instead once the list of media is there, too"):
        values()


def test_the_hint_bounds_the_number_of_clusters_and_a_threshold_takes_its_place() -> None:
    rng = np.random.default_rng(5)
    vectors = (np.repeat(np.eye(9, 16), 5, axis=0) + rng.normal(size=(45, 16)) * 0.02).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    everyone = np.ones(45, np.bool_)
    assert cluster_faces(vectors, everyone, hint=20).clusters <= 20
    assert cluster_faces(vectors, everyone, hint=20, threshold=0.9).clusters == 9
    assert cluster_faces(vectors, everyone, hint=20, threshold=1.0).clusters > 20


LISTED = ("TEMPLATE_ID", "FILENAME", *BOX)
SHARED = ("img/1.jpg", 10, 20, 30, 40)  # a box that was given to two people
METADATA = ("SUBJECT_ID", "FILENAME", *BOX, "GENDER")


def derived(tmp_path: Path, official: Any, lists: dict[int, list[tuple[object, ...]]], metadata: list[Any]) -> Any:
    """The truth of test 7 that is found in a metadata file."""
    truth = loaded(tmp_path, official, lists, metadata).truth
    return dict(zip(truth.template.tolist(), truth.subject.tolist(), strict=True))


def loaded(
    tmp_path: Path,
    official: Any,
    lists: dict[int, list[tuple[object, ...]]],
    metadata: list[Any],
    header: tuple[str, ...] = LISTED,
) -> Any:
    """The data of test 7 without a file of ground truth."""
    for number, rows in lists.items():
        official.write(tmp_path / "protocol" / f"x_clustering_{number}_hint_100.csv", [header, *rows])
    official.write(tmp_path / "protocol" / "x_metadata.csv", metadata)
    task: Any = benchmark.find("ijb/test7")
    return task.load(tmp_path, task.options())


def test_of_people_with_one_box_a_small_list_may_have_the_second_only(tmp_path: Path, official: Any) -> None:
    lists: dict[int, list[tuple[object, ...]]] = {1: [(8, *SHARED)], 2: [(7, *SHARED), (8, *SHARED)]}
    metadata = [METADATA, (50, *SHARED, 0), (51, *SHARED, 1)]
    assert derived(tmp_path, official, lists, metadata) == {7: 50, 8: 51}


@pytest.mark.parametrize(
    ("rows", "metadata", "mentions"),
    [
        (
            [(7, *SHARED), (), (8, "img/2.jpg", 1, 2, 3, 4)],
            [METADATA, (50, *SHARED, 0)],
            r"line 4: .* no person in this",
        ),
        ([(7, "img/1.jpg", 1, 2, 3, 4)], [METADATA, (50, *SHARED, 0), (51, *SHARED, 1)], "none at this box"),
        (
            [(7, *SHARED)],
            [("SUBJECT_ID", "FILENAME", "GENDER"), (50, SHARED[0], 0), (51, SHARED[0], 1)],
            "no column FACE_X",
        ),
        ([(n, *SHARED) for n in (7, 8, 9)], [METADATA, (50, *SHARED, 0), (51, *SHARED, 1)], "line 4: .* more faces"),
    ],
)
def test_a_face_that_the_metadata_do_not_know_is_named_by_line_and_reason(
    tmp_path: Path, official: Any, rows: list[tuple[object, ...]], metadata: list[Any], mentions: str
) -> None:
    with pytest.raises(DataError, match=mentions):
        derived(tmp_path, official, {2: rows}, metadata)


def test_people_with_one_box_are_counted_in_a_warning_whatever_the_order_of_lines(
    tmp_path: Path, official: Any
) -> None:
    other = ("img/2.jpg", 1, 2, 3, 4)
    rows: list[tuple[object, ...]] = [(7, *SHARED), (8, *SHARED), (9, *other)]
    people = [(50, *SHARED, 0), (51, *SHARED, 1), (52, *other, 1)]
    for order in (people, people[::-1]):
        (warning,) = loaded(tmp_path, official, {3: rows}, [METADATA, *order]).warnings
        assert warning.startswith("2 faces are ambiguous in x_metadata.csv (img/1.jpg): several people have")
    assert loaded(tmp_path, official, {3: rows[1:]}, [METADATA, *people]).warnings[0].startswith("1 face is ambiguous")
    assert loaded(tmp_path, official, {3: rows[2:]}, [METADATA, *people]).warnings == ()


def test_landmarks_tell_people_with_one_box_apart(tmp_path: Path, official: Any) -> None:
    points = official.header[8:14]
    assert points[0] == "RIGHT_EYE_X"
    one, other = (1, 2, 3, 4, 5, 6), (6, 5, 4, 3, 2, 1)
    rows: list[tuple[object, ...]] = [(7, *SHARED, *one), (8, *SHARED, *other)]
    for people in ([(50, *one), (51, *other)], [(51, *other), (50, *one)]):
        metadata = [(*METADATA, *points), *((who, *SHARED, 0, *place) for who, *place in people)]
        data = loaded(tmp_path, official, {2: rows}, metadata, header=(*LISTED, *points))
        assert data.truth.subject.tolist() == [50, 51]
        assert data.warnings == ()


def test_metadata_that_are_the_truth_serve_with_an_empty_column_of_gender(tmp_path: Path, official: Any) -> None:
    rows: list[tuple[object, ...]] = [(7, *SHARED)]
    with pytest.raises(DataError, match="add a column GENDER with empty cells, or take the file away; keep it for"):
        loaded(tmp_path, official, {1: rows}, [METADATA[:-1], (50, *SHARED)])
    assert loaded(tmp_path, official, {1: rows}, [METADATA, (50, *SHARED, "")]).truth.subject.tolist() == [50]


def test_a_folder_and_a_file_that_can_not_be_used_say_what_to_do(tmp_path: Path, official: Any) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(PredictionError, match=r"has none of clusters.csv, cluster_file.csv. Name the file itself"):
        report_clusters(tmp_path / "empty", truth(tmp_path, official, [7]))
    place = tmp_path / "protocol" / "cluster" / "test8"
    face = (7, "img/1.jpg", 0, 0, 10, 10)
    official.write(place / "x_detection_clustering_ground_truth.csv", [("SUBJECT_ID", "FILENAME", *BOX), face])
    official.write(place / "x_detection_clustering_hint_10.csv", [("FILENAME",), ("img/1.jpg",)])
    answers = official.write(tmp_path / "d.csv", [(*CLUSTERS, *BOX), (1, "1.jpg", 3, 1, 0, 0, 10, 10)])
    with pytest.raises(PredictionError, match=r"no file of the protocol \(1 such lines\).* such as 'img/1.jpg'"):
        evaluate(benchmark.find("ijb/test8"), answers, tmp_path, draws=0, permutations=0)


def test_a_file_without_rows_is_refused(tmp_path: Path, official: Any) -> None:
    with pytest.raises(PredictionError, match="has a header but no rows"):
        report_clusters(clusters(tmp_path, official, []), truth(tmp_path, official, [7]))


def test_a_sub_protocol_is_refused_where_there_are_no_lists(tmp_path: Path, official: Any) -> None:
    official.write(tmp_path / "ground_truth.csv", [TRUTH, (0, 7, "img/0.jpg")])
    task: Any = benchmark.find("ijb/test7")
    with pytest.raises(DataError, match="no clustering of 8 subjects; it has no lists of sub-protocols"):
        task.load(tmp_path, task.options(subjects=8))


def test_detections_in_files_without_any_face_of_interest_are_background_and_told(
    tmp_path: Path, official: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    face = ("SUBJECT_ID", "FILENAME", *BOX), (7, "img/1.jpg", 0, 0, 10, 10)
    path = official.write(tmp_path / "truth.csv", face)
    answers = official.write(tmp_path / "d.csv", [(*CLUSTERS, *BOX), (1, "nonfaces/1.jpg", 3, 1, 0, 0, 10, 10)])
    assert main(["ijb", "association_modified_bcubed", str(answers), str(path)]) == 0
    shown = capsys.readouterr()
    assert shown.out == "precision: 0.000000\nrecall: 0.000000\nF: 0.000000\n"
    assert "names none of the files with a face of interest (it has 'nonfaces/1.jpg'" in shown.err


def test_a_listed_sub_protocol_without_any_line_is_a_failure_to_enrol_for_every_face(
    tmp_path: Path, official: Any
) -> None:
    place = tmp_path / "protocol" / "cluster" / "test7"
    official.write(place / "x_clustering_2_hint_10.csv", [("TEMPLATE_ID", "FILENAME"), (0, "img/0.jpg")])
    official.write(place / "x_clustering_ground_truth.csv", [TRUTH, (0, 7, "img/0.jpg")])
    answers = official.write(tmp_path / "answers" / "clusters.csv", [CLUSTERS])
    results = evaluate(benchmark.find("ijb/test7"), answers.parent, tmp_path, draws=0, permutations=0).results
    assert results.get("BCubed", "F").value == 0.0


def test_metadata_of_another_release_are_refused(tmp_path: Path, official: Any) -> None:
    official.write(tmp_path / "protocol" / "ijbb_clustering_2_hint_10.csv", [("TEMPLATE_ID", "FILENAME")])
    official.write(tmp_path / "protocol" / "ijbc_metadata.csv", [("SUBJECT_ID", "FILENAME", "GENDER")])
    task: Any = benchmark.find("ijb/test7")
    with pytest.raises(DataError, match="files of several releases"):
        task.load(tmp_path, task.options())
