"""Label files: what loads, what is repaired, what is refused; and keys."""

import pickle

import numpy as np
import pytest

from evenhand.benchmarks.fairface.data import REPAIRED, balance, load, read_labels
from evenhand.benchmarks.fairface.keys import KeyIndex, without_face_number
from evenhand.benchmarks.fairface.options import FaceOptions
from evenhand.benchmarks.fairface.taxonomy import AGE_BINS, FINE_RACES, RACES
from evenhand.core.errors import DataError, OptionError

HEADER = "file,age,gender,race,service_test\n"


def write(tmp_path, text, name="labels.csv"):
    path = tmp_path / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def labels(tmp_path, *rows, header=HEADER):
    return read_labels(write(tmp_path, header + "\n".join(rows) + "\n"))


def test_codes_follow_the_declared_order(tmp_path):
    faces, warnings, fact = labels(
        tmp_path, "val/1.jpg,3-9,Male,East Asian,True", "val/2.jpg,more than 70,Female,Middle Eastern,False"
    )
    assert [AGE_BINS[code] for code in faces.age] == ["3-9", "70+"]
    assert [FINE_RACES[code] for code in faces.fine_race] == ["East Asian", "Middle Eastern"]
    assert [RACES[code] for code in faces.race] == ["Asian", "Middle_Eastern"]
    assert faces.service_test.tolist() == [True, False]
    assert warnings == ()
    assert len(fact.hash) == 64


@pytest.mark.parametrize("text", ["70+", "more than 70", ">70", "70 or more", "More than 70"])
def test_the_last_bin_has_several_names(tmp_path, text):
    assert labels(tmp_path, f"1.jpg,{text},Male,White,1")[0].age.tolist() == [8]


@pytest.mark.parametrize("dash", "-‐‑‒–—−")
def test_any_dash_will_do(tmp_path, dash):
    assert labels(tmp_path, f"1.jpg,20{dash}29,Male,White,1")[0].age.tolist() == [3]


@pytest.mark.parametrize(
    ("text", "code"), [("03-Sep", 1), ("3-Sep", 1), ("9-Mar", 1), ("09-Mar", 1), ("Oct-19", 2), ("19-Oct", 2)]
)
def test_what_a_spreadsheet_did_is_undone_with_one_warning(tmp_path, text, code):
    faces, warnings, _ = labels(tmp_path, f"1.jpg,{text},Male,White,1", f"2.jpg,{text},Male,White,1")
    assert faces.age.tolist() == [code, code]
    assert warnings == (REPAIRED,)


@pytest.mark.parametrize("word", ["True", "TRUE", "true", "1"])
def test_booleans_come_in_several_forms(tmp_path, word):
    assert labels(tmp_path, f"1.jpg,0-2,Male,White,{word}")[0].service_test.tolist() == [True]


def test_column_order_byte_order_mark_line_ends_and_extra_columns_do_not_matter(tmp_path):
    text = "\ufeffrace,extra,file,gender,age\r\nBlack,x,val/1.jpg,Female,0-2\r\n"
    faces, _, _ = read_labels(write(tmp_path, text))
    assert faces.files == ("val/1.jpg",)
    assert faces.service_test is None


@pytest.mark.parametrize(
    ("row", "mentions"),
    [
        ("1.jpg,0-2,Male,Martian,True", ["row 2", "race", "Martian"]),
        ("1.jpg,0-2,Robot,White,True", ["row 2", "gender", "Robot"]),
        ("1.jpg,200,Male,White,True", ["row 2", "age", "200"]),
        ("1.jpg,old,Male,White,True", ["row 2", "age", "old"]),
        ("1.jpg,,Male,White,True", ["row 2", "age", "empty"]),
        (",0-2,Male,White,True", ["row 2", "file", "empty"]),
        ("1.jpg,0-2,Male", ["row 2", "race", "empty"]),
        ("1.jpg,0-2,Male,White,maybe", ["row 2", "service_test", "maybe"]),
        ("1.jpg,0-2,1,White,True", ["row 2", "gender", "label_order"]),
        ("1.jpg,0-2,Male,3,True", ["row 2", "race", "label_order"]),
        ("1.jpg,3,Male,White,True", ["row 2", "age", "label_order"]),
        ("1.jpg,0-2,Male,White,True\n1.jpg,0-2,Male,White,True", ["row 3", "file", "1.jpg"]),
    ],
)
def test_a_bad_row_is_refused_by_row_column_and_value(tmp_path, row, mentions):
    with pytest.raises(DataError) as refused:
        labels(tmp_path, row)
    assert all(word in str(refused.value) for word in mentions)


@pytest.mark.parametrize("text", ["", "file,age\n1,2\n", HEADER])
def test_a_file_without_labels_is_refused(tmp_path, text):
    with pytest.raises(DataError):
        read_labels(write(tmp_path, text))


def test_integer_codes_need_their_order(tmp_path):
    path = write(tmp_path, HEADER + "1.jpg,0,0,0,True\n2.jpg,8,1,6,True\n")
    hub = load(path, FaceOptions(label_order="hub")).truth
    script = load(path, FaceOptions(label_order="script")).truth
    own = load(
        path, FaceOptions(label_order="Indian,White,Black,Latino_Hispanic,East Asian,Southeast Asian,Middle Eastern")
    ).truth
    assert [FINE_RACES[code] for code in hub.fine_race] == ["East Asian", "Southeast Asian"]
    assert [FINE_RACES[code] for code in script.fine_race] == ["White", "Middle Eastern"]
    assert [FINE_RACES[code] for code in own.fine_race] == ["Indian", "Middle Eastern"]
    assert hub.gender.tolist() == [0, 1]
    assert hub.age.tolist() == [0, 8]
    with pytest.raises(OptionError, match="label_order"):
        load(path, FaceOptions(label_order="mine"))
    with pytest.raises(DataError, match="outside"):
        load(write(tmp_path, HEADER + "1.jpg,0,0,7,True\n"), FaceOptions(label_order="hub"))


