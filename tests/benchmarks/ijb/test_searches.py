"""Tests 3 to 5 end to end on a tiny set."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.options import SearchOptions
from evenhand.benchmarks.ijb.sections import splits_section
from evenhand.benchmarks.ijb.submission import SubmittedEmbeddings
from evenhand.benchmarks.ijb.view import view_search
from evenhand.core.errors import DataError, OptionError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.core.options import parse
from evenhand.core.records import Group
from evenhand.metrics.search import tpir_name
from evenhand.metrics.search_rates import ANY_RANK
from evenhand.run import evaluate


def run(
    predictions: Path, data: Path, by: tuple[str, ...] = ("gallery",), task: str = "ijb/test4", **options: Any
) -> Any:
    given = {"flip": "none", "fpir": "0.01,0.5", **options}
    return evaluate(benchmark.find(task), predictions, data, options=given, by=by, draws=0, permutations=0, depth=1)


def test_every_gallery_is_searched_with_all_probes(folder: Path) -> None:
    results = run(folder, folder).results
    assert results.get("search", tpir_name(0.01, 1)).value == 1.0
    assert results.get("CMC", "rank 1", Group.of(gallery="A")).value == 1.0
    for gallery in ("A", "B"):
        assert results.get("searches", "mated", Group.of(gallery=gallery)).value == 4
        assert results.get("searches", "non-mated", Group.of(gallery=gallery)).value == 4
    assert results.facts["galleries"] == {"A": 2, "B": 2}


def test_subjects_are_grouped_by_what_the_metadata_say(folder: Path) -> None:
    results = run(folder, folder, by=("skin_tone",)).results
    assert results.get("searches", "mated", Group.of(skin_tone="light pink")).value == 2


def test_matrices_and_embeddings_tell_the_same(folder: Path, tmp_path: Path) -> None:
    rows = run(folder, folder, norm="unit", detector="off", media="flat").records()
    vectors = np.load(folder / "embeddings.npy").astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    probes = [1, 2, 4, 5, 7, 8, 10, 11]
    out = tmp_path / "matrices"
    out.mkdir()
    for name, faces in {"A": [0, 3], "B": [6, 9]}.items():
        np.savetxt(out / f"scores_{name}.csv", vectors[probes] @ vectors[faces].T, delimiter=",")
    found = run(out, folder).records()
    np.testing.assert_allclose(found["mate"], rows["mate"], atol=1e-6)
    np.testing.assert_array_equal(found["above"], rows["above"])


def candidates(folder: Path, out: Path, depth: int, official: Any) -> Path:
    """Candidate lists from the matrices of the tiny set: every probe lists its person first."""
    out.mkdir(exist_ok=True)
    for name, templates in {"A": [1, 4], "B": [7, 10]}.items():
        rows: list[tuple[object, ...]] = [("PROBE_ID", "RANK", "GALLERY_ID", "SCORE")]
        for probe in (2, 3, 5, 6, 8, 9, 11, 12):
            own = 1 + 3 * ((probe - 1) // 3)
            ordered = sorted(templates, key=lambda template: template != own)[:depth]
            rows += [(probe, rank, template, 1 / rank) for rank, template in enumerate(ordered, start=1)]
        official.write(out / f"candidates_{name}.csv", rows)
    return out


def test_candidate_lists_serve_as_far_as_they_reach(folder: Path, tmp_path: Path, official: Any) -> None:
    results = run(candidates(folder, tmp_path / "full", 2, official), folder, ranks="1,2", list_length=2).results
    assert results.get("CMC", "rank 1").value == 1.0
    short = candidates(folder, tmp_path / "short", 1, official)
    with pytest.raises(PredictionError, match="1 candidates, but results at rank 2"):
        run(short, folder, ranks="1,2", list_length=1)
    with pytest.raises(PredictionError, match="any_rank=false"):
        run(short, folder, ranks="1", list_length=1)
    found = run(short, folder, ranks="1", list_length=1, any_rank="false").results
    assert found.get("CMC", "rank 1").value == 1.0
    assert tpir_name(0.01, ANY_RANK) not in {estimate.output for estimate in found.estimates}


def test_candidates_of_strangers_to_the_protocol_are_refused(folder: Path, tmp_path: Path, official: Any) -> None:
    out = candidates(folder, tmp_path / "full", 2, official)
    with (out / "candidates_A.csv").open("a") as file:
        file.write("999,1,1,0.5\n")
    with pytest.raises(PredictionError, match="no probe 999"):
        run(out, folder, ranks="1", list_length=1)


def test_a_matrix_of_the_wrong_shape_is_refused(folder: Path, tmp_path: Path) -> None:
    for name in ("A", "B"):
        np.savetxt(tmp_path / f"scores_{name}.csv", np.zeros((8, 3)), delimiter=",")
    with pytest.raises(PredictionError, match="8 lines of 3 scores, but gallery A has 2 templates"):
        run(tmp_path, folder)


def test_a_subject_in_two_galleries_is_refused(folder: Path) -> None:
    first = folder / "protocol" / "tiny_1N_gallery_A.csv"
    second = folder / "protocol" / "tiny_1N_gallery_B.csv"
    second.write_text(second.read_text() + first.read_text().splitlines()[1] + "\n")
    with pytest.raises(DataError, match="in gallery A and in gallery B"):
        run(folder, folder)


def test_an_empty_gallery_is_refused(folder: Path) -> None:
    path = folder / "protocol" / "tiny_1N_gallery_B.csv"
    path.write_text(path.read_text().splitlines()[0] + "\n")
    with pytest.raises(DataError, match="no rows"):
        run(folder, folder)


def test_rates_without_mated_probes_are_undefined_with_a_reason(folder: Path) -> None:
    results = run(folder, folder, by=("skin_tone", "gallery")).results
    assert results.get("search", tpir_name(0.5, 1), Group.of(gallery="A")).value == 1.0
    path = folder / "protocol" / "tiny_1N_probe_mixed.csv"
    header, *rows = path.read_text().splitlines()
    path.write_text("\n".join([header, *(row for row in rows if ",50," not in row and ",51," not in row)]) + "\n")
    value = run(folder, folder).results.get("CMC", "rank 1", Group.of(gallery="A")).value
    assert value == Undefined("no mated probe")


def test_legacy_readings_appear_under_their_own_names_when_asked(folder: Path) -> None:
    assert not any("legacy" in metric.name for metric in run(folder, folder).results.metrics)
    results = run(folder, folder, legacy="true").results
    assert results.get("legacy: merged gallery", "top1").value == 1.0
    assert results.get("legacy: insightface open-set script", "TPIR@0.5").value == 1.0
    assert results.get("searches", "mated").value == 8  # the merged gallery adds no counts
    names = {entry["convention"] for entry in results.facts["conventions"]}
    assert {"merged_gallery_legacy", "list_style_reference"} <= names


def test_explain_shows_every_convention(folder: Path) -> None:
    task = benchmark.find("ijb/test4")
    section = task.explain(run(folder, folder))
    table, belongs, *_ = section.blocks
    assert table.columns[0] == "quantity"
    assert any(row[1] == "optimistic, pooled" for row in table.rows)
    assert any("insightface" in row[1] for row in belongs.rows)


def test_video_probes_rest_on_the_frames_that_were_tracked(folder: Path, official: Any) -> None:
    path = folder / "protocol" / "tiny_1N_probe_video.csv"
    header = [*official.header[:3], "VIDEO_FILENAME", *official.header[3:]]
    official.write(path, [header, (77, 51, "frames/9_0.png", "video/9.mp4", 904, *official.place)])
    official.write(folder / "video_frames.csv", [("TEMPLATE_ID", "FACE_INDEX"), (77, 4), (77, 5)])
    results = run(folder, folder, task="ijb/search_video").results
    assert results.get("CMC", "rank 1", Group.of(gallery="A")).value == 1.0
    official.write(folder / "video_frames.csv", [("TEMPLATE_ID", "FACE_INDEX"), (78, 4)])
    with pytest.raises(
        PredictionError, match=r"name none of the 1 video probes \(such as 77\).* others \(such as 78\)"
    ):
        run(folder, folder, task="ijb/search_video")
    (folder / "video_frames.csv").unlink()
    with pytest.raises(PredictionError, match=r"no embedding of the 1 video probes, .* Add video_frames\.csv"):
        run(folder, folder, task="ijb/search_video")
    found = (78, 51, "img/4.jpg", "video/8.mp4", 904, *official.place)
    official.write(path, [header, (77, 51, "frames/9_0.png", "video/9.mp4", 904, *official.place), found])
    warned = run(folder, folder, task="ijb/search_video").results
    assert any("first occurrence" in warning for warning in warned.warnings)
    assert warned.coverage.missing == 1  # no face of the index is the first occurrence of that video


def test_an_array_in_list_order_works_alone(folder: Path) -> None:
    vectors = np.load(folder / "embeddings.npy")
    np.save(folder / "listed.npy", vectors[[0, 3, 6, 9, 1, 2, 4, 5, 7, 8, 10, 11]])  # galleries, then probes
    assert run(folder / "listed.npy", folder, detector="off").results.get("CMC", "rank 1").value == 1.0
    np.save(folder / "listed.npy", vectors[:7])
    with pytest.raises(PredictionError, match=r"7 rows, .* has 12 faces"):
        run(folder / "listed.npy", folder, detector="off")


def test_searches_that_failed_are_counted_as_missing_when_they_are_left_out(folder: Path) -> None:
    faces = (folder / "faces.csv").read_text().splitlines()
    (folder / "faces.csv").write_text("\n".join(line for line in faces if "img/1.jpg" not in line) + "\n")
    penalised, excluded = (run(folder, folder, fte=policy).results for policy in ("penalise", "exclude"))
    assert penalised.get("CMC", "rank 1").value == pytest.approx((3 / 4 + 1) / 2)
    assert penalised.get("CMC", "rank 1").missing == 0
    for metric, output in (("CMC", "rank 1"), ("search", tpir_name(0.5, 1))):
        left = excluded.get(metric, output)
        assert left.value == 1.0
        assert (left.rows, left.missing) == (14, 2)  # one probe, searched in two galleries
        assert excluded.get(metric, output, Group.of(gallery="A")).missing == 1
    assert excluded.get("searches", "mated").value == 7
    assert excluded.facts["fte_searches"] == penalised.facts["fte_searches"] == 2
    assert any("counted as missing" in warning for warning in excluded.warnings)


def test_a_mate_that_is_not_on_a_candidate_list_is_a_miss_and_no_failure_to_enrol(
    folder: Path, tmp_path: Path, official: Any
) -> None:
    lists = candidates(folder, tmp_path / "lists", 1, official)
    rows = (lists / "candidates_A.csv").read_text().replace("2,1,1,1.0\n", "2,1,4,1.0\n")
    (lists / "candidates_A.csv").write_text(rows)
    options = {"ranks": "1", "list_length": 1, "any_rank": "false", "fte": "exclude"}
    results = run(lists, folder, **options).results
    assert results.get("CMC", "rank 1", Group.of(gallery="A")).value == 0.75
    assert results.get("CMC", "rank 1").missing == 0


def test_splits_of_ijb_a_have_a_mean_and_a_standard_deviation(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "IJB-A"
    gallery = (folder / "protocol" / "tiny_1N_gallery_A.csv").read_text()
    header, *probes = (folder / "protocol" / "tiny_1N_probe_mixed.csv").read_text().splitlines()
    for split in (1, 2, 3):
        place = data / "IJB-A_1N_sets" / f"split{split}"
        place.mkdir(parents=True)
        (place / f"search_gallery_{split}.csv").write_text(gallery)
        (place / f"search_probe_{split}.csv").write_text("\n".join([header, *probes]) + "\n")
    faces = (folder / "faces.csv").read_text().splitlines()
    (folder / "faces.csv").write_text("\n".join(line for line in faces if "img/1.jpg" not in line) + "\n")
    results = run(folder, data).results
    listed = {entry["quantity"]: entry for entry in results.facts["over_splits"]}
    rank = listed["CMC: rank 1"]
    assert rank["mean"] == results.get("CMC", "rank 1").value == 0.75
    assert rank["standard_deviation"] == 0.0
    assert rank["values"] == {"split 1": 0.75, "split 2": 0.75, "split 3": 0.75}
    section = splits_section(results)
    assert section is not None
    assert splits_section(run(folder, folder).results) is None


def test_rates_without_non_mated_probes_are_undefined_but_ranks_are_not(folder: Path) -> None:
    protocol = folder / "protocol"
    first, *rest = (protocol / "tiny_1N_gallery_A.csv").read_text().splitlines()
    more = (protocol / "tiny_1N_gallery_B.csv").read_text().splitlines()[1:]
    (protocol / "tiny_1N_gallery_A.csv").write_text("\n".join([first, *rest, *more]) + "\n")
    (protocol / "tiny_1N_gallery_B.csv").unlink()
    results = run(folder, folder).results
    for output in (tpir_name(0.5, 1), "IET", "FPIR@overall FPIR=0.5"):
        value = results.get("search", output).value
        assert isinstance(value, Undefined)
        assert "no non-mated probe" in value.reason
    assert results.get("CMC", "rank 1").value == 1.0


def test_a_search_shows_the_pictures_of_its_probe(folder: Path) -> None:
    task = benchmark.find("ijb/test4")
    dataset = task.load(folder, parse(task.options, {"flip": "none"}))
    probe = int(dataset.truth.galleries[0].probes.ids[0])
    row = {"gallery": 0, "item": probe, "mated": False, "top": 0.5}
    assert view_search(dataset, None, row).pictures


def test_one_score_per_comparison_is_no_submission_for_a_search(folder: Path, tmp_path: Path) -> None:
    np.save(tmp_path / "ijbb.npy", np.zeros(9))
    with pytest.raises(PredictionError, match=r"ijbb\.npy holds one score per comparison.*scores_A\.csv"):
        run(tmp_path / "ijbb.npy", folder)


def test_gallery_templates_that_failed_to_enrol_are_told(folder: Path) -> None:
    faces = (folder / "faces.csv").read_text().splitlines()
    (folder / "faces.csv").write_text("\n".join(line for line in faces if "img/0.jpg" not in line) + "\n")
    warnings = run(folder, folder).results.warnings
    assert any("1 of 2 templates of gallery A failed to enrol" in warning for warning in warnings)


@pytest.mark.parametrize("task", ["ijb/test1", "ijb/test4"])
def test_splits_are_refused_where_there_are_none(folder: Path, task: str) -> None:
    with pytest.raises(OptionError, match=r"splits=1,2: only IJB-A has splits.*Leave the option out"):
        evaluate(benchmark.find(task), folder, folder, options={"flip": "none", "splits": "1,2"}, draws=0)


@pytest.fixture
def tracked(folder: Path, official: Any) -> Path:
    """Four video probes, each tracked in ten frames that have embeddings of their own."""
    header = [*official.header[:3], "VIDEO_FILENAME", *official.header[3:]]
    probes = [(70 + who, 50 + who, f"frames/{who}.png", f"video/{who}.mp4", 904, *official.place) for who in range(4)]
    official.write(folder / "protocol" / "tiny_1N_probe_video.csv", [header, *probes])
    frames = [(70 + number // 10, number) for number in range(40)]
    official.write(folder / "video_frames.csv", [("TEMPLATE_ID", "FACE_INDEX"), *frames])
    rng = np.random.default_rng(3)
    np.save(folder / "video_embeddings.npy", np.repeat(np.eye(4, 8), 10, axis=0) + rng.normal(size=(40, 8)) * 0.1)
    return folder


def test_embeddings_of_frames_are_looked_at_as_those_of_faces_are(tracked: Path) -> None:
    path = tracked / "video_embeddings.npy"
    vectors = np.load(path)
    results = run(tracked, tracked, task="ijb/test5").results
    assert results.get("CMC", "rank 1").value == 1.0
    assert not any("video_embeddings" in warning for warning in results.warnings)
    np.save(path, np.random.default_rng(1).permutation(vectors))
    warnings = run(tracked, tracked, task="ijb/test5").results.warnings
    assert any("video_embeddings.npy: The rows seem to be in another order" in warning for warning in warnings)
    np.save(path, np.ones_like(vectors))
    warnings = run(tracked, tracked, task="ijb/test5").results.warnings
    assert any("video_embeddings.npy: All 40 sampled rows are the same vector" in warning for warning in warnings)
    np.save(path, vectors[:, :5])
    with pytest.raises(PredictionError, match=r"video_embeddings.npy has embeddings of 5 numbers, .* of 8"):
        run(tracked, tracked, task="ijb/test5")


def test_frames_of_two_passes_side_by_side_are_taken_apart_as_faces_are(tracked: Path) -> None:
    rng = np.random.default_rng(4)
    passes = {}
    for name in ("embeddings", "video_embeddings"):
        vectors = np.load(tracked / f"{name}.npy")
        passes[name] = vectors, vectors + rng.normal(size=vectors.shape) * 0.05
        np.save(tracked / f"{name}_flip.npy", passes[name][1])
    expected = run(tracked, tracked, task="ijb/test5", flip="sum").records()
    for name, both in passes.items():
        np.save(tracked / f"{name}.npy", np.concatenate(both, axis=1))
        (tracked / f"{name}_flip.npy").unlink()
    found = run(tracked, tracked, task="ijb/test5", flip="sum").records()
    np.testing.assert_allclose(found["mate"], expected["mate"], atol=1e-6)


def test_frames_of_one_person_are_taken_apart_because_faces_are(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    faces, person = rng.normal(size=(200, 32)), rng.normal(size=32)
    frames = person + 0.01 * rng.normal(size=(40, 32))  # each half is as like those of other rows as its own
    both = [np.concatenate([one, one + 0.01 * rng.normal(size=one.shape)], axis=1) for one in (faces, frames)]
    content = SubmittedEmbeddings(
        both[0], None, None, None, None, None, None, tmp_path, both[1], None, tmp_path / "video_embeddings.npy"
    )
    parted, notes = content.separated(SearchOptions())
    assert parted.video_vectors is not None
    assert [parted.vectors.shape[1], parted.video_vectors.shape[1]] == [32, 32]
    assert len(notes) == 2


def test_frames_of_other_templates_are_counted_in_a_warning(tracked: Path) -> None:
    with (tracked / "video_frames.csv").open("a") as file:
        file.write("99,0\n")
    warnings = run(tracked, tracked, task="ijb/test5").results.warnings
    assert any(
        "1 of 41 lines of video_frames name no video probe (the first is template 99)" in one for one in warnings
    )


def test_what_lacks_an_embedding_is_counted_in_every_split(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "IJB-A" / "IJB-A_1N_sets"
    header, *probes = (folder / "protocol" / "tiny_1N_probe_mixed.csv").read_text().splitlines()
    data.mkdir(parents=True)
    for split, some in ((1, probes[:4]), (2, probes[4:])):
        (data / f"search_gallery_{split}.csv").write_text((folder / "protocol" / "tiny_1N_gallery_A.csv").read_text())
        (data / f"search_probe_{split}.csv").write_text("\n".join([header, *some]) + "\n")
    faces = (folder / "faces.csv").read_text().splitlines()
    (folder / "faces.csv").write_text("\n".join(line for line in faces if "img/11.jpg" not in line) + "\n")
    coverage = run(folder, data.parent, by=()).results.coverage
    assert (coverage.asked, coverage.missing) == (8, 1)  # the last probe, of split 2
    assert coverage.examples == {"face without embedding": ("img/11.jpg",)}


def test_rows_in_the_order_of_files_are_refused_where_template_ids_are_shared(folder: Path, tmp_path: Path) -> None:
    data = tmp_path / "IJB-A" / "IJB-A_1N_sets"
    data.mkdir(parents=True)
    for split in (1, 2):
        for kind, name in (("gallery", "gallery_A"), ("probe", "probe_mixed")):
            text = (folder / "protocol" / f"tiny_1N_{name}.csv").read_text()
            (data / f"search_{kind}_{split}.csv").write_text(text)
    np.save(
        tmp_path / "rows.npy",
        np.load(folder / "embeddings.npy")[[0, 3, 0, 3, 1, 2, 4, 5, 7, 8, 10, 11, 1, 2, 4, 5, 7, 8, 10, 11]],
    )
    with pytest.raises(DataError, match=r"template 1 is in several files .* Add faces\.csv"):
        run(tmp_path / "rows.npy", data.parent, by=(), detector="off")


def test_candidates_whose_ranks_contradict_their_scores_are_refused(
    folder: Path, tmp_path: Path, official: Any
) -> None:
    out = candidates(folder, tmp_path / "lists", 2, official)
    options = {"any_rank": "false", "list_length": "2", "ranks": "1"}
    assert run(out, folder, **options).results.get("CMC", "rank 1").value == 1.0
    path = out / "candidates_A.csv"
    header, *lines = path.read_text().splitlines()
    cells = [line.rsplit(",", 1) for line in lines]
    distances = [f"{rest},{1 - float(score)}" for rest, score in cells]
    path.write_text("\n".join([header, *distances]) + "\n")
    with pytest.raises(PredictionError, match=r"line 3, column SCORE: probe 2 has a candidate of rank 2 .* negate"):
        run(out, folder, **options)
