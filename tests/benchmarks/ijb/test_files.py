"""Reading protocol files: by name, with errors by line."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from evenhand.benchmarks.ijb import benchmark
from evenhand.benchmarks.ijb.covariates import AGE_WITH_UNKNOWN, GENDER, read_codes
from evenhand.benchmarks.ijb.embeddings import open_array
from evenhand.benchmarks.ijb.files import read_matrix, read_pairs, read_table, scores_of
from evenhand.benchmarks.ijb.layout import ProtocolFiles
from evenhand.benchmarks.ijb.lists import read_face_list
from evenhand.benchmarks.ijb.submission import Parts
from evenhand.benchmarks.ijb.templates import FacePlaces, ProtocolFaces, TemplateSet, template_samples
from evenhand.core.errors import DataError, PredictionError


def written(tmp_path: Path, text: str, name: str = "file.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_headers_are_matched_whatever_their_case_order_and_blanks(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, " file , Subject_id,extra\nimg/1.jpg, 7,x\n"))
    assert table.text("FILENAME").tolist() == ["img/1.jpg"]
    assert table.whole("SUBJECT_ID").tolist() == [7]
    assert "EXTRA" in table


def test_missing_numbers_are_empty_or_called_so(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "YAW,X\n1.5,a\n,b\nNaN,c\nnan,d\nNA,e\n"))
    assert np.isnan(table.numbers("FACE_YAW" if "FACE_YAW" in table else "YAW")).tolist() == [False, *[True] * 4]


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        ("TEMPLATE_ID\n1\nx\n", "line 3, column TEMPLATE_ID"),
        ("SUBJECT_ID\n1\n", "no column TEMPLATE_ID"),
        ("TEMPLATE_ID,TEMPLATE_ID\n1,1\n", "more than once"),
        ("TEMPLATE_ID,B\n1\n", "line 2: 1 fields"),
        ("TEMPLATE_ID,B\n1,2\n1,2,3\n", "line 3: 3 fields"),
    ],
)
def test_what_is_wrong_is_named_by_line_and_column(tmp_path: Path, text: str, mentions: str) -> None:
    with pytest.raises(DataError, match=mentions):
        read_table(written(tmp_path, text)).whole("TEMPLATE_ID")


def test_a_match_list_with_a_header_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: .* must not have a header"):
        read_pairs(written(tmp_path, "TEMPLATE_1,TEMPLATE_2\n1,2\n"))


def test_a_match_list_with_other_separators_says_which_it_has(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="separated by semicolons: write commas"):
        read_pairs(written(tmp_path, "1;2\n3;4\n"))


def test_a_broken_line_of_a_match_list_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="line 2"):
        read_pairs(written(tmp_path, "1,2\n3\n"))


def test_an_empty_score_is_a_failure_to_enrol_and_not_a_number_is_an_error(tmp_path: Path) -> None:
    assert scores_of(read_table(written(tmp_path, "LABEL,SCORE\n1,\n0,0.5\n"))).tolist() == [-np.inf, 0.5]
    with pytest.raises(DataError, match="line 3, column SCORE"):
        scores_of(read_table(written(tmp_path, "LABEL,SCORE\n1,0.1\n0,NaN\n")))


def test_a_matrix_has_lines_of_equal_length_and_scores(tmp_path: Path) -> None:
    matrix, _ = read_matrix(written(tmp_path, "0.1,\n0.2,0.3\n"))
    assert matrix.tolist() == [[0.1, -np.inf], [0.2, 0.3]]
    with pytest.raises(DataError, match="line 2: 1 scores"):
        read_matrix(written(tmp_path, "0.1,0.2\n0.3\n"))
    with pytest.raises(DataError, match="line 1, column 2"):
        read_matrix(written(tmp_path, "0.1,nan\n"))


def test_a_number_outside_its_enumeration_is_refused(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "GENDER,AGE\n0,0\nNaN,3\n"))
    codes = read_codes(table, GENDER)
    assert codes is not None
    assert codes.tolist() == [0, -1]
    ages = read_codes(table, AGE_WITH_UNKNOWN)
    assert ages is not None
    assert [AGE_WITH_UNKNOWN.levels[code] for code in ages] == ["unknown", "35–49"]
    with pytest.raises(DataError, match=r"line 3, column GENDER: 2 is not in the enumeration \(0 female, 1 male"):
        read_codes(read_table(written(tmp_path, "GENDER\n0\n2\n")), GENDER)


@pytest.mark.parametrize("protocol", ["protocol", "protocols"])
@pytest.mark.parametrize("clustering", ["cluster/test7", "clustering"])
def test_files_are_found_in_the_folders_of_every_release(tmp_path: Path, protocol: str, clustering: str) -> None:
    for name in ("x_1N_gallery_G1.csv", "x_11_G1_G2_matches.csv", "x_11_covariate_matches.csv"):
        written_in = tmp_path / protocol / name
        written_in.parent.mkdir(parents=True, exist_ok=True)
        written_in.write_text("a\n")
    inside = tmp_path / protocol / clustering
    inside.mkdir(parents=True)
    for name in ("x_clustering_32_hint_100.csv", "x_clustering_128_hint_1000.csv", "x_clustering_ground_truth.csv"):
        (inside / name).write_text("a\n")
    (inside / "x_detection_clustering_ground_truth.csv").write_text("a\n")
    layout = ProtocolFiles.of(tmp_path)
    assert [entry["name"] for entry in layout.all("gallery")] == ["G1"]
    assert layout.one("matches").name == "x_11_G1_G2_matches.csv"
    assert [entry["subjects"] for entry in layout.all("clustering")] == ["32", "128"]
    assert layout.one("clustering_truth").name == "x_clustering_ground_truth.csv"


def test_a_folder_without_protocol_says_what_was_expected(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no match list"):
        ProtocolFiles.of(tmp_path).one("matches")
    with pytest.raises(DataError, match="not a folder"):
        ProtocolFiles.of(tmp_path / "nowhere")


def test_the_folder_of_protocols_is_not_taken_for_a_release(tmp_path: Path) -> None:
    (tmp_path / "protocol" / "cluster").mkdir(parents=True)
    (tmp_path / "protocol" / "x_face_detection.csv").write_text("a\n")
    with pytest.raises(DataError, match=r"no file like ijbb_clustering_ground_truth\.csv\. It has x_face_detection"):
        ProtocolFiles.of(tmp_path).one("clustering_truth")


def test_ids_that_need_more_than_32_bits_are_read_as_they_are(tmp_path: Path) -> None:
    first, second, _ = read_pairs(written(tmp_path, "3000000001,7\n3000000002,8\n"))
    assert first.tolist() == [3000000001, 3000000002]
    assert second.tolist() == [7, 8]


def test_small_ids_are_looked_up_among_large_ones() -> None:
    known = np.array([3000000001, 3000000002])
    faces = ProtocolFaces(known, known, pl.Series(["a", "b"]), known, known, lambda: FacePlaces.unknown(2))
    templates = TemplateSet.of(faces, Path("files"))
    assert templates.positions(np.array([3000000002]), Path("pairs")).tolist() == [1]
    with pytest.raises(DataError, match="template 7"):
        templates.positions(np.array([7], dtype=np.int32), Path("pairs"))


def test_several_columns_of_numbers_are_read_together(tmp_path: Path) -> None:
    table = read_table(written(tmp_path, "FACE_X,FACE_Y,NOSE_X\n1, 2,NaN\n3,4,\n"))
    found = table.matrix(("FACE_X", "FACE_Y", "NOSE_X", "NOSE_Y"))
    np.testing.assert_array_equal(found, [[1, 2, np.nan, np.nan], [3, 4, np.nan, np.nan]])
    broken = read_table(written(tmp_path, "FACE_X,FACE_Y\n1,2\n3,wide\n"))
    with pytest.raises(DataError, match="line 3, column FACE_Y: 'wide' found"):
        broken.matrix(("FACE_X", "FACE_Y"))


@pytest.mark.parametrize(
    ("header", "words"),
    [
        ("id,sex,tone\n1,0,3\n", "SUBJECT_ID and at least one of GENDER, SKINTONE, but this one has ID, SEX, TONE"),
        ("SUBJECT_ID,FILENAME\n1,img/1.jpg\n", "this one has SUBJECT_ID, FILENAME"),
        ("GENDER,SKINTONE\n1,2\n", "this one has GENDER, SKINTONE"),
        ("SUBJECT_ID,GENDER\n987654,1\n", "names none of the"),
    ],
)
def test_a_metadata_file_that_says_nothing_about_the_subjects_is_an_error(
    folder: Path, header: str, words: str
) -> None:
    (path,) = folder.rglob("*_metadata.csv")
    path.write_text(header)
    for test in ("ijb/test1", "ijb/test4"):
        task = benchmark.find(test)
        with pytest.raises(DataError, match=words):
            task.load(folder, task.options())


def test_the_samples_of_templates_travel_to_another_process() -> None:
    samples = template_samples(np.array([7, 9]))
    assert list(pickle.loads(pickle.dumps(samples))) == list(samples)  # noqa: S301 - our own


def test_list_files_that_name_images_otherwise_say_how_both_do(tmp_path: Path) -> None:
    faces = written(tmp_path, "img/1.jpg 1 7\n", "a_face_tid_mid.txt")
    points = written(tmp_path, "1.jpg 1 2 3 4 5 6 7 8 9 10 0.9\n", "a_name_5pts_score.txt")
    with pytest.raises(DataError, match=r"'img/1.jpg' is not in .*, which has images such as '1.jpg'. Both files"):
        read_face_list(faces, points)


def test_a_header_of_a_list_file_is_called_so(tmp_path: Path) -> None:
    faces = written(tmp_path, "name tid mid\n1.jpg 1 7\n", "a_face_tid_mid.txt")
    with pytest.raises(DataError, match=r"line 1, entry 2: 'tid' found, but a whole number .* must not have a header"):
        read_face_list(faces, None)


def test_a_template_id_in_two_files_is_refused(folder: Path) -> None:
    path = folder / "protocol" / "tiny_1N_probe_mixed.csv"
    path.write_text(path.read_text().replace("\n2,50,", "\n1,50,"))  # the gallery's template of the same person
    task = benchmark.find("ijb/test1")
    with pytest.raises(DataError, match=r"template 1 is in tiny_1N_gallery_A.csv and in tiny_1N_probe_mixed.csv"):
        task.load(folder, task.options())


def test_numbers_of_rows_are_not_taken_for_a_part_of_embeddings(tmp_path: Path) -> None:
    columns = {"row": [0, 1], "x0": [0.5, 0.25], "x1": [1.0, 2.0]}
    pl.DataFrame(columns).write_parquet(tmp_path / "a.parquet")
    with pytest.raises(PredictionError, match="whole numbers in row and fractions in 2 other columns"):
        open_array(tmp_path / "a.parquet")
    pl.DataFrame(columns).drop("row").write_parquet(tmp_path / "a.parquet")
    assert open_array(tmp_path / "a.parquet").tolist() == [[0.5, 1.0], [0.25, 2.0]]


def test_a_folder_of_several_arrays_says_which_it_has(tmp_path: Path) -> None:
    for name in ("a.npz", "b.npz"):
        np.savez(tmp_path / name, embs=np.eye(2))
    with pytest.raises(PredictionError, match=r"It has a.npz, b.npz: name one of them"):
        Parts.of(tmp_path)
