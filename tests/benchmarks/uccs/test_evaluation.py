"""Detection and identification on a handful of boxes, counted by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evenhand import api
from evenhand.benchmarks.uccs.data import Exclusion, WatchlistFaces, read_exclusion, read_faces
from evenhand.benchmarks.uccs.detections import NameIndex, read_detections
from evenhand.benchmarks.uccs.options import WatchlistDetectionOptions, WatchlistIdentificationOptions
from evenhand.benchmarks.uccs.record import record_detection, record_identification
from evenhand.benchmarks.uccs.scores import read_scores
from evenhand.compat.uccs.outcomes import as_plain, intervals, outcome_of
from evenhand.core.errors import OptionError, PredictionError
from evenhand.core.metric import Undefined
from evenhand.core.records import Group
from evenhand.metrics.curves import Event

FACES = "FILE,FACE_ID,SUBJECT_ID,FACE_X,FACE_Y,FACE_WIDTH,FACE_HEIGHT"
FOUND = "FILE,DETECTION_SCORE,BB_X,BB_Y,BB_WIDTH,BB_HEIGHT"
DETECTION = WatchlistDetectionOptions()
SCORES = f"{FOUND},S_0007,S_0008,S_0009"


def truth(data: Path) -> WatchlistFaces:
    return read_faces(data / "validation.csv", read_exclusion(data / "exclude_gallery_validation.txt"))[0]


@pytest.fixture
def faces(data: Path) -> WatchlistFaces:
    return truth(data)


def test_one_hit_one_miss_and_a_false_alarm(write, data: Path, detected) -> None:
    path = write("d.txt", FOUND, "a.jpg,0.9,0,0,10,10", "a.jpg,0.5,500,500,10,10", "b.jpg,0.7,0,0,10,10")
    plain = as_plain(detected(path, data))
    assert plain["counts"]["true_detections"] == 2
    assert plain["counts"]["missed_faces"] == 1
    assert plain["curve"] == {
        "thresholds": [0.5],
        "detection_rate": [2 / 3],
        "false_detections_per_image": [0.5],
        "detected_faces": [2],
    }
    assert plain["operating_points"][-1] == {"target": 1.0, "rate": 2 / 3, "threshold": 0.5, "actual": 0.5}
    assert plain["sum"] == 2 / 3


def test_names_with_and_without_extension_are_the_same_image(write, faces: WatchlistFaces) -> None:
    found = read_detections(write("d.txt", FOUND, "a,0.9,0,0,10,10", "b.jpg,0.7,0,0,10,10"), faces)
    assert found.image.tolist() == [0, 1]


def test_an_exact_name_goes_before_one_with_another_extension() -> None:
    index = NameIndex(("a.png", "a.jpg", "a"))
    gathered = index.gather(["a", "a.jpg", "a.png", "b", "b"], *np.zeros((3, 5)))
    assert gathered.image.tolist() == [2, 1, 0, -1, -1]
    assert gathered.elsewhere == {"b": 2}
    assert NameIndex(("a.png", "a.jpg")).find("a") == 1  # as the published reader, which appends .jpg


def test_detections_on_images_that_are_not_annotated_are_left_out_and_counted(write, data: Path, detected) -> None:
    outcome = detected(write("d.txt", FOUND, "zzz.jpg,0.9,0,0,10,10", "a.jpg,0.9,0,0,10,10"), data)
    assert outcome.counts["detections_on_unannotated_images"] == 1
    assert outcome.counts["false_detections"] == 0
    assert "1 detections on 1 images that are not annotated" in " ".join(outcome.warnings)
    assert outcome.run.results.coverage.extra == 1


def test_rows_of_one_image_need_not_stand_together(write, faces: WatchlistFaces) -> None:
    path = write("d.txt", FOUND, "b.jpg,0.1,900,0,10,10", "a.jpg,0.2,0,0,10,10", "b.jpg,0.3,0,0,10,10")
    found = read_detections(path, faces)
    assert found.image.tolist() == [0, 1, 1]
    assert found.line.tolist() == [3, 2, 4]


@pytest.mark.parametrize(
    ("name", "difference"),
    [
        ("x.jpg", "Is it the score file of another set"),
        ("a.png", "differ in their extension: write a.jpg, not a.png"),
        ("A.JPG", "differ in upper and lower case: write a.jpg"),
        ("validation_images/a.jpg", "differ in their folder: write a.jpg"),
    ],
)
def test_a_file_of_names_that_match_nothing_has_an_empty_curve_and_says_why(
    write, data: Path, detected, name: str, difference: str
) -> None:
    outcome = detected(write("d.txt", FOUND, f"{name},1,0,0,1,1"), data)
    (warning,) = (one for one in outcome.warnings if "no row is on an annotated image" in one)
    assert difference in warning
    assert isinstance(outcome.run.results.get("froc", "curve").value, Undefined)


def test_names_that_match_in_part_and_differ_in_their_zeros_are_pointed_out(write) -> None:
    faces, _ = read_faces(write("t.csv", FACES, "f_1.jpg,1,1,0,0,1,1", "f_10.jpg,2,2,0,0,1,1"))
    found = read_detections(write("d.txt", FOUND, "f_01.jpg,1,0,0,1,1", "f_10.jpg,1,0,0,1,1"), faces)
    assert "zeros before their numbers: write f_1.jpg, not f_01.jpg" in " ".join(found.warnings)


def test_blanks_around_a_name_and_the_form_of_its_accents_do_not_matter_in_predictions() -> None:
    index = NameIndex(("a.jpg", "cafe\u0301.jpg"))
    assert [index.find(name) for name in (" a.jpg", "a ", "caf\u00e9.jpg", "caf\u00e9", "b")] == [0, 0, 1, 1, -1]
    both = NameIndex(("a.jpg ", "a.jpg"))
    assert [both.find(name) for name in ("a.jpg", "a.jpg ", "a")] == [1, 0, 1]
    with pytest.raises(PredictionError, match="may be any of"):
        both.find(" a.jpg")


def test_names_that_are_taken_for_others_are_said(write) -> None:
    faces, _ = read_faces(write("t.csv", FACES, "a.jpg,1,1,0,0,1,1", "b.jpg,2,2,0,0,1,1"))
    found = read_detections(write("d.txt", FOUND, " a.jpg,1,0,0,1,1", "b,1,0,0,1,1"), faces)
    assert found.image.tolist() == [0, 1]
    assert "1 image names of the score file differ" in " ".join(found.warnings)
    assert "(' a.jpg' for 'a.jpg')" in " ".join(found.warnings)


def test_a_name_without_extension_that_two_images_share_is_refused() -> None:
    index = NameIndex(("a.png", "a.bmp", "b.png"))
    assert index.find("b") == 2
    with pytest.raises(PredictionError, match=r"'a' may be any of a\.png, a\.bmp"):
        index.find("a")


def test_a_header_alone_is_an_empty_curve_with_a_message(write, data: Path, detected) -> None:
    outcome = detected(write("d.txt", FOUND), data)
    assert len(outcome.curves[0].curve.thresholds) == 0
    assert isinstance(outcome.curves[0].sum, Undefined)
    assert "empty" in " ".join(outcome.warnings)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("a.jpg,,0,0,1,1", "DETECTION_SCORE is empty"),
        ("a.jpg,0.5,nan,0,1,1", "BB_X is 'nan'"),
        ("a.jpg,0.5,0,0,-1,1", "BB_WIDTH -1"),
        ("a.jpg,0.5,0,0,1", "5 fields, but the header has 6 columns; the file looks cut off here"),
    ],
)
def test_bad_rows_are_refused_by_line(write, faces: WatchlistFaces, row: str, message: str) -> None:
    with pytest.raises(PredictionError, match=f"d.txt, line 3: {message}"):
        read_detections(write("d.txt", FOUND, "a.jpg,0.9,0,0,10,10", row, end=""), faces)


def test_a_last_line_without_line_end_is_warned_about(write, faces: WatchlistFaces) -> None:
    found = read_detections(write("d.txt", FOUND, "a.jpg,0.9,0,0,10,1", end=""), faces)
    assert "Was the file cut?" in found.warnings[0]


def test_some_landmarks_but_not_all_are_refused(write, faces: WatchlistFaces) -> None:
    with pytest.raises(PredictionError, match="give all ten or none"):
        read_detections(write("d.txt", f"{FOUND},REYE_X", "a.jpg,0.9,0,0,1,1,5"), faces)


def test_two_boxes_without_area_do_not_match(write, detected) -> None:
    table = write("t.csv", FACES, "a.jpg,1,1,5,5,0,0")
    outcome = detected(write("d.txt", FOUND, "a.jpg,0.5,5,5,0,0"), table.parent, which_set="t")
    assert (outcome.counts["true_detections"], outcome.counts["false_detections"]) == (0, 1)


@pytest.mark.parametrize(
    ("ids", "faces_counted", "known_counted"),
    [("1\n", 2, 1), ("99\n", 2, 1), ("1\n1\n", 1, 0), ("2\n", 2, 1), ("1\n2\n3\n99\n", -1, -2), ("", 3, 2)],
)
def test_the_denominators_are_lowered_by_the_length_of_the_list(
    data: Path, write, detected, identified, ids: str, faces_counted: int, known_counted: int
) -> None:
    (data / "exclude_gallery_validation.txt").write_text(ids)
    faces = truth(data)
    path = write("s.txt", SCORES, "a,0.5,0,0,10,10,1,2,3")
    assert detected(path, data).counts["faces_evaluated"] == faces_counted
    counts = identified(path, data).counts
    assert counts["known_faces_evaluated"] == known_counted
    assert int(record_detection(faces, read_detections(path, faces), DETECTION)["faces"].sum()) == faces_counted


def test_two_faces_with_the_same_excluded_id_lower_the_number_by_one() -> None:
    faces = WatchlistFaces(
        ("a.jpg",), np.zeros(2, np.intp), np.zeros((2, 4)), np.array([1, 2]), np.array([5, 5]), Exclusion(np.array([5]))
    )
    from evenhand.benchmarks.uccs.detections import assemble

    assert int(record_detection(faces, assemble([], faces), DETECTION)["faces"].sum()) == 1


def test_a_detection_on_an_excluded_face_counts_neither_way(data: Path, write, detected) -> None:
    (data / "exclude_gallery_validation.txt").write_text("1\n")
    path = write("d.txt", FOUND, "a.jpg,0.9,0,0,10,10", "a.jpg,0.8,1,0,10,10")
    counts = detected(path, data).counts
    assert (counts["ignored_detections"], counts["false_detections"], counts["true_detections"]) == (1, 1, 0)


def test_identification_by_hand(write, data: Path, identified) -> None:
    path = write(
        "s.txt",
        SCORES,
        "a,0.5,0,0,10,10,0.9,0.1,0.2",  # the known face 7, first
        "a,0.5,100,0,10,10,0.1,0.4,0.2",  # the stranger: its largest similarity is a false identification
        "a,0.5,500,0,10,10,0.3,0.1,0.2",  # a false alarm
        "b,0.5,0,0,10,10,0.8,0.1,0.7",  # the known face 9, second
    )
    plain = as_plain(identified(path, data, ranks=(1, 2)))
    assert plain["ranks"]["1"]["thresholds"] == [0.3, 0.4]
    assert plain["ranks"]["1"]["tpir"] == [0.5, 0.5]
    assert plain["ranks"]["2"]["tpir"] == [1.0, 1.0]
    assert plain["ranks"]["1"]["fpipi"] == [1.0, 0.5]


def test_the_documented_convention_counts_every_similarity_as_a_threshold(write, data: Path, identified) -> None:
    path = write("s.txt", SCORES, "a,0.5,0,0,10,10,0.9,0.1,0.2", "a,0.5,500,0,10,10,0.95,0.1,0.2")
    plain = as_plain(identified(path, data))
    assert plain["ranks"]["1"]["identified_faces"] == [0]
    assert plain["oroc_documented"]["1"]["thresholds"] == [0.9, 0.95]
    assert plain["oroc_documented"]["1"]["identified_faces"] == [1, 0]


def test_a_true_name_that_ties_stands_behind_unless_told_otherwise(write, faces: WatchlistFaces) -> None:
    found = read_scores(write("s.txt", SCORES, "a,0.5,0,0,10,10,0.9,0.9,0.9"), faces)
    ranks = {
        ties: record_identification(faces, found, WatchlistIdentificationOptions(ties=ties))["rank"].max()
        for ties in ("pessimistic", "middle", "optimistic")
    }
    assert ranks == {"pessimistic": 3, "middle": 2, "optimistic": 1}


@pytest.mark.parametrize("ranks", [[0], [-1], [1, 0], []])
def test_a_rank_is_at_least_one(write, data: Path, identified, ranks: list[int]) -> None:
    path = write("s.txt", SCORES, "a,0.5,0,0,10,10,1,2,3")
    with pytest.raises(OptionError, match="whole number from 1 on"):
        identified(path, data, ranks=tuple(ranks))


def test_a_rank_beyond_the_gallery_is_always_a_hit(write, data: Path, identified) -> None:
    path = write("s.txt", SCORES, "a,0.5,0,0,10,10,0.1,0.9,0.9", "a,1,900,0,9,9,0,0,0")
    assert identified(path, data, ranks=(99,)).curves[99].curve.positives.tolist() == [1]


def test_only_unknown_subjects_leave_the_rate_undefined_with_a_message(write, identified) -> None:
    table = write("t.csv", FACES, "a.jpg,1,-1,0,0,10,10")
    outcome = identified(write("s.txt", SCORES, "a,0.5,0,0,10,10,1,2,3"), table.parent, which_set="t")
    plain = as_plain(outcome)
    assert plain["ranks"]["1"]["tpir"] == [None]
    assert plain["ranks"]["1"]["fpipi"] == [1.0]
    assert "there is no face to be counted" in " ".join(outcome.warnings)


def test_a_subject_without_column_can_never_be_named_and_is_warned_about(write, data: Path, identified) -> None:
    outcome = identified(write("s.txt", f"{FOUND},S_0001,S_0009", "a,0.5,0,0,10,10,1,0"), data, ranks=(5,))
    assert "1 annotated subjects have no similarity column (S_0007)" in " ".join(outcome.warnings)
    assert outcome.counts["known_faces_evaluated"] == 2


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (FOUND, "no similarity column"),
        (f"{FOUND},S_0001,Q", r"similarity columns are named S_0001 and so on, but the header has Q"),
        (f"{FOUND},S_0001,S_1", "two columns of the file name the same subject"),
    ],
)
def test_headers_that_name_no_subjects_are_refused(write, faces: WatchlistFaces, header: str, message: str) -> None:
    with pytest.raises(PredictionError, match=message):
        read_scores(write("s.txt", header, "a" + ",1" * (header.count(","))), faces)


def test_a_row_with_another_number_of_scores_is_named(write, faces: WatchlistFaces) -> None:
    with pytest.raises(PredictionError, match=r"s\.txt, line 3: 8 fields, but the header has 9 columns"):
        read_scores(write("s.txt", SCORES, "a,0.5,0,0,10,10,1,2,3", "a,0.5,0,0,10,10,1,2"), faces)


def test_a_score_file_of_another_gallery_is_refused(write, faces: WatchlistFaces) -> None:
    path = write("s.txt", SCORES, "a,0.5,0,0,10,10,1,2,3")
    with pytest.raises(PredictionError, match="belongs to another gallery: it lacks S_0001 and has in addition S_0008"):
        read_scores(path, faces, gallery=(1, 7, 9))


def test_the_challenge_has_a_thousand_subjects(write, faces: WatchlistFaces) -> None:
    path = write("s.txt", SCORES, "a,0.5,0,0,10,10,1,2,3")
    with pytest.raises(PredictionError, match="has 3 subjects; a submission to the challenge has 1000"):
        read_scores(path, faces, challenge=True)


def test_similarities_must_be_finite(write, faces: WatchlistFaces) -> None:
    with pytest.raises(PredictionError, match="line 2: S_0008 is 'nan'"):
        read_scores(write("s.txt", SCORES, "a,0.5,0,0,10,10,1,nan,3"), faces)


def test_blocks_of_any_size_give_the_same_numbers(
    write, data: Path, identified, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = [f"{'ab'[n % 2]},0.5,{3 * n},0,10,10,{n / 100},{n / 90},{n / 80}" for n in range(60)]
    path = write("s.txt", SCORES, *rows)
    whole = as_plain(identified(path, data, ranks=(1, 2)))
    monkeypatch.setattr("evenhand.files.delimited.BLOCK_BYTES", 100)
    assert as_plain(identified(path, data, ranks=(1, 2))) == whole


def test_rows_can_be_traced_and_grouped(write) -> None:
    path = write("t.csv", f"{FACES},LIGHTING", "a.jpg,1,7,0,0,10,10,sun", "b.jpg,2,8,0,0,10,10,shade")
    faces, _ = read_faces(path)
    found = read_detections(write("d.txt", FOUND, "a.jpg,0.9,0,0,10,10", "b.jpg,0.8,500,0,10,10"), faces)
    rows = record_detection(faces, found, DETECTION)
    assert rows["item"].tolist() == ["a.jpg", "b.jpg", "a.jpg:face 1", "b.jpg:face 2", "b.jpg:detection 0"]
    shade = rows.select(Group.of(lighting="shade"))
    assert shade["kind"].tolist() == [Event.IMAGE, Event.MISSED, Event.FALSE_ALARM]


def test_systems_on_the_same_images_are_compared_in_pairs(write, data: Path) -> None:
    good = write("g.txt", FOUND, "a.jpg,0.9,0,0,10,10", "b.jpg,0.8,0,0,9,9.99", "a.jpg,0,900,0,9,9")
    poor = write("p.txt", FOUND, "a.jpg,0.9,0,0,10,10", "a.jpg,0,900,0,9,9")
    outcomes = {
        path.stem: outcome_of(
            api.evaluate("uccs/detection", path, data=data, options={"targets": (1.0,)}, draws=200, rows="all")
        )
        for path in (good, poor)
    }
    numbers = intervals(outcomes, "froc", 200)
    assert numbers == intervals(outcomes, "froc", 200)
    assert numbers["intervals"]["g"]["DR@1"]["value"] == 2 / 3
    pair = next(pair for pair in numbers["paired"] if pair["output"] == "DR@1")
    assert (pair["first"], pair["second"], round(pair["value"], 9)) == ("g", "p", round(1 / 3, 9))
