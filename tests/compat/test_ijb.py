"""`evenhand ijb …` as the dataset's guide calls its scripts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from evenhand.compat.ijb import command

CLUSTERS = "TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE\n1,a,0,1\n2,b,0,1\n3,c,-1,1\n"
TRUTH = "TEMPLATE_ID,SUBJECT_ID,FILENAME\n1,7,a\n2,8,b\n3,8,c\n"


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    (tmp_path / "clusters.csv").write_text(CLUSTERS)
    (tmp_path / "truth.csv").write_text(TRUTH)
    return [str(tmp_path / "clusters.csv"), str(tmp_path / "truth.csv")]


def test_precision_recall_and_f_are_printed_with_six_decimals(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["modified_bcubed", *files]) == 0
    assert capsys.readouterr().out == "precision: 0.333333\nrecall: 0.500000\nF: 0.400000\n"


@pytest.mark.parametrize("switch", ["-no_fte", "--no-fte", "--no_fte"])
def test_failures_are_left_out_by_either_spelling(
    files: list[str], switch: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.main(["modified_bcubed", *files, switch, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["precision"], found["recall"], found["n_events"], found["n_fte"]) == (0.5, 1.0, 2, 0)


def test_malformed_input_ends_with_one_line_and_a_code(files: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    Path(files[0]).write_text(CLUSTERS.replace("2,b,0", "2,b,zero"))
    assert command.main(["modified_bcubed", *files]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "clusters.csv, line 3, column CLUSTER_INDEX" in error


def test_the_worked_example_of_the_guide(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    box = "FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"
    people = "αα β α β".replace(" ", "")
    truth = "".join(f"{ord(person)},{number}.jpg,0,0,10,10\n" for number, person in enumerate(people))
    (tmp_path / "truth.csv").write_text(f"SUBJECT_ID,FILENAME,{box}\n{truth}")
    found = "".join(f"{number},{number}.jpg,{1 if number < 3 else 2},1,0,0,10,10\n" for number in range(5))
    background = "10,x.jpg,1,1,0,0,5,5\n11,y.jpg,2,1,0,0,5,5\n12,z.jpg,2,1,0,0,5,5\n"
    (tmp_path / "found.csv").write_text(f"TEMPLATE_ID,FILENAME,CLUSTER_INDEX,CONFIDENCE,{box}\n{found}{background}")
    assert command.main(["association_modified_bcubed", str(tmp_path / "found.csv"), str(tmp_path / "truth.csv")]) == 0
    assert capsys.readouterr().out == "precision: 0.350000\nrecall: 0.533333\nF: 0.422642\n"


def test_assigned_only_needs_no_fte(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["association_modified_bcubed", "a", "b", "--assigned-only"]) == 2
    assert "-no_fte" in capsys.readouterr().err


def test_a_stream_of_shards_gives_exact_operating_points(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = []
    for shard, (scores, labels) in enumerate([([0.9, 0.2, 0.1], [1, 0, 0]), ([0.4, 0.5], [1, 0])]):
        np.save(tmp_path / f"scores{shard}.npy", np.array(scores, dtype=np.float32))
        np.save(tmp_path / f"labels{shard}.npy", np.array(labels))
        files += [str(tmp_path / f"scores{shard}.npy"), str(tmp_path / f"labels{shard}.npy")]
    assert command.main(["stream", *files, "--far", "0.1,0.4", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["genuine"], found["impostor"]) == (2, 3)
    assert [entry["tar"] for entry in found["tar_at_far"]] == [0.5, 1.0]
    assert command.main(["stream", files[0]]) == 2
    assert command.main(["stream", files[0], files[3]]) == 2
    assert "labels" in capsys.readouterr().err


@pytest.mark.parametrize("convention", ["exact", "at_impostor", "nearest", "nearest_full_curve", "linear"])
def test_a_stream_is_read_under_every_convention(
    convention: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    np.save(tmp_path / "scores.npy", np.array([0.9, 0.4, 0.5, 0.2, 0.1], dtype=np.float32))
    np.save(tmp_path / "labels.npy", np.array([1, 1, 0, 0, 0]))
    files = [str(tmp_path / "scores.npy"), str(tmp_path / "labels.npy")]
    assert command.main(["stream", *files, "--far", "0.3", "--convention", convention]) == 0
    line = capsys.readouterr().out.splitlines()[1]
    assert line.startswith("TAR@FAR=0.3: ")
    assert f"({convention};" in line


def test_detections_are_clustered_by_the_baseline(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data, out = tmp_path / "data", tmp_path / "out.csv"
    place = data / "protocol" / "cluster" / "test8"
    place.mkdir(parents=True)
    (place / "tiny_detection_clustering_hint_100000.csv").write_text("FILENAME\na\nb\n")
    rows = "".join(f"{name},1,2,30,40,0.9\n" for name in "aabb")
    (data / "detections.csv").write_text(f"FILENAME,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT,CONFIDENCE\n{rows}")
    np.save(data / "detection_embeddings.npy", np.array([[1, 0], [0, 1], [1, 0], [0, 0]], dtype=np.float32))
    arguments = ["cluster", str(data), "--data", str(data), "--output", str(out), "--test", "8"]
    assert command.main([*arguments, "--threshold", "0.5"]) == 0
    assert "4 faces in 2 clusters" in capsys.readouterr().out
    assert out.read_text().splitlines()[4] == "4,b,-1,0.9,1.0,2.0,30.0,40.0"
    assert command.main([*arguments, "--threshold", "2"]) == 2
    assert command.main([*arguments, "--subjects", "32"]) == 2
    assert "test 7" in capsys.readouterr().err


def test_help_and_unknown_arguments_behave_as_argparse_does() -> None:
    with pytest.raises(SystemExit) as helped:
        command.main(["modified_bcubed", "-h"])
    assert helped.value.code == 0
    with pytest.raises(SystemExit) as wrong:
        command.main(["modified_bcubed"])
    assert wrong.value.code == 2


def test_all_pairs_of_embeddings_by_group(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vectors = np.eye(4, 8, dtype=np.float32)[np.repeat(np.arange(4), 2)]
    np.save(tmp_path / "embeddings.npy", vectors)
    lines = [f"p{row // 2},{'a' if row < 4 else 'b'}" for row in range(8)]
    (tmp_path / "people.csv").write_text("PERSON,GROUP\n" + "\n".join(lines) + "\n")
    arguments = ["all_pairs", str(tmp_path / "embeddings.npy"), str(tmp_path / "people.csv"), "--far", "0.1"]
    assert command.main([*arguments, "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [(row["group"], row["genuine"], row["impostor"]) for row in rows] == [
        ("everyone", 4, 24), ("a", 2, 4), ("b", 2, 4),
    ]  # fmt: skip
    assert all(row["tar_at_own_threshold"] == 1.0 and row["fnmr"] == 0.0 for row in rows)
