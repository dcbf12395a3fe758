"""Tables, literals and attributes: what is read, and what is refused by name."""

from __future__ import annotations

import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.benchmarks.fhibe import attributes, cells, data, vocabulary, write_outputs
from evenhand.benchmarks.fhibe.cells import LiteralError, parse_literal
from evenhand.benchmarks.fhibe.options import FhibeOptions, KeypointOptions
from evenhand.benchmarks.fhibe.output_file import match_keys
from evenhand.benchmarks.fhibe.table import BODY_TABLE, mini_rows, read_table
from evenhand.benchmarks.fhibe.tasks import task_named
from evenhand.core.engine import Serial
from evenhand.core.errors import DataError, OptionError, PredictionError
from evenhand.core.records import Group
from evenhand.run import evaluate
from evenhand.store.caches import empty_caches, list_caches

plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(plain)
def test_a_literal_is_read_as_python_wrote_it(value: Any) -> None:
    assert parse_literal(repr(value)) == value


@pytest.mark.parametrize(
    "hostile",
    [
        "__import__('os').system('true')",
        "[x for x in ().__class__.__bases__]",
        "[" * 5000 + "]" * 5000,
        "-" * 10000 + "1",
        "9" * 100_000,
        "{[]: 1}",
        "[1, 2",
        "'a' 'b' +",
        "lambda: 0",
        "1 if True else 2",
    ],
)
def test_a_hostile_cell_is_an_error_and_never_run(hostile: str) -> None:
    with pytest.raises(LiteralError):
        parse_literal(hostile)


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        ("", "character 0: the literal breaks off"),
        ("(", "character 1: the literal breaks off"),
        ("0x" + "f" * 5000, "character 1: 'x" + "f" * 5000 + "' after the end of the literal"),
        ("0x1f", "character 1: 'x1f' after the end of the literal"),
        ("1_0", "character 1: '_0' after the end of the literal"),
        ("'a' 'b'", "character 4: \"'b'\" after the end of the literal"),
        ("['a' 'b']", "character 5: \"'b'\" where ',' or ']' was expected"),
        ("(1, " + "9" * 65 + ")", "character 4: a number of 65 characters"),
        ("- 1", "character 0: '- 1' is not a literal"),
        ("u'a'", "character 0: 'u' is not a literal"),
        ("(1)#", "character 3: '#' is not a literal"),
        ("{(1,): 2}", "character 5: a key that is no text or number"),
        ("{'a'}", "character 4: a key without a value"),
        ("\0", "character 0: '\\x00' is not a literal"),
        ("(" * 1_000_000, "character 33: nested more than 32 deep"),
    ],
)
def test_a_cell_that_is_no_literal_is_refused_with_the_place_and_the_reason(cell: str, problem: str) -> None:
    with pytest.raises(LiteralError) as caught:
        parse_literal(cell)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("cell", "value"),
    [
        ("(1)", [1]),
        ("((1))", [[1]]),
        ("[1,\xa02]", [1, 2]),
        ("\xa0(-1, +2.)", [-1, 2.0]),
        ("['a\nb']", ["a\nb"]),
        ('"a\nb"', "a\nb"),
        ("('\0')", ["\0"]),
        ("(True, None)", [True, None]),
    ],
)
def test_brackets_make_a_list_and_spaces_and_lines_of_any_kind_are_read(cell: str, value: Any) -> None:
    assert parse_literal(cell) == value


@pytest.mark.parametrize(
    ("cell", "values"),
    [
        ("('1. Haze')", ("1. Haze",)),
        ("(1)", ("1",)),
        ("('1. Haze', '5. Cloud')", ("1. Haze", "5. Cloud")),
        ("()", ()),
        ("(1, 2", ("(1, 2",)),
        ("0x" + "f" * 5000, ("0x" + "f" * 5000,)),
        ("[0x" + "f" * 5000 + "]", ("[0x" + "f" * 5000 + "]",)),
    ],
)
def test_the_selections_of_a_cell_are_whole_values(cell: str, values: tuple[str, ...]) -> None:
    assert cells.selections(cell) == values