def test_the_service_test_subset_keeps_its_rows_in_order(tmp_path):
    path = write(
        tmp_path, HEADER + "a.jpg,0-2,Male,White,False\nb.jpg,0-2,Male,White,True\nc.jpg,3-9,Male,White,True\n"
    )
    dataset = load(path, FaceOptions(subset="service_test"))
    assert [sample.id for sample in dataset.samples] == ["b.jpg", "c.jpg"]
    assert dataset.facts["evaluated"] == 2
    assert any("Female" in text for text in dataset.warnings)


def test_a_subset_that_can_not_be_told_is_refused(tmp_path):
    path = write(tmp_path, "file,age,gender,race\na.jpg,0-2,Male,White\n")
    with pytest.raises(DataError, match="service_test"):
        load(path, FaceOptions(subset="service_test"))


def test_the_label_file_is_found_in_a_folder_or_named(tmp_path):
    row = HEADER + "a.jpg,0-2,Male,White,True\n"
    with pytest.raises(DataError, match=r"fairface_label_val\.csv"):
        load(tmp_path, FaceOptions())
    write(tmp_path, row, "mine.csv")
    assert len(load(tmp_path, FaceOptions(labels="mine.csv")).samples) == 1
    write(tmp_path, row, "fairface_label_train.csv")
    assert load(tmp_path, FaceOptions(split="train")).facts["label_file"] == "fairface_label_train.csv"
    with pytest.raises(DataError, match="does not exist"):
        load(tmp_path / "nowhere", FaceOptions())


def test_balance_counts_race_and_gender_inside_each_age(tmp_path):
    rows = [f"{race}{gender}.jpg,0-2,{gender},{race},True" for race in FINE_RACES for gender in ("Male", "Female")]
    faces, _, _ = labels(tmp_path, *rows, "more.jpg,0-2,Male,White,True", "other.jpg,3-9,Male,White,True")
    first, second = balance(faces)[:2]
    assert first == ("0-2", 15, 1, 2, 2.0)
    assert second == ("3-9", 1, 0, 1, None)


@pytest.mark.parametrize(
    ("key", "row"),
    [
        ("val/12.jpg", 0),
        ("/any/where/val/12.jpg", 0),
        ("fairface/val/12.jpg", 0),
        ("C:\\data\\val\\12.jpg", 0),
        ("./val/12.jpg", 0),
        ("12.jpg", 0),
        ("12.png", 0),
        ("12", 0),
        (12, 0),
        ("somewhere/12.jpg", 0),
        ("train/12.jpg", None),
        ("/data/test/12.jpg", None),
        ("trainer/12.jpg", 0),
        ("val/99.jpg", None),
        ("", None),
        ("1", None),
    ],
)
def test_a_key_finds_its_image(key, row):
    assert KeyIndex(["val/12.jpg", "val/112.jpg"]).find(key) == row


def test_names_that_are_not_unique_find_nothing():
    index = KeyIndex(["val/1.jpg", "train/1.jpg", "val/2.jpg", "val/2.png"])
    assert index.find("1.jpg") is None
    assert index.find("1") is None
    assert index.find("2") is None
    assert index.find("2.png") == 3
    assert index.find("x/train/1.jpg") == 1


def test_labels_may_have_longer_paths_than_keys():
    index = KeyIndex(["fairface/val/1.jpg", "fairface/val/2.jpg"])
    assert [index.find(key) for key in ("val/2.jpg", "/other/val/1.jpg", "train/1.jpg")] == [1, 0, None]


def test_labels_may_have_no_folder_at_all():
    index = KeyIndex(["1.jpg", "2.jpg"])
    assert [index.find(key) for key in ("val/2.jpg", 1)] == [1, 0]


@pytest.mark.parametrize(
    ("name", "image", "number"),
    [
        ("detected_faces/479_face0.jpg", "479.jpg", 0),
        ("a_face12.png", "a.png", 12),
        ("x.jpg", "x.jpg", 0),
        ("d\\7_face1.jpg", "7.jpg", 1),
    ],
)
def test_a_crop_of_the_script_names_its_image(name, image, number):
    assert without_face_number(name) == (image, number)


def test_the_coarse_race_is_a_mapping_of_codes(tmp_path):
    faces, _, _ = labels(tmp_path, *(f"{race}.jpg,0-2,Male,{race},True" for race in FINE_RACES))
    assert np.bincount(faces.race).tolist() == [2, 1, 1, 1, 1, 1]


def test_a_column_that_is_there_twice_is_refused(tmp_path):
    with pytest.raises(DataError, match="the column age is there twice"):
        read_labels(write(tmp_path, "file,age,Age,gender,race\n1.jpg,0-2,3-9,Male,White\n"))


def test_loaded_data_can_be_sent_to_another_process(tmp_path):
    dataset = load(write(tmp_path, HEADER + "a.jpg,0-2,Male,White,True\n"), FaceOptions())
    assert pickle.loads(pickle.dumps(dataset)).levels == dataset.levels  # noqa: S301  # our own bytes
