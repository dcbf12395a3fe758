"""The data folder: faces, exclusion lists, galleries."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

from evenhand.benchmarks.uccs.data import (
    LANDMARK_COLUMNS,
    annotation_warnings,
    list_images,
    load,
    read_exclusion,
    read_faces,
    read_gallery,
    read_subjects,
)
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, check_targets
from evenhand.core.errors import DataError, OptionError

FACES = "FILE,FACE_ID,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"


def test_images_keep_the_order_of_first_appearance_and_faces_that_of_rows(write) -> None:
    path = write("t.csv", FACES, "z.jpg,1,1,0,0,1,1", "a.jpg,2,2,0,0,1,1", "z.jpg,3,3,0,0,1,1")
    faces, _ = read_faces(path)
    assert faces.images == ("z.jpg", "a.jpg")
    assert faces.face_id.tolist() == [1, 3, 2]


def test_an_empty_subject_names_its_line(write) -> None:
    with pytest.raises(DataError, match=r"t\.csv, line 3: SUBJECT_ID is empty"):
        read_faces(write("t.csv", FACES, "a.jpg,1,1,0,0,1,1", "a.jpg,2,,0,0,1,1"))


def test_a_negative_box_names_its_line(write) -> None:
    with pytest.raises(DataError, match="line 2: FACE_WIDTH -1 and FACE_HEIGHT 1"):
        read_faces(write("t.csv", FACES, "a.jpg,1,1,0,0,-1,1"))


def test_a_box_beyond_any_picture_is_refused(write) -> None:
    with pytest.raises(DataError, match="beyond any picture"):
        read_faces(write("t.csv", FACES, "a.jpg,1,1,1e30,0,1,1"))


def test_a_column_that_is_the_same_for_all_faces_of_an_image_belongs_to_the_image(write) -> None:
    path = write(
        "t.csv",
        f"{FACES},LIGHTING,AGE",
        "a.jpg,1,1,0,0,1,1,sun,old",
        "a.jpg,2,1,0,0,1,1,sun,young",
        "b.jpg,3,1,0,0,1,1,,old",
    )
    extra = read_faces(path)[0].extra
    assert extra["lighting"].levels == ("sun",)
    assert extra["lighting"].of_image is not None
    assert extra["lighting"].of_image.tolist() == [0, 1]  # not annotated in the second
    assert extra["age"].of_image is None


def test_an_exclusion_list_may_have_blank_lines_and_blanks(write) -> None:
    assert read_exclusion(write("x.txt", " 5 ", "", "7", "")).ids.tolist() == [5, 7]


def test_an_empty_exclusion_list_excludes_nothing(tmp_path: Path) -> None:
    (tmp_path / "x.txt").touch()
    assert len(read_exclusion(tmp_path / "x.txt")) == 0


def test_text_in_an_exclusion_list_names_its_line(write) -> None:
    with pytest.raises(DataError, match=r"x\.txt, line 2: 'FACE' is no face id"):
        read_exclusion(write("x.txt", "1", "FACE"))


@pytest.mark.parametrize("ids", [[5, 7], (5, 7), {5, 7}, np.array([5, 7])])
def test_a_pickled_exclusion_list_is_read_without_running_it(tmp_path: Path, ids: object) -> None:
    (tmp_path / "x.pickle").write_bytes(pickle.dumps(ids))
    assert read_exclusion(tmp_path / "x.pickle").ids.tolist() == [5, 7]


def test_a_pickled_dictionary_is_no_exclusion_list(tmp_path: Path) -> None:
    (tmp_path / "x.pickle").write_bytes(pickle.dumps({"a": 1}))
    with pytest.raises(DataError, match="holds a dict"):
        read_exclusion(tmp_path / "x.pickle")


@pytest.mark.parametrize(("ids", "wrong"), [({1, "a"}, "'a'"), ({None, 1}, "'None'"), ([3, "FACE"], "'FACE'")])
def test_an_entry_of_a_pickled_exclusion_list_that_is_no_number_is_named(
    tmp_path: Path, ids: object, wrong: str
) -> None:
    (tmp_path / "x.pickle").write_bytes(pickle.dumps(ids))
    with pytest.raises(DataError, match=rf"x\.pickle: {wrong} is no face id\. Every entry of a pickled list"):
        read_exclusion(tmp_path / "x.pickle")


def test_a_pickled_number_is_no_exclusion_list_and_a_set_is_sorted_by_number(tmp_path: Path) -> None:
    (tmp_path / "x.pickle").write_bytes(pickle.dumps(np.array(5)))
    with pytest.raises(DataError, match="holds a ndarray"):
        read_exclusion(tmp_path / "x.pickle")
    (tmp_path / "x.pickle").write_bytes(pickle.dumps({10, 9, 100}))
    assert read_exclusion(tmp_path / "x.pickle").ids.tolist() == [9, 10, 100]


def gallery_lines(*rows: tuple[str, int]) -> list[str]:
    header = ",".join(("FILE", "SUBJECT_ID", *LANDMARK_COLUMNS))
    return [header, *(f"{file},{subject}," + ",".join(map(str, range(10))) for file, subject in rows)]


def test_subjects_come_in_the_text_order_of_their_names(write) -> None:
    path = write(
        "g.csv", *gallery_lines(("0120_0.png", 120), ("0007_0.png", 7), ("0007_1.png", 7), ("1000_0.png", 1000))
    )
    assert read_subjects(path)[0] == (7, 120, 1000)
    assert read_gallery(path)[0][1].landmarks.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7], [8, 9]]


def test_a_gallery_subject_below_one_is_refused(write) -> None:
    with pytest.raises(DataError, match="SUBJECT_ID is 0; watchlist subjects are numbered from 1"):
        read_gallery(write("g.csv", *gallery_lines(("0000_0.png", 0))))


def test_images_to_look_at_need_nothing_but_their_names(write, tmp_path: Path) -> None:
    path = write("test.csv", "FILE", "b.jpg", "a.jpg", "b.jpg")
    assert list_images(path, tmp_path)[0] == ("a.jpg", "b.jpg")


def test_without_a_table_the_folder_of_pictures_is_the_list(tmp_path: Path) -> None:
    for name in ("b.jpg", "A.png", "notes.txt"):
        (tmp_path / name).touch()
    assert list_images(tmp_path / "test.csv", tmp_path)[0] == ("A.png", "b.jpg")
    with pytest.raises(DataError, match="Neither"):
        list_images(tmp_path / "test.csv", tmp_path / "nowhere")


def test_an_exclusion_list_that_names_unknown_faces_is_warned_about(data: Path) -> None:
    (data / "exclude_gallery_validation.txt").write_text("99\n99\n2\n")
    warnings = " ".join(load(data, WatchlistDetectionOptions()).warnings)
    assert "names 1 faces that are not annotated (99)" in warnings
    assert "repeats 1 ids" in warnings
    assert "1 excluded faces are of unknown people" in warnings


def test_no_exclusion_list_is_said(data: Path) -> None:
    (data / "exclude_gallery_validation.txt").unlink()
    dataset = load(data, WatchlistDetectionOptions())
    assert "every face counts" in " ".join(dataset.warnings)
    assert load(data, WatchlistDetectionOptions(exclude="none")).warnings == ()


def test_a_set_without_annotations_can_be_loaded_for_prediction(write, tmp_path: Path) -> None:
    write("data/test.csv", "FILE", "a.jpg")
    dataset = load(tmp_path / "data", WatchlistDetectionOptions(which_set="test"))
    assert [sample.id for sample in dataset.samples] == ["a.jpg"]
    assert "not evaluated" in dataset.warnings[0]


def test_a_folder_without_the_set_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="does not exist, nor the folder validation_images"):
        load(tmp_path, WatchlistDetectionOptions())


@pytest.mark.parametrize("iou", [0.0, -1.0, 1.5])
def test_an_overlap_limit_lies_between_zero_and_one(data: Path, iou: float) -> None:
    with pytest.raises(OptionError, match="overlap limit"):
        load(data, WatchlistDetectionOptions(iou=iou))


def test_a_header_alone_is_refused_in_words(write, tmp_path: Path) -> None:
    write("validation.csv", FACES)
    with pytest.raises(DataError, match=r"validation\.csv has a header but no row"):
        load(tmp_path, WatchlistDetectionOptions(exclude="none"))


def test_face_ids_beyond_doubles_stay_apart(write) -> None:
    large = 2**53
    path = write("t.csv", FACES, f"a.jpg,{large},1,0,0,1,1", f"a.jpg,{large + 1},2, 0,0,1,1")
    faces, _ = read_faces(path, read_exclusion(write("x.txt", str(large + 1))))
    assert faces.is_excluded.tolist() == [False, True]
    with pytest.raises(DataError, match="beyond the whole numbers of 64 bits"):
        read_exclusion(write("x.txt", str(2**63)))


def test_the_annotation_counts_every_spelling_of_a_name_as_an_image(write) -> None:
    rows = ("a.jpg,1,1,0,0,1,1", "a.jpg ,2,2,0,0,1,1", "caf\u00e9.jpg,3,3,0,0,1,1", "cafe\u0301.jpg,4,4,0,0,1,1")
    faces, _ = read_faces(write("t.csv", FACES, *rows))
    assert faces.images == ("a.jpg", "a.jpg ", "caf\u00e9.jpg", "cafe\u0301.jpg")
    assert faces.image.tolist() == [0, 1, 2, 3]
    assert "'a.jpg' and 'a.jpg ' are different images" in " ".join(annotation_warnings(faces))


@pytest.mark.parametrize(
    ("rows", "warning"),
    [
        (("a.jpg,1,1,0,0,9,9", "a.jpg,2,1,0,0,9,9"), "image and the box of an earlier one, such as one in a.jpg"),
        (("a.jpg,1,1,0,0,9,9", "b.jpg,1,2,0,0,9,9"), "1 FACE_IDs belong to more than one face, such as 1"),
        (("a.jpg,1,1,0,0,0,9",), "1 annotated faces have a width or a height of 0"),
        (("a.jpg,1,1,0,0.1,0.2,0.9",), "look like shares of the picture from 0 to 1"),
        (("a.jpg,1,1,0,0,9,9", "A.jpg,2,2,0,0,9,9"), "'a.jpg' and 'A.jpg' are different images"),
    ],
)
def test_what_is_odd_about_the_annotation_is_said(write, rows: tuple[str, ...], warning: str) -> None:
    faces, _ = read_faces(write("t.csv", FACES, *rows))
    assert warning in " ".join(annotation_warnings(faces))


def test_nothing_is_said_about_an_annotation_in_order(write) -> None:
    faces, _ = read_faces(write("t.csv", FACES, "a.jpg,1,1,0,0,9,9", "a.jpg,2,1,20,0,9,9"))
    assert annotation_warnings(faces) == ()


def test_nothing_is_grouped_by_columns_that_differ_in_case_alone(write) -> None:
    faces, _ = read_faces(write("t.csv", FACES + ",LIGHTING,lighting,AGE", "a.jpg,1,1,0,0,9,9,sun,shade,old"))
    assert "lighting" not in faces.extra
    assert "age" in faces.extra
    assert "The columns 'LIGHTING', 'lighting' differ in upper and lower case" in " ".join(annotation_warnings(faces))


def test_columns_that_are_no_groups_may_differ_in_case_alone(write) -> None:
    rows = (f"a.jpg,{n},1,{20 * n},0,9,9,a.jpg,one {n},two {n}" for n in range(60))
    faces, _ = read_faces(write("t.csv", FACES + ",file,Note,note", *rows))
    assert len(faces) == 60
    assert annotation_warnings(faces) == ()


@pytest.mark.parametrize("entry", ["1_0", "\u0663", "1.0"])
def test_an_excluded_face_is_a_plain_whole_number(write, entry: str) -> None:
    with pytest.raises(DataError, match="is no face id"):
        read_exclusion(write("x.txt", entry))


def test_a_gallery_without_rows_and_one_with_a_subject_below_one_are_refused(write) -> None:
    with pytest.raises(DataError, match="nobody on the watchlist"):
        read_subjects(write("g.csv", "FILE,SUBJECT_ID"))
    with pytest.raises(DataError, match="line 2: SUBJECT_ID is 0"):
        read_subjects(write("g.csv", "FILE,SUBJECT_ID", "0000_1.png,0"))


@pytest.mark.parametrize("targets", [(), (0.0,), (-1.0,), (float("inf"),), (float("nan"),), (0.1, 0.1)])
def test_targets_are_different_numbers_above_zero(targets: tuple[float, ...]) -> None:
    with pytest.raises(OptionError, match="targets is"):
        check_targets(targets)