@pytest.mark.parametrize("part", ["1,", "'a',", "[],", "{1:1},"])
def test_a_long_cell_that_is_not_json_takes_little_memory(part: str) -> None:
    cell = "(" + part * (100_000 // len(part)) + ")"
    tracemalloc.start()
    try:
        parse_literal(cell)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 80 * len(cell)


def test_a_hostile_box_is_named_with_row_image_and_column(write: Any) -> None:
    root = write({}, {"person_bbox": "__import__('os')"})
    with pytest.raises(DataError, match=r"row 1 \(data/raw/s1/i1/main_i1.png\), column 'person_bbox'"):
        data.load("person_localization", root, FhibeOptions())


def test_a_box_of_a_negative_width_is_named(write: Any) -> None:
    with pytest.raises(DataError, match=r"\[1.0, 2.0, -3.0, 4.0\], but four numbers are needed"):
        data.load("person_localization", write({"person_bbox": "[1, 2, -3, 4]"}), FhibeOptions())


def test_a_subject_that_is_twice_in_an_image_is_said(write: Any) -> None:
    row = {"subject_id": "s1", "filepath": "data/raw/s1/i1/main_i1.png"}
    warnings = data.load("person_localization", write(row, row, {"subject_id": "s2"}), FhibeOptions()).warnings
    assert any(warning.startswith("1 of 3 rows repeat the subject of another row") for warning in warnings)


def test_values_that_differ_in_case_only_are_said(write: Any) -> None:
    root = write({"pronoun": "['1. He/him/his']"}, {"pronoun": "['1. HE/HIM/HIS']"})
    warnings = data.load("person_localization", root, FhibeOptions()).warnings
    assert any("pronoun has values that differ only in case or blanks" in warning for warning in warnings)


def test_a_box_of_three_numbers_is_named(write: Any) -> None:
    with pytest.raises(DataError, match="four numbers are needed"):
        data.load("person_localization", write({"person_bbox": "[1, 2, 3]"}), FhibeOptions())


def test_a_missing_country_age_or_attribute_is_counted_and_not_fatal(write: Any) -> None:
    root = write({}, {"location_country": "", "age": "", "pronoun": ""}, {"location_country": "I Go"})
    found = data.load("person_localization", root, FhibeOptions())
    people = found.truth.people
    assert people.attributes["location_country"].member.any(axis=1).tolist() == [True, False, False]
    assert people.attributes["age"].member.any(axis=1).tolist() == [True, False, True]
    assert any("2 of 3 rows have no location_country" in warning for warning in found.warnings)


def test_an_age_that_is_no_number_is_named(write: Any) -> None:
    with pytest.raises(DataError, match="row 0, column 'age': 'old'"):
        data.load("person_localization", write({"age": "old"}), FhibeOptions())


def test_a_table_that_is_not_there_says_where_it_belongs(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"data/processed/fhibe_downsampled/fhibe_downsampled\.csv"):
        data.load("person_localization", tmp_path, FhibeOptions())


def test_a_column_that_is_not_there_is_named(write: Any) -> None:
    with pytest.raises(DataError, match="no column 'face_bbox'"):
        data.load("face_localization", write({}, drop=["face_bbox"]), FhibeOptions())


def test_parsed_tables_are_kept_by_content_and_read_again(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root, cache = write({}, {"filepath": "b.png"}), tmp_path / "cache"
    first = data.load("person_parsing", root, FhibeOptions(), cache)
    kept = sorted(path.stem for path in (cache / "fhibe").rglob("*.parquet"))
    assert kept == ["cells", "segments"]  # boxes and keypoints were not asked for, so they were not parsed
    with monkeypatch.context() as patched:
        patched.setattr(cells, "segments", lambda text: pytest.fail("parsed again"))
        again = data.load("person_parsing", root, FhibeOptions(), cache)
        patched.undo()
    assert [one.points.tolist() for one in again.truth.segments[0]] == [
        one.points.tolist() for one in first.truth.segments[0]
    ]
    data.load("keypoint_estimation", root, KeypointOptions(), cache)
    assert len(list((cache / "fhibe").rglob("*.parquet"))) == 5
    write({}, {"filepath": "c.png"})
    changed = data.load("person_parsing", root, FhibeOptions(), cache)
    assert changed.truth.people.images[1] == "c.png"


def test_a_damaged_kept_table_is_parsed_again(write: Any, tmp_path: Path) -> None:
    root, cache = write({}), tmp_path / "cache"
    data.load("person_localization", root, FhibeOptions(), cache)
    for path in (cache / "fhibe").rglob("*.parquet"):
        path.write_bytes(path.read_bytes()[:-10])
    assert len(data.load("person_localization", root, FhibeOptions(), cache).truth.boxes_xyxy) == 1


def test_an_evaluation_keeps_the_parsed_table_below_its_runs_where_it_is_listed_and_emptied(
    write: Any, tmp_path: Path
) -> None:
    root, runs = write({}, {"filepath": "b.png", "subject_id": "s2"}), tmp_path / "runs"
    found = {"detections": [[0, 0, 10, 10]], "scores": [1.0]}
    stored = write_outputs(
        "person_localization", {"data/raw/s1/i1/main_i1.png": found, "b.png": found}, tmp_path / "o.json"
    )
    task = task_named("person_localization")
    fresh = evaluate(task, stored, root, runs=runs, by=["pronoun"], draws=0)
    assert [cache.name for cache in list_caches(runs)] == ["fhibe"]
    kept = evaluate(task, stored, root, runs=runs, by=["pronoun"], draws=0, force=True)
    assert kept.manifest.fingerprint == fresh.manifest.fingerprint
    assert empty_caches(runs).removed[0].name == "fhibe"
    assert not list_caches(runs)


def test_three_subjects_in_an_image_are_three_rows_of_one_sample(write: Any) -> None:
    found = data.load("body_parts_detection", write({}, {"subject_id": "s2"}, {"subject_id": "s3"}), FhibeOptions())
    assert len(found.samples) == 1
    assert len(found.samples[0].given["person_boxes_xyxy"]) == 3
    assert len(found.truth.visible) == 3


def test_the_mini_data_set_draws_rows_and_refuses_more_than_there_are() -> None:
    assert len(mini_rows(100, 0)) == 50
    with pytest.raises(OptionError, match="the table has 3"):
        mini_rows(3, 4)


def test_custom_keypoints_must_be_known_and_in_order(write: Any) -> None:
    root = write({})
    chosen = data.load("keypoint_estimation", root, KeypointOptions(custom_keypoints=("Nose",)))
    assert chosen.truth.poses.shape == (1, 1, 3)
    refused: dict[tuple[str, ...], str] = {
        (): "You cannot provide an empty list of custom keypoints",
        ("Left eye", "Nose"): r"not in the correct order.*in this order: \['Nose', 'Left eye'\]",
        ("Chin",): "A keypoint you specified: 'Chin' is not a valid FHIBE keypoint",
        ("Nose", "Nose"): r"not in the correct order.*in this order: \['Nose'\]",
    }
    for wrong, phrase in refused.items():
        with pytest.raises(OptionError, match=phrase):
            data.load("keypoint_estimation", root, KeypointOptions(custom_keypoints=wrong))


def test_visibility_one_becomes_two_and_absent_points_zero(write: Any) -> None:
    poses = data.load("keypoint_estimation", write({}), KeypointOptions()).truth.poses
    assert poses[0, 0].tolist() == [5.0, 5.0, 2.0]
    assert poses[0, 1].tolist() == [0.0, 0.0, 0.0]


def test_a_knee_makes_a_leg_only_in_the_corrected_reading() -> None:
    knee = {"Left knee": (0.0, 0.0, 1.0)}
    assert "Leg" not in data.visible_parts([], knee)
    assert data.visible_parts([], knee, knees=True)[-2:] == ("Left leg", "Leg")


def test_verification_keeps_subjects_with_two_pictures_of_their_own(write: Any) -> None:
    rows = [{"filepath": f"{n}.png", "subject_id": s, "multiple_subjects": m} for n, s, m in
            ((0, "a", "0"), (1, "a", "0"), (2, "b", "0"), (3, "c", "0"), (4, "c", "1"))]  # fmt: skip
    found = data.load("face_verification", write(*rows, face=True), FhibeOptions())
    assert found.truth.people.images == ("0.png", "1.png")
    assert found.facts["left_out"] == {"more than one subject": 1, "single picture": 2}


def test_a_face_without_a_combined_mask_is_named(write: Any) -> None:
    with pytest.raises(DataError, match=r"row 0 .*no combined mask"):
        data.load("face_parsing", write({"CelebA": "['skin.png']"}, face=True), FhibeOptions())


def test_a_polygon_without_points_draws_nothing(write: Any) -> None:
    from evenhand.benchmarks.fhibe.scores import mask_areas

    truth = data.load(
        "person_parsing", write({"segments": "[{'class_name': '0. Face skin', 'polygon': []}]"}), FhibeOptions()
    ).truth
    assert mask_areas(truth.segments, truth.sizes, Serial()).tolist() == [0]


def test_skin_zero_is_the_darkest() -> None:
    darkest = vocabulary.VALUES["apparent_skin_color"][0]
    assert attributes.display_value("apparent_skin_color", darkest) == "VI"


def test_hue_is_shown_whole_inside_intersections() -> None:
    shown = attributes.display_group(["apparent_skin_color_hue_lum", "pronoun"], ["dark_red", "1. He/him/his"])
    assert shown == ["dark red", "He/him/his"]


def test_corrected_nationality_and_country_join_what_the_published_rules_split() -> None:
    assert attributes.corrected_nationality("['226. Free-text']") == ("232. Other", "226. Free-text")
    assert attributes.corrected_nationality("['105. Kenyan']") == ("227. African", "105. Kenyan")
    assert attributes.labels("nationality", "['214. Uzbek']", ("214. Uzbek",)) == ("214. Uzbek",)
    assert attributes.corrected_country("trinidad and tobago") == "Trinidad and Tobago"


def test_a_published_attribute_selects_rows_by_group(write: Any) -> None:
    root = write({}, {"pronoun": "['0. She/her/hers', '2. They/them/their']"}, {"pronoun": "['1. He/him/his']"})
    attribute = data.load("person_localization", root, FhibeOptions()).truth.people.attributes["pronoun"]
    assert attribute.belongs("0. She/her/hers").tolist() == [True, True, False]
    assert Group.of(pronoun="2. They/them/their").terms[0][1] in attribute.levels


def test_numbers_of_rows_are_those_of_the_file_after_sampling(write: Any) -> None:
    root = write(*({"filepath": f"{number}.png"} for number in range(9)))
    table = read_table(root, BODY_TABLE, ())
    chosen = table.take(mini_rows(len(table), 3))
    assert [f"{number}.png" for number in chosen.numbers] == list(chosen.texts("filepath"))
    assert np.array_equal(chosen.numbers, mini_rows(9, 3))


@pytest.mark.parametrize(
    ("key", "image"),
    [
        ("/r/data/raw/a/b.png", "data/raw/a/b.png"),
        ("/r/data//raw/./a/b.png", "data/raw/a/b.png"),
        ("C:\\r\\data\\raw\\x\\a\\b.png", "data/raw/x/a/b.png"),
        ("elsewhere/a/b.png", None),  # two images end so
        ("elsewhere/c/d.png", "data/raw/c/d.png"),
    ],
)
def test_a_key_belongs_to_the_image_whose_path_it_ends_in(key: str, image: str | None) -> None:
    ids = ["data/raw/a/b.png", "data/raw/x/a/b.png", "data/raw/c/d.png"]
    assert match_keys({key: 1}, ids) == (({image: 1}, []) if image else ({}, [key]))


def test_of_two_keys_of_one_image_the_better_match_counts(tmp_path: Path) -> None:
    ids = ["data/raw/s/main_1.png"]
    end, tail, other_end = "/new/data/raw/s/main_1.png", "/full/raw/s/main_1.png", "/old/data/raw/s/main_1.png"
    for keys in ((end, tail), (tail, end)):
        assert match_keys({key: str(place).encode() for place, key in enumerate(keys)}, ids, tmp_path) == (
            {ids[0]: str(keys.index(end)).encode()},
            [tail],
        )
    with pytest.raises(PredictionError, match="two answers to one image"):
        match_keys({end: b"1", other_end: b"2"}, ids, tmp_path)
    assert match_keys({end: b"1", other_end: b"1"}, ids, tmp_path) == ({ids[0]: b"1"}, [other_end])
